//! `tally economics`: an event becomes a record, and records are shown.

mod contract;
mod deltas;
mod golden;
mod input;
pub(crate) mod schemas;

use crate::env::{TestEnv, fixture};
use serde_json::{Value, json};
use std::process::Output;

/// The event of flow-agents' own fixture.
fn fixture_event() -> Value {
    let path = fixture("flow-agents/economics/session-usage-event.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// An event of session `s1` with `usage`, at a fixed time.
fn event(usage: Value) -> Value {
    json!({
        "schema_version": "0.3.0", "timestamp": "1751731200000", "session_id": "s1", "event_type": "session.usage",
        "agent": {"name": "dev", "runtime": "claude-code", "version": "1"}, "usage": usage
    })
}

/// A usage block in which everything is told.
fn told(input: i64, output: i64, usd: f64, seconds: i64) -> Value {
    json!({
        "model": "claude-opus-4-8", "pricing_version": "2026-06-28", "duration_s": seconds,
        "input_tokens": input, "output_tokens": output, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0, "estimated_cost_usd": usd,
        "by_model": [{
            "model": "claude-opus-4-8", "input_tokens": input, "output_tokens": output,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "estimated_cost_usd": usd
        }]
    })
}

/// Records `event`, which must succeed; standard output stays empty.
fn record(env: &TestEnv, event: &Value, args: &[&str]) -> Output {
    let output = env.feed(&[&["economics", "record"], args].concat(), event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    output
}

/// Writes a sidecar into the project and returns its path.
fn sidecar(env: &TestEnv, name: &str, content: &Value) -> String {
    let path = env.project().join(name);
    std::fs::write(&path, content.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Where `found` lacks something of `expected`: every field and element of it must be there with the same value;
/// numbers are compared as numbers.
fn missing(expected: &Value, found: &Value, path: &str) -> Vec<String> {
    match (expected, found) {
        (Value::Object(fields), Value::Object(others)) => {
            let compare = |(name, field): (&String, &Value)| match others.get(name) {
                Some(other) => missing(field, other, &format!("{path}.{name}")),
                None => vec![format!("{path}.{name} is not there")],
            };
            fields.iter().flat_map(compare).collect()
        }
        (Value::Array(rows), Value::Array(others)) if rows.len() == others.len() => {
            let pairs = rows.iter().zip(others).enumerate();
            pairs.flat_map(|(at, (row, other))| missing(row, other, &format!("{path}[{at}]"))).collect()
        }
        (Value::Number(a), Value::Number(b))
            if (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() <= 1e-12 =>
        {
            vec![]
        }
        _ if expected == found => vec![],
        _ => vec![format!("{path}: {found} instead of {expected}")],
    }
}
