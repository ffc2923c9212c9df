use super::*;
use serde_json::{Value, json};
use std::io::Write;

#[derive(Default)]
struct Heard {
    calls: Vec<(CallKey, String, i64)>,
    prompts: usize,
}

impl Receiver for Heard {
    fn call(&mut self, seen: Observation<'_>) {
        let session = seen.session.map(Cow::into_owned).unwrap_or_default();
        self.calls.push((seen.key, session, seen.tokens.input));
    }

    fn prompt(&mut self, _seen: Prompt<'_>) {
        self.prompts += 1;
    }
}

fn header(id: &str, hour: u32, parent: Option<&str>) -> Value {
    json!({"type": "session", "version": 3, "id": id, "timestamp": format!("2026-11-10T{hour:02}:00:00.000Z"), "parentSession": parent})
}

fn answer(id: &str, time: &str, input: i64) -> Value {
    let usage =
        json!({"input": input, "output": 1, "cacheRead": 2, "cacheWrite": 3, "totalTokens": input + 6});
    let message = json!({"role": "assistant", "model": "claude-sonnet-4-6", "usage": usage});
    json!({"type": "message", "id": id, "parentId": null, "timestamp": format!("2026-11-10T{time}.000Z"), "message": message})
}

fn hear(lines: &[Value]) -> (Heard, Diagnostics) {
    let mut file = tempfile::tempfile().unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
    let (mut heard, mut met) = (Heard::default(), Diagnostics::default());
    let path = Path::new("/h/.pi/agent/sessions/--w--/2026-11-10T09-00-00-000Z_named.jsonl");
    news(&mut file, path, 0, &mut heard, &mut met).unwrap();
    (heard, met)
}

fn inputs(heard: &Heard) -> Vec<i64> {
    heard.calls.iter().map(|call| call.2).collect()
}

#[test]
fn rule_2_a_fork_does_not_bill_what_is_older_than_itself() {
    let original = [header("s1", 9, None), answer("a", "09:00:05", 1), answer("b", "09:00:06", 2)];
    let fork = [header("s2", 10, Some("/x/s1.jsonl")), original[1].clone(), answer("c", "10:00:05", 4)];
    assert_eq!(inputs(&hear(&original).0), [1, 2]);
    let (heard, met) = hear(&fork);
    assert_eq!((inputs(&heard), met.echoes_skipped), (vec![4], 1));
    assert_eq!(heard.calls[0].1, "s2");
}

#[test]
fn rule_2_one_id_at_two_times_is_two_calls_and_in_two_files_one() {
    let (heard, _) = hear(&[header("s1", 9, None), answer("a", "09:00:05", 1), answer("a", "09:00:06", 2)]);
    assert_ne!(heard.calls[0].0, heard.calls[1].0);
    let (copy, _) = hear(&[header("s3", 8, None), answer("a", "09:00:05", 1)]);
    assert_eq!(copy.calls[0].0, heard.calls[0].0);
}

#[test]
fn rule_4_a_compaction_is_a_call_without_counts() {
    let compaction =
        json!({"type": "compaction", "id": "x", "timestamp": "2026-11-10T09:00:07.000Z", "summary": "s"});
    let (heard, met) = hear(&[header("s1", 9, None), answer("a", "09:00:05", 1), compaction]);
    assert_eq!((inputs(&heard), met.uncounted_calls), (vec![1], 1));
}

#[test]
fn what_is_broken_costs_itself() {
    let mut negative = answer("n", "09:00:05", 1);
    negative["message"]["usage"]["output"] = json!(-1);
    let mut failed = answer("f", "09:00:05", 0);
    failed["message"]["usage"] = json!({"input": 0, "output": 0});
    let odd = json!({"type": "message", "id": 5, "timestamp": 7, "message": {"role": "assistant", "model": [], "usage": {"input": 8}}});
    let user = json!({"type": "message", "id": "u", "timestamp": "2026-11-10T09:00:01.000Z", "message": {"role": "user"}});
    let lines =
        [header("s1", 9, None), user, negative, failed, odd, json!({"usage": 5}), json!([{"usage": 1}])];
    let (heard, met) = hear(&lines);
    assert_eq!((inputs(&heard), heard.prompts, met.unreadable_lines), (vec![8], 1, 2));
}

#[test]
fn without_a_header_the_name_tells_the_session() {
    assert_eq!(hear(&[answer("a", "09:00:05", 1)]).0.calls[0].1, "named");
}
