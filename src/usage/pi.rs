//! pi sessions (transcript formats §4).
//!
//! ```text
//! ~/.pi/agent/sessions/--<cwd>--/<time>_<session>.jsonl        ~/.omp likewise
//!   {"type":"session","id","timestamp","cwd","parentSession"?}
//!   {"type":"message","id","parentId","timestamp","message":{"role":"assistant","model","usage":{…}}}
//! ```
//!
//! 1. The entries of a session form a tree. Every assistant's entry was billed, on whatever branch and however it ended.
//! 2. A fork copies entries with their ids and times into a new file that names its parent: what is older than the
//!    file's header is the parent's. An id has 8 hex digits, so id and time together are a call's identity.
//! 3. The buckets are disjoint. How long a cache write is kept is not recorded: it counts as the default.
//! 4. Compactions and branch summaries ask a model too, and write no usage: such a call is known, its tokens are not.

use super::call::{CallKey, Observation, Traits};
use super::diagnostics::Diagnostics;
use super::reader::{Prompt, Receiver};
use super::tokens::Tokens;
use super::walk::Walk;
use crate::journal::foreign::{Count, NotACount, document, object, text, whole};
use crate::journal::lines::{self, Line};
use crate::sys::clock::parse_rfc3339;
use memchr::memmem;
use serde::Deserialize;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The host's name in keys and records.
pub const HOST: &str = "pi";

/// The sessions of a home.
#[must_use]
pub fn sessions(home: &Path) -> Vec<PathBuf> {
    let mut walk = Walk::for_files(|name| name.ends_with(".jsonl"));
    for dir in [".pi", ".omp"] {
        walk.below(&home.join(dir).join("agent/sessions"));
    }
    walk.sorted()
}

/// The file of a session, found by its id.
#[must_use]
pub fn of_session(home: &Path, id: &str) -> Option<PathBuf> {
    let is_of = |path: &PathBuf| named(path) == id;
    sessions(home).into_iter().find(is_of)
}

/// Where the agent worked when the session started, if the file says so.
#[must_use]
pub fn first_cwd(file: &mut File) -> Option<PathBuf> {
    header(file).ok()?.cwd
}

/// The session id in a file's name.
fn named(path: &Path) -> &str {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem.rsplit_once('_').map_or(stem, |(_, session)| session)
}

/// Reads a session's lines from `from` on, and returns the offset at which the next read starts.
///
/// # Errors
/// When the file cannot be read.
pub fn news(
    file: &mut File,
    path: &Path,
    from: u64,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> io::Result<u64> {
    let header = header(file)?;
    let session = Session {
        id: header.id.as_deref().filter(|id| !id.is_empty()).unwrap_or(named(path)),
        forked_ms: header.started_ms.filter(|_| header.forked),
    };
    file.seek(SeekFrom::Start(from))?;
    let progress = lines::for_each_of(file, from, b"", b"\"usage\"", |line| session.take(&line, to, met))?;
    met.unreadable_lines += progress.overlong;
    Ok(progress.offset)
}

/// What a session's first line says.
#[derive(Default)]
struct Header {
    id: Option<String>,
    started_ms: Option<i64>,
    forked: bool,
    cwd: Option<PathBuf>,
}

/// How far a header is looked for.
const HEADER: u64 = 64 << 10;

fn header(file: &mut File) -> io::Result<Header> {
    let mut found = None;
    lines::for_each_in(file, 0..HEADER, b"\"session\"", |line| {
        if found.is_none()
            && let Ok(raw) = document::<RawEntry<'_>>(line.bytes)
            && raw.kind.as_deref() == Some("session")
        {
            found = Some(Header {
                started_ms: raw.timestamp.as_deref().and_then(parse_rfc3339),
                forked: raw.parent_session.is_some(),
                cwd: raw.cwd.map(|cwd| cwd.into_owned().into()),
                id: raw.id.map(Cow::into_owned),
            });
        }
    })?;
    Ok(found.unwrap_or_default())
}

struct Session<'s> {
    id: &'s str,
    /// When the session was forked off, if it was.
    forked_ms: Option<i64>,
}

impl Session<'_> {
    fn take(&self, line: &Line<'_>, to: &mut dyn Receiver, met: &mut Diagnostics) {
        let holds_usage = memmem::find(line.bytes, b"\"usage\"").is_some();
        let may_matter = holds_usage
            || [&b"\"user\""[..], b"\"compaction\"", b"\"branch_summary\""]
                .iter()
                .any(|needle| memmem::find(line.bytes, needle).is_some());
        if !may_matter {
            return;
        }
        let Ok(raw) = document::<RawEntry<'_>>(line.bytes) else {
            met.unreadable_lines += u64::from(holds_usage && !line.open);
            return;
        };
        let at_ms = raw.timestamp.as_deref().and_then(parse_rfc3339);
        let inherited = at_ms.zip(self.forked_ms).is_some_and(|(at, forked)| at < forked);
        let message = raw.message.unwrap_or_default();
        match (raw.kind.as_deref(), message.role.as_deref()) {
            (Some("message"), Some("user" | "assistant")) | (Some("compaction" | "branch_summary"), _)
                if inherited =>
            {
                met.echoes_skipped += 1;
                return;
            }
            (Some("message"), Some("assistant")) => {}
            (Some("message"), Some("user")) => {
                if let Some(at_ms) = at_ms {
                    to.prompt(Prompt { session: Some(Cow::Borrowed(self.id)), at_ms });
                }
                return;
            }
            (Some("compaction" | "branch_summary"), _) => {
                met.uncounted_calls += 1;
                return;
            }
            _ => return,
        }
        let Some(usage) = message.usage else { return };
        let Ok(tokens) = usage.tokens() else {
            met.unreadable_lines += 1;
            return;
        };
        if tokens.is_zero() {
            return;
        }
        let offset = line.offset.to_le_bytes();
        let time = raw.timestamp.as_deref().unwrap_or_default();
        let key = match raw.id.as_deref() {
            Some(id) => CallKey::of(&[HOST.as_bytes(), id.as_bytes(), time.as_bytes()]),
            None => CallKey::of(&[HOST.as_bytes(), self.id.as_bytes(), time.as_bytes(), &offset]),
        };
        to.call(Observation {
            key,
            session: Some(Cow::Borrowed(self.id)),
            model: message.model,
            agent: None,
            at_ms: at_ms.or(message.timestamp),
            tokens,
            credits: None,
            traits: Traits::default().with(Traits::MAIN_CHAIN, true).with(Traits::FINAL, true),
        });
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RawEntry<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    parent_session: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "object")]
    message: Option<Message<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow, deserialize_with = "text")]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    model: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "whole")]
    timestamp: Option<i64>,
    #[serde(deserialize_with = "object")]
    usage: Option<Usage>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    input: Count,
    output: Count,
    cache_read: Count,
    cache_write: Count,
}

impl Usage {
    fn tokens(self) -> Result<Tokens, NotACount> {
        Ok(Tokens {
            input: self.input.get()?,
            output: self.output.get()?,
            cache_read: self.cache_read.get()?,
            cache_write_5m: self.cache_write.get()?,
            ..Tokens::default()
        })
    }
}

#[cfg(test)]
#[path = "pi_tests.rs"]
mod tests;
