//! The fault checklist, as far as it needs real processes: what a disk, a lock, a clock or a kill can do to us.
//! `docs/faults.md` lists every case with its test.

mod append;
mod held;
mod index;
mod input;
mod kill;
mod limit;
mod network;
mod process;
mod rotation;
mod time;

use crate::env::{TestEnv, lines};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

/// The event of a session that has used `input` tokens so far. Each of `rows` names a model and makes the record larger
/// by some 800 bytes.
fn event(session: &str, input: i64, rows: usize) -> Value {
    let row = |at: usize| json!({ "model": format!("m{at}-{}", "x".repeat(150)), "input_tokens": 1, "output_tokens": 0 });
    json!({
        "timestamp": "1782900000000", "session_id": session, "event_type": "session.usage",
        "usage": { "input_tokens": input, "output_tokens": 0, "by_model": (0..rows).map(row).collect::<Vec<_>>() },
    })
}

/// Records `event`, which must succeed.
fn record(env: &TestEnv, event: &Value) -> Output {
    let output = env.feed(&["economics", "record"], event.to_string().as_bytes());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    output
}

/// Records `event` of a writer among many: who waited in vain for the lock is told so, and comes again.
fn record_among_many(env: &TestEnv, event: &Value) {
    let mut said = String::new();
    for _ in 0..50 {
        let output = env.feed(&["economics", "record"], event.to_string().as_bytes());
        if output.status.code() == Some(0) {
            return;
        }
        said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("in use by another hook"), "{said}");
    }
    panic!("never recorded: {said}");
}

/// The files of the economics journal in its order, by their names alone.
fn files(env: &TestEnv) -> Vec<PathBuf> {
    let mut rotated = vec![];
    for item in std::fs::read_dir(env.data_dir()).unwrap() {
        let path = item.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let span = name.strip_prefix("economics.").and_then(|rest| rest.strip_suffix(".jsonl"));
        if let Some((from, _)) = span.and_then(|span| span.split_once('-')) {
            rotated.push((from.parse::<u64>().unwrap(), path));
        }
    }
    rotated.sort();
    let rotated = rotated.into_iter().map(|(_, path)| path);
    rotated.chain([env.data_dir().join("economics.jsonl")]).collect()
}

/// Every record of the journal, in whatever file; lines of other programs are none.
fn records(env: &TestEnv) -> Vec<Value> {
    let lines = files(env).into_iter().flat_map(|path| lines(&path));
    lines.filter(|line| line["run_id"].is_string()).collect()
}

fn run_ids(records: &[Value]) -> Vec<String> {
    records.iter().map(|record| record["run_id"].as_str().unwrap().to_owned()).collect()
}

/// What the records of a session come to, in input tokens.
fn sum(records: &[Value], session: &str) -> i64 {
    let own = records.iter().filter(|record| record["session_id"] == session);
    own.map(|record| record["cost"]["input_tokens"].as_i64().unwrap()).sum()
}

/// Makes `url` the Console.
fn console(env: &TestEnv, url: &str) {
    let path = env.project().join(".kontourai/telemetry-console.conf");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("console_telemetry_url={url}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Sends all that is queued; an outbox that is not empty then is a failure.
fn flush(env: &TestEnv) {
    let output = env.run(&["relay", "flush", "--timeout", "30"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Enqueued, delivered, rejected, evicted and pending; they must add up.
fn counters(env: &TestEnv) -> [u64; 5] {
    let output = env.run(&["relay", "status", "--json"]);
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let counters = ["enqueued", "delivered", "rejected", "evicted", "pending"]
        .map(|name| status[name].as_u64().unwrap());
    assert_eq!(counters[0], counters[1..].iter().sum::<u64>(), "{status}");
    counters
}
