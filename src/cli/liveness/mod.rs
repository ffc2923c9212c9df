//! `tally liveness`: who works on what.

mod say;
mod view;

use super::Context;
use super::failure::Failure;
use crate::liveness::event::{Kind, given_time};
use crate::liveness::stamp::Stamp;
use crate::liveness::standing::shown;
use crate::liveness::stream::Stream;
use crate::liveness::{actor, compact};
use crate::sys::clock;
use serde::Serialize;
use std::io::Write;

/// Say who works on what: claims, heartbeats, releases and their standing.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Say that you work on SUBJECT.
    Claim(ClaimArgs),
    /// Say that you still do.
    Heartbeat(EventArgs),
    /// Say that you no longer do.
    Release(EventArgs),
    /// Show what became of each claim.
    Status(StatusArgs),
    /// Show who holds SUBJECT and, if several do, who should go on.
    Verdict(VerdictArgs),
    /// Show under which name you act here.
    Whoami(JsonArgs),
    /// Show the claims as they change, until interrupted.
    Watch(WatchArgs),
    /// Rewrite the stream to what decides its standing.
    Compact(JsonArgs),
}

#[derive(Debug, clap::Args)]
struct EventArgs {
    /// What is worked on: a task's slug, an issue, a path.
    #[arg(value_name = "SUBJECT")]
    subject: String,
    /// Who works on it, instead of who runs this.
    #[arg(long, value_name = "A")]
    actor: Option<String>,
    /// When, instead of now: YYYY-MM-DDTHH:MM:SSZ.
    #[arg(long, value_name = "T")]
    at: Option<String>,
    /// Print the event (schemas/liveness-event.schema.json).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct ClaimArgs {
    #[command(flatten)]
    event: EventArgs,
    /// Seconds that the claim stays fresh after its last sign of life.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    ttl: Option<u64>,
    /// Claim only what nobody else holds; else exit with 3 and write nothing.
    #[arg(long)]
    if_free: bool,
}

#[derive(Debug, clap::Args)]
struct StatusArgs {
    /// Only claims of this subject.
    #[arg(long, value_name = "S")]
    subject: Option<String>,
    #[command(flatten)]
    judge: JudgeArgs,
}

#[derive(Debug, clap::Args)]
struct VerdictArgs {
    /// What is worked on.
    #[arg(value_name = "SUBJECT")]
    subject: String,
    #[command(flatten)]
    judge: JudgeArgs,
}

#[derive(Debug, clap::Args)]
struct JudgeArgs {
    /// Judge as of this time instead of now: YYYY-MM-DDTHH:MM:SSZ.
    #[arg(long, value_name = "T")]
    now: Option<String>,
    /// Print one JSON object (schemas/liveness-status.schema.json, schemas/liveness-verdict.schema.json).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct JsonArgs {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct WatchArgs {
    /// Only claims of this subject.
    #[arg(long, value_name = "S")]
    subject: Option<String>,
    /// Seconds between two looks.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    /// Stop after this many looks.
    #[arg(long, value_name = "N")]
    looks: Option<u64>,
}

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Result<u8, Failure> {
    let stream = Stream::of(context.cwd);
    match &args.verb {
        Verb::Claim(args) => say::claim(&stream, &args.event, args.ttl, args.if_free, context),
        Verb::Heartbeat(args) => say::follow_up(&stream, args, Kind::Heartbeat, context),
        Verb::Release(args) => say::follow_up(&stream, args, Kind::Release, context),
        Verb::Status(args) => view::status(&stream, args, context),
        Verb::Verdict(args) => view::verdict(&stream, args, context),
        Verb::Whoami(args) => whoami(args, context),
        Verb::Watch(args) => view::watch(&stream, args, context),
        Verb::Compact(args) => rewrite(&stream, args, context),
    }
}

fn whoami(args: &JsonArgs, context: &mut Context<'_>) -> Result<u8, Failure> {
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
    if args.json {
        json(context.out, &Answer { actor, source })?;
    } else {
        writeln!(context.out, "{actor}\t{source}")?;
    }
    Ok(0)
}

fn rewrite(stream: &Stream, args: &JsonArgs, context: &mut Context<'_>) -> Result<u8, Failure> {
    let report = compact::compact(stream, clock::now_ms()).map_err(failed)?;
    if args.json {
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
