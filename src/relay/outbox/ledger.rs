//! The books of the outbox in the hands of the one process that may write them: it holds `worker.lock` for as long as
//! the ledger lives, and `outbox.lock` for each call that touches a file.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::Deserialize;

use super::Identity;
use super::rejected::{self, Reason, Rejected};
use super::state::{self, Fate, Key, State};
use super::{CAP, Entry, Error, Guard, MAX_ENTRIES, files, ids};

const TORN: &str = "torn or corrupt entry";

/// The books, as they will be after the next [`Ledger::save`].
#[derive(Debug)]
pub struct Ledger {
    dir: PathBuf,
    /// The counters and marks.
    pub state: State,
    unsaved: Vec<Rejected>,
    /// The lines of `ids.jsonl` for what was taken in since the last save.
    arrived: Vec<Vec<u8>>,
    /// What of it was put back, and so is rejected no more.
    put_back: HashSet<Identity>,
}

/// An entry and where its line is.
#[derive(Debug)]
pub struct Located {
    /// Its segment and line.
    pub key: Key,
    /// The line's place in the segment file.
    pub offset: u64,
    /// The line's length.
    pub len: usize,
    /// What the line says.
    pub entry: Entry,
}

/// Reads `state.json`; `None` when there is something that is no state.
pub(super) fn read_state(guard: &Guard) -> Result<Option<State>, Error> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let path = guard.path("state.json");
    let bytes = files::read(&path).map_err(|error| Error::io(&path, error))?;
    if bytes.is_empty() && !files::exists(&path) {
        return Ok(Some(State::default()));
    }
    match serde_json::from_slice::<Versioned>(&bytes) {
        Ok(Versioned { version }) if version > state::VERSION => Err(Error::Newer { path, version }),
        Ok(_) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(_) => Ok(None),
    }
}

impl Ledger {
    /// Opens the books. The caller holds `worker.lock`.
    ///
    /// # Errors
    /// When `state.json` cannot be read or is from a newer version.
    pub fn open(guard: &Guard) -> Result<Self, Error> {
        let mut state = match read_state(guard)? {
            Some(state) => state,
            None => {
                // Broken: all segments present are taken in again, and what was delivered of them is sent twice.
                // The bytes are kept for whoever wants to know why.
                let path = guard.path("state.json");
                files::rename(&path, &guard.path("state.json.bad"))
                    .map_err(|error| Error::io(&path, error))?;
                State::default()
            }
        };
        state.version = state::VERSION;
        files::remove_temporaries(guard.dir());
        Ok(Self::for_reading(guard, state))
    }

    /// Books to look at only: they are never saved.
    pub(super) fn for_reading(guard: &Guard, state: State) -> Self {
        let dir = guard.dir().to_path_buf();
        Self { dir, state, unsaved: Vec::new(), arrived: Vec::new(), put_back: HashSet::new() }
    }

    /// The segments known so far, oldest first.
    #[must_use]
    pub fn known(&self) -> Vec<u64> {
        self.state.segments.keys().copied().collect()
    }

    /// The unsettled entries of a known segment. Torn lines are settled as rejected. One segment at a time, because entries
    /// hold their bodies: a full outbox would fill the memory.
    ///
    /// # Errors
    /// When the segment cannot be read.
    pub fn pending(&mut self, _guard: &Guard, number: u64, now_ms: i64) -> Result<Vec<Located>, Error> {
        let path = files::segment_path(&self.dir, number);
        let content = files::read(&path).map_err(|error| Error::io(&path, error))?;
        let mut found = Vec::new();
        let mut count = 0;
        for (offset, line) in files::lines(&content) {
            let key = Key { segment: number, line: count };
            count += 1;
            if !self.state.is_open(key) {
                continue;
            }
            match Entry::parse(line) {
                Some(entry) => found.push(Located { key, offset, len: line.len(), entry }),
                None => self.reject_line(key, line, TORN, None, now_ms),
            }
        }
        let known = self.state.segments.get(&number).map_or(0, |segment| segment.lines);
        for line in count..known {
            // Somebody else cut or removed the file: these lines are gone, and that is said.
            self.state.settle(Key { segment: number, line }, Fate::Vanished);
        }
        Ok(found)
    }

    /// Takes in the next segment that was sealed since the last look, and returns its entries; `None` when there is no
    /// other.
    ///
    /// # Errors
    /// When the folder or the segment cannot be read.
    pub fn adopt_next(&mut self, guard: &Guard, now_ms: i64) -> Result<Option<Vec<Located>>, Error> {
        let present = files::segments(&self.dir).map_err(|error| Error::io(&self.dir, error))?;
        let next = present.into_iter().find(|&(number, _)| number > self.state.known_through);
        let Some((number, bytes)) = next else { return Ok(None) };
        let path = files::segment_path(&self.dir, number);
        let content = files::read(&path).map_err(|error| Error::io(&path, error))?;
        self.state.adopt(number, files::lines(&content).count() as u64, bytes);
        let found = self.pending(guard, number, now_ms)?;
        for Located { entry, .. } in &found {
            self.arrived.extend(ids::line(entry));
            if entry.put_back {
                self.state.put_back();
                self.put_back.insert(entry.identity());
            }
        }
        Ok(Some(found))
    }

    /// The line of an entry, as it was queued; `None` when it is gone. Needs no lock: a segment never changes, and
    /// only this process unlinks one.
    #[must_use]
    pub fn line(&self, key: Key, offset: u64, len: usize) -> Option<Vec<u8>> {
        files::read_range(&files::segment_path(&self.dir, key.segment), offset, len).ok()
    }

    /// Gives an entry up, keeping its line.
    pub fn reject_line(
        &mut self,
        key: Key,
        line: &[u8],
        reason: impl Into<Reason>,
        status: Option<u16>,
        now_ms: i64,
    ) {
        // The try that was refused is not in the history yet; a line that was never sent has no status.
        let earlier = self.state.history(key).map_or(0, |history| history.attempts);
        let attempts = earlier.saturating_add(u32::from(status.is_some()));
        self.unsaved.push(Rejected::new(key, line, reason.into(), status, attempts, now_ms));
        self.state.settle(key, Fate::Rejected);
    }

    /// Seals `current.jsonl`; see `Guard::seal`.
    ///
    /// # Errors
    /// When the rename fails.
    pub fn seal(&self, guard: &Guard) -> Result<(), Error> {
        guard.seal(self.state.known_through)
    }

    /// Evicts the oldest segments until the outbox fits its caps, of bytes and of entries.
    pub fn enforce_cap(&mut self, guard: &Guard) {
        let mut bytes = files::len(&guard.path("current.jsonl"));
        bytes += self.state.segments.values().map(|segment| segment.bytes).sum::<u64>();
        while bytes > CAP || self.state.pending() > MAX_ENTRIES {
            let Some((&oldest, segment)) = self.state.segments.first_key_value() else { break };
            bytes = bytes.saturating_sub(segment.bytes);
            self.state.evict(oldest);
        }
    }

    /// Notes the ids of what was taken in. To be called for each segment: those of a full outbox would fill the memory.
    ///
    /// # Errors
    /// When they cannot be written; the next save tries again.
    pub fn note_arrived(&mut self, guard: &Guard) -> Result<(), Error> {
        ids::append(&guard.path("ids.jsonl"), &self.arrived)?;
        self.arrived.clear();
        Ok(())
    }

    /// Writes the books: first which ids arrived, what of the rejected was put back and what was rejected, then the state,
    /// then the files that the state no longer lists are unlinked. A crash in between repeats a line or leaves a file to
    /// unlink later, never more.
    ///
    /// # Errors
    /// When a write fails; the books on disk are then the old ones, and the next save tries again.
    pub fn save(&mut self, guard: &Guard) -> Result<(), Error> {
        self.note_arrived(guard)?;
        let rejected = guard.path("rejected.jsonl");
        rejected::remove(&rejected, &self.put_back)?;
        self.put_back.clear();
        rejected::append(&rejected, &self.unsaved)?;
        self.unsaved.clear();
        self.state.retire();
        let path = guard.path("state.json");
        let bytes = serde_json::to_vec(&self.state).map_err(Error::Body)?;
        files::replace(&path, &bytes).map_err(|error| Error::io(&path, error))?;
        self.sweep();
        Ok(())
    }

    /// Unlinks the files that the saved state no longer lists. What cannot be unlinked now is found again next time.
    fn sweep(&self) {
        for number in files::segments(&self.dir).unwrap_or_default().into_keys() {
            if number <= self.state.known_through && !self.state.segments.contains_key(&number) {
                drop(files::remove(&files::segment_path(&self.dir, number)));
            }
        }
    }
}
