//! The verbs of `tally liveness`.

use super::{at_noon, clock, events, json, liveness, stream};
use jsonschema::Validator;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

fn schema(text: &str) -> Validator {
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

#[test]
fn a_claim_lives_from_its_making_to_its_release() {
    let mut env = at_noon();
    assert_eq!(liveness(&env, &["claim", "s", "--actor", "a", "--ttl", "60"]).1, "liveness claim: s by a\n");
    clock(&mut env, 59);
    assert_eq!(json(&env, &["status"])["claims"][0]["label"], "held");
    assert_eq!(liveness(&env, &["heartbeat", "s", "--actor", "a"]).0, 0);
    clock(&mut env, 118);
    assert_eq!(json(&env, &["status"])["claims"][0]["label"], "held");
    clock(&mut env, 119);
    assert_eq!(json(&env, &["status"])["claims"][0]["label"], "reclaimable");
    assert_eq!(liveness(&env, &["release", "s", "--actor", "a"]).1, "liveness release: s by a\n");
    assert_eq!(json(&env, &["status"])["claims"][0]["label"], "released");
    let kinds: Vec<Value> = events(&env).into_iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds, ["claim", "heartbeat", "release"]);
}

#[test]
fn what_goes_on_needs_a_claim_of_the_same_pair() {
    let env = at_noon();
    liveness(&env, &["claim", "s", "--actor", "a"]);
    for (verb, args) in [("heartbeat", ["s", "--actor", "b"]), ("release", ["t", "--actor", "a"])] {
        let (code, out, err) = liveness(&env, &[&[verb][..], &args].concat());
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains("requires a prior claim") && err.contains("tally liveness claim"), "{err}");
    }
    assert_eq!(events(&env).len(), 1);
}

#[test]
fn a_claim_of_what_is_held_succeeds_and_says_so_unless_it_must_be_free() {
    let mut env = at_noon();
    liveness(&env, &["claim", "s", "--actor", "a"]);
    clock(&mut env, 1);
    let (code, out, err) = liveness(&env, &["claim", "s", "--actor", "b", "--if-free"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.contains("held by a"), "{err}");
    assert_eq!(events(&env).len(), 1);
    let (code, out, err) = liveness(&env, &["claim", "s", "--actor", "b"]);
    assert_eq!((code, out.as_str()), (0, "liveness claim: s by b\n"));
    assert!(err.contains("WINNER: a\nLOSER: b\n"), "{err}");
    // One's own claim is no obstacle, and neither is one that was let go.
    assert_eq!(liveness(&env, &["claim", "t", "--actor", "a", "--if-free"]).0, 0);
    assert_eq!(liveness(&env, &["claim", "t", "--actor", "a", "--if-free"]).0, 0);
    liveness(&env, &["release", "t", "--actor", "a"]);
    assert_eq!(liveness(&env, &["claim", "t", "--actor", "b", "--if-free"]).0, 0);
}

#[test]
fn times_that_are_given_are_real_and_not_ahead() {
    let env = at_noon();
    for at in ["yesterday", "2026-02-30T00:00:00Z", "2026-07-01T12:00:00+00:00", "2026-07-01T12:05:01Z"] {
        let (code, _, err) = liveness(&env, &["claim", "s", "--actor", "a", "--at", at]);
        assert_eq!(code, 2, "{at}");
        assert!(err.contains("YYYY-MM-DDTHH:MM:SSZ"), "{err}");
    }
    assert!(!stream(&env).exists());
    assert_eq!(liveness(&env, &["claim", "s", "--actor", "a", "--at", "2026-07-01T12:05:00Z"]).0, 0);
    assert_eq!(events(&env)[0]["at"], "2026-07-01T12:05:00Z");
    assert_eq!(json(&env, &["verdict", "s", "--now", "2026-07-01T12:34:59Z"])["holders"][0]["actor"], "a");
    assert_eq!(
        json(&env, &["verdict", "s", "--now", "2026-07-01T12:35:00Z"])["holders"],
        Value::Array(vec![])
    );
}

#[test]
fn a_stamp_far_ahead_pins_nobody_out() {
    let env = at_noon();
    liveness(&env, &["claim", "s", "--actor", "a", "--at", "2026-07-01T11:59:00Z"]);
    liveness(&env, &["release", "s", "--actor", "a"]);
    let text = std::fs::read_to_string(stream(&env)).unwrap();
    let ahead =
        r#"{"type":"claim","subjectId":"s","actor":"z","at":"2075-01-01T00:00:00Z","ttlSeconds":1800}"#;
    std::fs::write(stream(&env), format!("{text}{ahead}\n")).unwrap();
    assert_eq!(liveness(&env, &["claim", "s", "--actor", "b", "--if-free"]).0, 0);
    let status = json(&env, &["status"]);
    assert_eq!((&status["claims"][2]["actor"], &status["claims"][2]["skewed"]), (&"z".into(), &true.into()));
}

#[test]
fn what_is_printed_as_json_is_what_the_schemas_say() {
    let env = at_noon();
    let event = schema(include_str!("../../../schemas/liveness-event.schema.json"));
    let verdict = schema(include_str!("../../../schemas/liveness-verdict.schema.json"));
    let status = schema(include_str!("../../../schemas/liveness-status.schema.json"));
    assert!(status.is_valid(&json(&env, &["status"])));
    assert!(verdict.is_valid(&json(&env, &["verdict", "s"])));
    for args in
        [["claim", "s", "--actor", "a"], ["claim", "s", "--actor", "b"], ["heartbeat", "s", "--actor", "a"]]
    {
        let printed = json(&env, &args);
        assert!(event.is_valid(&printed), "{printed}");
        assert_eq!(events(&env).last(), Some(&printed));
    }
    let answer = json(&env, &["verdict", "s"]);
    assert!(verdict.is_valid(&answer), "{answer}");
    assert_eq!(answer["reason"], "tie-actor-lexicographic");
    let answer = json(&env, &["status", "--subject", "s"]);
    assert!(status.is_valid(&answer), "{answer}");
    assert!(answer["claims"][0]["host"].is_string());
    assert_eq!(json(&env, &["status", "--subject", "t"])["claims"], Value::Array(vec![]));
    for schema in [event, verdict, status] {
        assert!(!schema.is_valid(&Value::Object(serde_json::Map::new())));
    }
}

#[test]
fn whoami_never_fails_and_writes_nothing() {
    let mut env = at_noon();
    let (code, out, _) = liveness(&env, &["whoami"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("process-ancestry:") && out.ends_with("\tprocess-ancestry\n"), "{out}");
    env.set("FLOW_AGENTS_ACTOR", "alice");
    assert_eq!(liveness(&env, &["whoami"]).1, "alice\texplicit-override\n");
    env.set("FLOW_AGENTS_ACTOR_TEST_FORCE_UNRESOLVED", "1");
    env.set("NODE_ENV", "test");
    assert_eq!(json(&env, &["whoami"])["actor"], "");
    let (code, _, err) = liveness(&env, &["claim", "s"]);
    assert_eq!(code, 1);
    assert!(err.contains("FLOW_AGENTS_ACTOR"), "{err}");
    assert!(!env.project().join(".kontourai").exists());
}

#[test]
fn a_subject_and_an_actor_must_name_something() {
    let env = at_noon();
    assert_eq!(liveness(&env, &["claim", " \u{1b} ", "--actor", "a"]).0, 2);
    assert_eq!(liveness(&env, &["claim", "s", "--actor", "\u{7}"]).0, 1);
    assert_eq!(liveness(&env, &["claim", "s", "--actor", "a", "--ttl", "0"]).0, 2);
    assert_eq!(liveness(&env, &["claim"]).0, 2);
    assert!(!stream(&env).exists());
}

#[test]
fn the_stream_is_private_and_ignores_itself() {
    let env = at_noon();
    liveness(&env, &["claim", "s", "--actor", "a"]);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let dir = stream(&env).parent().unwrap().to_path_buf();
    assert_eq!((mode(&stream(&env)), mode(&dir)), (0o600, 0o700));
    assert_eq!(std::fs::read_to_string(dir.join(".gitignore")).unwrap(), "*\n");
}

#[test]
fn a_subject_is_stored_verbatim_and_shown_safely() {
    let env = at_noon();
    let (_, out, _) = liveness(&env, &["claim", "x\u{1b}[31m\n\"y", "--actor", "a"]);
    assert_eq!(out, "liveness claim: x[31m\"y by a\n");
    assert_eq!(events(&env)[0]["subjectId"], "x\u{1b}[31m\n\"y");
    let text = std::fs::read_to_string(stream(&env)).unwrap();
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn compaction_says_what_it_dropped_and_keeps_the_standing() {
    let env = at_noon();
    liveness(&env, &["claim", "s", "--actor", "a"]);
    for _ in 0..5 {
        liveness(&env, &["heartbeat", "s", "--actor", "a"]);
    }
    let before = json(&env, &["status"]);
    let (code, out, _) = liveness(&env, &["compact"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("kept 2 events, dropped 4 events and 0 unreadable lines"), "{out}");
    assert_eq!(json(&env, &["status"]), before);
    assert_eq!(events(&env).len(), 2);
    assert_eq!(liveness(&at_noon(), &["compact"]).0, 0);
}

#[test]
fn watching_away_from_a_terminal_says_each_change_once() {
    let env = at_noon();
    liveness(&env, &["claim", "s", "--actor", "a"]);
    let (code, out, _) = liveness(&env, &["watch", "--every", "1", "--looks", "2"]);
    assert_eq!((code, out.as_str()), (0, "2026-07-01T12:00:00.000Z\theld\ts\ta\n"));
}
