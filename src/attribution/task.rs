//! What the run's sidecars say of its task: the field rules (contract C.2), as pure functions over JSON.
//!
//! Each field stands alone. One that is absent or null is `None` in silence; one of the wrong shape is `None` with a
//! warning. The neighbours keep what they say.

use serde_json::Value;

/// A count above this is a broken file.
const MAX: f64 = 1e12;

/// The verification verdict of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    /// `PASS`.
    Pass,
    /// `FAIL`.
    Fail,
    /// `NOT_VERIFIED`, or no verdict that is spelled exactly.
    #[default]
    NotVerified,
}

impl Verdict {
    /// As in a record.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::NotVerified => "NOT_VERIFIED",
        }
    }
}

/// Review findings by severity; what is neither critical, high nor medium counts as low.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Findings {
    /// Critical findings.
    pub critical: i64,
    /// High findings.
    pub high: i64,
    /// Medium findings.
    pub medium: i64,
    /// All other findings.
    pub low: i64,
}

/// The cumulative counters of a task, each in 0..=10¹²; `None` where no sidecar says, or where it says nonsense.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// How often a gate stopped the work.
    pub gate_fires: Option<i64>,
    /// Findings of all critiques; `None` as a whole, because a part of them would be an undercount.
    pub findings: Option<Findings>,
    /// "Done" claims that a review refuted.
    pub caught_false_completions: Option<i64>,
    /// How often the work was sent back to an earlier step.
    pub route_backs: Option<i64>,
    /// Iterations begun.
    pub iterations: Option<i64>,
    /// Seconds spent waiting for a human.
    pub human_wait_s: Option<i64>,
}

/// The three sidecars as read; `Null` for one that is missing, unreadable or no object.
#[derive(Debug, Default)]
pub struct Documents {
    /// `state.json`.
    pub state: Value,
    /// `acceptance.json`.
    pub acceptance: Value,
    /// `critique.json`.
    pub critique: Value,
}

impl Documents {
    /// `state.task_slug`.
    #[must_use]
    pub fn task_slug(&self, warnings: &mut Vec<String>) -> Option<String> {
        text(&self.state, "task_slug", warnings)
    }

    /// `state.phase`.
    #[must_use]
    pub fn phase(&self, warnings: &mut Vec<String>) -> Option<String> {
        text(&self.state, "phase", warnings)
    }

    /// `state.status`.
    #[must_use]
    pub fn status(&self, warnings: &mut Vec<String>) -> Option<String> {
        text(&self.state, "status", warnings)
    }

    /// `state.flow_run.run_id`, the name of the canonical run.
    #[must_use]
    pub fn run_id(&self) -> Option<&str> {
        self.state.pointer("/flow_run/run_id").and_then(Value::as_str)
    }

    /// The first verdict of critique, acceptance and state that is there decides, even when it is misspelled.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let candidates = [
            (&self.critique, "verification_verdict"),
            (&self.acceptance, "verification_verdict"),
            (&self.state, "verification_verdict"),
            (&self.state, "verify_verdict"),
        ];
        let first = candidates.into_iter().find_map(|(document, field)| present(document.get(field)));
        match first.and_then(Value::as_str) {
            Some("PASS") => Verdict::Pass,
            Some("FAIL") => Verdict::Fail,
            _ => Verdict::NotVerified,
        }
    }

    /// All counters.
    #[must_use]
    pub fn counters(&self, warnings: &mut Vec<String>) -> Counters {
        let Self { state, critique, .. } = self;
        let findings = self.findings(warnings);
        let caught = match present(critique.get("caught_false_completions")) {
            Some(_) => count(&[(critique, "/caught_false_completions")], warnings),
            None => findings.as_deref().and_then(count_false_completions),
        };
        Counters {
            gate_fires: count(&[(critique, "/gate_fires"), (state, "/gate_fires")], warnings),
            findings: findings.as_deref().map(by_severity),
            caught_false_completions: caught,
            route_backs: count(&[(state, "/iterations/route_backs"), (state, "/route_backs")], warnings),
            iterations: count(&[(state, "/iterations/count"), (state, "/iteration_count")], warnings),
            human_wait_s: seconds(state, "/human_wait_s", warnings),
        }
    }

    /// Every finding of every critique; `None` without a list of critiques, or when any part of it is malformed.
    fn findings(&self, warnings: &mut Vec<String>) -> Option<Vec<&Value>> {
        let critiques = present(self.critique.get("critiques"))?;
        let findings = flatten_findings(critiques);
        if findings.is_none() {
            warnings.push("critiques or their findings are malformed: no finding is counted".to_owned());
        }
        findings
    }
}

fn flatten_findings(critiques: &Value) -> Option<Vec<&Value>> {
    let mut all = Vec::new();
    for critique in critiques.as_array()? {
        let Some(findings) = present(critique.as_object()?.get("findings")) else { continue };
        for finding in findings.as_array()? {
            finding.as_object()?;
            all.push(finding);
        }
    }
    Some(all)
}

fn by_severity(findings: &[&Value]) -> Findings {
    let mut counts = Findings::default();
    for finding in findings {
        let severity = finding.get("severity").and_then(Value::as_str).unwrap_or_default();
        let count = match severity.to_ascii_lowercase().as_str() {
            "critical" => &mut counts.critical,
            "high" => &mut counts.high,
            "medium" => &mut counts.medium,
            _ => &mut counts.low,
        };
        *count += 1;
    }
    counts
}

fn count_false_completions(findings: &[&Value]) -> Option<i64> {
    i64::try_from(findings.iter().filter(|finding| is_false_completion(finding)).count()).ok()
}

fn is_false_completion(finding: &Value) -> bool {
    let says_so = |field| {
        let text = finding.get(field).and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
        ["falsecompletion", "false_completion", "false-completion"].iter().any(|name| text.contains(name))
    };
    finding.get("false_completion") == Some(&Value::Bool(true)) || says_so("category") || says_so("type")
}

fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

/// A string field; an empty one says nothing.
fn text(document: &Value, field: &str, warnings: &mut Vec<String>) -> Option<String> {
    let value = present(document.get(field))?;
    match value.as_str() {
        Some(text) => Some(text.to_owned()).filter(|text| !text.is_empty()),
        None => {
            warnings.push(format!("{field} is not a string"));
            None
        }
    }
}

/// The first candidate that is there decides: a whole number, or nothing.
fn count(candidates: &[(&Value, &str)], warnings: &mut Vec<String>) -> Option<i64> {
    let (value, field) =
        candidates.iter().find_map(|(document, field)| Some((present(document.pointer(field))?, field)))?;
    let whole = in_bounds(value).filter(|number| number.fract() == 0.0);
    if whole.is_none() {
        warnings.push(format!("{} is not a whole number from 0 to 10^12", field.trim_start_matches('/')));
    }
    whole.map(to_integer)
}

/// A duration, to the nearest second.
fn seconds(document: &Value, field: &str, warnings: &mut Vec<String>) -> Option<i64> {
    let seconds = in_bounds(present(document.pointer(field))?);
    if seconds.is_none() {
        warnings.push(format!("{} is not a number from 0 to 10^12", field.trim_start_matches('/')));
    }
    seconds.map(to_integer)
}

fn in_bounds(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| (0.0..=MAX).contains(number))
}

#[expect(clippy::cast_possible_truncation, reason = "bounded by MAX, far below 2^53")]
fn to_integer(number: f64) -> i64 {
    number.round() as i64
}

#[cfg(test)]
mod tests;
