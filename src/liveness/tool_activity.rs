//! A heartbeat with each use of a tool, throttled (contract D.5).
//!
//! The end of the stream answers nearly always: our last event there is recent, or a release. Only when a heartbeat is
//! due is the subject caught up with, and only then is a conflict looked for: another holder whose last sign of life
//! is newer than our last one, so that each such event is told once.

use super::bound::Bound;
use super::conflict::Conflict;
use super::event::{Activity, Event, Kind, Seen};
use super::follow::Follow;
use super::policy::Policy;
use super::stamp::Stamp;
use super::standing::{Fold, Pair};
use super::stream::{Error, TAILS};
use std::time::Duration;

/// How long a hook waits for the stream.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// What came of a use of a tool.
#[derive(Debug)]
pub enum Outcome {
    /// Our last word was a release: who let go does not come back by using a tool.
    Released,
    /// The last heartbeat is too recent.
    Throttled,
    /// There is no claim to keep fresh.
    NoClaim,
    /// A heartbeat was appended, for a claim with this time to live.
    Emitted(Box<Event>, u64),
}

/// Gives a sign of life for `bound`, made by `tool`, if one is due.
///
/// # Errors
/// When the stream cannot be read or written.
pub fn heartbeat(bound: &Bound, policy: &Policy, tool: Option<&str>, now_ms: i64) -> Result<Outcome, Error> {
    let Bound { stream, actor, subject, .. } = bound;
    let judged = |pair: &Pair| match pair {
        pair if pair.is_released() => Some(Outcome::Released),
        pair if pair.is_within(policy.throttle_s, now_ms) => Some(Outcome::Throttled),
        _ => None,
    };
    for length in TAILS {
        if let Some(outcome) = judged(&own_in_tail(&stream.tail(length)?, subject, actor, now_ms)) {
            return Ok(outcome);
        }
    }
    let mut follow = Follow::resume(stream, subject, actor, now_ms);
    follow.catch_up()?;
    let is_claimed = |fold: &Fold| fold.pair(subject, actor).is_some_and(Pair::is_claimed);
    if !is_claimed(&follow.fold) {
        follow.save();
        return Ok(Outcome::NoClaim);
    }
    // Another hook of this actor may be at the same: what decides is what is there under the lock.
    let mut writer = stream.open(PATIENCE)?;
    follow.catch_up()?;
    let Some(own) = follow.fold.pair(subject, actor).filter(|own| own.is_claimed()) else {
        return Ok(Outcome::NoClaim);
    };
    if let Some(outcome) = judged(own) {
        return Ok(outcome);
    }
    let event = Event {
        source: Some("tool-activity"),
        activity: tool.and_then(activity),
        ..stream.event(Kind::Heartbeat, subject, actor, Stamp::at(now_ms))
    };
    writer.append(&event).map_err(|source| stream.error(source))?;
    drop(writer);
    if let Some(conflict) = Conflict::since(&follow.fold, subject, actor, own.last_ms()) {
        conflict.keep(stream, actor).map_err(|source| stream.error(source))?;
    }
    follow.save();
    Ok(Outcome::Emitted(Box::new(event), own.ttl_s().unwrap_or(policy.ttl_s)))
}

/// What the end of the stream says of our pair.
fn own_in_tail(tail: &[u8], subject: &str, actor: &str, now_ms: i64) -> Pair {
    let mut own = Pair::default();
    for line in tail.split(|byte| *byte == b'\n') {
        if let Some(seen) = Seen::parse(line).filter(|seen| seen.subject == subject && seen.actor == actor) {
            own.add(&seen, now_ms);
        }
    }
    own
}

/// The tool's name as a segment; nothing where that says nothing.
fn activity(tool: &str) -> Option<Activity> {
    let tool = super::actor::sanitize_segment(tool);
    (tool != "unknown").then_some(Activity { tool })
}
