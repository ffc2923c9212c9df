//! The hook contract: whatever comes in, exit 0, an empty stdout, one diagnosable line in our own log.

use crate::env::TestEnv;
use crate::transcript::{SESSION, Transcript, tokens};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

/// Hands raw bytes to the hook and returns our log; exit code and stdout are held to the contract.
fn serve(env: &TestEnv, args: &[&str], input: &[u8]) -> String {
    let output = env.feed(args, input);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
    assert!(output.stdout.is_empty(), "{args:?}: {output:?}");
    env.log()
}

#[test]
fn input_that_is_no_object_is_one_line_in_our_log() {
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", vec![]),
        ("not JSON", b"hello".to_vec()),
        ("torn", b"{\"session_id\":\"s\"".to_vec()),
        ("an array", b"[1,2]".to_vec()),
        ("null", b"null".to_vec()),
        ("deep", "[".repeat(50_000).into_bytes()),
        ("binary", (0..=255).collect()),
    ];
    for (what, input) in cases {
        let env = TestEnv::new();
        let log = serve(&env, &["hook", "claude-code"], &input);
        assert_eq!(log.lines().count(), 1, "{what}: {log}");
        assert!(log.contains("not a JSON object"), "{what}: {log}");
        assert!(env.records().is_empty(), "{what}");
    }
}

#[test]
fn a_wrong_command_line_is_one_line_on_stderr_and_in_our_log() {
    for args in [
        &["hook"][..],
        &["hook", "emacs"],
        &["hook", "claude-code", "--bogus"],
        &["hook", "claude-code", "--event"],
    ] {
        let env = TestEnv::new();
        let output = env.feed(args, b"{}");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{args:?}: {output:?}");
        assert_eq!(env.log().lines().count(), 1, "{args:?}: {}", env.log());
    }
}

#[test]
fn a_large_and_deep_payload_is_read_past() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", "claude-opus-4-8", [10, 20, 30]);
    let mut payload = transcript.payload(&env, "Stop");
    payload["last_assistant_message"] = Value::from("x".repeat(12 << 20));
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let text = payload.to_string().replacen('{', &format!("{{\"deep\":{deep},"), 1);
    serve(&env, &["hook", "claude-code"], text.as_bytes());
    assert_eq!(env.records().iter().map(tokens).collect::<Vec<_>>(), [[10, 20, 30]]);
}

#[test]
fn ids_that_no_file_or_record_can_hold_are_recorded_all_the_same() {
    let long = "x".repeat(5_000);
    let hostile = [
        "a\\u0000b",
        "a\\ud800b",
        "../../../etc/passwd",
        "/absolute",
        "..",
        "a\\nb",
        "\u{202e}rtl",
        long.as_str(),
    ];
    for id in hostile {
        let env = TestEnv::new();
        let mut transcript = Transcript::new(&env, SESSION);
        transcript.prompt().call("m1", "claude-opus-4-8", [1, 2, 3]);
        let payload = transcript.payload(&env, "Stop").to_string().replace(SESSION, "@@");
        let payload = payload.replace("@@.jsonl", &format!("{SESSION}.jsonl")).replace("@@", id);
        serve(&env, &["hook", "claude-code"], payload.as_bytes());
        let records = env.records();
        assert_eq!(records.len(), 1, "{id}: {}", env.log());
        let run_id = records[0]["run_id"].as_str().unwrap();
        assert!(
            !run_id.is_empty() && run_id.chars().count() <= 200 && !run_id.contains(char::is_control),
            "{id}"
        );
        // Nothing was written anywhere but where our files belong.
        let outside = std::fs::read_dir(env.project())
            .unwrap()
            .flatten()
            .filter(|entry| entry.file_name() != ".kontourai");
        assert_eq!(outside.count(), 0, "{id}");
        let files = std::fs::read_dir(env.data_dir().join("sessions")).unwrap().flatten();
        let names: Vec<_> = files.map(|file| file.file_name().into_string().unwrap()).collect();
        let hashed =
            |name: &&String| name.split('.').next().unwrap().bytes().all(|byte| byte.is_ascii_hexdigit());
        // The session's own files are named after a hash of its id; the others are the lock and the index.
        let own: Vec<_> = names.iter().filter(hashed).map(|name| name.rsplit('.').next().unwrap()).collect();
        assert!(own.contains(&"jsonl") && names.len() == own.len() + 2, "{id}: {names:?}");
    }
}

#[test]
fn fields_of_the_wrong_type_and_a_missing_session_are_complained_of() {
    for payload in [
        json!({ "hook_event_name": "Stop" }),
        json!({ "hook_event_name": "Stop", "session_id": 5, "cwd": [], "transcript_path": {} }),
        json!({ "hook_event_name": "Stop", "session_id": "" }),
    ] {
        let env = TestEnv::new();
        env.hook(&payload);
        assert!(env.log().contains("session_id"), "{payload}: {}", env.log());
        assert!(env.records().is_empty());
    }
}

#[test]
fn a_transcript_that_cannot_be_read_leaves_usage_unknown_not_zero() {
    let env = TestEnv::new();
    let dir = env.home().join("dir.jsonl");
    std::fs::create_dir(&dir).unwrap();
    let fifo = env.home().join("fifo.jsonl");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let secret = env.home().join("secret.jsonl");
    std::fs::write(&secret, "").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).unwrap();
    let unreadable = [env.home().join("none.jsonl"), dir, fifo];
    // To the superuser every file is readable; then only the other three can be shown.
    let locked = std::fs::File::open(&secret).is_err().then_some(secret);
    for (at, path) in unreadable.into_iter().chain(locked).enumerate() {
        env.hook(&json!({
            "hook_event_name": "Stop", "session_id": format!("s{at}"), "transcript_path": path, "cwd": env.project(),
        }));
        let record = env.records().pop().unwrap();
        assert_eq!(record["session_id"], format!("s{at}"));
        assert_eq!(record["cost"]["input_tokens"], Value::Null, "{path:?}");
        assert_eq!(record["cost"]["estimated_cost_usd"], Value::Null, "{path:?}");
        assert_eq!(record["cost"]["complete"], false);
        assert_eq!(record["time"]["wall_clock_s"], Value::Null);
        assert!(record["diagnostics"]["usage_unknown"].is_string());
        assert_eq!(env.log().lines().count(), at + 1, "{}", env.log());
    }
}

#[test]
fn switched_off_telemetry_leaves_no_trace_and_events_of_a_run_make_no_economics() {
    let mut env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", "claude-opus-4-8", [1, 2, 3]);
    let events = ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Notification", "SomethingNew"];
    for event in events {
        env.hook(&transcript.payload(&env, event));
    }
    assert!(env.records().is_empty());
    std::fs::remove_dir_all(env.project().join(".kontourai")).unwrap();
    env.set("TELEMETRY_ENABLED", "false");
    for event in events.into_iter().chain(["Stop"]) {
        env.hook(&transcript.payload(&env, event));
    }
    assert!(!env.project().join(".kontourai").exists());
}

#[test]
fn the_event_may_come_from_the_command_line() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", "claude-opus-4-8", [1, 2, 3]);
    let mut payload = transcript.payload(&env, "x");
    payload.as_object_mut().unwrap().remove("hook_event_name");
    serve(&env, &["hook", "claude-code", "--event", "Stop"], payload.to_string().as_bytes());
    assert_eq!(env.records().len(), 1);
}

#[test]
fn a_data_folder_that_cannot_be_made_goes_elsewhere_and_harms_nobody() {
    let env = TestEnv::new();
    std::fs::write(env.project().join(".kontourai"), "a file is in the way").unwrap();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", "claude-opus-4-8", [1, 2, 3]);
    transcript.stop(&env);
    let tally = env.home().join(".local/state/tally");
    let workspace = std::fs::read_dir(&tally).unwrap().next().unwrap().unwrap().path();
    assert_eq!(crate::env::lines(&workspace.join("economics.jsonl")).len(), 1);
}
