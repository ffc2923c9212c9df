//! `rejected.jsonl`: what was given up, with its bytes and the reason, bounded; the oldest go first. How many went is the
//! difference to the books, which count every rejection.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Identity;
use super::{Entry, Error, Key, bounded, files};
use crate::sys::hex::hex;

/// The file's size is kept under this; when it would grow past, the older half goes.
const CAP: u64 = 8 * 1024 * 1024;

/// Why a record is given up.
#[derive(Debug, Clone, Default)]
pub struct Reason {
    /// In a short phrase, the same for all records that are given up for the same.
    pub text: String,
    /// What the sink said of this record, printable and bounded.
    pub said: Option<String>,
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), said: None }
    }
}

/// A record that was given up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rejected {
    /// When, in epoch milliseconds.
    pub rejected_at: i64,
    /// Why, in a short phrase.
    pub reason: String,
    /// What the sink said of it, printable and bounded; `None` where it said nothing.
    #[serde(default)]
    pub said: Option<String>,
    /// The status of the last answer, if one came.
    pub status: Option<u16>,
    /// How often it was tried.
    pub attempts: u32,
    /// The segment it was in.
    pub segment: u64,
    /// The line of the segment.
    pub line: u64,
    /// The entry, to the byte; `None` when the line was torn or corrupt.
    pub entry: Option<Box<RawValue>>,
    /// The bytes of a torn or corrupt line: as text where they are text, else in hexadecimal after `hex:`.
    pub torn: Option<String>,
}

impl Rejected {
    pub(super) fn new(
        key: Key,
        line: &[u8],
        reason: Reason,
        status: Option<u16>,
        attempts: u32,
        now_ms: i64,
    ) -> Self {
        let entry = serde_json::from_slice(line).ok();
        let torn = entry.is_none().then(|| as_text(line));
        Self {
            rejected_at: now_ms,
            reason: reason.text,
            said: reason.said,
            status,
            attempts,
            segment: key.segment,
            line: key.line,
            entry,
            torn,
        }
    }
}

impl Rejected {
    /// The entry; `None` when its line was torn or corrupt.
    #[must_use]
    pub fn parsed(&self) -> Option<Entry> {
        Entry::parse(self.entry.as_ref()?.get().as_bytes())
    }
}

fn as_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("hex:{}", hex(bytes)),
    }
}

/// Appends `records`, making room first, and syncs them: the state that counts them is synced too.
pub(super) fn append(path: &Path, records: &[Rejected]) -> Result<(), Error> {
    for record in records {
        let line = serde_json::to_vec(record).map_err(Error::Body)?;
        bounded::append_line(path, &line, CAP).map_err(|error| Error::io(path, error))?;
    }
    if records.is_empty() {
        return Ok(());
    }
    files::sync(path).map_err(|error| Error::io(path, error))
}

/// Takes the records out that are on their way again. Lines that cannot be read stay.
pub(super) fn remove(path: &Path, gone: &HashSet<Identity>) -> Result<(), Error> {
    if gone.is_empty() {
        return Ok(());
    }
    let io = |error| Error::io(path, error);
    let bytes = files::read(path).map_err(io)?;
    let mut kept = Vec::with_capacity(bytes.len());
    for (_, line) in files::lines(&bytes) {
        let entry = serde_json::from_slice::<Rejected>(line).ok().and_then(|record| record.parsed());
        if !entry.is_some_and(|entry| gone.contains(&entry.identity())) {
            kept.extend_from_slice(line);
            kept.push(b'\n');
        }
    }
    if kept.len() < bytes.len() { files::replace(path, &kept).map_err(io) } else { Ok(()) }
}

/// The records kept, oldest first; lines that cannot be read are left out.
pub(super) fn read(path: &Path) -> std::io::Result<Vec<Rejected>> {
    let bytes = files::read(path)?;
    Ok(files::lines(&bytes).filter_map(|(_, line)| serde_json::from_slice(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_whatever_they_are() {
        let key = Key { segment: 1, line: 2 };
        let torn = |line: &[u8]| Rejected::new(key, line, "torn".into(), None, 0, 0).torn;
        assert_eq!(torn(b"{\"id\":\"a").as_deref(), Some("{\"id\":\"a"));
        assert_eq!(torn(b"\xff\x00").as_deref(), Some("hex:ff00"));
        let whole = Rejected::new(key, br#"{"n":1.10}"#, "refused".into(), Some(400), 1, 0);
        assert_eq!((whole.entry.unwrap().get(), whole.torn), (r#"{"n":1.10}"#, None));
    }

    #[test]
    fn the_file_is_bounded_and_keeps_the_newest() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rejected.jsonl");
        let body = format!("\"{}\"", "x".repeat(1024 * 1024));
        for line in 0..20 {
            let record =
                Rejected::new(Key { segment: 1, line }, body.as_bytes(), "refused".into(), None, 1, 0);
            append(&path, &[record]).unwrap();
            assert!(files::len(&path) <= CAP);
        }
        let kept = read(&path).unwrap();
        assert_eq!(kept.last().unwrap().line, 19);
        let first = kept.first().unwrap().line;
        assert!(kept.iter().map(|record| record.line).eq(first..20) && first > 0);
    }
}
