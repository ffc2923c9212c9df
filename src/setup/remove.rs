//! Taking a set-up back: every file as it was before, byte for byte, where the user has not edited it since; where they
//! have, only what is ours is taken out, and said. Journals and the outbox are never touched.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::hosts::{self, Target};
use super::place::Place;
use super::plan::{MAX_BYTES, real};
use super::receipt::{Entry, Receipt, forget_beside, hash};
use super::{conf, install, write};
use crate::sys::files;

/// What happens, or would happen, to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// `conf`, `ignore`, or the host.
    pub role: String,
    /// Where it is.
    pub path: PathBuf,
    /// `restored`, `deleted`, `cleaned` (edited since: only ours was taken out), `kept` or `failed`.
    pub action: &'static str,
    /// What a person should know.
    pub reason: Option<String>,
}

/// What is to be taken back.
#[derive(Debug, Clone, Default)]
pub struct Request<'a> {
    /// These hosts; all where none is named.
    pub hosts: Vec<&'a str>,
    /// Whether the conf stays.
    pub keep_conf: bool,
    /// Whether only to say what would happen.
    pub dry_run: bool,
}

/// What is to be done with one file.
enum Step {
    Delete,
    Write(Vec<u8>, u32),
    Nothing,
}

/// Takes back what `request` says.
///
/// # Errors
/// When the receipt cannot be read or kept.
pub fn remove(place: &Place, request: &Request<'_>) -> io::Result<Vec<Removal>> {
    let mut receipt = Receipt::load(&place.state, &place.dest)?;
    let entries = receipt.files.clone();
    let mut done = vec![];
    let mut seen = BTreeSet::new();
    // The conf goes before the file that keeps it out of git.
    for entry in entries.iter().rev().filter(|entry| request.covers(&entry.role)) {
        seen.insert(entry.path.clone());
        let removal = one(place, entry, request.dry_run);
        if removal.action != "failed" && !request.dry_run {
            receipt.files.retain(|known| known.path != entry.path);
        }
        done.push(removal);
    }
    for target in targets(place, request) {
        let path = real(&target.path, None).unwrap_or_else(|_| target.path.clone());
        if seen.insert(path.clone()) {
            done.extend(by_hand(&target, &path, request.dry_run));
        }
    }
    if !request.dry_run {
        install::forget(place, &mut receipt, |host| request.covers(host));
        receipt.save(&place.state)?;
    }
    Ok(done)
}

impl Request<'_> {
    fn covers(&self, role: &str) -> bool {
        match role {
            "conf" | "ignore" => self.hosts.is_empty() && !self.keep_conf,
            host => self.hosts.is_empty() || self.hosts.contains(&host),
        }
    }
}

fn targets(place: &Place, request: &Request<'_>) -> Vec<Target> {
    let names = hosts::NAMES.iter().filter(|name| request.covers(name));
    names.flat_map(|name| hosts::targets(name, place).unwrap_or_default()).collect()
}

fn one(place: &Place, entry: &Entry, dry_run: bool) -> Removal {
    let removal =
        |action, reason| Removal { role: entry.role.clone(), path: entry.path.clone(), action, reason };
    let (action, reason, step) = match decide(place, entry) {
        Ok(decided) => decided,
        Err(reason) => return removal("failed", Some(reason)),
    };
    if dry_run {
        return removal(action, reason);
    }
    let carried_out = match step {
        Step::Nothing => Ok(()),
        Step::Delete => fs::remove_file(&entry.path),
        Step::Write(bytes, mode) => write::replace(&entry.path, &bytes, mode),
    };
    if let Err(error) = carried_out {
        return removal("failed", Some(format!("it cannot be written: {error}")));
    }
    if let Some(backup) = &entry.backup {
        drop(fs::remove_file(backup));
    }
    if entry.role == "conf" {
        forget_beside(&entry.path);
    }
    for dir in entry.dirs.iter().rev() {
        // Only if it is empty.
        drop(fs::remove_dir(dir));
    }
    removal(action, reason)
}

type Decided = (&'static str, Option<String>, Step);

fn decide(place: &Place, entry: &Entry) -> Result<Decided, String> {
    let now =
        files::read_bounded(&entry.path, MAX_BYTES).map_err(|error| format!("it cannot be read: {error}"))?;
    let Some(now) = now else {
        return Ok(("kept", Some("it is gone already".to_owned()), Step::Nothing));
    };
    let found = hash(&now);
    if found == entry.after {
        return match (&entry.before, &entry.backup) {
            (None, _) => Ok(("deleted", None, Step::Delete)),
            (Some(before), Some(backup)) => {
                let bytes = files::read_bounded(backup, MAX_BYTES).ok().flatten();
                match bytes.filter(|bytes| hash(bytes) == *before) {
                    Some(bytes) => Ok(("restored", None, Step::Write(bytes, entry.mode))),
                    None => Err(format!("what it held before is gone from {}", backup.display())),
                }
            }
            (Some(_), None) => Err("what it held before was not kept".to_owned()),
        };
    }
    if Some(&found) == entry.before.as_ref() {
        return Ok(("kept", Some("it is as it was before".to_owned()), Step::Nothing));
    }
    edited(place, entry, &now)
}

/// The user has edited the file since: what is theirs stays.
fn edited(place: &Place, entry: &Entry, now: &[u8]) -> Result<Decided, String> {
    let text = str::from_utf8(now).map_err(|_| "you edited it since, and it is no text now".to_owned())?;
    let said = |what: &str| Some(format!("you edited it since; {what}"));
    if entry.role == "conf" {
        let rest = conf::without(text);
        let blank = rest.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        if blank && entry.before.is_none() {
            return Ok(("deleted", None, Step::Delete));
        }
        return Ok(("cleaned", said("our keys were taken out"), Step::Write(rest.into_bytes(), entry.mode)));
    }
    if entry.role == "ignore" {
        return Ok(("kept", said("it was left as it is"), Step::Nothing));
    }
    let host = hosts::targets(&entry.role, place).unwrap_or_default();
    let target = host.iter().find(|target| {
        real(&target.path, None).is_ok_and(|path| path == entry.path) || target.path == entry.path
    });
    let Some(target) = target.or(host.first()) else {
        return Err("you edited it since, and its host is unknown; take our entries out by hand".to_owned());
    };
    match target.unmerge(text) {
        Ok(Some(Some(rest))) => Ok((
            "cleaned",
            said("only our entries were taken out"),
            Step::Write(rest.into_bytes(), entry.mode),
        )),
        Ok(Some(None)) => Ok(("deleted", None, Step::Delete)),
        Ok(None) if target.ours(text).is_ok_and(|found| found.is_empty()) => {
            Ok(("kept", said("nothing in it is ours any more"), Step::Nothing))
        }
        Ok(None) => Err("you edited it since; remove it by hand".to_owned()),
        Err(refusal) => Err(format!("you edited it since: {}", refusal.0)),
    }
}

/// Entries that somebody wrote by hand, or whose receipt is lost.
fn by_hand(target: &Target, path: &Path, dry_run: bool) -> Option<Removal> {
    let bytes = files::read_bounded(path, MAX_BYTES).ok().flatten()?;
    let text = String::from_utf8(bytes).ok()?;
    let mode = write::mode_of(&fs::metadata(path).ok()?);
    let (action, done) = match target.unmerge(&text).ok().flatten()? {
        None if dry_run => ("deleted", Ok(())),
        None => ("deleted", fs::remove_file(path)),
        Some(_) if dry_run => ("cleaned", Ok(())),
        Some(rest) => ("cleaned", write::replace(path, rest.as_bytes(), mode)),
    };
    let reason = match &done {
        Ok(()) => "there is no receipt for it; our entries were taken out".to_owned(),
        Err(error) => format!("it cannot be written: {error}"),
    };
    let action = if done.is_ok() { action } else { "failed" };
    Some(Removal { role: target.host.to_owned(), path: path.to_path_buf(), action, reason: Some(reason) })
}
