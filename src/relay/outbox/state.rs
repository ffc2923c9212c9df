//! The content of `state.json`: the counters, what is settled of each sealed segment, and what is known of tries and
//! origins. Values only; reading and writing it is [`super::ledger`]'s.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::relay::backoff::{Health, History, still_ahead};

/// The version that this program writes and the newest that it understands.
pub(super) const VERSION: u32 = 1;
/// Refused credentials remembered per origin; the oldest goes first.
const MAX_HOLDS: usize = 16;

/// Origins remembered; beyond that those go that nothing is held against.
const MAX_ORIGINS: usize = 64;

/// Names a line of a sealed segment; older entries have smaller keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The segment's number.
    pub segment: u64,
    /// The line's index among the segment's non-empty lines.
    pub line: u64,
}

/// How an entry left the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its sink has it.
    Delivered,
    /// It is kept in `rejected.jsonl`.
    Rejected,
    /// It made room.
    Evicted,
    /// It made way for a later record of its pair; counted as evicted.
    Superseded,
    /// Somebody else cut or removed its file; counted as evicted.
    Vanished,
}

/// See the module.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    pub(super) version: u32,
    /// The highest segment number ever taken in. A file with such a number that `segments` does not list is settled
    /// and only waits to be unlinked; numbers are never used twice.
    pub(super) known_through: u64,
    /// Lines of the segments that are gone.
    pub(super) retired_lines: u64,
    /// Entries that their sink has.
    pub delivered: u64,
    /// Entries that were given up, and not put back since.
    pub rejected: u64,
    /// Lines that an entry was put back with after its rejection: it is counted by the line that it had before.
    pub(super) put_back: u64,
    /// Entries that made room, or way, or vanished.
    pub evicted: u64,
    /// Of the evicted: those that made way for a later record of their pair.
    pub superseded: u64,
    /// Of the evicted: those whose file somebody else cut or removed.
    pub vanished: u64,
    /// Of the delivered: those whose id the sink already knew before our first attempt.
    pub delivered_before: u64,
    pub(super) segments: BTreeMap<u64, Segment>,
    /// What is known of each origin.
    pub origins: BTreeMap<String, Origin>,
}

/// What is settled of a sealed segment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Segment {
    pub(super) lines: u64,
    pub(super) bytes: u64,
    pub(super) done: BTreeSet<u64>,
    pub(super) tries: BTreeMap<u64, History>,
}

/// What is known of an origin.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Its back-off.
    pub health: Health,
    /// Why records of some tenants wait for a credential.
    pub holds: Vec<Hold>,
}

/// Records that wait for a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The tenant whose records wait.
    pub tenant: Option<String>,
    /// Where the credential is configured.
    pub source: String,
    /// What is wrong with it.
    pub reason: String,
    /// Which credential was refused: the first 16 hex digits of a hash, never the token. `None` when there was none
    /// to try.
    pub fingerprint: Option<String>,
    /// When a refused credential is probed again, in epoch milliseconds.
    pub probe_at_ms: i64,
}

impl Origin {
    /// Whether `fingerprint` was refused for `tenant`, and the time of its next probe has not come.
    #[must_use]
    pub fn refuses(&self, tenant: Option<&str>, fingerprint: &str, now_ms: i64) -> bool {
        self.holds.iter().any(|hold| {
            hold.tenant.as_deref() == tenant
                && hold.fingerprint.as_deref() == Some(fingerprint)
                && still_ahead(hold.probe_at_ms, now_ms, crate::relay::backoff::PROBE_MS)
        })
    }

    /// Remembers `hold`, in place of what was known of the same tenant and source.
    pub fn hold(&mut self, hold: Hold) {
        self.release(hold.tenant.as_deref(), &hold.source);
        if self.holds.len() >= MAX_HOLDS {
            self.holds.remove(0);
        }
        self.holds.push(hold);
    }

    /// Forgets why records of `tenant` from `source` waited.
    pub fn release(&mut self, tenant: Option<&str>, source: &str) {
        self.holds.retain(|hold| hold.tenant.as_deref() != tenant || hold.source != source);
    }
}

impl State {
    /// Lines ever sealed.
    #[must_use]
    pub fn sealed_lines(&self) -> u64 {
        self.retired_lines.saturating_add(self.segments.values().map(|segment| segment.lines).sum())
    }

    /// Entries ever sealed: one that was put back counts once.
    #[must_use]
    pub fn enqueued(&self) -> u64 {
        self.sealed_lines().saturating_sub(self.put_back)
    }

    /// Sealed lines that are not settled.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.segments.values().map(|segment| segment.lines.saturating_sub(segment.done.len() as u64)).sum()
    }

    /// The tries of an entry; `None` when it was never tried.
    #[must_use]
    pub fn history(&self, key: Key) -> Option<&History> {
        self.segments.get(&key.segment)?.tries.get(&key.line)
    }

    /// The tries of an entry and the health of its origin, to book a failure on; `None` when it is gone.
    pub fn tries(&mut self, key: Key, origin: &str) -> Option<(&mut History, &mut Health)> {
        let history = self.segments.get_mut(&key.segment)?.tries.entry(key.line).or_default();
        Some((history, &mut self.origins.entry(origin.to_owned()).or_default().health))
    }

    /// Forgets every back-off, but not what an origin asked for.
    pub fn forget_backoff(&mut self) {
        let origins = self.origins.values_mut().map(|origin| &mut origin.health.next);
        let records = self.segments.values_mut().flat_map(|segment| segment.tries.values_mut());
        for deadline in origins.chain(records.map(|history| &mut history.next)) {
            if !deadline.asked {
                deadline.at_ms = 0;
            }
        }
    }

    /// Counts an entry out, once. An entry that is gone was counted when it went.
    pub fn settle(&mut self, key: Key, fate: Fate) {
        let Some(segment) = self.segments.get_mut(&key.segment) else { return };
        if key.line >= segment.lines || !segment.done.insert(key.line) {
            return;
        }
        segment.tries.remove(&key.line);
        self.count(fate, 1);
    }

    /// Books a line that puts a rejected entry back: rejected becomes pending. Where the rejection is not in the books (they
    /// were lost), the line counts as any other.
    pub(super) fn put_back(&mut self) {
        if let Some(left) = self.rejected.checked_sub(1) {
            self.rejected = left;
            self.put_back = self.put_back.saturating_add(1);
        }
    }

    pub(super) fn is_open(&self, key: Key) -> bool {
        self.segments.get(&key.segment).is_some_and(|s| key.line < s.lines && !s.done.contains(&key.line))
    }

    pub(super) fn adopt(&mut self, number: u64, lines: u64, bytes: u64) {
        self.known_through = self.known_through.max(number);
        self.segments.insert(number, Segment { lines, bytes, ..Segment::default() });
    }

    /// Drops a whole segment: what was not settled of it is evicted.
    pub(super) fn evict(&mut self, number: u64) {
        let Some(segment) = self.segments.remove(&number) else { return };
        self.retired_lines = self.retired_lines.saturating_add(segment.lines);
        self.count(Fate::Evicted, segment.lines.saturating_sub(segment.done.len() as u64));
    }

    /// Drops the segments that are settled to the last line, and origins past their bound.
    pub(super) fn retire(&mut self) {
        let retired_lines = &mut self.retired_lines;
        self.segments.retain(|_, segment| {
            let open = (segment.done.len() as u64) < segment.lines;
            if !open {
                *retired_lines = retired_lines.saturating_add(segment.lines);
            }
            open
        });
        if self.origins.len() > MAX_ORIGINS {
            self.origins.retain(|_, origin| origin.health.failures > 0 || !origin.holds.is_empty());
        }
    }

    fn count(&mut self, fate: Fate, entries: u64) {
        let counter = match fate {
            Fate::Delivered => &mut self.delivered,
            Fate::Rejected => &mut self.rejected,
            Fate::Evicted => &mut self.evicted,
            Fate::Superseded => {
                self.superseded = self.superseded.saturating_add(entries);
                &mut self.evicted
            }
            Fate::Vanished => {
                self.vanished = self.vanished.saturating_add(entries);
                &mut self.evicted
            }
        };
        *counter = counter.saturating_add(entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(segment: u64, line: u64) -> Key {
        Key { segment, line }
    }

    fn conserves(state: &State) -> bool {
        state.enqueued() == state.delivered + state.rejected + state.evicted + state.pending()
    }

    #[test]
    fn every_way_out_is_counted_once() {
        let mut state = State::default();
        state.adopt(1, 3, 300);
        state.adopt(2, 2, 200);
        state.settle(key(1, 0), Fate::Delivered);
        state.settle(key(1, 0), Fate::Rejected);
        state.settle(key(1, 9), Fate::Delivered);
        assert_eq!((state.delivered, state.rejected, state.pending()), (1, 0, 4));
        state.evict(1);
        state.evict(1);
        state.settle(key(1, 1), Fate::Delivered);
        assert_eq!((state.delivered, state.evicted, state.pending()), (1, 2, 2));
        state.settle(key(2, 0), Fate::Rejected);
        state.settle(key(2, 1), Fate::Delivered);
        state.retire();
        assert_eq!((state.sealed_lines(), state.pending(), state.segments.len()), (5, 0, 0));
        assert!(conserves(&state));
    }

    #[test]
    fn what_is_put_back_is_pending_again_and_was_queued_once() {
        let mut state = State::default();
        state.adopt(1, 2, 200);
        state.settle(key(1, 0), Fate::Rejected);
        state.adopt(2, 1, 100);
        state.put_back();
        assert_eq!((state.enqueued(), state.rejected, state.pending()), (2, 0, 2));
        assert!(conserves(&state));
        state.settle(key(2, 0), Fate::Rejected);
        assert_eq!((state.enqueued(), state.rejected, state.pending()), (2, 1, 1));
        assert!(conserves(&state));
    }

    #[test]
    fn a_rejection_that_the_books_do_not_know_is_put_back_as_a_new_entry() {
        let mut state = State::default();
        state.adopt(1, 1, 100);
        state.put_back();
        assert_eq!((state.enqueued(), state.rejected, state.pending()), (1, 0, 1));
        assert!(conserves(&state));
    }

    #[test]
    fn a_hold_is_for_one_tenant_and_one_credential_until_the_probe() {
        let mut origin = Origin::default();
        let hold = |fingerprint: &str| Hold {
            tenant: Some("a".to_owned()),
            source: "environment".to_owned(),
            reason: "HTTP 401".to_owned(),
            fingerprint: Some(fingerprint.to_owned()),
            probe_at_ms: 1000,
        };
        origin.hold(hold("f1"));
        assert!(origin.refuses(Some("a"), "f1", 999));
        assert!(!origin.refuses(Some("a"), "f1", 1000) && !origin.refuses(Some("a"), "f2", 0));
        assert!(!origin.refuses(Some("b"), "f1", 0) && !origin.refuses(None, "f1", 0));
        origin.hold(hold("f2"));
        assert_eq!(origin.holds.len(), 1);
        origin.release(Some("a"), "environment");
        assert!(origin.holds.is_empty());
    }

    #[test]
    fn forgetting_back_off_keeps_what_the_origin_asked_for() {
        use crate::relay::backoff::Deadline;
        let mut state = State::default();
        for (name, asked) in [("ours", false), ("theirs", true)] {
            let next = Deadline { at_ms: 9, asked };
            state.origins.entry(name.to_owned()).or_default().health.next = next;
        }
        state.forget_backoff();
        let at = |name: &str| state.origins[name].health.next.at_ms;
        assert_eq!((at("ours"), at("theirs")), (0, 9));
    }
}
