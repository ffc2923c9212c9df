//! `claim`, `heartbeat`, `release`: one event each, or none.

use super::super::Context;
use super::super::failure::Failure;
use super::view::write_verdict;
use super::{EventArgs, failed, json, subject, time};
use crate::hook::errand;
use crate::liveness::act::{self, Act, Done};
use crate::liveness::event::{Event, Kind};
use crate::liveness::policy::Policy;
use crate::liveness::standing::shown;
use crate::liveness::stream::Stream;
use crate::liveness::{actor, relay};
use crate::sys::clock;

/// The exit code of a claim that is not free.
const NOT_FREE: u8 = 3;

pub(super) fn claim(
    stream: &Stream,
    args: &EventArgs,
    ttl_s: Option<u64>,
    if_free: bool,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let actor = who(args, context)?;
    let act = act(args, &actor)?;
    let ttl_s = ttl_s.unwrap_or_else(|| Policy::of(context.env).ttl_s);
    let (done, before) = act::claim(stream, act, ttl_s, if_free).map_err(failed)?;
    let others = before.others(act.subject, &actor);
    let Done::Said(event, ttl_s) = done else {
        let names: Vec<&str> = others.iter().map(|other| other.actor.as_str()).collect();
        writeln!(
            context.err,
            "tally: {} is not free: held by {}; nothing was claimed. Coordinate, or claim it without --if-free",
            shown(act.subject),
            names.join(", ")
        )?;
        return Ok(NOT_FREE);
    };
    answer(args, &event, context)?;
    if !others.is_empty() {
        let mut after = before;
        after.add(&serde_json::to_vec(&event).map_err(std::io::Error::from)?);
        writeln!(context.err, "tally: {} is held by others too:", shown(act.subject))?;
        write_verdict(context.err, &after.verdict(act.subject))?;
    }
    send(&event, ttl_s, context)?;
    Ok(0)
}

pub(super) fn follow_up(
    stream: &Stream,
    args: &EventArgs,
    kind: Kind,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let actor = who(args, context)?;
    let act = act(args, &actor)?;
    let Done::Said(event, ttl_s) = act::follow_up(stream, act, kind).map_err(failed)? else {
        let (verb, subject, actor) = (kind.as_str(), shown(act.subject), shown(&actor));
        return Err(Failure::Failed(format!(
            "liveness {verb} requires a prior claim event for subjectId \"{subject}\" and actor \"{actor}\": none was \
             found in {}. Fix: run `tally liveness claim {subject} --actor {actor}` first, or name the actor that \
             claimed it with --actor",
            stream.path().display()
        )));
    };
    answer(args, &event, context)?;
    send(&event, ttl_s, context)?;
    Ok(0)
}

fn act<'a>(args: &'a EventArgs, actor: &'a str) -> Result<Act<'a>, Failure> {
    let now_ms = clock::now_ms();
    Ok(Act { subject: subject(&args.subject)?, actor, at: time(args.at.as_deref(), now_ms)?, now_ms })
}

/// Who acts: `--actor`, else who runs this.
fn who(args: &EventArgs, context: &mut Context<'_>) -> Result<String, Failure> {
    if let Some(given) = &args.actor {
        let name = shown(given).trim().to_owned();
        if name.is_empty() {
            return Err(Failure::Failed("--actor names nobody; give a name".to_owned()));
        }
        return Ok(name);
    }
    let resolved = actor::resolve(context.env, None);
    if let Some(warning) = &resolved.warning {
        writeln!(context.err, "tally: {warning}")?;
    }
    let nobody = || {
        Failure::Failed("nobody can be named as the actor; set FLOW_AGENTS_ACTOR or give --actor".to_owned())
    };
    resolved.actor.map(|actor| actor.name).ok_or_else(nobody)
}

fn answer(args: &EventArgs, event: &Event, context: &mut Context<'_>) -> Result<(), Failure> {
    if args.json {
        return json(context.out, event);
    }
    let (verb, subject, actor) = (event.kind.as_str(), shown(&event.subject), shown(&event.actor));
    writeln!(context.out, "liveness {verb}: {subject} by {actor}")?;
    Ok(())
}

/// Queues the event for the Console where that is asked for. The event is safe: what fails here is only said.
fn send(event: &Event, ttl_s: u64, context: &mut Context<'_>) -> Result<(), Failure> {
    let mut settings = context.settings()?;
    if !settings.liveness_relay.on {
        return Ok(());
    }
    let queued = settings.prepare().map_err(|error| error.to_string()).and_then(|()| {
        relay::queue(event, ttl_s, &settings).map_err(|error| error.to_string())?;
        errand::wake(context.env, &settings).map_err(|error| error.to_string())
    });
    if let Err(error) = queued {
        writeln!(context.err, "tally: the event is recorded, and not sent: {error}")?;
    }
    Ok(())
}
