//! Claims that follow the life of a session: it claims the task it is bound to when it starts, gives a sign of life
//! when it stops, and lets go of a task that has come to its end.

use super::bound::Bound;
use super::conflict::Conflict;
use super::event::{Event, Kind};
use super::follow::Follow;
use super::policy::Policy;
use super::stamp::Stamp;
use super::standing::Pair;
use super::stream::Error;
use super::tool_activity::PATIENCE;

pub(super) const SOURCE: &str = "lifecycle";

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The event that was appended, with the time to live of its claim.
    pub said: Option<(Event, u64)>,
    /// Who else holds the task.
    pub conflict: Option<Conflict>,
}

/// A session starts: claims the task, or goes on with a claim that is still fresh, whose place in time is kept.
///
/// # Errors
/// When the stream cannot be read or written.
pub fn start(bound: &Bound, policy: &Policy, now_ms: i64) -> Result<Outcome, Error> {
    let Bound { stream, actor, subject, .. } = bound;
    if bound.is_over() {
        return Ok(Outcome::default());
    }
    let mut writer = stream.open(PATIENCE)?;
    let mut follow = Follow::resume(stream, subject, actor, now_ms);
    follow.catch_up()?;
    let fresh = follow.fold.pair(subject, actor).filter(|own| own.is_fresh(now_ms)).and_then(Pair::ttl_s);
    let kind = if fresh.is_some() { Kind::Heartbeat } else { Kind::Claim };
    let event = Event {
        ttl_s: fresh.is_none().then_some(policy.ttl_s),
        source: Some(SOURCE),
        ..stream.event(kind, subject, actor, Stamp::at(now_ms))
    };
    writer.append(&event).map_err(|source| stream.error(source))?;
    follow.save();
    let conflict = Conflict::with(subject, &follow.fold.others(subject, actor));
    Ok(Outcome { said: Some((event, fresh.unwrap_or(policy.ttl_s))), conflict })
}

/// A session stops: a sign of life for an open claim, or its release where the task is over.
///
/// # Errors
/// When the stream cannot be read or written.
pub fn stop(bound: &Bound, now_ms: i64) -> Result<Outcome, Error> {
    let Bound { stream, actor, subject, .. } = bound;
    let mut follow = Follow::resume(stream, subject, actor, now_ms);
    follow.catch_up()?;
    let open = |follow: &Follow<'_>| {
        let own = follow.fold.pair(subject, actor).filter(|own| !own.is_released())?;
        Some((own.ttl_s()?, own.last_ms()))
    };
    if open(&follow).is_none() {
        follow.save();
        return Ok(Outcome::default());
    }
    let mut writer = stream.open(PATIENCE)?;
    follow.catch_up()?;
    let Some((ttl_s, seen_ms)) = open(&follow) else { return Ok(Outcome::default()) };
    let kind = if bound.is_over() { Kind::Release } else { Kind::Heartbeat };
    let event = Event { source: Some(SOURCE), ..stream.event(kind, subject, actor, Stamp::at(now_ms)) };
    writer.append(&event).map_err(|source| stream.error(source))?;
    follow.save();
    // Told with the next turn: this event is the mark from which the next heartbeat looks for news.
    if kind == Kind::Heartbeat
        && let Some(conflict) = Conflict::since(&follow.fold, subject, actor, seen_ms)
    {
        conflict.keep(stream, actor).map_err(|source| stream.error(source))?;
    }
    Ok(Outcome { said: Some((event, ttl_s)), conflict: None })
}
