//! The documents of users: each is merged, merged again, and taken back.

use super::*;
use serde_json::json;

const COMMAND: &str = "/opt/tally hook claude-code";

fn wanted() -> Wanted<'static> {
    let events = &["SessionStart", "Stop"];
    Wanted { shape: Shape::Grouped, host: "claude-code", events, command: COMMAND, timeout_s: 15 }
}

fn value(text: &str) -> Value {
    scan(text).unwrap().value()
}

fn entry() -> Value {
    json!({"hooks": [{"type": "command", "command": COMMAND, "timeout": 15}]})
}

/// Merges `text`, and holds the result to what is true of every merge.
fn merged(text: &str) -> String {
    let once = merge(text, &wanted()).unwrap();
    assert_eq!(merge(&once, &wanted()).unwrap(), once, "merging twice is not merging once");
    for event in ["SessionStart", "Stop"] {
        assert!(value(&once)["hooks"][event].as_array().unwrap().contains(&entry()), "{event}: {once}");
    }
    once
}

#[test]
fn a_new_file_is_plain_json_with_one_entry_per_event() {
    let text = merged("");
    let expected = json!({"hooks": {"SessionStart": [entry()], "Stop": [entry()]}});
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    assert!(
        text.starts_with("{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n"),
        "{text}"
    );
    assert!(text.ends_with("\n  }\n}\n"), "{text}");
}

#[test]
fn a_settings_file_comes_back_byte_for_byte_from_merge_and_unmerge() {
    let documents = [
        "{}",
        "{ }\n",
        "{\"model\":\"opus\"}",
        "{\n  \"model\": \"opus\"\n}\n",
        "{\n\t\"model\": \"opus\",\n\t\"env\": {\"A\": \"1\"}\n}",
        "{\r\n    \"model\": \"opus\"\r\n}\r\n",
        "\u{feff}{\n  \"model\": \"opus\"\n}\n",
        "{\n  // mine\n  \"model\": \"opus\", // why\n}\n",
        "{\n  \"model\": \"opus\" /* last */\n  // end\n}\n",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"bell\"}]}\n    ]\n  }\n}\n",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"matcher\": \"\",\n        \"hooks\": [ { \"type\": \"command\", \"command\": \"bell\" }, ]\n      }, // bell\n    ],\n  },\n  \"z\": 1\n}\n",
        "{\"hooks\":{\"Notification\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"bell\"}]}]},\"z\":1}",
    ];
    for document in documents {
        let with = merged(document);
        let back = unmerge(&with, &wanted()).unwrap().unwrap();
        assert_eq!(value(&back), value(document), "{document:?} -> {with}");
        // A blank or a bare `{}` needs no exact way back: the receipt has one. Everything else has.
        if document.trim() != "{}" && document.trim() != "{ }" {
            assert_eq!(back, document, "via {with}");
        }
    }
}

#[test]
fn comments_order_line_ends_and_indentation_of_the_user_stay() {
    let text = "{\r\n\t// one\r\n\t\"b\": 1, // two\r\n\t\"a\": [1, 2],\r\n}\r\n";
    let with = merged(text);
    assert!(with.starts_with("{\r\n\t// one\r\n\t\"b\": 1, // two\r\n\t\"a\": [1, 2],\r\n\t\"hooks\": {\r\n\t\t\"SessionStart\""), "{with:?}");
    assert_eq!(with.matches('\n').count(), with.matches("\r\n").count());
}

#[test]
fn an_entry_with_another_path_is_brought_up_to_date_in_place() {
    let text = r#"{"hooks": {"Stop": [{"hooks": [
      {"type": "command", "command": "tally hook claude-code", "timeout": 30, "async": true},
      {"type": "command", "command": "bell"}]}]}}"#;
    let with = merge(text, &wanted()).unwrap();
    let entries = &value(&with)["hooks"]["Stop"][0]["hooks"];
    assert_eq!(entries[0], json!({"type": "command", "command": COMMAND, "timeout": 30, "async": true}));
    assert_eq!(entries[1]["command"], "bell");
}

#[test]
fn an_event_that_calls_us_twice_calls_us_once_afterwards() {
    let twice = r#"{"hooks": {"Stop": [
      {"hooks": [{"command": "bell"}, {"command": "tally hook claude-code"}]},
      {"hooks": [{"command": "/old/tally hook claude-code"}]}]}}"#;
    let with = merge(twice, &wanted()).unwrap();
    let stop = &value(&with)["hooks"]["Stop"];
    assert_eq!(*stop, json!([{"hooks": [{"command": "bell"}, {"command": COMMAND}]}]));
}

#[test]
fn unmerging_takes_only_what_is_ours_and_what_it_leaves_empty() {
    let text = r#"{"hooks": {
      "Stop": [{"hooks": [{"command": "bell"}, {"command": "tally hook claude-code"}]}],
      "SessionEnd": [{"hooks": [{"command": "'/a b/tally' hook claude-code"}]}],
      "SessionStart": [{"hooks": [{"command": "tally hook codex"}]}]}}"#;
    let back = unmerge(text, &wanted()).unwrap().unwrap();
    let left = json!({"hooks": {
        "Stop": [{"hooks": [{"command": "bell"}]}],
        "SessionStart": [{"hooks": [{"command": "tally hook codex"}]}]}});
    assert_eq!(value(&back), left);
    assert_eq!(unmerge(&back, &wanted()).unwrap(), None);
}

#[test]
fn a_flat_list_holds_milliseconds() {
    let wanted = Wanted {
        shape: Shape::Flat,
        host: "kiro",
        events: &["stop"],
        command: "/t/tally hook kiro",
        timeout_s: 15,
    };
    let text = "{\n  \"name\": \"dev\",\n  \"hooks\": {\n    \"stop\": [\n      { \"command\": \"npm test\" }\n    ]\n  }\n}\n";
    let with = merge(text, &wanted).unwrap();
    let expected = json!([{"command": "npm test"}, {"command": "/t/tally hook kiro", "timeout_ms": 15000}]);
    assert_eq!(value(&with)["hooks"]["stop"], expected);
    assert_eq!(unmerge(&with, &wanted).unwrap().unwrap(), text);
    assert_eq!(ours(&with, &wanted).unwrap(), [("stop".to_owned(), "/t/tally hook kiro".to_owned())]);
}

#[test]
fn what_is_not_understood_is_refused_with_the_reason() {
    let table = [
        ("[1]", "not a JSON object"),
        ("{\"hooks\": []}", "not an object"),
        ("{\"hooks\": {\"Stop\": {}}}", "not a list"),
        ("{\"hooks\": {}, \"hooks\": {}}", "twice"),
        ("{\"hooks\": {", "line 1"),
        ("model: opus", "line 1"),
    ];
    for (text, expected) in table {
        let Refusal(reason) = merge(text, &wanted()).unwrap_err();
        assert!(reason.contains(expected), "{text}: {reason}");
    }
}
