//! Kiro sells credits and writes no tokens: what is unknown is null, what was charged adds up.

use super::{hook, leaving, records_of};
use crate::env::TestEnv;
use serde_json::{Value, json};
use std::path::PathBuf;

const ID: &str = "4b400000-0000-4000-8000-000000000040";

/// A turn as Kiro CLI writes it: its end, its seconds, its credits.
fn turn(minute: u32, seconds: i64, credits: Option<f64>) -> Value {
    let metered: Vec<Value> = credits
        .iter()
        .map(|value| json!({"value": value, "unit": "credit", "unitPlural": "credits"}))
        .collect();
    json!({
        "end_timestamp": format!("2026-11-10T09:{minute:02}:00.000Z"), "turn_duration": {"secs": seconds, "nanos": 0},
        "input_token_count": 0, "output_token_count": 0, "total_request_count": 2, "metering_usage": metered
    })
}

fn write(env: &TestEnv, id: &str, turns: &[Value]) {
    let path = env.home().join(format!(".kiro/sessions/cli/{id}.json"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let state = json!({
        "rts_model_state": {"model_info": {"model_id": "claude-sonnet-4.5"}},
        "conversation_metadata": {"user_turn_metadatas": turns}
    });
    let session = json!({"session_id": id, "cwd": env.project(), "session_state": state});
    std::fs::write(path, session.to_string()).unwrap();
}

/// What Kiro says, by its own names.
fn say(env: &TestEnv, event: &str, id: &str) {
    hook(env, "kiro", &json!({"hook_event_name": event, "session_id": id, "cwd": env.project()}));
}

fn credits(records: &[Value]) -> Vec<Option<f64>> {
    records.iter().map(|record| record["cost"]["credits"].as_f64()).collect()
}

/// Every figure that counts tokens or money in a row of a record.
fn is_unknown(row: &Value) -> bool {
    [
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "estimated_cost_usd",
    ]
    .iter()
    .all(|name| row.get(name) == Some(&Value::Null))
}

#[test]
fn each_stop_records_the_credits_of_its_turn_and_no_tokens() {
    let env = TestEnv::new();
    say(&env, "agentSpawn", ID);
    let mut turns = vec![turn(1, 30, Some(0.12))];
    write(&env, ID, &turns);
    say(&env, "stop", ID);
    say(&env, "stop", ID);
    turns.extend([turn(2, 10, Some(0.3)), turn(3, 10, Some(0.03))]);
    write(&env, ID, &turns);
    say(&env, "stop", ID);
    let records = records_of(&env, ID);
    assert_eq!(credits(&records), [Some(0.12), Some(0.33)]);
    for record in &records {
        let rows = [
            &record["cost"],
            &record["phases"][0],
            &record["cost"]["by_model"][0],
            &record["session_totals"],
        ];
        for row in rows {
            assert!(is_unknown(row), "{row}");
            assert!(row["credits"].is_number(), "{row}");
        }
        assert_eq!(
            (&record["cost"]["complete"], &record["baseline"]),
            (&json!(false), &json!("session-start"))
        );
        assert_eq!(record["model"], "claude-sonnet-4-5");
        assert_eq!(record["cost"]["calls"], record["cost"]["uncounted_calls"]);
    }
    assert_eq!(records[1]["session_totals"]["credits"], 0.45);
    let answer: Value = serde_json::from_slice(&env.run(&["usage", "--json"]).stdout).unwrap();
    assert_eq!(answer["credits"], 0.45);
    assert_eq!(env.log(), "");
    let shown = String::from_utf8(env.run(&["economics", "show"]).stdout).unwrap();
    assert!(shown.contains("0.33 credits") && shown.contains("0.12 credits"), "{shown}");
}

#[test]
fn what_leaves_has_zeros_that_are_said_and_the_credits() {
    let env = TestEnv::new();
    write(&env, ID, &[turn(1, 30, Some(0.12))]);
    say(&env, "stop", ID);
    let body = leaving(&env.records()[0]);
    let cost = &body["cost"];
    assert_eq!(
        [&cost["input_tokens"], &cost["output_tokens"], &cost["estimated_cost_usd"]],
        [&json!(0), &json!(0), &json!(0.0)]
    );
    assert_eq!((&cost["credits"], &cost["complete"]), (&json!(0.12), &json!(false)));
    let unknown: Vec<&str> =
        body["unknown_fields"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for path in [
        "cost.input_tokens",
        "cost.estimated_cost_usd",
        "cost.by_model[0].output_tokens",
        "phases[0].input_tokens",
    ] {
        assert!(unknown.contains(&path), "{path} is not in {unknown:?}");
    }
}

#[test]
fn interleaved_sessions_have_nothing_of_each_other() {
    let env = TestEnv::new();
    for turns in 1..=3_u32 {
        for (id, each) in [("a", 0.1), ("b", 5.0)] {
            write(&env, id, &(1..=turns).map(|minute| turn(minute, 5, Some(each))).collect::<Vec<_>>());
        }
        say(&env, "stop", "b");
        say(&env, "stop", "a");
    }
    assert_eq!(credits(&records_of(&env, "a")), [Some(0.1); 3]);
    assert_eq!(credits(&records_of(&env, "b")), [Some(5.0); 3]);
}

#[test]
fn a_turn_whose_credits_come_late_is_a_correction() {
    let env = TestEnv::new();
    write(&env, ID, &[turn(1, 5, None)]);
    say(&env, "stop", ID);
    write(&env, ID, &[turn(1, 5, Some(0.25))]);
    say(&env, "stop", ID);
    let records = env.records();
    assert_eq!(credits(&records), [None, Some(0.25)]);
    assert!(records.iter().all(|record| is_unknown(&record["cost"])), "{records:?}");
    assert_eq!([&records[0]["cost"]["calls"], &records[1]["cost"]["calls"]], [1, 0]);
}

#[test]
fn the_newer_layout_is_found_by_the_id_with_and_without_its_prefix() {
    for id in ["sess_77", "77"] {
        let env = TestEnv::new();
        let path: PathBuf = env.home().join(".kiro/sessions/workspace/sess_77/messages.jsonl");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let summary = |credits: f64| json!({"timestamp": "2026-11-10T09:00:00.000Z", "payload": {"type": "usage_summary", "modelId": "auto", "credits": credits}});
        std::fs::write(&path, format!("{}\n", summary(0.5))).unwrap();
        say(&env, "Stop", id);
        std::fs::write(&path, format!("{}\n{}\n", summary(0.5), summary(1.25))).unwrap();
        say(&env, "Stop", id);
        let records = records_of(&env, id);
        assert_eq!(credits(&records), [Some(0.5), Some(1.25)], "{id}");
        // Nothing tells when it was asked.
        assert_eq!(records[0]["time"]["wall_clock_s"], Value::Null);
    }
}

#[test]
fn a_session_that_is_missing_or_torn_is_unknown_usage_and_a_line_in_the_log() {
    for torn in [false, true] {
        let env = TestEnv::new();
        if torn {
            write(&env, ID, &[turn(1, 5, Some(0.5))]);
            let path = env.home().join(format!(".kiro/sessions/cli/{ID}.json"));
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, &text[..text.len() / 2]).unwrap();
        }
        say(&env, "stop", ID);
        let records = env.records();
        assert_eq!((records.len(), is_unknown(&records[0]["cost"])), (1, true), "torn: {torn}");
        assert!(records[0]["diagnostics"]["usage_unknown"].is_string());
        assert!(env.log().contains("hook kiro"), "{}", env.log());
        // Whole at the next stop.
        write(&env, ID, &[turn(1, 5, Some(0.5))]);
        say(&env, "stop", ID);
        assert_eq!(credits(&env.records()), [None, Some(0.5)], "torn: {torn}");
    }
}

#[test]
fn a_lost_session_file_repeats_no_credit() {
    let env = TestEnv::new();
    write(&env, ID, &[turn(1, 5, Some(0.5))]);
    say(&env, "stop", ID);
    std::fs::remove_dir_all(env.data_dir().join("sessions")).unwrap();
    write(&env, ID, &[turn(1, 5, Some(0.5)), turn(2, 5, Some(0.25))]);
    say(&env, "stop", ID);
    say(&env, "stop", ID);
    assert_eq!(credits(&env.records()), [Some(0.5), Some(0.25)]);
}
