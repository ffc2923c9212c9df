//! Which entry is sent next: pure scheduling over the books (DESIGN §9).
//!
//! Entries are grouped in lanes, one per origin and tenant. Within a lane the oldest goes first, and an entry waits for
//! every older one with the same id, so that no two with one identity are ever in flight and the later never arrives
//! first. A lane sends one request alone until that is answered well; then the lanes share the worker's connections.
//! An origin in trouble is probed with the entry that was tried least, so that one bad record cannot hide that the
//! origin is fine.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use super::outbox::{Entry, Key, Located, State};
use super::supersede::{self, Stamp};

/// Where an entry goes and where that was configured.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Route {
    /// Scheme, host and port.
    pub origin: String,
    /// Whose data it is.
    pub tenant: Option<String>,
    /// Where the destination was configured.
    pub source: String,
    /// Path and query.
    pub path: String,
}

impl Route {
    /// The route of `entry`.
    #[must_use]
    pub(super) fn of(entry: &Entry) -> Self {
        Self {
            origin: entry.origin.clone(),
            tenant: entry.tenant.clone(),
            source: entry.source.clone(),
            path: entry.path.clone(),
        }
    }
}

/// A pending entry, without its body.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Its segment and line.
    pub key: Key,
    /// The line's place in the segment file.
    pub offset: u64,
    /// The line's length.
    pub len: usize,
    /// The record's identity, together with origin and tenant.
    pub id: String,
    /// Whether it was rejected before, and so was sent before.
    pub put_back: bool,
    /// Its place among the records of its pair, for a liveness record.
    pub stamp: Option<Stamp>,
    /// Where it goes.
    pub route: Rc<Route>,
}

#[derive(Debug, Default)]
struct Lane {
    items: BTreeMap<Key, Item>,
    in_flight: BTreeSet<Key>,
    proven: bool,
}

type LaneName = (String, Option<String>);

/// The pending entries of this worker.
#[derive(Debug, Default)]
pub(super) struct Queue {
    lanes: BTreeMap<LaneName, Lane>,
    routes: BTreeSet<Rc<Route>>,
}

impl Queue {
    /// Adds entries.
    pub(super) fn extend(&mut self, located: Vec<Located>) {
        for Located { key, offset, len, entry } in located {
            let route = Route::of(&entry);
            let lane = self.lanes.entry((route.origin.clone(), route.tenant.clone())).or_default();
            let route = match self.routes.get(&route) {
                Some(known) => Rc::clone(known),
                None => {
                    let route = Rc::new(route);
                    self.routes.insert(Rc::clone(&route));
                    route
                }
            };
            let stamp = Stamp::of(&entry);
            let Entry { id, put_back, .. } = entry;
            lane.items.insert(key, Item { key, offset, len, id, put_back, stamp, route });
        }
    }

    /// Takes out the liveness records that a later one of their pair makes needless, to settle. Those in flight stay, and
    /// make no other needless.
    pub(super) fn take_superseded(&mut self) -> Vec<Key> {
        self.lanes.values_mut().flat_map(Lane::take_superseded).collect()
    }

    /// Takes the next entry to send at `now_ms`, and marks it as in flight. `held` says which routes wait for a
    /// credential.
    pub(super) fn take(
        &mut self,
        state: &State,
        now_ms: i64,
        held: &mut dyn FnMut(&Route) -> bool,
    ) -> Option<Item> {
        let mut best: Option<Item> = None;
        for ((origin, _), lane) in &self.lanes {
            let in_trouble = state.origins.get(origin).is_some_and(|origin| origin.health.failures > 0);
            let busy = if in_trouble { self.in_flight_to(origin) } else { lane.in_flight.len() };
            if (busy > 0 && (in_trouble || !lane.proven)) || origin_deadline(state, origin, now_ms) > now_ms {
                continue;
            }
            let mut due = lane.due(state, now_ms, held);
            let candidate =
                if in_trouble { due.min_by_key(|item| attempts(state, item.key)) } else { due.next() };
            best = match (best, candidate) {
                (Some(best), Some(item)) if item.key > best.key => Some(best),
                (best, candidate) => candidate.cloned().or(best),
            };
        }
        let item = best?;
        self.lane(&item)?.in_flight.insert(item.key);
        Some(item)
    }

    /// When something will be due: now, later, or (`None`) not by time alone.
    #[must_use]
    pub(super) fn next_due(
        &self,
        state: &State,
        now_ms: i64,
        held: &mut dyn FnMut(&Route) -> bool,
    ) -> Option<i64> {
        let mut next: Option<i64> = None;
        for ((origin, _), lane) in &self.lanes {
            let origin_at = origin_deadline(state, origin, now_ms);
            let mut seen = HashSet::new();
            for item in lane.items.values() {
                if !seen.insert(item.id.as_str()) || held(&item.route) {
                    continue;
                }
                let record_at = record_deadline(state, item.key, now_ms);
                let at = origin_at.max(record_at);
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        }
        next
    }

    /// The entry is settled.
    pub(super) fn remove(&mut self, item: &Item) {
        if let Some(lane) = self.lane(item) {
            lane.in_flight.remove(&item.key);
            lane.items.remove(&item.key);
        }
    }

    /// The entry is still to be sent; or, after a whole segment was evicted, not.
    pub(super) fn put_back(&mut self, item: &Item) {
        if let Some(lane) = self.lane(item) {
            lane.in_flight.remove(&item.key);
        }
    }

    /// Whether the lane of `item` may use more than one connection.
    pub(super) fn set_proven(&mut self, item: &Item, proven: bool) {
        if let Some(lane) = self.lane(item) {
            lane.proven = proven;
        }
    }

    /// The origins that have pending entries.
    #[must_use]
    pub(super) fn origins(&self) -> BTreeSet<String> {
        let busy = self.lanes.iter().filter(|(_, lane)| !lane.items.is_empty());
        let mut origins = BTreeSet::new();
        origins.extend(busy.map(|((origin, _), _)| origin.clone()));
        origins
    }

    /// Every route seen, to read its credential.
    #[must_use]
    pub(super) fn routes(&self) -> Vec<Route> {
        self.routes.iter().map(|route| Route::clone(route)).collect()
    }

    fn lane(&mut self, item: &Item) -> Option<&mut Lane> {
        self.lanes.get_mut(&(item.route.origin.clone(), item.route.tenant.clone()))
    }

    fn in_flight_to(&self, origin: &str) -> usize {
        let lanes = self.lanes.iter().filter(|((to, _), _)| to == origin);
        lanes.map(|(_, lane)| lane.in_flight.len()).sum()
    }
}

impl Lane {
    fn take_superseded(&mut self) -> Vec<Key> {
        let waiting = self.items.values().filter(|item| !self.in_flight.contains(&item.key));
        let stamped = waiting.filter_map(|item| Some((item.id.as_str(), item.stamp?, item.key)));
        let superseded = supersede::superseded(stamped);
        for key in &superseded {
            self.items.remove(key);
        }
        superseded
    }

    /// The entries that may be sent at `now_ms`, oldest first.
    fn due<'a>(
        &'a self,
        state: &'a State,
        now_ms: i64,
        held: &'a mut dyn FnMut(&Route) -> bool,
    ) -> impl Iterator<Item = &'a Item> {
        let mut seen = HashSet::new();
        self.items.values().filter(move |item| {
            seen.insert(item.id.as_str())
                && !self.in_flight.contains(&item.key)
                && record_deadline(state, item.key, now_ms) <= now_ms
                && !held(&item.route)
        })
    }
}

fn attempts(state: &State, key: Key) -> u32 {
    state.history(key).map_or(0, |history| history.attempts)
}

/// When the origin may be tried: `now_ms` if it may be now.
pub(super) fn origin_deadline(state: &State, origin: &str, now_ms: i64) -> i64 {
    let next = state.origins.get(origin).map(|origin| origin.health.next).filter(|next| next.holds(now_ms));
    next.map_or(now_ms, |next| next.at_ms)
}

fn record_deadline(state: &State, key: Key, now_ms: i64) -> i64 {
    let next = state.history(key).map(|history| history.next).filter(|next| next.holds(now_ms));
    next.map_or(now_ms, |next| next.at_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::outbox::sample;

    const NOW_MS: i64 = 1_800_000_000_000;

    fn heartbeat(line: u64) -> Located {
        let body = format!(r#"{{"type":"heartbeat","at":"2026-07-01T10:00:{line:02}Z"}}"#);
        let entry = Entry {
            kind: "liveness".to_owned(),
            body: Entry::body(&body).unwrap(),
            ..sample("pair", "http://localhost:1")
        };
        Located { key: Key { segment: 1, line }, offset: 0, len: 0, entry }
    }

    fn take(queue: &mut Queue) -> Option<Item> {
        queue.take(&State::default(), NOW_MS, &mut |_| false)
    }

    fn lines(superseded: Vec<Key>) -> Vec<u64> {
        superseded.into_iter().map(|key| key.line).collect()
    }

    #[test]
    fn one_in_flight_is_not_superseded_and_its_pair_waits_for_it() {
        let mut queue = Queue::default();
        queue.extend(vec![heartbeat(0)]);
        let flying = take(&mut queue).unwrap();
        // Else a lane that is not proven would be what holds the next one back.
        queue.set_proven(&flying, true);
        queue.extend(vec![heartbeat(1), heartbeat(2)]);
        assert_eq!(lines(queue.take_superseded()), [1]);
        assert!(take(&mut queue).is_none(), "two of one identity in flight");
        queue.put_back(&flying);
        assert_eq!(lines(queue.take_superseded()), [0], "it waits again");
        let next = take(&mut queue).unwrap();
        assert_eq!(next.key.line, 2);
        queue.remove(&next);
        assert!(take(&mut queue).is_none() && queue.take_superseded().is_empty());
    }
}
