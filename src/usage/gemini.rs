//! Gemini CLI chats (transcript formats §5).
//!
//! ```text
//! ~/.gemini/tmp/<project>/chats/session-*.jsonl        chats/<parent session>/<id>.jsonl for subagents
//!   {"sessionId",…}  {"id","type":"gemini","model","tokens":{…}|null,…}  {"$set":{"messages":[…]}}  {"$rewindTo":"<id>"}
//! ~/.gemini/tmp/<project>/chats/session-*.json         {"sessionId","messages":[…]}: before it was migrated, or still
//! ```
//!
//! 1. A message is written whole at every change: within a file its last counts stand. Session and message id together
//!    are its identity, in both layouts. A message that was rewound was billed.
//! 2. `input` contains `cached`, `tool` is prompt beside it, `thoughts` is output beside `output`.

use super::call::{CallKey, Observation, Traits};
use super::diagnostics::Diagnostics;
use super::reader::Receiver;
use super::tokens::Tokens;
use super::walk::Walk;
use crate::journal::foreign::{Count, NotACount, document, object, objects, own_text};
use crate::journal::lines;
use crate::sys::clock::parse_rfc3339;
use memchr::memmem;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// The host's name in keys and records.
pub const HOST: &str = "gemini-cli";

/// The chats of a home.
#[must_use]
pub fn chats(home: &Path) -> Vec<PathBuf> {
    let mut walk = Walk::for_files(|name| name.ends_with(".jsonl") || name.ends_with(".json"));
    walk.below(&home.join(".gemini/tmp"));
    walk.sorted().into_iter().filter(|path| is_chat(path)).collect()
}

/// Whether a file lies where chats lie.
#[must_use]
pub fn is_chat(path: &Path) -> bool {
    path.parent().is_some_and(|dir| dir.ancestors().take(2).any(|dir| dir.ends_with("chats")))
}

/// Reads a whole chat.
///
/// # Errors
/// When the file cannot be read, or is a JSON document that is no chat.
pub fn chat(mut file: File, path: &Path, to: &mut dyn Receiver, met: &mut Diagnostics) -> io::Result<()> {
    let mut chat = Chat::default();
    if path.extension().is_some_and(|extension| extension == "json") {
        let document: RawRecord = serde_json::from_reader(BufReader::new(file))?;
        chat.record(document, met);
    } else {
        let progress = lines::for_each_of(&mut file, 0, b"", b"\"tokens\"", |line| {
            let has = |needle| memmem::find(line.bytes, needle).is_some();
            if !has(b"\"tokens\"") && !has(b"\"sessionId\"") {
                return;
            }
            match document::<RawRecord>(line.bytes) {
                Ok(record) => chat.record(record, met),
                Err(_) => met.unreadable_lines += u64::from(has(b"\"tokens\"") && !line.open),
            }
        })?;
        met.unreadable_lines += progress.overlong;
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    chat.deliver(stem, to);
    Ok(())
}

#[derive(Default)]
struct Chat {
    session: String,
    /// By message id; each in its last state.
    calls: BTreeMap<String, Billed>,
}

struct Billed {
    at_ms: Option<i64>,
    model: Option<String>,
    tokens: Tokens,
}

impl Chat {
    fn record(&mut self, record: RawRecord, met: &mut Diagnostics) {
        if let Some(session) = record.session_id.filter(|_| self.session.is_empty()) {
            self.session = session;
        }
        let RawRecord { id, timestamp, model, tokens, .. } = record;
        self.message(RawMessage { id, timestamp, model, tokens }, met);
        let checkpoint = record.set.map(|set| set.messages).unwrap_or_default();
        for message in record.messages.into_iter().chain(checkpoint) {
            self.message(message, met);
        }
    }

    fn message(&mut self, message: RawMessage, met: &mut Diagnostics) {
        let (Some(id), Some(tokens)) = (message.id, message.tokens) else { return };
        let Ok(tokens) = tokens.tokens() else {
            met.unreadable_lines += 1;
            return;
        };
        let at_ms = message.timestamp.as_deref().and_then(parse_rfc3339);
        let known = self.calls.remove(&id);
        met.duplicates_merged += u64::from(known.is_some());
        // A state that names no model does not unname it.
        let (first_ms, first_model) = known.map_or((None, None), |known| (known.at_ms, known.model));
        let billed = Billed { at_ms: first_ms.or(at_ms), model: message.model.or(first_model), tokens };
        self.calls.insert(id, billed);
    }

    fn deliver(&self, stem: &str, to: &mut dyn Receiver) {
        let session = if self.session.is_empty() { stem } else { &self.session };
        for (id, Billed { at_ms, model, tokens }) in &self.calls {
            if tokens.is_zero() {
                continue;
            }
            to.call(Observation {
                key: CallKey::of(&[HOST.as_bytes(), session.as_bytes(), id.as_bytes()]),
                session: Some(Cow::Borrowed(session)),
                model: model.as_deref().map(Cow::Borrowed),
                agent: None,
                at_ms: *at_ms,
                tokens: *tokens,
                credits: None,
                traits: Traits::default().with(Traits::MAIN_CHAIN, true).with(Traits::FINAL, true),
            });
        }
    }
}

/// A line, or a whole document of the older layout: a message, what describes the chat, or both.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct RawRecord {
    #[serde(deserialize_with = "own_text")]
    session_id: Option<String>,
    #[serde(deserialize_with = "own_text")]
    id: Option<String>,
    #[serde(deserialize_with = "own_text")]
    timestamp: Option<String>,
    #[serde(deserialize_with = "own_text")]
    model: Option<String>,
    #[serde(deserialize_with = "object")]
    tokens: Option<RawTokens>,
    #[serde(deserialize_with = "objects")]
    messages: Vec<RawMessage>,
    #[serde(rename = "$set", deserialize_with = "object")]
    set: Option<Checkpoint>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Checkpoint {
    #[serde(deserialize_with = "objects")]
    messages: Vec<RawMessage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawMessage {
    #[serde(deserialize_with = "own_text")]
    id: Option<String>,
    #[serde(deserialize_with = "own_text")]
    timestamp: Option<String>,
    #[serde(deserialize_with = "own_text")]
    model: Option<String>,
    #[serde(deserialize_with = "object")]
    tokens: Option<RawTokens>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawTokens {
    input: Count,
    output: Count,
    cached: Count,
    thoughts: Count,
    tool: Count,
}

impl RawTokens {
    fn tokens(&self) -> Result<Tokens, NotACount> {
        let cached = self.cached.get()?;
        Ok(Tokens {
            input: (self.input.get()? - cached).max(0) + self.tool.get()?,
            output: self.output.get()? + self.thoughts.get()?,
            cache_read: cached,
            ..Tokens::default()
        })
    }
}

#[cfg(test)]
#[path = "gemini_tests.rs"]
mod tests;
