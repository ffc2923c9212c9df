//! A session with those that its subagents run in, as a stop reads it: what is new, from all stores of a data folder.
//!
//! 1. A subagent is a session with a parent. What it calls belongs to the session at the top, the only one that a person
//!    works in; the subagent's own session is the *agent* of the call. So each call has one session that it is billed to,
//!    whichever of them stopped.
//! 2. A store is asked for what changed since the latest change that was seen ([`Mark`]), and a little before that: a
//!    clock may have been set back. What is read twice has the same identity; whoever bills it must know.
//! 3. A row carries no index of when it changed. Of a session with very many parts only the newest are asked, which is where
//!    those of a turn are; all of them once an hour of the session, for one that was written over long after.
//! 4. A database and the files of older versions may both know a session. A message counts from the database; files that
//!    were read once, of a session that has moved to a database, are not read again.

use super::{databases, files, store};
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::Receiver;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// How far before the latest change a store is asked again, in milliseconds.
const MARGIN_MS: i64 = 2_000;
/// How often all parts of a session are asked, in milliseconds of the session's own time.
const SWEEP_MS: i64 = 3_600_000;
/// Subagents call subagents, but no deeper than this.
const MAX_DEPTH: usize = 32;

/// How far a store was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The database, or the folder of the files.
    pub path: PathBuf,
    /// The latest change that was seen, in epoch milliseconds.
    pub changed_ms: i64,
    /// The same, when all rows were asked last.
    pub swept_ms: i64,
}

/// What is asked of a database.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    /// What changed at this time or later, in epoch milliseconds.
    pub(super) since: i64,
    /// Whether all rows are asked, or of many parts only the newest.
    pub(super) all: bool,
}

/// What a store says of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) created_ms: Option<i64>,
    pub(super) directory: Option<PathBuf>,
}

/// The top of a session's family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Top {
    /// Its id.
    pub id: String,
    /// Where it works.
    pub directory: Option<PathBuf>,
}

/// What a stop found.
#[derive(Debug, Default)]
pub struct News {
    /// Whether any store knows the session.
    pub known: bool,
    /// What kind of agent each subagent is.
    pub agent_types: BTreeMap<String, String>,
    /// What could not be read.
    pub failed: Vec<(PathBuf, io::Error)>,
}

/// The session at the top of that one's family: itself, if it is no subagent. `None` when no store can tell.
#[must_use]
pub fn top(data: &Path, session: &str) -> Option<Top> {
    let in_database =
        databases(data).into_iter().find_map(|path| climb(session, |id| store::member(&path, id).ok()?));
    let storage = data.join("storage");
    in_database.or_else(|| climb(session, |id| files::member(&storage, id)))
}

fn climb(session: &str, mut member: impl FnMut(&str) -> Option<Member>) -> Option<Top> {
    let mut here = member(session)?;
    for _ in 0..MAX_DEPTH {
        // A parent that was deleted leaves its child at the top.
        let Some(parent) = here.parent.take().and_then(|parent| member(&parent)) else { break };
        here = parent;
    }
    Some(Top { id: here.id, directory: here.directory })
}

/// Reads what is new of the family of `session`, which is at its top, and moves the marks forward.
pub fn news(
    data: &Path,
    session: &str,
    marks: &mut Vec<Mark>,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> News {
    let mut news = News::default();
    let databases = databases(data);
    for path in &databases {
        let ask = ask(marks, path);
        match store::news(path, session, ask, &mut news.agent_types, to, met) {
            Ok(None) => {}
            Ok(Some(latest)) => {
                news.known = true;
                mark(marks, path, latest, ask.all);
            }
            Err(error) => news.failed.push((path.clone(), error)),
        }
    }
    let storage = data.join("storage");
    let moved = news.known && marks.iter().any(|mark| mark.path == storage);
    if !moved && let Some(top) = files::member(&storage, session) {
        let members = files::family(&storage, top);
        let in_a_database = |ids: &[&str]| {
            let known = databases.iter().filter_map(|path| store::answers_among(path, ids).ok());
            known.flatten().collect::<HashSet<String>>()
        };
        let since = ask(marks, &storage).since;
        let latest = files::news(&storage, &members, since, &in_a_database, &mut news, to, met);
        news.known = true;
        mark(marks, &storage, latest, true);
    }
    news
}

fn ask(marks: &[Mark], path: &Path) -> Ask {
    let Some(mark) = marks.iter().find(|mark| mark.path == path) else {
        return Ask { since: i64::MIN, all: true };
    };
    let all = mark.changed_ms.saturating_sub(mark.swept_ms) >= SWEEP_MS;
    let from = if all { mark.swept_ms } else { mark.changed_ms };
    Ask { since: from.saturating_sub(MARGIN_MS), all }
}

fn mark(marks: &mut Vec<Mark>, path: &Path, latest: i64, swept: bool) {
    match marks.iter_mut().find(|mark| mark.path == path) {
        Some(mark) => {
            mark.changed_ms = mark.changed_ms.max(latest);
            if swept {
                mark.swept_ms = mark.changed_ms;
            }
        }
        None => marks.push(Mark { path: path.to_path_buf(), changed_ms: latest, swept_ms: latest }),
    }
}
