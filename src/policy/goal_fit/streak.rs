//! How often a stop was refused for the same findings: `.goal-fit-block-streak.json`, beside the sessions, as in flow-agents.
//!
//! ```text
//! {"hash":2088270401,"count":2,"sessions":{"177":{"hash":2088270401,"count":2}}}
//! ```
//!
//! A hash is of what the findings are and what they are about, without ages and counts: another minute is no other finding. The
//! first two are those of the last refusal, for flow-agents, which knows one session only; `sessions` has each by a hash of its
//! name, so that two that stop in turns do not keep each other.

use super::finding::{Finding, Kind};
use crate::policy::session::object;
use crate::sys::files;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

const FILE: &str = ".goal-fit-block-streak.json";
/// Sessions that are kept.
const MOST: usize = 64;

/// The streak of a session.
pub(super) struct Streak {
    path: PathBuf,
    session: String,
    kept: Map<String, Value>,
}

/// What a stop is refused for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cause(u32);

impl Cause {
    /// The cause that these findings, which block, are together.
    pub(super) fn of(session: &str, findings: &[&Finding]) -> Self {
        let mut keys: Vec<(Kind, &str)> =
            findings.iter().map(|finding| (finding.kind, finding.about.as_str())).collect();
        keys.sort_unstable();
        keys.dedup();
        let text: String = keys.iter().map(|(kind, about)| format!("{kind:?} {about}\n")).collect();
        Self(hash(&format!("{session}\n{text}")))
    }
}

impl Streak {
    /// The streak of `session`, of those in `place`.
    pub(super) fn read(place: &Path, session: &str) -> Self {
        let path = place.join(FILE);
        Self { kept: object(&path).unwrap_or_default(), path, session: hash(session).to_string() }
    }

    /// Refusals for this cause so far.
    pub(super) fn count(&self, cause: Cause) -> u32 {
        let own = self.kept.get("sessions").and_then(|sessions| sessions.get(&self.session));
        let number = |key: &str| own?.get(key)?.as_u64().and_then(|number| u32::try_from(number).ok());
        number("count").filter(|_| number("hash") == Some(cause.0)).unwrap_or(0)
    }

    /// Notes a refusal. What cannot be written is counted anew the next time.
    pub(super) fn refused(mut self, cause: Cause) {
        let count = self.count(cause).saturating_add(1);
        let mut sessions = self.sessions();
        if sessions.len() >= MOST {
            sessions.clear();
        }
        sessions.insert(self.session.clone(), json!({ "hash": cause.0, "count": count }));
        self.write(json!({ "hash": cause.0, "count": count, "sessions": sessions }));
    }

    /// Ends it.
    pub(super) fn end(mut self) {
        if self.kept.is_empty() {
            return;
        }
        let mut sessions = self.sessions();
        sessions.remove(&self.session);
        if sessions.is_empty() {
            drop(std::fs::remove_file(&self.path));
        } else {
            self.write(json!({ "sessions": sessions }));
        }
    }

    /// The streaks of all sessions, taken out.
    fn sessions(&mut self) -> Map<String, Value> {
        match self.kept.remove("sessions") {
            Some(Value::Object(sessions)) => sessions,
            _ => Map::new(),
        }
    }

    fn write(&self, kept: Value) {
        drop(files::write_atomic(&self.path, kept.to_string().as_bytes()));
    }
}

fn hash(text: &str) -> u32 {
    text.encode_utf16().fold(5381, |hash: u32, unit| hash.wrapping_mul(33).wrapping_add(u32::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_stop_in_turns_are_counted_apart() {
        let dir = tempfile::tempdir().unwrap();
        let read = |session: &str| Streak::read(dir.path(), session);
        let (one, other) = (Cause(1), Cause(2));
        for count in 0..3 {
            for (session, cause) in [("a", one), ("b", other)] {
                assert_eq!(read(session).count(cause), count);
                read(session).refused(cause);
            }
        }
        assert_eq!(read("a").count(other), 0, "another cause begins anew");
        read("a").end();
        assert_eq!((read("a").count(one), read("b").count(other)), (0, 3));
        read("b").end();
        assert!(!dir.path().join(FILE).exists());
    }
}
