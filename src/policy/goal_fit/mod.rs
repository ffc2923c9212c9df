//! `stop-goal-fit`: an agent that stops has done its task, or says why not.
//!
//! ```text
//! session (subject) ─▶ what its files say (recorded, bundle, flow)
//!                   ─▶ what its commands came to (captured) ─▶ what nobody saw run (backstop)
//!                   ─▶ findings ─▶ refuse, let go (streak), or only say
//! ```
//!
//! 1. Findings decide, each by its kind and weight; what agents and commands wrote is repeated and never looked at.
//! 2. A task that is worked on is stopped by every finding but advice. One that is only planned, or says that it is done, is
//!    stopped by what is firm: evidence against it, or none at all.
//! 3. A stop is refused for the same findings as often as is set, then the agent may go; but not while one is hard.
//! 4. Who is let go leaves the task: its claim is released, and what is open is handed on (`parting`).
//! 5. Nothing is refused that cannot be judged: no session, no file, no finding.

mod backstop;
mod bundle;
mod captured;
mod finding;
mod flow;
mod parting;
mod recorded;
mod settings;
mod sidecars;
mod streak;
mod subject;

pub use finding::{Finding, Kind, Weight};

use super::{Call, Outcome};
use crate::liveness::event::Event;
use backstop::Runner;
use captured::Log;
use flow::Gate;
use settings::{Mode, Settings};
use std::time::SystemTime;
use streak::{Cause, Streak};
use subject::{Found, Subject};

/// What is said where a pointer leads nowhere.
const STALE: &str =
    "[stop-gate] the pointer to the session leads nowhere; sessions without a state are not looked at\n";

/// What came of a stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// What was found, in the order in which it is said.
    pub findings: Vec<Finding>,
    /// What the hook answers.
    pub outcome: Outcome,
    /// The release of the agent's claim, with the time to live of that, where the agent was let go with the task open.
    pub released: Option<(Event, u64)>,
    /// Whether it was refused as often as is set and still is: a person has to look.
    pub stuck: bool,
}

impl Judged {
    fn free(stderr: String) -> Self {
        Self {
            findings: vec![],
            outcome: Outcome { stderr, ..Outcome::allow() },
            released: None,
            stuck: false,
        }
    }
}

/// What the gate says to a stop.
#[must_use]
pub fn run(call: &Call<'_>) -> Outcome {
    judge(call).outcome
}

/// Judges a stop.
#[must_use]
pub fn judge(call: &Call<'_>) -> Judged {
    let settings = Settings::of(call);
    if settings.mode == Mode::Off || call.payload.is_none() {
        return Judged::free(String::new());
    }
    let mut sites = call.sites().filter(|site| !site.places.is_empty()).peekable();
    if sites.peek().is_none() {
        return Judged::free(String::new());
    }
    let actor = call.actor().map(|actor| actor.name);
    let found = sites.map(|site| Subject::find(site, actor.as_deref(), call.searches()));
    let found =
        found.reduce(|first, next| if matches!(first, Found::Session(..)) { first } else { next.or(first) });
    let (subject, stale) = match found {
        None | Some(Found::Nothing) => return Judged::free(String::new()),
        Some(Found::Stale) => return Judged::free(STALE.to_owned()),
        Some(Found::Session(subject, stale)) => (subject, stale),
    };
    let gate = Gate::of(&subject);
    let findings = findings(call, &subject, &settings, gate.as_ref());
    let mut judged = decide(call, &subject, &settings, gate.as_ref(), findings);
    if stale {
        judged.outcome.stderr.insert_str(0, STALE);
    }
    judged
}

fn findings(call: &Call<'_>, subject: &Subject, settings: &Settings, gate: Option<&Gate>) -> Vec<Finding> {
    let log = Log::read(&subject.folder);
    let log = log.as_ref();
    let mut found = recorded::before(subject, settings, gate, age_min(call, subject));
    found.extend(captured::about(subject, log));
    let runner = Runner::new(call, subject, settings);
    for claimed in captured::claimed(subject, gate) {
        found.extend(captured::held(log, &claimed).unwrap_or_else(|| runner.judge(&claimed)));
    }
    recorded::after(subject, gate, log.is_some_and(|log| !log.runs.is_empty()), &mut found);
    found.extend(captured::reconciled(subject, log, &found));
    found
}

/// Minutes since the session's page was written.
fn age_min(call: &Call<'_>, subject: &Subject) -> Option<u64> {
    let written = subject.page.as_ref()?.path.metadata().ok()?.modified().ok()?;
    let written_ms = written.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis();
    let age_ms = u128::try_from(call.now_ms).ok()?.saturating_sub(written_ms);
    u64::try_from(age_ms / 60_000).ok()
}

fn decide(
    call: &Call<'_>,
    subject: &Subject,
    settings: &Settings,
    gate: Option<&Gate>,
    findings: Vec<Finding>,
) -> Judged {
    let streak = Streak::read(&subject.place(), &subject.slug());
    if findings.is_empty() {
        streak.end();
        return Judged::free(String::new());
    }
    let header = match gate {
        Some(gate) => format!("[{}] what stands against this stop:", gate.label),
        None => "[stop-gate] what stands against this stop:".to_owned(),
    };
    let lines: Vec<String> = findings.iter().map(|finding| format!(" - {}", finding.text)).collect();
    let mut stderr = format!("{header}\n{}\n", lines.join("\n"));
    let open = !subject.is_done() && !subject.is_planned();
    let blocking: Vec<&Finding> = findings.iter().filter(|finding| finding.blocks(open)).collect();
    if settings.mode != Mode::Block || blocking.is_empty() {
        streak.end();
        return Judged { findings, ..Judged::free(stderr) };
    }
    let cause = Cause::of(&subject.slug(), &blocking);
    let hard = blocking.iter().any(|finding| finding.weight == Weight::Hard);
    let (count, most) = (streak.count(cause), settings.max_blocks);
    if count >= most && !hard {
        streak.end();
        stderr.push_str(&format!(
            "[stop-gate] let go: refused {count} times for the same findings, which are still open\n"
        ));
        let parted = parting::part(call, subject, &findings);
        stderr.push_str(&parted.said);
        return Judged { findings, released: parted.released, ..Judged::free(stderr) };
    }
    streak.refused(cause);
    let number = count.saturating_add(1);
    let fate = if hard { "it stays refused until these are settled" } else { "then it is let go" };
    stderr.push_str(&format!(
        "[stop-gate] stop refused, {} open, {number} of {most}: {fate}\n",
        blocking.len()
    ));
    let stuck = hard && number > most;
    Judged { findings, outcome: Outcome { exit: 2, stderr, ..Outcome::allow() }, released: None, stuck }
}

#[cfg(test)]
mod tests;
