//! What events must remember of their session: when it started, its project, and which tool calls are open.
//!
//! ```text
//! sessions/<name>.events     name as in the economics room's session files; lines, each written whole
//!   start MS                 the session was seen starting, in epoch milliseconds; the first one counts
//!   project CWD SOURCE LABEL the project of a working directory, CWD being its hash; SOURCE says how it was found
//!   call KEY MS              a tool call began
//!   done KEY                 it ended
//!   delegate                 an agent was delegated to
//!   usage N                  the usage as of the session's record N was told
//! ```
//!
//! 1. The file only grows, each hook adds its lines in one write, and no hook reads more than `HEAD` and `TAIL` bytes
//!    but the one that counts.
//! 2. It is a cache: where it is lost, durations are unknown and counts begin anew.

use crate::journal::label::session_file;
use crate::journal::lines;
use crate::sys::files;
use crate::sys::hex::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Start and projects are looked for in this many bytes at the beginning.
const HEAD: usize = 4 << 10;
/// An open call is looked for in this many bytes at the end.
const TAIL: u64 = 64 << 10;

/// A session's memory.
#[derive(Debug)]
pub struct Memory {
    path: PathBuf,
    head: String,
    tail: String,
    added: String,
}

/// What happened in a session so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tool calls that began.
    pub tool_invocations: u64,
    /// Delegations.
    pub delegations: u64,
}

impl Memory {
    /// Reads what is remembered of a session; nothing where nothing can be read.
    #[must_use]
    pub fn of(data_dir: &Path, host: &str, session_id: &str) -> Self {
        let path = data_dir.join("sessions").join(format!("{}.events", session_file(host, session_id)));
        let (head, tail) = files::open_regular(&path).and_then(|file| ends(&file)).unwrap_or_default();
        Self { path, head, tail, added: String::new() }
    }

    /// When the session was seen starting, in epoch milliseconds.
    #[must_use]
    pub fn started_ms(&self) -> Option<i64> {
        self.entries(&self.head).find_map(|line| line.strip_prefix("start ")?.parse().ok())
    }

    /// Notes that the session starts. One that is resumed started before.
    pub fn start(&mut self, now_ms: i64) {
        if self.started_ms().is_none() {
            self.add(&format!("start {now_ms}"));
        }
    }

    /// The project of `cwd` and how it was found, worked out by `find` once per session.
    pub fn project(
        &mut self,
        cwd: &Path,
        find: impl FnOnce() -> Option<(String, String)>,
    ) -> Option<(String, String)> {
        let key = key(cwd.as_os_str().as_encoded_bytes());
        // In a long session the project of a folder that was entered late is at the end.
        let known = self.entries(&self.head).chain(self.tail.lines()).find_map(|line| {
            let (source, label) =
                line.strip_prefix("project ")?.strip_prefix(&key)?.trim_start().split_once(' ')?;
            Some((label.to_owned(), source.to_owned()))
        });
        known.or_else(|| {
            let (label, source) = find()?;
            self.add(&format!("project {key} {source} {label}"));
            Some((label, source))
        })
    }

    /// Notes that a tool call begins.
    pub fn begin(&mut self, call: &str, now_ms: i64) {
        self.add(&format!("call {} {now_ms}", key(call.as_bytes())));
    }

    /// Notes that a tool call ended, and returns how long it took, in milliseconds; `None` where its beginning was not seen.
    pub fn end(&mut self, call: &str, now_ms: i64) -> Option<i64> {
        let key = key(call.as_bytes());
        let last = self.tail.lines().rev().find(|line| line.split(' ').nth(1) == Some(key.as_str()))?;
        let begun: i64 = last.strip_prefix("call ")?.split(' ').nth(1)?.parse().ok()?;
        self.add(&format!("done {key}"));
        Some((now_ms - begun).max(0))
    }

    /// The number of the last record whose usage was told.
    #[must_use]
    pub fn usage_told(&self) -> Option<u64> {
        self.tail.lines().rev().find_map(|line| line.strip_prefix("usage ")?.parse().ok())
    }

    /// Notes that the usage as of record `sequence` was told.
    pub fn tell_usage(&mut self, sequence: u64) {
        self.add(&format!("usage {sequence}"));
    }

    /// Notes a delegation.
    pub fn delegate(&mut self) {
        self.add("delegate");
    }

    /// Counts all that was ever noted.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn counts(&self) -> io::Result<Counts> {
        let mut counts = Counts::default();
        let mut count = |line: &[u8]| {
            counts.tool_invocations += u64::from(line.starts_with(b"call "));
            counts.delegations += u64::from(line == b"delegate");
        };
        match files::open_regular(&self.path) {
            Ok(mut file) => drop(lines::for_each(&mut file, 0, b"", |line| count(line.bytes))?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        self.added.lines().for_each(|line| count(line.as_bytes()));
        Ok(counts)
    }

    /// Writes down what was noted.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep(&mut self) -> io::Result<()> {
        if self.added.is_empty() {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            files::create_dir_private(folder)?;
        }
        files::open_append(&self.path)?.write_all(std::mem::take(&mut self.added).as_bytes())
    }

    fn entries<'a>(&'a self, read: &'a str) -> impl Iterator<Item = &'a str> {
        read.lines().chain(self.added.lines())
    }

    fn add(&mut self, line: &str) {
        self.added.push_str(line);
        self.added.push('\n');
    }
}

/// A name for what may hold anything.
fn key(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).get(..8).unwrap_or_default())
}

/// The beginning and the end of a file; the same where it is small, as it mostly is.
fn ends(mut file: &File) -> io::Result<(String, String)> {
    // A line that is cut has no key that is asked for, or no number behind it.
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut bytes = vec![];
    file.take(TAIL).read_to_end(&mut bytes)?;
    let all = text(&bytes);
    let length = file.metadata()?.len();
    if length <= TAIL {
        return Ok((all.clone(), all));
    }
    let head = text(bytes.get(..HEAD).unwrap_or_default());
    file.seek(SeekFrom::Start(length - TAIL))?;
    bytes.clear();
    file.take(TAIL).read_to_end(&mut bytes)?;
    Ok((head, text(&bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dir: &tempfile::TempDir) -> Memory {
        Memory::of(dir.path(), "pi", "s-1")
    }

    #[test]
    fn a_call_takes_from_its_beginning_to_its_end_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut memory = of(&dir);
        memory.start(1_000);
        memory.begin("a", 2_000);
        memory.begin("b", 2_500);
        memory.keep().unwrap();

        let mut memory = of(&dir);
        assert_eq!(memory.started_ms(), Some(1_000));
        assert_eq!(memory.end("b", 2_600), Some(100));
        assert_eq!(memory.end("c", 2_600), None, "never seen beginning");
        memory.keep().unwrap();

        let mut memory = of(&dir);
        assert_eq!(memory.end("b", 9_000), None, "ended before");
        assert_eq!(memory.end("a", 1_500), Some(0), "a clock that was set back");
        memory.begin("a", 9_000);
        memory.keep().unwrap();
        assert_eq!(of(&dir).end("a", 9_007), Some(7), "the same call again");
        assert_eq!(Memory::of(dir.path(), "kiro", "s-1").end("a", 9_007), None, "another session");
    }

    #[test]
    fn a_resumed_session_started_when_it_first_did_and_a_project_is_found_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut memory = of(&dir);
        memory.start(5);
        let found = memory.project(Path::new("/p"), || Some(("org/the repo".into(), "remote".into())));
        memory.keep().unwrap();
        let mut memory = of(&dir);
        memory.start(9);
        assert_eq!(memory.started_ms(), Some(5));
        let known = memory.project(Path::new("/p"), || panic!("it is known"));
        assert_eq!(known, Some(("org/the repo".into(), "remote".into())));
        assert_eq!(known, found);
        assert_eq!(memory.project(Path::new("/q"), || None), None);
    }

    #[test]
    fn the_project_of_a_folder_that_a_long_session_enters_late_is_found_once_too() {
        let dir = tempfile::tempdir().unwrap();
        let mut memory = of(&dir);
        (0..4_000).for_each(|at| memory.begin(&at.to_string(), at));
        memory.keep().unwrap();
        let found = of(&dir).project(Path::new("/late"), || None);
        assert_eq!(found, None);
        let mut memory = of(&dir);
        memory.project(Path::new("/late"), || Some(("org/late".into(), "remote".into())));
        memory.keep().unwrap();
        let known = of(&dir).project(Path::new("/late"), || panic!("it is known"));
        assert_eq!(known, Some(("org/late".into(), "remote".into())));
    }

    #[test]
    fn counts_hold_for_a_session_of_any_length_and_include_what_is_not_written_yet() {
        let dir = tempfile::tempdir().unwrap();
        for at in 0..5_000 {
            let mut memory = of(&dir);
            memory.begin(&at.to_string(), at);
            if at % 10 == 0 {
                memory.delegate();
            }
            memory.keep().unwrap();
        }
        let mut memory = of(&dir);
        memory.delegate();
        assert_eq!(memory.counts().unwrap(), Counts { tool_invocations: 5_000, delegations: 501 });
        assert_eq!(memory.end("4999", 5_000), Some(1));
    }
}
