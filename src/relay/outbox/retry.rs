//! Rejected records on their way again (`tally relay retry`).
//!
//! To put a record back is one append to `current.jsonl`: the entry as it was, the same identity and body to the byte, with
//! `put_back`. That append moves the books, at once and for everybody who reads them: a line that says `put_back` takes one
//! from the rejected, and is counted by the line that the entry had before. So `enqueued` stays, `rejected` falls by one and
//! `pending` rises by one. Then the file is synced, and the record's line is taken out of `rejected.jsonl`.
//!
//! A crash after the append leaves a line in `rejected.jsonl` that counts no more: who lists or retries passes over what is
//! on its way, and who takes the entry in takes the line out before the books say so, and before it is sent. So no rejection
//! is put back twice. Only `outbox.lock` is needed, and a running worker meets the entry like any new one.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use super::{CAP, Entry, Error, Guard, Identity, Queued, Rejected, files, rejected};
use crate::sys::clock;

/// Which rejected records to put back.
#[derive(Debug, Clone, Copy)]
pub enum Choice<'a> {
    /// All that are kept.
    All,
    /// Those with this id.
    Id(&'a str),
}

/// What became of the chosen records.
#[derive(Debug, Default)]
pub struct PutBack {
    /// Put back, oldest rejection first.
    pub put_back: Vec<Entry>,
    /// Left alone: they are on their way already.
    pub on_their_way: Vec<Entry>,
    /// Left alone: torn or corrupt lines, which are no records.
    pub unreadable: u64,
}

impl Guard {
    /// The rejected records that are kept and not on their way, oldest first; `pending` is what is on its way. A record
    /// whose line a crash repeated is one.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn kept(&self, pending: &[Queued]) -> Result<Vec<Rejected>, Error> {
        let mut seen: HashSet<Identity> = pending.iter().map(|queued| queued.identity.clone()).collect();
        let mut kept = self.rejected()?;
        kept.reverse();
        kept.retain(|record| record.parsed().is_none_or(|entry| seen.insert(entry.identity())));
        kept.reverse();
        Ok(kept)
    }
}

/// What was given up.
#[derive(Debug, Default)]
pub struct Shelf {
    /// How many records are rejected, as the books say.
    pub rejected: u64,
    /// Those that are kept, oldest first.
    pub kept: Vec<Rejected>,
}

/// Looks at what was given up under `data_dir`.
///
/// # Errors
/// When the outbox cannot be locked or read, or is from a newer version.
pub fn shelf(data_dir: &Path, wait: Duration) -> Result<Shelf, Error> {
    if !super::exists(data_dir) {
        return Ok(Shelf::default());
    }
    let guard = Guard::acquire(data_dir, wait)?;
    let books = guard.look(clock::now_ms())?;
    Ok(Shelf { rejected: books.state.rejected, kept: guard.kept(&books.pending)? })
}

/// Puts the chosen records back.
///
/// # Errors
/// When the outbox cannot be used or is full. What was put back by then is on its way.
pub fn put_back(data_dir: &Path, choice: Choice<'_>, wait: Duration) -> Result<PutBack, Error> {
    let mut done = PutBack::default();
    if !super::exists(data_dir) {
        return Ok(done);
    }
    let guard = Guard::acquire(data_dir, wait)?;
    let books = guard.look(clock::now_ms())?;
    let mut on_its_way: HashSet<Identity> = books.pending.into_iter().map(|queued| queued.identity).collect();
    let mut gone = HashSet::new();
    let current = guard.path("current.jsonl");
    for record in guard.rejected()? {
        let Some(mut entry) = record.parsed() else {
            done.unreadable += u64::from(matches!(choice, Choice::All));
            continue;
        };
        if matches!(choice, Choice::Id(id) if id != entry.id) {
            continue;
        }
        if !on_its_way.insert(entry.identity()) {
            // Twice among the kept, and put back a moment ago: one record is enough.
            if !gone.contains(&entry.identity()) {
                done.on_their_way.push(entry);
            }
            continue;
        }
        if files::len(&current) > CAP {
            return Err(Error::Full { path: current });
        }
        entry.put_back = true;
        files::append_line(&current, &entry.to_line()?).map_err(|error| Error::io(&current, error))?;
        guard.open_gate_for(&entry.origin);
        gone.insert(entry.identity());
        done.put_back.push(entry);
    }
    if !gone.is_empty() {
        files::sync(&current).map_err(|error| Error::io(&current, error))?;
        rejected::remove(&guard.path("rejected.jsonl"), &gone)?;
    }
    Ok(done)
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
