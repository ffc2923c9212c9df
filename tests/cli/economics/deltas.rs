//! A record holds what is new since the session's last one (DESIGN §7).

use super::{event, fixture_event, missing, record, sidecar, told};
use crate::env::TestEnv;
use serde_json::{Value, json};

#[test]
fn a_second_identical_event_writes_nothing() {
    let env = TestEnv::new();
    record(&env, &fixture_event(), &[]);
    let journal = std::fs::read(env.data_dir().join("economics.jsonl")).unwrap();
    record(&env, &fixture_event(), &[]);
    assert_eq!(std::fs::read(env.data_dir().join("economics.jsonl")).unwrap(), journal);
}

#[test]
fn a_grown_snapshot_yields_what_it_grew_by_under_a_run_id_of_its_own() {
    let env = TestEnv::new();
    record(&env, &event(told(100, 10, 0.5, 60)), &[]);
    record(&env, &event(told(250, 15, 0.75, 90)), &[]);
    record(&env, &event(told(250, 16, 0.8, 95)), &[]);
    let records = env.records();
    let run_ids: Vec<&Value> = records.iter().map(|record| &record["run_id"]).collect();
    assert_eq!(run_ids, ["s1", "s1.2", "s1.3"]);
    let expected = json!({
        "sequence": 2, "session_id": "s1",
        "cost": {
            "input_tokens": 150, "output_tokens": 5, "estimated_cost_usd": 0.25,
            "by_model": [{"model": "claude-opus-4-8", "input_tokens": 150, "output_tokens": 5, "estimated_cost_usd": 0.25}]
        },
        "time": {"wall_clock_s": 30},
        "phases": [{"phase": "unattributed", "input_tokens": 150, "output_tokens": 5, "wall_clock_s": 30}],
        "session_totals": {"input_tokens": 250, "output_tokens": 15, "estimated_cost_usd": 0.75, "wall_clock_s": 90}
    });
    assert_eq!(missing(&expected, &records[1], "record"), Vec::<String>::new());
    assert_sums(&records, 250, 16, 0.8, 95);
}

#[test]
fn an_event_that_is_a_delta_itself_is_added_and_a_later_snapshot_knows_of_it() {
    let env = TestEnv::new();
    record(&env, &event(told(100, 10, 0.5, 60)), &[]);
    let mut delta = told(30, 3, 0.1, 20);
    delta["semantics"] = json!("delta");
    record(&env, &event(delta.clone()), &[]);
    record(&env, &event(delta), &[]);
    record(&env, &event(told(200, 20, 1.0, 110)), &[]);
    let records = env.records();
    let inputs: Vec<&Value> = records.iter().map(|record| &record["cost"]["input_tokens"]).collect();
    assert_eq!(inputs, [100, 30, 30, 40]);
    assert_sums(&records, 200, 20, 1.0, 110);
}

/// Holds the sum over all records, and what the last one says of the session, to the same figures.
fn assert_sums(records: &[Value], input: i64, output: i64, usd: f64, seconds: i64) {
    let sum = |path: &str| -> f64 {
        records.iter().map(|record| record.pointer(path).unwrap().as_f64().unwrap()).sum()
    };
    let totals = &records.last().unwrap()["session_totals"];
    for (path, total, expected) in [
        ("/cost/input_tokens", "input_tokens", input as f64),
        ("/cost/output_tokens", "output_tokens", output as f64),
        ("/cost/estimated_cost_usd", "estimated_cost_usd", usd),
        ("/time/wall_clock_s", "wall_clock_s", seconds as f64),
    ] {
        assert!((sum(path) - expected).abs() < 1e-9, "{path}: {}", sum(path));
        assert!((totals[total].as_f64().unwrap() - expected).abs() < 1e-9, "{total}: {totals}");
    }
}

#[test]
fn a_snapshot_that_shrank_is_a_correction_and_takes_off() {
    let env = TestEnv::new();
    record(&env, &event(told(100, 10, 0.5, 60)), &[]);
    record(&env, &event(told(90, 10, 0.45, 60)), &[]);
    let records = env.records();
    assert_eq!(records[1]["cost"]["input_tokens"], -10);
    assert_sums(&records, 90, 10, 0.45, 60);
}

#[test]
fn what_a_task_caught_is_reported_once_whoever_reports_it() {
    let env = TestEnv::new();
    let state = json!({"task_slug": "t", "gate_fires": 2, "iterations": {"count": 3, "route_backs": 1}, "human_wait_s": 5});
    let args = ["--state", &sidecar(&env, "state.json", &state)];
    record(&env, &event(told(1, 1, 0.1, 1)), &args);
    let mut other = event(told(5, 5, 0.2, 1));
    other["session_id"] = json!("s2");
    record(&env, &other, &args);
    let grown = json!({"task_slug": "t", "gate_fires": 3, "iterations": {"count": 3, "route_backs": 1}, "human_wait_s": 5});
    sidecar(&env, "state.json", &grown);
    record(&env, &other, &args);
    let records = env.records();
    let counters = |at: usize| {
        let record: &Value = &records[at];
        ["/defects/gate_fires", "/iterations/count", "/iterations/route_backs", "/time/human_wait_s"]
            .map(|path| record.pointer(path).unwrap().as_i64().unwrap())
    };
    assert_eq!((counters(0), counters(1), counters(2)), ([2, 3, 1, 5], [0, 0, 0, 0], [1, 0, 0, 0]));
    assert_eq!(records[2]["run_id"], "s2.2");
    assert_eq!(records[2]["cost"]["input_tokens"], 0);
}

#[test]
fn a_critique_that_belongs_to_no_task_is_reported_once_a_session() {
    let env = TestEnv::new();
    let finding =
        |count: usize| json!({"critiques": [{"findings": vec![json!({"severity": "high"}); count]}]});
    let args = ["--critique", &sidecar(&env, "critique.json", &finding(2))];
    record(&env, &event(told(1, 1, 0.1, 1)), &args);
    record(&env, &event(told(2, 1, 0.1, 1)), &args);
    sidecar(&env, "critique.json", &finding(3));
    record(&env, &event(told(2, 1, 0.1, 1)), &args);
    let high: Vec<Value> = env
        .records()
        .iter()
        .map(|record| record["defects"]["findings_by_severity"]["high"].clone())
        .collect();
    assert_eq!(high, [2, 0, 1]);
    assert_eq!(env.records()[0]["task_slug"], Value::Null);
    assert_eq!(env.records()[1]["iterations"]["count"], 1, "a run without a task counts one");
}

#[test]
fn delegations_are_listed_when_they_have_news_only() {
    let env = TestEnv::new();
    let dir = env.project().join("agents/worker");
    std::fs::create_dir_all(&dir).unwrap();
    let sent = json!({"agent_id": "worker", "kind": "delegation", "role": "r", "model": "m", "timestamp": "2026-07-05T00:00:01Z"});
    let passed = json!({"agent_id": "worker", "kind": "verdict", "status": "PASS", "timestamp": "2026-07-05T00:00:02Z"});
    let state = sidecar(&env, "state.json", &json!({"task_slug": "t"}));
    let args = ["--agents-dir", "agents", "--state", &state];
    std::fs::write(dir.join("events.jsonl"), format!("{sent}\nnot json\n")).unwrap();
    record(&env, &event(told(1, 1, 0.1, 1)), &args);
    record(&env, &event(told(2, 1, 0.1, 1)), &args);
    std::fs::write(dir.join("events.jsonl"), format!("{sent}\n{passed}\n")).unwrap();
    record(&env, &event(told(2, 1, 0.1, 1)), &args);
    let outcomes: Vec<Vec<String>> = env
        .records()
        .iter()
        .map(|record| {
            let rows = record["delegations"].as_array().unwrap();
            rows.iter().map(|row| row["outcome"].as_str().unwrap().to_owned()).collect()
        })
        .collect();
    assert_eq!(outcomes, [vec!["unavailable"], vec![], vec!["accepted"]]);
}
