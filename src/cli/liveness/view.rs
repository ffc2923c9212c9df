//! `status`, `verdict`, `watch`: what the stream comes to.

use super::super::Context;
use super::super::failure::Failure;
use super::super::verb::Does::Run;
use super::super::verb::Kind::{Number, Text};
use super::super::verb::{Arg, Given, NUMBER, Verb, flag, option, place};
use super::{failed, json, subject, time};
use crate::liveness::stamp::Stamp;
use crate::liveness::standing::{Fold, Label, Standing, Verdict};
use crate::liveness::stream::Stream;
use crate::report::table;
use crate::sys::clock;
use comfy_table::CellAlignment;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

pub(super) const STATUS: Verb = Verb {
    name: "status",
    about: "Show what became of each claim",
    does: Run(status),
    args: &[OF_SUBJECT, NOW, JSON],
};

pub(super) const VERDICT: Verb = Verb {
    name: "verdict",
    about: "Show who holds SUBJECT and, if several do, who should go on",
    does: Run(verdict),
    args: &[place("SUBJECT", Text, "What is worked on"), NOW, JSON],
};

pub(super) const WATCH: Verb = Verb {
    name: "watch",
    about: "Show the claims as they change, until interrupted",
    does: Run(watch),
    args: &[
        OF_SUBJECT,
        option("every", "N", Number(1, 3600), "Seconds between two looks").default("2"),
        option("looks", "N", NUMBER, "Stop after this many looks"),
    ],
};

const OF_SUBJECT: Arg = option("subject", "S", Text, "Only claims of this subject");
const NOW: Arg = option("now", "T", Text, "Judge as of this time instead of now: YYYY-MM-DDTHH:MM:SSZ");
const JSON: Arg = flag(
    "json",
    "Print one JSON object (schemas/liveness-status.schema.json, schemas/liveness-verdict.schema.json)",
);

/// What `status --json` prints.
#[derive(Serialize)]
struct Status {
    now: String,
    claims: Vec<Standing>,
}

fn status(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let stream = Stream::of(context.cwd);
    let now = judge(given.text("now"))?;
    let claims = standings(&stream, given.text("subject"), now.ms)?;
    if given.flag("json") {
        json(context.out, &Status { now: now.to_string(), claims })?;
    } else if claims.is_empty() {
        writeln!(context.out, "No claims in {}", stream.path().display())?;
    } else {
        writeln!(context.out, "{}", table_of(&claims, context.width))?;
    }
    Ok(0)
}

fn verdict(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let stream = Stream::of(context.cwd);
    let now = judge(given.text("now"))?;
    let wanted = subject(given.text("SUBJECT").unwrap_or_default())?;
    let mut fold = Fold::of(wanted, now.ms);
    stream.fold(&mut fold).map_err(failed)?;
    let verdict = fold.verdict(wanted);
    if given.flag("json") {
        json(context.out, &verdict)?;
    } else {
        write_verdict(context.out, &verdict)?;
    }
    Ok(0)
}

/// One line for each holder, and who should go on and who should yield.
pub(super) fn write_verdict(out: &mut dyn Write, verdict: &Verdict) -> io::Result<()> {
    for holder in &verdict.holders {
        let role = match &verdict.winner {
            None => "HOLDER",
            Some(winner) if winner == holder => "WINNER",
            Some(_) => "LOSER",
        };
        writeln!(out, "{}\tclaimAt={}\t{role}", holder.actor, holder.claim_at)?;
    }
    if let Some(winner) = &verdict.winner {
        writeln!(out, "WINNER: {}", winner.actor)?;
    }
    for loser in &verdict.losers {
        writeln!(out, "LOSER: {}", loser.actor)?;
    }
    Ok(())
}

/// On a terminal the table is drawn again at each look; elsewhere each change is a line.
fn watch(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let every = given.number("every").and_then(|seconds| seconds.try_into().ok());
    let every = Duration::from_secs(every.unwrap_or_default());
    let stream = Stream::of(context.cwd);
    let live = io::stdout().is_terminal();
    let mut known: Vec<(String, String, Label)> = vec![];
    let mut look = 0;
    loop {
        let now = Stamp::at(clock::now_ms());
        let claims = standings(&stream, given.text("subject"), now.ms)?;
        if live {
            // Home, then erase to the end: no flicker, and nothing of the last look stays.
            write!(context.out, "\x1b[H\x1b[J{now}\n{}\n", table_of(&claims, context.width))?;
        } else {
            let row = |claim: &Standing| (claim.subject.clone(), claim.actor.clone(), claim.label);
            for claim in claims.iter().filter(|claim| !known.contains(&row(claim))) {
                writeln!(context.out, "{now}\t{}\t{}\t{}", claim.label.as_str(), claim.subject, claim.actor)?;
            }
            known = claims.iter().map(row).collect();
        }
        context.out.flush()?;
        look += 1;
        if given.number("looks").is_some_and(|looks| look >= looks) {
            return Ok(0);
        }
        std::thread::sleep(every);
    }
}

fn standings(stream: &Stream, subject: Option<&str>, now_ms: i64) -> Result<Vec<Standing>, Failure> {
    let mut fold = subject.map_or_else(|| Fold::new(now_ms), |subject| Fold::of(subject, now_ms));
    stream.fold(&mut fold).map_err(failed)?;
    Ok(fold.standings())
}

/// A judge may stand anywhere in time.
fn judge(now: Option<&str>) -> Result<Stamp, Failure> {
    match now {
        None => Ok(Stamp::at(clock::now_ms())),
        Some(_) => time(now, i64::MAX),
    }
}

fn table_of(claims: &[Standing], width: u16) -> String {
    let mut rows = table::table(width, &["subject", "standing", "holder", "age", "ttl", "branch", "host"]);
    for column in rows.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for claim in claims {
        let age = claim.age_s.map_or_else(|| "?".to_owned(), |age| format!("{age} s"));
        let skewed = if claim.skewed { " (clock ahead)" } else { "" };
        rows.add_row([
            claim.subject.as_str(),
            claim.label.as_str(),
            &claim.actor,
            &format!("{age}{skewed}"),
            &format!("{} s", claim.ttl_s),
            claim.branch.as_deref().unwrap_or("—"),
            claim.host.as_deref().unwrap_or("—"),
        ]);
    }
    rows.to_string()
}
