//! What `tally relay status` shows: `schemas/relay-status.schema.json` is the contract of its JSON form.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::outbox::{self, Books, Error, Guard, Rejected, State};
use crate::sys::{clock, order};

/// As long as a save may take on a busy disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// The books of an outbox. `enqueued = delivered + rejected + evicted + pending`, where `enqueued` is counted from lines
/// and the others are booked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Lines that were ever queued.
    pub enqueued: u64,
    /// Records that their sink has.
    pub delivered: u64,
    /// Records that were given up and not put back since; the newest are kept with the reason.
    pub rejected: u64,
    /// Records that made room, or way.
    pub evicted: u64,
    /// Records still on their way.
    pub pending: u64,
    /// Of the rejected, those still kept.
    pub rejected_kept: u64,
    /// Of the rejected, those that made room for later ones and are not kept any more.
    pub rejected_dropped: u64,
    /// Of those kept: how many were given up for what; the most frequent first.
    pub rejected_reasons: Vec<ReasonCount>,
    /// How many were evicted for what, as far as any were.
    pub evicted_reasons: Vec<ReasonCount>,
    /// Of the evicted, liveness records that made way for a later one of their pair.
    pub superseded: u64,
    /// Of the delivered, those whose id the sink knew before our first attempt: somebody else uses our ids.
    pub delivered_before: u64,
    /// The oldest pending record.
    pub oldest: Option<Oldest>,
    /// When the next attempt is, and why not now; `None` when nothing is pending or an attempt can be made at once.
    pub next_attempt: Option<NextAttempt>,
    /// Each origin that is known.
    pub origins: Vec<OriginStatus>,
    /// Whether a worker is at work.
    pub worker_running: bool,
}

/// How many records left for a reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// Why.
    pub reason: String,
    /// How many.
    pub records: u64,
}

/// The oldest pending record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Oldest {
    /// Its id.
    pub id: String,
    /// What it is.
    pub kind: String,
    /// Where it goes.
    pub origin: String,
    /// When it was queued, RFC 3339.
    pub enqueued_at: Option<String>,
}

/// The next attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextAttempt {
    /// RFC 3339; `None` when it depends on a credential and not on time.
    pub at: Option<String>,
    /// Why not now.
    pub reason: String,
}

/// An origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OriginStatus {
    /// Scheme, host and port.
    pub origin: String,
    /// Records on their way there.
    pub pending: u64,
    /// Records that it has.
    pub delivered: u64,
    /// Failures in a row that speak against the origin.
    pub failures: u32,
    /// When it is tried again, RFC 3339.
    pub next_attempt_at: Option<String>,
    /// Why it is left alone.
    pub reason: Option<String>,
    /// Records that wait for a credential.
    pub waiting: Vec<Waiting>,
}

/// Records that wait for a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Whose.
    pub tenant: Option<String>,
    /// Where the credential is configured.
    pub source: String,
    /// What is wrong with it.
    pub reason: String,
    /// Which credential was refused: a shortened hash, never the token.
    pub fingerprint: Option<String>,
    /// When a refused credential is probed again, RFC 3339.
    pub probe_at: Option<String>,
}

/// Reads the books under `data_dir`.
///
/// # Errors
/// When the outbox cannot be locked or read, or is from a newer version.
pub fn status(data_dir: &Path) -> Result<Status, Error> {
    if !outbox::exists(data_dir) {
        return Ok(Status::default());
    }
    let now_ms = clock::now_ms();
    let guard = Guard::acquire(data_dir, PATIENCE)?;
    let Books { state, pending, in_current } = guard.look(now_ms)?;
    let kept = guard.kept(&pending)?;
    let rejected_kept = (kept.len() as u64).min(state.rejected);
    let probe = guard.try_worker()?;
    let worker_running = probe.is_none();
    if let Some(probe) = probe {
        probe.release(&guard);
    }
    drop(guard);

    let origins = origins(&state, &pending, now_ms);
    let still_pending = state.pending() + in_current;
    Ok(Status {
        enqueued: state.enqueued() + in_current,
        delivered: state.delivered,
        rejected: state.rejected,
        evicted: state.evicted,
        pending: still_pending,
        rejected_kept,
        rejected_dropped: state.rejected - rejected_kept,
        rejected_reasons: rejected_reasons(&kept),
        evicted_reasons: evicted_reasons(&state),
        superseded: state.superseded,
        delivered_before: state.delivered_before,
        oldest: pending.first().map(|queued| Oldest {
            id: queued.identity.id.clone(),
            kind: queued.kind.clone(),
            origin: queued.identity.origin.clone(),
            enqueued_at: clock::rfc3339(queued.enqueued_at),
        }),
        next_attempt: next_attempt(&origins),
        origins,
        worker_running,
    })
}

fn rejected_reasons(kept: &[Rejected]) -> Vec<ReasonCount> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for record in kept {
        *counts.entry(&record.reason).or_default() += 1;
    }
    let mut reasons: Vec<ReasonCount> = counts
        .into_iter()
        .map(|(reason, records)| ReasonCount { reason: reason.to_owned(), records })
        .collect();
    order::sort_by_key(&mut reasons, |count| std::cmp::Reverse(count.records));
    reasons
}

fn evicted_reasons(state: &State) -> Vec<ReasonCount> {
    let State { evicted, superseded, vanished, .. } = *state;
    let made_room = evicted.saturating_sub(superseded).saturating_sub(vanished);
    [
        (made_room, "made room in a full outbox"),
        (superseded, "made way for later liveness records"),
        (vanished, "vanished with their file"),
    ]
    .into_iter()
    .filter(|(records, _)| *records > 0)
    .map(|(records, reason)| ReasonCount { reason: reason.to_owned(), records })
    .collect()
}

fn origins(state: &State, pending: &[outbox::Queued], now_ms: i64) -> Vec<OriginStatus> {
    let mut waiting: BTreeMap<&str, u64> = BTreeMap::new();
    for queued in pending {
        *waiting.entry(&queued.identity.origin).or_default() += 1;
    }
    let known = state.origins.keys().map(String::as_str);
    let mut names = BTreeSet::new();
    names.extend(waiting.keys().copied().chain(known));
    let default = outbox::Origin::default();
    names
        .into_iter()
        .map(|name| {
            let origin = state.origins.get(name).unwrap_or(&default);
            let health = &origin.health;
            let waits = health.next.holds(now_ms);
            OriginStatus {
                origin: name.to_owned(),
                pending: waiting.get(name).copied().unwrap_or(0),
                delivered: health.deliveries,
                failures: health.failures,
                next_attempt_at: waits.then(|| clock::rfc3339(health.next.at_ms)).flatten(),
                reason: (health.failures > 0).then(|| health.reason.clone()),
                waiting: origin.holds.iter().map(Waiting::from).collect(),
            }
        })
        .collect()
}

impl From<&outbox::Hold> for Waiting {
    fn from(hold: &outbox::Hold) -> Self {
        let probed = hold.fingerprint.is_some();
        Self {
            tenant: hold.tenant.clone(),
            source: hold.source.clone(),
            reason: hold.reason.clone(),
            fingerprint: hold.fingerprint.clone(),
            probe_at: probed.then(|| clock::rfc3339(hold.probe_at_ms)).flatten(),
        }
    }
}

/// The soonest attempt over all origins that have something pending; `None` where one can be made now.
fn next_attempt(origins: &[OriginStatus]) -> Option<NextAttempt> {
    let mut next: Option<NextAttempt> = None;
    for origin in origins.iter().filter(|origin| origin.pending > 0) {
        let (at, reason) = match (&origin.next_attempt_at, origin.waiting.first()) {
            (Some(at), _) => (Some(at.clone()), origin.reason.clone().unwrap_or_default()),
            (None, Some(waiting)) => (waiting.probe_at.clone(), waiting.reason.clone()),
            (None, None) => return None,
        };
        // RFC 3339 in UTC with fixed precision sorts as text; no time at all comes last.
        let sooner = next.as_ref().is_none_or(|next| match (&at, &next.at) {
            (Some(at), Some(best)) => at < best,
            (at, None) => at.is_some(),
            (None, Some(_)) => false,
        });
        if sooner {
            next = Some(NextAttempt { at, reason });
        }
    }
    next
}
