//! The record of one run: `kontour.console.economics` version `"0.1"` with Tally's additions (DESIGN §8).
//!
//! Field sources are in the contract C.2. A value that is not known is `null` here; what leaves the machine is
//! [`super::outgoing`]. `cost` and `defects` are plain fields: no record carries one without the other.
//!
//! `cost`, `phases[]`, `cost.by_model[]` and `delegations[]` are *deltas*: what is new since the session's last
//! record. Sums over the records of a session are the session.

use super::amount::{Amount, Parts, Totals};
use crate::pricing::Usd;
use crate::usage::{Credits, Tokens};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// The value of `schema`.
pub const SCHEMA: &str = "kontour.console.economics";
/// The value of `version`: the only one that the deployed Console accepts (Console ingest §0.1).
pub const VERSION: &str = "0.1";

/// One run's economics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Always [`VERSION`].
    pub version: String,
    /// The session id for the session's first record, `<session id>.<n>` from the second on.
    pub run_id: String,
    /// Epoch milliseconds, as a string (Console ingest §3).
    pub at: String,
    /// The task, if the run belonged to one.
    pub task_slug: Option<String>,
    /// Path-free label of the project.
    pub project: Option<String>,
    /// Canonical id of the model with most tokens in this run.
    pub model: Option<String>,
    /// The price list that the latest priced call was priced by.
    pub pricing_version: Option<String>,
    /// What the run cost.
    pub cost: Cost,
    /// How long it took.
    pub time: Time,
    /// The same amounts by phase; they add up to `cost` and `time`, exactly.
    pub phases: Vec<Phase>,
    /// How often it went round and back.
    pub iterations: Iterations,
    /// What was caught.
    pub defects: Defects,
    /// Subagents with news in this run.
    pub delegations: Vec<Delegation>,
    /// What the host lets us see.
    pub signals: Signals,
    /// The tenant, if one is configured.
    pub tenant_id: Option<String>,
    /// The host's session id.
    pub session_id: String,
    /// 1 for the session's first record.
    pub sequence: u64,
    /// Always `"delta"`.
    pub usage_semantics: String,
    /// What the session's first delta was counted from.
    pub baseline: Baseline,
    /// The session's records so far, this one included.
    pub session_totals: SessionTotals,
    /// The task's counters so far, this record included; `null` where no sidecar tells anything.
    pub task_totals: Option<TaskTotals>,
    /// What was met and not counted, and how calls were priced.
    pub diagnostics: RunDiagnostics,
    /// Paths of numbers that the Console demands and nobody knows: 0 stands there in what leaves. Empty in the
    /// journal, which keeps `null`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_fields: Vec<String>,
}

/// From where a session's first record counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// The session was seen starting.
    SessionStart,
    /// It was not: the whole transcript counts.
    Transcript,
}

/// Tokens and money, `null` where unknown. Written out flat wherever an amount stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Uncached, unwritten prompt tokens.
    pub input_tokens: Option<i64>,
    /// All billed output tokens.
    pub output_tokens: Option<i64>,
    /// Cache writes of both lifetimes.
    pub cache_creation_input_tokens: Option<i64>,
    /// The part of the cache writes that is kept for one hour.
    #[serde(default)]
    pub cache_creation_1h_input_tokens: Option<i64>,
    /// Cache hits.
    pub cache_read_input_tokens: Option<i64>,
    /// Server-side web searches.
    #[serde(default)]
    pub web_search_requests: Option<i64>,
    /// Billed requests.
    #[serde(default)]
    pub calls: Option<i64>,
    /// Tokens that are in no price list, and so not in the cost.
    #[serde(default)]
    pub unpriced_tokens: Option<i64>,
    /// USD; the sum of the priced part, `null` when no part is priced.
    pub estimated_cost_usd: Option<Usd>,
    /// Credits, of hosts that sell those; not part of the cost. Left out where none were charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<Credits>,
    /// Billed requests that the host writes no counts of; left out when there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncounted_calls: Option<i64>,
}

impl From<Amount> for Figures {
    fn from(amount: Amount) -> Self {
        let tokens = amount.known_tokens();
        let written = |tokens: Tokens| tokens.cache_write_5m + tokens.cache_write_1h;
        Self {
            input_tokens: tokens.map(|tokens| tokens.input),
            output_tokens: tokens.map(|tokens| tokens.output),
            cache_creation_input_tokens: tokens.map(written),
            cache_creation_1h_input_tokens: tokens.map(|tokens| tokens.cache_write_1h),
            cache_read_input_tokens: tokens.map(|tokens| tokens.cache_read),
            web_search_requests: tokens.map(|tokens| tokens.web_search_requests),
            calls: Some(amount.calls),
            unpriced_tokens: tokens.map(|_| amount.unpriced_tokens),
            estimated_cost_usd: amount.known_cost(),
            credits: amount.credits,
            uncounted_calls: Some(amount.uncounted_calls).filter(|calls| *calls != 0),
        }
    }
}

impl From<Figures> for Amount {
    /// Reads an amount back; what is unknown adds nothing.
    fn from(figures: Figures) -> Self {
        let one_hour = figures.cache_creation_1h_input_tokens.unwrap_or(0);
        Self {
            tokens: Tokens {
                input: figures.input_tokens.unwrap_or(0),
                output: figures.output_tokens.unwrap_or(0),
                cache_write_5m: figures.cache_creation_input_tokens.unwrap_or(0) - one_hour,
                cache_write_1h: one_hour,
                cache_read: figures.cache_read_input_tokens.unwrap_or(0),
                web_search_requests: figures.web_search_requests.unwrap_or(0),
            },
            cost: figures.estimated_cost_usd.unwrap_or_default(),
            calls: figures.calls.unwrap_or(0),
            unpriced_tokens: figures.unpriced_tokens.unwrap_or(0),
            uncounted_calls: figures.uncounted_calls.unwrap_or(0),
            credits: figures.credits,
        }
    }
}

/// What the run cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The sum.
    #[serde(flatten)]
    pub figures: Figures,
    /// The same by model.
    pub by_model: Vec<ModelFigures>,
    /// True only when every call is priced and counted.
    pub complete: bool,
    /// Canonical ids without a price.
    pub unpriced_models: Vec<String>,
}

/// One model's share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelFigures {
    /// Canonical model id.
    pub model: String,
    /// Its share.
    #[serde(flatten)]
    pub figures: Figures,
}

impl ModelFigures {
    /// Every model of `parts`, in order of its id.
    #[must_use]
    pub fn all(parts: &Parts) -> Vec<Self> {
        let row =
            |(model, amount): (&str, &Amount)| Self { model: model.to_owned(), figures: (*amount).into() };
        parts.iter().map(row).collect()
    }
}

/// How long the run took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Time {
    /// From the run's prompt, else its first call, to the stop; the time between runs is nobody's.
    pub wall_clock_s: Option<Seconds>,
    /// How long the task waited for a person, as its sidecar says.
    pub human_wait_s: Seconds,
}

/// One phase's share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The phase, or `"unattributed"`.
    pub phase: String,
    /// Its share.
    #[serde(flatten)]
    pub figures: Figures,
    /// Its share of the wall clock.
    pub wall_clock_s: Option<Seconds>,
}

/// Rounds of the task that are new in this record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iterations {
    /// Iterations; a run without a task counts one.
    pub count: i64,
    /// Returns to an earlier phase.
    pub route_backs: i64,
}

/// What was caught, as far as it is new in this record; the verdict is the current one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defects {
    /// Times a gate held the run up.
    pub gate_fires: i64,
    /// Review findings.
    pub findings_by_severity: Severities,
    /// Claims of completion that proved false.
    pub caught_false_completions: i64,
    /// `PASS`, `FAIL` or `NOT_VERIFIED`.
    pub verification_verdict: String,
}

/// Findings by severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Severities {
    /// Critical findings.
    pub critical: i64,
    /// High findings.
    pub high: i64,
    /// Medium findings.
    pub medium: i64,
    /// All other findings.
    pub low: i64,
}

impl Severities {
    /// All findings.
    #[must_use]
    pub fn sum(&self) -> i64 {
        self.critical + self.high + self.medium + self.low
    }
}

/// A subagent with news.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delegation {
    /// The subagent, as its log or the host names it.
    pub agent_id: Option<String>,
    /// Its role; the host's agent type where no log tells.
    pub role: String,
    /// Its model, as routed, else as billed.
    pub resolved_model: String,
    /// The role that it was escalated from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalated_from: Option<String>,
    /// How often it was sent off.
    pub dispatch_count: i64,
    /// `accepted`, `rework`, `diverged`, `failed` or `unavailable`.
    pub outcome: String,
    /// Its own calls, where the host writes them.
    #[serde(flatten)]
    pub figures: Figures,
}

/// What the host lets us see, so that a zero can be told from a blind spot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signals {
    /// The host.
    pub runtime: Option<String>,
    /// Whether a delegation in this record carries its own tokens.
    pub per_delegation_tokens: bool,
    /// `full`, `partial`, `none` or `n/a`.
    pub per_delegation_outcome: String,
}

/// The session so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionTotals {
    /// The known part of the wall clock.
    pub wall_clock_s: Seconds,
    /// The sum over its records.
    #[serde(flatten)]
    pub figures: Figures,
    /// The same by model.
    pub by_model: Vec<ModelFigures>,
}

/// The task so far: the largest value seen of each counter, so that nothing is reported twice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskTotals {
    /// As in [`Defects`].
    pub gate_fires: i64,
    /// As in [`Defects`].
    pub findings_by_severity: Severities,
    /// As in [`Defects`].
    pub caught_false_completions: i64,
    /// As in [`Iterations`].
    pub iterations: i64,
    /// As in [`Iterations`].
    pub route_backs: i64,
    /// As in [`Time`].
    pub human_wait_s: Seconds,
    /// Events in the log of each of the task's subagents.
    pub delegation_events: BTreeMap<String, u64>,
}

/// What was met and not counted since the last record, and how calls were priced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunDiagnostics {
    /// Lines with usage that could not be read.
    pub unreadable_lines: u64,
    /// Requests that the host writes of, and writes nothing to count.
    #[serde(skip_serializing_if = "is_zero")]
    pub uncounted_calls: u64,
    /// Calls priced at the current list because they have no timestamp.
    pub calls_without_timestamp: u64,
    /// Calls older than the first price list, priced by it.
    pub calls_before_first_prices: u64,
    /// Models priced at the default rate that the price list in force itself defines.
    pub default_priced_models: Vec<String>,
    /// Why usage is unknown, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_unknown: Option<String>,
    /// Delegations left out because the record would have grown too large.
    #[serde(skip_serializing_if = "is_zero")]
    pub delegations_omitted: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Record {
    /// What this record added to its session, read back.
    #[must_use]
    pub fn delta(&self) -> Totals {
        let mut delta = Totals { sum: self.cost.figures.into(), ..Totals::default() };
        for row in &self.cost.by_model {
            delta.by_model.add(&row.model, row.figures.into());
        }
        for row in &self.phases {
            delta.by_phase.add(&row.phase, row.figures.into());
        }
        for row in &self.delegations {
            if let Some(agent) = &row.agent_id {
                delta.by_agent.add(agent, row.figures.into());
            }
        }
        delta
    }
}

/// A duration in milliseconds, written in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds {
    /// Milliseconds.
    pub ms: i64,
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.ms % 1000 == 0 {
            to.serialize_i64(self.ms / 1000)
        } else {
            to.serialize_f64(self.ms as f64 / 1000.0)
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(from)?;
        Ok(Self { ms: (seconds * 1000.0).round() as i64 })
    }
}
