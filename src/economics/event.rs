//! `economics record`: a `session.usage` event becomes a record (contract C; DESIGN §7, last paragraph on deltas).
//!
//! The event's usage is a cumulative snapshot of its session unless it says `semantics: "delta"`; what the journal holds
//! of the session is taken off. In a fresh data directory the record has the fields and values of the contract.
//! A value that is no count costs only itself and is unknown; a negative one is no count.

use super::amount::{Amount, Parts, Totals};
use super::assemble::{Facts, assemble, has_news};
use super::reconcile;
use super::record::{Baseline, Figures, Record, RunDiagnostics};
use super::run::{RunError, Stopped, at, open_journal, write};
use crate::attribution::delegations;
use crate::attribution::project::Project;
use crate::attribution::sidecar;
use crate::journal::label::label;
use crate::pricing::Usd;
use crate::settings::Settings;
use crate::sys::{clock, order};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The sidecars that a caller names instead of letting them be found.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// The task's state.
    pub state: Option<PathBuf>,
    /// Its acceptance.
    pub acceptance: Option<PathBuf>,
    /// Its critique.
    pub critique: Option<PathBuf>,
    /// The folder of its subagents.
    pub agents_dir: Option<PathBuf>,
}

/// Why an event cannot become a record.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// It is not a JSON object.
    #[error("the event is not a JSON object: {0}")]
    NotJson(String),
    /// It does not say whose usage it is.
    #[error("the event has no session_id, so its record could not be told from others")]
    NoSession,
    /// It could not be recorded.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Records an event. `cwd` is where sidecars are looked for when the event names no folder.
///
/// # Errors
/// When the event cannot be understood or the journal cannot be written.
pub fn record(event: &[u8], named: &Named, settings: &Settings, cwd: &Path) -> Result<Stopped, EventError> {
    let event: Value =
        serde_json::from_slice(event).map_err(|error| EventError::NotJson(error.to_string()))?;
    if !event.is_object() {
        return Err(EventError::NotJson("it is another JSON value".to_owned()));
    }
    let session_id = event
        .get("session_id")
        .and_then(Value::as_str)
        .filter(|id| !id.is_empty())
        .ok_or(EventError::NoSession)?;
    let usage = Snapshot::of(event.get("usage").unwrap_or(&Value::Null));
    let at_ms = event.get("timestamp").and_then(timestamp).unwrap_or_else(clock::now_ms);

    let bases = settings.workspace.sidecar_bases();
    let mut task = sidecar::read(&sidecar::Lookup {
        bases: &bases,
        actor: None,
        state: named.state.as_deref(),
        acceptance: named.acceptance.as_deref(),
        critique: named.critique.as_deref(),
        agents_dir: named.agents_dir.as_deref(),
    });
    let dispatched = task.agents_dir.as_deref().map(delegations::read).unwrap_or_default();

    let mut journal = open_journal(settings)?;
    let last = reconcile::last_of_session(&label(session_id), None, &mut journal).map_err(at("journal"))?;
    let task_before = match &task.slug {
        Some(slug) => reconcile::task(&label(slug), &mut journal).map_err(at("journal"))?,
        // Named sidecars may belong to no task: their baseline is the session's.
        None => {
            let last = last.as_ref().filter(|last| last.task_slug.is_none());
            last.and_then(|last| last.task_totals.clone()).unwrap_or_default()
        }
    };
    if task.counters.human_wait_s.is_none() {
        let earlier = if usage.is_delta { task_before.human_wait_s.ms / 1000 } else { 0 };
        task.counters.human_wait_s = usage.human_wait_s.map(|waited| earlier + waited);
    }
    let before = last.as_ref().map(Before::of).unwrap_or_default();
    let snapshot = !usage.is_delta;
    let phase = label(task.phase_at(None)).into_owned();
    let nothing = Totals::default();
    let mut delta = usage.totals(&phase, if snapshot { &before.recorded } else { &nothing });
    let mut wall_ms = usage.duration_ms;
    if snapshot {
        delta.subtract_all(&before.totals(&phase));
        wall_ms = wall_ms.map(|ms| (ms - before.wall_ms).max(0));
    }
    let runs = wall_ms.map(|ms| vec![(at_ms - ms, at_ms)]);
    let facts = Facts {
        host: event.pointer("/agent/runtime").and_then(Value::as_str),
        session_id,
        sequence: before.sequence + 1,
        baseline: last.as_ref().map_or(Baseline::Transcript, |last| last.baseline),
        at_ms,
        delta: &delta,
        recorded: &before.recorded,
        recorded_wall_ms: before.wall_ms,
        runs: runs.as_deref(),
        pricing_version: usage.pricing_version.clone(),
        agent_models: &BTreeMap::new(),
        agent_types: &BTreeMap::new(),
        task: &task,
        dispatched: &dispatched.agents,
        task_before: &task_before,
        project: project(&event, settings, cwd),
        tenant: settings.tenant.clone(),
        diagnostics: RunDiagnostics {
            usage_unknown: usage.is_unknown().then(|| "the event tells no usage".to_owned()),
            ..RunDiagnostics::default()
        },
    };
    let record = (before.sequence == 0 || has_news(&facts)).then(|| usage.complete(assemble(&facts)));
    let handoff = write(&mut journal, record.as_ref(), settings)?;
    let warnings = [task.warnings, dispatched.warnings].concat();
    Ok(Stopped { record, last: None, handoff, warnings })
}

/// What the journal holds of the session.
#[derive(Debug, Default)]
struct Before {
    sequence: u64,
    recorded: Totals,
    wall_ms: i64,
}

impl Before {
    fn of(last: &Record) -> Self {
        let mut recorded = Totals { sum: last.session_totals.figures.into(), ..Totals::default() };
        for row in &last.session_totals.by_model {
            recorded.by_model.add(&row.model, row.figures.into());
        }
        Self { sequence: last.sequence, recorded, wall_ms: last.session_totals.wall_clock_s.ms }
    }

    /// The same, all of it in `phase`: an event does not tell phases apart.
    fn totals(&self, phase: &str) -> Totals {
        let mut totals = self.recorded.clone();
        totals.by_phase.add(phase, totals.sum);
        totals
    }
}

/// The `usage` of an event, each value `None` when it is missing or no count.
#[derive(Debug)]
struct Snapshot {
    is_delta: bool,
    figures: Figures,
    by_model: Vec<(String, Figures)>,
    model: Option<String>,
    pricing_version: Option<String>,
    duration_ms: Option<i64>,
    human_wait_s: Option<i64>,
}

impl Snapshot {
    fn of(usage: &Value) -> Self {
        let rows = usage.get("by_model").and_then(Value::as_array).into_iter().flatten();
        let row = |row: &Value| Some((label(row.get("model")?.as_str()?).into_owned(), figures(row)));
        let text = |name: &str| {
            let text = usage.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(|text| label(text).into_owned())
        };
        Self {
            is_delta: usage.get("semantics").is_some_and(|semantics| semantics == "delta"),
            figures: figures(usage),
            by_model: rows.filter_map(row).collect(),
            model: text("model"),
            pricing_version: text("pricing_version"),
            duration_ms: number(usage, "duration_s").map(|seconds| (seconds * 1000.0).round() as i64),
            human_wait_s: number(usage, "human_wait_s").map(|seconds| seconds.round() as i64),
        }
    }

    fn is_unknown(&self) -> bool {
        self.figures == Figures::default()
    }

    /// What the event adds up to, all of it in `phase`. What it does not tell is as it was `before`: nothing new is known
    /// of it.
    fn totals(&self, phase: &str, before: &Totals) -> Totals {
        let mut by_model = Parts::default();
        for (model, figures) in &self.by_model {
            by_model.add(model, amount(figures, &before.by_model.get(model).copied().unwrap_or_default()));
        }
        for (model, amount) in before.by_model.iter() {
            if self.by_model.iter().all(|(told, _)| told != model) {
                by_model.add(model, *amount);
            }
        }
        let sum = amount(&self.figures, &before.sum);
        let mut by_phase = Parts::default();
        by_phase.add(phase, sum);
        Totals { sum, by_model, by_phase, by_agent: Parts::default() }
    }

    /// Puts into a record what only the event knows, and takes out what it does not know.
    fn complete(&self, mut record: Record) -> Record {
        record.model = self.model.clone().or(record.model);
        let told = self.figures;
        keep_told(&mut record.cost.figures, &told);
        record.phases.iter_mut().for_each(|row| keep_told(&mut row.figures, &told));
        // The rows of the models stand in the event's order: its first is the one that was used first.
        let place = |model: &str| self.by_model.iter().position(|(told, _)| told == model);
        order::sort_by_key(&mut record.cost.by_model, |row| place(&row.model).unwrap_or(usize::MAX));
        for row in &mut record.cost.by_model {
            let told = place(&row.model).and_then(|at| self.by_model.get(at));
            keep_told(&mut row.figures, &told.map(|(_, figures)| *figures).unwrap_or_default());
        }
        let all_told = [
            told.input_tokens,
            told.output_tokens,
            told.cache_creation_input_tokens,
            told.cache_read_input_tokens,
        ]
        .iter()
        .all(Option::is_some);
        record.cost.complete = record.cost.complete && all_told && told.estimated_cost_usd.is_some();
        record
    }
}

/// Takes out of `figures` what the event did not tell; an event never tells calls.
fn keep_told(figures: &mut Figures, told: &Figures) {
    let pairs = [
        (&mut figures.input_tokens, told.input_tokens),
        (&mut figures.output_tokens, told.output_tokens),
        (&mut figures.cache_creation_input_tokens, told.cache_creation_input_tokens),
        (&mut figures.cache_creation_1h_input_tokens, told.cache_creation_1h_input_tokens),
        (&mut figures.cache_read_input_tokens, told.cache_read_input_tokens),
        (&mut figures.web_search_requests, told.web_search_requests),
        (&mut figures.calls, told.calls),
    ];
    for (figure, told) in pairs {
        *figure = figure.filter(|_| told.is_some());
    }
    figures.estimated_cost_usd = figures.estimated_cost_usd.filter(|_| told.estimated_cost_usd.is_some());
}

/// The amount that `told` and `before` make together. Tokens for which no cost is told are unpriced.
fn amount(told: &Figures, before: &Amount) -> Amount {
    let known = Figures::from(*before);
    let amount = Amount::from(Figures {
        input_tokens: told.input_tokens.or(known.input_tokens),
        output_tokens: told.output_tokens.or(known.output_tokens),
        cache_creation_input_tokens: told.cache_creation_input_tokens.or(known.cache_creation_input_tokens),
        cache_creation_1h_input_tokens: told
            .cache_creation_1h_input_tokens
            .or(known.cache_creation_1h_input_tokens),
        cache_read_input_tokens: told.cache_read_input_tokens.or(known.cache_read_input_tokens),
        web_search_requests: told.web_search_requests.or(known.web_search_requests),
        calls: known.calls,
        unpriced_tokens: None,
        estimated_cost_usd: told.estimated_cost_usd.or(Some(before.cost)),
        credits: known.credits,
        uncounted_calls: known.uncounted_calls,
    });
    let new_tokens = amount.tokens.total() - before.tokens.total();
    let unpriced_tokens =
        if told.estimated_cost_usd.is_none() { before.unpriced_tokens + new_tokens } else { 0 };
    Amount { unpriced_tokens, ..amount }
}

fn figures(of: &Value) -> Figures {
    let count = |name: &str| number(of, name).filter(|count| count.fract() == 0.0).map(|count| count as i64);
    Figures {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cache_creation_input_tokens: count("cache_creation_input_tokens"),
        cache_creation_1h_input_tokens: count("cache_creation_1h_input_tokens"),
        cache_read_input_tokens: count("cache_read_input_tokens"),
        web_search_requests: count("web_search_requests"),
        calls: None,
        unpriced_tokens: None,
        estimated_cost_usd: number(of, "estimated_cost_usd")
            .map(|usd| Usd::from_pico((usd * 1e12).round() as i128)),
        credits: None,
        uncounted_calls: None,
    }
}

/// A number that can be counted on: finite, not negative, within reason.
fn number(of: &Value, name: &str) -> Option<f64> {
    of.get(name)?.as_f64().filter(|number| (0.0..=1e12).contains(number))
}

/// Epoch milliseconds, as digits, as a number, or as RFC 3339.
fn timestamp(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok().or_else(|| clock::parse_rfc3339(text)),
        _ => None,
    }
}

fn project(event: &Value, settings: &Settings, cwd: &Path) -> Option<String> {
    if let Some(told) =
        event.pointer("/context/project").and_then(Value::as_str).filter(|told| !told.is_empty())
    {
        return Some(label(told).into_owned());
    }
    let repository = settings.workspace.repository.as_ref();
    Project::new(cwd, repository, settings.project.as_deref(), settings.home.as_deref())?
        .label()
        .map(|label| label.text)
}
