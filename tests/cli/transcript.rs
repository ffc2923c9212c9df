//! Transcripts as Claude Code writes them, and what a careful person counts in them.

use crate::env::TestEnv;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

pub(crate) const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// One conversation being written.
pub(crate) struct Transcript {
    pub(crate) path: PathBuf,
    pub(crate) session: String,
    second: i64,
}

impl Transcript {
    pub(crate) fn new(env: &TestEnv, session: &str) -> Self {
        let path = env.home().join(format!(".claude/projects/-project/{session}.jsonl"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        Self { path, session: session.to_owned(), second: 0 }
    }

    pub(crate) fn prompt(&mut self) -> &mut Self {
        let line = self.line("user", json!({ "role": "user", "content": "go" }));
        self.append(&line)
    }

    /// One answer of a model: input, output, cache reads.
    pub(crate) fn call(&mut self, id: &str, model: &str, tokens: [i64; 3]) -> &mut Self {
        let line = self.line("assistant", message(id, model, tokens));
        self.append(&line)
    }

    /// A line that is not written yet.
    pub(crate) fn line(&mut self, kind: &str, message: Value) -> Value {
        self.second += 1;
        json!({
            "type": kind, "sessionId": self.session, "uuid": format!("{}-{}", self.session, self.second),
            "isSidechain": false, "timestamp": format!("2026-11-10T09:{:02}:{:02}.000Z", self.second / 60, self.second % 60),
            "message": message,
        })
    }

    pub(crate) fn append(&mut self, line: &Value) -> &mut Self {
        self.raw(&format!("{line}\n"))
    }

    pub(crate) fn raw(&mut self, text: &str) -> &mut Self {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        self
    }

    pub(crate) fn payload(&self, env: &TestEnv, event: &str) -> Value {
        json!({
            "hook_event_name": event, "session_id": self.session, "transcript_path": self.path, "cwd": env.project(),
        })
    }

    pub(crate) fn stop(&self, env: &TestEnv) {
        env.hook(&self.payload(env, "Stop"));
    }
}

pub(crate) fn message(id: &str, model: &str, [input, output, read]: [i64; 3]) -> Value {
    json!({
        "id": id, "model": model, "role": "assistant", "stop_reason": "end_turn", "content": [],
        "usage": { "input_tokens": input, "output_tokens": output, "cache_read_input_tokens": read },
    })
}

/// Input, output and cache reads of a record.
pub(crate) fn tokens(record: &Value) -> [i64; 3] {
    ["input_tokens", "output_tokens", "cache_read_input_tokens"]
        .map(|name| record["cost"][name].as_i64().unwrap())
}

/// The same, added up over records.
pub(crate) fn sum(records: &[Value]) -> [i64; 3] {
    records.iter().map(tokens).fold([0; 3], |sum, one| [sum[0] + one[0], sum[1] + one[1], sum[2] + one[2]])
}

/// What records cost together, in USD.
pub(crate) fn cost(records: &[Value]) -> f64 {
    records.iter().map(|record| record["cost"]["estimated_cost_usd"].as_f64().unwrap()).sum()
}
