//! The relay: the way of a record from the outbox to its sink (DESIGN §9).
//!
//! The hook side is [`outbox::enqueue`] and [`wake`]: an append and, if need be, the start of one detached process.
//! Everything that touches the network is in the worker. `classify`, `backoff`, `queue` and `supersede` are pure; `delivery` decides
//! and books with them, and knows neither network nor clock; `dispatch` and `worker` are the shell around it; `transport` is
//! the one HTTP client; `outbox` owns the files.

pub mod backoff;
pub mod classify;
mod credentials;
mod delivery;
mod dispatch;
pub mod outbox;
pub mod probe;
mod queue;
pub mod receiver;
pub mod status;
mod supersede;
pub mod transport;
pub mod worker;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

pub use status::{OriginStatus, ReasonCount, Status, status};

use crate::settings::env::{Env, vars};
use crate::settings::switch::do_not_track;
use crate::sys::{clock, spawn};
use outbox::{Error, Guard};
use worker::Budget;

/// The verb of the detached worker.
pub const WORKER_VERB: &str = "__relay";
/// How long a hook waits for the outbox's lock to start a worker.
const WAKE_PATIENCE: Duration = Duration::from_millis(100);

/// Sees to it that what is in the outbox gets sent: starts a worker unless one runs, one was just started, none could do
/// anything, or we are the worker. With `foreground` the work is done before this returns. With `DO_NOT_TRACK` nothing
/// leaves.
///
/// # Errors
/// When the outbox cannot be locked or the worker not started. The records are safe; the next hook tries again.
pub fn wake(data_dir: &Path, env: &Env, foreground: bool) -> Result<(), Error> {
    if !may_send(env) || env.get(&vars::TALLY_RELAY_WORKER).is_some() || !outbox::has_pending(data_dir) {
        return Ok(());
    }
    if foreground {
        return worker::run(data_dir, env, Budget::foreground(), None).map(drop);
    }
    let now_ms = clock::now_ms();
    let guard = Guard::acquire(data_dir, WAKE_PATIENCE)?;
    if guard.is_gated(now_ms) {
        return Ok(());
    }
    start(data_dir, env, &guard, now_ms)
}

/// Starts a worker even if the outbox is empty, for the errand that it runs (a refresh of the price list).
///
/// # Errors
/// As [`wake`].
pub fn wake_for_errand(data_dir: &Path, env: &Env) -> Result<(), Error> {
    if !may_send(env) || env.get(&vars::TALLY_RELAY_WORKER).is_some() {
        return Ok(());
    }
    start(data_dir, env, &Guard::acquire(data_dir, WAKE_PATIENCE)?, clock::now_ms())
}

/// Works on the outbox and on `errand` before it returns, for a hook that was told to wait.
///
/// # Errors
/// As [`wake`].
pub fn run_errand(data_dir: &Path, env: &Env, errand: worker::Errand<'_>) -> Result<(), Error> {
    if !may_send(env) {
        return Ok(());
    }
    worker::run(data_dir, env, Budget::foreground(), Some(errand)).map(drop)
}

fn start(data_dir: &Path, env: &Env, guard: &Guard, now_ms: i64) -> Result<(), Error> {
    if guard.is_starting(now_ms) {
        return Ok(());
    }
    // The probe's lock is let go before anyone else can ask: they need the outbox's lock, which is ours.
    let Some(probe) = guard.try_worker()? else { return Ok(()) };
    probe.release(guard);
    guard.note_start(now_ms);
    let inherited = worker_environment(env);
    let pairs = inherited.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    spawn::detached(&[WORKER_VERB], pairs, data_dir)
        .map_err(|source| Error::Io { path: data_dir.to_path_buf(), source })
}

/// The whole life of the process that [`wake`] starts, in the directory that it was started in. Always returns: what it
/// could not do is left for the next one, and is in the books.
pub fn worker_main(env: &Env, errand: Option<worker::Errand<'_>>) {
    spawn::isolate();
    if let Ok(data_dir) = std::env::current_dir() {
        drop(worker::run(&data_dir, env, Budget::detached(), errand));
    }
}

/// What of the environment the worker gets (DESIGN §9), and its recursion guard.
#[must_use]
pub fn worker_environment(env: &Env) -> Vec<(OsString, OsString)> {
    // Empty is unset, for us; to the TLS library an empty `SSL_CERT_FILE` is a file that does not exist.
    let kept = env.pairs().filter(|(name, value)| !value.is_empty() && is_inherited(name));
    let mut pairs: Vec<_> = kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    pairs.push((vars::TALLY_RELAY_WORKER.name.into(), "1".into()));
    pairs
}

fn is_inherited(name: &OsStr) -> bool {
    const NAMES: [&str; 4] = ["HOME", "PATH", "TMPDIR", "XDG_STATE_HOME"];
    const PROXIES: [&str; 4] = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];
    const PREFIXES: [&str; 4] = ["SSL_", "CONSOLE_", "FLOW_AGENTS_", "TELEMETRY_"];
    let Some(name) = name.to_str() else { return false };
    NAMES.contains(&name)
        || PROXIES.iter().any(|proxy| *proxy == name || proxy.to_ascii_uppercase() == name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Sends what can be sent, until nothing can or `timeout` has passed, and waits for a running worker (DESIGN §11). Back-off
/// is ignored; what an origin asked for, or a refused credential, is not.
///
/// # Errors
/// When the outbox cannot be used.
pub fn flush(data_dir: &Path, env: &Env, timeout: Duration) -> Result<Status, Error> {
    if may_send(env) && outbox::has_pending(data_dir) {
        worker::run(data_dir, env, Budget::flush(timeout), None)?;
    }
    status(data_dir)
}

fn may_send(env: &Env) -> bool {
    !do_not_track(env)
}

#[cfg(test)]
mod tests;
