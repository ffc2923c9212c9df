//! Faults that were found by trying to break the stop path, each kept here so that it stays mended.

use crate::env::{TestEnv, lines};
use crate::transcript::{SESSION, Transcript, message, sum, tokens};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tally::relay::receiver::Receiver;

const OPUS: &str = "claude-opus-4-8";

fn journal(project: &Path) -> Vec<Value> {
    lines(&project.join(".kontourai/telemetry/economics.jsonl"))
}

#[test]
fn a_session_that_moves_into_another_repository_stays_where_it_started() {
    let env = TestEnv::new();
    let other = env.home().join("other");
    for repository in [env.project(), other.clone()] {
        for folder in [".git/objects", ".git/refs"] {
            std::fs::create_dir_all(repository.join(folder)).unwrap();
        }
        std::fs::write(repository.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    let mut transcript = Transcript::new(&env, SESSION);
    let mut prompt = transcript.line("user", json!({ "role": "user", "content": "go" }));
    prompt["cwd"] = json!(env.project());
    transcript.append(&prompt).call("m1", OPUS, [1, 0, 0]);
    transcript.stop(&env);
    transcript.call("m2", OPUS, [2, 0, 0]);
    let mut moved = transcript.payload(&env, "Stop");
    moved["cwd"] = json!(other);
    env.hook(&moved);
    assert_eq!(journal(&env.project()).iter().map(tokens).collect::<Vec<_>>(), [[1, 0, 0], [2, 0, 0]]);
    assert!(!other.join(".kontourai").exists());
}

#[test]
fn an_index_that_is_built_again_still_knows_every_owner() {
    let env = TestEnv::new();
    let mut first = Transcript::new(&env, "first");
    first.prompt().call("m1", OPUS, [1, 0, 0]);
    first.stop(&env);
    std::fs::remove_file(env.data_dir().join("sessions/calls.index")).unwrap();
    // Two copies of the same history: the first makes the index new, and the second must find it whole.
    for session in ["copy-1", "copy-2"] {
        let mut copy = Transcript::new(&env, session);
        for mut line in lines(&first.path) {
            line["sessionId"] = json!(session);
            copy.append(&line);
        }
        copy.stop(&env);
    }
    assert_eq!(sum(&env.records()), [1, 0, 0]);
}

#[test]
fn a_call_is_owned_before_it_is_recorded() {
    let env = TestEnv::new();
    let mut first = Transcript::new(&env, "first");
    first.prompt().call("m1", OPUS, [1, 0, 0]);
    first.stop(&env);
    // The kill came after the journal's append: the last line of the session file, its head, was not written.
    let sessions = std::fs::read_dir(env.data_dir().join("sessions")).unwrap().flatten();
    let file = sessions
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap() + 1;
    std::fs::write(&file, &text[..cut]).unwrap();
    let mut copy = Transcript::new(&env, "copy");
    for mut line in lines(&first.path) {
        line["sessionId"] = json!("copy");
        copy.append(&line);
    }
    copy.stop(&env);
    first.stop(&env);
    assert_eq!(sum(&env.records()), [1, 0, 0]);
    assert_eq!(env.records().iter().filter(|record| record["session_id"] == "first").count(), 1);
}

#[test]
fn a_sibling_subagent_whose_first_line_is_still_being_written_is_not_forgotten() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 0, 0]);
    let sibling = transcript.path.with_file_name("agent-old.jsonl");
    let line = json!({
        "type": "assistant", "sessionId": SESSION, "isSidechain": true, "uuid": "u", "message": message("a1", OPUS, [5, 0, 0]),
    })
    .to_string();
    std::fs::write(&sibling, &line[..20]).unwrap();
    transcript.stop(&env);
    std::fs::write(&sibling, format!("{{\"type\":\"summary\"}}\n{line}\n")).unwrap();
    transcript.stop(&env);
    assert_eq!(sum(&env.records()), [6, 0, 0]);
}

#[test]
fn a_session_whose_files_were_lost_is_not_billed_again_when_it_starts() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 0, 0]);
    transcript.stop(&env);
    std::fs::remove_dir_all(env.data_dir().join("sessions")).unwrap();
    env.hook(&transcript.payload(&env, "SessionStart"));
    transcript.call("m2", OPUS, [2, 0, 0]);
    transcript.stop(&env);
    assert_eq!(env.records().iter().map(tokens).collect::<Vec<_>>(), [[1, 0, 0], [2, 0, 0]]);
    assert_eq!(env.records()[1]["run_id"], format!("{SESSION}.2"));
}

#[test]
fn a_record_that_lost_only_its_newline_is_a_record() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 0, 0]);
    transcript.stop(&env);
    let path = env.data_dir().join("economics.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.trim_end()).unwrap();
    std::fs::remove_dir_all(env.data_dir().join("sessions")).unwrap();
    transcript.stop(&env);
    assert_eq!(env.records().iter().map(tokens).collect::<Vec<_>>(), [[1, 0, 0]]);
}

#[test]
fn what_an_event_does_not_tell_stays_as_it_was() {
    let env = TestEnv::new();
    let tell = |usage: Value| {
        let event = json!({ "session_id": "s", "event_type": "session.usage", "timestamp": "1751731200000", "usage": usage });
        assert_eq!(env.run(&["economics", "record", &event.to_string()]).status.code(), Some(0));
    };
    let rows = |input: i64| json!([{ "model": OPUS, "input_tokens": input, "output_tokens": 1, "estimated_cost_usd": 0.5 }]);
    tell(json!({ "input_tokens": 50, "output_tokens": 1, "estimated_cost_usd": 0.5, "by_model": rows(50) }));
    tell(json!({}));
    tell(json!({ "input_tokens": 60 }));
    tell(json!({ "input_tokens": 80, "output_tokens": 1, "estimated_cost_usd": 0.75, "by_model": rows(80) }));
    let records = env.records();
    let total =
        |name: &str| -> f64 { records.iter().filter_map(|record| record["cost"][name].as_f64()).sum() };
    assert_eq!(
        (total("input_tokens"), total("output_tokens"), total("estimated_cost_usd")),
        (80.0, 1.0, 0.75)
    );
    assert_eq!(records.last().unwrap()["session_totals"]["input_tokens"], 80);
}

#[test]
fn a_record_that_was_left_behind_is_not_sent_to_another_console() {
    let env = TestEnv::new();
    let other = Receiver::start(0).unwrap();
    let conf = env.project().join(".kontourai/telemetry-console.conf");
    let configure = |url: &str| {
        std::fs::create_dir_all(conf.parent().unwrap()).unwrap();
        std::fs::write(&conf, format!("console_telemetry_url={url}\n")).unwrap();
        std::fs::set_permissions(&conf, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    configure("http://127.0.0.1:1");
    // The outbox cannot be written: a file is in its place.
    std::fs::create_dir_all(env.data_dir()).unwrap();
    std::fs::write(env.data_dir().join("outbox"), "").unwrap();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 0, 0]);
    transcript.stop(&env);
    std::fs::remove_file(env.data_dir().join("outbox")).unwrap();
    configure(&other.url());
    transcript.call("m2", OPUS, [2, 0, 0]);
    transcript.stop(&env);
    assert_eq!(env.run(&["relay", "flush", "--timeout", "20"]).status.code(), Some(0));
    let received: Vec<Value> =
        other.received().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    assert_eq!(received.iter().map(tokens).collect::<Vec<_>>(), [[2, 0, 0]]);
    assert!(env.log().contains("another destination"), "{}", env.log());
}

#[test]
fn a_folder_in_place_of_a_transcript_is_not_searched() {
    let env = TestEnv::new();
    let folder = env.home().join("tree");
    let inside = folder.join("subagents");
    std::fs::create_dir_all(&inside).unwrap();
    let line =
        json!({ "type": "assistant", "sessionId": SESSION, "message": message("a1", OPUS, [5, 0, 0]) });
    std::fs::write(inside.join("agent-x.jsonl"), format!("{line}\n")).unwrap();
    env.hook(&json!({
        "hook_event_name": "Stop", "session_id": SESSION, "transcript_path": folder, "cwd": env.project(),
    }));
    assert_eq!(env.records()[0]["cost"]["input_tokens"], Value::Null);
}

#[test]
fn a_file_size_limit_is_a_full_disk_and_not_a_death() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 0, 0]);
    let payload = env.home().join("payload.json");
    std::fs::write(&payload, transcript.payload(&env, "Stop").to_string()).unwrap();
    let script = "ulimit -f 0; exec \"$0\" hook claude-code < \"$1\"";
    let mut command = env.command_of("/bin/sh", &["-c", script]);
    let output = command.arg(env!("CARGO_BIN_EXE_tally")).arg(&payload).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    transcript.stop(&env);
    assert_eq!(sum(&env.records()), [1, 0, 0]);
}

#[test]
fn a_model_or_a_speed_that_comes_late_is_a_correction_too() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", "", [1_000_000, 0, 0]);
    transcript.stop(&env);
    transcript.call("m1", OPUS, [1_000_000, 0, 0]);
    transcript.stop(&env);
    let records = env.records();
    assert_eq!(records[0]["cost"]["estimated_cost_usd"], Value::Null);
    assert_eq!(records[1]["cost"]["estimated_cost_usd"], 5.0);
    assert_eq!(records[1]["session_totals"]["input_tokens"], 1_000_000);
}
