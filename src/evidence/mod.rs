//! What a tool call came to, and how that is known.
//!
//! | module | answers |
//! |---|---|
//! | [`classify`] | what kind of call it was: normalised name, action, delegation targets |
//! | [`outcome`] | what it came to: pass, fail or ambiguous, with the exit code; its status; the key of its start |
//! | [`codex`] | the exit code where Codex tells it in prose: the host's banner, in a payload or in the rollout |
//! | [`command_log`] | the record of it beside the task's sidecars, chained, and what a log says of a command |
//!
//! 1. A pass needs an exit code of 0 and no sign of failure. No code and no such sign is `ambiguous`, never a pass.
//! 2. What a command printed is never looked at: stdout is the agent's word. Codex's banner counts only in the text that
//!    the host wrote before it, and only if it belongs to this very call.
//! 3. A record is written with its link in the chain and under the lock, or not at all, and then there is a reason.
//!
//! Everything is read from what hosts and other programs write: a field of the wrong type says nothing. Nothing here
//! starts a process or reads the environment.

pub mod classify;
pub mod codex;
pub mod command_log;
pub mod outcome;
mod shell;

use serde_json::{Map, Value};

/// A hook's payload, as the host sent it.
pub type Payload = Map<String, Value>;

/// The objects in which a host tells the result, in the order in which they are asked.
fn results(payload: &Payload) -> impl Iterator<Item = &Payload> {
    ["tool_response", "tool_output"].into_iter().filter_map(|key| payload.get(key)?.as_object())
}

/// The first of `keys` that holds a text that is not empty.
fn first_text<'a>(object: &'a Payload, keys: &[&str]) -> Option<&'a str> {
    keys.iter().filter_map(|key| object.get(*key)?.as_str()).find(|text| !text.is_empty())
}

/// `tool_input.command`, if it is a text.
fn command_text(payload: &Payload) -> Option<&str> {
    payload.get("tool_input")?.get("command")?.as_str()
}
