//! Records of runs, as a person reads them.

use super::table::{count, maybe_count, money, table};
use crate::economics::Record;
use crate::economics::record::{Figures, Seconds};
use crate::sys::clock;
use std::fmt::Write;

/// A line for each record.
#[must_use]
pub fn table_of(records: &[Record], width: u16) -> String {
    let mut rows = table(width, &["when", "task", "model", "tokens", "USD", "time", "found"]);
    for record in records {
        rows.add_row([
            when(record),
            record.task_slug.clone().unwrap_or_else(|| "–".to_owned()),
            record.model.clone().unwrap_or_else(|| "–".to_owned()),
            maybe_count(tokens(&record.cost.figures)),
            at_least(record),
            duration(record.time.wall_clock_s),
            count(record.defects.findings_by_severity.sum()),
        ]);
    }
    rows.to_string()
}

/// Everything that one record says.
#[must_use]
pub fn one(record: &Record, width: u16) -> String {
    let mut out = String::new();
    let complete = if record.cost.complete { "" } else { " (incomplete)" };
    let facts = [
        ("run", record.run_id.clone()),
        ("task", record.task_slug.clone().unwrap_or_else(|| "none".to_owned())),
        ("project", record.project.clone().unwrap_or_else(|| "unknown".to_owned())),
        ("cost", format!("{}{complete}", charged(&record.cost.figures))),
        ("time", duration(record.time.wall_clock_s)),
        (
            "rounds",
            format!(
                "{} iterations, {} back to an earlier phase",
                record.iterations.count, record.iterations.route_backs
            ),
        ),
        (
            "caught",
            format!(
                "{} findings, {} false completions, {} gates; {}",
                record.defects.findings_by_severity.sum(),
                record.defects.caught_false_completions,
                record.defects.gate_fires,
                record.defects.verification_verdict
            ),
        ),
    ];
    for (name, fact) in facts {
        let _ = writeln!(out, "{name:>9}  {fact}");
    }
    let mut rows = table(width, &["part", "input", "output", "cache write", "cache read", "USD"]);
    for row in &record.phases {
        rows.add_row(cells(format!("phase {}", row.phase), &row.figures));
    }
    for row in &record.cost.by_model {
        rows.add_row(cells(row.model.clone(), &row.figures));
    }
    for row in &record.delegations {
        let who = row.agent_id.as_deref().unwrap_or("?");
        rows.add_row(cells(format!("agent {who} ({})", row.role), &row.figures));
    }
    let _ = write!(out, "{rows}");
    out
}

fn cells(name: String, figures: &Figures) -> [String; 6] {
    [
        name,
        maybe_count(figures.input_tokens),
        maybe_count(figures.output_tokens),
        maybe_count(figures.cache_creation_input_tokens),
        maybe_count(figures.cache_read_input_tokens),
        charged(figures),
    ]
}

fn tokens(figures: &Figures) -> Option<i64> {
    Some(
        figures.input_tokens?
            + figures.output_tokens?
            + figures.cache_creation_input_tokens?
            + figures.cache_read_input_tokens?,
    )
}

fn when(record: &Record) -> String {
    let time = record.at.parse().ok().and_then(clock::rfc3339);
    time.map_or_else(|| "–".to_owned(), |time| time.get(..16).unwrap_or_default().replace('T', " "))
}

/// What was charged, in money and in credits.
fn charged(figures: &Figures) -> String {
    match (figures.estimated_cost_usd, figures.credits) {
        (usd, None) => money(usd),
        (None, Some(credits)) => format!("{credits} credits"),
        (usd, Some(credits)) => format!("{} and {credits} credits", money(usd)),
    }
}

/// The cost; a sum that lacks something is a lower bound, and says so.
fn at_least(record: &Record) -> String {
    let cost = charged(&record.cost.figures);
    if record.cost.complete || record.cost.figures.estimated_cost_usd.is_none() {
        cost
    } else {
        format!("≥ {cost}")
    }
}

/// `3723.5 s` → `1:02:03`.
fn duration(seconds: Option<Seconds>) -> String {
    seconds.map_or_else(
        || "–".to_owned(),
        |Seconds { ms }| {
            let s = ms / 1000;
            format!("{}:{:02}:{:02}", s / 3600, s % 3600 / 60, s % 60)
        },
    )
}
