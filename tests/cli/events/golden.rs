//! What flow-agents 3.4.1 wrote for a session, against what Tally writes for the same payloads. What differs on purpose is
//! in docs/differences/events.md.

use super::{channel, claude, machine};
use crate::env::{fixture, lines};
use serde_json::{Value, json};

/// Their blank texts are our `null`.
fn with_nulls(mut value: Value) -> Value {
    match &mut value {
        Value::String(text) if text.is_empty() => return Value::Null,
        Value::Object(fields) => fields.values_mut().for_each(|field| *field = with_nulls(field.take())),
        _ => {}
    }
    value
}

/// Asserts that `ours` says all that `theirs` does.
fn assert_says(ours: &Value, theirs: &Value, at: &str) {
    match theirs {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| assert_says(&ours[key], value, &format!("{at}.{key}")))
        }
        Value::Array(items) => {
            assert_eq!(ours.as_array().map(Vec::len), Some(items.len()), "{at}");
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| assert_says(&ours[index], item, &format!("{at}[{index}]")));
        }
        Value::Number(number) if number.is_f64() => {
            assert!((ours.as_f64().unwrap() - theirs.as_f64().unwrap()).abs() < 1e-9, "{at}: {ours}");
        }
        _ => assert_eq!(ours, theirs, "{at}"),
    }
}

#[test]
fn a_session_has_the_records_of_flow_agents_but_for_what_differs_on_purpose() {
    let mut theirs = lines(&fixture("flow-agents/golden/events-3.4.1.full.jsonl"));
    assert_eq!(theirs.len(), 11);
    // Row 8 is of a payload that is no JSON: we have a note, and no record of blanks. Row 4 is a raw `PreToolUse` which got
    // an output in place of its input: it is the same event to us as the one before it.
    theirs.remove(8);
    theirs.remove(4);

    let mut env = machine();
    env.set("TELEMETRY_CHANNEL_FULL_REDACT", "none");
    env.set("TELEMETRY_PRICING_FILE", fixture("flow-agents/pricing.json").to_str().unwrap());
    let transcript = fixture("flow-agents/telemetry/usage-transcript-sample.jsonl");
    for (event, more) in [
        ("SessionStart", json!({"model": "claude-opus-4-8", "source": "startup"})),
        ("UserPromptSubmit", json!({"prompt": "héllo\nworld"})),
        (
            "PreToolUse",
            json!({"tool_name": "Task", "tool_input": {"subagent_type": "planner", "prompt": "x"}}),
        ),
        (
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_input": {"command": "a"}, "tool_response": {"stdout": "a", "exitCode": 0}}),
        ),
        (
            "PermissionRequest",
            json!({"tool_name": "Bash", "tool_input": {"command": "rm", "description": "why"}}),
        ),
        ("SubagentStart", json!({})),
        (
            "Stop",
            json!({"transcript_path": transcript, "stop_hook_active": true, "last_assistant_message": "bye"}),
        ),
    ] {
        let mut payload = claude(&env, "rt-1", event, &more);
        if more.get("transcript_path").is_none() {
            payload.as_object_mut().unwrap().remove("transcript_path");
        }
        env.hook(&payload);
    }
    let ours = channel(&env, "full");
    assert_eq!(ours.len(), theirs.len());
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let mut theirs = with_nulls(theirs);
        let fields = theirs.as_object_mut().unwrap();
        // Random, of their machine, or collected by processes that a hook must not start.
        for name in ["timestamp", "session_id", "event_id", "context", "agent", "enrichment"] {
            fields.remove(name);
        }
        fields["hook"].as_object_mut().unwrap().remove("transcript_path");
        if at == 1 {
            assert_eq!(fields["turn"]["prompt_length"], 12, "theirs is in bytes where the locale is C");
            fields["turn"]["prompt_length"] = 11.into();
        }
        for pointer in ["/session/duration_s", "/usage/duration_s"] {
            // The clock of this test stands still; theirs ran for 20 s.
            if let Some(duration) = theirs.pointer_mut(pointer) {
                *duration = 0.into();
            }
        }
        // Ours are in the order of their ids.
        if let Some(Value::Array(rows)) = theirs.pointer_mut("/usage/by_model") {
            rows.sort_by_key(|row| row["model"].to_string());
        }
        // They count the raw `PreToolUse` of row 4 too.
        if let Some(count) = theirs.pointer_mut("/usage/tool_invocations") {
            *count = 1.into();
        }
        assert_says(ours, &theirs, &format!("row {at}"));
    }
}
