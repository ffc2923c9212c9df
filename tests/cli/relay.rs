//! From the hook to the Console: what is queued, what leaves, with which headers, and what never does.

use crate::env::{TestEnv, lines};
use crate::transcript::{SESSION, Transcript, tokens};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use tally::relay::outbox::{self, Entry};
use tally::relay::receiver::{Received, Receiver};

mod backfill;
mod events;
mod rejected;
mod screen;

const OPUS: &str = "claude-opus-4-8";
const TOKEN: &str = "s3cret-token-never-to-be-seen";

pub(crate) fn conf(env: &TestEnv, text: &str) {
    let path = env.project().join(".kontourai/telemetry-console.conf");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

pub(crate) fn console(env: &TestEnv, console: &Receiver) {
    let url = console.url();
    conf(
        env,
        &format!(
            "console_telemetry_url={url}\nconsole_telemetry_token={TOKEN}\nconsole_tenant_id=tenant-a\n"
        ),
    );
}

pub(crate) fn status(env: &TestEnv) -> Value {
    let output = env.run(&["relay", "status", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [enqueued, delivered, rejected, evicted, pending] =
        ["enqueued", "delivered", "rejected", "evicted", "pending"]
            .map(|name| status[name].as_u64().unwrap());
    assert_eq!(enqueued, delivered + rejected + evicted + pending, "{status}");
    let schema = serde_json::from_str(include_str!("../../schemas/relay-status.schema.json")).unwrap();
    jsonschema::validate(&schema, &status).unwrap();
    assert!(status["relay"]["reason"].is_string());
    status
}

/// Sends all that is queued; an outbox that is not empty then is a failure that shows itself.
pub(crate) fn flush(env: &TestEnv) {
    let output = env.run(&["relay", "flush", "--timeout", "120", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

fn run_ids(received: &[Received]) -> Vec<String> {
    received
        .iter()
        .map(|request| {
            serde_json::from_slice::<Value>(&request.body).unwrap()["run_id"].as_str().unwrap().to_owned()
        })
        .collect()
}

/// No file below `dir` contains `needle`, except those named.
pub(crate) fn assert_nowhere(dir: &Path, needle: &str, except: &[&str]) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if except.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        if path.is_dir() {
            assert_nowhere(&path, needle, except);
        } else {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(!text.contains(needle), "{}", path.display());
        }
    }
}

#[test]
fn what_the_journal_holds_reaches_the_console_in_the_background() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver);
    let mut transcript = Transcript::new(&env, SESSION);
    for turn in 0..3 {
        transcript.prompt().call(&format!("m{turn}"), OPUS, [turn + 1, 2, 3]);
        transcript.stop(&env);
    }
    flush(&env);
    let mut received = receiver.received();
    // Several are under way at once.
    received
        .sort_by_key(|request| serde_json::from_slice::<Value>(&request.body).unwrap()["sequence"].as_u64());
    assert_eq!(run_ids(&received), [SESSION.to_owned(), format!("{SESSION}.2"), format!("{SESSION}.3")]);
    for (request, record) in received.iter().zip(env.records()) {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/records"));
        assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
        assert_eq!(request.header("x-console-tenant-id"), Some("tenant-a"));
        // Everything is known here, so what leaves is what was recorded.
        assert_eq!(serde_json::from_slice::<Value>(&request.body).unwrap(), record);
    }
    let status = status(&env);
    assert_eq!((&status["enqueued"], &status["delivered"]), (&3.into(), &3.into()));
    assert_nowhere(&env.project(), TOKEN, &["telemetry-console.conf"]);
}

#[test]
fn the_foreground_switch_sends_before_the_hook_returns() {
    let mut env = TestEnv::new();
    env.set("FLOW_AGENTS_TELEMETRY_FOREGROUND", "true");
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver);
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 2, 3]);
    transcript.stop(&env);
    assert_eq!(run_ids(&receiver.received()), [SESSION]);
}

#[test]
fn unknown_numbers_leave_as_zero_and_are_named() {
    let mut env = TestEnv::new();
    env.set("FLOW_AGENTS_TELEMETRY_FOREGROUND", "true");
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver);
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", "glm-99", [7, 2, 3]);
    transcript.stop(&env);
    let body: Value = serde_json::from_slice(&receiver.received()[0].body).unwrap();
    assert_eq!(body["cost"]["estimated_cost_usd"].as_f64(), Some(0.0));
    assert_eq!(body["cost"]["complete"], false);
    assert_eq!(body["cost"]["input_tokens"], 7);
    let unknown: Vec<&str> =
        body["unknown_fields"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    assert!(
        unknown.contains(&"cost.estimated_cost_usd") && unknown.contains(&"phases[0].estimated_cost_usd"),
        "{unknown:?}"
    );
    assert_eq!(env.records()[0]["cost"]["estimated_cost_usd"], Value::Null);
}

#[test]
fn the_relay_is_off_by_environment_conf_key_or_do_not_track() {
    let receiver = Receiver::start(0).unwrap();
    let off: [(&str, &str, &str); 4] = [
        ("FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY", "0", ""),
        ("DO_NOT_TRACK", "1", "console_economics_relay=1\n"),
        ("FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY", "1", "console_economics_relay=off\n"),
        ("DO_NOT_TRACK", "1", ""),
    ];
    for (name, value, key) in off {
        let mut env = TestEnv::new();
        env.set(name, value);
        conf(&env, &format!("console_telemetry_url={}\n{key}", receiver.url()));
        let mut transcript = Transcript::new(&env, SESSION);
        transcript.prompt().call("m1", OPUS, [1, 2, 3]);
        transcript.stop(&env);
        assert_eq!(env.records().len(), 1, "the journal is local and stays");
        assert!(!env.data_dir().join("outbox").exists(), "{name}={value} {key}");
        assert_eq!(status(&env)["enqueued"], 0);
    }
    assert!(receiver.received().is_empty());
}

#[test]
fn records_written_while_the_relay_was_off_are_not_sent_later() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 2, 3]);
    transcript.stop(&env);
    console(&env, &receiver);
    transcript.call("m2", OPUS, [4, 5, 6]);
    transcript.stop(&env);
    flush(&env);
    assert_eq!(run_ids(&receiver.received()), [format!("{SESSION}.2")]);
}

#[test]
fn a_journal_that_was_there_before_us_is_not_ours_to_send() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver);
    std::fs::create_dir_all(env.data_dir()).unwrap();
    let old = r#"{"schema":"kontour.console.economics","version":"0.1","run_id":"old","cost":{}}"#;
    std::fs::write(env.data_dir().join("economics.jsonl"), format!("{old}\n")).unwrap();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 2, 3]);
    transcript.stop(&env);
    flush(&env);
    assert_eq!(run_ids(&receiver.received()), [SESSION]);
}

#[test]
fn a_run_without_signal_stays_local() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver);
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt();
    transcript.stop(&env);
    assert_eq!(env.records().len(), 1);
    assert_eq!(status(&env)["enqueued"], 0);
}

#[test]
fn a_kill_around_the_outbox_neither_repeats_nor_skips() {
    type Undo = fn(&Path);
    let undo: [(&str, Undo); 2] = [
        // Journal written, outbox not.
        ("before the outbox", |data| {
            let outbox = data.join("outbox/current.jsonl");
            let text = std::fs::read_to_string(&outbox).unwrap();
            let first = text.split_inclusive('\n').next().unwrap();
            std::fs::write(&outbox, first).unwrap();
        }),
        // Outbox written, cursor not.
        ("before the cursor", |_| ()),
    ];
    for (what, undo) in undo {
        let env = TestEnv::new();
        // A Console that is not there: everything stays queued.
        conf(&env, "console_telemetry_url=http://127.0.0.1:1\n");
        let mut transcript = Transcript::new(&env, SESSION);
        transcript.prompt().call("m1", OPUS, [1, 2, 3]);
        transcript.stop(&env);
        let cursor = env.data_dir().join("economics.jsonl.lock");
        let before = std::fs::read(&cursor).unwrap();
        transcript.call("m2", OPUS, [4, 5, 6]);
        transcript.stop(&env);
        // No worker may hold the queue while it is tampered with.
        env.run(&["relay", "flush", "--timeout", "1"]);
        let queue = gather(&env);
        assert_eq!(queue.len(), 2, "{what}");
        std::fs::remove_dir_all(env.data_dir().join("outbox")).unwrap();
        std::fs::create_dir(env.data_dir().join("outbox")).unwrap();
        let text: String = queue.iter().map(|entry| format!("{entry}\n")).collect();
        std::fs::write(env.data_dir().join("outbox/current.jsonl"), text).unwrap();
        std::fs::write(&cursor, before).unwrap();
        undo(&env.data_dir());
        let mut third = Transcript::new(&env, "another");
        third.prompt().call("m3", OPUS, [7, 8, 9]);
        third.stop(&env);
        let ids: Vec<String> =
            gather(&env).iter().map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids, [SESSION.to_owned(), format!("{SESSION}.2"), "another".to_owned()], "{what}");
        assert_eq!(
            env.records().iter().map(tokens).collect::<Vec<_>>(),
            [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
            "{what}"
        );
    }
}

/// Every entry in the outbox, sealed or not, in order.
fn gather(env: &TestEnv) -> Vec<Value> {
    let outbox = env.data_dir().join("outbox");
    let mut files: Vec<_> = std::fs::read_dir(&outbox).unwrap().flatten().map(|entry| entry.path()).collect();
    files.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(".jsonl") && (name == "current.jsonl" || name.starts_with('0'))
    });
    files.sort();
    files.iter().flat_map(|path| lines(path)).collect()
}

/// Answers every request with `body`, as a web server would that has only this page.
fn page(body: &'static str) -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/pricing.json", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 4096];
            drop(stream.read(&mut request));
            let head =
                format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            drop(stream.write_all(format!("{head}{body}").as_bytes()));
        }
    });
    url
}

#[test]
fn a_price_registry_is_fetched_by_the_worker_and_used_by_the_next_hook() {
    // Opus 4.8 costs 5 USD a million in the bundled registry, and 50 in this one.
    const REGISTRY: &str = r#"{"current_version":"2026-01-01","versions":{"2026-01-01":{"effective_date":"2026-01-01",
        "cache_multipliers":{"write_5m":1.25,"write_1h":2,"read":0.1},"models":{"claude-opus-4-8":{"input":50,"output":1}}}}}"#;
    for (body, next_cost, complaints) in
        [(REGISTRY, 50.0, 0), ("<html>Sign in</html>", 5.0, 2), ("{\"versions\":{", 5.0, 2)]
    {
        let mut env = TestEnv::new();
        env.set("TELEMETRY_PRICING_URL", page(body));
        env.set("FLOW_AGENTS_TELEMETRY_FOREGROUND", "true");
        let mut transcript = Transcript::new(&env, SESSION);
        for id in ["m1", "m2"] {
            transcript.prompt().call(id, OPUS, [1_000_000, 0, 0]);
            transcript.stop(&env);
        }
        let costs: Vec<_> =
            env.records().iter().map(|record| record["cost"]["estimated_cost_usd"].as_f64()).collect();
        assert_eq!(costs, [Some(5.0), Some(next_cost)], "{body}");
        assert_eq!(env.log().lines().count(), complaints, "{}", env.log());
        assert_eq!(
            env.data_dir().join("pricing").exists(),
            complaints == 0,
            "what is no registry is never cached"
        );
    }
}

#[test]
fn a_host_that_reads_to_the_end_does_not_wait_for_a_console_that_hangs() {
    use std::io::Read;
    let env = TestEnv::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    conf(&env, &format!("console_telemetry_url=http://{}\n", listener.local_addr().unwrap()));
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 2, 3]);
    // Returns when stdout and stderr are at their end. Nobody has answered the relay by then.
    transcript.stop(&env);
    let (mut stream, _) = listener.accept().unwrap();
    let mut start = [0; 13];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"POST /records");
}

#[test]
fn heartbeats_that_waited_leave_as_one_and_status_says_so() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver);
    let conf = env.project().join(".kontourai/telemetry-console.conf");
    for second in 0..4 {
        let body = format!(r#"{{"type":"heartbeat","at":"2026-07-01T10:00:0{second}Z"}}"#);
        let entry = Entry {
            id: "liveness:a1:task-1".to_owned(),
            kind: "liveness".to_owned(),
            origin: receiver.url(),
            path: "/records".to_owned(),
            tenant: Some("tenant-a".to_owned()),
            source: format!("conf:{}", conf.display()),
            enqueued_at: 1_782_900_000_000,
            journal_end: 0,
            put_back: false,
            body: Entry::body(&body).unwrap(),
        };
        outbox::enqueue(&env.project().join(".kontourai/telemetry"), &entry, Duration::from_secs(5)).unwrap();
    }
    flush(&env);
    let bodies: Vec<_> = receiver.received().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies, [br#"{"type":"heartbeat","at":"2026-07-01T10:00:03Z"}"#]);
    let status = status(&env);
    assert_eq!([&status["delivered"], &status["evicted"], &status["superseded"]], [1, 3, 3]);
    let output = env.run(&["relay", "status"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("evicted 3: 3 made way for later liveness records\n"), "{text}");
}

/// Every file and folder below `dir` with its bytes.
fn tree(dir: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Option<Vec<u8>>> {
    let mut found = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(tree(&path));
            found.insert(path, None);
        } else {
            found.insert(path.clone(), Some(std::fs::read(&path).unwrap()));
        }
    }
    found
}
