//! What events promise: nothing of another session, one line or one note whatever comes, evidence of commands.

use super::{channel, claude, machine};
use crate::env::{TestEnv, lines};
use serde_json::{Value, json};
use tally::evidence::command_log::chain::{Status, verify};

#[test]
fn interleaved_sessions_have_nothing_of_each_other() {
    let mut env = TestEnv::new();
    let bash = |id: &str| json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": "ls"}});
    // Both sessions name their calls alike; each begins and ends at times of its own.
    let beats = [
        (1_000, "a", "SessionStart", json!({})),
        (2_000, "b", "SessionStart", json!({})),
        (3_000, "a", "PreToolUse", bash("t1")),
        (3_500, "b", "PreToolUse", bash("t1")),
        (3_600, "b", "PreToolUse", bash("t2")),
        (4_000, "a", "PostToolUse", bash("t1")),
        (5_500, "b", "PostToolUse", bash("t1")),
        (5_600, "a", "PostToolUse", bash("t2")),
        (9_000, "a", "Stop", json!({})),
        (9_000, "b", "Stop", json!({})),
    ];
    for (at_ms, session, event, more) in &beats {
        env.set("TALLY_CLOCK_MS", (1_790_000_000_000_i64 + at_ms).to_string());
        env.hook(&claude(&env, session, event, more));
    }
    let records = channel(&env, "full");
    let of = |session: &str, event_type: &str, pointer: &str| -> Vec<Value> {
        let own = records
            .iter()
            .filter(|record| record["session_id"] == session && record["event_type"] == event_type);
        own.map(|record| record.pointer(pointer).unwrap().clone()).collect()
    };
    assert_eq!(
        of("a", "tool.result", "/tool/duration_ms"),
        [json!(1_000), json!(null)],
        "t2 was another session's"
    );
    assert_eq!(of("b", "tool.result", "/tool/duration_ms"), [json!(2_000)]);
    assert_eq!(of("a", "session.end", "/session/duration_s"), [json!(8)]);
    assert_eq!(of("b", "session.end", "/session/duration_s"), [json!(7)]);
    assert_eq!(of("a", "session.usage", "/usage/tool_invocations"), [json!(1)]);
    assert_eq!(of("b", "session.usage", "/usage/tool_invocations"), [json!(2)]);
}

#[test]
fn an_event_without_a_working_directory_is_of_no_project_and_says_so() {
    let env = machine();
    env.hook(&json!({"hook_event_name": "UserPromptSubmit", "session_id": "s-1", "prompt": "x"}));
    let context = &channel(&env, "analytics")[0]["context"];
    assert_eq!(
        (&context["project"], &context["project_source"]),
        (&json!("unknown"), &json!("no working directory"))
    );
}

#[test]
fn a_payload_of_any_shape_is_one_valid_line_or_one_note() {
    let long = "x".repeat(1 << 20);
    let hostile = [
        format!(r#"{{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_response":{{"stdout":"{long}"}}}}"#),
        r#"{"hook_event_name":"PreToolUse","session_id":"a\u0000b","tool_name":"\ud800","tool_input":{"command":"\u0000"}}"#.to_owned(),
        format!(r#"{{"hook_event_name":"PreToolUse","session_id":"s","tool_input":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000)),
        r#"{"hook_event_name":"Stop","hook_event_name":"PreToolUse","session_id":"x","session_id":"s"}"#.to_owned(),
        r#"{"hook_event_name":"PostToolUse","session_id":7,"cwd":[],"transcript_path":{},"tool_name":1,"tool_input":"t","tool_response":3,"tool_use_id":[1]}"#.to_owned(),
        r#"{"hook_event_name":["x"],"session_id":"s"}"#.to_owned(),
        "[1]".to_owned(),
    ];
    for host in ["claude-code", "codex", "opencode", "pi", "kiro", "generic"] {
        for payload in &hostile {
            let mut env = machine();
            env.set("TELEMETRY_CHANNEL_FULL_REDACT", "none");
            let output = env.feed(&["hook", host], payload.as_bytes());
            let start = &payload[..payload.len().min(90)];
            assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{host}: {start}");
            let written = std::fs::read_to_string(env.data_dir().join("full.jsonl")).unwrap_or_default();
            let records = channel(&env, "full").len();
            assert_eq!(records, written.lines().count(), "{host}: {start}");
            let notes = env.log().lines().count();
            assert!(matches!((records, notes), (1, 0) | (0, 1)), "{host}: {start}: {records}, {}", env.log());
        }
    }
}

#[test]
fn a_command_of_a_bound_session_is_in_the_tasks_log_and_a_later_silence_is_no_pass() {
    let env = machine();
    let task = env.project().join(".kontourai/flow-agents/t");
    std::fs::create_dir_all(&task).unwrap();
    std::fs::write(task.parent().unwrap().join("current.json"), r#"{"active_slug":"t"}"#).unwrap();
    std::fs::write(task.join("state.json"), r#"{"task_slug":"t","status":"in_progress"}"#).unwrap();
    let run = |event: &str, tool: &str, command: &str, more: Value| {
        let mut call = json!({"tool_name": tool, "tool_input": {"command": command}});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        env.hook(&claude(&env, "s-1", event, &call));
    };
    run(
        "PostToolUse",
        "Bash",
        "npm  test",
        json!({"tool_response": {"exitCode": 1, "stdout": "Process exited with code 0"}}),
    );
    run("PostToolUse", "Bash", "npm test", json!({"tool_response": {"stdout": "fine"}}));
    run("PostToolUseFailure", "Bash", "npm run lint", json!({}));
    run("PostToolUse", "Read", "npm test", json!({"tool_response": {"exitCode": 0}}));
    run("PreToolUse", "Bash", "npm test", json!({}));
    let log = lines(&task.join("command-log.jsonl"));
    let seen: Vec<_> =
        log.iter().map(|row| [&row["command"], &row["observedResult"], &row["exitCode"]]).collect();
    assert_eq!(
        json!(seen),
        json!([["npm test", "fail", 1], ["npm test", "ambiguous", null], ["npm run lint", "fail", null]])
    );
    let bytes = std::fs::read(task.join("command-log.jsonl")).unwrap();
    assert_eq!(verify(&bytes), Status::Whole);
}

#[test]
fn a_name_of_any_length_costs_no_record_and_leaves_as_its_hash() {
    let long = "n".repeat(300_000);
    let names = ["hook_event_name", "session_id", "turn_id", "model", "source", "agent_type", "agent_id"];
    let mut payloads: Vec<Value> = names
        .iter()
        .map(|name| {
            let mut payload =
                json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash"});
            payload[name] = json!(long);
            payload
        })
        .collect();
    payloads.push(json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": long}));
    payloads.push(json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Task",
        "tool_input": {"subagent_type": long}}));
    payloads.push(json!({"hook_event_name": "PreToolUse", "session_id": "s", long.as_str(): long}));
    payloads.push(
        json!({"hook_event_name": "PreToolUse", "session_id": "s", "cwd": long, "transcript_path": long}),
    );
    payloads.push(json!({"hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash",
        "tool_input": {"description": "\u{1}".repeat(100_000)}}));
    for payload in payloads {
        let env = machine();
        let output = env.feed(&["hook", "codex"], payload.to_string().as_bytes());
        assert_eq!(output.status.code(), Some(0));
        let key = payload.as_object().unwrap().iter().find(|(_, value)| value.to_string().len() > 90_000);
        let key = key.map(|(key, _)| key.chars().take(20).collect::<String>());
        assert!(!channel(&env, "full").is_empty(), "{key:?}: {}", env.log());
        let analytics = channel(&env, "analytics");
        assert!(!analytics.is_empty(), "{key:?}: {}", env.log());
        assert!(analytics.iter().all(|record| record.to_string().len() < 4_000), "{key:?}");
    }
}

#[test]
fn a_payload_that_is_no_object_is_noted_without_what_it_says() {
    let env = machine();
    env.feed(&["hook", "claude-code"], br#""the secret plan""#);
    env.feed(&["hook", "claude-code"], b"{\"prompt\": the secret plan}");
    let log = env.log();
    assert_eq!(log.lines().count(), 2, "{log}");
    assert!(
        log.contains("the payload is not a JSON object: line 1, column") && !log.contains("plan"),
        "{log}"
    );
}

#[test]
fn a_clock_that_was_set_back_makes_no_session_shorter_than_nothing() {
    let mut env = machine();
    env.hook(&claude(&env, "s", "SessionStart", &json!({})));
    env.set("TALLY_CLOCK_MS", "1789000000000");
    env.hook(&claude(&env, "s", "Stop", &json!({})));
    let records = channel(&env, "full");
    let durations: Vec<_> =
        records.iter().filter_map(|record| record.pointer("/session/duration_s")).collect();
    assert_eq!(durations, [&json!(0), &json!(0)], "usage and end");
}
