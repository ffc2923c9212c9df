//! `tally relay status` and `flush`: the books, in one screen.
//!
//! The text fits 80 columns and 24 lines, whatever the books hold: what is long is cut with `…`, of what is many the first
//! are shown, and how many more there are. `--json` has all of it.

use std::fmt::Write as _;
use std::time::Duration;

use comfy_table::{CellAlignment, Row};
use serde::Serialize;

use super::super::Context;
use super::super::failure::Failure;
use super::super::verb::Does::Run;
use super::super::verb::{Arg, Given, NUMBER, Verb, flag, option};
use super::{failed, json, one_line};
use crate::relay::{self, OriginStatus, ReasonCount, Status};
use crate::report::table::{compact, count};
use crate::settings::Settings;
use crate::settings::switch::Switch;
use crate::sys::order;

/// Lines of a screen, less the one that the next prompt needs.
const HEIGHT: usize = 23;
/// Reasons of rejection, and refused credentials, that are shown.
const REASONS: usize = 3;
const CREDENTIALS: usize = 3;

pub(super) const STATUS: Verb = Verb {
    name: "status",
    about: "Show what was queued, delivered, rejected, evicted and is pending, and why",
    does: Run(status),
    args: &[JSON],
};

pub(super) const FLUSH: Verb = Verb {
    name: "flush",
    about: "Send what can be sent now; exit code 1 when something is still pending",
    does: Run(flush),
    args: &[option("timeout", "S", NUMBER, "How long to try, in seconds").default("30"), JSON],
};

const JSON: Arg = flag("json", "Print one JSON object (schemas/relay-status.schema.json)");

fn status(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let settings = context.settings()?;
    let status = relay::status(&settings.data_dir).map_err(failed)?;
    show(&status, &settings, given.flag("json"), context)?;
    Ok(0)
}

fn flush(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let settings = context.settings()?;
    let timeout = given.number("timeout").and_then(|seconds| seconds.try_into().ok());
    let timeout = Duration::from_secs(timeout.unwrap_or_default());
    let status = relay::flush(&settings.data_dir, context.env, timeout).map_err(failed)?;
    show(&status, &settings, given.flag("json"), context)?;
    Ok(u8::from(status.pending > 0))
}

/// The books, and whether anything is added to them.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    status: &'a Status,
    relay: Relay<'a>,
}

/// Whether the economics of runs are relayed, and why.
#[derive(Serialize)]
struct Relay<'a> {
    on: bool,
    reason: &'a str,
}

fn show(
    status: &Status,
    settings: &Settings,
    as_json: bool,
    context: &mut Context<'_>,
) -> std::io::Result<()> {
    let switch = &settings.economics_relay;
    if as_json {
        let relay = Relay { on: switch.on, reason: &switch.reason };
        return json(context.out, &Answer { status, relay });
    }
    let mut screen =
        Screen { text: String::new(), used: 0, width: context.width.into(), colour: context.colour };
    draw(status, switch, &mut screen);
    write!(context.out, "{}", screen.text)
}

/// What a line tells at a glance.
#[derive(Debug, Clone, Copy)]
enum Tone {
    Plain,
    Good,
    Odd,
    Bad,
}

/// Text that grows line by line.
struct Screen {
    text: String,
    /// Lines that the text takes, counting those that the terminal wraps.
    used: usize,
    width: usize,
    colour: bool,
}

impl Screen {
    /// Adds a line, cut to the width.
    fn line(&mut self, tone: Tone, text: &str) {
        let mut line = one_line(text);
        if line.chars().count() > self.width {
            line = line.chars().take(self.width.saturating_sub(1)).chain(['…']).collect();
        }
        self.whole(tone, &line);
    }

    /// Adds a line of which nothing may be cut.
    fn whole(&mut self, tone: Tone, line: &str) {
        self.used += line.chars().count().div_ceil(self.width.max(1)).max(1);
        let code = match tone {
            Tone::Good => "32",
            Tone::Odd => "33",
            Tone::Bad => "31",
            Tone::Plain => "",
        };
        let _ = if self.colour && !code.is_empty() {
            writeln!(self.text, "\x1b[{code}m{line}\x1b[0m")
        } else {
            writeln!(self.text, "{line}")
        };
    }
}

fn draw(status: &Status, switch: &Switch, screen: &mut Screen) {
    let (on, tone) = if switch.on { ("on", Tone::Good) } else { ("off", Tone::Odd) };
    screen.line(tone, &format!("the relay is {on}: {}", switch.reason));
    let Status { enqueued, delivered, rejected, evicted, pending, .. } = status;
    screen.line(
        Tone::Plain,
        &format!("enqueued {enqueued} = delivered {delivered} + rejected {rejected} + evicted {evicted} + pending {pending}"),
    );
    let worker = if status.worker_running { "a worker is sending now" } else { "no worker is running" };
    screen.line(Tone::Plain, worker);
    if let Some(oldest) = &status.oldest {
        let since = oldest.enqueued_at.as_deref().unwrap_or("an unknown time");
        screen.line(
            Tone::Plain,
            &format!("oldest: {} {} since {since}, for {}", oldest.kind, oldest.id, oldest.origin),
        );
    }
    if let Some(next) = &status.next_attempt {
        let at = next.at.as_deref().unwrap_or("when the credential changes");
        screen.line(Tone::Odd, &format!("next attempt: {at} ({})", next.reason));
    }
    draw_rejected(status, screen);
    if !status.evicted_reasons.is_empty() {
        let reason = |count: &ReasonCount| format!("{} {}", count.records, count.reason);
        let reasons: Vec<String> = status.evicted_reasons.iter().map(reason).collect();
        screen.whole(Tone::Odd, &format!("evicted {evicted}: {}", reasons.join(", ")));
    }
    if status.delivered_before > 0 {
        let known = status.delivered_before;
        screen.line(Tone::Odd, &format!("finding: the Console knew {known} ids before we first sent them"));
    }
    draw_credentials(&status.origins, screen);
    draw_origins(&status.origins, screen);
}

fn draw_rejected(status: &Status, screen: &mut Screen) {
    let Status { rejected, rejected_dropped, rejected_reasons, .. } = status;
    if *rejected == 0 && rejected_reasons.is_empty() {
        return;
    }
    let dropped = match rejected_dropped {
        0 => String::new(),
        dropped => format!(", {dropped} of them not kept any more"),
    };
    screen.line(Tone::Bad, &format!("rejected {rejected}{dropped} (`tally relay rejected` lists them)"));
    for (text, _) in shown(rejected_reasons, REASONS, |count| format!("{} {}", count.records, count.reason)) {
        screen.line(Tone::Bad, &format!("  {text}"));
    }
}

fn draw_credentials<'a>(origins: &'a [OriginStatus], screen: &mut Screen) {
    let waiting = |origin: &'a OriginStatus| origin.waiting.iter().map(move |waiting| (origin, waiting));
    let mut waiting: Vec<_> = origins.iter().flat_map(waiting).collect();
    // One that was refused comes before one that is not there.
    order::sort_by_key(&mut waiting, |(_, waiting)| waiting.fingerprint.is_none());
    let texts = shown(&waiting, CREDENTIALS, |(origin, waiting)| {
        let tenant = waiting.tenant.as_deref().unwrap_or("(none)");
        format!("waits: {} (tenant {tenant} at {})", waiting.reason, origin.origin)
    });
    for (text, item) in texts {
        screen.line(Tone::Bad, &text);
        let Some((_, waiting)) = item else { continue };
        let credential =
            waiting.fingerprint.as_deref().map_or_else(String::new, |hash| format!(", token #{hash}"));
        // Where the token is to be replaced: cut, it would be of no use.
        screen.whole(Tone::Bad, &one_line(&format!("  credential: {}{credential}", waiting.source)));
    }
}

/// The first of `items` as text, and one text for the others.
fn shown<'a, T>(
    items: &'a [T],
    most: usize,
    text: impl Fn(&'a T) -> String,
) -> impl Iterator<Item = (String, Option<&'a T>)> {
    let more = items.len() > most;
    let first = if more { most - 1 } else { most };
    let others = more.then(|| (format!("… and {} others (--json has all)", items.len() - first), None));
    items.iter().take(first).map(move |item| (text(item), Some(item))).chain(others)
}

fn draw_origins(origins: &[OriginStatus], screen: &mut Screen) {
    let width = u16::try_from(screen.width).unwrap_or(u16::MAX);
    let mut busiest: Vec<&OriginStatus> = origins.iter().collect();
    order::sort_by_key(&mut busiest, |origin| std::cmp::Reverse(origin.pending));
    let room = HEIGHT.saturating_sub(screen.used);
    let (mut shown, mut table) = (busiest.len(), table_of(&busiest, width, usize::MAX));
    if table.lines().count() > room {
        // One line each. Two are the header's, and one says how many more there are.
        shown = if shown + 2 <= room { shown } else { room.saturating_sub(3).max(1) };
        table = table_of(busiest.get(..shown).unwrap_or(&busiest), width, 1);
    }
    if !busiest.is_empty() {
        table.lines().for_each(|line| screen.whole(Tone::Plain, line.trim_end()));
    }
    if let hidden @ 1.. = busiest.len().saturating_sub(shown) {
        screen.line(Tone::Plain, &format!("… and {hidden} other origins (--json has all)"));
    }
}

/// The table of `origins`, each of at most `height` lines.
fn table_of(origins: &[&OriginStatus], width: u16, height: usize) -> String {
    let number = |number: u64| count(i64::try_from(number).unwrap_or(i64::MAX));
    let mut rows = compact(width, &["origin", "pending", "delivered", "trouble"]);
    if let Some(last) = rows.column_mut(3) {
        last.set_cell_alignment(CellAlignment::Left);
    }
    for origin in origins {
        let trouble = match (&origin.reason, origin.waiting.is_empty()) {
            (Some(reason), _) => format!("failed {} times: {}", origin.failures, one_line(reason)),
            (None, false) => "waits for a credential".to_owned(),
            (None, true) => String::new(),
        };
        let cells = [one_line(&origin.origin), number(origin.pending), number(origin.delivered), trouble];
        let mut row = Row::from(cells);
        row.max_height(height);
        rows.add_row(row);
    }
    rows.to_string()
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
