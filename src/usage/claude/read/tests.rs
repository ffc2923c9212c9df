use super::super::line::Place;
use super::*;
use crate::usage::Observation;
use crate::usage::reader::Prompt;
use std::io::Write;

const PLACE: Place<'static> = Place { file: "/p/s1.jsonl", session: Some("s1"), agent: None };

/// What a read delivers: inputs of calls and times of prompts, in order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Delivered(Vec<(&'static str, i64)>);

impl Receiver for Delivered {
    fn call(&mut self, seen: Observation<'_>) {
        self.0.push(("call", seen.tokens.input));
    }

    fn prompt(&mut self, seen: Prompt<'_>) {
        self.0.push(("prompt", seen.at_ms));
    }
}

fn call(id: &str, input: u32) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","usage":{{"input_tokens":{input}}}}}}}"#
    )
}

fn prompt(second: u32) -> String {
    format!(r#"{{"type":"user","timestamp":"1970-01-01T00:00:0{second}.000Z","message":{{"content":"go"}}}}"#)
}

fn read(bytes: &[u8], from: u64, want: Want) -> (Vec<(&'static str, i64)>, u64, Diagnostics) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let (mut to, mut diagnostics) = (Delivered::default(), Diagnostics::default());
    let offset = transcript(&mut file, from..u64::MAX, PLACE, want, &mut to, &mut diagnostics).unwrap();
    (to.0, offset, diagnostics)
}

#[test]
fn prompts_come_only_when_they_are_wanted_and_in_the_order_of_their_lines() {
    let text = [prompt(1), call("a", 1), prompt(2), call("b", 2)].join("\n") + "\n";
    let (delivered, offset, _) = read(text.as_bytes(), 0, Want::Calls);
    assert_eq!(delivered, [("call", 1), ("call", 2)]);
    assert_eq!(offset, text.len() as u64);
    let (delivered, ..) = read(text.as_bytes(), 0, Want::CallsAndPrompts);
    assert_eq!(delivered, [("prompt", 1_000), ("call", 1), ("prompt", 2_000), ("call", 2)]);
}

#[test]
fn a_later_read_goes_on_where_the_last_one_ended() {
    let (a, b) = (call("a", 1) + "\n", call("b", 2));
    let half = [a.as_bytes(), &b.as_bytes()[..b.len() / 2]].concat();
    let (delivered, offset, diagnostics) = read(&half, 0, Want::CallsAndPrompts);
    assert_eq!((delivered, offset), (vec![("call", 1)], a.len() as u64));
    assert_eq!(diagnostics, Diagnostics::default());
    let (delivered, offset, _) = read((a.clone() + &b + "\n").as_bytes(), offset, Want::CallsAndPrompts);
    assert_eq!((delivered, offset), (vec![("call", 2)], (a.len() + b.len() + 1) as u64));
}

#[test]
fn what_is_not_counted_is_said() {
    let lines = [
        call("a", 1),
        r#"{"type":"progress","data":{"message":{"message":{"usage":{"input_tokens":9}}}}}"#.to_owned(),
        r#"{"type":"user","toolUseResult":{"usage":{"input_tokens":9}},"message":{}}"#.to_owned(),
        r#"{"type":"assistant","message":{"model":"<synthetic>","usage":{"input_tokens":0}}}"#.to_owned(),
        call("b", 2).replace("2}", "-2}"),
        r#"{"type":"assistant","message":{"usage":{"inp"#.to_owned(),
    ];
    for want in [Want::Calls, Want::CallsAndPrompts] {
        let (delivered, _, diagnostics) = read((lines.join("\n") + "\n").as_bytes(), 0, want);
        assert_eq!(delivered, [("call", 1)]);
        let expected = Diagnostics {
            unreadable_lines: 2,
            echoes_skipped: 2,
            synthetic_skipped: 1,
            ..Diagnostics::default()
        };
        assert_eq!(diagnostics, expected);
    }
}

#[test]
fn escaped_keys_are_looked_for_where_plain_ones_say_nothing() {
    let escaped = call("a", 1).replace("usage", "us\\u0061ge");
    let text = format!("{}\n{escaped}\n", prompt(1));
    let (delivered, ..) = read(text.as_bytes(), 0, Want::CallsAndPrompts);
    assert_eq!(delivered, [("prompt", 1_000), ("call", 1)]);
}

#[test]
fn a_prompt_beyond_the_longest_line_is_no_lost_usage() {
    let long = prompt(1).replace("go", &"A".repeat(lines::MAX_LINE + (2 << 20)));
    let text = format!("{long}\n{}\n", call("a", 1));
    for want in [Want::Calls, Want::CallsAndPrompts] {
        let (delivered, _, diagnostics) = read(text.as_bytes(), 0, want);
        assert_eq!(delivered, [("call", 1)]);
        assert_eq!(diagnostics.unreadable_lines, 0, "{want:?}");
    }
}

#[test]
fn the_first_line_that_names_a_session_tells_whose_file_it_is() {
    let named = |text: &str| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        first_session(&File::open(file.path()).unwrap())
    };
    assert_eq!(
        named("{\"sessionId\":\"s1\",\"type\":\"user\"}\n{\"sessionId\":\"s2\"}\n").as_deref(),
        Some("s1")
    );
    // A summary that was put before the conversation names none, and neither does a line that is being written.
    assert_eq!(named("{\"type\":\"summary\"}\n{\"sessionId\":\"s2\"}\n").as_deref(), Some("s2"));
    assert_eq!(named("{\"sessionId\":\"s"), None);
    assert_eq!(named(""), None);
}
