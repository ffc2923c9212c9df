//! `tally liveness`: who works on what.

mod say;
mod view;

use super::Context;
use super::failure::Failure;
use super::verb::Does::{Run, Verbs};
use super::verb::{Arg, Given, Verb, flag};
use crate::liveness::event::given_time;
use crate::liveness::stamp::Stamp;
use crate::liveness::standing::shown;
use crate::liveness::stream::Stream;
use crate::liveness::{actor, compact};
use crate::sys::clock;
use serde::Serialize;
use std::io::Write;

pub(super) const VERB: Verb = Verb {
    name: "liveness",
    about: "Say who works on what: claims, heartbeats, releases and their standing",
    does: Verbs(&[
        say::CLAIM,
        say::HEARTBEAT,
        say::RELEASE,
        view::STATUS,
        view::VERDICT,
        Verb {
            name: "whoami",
            about: "Show under which name you act here",
            does: Run(whoami),
            args: &[JSON],
        },
        view::WATCH,
        Verb {
            name: "compact",
            about: "Rewrite the stream to what decides its standing",
            does: Run(rewrite),
            args: &[JSON],
        },
    ]),
    args: &[],
};

const JSON: Arg = flag("json", "Print one JSON object");

fn whoami(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    #[derive(Serialize)]
    struct Answer {
        actor: String,
        source: String,
    }
    let resolved = actor::resolve(context.env, None);
    if let Some(warning) = &resolved.warning {
        writeln!(context.err, "tally: {warning}")?;
    }
    let (actor, source) = resolved
        .actor
        .map_or_else(|| (String::new(), "unresolved".to_owned()), |actor| (actor.name, actor.source));
    if given.flag("json") {
        json(context.out, &Answer { actor, source })?;
    } else {
        writeln!(context.out, "{actor}\t{source}")?;
    }
    Ok(0)
}

fn rewrite(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let stream = Stream::of(context.cwd);
    let report = compact::compact(&stream, clock::now_ms()).map_err(failed)?;
    if given.flag("json") {
        json(context.out, &report)?;
    } else {
        let compact::Report { kept, dropped, unreadable, bytes_before, bytes_after } = report;
        writeln!(
            context.out,
            "kept {kept} events, dropped {dropped} events and {unreadable} unreadable lines: {bytes_before} → \
             {bytes_after} bytes in {}",
            stream.path().display()
        )?;
    }
    Ok(0)
}

/// The time of `--at` or `--now`, else now.
fn time(given: Option<&str>, now_ms: i64) -> Result<Stamp, Failure> {
    given.map_or(Ok(Stamp::at(now_ms)), |text| given_time(text, now_ms).map_err(Failure::Usage))
}

/// `subject`, if it can be one.
fn subject(subject: &str) -> Result<&str, Failure> {
    match subject.chars().count() {
        _ if shown(subject).trim().is_empty() => Err(Failure::Usage(
            "the subject is empty; name what is worked on, such as a task's slug".to_owned(),
        )),
        0..=MAX_SUBJECT => Ok(subject),
        count => Err(Failure::Usage(format!(
            "the subject has {count} characters; name it in at most {MAX_SUBJECT}"
        ))),
    }
}

const MAX_SUBJECT: usize = 1000;

fn json(out: &mut dyn Write, answer: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(answer).map_err(std::io::Error::from)?;
    writeln!(out, "{text}")?;
    Ok(())
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}
