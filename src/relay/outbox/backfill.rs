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

#[cfg(test)]
mod tests {
    use super::super::{MAX_BODY, sample};
    use super::*;

    const WAIT: Duration = Duration::from_secs(5);
    const ORIGIN: &str = "http://localhost:1";

    fn counted(dir: &Path) -> (u64, u64) {
        let status = crate::relay::status(dir).unwrap();
        (status.enqueued, status.evicted)
    }

    #[test]
    fn a_backfill_stops_at_half_of_the_outbox_evicts_nothing_and_goes_on_later() {
        let dir = tempfile::tempdir().unwrap();
        let body = Entry::body(&format!("\"{}\"", "x".repeat(MAX_BODY - 2))).unwrap();
        let large = |n: u64| Entry { body: body.clone(), ..sample(&format!("r{n}"), ORIGIN) };
        // A body takes a little more than its own size as a line: of exactly as many as there is room for, one stays.
        let room = ROOM / MAX_BODY as u64;
        let entries: Vec<Entry> = (0..room + 5).map(large).collect();
        let queued = enqueue_new(dir.path(), &entries, WAIT).unwrap();
        assert_eq!((queued.len() as u64, queued.iter().all(|is_new| *is_new)), (room - 1, true));
        assert_eq!(counted(dir.path()), (room - 1, 0));
        // A hook still finds room.
        super::super::enqueue(dir.path(), &sample("hook", ORIGIN), WAIT).unwrap();
        let queued = enqueue_new(dir.path(), &entries, WAIT).unwrap();
        assert_eq!((queued.len() as u64, queued.iter().any(|is_new| *is_new)), (room - 1, false));
        assert_eq!(counted(dir.path()), (room, 0));
    }

    #[test]
    fn what_is_queued_twice_in_one_go_is_queued_once_and_a_liveness_record_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let pair = Entry { kind: super::super::LIVENESS.to_owned(), ..sample("a", ORIGIN) };
        super::super::enqueue(dir.path(), &pair, WAIT).unwrap();
        let entries = [sample("a", ORIGIN), sample("a", "http://localhost:2"), sample("b", ORIGIN)];
        assert_eq!(enqueue_new(dir.path(), &entries, WAIT).unwrap(), [true, false, true]);
        assert_eq!(enqueue_new(dir.path(), &entries, WAIT).unwrap(), [false; 3]);
        assert_eq!(counted(dir.path()), (3, 0));
    }
}
