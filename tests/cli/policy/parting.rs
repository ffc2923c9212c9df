//! What becomes of a task that its agent leaves open: the Stop gate let it go.

use super::stage::Stage;
use serde_json::{Value, json};

const TASK: &str = ".kontourai/flow-agents/t";
const ASSIGNMENT: &str = ".kontourai/flow-agents/assignment/t.json";
const STREAM: &str = ".kontourai/flow-agents/liveness/events.jsonl";

/// An open task that the actor holds.
fn held(state: Value, more: Value) -> Stage {
    let mut files = json!({
        format!("{TASK}/state.json"): state,
        ".kontourai/flow-agents/current/conformance.json": {"active_slug": "t"},
        ASSIGNMENT: {"schema_version": "1.0", "role": "AssignmentClaimRecord", "subject_id": "t",
            "status": "claimed", "actor_key": "conformance"},
    });
    for (name, content) in more.as_object().unwrap() {
        files[name] = content.clone();
    }
    let mut stage = Stage::of(&json!({"workspace": {"git": true, "files": files}}));
    stage.set("FLOW_AGENTS_GOAL_FIT_MODE", "block");
    let claim = ["liveness", "claim", "t", "--ttl", "600"].map(str::to_owned);
    assert_eq!(stage.tally(&claim, "").status.code(), Some(0));
    stage
}

fn state() -> Value {
    json!({"schema_version": "1.0", "task_slug": "t", "status": "in_progress", "phase": "execution",
        "updated_at": "2026-07-01T00:00:00Z", "next_action": {"status": "continue", "summary": "write the parser"}})
}

/// Stops until it is let go; what was said then.
fn let_go(stage: &Stage, most: usize) -> String {
    let input = json!({"hook_event_name": "Stop", "cwd": stage.path("ws")}).to_string();
    let args = ["run-hook", "stop-goal-fit", "stop-goal-fit.js"].map(str::to_owned);
    for _ in 0..most {
        assert_eq!(stage.tally(&args, &input).status.code(), Some(2));
        assert_eq!(events(stage).last().unwrap(), "claim", "who is refused holds the task");
    }
    let output = stage.tally(&args, &input);
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stderr).unwrap()
}

/// What the actor said in the stream, in turn.
fn events(stage: &Stage) -> Vec<String> {
    let stream = stage.read(STREAM);
    let events = stream.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

fn json_of(stage: &Stage, name: &str) -> Value {
    serde_json::from_str(&stage.read(name)).unwrap_or_default()
}

#[test]
fn who_is_let_go_with_the_task_open_gives_it_up_and_says_what_is_open() {
    let stage = held(state(), json!({}));
    let said = let_go(&stage, 3);
    for what in
        ["let go", "the claim on t is released", "the assignment of t is released", "handoff.json says"]
    {
        assert!(said.contains(what), "{what}: {said}");
    }
    assert_eq!(events(&stage), ["claim", "release"]);
    assert_eq!(json_of(&stage, ASSIGNMENT)["status"], "released");
    let handoff = json_of(&stage, &format!("{TASK}/handoff.json"));
    assert_eq!((&handoff["task_slug"], &handoff["next_steps"]), (&json!("t"), &json!(["write the parser"])));
    let warnings = handoff["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|text| text.as_str().unwrap().contains("status:in_progress")), "{handoff}");

    // The next prompt takes it up again, once.
    let prompt = |name: &str| {
        let input = json!({"hook_event_name": name, "session_id": "s", "cwd": stage.path("ws")}).to_string();
        stage.tally(&["hook".to_owned(), "claude-code".to_owned()], &input)
    };
    prompt("UserPromptSubmit");
    prompt("UserPromptSubmit");
    assert_eq!(events(&stage), ["claim", "release", "claim"]);
    // And a new session is told what was left open.
    let input = json!({"hook_event_name": "SessionStart", "cwd": stage.path("ws")}).to_string();
    let told =
        stage.tally(&["run-hook", "workflow-steering", "workflow-steering.js"].map(str::to_owned), &input);
    assert!(
        String::from_utf8_lossy(&told.stdout).contains("Left open: the workflow state is status:in_progress")
    );
}

#[test]
fn what_the_sessions_tools_wrote_into_the_handoff_stays() {
    let handoff = json!({"schema_version": "1.0", "task_slug": "t", "summary": "half way", "next_steps": ["ask Ada"],
        "blockers": ["no key"], "warnings": ["old"]});
    let stage = held(state(), json!({ format!("{TASK}/handoff.json"): handoff }));
    let_go(&stage, 3);
    let left = json_of(&stage, &format!("{TASK}/handoff.json"));
    for key in ["summary", "next_steps", "blockers"] {
        assert_eq!(left[key], handoff[key], "{key}");
    }
    assert_ne!(left["warnings"], handoff["warnings"]);
    let stage = held(state(), json!({ format!("{TASK}/handoff.json"): "not JSON" }));
    let_go(&stage, 3);
    assert_eq!(
        stage.read(&format!("{TASK}/handoff.json")),
        "not JSON",
        "what cannot be read is not replaced"
    );
}

#[test]
fn a_task_is_not_given_up_that_a_run_is_under_way_for_or_where_claims_are_off() {
    let mut running = state();
    running["flow_run"] = json!({"status": "active", "run_id": "r"});
    let stage = held(running, json!({}));
    let said = let_go(&stage, 3);
    assert_eq!(events(&stage), ["claim"], "{said}");
    assert_eq!(json_of(&stage, ASSIGNMENT)["status"], "claimed");
    let mut stage = held(state(), json!({}));
    stage.set("FLOW_AGENTS_LIVENESS", "off");
    let_go(&stage, 3);
    assert_eq!(events(&stage), ["claim"]);
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    let stage = held(state(), json!({"victim": "kept"}));
    let root = stage.path("ws");
    std::os::unix::fs::symlink(root.join("victim"), root.join(TASK).join("handoff.json")).unwrap();
    std::fs::remove_file(root.join(ASSIGNMENT)).unwrap();
    std::os::unix::fs::symlink(root.join("victim"), root.join(ASSIGNMENT)).unwrap();
    let_go(&stage, 3);
    assert_eq!(stage.read("victim"), "kept");
    assert_eq!(events(&stage), ["claim", "release"]);
}
