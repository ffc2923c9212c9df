//! The database: tables `session`, `message` and `part`; the JSON of the latter two is in their column `data`.
//!
//! Rows are overwritten in place, with a new `time_updated`. A session's news are found by its index and that time; what
//! a part is, by its length first, so that the outputs of tools, which are most of the file, are never read.

use super::family::{Ask, Member};
use super::message::{MAX_STEP, Message, Place, Step};
use super::{Known, key};
use crate::usage::database::{self, Database};
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::Receiver;
use rusqlite::ToSql;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

/// A message's JSON is never longer than this.
const MAX_MESSAGE: i64 = 8 << 20;
/// Of a session with more parts than this, the newest are asked first.
const NEWEST: i64 = 1_000;
/// How often a database is read that its host writes without a log.
const ATTEMPTS: usize = 3;

/// Reads all messages; `known` gets the ids of those that a model wrote.
///
/// # Errors
/// When the database cannot be read, or is none of opencode's.
pub(super) fn all(
    path: &Path,
    known: &mut Known,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> io::Result<()> {
    let database = database::open(path)?;
    let mut created = HashMap::new();
    database.each("SELECT id, time_created FROM session", &[], |row| {
        if let Some((id, at_ms)) = row.text(0).zip(row.whole(1)) {
            created.insert(id.to_owned(), at_ms);
        }
    })?;
    let sessions = Sessions { top: None, created };
    read(&database, &sessions, None, &mut Found { known, agent_types: &mut BTreeMap::new() }, to, met)
        .map(|_| ())
}

/// What the database says of a session, if it has it.
///
/// # Errors
/// When the database cannot be read, or is none of opencode's.
pub(super) fn member(path: &Path, session: &str) -> io::Result<Option<Member>> {
    member_in(&database::open_promptly(path)?, session)
}

fn member_in(database: &Database, session: &str) -> io::Result<Option<Member>> {
    // Columns that an older database lacks.
    let parent = column(database, "parent_id");
    let directory = column(database, "directory");
    let sql = format!("SELECT id, {parent}, time_created, {directory} FROM session WHERE id = ?1");
    let mut found = None;
    database.each(&sql, &[&session], |row| {
        found = row.text(0).map(|id| Member {
            id: id.to_owned(),
            parent: row.text(1).filter(|parent| !parent.is_empty()).map(str::to_owned),
            created_ms: row.whole(2),
            directory: row.text(3).map(Into::into),
        });
    })?;
    Ok(found)
}

fn column(database: &Database, name: &'static str) -> &'static str {
    if database.has_column("session", name) { name } else { "NULL" }
}

/// Which of those messages the database has.
///
/// # Errors
/// When the database cannot be read, or is none of opencode's.
pub(super) fn answers_among(path: &Path, ids: &[&str]) -> io::Result<Vec<String>> {
    let database = database::open_promptly(path)?;
    let mut known = vec![];
    for id in ids {
        database.each("SELECT 1 FROM message WHERE id = ?1", &[id], |_| known.push((*id).to_owned()))?;
    }
    Ok(known)
}

/// Reads the messages of a session and of those below it that changed (`time_updated`), and returns when the latest of
/// them did, in epoch milliseconds; `None` when the database has no such session.
/// `agent_types` gets what kind of agent each session below is.
///
/// # Errors
/// When the database cannot be read, is none of opencode's, or was written all the while.
pub(super) fn news(
    path: &Path,
    session: &str,
    ask: Ask,
    agent_types: &mut BTreeMap<String, String>,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> io::Result<Option<i64>> {
    for _ in 0..ATTEMPTS {
        let database = database::open_promptly(path)?;
        let mut seen = Diagnostics::default();
        let latest = family(&database, session, ask, agent_types, to, &mut seen);
        // What was read twice is merged; what a page that was being written hid is read the next time.
        if database.is_undisturbed() {
            *met += seen;
            return latest;
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "it was written while it was read"))
}

fn family(
    database: &Database,
    session: &str,
    ask: Ask,
    agent_types: &mut BTreeMap<String, String>,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> io::Result<Option<i64>> {
    if member_in(database, session)?.is_none() {
        return Ok(None);
    }
    let parent = column(database, "parent_id");
    let sql = format!(
        "WITH RECURSIVE family(id) AS (
           SELECT ?1 UNION SELECT s.id FROM family f JOIN session s ON s.{parent} = f.id
         ) SELECT s.id, s.time_created FROM family f CROSS JOIN session s ON s.id = f.id"
    )
    .replace("s.NULL", "NULL");
    let mut created = HashMap::new();
    database.each(&sql, &[&session], |row| {
        if let Some(id) = row.text(0) {
            created.insert(id.to_owned(), row.whole(1).unwrap_or(i64::MIN));
        }
    })?;
    let sessions = Sessions { top: Some(session), created };
    let mut latest = ask.since;
    for member in sessions.created.keys() {
        let mut found = Found { known: &mut Known::new(), agent_types };
        let first_part = if ask.all { None } else { oldest_of_newest(database, member, ask.since)? };
        let only = Changed { session: member, since: ask.since, first_part: first_part.unwrap_or(i64::MIN) };
        let changed = read(database, &sessions, Some(&only), &mut found, to, met)?;
        latest = latest.max(changed);
    }
    Ok(Some(latest))
}

/// The row of the oldest of the session's newest parts; `None` when there are no more than those, or when it changed
/// itself: then there may be more that did before it. Rows are numbered as they are added.
fn oldest_of_newest(database: &Database, session: &str, since: i64) -> io::Result<Option<i64>> {
    let mut oldest = None;
    let sql = format!(
        "SELECT rowid, time_updated FROM part WHERE session_id = ?1 ORDER BY rowid DESC LIMIT 1 OFFSET {NEWEST}"
    );
    database.each(&sql, &[&session], |row| {
        oldest = row.whole(0).filter(|_| row.whole(1).is_some_and(|updated| updated < since));
    })?;
    Ok(oldest)
}

/// Which rows are read of a session.
struct Changed<'c> {
    session: &'c str,
    /// Those that changed at this time or later, in epoch milliseconds.
    since: i64,
    /// And of the parts, those from this row on.
    first_part: i64,
}

/// What the reading of messages finds beside calls.
struct Found<'f> {
    known: &'f mut Known,
    agent_types: &'f mut BTreeMap<String, String>,
}

/// Reads all, or what changed of a session since a time; and returns when the latest of that changed.
fn read(
    database: &Database,
    sessions: &Sessions<'_>,
    only: Option<&Changed<'_>>,
    found: &mut Found<'_>,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> io::Result<i64> {
    let Found { known, agent_types } = found;
    let mut latest = i64::MIN;
    let scope = only.map(|only| [&only.session as &dyn ToSql, &only.since, &only.first_part]);
    let parameters = scope.as_ref().map_or(&[][..], |scope| &scope[..]);
    let of_messages = parameters.get(..2).unwrap_or_default();
    // Whoever reads all has no use for the time of a row.
    let (updated, condition) = match only {
        Some(_) => ("time_updated", "{}.session_id = ?1 AND {}.time_updated >= ?2"),
        None => ("id", "1"),
    };
    // An inner look-up by primary key for each step; `CROSS JOIN` keeps SQLite from doing it the other way round.
    let steps = format!(
        "SELECT p.id, p.data, p.{updated}, m.id, m.session_id, m.data
         FROM part p CROSS JOIN message m ON m.id = p.message_id
         WHERE {} AND octet_length(p.data) <= {MAX_STEP} AND instr(p.data, 'step-finish')",
        condition.replace("{}", "p") + if only.is_some() { " AND p.rowid >= ?3" } else { "" }
    );
    database.each(&steps, parameters, |row| {
        latest = latest.max(row.whole(2).unwrap_or(latest));
        let Some(step) = row.bytes(1).and_then(Step::parse) else { return };
        let (Some(id), Some(of), Some(session)) = (row.text(0), row.text(3), row.text(4)) else { return };
        let Some(message) = row.bytes(5).and_then(Message::parse) else {
            met.unreadable_lines += 1;
            return;
        };
        known.insert(key(of));
        let place = sessions.place(of, session);
        if let Some((agent, kind)) = place.agent.zip(message.agent()) {
            agent_types.insert(agent.to_owned(), kind.to_owned());
        }
        message.step(place, id, &step, to, met);
    })?;
    let messages = format!(
        "SELECT m.id, m.session_id, m.{updated}, m.data FROM message m
         WHERE {} AND octet_length(m.data) <= {MAX_MESSAGE}",
        condition.replace("{}", "m")
    );
    let mut without_steps = vec![];
    database.each(&messages, of_messages, |row| {
        latest = latest.max(row.whole(2).unwrap_or(latest));
        let (Some(id), Some(session)) = (row.text(0), row.text(1)) else { return };
        let Some(message) = row.bytes(3).and_then(Message::parse) else {
            met.unreadable_lines += u64::from(row.bytes(3).is_some_and(|data| !data.is_empty()));
            return;
        };
        message.prompt(sessions.place(id, session), to);
        if message.is_answer() && known.insert(key(id)) {
            without_steps.push(id.to_owned());
        }
    })?;
    // A message that changed may have steps that did not.
    let has_steps = format!(
        "SELECT 1 FROM part WHERE message_id = ?1 AND octet_length(data) <= {MAX_STEP}
         AND instr(data, 'step-finish') LIMIT 1"
    );
    for id in &without_steps {
        let mut has = false;
        database.each(&has_steps, &[id], |_| has = true)?;
        if !has {
            database.each("SELECT session_id, data FROM message WHERE id = ?1", &[id], |row| {
                if let Some((session, message)) = row.text(0).zip(row.bytes(1).and_then(Message::parse)) {
                    message.whole(sessions.place(id, session), to, met);
                }
            })?;
        }
    }
    Ok(latest)
}

/// The sessions that are read.
struct Sessions<'s> {
    /// The session that all of them are counted for; each for itself where there is none.
    top: Option<&'s str>,
    /// When each was created, in epoch milliseconds.
    created: HashMap<String, i64>,
}

impl Sessions<'_> {
    fn place<'a>(&'a self, id: &'a str, session: &'a str) -> Place<'a> {
        let top = self.top.unwrap_or(session);
        let agent = Some(session).filter(|session| *session != top);
        Place { id, session: top, agent, session_ms: self.created.get(session).copied() }
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
