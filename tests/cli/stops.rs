//! Stops of every host whose sessions are not Claude Code's nor Codex's: each yields its record, through the same ledger.

mod kiro;
mod opencode;
mod opencode_files;
mod opencode_host;
mod pi;

use crate::env::TestEnv;
use serde_json::{Value, json};

/// Calls the host's hook as it does: exit 0, nothing on stdout.
fn hook(env: &TestEnv, host: &str, payload: &Value) {
    let output = env.feed(&["hook", host], payload.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

/// The records of one session.
fn records_of(env: &TestEnv, session: &str) -> Vec<Value> {
    env.records().into_iter().filter(|record| record["session_id"] == session).collect()
}

/// Holds what is kept and what leaves to their schemas, and returns what leaves.
fn leaving(record: &Value) -> Value {
    use crate::economics::schemas::{consoles, errors, ours, outgoing};
    let body = outgoing(record);
    for (schema, kept) in [(ours(), record), (ours(), &body), (consoles(), &body)] {
        assert_eq!(errors(&schema, kept), Vec::<String>::new(), "{kept}");
    }
    body
}

/// What `tally usage` counts in the home: input, output, cache reads, and what they cost.
fn usage(env: &TestEnv) -> ([i64; 3], Option<f64>) {
    let output = env.run(&["usage", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let models: Vec<&Value> = answer["by_model"].as_object().unwrap().values().collect();
    let sum = |bucket: &str| models.iter().map(|model| model[bucket].as_i64().unwrap()).sum();
    (["input", "output", "cache_read"].map(sum), answer["total_cost_usd"].as_f64())
}

/// Holds the records to `tally usage` of the same home and to what the test counted: input, output, cache reads.
fn assert_add_up(env: &TestEnv, counted: [i64; 3]) {
    use crate::transcript::{cost, sum};
    let (tokens, usd) = usage(env);
    let records = env.records();
    assert_eq!((sum(&records), tokens), (counted, counted));
    let off = cost(&records) - usd.unwrap();
    assert!(off.abs() < 1e-9, "{off} USD apart");
    // So do the projections of each record.
    for record in &records {
        leaving(record);
        for part in [&record["phases"], &record["cost"]["by_model"]] {
            let parts: Vec<Value> =
                part.as_array().unwrap().iter().map(|row| json!({ "cost": row })).collect();
            assert_eq!(sum(&parts), crate::transcript::tokens(record));
        }
    }
}

#[test]
fn an_agent_that_moved_on_is_recorded_where_its_session_started() {
    let line = |cwd: &std::path::Path| {
        let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-10T09:00:00.000Z", "cwd": cwd});
        let usage = json!({"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 0});
        let message = json!({"role": "assistant", "model": "claude-sonnet-4-6", "usage": usage});
        let entry = json!({"type": "message", "id": "0a", "timestamp": "2026-11-10T09:00:01.000Z", "message": message});
        format!("{header}\n{entry}\n")
    };
    let turns = json!({"conversation_metadata": {"user_turn_metadatas": [{"metering_usage": [{"value": 1, "unit": "credit"}]}]}});
    let session =
        |cwd: &std::path::Path| json!({"session_id": "s", "cwd": cwd, "session_state": turns}).to_string();
    for (host, path) in [("pi", ".pi/agent/sessions/--p--/t_s.jsonl"), ("kiro", ".kiro/sessions/cli/s.json")]
    {
        let env = TestEnv::new();
        let (start, path) = (env.home().join("start"), env.home().join(path));
        std::fs::create_dir_all(start.join(".kontourai")).unwrap();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, if host == "pi" { line(&start) } else { session(&start) }).unwrap();
        std::fs::write(env.project().join("package.json"), r#"{"name":"another"}"#).unwrap();
        hook(&env, host, &json!({"hook_event_name": "Stop", "session_id": "s", "cwd": env.project()}));
        assert_eq!(env.records().len(), 0, "{host}");
        let records = crate::env::lines(&start.join(".kontourai/telemetry/economics.jsonl"));
        assert_eq!((records.len(), &records[0]["cost"]["calls"]), (1, &json!(1)), "{host}");
        let events = crate::env::lines(&start.join(".kontourai/telemetry/full.jsonl"));
        let projects = events.iter().map(|event| &event["context"]["project"]);
        assert_eq!(projects.collect::<Vec<_>>(), [&json!("start"); 2], "{host}");
        assert_eq!(records[0]["project"], "start", "{host}");
    }
}

#[test]
fn sessions_of_two_hosts_that_have_one_id_have_nothing_of_each_other() {
    let env = TestEnv::new();
    let (claude, pi) = (env.home().join("claude.jsonl"), env.home().join("pi.jsonl"));
    let usage = json!({"input_tokens": 100, "output_tokens": 1});
    let message = json!({"id": "m", "role": "assistant", "model": "claude-sonnet-4-6", "usage": usage});
    let line = json!({"type": "assistant", "uuid": "u", "requestId": "r", "timestamp": "2026-11-10T09:00:00.000Z", "message": message});
    std::fs::write(&claude, format!("{line}\n")).unwrap();
    let header = json!({"type": "session", "version": 3, "id": "one", "timestamp": "2026-11-10T09:00:00.000Z", "cwd": env.project()});
    let message =
        json!({"role": "assistant", "model": "claude-sonnet-4-6", "usage": {"input": 30, "output": 2}});
    let line =
        json!({"type": "message", "id": "0a", "timestamp": "2026-11-10T09:00:01.000Z", "message": message});
    std::fs::write(&pi, format!("{header}\n{line}\n")).unwrap();
    let say = |host, event, transcript: &std::path::Path| {
        let payload = json!({"hook_event_name": event, "session_id": "one", "cwd": env.project(), "transcript_path": transcript});
        hook(&env, host, &payload);
    };
    say("pi", "SessionStart", &pi);
    say("claude-code", "SessionStart", &claude);
    say("claude-code", "Stop", &claude);
    say("pi", "Stop", &pi);
    let told = env.records().into_iter().map(|record| {
        (
            record["signals"]["runtime"].clone(),
            record["sequence"].clone(),
            record["cost"]["input_tokens"].clone(),
        )
    });
    let expected =
        [("claude-code", 100), ("pi", 30)].map(|(host, input)| (json!(host), json!(1), json!(input)));
    assert_eq!(told.collect::<Vec<_>>(), expected);
}
