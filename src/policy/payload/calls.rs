//! Calls within a call, each of a tool of its own: `batch`, `use_mcp_tool`, `multi_tool_use.parallel`.

use super::{Payload, json, tools};
use serde_json::{Map, Value};

/// Keys that hold the name of a tool within a call, beside those of a payload.
const NAMES: [&str; 2] = ["name", "recipient_name"];
/// What else may stand in a call; with any other key an object is none.
const OTHERS: [&str; 8] =
    ["id", "type", "server", "server_name", "serverName", "call_id", "index", "description"];

impl Payload {
    /// The calls within it, and what is left of it without them.
    #[must_use]
    pub fn calls(self) -> Vec<Self> {
        // What is typed or run is looked at whole.
        if self.kind().is_none_or(|kind| kind.types()) {
            return vec![self];
        }
        let mut calls = Vec::new();
        let mut outer = self;
        outer.root.values_mut().for_each(|value| take(value, &mut calls));
        calls.push(outer);
        calls
    }
}

/// Takes the calls out of a value.
fn take(value: &mut Value, calls: &mut Vec<Payload>) {
    match value {
        Value::Object(map) if is_call(map) => {
            let mut root = std::mem::take(map);
            if let Some(name) = NAMES.iter().find_map(|key| root.remove(*key)) {
                root.entry("tool").or_insert(name);
            }
            calls.extend(Payload { root }.calls());
        }
        Value::Object(map) => map.values_mut().for_each(|value| take(value, calls)),
        Value::Array(items) => items.iter_mut().for_each(|item| take(item, calls)),
        _ => {}
    }
}

/// Whether an object is a call: a tool's name and its arguments, and nothing else that a tool could take.
fn is_call(map: &Map<String, Value>) -> bool {
    let Some(tools) = tools() else { return false };
    let names = |key: &str| tools.has("name", key) || NAMES.contains(&key);
    let arguments = |key: &str| tools.has("arguments", key);
    let holds = |value: &Value| match value {
        Value::String(text) => json::parse(text).is_some_and(|value| value.is_object()),
        value => value.is_object(),
    };
    map.keys().all(|key| names(key) || arguments(key) || OTHERS.contains(&key.as_str()))
        && map.iter().any(|(key, value)| names(key) && value.is_string())
        && map.iter().filter(|(key, _)| arguments(key)).count() == 1
        && map.iter().all(|(key, value)| !arguments(key) || holds(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_within_a_call_is_one_of_its_own() {
        let tools = |text: &str| -> Vec<String> {
            Payload::parse(text).unwrap().calls().iter().map(|call| call.tool().to_owned()).collect()
        };
        let batch = r#"{"tool_name":"batch","tool_input":{"tool_calls":[{"tool":"read","parameters":{}},{"name":"write","arguments":"{}"}]}}"#;
        assert_eq!(tools(batch), ["read", "write", "batch"]);
        let other = r#"{"tool_name":"use","tool_input":{"server_name":"fs","tool_name":"read_file","arguments":{"path":"a"}}}"#;
        assert_eq!(tools(other), ["read_file", "use"]);
        for none in [
            r#"{"tool_name":"Write","tool_input":{"tool":"read","args":{},"file_path":"a"}}"#,
            r#"{"tool_name":"Bash","tool_input":{"tool":"read","args":{"text":"a"}}}"#,
            r#"{"tool_name":"Write","tool_input":{"name":"read","input":"a"}}"#,
        ] {
            assert_eq!(tools(none).len(), 1, "{none}");
        }
    }
}
