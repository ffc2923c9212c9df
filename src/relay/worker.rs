//! The worker: the one process per data directory that sends. It takes both locks, reads the books, works for a bounded
//! time, and takes a last look for late arrivals before it lets go (invariant 8 of [`super::outbox`]).

use std::path::Path;
use std::time::{Duration, Instant};

use super::backoff;
use super::delivery::Delivery;
use super::dispatch::Dispatcher;
use super::outbox::{self, Error, Gate, Guard, Ledger, WorkerLock};
use super::transport::{NoAnswer, Transport};
use crate::settings::Timeouts;
use crate::settings::endpoint::Endpoint;
use crate::settings::env::Env;

/// How long the worker waits for `outbox.lock`. Hooks hold it for microseconds, but whoever saves the state holds it
/// through a sync, and a busy disk can take seconds over that.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two looks for arrivals, and between two tries for the worker's lock.
const POLL: Duration = Duration::from_millis(100);

/// How long and how eagerly a worker works.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// The wall time after which it stops, requests in flight included.
    pub wall: Duration,
    /// How long it waits for another worker to finish, as part of `wall`.
    pub wait_for_other: Duration,
    /// Whether stored back-off is forgotten at the start. What an origin asked for stands.
    pub ignore_backoff: bool,
    /// The longest back-off that it sets, in milliseconds.
    pub backoff_cap_ms: i64,
    /// Whether it stays for records that will be due within its time.
    pub linger: bool,
}

impl Budget {
    /// For the detached process.
    #[must_use]
    pub fn detached() -> Self {
        Self {
            wall: Duration::from_secs(30),
            wait_for_other: Duration::ZERO,
            ignore_backoff: false,
            backoff_cap_ms: backoff::MAX_MS,
            linger: true,
        }
    }

    /// For a hook that was told to wait: one try for each record.
    #[must_use]
    pub fn foreground() -> Self {
        let wall = Duration::from_secs(10);
        Self { wall, wait_for_other: wall, linger: false, ..Self::detached() }
    }

    /// For a person who waits, at most a day: back-off only keeps the pace.
    #[must_use]
    pub fn flush(timeout: Duration) -> Self {
        let timeout = timeout.min(Duration::from_secs(24 * 60 * 60));
        Self {
            wall: timeout,
            wait_for_other: timeout,
            ignore_backoff: true,
            backoff_cap_ms: 1000,
            linger: true,
        }
    }
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It did what could be done.
    Worked,
    /// Another one was at work all the time.
    OtherAtWork,
}

/// A thing to do with the network before the worker leaves.
pub type Errand<'a> = &'a mut dyn FnMut(&Fetch<'_>);

/// GET for an [`Errand`], on the worker's client.
#[derive(Debug)]
pub struct Fetch<'a> {
    runtime: &'a tokio::runtime::Runtime,
    transport: &'a Transport,
}

impl Fetch<'_> {
    /// The body of a GET that answered 200, of at most `limit` bytes, within `timeout`.
    ///
    /// # Errors
    /// When there is no such answer.
    pub fn get(&self, endpoint: &Endpoint, limit: usize, timeout: Duration) -> Result<Vec<u8>, NoAnswer> {
        self.runtime.block_on(self.transport.get(endpoint, limit, timeout))
    }
}

/// Works on the outbox under `data_dir`, and then on `errand`.
///
/// # Errors
/// When the outbox cannot be used or the runtime not be built. What was sent by then and not saved is sent again.
pub fn run(data_dir: &Path, env: &Env, budget: Budget, errand: Option<Errand<'_>>) -> Result<Outcome, Error> {
    let deadline = Instant::now() + budget.wall;
    let Some((lock, ledger)) = enter(data_dir, Instant::now() + budget.wait_for_other)? else {
        return Ok(Outcome::OtherAtWork);
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::Io { path: data_dir.to_path_buf(), source })?;
    let transport = Transport::new(Timeouts::of(env));
    let mut dispatcher = Dispatcher::new(data_dir, env, &transport, ledger, budget, deadline);
    let ended = work(data_dir, &runtime, &mut dispatcher, lock, errand.map(|errand| (errand, &transport)));
    // A name look-up that hangs in its own thread must not keep the process.
    runtime.shutdown_background();
    ended.map(|()| Outcome::Worked)
}

pub(super) fn enter(data_dir: &Path, until: Instant) -> Result<Option<(WorkerLock, Ledger)>, Error> {
    loop {
        let guard = Guard::acquire(data_dir, PATIENCE)?;
        if let Some(lock) = guard.try_worker()? {
            guard.clear_hints();
            return Ok(Some((lock, Ledger::open(&guard)?)));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        guard.ask_handover();
        drop(guard);
        std::thread::sleep(POLL);
    }
}

fn work(
    data_dir: &Path,
    runtime: &tokio::runtime::Runtime,
    dispatcher: &mut Dispatcher<'_>,
    lock: WorkerLock,
    mut errand: Option<(Errand<'_>, &Transport)>,
) -> Result<(), Error> {
    let now_ms = dispatcher.now_ms();
    dispatcher.delivery.load(&Guard::acquire(data_dir, PATIENCE)?, now_ms)?;
    loop {
        runtime.block_on(dispatcher.drive());
        if let Some((errand, transport)) = errand.take() {
            errand(&Fetch { runtime, transport });
        }
        let guard = Guard::acquire(data_dir, PATIENCE)?;
        let now_ms = dispatcher.now_ms();
        if dispatcher.delivery.look_for_arrivals(&guard, now_ms)? && !dispatcher.is_over() {
            continue;
        }
        let due_ms = dispatcher.delivery.next_due(now_ms);
        let (seen, asked_to_leave) = outbox::signs(data_dir);
        if asked_to_leave || !dispatcher.stays_until(due_ms, now_ms) {
            leave(&dispatcher.delivery, &guard, due_ms, now_ms);
            lock.release(&guard);
            return Ok(());
        }
        drop(guard);
        let is_due = |dispatcher: &Dispatcher<'_>| due_ms.is_none_or(|due| dispatcher.now_ms() >= due);
        while !is_due(dispatcher) && !dispatcher.is_over() && outbox::signs(data_dir) == (seen, false) {
            std::thread::sleep(POLL.min(dispatcher.remaining()));
        }
    }
}

/// Shuts the gate over what cannot be sent now; leaves it open where something could.
pub(super) fn leave(delivery: &Delivery<'_>, guard: &Guard, due_ms: Option<i64>, now_ms: i64) {
    let not_before_ms = due_ms.unwrap_or(i64::MAX);
    let blocked = delivery.blocked_origins(now_ms);
    if not_before_ms > now_ms && delivery.has_pending() {
        guard.shut_gate(Gate { not_before_ms, blocked }, now_ms);
    }
}
