//! What a person or a script does with a claim, decided under the stream's lock.

use super::event::{Event, Kind};
use super::stamp::Stamp;
use super::standing::Fold;
use super::stream::{Error, Stream};
use std::time::Duration;

/// How long a command waits for the stream.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is to be said, and about what.
#[derive(Debug, Clone, Copy)]
pub struct Act<'a> {
    /// What is worked on.
    pub subject: &'a str,
    /// Who works on it.
    pub actor: &'a str,
    /// The time of the event.
    pub at: Stamp,
    /// The time of the judge, in epoch milliseconds.
    pub now_ms: i64,
}

/// What came of it.
#[derive(Debug)]
pub enum Done {
    /// The event was appended; with the time to live of its claim.
    Said(Box<Event>, u64),
    /// Nothing was written: others hold the subject.
    NotFree,
    /// Nothing was written: there is no claim to go on with.
    NoClaim,
}

/// Claims; with `if_free` only when nobody else holds the subject. The fold is of the subject, before the claim.
///
/// # Errors
/// When the stream cannot be read or written.
pub fn claim(stream: &Stream, act: Act<'_>, ttl_s: u64, if_free: bool) -> Result<(Done, Fold), Error> {
    let mut writer = stream.open(PATIENCE)?;
    let mut fold = Fold::of(act.subject, act.now_ms);
    stream.fold(&mut fold)?;
    if if_free && !fold.others(act.subject, act.actor).is_empty() {
        return Ok((Done::NotFree, fold));
    }
    let event = Event { ttl_s: Some(ttl_s), ..stream.event(Kind::Claim, act.subject, act.actor, act.at) };
    writer.append(&event).map_err(|source| stream.error(source))?;
    Ok((Done::Said(Box::new(event), ttl_s), fold))
}

/// Says `kind`, a heartbeat or a release, of a claim that there is.
///
/// # Errors
/// When the stream cannot be read or written.
pub fn follow_up(stream: &Stream, act: Act<'_>, kind: Kind) -> Result<Done, Error> {
    let mut writer = stream.open(PATIENCE)?;
    let mut fold = Fold::of(act.subject, act.now_ms);
    stream.fold(&mut fold)?;
    let Some(ttl_s) = fold.pair(act.subject, act.actor).and_then(super::standing::Pair::ttl_s) else {
        return Ok(Done::NoClaim);
    };
    let event = stream.event(kind, act.subject, act.actor, act.at);
    writer.append(&event).map_err(|source| stream.error(source))?;
    Ok(Done::Said(Box::new(event), ttl_s))
}
