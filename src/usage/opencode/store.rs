//! The database: tables `session`, `message` and `part`; the JSON of the latter two is in their column `data`.
//!
//! Rows are overwritten in place, with a new `time_updated`. A session's news are found by its index and that time; what
//! a part is, by its length first, so that the outputs of tools, which are most of the file, are never read.

use super::message::{MAX_STEP, Message, Place, Step};
use super::{Known, key};
use crate::usage::database::{self, Database};
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::Receiver;
use rusqlite::ToSql;
use std::collections::HashMap;
use std::io;
use std::path::Path;

/// A message's JSON is never longer than this.
const MAX_MESSAGE: i64 = 8 << 20;

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
    read(&database, None, known, to, met).map(|_| ())
}

/// Reads the messages of a session that changed at `since` or later (`time_updated`, epoch milliseconds), and returns
/// when the latest of them changed.
///
/// # Errors
/// When the database cannot be read, or is none of opencode's.
pub fn news(
    path: &Path,
    session: &str,
    since: i64,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> io::Result<i64> {
    let database = database::open(path)?;
    read(&database, Some((session, since)), &mut Known::new(), to, met).map(|latest| latest.max(since))
}

/// Reads all, or what changed of a session since a time; and returns when the latest of that changed.
fn read(
    database: &Database,
    only: Option<(&str, i64)>,
    known: &mut Known,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> io::Result<i64> {
    let mut latest = i64::MIN;
    let scope = only.as_ref().map(|(session, since)| [session as &dyn ToSql, since as &dyn ToSql]);
    let parameters = scope.as_ref().map_or(&[][..], |scope| &scope[..]);
    // Whoever reads all has no use for the time of a row.
    let (updated, condition) = match only {
        Some(_) => ("time_updated", "{}.session_id = ?1 AND {}.time_updated >= ?2"),
        None => ("id", "1"),
    };
    let mut sessions = HashMap::new();
    database.each("SELECT id, time_created FROM session", &[], |row| {
        if let Some((id, created)) = row.text(0).zip(row.whole(1)) {
            sessions.insert(id.to_owned(), created);
        }
    })?;
    let sessions = Sessions(sessions);
    // An inner look-up by primary key for each step; `CROSS JOIN` keeps SQLite from doing it the other way round.
    let steps = format!(
        "SELECT p.id, p.data, p.{updated}, m.id, m.session_id, m.data
         FROM part p CROSS JOIN message m ON m.id = p.message_id
         WHERE {} AND octet_length(p.data) <= {MAX_STEP} AND instr(p.data, 'step-finish')",
        condition.replace("{}", "p")
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
        message.step(sessions.place(of, session), id, &step, to, met);
    })?;
    let messages = format!(
        "SELECT m.id, m.session_id, m.{updated}, m.data FROM message m
         WHERE {} AND octet_length(m.data) <= {MAX_MESSAGE}",
        condition.replace("{}", "m")
    );
    let mut without_steps = vec![];
    database.each(&messages, parameters, |row| {
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

/// When each session was created, in epoch milliseconds.
struct Sessions(HashMap<String, i64>);

impl Sessions {
    fn place<'a>(&self, id: &'a str, session: &'a str) -> Place<'a> {
        Place { id, session, session_ms: self.0.get(session).copied() }
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
