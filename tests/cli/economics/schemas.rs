//! Records against their schemas: ours for the journal, the Console's for what leaves.

use super::{event, fixture_event, record, sidecar, told};
use crate::env::{TestEnv, fixture};
use jsonschema::Validator;
use serde_json::{Value, json};
use tally::economics::Record;

pub(crate) fn ours() -> Validator {
    let text = include_str!("../../../schemas/economics.schema.json");
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

pub(crate) fn consoles() -> Validator {
    let text = std::fs::read_to_string(fixture("console/kontour.console.economics.schema.json")).unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

pub(crate) fn errors(schema: &Validator, record: &Value) -> Vec<String> {
    schema.iter_errors(record).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// What leaves of a journal's record.
pub(crate) fn outgoing(record: &Value) -> Value {
    let record: Record = serde_json::from_value(record.clone()).unwrap();
    serde_json::to_value(record.for_console()).unwrap()
}

/// Records of events that tell everything, little, nothing and nonsense.
fn records() -> Vec<Value> {
    let env = TestEnv::new();
    let state = json!({"task_slug": "t", "phase": "build", "gate_fires": 1, "human_wait_s": 3});
    let state = sidecar(&env, "state.json", &state);
    let agents = fixture("flow-agents/economics/agents");
    record(&env, &fixture_event(), &["--state", &state, "--agents-dir", agents.to_str().unwrap()]);
    for (at, usage) in [
        told(100, 10, 0.5, 60),
        json!({"model": "m", "input_tokens": null, "estimated_cost_usd": null}),
        json!({"input_tokens": 7, "output_tokens": -1, "duration_s": 1.25}),
        json!({"by_model": [{"model": "m", "input_tokens": 1}, {"model": 7}, "x"]}),
        json!([]),
        Value::Null,
    ]
    .into_iter()
    .enumerate()
    {
        let mut event = event(usage);
        event["session_id"] = json!(format!("s{at}"));
        record(&env, &event, &[]);
    }
    let correction = event(told(90, 9, 0.4, 70));
    record(&env, &correction, &[]);
    env.records()
}

#[test]
fn every_line_of_the_journal_is_what_its_schema_says() {
    let (schema, records) = (ours(), records());
    assert_eq!(records.len(), 8);
    for record in &records {
        assert_eq!(errors(&schema, record), Vec::<String>::new(), "{record}");
    }
}

#[test]
fn what_leaves_is_what_the_console_and_our_schema_ask_for() {
    let (console, own) = (consoles(), ours());
    for record in records() {
        let body = outgoing(&record);
        assert_eq!(errors(&console, &body), Vec::<String>::new(), "{body}");
        assert_eq!(errors(&own, &body), Vec::<String>::new(), "{body}");
    }
}

#[test]
fn the_journal_keeps_null_and_what_leaves_has_a_zero_that_is_said() {
    let env = TestEnv::new();
    record(&env, &event(json!({"model": "m", "input_tokens": 5, "output_tokens": null})), &[]);
    let kept = &env.records()[0];
    assert_eq!(kept["cost"]["output_tokens"], Value::Null);
    assert_eq!(kept["time"]["wall_clock_s"], Value::Null);
    assert!(kept.get("unknown_fields").is_none());
    let body = outgoing(kept);
    assert_eq!((&body["cost"]["input_tokens"], &body["cost"]["output_tokens"]), (&json!(5), &json!(0)));
    assert_eq!(body["cost"]["complete"], false);
    let expected: Vec<String> = ["cost", "phases[0]"]
        .iter()
        .flat_map(|part| {
            let time =
                if *part == "cost" { "time.wall_clock_s".to_owned() } else { format!("{part}.wall_clock_s") };
            let figures = [
                "output_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
                "estimated_cost_usd",
            ];
            figures.map(|figure| format!("{part}.{figure}")).into_iter().chain([time])
        })
        .collect();
    assert_eq!(body["unknown_fields"], json!(expected));
}

#[test]
fn what_only_we_count_may_stay_unknown_without_making_the_cost_incomplete() {
    let env = TestEnv::new();
    record(&env, &event(told(100, 10, 0.5, 60)), &[]);
    let body = outgoing(&env.records()[0]);
    assert_eq!((&body["cost"]["complete"], &body["cost"]["calls"]), (&json!(true), &Value::Null));
    assert!(body.get("unknown_fields").is_none(), "{body}");
}

#[test]
fn the_schema_refuses_a_record_without_a_field_or_with_a_string_for_a_number() {
    let (schema, records) = (ours(), records());
    let good = &records[0];
    for field in good.as_object().unwrap().keys() {
        let mut poor = good.clone();
        poor.as_object_mut().unwrap().remove(field);
        assert!(!schema.is_valid(&poor), "{field} is not required");
    }
    for path in [
        "/cost",
        "/time",
        "/iterations",
        "/defects",
        "/signals",
        "/session_totals",
        "/phases/0",
        "/delegations/0",
    ] {
        let mut rich = good.clone();
        rich.pointer_mut(path).unwrap()["surprise"] = json!(1);
        assert!(!schema.is_valid(&rich), "{path} takes a word too many");
    }
    for path in ["/cost/input_tokens", "/phases/0/wall_clock_s", "/defects/gate_fires", "/sequence"] {
        let mut odd = good.clone();
        *odd.pointer_mut(path).unwrap() = json!("5");
        assert!(!schema.is_valid(&odd), "{path} takes a string");
    }
}

#[test]
fn show_prints_the_records_as_they_are_kept_or_as_a_table() {
    let env = TestEnv::new();
    let none = env.run(&["economics", "show"]);
    assert_eq!(none.status.code(), Some(0));
    assert!(String::from_utf8(none.stdout).unwrap().contains("No runs are recorded yet"));
    for input in 1..=3 {
        record(&env, &event(told(input, 1, 0.1, 3_723)), &[]);
    }
    let output = env.run(&["economics", "show", "--json", "--last", "2"]);
    assert_eq!(output.status.code(), Some(0));
    let shown: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(shown, env.records()[1..]);
    let schema = ours();
    shown.iter().for_each(|record| assert_eq!(errors(&schema, record), Vec::<String>::new()));

    let output = env.run(&["economics", "show"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(
        !text.contains('\u{1b}') && text.contains("1:02:03") && text.contains("3 of 3 records"),
        "{text}"
    );
}

#[test]
fn the_record_of_a_hook_is_what_the_schemas_say_and_not_complete_when_a_call_was_lost() {
    let env = TestEnv::new();
    let transcript = env.home().join("s1.jsonl");
    let call = |id: &str, input: &str| {
        format!(
            "{{\"type\":\"assistant\",\"sessionId\":\"s1\",\"timestamp\":\"2026-11-10T09:00:00Z\",\"message\":{{\
             \"id\":\"{id}\",\"model\":\"claude-opus-4-8\",\"usage\":{{\"input_tokens\":{input}}}}}}}\n"
        )
    };
    let stop = json!({
        "hook_event_name": "Stop", "session_id": "s1", "transcript_path": transcript, "cwd": env.project()
    });
    std::fs::write(&transcript, call("a", "5")).unwrap();
    env.hook(&stop);
    std::fs::write(&transcript, call("a", "5") + &call("b", "6") + &call("c", "-1")).unwrap();
    env.hook(&stop);
    assert_eq!(env.log(), "");
    let records = env.records();
    let found: Vec<_> = records
        .iter()
        .map(|record| {
            (&record["cost"]["input_tokens"], &record["cost"]["calls"], &record["cost"]["complete"])
        })
        .collect();
    assert_eq!(found, [(&json!(5), &json!(1), &json!(true)), (&json!(6), &json!(1), &json!(false))]);
    assert_eq!(records[1]["diagnostics"]["unreadable_lines"], 1);
    for record in &records {
        assert_eq!(errors(&ours(), record), Vec::<String>::new(), "{record}");
        assert_eq!(errors(&consoles(), &outgoing(record)), Vec::<String>::new(), "{record}");
    }
}
