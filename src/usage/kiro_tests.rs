use super::*;
use crate::usage::reader::Prompt;
use serde_json::{Value, json};
use std::io::Write;

#[derive(Default)]
struct Heard(Vec<(String, String, Option<Credits>)>);

impl Receiver for Heard {
    fn call(&mut self, seen: Observation<'_>) {
        assert!(seen.traits.has(Traits::UNCOUNTED) && seen.tokens.is_zero());
        let text = |text: Option<Cow<'_, str>>| text.map(Cow::into_owned).unwrap_or_default();
        self.0.push((text(seen.session), text(seen.model), seen.credits));
    }

    fn prompt(&mut self, _seen: Prompt<'_>) {}
}

fn hear(path: &str, text: &str) -> io::Result<Vec<(String, String, Option<Credits>)>> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let (mut heard, mut met) = (Heard::default(), Diagnostics::default());
    session(File::open(file.path()).unwrap(), Path::new(path), &mut heard, &mut met)?;
    Ok(heard.0)
}

fn credit(value: Value) -> Value {
    json!({"value": value, "unit": "credit", "unitPlural": "credits"})
}

fn one(model: &str, credits: Option<f64>) -> (String, String, Option<Credits>) {
    ("s1".to_owned(), model.to_owned(), credits.and_then(Credits::of))
}

#[test]
fn each_turn_is_a_call_with_its_credits() {
    let turns = json!([
        {"metering_usage": [credit(json!(0.12)), credit(json!(0.3))], "input_token_count": 0},
        {"model": "auto", "metering_usage": [credit(json!(1)), {"value": 9, "unit": "second"}]},
        {"metering_usage": []},
        {"metering_usage": [credit(json!("many"))]},
        "no turn"
    ]);
    let state = json!({"rts_model_state": {"model_info": {"model_id": "claude-sonnet-4.5"}}, "conversation_metadata": {"user_turn_metadatas": turns}});
    let text = json!({"session_id": "s1", "session_state": state}).to_string();
    let expected = [
        one("claude-sonnet-4.5", Some(0.42)),
        one("auto", Some(1.0)),
        one("claude-sonnet-4.5", None),
        one("claude-sonnet-4.5", None),
    ];
    assert_eq!(hear("/h/.kiro/sessions/cli/x.json", &text).unwrap(), expected);
}

#[test]
fn a_usage_summary_is_a_turn_of_the_newer_layout() {
    let lines = [
        json!({"payload": {"type": "session_metadata", "modelId": "claude-sonnet-4.6"}}),
        json!({"payload": {"type": "assistant", "content": "usage_summary"}}),
        json!({"payload": {"type": "usage_summary", "credits": 0.25}}),
        json!({"payload": {"type": "usage_summary"}}),
        json!({"payload": 5}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let expected = [one("claude-sonnet-4.6", Some(0.25)), one("claude-sonnet-4.6", None)];
    assert_eq!(hear("/h/.kiro/sessions/w/s1/messages.jsonl", &text).unwrap(), expected);
}

#[test]
fn what_is_no_session_is_an_error_or_nothing() {
    assert!(hear("/h/.kiro/sessions/cli/s1.json", "{").is_err());
    for nothing in ["{}", r#"{"session_state":[]}"#, r#"{"session_state":{"conversation_metadata":7}}"#] {
        assert_eq!(hear("/h/.kiro/sessions/cli/s1.json", nothing).unwrap(), []);
    }
}
