//! `tally hook HOST` with policies on: what each host is answered.

use super::stage::{Stage, vectors};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes the conf of a stage.
fn switch(stage: &Stage, policies: &str) {
    let folder = stage.path("ws").join(".kontourai");
    std::fs::create_dir_all(&folder).unwrap();
    let conf = folder.join("telemetry-console.conf");
    std::fs::write(&conf, format!("policies={policies}\n")).unwrap();
    private(&conf);
}

/// Makes a file one that only its owner reads: no other conf is trusted.
pub(super) fn private(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

struct Answer {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_default()
    }

    /// Whether it refuses, and whether it gives context.
    fn decision(&self) -> (bool, bool) {
        let answer = self.json();
        let output = &answer["hookSpecificOutput"];
        let deny = answer["allow"] == false
            || answer["decision"] == "block"
            || output["permissionDecision"] == "deny"
            || output["decision"]["behavior"] == "deny"
            || self.code == Some(2);
        (deny, answer["context"].is_string() || output["additionalContext"].is_string())
    }
}

fn hook(stage: &Stage, host: &str, event: Option<&str>, input: &str) -> Answer {
    let args = [["hook", host].as_slice(), event.map(|event| ["--event", event]).as_ref().map_or(&[], |e| e)]
        .concat();
    let output = stage.tally(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>(), input);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Answer { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[test]
fn vectors_of_host_adapters() {
    // By the host's profile: Codex hears nothing when a session starts or a prompt is submitted, pi nothing when a session
    // starts, and pi cannot be kept from stopping. A session start without news is answered with nothing.
    let ours = [
        ("ha-04", (false, false)),
        ("ha-16", (false, false)),
        ("ha-17", (false, false)),
        ("ha-18", (false, false)),
        ("ha-41", (false, false)),
        ("ha-44", (false, false)),
    ];
    // Calls of an adapter that name no hook, or one that has no say in the event.
    let inapplicable = ["ha-22", "ha-34", "ha-46", "ha-59"];
    // Of these the incumbent lets through what ours refuses or hears.
    let mended = [
        ("ha-12", (true, false)),
        ("ha-36", (true, false)),
        ("ha-48", (true, false)),
        ("ha-55", (true, false)),
        ("ha-56", (false, true)),
        ("ha-58", (false, true)),
    ];
    let (mut agreed, mut different, mut apart) = (0, 0, 0);
    for vector in vectors("host-adapters") {
        let id = vector["id"].as_str().unwrap();
        if inapplicable.contains(&id) {
            apart += 1;
            continue;
        }
        let stage = Stage::of(&vector);
        let args: Vec<&str> =
            vector["argv"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        let gate = args.contains(&"stop-goal-fit");
        // The Stop gate has a mode of its own; the others need the switch.
        if !gate {
            switch(&stage, "block");
        }
        let host = match vector["entry"].as_str().unwrap().split_once("-hook-adapter").unwrap().0 {
            "claude" => "claude-code",
            other => other,
        };
        let named = vector["payload"].get("hook_event_name").is_some() || host == "codex";
        let event = (!named).then_some("PreToolUse");
        let answer = hook(&stage, host, event, &stage.input(&vector));
        assert_eq!(answer.code, Some(0), "{id}");
        let decision = answer.decision();
        let find = |table: &[(&str, (bool, bool))]| {
            table.iter().find(|(other, _)| *other == id).map(|(_, ours)| *ours)
        };
        let shown = format!("{id} {}: {} {}", vector["title"], answer.stdout, answer.stderr);
        if let Some(wanted) = find(&ours).or_else(|| find(&mended)) {
            assert_eq!(decision, wanted, "{shown}");
            different += 1;
            continue;
        }
        let any = vector["expect"].as_object().unwrap().values();
        let mut theirs = any.map(|expected| (expected["deny"] == true, expected["context"] == true));
        assert!(theirs.any(|theirs| theirs == decision), "{shown}");
        agreed += 1;
    }
    let all = vectors("host-adapters").len();
    assert_eq!(agreed + different + apart, all);
    assert_eq!((agreed, different, apart), (29, 12, 4));
}

/// A task that is said to be worked on.
fn open_task() -> Stage {
    Stage::of(&json!({"workspace": {"git": true, "files": {
        ".kontourai/flow-agents/t/t--deliver.md": "status: executing\ntype: deliver\n",
        ".kontourai/flow-agents/t/state.json": {"task_slug": "t", "status": "in_progress", "phase": "execution",
            "next_action": {"status": "in_progress", "summary": "go on"}},
        ".kontourai/flow-agents/current/conformance.json": {"active_slug": "t"},
    }}}))
}

fn payload(stage: &Stage, event: &str) -> String {
    json!({"hook_event_name": event, "session_id": "s", "cwd": stage.path("ws"), "prompt": "go on"})
        .to_string()
}

#[test]
fn policies_are_off_until_they_are_switched_on() {
    let stage = open_task();
    for host in ["claude-code", "codex", "opencode", "pi", "kiro"] {
        for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
            let answer = hook(&stage, host, None, &payload(&stage, event));
            assert_eq!(
                (answer.code, answer.stdout.as_str(), answer.stderr.as_str()),
                (Some(0), "", ""),
                "{host} {event}"
            );
        }
    }
    switch(&stage, "off");
    assert_eq!(hook(&stage, "claude-code", None, &payload(&stage, "Stop")).stdout, "");
}

#[test]
fn a_stop_is_refused_in_each_hosts_own_form() {
    let stage = open_task();
    switch(&stage, "block");
    let stop = |host: &str, event: &str| hook(&stage, host, None, &payload(&stage, event));
    let claude = stop("claude-code", "Stop");
    assert_eq!((claude.code, &claude.json()["decision"]), (Some(0), &json!("block")));
    assert!(claude.json()["reason"].as_str().unwrap().contains("status:executing"), "{}", claude.stdout);
    let opencode = stop("opencode", "session.idle");
    assert_eq!((opencode.code, &opencode.json()["allow"]), (Some(0), &json!(false)));
    let kiro = stop("kiro", "stop");
    assert_eq!((kiro.code, &kiro.json()["decision"]), (Some(0), &json!("block")));
}

#[test]
fn a_host_that_cannot_be_kept_from_stopping_is_told_on_standard_error_and_the_downgrade_is_recorded() {
    let stage = open_task();
    switch(&stage, "block");
    for host in ["codex", "pi"] {
        let answer = hook(&stage, host, None, &payload(&stage, "Stop"));
        assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), ""), "{host}");
        assert!(answer.stderr.contains("status:executing"), "{host}: {}", answer.stderr);
    }
    let log = stage.read(".kontourai/telemetry/tally.log");
    assert!(log.contains(r#""phase":"stop""#) && log.contains(r#""decision":"deny","rules":[2]"#), "{log}");
}

#[test]
fn warn_refuses_nothing_and_says_it() {
    let stage = open_task();
    switch(&stage, "warn");
    let answer = hook(&stage, "claude-code", None, &payload(&stage, "Stop"));
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(0), ""));
    assert!(answer.stderr.contains("status:executing"), "{}", answer.stderr);
}

#[test]
fn the_agent_is_told_where_its_task_stands_and_a_disabled_policy_says_nothing() {
    let mut stage = open_task();
    switch(&stage, "block");
    let told = |stage: &Stage| hook(stage, "claude-code", None, &payload(stage, "UserPromptSubmit")).json();
    let context = told(&stage)["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    assert!(
        context.starts_with("WORKFLOW STATE:") && context.contains("\nSTATE: t is status:in_progress"),
        "{context}"
    );
    let kiro = hook(&stage, "kiro", None, &payload(&stage, "userPromptSubmit"));
    assert_eq!(kiro.stdout.trim_end(), context);
    stage.set("SA_DISABLED_HOOKS", "quality-gate, Workflow-Steering");
    assert_eq!(told(&stage), Value::Null);
}

#[test]
fn evidence_goes_to_the_log_that_the_stop_gate_reads_also_without_telemetry() {
    let mut stage = open_task();
    switch(&stage, "block");
    let call = |stage: &Stage, code: i32| {
        let payload = json!({"hook_event_name": "PostToolUse", "session_id": "s", "cwd": stage.path("ws"),
            "tool_name": "Bash", "tool_input": {"command": "npm test"}, "tool_response": {"exitCode": code}});
        assert_eq!(hook(stage, "claude-code", None, &payload.to_string()).code, Some(0));
    };
    call(&stage, 1);
    stage.set("TELEMETRY_ENABLED", "false");
    call(&stage, 0);
    let log = stage.read(".kontourai/flow-agents/t/command-log.jsonl");
    let results: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(results.len(), 2, "{log}");
    assert_eq!([&results[0]["observedResult"], &results[1]["observedResult"]], ["fail", "pass"]);
}

#[test]
fn a_stop_that_stays_refused_is_handed_to_a_person() {
    let stage = open_task();
    switch(&stage, "block");
    let bundle = json!({"claims": [{"id": "c", "subjectId": "t/x", "claimType": "any", "value": "fail",
        "impactLevel": "high", "status": "disputed"}]});
    std::fs::write(stage.path("ws").join(".kontourai/flow-agents/t/trust.bundle"), bundle.to_string())
        .unwrap();
    let answers: Vec<Value> =
        (0..4).map(|_| hook(&stage, "claude-code", None, &payload(&stage, "Stop")).json()).collect();
    assert!(answers[..3].iter().all(|answer| answer["decision"] == "block"), "{answers:?}");
    assert_eq!(answers[3]["continue"], false);
    assert!(answers[3]["stopReason"].as_str().unwrap().contains("disputed"));
}

#[test]
fn a_payload_that_is_cut_off_is_refused_before_a_tool_runs_and_never_after() {
    let stage = open_task();
    let torn = |event: &str| {
        format!(
            r#"{{"session_id":"s","hook_event_name":"{event}","tool_input":{{"content":"{}"#,
            "x".repeat(1 << 20)
        )
    };
    let decision = |event: &str| hook(&stage, "claude-code", None, &torn(event)).decision().0;
    assert!(!decision("PreToolUse"), "policies are off");
    switch(&stage, "block");
    assert!(decision("PreToolUse"));
    assert!(!decision("PostToolUse"));
    assert!(!decision("Notification"));
}

#[test]
fn to_work_elsewhere_is_no_way_out_and_a_foreign_task_is_nobodys() {
    let stage = open_task();
    switch(&stage, "block");
    let start =
        json!({"type": "user", "sessionId": "s", "cwd": stage.path("ws"), "message": {"content": "x"}});
    let transcript = stage.path("home").join("transcript.jsonl");
    std::fs::write(&transcript, format!("{start}\n")).unwrap();
    let stop = |stage: &Stage| {
        let payload = json!({"hook_event_name": "Stop", "session_id": "s", "cwd": stage.path("home"),
            "transcript_path": transcript});
        hook(stage, "claude-code", None, &payload.to_string()).decision().0
    };
    assert!(stop(&stage), "the session started in the project");
    std::fs::remove_file(stage.path("ws").join(".kontourai/flow-agents/current/conformance.json")).unwrap();
    assert!(!stop(&stage), "no pointer leads this session to the task");
}

#[test]
fn what_a_host_does_not_hear_yet_it_hears_at_the_next_event_at_which_it_listens_and_once() {
    let stage = open_task();
    switch(&stage, "block");
    let prompt = hook(&stage, "codex", None, &payload(&stage, "UserPromptSubmit"));
    assert_eq!((prompt.stdout.as_str(), prompt.stderr.as_str()), ("", ""));
    let call = |stage: &Stage| hook(stage, "codex", None, &payload(stage, "PreToolUse")).json();
    let told = call(&stage)["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    assert!(told.starts_with("WORKFLOW STATE:"), "{told}");
    assert_eq!(call(&stage), Value::Null);
}
