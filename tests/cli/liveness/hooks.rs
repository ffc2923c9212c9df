//! Claims that ride on the hooks of a host.

use super::{at_noon, clock, events, liveness, stream};
use crate::env::TestEnv;
use serde_json::{Value, json};

const ME: &str = "me";

/// A machine at noon with an agent that is bound to the task `t`.
fn bound() -> TestEnv {
    let mut env = at_noon();
    env.set("FLOW_AGENTS_ACTOR", ME);
    bind(&env, "planned");
    env
}

fn bind(env: &TestEnv, status: &str) {
    let folder = env.project().join(".kontourai/flow-agents");
    std::fs::create_dir_all(folder.join("t")).unwrap();
    std::fs::write(folder.join("current.json"), r#"{"active_slug":"t"}"#).unwrap();
    let state = json!({"task_slug": "t", "status": status});
    std::fs::write(folder.join("t/state.json"), state.to_string()).unwrap();
}

/// Calls a hook and returns what the agent is told.
fn hook(env: &TestEnv, event: &str) -> Option<String> {
    let payload = json!({
        "hook_event_name": event, "session_id": "s1", "cwd": env.project(), "tool_name": "Bash",
    });
    let output = env.feed(&["hook", "claude-code"], payload.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let answer = String::from_utf8(output.stdout).unwrap();
    if answer.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], event);
    Some(answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned())
}

fn kinds(env: &TestEnv) -> Vec<String> {
    events(env)
        .iter()
        .map(|event| format!("{} {}", event["actor"].as_str().unwrap(), event["type"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_session_claims_its_task_beats_as_it_works_and_lets_go_when_the_task_is_over() {
    let mut env = bound();
    assert_eq!(hook(&env, "SessionStart"), None);
    hook(&env, "PostToolUse");
    clock(&mut env, 59);
    hook(&env, "PostToolUse");
    assert_eq!(kinds(&env), ["me claim"], "throttled");
    clock(&mut env, 60);
    hook(&env, "PostToolUse");
    assert_eq!(kinds(&env), ["me claim", "me heartbeat"]);
    let beat = events(&env).pop().unwrap();
    assert_eq!((&beat["source"], &beat["activity"]["tool"]), (&json!("tool-activity"), &json!("Bash")));
    assert_eq!(
        (&beat["at"], &beat["artifact_dir"]),
        (&json!("2026-07-01T12:01:00.000Z"), &json!(".kontourai/flow-agents/t"))
    );
    clock(&mut env, 61);
    hook(&env, "Stop");
    clock(&mut env, 62);
    // A session that comes back goes on with its claim: its place in time is kept.
    hook(&env, "SessionStart");
    bind(&env, "delivered");
    clock(&mut env, 63);
    hook(&env, "SessionEnd");
    assert_eq!(kinds(&env)[2..], ["me heartbeat", "me heartbeat", "me release"]);
    clock(&mut env, 600);
    for event in ["PostToolUse", "Stop", "SessionStart"] {
        hook(&env, event);
    }
    assert_eq!(kinds(&env).len(), 5, "what is over is not claimed, and who let go stays away");
}

#[test]
fn throttled_heartbeats_write_nothing_at_all() {
    let env = bound();
    hook(&env, "SessionStart");
    let dir = stream(&env).parent().unwrap().to_path_buf();
    let state = || {
        let mut files: Vec<_> = std::fs::read_dir(&dir)
            .unwrap()
            .flatten()
            .map(|entry| {
                (
                    entry.file_name(),
                    entry.metadata().unwrap().modified().unwrap(),
                    entry.metadata().unwrap().len(),
                )
            })
            .collect();
        files.sort();
        files
    };
    let before = state();
    hook(&env, "PostToolUse");
    hook(&env, "PostToolUse");
    assert_eq!(state(), before);
}

#[test]
fn a_conflict_in_mid_turn_is_told_once_per_new_event() {
    let mut env = bound();
    hook(&env, "SessionStart");
    clock(&mut env, 30);
    liveness(&env, &["claim", "t", "--actor", "other"]);
    clock(&mut env, 70);
    assert_eq!(hook(&env, "PostToolUse"), None, "the host takes no context after a tool");
    let told = hook(&env, "PreToolUse").unwrap();
    assert!(told.contains("[LIVENESS CONFLICT] actor \"other\"") && told.contains("verdict t"), "{told}");
    assert_eq!(hook(&env, "PreToolUse"), None);
    clock(&mut env, 140);
    hook(&env, "PostToolUse");
    assert_eq!(hook(&env, "UserPromptSubmit"), None, "nothing new of the other");
    clock(&mut env, 170);
    liveness(&env, &["heartbeat", "t", "--actor", "other"]);
    clock(&mut env, 210);
    hook(&env, "PostToolUse");
    assert!(hook(&env, "UserPromptSubmit").is_some());
    assert_eq!(hook(&env, "UserPromptSubmit"), None);
    clock(&mut env, 220);
    liveness(&env, &["heartbeat", "t", "--actor", "other"]);
    clock(&mut env, 230);
    assert_eq!(hook(&env, "Stop"), None);
    assert!(hook(&env, "UserPromptSubmit").is_some(), "what a stop met is told with the next turn");
}

#[test]
fn a_session_that_starts_on_what_is_held_is_told_at_once() {
    let env = bound();
    liveness(&env, &["claim", "t", "--actor", "other"]);
    assert!(hook(&env, "SessionStart").unwrap().contains("\"other\""));
    assert_eq!(kinds(&env), ["other claim", "me claim"]);
}

#[test]
fn who_never_claimed_does_not_beat_and_a_heartbeat_is_no_conflict() {
    let mut env = bound();
    liveness(&env, &["claim", "t", "--actor", "other"]);
    hook(&env, "PostToolUse");
    assert_eq!(kinds(&env), ["other claim"]);
    let text = std::fs::read_to_string(stream(&env)).unwrap().replace("claim", "heartbeat");
    std::fs::write(stream(&env), text).unwrap();
    hook(&env, "SessionStart");
    clock(&mut env, 70);
    hook(&env, "PostToolUse");
    assert_eq!(hook(&env, "PreToolUse"), None);
}

#[test]
fn liveness_has_its_own_switch() {
    let mut env = bound();
    env.set("TELEMETRY_ENABLED", "false");
    hook(&env, "SessionStart");
    assert_eq!(kinds(&env), ["me claim"]);
    assert!(!env.data_dir().exists());
    env.set("FLOW_AGENTS_LIVENESS", "off");
    clock(&mut env, 600);
    for event in ["SessionStart", "PostToolUse", "Stop"] {
        hook(&env, event);
    }
    assert_eq!(kinds(&env), ["me claim"]);
}

#[test]
fn without_a_task_no_hook_leaves_a_claim() {
    let mut env = at_noon();
    env.set("TELEMETRY_ENABLED", "false");
    for event in ["PreToolUse", "PostToolUse", "UserPromptSubmit"] {
        assert_eq!(hook(&env, event), None);
    }
    assert!(!env.project().join(".kontourai").exists());
}

#[test]
fn the_relay_gets_a_full_record_only_when_it_is_asked_for() {
    for asked in [None, Some("on")] {
        let mut env = bound();
        // Nothing listens there: what is queued stays.
        env.set("CONSOLE_TELEMETRY_ENDPOINT_URL", "http://127.0.0.1:9/api/telemetry/records");
        env.set("FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY", "off");
        env.set("TALLY_RELAY_WORKER", "1");
        if let Some(asked) = asked {
            env.set("FLOW_AGENTS_CONSOLE_LIVENESS_RELAY", asked);
        }
        hook(&env, "SessionStart");
        clock(&mut env, 90);
        hook(&env, "PostToolUse");
        let queued = crate::env::lines(&env.data_dir().join("outbox/current.jsonl"));
        let latest = queued.last().map(|entry| entry["body"]["type"].clone());
        assert_eq!(latest, asked.map(|_| json!("heartbeat")));
        for entry in &queued {
            assert_eq!(entry["id"], "liveness:me:t");
            assert_eq!((&entry["kind"], &entry["path"]), (&json!("liveness"), &json!("/records")));
            let body = &entry["body"];
            assert_eq!(body["schema"], "kontour.console.liveness");
            for name in ["host", "ttlSeconds", "actor_key", "artifact_dir", "at"] {
                assert!(!body[name].is_null(), "{name}: {body}");
            }
        }
    }
}
