//! Hints between hooks, workers and people who wait. None is ever needed: without them a worker starts, looks, and leaves,
//! or is waited for.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Guard, files};
use crate::relay::backoff::still_ahead;

/// No gate holds longer than this, whatever it says: a conf may have changed meanwhile.
const MAX_AHEAD_MS: i64 = 60_000;
/// A worker that was started this short a time ago may not have taken its lock yet.
const STARTING_MS: i64 = 1_000;

/// Present while somebody waits for the worker's lock.
pub(super) const HANDOVER: &str = "handover";

/// `gate`: what the last worker left behind can not be sent before a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Epoch milliseconds.
    pub not_before_ms: i64,
    /// The origins that are blocked; an entry for any other opens the gate.
    pub blocked: BTreeSet<String>,
}

impl Guard {
    /// Shuts the gate until `gate.not_before_ms`, and for no longer than a minute.
    pub fn shut_gate(&self, mut gate: Gate, now_ms: i64) {
        gate.not_before_ms = gate.not_before_ms.min(now_ms.saturating_add(MAX_AHEAD_MS));
        if let Ok(bytes) = serde_json::to_vec(&gate) {
            drop(files::write_hint(&self.path("gate"), &bytes));
        }
    }

    /// Removes all hints: a worker is here.
    pub fn clear_hints(&self) {
        for name in ["gate", "starting", HANDOVER] {
            drop(files::remove(&self.path(name)));
        }
    }

    /// Asks the worker to leave as soon as it only waits for a time to come: somebody wants to try now.
    pub fn ask_handover(&self) {
        drop(files::write_hint(&self.path(HANDOVER), b""));
    }

    /// Opens the gate if it says nothing of `origin`.
    pub(super) fn open_gate_for(&self, origin: &str) {
        if self.gate().is_some_and(|gate| !gate.blocked.contains(origin)) {
            drop(files::remove(&self.path("gate")));
        }
    }

    /// Whether a worker started now could do nothing.
    #[must_use]
    pub fn is_gated(&self, now_ms: i64) -> bool {
        self.gate().is_some_and(|gate| still_ahead(gate.not_before_ms, now_ms, MAX_AHEAD_MS))
    }

    /// Notes that a worker is being started.
    pub fn note_start(&self, now_ms: i64) {
        let until = now_ms.saturating_add(STARTING_MS);
        drop(files::write_hint(&self.path("starting"), until.to_string().as_bytes()));
    }

    /// Whether a worker was started a moment ago.
    #[must_use]
    pub fn is_starting(&self, now_ms: i64) -> bool {
        let bytes = files::read(&self.path("starting")).unwrap_or_default();
        let until = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
        until.is_some_and(|until| still_ahead(until, now_ms, STARTING_MS))
    }

    fn gate(&self) -> Option<Gate> {
        serde_json::from_slice(&files::read(&self.path("gate")).ok()?).ok()
    }
}
