//! How often a stop was refused for the same findings: `.goal-fit-block-streak.json`, beside the sessions, as in flow-agents.
//!
//! ```text
//! {"hash":2088270401,"count":2}
//! ```
//!
//! The hash is of what the findings are and what they are about, without ages and counts: another minute is no other finding.

use super::finding::{Finding, Kind};
use crate::policy::session::object;
use crate::sys::files;
use serde_json::Value;
use std::path::{Path, PathBuf};

const FILE: &str = ".goal-fit-block-streak.json";

/// The streak of the sessions in `place`.
pub(super) struct Streak {
    path: PathBuf,
    hash: u32,
    before: u32,
}

impl Streak {
    /// The streak, as it is before this stop; `findings` are those that block.
    pub(super) fn read(place: &Path, session: &str, findings: &[&Finding]) -> Self {
        let mut keys: Vec<(Kind, &str)> =
            findings.iter().map(|finding| (finding.kind, finding.about.as_str())).collect();
        keys.sort_unstable();
        keys.dedup();
        let text = keys.iter().map(|(kind, about)| format!("{kind:?} {about}\n")).collect::<String>();
        let hash = hash(&format!("{session}\n{text}"));
        let path = place.join(FILE);
        let kept = object(&path).unwrap_or_default();
        let number = |key: &str| kept.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let same = number("hash") == Some(hash);
        Self { path, hash, before: number("count").filter(|_| same).unwrap_or(0) }
    }

    /// Refusals so far.
    pub(super) fn count(&self) -> u32 {
        self.before
    }

    /// Notes a refusal. What cannot be written is counted anew the next time.
    pub(super) fn refused(&self) {
        let kept = format!("{{\"hash\":{},\"count\":{}}}", self.hash, self.before.saturating_add(1));
        drop(files::write_atomic(&self.path, kept.as_bytes()));
    }

    /// Ends it.
    pub(super) fn end(place: &Path) {
        drop(std::fs::remove_file(place.join(FILE)));
    }
}

fn hash(text: &str) -> u32 {
    text.encode_utf16().fold(5381, |hash: u32, unit| hash.wrapping_mul(33).wrapping_add(u32::from(unit)))
}
