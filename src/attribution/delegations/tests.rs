//! Expected values are derived by hand from the outcome rules of contract C.3.

use std::fs;
use std::path::Path;

use super::*;

fn agents(files: &[(&str, &str)]) -> Delegations {
    let dir = tempfile::tempdir().unwrap();
    for (name, content) in files {
        fs::create_dir(dir.path().join(name)).unwrap();
        fs::write(dir.path().join(name).join("events.jsonl"), content).unwrap();
    }
    read(dir.path())
}

fn outcomes(found: &Delegations) -> Vec<(&str, Outcome, u64)> {
    found.agents.iter().map(|one| (one.agent_id.as_str(), one.outcome, one.dispatch_count)).collect()
}

#[test]
fn the_reference_agents() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/flow-agents/economics/agents");
    let found = read(Path::new(dir));
    assert_eq!(
        outcomes(&found),
        [
            ("tool-worker-1", Outcome::Accepted, 1),
            ("tool-worker-2", Outcome::Rework, 2),
            ("tool-worker-3", Outcome::Failed, 1),
            ("tool-worker-4", Outcome::Unavailable, 1),
            ("tool-worker-5", Outcome::Rework, 2),
        ]
    );
    let escalated = &found.agents[1];
    assert_eq!(escalated.role, "delegate-design");
    assert_eq!(escalated.resolved_model, "claude-opus-4-8@anthropic");
    assert_eq!(escalated.escalated_from.as_deref(), Some("delegate-implementation"));
    assert_eq!(escalated.event_count, 2);
    assert_eq!(escalated.last_event_ms, clock::parse_rfc3339("2026-07-05T00:00:09Z"));
    assert_eq!(outcome_coverage(&found.agents), "partial");
    assert_eq!(outcome_coverage(&found.agents[..3]), "full");
    assert_eq!(outcome_coverage(&found.agents[3..4]), "none");
    assert_eq!(outcome_coverage([]), "n/a");
    assert_eq!(found.warnings, Vec::<String>::new());
}

#[test]
fn one_malformed_line_costs_only_itself() {
    let long =
        format!(r#"{{"agent_id":"a","kind":"supersession","summary":"{}"}}"#, "x".repeat(MAX_LINE as usize));
    let text = format!(
        "{{\"agent_id\":\"a\",\"kind\":\"delegation\",\"role\":\"r\",\"model\":\"m\"}}\n{{\"agent\n\n[1]\n{long}\n\
         {{\"agent_id\":\"a\",\"kind\":\"verdict\",\"status\":\"PASS\"}}"
    );
    let found = agents(&[("one", &text)]);
    assert_eq!(outcomes(&found), [("a", Outcome::Accepted, 1)]);
    assert_eq!(found.agents[0].event_count, 2);
    assert!(found.warnings[0].ends_with("events.jsonl: 3 unusable lines"), "{:?}", found.warnings);
}

#[test]
fn times_are_compared_as_times() {
    // As text, "10:00:00+02:00" is after "09:00:00.5Z"; as times it is an hour before.
    let text = r#"
        {"agent_id":"a","kind":"delegation","role":"new","model":"m2","timestamp":"2026-07-05T09:00:00.5Z"}
        {"agent_id":"a","kind":"delegation","role":"old","model":"m1","timestamp":"2026-07-05T10:00:00+02:00"}
        {"agent_id":"a","kind":"delegation","role":"undated","model":"m0","timestamp":"soon"}"#;
    let found = agents(&[("one", text)]);
    assert_eq!((found.agents[0].role.as_str(), found.agents[0].resolved_model.as_str()), ("new", "m2"));
}

#[test]
fn outcomes_have_one_precedence() {
    let route = r#"{"agent_id":"a","kind":"delegation","role":"r","model":"m"}"#;
    let cases = [
        (r#"{"agent_id":"a","kind":"supersession"}{"again"}"#, Outcome::Unavailable),
        (r#"{"agent_id":"a","kind":"supersession"}"#, Outcome::Diverged),
        (r#"{"agent_id":"a","kind":"note","status":"Diverged"}"#, Outcome::Diverged),
        (r#"{"agent_id":"a","kind":"escalation"}"#, Outcome::Rework),
        (r#"{"agent_id":"a","kind":"evidence","status":"Fail"}"#, Outcome::Failed),
        (r#"{"agent_id":"a","kind":"note","status":"pass"}"#, Outcome::Unavailable),
    ];
    for (event, expected) in cases {
        let pass = r#"{"agent_id":"a","kind":"evidence","status":"skipped"}"#;
        let found = agents(&[("one", &format!("{route}\n{pass}\n{event}\n"))]);
        assert_eq!(outcomes(&found), [("a", expected, 1)], "{event}");
    }
}

#[test]
fn an_agent_without_a_route_is_none_and_its_files_are_joined() {
    let route = r#"{"agent_id":"a","kind":"delegation","role":"r","model":"m"}"#;
    let pass = "{\"agent_id\":\"a\",\"kind\":\"verdict\",\"status\":\"pass\"}\n\
                {\"agent_id\":\"b\",\"kind\":\"delegation\",\"role\":\"r\"}";
    let found = agents(&[("one", route), ("two", pass)]);
    assert_eq!(outcomes(&found), [("a", Outcome::Accepted, 1)]);
    assert_eq!(found.agents[0].last_event_ms, None);
}

#[test]
fn reading_stops_at_the_bound_and_says_so() {
    let route = r#"{"agent_id":"a","kind":"delegation","role":"r","model":"m"}"#;
    let blank = "\n".repeat(MAX_TOTAL as usize);
    let found = agents(&[("one", &format!("{route}\n{blank}")), ("two", &route.replace("\"a\"", "\"b\""))]);
    assert_eq!(outcomes(&found), [("a", Outcome::Unavailable, 1)]);
    assert_eq!(found.warnings.len(), 1);
    assert_eq!(read(Path::new("/nonexistent/agents")), Delegations::default());
}
