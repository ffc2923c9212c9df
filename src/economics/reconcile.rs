//! The journal is the authority: what it holds and a head does not know is taken off before a delta is computed.
//!
//! A kill between the journal's append and the head's commit leaves a record that the head knows nothing of. Reading
//! the transcript again from the old marks bills its calls again, into `pending`; taking the record's own delta off
//! leaves what is really new. A head that was lost altogether is made good the same way, from the session's first
//! record on (DESIGN §7).

use super::record::{Record, TaskTotals};
use super::session::Head;
use crate::journal::Journal;
use crate::journal::label::label;
use std::io;

/// Brings `head` up to the journal: its sequence, what is recorded, and what is still pending.
///
/// # Errors
/// When the journal cannot be read.
pub fn session(head: &mut Head, journal: &mut Journal) -> io::Result<()> {
    if head.journal_end == journal.end() {
        return Ok(());
    }
    // A journal shorter than the one that the head knows has taken its place; what it holds is unknown.
    let from = if head.journal_end > journal.end() { 0 } else { head.journal_end };
    let session_id = label(&head.session_id).into_owned();
    let needle = quoted("session_id", &session_id);
    let mut missed = vec![];
    journal.for_each_from(from, needle.as_bytes(), |line, _| {
        missed.extend(serde_json::from_slice::<Record>(line).ok());
    })?;
    for record in missed {
        if record.session_id == session_id && is_of(&record, &head.host) && record.sequence > head.sequence {
            head.record(&record);
        }
    }
    // A transcript that was deleted cannot be billed again: what it would have taken off is not owed back.
    if head.pending.sum.tokens.total() < 0 || head.pending.sum.calls < 0 {
        head.pending = super::amount::Totals::default();
    }
    head.journal_end = journal.end();
    Ok(())
}

/// The last record of a session, by whatever recorder; of `host`, if that is known.
///
/// # Errors
/// When the journal cannot be read.
pub fn last_of_session(
    session_id: &str,
    host: Option<&str>,
    journal: &mut Journal,
) -> io::Result<Option<Record>> {
    let needle = quoted("session_id", session_id);
    let is_its =
        |record: &Record| record.session_id == session_id && host.is_none_or(|host| is_of(record, host));
    journal.last(needle.as_bytes(), |line| serde_json::from_slice::<Record>(line).ok().filter(is_its))
}

/// Whether a record may be of `host`: two hosts may give two sessions one id.
fn is_of(record: &Record, host: &str) -> bool {
    record.signals.runtime.as_deref().is_none_or(|runtime| runtime == host)
}

/// The counters of a task as of its last record, by whatever session.
///
/// # Errors
/// When the journal cannot be read.
pub fn task(slug: &str, journal: &mut Journal) -> io::Result<TaskTotals> {
    let needle = quoted("task_slug", slug);
    let last = journal.last(needle.as_bytes(), |line| {
        let record = serde_json::from_slice::<Record>(line).ok()?;
        (record.task_slug.as_deref() == Some(slug)).then_some(record.task_totals).flatten()
    })?;
    Ok(last.unwrap_or_default())
}

/// A field as our own writer spells it.
fn quoted(field: &str, value: &str) -> String {
    format!("\"{field}\":{}", serde_json::Value::from(value))
}
