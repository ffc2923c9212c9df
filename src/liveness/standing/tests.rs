//! flow-agents' recorded answers, row by row. Where Tally answers otherwise the row is named here with our answer, and
//! the reason is in `docs/differences/liveness.md`; a row that no longer differs fails.

use super::*;
use crate::sys::clock;
use serde_json::{Value, json};

macro_rules! golden {
    ($name:literal) => {
        rows(include_str!(concat!("../../../tests/fixtures/flow-agents/golden/", $name, ".jsonl")))
    };
}

fn rows(text: &str) -> Vec<Value> {
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!rows.is_empty());
    rows
}

fn ms(text: &str) -> i64 {
    clock::parse_rfc3339(text).unwrap()
}

fn fold(events: &Value, now: &str) -> Fold {
    let mut fold = Fold::new(ms(now));
    for event in events.as_array().unwrap() {
        fold.add(event.to_string().as_bytes());
    }
    fold
}

fn event(kind: &str, actor: &str, at: &str, ttl: Value) -> Value {
    json!({"type": kind, "subjectId": "s", "actor": actor, "at": at, "ttlSeconds": ttl})
}

#[test]
fn golden_fresh_holders() {
    // A stamp that is ahead pins nobody; a heartbeat without a claim holds nothing.
    let nobody = ["future_stamp", "heartbeat_only"];
    let mut differences = 0;
    for row in golden!("fresh-holders") {
        let fold = fold(&row["events"], row["now"].as_str().unwrap());
        let theirs: Vec<(&str, &str, u64)> = row["fresh"]
            .as_array()
            .unwrap()
            .iter()
            .map(|holder| {
                (
                    holder["actor"].as_str().unwrap(),
                    holder["lastAt"].as_str().unwrap(),
                    holder["ttlSeconds"].as_u64().unwrap(),
                )
            })
            .collect();
        let holders = fold.holders("s");
        let mut ours: Vec<_> = holders
            .iter()
            .map(|holder| (holder.actor.as_str(), holder.last_at.as_str(), holder.ttl_s))
            .collect();
        ours.sort_unstable();
        if nobody.contains(&row["name"].as_str().unwrap()) {
            assert!(ours.is_empty() && !theirs.is_empty(), "{row}");
            differences += 1;
            continue;
        }
        assert_eq!(ours, theirs, "{row}");
        let others: Vec<String> = fold.others("s", "a").into_iter().map(|holder| holder.actor).collect();
        assert_eq!(json!(others), row["fresh_excluding_self_a"], "{row}");
    }
    assert_eq!(differences, nobody.len());
}

#[test]
fn golden_lane_state() {
    let mut differences = 0;
    for row in golden!("lane-state") {
        let (at, now) = (row["lastEventAt"].as_str().unwrap(), row["now"].as_str().unwrap());
        let kind = row["lastEventType"].as_str().unwrap();
        let mut events = vec![event("claim", "a", at, row["ttlSeconds"].clone())];
        if kind != "claim" {
            events.push(event(kind, "a", at, Value::Null));
        }
        let standing = &fold(&json!(events), now).standings()[0];
        if at.starts_with("2075") {
            assert_ne!(row["state"], "reclaimable");
            assert_eq!((standing.label, standing.skewed), (Label::Reclaimable, true));
            differences += 1;
            continue;
        }
        assert_eq!(row["state"], standing.label.as_str(), "{row}");
    }
    assert_eq!(differences, 1);
}

#[test]
fn golden_liveness_verdict() {
    let mut differences = vec![];
    for row in golden!("liveness-verdict") {
        let verdict = fold(&row["events"], row["now"].as_str().unwrap()).verdict("s");
        let ours = serde_json::to_value(&verdict).unwrap();
        if ours == row["json"]["out"] {
            continue;
        }
        let name = row["name"].as_str().unwrap().to_owned();
        let winner = verdict.winner.as_ref().map(|winner| winner.actor.as_str());
        if name == "control_chars_sanitised_in_json" {
            // An actor is shown whole, so that it can be compared with `whoami`.
            let theirs = row["json"]["out"]["winner"]["actor"].as_str().unwrap();
            let given = row["events"][0]["actor"].as_str().unwrap();
            assert_eq!(winner.map(str::len), Some(given.len() - 1), "all but the control character");
            assert!(winner.unwrap().starts_with(theirs));
        }
        differences.push(name);
    }
    assert_eq!(differences, OTHER_VERDICTS);
}

const OTHER_VERDICTS: [&str; 1] = ["control_chars_sanitised_in_json"];

const NOW: &str = "2026-07-01T12:00:00Z";

#[test]
fn seconds_and_milliseconds_order_as_instants() {
    let events = json!([
        event("claim", "a", "2026-07-01T11:50:00.500Z", json!(1800)),
        event("claim", "b", "2026-07-01T11:50:00Z", json!(1800)),
        event("claim", "c", "2026-07-01T11:50:00.499999Z", json!(1800)),
    ]);
    let order: Vec<String> = fold(&events, NOW).holders("s").into_iter().map(|holder| holder.actor).collect();
    assert_eq!(order, ["b", "c", "a"]);
}

#[test]
fn a_claim_again_goes_to_the_end_of_the_queue() {
    let events = json!([
        event("claim", "a", "2026-07-01T11:40:00Z", json!(1800)),
        event("claim", "b", "2026-07-01T11:45:00Z", json!(1800)),
        event("claim", "a", "2026-07-01T11:50:00Z", json!(1800)),
    ]);
    assert_eq!(fold(&events, NOW).verdict("s").winner.unwrap().actor, "b");
}

#[test]
fn a_lead_of_five_minutes_counts_as_now_and_a_greater_one_for_nothing() {
    let held = |at: &str| {
        let fold = fold(&json!([event("claim", "a", at, json!(60))]), NOW);
        (fold.holders("s").len(), fold.standings()[0].skewed, fold.standings()[0].age_s)
    };
    assert_eq!(held("2026-07-01T12:05:00Z"), (1, false, Some(0)));
    assert_eq!(held("2026-07-01T12:05:00.001Z"), (0, true, None));
}

#[test]
fn a_real_sign_of_life_counts_after_one_that_was_ahead() {
    let events = json!([
        event("claim", "a", "2075-01-01T00:00:00Z", json!(1800)),
        event("heartbeat", "a", "2026-07-01T11:59:00Z", Value::Null),
        event("claim", "b", "2026-07-01T11:58:00Z", json!(1800)),
    ]);
    let fold = fold(&events, NOW);
    assert_eq!(fold.verdict("s").winner.unwrap().actor, "b");
    assert_eq!(fold.holders("s").len(), 2);
    assert!(fold.standings()[0].skewed);
}

#[test]
fn nobody_holds_by_a_heartbeat_or_a_release_alone() {
    for kind in ["heartbeat", "release", "ping"] {
        let fold = fold(&json!([event(kind, "a", "2026-07-01T11:59:00Z", Value::Null)]), NOW);
        assert!(fold.holders("s").is_empty() && fold.standings().is_empty(), "{kind}");
    }
}

#[test]
fn the_four_standings() {
    let events = json!([
        event("claim", "old", "2026-07-01T10:00:00Z", json!(60)),
        event("claim", "gone", "2026-07-01T11:58:00Z", json!(600)),
        event("release", "gone", "2026-07-01T11:59:00Z", Value::Null),
    ]);
    let label = |events: &Value, at: usize| fold(events, NOW).standings()[at].label;
    assert_eq!((label(&events, 0), label(&events, 1)), (Label::Released, Label::Reclaimable));
    let mut taken = events.clone();
    taken.as_array_mut().unwrap().push(event("claim", "new", "2026-07-01T11:59:00Z", json!(600)));
    assert_eq!((label(&taken, 1), label(&taken, 2)), (Label::Held, Label::Superseded));
}

#[test]
fn hostile_names_reach_no_terminal() {
    let fold =
        fold(&json!([event("claim", "a\u{1b}[31m\u{9b}\nx", "2026-07-01T11:59:00Z", json!(600))]), NOW);
    assert_eq!(fold.standings()[0].actor, "a[31mx");
}

#[test]
fn only_a_name_that_nobody_escapes_is_looked_for_as_it_is() {
    let needle = |subject: &str| String::from_utf8(Fold::of(subject, 0).needle()).unwrap();
    assert_eq!(needle("fix-login_1.2"), "\"fix-login_1.2\"");
    for escaped in ["a/b", "é", "a\"b", "a b"] {
        assert_eq!(needle(escaped), "", "{escaped}");
    }
    assert_eq!(Fold::new(0).needle(), b"");
}
