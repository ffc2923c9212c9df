//! Expected values come from the field rules of contract C.2; the golden matrix is what flow-agents 3.4.1 answers.

use serde_json::{Value, json};

use super::{Counters, Documents, Findings, Verdict};

const GOLDEN: &str = include_str!("../../../tests/fixtures/flow-agents/golden/economics-matrix.jsonl");

fn documents(state: Value, critique: Value) -> Documents {
    Documents { state, critique, acceptance: Value::Null }
}

fn counters(state: Value, critique: Value) -> Counters {
    documents(state, critique).counters(&mut Vec::new())
}

#[test]
fn golden_matrix() {
    let mut compared = 0;
    for line in GOLDEN.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let record = &row["3.4.1"]["record"];
        if record.is_null() || row.get("usage").is_some() {
            continue;
        }
        let documents = documents(row["state_json"].clone(), row["critique_json"].clone());
        let ours = documents.counters(&mut Vec::new());
        let case = row["state"].as_str().or(row["critique"].as_str()).unwrap();
        compared += 1;

        let defects = &record["defects"];
        let severities = &defects["findings_by_severity"];
        let findings = ours.findings.unwrap_or_default();
        let pairs = [
            (Some(findings.critical), &severities["critical"]),
            (Some(findings.high), &severities["high"]),
            (Some(findings.medium), &severities["medium"]),
            (Some(findings.low), &severities["low"]),
            (ours.gate_fires, &defects["gate_fires"]),
            (ours.caught_false_completions, &defects["caught_false_completions"]),
            (ours.route_backs, &record["iterations"]["route_backs"]),
            (ours.human_wait_s, &record["time"]["human_wait_s"]),
        ];
        for (mine, theirs) in pairs {
            // flow-agents writes 0 for what no sidecar says.
            assert_eq!(mine.unwrap_or(0), theirs.as_i64().unwrap(), "{case}");
        }
        assert_eq!(documents.verdict().as_str(), defects["verification_verdict"], "{case}");
        assert_eq!(documents.task_slug(&mut Vec::new()).as_deref(), record["task_slug"].as_str(), "{case}");
    }
    assert_eq!(compared, 7);
}

#[test]
fn what_no_sidecar_says_is_unknown() {
    assert_eq!(counters(Value::Null, Value::Null), Counters::default());
    assert_eq!(counters(json!({}), json!({})), Counters::default());
    let reviewed = counters(Value::Null, json!({"critiques": [{}, {"findings": null}]}));
    assert_eq!(reviewed.findings, Some(Findings::default()));
    assert_eq!(reviewed.caught_false_completions, Some(0));
}

#[test]
fn the_first_source_that_is_there_decides() {
    let state = json!({
        "gate_fires": 9, "route_backs": 8, "iteration_count": 7, "human_wait_s": 44.6,
        "iterations": {"count": 2, "route_backs": null}
    });
    let found = counters(state, json!({"gate_fires": 3}));
    let expected = Counters {
        gate_fires: Some(3),
        route_backs: Some(8),
        iterations: Some(2),
        human_wait_s: Some(45),
        ..Counters::default()
    };
    assert_eq!(found, expected);
}

#[test]
fn a_malformed_field_costs_only_itself() {
    let state = json!({
        "task_slug": ["x"], "phase": {"a": 1}, "status": "active",
        "iterations": 5, "iteration_count": -2, "route_backs": 1, "gate_fires": 1.5, "human_wait_s": 1e13
    });
    let documents =
        documents(state, json!({"critiques": [{"findings": {"a": 1}}], "caught_false_completions": "4"}));
    let mut warnings = Vec::new();
    let found = documents.counters(&mut warnings);
    assert_eq!(found, Counters { route_backs: Some(1), ..Counters::default() });
    assert_eq!(documents.task_slug(&mut warnings), None);
    assert_eq!(documents.phase(&mut warnings), None);
    assert_eq!(documents.status(&mut warnings).as_deref(), Some("active"));
    assert_eq!(warnings.len(), 7, "{warnings:?}");
}

#[test]
fn a_severity_that_is_not_known_counts_as_low_and_a_finding_that_is_no_object_spoils_the_count() {
    let odd = counters(
        Value::Null,
        json!({"critiques": [{"findings": [{"severity": 3}, {"severity": "Critical"}]}]}),
    );
    assert_eq!(odd.findings, Some(Findings { critical: 1, low: 1, ..Findings::default() }));
    let broken = counters(Value::Null, json!({"critiques": [{"findings": ["x", {"severity": "high"}]}]}));
    assert_eq!((broken.findings, broken.caught_false_completions), (None, None));
}

#[test]
fn the_first_verdict_decides_even_when_misspelled() {
    let verdict = |critique: Value, acceptance: Value, state: Value| {
        Documents { state, acceptance, critique }.verdict()
    };
    let of = |text: &str| json!({"verification_verdict": text});
    assert_eq!(verdict(of("FAIL"), of("PASS"), of("PASS")), Verdict::Fail);
    assert_eq!(verdict(json!({"verification_verdict": null}), of("PASS"), of("FAIL")), Verdict::Pass);
    assert_eq!(verdict(of("pass"), of("PASS"), of("PASS")), Verdict::NotVerified);
    assert_eq!(verdict(Value::Null, json!([]), json!({"verify_verdict": "PASS"})), Verdict::Pass);
    assert_eq!(verdict(Value::Null, Value::Null, Value::Null), Verdict::NotVerified);
}
