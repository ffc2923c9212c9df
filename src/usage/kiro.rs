//! Kiro CLI (transcript formats §7): credits, never tokens.
//!
//! ```text
//! ~/.kiro/sessions/cli/<session>.json       session_state.conversation_metadata.user_turn_metadatas[].metering_usage[]
//! ~/.kiro/sessions/**/messages.jsonl        {"payload":{"type":"usage_summary",…}}: from 2.13 on
//! ```
//!
//! 1. The token counts beside the credits are always 0 (kurrent-io/kcap-cli#275): a turn is a call whose tokens are not
//!    known. A guess from the length of a text is no count.
//! 2. A turn's identity is its place in its session: turns are only ever added.

use super::call::{CallKey, Observation, Traits};
use super::credits::Credits;
use super::diagnostics::Diagnostics;
use super::reader::{Prompt, Receiver};
use super::tokens::Tokens;
use super::walk::Walk;
use crate::journal::foreign::{document, object, objects, own_text, wanted, whole};
use crate::journal::lines;
use crate::sys::clock::parse_rfc3339;
use serde::Deserialize;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// The host's name in keys and records.
pub const HOST: &str = "kiro";

/// The sessions of a home.
#[must_use]
pub fn sessions(home: &Path) -> Vec<PathBuf> {
    let mut walk = Walk::for_files(|name| name.ends_with(".json") || name == "messages.jsonl");
    walk.below(&home.join(".kiro/sessions"));
    let is_session =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "jsonl") || in_cli(path);
    walk.sorted().into_iter().filter(is_session).collect()
}

fn in_cli(path: &Path) -> bool {
    path.parent().is_some_and(|dir| dir.ends_with("cli"))
}

/// The file of a session, found by its id. The newer layout puts `sess_` before an id that has none.
#[must_use]
pub fn of_session(home: &Path, id: &str) -> Option<PathBuf> {
    let bare = |id: &str| id.strip_prefix("sess_").unwrap_or(id).to_owned();
    let is_of = |path: &PathBuf| {
        let names = if in_cli(path) { path.file_stem() } else { path.parent().and_then(Path::file_name) };
        names.and_then(|name| name.to_str()).is_some_and(|name| bare(name) == bare(id))
    };
    sessions(home).into_iter().find(is_of)
}

/// Where the agent worked when the session started, if its file says so.
#[must_use]
pub fn first_cwd(file: File) -> Option<PathBuf> {
    serde_json::from_reader::<_, RawSession>(BufReader::new(file)).ok()?.cwd.map(Into::into)
}

/// Reads a whole session.
///
/// # Errors
/// When the file cannot be read, or is no JSON.
pub fn session(mut file: File, path: &Path, to: &mut dyn Receiver, met: &mut Diagnostics) -> io::Result<()> {
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_stem).and_then(|stem| stem.to_str().map(str::to_owned))
    };
    if path.extension().is_some_and(|extension| extension == "json") {
        let session: RawSession = serde_json::from_reader(BufReader::new(file))?;
        let id = session.session_id.or_else(|| name(Some(path))).unwrap_or_default();
        let state = session.session_state.unwrap_or_default();
        let model = state.rts_model_state.and_then(|state| state.model_info?.model_id);
        let turns = state.conversation_metadata.unwrap_or_default().user_turn_metadatas;
        for (at, turn) in turns.into_iter().enumerate() {
            let at_ms = turn.end_timestamp.as_deref().and_then(parse_rfc3339);
            if let Some(at_ms) = at_ms.zip(turn.duration_ms()).and_then(|(end, ms)| end.checked_sub(ms)) {
                to.prompt(Prompt { session: Some(Cow::Borrowed(&id)), at_ms });
            }
            deliver(&id, at, turn.model.as_deref().or(model.as_deref()), at_ms, turn.credits(), to);
        }
        return Ok(());
    }
    let id = name(path.parent()).unwrap_or_default();
    let mut at = 0;
    let mut model = None;
    let progress = lines::for_each_of(&mut file, 0, b"\"payload\"", b"\"usage_summary\"", |line| {
        let Ok(line) = document::<RawLine>(line.bytes) else { return };
        let at_ms = line.timestamp.as_deref().and_then(parse_rfc3339);
        let Some(payload) = line.payload else { return };
        if payload.model_id.is_some() {
            model.clone_from(&payload.model_id);
        }
        if payload.kind.as_deref() == Some("usage_summary") {
            deliver(&id, at, model.as_deref(), at_ms, payload.credits(), to);
            at += 1;
        }
    })?;
    met.unreadable_lines += progress.overlong;
    Ok(())
}

fn deliver(
    session: &str,
    at: usize,
    model: Option<&str>,
    at_ms: Option<i64>,
    credits: Option<Credits>,
    to: &mut dyn Receiver,
) {
    to.call(Observation {
        key: CallKey::of(&[HOST.as_bytes(), session.as_bytes(), &(at as u64).to_le_bytes()]),
        session: Some(Cow::Borrowed(session)),
        model: model.map(Cow::Borrowed),
        agent: None,
        at_ms,
        tokens: Tokens::default(),
        credits,
        traits: Traits::default()
            .with(Traits::MAIN_CHAIN, true)
            .with(Traits::FINAL, true)
            .with(Traits::UNCOUNTED, true),
    });
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawSession {
    #[serde(deserialize_with = "own_text")]
    session_id: Option<String>,
    #[serde(deserialize_with = "own_text")]
    cwd: Option<String>,
    #[serde(deserialize_with = "object")]
    session_state: Option<State>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct State {
    #[serde(deserialize_with = "object")]
    rts_model_state: Option<ModelState>,
    #[serde(deserialize_with = "object")]
    conversation_metadata: Option<Conversation>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ModelState {
    #[serde(deserialize_with = "object")]
    model_info: Option<ModelInfo>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ModelInfo {
    #[serde(deserialize_with = "own_text")]
    model_id: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Conversation {
    #[serde(deserialize_with = "objects")]
    user_turn_metadatas: Vec<Turn>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Turn {
    #[serde(deserialize_with = "own_text")]
    end_timestamp: Option<String>,
    #[serde(deserialize_with = "own_text")]
    model: Option<String>,
    #[serde(deserialize_with = "objects")]
    metering_usage: Vec<Metered>,
    #[serde(deserialize_with = "object")]
    turn_duration: Option<Lasted>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Lasted {
    #[serde(deserialize_with = "whole")]
    secs: Option<i64>,
    #[serde(deserialize_with = "whole")]
    nanos: Option<i64>,
}

impl Turn {
    fn duration_ms(&self) -> Option<i64> {
        let Lasted { secs, nanos } = self.turn_duration.as_ref()?;
        let ms = (*secs)?.checked_mul(1_000)?.checked_add(nanos.unwrap_or(0) / 1_000_000)?;
        (ms >= 0).then_some(ms)
    }

    fn credits(&self) -> Option<Credits> {
        charged(&self.metering_usage)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metered {
    #[serde(deserialize_with = "wanted")]
    value: Option<f64>,
    #[serde(deserialize_with = "own_text")]
    unit: Option<String>,
}

/// The credits among what was metered; `None` when there are none.
fn charged(metered: &[Metered]) -> Option<Credits> {
    let mut sum = None;
    for one in metered.iter().filter(|one| one.unit.as_deref() == Some("credit")) {
        *sum.get_or_insert_default() += one.value.and_then(Credits::of)?;
    }
    sum
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawLine {
    #[serde(deserialize_with = "own_text")]
    timestamp: Option<String>,
    #[serde(deserialize_with = "object")]
    payload: Option<Payload>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload {
    #[serde(rename = "type", deserialize_with = "own_text")]
    kind: Option<String>,
    #[serde(alias = "modelId", deserialize_with = "own_text")]
    model_id: Option<String>,
    #[serde(alias = "meteringUsage", deserialize_with = "objects")]
    metering_usage: Vec<Metered>,
    #[serde(deserialize_with = "wanted")]
    credits: Option<f64>,
}

impl Payload {
    fn credits(&self) -> Option<Credits> {
        charged(&self.metering_usage).or_else(|| self.credits.and_then(Credits::of))
    }
}

#[cfg(test)]
#[path = "kiro_tests.rs"]
mod tests;
