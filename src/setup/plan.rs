//! What a set-up would do: each file with what it holds now and what it will hold. Reads everything, writes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::conf;
use super::console::{Change, Mistake};
use super::hosts::{self, Target};
use super::install;
use super::place::{Place, Scope};
use super::write::{PRIVATE, is_own, mode_of};
use crate::hosts::PortableAsset;
use crate::settings::conf::{Conf, ConfError, FILE_NAME};
use crate::settings::destination::Destination;
use crate::sys::files;

/// A file larger than this is not edited: no settings file is.
pub(super) const MAX_BYTES: u64 = 1 << 20;

/// What a file is to the set-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// The trusted conf.
    Conf,
    /// The file that keeps the conf out of git.
    Ignore,
    /// A host's file.
    Host(&'static str),
}

/// A file of the plan. It may hold a token, so it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Planned {
    /// What it is.
    pub role: Role,
    /// Where it is, as it is named.
    pub shown: PathBuf,
    /// Where it really is.
    pub path: PathBuf,
    /// What it holds; `None` where there is no such file.
    pub before: Option<Vec<u8>>,
    /// What it holds apart from what is ours, where something is.
    pub own: Option<Vec<u8>>,
    /// What is to be done.
    pub step: Step,
    /// What is ours in it then, for the host's adapter; `None` for files of no host, and where nothing is to be there.
    pub asset: Option<PortableAsset>,
}

/// What is to be done with a file.
#[derive(Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it holds already what it is to hold.
    Keep,
    /// Nothing, for this reason.
    Leave(String),
    /// Write these bytes, with this mode.
    Write(Vec<u8>, u32),
    /// It cannot be written; why, and what to do.
    Refuse(String),
}

/// A file in a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// `conf`, `ignore`, or the host.
    pub role: String,
    /// Where it is.
    pub path: PathBuf,
    /// `created`, `changed`, `unchanged` or `refused`.
    pub action: &'static str,
    /// Why it was refused.
    pub reason: Option<String>,
    /// Where its former content is kept.
    pub backup: Option<PathBuf>,
}

impl Role {
    /// Its name in receipts and summaries.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Conf => "conf",
            Self::Ignore => "ignore",
            Self::Host(name) => name,
        }
    }
}

impl Planned {
    /// The file in a summary.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let (action, reason) = match (&self.step, &self.before) {
            (Step::Keep, _) => ("unchanged", None),
            (Step::Leave(reason), _) => ("unchanged", Some(reason.clone())),
            (Step::Write(..), None) => ("created", None),
            (Step::Write(..), Some(_)) => ("changed", None),
            (Step::Refuse(reason), _) => ("refused", Some(reason.clone())),
        };
        Summary { role: self.role.name().to_owned(), path: self.shown.clone(), action, reason, backup: None }
    }

    /// A file that is not written.
    fn not(role: Role, path: &Path, step: Step) -> Self {
        let (shown, path) = (path.to_path_buf(), path.to_path_buf());
        Self { role, shown, path, before: None, own: None, step, asset: None }
    }
}

/// The files of these hosts.
#[must_use]
pub fn hosts(place: &Place, names: &[&str]) -> Vec<Planned> {
    let mut planned = vec![];
    for name in names {
        let Some(name) = hosts::NAMES.into_iter().find(|known| known == name) else { continue };
        match hosts::targets(name, place) {
            Ok(targets) => planned.extend(targets.iter().map(|target| host(place, target))),
            Err(refusal) => planned.push(Planned::not(Role::Host(name), &place.dest, Step::Leave(refusal.0))),
        }
    }
    planned
}

fn host(place: &Place, target: &Target) -> Planned {
    let role = Role::Host(target.host);
    match host_file(place, target) {
        Ok(planned) => planned,
        Err(reason) => Planned::not(role, &target.path, Step::Refuse(reason)),
    }
}

fn host_file(place: &Place, target: &Target) -> Result<Planned, String> {
    let bound = (place.scope == Scope::Workspace).then_some(place.dest.as_path());
    let path = real(&target.path, bound)?;
    let (before, mode) = read(&path)?;
    let text = before.as_deref().map(str::from_utf8).transpose();
    let text = text.map_err(|_| "it is not UTF-8 text; convert it first".to_owned())?;
    let after = target.merge(text).map_err(|refusal| refusal.0)?;
    let own = text.and_then(|text| target.unmerge(text).ok().flatten()).flatten();
    let asset = Some(install::asset(target, &after).map_err(|refusal| refusal.0)?);
    let step = if text == Some(after.as_str()) { Step::Keep } else { Step::Write(after.into_bytes(), mode) };
    let own = own.map(String::into_bytes);
    Ok(Planned { role: Role::Host(target.host), shown: target.path.clone(), path, before, own, step, asset })
}

/// Where `path` really is. A link is followed only to a file of the user, and with `bound` only to one below it: a cloned
/// repository may ship links.
///
/// # Errors
/// When it leads elsewhere, or to nothing.
pub fn real(path: &Path, bound: Option<&Path>) -> Result<PathBuf, String> {
    let mut missing = vec![];
    let mut at = path;
    let found = loop {
        if fs::symlink_metadata(at).is_ok() {
            let found = at.canonicalize();
            break found
                .map_err(|_| format!("{} is a link that leads nowhere; mend or remove it", at.display()))?;
        }
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return Err(format!("{} has no folder", path.display()));
        };
        missing.push(name);
        at = parent;
    };
    let found = missing.iter().rev().fold(found, |folder, name| folder.join(name));
    if let Some(bound) = bound {
        let bound = bound.canonicalize().map_err(|error| format!("{}: {error}", bound.display()))?;
        if !found.starts_with(&bound) {
            return Err(format!(
                "a link leads out of the project, to {}; remove it, or use --global for files of your own",
                found.display()
            ));
        }
    }
    Ok(found)
}

/// The content and the mode of a user's own regular file.
fn read(path: &Path) -> Result<(Option<Vec<u8>>, u32), String> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((None, PRIVATE)),
        Err(error) => return Err(format!("it cannot be looked at ({error})")),
    };
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    if !is_own(&metadata) {
        return Err("it belongs to another user".to_owned());
    }
    if mode_of(&metadata) & 0o200 == 0 {
        return Err("it is write-protected; make it writable first".to_owned());
    }
    let bytes =
        files::read_bounded(path, MAX_BYTES).map_err(|error| format!("it cannot be read ({error})"))?;
    Ok((bytes, mode_of(&metadata)))
}

/// What stands in the way of `change`, seen from the conf that is there.
///
/// # Errors
/// When a token or a tenant would be configured for no Console.
pub fn check(place: &Place, change: &Change) -> Result<(), Mistake> {
    let named = change.url.is_some() || change.endpoint.is_some();
    if named || (change.token.is_none() && change.tenant.is_none()) {
        return Ok(());
    }
    let there = Conf::open(&place.conf).ok().and_then(|conf| Destination::from_conf(&conf));
    if there.is_some() {
        return Ok(());
    }
    Err(Mistake(format!(
        "--console-token-file and --console-tenant require --console-url or --console-endpoint: {} names no Console",
        place.conf.display()
    )))
}

/// The origin that the conf's token was given for, where `change` makes it go to another one.
#[must_use]
pub fn moved_token(place: &Place, change: &Change) -> Option<String> {
    let to = change.url.as_ref().or(change.endpoint.as_ref()).filter(|_| change.token.is_none())?;
    let there = Destination::from_conf(&Conf::open(&place.conf).ok()?).filter(Destination::has_token)?;
    let from = there.read_endpoint()?;
    (from.origin() != to.endpoint.origin()).then(|| from.origin().to_owned())
}

/// What is to be said of a project's conf that is made without a Console where the user has one: the project's stands alone.
#[must_use]
pub fn shadowed(place: &Place, change: &Change) -> Option<String> {
    let names_console = change.url.is_some() || change.endpoint.is_some();
    if place.scope != Scope::Workspace || names_console || place.conf.exists() {
        return None;
    }
    let own = place.home.join(".flow-agents").join(FILE_NAME);
    let console = Destination::from_conf(&Conf::open(&own).ok()?);
    console.map(|_| {
        format!(
            "the project's conf now stands in the place of {}, whose Console does not hold here any more: name it with \
             --console-url as well, or use --global",
            own.display()
        )
    })
}

/// Whether others than the owner can read a file.
#[must_use]
pub fn is_open(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| mode_of(&metadata) & 0o077 != 0)
}

/// The conf, and for a workspace the file that keeps it out of git.
#[must_use]
pub fn conf(place: &Place, change: &Change) -> Vec<Planned> {
    let path = &place.conf;
    let planned = match conf_step(place, change) {
        Ok((before, step)) => Planned { before, ..Planned::not(Role::Conf, path, step) },
        Err(reason) => Planned::not(Role::Conf, path, Step::Refuse(reason)),
    };
    let ignore = matches!(planned.step, Step::Write(..) | Step::Keep) && place.scope == Scope::Workspace;
    let ignore = ignore.then(|| ignore_file(path));
    // The conf comes last: once it is there, it is ignored.
    ignore.into_iter().chain([planned]).collect()
}

fn conf_step(place: &Place, change: &Change) -> Result<(Option<Vec<u8>>, Step), String> {
    let path = &place.conf;
    let folder = path.parent().unwrap_or(path);
    real_folder(folder)?;
    if place.is_tracked(path) == Some(true) {
        return Err(format!(
            "git tracks it, and it would hold a token; take it out first: git rm --cached '{}'",
            path.display()
        ));
    }
    let before = match Conf::open(path) {
        Ok(_) => read(path)?.0,
        Err(ConfError::Absent(_)) => None,
        // Making it trusted would also trust whatever a stranger wrote into it.
        Err(ConfError::Untrusted { reason, .. }) => {
            return Err(format!(
                "it is there but not trusted ({reason}); look at what it says, then remove it, or if it is yours: \
                 chmod 600 '{}'",
                path.display()
            ));
        }
    };
    let text = before.as_deref().map(str::from_utf8).transpose();
    let text = text.map_err(|_| "it is not UTF-8 text; convert it first".to_owned())?.unwrap_or_default();
    let after = conf::edit(text, change);
    let step = if after == text { Step::Keep } else { Step::Write(after.into_bytes(), PRIVATE) };
    Ok((before, step))
}

/// Refuses a folder that is a link: whoever made the link chose where a token would go.
fn real_folder(folder: &Path) -> Result<(), String> {
    match fs::symlink_metadata(folder) {
        Ok(metadata) if metadata.is_dir() && is_own(&metadata) => Ok(()),
        Ok(metadata) if metadata.is_symlink() => {
            Err(format!("{} is a link; a token is not written through a link: remove it", folder.display()))
        }
        Ok(_) => Err(format!("{} is not a folder of yours", folder.display())),
        Err(_) => Ok(()),
    }
}

/// The last line that speaks of a file counts for git, so ours goes to the end.
fn ignore_file(conf: &Path) -> Planned {
    let path = conf.with_file_name(".gitignore");
    let lines = format!("/{FILE_NAME}*\n/.gitignore\n");
    match fs::symlink_metadata(&path).map_or(Ok((None, PRIVATE)), |_| read(&path)) {
        Ok((before, mode)) => {
            let text = before.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
            let ignored =
                |line: &str| matches!(line.trim(), "*" | "/*") || line.trim() == format!("/{FILE_NAME}*");
            let last = text.lines().rev().find(|line| ignored(line) || line.trim_start().starts_with('!'));
            let step = if last.is_some_and(ignored) {
                Step::Keep
            } else {
                let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                // A file that the project has stays visible.
                let added = if before.is_some() { format!("/{FILE_NAME}*\n") } else { lines };
                Step::Write(format!("{text}{gap}{added}").into_bytes(), mode)
            };
            Planned { before, ..Planned::not(Role::Ignore, &path, step) }
        }
        Err(reason) => Planned::not(Role::Ignore, &path, Step::Refuse(reason)),
    }
}
