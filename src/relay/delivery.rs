//! What a worker sends next, and what an answer changes in the books: all of a run but the network, the clock and the
//! wait. Time comes in from outside, in epoch milliseconds that do not go back during a run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::backoff::{self, Failure, PROBE_MS, Pace};
use super::classify::{Answer, Class, Verdict, classify, said};
use super::credentials::Credentials;
use super::outbox::{Entry, Error, Fate, Guard, Hold, Key, Ledger, Reason};
use super::queue::{Item, Queue, Route, origin_deadline};
use super::transport::{NoAnswer, Reply};
use crate::settings::defaults::DEFAULTS;
use crate::settings::endpoint::Endpoint;
use crate::settings::env::Env;
use crate::settings::secret::Secret;

const MAX_IN_FLIGHT: usize = DEFAULTS.relay.requests_in_flight as usize;
/// Requests to an origin that fail within a minute, but for those in flight when there were so many.
const MAX_FAILED: usize = DEFAULTS.relay.failed_requests_per_minute as usize - MAX_IN_FLIGHT;
const MINUTE_MS: i64 = 60_000;
/// The books are saved after this many outcomes, or after [`SAVE_EVERY_MS`].
const SAVE_AFTER: usize = 32;
const SAVE_EVERY_MS: i64 = 1000;

/// A request to make.
#[derive(Debug)]
pub(super) struct Parcel {
    /// To say what its answer is an answer to.
    pub(super) key: Key,
    /// Where it goes.
    pub(super) endpoint: Endpoint,
    /// What it is let in with; `None` where none is configured.
    pub(super) token: Option<Secret>,
    /// Whose data it is.
    pub(super) tenant: Option<String>,
    /// The exact body.
    pub(super) body: String,
}

struct Flight {
    item: Item,
    deliveries_when_sent: u64,
}

/// The state of a worker's run.
pub(super) struct Delivery<'a> {
    env: &'a Env,
    ledger: Ledger,
    queue: Queue,
    backoff_cap_ms: i64,
    credentials: Credentials,
    flights: BTreeMap<Key, Flight>,
    unsaved: usize,
    saved_at_ms: i64,
    /// When each origin failed, the last [`MAX_FAILED`] times.
    failing: BTreeMap<String, VecDeque<i64>>,
    /// Of the entries left in `current.jsonl`: their origins, and when the first may be sent.
    leftover: (BTreeSet<String>, Option<i64>),
}

impl<'a> Delivery<'a> {
    /// With the books of `ledger`, at the start of a run; back-off is never longer than `backoff_cap_ms`.
    pub(super) fn new(env: &'a Env, ledger: Ledger, backoff_cap_ms: i64, now_ms: i64) -> Self {
        Self {
            env,
            ledger,
            queue: Queue::default(),
            backoff_cap_ms,
            credentials: Credentials::default(),
            flights: BTreeMap::new(),
            unsaved: 0,
            saved_at_ms: now_ms,
            failing: BTreeMap::new(),
            leftover: (BTreeSet::new(), None),
        }
    }

    /// Forgets every back-off that no origin asked for.
    pub(super) fn forget_backoff(&mut self) {
        self.ledger.state.forget_backoff();
    }

    /// Reads what the last worker left.
    pub(super) fn load(&mut self, guard: &Guard, now_ms: i64) -> Result<(), Error> {
        let rejected = self.ledger.state.rejected;
        for number in self.ledger.known() {
            self.queue.extend(self.ledger.pending(guard, number, now_ms)?);
        }
        self.unsaved += usize::from(self.ledger.state.rejected != rejected);
        self.look_for_arrivals(guard, now_ms).map(drop)
    }

    /// Takes in what hooks sealed, seals `current.jsonl` if anything in it could be sent, and drops what is superseded.
    /// Returns whether something is due.
    pub(super) fn look_for_arrivals(&mut self, guard: &Guard, now_ms: i64) -> Result<bool, Error> {
        self.leftover = (BTreeSet::new(), None);
        let mut sendable = false;
        for entry in guard.current()? {
            let Some(entry) = entry else {
                sendable = true;
                continue;
            };
            let route = Route::of(&entry);
            self.load_credential(&route);
            let origin_at = origin_deadline(&self.ledger.state, &route.origin, now_ms);
            if !self.is_held(&route, now_ms) {
                sendable |= origin_at <= now_ms;
                self.leftover.1 = Some(self.leftover.1.map_or(origin_at, |at| at.min(origin_at)));
            }
            self.leftover.0.insert(route.origin);
        }
        if sendable {
            self.ledger.seal(guard)?;
            self.leftover = (BTreeSet::new(), None);
        }
        let known = self.ledger.state.sealed_lines();
        while let Some(arrived) = self.ledger.adopt_next(guard, now_ms)? {
            for located in &arrived {
                self.load_credential(&Route::of(&located.entry));
            }
            self.queue.extend(arrived);
            self.ledger.note_arrived(guard)?;
        }
        self.unsaved += usize::from(self.ledger.state.sealed_lines() != known);
        for key in self.queue.take_superseded() {
            self.ledger.state.settle(key, Fate::Superseded);
            self.unsaved += 1;
        }
        self.ledger.enforce_cap(guard);
        if self.unsaved > 0 {
            self.save(guard, now_ms)?;
        }
        Ok(self.next_due(now_ms).is_some_and(|due| due <= now_ms))
    }

    /// Whether enough has changed since the last save.
    pub(super) fn wants_save(&self, now_ms: i64) -> bool {
        self.unsaved >= SAVE_AFTER
            || (self.unsaved > 0 && now_ms.saturating_sub(self.saved_at_ms) >= SAVE_EVERY_MS)
    }

    /// Writes the books.
    pub(super) fn save(&mut self, guard: &Guard, now_ms: i64) -> Result<(), Error> {
        self.ledger.save(guard)?;
        self.unsaved = 0;
        self.saved_at_ms = now_ms;
        Ok(())
    }

    /// When something may be sent; `None` when that does not depend on time.
    pub(super) fn next_due(&self, now_ms: i64) -> Option<i64> {
        let queued =
            self.queue.next_due(&self.ledger.state, now_ms, &mut |route| self.is_held(route, now_ms));
        match (queued, self.leftover.1) {
            (Some(queued), Some(leftover)) => Some(queued.min(leftover)),
            (queued, leftover) => queued.or(leftover),
        }
    }

    /// The origins to which nothing that is pending can be sent now.
    pub(super) fn blocked_origins(&self, now_ms: i64) -> BTreeSet<String> {
        let mut origins = self.leftover.0.clone();
        origins.extend(self.queue.origins());
        origins.retain(|origin| {
            let waits = origin_deadline(&self.ledger.state, origin, now_ms) > now_ms;
            let mut routes = self.credentials.routes_to(origin);
            waits || routes.all(|route| self.is_held(route, now_ms))
        });
        origins
    }

    /// Whether anything is pending that this run has seen.
    pub(super) fn has_pending(&self) -> bool {
        self.ledger.state.pending() > 0 || !self.leftover.0.is_empty()
    }

    /// A conf may have changed since the last round: reads the credentials again.
    pub(super) fn reload_credentials(&mut self) {
        self.credentials = Credentials::default();
        for route in self.queue.routes() {
            self.load_credential(&route);
        }
    }

    /// The next request to make, if one may be made now. It is in flight until [`Delivery::land`].
    pub(super) fn next(&mut self, now_ms: i64) -> Option<Parcel> {
        while self.flights.len() < MAX_IN_FLIGHT {
            let (state, credentials) = (&self.ledger.state, &self.credentials);
            let mut held = |route: &Route| credentials.is_held(state, route, now_ms);
            let item = self.queue.take(state, now_ms, &mut held)?;
            let Some(line) = self.ledger.line(item.key, item.offset, item.len) else {
                // Its segment was evicted.
                self.queue.remove(&item);
                continue;
            };
            match self.parcel(&item, &line) {
                Ok(parcel) => {
                    let health =
                        self.ledger.state.origins.get(&item.route.origin).map(|origin| &origin.health);
                    let deliveries_when_sent = health.map_or(0, |health| health.deliveries);
                    self.flights.insert(item.key, Flight { item, deliveries_when_sent });
                    return Some(parcel);
                }
                Err(refused) => self.reject(&item, Reason { text: refused, said: None }, None, now_ms),
            }
        }
        None
    }

    /// The request for an entry whose credential may be used; the error is a destination that is never allowed.
    fn parcel(&self, item: &Item, line: &[u8]) -> Result<Parcel, String> {
        let entry = Entry::parse(line).ok_or("torn or corrupt entry")?;
        let endpoint = Endpoint::parse(&format!("{}{}", entry.origin, entry.path))
            .map_err(|error| format!("destination {error}"))?;
        if endpoint.origin() != entry.origin {
            return Err("destination differs from its origin".to_owned());
        }
        let token = self.credentials.usable(&item.route).and_then(|credential| credential.token.clone());
        let body = entry.body.get().to_owned();
        Ok(Parcel { key: item.key, endpoint, token, tenant: entry.tenant, body })
    }

    /// Those in flight get no answer any more.
    pub(super) fn ground(&mut self, reason: &str, now_ms: i64) {
        while let Some(&key) = self.flights.keys().next() {
            self.land(key, Err(NoAnswer::because(reason)), now_ms);
        }
    }

    /// Books what came of a request.
    pub(super) fn land(&mut self, key: Key, answer: Result<Reply, NoAnswer>, now_ms: i64) {
        let Some(Flight { item, deliveries_when_sent }) = self.flights.remove(&key) else { return };
        self.unsaved += 1;
        let attempts = self.ledger.state.history(key).map_or(0, |history| history.attempts);
        let attempts = attempts.saturating_add(u32::from(item.put_back));
        let (status, verdict) = match &answer {
            Ok(reply) => {
                let Reply { status, retry_after, body, whole } = reply;
                let answer =
                    Answer { status: *status, retry_after: retry_after.as_deref(), body, whole: *whole };
                (Some(*status), classify(&answer, attempts.saturating_add(1), now_ms))
            }
            Err(no_answer) => (None, Verdict::no_answer(no_answer.to_string())),
        };
        let route = &item.route;
        let origin = self.ledger.state.origins.entry(route.origin.clone()).or_default();
        if status.is_some() && verdict.class != Class::Wait {
            origin.release(route.tenant.as_deref(), &route.source);
        }
        match verdict.class {
            Class::Delivered | Class::DeliveredBefore => {
                origin.health.delivered();
                self.ledger.state.delivered_before += u64::from(verdict.class == Class::DeliveredBefore);
                self.ledger.state.settle(key, Fate::Delivered);
                self.queue.set_proven(&item, true);
                self.queue.remove(&item);
            }
            Class::Reject => {
                let said = answer.ok().and_then(|reply| self.quoted(&item, &reply.body));
                self.reject(&item, Reason { text: verdict.reason, said }, status, now_ms);
            }
            Class::Wait => {
                let fingerprint = self.credentials.usable(route).map(|usable| usable.fingerprint.clone());
                origin.hold(Hold {
                    tenant: route.tenant.clone(),
                    source: route.source.clone(),
                    reason: verdict.reason,
                    fingerprint,
                    probe_at_ms: now_ms.saturating_add(PROBE_MS),
                });
                self.queue.set_proven(&item, false);
                self.queue.put_back(&item);
            }
            Class::Retry(_) => {
                let said = answer.ok().and_then(|reply| self.quoted(&item, &reply.body));
                let failure = Failure { status, verdict: &verdict, deliveries_when_sent };
                self.book_failure(&item, &failure, said, now_ms);
            }
        }
    }

    fn book_failure(&mut self, item: &Item, failure: &Failure<'_>, said: Option<String>, now_ms: i64) {
        let pace = Pace { now_ms, cap_ms: self.backoff_cap_ms, random: fastrand::f64() };
        let Some((history, health)) = self.ledger.state.tries(item.key, &item.route.origin) else {
            self.queue.remove(item);
            return;
        };
        let gives_up = backoff::failed(history, health, failure, pace);
        let others_pass = health.failures == 0;
        if !others_pass {
            let failed = self.failing.entry(item.route.origin.clone()).or_default();
            failed.push_back(now_ms);
            if failed.len() > MAX_FAILED
                && let Some(first_ms) = failed.pop_front()
            {
                health.next.at_ms = health.next.at_ms.max(first_ms.saturating_add(MINUTE_MS));
            }
        }
        if gives_up {
            self.reject(item, Reason { text: failure.verdict.reason.clone(), said }, failure.status, now_ms);
            return;
        }
        self.queue.set_proven(item, others_pass);
        self.queue.put_back(item);
    }

    /// What the sink said of a record; nothing if that repeats the token.
    fn quoted(&self, item: &Item, body: &[u8]) -> Option<String> {
        let token = self.credentials.usable(&item.route).and_then(|usable| usable.token.as_ref());
        said(body, token.map(Secret::expose))
    }

    fn reject(&mut self, item: &Item, reason: Reason, status: Option<u16>, now_ms: i64) {
        self.unsaved += 1;
        let line = self.ledger.line(item.key, item.offset, item.len).unwrap_or_default();
        self.ledger.reject_line(item.key, &line, reason, status, now_ms);
        self.queue.remove(item);
    }

    fn load_credential(&mut self, route: &Route) {
        self.unsaved += usize::from(self.credentials.load(route, self.env, &mut self.ledger.state));
    }

    fn is_held(&self, route: &Route, now_ms: i64) -> bool {
        self.credentials.is_held(&self.ledger.state, route, now_ms)
    }
}
