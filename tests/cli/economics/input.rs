//! How an event comes in, where its record goes, and what is refused.

use super::{event, fixture_event, record, sidecar, told};
use crate::env::{TestEnv, lines};
use serde_json::{Value, json};

#[test]
fn an_event_comes_on_standard_input_as_an_argument_or_in_a_file() {
    let env = TestEnv::new();
    let path = sidecar(&env, "event.json", &event(told(3, 0, 0.1, 1)));
    let argument = event(told(2, 0, 0.1, 1)).to_string();
    record(&env, &event(told(1, 0, 0.1, 1)), &["-"]);
    assert_eq!(env.run(&["economics", "record", &argument]).status.code(), Some(0));
    assert_eq!(env.run(&["economics", "record", &path]).status.code(), Some(0));
    assert_eq!(env.run(&["economics", "record", "event.json"]).status.code(), Some(0), "nothing new");
    let totals: Vec<Value> =
        env.records().iter().map(|record| record["session_totals"]["input_tokens"].clone()).collect();
    assert_eq!(totals, [1, 2, 3]);
}

#[test]
fn an_empty_event_is_no_event() {
    let env = TestEnv::new();
    for empty in ["", "\n", " \r\n\t"] {
        let output = env.feed(&["economics", "record"], empty.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    }
    assert!(!env.data_dir().exists());
}

#[test]
fn an_event_that_cannot_be_understood_is_refused_by_name_and_leaves_no_trace() {
    let env = TestEnv::new();
    let refused: [(&[u8], &str); 6] = [
        (b"{\"session_id\":\"s1\",", "not a JSON object"),
        (b"\x00\xff", "not a JSON object"),
        (b"[1]", "not a JSON object"),
        (b"{\"usage\":{}}", "session_id"),
        (b"{\"session_id\":\"\"}", "session_id"),
        (b"{\"session_id\":7}", "session_id"),
    ];
    for (input, named) in refused {
        let output = env.feed(&["economics", "record"], input);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(named) && said.lines().count() == 1, "{said}");
        assert!(output.stdout.is_empty());
    }
    let output = env.run(&["economics", "record", "no-such-event.json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no-such-event.json"));
    assert_eq!(env.records(), Vec::<Value>::new());
}

#[test]
fn a_sidecar_that_is_broken_or_missing_costs_only_what_it_would_tell() {
    let env = TestEnv::new();
    std::fs::write(env.project().join("state.json"), "{\"task_slug\":").unwrap();
    let output = record(&env, &fixture_event(), &["--state", "state.json", "--critique", "none.json"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("state.json"), "{said}");
    let records = env.records();
    assert_eq!(records[0]["task_slug"], Value::Null);
    assert_eq!(records[0]["cost"]["input_tokens"], 1000);
}

#[test]
fn the_journal_and_the_data_directory_are_where_the_environment_says() {
    let mut env = TestEnv::new();
    let data = env.project().join("elsewhere");
    env.set("TELEMETRY_DATA_DIR", data.to_str().unwrap());
    record(&env, &fixture_event(), &[]);
    assert_eq!(lines(&data.join("economics.jsonl")).len(), 1);
    let log = env.project().join("logs/mine.jsonl");
    env.set("TELEMETRY_ECONOMICS_LOG_FILE", log.to_str().unwrap());
    record(&env, &fixture_event(), &[]);
    assert_eq!(lines(&log).len(), 1, "another journal knows nothing of the first");
    assert_eq!(lines(&data.join("economics.jsonl")).len(), 1);
    assert!(!env.data_dir().exists());
}

#[test]
fn the_folder_that_the_event_names_decides_whose_journal_it_is() {
    let env = TestEnv::new();
    let other = env.home().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut there = event(told(1, 1, 0.1, 1));
    there["context"] = json!({"cwd": other.to_str().unwrap()});
    record(&env, &there, &[]);
    assert_eq!(lines(&other.join(".kontourai/telemetry/economics.jsonl")).len(), 1);
    assert!(!env.data_dir().exists());
}

#[test]
fn the_active_task_is_found_when_none_is_named() {
    let env = TestEnv::new();
    let tasks = env.project().join(".kontourai/flow-agents");
    std::fs::create_dir_all(tasks.join("t-1")).unwrap();
    std::fs::write(tasks.join("current.json"), r#"{"active_slug":"t-1"}"#).unwrap();
    std::fs::write(tasks.join("t-1/state.json"), r#"{"task_slug":"t-1","phase":"build"}"#).unwrap();
    std::fs::write(tasks.join("t-1/critique.json"), r#"{"gate_fires":4}"#).unwrap();
    record(&env, &event(told(1, 1, 0.1, 1)), &[]);
    let found = &env.records()[0];
    assert_eq!((&found["task_slug"], &found["phases"][0]["phase"]), (&json!("t-1"), &json!("build")));
    assert_eq!(found["defects"]["gate_fires"], 4);
}

#[test]
fn names_that_would_break_a_reader_are_made_harmless() {
    let env = TestEnv::new();
    let mut hostile = event(told(1, 1, 0.1, 1));
    hostile["session_id"] = json!("a\u{0}b");
    record(&env, &hostile, &[]);
    hostile["session_id"] = json!("x".repeat(4_000));
    record(&env, &hostile, &[]);
    let bytes = std::fs::read(env.data_dir().join("economics.jsonl")).unwrap();
    assert!(!bytes.contains(&0) && !String::from_utf8(bytes).unwrap().contains("\\u0000"));
    let records = env.records();
    assert_eq!(records.len(), 2);
    for found in records {
        let run_id = found["run_id"].as_str().unwrap();
        assert!(run_id.chars().count() <= 200 && !run_id.contains('\0'), "{run_id}");
    }
}

#[test]
fn a_foreign_journal_is_carried_on_and_its_lines_stay_as_they_are() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.data_dir()).unwrap();
    let journal = env.data_dir().join("economics.jsonl");
    let foreign = "{\"schema\":\"kontour.console.economics\",\"version\":\"0.1\",\"run_id\":\"s1\"}\nnot json\n{\"torn\":";
    std::fs::write(&journal, foreign).unwrap();
    record(&env, &event(told(1, 1, 0.1, 1)), &[]);
    let text = std::fs::read_to_string(&journal).unwrap();
    assert!(text.starts_with(foreign), "{text}");
    assert_eq!(text.lines().count(), 4, "a torn line does not swallow the next record: {text}");
    assert_eq!(env.records().last().unwrap()["cost"]["input_tokens"], 1);
}
