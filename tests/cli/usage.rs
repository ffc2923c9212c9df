//! `tally usage`: transcripts to tokens and money.
//!
//! Prices are those of `tests/fixtures/cases/registry.json`; expected costs are worked out by hand beside each test, in
//! USD per million tokens.

mod calls;
mod corpus;
mod golden;
mod hostile;
mod places;
#[cfg(unix)]
mod progress;
mod runtimes;

use crate::env::{TestEnv, fixture};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A Claude Code line of one call, in the host's own spelling. `usage` is put in as it is.
fn call(id: &str, model: &str, usage: Value) -> Value {
    json!({
        "parentUuid": null, "isSidechain": false, "cwd": "/code/demo", "version": "2.1.240", "type": "assistant",
        "message": {
            "id": id, "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "ok"}], "usage": usage
        },
        "uuid": format!("uuid-{id}"), "timestamp": "2026-11-10T09:00:00.000Z"
    })
}

/// A usage block with plain input and output.
fn tokens(input: i64, output: i64) -> Value {
    json!({"input_tokens": input, "output_tokens": output})
}

/// Where Claude Code keeps the transcript `name` of the demo project.
fn transcript(env: &TestEnv, name: &str) -> PathBuf {
    env.home().join(".claude/projects/-code-demo").join(name)
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// One line each, every one of them ended.
fn jsonl(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The answer of `tally usage --json`, which the published schema describes.
fn usage(env: &TestEnv, args: &[&OsStr]) -> Value {
    let registry = fixture("cases/registry.json");
    let own = [OsStr::new("usage"), OsStr::new("--json"), OsStr::new("--pricing"), registry.as_os_str()];
    let output = env.run(&[&own[..], args].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let answer = serde_json::from_slice(&output.stdout).unwrap();
    let schema = include_str!("../../schemas/usage.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let errors: Vec<String> =
        schema.iter_errors(&answer).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?} in {answer}");
    answer
}

/// The answer for one transcript that holds `lines`.
fn usage_of(lines: &[Value]) -> Value {
    let env = TestEnv::new();
    write(&transcript(&env, "s1.jsonl"), jsonl(lines));
    usage(&env, &[])
}

fn is_cost(found: &Value, expected: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - expected).abs() <= 1e-9)
}

#[test]
fn without_transcripts_nothing_is_known_and_nothing_is_zero() {
    let answer = usage(&TestEnv::new(), &[]);
    assert_eq!(answer["total_cost_usd"], Value::Null);
    assert_eq!(answer["calls"], 0);
    assert_eq!(answer["by_model"], json!({}));
}

#[test]
fn the_schema_refuses_an_answer_that_lacks_a_bucket_or_has_a_word_too_many() {
    let schema = serde_json::from_str(include_str!("../../schemas/usage.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let good = usage_of(&[call("m", "claude-opus-4-8", tokens(1, 1))]);
    assert!(schema.is_valid(&good));
    let mut poor = good.clone();
    poor["by_model"]["claude-opus-4-8"].as_object_mut().unwrap().remove("cache_write_1h");
    assert!(!schema.is_valid(&poor));
    let mut rich = good;
    rich["total"] = json!(0);
    assert!(!schema.is_valid(&rich));
}

#[test]
fn the_table_fits_80_columns_and_has_no_colour_when_nobody_watches() {
    let env = TestEnv::new();
    let large = json!({
        "input_tokens": 123_456_789, "output_tokens": 987_654_321, "cache_read_input_tokens": 98_765_432_100_i64,
        "cache_creation_input_tokens": 1_234_567_890
    });
    let long = "vendor-with-a-long-name-and-a-model-with-an-even-longer-one-2026-preview";
    let lines = [call("a", "claude-opus-4-8", large.clone()), call("b", long, large)];
    write(&transcript(&env, "s1.jsonl"), jsonl(&lines));
    let output = env.run(&["usage"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.contains("987,654,321") && text.contains("(incomplete)"), "{text}");
    assert!(text.contains("no price for:\n    vendor-") && output.stderr.is_empty());
}

#[test]
fn a_host_or_a_path_that_is_not_there_is_said() {
    let env = TestEnv::new();
    let output = env.run(&["usage", "--host", "nobody"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("nobody"));
    let output = env.run(&["usage", "nothing-here.jsonl"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8(output.stderr).unwrap().contains("nothing-here.jsonl"));
}
