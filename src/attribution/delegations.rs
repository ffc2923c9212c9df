//! Delegations: what the orchestrator handed to other agents, from `agents/*/events.jsonl` (contract C.3).
//!
//! Events are joined by `agent_id`, and times are compared as times. A line that is broken, too long or without an
//! `agent_id` costs only itself. The events' `summary` is free text about the work and is never read: it must not leave.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sys::{clock, files, order};

/// Bytes read of all files together, and of one line.
const MAX_TOTAL: u64 = 4 * 1024 * 1024;
const MAX_LINE: u64 = 64 * 1024;

/// How a delegation ended, as far as recorded signals say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The last evidence or verdict is a pass.
    Accepted,
    /// It was dispatched again or escalated.
    Rework,
    /// It was superseded, or said to have diverged.
    Diverged,
    /// The last evidence or verdict is a fail.
    Failed,
    /// Nothing says.
    Unavailable,
}

impl Outcome {
    /// As in a record.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rework => "rework",
            Self::Diverged => "diverged",
            Self::Failed => "failed",
            Self::Unavailable => "unavailable",
        }
    }
}

/// What was delegated to one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    /// The agent.
    pub agent_id: String,
    /// The role of the latest route.
    pub role: String,
    /// The model of the latest route, as the orchestrator wrote it.
    pub resolved_model: String,
    /// The role that the latest route was escalated from.
    pub escalated_from: Option<String>,
    /// How often it was dispatched: 1 or more.
    pub dispatch_count: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// How many events it has; more than at the last reading means that there is news.
    pub event_count: u64,
    /// The time of its latest dated event, epoch milliseconds.
    pub last_event_ms: Option<i64>,
}

/// The delegations of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delegations {
    /// One per agent, sorted by `agent_id`.
    pub agents: Vec<Delegation>,
    /// What was passed over and why, for the log.
    pub warnings: Vec<String>,
}

/// For how many of `delegations` the outcome is known: `signals.per_delegation_outcome`.
#[must_use]
pub fn outcome_coverage<'a>(delegations: impl IntoIterator<Item = &'a Delegation>) -> &'static str {
    let (mut known, mut unknown) = (0_u64, 0_u64);
    for delegation in delegations {
        match delegation.outcome {
            Outcome::Unavailable => unknown += 1,
            _ => known += 1,
        }
    }
    match (known, unknown) {
        (0, 0) => "n/a",
        (0, _) => "none",
        (_, 0) => "full",
        _ => "partial",
    }
}

/// Reads the delegations in `agents_dir`.
#[must_use]
pub fn read(agents_dir: &Path) -> Delegations {
    let mut log = Log { budget: MAX_TOTAL, by_agent: BTreeMap::new(), warnings: Vec::new() };
    for file in event_files(agents_dir) {
        if let Err(error) = log.read_file(&file) {
            log.warnings.push(format!("{}: {error}", file.display()));
        }
        if log.budget == 0 {
            log.warnings.push(format!("{}: more than {MAX_TOTAL} bytes of events", agents_dir.display()));
            break;
        }
    }
    let agents =
        log.by_agent.into_iter().filter_map(|(agent_id, events)| delegation(agent_id, &events)).collect();
    Delegations { agents, warnings: log.warnings }
}

/// `*/events.jsonl`, in the order of the folders' names.
fn event_files(agents_dir: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(agents_dir).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = folders.map(|folder| folder.path().join("events.jsonl")).collect();
    order::sort(&mut files);
    files
}

/// Events as they are read, by agent and in file order.
struct Log {
    budget: u64,
    by_agent: BTreeMap<String, Vec<Event>>,
    warnings: Vec<String>,
}

impl Log {
    fn read_file(&mut self, path: &Path) -> io::Result<()> {
        let file = match files::open_regular(path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut reader = BufReader::new(file.take(self.budget));
        let mut skipped = 0_u64;
        loop {
            let mut line = Vec::new();
            if (&mut reader).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if line.len() as u64 == MAX_LINE && line.last() != Some(&b'\n') {
                reader.skip_until(b'\n')?;
                skipped += 1;
            } else if let Some((agent_id, event)) = parse(&line) {
                self.by_agent.entry(agent_id).or_default().push(event);
            } else if !line.trim_ascii().is_empty() {
                skipped += 1;
            }
        }
        self.budget = reader.into_inner().limit();
        if skipped > 0 {
            self.warnings.push(format!("{}: {skipped} unusable lines", path.display()));
        }
        Ok(())
    }
}

/// The fields of one event that count.
#[derive(Debug, Default)]
struct Event {
    at_ms: Option<i64>,
    kind: String,
    status: String,
    /// Role, model and origin, where the event names a role and a model.
    route: Option<Route>,
}

#[derive(Debug, Clone)]
struct Route {
    role: String,
    model: String,
    escalated_from: Option<String>,
}

fn parse(line: &[u8]) -> Option<(String, Event)> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let text =
        |field| value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let route = text("role").zip(text("model"));
    let event = Event {
        at_ms: text("timestamp").and_then(|time| clock::parse_rfc3339(&time)),
        kind: text("kind").unwrap_or_default(),
        status: text("status").unwrap_or_default().to_ascii_lowercase(),
        route: route.map(|(role, model)| Route { role, model, escalated_from: text("escalated_from") }),
    };
    Some((text("agent_id")?, event))
}

/// `None` for an agent that nothing was routed to.
fn delegation(agent_id: String, events: &[Event]) -> Option<Delegation> {
    let is_dispatch = |event: &&Event| matches!(event.kind.as_str(), "delegation" | "escalation");
    let routed = || events.iter().filter(is_dispatch).filter(|event| event.route.is_some());
    let dispatch_count = routed().count() as u64;
    let Route { role, model, escalated_from } = latest(routed())?.route.clone()?;
    Some(Delegation {
        agent_id,
        role,
        resolved_model: model,
        escalated_from,
        dispatch_count,
        outcome: outcome(events, dispatch_count),
        event_count: events.len() as u64,
        last_event_ms: events.iter().filter_map(|event| event.at_ms).max(),
    })
}

fn outcome(events: &[Event], dispatch_count: u64) -> Outcome {
    let any = |kind: &str| events.iter().any(|event| event.kind == kind);
    if any("supersession") || events.iter().any(|event| event.status == "diverged") {
        return Outcome::Diverged;
    }
    if any("escalation") || dispatch_count > 1 {
        return Outcome::Rework;
    }
    let judgements = events.iter().filter(|event| matches!(event.kind.as_str(), "evidence" | "verdict"));
    match latest(judgements).map(|event| event.status.as_str()) {
        Some("pass") => Outcome::Accepted,
        Some("fail") => Outcome::Failed,
        _ => Outcome::Unavailable,
    }
}

/// The latest event; the one written last among equals, and any dated one before an undated one.
fn latest<'a>(events: impl Iterator<Item = &'a Event>) -> Option<&'a Event> {
    events.max_by_key(|event| event.at_ms)
}

#[cfg(test)]
mod tests;
