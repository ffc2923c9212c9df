//! The outbox: the durable queue of records on their way to a sink, under `<data>/outbox/`.
//!
//! | file | what | written by |
//! |---|---|---|
//! | `current.jsonl` | entries, one per line | hooks, appending |
//! | `0000000001.jsonl` … | sealed segments: never changed again | a rename of `current.jsonl` |
//! | `state.json` | counters, settled lines, tries, origins; versioned | the holder of `worker.lock` |
//! | `rejected.jsonl` | what was given up, bounded | the holder of `worker.lock`; a retry |
//! | `ids.jsonl` | which records were ever queued, bounded | the holder of `worker.lock` |
//! | `gate`, `starting`, `handover` | hints that spare a hook a useless start, and a person a wait | worker, hook, flush |
//! | `outbox.lock` | held for every touch of the files above | all |
//! | `worker.lock` | held by the one worker for its whole life | worker |
//!
//! Invariants:
//!
//! 1. **Conservation.** `enqueued = delivered + rejected + evicted + pending`, always. `enqueued` is counted from lines:
//!    those of `current.jsonl`, of the segments, and of the segments that are gone (`retired_lines`), less those that put a
//!    rejected entry back.
//! 2. **One append.** An entry is one `write_all` of a line under `outbox.lock`. A torn tail gets a newline first, and is
//!    a line too: it was enqueued, and becomes a rejection whose bytes are kept.
//! 3. **Sealing is one rename**, of a file that was synced, so that its lines keep their places through a loss of power. A
//!    segment that `state.json` does not know is simply new. Its number is higher than any that was ever known or is
//!    present, so a number never means two segments.
//! 4. **State first, then unlink.** A settled or evicted segment leaves `state.json` before its file goes. A file whose
//!    number is not above `known_through` and that the state does not list is settled: it is unlinked, never read.
//! 5. **Rejected first, then state**, both synced. A crash in between sends the record once more and may keep its line twice; the
//!    counter, which is part of the state, counts it once.
//! 6. **A lost state loses no record.** Without a readable `state.json` every segment present is new: its records are
//!    sent again (byte-equal, same identity) and counted from there.
//! 7. **A newer state is read-only.** Hooks still append; nothing is sent, sealed or counted.
//! 8. **Two locks, one order.** `worker.lock` is taken, probed and let go only while holding `outbox.lock`. So a hook
//!    that appended and then sees the worker's lock held knows that the worker has yet to take its last look at
//!    `current.jsonl`. (The kernel lets go for a killed worker; the next hook then starts another.) `outbox.lock` is
//!    never held while waiting for the network.
//! 9. **Superseded is evicted, never lost track of.** Of the liveness records of one pair (id, origin, tenant) that wait,
//!    the worker keeps the latest when it takes them in; one in flight is left alone. The others are settled in the state
//!    before the latest is sent, so no saved state has it settled and one of them open; after a crash or with a lost
//!    state the choice is made again. No other kind is ever superseded.
//! 10. **No credential** is ever in any of these files; an entry says where one is configured.
//! 11. **Put back once.** A rejected record is put back by one append, which moves it from rejected to pending; see [`retry`].

pub mod backfill;
mod bounded;
mod entry;
mod files;
mod gate;
mod ids;
mod ledger;
mod rejected;
pub mod retry;
mod state;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use entry::{Entry, Identity, MAX_BODY, Queued};
pub use gate::Gate;
pub use ids::Known;
pub use ledger::{Ledger, Located};
pub use rejected::{Reason, Rejected};
pub use state::{Fate, Hold, Key, Origin, State};

pub(crate) use entry::LIVENESS;
#[cfg(test)]
pub(crate) use entry::sample;

use crate::settings::defaults::DEFAULTS;
use crate::sys::files::create_dir_private;
use crate::sys::lock::Lock;

/// The outbox's size is kept under this; the oldest segments make room.
const CAP: u64 = DEFAULTS.relay.outbox_max_bytes;
const MAX_ENTRIES: u64 = DEFAULTS.relay.outbox_max_entries;
/// No entry is smaller: below so many bytes for each, nobody needs to count them.
const SMALLEST: u64 = 200;
/// A hook seals `current.jsonl` when it is larger than this; else the worker does.
const SEAL_AT: u64 = 1024 * 1024;

/// What went wrong with the outbox.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process held `outbox.lock` for too long.
    #[error("{}: held by another process", path.display())]
    Busy {
        /// The lock file.
        path: PathBuf,
    },
    /// `state.json` is from a newer version.
    #[error("{}: version {version} is newer than this program; update tally", path.display())]
    Newer {
        /// The state file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// The outbox is full and cannot make room.
    #[error("{}: full, and nothing can be evicted", path.display())]
    Full {
        /// The file that cannot grow.
        path: PathBuf,
    },
    /// A body is too large.
    #[error("record of {bytes} bytes is larger than {MAX_BODY}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// A body has a line break outside its strings.
    #[error("record spans more than one line")]
    NotOneLine,
    /// Something is not JSON.
    #[error("record is not JSON: {0}")]
    Body(#[source] serde_json::Error),
}

impl Error {
    /// Whether it is the record that cannot be queued, now or ever.
    #[must_use]
    pub fn is_of_the_record(&self) -> bool {
        matches!(self, Self::TooLarge { .. } | Self::NotOneLine | Self::Body(_))
    }

    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }
}

/// Queues `entry` under `data_dir`, waiting up to `wait` for the lock. It survives the death of the process; for a loss of
/// power see [`sync`].
///
/// # Errors
/// When the entry is not one that may be queued, or it cannot be written; the caller's cursor must then not move.
pub fn enqueue(data_dir: &Path, entry: &Entry, wait: Duration) -> Result<(), Error> {
    let line = entry.to_line()?;
    append(&Guard::acquire(data_dir, wait)?, entry, &line)
}

/// Makes what was queued survive a loss of power. Needs no lock: what is no longer in `current.jsonl` was synced when it
/// was sealed.
///
/// # Errors
/// When the file cannot be opened or synced; the caller's cursor must then not move.
pub fn sync(data_dir: &Path) -> Result<(), Error> {
    let dir = data_dir.join("outbox");
    let current = dir.join("current.jsonl");
    let or_nothing = |synced: io::Result<()>| match synced {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        synced => synced.map_err(|error| Error::io(&current, error)),
    };
    or_nothing(files::sync(&current))?;
    or_nothing(files::sync_names(&dir))
}

fn append(guard: &Guard, entry: &Entry, line: &[u8]) -> Result<(), Error> {
    let current = guard.path("current.jsonl");
    if files::len(&current) > CAP {
        return Err(Error::Full { path: current });
    }
    let len = files::append_line(&current, line).map_err(|error| Error::io(&current, error))?;
    guard.open_gate_for(&entry.origin);
    if len > SEAL_AT {
        // The entry is safe already; whoever comes next can make room too.
        drop(make_room(guard));
    }
    Ok(())
}

/// Seals the current file and, if the outbox is over its cap and no worker is there to do it, evicts.
pub(super) fn make_room(guard: &Guard) -> Result<(), Error> {
    let known_through = ledger::read_state(guard)?.unwrap_or_default().known_through;
    guard.seal(known_through)?;
    let present = files::segments(guard.dir()).map_err(|error| Error::io(guard.dir(), error))?;
    if present.values().sum::<u64>() <= CAP.min(MAX_ENTRIES * SMALLEST) {
        return Ok(());
    }
    let Some(worker) = guard.try_worker()? else { return Ok(()) };
    let mut ledger = Ledger::open(guard)?;
    while ledger.adopt_next(guard, crate::sys::clock::now_ms())?.is_some() {}
    ledger.enforce_cap(guard);
    ledger.save(guard)?;
    worker.release(guard);
    Ok(())
}

/// Whether an entry with this id is in a file of the outbox, sent or not. For the path after a crash only: it reads
/// everything.
///
/// # Errors
/// When the outbox cannot be locked or read.
pub fn contains(data_dir: &Path, id: &str, wait: Duration) -> Result<bool, Error> {
    let guard = Guard::acquire(data_dir, wait)?;
    let segments = files::segments(guard.dir()).map_err(|error| Error::io(guard.dir(), error))?;
    let sealed = segments.into_keys().map(|number| files::segment_path(guard.dir(), number));
    for path in std::iter::once(guard.path("current.jsonl")).chain(sealed) {
        let bytes = files::read(&path).map_err(|error| Error::io(&path, error))?;
        if files::lines(&bytes).filter_map(|(_, line)| Entry::parse(line)).any(|entry| entry.id == id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether anything was ever queued.
pub(super) fn exists(data_dir: &Path) -> bool {
    data_dir.join("outbox").is_dir()
}

/// Whether there is anything that is not settled, from names and sizes alone; what cannot be looked at may hold something.
pub(super) fn has_pending(data_dir: &Path) -> bool {
    let dir = data_dir.join("outbox");
    files::len(&dir.join("current.jsonl")) > 0
        || files::segments(&dir).map_or(true, |found| !found.is_empty())
}

/// What a waiting worker looks at, without the lock: the length of `current.jsonl`, and whether it is asked to leave.
pub(super) fn signs(data_dir: &Path) -> (u64, bool) {
    let dir = data_dir.join("outbox");
    (files::len(&dir.join("current.jsonl")), files::exists(&dir.join(gate::HANDOVER)))
}

/// The books to look at.
#[derive(Debug)]
pub struct Books {
    /// The counters and marks of what is sealed.
    pub state: State,
    /// What is on its way, oldest first, sealed or not.
    pub pending: Vec<Queued>,
    /// The lines that are not sealed, torn ones included.
    pub in_current: u64,
}

/// `outbox.lock`, held.
#[derive(Debug)]
pub struct Guard {
    dir: PathBuf,
    _lock: Lock,
}

impl Guard {
    /// Takes the lock, creating the folder if need be.
    ///
    /// # Errors
    /// When the folder or lock cannot be used, or is held for longer than `wait`.
    pub fn acquire(data_dir: &Path, wait: Duration) -> Result<Self, Error> {
        let dir = data_dir.join("outbox");
        create_dir_private(&dir).map_err(|error| Error::io(&dir, error))?;
        let path = dir.join("outbox.lock");
        match Lock::acquire(&path, wait) {
            Ok(Some(lock)) => Ok(Self { dir, _lock: lock }),
            Ok(None) => Err(Error::Busy { path }),
            Err(error) => Err(Error::io(&path, error)),
        }
    }

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Takes `worker.lock` if nobody holds it.
    ///
    /// # Errors
    /// When the lock file cannot be used.
    pub fn try_worker(&self) -> Result<Option<WorkerLock>, Error> {
        let path = self.path("worker.lock");
        let lock = Lock::try_acquire(&path).map_err(|error| Error::io(&path, error))?;
        Ok(lock.map(WorkerLock))
    }

    /// Seals `current.jsonl` under a number above `known_through` and above all present; an empty one stays. It is synced
    /// first: the state, which is synced too, names its lines by their place.
    fn seal(&self, known_through: u64) -> Result<(), Error> {
        let current = self.path("current.jsonl");
        if files::len(&current) == 0 {
            return Ok(());
        }
        let present = files::segments(&self.dir).map_err(|error| Error::io(&self.dir, error))?;
        let last = present.into_keys().next_back().unwrap_or(0).max(known_through);
        let segment = files::segment_path(&self.dir, last.saturating_add(1));
        files::sync(&current).map_err(|error| Error::io(&current, error))?;
        files::rename(&current, &segment).map_err(|error| Error::io(&current, error))
    }

    /// The lines of `current.jsonl`, whole ones as entries and `None` for each torn one.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn current(&self) -> Result<Vec<Option<Entry>>, Error> {
        let path = self.path("current.jsonl");
        let bytes = files::read(&path).map_err(|error| Error::io(&path, error))?;
        Ok(files::lines(&bytes).map(|(_, line)| Entry::parse(line)).collect())
    }

    /// The books as they are on disk, to look at: with everything taken in that nobody has taken in yet.
    ///
    /// # Errors
    /// As [`Ledger::open`] and [`Ledger::adopt_next`], or when `current.jsonl` cannot be read.
    pub fn look(&self, now_ms: i64) -> Result<Books, Error> {
        let state = ledger::read_state(self)?.unwrap_or_default();
        let mut ledger = Ledger::for_reading(self, state);
        let mut pending = Vec::new();
        let mut add =
            |found: Vec<Located>| pending.extend(found.iter().map(|found| Queued::from(&found.entry)));
        for number in ledger.known() {
            add(ledger.pending(self, number, now_ms)?);
        }
        while let Some(arrived) = ledger.adopt_next(self, now_ms)? {
            add(arrived);
        }
        let mut books = Books { state: ledger.state, pending, in_current: 0 };
        for entry in self.current()? {
            books.in_current += 1;
            if entry.as_ref().is_some_and(|entry| entry.put_back) {
                books.state.put_back();
            }
            books.pending.extend(entry.as_ref().map(Queued::from));
        }
        Ok(books)
    }

    /// What was given up and is still kept, oldest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn rejected(&self) -> Result<Vec<Rejected>, Error> {
        let path = self.path("rejected.jsonl");
        rejected::read(&path).map_err(|error| Error::io(&path, error))
    }
}

/// `worker.lock`, held.
#[derive(Debug)]
pub struct WorkerLock(Lock);

impl WorkerLock {
    /// Lets go, which only the holder of `outbox.lock` may.
    pub fn release(self, _guard: &Guard) {
        drop(self.0);
    }
}

#[cfg(test)]
mod tests;
