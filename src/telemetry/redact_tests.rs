//! The golden rows are what flow-agents answers; what differs is in `docs/differences/redaction.md`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const GOLDEN: &str = include_str!("../../tests/fixtures/flow-agents/golden/redaction.jsonl");

fn redacted(list: &str, mut record: Value) -> Value {
    let (paths, refused) = Paths::parse(list);
    assert_eq!(refused, []);
    paths.apply(&mut record);
    record
}

/// `value` without what `model` does not have.
fn only_what_is_in(model: &Value, value: &Value) -> Value {
    match (model, value) {
        (Value::Object(known), Value::Object(fields)) => {
            let both = fields.iter().filter_map(|(name, field)| Some((name, known.get(name)?, field)));
            both.map(|(name, known, field)| (name.clone(), only_what_is_in(known, field))).collect()
        }
        _ => value.clone(),
    }
}

#[test]
fn golden_redaction_without_what_it_makes_up() {
    let (mut rows, mut different) = (0, 0);
    for line in GOLDEN.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let list = row["redact"].as_str().unwrap();
        // Differs: flow-agents makes the field and its parents where they are not there.
        let expected = only_what_is_in(&row["event"], &row["output"]);
        rows += 1;
        different += usize::from(expected != row["output"]);
        assert_eq!(redacted(list, row["event"].clone()), expected, "{line}");
    }
    // By hand: of the six lists `none` and the empty one agree, for each of four events.
    assert_eq!((rows, different), (24, 16));
}

/// An event with everything in it that a default must hide.
fn telling_event() -> Value {
    json!({
        "schema_version": "0.3.0", "timestamp": "1795997528000", "session_id": "s", "event_id": "e",
        "event_type": "tool.invoke",
        "hook": {"raw_input": {"prompt": "HIDE"}, "transcript_path": "HIDE", "last_assistant_message": "HIDE", "model": "m"},
        "context": {"cwd": "HIDE", "project": "org/repo", "pid": 7},
        "turn": {"prompt_text": "HIDE", "prompt_length": 4},
        "tool": {"name": "Bash", "input": {"command": "HIDE"}, "output": ["HIDE"]},
        "permission": {"description": "HIDE"},
        "delegation": {"target": {"query": "HIDE"}, "targets": [{"query": "HIDE", "agent": "a"}, [{"query": "HIDE"}], "b"]},
        "usage": {"input_tokens": 5},
    })
}

#[test]
fn nothing_that_was_said_or_done_is_left_by_the_lists_for_analytics_and_the_console() {
    for (paths, refused) in [
        Paths::of_channel("analytics", None),
        Paths::of_channel("analytics", Some(" , ")),
        Paths::of_channel("another", None),
        Paths::of_console(None, None),
        Paths::of_console(Some(""), Some("none")),
    ] {
        assert_eq!(refused, []);
        let mut event = telling_event();
        paths.apply(&mut event);
        assert_eq!(event.to_string().matches("HIDE").count(), 0, "{event}");
        assert_eq!(event["delegation"]["targets"][0], json!({"query": null, "agent": "a"}));
        assert_eq!(event["delegation"]["targets"][2], json!("b"));
        assert_eq!(event["context"], json!({"cwd": null, "project": "org/repo", "pid": 7}));
        assert_eq!(event["usage"], json!({"input_tokens": 5}));
    }
}

#[test]
fn the_list_for_full_hides_prompts_and_what_tools_took_and_gave() {
    let mut event = telling_event();
    Paths::of_channel("full", None).0.apply(&mut event);
    for hidden in ["/hook/raw_input", "/turn/prompt_text", "/tool/input", "/tool/output"] {
        assert_eq!(event.pointer(hidden), Some(&Value::Null), "{hidden}");
    }
    assert_eq!(event["context"]["cwd"], json!("HIDE"));
}

#[test]
fn a_configured_list_replaces_the_default() {
    let mut event = telling_event();
    Paths::of_channel("analytics", Some("context.pid")).0.apply(&mut event);
    assert_eq!(event["context"], json!({"cwd": "HIDE", "project": "org/repo", "pid": null}));
    let mut event = telling_event();
    Paths::of_console(Some("none"), None).0.apply(&mut event);
    assert_eq!(event, telling_event());
}

#[test]
fn the_console_hides_what_analytics_was_told_to_hide_and_never_less_than_its_default() {
    let mut event = telling_event();
    Paths::of_console(None, Some("usage")).0.apply(&mut event);
    assert_eq!((&event["usage"], &event["context"]["cwd"]), (&Value::Null, &Value::Null));
    assert!(Paths::of_console(None, Some("a|b")).0.is_closed());
}

#[test]
fn arrays_are_looked_through_at_any_level() {
    let record = || json!([{"a": [[{"b": 1}, {"b": [2]}], 3, {"c": 4}]}]);
    let expected = json!([{"a": [[{"b": null}, {"b": null}], 3, {"c": 4}]}]);
    for list in ["a.b", ".a.b", "a[].b", "a[][].b", ".a[0].b", "x\ta.b\ny"] {
        assert_eq!(redacted(list, record()), expected, "{list}");
    }
}

#[test]
fn a_name_with_a_dash_or_beyond_ascii_is_plain() {
    assert_eq!(redacted("x-y.größe", json!({"x-y": {"größe": 1}})), json!({"x-y": {"größe": null}}));
}

#[test]
fn what_is_no_plain_path_is_refused_and_closes_the_list() {
    for path in [
        "tool|del(.input)",
        "tool..input",
        "tool.",
        ".",
        "..",
        ".[]",
        "tool[input]",
        "tool[\"input\"]",
        "tool[0",
        "tool]",
        "\"tool\"",
        "tool.input?",
        "$ENV",
        "tool=1",
        "tool.*",
        "[]",
        "tool[-1]",
        &format!("{}a", "a.".repeat(16)),
    ] {
        let (paths, refused) = Paths::parse(&format!("usage,{path}"));
        assert_eq!(refused.len(), 1, "{path}");
        let mut event = telling_event();
        paths.apply(&mut event);
        for (name, field) in event.as_object().unwrap() {
            assert_eq!(field.is_null(), !KEPT.contains(&name.as_str()), "{path}: {name}");
        }
        assert_eq!(event.as_object().unwrap().len(), telling_event().as_object().unwrap().len());
    }
}

#[test]
fn a_closed_list_still_hides_what_it_names_among_the_kept() {
    let (paths, _) = Paths::parse("session_id,a|b");
    let mut event = json!({"session_id": "s", "event_id": "e"});
    paths.apply(&mut event);
    assert_eq!(event, json!({"session_id": null, "event_id": "e"}));
}

#[test]
fn a_closed_list_leaves_nothing_of_what_is_no_event() {
    let mut record = json!([{"session_id": "s"}]);
    Paths::parse("a|b").0.apply(&mut record);
    assert_eq!(record, Value::Null);
}

#[test]
fn more_paths_than_the_bound_close_the_list() {
    assert!(!Paths::parse(&"a,".repeat(MAX_PATHS)).0.is_closed());
    let (paths, refused) = Paths::parse(&"a,".repeat(100_000));
    assert!(paths.is_closed());
    assert_eq!(refused.len(), MAX_PATHS);
}

#[test]
fn a_refusal_names_the_path_and_what_to_do() {
    let (_, refused) = Paths::parse(&format!("tool\u{1b}|{}", "x".repeat(500)));
    let said = refused[0].to_string();
    assert!(said.contains("tool\\u{1b}|x") && said.contains("correct it") && said.len() < 400, "{said}");
}

#[test]
fn depth_costs_no_stack() {
    let mut deep = json!({"b": 1});
    for _ in 0..200_000 {
        deep = Value::Array(vec![deep]);
    }
    let mut record = Value::Object(std::iter::once(("a".to_owned(), deep)).collect());
    Paths::parse("a.b").0.apply(&mut record);
    let mut inner = record["a"].take();
    while let Value::Array(mut items) = inner {
        inner = items.pop().unwrap();
    }
    assert_eq!(inner, json!({"b": null}));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Whether everything at `path` in `value` is null, by recursion over the value.
fn hidden(value: &Value, path: &[&str]) -> bool {
    match (value, path) {
        (Value::Array(items), [_, ..]) => items.iter().all(|item| hidden(item, path)),
        (Value::Object(fields), [name, rest @ ..]) => {
            fields.get(*name).is_none_or(|field| hidden(field, rest))
        }
        (value, []) => value.is_null(),
        _ => true,
    }
}

proptest! {
    #[test]
    fn what_a_list_names_is_hidden_nothing_is_made_and_twice_is_once(record in any_json(), list in "[a-c](\\.[a-c]){0,3}") {
        let path: Vec<&str> = list.split('.').collect();
        let once = redacted(&list, record.clone());
        prop_assert!(hidden(&once, &path));
        prop_assert_eq!(only_what_is_in(&record, &once), once.clone());
        prop_assert_eq!(redacted(&list, once.clone()), once);
    }

    #[test]
    fn any_list_is_read_without_panic_and_refuses_or_hides(list in "\\PC{0,40}") {
        let (paths, refused) = Paths::parse(&list);
        prop_assert_eq!(paths.is_closed(), !refused.is_empty());
        paths.apply(&mut telling_event());
    }
}
