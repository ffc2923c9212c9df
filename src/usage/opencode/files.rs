//! The older layout, a file each:
//!
//! ```text
//! storage/session/<project>/<session>.json      storage/message/<session>/<message>.json
//! storage/part/<message>/<part>.json
//! ```

use super::family::{Member, News};
use super::message::{MAX_STEP, Message, Place, Step};
use super::{Known, key};
use crate::journal::foreign::{document, object, text, whole};
use crate::sys::files::read_bounded;
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::Receiver;
use crate::usage::walk::Walk;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// No file of a session or a message is longer than this.
const MAX_FILE: u64 = 8 << 20;

/// Reads all messages that are not `known`.
pub(super) fn all(
    storage: &Path,
    known: &mut Known,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
    failed: &mut dyn FnMut(&Path, io::Error),
) {
    let messages = json_below(&storage.join("message"));
    if messages.is_empty() {
        return;
    }
    let created: HashMap<String, i64> = json_below(&storage.join("session"))
        .iter()
        .filter_map(|path| session(path))
        .filter_map(|session| Some((session.id, session.created_ms?)))
        .collect();
    for path in messages {
        let (Some(id), Some(session)) = (stem(&path), session_of(&path)) else { continue };
        let place = Place { id, session, agent: None, session_ms: created.get(session).copied() };
        let is_new = &mut |id: &str| known.insert(key(id));
        message(storage, &path, place, &mut Receive { is_new, agent_types: None, to, met, failed });
    }
}

/// What the files say of a session, if there is one of it.
pub(super) fn member(storage: &Path, id: &str) -> Option<Member> {
    // An id that is a path is none of opencode's.
    let name = Some(format!("{id}.json")).filter(|name| !name.contains(['/', '\\']))?;
    let projects = std::fs::read_dir(storage.join("session")).ok()?.flatten();
    projects.map(|project| project.path().join(&name)).find_map(|path| session(&path))
}

/// A session and those below it.
pub(super) fn family(storage: &Path, top: Member) -> Vec<Member> {
    let mut others: Vec<Member> =
        json_below(&storage.join("session")).iter().filter_map(|path| session(path)).collect();
    let mut family = vec![top];
    let mut at = 0;
    while let Some(parent) = family.get(at).map(|member| member.id.clone()) {
        let (below, rest) = others.into_iter().partition(|other| other.parent.as_ref() == Some(&parent));
        family.extend(below);
        others = rest;
        at += 1;
    }
    family
}

/// Reads the messages of a family, whose first member is its top, that were written at `since` or later (epoch
/// milliseconds) and are in no database; returns when the latest of them was.
pub(super) fn news(
    storage: &Path,
    family: &[Member],
    since: i64,
    in_a_database: &dyn Fn(&[&str]) -> HashSet<String>,
    news: &mut News,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> i64 {
    let mut latest = since;
    let Some(top) = family.first() else { return latest };
    for member in family {
        let all = json_below(&storage.join("message").join(&member.id));
        let mut fresh = vec![];
        for (path, id) in all.iter().filter_map(|path| Some((path, stem(path)?))) {
            // A step is written into its message's folder, and then the message again.
            let written = written_ms(path).max(written_ms(&storage.join("part").join(id)));
            if written.is_some_and(|written| written >= since) {
                latest = latest.max(written.unwrap_or(latest));
                fresh.push((path, id));
            }
        }
        let elsewhere = in_a_database(&fresh.iter().map(|(_, id)| *id).collect::<Vec<_>>());
        for (path, id) in fresh.into_iter().filter(|(_, id)| !elsewhere.contains(*id)) {
            let agent = Some(member.id.as_str()).filter(|id| *id != top.id);
            let place = Place { id, session: &top.id, agent, session_ms: member.created_ms };
            let News { agent_types, failed, .. } = &mut *news;
            let failed = &mut |path: &Path, error| failed.push((path.to_path_buf(), error));
            let agent_types = Some(&mut *agent_types);
            message(
                storage,
                path,
                place,
                &mut Receive { is_new: &mut |_| true, agent_types, to, met, failed },
            );
        }
    }
    latest
}

/// Who is told of what is read.
struct Receive<'r> {
    /// Whether the answer of that id is to be counted.
    is_new: &'r mut dyn FnMut(&str) -> bool,
    agent_types: Option<&'r mut BTreeMap<String, String>>,
    to: &'r mut dyn Receiver,
    met: &'r mut Diagnostics,
    failed: &'r mut dyn FnMut(&Path, io::Error),
}

/// Reads one message and its steps.
fn message(storage: &Path, path: &Path, place: Place<'_>, receive: &mut Receive<'_>) {
    let json = match read_bounded(path, MAX_FILE) {
        Ok(json) => json.unwrap_or_default(),
        Err(error) => return (receive.failed)(path, error),
    };
    let Some(message) = Message::parse(&json) else {
        receive.met.unreadable_lines += 1;
        return;
    };
    message.prompt(place, receive.to);
    if !message.is_answer() || !(receive.is_new)(place.id) {
        return;
    }
    if let Some(types) = &mut receive.agent_types
        && let Some((agent, kind)) = place.agent.zip(message.agent())
    {
        types.insert(agent.to_owned(), kind.to_owned());
    }
    let mut has_steps = false;
    for path in json_below(&storage.join("part").join(place.id)) {
        let small = path.metadata().is_ok_and(|file| file.len() <= MAX_STEP);
        let part = if small { read_bounded(&path, MAX_STEP).ok().flatten() } else { None };
        if let Some(step) = part.as_deref().and_then(Step::parse) {
            has_steps = true;
            message.step(place, stem(&path).unwrap_or_default(), &step, receive.to, receive.met);
        }
    }
    if !has_steps {
        message.whole(place, receive.to, receive.met);
    }
}

/// Reads the file of a session.
fn session(path: &Path) -> Option<Member> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Session<'a> {
        #[serde(borrow, rename = "parentID", deserialize_with = "text")]
        parent: Option<Cow<'a, str>>,
        #[serde(borrow, deserialize_with = "text")]
        directory: Option<Cow<'a, str>>,
        #[serde(deserialize_with = "object")]
        time: Option<Time>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Time {
        #[serde(deserialize_with = "whole")]
        created: Option<i64>,
    }
    let json = read_bounded(path, MAX_FILE).ok()??;
    let session = document::<Session<'_>>(&json).ok()?;
    Some(Member {
        id: stem(path)?.to_owned(),
        parent: session.parent.map(Cow::into_owned),
        created_ms: session.time.and_then(|time| time.created),
        directory: session.directory.map(|directory| directory.into_owned().into()),
    })
}

/// When a file was written, in epoch milliseconds.
fn written_ms(path: &Path) -> Option<i64> {
    let since = path.metadata().ok()?.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

fn session_of(path: &Path) -> Option<&str> {
    path.parent()?.file_name()?.to_str()
}

fn json_below(dir: &Path) -> Vec<PathBuf> {
    let mut walk = Walk::for_files(|name| name.ends_with(".json"));
    walk.below(dir);
    walk.sorted()
}

fn stem(path: &Path) -> Option<&str> {
    path.file_stem()?.to_str()
}
