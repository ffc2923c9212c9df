//! The worker's shell around [`Delivery`]: makes its requests, and keeps the time.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::delivery::Delivery;
use super::outbox::{Guard, Key, Ledger};
use super::transport::{self, NoAnswer, Reply, Transport};
use super::worker::Budget;
use crate::settings::env::Env;
use crate::sys::clock;

const SAVE_PATIENCE: Duration = Duration::from_millis(500);

type Landing = (Key, Result<Reply, NoAnswer>);

/// A worker's run.
pub(super) struct Dispatcher<'a> {
    data_dir: &'a Path,
    transport: &'a Transport,
    pub(super) delivery: Delivery<'a>,
    linger: bool,
    deadline: Instant,
    started: Instant,
    start_ms: i64,
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
        let (started, start_ms) = (Instant::now(), clock::now_ms());
        let mut delivery = Delivery::new(env, ledger, budget.backoff_cap_ms, start_ms);
        if budget.ignore_backoff {
            delivery.forget_backoff();
        }
        Self { data_dir, transport, delivery, linger: budget.linger, deadline, started, start_ms }
    }

    /// The time, moving with the monotonic clock: a jump of the wall clock does not disturb a run.
    pub(super) fn now_ms(&self) -> i64 {
        let elapsed = i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.start_ms.saturating_add(elapsed)
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    pub(super) fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Whether it is worth staying until `due_ms`.
    pub(super) fn stays_until(&self, due_ms: Option<i64>, now_ms: i64) -> bool {
        let remaining = i64::try_from(self.remaining().as_millis()).unwrap_or(i64::MAX);
        self.linger && due_ms.is_some_and(|due| due.saturating_sub(now_ms) < remaining)
    }

    /// Sends until nothing is due and nothing in flight, or the time is up.
    pub(super) async fn drive(&mut self) {
        self.delivery.reload_credentials();
        let mut tasks: JoinSet<Landing> = JoinSet::new();
        loop {
            while !self.is_over() && self.launch(&mut tasks) {}
            match tokio::time::timeout_at(self.deadline.into(), tasks.join_next()).await {
                Ok(Some(Ok((key, answer)))) => self.delivery.land(key, answer, self.now_ms()),
                // A task that panicked: its entry is among those that are given back below.
                Ok(Some(Err(_))) => {}
                Ok(None) | Err(_) => break,
            }
            let now_ms = self.now_ms();
            if self.delivery.wants_save(now_ms) {
                // What cannot be saved now is saved with the next batch.
                let guard = Guard::acquire(self.data_dir, SAVE_PATIENCE);
                drop(guard.and_then(|guard| self.delivery.save(&guard, now_ms)));
            }
        }
        tasks.abort_all();
        self.delivery.ground("no answer before the run ended", self.now_ms());
    }

    /// Starts the next request. Returns whether there may be another.
    fn launch(&mut self, tasks: &mut JoinSet<Landing>) -> bool {
        let now_ms = self.now_ms();
        let Some(parcel) = self.delivery.next(now_ms) else { return false };
        let key = parcel.key;
        match self.transport.post(
            &parcel.endpoint,
            parcel.token.as_ref(),
            parcel.tenant.as_deref(),
            parcel.body,
        ) {
            Ok(request) => {
                tasks.spawn(async move { (key, transport::send(request).await) });
            }
            Err(unsent) => self.delivery.land(key, Err(unsent), now_ms),
        }
        true
    }
}
