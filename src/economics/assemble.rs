//! Facts to one record: pure.

use super::amount::{Amount, Parts, Totals};
use super::record::{
    Baseline, Cost, Defects, Delegation, Figures, Iterations, ModelFigures, Phase, Record, RunDiagnostics,
    SCHEMA, Seconds, SessionTotals, Severities, Signals, TaskTotals, Time, VERSION,
};
use crate::attribution::delegations;
use crate::attribution::sidecar::{Task, UNATTRIBUTED};
use crate::attribution::task::Counters;
use crate::attribution::windows::PhaseWindow;
use crate::journal::label::label;
use std::collections::BTreeMap;

/// All that a record is made of.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The host.
    pub host: Option<&'a str>,
    /// The host's session id.
    pub session_id: &'a str,
    /// The sequence of this record.
    pub sequence: u64,
    /// What the session's first delta counts from.
    pub baseline: Baseline,
    /// When the run stopped, in epoch milliseconds.
    pub at_ms: i64,
    /// What the run added.
    pub delta: &'a Totals,
    /// What the session's earlier records add up to.
    pub recorded: &'a Totals,
    /// The wall clock of the session's earlier records, in milliseconds.
    pub recorded_wall_ms: i64,
    /// The run's times, in epoch milliseconds; `None` when they are unknown.
    pub runs: Option<&'a [(i64, i64)]>,
    /// The price list of the latest priced call.
    pub pricing_version: Option<String>,
    /// The model of each subagent.
    pub agent_models: &'a BTreeMap<String, String>,
    /// What kind of agent each subagent is, as the host says.
    pub agent_types: &'a BTreeMap<String, String>,
    /// The task as its sidecars tell it now.
    pub task: &'a Task,
    /// The task's subagents as their logs tell them now.
    pub dispatched: &'a [delegations::Delegation],
    /// The task's counters as of its last record.
    pub task_before: &'a TaskTotals,
    /// The project label.
    pub project: Option<String>,
    /// The tenant.
    pub tenant: Option<String>,
    /// What was met on the way.
    pub diagnostics: RunDiagnostics,
}

/// Whether there is anything to record: calls, findings, gates, iterations or a subagent with news (DESIGN §7).
#[must_use]
pub fn has_news(facts: &Facts<'_>) -> bool {
    let now = task_totals(facts);
    facts.delta.sum != Amount::default()
        || facts.delta.by_model.iter().next().is_some()
        || now.as_ref().is_some_and(|now| now != facts.task_before)
}

/// Assembles the record.
#[must_use]
pub fn assemble(facts: &Facts<'_>) -> Record {
    let before = facts.task_before;
    let totals = task_totals(facts);
    let now = totals.as_ref().unwrap_or(before);
    let read = facts.diagnostics.usage_unknown.is_none();
    let known = read || !facts.delta.is_empty();
    let figures = |amount: Amount| if known { amount.into() } else { Figures::default() };
    let wall = facts.runs.map(|runs| Seconds { ms: runs.iter().map(|(start, end)| end - start).sum() });
    let delegations = rows(facts);
    let session_id = label(facts.session_id).into_owned();
    let mut recorded = facts.recorded.clone();
    recorded.sum += facts.delta.sum;
    for (model, amount) in facts.delta.by_model.iter() {
        recorded.by_model.add(model, *amount);
    }
    Record {
        schema: SCHEMA.to_owned(),
        version: VERSION.to_owned(),
        run_id: match facts.sequence {
            1 => session_id.clone(),
            sequence => format!("{session_id}.{sequence}"),
        },
        at: facts.at_ms.to_string(),
        task_slug: facts.task.slug.as_deref().map(own),
        project: facts.project.clone(),
        model: dominant(&facts.delta.by_model),
        pricing_version: facts.pricing_version.clone(),
        cost: Cost {
            figures: figures(facts.delta.sum),
            by_model: ModelFigures::all(&facts.delta.by_model),
            complete: read
                && facts.diagnostics.unreadable_lines + facts.diagnostics.uncounted_calls == 0
                && facts.delta.sum.is_complete(),
            unpriced_models: unpriced(&facts.delta.by_model),
        },
        time: Time {
            wall_clock_s: wall,
            human_wait_s: Seconds { ms: now.human_wait_s.ms - before.human_wait_s.ms },
        },
        phases: phases(facts, figures),
        iterations: Iterations {
            count: if facts.task.slug.is_some() || facts.task.counters.iterations.is_some() {
                now.iterations - before.iterations
            } else {
                1
            },
            route_backs: now.route_backs - before.route_backs,
        },
        defects: Defects {
            gate_fires: now.gate_fires - before.gate_fires,
            findings_by_severity: minus(now.findings_by_severity, before.findings_by_severity),
            caught_false_completions: now.caught_false_completions - before.caught_false_completions,
            verification_verdict: facts.task.verdict.as_str().to_owned(),
        },
        signals: Signals {
            runtime: facts.host.map(own),
            per_delegation_tokens: delegations.iter().any(|row| row.figures != Figures::default()),
            per_delegation_outcome: coverage(&delegations).to_owned(),
        },
        delegations,
        tenant_id: facts.tenant.clone(),
        session_id,
        sequence: facts.sequence,
        usage_semantics: "delta".to_owned(),
        baseline: facts.baseline,
        session_totals: SessionTotals {
            wall_clock_s: Seconds { ms: facts.recorded_wall_ms + wall.unwrap_or_default().ms },
            figures: recorded.sum.into(),
            by_model: ModelFigures::all(&recorded.by_model),
        },
        task_totals: totals,
        diagnostics: facts.diagnostics.clone(),
        unknown_fields: vec![],
    }
}

fn own(text: &str) -> String {
    label(text).into_owned()
}

/// The task's counters with this run: the largest value seen of each, so that a sidecar that is rewritten or torn
/// reports nothing twice. A counter that the sidecars do not tell stays. `None` when no sidecar tells anything.
fn task_totals(facts: &Facts<'_>) -> Option<TaskTotals> {
    let (task, before) = (facts.task, facts.task_before);
    if task.slug.is_none() && task.counters == Counters::default() && facts.dispatched.is_empty() {
        return None;
    }
    let largest = |told: Option<i64>, before: i64| told.unwrap_or(0).max(before);
    let told = &task.counters;
    let found = told.findings.unwrap_or_default();
    let mut delegation_events = before.delegation_events.clone();
    for delegation in facts.dispatched {
        let known = delegation_events.entry(label(&delegation.agent_id).into_owned()).or_default();
        *known = delegation.event_count.max(*known);
    }
    Some(TaskTotals {
        gate_fires: largest(told.gate_fires, before.gate_fires),
        findings_by_severity: Severities {
            critical: found.critical.max(before.findings_by_severity.critical),
            high: found.high.max(before.findings_by_severity.high),
            medium: found.medium.max(before.findings_by_severity.medium),
            low: found.low.max(before.findings_by_severity.low),
        },
        caught_false_completions: largest(told.caught_false_completions, before.caught_false_completions),
        iterations: told.iterations.unwrap_or(1).max(before.iterations),
        route_backs: largest(told.route_backs, before.route_backs),
        human_wait_s: Seconds { ms: largest(told.human_wait_s.map(|s| s * 1000), before.human_wait_s.ms) },
        delegation_events,
    })
}

fn minus(now: Severities, before: Severities) -> Severities {
    Severities {
        critical: now.critical - before.critical,
        high: now.high - before.high,
        medium: now.medium - before.medium,
        low: now.low - before.low,
    }
}

/// The model with most tokens; of equals the first by name (contract B.2).
fn dominant(by_model: &Parts) -> Option<String> {
    let most = by_model
        .iter()
        .max_by(|a, b| a.1.tokens.total().cmp(&b.1.tokens.total()).then_with(|| b.0.cmp(a.0)))?;
    Some(most.0.to_owned())
}

fn unpriced(by_model: &Parts) -> Vec<String> {
    by_model.iter().filter(|(_, amount)| !amount.is_complete()).map(|(model, _)| model.to_owned()).collect()
}

/// The phases of the run. Their amounts are the delta's own projection; the wall clock is split where dated windows
/// say which phase was active, and otherwise goes to the current one.
fn phases(facts: &Facts<'_>, figures: impl Fn(Amount) -> Figures) -> Vec<Phase> {
    let mut clocks: BTreeMap<String, i64> = BTreeMap::new();
    for &(start, end) in facts.runs.unwrap_or_default() {
        for (phase, ms) in split(&facts.task.windows, start, end, current_phase(facts.task)) {
            *clocks.entry(phase).or_default() += ms;
        }
    }
    let mut names: Vec<String> = facts.delta.by_phase.iter().map(|(phase, _)| phase.to_owned()).collect();
    names.extend(clocks.keys().filter(|phase| facts.delta.by_phase.get(phase).is_none()).cloned());
    if names.is_empty() {
        names.push(own(current_phase(facts.task)));
    }
    let row = |phase: String| Phase {
        figures: figures(facts.delta.by_phase.get(&phase).copied().unwrap_or_default()),
        wall_clock_s: facts.runs.map(|_| Seconds { ms: clocks.get(&phase).copied().unwrap_or(0) }),
        phase,
    };
    names.into_iter().map(row).collect()
}

/// The phase that the task is in now.
fn current_phase(task: &Task) -> &str {
    task.phase.as_deref().filter(|phase| !phase.is_empty()).unwrap_or(UNATTRIBUTED)
}

/// The milliseconds of `start..end` by phase. Without windows all of it is the `current` phase; with windows, what
/// lies outside every one is nobody's.
fn split(windows: &[PhaseWindow], start: i64, end: i64, current: &str) -> Vec<(String, i64)> {
    if windows.is_empty() {
        return vec![(own(current), end - start)];
    }
    let mut rest = end - start;
    let mut parts = vec![];
    for window in windows {
        let ms = window.end_ms.unwrap_or(i64::MAX).min(end) - window.start_ms.max(start);
        if ms > 0 {
            parts.push((own(&window.phase), ms));
            rest -= ms;
        }
    }
    if rest > 0 {
        parts.push((UNATTRIBUTED.to_owned(), rest));
    }
    parts
}

/// Subagents with new events in the task's logs or with new calls of their own.
fn rows(facts: &Facts<'_>) -> Vec<Delegation> {
    let mut rows = vec![];
    let cost = |agent: &str| {
        facts.delta.by_agent.get(agent).map(|amount| Figures::from(*amount)).unwrap_or_default()
    };
    for told in facts.dispatched {
        let agent = own(&told.agent_id);
        let seen = facts.task_before.delegation_events.get(&agent).copied().unwrap_or(0);
        let figures = cost(&agent);
        if told.event_count > seen || figures != Figures::default() {
            rows.push(Delegation {
                role: own(&told.role),
                resolved_model: own(&told.resolved_model),
                escalated_from: told.escalated_from.as_deref().map(own),
                dispatch_count: i64::try_from(told.dispatch_count).unwrap_or(i64::MAX),
                outcome: told.outcome.as_str().to_owned(),
                figures,
                agent_id: Some(agent),
            });
        }
    }
    for (agent, _) in facts.delta.by_agent.iter() {
        if rows.iter().any(|row| row.agent_id.as_deref() == Some(agent)) {
            continue;
        }
        rows.push(Delegation {
            agent_id: Some(agent.to_owned()),
            role: facts.agent_types.get(agent).map_or_else(|| "subagent".to_owned(), |kind| own(kind)),
            resolved_model: facts
                .agent_models
                .get(agent)
                .map_or_else(|| "unknown".to_owned(), |model| own(model)),
            escalated_from: None,
            dispatch_count: 1,
            outcome: "unavailable".to_owned(),
            figures: cost(agent),
        });
    }
    rows
}

/// How many delegations have an outcome (contract C.2, `signals.per_delegation_outcome`).
fn coverage(delegations: &[Delegation]) -> &'static str {
    let told = delegations.iter().filter(|row| row.outcome != "unavailable").count();
    match (delegations.len(), told) {
        (0, _) => "n/a",
        (_, 0) => "none",
        (all, told) if all == told => "full",
        _ => "partial",
    }
}
