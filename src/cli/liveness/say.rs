//! `claim`, `heartbeat`, `release`: one event each, or none.

use super::super::Context;
use super::super::failure::Failure;
use super::super::verb::Does::Run;
use super::super::verb::Kind::{Number, Text};
use super::super::verb::{Arg, Given, Verb, flag, option, place};
use super::view::write_verdict;
use super::{failed, json, subject, time};
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

pub(super) const CLAIM: Verb = Verb {
    name: "claim",
    about: "Say that you work on SUBJECT",
    does: Run(claim),
    args: &[
        SUBJECT,
        ACTOR,
        AT,
        JSON,
        option(
            "ttl",
            "N",
            Number(1, 31_536_000),
            "Seconds that the claim stays fresh after its last sign of life",
        ),
        flag("if-free", "Claim only what nobody else holds; else exit with 3 and write nothing"),
    ],
};

pub(super) const HEARTBEAT: Verb = Verb {
    name: "heartbeat",
    about: "Say that you still do",
    does: Run(|given, context| follow_up(given, Kind::Heartbeat, context)),
    args: &[SUBJECT, ACTOR, AT, JSON],
};

pub(super) const RELEASE: Verb = Verb {
    name: "release",
    about: "Say that you no longer do",
    does: Run(|given, context| follow_up(given, Kind::Release, context)),
    args: &[SUBJECT, ACTOR, AT, JSON],
};

const SUBJECT: Arg = place("SUBJECT", Text, "What is worked on: a task's slug, an issue, a path");
const ACTOR: Arg = option("actor", "A", Text, "Who works on it, instead of who runs this");
const AT: Arg = option("at", "T", Text, "When, instead of now: YYYY-MM-DDTHH:MM:SSZ");
const JSON: Arg = flag("json", "Print the event (schemas/liveness-event.schema.json)");

fn claim(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let stream = Stream::of(context.cwd);
    let actor = who(given, context)?;
    let act = act(given, &actor)?;
    let ttl_s = given.number("ttl").and_then(|ttl_s| ttl_s.try_into().ok());
    let ttl_s = ttl_s.unwrap_or_else(|| Policy::of(context.env).ttl_s);
    let (done, before) = act::claim(&stream, act, ttl_s, given.flag("if-free")).map_err(failed)?;
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
    answer(given, &event, context)?;
    if !others.is_empty() {
        let mut after = before;
        after.add(&serde_json::to_vec(&event).map_err(std::io::Error::from)?);
        writeln!(context.err, "tally: {} is held by others too:", shown(act.subject))?;
        write_verdict(context.err, &after.verdict(act.subject))?;
    }
    send(&event, ttl_s, context)?;
    Ok(0)
}

fn follow_up(given: &Given<'_>, kind: Kind, context: &mut Context<'_>) -> Result<u8, Failure> {
    let stream = Stream::of(context.cwd);
    let actor = who(given, context)?;
    let act = act(given, &actor)?;
    let Done::Said(event, ttl_s) = act::follow_up(&stream, act, kind).map_err(failed)? else {
        let (verb, subject, actor) = (kind.as_str(), shown(act.subject), shown(&actor));
        return Err(Failure::Failed(format!(
            "liveness {verb} requires a prior claim event for subjectId \"{subject}\" and actor \"{actor}\": none was \
             found in {}. Fix: run `tally liveness claim {subject} --actor {actor}` first, or name the actor that \
             claimed it with --actor",
            stream.path().display()
        )));
    };
    answer(given, &event, context)?;
    send(&event, ttl_s, context)?;
    Ok(0)
}

fn act<'a>(given: &Given<'a>, actor: &'a str) -> Result<Act<'a>, Failure> {
    let now_ms = clock::now_ms();
    Ok(Act {
        subject: subject(given.text("SUBJECT").unwrap_or_default())?,
        actor,
        at: time(given.text("at"), now_ms)?,
        now_ms,
    })
}

/// Who acts: `--actor`, else who runs this.
fn who(given: &Given<'_>, context: &mut Context<'_>) -> Result<String, Failure> {
    if let Some(name) = given.text("actor") {
        let name = shown(name).trim().to_owned();
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

fn answer(given: &Given<'_>, event: &Event, context: &mut Context<'_>) -> Result<(), Failure> {
    if given.flag("json") {
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
