//! `ids.jsonl`: which records were ever queued, so that a backfill queues none twice.
//!
//! A line is `["<kind>","<id>"]`. The worker writes it when it takes the entry in, before the state that says so: a crash in
//! between may repeat a line, which means nothing more. Entries that nobody has taken in yet are found in their own files.
//! Liveness records are left out: their ids name pairs, not records, and nothing is ever backfilled of them.
//!
//! The file is a cache. The journal is the authority; where the file is lost, or so old an id has made room, a backfill can
//! queue a record once more. The Console keeps the first write of a run id, and what it knew before our first attempt is
//! counted as `delivered_before`.

use std::collections::HashSet;
use std::path::Path;

use super::{Entry, Error, Guard, bounded, files};

/// Room for some hundred thousand ids.
const CAP: u64 = 8 * 1024 * 1024;

/// A record's kind and id.
type Id = (String, String);

/// The records that were ever queued, as far as is known.
#[derive(Debug, Default)]
pub struct Known(HashSet<Id>);

impl Known {
    /// Adds `entry`; false when it was known.
    pub fn insert(&mut self, entry: &Entry) -> bool {
        self.0.insert(id(entry))
    }

    /// Reads `ids.jsonl` and every entry of the outbox.
    pub(super) fn read(guard: &Guard) -> Result<Self, Error> {
        let read = |path: &Path| files::read(path).map_err(|error| Error::io(path, error));
        let bytes = read(&guard.path("ids.jsonl"))?;
        let noted = files::lines(&bytes).filter_map(|(_, line)| serde_json::from_slice(line).ok());
        let mut known = Self(noted.collect());
        let segments = files::segments(guard.dir()).map_err(|error| Error::io(guard.dir(), error))?;
        let sealed = segments.into_keys().map(|number| files::segment_path(guard.dir(), number));
        for path in sealed.chain([guard.path("current.jsonl")]) {
            let bytes = read(&path)?;
            known.0.extend(files::lines(&bytes).filter_map(|(_, line)| Some(id(&Entry::parse(line)?))));
        }
        Ok(known)
    }
}

fn id(entry: &Entry) -> Id {
    (entry.kind.clone(), entry.id.clone())
}

/// The line of an entry that is taken in; `None` for one that is not noted, or was when it was first taken in.
pub(super) fn line(entry: &Entry) -> Option<Vec<u8>> {
    if entry.is_liveness() || entry.put_back {
        return None;
    }
    serde_json::to_vec(&(&entry.kind, &entry.id)).ok()
}

/// Notes the ids of entries that are taken in, in one write.
pub(super) fn append(path: &Path, lines: &[Vec<u8>]) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    bounded::append_line(path, &lines.join(&b'\n'), CAP).map_err(|error| Error::io(path, error))
}
