//! The record that leaves, beside what flow-agents sends.

use super::*;
use crate::liveness::event::Activity;
use serde_json::{Value, json};

const NOW: i64 = 1_782_907_200_000;

fn event(subject: &str, actor: &str, at: &str) -> Event {
    Event {
        kind: Kind::Heartbeat,
        subject: subject.to_owned(),
        actor: actor.to_owned(),
        at: at.to_owned(),
        ttl_s: None,
        source: Some("tool-activity"),
        activity: Some(Activity { tool: "Bash".to_owned() }),
        host: Some("h".to_owned()),
        branch: Some("b".to_owned()),
        actor_key: Some("k".to_owned()),
        artifact_dir: Some("d".to_owned()),
    }
}

fn record(event: &Event, ttl_s: u64) -> Value {
    serde_json::from_str(&Record::new(event, ttl_s, NOW).json().unwrap()).unwrap()
}

#[test]
fn golden_liveness_relay_record() {
    let text = include_str!("../../../tests/fixtures/flow-agents/golden/liveness-relay-record.jsonl");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names = |record: &Value| record.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let ours = record(&event("s", "a", "2026-07-01T10:00:00.123Z"), 1800);
    let theirs = &rows[1]["6.x"];
    assert_eq!(names(&ours), names(theirs));
    // Where they have a value, it is ours too; what they leave null is told.
    for (name, value) in theirs.as_object().unwrap() {
        assert!(value.is_null() && !ours[name].is_null() || *value == ours[name], "{name}");
    }
    assert_eq!(record(&event("s", "a", "2026-07-01T10:00:00Z"), 1800)["at"], "2026-07-01T10:00:00.000Z");
}

#[test]
fn what_the_console_would_refuse_or_be_misled_by_is_mended() {
    let ahead = record(&event("s", "a", "2075-01-01T00:00:00Z"), 99_999_999);
    assert_eq!(ahead["at"], "2026-07-01T12:00:00.000Z");
    assert_eq!(ahead["ttlSeconds"], 86_400);
    let long = record(&event(&"x".repeat(191), "a\0b", "x"), 60);
    assert_eq!(long["subjectId"].as_str().unwrap().len(), 71);
    assert_eq!(long["actor"], "a\u{fffd}b");
}

#[test]
fn hostile_bytes_are_escaped_and_come_back_whole() {
    let event = event("\u{7}\u{1b}[31m\u{9b}\u{7f}\u{202e}é😀", "a\"\n", "2026-07-01T10:00:00Z");
    let json = Record::new(&event, 60, NOW).json().unwrap();
    assert!(json.bytes().all(|byte| (b' '..0x7f).contains(&byte)), "{json}");
    let back: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&back["subjectId"], &back["actor"]), (&json!(event.subject), &json!(event.actor)));
}

#[test]
fn the_identity_is_the_consoles() {
    let event = event("fix/a b", "claude-code:é:h(1)", "2026-07-01T10:00:00Z");
    assert_eq!(Record::new(&event, 60, NOW).id(), "liveness:claude-code%3A%C3%A9%3Ah(1):fix%2Fa%20b");
}
