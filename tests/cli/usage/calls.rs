//! What is one call, whose is it, and which numbers stand: kinds of faults beyond the open corpus.

use super::{call, is_cost, jsonl, tokens, transcript, usage, usage_of, write};
use crate::env::TestEnv;
use serde_json::{Value, json};

const OPUS: &str = "claude-opus-4-8";

#[test]
fn the_order_of_snapshots_does_not_matter_and_each_counter_keeps_its_largest_value() {
    let snapshot = |input: i64, output: i64, written: i64, read: i64| {
        let usage = json!({
            "input_tokens": input, "output_tokens": output, "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read
        });
        call("msg_1", OPUS, usage)
    };
    let lines = [snapshot(12, 412, 0, 18_000), snapshot(12, 3, 2_400, 18_000), snapshot(0, 400, 2_400, 0)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
        let answer = usage_of(&order.map(|at| lines[at].clone()));
        let model = &answer["by_model"][OPUS];
        let found = ["input", "output", "cache_write_5m", "cache_read"].map(|bucket| &model[bucket]);
        assert_eq!(found, [12, 412, 2_400, 18_000], "{order:?}");
        assert_eq!((&answer["calls"], &answer["diagnostics"]["duplicates_merged"]), (&json!(1), &json!(2)));
        // 12 × 5 + 412 × 25 + 2,400 × 6.25 + 18,000 × 0.5 = 34,360
        assert!(is_cost(&answer["total_cost_usd"], 0.03436), "{answer}");
    }
}

#[test]
fn a_fork_whose_copies_are_each_whole_in_another_file_counts_each_call_once_and_for_its_first_owner() {
    let env = TestEnv::new();
    let of = |session: &str, forked: Option<&str>, id: &str, output: i64| {
        let mut line = call(id, OPUS, tokens(10, output));
        line["sessionId"] = json!(session);
        if let Some(origin) = forked {
            line["forkedFrom"] = json!({"sessionId": origin, "messageUuid": "u"});
        }
        line
    };
    let original = [of("s-a", None, "msg_1", 5), of("s-a", None, "msg_2", 50)];
    let fork = [
        of("s-b", Some("s-a"), "msg_1", 120),
        of("s-b", Some("s-a"), "msg_2", 7),
        of("s-b", None, "msg_3", 1_000),
    ];
    write(&transcript(&env, "s-a.jsonl"), jsonl(&original));
    write(&transcript(&env, "s-b.jsonl"), jsonl(&fork));
    let answer = usage(&env, &[]);
    assert_eq!(answer["calls"], 3);
    assert_eq!(answer["by_model"][OPUS]["output"], 120 + 50 + 1_000);
    assert_eq!(answer["by_session"]["s-a"]["by_model"][OPUS]["output"], 170);
    assert_eq!(answer["by_session"]["s-b"]["by_model"][OPUS]["output"], 1_000);
    // s-a: 20 × 5 + 170 × 25 = 4,350; s-b: 10 × 5 + 1,000 × 25 = 25,050
    assert!(is_cost(&answer["by_session"]["s-a"]["total_cost_usd"], 0.00435));
    assert!(is_cost(&answer["by_session"]["s-b"]["total_cost_usd"], 0.02505));
}

#[test]
fn echoes_of_a_subagent_are_never_added_to_its_calls() {
    let env = TestEnv::new();
    let usage_block = tokens(100, 10);
    let progress = json!({
        "type": "progress", "sessionId": "s1", "timestamp": "2026-11-10T09:00:00.000Z",
        "data": {"type": "agent_progress", "message": {"type": "assistant", "message": {
            "id": "msg_agent", "model": OPUS, "usage": usage_block
        }}}
    });
    let result = json!({
        "type": "user", "sessionId": "s1", "timestamp": "2026-11-10T09:00:00.000Z",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]},
        "toolUseResult": {"status": "completed", "totalTokens": 110, "usage": usage_block}
    });
    let mut main = call("msg_main", OPUS, tokens(1, 1));
    main["message"]["content"] = json!([{"type": "tool_use", "id": "t", "name": "Task", "input": {
        "message": {"id": "msg_x", "model": OPUS, "usage": tokens(7_000, 7_000)}, "usage": tokens(9_000, 9_000)
    }}]);
    write(&transcript(&env, "s1.jsonl"), jsonl(&[main, progress, result]));
    write(
        &transcript(&env, "s1/subagents/agent-a1.jsonl"),
        jsonl(&[call("msg_agent", OPUS, usage_block.clone())]),
    );
    let answer = usage(&env, &[]);
    assert_eq!(answer["calls"], 2);
    assert_eq!(answer["by_model"][OPUS]["input"], 101);
    assert_eq!(answer["by_model"][OPUS]["output"], 11);
    assert_eq!(answer["diagnostics"]["echoes_skipped"], 2);
    assert_eq!(answer["by_session"]["s1"]["calls"], 2, "the subagent's call is the session's");
}

#[test]
fn where_the_parts_of_a_cache_write_disagree_with_their_total_the_larger_sum_stands() {
    let written = |total: Value, five: i64, hour: i64| {
        let usage = json!({
            "input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": total,
            "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}
        });
        let answer = usage_of(&[call("m", OPUS, usage)]);
        let model = &answer["by_model"][OPUS];
        let bucket = |name: &str| model[name].as_i64().unwrap();
        (bucket("cache_write_5m"), bucket("cache_write_1h"), model["cost_usd"].as_f64().unwrap())
    };
    let cases = [
        // total, 5m, 1h → 5m × 6.25 + 1h × 10
        (json!(1_000), 200, 300, (700, 300, 0.007_375)),
        (json!(400), 500, 600, (500, 600, 0.009_125)),
        (json!(400), 0, 900, (0, 900, 0.009)),
        (json!(null), 10, 20, (10, 20, 0.000_262_5)),
        (json!(50), 0, 0, (50, 0, 0.000_312_5)),
    ];
    for (total, five, hour, expected) in cases {
        let found = written(total.clone(), five, hour);
        assert_eq!((found.0, found.1), (expected.0, expected.1), "{total} {five} {hour}");
        assert!((found.2 - expected.2).abs() < 1e-12, "{total} {five} {hour}: {}", found.2);
    }
}

#[test]
fn tokens_without_a_model_are_unknown_and_never_free() {
    let mut absent = call("m3", "", tokens(4, 0));
    absent["message"].as_object_mut().unwrap().remove("model");
    let mut null = call("m1", "", tokens(1, 0));
    null["message"]["model"] = Value::Null;
    let mut number = call("m4", "", tokens(8, 0));
    number["message"]["model"] = json!(42);
    let lines = [null, call("m2", "", tokens(2, 0)), absent, number, call("m5", OPUS, tokens(16, 0))];
    let answer = usage_of(&lines);
    assert_eq!(answer["by_model"]["unknown"]["input"], 1 + 2 + 4 + 8);
    assert_eq!(answer["by_model"]["unknown"]["cost_usd"], Value::Null);
    assert_eq!(answer["by_model"]["unknown"]["raw_ids"], json!([]));
    assert_eq!(answer["unpriced_models"], json!(["unknown"]));
    assert_eq!(answer["complete"], false);
    // 16 × 5: the priced part
    assert!(is_cost(&answer["total_cost_usd"], 0.000_08));
}

#[test]
fn a_local_notice_is_no_call() {
    let answer = usage_of(&[call("n", "<synthetic>", tokens(0, 0)), call("m", OPUS, tokens(1, 0))]);
    assert_eq!((&answer["calls"], &answer["diagnostics"]["synthetic_skipped"]), (&json!(1), &json!(1)));
    assert_eq!(answer["complete"], true);
}

#[test]
fn a_tier_begins_above_its_threshold_and_counts_the_whole_prompt() {
    const HAIKU: &str = "claude-haiku-5-5";
    let call_of = |input: i64, read: i64, five: i64, hour: i64, output: i64| {
        let usage = json!({
            "input_tokens": input, "output_tokens": output, "cache_read_input_tokens": read,
            "cache_creation_input_tokens": five + hour,
            "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}
        });
        usage_of(&[call("m", HAIKU, usage)])["total_cost_usd"].clone()
    };
    // At 100,000 the base rates: 50,000 × 0.1 + 50,000 × 0.01 + 1,000 × 0.5 = 6,000
    assert!(is_cost(&call_of(50_000, 50_000, 0, 0, 1_000), 0.006));
    // One token more, and all is at the tier's: 50,001 × 0.5 + 50,000 × 0.05 + 1,000 × 2.5 = 30,000.5
    assert!(is_cost(&call_of(50_001, 50_000, 0, 0, 1_000), 0.030_000_5));
    // Cache writes are prompt: 1 × 0.5 + 60,000 × 0.625 + 40,000 × 1 + 10 × 2.5 = 77,525.5
    assert!(is_cost(&call_of(1, 0, 60_000, 40_000, 10), 0.077_525_5));
    // Output is not: 100,000 × 0.1 + 200,000 × 0.5 = 110,000
    assert!(is_cost(&call_of(100_000, 0, 0, 0, 200_000), 0.11));
}

#[test]
fn two_calls_below_a_threshold_are_not_one_above_it() {
    let half = || tokens(60_000, 0);
    let lines = [call("a", "claude-haiku-5-5", half()), call("b", "claude-haiku-5-5", half())];
    // 120,000 × 0.1
    assert!(is_cost(&usage_of(&lines)["total_cost_usd"], 0.012));
}

#[test]
fn a_call_that_was_never_finished_is_a_lower_bound_and_said() {
    let mut open = call("m", OPUS, tokens(5, 1));
    open["message"]["stop_reason"] = Value::Null;
    let answer = usage_of(&[open]);
    assert_eq!(answer["diagnostics"]["lower_bound_calls"], 1);
    assert_eq!(answer["by_model"][OPUS]["output"], 1);
}
