//! One outbox line: a record on its way, with where it goes and where that was configured.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Error;
use crate::settings::defaults::DEFAULTS;

/// The largest body that may be queued (DESIGN §4, G5).
pub const MAX_BODY: usize = DEFAULTS.relay.record_max_bytes as usize;

/// The kind of a liveness record. Its id names a pair of actor and subject, which has many records.
pub(crate) const LIVENESS: &str = "liveness";

/// What makes two entries the same record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Where it goes.
    pub origin: String,
    tenant: Option<String>,
    /// Its id.
    pub id: String,
    /// Of a liveness record only: one id has many.
    body: Option<String>,
}

/// What is told of a record on its way. Without its body: a full outbox would fill the memory.
#[derive(Debug, Clone)]
pub struct Queued {
    /// Which it is.
    pub identity: Identity,
    /// What it is.
    pub kind: String,
    /// When it was queued, epoch milliseconds.
    pub enqueued_at: i64,
}

impl From<&Entry> for Queued {
    fn from(entry: &Entry) -> Self {
        Self { identity: entry.identity(), kind: entry.kind.clone(), enqueued_at: entry.enqueued_at }
    }
}

/// A queued record. It never holds a credential: `source` says where one is to be read when the record is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// The record's identity at the Console: `run_id`, `event_id`, or the claim's id.
    pub id: String,
    /// What it is: `economics`, `liveness`, `telemetry`.
    pub kind: String,
    /// Scheme, host and port of the destination, as `settings::endpoint` writes it.
    pub origin: String,
    /// Path and query of the destination.
    pub path: String,
    /// The tenant whose data it is.
    pub tenant: Option<String>,
    /// Where the destination was configured: `conf:/path`, `environment` or `flag`.
    pub source: String,
    /// When it was queued, in epoch milliseconds.
    pub enqueued_at: i64,
    /// The byte offset after its line in its journal: the caller's enqueue cursor, not interpreted here.
    pub journal_end: u64,
    /// Whether it was rejected before and put back: in the books its earlier line stands for it (invariant 11).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub put_back: bool,
    /// The exact body; every send repeats these bytes.
    pub body: Box<RawValue>,
}

impl Entry {
    /// Takes `json` as a body: one JSON value on one line.
    ///
    /// # Errors
    /// When it is not JSON, spans lines, or is larger than [`MAX_BODY`].
    pub fn body(json: &str) -> Result<Box<RawValue>, Error> {
        let json = json.trim();
        if json.len() > MAX_BODY {
            return Err(Error::TooLarge { bytes: json.len() });
        }
        if json.contains('\n') {
            return Err(Error::NotOneLine);
        }
        RawValue::from_string(json.to_owned()).map_err(Error::Body)
    }

    /// Reads a line of the outbox; `None` when it is torn or corrupt.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    pub(super) fn identity(&self) -> Identity {
        Identity {
            origin: self.origin.clone(),
            tenant: self.tenant.clone(),
            id: self.id.clone(),
            body: self.is_liveness().then(|| self.body.get().to_owned()),
        }
    }

    pub(super) fn is_liveness(&self) -> bool {
        self.kind == LIVENESS
    }

    pub(super) fn to_line(&self) -> Result<Vec<u8>, Error> {
        let body = self.body.get();
        if body.len() > MAX_BODY {
            return Err(Error::TooLarge { bytes: body.len() });
        }
        if body.contains('\n') {
            return Err(Error::NotOneLine);
        }
        serde_json::to_vec(self).map_err(Error::Body)
    }
}

#[cfg(test)]
pub(crate) fn sample(id: &str, origin: &str) -> Entry {
    Entry {
        id: id.to_owned(),
        kind: "economics".to_owned(),
        origin: origin.to_owned(),
        path: "/records".to_owned(),
        tenant: None,
        source: "environment".to_owned(),
        enqueued_at: 1_800_000_000_000,
        journal_end: 7,
        put_back: false,
        body: Entry::body(&format!(r#"{{"run_id":"{id}", "cost":1.10,"name":"é\u0041"}}"#)).unwrap(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_survives_to_the_byte() {
        let entry = sample("a", "http://localhost:1");
        let back = Entry::parse(&entry.to_line().unwrap()).unwrap();
        assert_eq!(back.body.get(), r#"{"run_id":"a", "cost":1.10,"name":"é\u0041"}"#);
        let trimmed = Entry::body(" {\"n\":1e400} \n").unwrap();
        assert_eq!(trimmed.get(), "{\"n\":1e400}");
    }

    #[test]
    fn a_body_is_one_line_of_json_and_bounded() {
        assert!(matches!(Entry::body("{\n}"), Err(Error::NotOneLine)));
        assert!(matches!(Entry::body("{"), Err(Error::Body(_))));
        let large = format!("\"{}\"", "x".repeat(MAX_BODY));
        assert!(matches!(Entry::body(&large), Err(Error::TooLarge { .. })));
    }
}
