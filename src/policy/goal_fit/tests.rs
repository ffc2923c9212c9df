use super::*;
use crate::policy::Payload;
use crate::settings::env::Env;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

const FOLDER: &str = ".kontourai/flow-agents/t";

fn put(root: &Path, name: &str, content: &Value) {
    let path = root.join(FOLDER).join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content.as_str().map_or_else(|| content.to_string(), str::to_owned)).unwrap();
}

/// Judges a stop in a folder with these files, bound by the pointer of everybody.
fn judged(files: &[(&str, Value)], more: &[(&str, &str)]) -> Judged {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("AGENTS.md"), "").unwrap();
    put(dir.path(), "../current.json", &json!({"active_slug": "t"}));
    for (name, content) in files {
        put(dir.path(), name, content);
    }
    let base = [("FLOW_AGENTS_GOAL_FIT_MODE", "block"), ("FLOW_AGENTS_GOAL_FIT_BACKSTOP", "skip")];
    judged_in(dir.path(), &Env::from_pairs(base.iter().chain(more).copied()))
}

fn judged_in(cwd: &Path, env: &Env) -> Judged {
    let payload = Payload::parse(r#"{"hook_event_name":"Stop"}"#);
    judge(&Call {
        env,
        cwd,
        home: None,
        session: None,
        event: crate::hosts::Kind::Stop,
        payload: payload.as_ref(),
        truncated: false,
        blocks: false,
        patience: None,
        now_ms: 0,
    })
}

fn state(status: &str) -> (&'static str, Value) {
    let next = json!({"status": "done", "summary": "none"});
    let state = json!({"schema_version": "1.0", "task_slug": "t", "status": status, "phase": "verification",
        "updated_at": "2026-07-01T00:00:00Z", "next_action": next});
    ("state.json", state)
}

fn bundle(claims: Value, evidence: Value, events: Value) -> (&'static str, Value) {
    ("trust.bundle", json!({"claims": claims, "evidence": evidence, "events": events}))
}

fn kinds(judged: &Judged) -> Vec<(Kind, Weight)> {
    judged.findings.iter().map(|finding| (finding.kind, finding.weight)).collect()
}

#[test]
fn a_claim_that_matters_counts_whatever_its_kind_and_by_its_own_evidence() {
    let claim = |status: &str| {
        json!([{"id": "c", "subjectId": "t/c", "claimType": "acme.anything", "value": "pass",
        "impactLevel": "Critical", "status": status}])
    };
    let of = |status, evidence, events| {
        kinds(&judged(&[state("delivered"), bundle(claim(status), evidence, events)], &[]))
    };
    let passing = |passing: bool, at: &str| json!({"claimId": "c", "passing": passing, "observedAt": at});
    let none = || json!([]);
    assert_eq!(of("disputed", json!([passing(true, "1")]), none()), [(Kind::Disputed, Weight::Hard)]);
    assert_eq!(of("verified", json!([passing(true, "1")]), none()), []);
    assert_eq!(
        of("verified", json!([passing(true, "1"), passing(false, "2")]), none()),
        [(Kind::Tampered, Weight::Hard)]
    );
    assert_eq!(of("verified", json!([passing(false, "1"), passing(true, "2")]), none()), []);
    let rejected = json!([{"claimId": "c", "status": "rejected", "createdAt": "1"}]);
    assert_eq!(of("assumed", none(), rejected.clone()), [(Kind::Tampered, Weight::Hard)]);
    assert_eq!(of("pending", none(), rejected), [(Kind::Disputed, Weight::Hard)]);
    assert!(of("verified", none(), none()).contains(&(Kind::Unsupported, Weight::Firm)));
}

#[test]
fn an_honest_failure_is_said_once_and_contradicts_nothing() {
    let claims = json!([{"id": "c", "subjectId": "t/unit", "claimType": "workflow.check.command", "value": "fail",
        "impactLevel": "low", "status": "disputed"}]);
    let evidence = json!([{"claimId": "c", "passing": false, "execution": {"label": "npm test"}}]);
    let log = json!({"command": "npm test", "observedResult": "fail", "exitCode": 1}).to_string();
    let files = [state("delivered"), bundle(claims, evidence, json!([])), ("command-log.jsonl", json!(log))];
    let found = kinds(&judged(&files, &[]));
    assert_eq!(found, [(Kind::EvidenceVerdict, Weight::Hard), (Kind::EvidenceCheck, Weight::Hard)]);
}

#[test]
fn the_kinds_that_a_gate_expects_are_checks_by_whichever_pointer_names_it() {
    let claims = json!([{"id": "c", "subjectId": "t/unit", "claimType": "demo.verify.tests", "value": "fail",
        "impactLevel": "low", "status": "verified"}]);
    let flow = |expects: Value| {
        let gate = json!({"step": "verify", "expects": expects});
        ("../../../kits/demo/flows/f.flow.json", json!({"gates": {"verify-gate": gate}}))
    };
    let pointer =
        |name| (name, json!({"active_slug": "t", "active_flow_id": "demo.f", "active_step_id": "verify"}));
    let expects = json!([{"bundle_claim": {"claimType": "demo.verify.tests"}}]);
    for name in ["../current.json", "../current/me.json"] {
        let files = [
            state("in_progress"),
            bundle(claims.clone(), json!([]), json!([])),
            flow(expects.clone()),
            pointer(name),
        ];
        let judged = judged(&files, &[("FLOW_AGENTS_ACTOR", "me")]);
        assert_eq!(
            kinds(&judged),
            [(Kind::EvidenceVerdict, Weight::Hard), (Kind::EvidenceCheck, Weight::Hard)],
            "{name}"
        );
        assert!(judged.outcome.stderr.starts_with("[demo.f/verify-gate]"), "{}", judged.outcome.stderr);
    }
    let empty = [
        state("in_progress"),
        bundle(json!([]), json!([]), json!([])),
        flow(json!([])),
        pointer("../current.json"),
    ];
    assert_eq!(kinds(&judged(&empty, &[])), [(Kind::GateMisconfigured, Weight::Hard)]);
}

#[test]
fn what_is_required_is_missed() {
    let of = |files: &[(&str, Value)], name: &str| {
        let found = judged(files, &[(name, "true")]).findings;
        let missing = found.into_iter().filter(|finding| finding.kind == Kind::RequiredSidecar);
        missing.map(|finding| finding.about).collect::<Vec<_>>()
    };
    let state = state("in_progress");
    assert_eq!(
        of(std::slice::from_ref(&state), "FLOW_AGENTS_REQUIRE_SIDECARS"),
        ["acceptance.json", "trust.bundle"]
    );
    assert_eq!(of(std::slice::from_ref(&state), "FLOW_AGENTS_REQUIRE_CRITIQUE"), ["critique.json"]);
    let review =
        json!([{"id": "c", "claimType": "workflow.critique.review", "value": "pass", "status": "verified"}]);
    let none: [&str; 0] = [];
    assert_eq!(of(&[state, bundle(review, json!([]), json!([]))], "FLOW_AGENTS_REQUIRE_CRITIQUE"), none);
}

#[test]
fn a_session_that_only_lies_about_is_judged_less_strictly_than_ones_own() {
    let page = ("t--deliver.md", json!("status: delivered\ntype: deliver\n"));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("AGENTS.md"), "").unwrap();
    put(dir.path(), page.0, &page.1);
    let env = Env::from_pairs([("FLOW_AGENTS_GOAL_FIT_MODE", "block")]);
    let found = judged_in(dir.path(), &env);
    assert_eq!((kinds(&found), found.outcome.exit), (vec![(Kind::NothingRecorded, Weight::Soft)], 0));
    assert_eq!(judged(&[page], &[]).outcome.exit, 2);
}

/// Texts that a gate which looks at its own words would stumble over.
const WORDS: [&str; 12] = [
    "[backstop in warn mode — not blocking]",
    "caught false-completion",
    "critique status",
    "NOT_VERIFIED —",
    "NOT_VERIFIED (ambiguous)",
    "evidence verdict: fail",
    "status: delivered",
    "command-log integrity check FAILED",
    "exit-code-laundered",
    "gate misconfiguration:",
    "required sidecar is missing",
    "Definition Of Done",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_of_a_task_or_a_command_changes_the_decision(
        words in prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..4),
        tail in "[ -~]{0,20}",
        status in prop::sample::select(vec!["in_progress", "planned", "delivered", "verified"]),
        result in prop::sample::select(vec![("pass", json!(0)), ("fail", json!(1)), ("ambiguous", json!(null))]),
        says in prop::sample::select(vec!["pass", "fail"]),
    ) {
        let decide = |text: &str| {
            // What hides an exit code is a finding of its own.
            let command = format!("check {}", text.replace(['|', ';', '\n'], " "));
            let claims = json!([{"id": "c", "subjectId": "t/unit", "claimType": "workflow.check.command", "value": says,
                "fieldOrBehavior": text, "impactLevel": "low", "status": "verified"}]);
            let evidence = json!([{"claimId": "c", "passing": true, "excerptOrSummary": text, "execution": {"label": command}}]);
            let line = json!({"command": command, "observedResult": result.0, "exitCode": result.1}).to_string();
            let next = json!({"status": "in_progress", "summary": format!("go on {text}"), "command": format!("do {text}")});
            let state = json!({"status": status, "phase": "verification", "next_action": next});
            let files = [
                ("state.json", state),
                bundle(claims, evidence, json!([])),
                ("command-log.jsonl", json!(line)),
                ("t--deliver.md", json!(format!("status: executing\ntype: deliver\n{text}\n"))),
            ];
            let judged = judged(&files, &[]);
            (judged.outcome.exit, kinds(&judged))
        };
        prop_assert_eq!(decide(&format!("{} {tail}", words.join(" "))), decide("plain"));
    }
}

/// `<file> <field>` of each defect in the form of the sidecars, with its weight.
fn defects(files: &[(&str, Value)]) -> Vec<(String, Weight)> {
    let found = judged(files, &[]).findings;
    let found = found.into_iter().filter(|finding| finding.kind == Kind::Invalid);
    found.map(|finding| (finding.about, finding.weight)).collect()
}

#[test]
fn a_sidecar_that_says_nothing_that_can_be_read_by_its_name_stops_an_open_task() {
    let is = |state: Value| defects(&[("state.json", state)]);
    let soft = |name: &str| (format!("state.json {name}"), Weight::Soft);
    let said = |name: &str| (format!("state.json {name}"), Weight::Advice);
    let whole = state("in_progress").1;
    let with = |key: &str, value: Value| {
        let mut state = whole.clone();
        state[key] = value;
        is(state)
    };
    assert_eq!(is(whole.clone()), []);
    assert_eq!(with("status", json!("In_Progress")), [soft("status")]);
    assert_eq!(with("status", json!(["delivered"])), [soft("status")]);
    assert_eq!(with("phase", json!("almost")), [soft("phase")]);
    assert_eq!(with("next_action", json!("done")), [soft("next_action")]);
    assert_eq!(
        with("next_action", json!({"status": "finished", "summary": "x"})),
        [soft("next_action.status")]
    );
    assert_eq!(with("updated_at", json!("yesterday")), [said("updated_at")]);
    assert_eq!(with("schema_version", json!("2.0")), [said("schema_version")]);
    assert_eq!(
        is(json!({})),
        ["schema_version", "task_slug", "status", "phase", "updated_at", "next_action"].map(|name| {
            if ["status", "phase", "next_action"].contains(&name) { soft(name) } else { said(name) }
        })
    );
}

#[test]
fn the_form_of_the_other_sidecars_is_held_to_as_well() {
    let of = |name, content| defects(&[state("in_progress"), (name, content)]);
    let soft = |name: &str| (name.to_owned(), Weight::Soft);
    assert_eq!(
        of(
            "handoff.json",
            json!({"schema_version": "1.0", "task_slug": "t", "summary": "s", "next_steps": []})
        ),
        []
    );
    let handoff = of(
        "handoff.json",
        json!({"next_steps": "go on", "schema_version": "1.0", "task_slug": "t", "summary": "s"}),
    );
    assert_eq!(handoff, [soft("handoff.json next_steps")]);
    assert_eq!(of("acceptance.json", json!({"criteria": {}})), [soft("acceptance.json criteria")]);
    assert_eq!(
        of("acceptance.json", json!({"criteria": [{"status": "pass"}]})),
        [soft("acceptance.json criteria[0].id")]
    );
    let claim = |id: &str| json!({"id": id, "subjectId": "t/x", "claimType": "k", "status": "verified"});
    let of = |claims, evidence| defects(&[state("in_progress"), bundle(claims, evidence, json!([]))]);
    assert_eq!(of(json!([claim("a"), claim("b")]), json!([{"claimId": "a"}])), []);
    assert_eq!(of(json!([claim("a"), claim("a")]), json!([])), [soft("trust.bundle claims[1].id")]);
    assert_eq!(
        of(json!([claim("a")]), json!([{"claimId": "b"}])),
        [soft("trust.bundle evidence[0].claimId")]
    );
    assert_eq!(
        of(json!([{"id": "a", "claimType": "k", "status": "x"}]), json!([])),
        [soft("trust.bundle claims[0].subjectId")]
    );
}

#[test]
fn a_sidecar_that_is_there_and_cannot_be_read_stops_everybody_for_a_while() {
    let claims = json!([{"id": "c", "subjectId": "t/c", "claimType": "workflow.critique.review", "value": "pass",
        "status": "verified"}]);
    for name in ["state.json", "acceptance.json", "trust.bundle", "evidence.json", "critique.json"] {
        let mut files = vec![state("delivered"), bundle(claims.clone(), json!([]), json!([]))];
        files.retain(|(other, _)| *other != name);
        files.push((name, json!("{\"status\":")));
        let found = kinds(&judged(&files, &[]));
        assert!(found.contains(&(Kind::Unreadable, Weight::Firm)), "{name}: {found:?}");
    }
}
