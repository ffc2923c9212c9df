//! Claims, as agents and people make them.

mod command;
mod hooks;
mod many;
mod places;

use crate::env::{TestEnv, lines};
use serde_json::Value;
use std::path::PathBuf;

/// 2026-07-01T12:00:00Z.
const NOON_MS: i64 = 1_782_907_200_000;

/// The stream of the project.
fn stream(env: &TestEnv) -> PathBuf {
    env.project().join(".kontourai/flow-agents/liveness/events.jsonl")
}

fn events(env: &TestEnv) -> Vec<Value> {
    lines(&stream(env))
}

/// A machine whose clock stands `seconds` after noon.
fn at_noon() -> TestEnv {
    let mut env = TestEnv::new();
    clock(&mut env, 0);
    env
}

fn clock(env: &mut TestEnv, seconds: i64) {
    env.set("TALLY_CLOCK_MS", (NOON_MS + seconds * 1000).to_string());
}

/// Runs `tally liveness ARGS`; exit code, standard output and standard error.
fn liveness(env: &TestEnv, args: &[&str]) -> (i32, String, String) {
    let output = env.run(&[&["liveness"], args].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The answer of a command that must succeed, as JSON.
fn json(env: &TestEnv, args: &[&str]) -> Value {
    let (code, out, err) = liveness(env, &[args, &["--json"]].concat());
    assert_eq!(code, 0, "{args:?}: {err}");
    serde_json::from_str(&out).unwrap()
}
