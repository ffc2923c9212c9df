//! Sends what is due and books the answers: the worker's shell around the pure cores.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::backoff::{self, Failure, PROBE_MS, Pace};
use super::classify::{Answer, Class, Verdict, classify, said};
use super::credentials::{Credential, Credentials};
use super::outbox::{Entry, Error, Fate, Guard, Hold, Key, Ledger, Reason};
use super::queue::{Item, Queue, Route, origin_deadline};
use super::transport::{self, NoAnswer, Reply, Transport};
use super::worker::Budget;
use crate::settings::defaults::DEFAULTS;
use crate::settings::endpoint::Endpoint;
use crate::settings::env::Env;
use crate::settings::secret::Secret;
use crate::sys::clock;

const MAX_IN_FLIGHT: usize = DEFAULTS.relay.requests_in_flight as usize;
const MAX_PER_MINUTE: u32 = DEFAULTS.relay.requests_per_minute;
const MINUTE: Duration = Duration::from_secs(60);
/// The books are saved after this many outcomes, or after [`SAVE_EVERY`].
const SAVE_AFTER: usize = 32;
const SAVE_EVERY: Duration = Duration::from_secs(1);
const SAVE_PATIENCE: Duration = Duration::from_millis(500);

struct Flight {
    item: Item,
    deliveries_when_sent: u64,
}

type Landing = (Key, Result<Reply, NoAnswer>);

/// The worker's state for one run.
pub(super) struct Dispatcher<'a> {
    data_dir: &'a Path,
    env: &'a Env,
    transport: &'a Transport,
    ledger: Ledger,
    queue: Queue,
    budget: Budget,
    deadline: Instant,
    started: Instant,
    start_ms: i64,
    credentials: Credentials,
    flights: BTreeMap<Key, Flight>,
    unsaved: usize,
    saved_at: Instant,
    window: (Instant, u32),
    /// Of the entries left in `current.jsonl`: their origins, and when the first may be sent.
    leftover: (BTreeSet<String>, Option<i64>),
}

impl<'a> Dispatcher<'a> {
    pub(super) fn new(
        data_dir: &'a Path,
        env: &'a Env,
        transport: &'a Transport,
        ledger: Ledger,
        budget: Budget,
        deadline: Instant,
    ) -> Self {
        let now = Instant::now();
        Self {
            data_dir,
            env,
            transport,
            ledger,
            queue: Queue::default(),
            budget,
            deadline,
            started: now,
            start_ms: clock::now_ms(),
            credentials: Credentials::default(),
            flights: BTreeMap::new(),
            unsaved: 0,
            saved_at: now,
            window: (now, 0),
            leftover: (BTreeSet::new(), None),
        }
    }

    /// The time, moving with the monotonic clock: a jump of the wall clock does not disturb a run.
    pub(super) fn now_ms(&self) -> i64 {
        let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.start_ms.saturating_add(elapsed)
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Reads what the last worker left.
    pub(super) fn load(&mut self, guard: &Guard) -> Result<(), Error> {
        if self.budget.ignore_backoff {
            self.ledger.state.forget_backoff();
        }
        let rejected = self.ledger.state.rejected;
        for number in self.ledger.known() {
            self.queue.extend(self.ledger.pending(guard, number, self.now_ms())?);
        }
        self.unsaved += usize::from(self.ledger.state.rejected != rejected);
        self.look_for_arrivals(guard).map(drop)
    }

    /// Takes in what hooks sealed, seals `current.jsonl` if anything in it could be sent, and drops what is superseded.
    /// Returns whether something is due.
    pub(super) fn look_for_arrivals(&mut self, guard: &Guard) -> Result<bool, Error> {
        let now_ms = self.now_ms();
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
        }
        self.unsaved += usize::from(self.ledger.state.sealed_lines() != known);
        for key in self.queue.take_superseded() {
            self.ledger.state.settle(key, Fate::Superseded);
            self.unsaved += 1;
        }
        self.ledger.enforce_cap(guard);
        if self.unsaved > 0 {
            self.save(guard)?;
        }
        Ok(self.next_due(now_ms).is_some_and(|due| due <= now_ms))
    }

    pub(super) fn save(&mut self, guard: &Guard) -> Result<(), Error> {
        self.ledger.save(guard)?;
        self.unsaved = 0;
        self.saved_at = Instant::now();
        Ok(())
    }

    /// When something may be sent; `None` when that does not depend on time.
    pub(super) fn next_due(&self, now_ms: i64) -> Option<i64> {
        let queued =
            self.queue.next_due(&self.ledger.state, now_ms, &mut |route| self.is_held(route, now_ms));
        let due = match (queued, self.leftover.1) {
            (Some(queued), Some(leftover)) => Some(queued.min(leftover)),
            (queued, leftover) => queued.or(leftover),
        };
        let (since, sent) = self.window;
        if sent < MAX_PER_MINUTE || since.elapsed() >= MINUTE {
            return due;
        }
        let open = MINUTE.saturating_sub(since.elapsed()).as_millis();
        due.map(|due| due.max(now_ms.saturating_add(i64::try_from(open).unwrap_or(0))))
    }

    /// Whether it is worth staying until `due_ms`.
    pub(super) fn stays_until(&self, due_ms: Option<i64>, now_ms: i64) -> bool {
        let remaining = i64::try_from(self.remaining().as_millis()).unwrap_or(i64::MAX);
        self.budget.linger && due_ms.is_some_and(|due| due.saturating_sub(now_ms) < remaining)
    }

    pub(super) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
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

    /// Sends until nothing is due and nothing in flight, or the time is up.
    pub(super) async fn drive(&mut self) {
        // A conf may have changed since the last round.
        self.credentials = Credentials::default();
        for route in self.queue.routes() {
            self.load_credential(&route);
        }
        let mut tasks: JoinSet<Landing> = JoinSet::new();
        loop {
            while self.flights.len() < MAX_IN_FLIGHT && !self.is_over() && self.launch(&mut tasks) {}
            match tokio::time::timeout_at(self.deadline.into(), tasks.join_next()).await {
                Ok(Some(Ok((key, answer)))) => self.land(key, answer),
                // A task that panicked: its entry is among those that are given back below.
                Ok(Some(Err(_))) => {}
                Ok(None) | Err(_) => break,
            }
            if self.unsaved >= SAVE_AFTER || (self.unsaved > 0 && self.saved_at.elapsed() >= SAVE_EVERY) {
                // What cannot be saved now is saved with the next batch.
                drop(Guard::acquire(self.data_dir, SAVE_PATIENCE).and_then(|guard| self.save(&guard)));
            }
        }
        tasks.abort_all();
        while let Some(&key) = self.flights.keys().next() {
            self.land(key, Err(NoAnswer::because("no answer before the run ended")));
        }
    }

    /// Starts the next request. Returns whether there may be another.
    fn launch(&mut self, tasks: &mut JoinSet<Landing>) -> bool {
        let now_ms = self.now_ms();
        if self.window.0.elapsed() >= MINUTE {
            self.window = (Instant::now(), 0);
        }
        if self.window.1 >= MAX_PER_MINUTE {
            return false;
        }
        let (state, credentials) = (&self.ledger.state, &self.credentials);
        let mut held = |route: &Route| credentials.is_held(state, route, now_ms);
        let Some(item) = self.queue.take(state, now_ms, &mut held) else { return false };
        let Some(line) = self.ledger.line(item.key, item.offset, item.len) else {
            // Its segment was evicted.
            self.queue.remove(&item);
            return true;
        };
        let request = match self.request(&item, &line) {
            Ok(request) => request,
            Err(refused) => {
                self.reject(&item, Reason { text: refused, said: None }, None);
                return true;
            }
        };
        let key = item.key;
        let health = self.ledger.state.origins.get(&item.route.origin).map(|origin| &origin.health);
        let deliveries_when_sent = health.map_or(0, |health| health.deliveries);
        self.flights.insert(key, Flight { item, deliveries_when_sent });
        self.window.1 += 1;
        match request {
            Ok(request) => {
                tasks.spawn(async move { (key, transport::send(request).await) });
            }
            Err(unsent) => self.land(key, Err(unsent)),
        }
        true
    }

    /// The request for an entry. The outer error is a destination that is never allowed; the inner one may pass.
    fn request(&self, item: &Item, line: &[u8]) -> Result<Result<reqwest::RequestBuilder, NoAnswer>, String> {
        let entry = Entry::parse(line).ok_or("torn or corrupt entry")?;
        let endpoint = Endpoint::parse(&format!("{}{}", entry.origin, entry.path))
            .map_err(|error| format!("destination {error}"))?;
        if endpoint.origin() != entry.origin {
            return Err("destination differs from its origin".to_owned());
        }
        let Some(Credential { token, .. }) = self.credentials.usable(&item.route) else {
            return Ok(Err(NoAnswer::because("no credential was read")));
        };
        Ok(self.transport.post(
            &endpoint,
            token.as_ref(),
            entry.tenant.as_deref(),
            entry.body.get().to_owned(),
        ))
    }

    /// Books what came of a request.
    fn land(&mut self, key: Key, answer: Result<Reply, NoAnswer>) {
        let Some(Flight { item, deliveries_when_sent }) = self.flights.remove(&key) else { return };
        self.unsaved += 1;
        let now_ms = self.now_ms();
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
                self.reject(&item, Reason { text: verdict.reason, said }, status);
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
                self.book_failure(&item, status, &verdict, said, deliveries_when_sent);
            }
        }
    }

    fn book_failure(
        &mut self,
        item: &Item,
        status: Option<u16>,
        verdict: &Verdict,
        said: Option<String>,
        deliveries_when_sent: u64,
    ) {
        let pace =
            Pace { now_ms: self.now_ms(), cap_ms: self.budget.backoff_cap_ms, random: fastrand::f64() };
        let Some((history, health)) = self.ledger.state.tries(item.key, &item.route.origin) else {
            self.queue.remove(item);
            return;
        };
        let gives_up =
            backoff::failed(history, health, &Failure { status, verdict, deliveries_when_sent }, pace);
        let others_pass = health.failures == 0;
        if gives_up {
            self.reject(item, Reason { text: verdict.reason.clone(), said }, status);
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

    fn reject(&mut self, item: &Item, reason: Reason, status: Option<u16>) {
        self.unsaved += 1;
        let line = self.ledger.line(item.key, item.offset, item.len).unwrap_or_default();
        self.ledger.reject_line(item.key, &line, reason, status, self.now_ms());
        self.queue.remove(item);
    }

    fn load_credential(&mut self, route: &Route) {
        self.unsaved += usize::from(self.credentials.load(route, self.env, &mut self.ledger.state));
    }

    fn is_held(&self, route: &Route, now_ms: i64) -> bool {
        self.credentials.is_held(&self.ledger.state, route, now_ms)
    }
}
