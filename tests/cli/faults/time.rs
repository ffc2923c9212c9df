//! Clocks that jump (case 36).

use super::{console, counters, event, flush, records, sum};
use crate::env::TestEnv;
use crate::transcript::{SESSION, Transcript, tokens};
use serde_json::Value;
use tally::relay::receiver::Receiver;

const OPUS: &str = "claude-opus-4-8";
/// 2026-11-10T09:30:00Z, half an hour after the transcripts of these tests.
const NOW_MS: i64 = 1_794_303_000_000;
const TEN_YEARS_MS: i64 = 10 * 365 * 24 * 60 * 60 * 1000;

/// Calls the hook with a clock that stands at `now_ms`.
fn stop_at(env: &TestEnv, transcript: &Transcript, now_ms: i64) {
    let input = env.home().join("payload.json");
    std::fs::write(&input, transcript.payload(env, "Stop").to_string()).unwrap();
    let mut command = env.command(&["hook", "claude-code"]);
    command.env("TALLY_CLOCK_MS", now_ms.to_string());
    let output = command.stdin(std::fs::File::open(input).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

/// No number of the record that tells a duration is negative.
fn assert_no_negative_duration(value: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if name.ends_with("_s") {
                    assert!(field.as_f64().is_none_or(|seconds| seconds >= 0.0), "{name}: {field}");
                }
                assert_no_negative_duration(field);
            }
        }
        Value::Array(rows) => rows.iter().for_each(assert_no_negative_duration),
        _ => {}
    }
}

#[test]
fn clocks_that_jump_by_years_lose_nothing_and_yield_no_negative_time() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver.url());
    let mut transcript = Transcript::new(&env, SESSION);
    let clocks =
        [NOW_MS, NOW_MS + TEN_YEARS_MS, NOW_MS - TEN_YEARS_MS, -1, i64::MIN + 1, i64::MAX, NOW_MS + 1];
    for (at, now_ms) in clocks.into_iter().enumerate() {
        transcript.prompt().call(&format!("m{at}"), OPUS, [1 << at, 0, 0]);
        stop_at(&env, &transcript, now_ms);
    }
    let records = records(&env);
    let expected: Vec<_> = (0..clocks.len()).map(|at| [1 << at, 0, 0]).collect();
    assert_eq!(records.iter().map(tokens).collect::<Vec<_>>(), expected, "{}", env.log());
    records.iter().for_each(assert_no_negative_duration);
    flush(&env);
    // In the order of the journal, whatever the stamps say.
    let sent: Vec<Value> =
        receiver.received().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    assert_eq!(sent.iter().map(tokens).collect::<Vec<_>>(), expected);
    let count = clocks.len() as u64;
    assert_eq!(counters(&env), [count, count, 0, 0, 0]);
}

#[test]
fn what_was_put_off_by_a_clock_that_was_ahead_is_not_put_off_by_years() {
    let env = TestEnv::new();
    // Nobody listens there.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    console(&env, &format!("http://127.0.0.1:{port}"));
    let tell = |now_ms: i64| {
        let mut command = env.command(&["economics", "record", &event("s", now_ms / 1000, 0).to_string()]);
        command.env("TALLY_CLOCK_MS", now_ms.to_string()).env("FLOW_AGENTS_TELEMETRY_FOREGROUND", "true");
        assert_eq!(command.status().unwrap().code(), Some(0));
    };
    tell(NOW_MS + TEN_YEARS_MS);
    assert_eq!(counters(&env), [1, 0, 0, 0, 1]);
    let state = std::fs::read_to_string(env.data_dir().join("outbox/state.json")).unwrap();
    assert!(state.contains("\"at_ms\":2109"), "the deadline is ten years ahead: {state}");
    // The clock is right again and the Console is there: the next hook sends both without being asked to hurry.
    let receiver = Receiver::start(port).unwrap();
    tell(NOW_MS);
    assert_eq!(receiver.received().len(), 2);
    assert_eq!(counters(&env), [2, 2, 0, 0, 0]);
    assert_eq!(sum(&records(&env), "s"), NOW_MS / 1000);
}
