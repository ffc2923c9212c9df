use super::*;
use serde_json::{Value, json};

const PLACE: Place<'static> = Place { file: "/p/s1.jsonl", session: Some("s1"), agent: None };

fn line(bytes: &[u8]) -> Line<'_> {
    Line { bytes, offset: 0, open: false }
}

fn call() -> Value {
    json!({
        "type": "assistant", "sessionId": "s1", "uuid": "u1", "timestamp": "2026-11-10T09:00:00.000Z",
        "isSidechain": false,
        "message": {"id": "m1", "model": "claude-opus-4-8", "stop_reason": "end_turn", "usage": {"input_tokens": 1}}
    })
}

/// The call with one value put in, by JSON pointer.
fn with(pointer: &str, value: Value) -> Value {
    let mut line = call();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    line.pointer_mut(parent).unwrap()[field] = value;
    line
}

fn word(parsed: &Parsed<'_>) -> &'static str {
    match parsed {
        Parsed::Calls(_) => "calls",
        Parsed::Prompt(_) => "prompt",
        Parsed::Echo => "echo",
        Parsed::Synthetic => "synthetic",
        Parsed::Other => "other",
        Parsed::Unreadable => "unreadable",
    }
}

/// The one call of a line.
fn one(value: &Value, place: Place<'_>, check: impl FnOnce(&Observation<'_>)) {
    let text = value.to_string();
    match parse(&line(text.as_bytes()), place) {
        Parsed::Calls(calls) if calls.len() == 1 => check(&calls[0]),
        other => panic!("{text} is {other:?}"),
    }
}

#[test]
fn what_a_line_is() {
    let prompt = json!({"type": "user", "timestamp": "2026-11-10T09:00:00Z", "message": {"content": "go"}});
    let user = |field: &str, value: Value| {
        let mut line = prompt.clone();
        line[field] = value;
        line
    };
    let result = json!({"content": [{"type": "tool_result", "content": "x"}]});
    let image = json!({"content": [{"type": "image"}, {"type": "text", "text": "see"}]});
    let table = [
        (call(), "calls"),
        (with("/message/usage", json!(null)), "other"),
        (with("/message/usage", json!([1])), "other"),
        (with("/message", json!("plain")), "other"),
        (with("/type", json!("user")), "prompt"),
        (with("/type", json!("summary")), "other"),
        (with("/type", json!(7)), "other"),
        (
            json!(["assistant", "s1", "u1", null, null, 0, 0, 0, null, null, {"usage": {"input_tokens": 9}}]),
            "unreadable",
        ),
        (json!([1]), "other"),
        (with("/message/usage/input_tokens", json!("1")), "unreadable"),
        (with("/message/usage/cache_creation", json!({"ephemeral_1h_input_tokens": -1})), "unreadable"),
        (
            with("/message/usage/iterations", json!([{"type": "compaction", "output_tokens": 0.5}])),
            "unreadable",
        ),
        (with("/message/usage/iterations", json!([{"type": "message", "output_tokens": 0.5}])), "calls"),
        (with("/message/model", json!("<synthetic>")), "calls"),
        (
            json!({"type": "assistant", "message": {"model": "<synthetic>", "usage": {"input_tokens": 0}}}),
            "synthetic",
        ),
        (json!({"type": "progress", "data": {"message": {"message": {"usage": {}}}}}), "echo"),
        (json!({"type": "progress", "data": {"type": "hook_progress"}}), "other"),
        (user("toolUseResult", json!({"usage": {"input_tokens": 1}})), "echo"),
        (user("toolUseResult", json!({"stdout": "x"})), "other"),
        (user("message", result), "other"),
        (user("message", image), "prompt"),
        (user("isMeta", json!(true)), "other"),
        (user("isSidechain", json!(true)), "other"),
        (user("isCompactSummary", json!(true)), "other"),
        (user("timestamp", json!("yesterday")), "other"),
        (prompt, "prompt"),
    ];
    for (value, expected) in table {
        let text = value.to_string();
        assert_eq!(word(&parse(&line(text.as_bytes()), PLACE)), expected, "{text}");
    }
}

#[test]
fn a_line_that_is_still_being_written_is_not_unreadable_yet() {
    let text = call().to_string();
    let torn = &text.as_bytes()[..text.len() - 3];
    assert_eq!(word(&parse(&line(torn), PLACE)), "unreadable");
    assert_eq!(word(&parse(&Line { open: true, ..line(torn) }, PLACE)), "other");
    assert_eq!(word(&parse(&line(&torn[..20]), PLACE)), "other", "no usage was lost");
}

#[test]
fn the_identity_of_a_call_is_its_id_else_its_uuid_else_its_place() {
    let key = |value: &Value, place: Place<'_>, offset: u64| {
        let text = value.to_string();
        match parse(&Line { offset, ..line(text.as_bytes()) }, place) {
            Parsed::Calls(calls) => calls[0].key,
            other => panic!("{other:?}"),
        }
    };
    let elsewhere = Place { file: "/p/s2.jsonl", ..PLACE };
    let same_id = with("/requestId", json!("r"));
    assert_eq!(key(&call(), PLACE, 0), key(&same_id, elsewhere, 9));
    let no_id = with("/message/id", Value::Null);
    assert_eq!(key(&no_id, PLACE, 0), key(&no_id, elsewhere, 9));
    assert_ne!(key(&no_id, PLACE, 0), key(&call(), PLACE, 0));
    let mut nothing = no_id;
    nothing["uuid"] = json!("");
    assert_eq!(key(&nothing, PLACE, 0), key(&nothing, PLACE, 0));
    assert_ne!(key(&nothing, PLACE, 0), key(&nothing, PLACE, 9));
    assert_ne!(key(&nothing, PLACE, 0), key(&nothing, elsewhere, 0));
}

#[test]
fn the_owner_is_where_the_line_was_forked_from_else_its_session_else_the_files() {
    let table = [
        (with("/forkedFrom", json!({"sessionId": "s0"})), "s0"),
        (with("/forkedFrom", json!({})), "s1"),
        (with("/sessionId", json!("s9")), "s9"),
        (with("/sessionId", Value::Null), "s1"),
    ];
    for (value, owner) in table {
        one(&value, PLACE, |call| assert_eq!(call.session.as_deref(), Some(owner), "{value}"));
    }
}

#[test]
fn a_subagents_call_is_told_by_its_file_or_by_its_side_chain() {
    let agents_file = Place { agent: Some("a1"), ..PLACE };
    let table = [
        (call(), PLACE, None, true),
        (call(), agents_file, Some("a1"), false),
        (with("/isSidechain", json!(true)), PLACE, None, false),
        (with("/agentId", json!("a2")), PLACE, None, true),
    ];
    for (value, place, agent, main) in table {
        one(&value, place, |call| {
            assert_eq!(
                (call.agent.as_deref(), call.traits.has(Traits::MAIN_CHAIN)),
                (agent, main),
                "{value}"
            );
        });
    }
    let mut inline = with("/agentId", json!("a2"));
    inline["isSidechain"] = json!(true);
    one(&inline, PLACE, |call| assert_eq!(call.agent.as_deref(), Some("a2")));
}

#[test]
fn what_the_price_depends_on() {
    let traits = [Traits::FAST, Traits::US_ONLY, Traits::BATCH, Traits::FINAL];
    let table = [
        (call(), [false, false, false, true]),
        (with("/message/usage/speed", json!("fast")), [true, false, false, true]),
        (with("/message/usage/speed", json!("standard")), [false, false, false, true]),
        (with("/message/usage/inference_geo", json!("us")), [false, true, false, true]),
        (with("/message/usage/inference_geo", json!("not_available")), [false, false, false, true]),
        (with("/message/usage/service_tier", json!("batch")), [false, false, true, true]),
        (with("/message/stop_reason", Value::Null), [false, false, false, false]),
    ];
    for (value, expected) in table {
        one(&value, PLACE, |call| assert_eq!(traits.map(|one| call.traits.has(one)), expected, "{value}"));
    }
}

#[test]
fn hidden_iterations_are_calls_of_their_own_at_ordinary_rates() {
    let mut value = with(
        "/message/usage/iterations",
        json!([
            {"type": "message", "input_tokens": 500},
            {"type": "advisor_message", "model": "claude-opus-5", "input_tokens": 20, "output_tokens": 2},
            {"type": "compaction", "cache_creation_input_tokens": 30},
        ]),
    );
    value["message"]["usage"]["speed"] = json!("fast");
    let text = value.to_string();
    let Parsed::Calls(calls) = parse(&line(text.as_bytes()), PLACE) else { panic!("no calls") };
    let found: Vec<_> = calls
        .iter()
        .map(|call| (call.model.as_deref().unwrap(), call.tokens.total(), call.traits.has(Traits::FAST)))
        .collect();
    assert_eq!(
        found,
        [("claude-opus-5", 22, false), ("claude-opus-4-8", 30, false), ("claude-opus-4-8", 1, true)]
    );
    let keys: std::collections::HashSet<_> = calls.iter().map(|call| call.key).collect();
    assert_eq!(keys.len(), 3);
}

proptest::proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..64), at in 0..400_usize) {
        let mut text = call().to_string().into_bytes();
        let at = at.min(text.len());
        text.splice(at..at, bytes);
        let _ = word(&parse(&line(&text), PLACE));
    }
}
