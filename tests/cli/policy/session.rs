//! A session that stops, as its host tells it: by `tally run-hook`, as hooks of flow-agents call it, and by `tally hook`; on a task
//! that is open and on one that is said to be delivered.

use super::stage::Stage;
use serde_json::{Value, json};
use std::path::PathBuf;

pub(super) const TASK: &str = ".kontourai/flow-agents/t";

/// A session with a task; in a repository that has everything committed, where files are told of.
pub(super) struct Session {
    pub(super) stage: Stage,
    /// Whether the host calls `tally hook`; else `tally run-hook`.
    hook: bool,
}

/// What came of a stop.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) refused: bool,
    pub(super) said: String,
}

impl Session {
    pub(super) fn of(hook: bool, status: &str, files: &Value) -> Self {
        let mut all = json!({
            format!("{TASK}/state.json"): {"schema_version": "1.0", "task_slug": "t", "status": status,
                "phase": "verification", "updated_at": "2026-07-01T00:00:00Z",
                "next_action": {"status": "done", "summary": "none"}},
            ".kontourai/flow-agents/current/conformance.json": {"active_slug": "t"},
        });
        for (name, content) in files.as_object().into_iter().flatten() {
            all[name] = content.clone();
        }
        // A repository takes three processes: most attempts have no need of one.
        let git = files.as_object().is_some_and(|files| !files.is_empty());
        if !git {
            all["AGENTS.md"] = json!("");
        }
        let mut stage = Stage::of(&json!({"workspace": {"git": git, "files": all}}));
        stage.set("FLOW_AGENTS_GOAL_FIT_MODE", "block");
        let session = Self { stage, hook };
        if hook {
            session.put(".kontourai/telemetry-console.conf", b"policies=block\n");
            super::hosts::private(&session.file(".kontourai/telemetry-console.conf"));
        }
        session
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.stage.path("ws").join(name)
    }

    pub(super) fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::create_dir_all(self.file(name).parent().unwrap()).unwrap();
        std::fs::write(self.file(name), bytes).unwrap();
    }

    fn call(&self, policy: &str, payload: &Value) -> (Option<i32>, String, String) {
        let mut payload = payload.clone();
        payload["session_id"] = json!("s");
        if payload.get("cwd").is_none() {
            payload["cwd"] = json!(self.stage.path("ws"));
        }
        let script = format!("{policy}.js");
        let args = if self.hook { vec!["hook", "claude-code"] } else { vec!["run-hook", policy, &script] };
        let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
        let output = self.stage.tally(&args, &payload.to_string());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// A command was run, and the host tells this of it.
    pub(super) fn told(&self, command: &str, told: Value) {
        let mut payload = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": command}});
        for (key, value) in told.as_object().unwrap() {
            payload[key] = value.clone();
        }
        assert_eq!(self.call("evidence-capture", &payload).0, Some(0), "a capture never blocks");
    }

    /// A command was run and ended with this code.
    pub(super) fn ran(&self, command: &str, code: i64) {
        self.told(command, json!({"tool_response": {"exitCode": code, "stdout": "x"}}));
    }

    /// The session's tools claim that the commands passed.
    pub(super) fn claims(&self, commands: &[&str]) {
        let claims: Vec<Value> = (0..commands.len())
            .map(|at| {
                json!({"id": at.to_string(), "subjectId": format!("t/check{at}"), "claimType": "workflow.check.command",
                    "fieldOrBehavior": "it works", "value": "pass", "impactLevel": "low", "status": "verified"})
            })
            .collect();
        let evidence: Vec<Value> = commands
            .iter()
            .enumerate()
            .map(|(at, command)| {
                json!({"claimId": at.to_string(), "passing": true, "execution": {"label": command}})
            })
            .collect();
        let bundle = json!({"claims": claims, "evidence": evidence, "events": []});
        self.put(&format!("{TASK}/trust.bundle"), bundle.to_string().as_bytes());
    }

    pub(super) fn log(&self) -> String {
        self.stage.read(&format!("{TASK}/command-log.jsonl"))
    }

    pub(super) fn set_log(&self, log: &str) {
        self.put(&format!("{TASK}/command-log.jsonl"), log.as_bytes());
    }

    pub(super) fn stop(&self) -> Stopped {
        let (code, stdout, stderr) = self.call("stop-goal-fit", &json!({"hook_event_name": "Stop"}));
        if !self.hook {
            assert!(matches!(code, Some(0 | 2)), "{stderr}");
            return Stopped { refused: code == Some(2), said: stderr };
        }
        assert_eq!(code, Some(0));
        let answer: Value = serde_json::from_str(&stdout).unwrap_or_default();
        let reason = answer["reason"].as_str().unwrap_or_default();
        Stopped { refused: answer["decision"] == "block", said: format!("{reason}\n{stderr}") }
    }
}

/// What a stop must come to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Want {
    /// The agent may stop.
    Free,
    /// An open task is refused for this; one that is said to be done may stop, and it is said.
    Soft(&'static str),
    /// One that is said to be done is refused for this; an open one may stop.
    Done(&'static str),
    /// Both are refused for this.
    Refused(&'static str),
}

pub(super) const FAILED: Want = Want::Refused("was last seen to fail");
pub(super) const LAUNDERED: Want = Want::Refused("exit-code-laundered");
pub(super) const BROKEN: Want = Want::Refused("integrity check FAILED");
pub(super) const UNKNOWN: Want = Want::Soft("nobody knows how");
/// No record counts, and the project names no check of this kind.
pub(super) const UNSEEN: Want = Want::Soft("no record that counts shows it pass");

/// Tries it in all four ways.
pub(super) fn attempt(name: &str, want: Want, files: &Value, act: &dyn Fn(&Session)) {
    for hook in [false, true] {
        for status in ["in_progress", "delivered"] {
            let session = Session::of(hook, status, files);
            act(&session);
            let stopped = session.stop();
            let (refused, words) = match want {
                Want::Free => (false, ""),
                Want::Soft(words) => (status == "in_progress", words),
                Want::Done(words) if status == "delivered" => (true, words),
                Want::Done(_) => (false, ""),
                Want::Refused(words) => (true, words),
            };
            let way = format!("{name}, hook: {hook}, {status}: {stopped:?} {}", session.log());
            assert_eq!(stopped.refused, refused, "{way}");
            assert!(stopped.said.contains(words), "{words}: {way}");
        }
    }
}
