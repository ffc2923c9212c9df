//! In a fresh data directory the record has the fields and values of flow-agents' own fixture (contract C.2, C.3).

use super::{event, fixture_event, missing, record, told};
use crate::env::{TestEnv, fixture};
use serde_json::{Value, json};

fn sidecars() -> Vec<String> {
    let args = [("--state", "state"), ("--critique", "critique"), ("--acceptance", "acceptance")];
    let path = |name: &str| fixture("flow-agents/economics").join(format!("{name}.json"));
    args.iter()
        .flat_map(|(flag, name)| [(*flag).to_owned(), path(name).to_str().unwrap().to_owned()])
        .collect()
}

fn recorded(more: &[&str]) -> Value {
    let env = TestEnv::new();
    let own = sidecars();
    let args: Vec<&str> = own.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let output = record(&env, &fixture_event(), &args);
    assert!(output.stderr.is_empty(), "{output:?}");
    let mut records = env.records();
    assert_eq!(records.len(), 1);
    records.remove(0)
}

fn expected() -> Value {
    let path = fixture("flow-agents/economics/expected-record.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn every_field_and_value_of_the_fixture_is_in_the_record() {
    let found = recorded(&[]);
    assert_eq!(missing(&expected(), &found, "record"), Vec::<String>::new());
}

#[test]
fn with_the_agents_folder_the_five_delegations_are_as_the_contract_says() {
    let agents = fixture("flow-agents/economics/agents");
    let found = recorded(&["--agents-dir", agents.to_str().unwrap()]);
    let mut expected = expected();
    let row = |agent: &str, role: &str, model: &str, dispatched: u64, outcome: &str| {
        json!({
            "agent_id": agent, "role": role, "resolved_model": model, "dispatch_count": dispatched, "outcome": outcome,
            "estimated_cost_usd": null, "input_tokens": null
        })
    };
    let (haiku, opus) = ("claude-haiku-4-5@anthropic", "claude-opus-4-8@anthropic");
    let mut escalated = row("tool-worker-2", "delegate-design", opus, 2, "rework");
    escalated["escalated_from"] = json!("delegate-implementation");
    expected["delegations"] = json!([
        row("tool-worker-1", "delegate-mechanical", haiku, 1, "accepted"),
        escalated,
        row("tool-worker-3", "delegate-design", opus, 1, "failed"),
        row("tool-worker-4", "delegate-mechanical", haiku, 1, "unavailable"),
        row("tool-worker-5", "delegate-mechanical", haiku, 2, "rework"),
    ]);
    expected["signals"]["per_delegation_outcome"] = json!("partial");
    assert_eq!(missing(&expected, &found, "record"), Vec::<String>::new());
    assert!(!found.to_string().contains("routine config edit"), "a summary of the work must not leave");
}

#[test]
fn the_record_says_what_only_tally_knows() {
    let found = recorded(&[]);
    let ours = json!({
        "session_id": "kontourai-flow-agents-349-run-01", "sequence": 1, "usage_semantics": "delta",
        "baseline": "transcript",
        "cost": {"complete": true, "unpriced_models": []},
        "session_totals": {
            "wall_clock_s": 420, "input_tokens": 1000, "output_tokens": 2100, "cache_read_input_tokens": 500_000,
            "estimated_cost_usd": 0.31
        },
        "task_totals": {"gate_fires": 3, "iterations": 2, "route_backs": 1, "human_wait_s": 45}
    });
    assert_eq!(missing(&ours, &found, "record"), Vec::<String>::new());
}

#[test]
fn what_the_event_does_not_tell_is_null_and_never_zero() {
    let found = recorded(&[]);
    for row in [&found["cost"], &found["cost"]["by_model"][0], &found["phases"][0]] {
        for figure in ["calls", "cache_creation_1h_input_tokens", "web_search_requests"] {
            assert_eq!(row.get(figure), Some(&Value::Null), "{figure} in {row}");
        }
    }
}

#[test]
fn what_a_person_was_waited_for_is_the_states_word_before_the_events() {
    let mut usage = told(1, 1, 0.1, 10);
    usage["human_wait_s"] = json!(7);
    let env = TestEnv::new();
    record(&env, &event(usage.clone()), &[]);
    usage["input_tokens"] = json!(2);
    usage["human_wait_s"] = json!(9);
    record(&env, &event(usage.clone()), &[]);
    assert_eq!(env.records()[0]["time"]["human_wait_s"], 7);
    assert_eq!(env.records()[1]["time"]["human_wait_s"], 2, "the event tells its session so far");

    let env = TestEnv::new();
    let silent = super::sidecar(&env, "silent.json", &json!({"task_slug": "t"}));
    record(&env, &event(usage.clone()), &["--state", &silent]);
    assert_eq!(env.records()[0]["time"]["human_wait_s"], 9);

    let env = TestEnv::new();
    let state = super::sidecar(&env, "state.json", &json!({"task_slug": "t", "human_wait_s": 45}));
    record(&env, &event(usage), &["--state", &state]);
    assert_eq!(env.records()[0]["time"]["human_wait_s"], 45);
}
