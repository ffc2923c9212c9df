//! The records of a hook call: economics at a start and at a stop, and the session's events.

use super::{Complaint, errand, evidence, is_time_to_send};
use crate::economics::amount::Amount;
use crate::economics::event::{self, EventError, Named};
use crate::economics::record::{Figures, Record};
use crate::economics::run::{self, Stopped, Subject};
use crate::hosts::{Field, HostEvent, Kind};
use crate::settings::Settings;
use crate::settings::env::Env;
use crate::sys::clock;
use crate::telemetry;
use crate::usage::Runtime;
use serde_json::{Value, json};
use std::path::Path;

/// One hook call, as far as records are concerned.
pub(super) struct Call<'a> {
    pub(super) env: &'a Env,
    pub(super) event: &'a HostEvent<'a>,
    /// The fields of the payload that were not read whole.
    pub(super) cut: &'a [String],
    /// Who reads the host's usage, if anybody can.
    pub(super) runtime: Option<Runtime>,
    /// Where the session has its calls written.
    pub(super) source: Option<&'a Path>,
    /// The folder that the session is recorded under.
    pub(super) home: &'a Path,
    /// Where the agent works, if the host says.
    pub(super) cwd: Option<&'a Path>,
}

/// Writes all records of the call, and wakes the relay. Returns what is to be said.
pub(super) fn write(call: &Call<'_>, mut settings: Settings) -> Vec<Complaint> {
    if let Err(error) = settings.prepare() {
        return vec![Complaint(format!("no place to keep records: {error}"))];
    }
    let now_ms = clock::now_ms();
    let mut said = vec![];
    let record = economics(call, &settings, now_ms, &mut said);
    let sums = record.as_ref().map(usage);
    let usage = record.as_ref().zip(sums.as_ref()).map(|(record, sums)| telemetry::Usage {
        whose: &record.session_id,
        sequence: record.sequence,
        sums,
    });
    let observed = (call.event.kind() == Kind::PostToolUse).then(|| evidence::observe(call));
    said.extend(telemetry::emit(&telemetry::Call {
        event: call.event,
        // An agent that moved on is of the project that its session is recorded under; its economics are too.
        cwd: call.cwd.map(|_| call.home),
        settings: &settings,
        now_ms,
        cut: call.cut,
        usage,
        task_slug: record.as_ref().and_then(|record| record.task_slug.as_deref()),
        observed,
    }));
    if let Some(observed) = observed
        && let Err(refused) = evidence::keep(call, &settings, observed, now_ms)
    {
        said.push(refused.to_string());
    }
    if is_time_to_send(call.event.kind())
        && let Err(error) = errand::wake(call.env, &settings)
    {
        said.push(format!("the relay was not woken: {error}"));
    }
    if call.event.kind() == Kind::Stop {
        said.extend(settings.warnings);
    }
    if said.is_empty() { vec![] } else { vec![Complaint(said.join("; "))] }
}

/// Does what economics has to do at this event; the record of a stop with news.
fn economics(call: &Call<'_>, settings: &Settings, now_ms: i64, said: &mut Vec<String>) -> Option<Record> {
    let event = call.event;
    let ends = event.meaning.ends;
    if !matches!(event.kind(), Kind::AgentSpawn | Kind::SubagentStop | Kind::Stop) {
        return None;
    }
    let Some(session_id) = event.text(Field::Session) else {
        said.push("the payload has no session_id, so the run cannot be told from others".to_owned());
        return None;
    };
    let Some(runtime) = call.runtime else { return foreign(call, session_id, settings, now_ms, said) };
    let subject =
        Subject { host: event.host(), session_id, source: call.source, cwd: call.home, settings, now_ms };
    let done = match event.kind() {
        Kind::AgentSpawn => {
            let resumed = matches!(event.text(Field::Source), Some("resume" | "compact"));
            run::start(&subject, resumed).map(|()| None)
        }
        // A subagent of Codex is a thread of its own, and the rollout of the one that called it is read at its stop: in
        // the middle of a turn nobody knows yet what is billed in it.
        Kind::SubagentStop if runtime == Runtime::Codex => Ok(None),
        Kind::SubagentStop => run::advance(&subject).map(|()| None),
        _ => run::stop(&subject, ends).map(Some),
    };
    done.map_err(|error| said.push(error.to_string())).ok().flatten().and_then(|stopped| {
        let untold = untold(call, settings, stopped.last.as_ref(), said);
        of_stop(stopped, said).or(untold)
    })
}

/// The last record of a session with nothing new, if its usage was never told: a hook was killed after it was recorded.
fn untold(
    call: &Call<'_>,
    settings: &Settings,
    last: Option<&(String, u64)>,
    said: &mut Vec<String>,
) -> Option<Record> {
    let (whose, sequence) = last.filter(|(_, sequence)| *sequence > 0)?;
    if telemetry::is_usage_told(call.event, settings, whose, *sequence) {
        return None;
    }
    run::last_of(call.event.host(), whose, settings)
        .map_err(|error| said.push(error.to_string()))
        .ok()
        .flatten()
}

/// A framework tells its usage itself, if anybody does.
fn foreign(
    call: &Call<'_>,
    session_id: &str,
    settings: &Settings,
    now_ms: i64,
    said: &mut Vec<String>,
) -> Option<Record> {
    let usage = call.event.payload.get("usage").filter(|_| call.event.kind() == Kind::Stop)?;
    let told = json!({
        "session_id": session_id, "timestamp": now_ms.to_string(), "usage": usage,
        "agent": { "runtime": call.event.host() },
    });
    let recorded = event::record(told.to_string().as_bytes(), &Named::default(), settings, call.home);
    recorded
        .map_err(|error: EventError| said.push(error.to_string()))
        .ok()
        .and_then(|stopped| of_stop(stopped, said))
}

fn of_stop(stopped: Stopped, said: &mut Vec<String>) -> Option<Record> {
    said.extend(stopped.warnings);
    said.extend(stopped.handoff.map(|error| error.to_string()));
    stopped.record
}

/// The session's usage so far, as its events tell it: the totals that `record` carries, `null` where nothing could be read.
fn usage(record: &Record) -> Value {
    let totals = &record.session_totals;
    let unknown = record.diagnostics.usage_unknown.is_some() && totals.figures.calls == Some(0);
    let figures = if unknown { Figures::default() } else { totals.figures };
    let mut usage = serde_json::to_value(figures).unwrap_or_default();
    if let Some(fields) = usage.as_object_mut() {
        let model = totals.by_model.iter().max_by_key(|row| Amount::from(row.figures).tokens.total());
        fields.insert("by_model".to_owned(), json!(totals.by_model));
        fields.insert("model".to_owned(), json!(model.map(|row| &row.model)));
        fields.insert("pricing_version".to_owned(), json!(record.pricing_version));
        fields.insert("complete".to_owned(), json!(record.cost.complete));
    }
    usage
}
