//! Records that were never queued, queued on request: all that are new under one lock, so that two backfills at once queue
//! none twice. A backfill evicts nothing; it leaves half of the outbox to the hooks.

use std::path::Path;
use std::time::Duration;

use super::ids::Known;
use super::{CAP, Entry, Error, Guard, append, files};

/// What a backfill may fill the outbox up to, in bytes.
pub const ROOM: u64 = CAP / 2;

/// Which records were ever queued under `data_dir`; makes no file.
///
/// # Errors
/// When the outbox cannot be locked or read.
pub fn known(data_dir: &Path, wait: Duration) -> Result<Known, Error> {
    if !super::exists(data_dir) {
        return Ok(Known::default());
    }
    Known::read(&Guard::acquire(data_dir, wait)?)
}

/// Queues those of `entries` that never were, in their order, until the outbox has no more room. Returns for each whether
/// it was queued, up to where the room ended.
///
/// # Errors
/// When an entry may not be queued, or the outbox cannot be used. What was queued by then is known, so that doing it again
/// goes on from there.
pub fn enqueue_new(data_dir: &Path, entries: &[Entry], wait: Duration) -> Result<Vec<bool>, Error> {
    let guard = Guard::acquire(data_dir, wait)?;
    let mut known = Known::read(&guard)?;
    let segments = files::segments(guard.dir()).map_err(|error| Error::io(guard.dir(), error))?;
    let mut bytes = segments.values().sum::<u64>() + files::len(&guard.path("current.jsonl"));
    let mut queued = Vec::with_capacity(entries.len());
    for entry in entries {
        let is_new = known.insert(entry);
        if is_new {
            let line = entry.to_line()?;
            bytes += line.len() as u64 + 1;
            if bytes > ROOM {
                break;
            }
            append(&guard, entry, &line)?;
        }
        queued.push(is_new);
    }
    Ok(queued)
}
