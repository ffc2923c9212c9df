//! From the journal to the outbox: what was recorded since the cursor is queued, or decided not to be.
//!
//! The cursor moves only after the outbox was written and synced, so a kill or a loss of power in between makes the next hook decide again; a record
//! that is already queued is then recognised by its id. Records that were written while the relay was off lie behind
//! the cursor and are never sent later (DESIGN §9), unless a [backfill](super::backfill) is asked for.

use super::record::{Record, SCHEMA};
use crate::journal::{Cursor, Journal};
use crate::relay::outbox::{self, Entry};
use crate::settings::{Rotation, Settings};
use crate::sys::clock;
use sha2::{Digest, Sha256};
use std::io;
use std::time::Duration;

/// How long a hook waits for the outbox.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes sure, before a record is written, that the journal has a cursor, which says for which destination what comes
/// now is written. What was there before our first record is not ours to send.
///
/// # Errors
/// When the journal's lock file cannot be read or written.
pub fn prepare(journal: &Journal, settings: &Settings) -> io::Result<()> {
    let here = Cursor { offset: journal.end(), mark: mark(settings) };
    match journal.cursor()? {
        Some(cursor) if cursor.offset < here.offset => Ok(()),
        Some(cursor) if cursor == here => Ok(()),
        _ => journal.set_cursor(here),
    }
}

/// Queues what lies between cursor and end. Records that start before `fresh_from` were left behind by an earlier hook:
/// they may be queued already, and if they were written for another destination they stay here. So does a record that the
/// outbox can never take: it must not hold up those behind it. Returns what is to be said of what stays.
/// A cursor beyond `fresh_from` is of a journal that is gone: of this one only what is fresh is known to be unqueued.
///
/// # Errors
/// When journal or outbox cannot be read or written; the cursor then stays, and the next hook tries again.
pub fn hand_on(
    journal: &mut Journal,
    settings: &Settings,
    fresh_from: u64,
) -> Result<Option<HandoffError>, HandoffError> {
    let end = Cursor { offset: journal.end(), mark: mark(settings) };
    let noted = journal.cursor()?.filter(|cursor| cursor.offset <= fresh_from);
    let from = noted.unwrap_or(Cursor { offset: fresh_from, ..end });
    let (mut stayed, mut unsendable) = (0, None);
    if settings.economics_relay.on {
        let mut waiting = vec![];
        let needle = format!("\"{SCHEMA}\"");
        journal.for_each_from(from.offset, needle.as_bytes(), |line, start| {
            waiting.extend(
                serde_json::from_slice::<Record>(line).ok().map(|record| (record, start, line.len())),
            );
        })?;
        let may_queue = !waiting.is_empty();
        for (record, start, length) in waiting {
            let left_behind = start < fresh_from;
            if left_behind && from.mark != end.mark {
                stayed += 1;
                continue;
            }
            match queue(&record, start + length as u64 + 1, settings, left_behind) {
                Err(HandoffError::Outbox(why)) if why.is_of_the_record() => {
                    unsendable = Some(HandoffError::Unsendable { run_id: record.run_id, why });
                }
                queued => queued?,
            }
        }
        if may_queue {
            outbox::sync(&settings.data_dir)?;
        }
    }
    journal.set_cursor(end)?;
    Ok(unsendable.or((stayed > 0).then_some(HandoffError::Stayed(stayed))))
}

/// Stands for a destination: where it was configured, where it is, and whose.
fn mark(settings: &Settings) -> u64 {
    let Some(destination) = settings.destination.as_ref().filter(|_| settings.economics_relay.on) else {
        return 0;
    };
    let endpoint = destination.economics.as_ref().map(|endpoint| endpoint.url().as_str());
    let source = destination.source.to_string();
    let parts = [&source, endpoint.unwrap_or_default(), destination.tenant.as_deref().unwrap_or_default()];
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
        hasher.update([0]);
    }
    u64::from_le_bytes(hasher.finalize().first_chunk::<8>().copied().unwrap_or_default())
}

/// Goes on in a new file if the current one is full. Only after [`hand_on`] succeeded: what was not handed on is not
/// rotated, and so never removed.
///
/// # Errors
/// When a file cannot be renamed, created or removed; the journal is whole then.
pub fn rotate(journal: &mut Journal, settings: &Settings) -> Result<(), HandoffError> {
    let Rotation { max_bytes, keep } = settings.rotation;
    if journal.length_of_current() < max_bytes {
        return Ok(());
    }
    journal.rotate(keep).map_err(HandoffError::Rotation)
}

fn queue(
    record: &Record,
    journal_end: u64,
    settings: &Settings,
    left_behind: bool,
) -> Result<(), HandoffError> {
    if record.is_without_signal() {
        return Ok(());
    }
    if left_behind && outbox::contains(&settings.data_dir, &record.run_id, PATIENCE)? {
        return Ok(());
    }
    if let Some(entry) = entry(record, journal_end, settings)? {
        outbox::enqueue(&settings.data_dir, &entry, PATIENCE)?;
    }
    Ok(())
}

/// The entry of `record`, whose line ends at `journal_end`; `None` where there is no place to send it to.
///
/// # Errors
/// When the record cannot be a body.
pub(super) fn entry(
    record: &Record,
    journal_end: u64,
    settings: &Settings,
) -> Result<Option<Entry>, HandoffError> {
    let Some(destination) = &settings.destination else { return Ok(None) };
    let Some(endpoint) = &destination.economics else { return Ok(None) };
    Ok(Some(Entry {
        id: record.run_id.clone(),
        kind: "economics".to_owned(),
        origin: endpoint.origin().to_owned(),
        path: endpoint.path().to_owned(),
        tenant: destination.tenant.clone(),
        source: destination.source.to_string(),
        enqueued_at: clock::now_ms(),
        journal_end,
        put_back: false,
        body: Entry::body(&serde_json::to_string(&record.for_console()).map_err(io::Error::from)?)?,
    }))
}

/// Why records stay where they are for now.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// The journal cannot be read, or its cursor not moved.
    #[error("the journal's records cannot be handed on: {0}")]
    Journal(#[from] io::Error),
    /// Records were left behind when the destination was another one.
    #[error(
        "{0} records were written for another destination and are not sent to this one; they stay in the journal"
    )]
    Stayed(usize),
    /// The outbox can never take this record.
    #[error("the record of run {run_id} cannot be sent and stays in the journal: {why}")]
    Unsendable {
        /// Whose record.
        run_id: String,
        /// Why.
        why: outbox::Error,
    },
    /// A full journal cannot be rotated.
    #[error("the journal is full and cannot be rotated: {0}")]
    Rotation(#[source] io::Error),
    /// The outbox cannot be written.
    #[error("a record cannot be queued: {0}")]
    Outbox(#[from] outbox::Error),
}
