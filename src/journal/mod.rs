//! Append-only JSONL files of records: the local truth.
//!
//! 1. A record is one line, and an append is one write under a lock. A record never spans two writes.
//! 2. A write that fails half-way is undone: the file is cut back to its old length while the lock is held.
//! 3. A torn tail (a crash, a full disk) never swallows the next record: whoever opens a file that does not end in a
//!    newline adds one. The torn piece stays as a line of its own; readers pass over it unless it is whole.
//! 4. When an append returns, the record survives `kill -9`; with [`Durability::Synced`] power loss too.
//! 5. The lock file of a journal holds its *cursor*: how far it has been handed on to the outbox, and for whom. The cursor is
//!    written after the outbox was written and synced, so a crash or a loss of power in between makes the next writer look
//!    again, and never skip.
//! 6. Offsets are the journal's, not a file's. A rotation is one rename under the lock, and the current file then starts
//!    where the rotated one ended, as its name tells: cursors and other offsets hold across it, and readers go from file
//!    to file. What was not handed on is not rotated; what was written late to a rotated file is read, and not removed.
//! 7. A writer checks under the lock, before it appends, that the path still names the file it holds and that nobody wrote
//!    to it meanwhile, and opens it anew if not: whoever deletes a lock file lets two writers in, and they lose nothing.
//!
//! [`Log`] is one such file, [`Journal`] the whole with its lock and its cursor; `rotated` names the older files;
//! [`lines`] reads in bounded memory, [`foreign`] reads JSON that other programs wrote.

pub mod bounded;
pub mod foreign;
pub mod label;
pub mod lines;
pub mod log;
pub mod notes;
mod rotated;

pub use log::{Durability, Log};
pub use rotated::{end, read};

use rotated::Rotated;

use crate::settings::Rotation;
use crate::settings::defaults::DEFAULTS;
use crate::sys::lock::Lock;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest record, in bytes without its newline (DESIGN §4, G5).
pub const MAX_RECORD: usize = DEFAULTS.relay.record_max_bytes as usize;

/// A journal, open and locked; dropping it lets go.
#[derive(Debug)]
pub struct Journal {
    /// The current file.
    log: Log,
    /// The files before it, oldest first.
    rotated: Vec<Rotated>,
    path: PathBuf,
    lock: Lock,
}

impl Journal {
    /// Opens and locks the journal at `path`, creating it if need be; `None` when another process held the lock for
    /// all of `patience`.
    ///
    /// # Errors
    /// When the file or its lock cannot be created or opened.
    pub fn open(path: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let Some(lock) = Lock::acquire(&lock_path(path), patience)? else { return Ok(None) };
        let (rotated, log) = (rotated::list(path)?, Log::open(path)?);
        Ok(Some(Self { log, rotated, path: path.to_path_buf(), lock }))
    }

    /// Appends records for who needs no offsets: the files before the current one are not looked for, unless it is full.
    /// Whether they were; not where another process held the lock for all of `patience`.
    ///
    /// # Errors
    /// As [`Journal::append`]; records before the one that fails are in the journal.
    pub fn add(
        path: &Path,
        records: &[impl AsRef<[u8]>],
        rotation: Rotation,
        patience: Duration,
    ) -> io::Result<bool> {
        let Some(lock) = Lock::acquire(&lock_path(path), patience)? else { return Ok(false) };
        let mut log = Log::open(path)?;
        for record in records {
            check(record.as_ref(), path)?;
        }
        log.append(records, Durability::Written)?;
        if log.length() >= rotation.max_bytes {
            let mut journal = Self { log, rotated: rotated::list(path)?, path: path.to_path_buf(), lock };
            journal.rotate(rotation.keep)?;
        }
        Ok(true)
    }

    /// Appends one record and returns the span of its line.
    ///
    /// # Errors
    /// When the record is too large or holds a newline, or the file cannot be written; nothing was added then.
    pub fn append(&mut self, record: &[u8], durability: Durability) -> io::Result<Range<u64>> {
        check(record, &self.path)?;
        if !self.log.is_current(&self.path) {
            (self.rotated, self.log) = (rotated::list(&self.path)?, Log::open(&self.path)?);
        }
        let start = self.end();
        self.log.append(&[record], durability)?;
        Ok(start..self.end())
    }

    /// The offset of the end.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start_of_current() + self.log.length()
    }

    /// The bytes of the current file.
    #[must_use]
    pub fn length_of_current(&self) -> u64 {
        self.log.length()
    }

    fn start_of_current(&self) -> u64 {
        self.rotated.last().map_or(0, |rotated| rotated.to)
    }

    /// Yields each whole line from offset `from` on that contains `needle`, with its offset.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn for_each_from(
        &mut self,
        from: u64,
        needle: &[u8],
        mut yielded: impl FnMut(&[u8], u64),
    ) -> io::Result<()> {
        for rotated in self.rotated.iter().filter(|rotated| from < rotated.to) {
            rotated.for_each_from(from, needle, &mut yielded)?;
        }
        let start = self.start_of_current();
        self.log.for_each_from(from.saturating_sub(start), needle, |line, at| yielded(line, start + at))
    }

    /// The last line that contains `needle` and that `accept` takes; `None` when there is none.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn last<T>(
        &mut self,
        needle: &[u8],
        mut accept: impl FnMut(&[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let mut found = self.log.last(needle, &mut accept)?;
        for rotated in self.rotated.iter().rev() {
            if found.is_some() {
                break;
            }
            found = rotated.last(needle, &mut accept)?;
        }
        Ok(found)
    }

    /// Goes on in a new file and removes the oldest but `keep` rotated ones. To be called only when all of the journal was
    /// handed on.
    ///
    /// # Errors
    /// When a file cannot be renamed, created or removed; no record is lost then.
    pub fn rotate(&mut self, keep: usize) -> io::Result<()> {
        let full = Rotated::new(&self.path, self.start_of_current(), self.end());
        std::fs::rename(&self.path, full.path())?;
        self.log = Log::open(&self.path)?;
        self.rotated.push(full);
        let surplus = self.rotated.len().saturating_sub(keep.max(1));
        let mut stay = vec![];
        for oldest in self.rotated.drain(..surplus) {
            if !oldest.remove()? {
                stay.push(oldest);
            }
        }
        self.rotated.splice(..0, stay);
        Ok(())
    }

    /// How far the journal was handed on; `None` when that was never noted.
    ///
    /// # Errors
    /// When the lock file cannot be read.
    pub fn cursor(&self) -> io::Result<Option<Cursor>> {
        read_cursor(&self.lock)
    }

    /// How far the journal at `path` was handed on, for who only looks: no file is made, and no writer kept out for longer
    /// than the look takes. `None` when that was never noted.
    ///
    /// # Errors
    /// When the lock file cannot be read, or another process held it for all of `patience`.
    pub fn peek_cursor(path: &Path, patience: Duration) -> io::Result<Option<Cursor>> {
        let path = lock_path(path);
        if !path.exists() {
            return Ok(None);
        }
        let Some(lock) = Lock::acquire(&path, patience)? else {
            let what = format!("{} is held by another process", path.display());
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        };
        read_cursor(&lock)
    }

    /// Notes how far the journal was handed on.
    ///
    /// # Errors
    /// When the lock file cannot be written.
    pub fn set_cursor(&self, cursor: Cursor) -> io::Result<()> {
        let mut file = self.lock.file();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(format!("{:020} {:016x}", cursor.offset, cursor.mark).as_bytes())
    }
}

/// Refuses what is no record.
fn check(record: &[u8], path: &Path) -> io::Result<()> {
    if record.len() <= MAX_RECORD && !record.contains(&b'\n') {
        return Ok(());
    }
    let what =
        format!("a record of {} bytes for {} is too large or spans lines", record.len(), path.display());
    Err(io::Error::new(io::ErrorKind::InvalidData, what))
}

fn read_cursor(lock: &Lock) -> io::Result<Option<Cursor>> {
    let text = log::read_at(lock.file(), 0, CURSOR_LENGTH)?;
    Ok(std::str::from_utf8(&text).ok().and_then(Cursor::parse))
}

/// How far a journal was handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// In bytes.
    pub offset: u64,
    /// Stands for the destination that the records behind the offset were written for; its owner knows how.
    pub mark: u64,
}

impl Cursor {
    fn parse(text: &str) -> Option<Self> {
        let (offset, mark) = text.split_once(' ')?;
        Some(Self { offset: offset.parse().ok()?, mark: u64::from_str_radix(mark, 16).ok()? })
    }
}

/// Twenty digits, a space, sixteen hex digits.
const CURSOR_LENGTH: usize = 37;

/// The lock of the journal at `path`: a file of its own beside it.
fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".lock");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests;
