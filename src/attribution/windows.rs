//! Phase windows: which step of the canonical run was active when (contract C.6).
//!
//! Each dated transition opens the window of the step it leads to; the next one closes it. Windows are half-open,
//! `[start, end)`, in order and never overlap. Time before the first transition belongs to no step, and pauses do not
//! matter: a call made during one was still made for the step.

use serde_json::Value;

use crate::sys::{clock, order};

/// A time in which one step was active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseWindow {
    /// The step.
    pub phase: String,
    /// Its first millisecond (epoch, UTC).
    pub start_ms: i64,
    /// The first millisecond after it; `None` while the run is still in this step.
    pub end_ms: Option<i64>,
}

/// The step that was active at `ms` (epoch milliseconds); `None` outside all windows.
#[must_use]
pub fn phase_at(windows: &[PhaseWindow], ms: i64) -> Option<&str> {
    let holds = |window: &&PhaseWindow| window.start_ms <= ms && window.end_ms.is_none_or(|end| ms < end);
    windows.iter().find(holds).map(|window| window.phase.as_str())
}

/// Why the file of a run gives no windows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A field that every run has is missing, null or of the wrong shape.
    #[error("{0} is missing or malformed")]
    Field(&'static str),
    /// Whether the run has ended cannot be told.
    #[error("unknown status {0:?}")]
    Status(String),
    /// Several steps were active at once: one window per moment cannot say that.
    #[error("the run has concurrent step claims")]
    MultiCursor,
}

const REQUIRED: [&str; 4] = ["schema_version", "run_id", "status", "current_step"];

/// Derives the windows from the content of a run's `state.json`. Transitions without a readable time or step are
/// passed over, windows without duration are dropped.
///
/// # Errors
/// When the run is not one that windows can be derived from.
pub fn derive(run: &Value) -> Result<Vec<PhaseWindow>, Refusal> {
    if let Some(missing) = REQUIRED.into_iter().find(|field| run.get(field).is_none_or(Value::is_null)) {
        return Err(Refusal::Field(missing));
    }
    let terminal = is_terminal(run)?;
    if has_several_cursors(run) {
        return Err(Refusal::MultiCursor);
    }
    let transitions =
        run.get("transitions").and_then(Value::as_array).ok_or(Refusal::Field("transitions"))?;
    let mut starts: Vec<(i64, &str)> = transitions.iter().filter_map(dated_step).collect();
    order::sort_by_key(&mut starts, |(at, _)| *at);

    // A run that ended was in its last step until its last change; without that time the step has no known duration.
    let ended = terminal.then(|| run.get("updated_at").and_then(time).unwrap_or(i64::MIN));
    let ends = starts.iter().skip(1).map(|(at, _)| Some(*at)).chain([ended]);
    let windows = starts.iter().zip(ends).map(|((start_ms, phase), end_ms)| PhaseWindow {
        phase: (*phase).to_owned(),
        start_ms: *start_ms,
        end_ms,
    });
    Ok(windows.filter(|window| window.end_ms.is_none_or(|end| window.start_ms < end)).collect())
}

fn is_terminal(run: &Value) -> Result<bool, Refusal> {
    match run.get("status").and_then(Value::as_str).ok_or(Refusal::Field("status"))? {
        "active" | "blocked" | "needs_decision" | "paused" => Ok(false),
        "canceled" | "completed" | "failed" | "accepted_by_exception" => Ok(true),
        other => Err(Refusal::Status(other.to_owned())),
    }
}

fn has_several_cursors(run: &Value) -> bool {
    let claims =
        |field| run.pointer(field).and_then(Value::as_array).is_some_and(|claims| !claims.is_empty());
    claims("/multi_cursor/active_claims") || claims("/multi_cursor/claim_history")
}

fn dated_step(transition: &Value) -> Option<(i64, &str)> {
    let step = |field| transition.get(field).and_then(Value::as_str).filter(|step| !step.is_empty());
    Some((transition.get("at").and_then(time)?, step("to_step").or_else(|| step("from_step"))?))
}

fn time(value: &Value) -> Option<i64> {
    clock::parse_rfc3339(value.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/flow-agents");

    fn ms(text: &str) -> i64 {
        clock::parse_rfc3339(text).unwrap()
    }

    fn golden_state(row: &Value) -> Value {
        let Some(fixture) = row["fixture"].as_str() else { return row["state"].clone() };
        let name = Path::new(fixture).parent().unwrap().file_name().unwrap();
        let path = Path::new(FIXTURES).join("economics-run-binding").join(name).join("state.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    #[test]
    fn golden_windows_and_refusals() {
        let golden = std::fs::read_to_string(format!("{FIXTURES}/golden/flow-run-economics.jsonl")).unwrap();
        let mut rows = 0;
        for line in golden.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let derived = derive(&golden_state(&row));
            rows += 1;
            if row["derived"]["ok"] == false {
                assert!(derived.is_err(), "{}", row["name"]);
                continue;
            }
            let now = ms(row["now"].as_str().unwrap());
            let ours: Vec<_> = derived
                .unwrap()
                .into_iter()
                .map(|window| (window.phase, window.start_ms, window.end_ms.unwrap_or(now)))
                .collect();
            let theirs: Vec<_> = row["derived"]["phase_windows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|window| {
                    let text = |field: &str| window[field].as_str().unwrap();
                    (text("phase").to_owned(), ms(text("start")), ms(text("end")))
                })
                .collect();
            assert_eq!(ours, theirs, "{}", row["name"]);
        }
        assert_eq!(rows, 37);
    }

    #[test]
    fn windows_are_half_open_and_the_last_one_of_a_live_run_has_no_end() {
        let run = serde_json::json!({
            "schema_version": "1", "run_id": "r", "status": "active", "current_step": "b",
            "transitions": [
                {"to_step": "b", "at": "1970-01-01T01:00:02+01:00"},
                {"to_step": "a", "at": "1970-01-01T00:00:01.000Z"}
            ]
        });
        let windows = derive(&run).unwrap();
        let at = |ms| phase_at(&windows, ms);
        assert_eq!(
            [at(999), at(1000), at(1999), at(2000), at(i64::MAX)],
            [None, Some("a"), Some("a"), Some("b"), Some("b")]
        );
    }
}
