//! What flow-agents records for 17 odd events and sidecars (`economics-matrix`). Where Tally records otherwise the row
//! is in the table with what differs, and in `docs/differences/economics.md` with the reason; a row that no longer
//! differs fails too.

use super::{missing, sidecar};
use crate::env::{TestEnv, fixture};
use serde_json::{Value, json};

fn rows() -> Vec<Value> {
    let text = std::fs::read_to_string(fixture("flow-agents/golden/economics-matrix.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The row's kind and name.
fn name(row: &Value) -> String {
    let kind = ["usage", "state", "critique"].into_iter().find(|kind| row.get(kind).is_some()).unwrap();
    format!("{kind} {}", row[kind].as_str().unwrap())
}

/// The record that we write for a row, in a fresh data directory.
fn ours(row: &Value, rows: &[Value]) -> Value {
    let mut env = TestEnv::new();
    env.set("CONSOLE_TENANT_ID", "ten");
    // Rows about sidecars were recorded with the event of the first row.
    let event = row.get("event").unwrap_or(&rows[0]["event"]);
    let mut args = vec!["economics".to_owned(), "record".to_owned()];
    for kind in ["state", "critique"] {
        if let Some(content) = row.get(format!("{kind}_json")) {
            args.extend([format!("--{kind}"), sidecar(&env, &format!("{kind}.json"), content)]);
        }
    }
    let output = env.feed(&args, event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}: {output:?}", name(row));
    let mut records = env.records();
    assert_eq!(records.len(), 1, "{}", name(row));
    records.remove(0)
}

/// What stands in our record where flow-agents 3.4.1 has another value. Rows for which it writes no record at all are
/// compared with the record of `usage ok`: a broken sidecar is as good as none.
fn different() -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    let unknown_input = || vec![("/cost/input_tokens", Value::Null), ("/phases/0/input_tokens", Value::Null)];
    let nothing_told = [
        "/cost/input_tokens",
        "/cost/output_tokens",
        "/cost/cache_creation_input_tokens",
        "/cost/cache_read_input_tokens",
        "/cost/estimated_cost_usd",
        "/time/wall_clock_s",
        "/phases/0/input_tokens",
        "/phases/0/output_tokens",
        "/phases/0/cache_creation_input_tokens",
        "/phases/0/cache_read_input_tokens",
        "/phases/0/estimated_cost_usd",
        "/phases/0/wall_clock_s",
    ];
    vec![
        ("usage usage_null_tokens", nothing_told.map(|path| (path, Value::Null)).into()),
        ("usage neg", unknown_input()),
        ("usage str", unknown_input()),
        ("usage by_model_obj", vec![("/cost/by_model", json!([]))]),
        ("state array_state", vec![]),
        ("state string_state", vec![]),
        ("state iter_neg", vec![("/iterations/count", json!(1))]),
        ("state phase_obj", vec![("/phases/0/phase", json!("unattributed"))]),
        ("critique num_sev", vec![("/defects/findings_by_severity/low", json!(1))]),
        ("critique findings_obj", vec![]),
        ("critique string", vec![]),
    ]
}

#[test]
fn every_row_has_its_recorded_answer_or_the_specified_one() {
    let rows = rows();
    let different = different();
    let mut same = 0;
    for row in &rows {
        let theirs = &row["3.4.1"]["record"];
        let found = ours(row, &rows);
        let Some((_, changes)) = different.iter().find(|(known, _)| *known == name(row)) else {
            assert_eq!(missing(theirs, &found, "record"), Vec::<String>::new(), "{}", name(row));
            same += 1;
            continue;
        };
        assert_ne!(missing(theirs, &found, "record"), Vec::<String>::new(), "{} is no difference", name(row));
        let mut expected = if theirs.is_null() { rows[0]["3.4.1"]["record"].clone() } else { theirs.clone() };
        for (path, value) in changes {
            *expected.pointer_mut(path).unwrap() = value.clone();
        }
        assert_eq!(missing(&expected, &found, "record"), Vec::<String>::new(), "{}", name(row));
    }
    assert_eq!((rows.len(), same), (17, 17 - different.len()));
    for (known, _) in &different {
        assert!(rows.iter().any(|row| name(row) == *known), "there is no row {known}");
    }
}

#[test]
fn a_record_in_which_something_is_not_known_is_not_complete() {
    let rows = rows();
    for row in rows.iter().filter(|row| row.get("usage").is_some()) {
        let complete = matches!(row["usage"].as_str().unwrap(), "ok" | "by_model_obj");
        assert_eq!(ours(row, &rows)["cost"]["complete"], complete, "{}", name(row));
    }
}
