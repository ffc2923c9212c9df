//! Which liveness records need not be sent any more. A sink keeps one row per pair of actor and subject and takes in only
//! what is later than it has (Console ingest §4), so that of the records of a pair that wait, only the latest matters.
//! Latest is what the sink takes for it, not what was queued last: a claim can be dated back.

use std::cmp::{max, min};
use std::collections::HashMap;

use serde::Deserialize;

use super::outbox::{Entry, Key, LIVENESS};
use crate::sys::clock;

/// Where a liveness record stands in its pair's order: by time, and a release after all else of its millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp {
    at_ms: i64,
    is_release: bool,
}

impl Stamp {
    /// The stamp of `entry`; `None` when it is no liveness record, or has no time to be judged by.
    #[must_use]
    pub(super) fn of(entry: &Entry) -> Option<Self> {
        #[derive(Deserialize)]
        struct Body<'a> {
            at: &'a str,
            #[serde(rename = "type")]
            verb: Option<&'a str>,
        }
        // All other kinds are facts that add up, and are never dropped for another.
        if entry.kind != LIVENESS {
            return None;
        }
        let body: Body<'_> = serde_json::from_slice(entry.body.get().as_bytes()).ok()?;
        Some(Self { at_ms: clock::parse_rfc3339(body.at)?, is_release: body.verb == Some("release") })
    }
}

/// Of the records `(id, stamp, key)` that wait in one lane, those that a later one of their id makes needless. Of equal
/// stamps the one that was queued last stays.
#[must_use]
pub(super) fn superseded<'a>(waiting: impl Iterator<Item = (&'a str, Stamp, Key)>) -> Vec<Key> {
    let mut latest: HashMap<&str, (Stamp, Key)> = HashMap::new();
    let mut needless = Vec::new();
    for (id, stamp, key) in waiting {
        let this = (stamp, key);
        let best = latest.entry(id).or_insert(this);
        if *best != this {
            needless.push(min(*best, this).1);
            *best = max(*best, this);
        }
    }
    needless
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::outbox::sample;

    fn entry(kind: &str, body: &str) -> Entry {
        Entry {
            kind: kind.to_owned(),
            body: Entry::body(body).unwrap(),
            ..sample("pair", "http://localhost:1")
        }
    }

    #[test]
    fn only_a_dated_liveness_record_has_a_stamp() {
        let dated = r#"{"type":"claim","at":"2026-07-01T10:00:00Z"}"#;
        let stamp = Stamp { at_ms: 1_782_900_000_000, is_release: false };
        assert_eq!(Stamp::of(&entry("liveness", dated)), Some(stamp));
        assert_eq!(Stamp::of(&entry("economics", dated)), None);
        assert_eq!(Stamp::of(&entry("telemetry", dated)), None);
        for undated in [r#"{"type":"claim"}"#, r#"{"at":"x"}"#, r#"{"at":1782900000000}"#, "[]"] {
            assert_eq!(Stamp::of(&entry("liveness", undated)), None, "{undated}");
        }
    }

    #[test]
    fn the_order_is_the_consoles() {
        // Each is later than the one before: Console ingest §4.
        let rising = [
            r#"{"at":"2026-07-01T10:00:00Z"}"#,
            r#"{"type":"release","at":"2026-07-01T10:00:00.000Z"}"#,
            r#"{"type":"heartbeat","at":"2026-07-01T10:00:00.001Z"}"#,
            r#"{"type":"claim","at":"2026-07-01T10:00:01Z"}"#,
        ];
        let stamps = rising.map(|body| Stamp::of(&entry("liveness", body)).unwrap());
        assert!(stamps.is_sorted_by(|a, b| a < b), "{stamps:?}");
    }

    #[test]
    fn the_latest_of_each_pair_stays() {
        let waiting = [("a", 5), ("b", 1), ("a", 3), ("a", 9), ("b", 1), ("c", 0), ("a", 9), ("a", 4)];
        let records = (0..)
            .zip(waiting)
            .map(|(line, (id, at_ms))| (id, Stamp { at_ms, is_release: false }, Key { segment: 1, line }));
        let lines: Vec<u64> = superseded(records).into_iter().map(|key| key.line).collect();
        // Lines 6 (a), 4 (b) and 5 (c) stay.
        assert_eq!(lines, [2, 0, 1, 3, 7]);
    }
}
