//! A hook's payload: no input is a panic, and what is JSON is read as serde_json's own tree reads it.

use serde_json::Value;
use tally::hook::payload;

/// Panics if the property is broken.
pub(crate) fn holds(input: &[u8]) {
    let mut mended = String::new();
    let parsed = payload::parse(input, &mut mended);
    let json = input.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(input);
    let Ok(tree) = serde_json::from_slice::<Value>(json) else { return };
    assert_eq!(parsed.is_ok(), tree.is_object(), "an object is a payload, and nothing else is");
    let Ok(payload) = parsed else { return };
    for (name, field) in [
        ("hook_event_name", payload.hook_event_name),
        ("session_id", payload.session_id),
        ("transcript_path", payload.transcript_path),
        ("cwd", payload.cwd),
        ("tool_name", payload.tool_name),
        ("source", payload.source),
    ] {
        // A value of another type costs its field; of a key that stands twice the last one counts.
        assert_eq!(field.as_deref(), tree.get(name).and_then(Value::as_str), "{name}");
    }
}
