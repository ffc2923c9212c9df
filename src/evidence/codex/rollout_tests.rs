//! Recorded answers of flow-agents 6.x; where ours are others, docs/differences/evidence.md says why.

use super::*;
use serde_json::json;
use std::path::PathBuf;

const GOLDEN: &str = include_str!("../../../tests/fixtures/flow-agents/golden/codex-rollout.jsonl");
const VECTORS: &str = include_str!("../../../tests/fixtures/policy/codex-banner.jsonl");

fn call(options: &Value) -> Call<'_> {
    Call { id: options["callId"].as_str(), command: options["command"].as_str() }
}

/// A rollout in a sessions folder.
fn rollout(dir: &Path, text: &str) -> (PathBuf, PathBuf) {
    let sessions = dir.join("sessions");
    std::fs::create_dir_all(&sessions).unwrap();
    let path = sessions.join("rollout.jsonl");
    std::fs::write(&path, text).unwrap();
    (path, sessions)
}

fn output(id: &str, code: i64, printed: &str) -> String {
    let output = format!("Wall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{printed}");
    let output = Value::from(output);
    format!(r#"{{"payload":{{"type":"function_call_output","call_id":"{id}","output":{output}}}}}"#)
}

fn made(id: &str, arguments: &Value) -> String {
    let arguments = arguments.to_string();
    json!({"payload": {"type": "function_call", "name": "exec_command", "call_id": id, "arguments": arguments}})
        .to_string()
}

#[test]
fn golden_correlation() {
    let dir = tempfile::tempdir().unwrap();
    for line in GOLDEN.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let mut text = row["lines"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line.as_str().unwrap())
            .collect::<Vec<_>>()
            .join("\n");
        if row["rollout"] == "flood" {
            let called = made("c1", &json!({"cmd": "npm test"}));
            text = format!("{called}\n{}", output("c1", 5, &"y".repeat(200_000)));
        }
        let (path, sessions) = rollout(dir.path(), &text);
        assert_eq!(exit_code(&path, &sessions, &call(&row["opts"])), row["6.x"].as_i64(), "{line}");
    }
    assert_eq!(GOLDEN.lines().count(), 40);
}

#[test]
fn vectors_of_rollouts() {
    let mut differences = 0;
    let rows = VECTORS.lines().filter(|line| line.contains("FromRollout"));
    for line in rows.clone() {
        let row: Value = serde_json::from_str(line).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let lines = row["lines"].as_array().unwrap().iter().map(|line| match line {
            Value::String(line) => line.clone(),
            line => {
                let text = |key: &str| line[key].as_str().unwrap();
                let fill =
                    line["fill"][0].as_str().unwrap().repeat(line["fill"][1].as_u64().unwrap() as usize);
                format!("{}{fill}{}", text("pre"), text("post"))
            }
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let (inside, sessions) = rollout(dir.path(), &text);
        let outside = dir.path().join("outside.jsonl");
        std::fs::write(&outside, &text).unwrap();
        let has_root = row["sessions_root"] == true;
        let mut path = if row["inside"] == true { inside.clone() } else { outside.clone() };
        if row["symlink"] == true {
            path = path.with_file_name("link.jsonl");
            std::os::unix::fs::symlink(&outside, &path).unwrap();
        }
        if row["missing"] == true {
            path = dir.path().join("missing");
        }
        let sessions = if has_root { sessions } else { dir.path().join("none") };
        let theirs = row["expect"].get("both").unwrap_or(&row["expect"]["6.0.0"]).as_i64();
        // An argv that has a shell run the very command is that command.
        let expected = if row["id"] == "cxr-08" { Some(3) } else { theirs };
        differences += usize::from(expected != theirs);
        assert_eq!(exit_code(&path, &sessions, &call(&row["options"])), expected, "{line}");
    }
    assert_eq!((rows.count(), differences), (28, 1));
}

#[test]
fn a_call_before_the_window_is_not_read_and_nothing_is_concluded_from_one_output() {
    let dir = tempfile::tempdir().unwrap();
    let filler =
        format!("{}\n", json!({"payload": {"type": "message", "text": "z".repeat(1000)}})).repeat(1100);
    let early = format!("{}\n{filler}", output("c1", 1, ""));
    let (path, sessions) = rollout(dir.path(), &early);
    assert_eq!(exit_code(&path, &sessions, &Call { id: Some("c1"), command: None }), None);
    let late = format!("{filler}{}\n", output("c1", 1, ""));
    let (path, sessions) = rollout(dir.path(), &late);
    assert_eq!(exit_code(&path, &sessions, &Call { id: Some("c1"), command: None }), Some(1));
    assert_eq!(exit_code(&path, &sessions, &Call::default()), None);
    assert_eq!(exit_code(&path, &sessions, &Call { id: None, command: Some("npm test") }), None);
}

#[test]
fn a_call_whose_command_is_not_told_makes_a_command_unclear_but_not_an_id() {
    let dir = tempfile::tempdir().unwrap();
    let lines = [
        made("c1", &json!({"cmd": "npm test"})),
        output("c1", 1, ""),
        made("c2", &json!({"session_id": 4})),
        json!({"payload": {"type": "function_call", "name": "update_plan", "call_id": "c3", "arguments": "{}"}}).to_string(),
    ];
    let npm = Call { id: None, command: Some(" npm test ") };
    let (path, sessions) = rollout(dir.path(), &lines.join("\n"));
    assert_eq!(exit_code(&path, &sessions, &npm), None);
    assert_eq!(exit_code(&path, &sessions, &Call { id: Some("c1"), ..npm }), Some(1));
    let (path, sessions) = rollout(dir.path(), &[&lines[..2], &lines[3..]].concat().join("\n"));
    assert_eq!(exit_code(&path, &sessions, &npm), Some(1));
}

#[test]
fn an_id_that_two_calls_had_is_nobodys() {
    let dir = tempfile::tempdir().unwrap();
    let twice =
        [made("c1", &json!({"cmd": "ls"})), made("c1", &json!({"cmd": "npm test"})), output("c1", 0, "")];
    let (path, sessions) = rollout(dir.path(), &twice.join("\n"));
    assert_eq!(exit_code(&path, &sessions, &Call { id: Some("c1"), command: None }), None);
    assert_eq!(exit_code(&path, &sessions, &Call { id: None, command: Some("npm test") }), None);
}

#[test]
fn a_rollout_that_is_no_regular_file_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let (_, sessions) = rollout(dir.path(), "");
    assert_eq!(exit_code(&sessions, &sessions, &Call::default()), None);
    let fifo = sessions.join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    assert_eq!(exit_code(&fifo, &sessions, &Call::default()), None);
}
