//! The scene of the demo: the files that a project, a workflow and Claude Code would have written by now.

use super::put;
use crate::settings::env::Env;
use crate::sys::clock;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// The session's id.
pub(super) const SESSION: &str = "5e551011-0000-4000-8000-00000000c0de";
const SLUG: &str = "add-search-1";
/// Not a secret: the demo's receiver accepts any token.
const TOKEN: &str = "demo-token";

pub(super) struct Scene {
    root: PathBuf,
    /// When it all began, in epoch milliseconds.
    start_ms: i64,
    /// The time of the latest transcript line.
    now_ms: i64,
    transcript: String,
}

impl Scene {
    /// Sets the scene below `root`, with a trusted conf that names the Console at `url`.
    pub(super) fn set(root: &Path, url: &str) -> io::Result<Self> {
        let start_ms = clock::now_ms() - 240_000;
        let scene = Self { root: root.to_path_buf(), start_ms, now_ms: start_ms, transcript: String::new() };
        let project = scene.project();
        put(&project.join(".git/HEAD"), "ref: refs/heads/main\n")?;
        put(
            &project.join(".git/config"),
            "[remote \"origin\"]\n\turl = https://example.com/acme/search.git\n",
        )?;
        for folder in ["objects", "refs"] {
            std::fs::create_dir_all(project.join(".git").join(folder))?;
        }
        let conf = project.join(".kontourai/telemetry-console.conf");
        put(
            &conf,
            &format!(
                "console_telemetry_url={url}\nconsole_telemetry_token={TOKEN}\nconsole_tenant_id=acme\n"
            ),
        )?;
        private(&conf)?;
        put(&scene.sidecars().join("current.json"), &json!({ "active_slug": SLUG }).to_string())?;
        scene.workflow("plan", 1, &[])?;
        std::fs::create_dir_all(scene.home())?;
        Ok(scene)
    }

    pub(super) fn root(&self) -> &str {
        self.root.to_str().unwrap_or_default()
    }

    pub(super) fn project(&self) -> PathBuf {
        self.root.join("search")
    }

    fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    fn sidecars(&self) -> PathBuf {
        self.project().join(".kontourai/flow-agents")
    }

    fn transcript_path(&self) -> PathBuf {
        self.home().join(format!(".claude/projects/-search/{SESSION}.jsonl"))
    }

    /// The environment of the host: nothing of the user's own.
    pub(super) fn env(&self) -> Env {
        Env::from_pairs([("HOME", self.home().into_os_string())])
    }

    /// What Claude Code writes to a hook's standard input.
    pub(super) fn payload(&self, event: &str) -> String {
        let mut payload = json!({
            "session_id": SESSION,
            "transcript_path": self.transcript_path(),
            "cwd": self.project(),
            "hook_event_name": event,
        });
        let test = json!({ "command": "npm test", "description": "Run the tests" });
        let more = match event {
            "SessionStart" => json!({ "source": "startup" }),
            "UserPromptSubmit" => json!({ "prompt": "Build the search page" }),
            "PreToolUse" => json!({ "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": test }),
            "PostToolUse" => json!({
                "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": test,
                "tool_response": { "stdout": "12 passed", "stderr": "", "exitCode": 0 },
            }),
            _ => Value::Null,
        };
        if let (Value::Object(fields), Value::Object(more)) = (&mut payload, more) {
            fields.extend(more);
        }
        payload.to_string()
    }

    /// A turn of planning: one answer, written as three content blocks whose counters grow.
    pub(super) fn first_turn(&mut self) -> io::Result<()> {
        self.prompt("Plan the search page");
        for output in [3, 120, 890] {
            self.answer("msg_plan", "claude-opus-5-5", [12, output, 14_000, 3_200]);
        }
        self.save()
    }

    /// A turn of building: the task moves on, a subagent looks around, a review finds something.
    pub(super) fn second_turn(&mut self) -> io::Result<()> {
        self.prompt("Build it");
        self.answer("msg_ask", "claude-opus-5-5", [9, 310, 17_500, 600]);
        let mut subagent = String::new();
        for (id, output) in [("msg_look", 140), ("msg_found", 420)] {
            self.line(
                &mut subagent,
                true,
                "assistant",
                &answer(id, "claude-haiku-4-5-20251001", [40, output, 2_000, 900]),
            );
        }
        let folder = self.transcript_path().with_extension("").join("subagents");
        put(&folder.join("agent-explore1.jsonl"), &subagent)?;
        put(&folder.join("agent-explore1.meta.json"), &json!({ "agentType": "Explore" }).to_string())?;
        self.answer("msg_build", "claude-opus-5-5", [15, 2_400, 21_000, 1_100]);
        let finding = |severity: &str| json!({ "id": severity, "severity": severity });
        self.workflow("execute", 2, &[finding("high"), finding("low")])?;
        self.save()
    }

    /// The task's sidecars and its canonical run with dated transitions.
    fn workflow(&self, phase: &str, iterations: u32, findings: &[Value]) -> io::Result<()> {
        let task = self.sidecars().join(SLUG);
        let state = json!({
            "task_slug": SLUG, "phase": phase, "iterations": { "count": iterations, "route_backs": iterations - 1 },
            "gate_fires": findings.len(), "verification_verdict": "NOT_VERIFIED",
        });
        put(&task.join("state.json"), &state.to_string())?;
        put(&task.join("critique.json"), &json!({ "critiques": [{ "findings": findings }] }).to_string())?;
        let at = |ms: i64| clock::rfc3339(ms).unwrap_or_default();
        let mut transitions = vec![json!({ "type": "start", "to_step": "plan", "at": at(self.start_ms) })];
        if phase == "execute" {
            transitions.push(json!({
                "type": "advance", "from_step": "plan", "to_step": "execute", "at": at(self.now_ms - 20_000),
            }));
        }
        let run = json!({
            "schema_version": "1.0", "run_id": SLUG, "status": "active", "current_step": phase, "transitions": transitions,
        });
        put(&self.project().join(format!(".kontourai/flow/runs/{SLUG}/state.json")), &run.to_string())
    }

    fn prompt(&mut self, text: &str) {
        let message = json!({ "role": "user", "content": text });
        let mut transcript = std::mem::take(&mut self.transcript);
        self.line(&mut transcript, false, "user", &message);
        self.transcript = transcript;
    }

    fn answer(&mut self, id: &str, model: &str, tokens: [u64; 4]) {
        let mut transcript = std::mem::take(&mut self.transcript);
        self.line(&mut transcript, false, "assistant", &answer(id, model, tokens));
        self.transcript = transcript;
    }

    fn line(&mut self, to: &mut String, sidechain: bool, kind: &str, message: &Value) {
        self.now_ms += 15_000;
        let line = json!({
            "type": kind, "sessionId": SESSION, "isSidechain": sidechain, "uuid": format!("line-{}", self.now_ms),
            "timestamp": clock::rfc3339(self.now_ms), "message": message,
        });
        // Writing to a string cannot fail.
        let _ = writeln!(to, "{line}");
    }

    fn save(&self) -> io::Result<()> {
        put(&self.transcript_path(), &self.transcript)
    }
}

/// An assistant's message: input, output, cache reads, and cache writes for one hour.
fn answer(id: &str, model: &str, [input, output, read, written]: [u64; 4]) -> Value {
    json!({
        "id": id, "role": "assistant", "model": model, "stop_reason": "end_turn",
        "content": [{ "type": "text", "text": "…" }],
        "usage": {
            "input_tokens": input, "output_tokens": output, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "cache_creation": { "ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": written },
        },
    })
}

/// A conf is trusted only with mode 600.
fn private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
