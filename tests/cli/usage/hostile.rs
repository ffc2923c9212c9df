//! Lines and bytes that no host should write and every host has written: each costs only itself.

use super::{call, is_cost, jsonl, tokens, transcript, usage, usage_of, write};
use crate::env::TestEnv;
use serde_json::{Value, json};

const OPUS: &str = "claude-opus-4-8";

fn whole(id: &str, input: i64) -> String {
    call(id, OPUS, tokens(input, 0)).to_string()
}

/// A transcript's answer: input tokens, unreadable lines, whether it is complete.
fn read(bytes: &[u8]) -> (i64, i64, bool) {
    let env = TestEnv::new();
    write(&transcript(&env, "s1.jsonl"), bytes);
    let answer = usage(&env, &[]);
    let input = answer["by_model"][OPUS]["input"].as_i64().unwrap_or(0);
    let unreadable = answer["diagnostics"]["unreadable_lines"].as_i64().unwrap();
    (input, unreadable, answer["complete"].as_bool().unwrap())
}

/// What a bad line between two good ones (1 and 100 tokens) adds.
fn between(bad: &[u8]) -> (i64, i64, bool) {
    let bytes =
        [whole("first", 1).as_bytes(), b"\n", bad, b"\n", whole("last", 100).as_bytes(), b"\n"].concat();
    let (input, unreadable, complete) = read(&bytes);
    assert!(input >= 101, "the neighbours were lost: {}", String::from_utf8_lossy(bad));
    (input - 101, unreadable, complete)
}

#[test]
fn a_line_that_cannot_hold_usage_is_passed_over_in_silence() {
    let silent: [&[u8]; 9] = [
        b"{\"type\":\"assistant\",\"mess",
        b"\xff\xfe\x00 garbage",
        &[0; 512],
        b"",
        b"[1]",
        b"42",
        b"null",
        br#"{"type":"assistant","message":"plain"}"#,
        br#"{"type":"assistant","message":{"id":"m","usage":null}}"#,
    ];
    for line in silent {
        assert_eq!(between(line), (0, 0, true), "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn a_line_whose_usage_cannot_be_read_is_said_and_makes_the_total_incomplete() {
    let torn = whole("torn", 5);
    let torn = &torn.as_bytes()[..torn.find("input_tokens").unwrap()];
    let nulled = [&[0; 64][..], whole("nulled", 5).as_bytes()].concat();
    let twice = whole("twice", 5).replacen("\"input_tokens\":5", "\"input_tokens\":5,\"input_tokens\":6", 1);
    for line in [torn, &nulled, twice.as_bytes()] {
        assert_eq!(between(line), (0, 1, false), "{}", String::from_utf8_lossy(line));
    }
}

#[test]
fn a_counter_that_is_no_count_condemns_its_line() {
    for number in ["\"7\"", "-5", "1.5", "1e999", "1e13", "true", "[5]", "{}", "-0.5", "NaN"] {
        let line = whole("odd", 5).replacen("\"input_tokens\":5", &format!("\"input_tokens\":{number}"), 1);
        assert_eq!(between(line.as_bytes()), (0, 1, false), "{number}");
    }
    for (number, counts) in [("1e2", 100), ("100.0", 100), ("null", 0)] {
        let line = whole("odd", 5).replacen("\"input_tokens\":5", &format!("\"input_tokens\":{number}"), 1);
        assert_eq!(between(line.as_bytes()), (counts, 0, true), "{number}");
    }
}

#[test]
fn a_field_of_the_wrong_type_costs_only_itself() {
    let mut line = call("m", OPUS, tokens(5, 0));
    for (field, odd) in [
        ("timestamp", json!(17)),
        ("sessionId", json!([])),
        ("uuid", json!({})),
        ("isSidechain", json!("no")),
    ] {
        line[field] = odd;
    }
    line["message"]["content"] = json!("text");
    line["message"]["usage"]["server_tool_use"] = json!([1]);
    line["message"]["usage"]["iterations"] = json!({"type": "message"});
    let answer = usage_of(&[line]);
    assert_eq!(answer["by_model"][OPUS]["input"], 5);
    assert_eq!(answer["diagnostics"]["calls_without_timestamp"], 1);
    assert_eq!(answer["by_session"]["s1"]["calls"], 1, "the file's name tells the session");
}

#[test]
fn json_may_be_spaced_and_its_keys_escaped() {
    let plain = whole("m", 5);
    let spaced = plain.replacen("\"usage\":{", "\"usage\" : {", 1);
    let escaped = plain.replacen("\"usage\":", "\"us\\u0061ge\":", 1);
    for line in [spaced, escaped] {
        assert_ne!(line, plain);
        assert_eq!(read(format!("{line}\n").as_bytes()), (5, 0, true), "{line}");
    }
}

#[test]
fn bytes_that_are_no_text_and_deep_nesting_in_content_cost_nothing() {
    let marked = whole("m", 5).replacen("\"text\":\"ok\"", "\"text\":\"@\"", 1);
    let (before, after) = marked.split_once('@').unwrap();
    let latin1 = [before.as_bytes(), b"caf\xe9", after.as_bytes()].concat();
    let lone = [before.as_bytes(), br"\ud800", after.as_bytes()].concat();
    let deep = whole("m", 5).replacen("\"ok\"", &format!("{}{}", "[".repeat(5_000), "]".repeat(5_000)), 1);
    for line in [latin1, lone, deep.into_bytes()] {
        assert_eq!(between(&line), (5, 0, true));
    }
}

#[test]
fn a_byte_order_mark_and_crlf_are_tolerated() {
    let text = format!("\u{feff}{}\r\n{}\r\n", whole("a", 1), whole("b", 2));
    assert_eq!(read(text.as_bytes()), (3, 0, true));
}

#[test]
fn the_last_line_counts_without_its_newline_and_half_a_last_line_is_still_being_written() {
    let (a, b) = (whole("a", 1), whole("b", 2));
    assert_eq!(read(format!("{a}\n{b}").as_bytes()), (3, 0, true));
    let half = &b[..b.find("input_tokens").unwrap() + 20];
    assert_eq!(read(format!("{a}\n{half}").as_bytes()), (1, 0, true));
}

#[test]
fn a_line_beyond_8_mib_costs_only_itself_and_is_said_only_if_it_can_hold_usage() {
    let filler = "A".repeat(9 << 20);
    let image = json!({"type": "user", "message": {"role": "user", "content": filler}}).to_string();
    assert_eq!(between(image.as_bytes()), (0, 0, true));
    let mut huge = call("huge", OPUS, tokens(5, 0));
    huge["message"]["content"][0]["text"] = Value::from(filler);
    assert_eq!(between(huge.to_string().as_bytes()), (0, 1, false));
}

#[test]
fn lines_without_any_id_are_calls_of_their_own() {
    let mut line = call("", OPUS, tokens(5, 0));
    line["message"].as_object_mut().unwrap().remove("id");
    line.as_object_mut().unwrap().remove("uuid");
    let answer = usage_of(&[line.clone(), line.clone()]);
    assert_eq!(answer["calls"], 2);
    line["uuid"] = json!("u");
    assert_eq!(usage_of(&[line.clone(), line])["calls"], 1);
}

#[test]
fn the_request_id_is_no_part_of_a_calls_identity() {
    let with = |request: Value| {
        let mut line = call("m", OPUS, tokens(5, 0));
        line["requestId"] = request;
        line
    };
    let answer = usage_of(&[with(json!("r1")), with(json!("r2")), with(Value::Null)]);
    assert_eq!(answer["calls"], 1);
    // 5 × 5
    assert!(is_cost(&answer["total_cost_usd"], 0.000_025));
}

#[test]
fn an_empty_transcript_is_no_doubt() {
    assert_eq!(read(b""), (0, 0, true));
    assert_eq!(read(jsonl(&[json!({"type": "summary", "summary": "s"})]).as_bytes()), (0, 0, true));
}
