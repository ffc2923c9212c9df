//! From the journal to the outbox: what was recorded since the cursor is queued, or decided not to be.
//!
//! The cursor moves only after the outbox was written, so a kill in between makes the next hook decide again; a record
//! that is already queued is then recognised by its id. Records that were written while the relay was off lie behind
//! the cursor and are never sent later (DESIGN §9).

use super::record::{Record, SCHEMA};
use crate::journal::Journal;
use crate::relay::outbox::{self, Entry};
use crate::settings::Settings;
use crate::sys::clock;
use std::io;
use std::time::Duration;

/// How long a hook waits for the outbox.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes sure that the journal has a cursor before its first record of ours: what was there before is not ours to send.
///
/// # Errors
/// When the journal's lock file cannot be read or written.
pub fn prepare(journal: &Journal) -> io::Result<()> {
    match journal.cursor()? {
        Some(cursor) if cursor <= journal.log.length() => Ok(()),
        _ => journal.set_cursor(journal.log.length()),
    }
}

/// Queues what lies between cursor and end. Records that start before `fresh_from` were left behind by an earlier hook
/// and may be queued already.
///
/// # Errors
/// When journal or outbox cannot be read or written; the cursor then stays, and the next hook tries again.
pub fn hand_on(journal: &mut Journal, settings: &Settings, fresh_from: u64) -> Result<(), HandoffError> {
    let end = journal.log.length();
    let from = journal.cursor()?.unwrap_or(end);
    if settings.economics_relay.on {
        let mut waiting = vec![];
        let needle = format!("\"{SCHEMA}\"");
        journal.log.for_each_from(from, needle.as_bytes(), |line, start| {
            waiting.extend(
                serde_json::from_slice::<Record>(line).ok().map(|record| (record, start, line.len())),
            );
        })?;
        for (record, start, length) in waiting {
            queue(&record, start + length as u64 + 1, settings, start < fresh_from)?;
        }
    }
    journal.set_cursor(end)?;
    Ok(())
}

fn queue(
    record: &Record,
    journal_end: u64,
    settings: &Settings,
    left_behind: bool,
) -> Result<(), HandoffError> {
    let Some(destination) = &settings.destination else { return Ok(()) };
    let Some(endpoint) = &destination.economics else { return Ok(()) };
    // A record that was made for another tenant is not this destination's, whatever is configured now.
    if record.is_without_signal() || record.tenant_id != destination.tenant {
        return Ok(());
    }
    if left_behind && outbox::contains(&settings.data_dir, &record.run_id, PATIENCE)? {
        return Ok(());
    }
    let entry = Entry {
        id: record.run_id.clone(),
        kind: "economics".to_owned(),
        origin: endpoint.origin().to_owned(),
        path: endpoint.path().to_owned(),
        tenant: destination.tenant.clone(),
        source: destination.source.to_string(),
        enqueued_at: clock::now_ms(),
        journal_end,
        body: Entry::body(&serde_json::to_string(&record.for_console()).map_err(io::Error::from)?)?,
    };
    outbox::enqueue(&settings.data_dir, &entry, PATIENCE)?;
    Ok(())
}

/// Why records stay where they are for now.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// The journal cannot be read, or its cursor not moved.
    #[error("the journal's records cannot be handed on: {0}")]
    Journal(#[from] io::Error),
    /// The outbox cannot be written.
    #[error("a record cannot be queued: {0}")]
    Outbox(#[from] outbox::Error),
}
