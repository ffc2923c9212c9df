use super::super::line;
use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

const PARENT: &str = "019a0000-0000-7000-8000-000000000001";
const CHILD: &str = "019a0000-8000-7000-8000-000000000002";
const OLD_TURN: &str = "019a0000-0001-7000-8000-0000000000aa";
const NEW_TURN: &str = "019a0001-0000-7000-8000-0000000000bb";

/// Calls as `(session, model, input, output)`, with their keys; and prompts by their time.
#[derive(Default)]
struct Heard {
    calls: Vec<(CallKey, String, String, i64, i64)>,
    traits: Vec<Traits>,
    prompts: Vec<i64>,
}

impl Receiver for Heard {
    fn call(&mut self, seen: Observation<'_>) {
        let text = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned).unwrap_or_default();
        let Tokens { input, output, .. } = seen.tokens;
        self.calls.push((seen.key, text(seen.session), text(seen.model), input, output));
        self.traits.push(seen.traits);
    }

    fn prompt(&mut self, seen: Prompt<'_>) {
        self.prompts.push(seen.at_ms);
    }
}

impl Heard {
    /// Inputs of the calls, in order.
    fn inputs(&self) -> Vec<i64> {
        self.calls.iter().map(|call| call.3).collect()
    }
}

fn at(second: u32, kind: &str, payload: Value) -> Value {
    json!({"timestamp": format!("2026-11-10T09:{:02}:{:02}.000Z", second / 60, second % 60), "type": kind, "payload": payload})
}

fn meta(id: &str, more: Value) -> Value {
    let mut payload = json!({"id": id, "timestamp": "2026-11-10T09:00:00.000Z", "cwd": "/w"});
    payload.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    at(0, "session_meta", payload)
}

fn turn(second: u32, id: &str) -> Value {
    at(second, "turn_context", json!({"turn_id": id, "model": "gpt-5.5"}))
}

fn usage(input: i64, output: i64) -> Value {
    json!({"input_tokens": input, "output_tokens": output, "total_tokens": input + output})
}

/// Counters of the thread, and of its last response.
fn count(second: u32, total: (i64, i64), last: (i64, i64)) -> Value {
    let info =
        json!({"total_token_usage": usage(total.0, total.1), "last_token_usage": usage(last.0, last.1)});
    at(second, "event_msg", json!({"type": "token_count", "info": info}))
}

fn record(second: u32, turn: &str, response: &str, input: i64) -> Value {
    at(
        second,
        "token_usage_record",
        json!({"turn_id": turn, "response_id": response, "usage": usage(input, 1)}),
    )
}

fn hear(lines: &[Value]) -> (Heard, Diagnostics) {
    let (mut thread, mut heard, mut met) = (Thread::named("named"), Heard::default(), Diagnostics::default());
    for line in lines {
        let text = line.to_string();
        assert!(line::may_matter(text.as_bytes()) || matches!(line["type"].as_str(), Some("response_item")));
        thread.line(line::parse(text.as_bytes()).unwrap(), &mut heard, &mut met);
    }
    thread.flush(&mut heard);
    (heard, met)
}

#[test]
fn rule_1_counters_that_did_not_change_are_no_call_and_a_full_context_is_none() {
    let mut filled = count(4, (0, 0), (0, 0));
    filled["payload"]["info"]["total_token_usage"]["total_tokens"] = json!(258_400);
    let nothing = at(1, "event_msg", json!({"type": "token_count", "info": null}));
    let lines = [
        meta(PARENT, json!({})),
        turn(1, NEW_TURN),
        nothing,
        count(2, (10, 1), (10, 1)),
        count(3, (10, 1), (10, 1)),
        filled,
        count(5, (7, 1), (7, 1)),
        count(6, (7, 1), (7, 1)),
    ];
    let (heard, met) = hear(&lines);
    assert_eq!(heard.inputs(), [10, 7]);
    assert_eq!(met.echoes_skipped, 2);
    assert_eq!(heard.calls[0].1, PARENT);
}

#[test]
fn rule_1_without_a_last_usage_the_difference_of_the_totals_counts_and_smaller_ones_start_anew() {
    let only_total = |second, total| {
        let mut line = count(second, total, (0, 0));
        line["payload"]["info"]["last_token_usage"] = Value::Null;
        line
    };
    let lines = [
        meta(PARENT, json!({})),
        turn(1, NEW_TURN),
        only_total(2, (10, 1)),
        only_total(3, (25, 3)),
        only_total(4, (5, 1)),
    ];
    assert_eq!(hear(&lines).0.inputs(), [10, 15, 5]);
}

#[test]
fn rule_2_in_a_turn_with_records_only_records_count_whatever_comes_first() {
    let head = [meta(PARENT, json!({})), turn(1, OLD_TURN), count(2, (10, 1), (10, 1)), turn(3, NEW_TURN)];
    let counted = count(4, (30, 2), (20, 1));
    let recorded = [record(4, NEW_TURN, "resp_a", 20), record(5, NEW_TURN, "resp_compact", 500)];
    let twice = record(6, NEW_TURN, "resp_a", 20);
    for order in [[0, 1, 2], [1, 2, 0], [1, 0, 2]] {
        let tail = [counted.clone(), recorded[0].clone(), recorded[1].clone()];
        let mut lines = head.to_vec();
        lines.extend(order.map(|place: usize| tail[place].clone()));
        lines.push(twice.clone());
        let (heard, _) = hear(&lines);
        let mut calls = heard.calls;
        calls.sort();
        calls.dedup();
        let mut inputs: Vec<i64> = calls.iter().map(|call| call.3).collect();
        inputs.sort_unstable();
        assert_eq!(inputs, [10, 20, 500], "{order:?}");
    }
}

#[test]
fn rule_2_a_record_may_come_before_the_turn_that_it_names() {
    let lines = [
        meta(PARENT, json!({})),
        turn(1, OLD_TURN),
        count(2, (10, 1), (10, 1)),
        record(3, NEW_TURN, "resp_a", 20),
        turn(4, NEW_TURN),
        count(5, (30, 2), (20, 1)),
    ];
    assert_eq!(hear(&lines).0.inputs(), [10, 20]);
}

#[test]
fn rule_3_lines_before_the_ordinal_that_the_header_names_are_not_the_threads_own() {
    for start in [json!(4), json!("4")] {
        let mut lines = vec![
            meta(CHILD, json!({"parent_thread_id": PARENT, "subagent_history_start_ordinal": start})),
            meta(PARENT, json!({})),
            turn(60, OLD_TURN),
            count(61, (10, 1), (10, 1)),
            turn(62, OLD_TURN),
            count(63, (30, 2), (20, 1)),
        ];
        for (ordinal, line) in lines.iter_mut().enumerate() {
            line["ordinal"] = json!(ordinal);
        }
        let (heard, met) = hear(&lines);
        assert_eq!((heard.inputs(), met.echoes_skipped), (vec![20], 1));
        assert_eq!(heard.calls[0].1, CHILD);
        assert_eq!(heard.prompts.len(), 0, "the same turn goes on");
    }
}

#[test]
fn rule_3_without_ordinals_older_lines_and_older_turns_are_inherited_though_the_parent_is_gone() {
    let child = json!({"forked_from_id": PARENT, "timestamp": "2026-11-10T09:10:00.000Z"});
    let old_times = [
        meta(CHILD, child.clone()),
        turn(60, "turn-without-a-time"),
        count(61, (10, 1), (10, 1)),
        turn(700, "another"),
        count(701, (30, 2), (20, 1)),
    ];
    let new_times = [
        meta(CHILD, child),
        turn(700, OLD_TURN),
        count(701, (10, 1), (10, 1)),
        turn(702, NEW_TURN),
        count(703, (30, 2), (20, 1)),
        count(704, (30, 2), (20, 1)),
    ];
    for lines in [&old_times[..], &new_times[..]] {
        let (heard, _) = hear(lines);
        assert_eq!(heard.inputs(), [20]);
        assert_eq!(heard.prompts.len(), 1);
    }
}

#[test]
fn rule_3_a_fresh_subagent_without_a_copy_loses_nothing() {
    let same_millisecond = "019a0000-8000-7000-8000-0000000000cc";
    let spawned = json!({"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}});
    let lines = [meta(CHILD, spawned), turn(1, same_millisecond), count(2, (10, 1), (10, 1))];
    assert_eq!(hear(&lines).0.inputs(), [10]);
}

#[test]
fn rule_4_a_copied_call_has_the_key_of_the_original() {
    for ids in [["turn-a", "turn-b"], ["", ""]] {
        let own = [turn(1, ids[0]), count(2, (10, 1), (10, 1)), turn(3, ids[1]), count(4, (30, 2), (20, 1))];
        let original = hear(&[&[meta(PARENT, json!({}))], &own[..]].concat()).0;
        let head = [meta(CHILD, json!({"forked_from_id": PARENT})), meta(PARENT, json!({}))];
        let more = [turn(5, "turn-c"), count(6, (60, 3), (30, 1))];
        let fork = hear(&[&head[..], &own[..], &more[..]].concat()).0;
        let keys = |heard: &Heard| heard.calls.iter().map(|call| call.0).collect::<Vec<_>>();
        assert_eq!(keys(&original)[..], keys(&fork)[..2], "{ids:?}");
        assert!(!keys(&original).contains(&keys(&fork)[2]));
    }
}

#[test]
fn rule_4_equal_counters_of_two_threads_are_two_calls() {
    let of = |id: &str| hear(&[meta(id, json!({})), turn(1, ""), count(2, (10, 1), (10, 1))]).0.calls[0].0;
    assert_ne!(of(PARENT), of(CHILD));
}

#[test]
fn rule_5_settings_hold_from_the_next_turn_on() {
    let settings = |second, tier: &str| {
        let settings = json!({"model": "gpt-5.5", "service_tier": tier});
        at(second, "event_msg", json!({"type": "thread_settings_applied", "thread_settings": settings}))
    };
    let lines = [
        meta(PARENT, json!({})),
        settings(1, "priority"),
        turn(2, "a"),
        settings(3, "flex"),
        count(4, (10, 1), (10, 1)),
        turn(5, "b"),
        count(6, (20, 2), (10, 1)),
        settings(7, "default"),
        turn(8, "c"),
        count(9, (30, 3), (10, 1)),
    ];
    let traits = hear(&lines).0.traits;
    let speeds: Vec<_> =
        traits.iter().map(|traits| (traits.has(Traits::FAST), traits.has(Traits::BATCH))).collect();
    assert_eq!(speeds, [(true, false), (false, true), (false, false)]);
}

#[test]
fn the_sum_of_the_source_decides_what_contains_what() {
    let tokens = |text: &str| {
        let line = format!(
            r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"last_token_usage":{text}}}}}}}"#
        );
        let Ok(line::Line { said: Said::Count { last: Some(last), .. }, .. }) = line::parse(line.as_bytes())
        else {
            panic!("{text}")
        };
        let Tokens { input, output, cache_read, cache_write_5m, .. } = last.tokens();
        (input, output, cache_read, cache_write_5m)
    };
    let of = |total: i64| {
        format!(
            r#"{{"input_tokens":100,"cached_input_tokens":60,"cache_write_input_tokens":30,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":{total}}}"#
        )
    };
    assert_eq!(tokens(&of(120)), (10, 20, 60, 30));
    assert_eq!(tokens(&of(210)), (100, 20, 60, 30), "the cache lies beside the input");
    assert_eq!(tokens(&of(125)), (10, 25, 60, 30), "reasoning lies beside the output");
    assert_eq!(tokens(&of(0)), (10, 20, 60, 30));
}

fn any_line() -> impl Strategy<Value = Value> {
    let turn_id = prop_oneof![Just(""), Just("a"), Just("b"), Just(OLD_TURN), Just(NEW_TURN)];
    prop_oneof![
        (1..3600u32, turn_id.clone()).prop_map(|(second, id)| turn(second, id)),
        (1..3600u32, 1..6i64, 1..4i64).prop_map(|(second, total, last)| count(second, (total, 1), (last, 1))),
        (1..3600u32, turn_id, "[xyz]").prop_map(|(second, turn, id)| record(second, turn, &id, 9)),
        Just(meta(CHILD, json!({"forked_from_id": PARENT}))),
        Just(meta(PARENT, json!({}))),
    ]
}

proptest! {
    /// Where a rollout is cut between two turns does not matter.
    #[test]
    fn a_thread_goes_on_from_what_was_kept_of_it(
        before in prop::collection::vec(any_line(), 0..8), after in prop::collection::vec(any_line(), 0..8)
    ) {
        let between = turn(9, "between");
        let whole = hear(&[&before[..], std::slice::from_ref(&between), &after[..]].concat()).0;
        let (mut heard, mut met) = (Heard::default(), Diagnostics::default());
        let mut kept = serde_json::to_string(&Thread::named("named")).unwrap();
        for part in [&before[..], &[&[between][..], &after[..]].concat()] {
            let mut thread: Thread = serde_json::from_str(&kept).unwrap();
            for line in part {
                let text = line.to_string();
                thread.line(line::parse(text.as_bytes()).unwrap(), &mut heard, &mut met);
            }
            thread.flush(&mut heard);
            kept = serde_json::to_string(&thread).unwrap();
        }
        prop_assert_eq!(whole.calls, heard.calls);
        prop_assert_eq!(whole.prompts, heard.prompts);
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0..400usize) {
        let says_something = line::parse(&bytes).is_ok_and(|line| !matches!(line.said, Said::Other));
        prop_assert!(line::may_matter(&bytes) || !says_something);
        let whole = record(1, NEW_TURN, "resp", 5).to_string();
        let torn = &whole.as_bytes()[..at.min(whole.len())];
        drop(line::parse(&[torn, &bytes[..]].concat()));
    }
}
