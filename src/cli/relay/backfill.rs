//! `tally relay backfill`: records that were never queued, on request.

use std::io::Write;

use serde::Serialize;

use super::super::Context;
use super::super::failure::Failure;
use super::super::verb::Does::Run;
use super::super::verb::Kind::Time;
use super::super::verb::{Given, Verb, flag, option};
use super::{failed, json, one_line, records};
use crate::economics::backfill::{self, Plan};
use crate::hook::errand;
use crate::settings::Settings;
use crate::sys::clock;

pub(super) const VERB: Verb = Verb {
    name: "backfill",
    about: "Queue records that never were, such as those from a time when the relay was off",
    does: Run(run),
    args: &[
        option(
            "since",
            "T",
            Time(instant),
            "From when on: YYYY-MM-DDTHH:MM:SSZ, or YYYY-MM-DD for the start of that day in UTC",
        )
        .required(),
        flag("dry-run", "Show what would be queued, and where it would go; write nothing"),
        flag("json", "Print one JSON object (schemas/relay-backfill.schema.json)"),
    ],
};

/// An RFC 3339 instant in UTC or a day, in epoch milliseconds.
fn instant(text: &str) -> Result<i64, String> {
    let is_instant = text.ends_with('Z') && text.as_bytes().get(10) == Some(&b'T');
    let parsed = match text.len() {
        10 => clock::parse_rfc3339(&format!("{text}T00:00:00Z")),
        _ if is_instant => clock::parse_rfc3339(text),
        _ => None,
    };
    parsed.ok_or_else(|| {
        "give a real time in UTC as YYYY-MM-DDTHH:MM:SSZ or YYYY-MM-DDTHH:MM:SS.mmmZ, or a day as YYYY-MM-DD".to_owned()
    })
}

#[derive(Serialize)]
struct Answer<'a> {
    dry_run: bool,
    since: Option<String>,
    destination: Option<Place<'a>>,
    queued: u64,
    ids: Vec<&'a str>,
    known: u64,
    without_signal: u64,
    other_tenant: u64,
    no_room: u64,
}

#[derive(Serialize)]
struct Place<'a> {
    url: String,
    tenant: Option<&'a str>,
    source: String,
}

impl<'a> Place<'a> {
    fn of(settings: &'a Settings) -> Option<Self> {
        let destination = settings.destination.as_ref()?;
        let endpoint = destination.economics.as_ref()?;
        Some(Self {
            url: format!("{}{}", endpoint.origin(), endpoint.path()),
            tenant: destination.tenant.as_deref(),
            source: destination.source.to_string(),
        })
    }
}

fn run(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let (since, dry_run) = (given.number("since").unwrap_or_default(), given.flag("dry-run"));
    let mut settings = context.settings()?;
    let mut plan = backfill::plan(&settings, since).map_err(failed)?;
    if !dry_run && !plan.entries.is_empty() {
        settings.prepare().map_err(|error| Failure::Failed(format!("no place to queue records: {error}")))?;
        backfill::carry_out(&mut plan, &settings).map_err(failed)?;
        if let Err(error) = errand::wake(context.env, &settings) {
            writeln!(
                context.err,
                "tally: the records wait for the next stop, or `tally relay flush`: {error}"
            )?;
        }
    }
    let answer = Answer {
        dry_run,
        since: clock::rfc3339(since),
        destination: Place::of(&settings),
        queued: plan.entries.len() as u64,
        ids: plan.entries.iter().map(|entry| entry.id.as_str()).collect(),
        known: plan.known,
        without_signal: plan.without_signal,
        other_tenant: plan.other_tenant,
        no_room: plan.no_room,
    };
    if given.flag("json") {
        json(context.out, &answer)?;
    } else {
        show(&answer, &plan, context.out)?;
    }
    Ok(u8::from(plan.no_room > 0 && !dry_run))
}

fn show(answer: &Answer<'_>, plan: &Plan, out: &mut dyn Write) -> std::io::Result<()> {
    let verb = if answer.dry_run { "would be queued" } else { "queued" };
    for id in &answer.ids {
        writeln!(out, "{}", one_line(id))?;
    }
    write!(out, "{} {verb}", records(plan.entries.len()))?;
    if let Some(Place { url, tenant, source }) = &answer.destination {
        write!(out, " for {url}, tenant {} [{source}]", tenant.unwrap_or("(none)"))?;
    }
    writeln!(out)?;
    for (number, what) in [
        (plan.known, "queued before"),
        (plan.without_signal, "without task, cost, tokens and findings stay local"),
        (plan.other_tenant, "of another tenant stay local"),
        (plan.no_room, "have no room in the outbox now: run `tally relay flush`, then this again"),
    ] {
        if number > 0 {
            writeln!(out, "  {number} {what}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_an_instant_in_utc_or_a_day() {
        // 2026-11-01T00:00:00Z is day 20,758 of the epoch.
        let day = 20_758 * 86_400_000;
        assert_eq!(instant("2026-11-01"), Ok(day));
        assert_eq!(instant("2026-11-01T00:00:01Z"), Ok(day + 1000));
        assert_eq!(instant("2026-11-01T00:00:01.250Z"), Ok(day + 1250));
        for wrong in [
            "",
            "yesterday",
            "2026-11-31",
            "2026-11-01T00:00:00",
            "2026-11-01T01:00:00+01:00",
            "2026-11-01 00:00:00Z",
            "1793491200",
            "2026-1-1",
        ] {
            let error = instant(wrong).unwrap_err();
            assert!(error.contains("YYYY-MM-DDTHH:MM:SSZ") && error.contains("YYYY-MM-DD"), "{wrong}");
        }
    }
}
