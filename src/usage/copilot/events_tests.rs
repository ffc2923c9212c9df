use super::*;
use crate::usage::reader::Prompt;
use serde_json::{Value, json};
use std::io::Write;

#[derive(Default)]
struct Heard(Vec<(String, Tokens, bool)>);

impl Receiver for Heard {
    fn call(&mut self, seen: Observation<'_>) {
        let summed = seen.traits.has(Traits::SUMMED);
        self.0.push((seen.model.map(Cow::into_owned).unwrap_or_default(), seen.tokens, summed));
    }

    fn prompt(&mut self, _seen: Prompt<'_>) {}
}

fn hear(lines: &[Value]) -> (Vec<(String, Tokens, bool)>, Diagnostics) {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
    let (mut heard, mut met) = (Heard::default(), Diagnostics::default());
    let path = Path::new("/h/.copilot/session-state/s1/events.jsonl");
    log(File::open(file.path()).unwrap(), path, &mut heard, &mut met).unwrap();
    (heard.0, met)
}

fn metrics(requests: i64, [input, output, read, written]: [i64; 4]) -> Value {
    let usage = json!({"inputTokens": input, "outputTokens": output, "cacheReadTokens": read, "cacheWriteTokens": written, "reasoningTokens": 1});
    json!({"requests": {"count": requests}, "usage": usage})
}

fn shutdown(id: &str, metrics: Value) -> Value {
    json!({"type": "session.shutdown", "id": id, "timestamp": "2026-11-10T09:00:00.000Z", "data": {"modelMetrics": metrics}})
}

fn answer() -> Value {
    json!({"type": "assistant.message", "data": {"messageId": "m", "outputTokens": 400}})
}

#[test]
fn rule_1_a_leg_is_what_was_added_and_smaller_sums_start_anew() {
    let lines = [
        answer(),
        shutdown("1", json!({"a": metrics(1, [100, 10, 60, 30]), "b": metrics(2, [5, 5, 0, 0])})),
        shutdown("2", json!({"a": metrics(3, [200, 20, 120, 60]), "b": metrics(2, [5, 5, 0, 0])})),
        shutdown("3", json!({"a": metrics(1, [50, 5, 10, 0])})),
    ];
    let (heard, met) = hear(&lines);
    let of = |input, output, cache_read, cache_write_5m| Tokens {
        input,
        output,
        cache_read,
        cache_write_5m,
        ..Tokens::default()
    };
    let expected = [
        ("a".to_owned(), of(10, 10, 60, 30), false),
        ("b".to_owned(), of(5, 5, 0, 0), true),
        ("a".to_owned(), of(10, 10, 60, 30), true),
        ("a".to_owned(), of(40, 5, 10, 0), false),
    ];
    assert_eq!((heard, met), (expected.to_vec(), Diagnostics::default()));
}

#[test]
fn rule_3_requests_after_the_last_shutdown_are_known_without_counts() {
    let (heard, met) = hear(&[shutdown("1", json!({"a": metrics(1, [1, 1, 0, 0])})), answer(), answer()]);
    assert_eq!((heard.len(), met.uncounted_calls), (1, 2));
}

#[test]
fn what_is_broken_costs_itself() {
    let odd = shutdown("1", json!({"a": 5, "b": metrics(1, [-1, 1, 0, 0]), "c": metrics(1, [1, 1, 0, 0])}));
    let (heard, met) = hear(&[odd, json!({"type": "session.shutdown", "data": []}), json!(5)]);
    assert_eq!((heard.len(), met.unreadable_lines), (1, 1));
}
