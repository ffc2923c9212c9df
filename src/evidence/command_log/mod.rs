//! `command-log.jsonl`, beside a task's sidecars: what each command of the task came to, one record a line (contract I.1).
//!
//! ```text
//! {"command":"npm test","observedResult":"fail","exitCode":1,"capturedAt":"2026-06-23T00:00:00.000Z",
//!  "source":"postToolUse-capture","_chain":{"seq":4,"prevHash":"⟨of 3⟩","hash":"⟨of this⟩"}}
//! ```
//!
//! flow-agents writes the same file: the records, the chain ([`chain`]) and the lock (`lock.rs`) are its own, so both can
//! write one log in turns.
//!
//! 1. A record is one line and one write, under the lock, and follows the record that is last at that moment. One that
//!    cannot be is not written, and [`Refused`] says why: never an unchained line, never a second child of one record.
//! 2. Only the end of the log is read to append ([`chain::verify`] reads all of it): the last record must be what its hash
//!    says. A log that is broken there takes no more records.
//! 3. A newline that is missing is written first; what a writer that died left of a line never becomes part of another.

pub mod chain;
mod lock;
pub mod reduce;
mod tail;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use thiserror::Error;

use super::outcome::Observed;
use super::{Payload, command_text, shell};
use crate::sys::{clock, files};
use chain::{Line, Link};
use lock::Held;
use tail::Tip;

/// The log's name in the folder of the task's sidecars.
pub const FILE: &str = "command-log.jsonl";

/// The source of our records, and of flow-agents' captures.
pub const SOURCE: &str = "postToolUse-capture";

/// How much of a command is kept, in UTF-16 units.
const MAX_COMMAND: usize = 4096;

/// How long a hook waits for the lock; flow-agents holds it for milliseconds.
const PATIENCE: Duration = Duration::from_secs(2);

/// The largest log that [`read`] reads: some 200,000 records.
const MAX_LOG: u64 = 64 << 20;

/// Why there is no record.
#[derive(Debug, Error)]
pub enum Refused {
    /// Somebody else held the lock, or left it in a state that only a person can judge.
    #[error("another writer holds the lock command-log.jsonl.lock, or left it behind")]
    Busy,
    /// The lock cannot be taken.
    #[error("the lock command-log.jsonl.lock cannot be taken: {0}")]
    Lock(#[source] io::Error),
    /// The log's last record does not fit its chain.
    #[error(
        "the chain of command-log.jsonl is broken at its end; see that nobody edits the log, and move it aside"
    )]
    Broken,
    /// The log was written to, or the lock taken over, while we held it.
    #[error("command-log.jsonl changed under its lock")]
    Changed,
    /// The time is none that a record can hold.
    #[error("the clock is outside the years of RFC 3339")]
    Time,
    /// The log cannot be read or written.
    #[error("command-log.jsonl cannot be written: {0}")]
    Io(#[from] io::Error),
}

/// The command of a finished call that belongs in the log: the tool is one that runs commands, or has no name. The rule
/// looks for a word such as `bash`, `exec` or `run` among the letters of the name.
#[must_use]
pub fn command(payload: &Payload) -> Option<&str> {
    const WORDS: [&str; 11] = [
        "bash",
        "shell",
        "sh",
        "exec",
        "run",
        "command",
        "terminal",
        "cmd",
        "process",
        "executebash",
        "executecommand",
    ];
    let runs_commands = match payload.get("tool_name") {
        None | Some(Value::Null) => true,
        Some(Value::String(name)) => {
            let mut words = name.split(|c: char| !c.is_ascii_alphabetic());
            name.is_empty() || words.any(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
        }
        Some(_) => false,
    };
    command_text(payload).filter(|command| runs_commands && !shell::trim(command).is_empty())
}

/// A command as the log spells it: its first 4096 UTF-16 units, each run of white space one space, none around it.
#[must_use]
pub fn normalized(command: &str) -> String {
    let mut units = 0;
    let end = command.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > MAX_COMMAND
    });
    let command = end.and_then(|(at, _)| command.get(..at)).unwrap_or(command);
    shell::words(command).collect::<Vec<_>>().join(" ")
}

/// Whether the command is a `grep` or `diff` on its own, whose exit code 1 says that nothing was found.
#[must_use]
pub fn is_bare_search(command: &str) -> bool {
    shell::is_bare_search(command)
}

/// Appends what was `observed` of `command`, at `at_ms`, to the log in `folder`, the existing folder of the task's
/// sidecars. The record survives the death of the process, not a loss of power.
///
/// # Errors
/// As [`Refused`] says; the log is as it was then.
pub fn append(folder: &Path, command: &str, observed: Observed, at_ms: i64) -> Result<Link, Refused> {
    append_within(folder, command, observed, at_ms, PATIENCE)
}

fn append_within(
    folder: &Path,
    command: &str,
    observed: Observed,
    at_ms: i64,
    patience: Duration,
) -> Result<Link, Refused> {
    let record = record(command, observed, &clock::rfc3339(at_ms).ok_or(Refused::Time)?);
    let path = folder.join(FILE);
    let held = lock::acquire(&path.with_extension("jsonl.lock"), patience)?;
    append_under(&held, &path, &record)
}

fn append_under(held: &Held, path: &Path, record: &str) -> Result<Link, Refused> {
    let mut log = files::open_append(path)?;
    let metadata = log.metadata()?;
    if !metadata.is_file() {
        return Err(Refused::Io(io::ErrorKind::InvalidInput.into()));
    }
    let length = metadata.len();
    let tip = tail::find(&mut log, length)?;
    let (line, link) = chained(record, &tip).ok_or(Refused::Broken)?;
    // A writer of flow-agents 3.x that waited for a second goes on without the lock.
    if !held.is_ours() || log.metadata()?.len() != length {
        return Err(Refused::Changed);
    }
    if tip.keep != length {
        log.set_len(tip.keep)?;
    }
    write(&mut log, &tip, &line)?;
    Ok(link)
}

/// A record without its link, in the order in which flow-agents writes it.
fn record(command: &str, observed: Observed, at: &str) -> String {
    let command = Value::from(normalized(command));
    let (result, code) = (observed.result.as_str(), Value::from(observed.exit_code));
    format!(
        r#"{{"command":{command},"observedResult":"{result}","exitCode":{code},"capturedAt":"{at}","source":"{SOURCE}"}}"#
    )
}

/// The record with its link behind `tip`, as a line.
fn chained(record: &str, tip: &Tip) -> Option<(String, Link)> {
    let (parent, seq) = (&tip.parent, tip.seq);
    let hash = Line::of(record.as_bytes())?.hash(parent);
    let chain = format!(r#""_chain":{{"seq":{seq},"prevHash":"{parent}","hash":"{hash}"}}"#);
    Some((format!("{},{chain}}}\n", record.strip_suffix('}')?), Link { seq, hash }))
}

fn write(log: &mut File, tip: &Tip, line: &str) -> io::Result<()> {
    let seal = if tip.seal { "\n" } else { "" };
    let written = log.write_all(format!("{seal}{line}").as_bytes());
    if written.is_err() {
        log.set_len(tip.keep)?;
    }
    written
}

/// The bytes of the log in `folder`, for [`chain::verify`] and [`reduce::reduce`]; `None` when there is none.
///
/// # Errors
/// When it is larger than 64 MiB, is not a regular file or cannot be read.
pub fn read(folder: &Path) -> io::Result<Option<Vec<u8>>> {
    files::read_bounded(&folder.join(FILE), MAX_LOG)
}

#[cfg(test)]
mod tests;
