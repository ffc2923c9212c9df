//! Append-only JSONL files of records: the local truth.
//!
//! 1. A record is one line, and an append is one write under a lock. A record never spans two writes.
//! 2. A write that fails half-way is undone: the file is cut back to its old length while the lock is held.
//! 3. A torn tail (a crash, a full disk) never swallows the next record: whoever opens a file that does not end in a
//!    newline adds one. The torn piece stays as a line of its own; readers pass over it unless it is whole.
//! 4. When an append returns, the record survives `kill -9`; with [`Durability::Synced`] power loss too.
//! 5. The lock file of a journal holds its *cursor*: how far it has been handed on to the outbox, and for whom. The cursor is
//!    written after the outbox, so a crash in between makes the next writer look again, and never skip.
//!
//! [`Log`] is one such file, [`Journal`] a log with its lock and its cursor; [`lines`] reads in bounded memory,
//! [`foreign`] reads JSON that other programs wrote.

pub mod foreign;
pub mod lines;
pub mod log;
pub mod notes;

pub use log::{Durability, Log};

use crate::settings::defaults::DEFAULTS;
use crate::sys::lock::Lock;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest record, in bytes without its newline (DESIGN §4, G5).
pub const MAX_RECORD: usize = DEFAULTS.relay.record_max_bytes as usize;

/// A journal, open and locked; dropping it lets go.
#[derive(Debug)]
pub struct Journal {
    /// The records.
    pub log: Log,
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
        let log = Log::open(path)?;
        Ok(Some(Self { log, path: path.to_path_buf(), lock }))
    }

    /// Appends one record, synced, and returns the offset behind its line.
    ///
    /// # Errors
    /// When the record is too large or holds a newline, or the file cannot be written; nothing was added then.
    pub fn append(&mut self, record: &[u8]) -> io::Result<u64> {
        if record.len() > MAX_RECORD || record.contains(&b'\n') {
            let what = format!(
                "a record of {} bytes for {} is too large or spans lines",
                record.len(),
                self.path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.log.append(&[record], Durability::Synced)?;
        Ok(self.log.length())
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
mod tests {
    use super::*;

    fn open(path: &Path) -> Journal {
        Journal::open(path, Duration::ZERO).unwrap().unwrap()
    }

    #[test]
    fn r1_a_record_that_would_span_lines_or_grow_too_large_is_refused_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        let mut journal = open(&path);
        assert!(journal.append(b"{\n}").is_err());
        assert!(journal.append(&vec![b'x'; MAX_RECORD + 1]).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn a_held_journal_is_not_opened_twice() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        let held = open(&path);
        assert!(Journal::open(&path, Duration::ZERO).unwrap().is_none());
        drop(held);
        assert!(Journal::open(&path, Duration::ZERO).unwrap().is_some());
    }

    #[test]
    fn r5_the_cursor_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        let journal = open(&path);
        assert_eq!(journal.cursor().unwrap(), None);
        let cursor = Cursor { offset: 42, mark: 7 };
        journal.set_cursor(Cursor { offset: u64::MAX, mark: u64::MAX }).unwrap();
        journal.set_cursor(cursor).unwrap();
        drop(journal);
        assert_eq!(open(&path).cursor().unwrap(), Some(cursor));
    }
}
