//! What of an event leaves the machine, and what a user lets through.

use super::{channel, claude, machine};
use crate::env::TestEnv;
use crate::transcript::{SESSION, Transcript};
use serde_json::{Value, json};
use tally::relay::receiver::Receiver;

#[test]
fn what_a_user_lets_through_holds_no_credential() {
    let mut env = machine();
    env.set("TELEMETRY_CHANNEL_FULL_REDACT", "none");
    env.set("TELEMETRY_CHANNELS", "full");
    let key = ["sk-ant-", "api03-", &"Ab3".repeat(30)].concat();
    let command = format!("curl -H 'x-api-key: {key}' https://u:{key}@example.com # said");
    env.hook(&claude(
        &env,
        "s-1",
        "PreToolUse",
        &json!({"tool_name": "Bash", "tool_input": {"command": command}}),
    ));
    let text = std::fs::read_to_string(env.data_dir().join("full.jsonl")).unwrap();
    assert!(text.contains("example.com # said") && !text.contains(&key[14..]), "{text}");
    assert!(!env.data_dir().join("analytics.jsonl").exists());
}

#[test]
fn a_path_that_is_an_expression_closes_the_channel_and_is_said() {
    let mut env = machine();
    env.set("TELEMETRY_CHANNEL_ANALYTICS_REDACT", "tool.input,(.context | keys)");
    env.hook(&claude(&env, "s-1", "UserPromptSubmit", &json!({"prompt": "do not tell"})));
    let record = &channel(&env, "analytics")[0];
    assert_eq!(record["event_type"], "turn.user");
    assert!(
        record.get("turn").is_none_or(Value::is_null) && record.get("context").is_none_or(Value::is_null),
        "{record}"
    );
    assert!(env.log().contains("redaction path"), "{}", env.log());
}

/// A machine whose events go to `console`.
fn mirrored(console: &Receiver) -> TestEnv {
    let mut env = TestEnv::new();
    env.set("FLOW_AGENTS_CONSOLE_TELEMETRY_RELAY", "1");
    crate::relay::console(&env, console);
    env
}

fn bodies(console: &Receiver, path: &str) -> Vec<Value> {
    let requests = console.received().into_iter().filter(|request| request.path == path);
    requests.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
}

#[test]
fn the_consoles_copy_has_no_words_paths_or_outputs_and_one_usage_id_per_session() {
    let console = Receiver::start(0).unwrap();
    let env = mirrored(&console);
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt();
    env.hook(&transcript.payload(&env, "SessionStart"));
    let canary = "canary-7f3a";
    let say = |event: &str, more: Value| {
        let mut payload = transcript.payload(&env, event);
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        env.hook(&payload);
    };
    say("UserPromptSubmit", json!({"prompt": canary}));
    say(
        "PreToolUse",
        json!({"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": canary, "description": canary}}),
    );
    say(
        "PermissionRequest",
        json!({"tool_name": "Bash", "tool_input": {"command": canary, "description": canary}}),
    );
    say(
        "PostToolUse",
        json!({"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": canary}, "tool_response": {"stdout": canary, "exitCode": 0}}),
    );
    say(
        "PreToolUse",
        json!({"tool_name": "InvokeSubagents", "tool_input": {"targets": [{"agent_name": "writer", "query": canary}]}}),
    );
    for (at, cost) in [("m1", [10, 20, 30]), ("m2", [1, 2, 3])] {
        transcript.call(at, "claude-opus-4-8", cost);
        let mut payload = transcript.payload(&env, "Stop");
        payload["last_assistant_message"] = canary.into();
        env.hook(&payload);
    }
    crate::relay::flush(&env);
    let events = bodies(&console, "/api/telemetry/records");
    let text = Value::from(events.clone()).to_string();
    for secret in [canary, env.project().to_str().unwrap(), env.home().to_str().unwrap()] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let mut types: Vec<_> = events.iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    types.sort_unstable();
    types.dedup();
    assert_eq!(
        types,
        [
            "agent.delegate",
            "session.end",
            "session.start",
            "session.usage",
            "tool.invoke",
            "tool.permission_request",
            "tool.result",
            "turn.user"
        ]
    );
    let usage: Vec<_> = events.iter().filter(|event| event["event_type"] == "session.usage").collect();
    assert_eq!(usage.len(), 2);
    assert!(usage.iter().all(|event| event["event_id"] == format!("{SESSION}-usage")), "{usage:?}");
    // The last one that arrives is the whole session: what the Console keeps.
    assert_eq!(usage[1]["usage"]["input_tokens"], 11);
    assert_eq!(usage[1]["usage"]["output_tokens"], 22);
    assert_eq!(usage[1]["context"]["project"], "project");
    let local = channel(&env, "full").len();
    assert_eq!(events.len(), local, "each event leaves once");
    assert_eq!(bodies(&console, "/records").len(), 2, "economics goes its own way");
}

#[test]
fn without_a_console_or_where_it_is_switched_off_no_event_is_queued() {
    let console = Receiver::start(0).unwrap();
    let off = |name: &str, value: &str| {
        let mut env = mirrored(&console);
        env.set(name, value);
        env
    };
    let mut without = TestEnv::new();
    without.set("FLOW_AGENTS_CONSOLE_TELEMETRY_RELAY", "1");
    for env in [without, off("FLOW_AGENTS_CONSOLE_TELEMETRY_RELAY", "0"), off("DO_NOT_TRACK", "1")] {
        env.hook(&claude(&env, "s-1", "UserPromptSubmit", &json!({"prompt": "x"})));
        assert_eq!(crate::relay::status(&env)["enqueued"], 0);
        assert_eq!(channel(&env, "full").len(), 1);
    }
}

#[test]
fn usage_that_a_killed_hook_left_untold_is_told_by_the_next_stop_once() {
    let env = machine();
    let transcript = env.home().join("s.jsonl");
    let usage = json!({"input_tokens": 10, "output_tokens": 7});
    let message = json!({"id": "m", "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage});
    let line = json!({"type": "assistant", "sessionId": "s", "uuid": "u", "requestId": "r",
        "timestamp": "2026-09-21T10:00:00.000Z", "message": message});
    std::fs::write(transcript, format!("{line}\n")).unwrap();
    env.hook(&claude(&env, "s", "SessionStart", &json!({})));
    let before: Vec<_> = files(&env.data_dir());
    env.hook(&claude(&env, "s", "Stop", &json!({})));
    // What a kill behind the economics record leaves: no event of this stop, and no memory of one.
    for (path, bytes) in before {
        if path.extension().is_some_and(|end| end == "events") || path.ends_with("full.jsonl") {
            std::fs::write(path, bytes).unwrap();
        }
    }
    let told = || {
        let records = channel(&env, "full");
        let usage = records.into_iter().filter(|record| record["event_type"] == "session.usage");
        usage
            .map(|record| (record["event_id"].clone(), record["usage"]["output_tokens"].clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(), []);
    env.hook(&claude(&env, "s", "SessionEnd", &json!({})));
    assert_eq!(told(), [(json!("s-usage"), json!(7))]);
    env.hook(&claude(&env, "s", "SessionEnd", &json!({})));
    assert_eq!((told().len(), env.records().len()), (1, 1), "once");
    assert_eq!(env.log(), "");
}

/// The files in and below a folder, with what they hold.
fn files(dir: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let paths = std::fs::read_dir(dir).unwrap().map(|item| item.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() { files(&path) } else { vec![(path.clone(), std::fs::read(&path).unwrap())] }
        })
        .collect()
}
