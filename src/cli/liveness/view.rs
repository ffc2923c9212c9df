//! `status`, `verdict`, `watch`: what the stream comes to.

use super::super::Context;
use super::super::failure::Failure;
use super::{StatusArgs, VerdictArgs, WatchArgs, failed, json, subject, time};
use crate::liveness::stamp::Stamp;
use crate::liveness::standing::{Fold, Label, Standing, Verdict};
use crate::liveness::stream::Stream;
use crate::report::table;
use crate::sys::clock;
use comfy_table::CellAlignment;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// What `status --json` prints.
#[derive(Serialize)]
struct Status {
    now: String,
    claims: Vec<Standing>,
}

pub(super) fn status(stream: &Stream, args: &StatusArgs, context: &mut Context<'_>) -> Result<u8, Failure> {
    let now = judge(args.judge.now.as_deref())?;
    let claims = standings(stream, args.subject.as_deref(), now.ms)?;
    if args.judge.json {
        json(context.out, &Status { now: now.to_string(), claims })?;
    } else if claims.is_empty() {
        writeln!(context.out, "No claims in {}", stream.path().display())?;
    } else {
        writeln!(context.out, "{}", table_of(&claims, context.width))?;
    }
    Ok(0)
}

pub(super) fn verdict(stream: &Stream, args: &VerdictArgs, context: &mut Context<'_>) -> Result<u8, Failure> {
    let now = judge(args.judge.now.as_deref())?;
    let wanted = subject(&args.subject)?;
    let mut fold = Fold::of(wanted, now.ms);
    stream.fold(&mut fold).map_err(failed)?;
    let verdict = fold.verdict(wanted);
    if args.judge.json {
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
pub(super) fn watch(stream: &Stream, args: &WatchArgs, context: &mut Context<'_>) -> Result<u8, Failure> {
    let live = io::stdout().is_terminal();
    let mut known: Vec<(String, String, Label)> = vec![];
    let mut look = 0;
    loop {
        let now = Stamp::at(clock::now_ms());
        let claims = standings(stream, args.subject.as_deref(), now.ms)?;
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
        if args.looks.is_some_and(|looks| look >= looks) {
            return Ok(0);
        }
        std::thread::sleep(Duration::from_secs(args.every));
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
