//! Codex's stops: its hook has Claude Code's fields, its rollout is read from where the last read ended.

use crate::env::TestEnv;
use crate::transcript::{sum, tokens};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

const THREAD: &str = "019a0000-0000-7000-8000-000000000051";

/// A rollout being written, and what the thread's counters stand at.
struct Rollout {
    path: PathBuf,
    second: u32,
    total: [i64; 3],
}

impl Rollout {
    fn new(env: &TestEnv, thread: &str) -> Self {
        let name = format!(".codex/sessions/2026/11/10/rollout-2026-11-10T09-00-00-{thread}.jsonl");
        let path = env.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut rollout = Self { path, second: 0, total: [0; 3] };
        let meta = json!({"id": thread, "timestamp": "2026-11-10T09:00:00.000Z", "cwd": env.project()});
        rollout.line("session_meta", meta);
        rollout
    }

    fn line(&mut self, kind: &str, payload: Value) -> &mut Self {
        self.second += 1;
        let time = format!("2026-11-10T09:{:02}:{:02}.000Z", self.second / 60, self.second % 60);
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        writeln!(file, "{}", json!({"timestamp": time, "type": kind, "payload": payload})).unwrap();
        self
    }

    fn turn(&mut self, id: &str) -> &mut Self {
        self.line("turn_context", json!({"turn_id": id, "model": "gpt-5.5"}))
    }

    /// One response: input with what was cached, output, cached.
    fn call(&mut self, last: [i64; 3]) -> &mut Self {
        for (total, last) in self.total.iter_mut().zip(last) {
            *total += last;
        }
        self.counters(last)
    }

    fn counters(&mut self, last: [i64; 3]) -> &mut Self {
        let usage = |[input, output, cached]: [i64; 3]| json!({"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output, "total_tokens": input + output});
        let info = json!({"total_token_usage": usage(self.total), "last_token_usage": usage(last)});
        self.line("event_msg", json!({"type": "token_count", "info": info}))
    }

    fn payload(&self, env: &TestEnv, event: &str) -> Value {
        json!({
            "hook_event_name": event, "session_id": THREAD, "transcript_path": self.path, "cwd": env.project(),
            "model": "gpt-5.5", "turn_id": "t", "permission_mode": "default"
        })
    }
}

fn hook(env: &TestEnv, payload: &Value) {
    let output = env.feed(&["hook", "codex"], payload.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

#[test]
fn each_stop_records_what_its_turn_added_and_counters_that_are_shown_again_add_nothing() {
    let env = TestEnv::new();
    let mut rollout = Rollout::new(&env, THREAD);
    hook(&env, &rollout.payload(&env, "SessionStart"));
    rollout.turn("a").call([1_000, 50, 900]).counters([1_000, 50, 900]).call([1_200, 20, 1_000]);
    hook(&env, &rollout.payload(&env, "Stop"));
    // Shown once more between the turns: what was kept of the thread tells that it is old.
    rollout.counters([1_200, 20, 1_000]).turn("b").counters([1_200, 20, 1_000]).call([2_000, 5, 0]);
    hook(&env, &rollout.payload(&env, "SubagentStop"));
    hook(&env, &rollout.payload(&env, "Stop"));
    hook(&env, &rollout.payload(&env, "Stop"));
    let records = env.records();
    assert_eq!(records.iter().map(tokens).collect::<Vec<_>>(), [[300, 70, 1_900], [2_000, 5, 0]]);
    assert_eq!(records[0]["signals"]["runtime"], "codex");
    assert_eq!(records[1]["session_totals"]["output_tokens"], 75);
    assert_eq!(env.log(), "");
}

#[test]
fn a_fork_bills_what_is_its_own_whether_or_not_its_parent_was_recorded() {
    for parent_recorded in [true, false] {
        let env = TestEnv::new();
        let mut parent = Rollout::new(&env, "019a0000-0000-7000-8000-000000000050");
        parent.turn("turn-1").call([1_000, 50, 0]);
        if parent_recorded {
            let mut payload = parent.payload(&env, "Stop");
            payload["session_id"] = json!("019a0000-0000-7000-8000-000000000050");
            hook(&env, &payload);
        }
        let mut fork = Rollout::new(&env, THREAD);
        let head = std::fs::read_to_string(&fork.path).unwrap();
        let head = head.replacen(
            "\"cwd\"",
            "\"forked_from_id\":\"019a0000-0000-7000-8000-000000000050\",\"cwd\"",
            1,
        );
        let late = head.replacen(
            "\"timestamp\":\"2026-11-10T09:00:00.000Z\"",
            "\"timestamp\":\"2026-11-10T09:30:00.000Z\"",
            1,
        );
        std::fs::write(&fork.path, late).unwrap();
        // The copy keeps the parent's times; what comes after is later than the fork.
        fork.turn("turn-1").call([1_000, 50, 0]);
        fork.second = 31 * 60;
        fork.turn("turn-2").call([500, 5, 0]);
        hook(&env, &fork.payload(&env, "Stop"));
        let own: Vec<Value> =
            env.records().into_iter().filter(|record| record["session_id"] == THREAD).collect();
        assert_eq!(sum(&own), [500, 5, 0], "parent recorded: {parent_recorded}");
    }
}

#[test]
fn a_payload_without_a_transcript_finds_the_rollout_by_its_thread() {
    let env = TestEnv::new();
    let mut rollout = Rollout::new(&env, THREAD);
    rollout.turn("a").call([10, 1, 0]);
    let mut payload = rollout.payload(&env, "Stop");
    payload["transcript_path"] = Value::Null;
    hook(&env, &payload);
    assert_eq!(env.records().iter().map(tokens).collect::<Vec<_>>(), [[10, 1, 0]]);
}

#[test]
fn a_rollout_cut_anywhere_adds_up_to_its_last_state() {
    let env = TestEnv::new();
    let mut rollout = Rollout::new(&env, THREAD);
    for turn in 0..6 {
        rollout.turn(&format!("turn-{turn}")).call([100 + turn, 2, 0]).call([200, 3, 100]);
    }
    let whole = std::fs::read(&rollout.path).unwrap();
    for cut in [whole.len() / 3, whole.len() / 2, whole.len() - 1, whole.len()] {
        std::fs::write(&rollout.path, &whole[..cut]).unwrap();
        hook(&env, &rollout.payload(&env, "Stop"));
    }
    // 6 × 100 + 15 + 6 × 100, 6 × 5, 6 × 100
    assert_eq!(sum(&env.records()), [1_215, 30, 600]);
}
