use super::*;
use crate::usage::reader::Prompt;
use serde_json::{Value, json};
use std::io::Write;

#[derive(Default)]
struct Heard(Vec<(CallKey, String, Tokens)>);

impl Receiver for Heard {
    fn call(&mut self, seen: Observation<'_>) {
        self.0.push((seen.key, seen.session.map(Cow::into_owned).unwrap_or_default(), seen.tokens));
    }

    fn prompt(&mut self, _seen: Prompt<'_>) {}
}

fn hear(name: &str, text: &str) -> io::Result<(Heard, Diagnostics)> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let (mut heard, mut met) = (Heard::default(), Diagnostics::default());
    chat(File::open(file.path()).unwrap(), Path::new(name), &mut heard, &mut met)?;
    Ok((heard, met))
}

fn message(id: &str, tokens: Value) -> Value {
    json!({"id": id, "timestamp": "2026-11-10T09:00:00.000Z", "type": "gemini", "model": "gemini-2.5-pro", "content": "x", "tokens": tokens})
}

fn tokens(input: i64, output: i64) -> Value {
    json!({"input": input, "output": output, "cached": 60, "thoughts": 7, "tool": 5, "total": input + output + 12})
}

fn head() -> Value {
    json!({"sessionId": "s1", "projectHash": "p", "startTime": "2026-11-10T09:00:00.000Z"})
}

fn jsonl(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn rule_1_the_last_counts_of_a_message_stand_and_a_rewound_one_was_billed() {
    let lines = [
        head(),
        message("a", Value::Null),
        message("a", tokens(100, 50)),
        message("a", tokens(90, 20)),
        json!({"$rewindTo": "a"}),
        json!({"$set": {"messages": [message("a", tokens(90, 20)), message("b", tokens(61, 1))]}}),
    ];
    let (heard, met) = hear("session-1.jsonl", &jsonl(&lines)).unwrap();
    let of = |input, output| Tokens { input, output, cache_read: 60, ..Tokens::default() };
    // 90 − 60 + 5 and 20 + 7; 61 − 60 + 5 and 1 + 7
    assert_eq!(heard.0.iter().map(|call| call.2).collect::<Vec<_>>(), [of(35, 27), of(6, 8)]);
    assert_eq!((heard.0[0].1.as_str(), met.duplicates_merged), ("s1", 2));
}

#[test]
fn rule_1_both_layouts_of_a_chat_are_the_same_calls() {
    let mut document = head();
    document["messages"] = json!([message("a", tokens(100, 50)), {"id": "u", "type": "user"}, 5]);
    let (old, _) = hear("session-1.json", &document.to_string()).unwrap();
    let (new, _) = hear("session-1.jsonl", &jsonl(&[head(), message("a", tokens(100, 50))])).unwrap();
    assert_eq!((old.0.len(), &old.0), (1, &new.0));
    let other = json!({"sessionId": "s2"});
    let (other, _) = hear("session-2.jsonl", &jsonl(&[other, message("a", tokens(100, 50))])).unwrap();
    assert_ne!(other.0[0].0, new.0[0].0, "message ids are unique in their session only");
}

#[test]
fn what_is_broken_costs_itself() {
    let text = format!("{}\n{{\"tokens\": {{\n{}\n{{\"tok", jsonl(&[head()]), message("a", tokens(-1, 5)));
    let (heard, met) = hear("session-1.jsonl", &text).unwrap();
    assert_eq!((heard.0.len(), met.unreadable_lines), (0, 2));
    assert!(hear("session-1.json", "<html>").is_err());
    let deep = format!("{{\"sessionId\":\"s\",\"x\":{}{}}}", "[".repeat(20_000), "]".repeat(20_000));
    assert_eq!(hear("session-1.json", &deep).unwrap().0.0.len(), 0);
}

#[test]
fn chats_lie_in_chats_and_their_subagents_a_folder_deeper() {
    let is = |path: &str| is_chat(Path::new(path));
    assert!(is("/h/.gemini/tmp/p/chats/session-1.json") && is("/h/.gemini/tmp/p/chats/s1/a.jsonl"));
    assert!(!is("/h/.gemini/tmp/p/logs.json"));
}
