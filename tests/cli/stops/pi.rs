//! pi's session files: named by the extension, or found by the session's id.

use super::{assert_add_up, hook, records_of};
use crate::env::TestEnv;
use crate::transcript::tokens;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

const MODEL: &str = "claude-sonnet-4-6";

struct Session {
    path: PathBuf,
    id: String,
    second: u32,
}

impl Session {
    /// A session's file below `folder` of the home.
    fn new(env: &TestEnv, folder: &str, id: &str) -> Self {
        let name = format!("{folder}/agent/sessions/--project--/2026-11-10T09-00-00-000Z_{id}.jsonl");
        let path = env.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut session = Self { path, id: id.to_owned(), second: 0 };
        let time = session.time();
        session.line(
            &json!({"type": "session", "version": 3, "id": id, "timestamp": time, "cwd": env.project()}),
        );
        session
    }

    fn time(&mut self) -> String {
        self.second += 1;
        format!("2026-11-10T09:{:02}:{:02}.000Z", self.second / 60, self.second % 60)
    }

    fn line(&mut self, line: &Value) -> &mut Self {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        writeln!(file, "{line}").unwrap();
        self
    }

    fn entry(&mut self, kind: &str, message: Value) -> &mut Self {
        let time = self.time();
        let id = format!("{:02x}{:06x}", self.id.as_bytes()[0], self.second);
        self.line(&json!({"type": kind, "id": id, "parentId": null, "timestamp": time, "message": message}))
    }

    fn turn(&mut self, [input, output, read]: [i64; 3]) -> &mut Self {
        self.entry("message", json!({"role": "user", "content": "go"}));
        let usage = json!({"input": input, "output": output, "cacheRead": read, "cacheWrite": 0, "totalTokens": input + output + read, "cost": {"total": 0}});
        let answer = json!({"role": "assistant", "model": MODEL, "provider": "anthropic", "content": [], "usage": usage, "stopReason": "stop"});
        self.entry("message", answer)
    }

    /// What the extension says; without a transcript where it knows none.
    fn say(&self, env: &TestEnv, event: &str, named: bool) {
        let path = named.then_some(&self.path);
        let said = json!({"hook_event_name": event, "session_id": self.id, "transcript_path": path, "cwd": env.project()});
        hook(env, "pi", &said);
    }
}

fn all(records: &[Value]) -> Vec<[i64; 3]> {
    records.iter().map(tokens).collect()
}

#[test]
fn each_stop_records_its_turn_whether_the_file_is_named_or_found() {
    for (folder, named) in [(".pi", true), (".pi", false), (".omp", false)] {
        let env = TestEnv::new();
        let mut session = Session::new(&env, folder, "0196f3a0-0000-7000-8000-000000000001");
        session.say(&env, "SessionStart", named);
        session.turn([10, 20, 30]);
        session.say(&env, "Stop", named);
        session.turn([1, 2, 3]).turn([4, 5, 6]);
        session.say(&env, "Stop", named);
        session.say(&env, "SessionEnd", named);
        let records = records_of(&env, &session.id);
        assert_eq!(all(&records), [[10, 20, 30], [5, 7, 9]], "{folder} {named}");
        assert_eq!(records[0]["signals"]["runtime"], "pi");
        assert_add_up(&env, [15, 27, 39]);
        assert_eq!(env.log(), "");
    }
}

#[test]
fn interleaved_sessions_have_nothing_of_each_other() {
    let env = TestEnv::new();
    let [mut a, mut b] = ["a", "b"].map(|id| Session::new(&env, ".pi", id));
    for turn in 1..=3 {
        a.turn([turn, 1, 0]);
        b.turn([100 * turn, 2, 7]);
        b.say(&env, "Stop", true);
        a.say(&env, "Stop", false);
    }
    assert_eq!(all(&records_of(&env, "a")), [[1, 1, 0], [2, 1, 0], [3, 1, 0]]);
    assert_eq!(all(&records_of(&env, "b")), [[100, 2, 7], [200, 2, 7], [300, 2, 7]]);
    assert_add_up(&env, [606, 9, 21]);
}

#[test]
fn a_compaction_asks_a_model_too_and_makes_the_record_incomplete() {
    let env = TestEnv::new();
    let mut session = Session::new(&env, ".pi", "s");
    session.turn([1, 2, 3]).entry("compaction", json!({}));
    session.say(&env, "Stop", true);
    session.turn([4, 5, 6]);
    session.say(&env, "Stop", true);
    let records = env.records();
    let said = |at: usize| (&records[at]["cost"]["complete"], &records[at]["diagnostics"]["uncounted_calls"]);
    assert_eq!(said(0), (&json!(false), &json!(1)));
    assert_eq!(said(1), (&json!(true), &Value::Null));
}

#[test]
fn a_session_that_is_taken_up_after_its_state_was_lost_repeats_nothing() {
    let env = TestEnv::new();
    let mut session = Session::new(&env, ".pi", "s");
    session.turn([1, 2, 3]);
    session.say(&env, "Stop", true);
    std::fs::remove_dir_all(env.data_dir().join("sessions")).unwrap();
    session.say(&env, "SessionStart", true);
    session.turn([4, 5, 6]);
    session.say(&env, "Stop", true);
    assert_eq!(all(&env.records()), [[1, 2, 3], [4, 5, 6]]);
}

#[test]
fn a_session_that_is_nowhere_is_unknown_usage_and_a_line_in_the_log() {
    let env = TestEnv::new();
    hook(&env, "pi", &json!({"hook_event_name": "Stop", "session_id": "s", "cwd": env.project()}));
    let records = env.records();
    assert_eq!((records.len(), &records[0]["cost"]["input_tokens"]), (1, &Value::Null));
    assert!(records[0]["diagnostics"]["usage_unknown"].is_string());
    assert!(env.log().contains("hook pi"), "{}", env.log());
}
