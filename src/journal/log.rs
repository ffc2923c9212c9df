//! One append-only JSONL file: whole-line appends that survive a crash, and bounded reads.
//!
//! Invariants 1 to 4 of the room live here. A log is not locked by itself: whoever appends holds the lock that guards
//! it.

use super::lines;
use crate::sys::files;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// What an append must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process.
    Written,
    /// The loss of power.
    Synced,
}

/// An open log.
#[derive(Debug)]
pub struct Log {
    file: File,
    length: u64,
}

impl Log {
    /// Opens the log at `path`, creating it if need be. A tail that was torn is sealed with a newline: if only the newline
    /// was lost the line is whole, and everybody from now on reads it so.
    ///
    /// # Errors
    /// When it cannot be created, opened or sealed.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = files::open_append(path)?;
        let mut length = file.metadata()?.len();
        if let Some(last) = length.checked_sub(1)
            && read_at(&file, last, 1)? != b"\n"
        {
            file.write_all(b"\n")?;
            length += 1;
        }
        Ok(Self { file, length })
    }

    /// Appends whole lines, each without its newline, in one write; returns the offset at which each starts, and then
    /// the length of the log.
    ///
    /// # Errors
    /// When the file cannot be written; nothing was added then.
    pub fn append(&mut self, lines: &[impl AsRef<[u8]>], durability: Durability) -> io::Result<Vec<u64>> {
        let mut bytes =
            Vec::with_capacity(lines.iter().map(|line| line.as_ref().len() + 1).sum::<usize>() + 1);
        let mut starts = Vec::with_capacity(lines.len() + 1);
        for line in lines {
            starts.push(self.length + bytes.len() as u64);
            bytes.extend_from_slice(line.as_ref());
            bytes.push(b'\n');
        }
        let written = self.file.write_all(&bytes).and_then(|()| match durability {
            Durability::Written => Ok(()),
            Durability::Synced => self.file.sync_data(),
        });
        if let Err(error) = written {
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        starts.push(self.length);
        Ok(starts)
    }

    /// Whether `path` still names this file, and nobody has written to it since.
    pub(super) fn is_current(&self, path: &Path) -> bool {
        files::still_named(&self.file, path)
            && self.file.metadata().is_ok_and(|metadata| metadata.len() == self.length)
    }

    /// The length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Yields each whole line from byte `from` on that contains `needle`, with the offset at which it starts.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn for_each_from(
        &mut self,
        from: u64,
        needle: &[u8],
        yielded: impl FnMut(&[u8], u64),
    ) -> io::Result<()> {
        whole_lines(&mut self.file, from, needle, yielded)
    }

    /// The last line that contains `needle` and that `accept` takes; `None` when there is none. The end of the log is
    /// looked at first: most questions are about a line written a moment ago.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn last<T>(
        &mut self,
        needle: &[u8],
        accept: impl FnMut(&[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        last(&mut self.file, self.length, needle, accept)
    }

    /// The line that starts at `offset`, if it is whole and not longer than `limit`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn line_at(&self, offset: u64, limit: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = read_at(&self.file, offset, limit)?;
        let end = memchr::memchr(b'\n', &bytes);
        Ok(end.map(|end| {
            bytes.truncate(end);
            bytes
        }))
    }
}

/// See [`Log::for_each_from`].
pub(super) fn whole_lines(
    file: &mut File,
    from: u64,
    needle: &[u8],
    mut yielded: impl FnMut(&[u8], u64),
) -> io::Result<()> {
    lines::for_each(file, from, needle, |line| {
        if !line.open {
            yielded(line.bytes, line.offset);
        }
    })
    .map(drop)
}

/// See [`Log::last`]; `file` has `length` bytes.
pub(super) fn last<T>(
    file: &mut File,
    length: u64,
    needle: &[u8],
    mut accept: impl FnMut(&[u8]) -> Option<T>,
) -> io::Result<Option<T>> {
    for window in [TAIL, TAIL * 16, u64::MAX] {
        let from = length.saturating_sub(window);
        let mut found = None;
        // A window may begin inside a line. Such a rest has one bracket too many: `accept` cannot parse it.
        whole_lines(file, from, needle, |line, _| found = accept(line).or(found.take()))?;
        if found.is_some() || from == 0 {
            return Ok(found);
        }
    }
    Ok(None)
}

const TAIL: u64 = 64 * 1024;

/// Up to `count` bytes of `file` at `offset`.
pub(super) fn read_at(mut file: &File, offset: u64, count: usize) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::with_capacity(count);
    file.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn r3_a_torn_tail_does_not_swallow_the_next_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        std::fs::write(&path, "{\"a\":1}\n{\"torn").unwrap();
        let mut log = Log::open(&path).unwrap();
        let starts = log.append(&["{\"b\":2}", "{\"c\":3}"], Durability::Synced).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\":1}\n{\"torn\n{\"b\":2}\n{\"c\":3}\n");
        assert_eq!(log.line_at(starts[1], 99).unwrap().unwrap(), b"{\"c\":3}");
        assert_eq!(log.line_at(starts[1], 3).unwrap(), None);
        assert_eq!(starts[2], log.length());
    }

    #[test]
    fn the_last_line_is_found_near_and_far() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("j.jsonl");
        let filler = "{\"other\":1}\n".repeat(200_000);
        std::fs::write(&path, format!("{{\"id\":1}}\n{{\"id\":2}}\n{filler}{{\"id\":3")).unwrap();
        let mut log = Log::open(&path).unwrap();
        let id = |log: &mut Log| {
            let last = log.last(b"\"id\"", |line| serde_json::from_slice::<Value>(line).ok()).unwrap();
            last.unwrap()["id"].as_i64()
        };
        assert_eq!(id(&mut log), Some(2));
        log.append(&["{\"id\":4}"], Durability::Written).unwrap();
        assert_eq!(id(&mut log), Some(4));
    }
}
