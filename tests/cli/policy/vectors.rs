//! `tally run-hook` against recorded vectors. Where ours is another answer it stands here, and in docs/differences/gates.md
//! with the reason.

use super::stage::{Stage, vectors};
use serde_json::{Value, json};
use std::process::Output;

/// What is behind the echo, by its marks.
const MARKS: [(&str, &str); 15] = [
    ("WORKFLOW STATE:", "state-header"),
    ("WORKFLOW STATE ATTENTION:", "attention"),
    ("\nSTATE:", "state"),
    ("RESUME:", "resume"),
    ("[SUPERSEDED:", "superseded"),
    ("CONTEXT MAP:", "context-map"),
    ("KIT WORKFLOW ROUTE:", "kit-route"),
    ("Do not deliver", "do-not-deliver"),
    ("Route it back", "route-back"),
    ("PLAN COMPLETE", "plan-complete"),
    ("EXECUTION COMPLETE", "execution-complete"),
    ("\nREVIEW COMPLETE", "review-complete"),
    ("SECURITY REVIEW COMPLETE", "review-complete"),
    ("VERIFICATION COMPLETE", "verification-complete"),
    ("The required review", "critique"),
];

fn kind(output: &Output, input: &str) -> &'static str {
    let stdout = String::from_utf8_lossy(&output.stdout);
    match stdout.strip_prefix(input) {
        Some("") if input.is_empty() => "empty",
        Some("") => "echo",
        Some(_) => "echo+append",
        None if stdout.is_empty() => "empty",
        None if serde_json::from_str::<Value>(&stdout).is_ok() => "json",
        None => "other",
    }
}

fn marks(output: &Output, input: &str) -> Vec<&'static str> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let appended = stdout.strip_prefix(input).unwrap_or_default();
    let mut marks: Vec<_> =
        MARKS.into_iter().filter(|(needle, _)| appended.contains(needle)).map(|(_, mark)| mark).collect();
    marks.sort_unstable();
    marks.dedup();
    marks
}

/// Runs a vector as often as it says.
fn run(stage: &Stage, vector: &Value) -> Vec<Output> {
    let argv = vector["argv"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().to_owned());
    let args: Vec<String> = ["run-hook".to_owned()].into_iter().chain(argv).collect();
    let input = stage.input(vector);
    (0..vector["repeat"].as_u64().unwrap_or(1)).map(|_| stage.tally(&args, &input)).collect()
}

/// Whether one of the versions answers so.
fn agrees(vector: &Value, runs: &Value, marks: Option<&[&str]>) -> bool {
    vector["expect"].as_object().unwrap().values().any(|expected| {
        let whole = expected["runs"].to_string().replace("echo-cut", "echo");
        let mut wanted: Vec<&str> =
            expected["marks"].as_array().into_iter().flatten().map(|mark| mark.as_str().unwrap()).collect();
        wanted.sort_unstable();
        serde_json::from_str::<Value>(&whole).unwrap() == *runs && marks.is_none_or(|marks| marks == wanted)
    })
}

struct Count {
    agreed: usize,
    different: usize,
}

/// Holds a file of vectors to what the versions answer, but for `ours`, which is what we answer.
fn hold(name: &str, ours: &[(&str, Value)], with_marks: bool) -> Count {
    let mut count = Count { agreed: 0, different: 0 };
    for vector in vectors(name) {
        let id = vector["id"].as_str().unwrap();
        let stage = Stage::of(&vector);
        let input = stage.input(&vector);
        let outputs = run(&stage, &vector);
        let runs: Vec<_> =
            outputs.iter().map(|output| json!([output.status.code(), kind(output, &input)])).collect();
        let runs = Value::from(runs);
        let marks = (with_marks && outputs.len() == 1).then(|| marks(&outputs[0], &input));
        let agreed = agrees(&vector, &runs, marks.as_deref());
        let said = String::from_utf8_lossy(&outputs[0].stderr);
        match ours.iter().find(|(other, _)| *other == id) {
            Some((_, answer)) => {
                assert!(!agreed, "{id} is no difference any more");
                assert_eq!(runs, *answer, "{id} {}: {said}", vector["title"]);
                count.different += 1;
            }
            None => {
                assert!(
                    agreed,
                    "{id} {}: {runs} {marks:?} {said}, not {}",
                    vector["title"], vector["expect"]
                );
                count.agreed += 1;
            }
        }
    }
    count
}

#[test]
fn vectors_of_the_runner() {
    // Scripts of flow-agents that are no policies of the contract.
    let ours = [("ru-12", json!([[0, "echo"]])), ("ru-13", json!([[0, "echo"]]))];
    let count = hold("runner", &ours, false);
    assert_eq!((count.agreed, count.different), (23, 2));
}

#[test]
fn the_version_of_the_contract_is_told_wherever_it_is_asked_for() {
    for vector in
        vectors("runner").iter().filter(|vector| ["ru-04", "ru-05"].iter().any(|id| vector["id"] == *id))
    {
        let output = run(&Stage::of(vector), vector).remove(0);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer, json!({"contract_version": "1.0", "runner": "tally"}));
        assert!(output.stdout.ends_with(b"}\n"));
    }
}

#[test]
fn vectors_of_quality_gate() {
    for vector in vectors("quality-gate") {
        let stage = Stage::of(&vector);
        let output = run(&stage, &vector).remove(0);
        let id = &vector["id"];
        let expected = &vector["expect"]["both"];
        assert_eq!(
            json!([[output.status.code(), kind(&output, &stage.input(&vector))]]),
            expected["runs"],
            "{id}"
        );
        let calls = stage.read("calls.log").replace(&stage.path("ws").display().to_string(), "__WS__");
        assert_eq!(calls, expected["files"]["calls.log"].as_str().unwrap_or_default(), "{id}");
        let said = String::from_utf8_lossy(&output.stderr);
        let failures = expected["said"].as_array().unwrap();
        assert_eq!(said.lines().count(), failures.len(), "{id}: {said}");
        for (line, failure) in said.lines().zip(failures) {
            let tool = failure.as_str().unwrap().trim_start_matches("quality-gate.");
            assert!(line.starts_with("[QualityGate] ") && line.to_lowercase().contains(tool), "{id}: {line}");
        }
    }
    assert_eq!(vectors("quality-gate").len(), 14);
}

#[test]
fn vectors_of_workflow_steering() {
    // The older layout is read too: the fixtures of 3.4.1, as released, are in it.
    let ours = [
        ("ws-17", json!([[0, "echo+append"]])),
        // A sign of life from the year 2099 is none.
        ("ws-26", json!([[0, "echo+append"]])),
    ];
    let count = hold("workflow-steering", &ours, true);
    assert_eq!((count.agreed, count.different), (33, 2));
}

#[test]
fn an_agent_is_told_of_another_that_is_at_work_on_its_task() {
    let mut stage = Stage::of(&json!({"workspace": {"git": true, "files": {
        ".kontourai/flow-agents/t/state.json": {"task_slug": "t", "status": "in_progress", "phase": "execution"},
        ".kontourai/flow-agents/current.json": {"active_slug": "t"},
        ".kontourai/flow-agents/liveness/events.jsonl":
            "{\"type\":\"claim\",\"subjectId\":\"t\",\"actor\":\"other\",\"at\":\"2026-07-01T00:00:00.000Z\",\"ttlSeconds\":60}\n",
    }}}));
    let mut said = |clock: &str| {
        stage.set("TALLY_CLOCK_MS", clock);
        let input = json!({"hook_event_name": "UserPromptSubmit", "cwd": stage.path("ws")}).to_string();
        let args = ["run-hook", "workflow-steering", "workflow-steering.js"].map(str::to_owned);
        String::from_utf8(stage.tally(&args, &input).stdout).unwrap()
    };
    let told = said("1782864030000");
    assert!(
        told.contains("[SUPERSEDED: other is at work on this task too, last seen 2026-07-01T00:00:00"),
        "{told}"
    );
    assert!(!said("1782864070000").contains("SUPERSEDED"), "its claim ran out");
}

#[test]
fn vectors_of_stop_goal_fit() {
    let refused = || json!([[2, "echo"]]);
    let ours = [
        // Refused as often as is set, then let go.
        ("gf-11", json!([[2, "echo"], [2, "echo"], [2, "echo"], [0, "echo"]])),
        ("gf-12", json!([[2, "echo"], [0, "echo"]])),
        // Said to be done, with nothing to show for it.
        ("gf-17", refused()),
        ("gf-85", refused()),
        ("gf-86", refused()),
        ("gf-96", refused()),
        ("gf-99", refused()),
        // A bundle that cannot be read may say anything.
        ("gf-76", refused()),
        ("gf-77", refused()),
        // What a task's own texts say decides nothing.
        ("gf-80", refused()),
        ("gf-81", json!([[0, "echo"], [0, "echo"], [0, "echo"]])),
        // Every claimed pass is checked, every claim that matters counts.
        ("gf-84", refused()),
        ("gf-98", refused()),
    ];
    let count = hold("stop-goal-fit", &ours, false);
    assert_eq!((count.agreed, count.different), (64, 13));
}

/// What flow-agents says with its validator and its flow resolver at hand, tag by tag, and the words that ours says it by.
#[test]
fn vectors_of_a_build_are_said_alike() {
    // Said by nobody here: notes, Surface, a failing check as a failed review, what was said already.
    let apart = ["goal-fit.", "w.surface-unavailable", "w.critique-status", "w.reconcile-fail"];
    let (mut count, mut lines) = (0, 0);
    for vector in vectors("stop-goal-fit") {
        let Some(tags) = vector["expect"]["3.4.1"]["said"].as_array() else { continue };
        let (stage, id) = (Stage::of(&vector), vector["id"].as_str().unwrap());
        let said = String::from_utf8(run(&stage, &vector).remove(0).stderr).unwrap();
        // Theirs has a line for the file, and one for each field.
        let invalid = tags.iter().filter(|tag| **tag == "w.sidecar-validation").count() - 1;
        assert_eq!(said.matches(" sidecar validation: ").count(), invalid, "{id}: {said}");
        for tag in tags.iter().map(|tag| tag.as_str().unwrap()) {
            let (tag, about) = tag.split_once(':').unwrap_or((tag, ""));
            let words = match tag {
                "w.sidecar-validation" => continue,
                "w.workflow-state" => format!("status:{}", about.replace('/', " phase:")),
                "w.evidence-verdict" => format!("evidence verdict: {about}"),
                "w.evidence-check" => format!("evidence check {}", about.replace(':', " status: ")),
                "w.bundle-disputed" => format!("claim disputed: {about}"),
                "w.capture-contradicts" => "was last seen to fail".to_owned(),
                "w.gate-misconfiguration" => "gate misconfiguration".to_owned(),
                _ if apart.iter().any(|apart| tag.starts_with(apart)) => continue,
                _ => panic!("{id}: {tag}"),
            };
            assert!(said.contains(&words), "{id}: {words}: {said}");
            lines += 1;
        }
        // The step's own label, where the pointer names one; 3.4.1 reads the actor's own pointer not (gf-106).
        let label = matches!(id, "gf-101" | "gf-102" | "gf-103" | "gf-104" | "gf-106");
        assert_eq!(said.starts_with("[demo.f/verify-gate] "), label, "{id}: {said}");
        count += 1;
    }
    assert_eq!((count, lines), (8, 7));
}

#[test]
fn vectors_of_evidence_capture_leave_the_record_that_is_wanted() {
    let (mut wanted, mut none) = (0, 0);
    for row in vectors("evidence-capture") {
        if row["title"] == "no workspace state" {
            none += 1;
            continue;
        }
        let stage = Stage::of(&json!({"workspace": {"git": true, "files": {
            ".kontourai/flow-agents/t/state.json": {"task_slug": "t", "status": "in_progress"},
            ".kontourai/flow-agents/current/conformance.json": {"active_slug": "t"},
        }}}));
        let vector = json!({"argv": ["evidence-capture", "evidence-capture.js"], "payload": row["payload"]});
        let output = run(&stage, &vector).remove(0);
        assert_eq!((output.status.code(), kind(&output, &stage.input(&vector))), (Some(0), "echo"), "{row}");
        let log = stage.read(".kontourai/flow-agents/t/command-log.jsonl");
        let want = row["want"].as_str().unwrap();
        if want == "none" {
            assert_eq!(log, "", "{row}");
            none += 1;
            continue;
        }
        let record: Value = serde_json::from_str(&log).unwrap();
        let told = format!("{}/{}", record["observedResult"].as_str().unwrap(), record["exitCode"]);
        assert!(want == "rec" || told.starts_with(want), "{row}: {told}");
        wanted += 1;
    }
    assert_eq!(wanted + none, vectors("evidence-capture").len());
    assert!(none > 0 && wanted >= 59, "{wanted} {none}");
}

#[test]
fn an_echo_is_complete_whatever_its_length_and_bytes() {
    let stage = Stage::of(&json!({}));
    let args = ["run-hook", "stop-goal-fit", "stop-goal-fit.js"].map(str::to_owned);
    let long = format!("{{\"hook_event_name\":\"Stop\",\"x\":\"{}\"}} \n\n", "é".repeat(2_000_000));
    for input in [long.as_str(), " { \"a\" : 1 }\n\n", "no JSON", ""] {
        let output = stage.tally(&args, input);
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout == input.as_bytes(), "{} bytes came of {}", output.stdout.len(), input.len());
    }
}

/// A delivered task whose claim is checked by its acceptance criteria, in a repository that has everything committed.
fn with_acceptance(command: &str) -> Stage {
    let bundle = json!({
        "claims": [{"id": "c1", "subjectId": "t/unit", "claimType": "workflow.check.command",
            "fieldOrBehavior": "unit tests", "value": "pass", "impactLevel": "low", "status": "verified"}],
        "evidence": [{"id": "e", "claimId": "c1", "passing": true, "execution": {"label": "run it"}}],
    });
    let log = json!({"command": "ls", "observedResult": "pass", "exitCode": 0}).to_string();
    let mut stage = Stage::of(&json!({"workspace": {"git": true, "files": {
        ".kontourai/flow-agents/t/state.json": {"status": "in_progress", "phase": "verification",
            "next_action": {"status": "done"}},
        "package.json": {"scripts": {"workflow:sidecar": "node writer.js"}},
        ".kontourai/flow-agents/t/trust.bundle": bundle,
        ".kontourai/flow-agents/t/command-log.jsonl": format!("{log}\n"),
        ".kontourai/flow-agents/t/acceptance.json":
            {"criteria": [{"id": "unit", "evidence_refs": [{"kind": "command", "excerpt": command}]}]},
        ".kontourai/flow-agents/current/conformance.json": {"active_slug": "t"},
    }}}));
    stage.set("FLOW_AGENTS_GOAL_FIT_MODE", "block");
    stage
}

fn stop(stage: &Stage) -> (Option<i32>, String) {
    let input = json!({"hook_event_name": "Stop", "cwd": stage.path("ws")}).to_string();
    let output = stage.tally(&["run-hook", "stop-goal-fit", "stop-goal-fit.js"].map(str::to_owned), &input);
    assert_eq!(String::from_utf8_lossy(&output.stdout), input);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_command_of_an_acceptance_file_runs_only_if_the_file_is_committed_or_has_a_receipt() {
    const FILE: &str = ".kontourai/flow-agents/t/acceptance.json";
    let stage = with_acceptance("true && touch ran");
    assert_eq!(stop(&stage).0, Some(0), "as it was committed");
    let ran = stage.path("ws").join("ran");
    std::fs::remove_file(&ran).unwrap();

    let path = stage.path("ws").join(FILE);
    let changed = stage.read(FILE).replace("touch ran", "touch ran x");
    std::fs::write(&path, changed).unwrap();
    let (code, said) = stop(&stage);
    assert!(code == Some(2) && said.contains("neither as it was committed"), "{said}");
    assert!(!ran.exists(), "what somebody else wrote is not run");

    // The session's own writer changes it, and the capture of that command leaves the receipt.
    let capture = |command: &str| {
        let payload = json!({"hook_event_name": "PostToolUse", "cwd": stage.path("ws"), "tool_name": "Bash",
            "tool_input": {"command": command}, "tool_response": {"exitCode": 0}});
        let args = ["run-hook", "evidence-capture", "evidence-capture.js"].map(str::to_owned);
        assert_eq!(stage.tally(&args, &payload.to_string()).status.code(), Some(0));
    };
    capture("ls");
    assert_eq!(stop(&stage).0, Some(2), "any command is no writer");
    capture("npm run workflow:sidecar -- record-acceptance");
    let (code, said) = stop(&stage);
    assert_eq!(code, Some(0), "{said}");
    assert!(ran.exists());
}

#[test]
fn a_task_is_let_go_by_the_same_findings_however_much_time_goes_by() {
    let mut stage = Stage::of(&json!({"workspace": {"files": {
        ".kontourai/flow-agents/t/t--deliver.md": "status: executing\ntype: deliver\n",
        ".kontourai/flow-agents/current.json": {"active_slug": "t"},
    }}}));
    stage.set("FLOW_AGENTS_GOAL_FIT_MODE", "block");
    let start = 4_000_000_000_000_i64;
    let codes: Vec<_> = (0..4)
        .map(|minute| {
            stage.set("TALLY_CLOCK_MS", &(start + minute * 60_000).to_string());
            stop(&stage).0.unwrap()
        })
        .collect();
    assert_eq!(codes, [2, 2, 2, 0]);
}

#[test]
fn of_a_long_log_the_end_is_read_and_what_is_further_back_has_to_run_again() {
    let stage = with_acceptance("true");
    let log = stage.path("ws").join(".kontourai/flow-agents/t/command-log.jsonl");
    std::fs::remove_file(&log).unwrap();
    let capture = |command: &str, code: i32| {
        let payload = json!({"hook_event_name": "PostToolUse", "cwd": stage.path("ws"), "tool_name": "Bash",
            "tool_input": {"command": command}, "tool_response": {"exitCode": code}});
        let args = ["run-hook", "evidence-capture", "evidence-capture.js"].map(str::to_owned);
        let output = stage.tally(&args, &payload.to_string());
        assert!(output.stderr.is_empty(), "{output:?}");
    };
    capture("run it", 1);
    let first = std::fs::read_to_string(&log).unwrap();
    // Five megabytes of what came after; their chain is not looked at.
    let line = r#"{"command":"x","observedResult":"pass","exitCode":0}"#;
    let filler = format!("{line}\n").repeat(5 * 1024 * 1024 / line.len());
    std::fs::write(&log, format!("{filler}{first}{}", "")).unwrap();
    let (code, said) = stop(&stage);
    assert!(code == Some(2) && said.contains("caught false-completion"), "the end is read: {said}");
    std::fs::write(&log, format!("{first}{filler}")).unwrap();
    let (code, said) = stop(&stage);
    assert!(code == Some(2) && said.contains("is not among its last commands"), "{said}");
}
