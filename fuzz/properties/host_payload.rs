//! A hook's payload: no input is a panic, and what is JSON is read as serde_json's own tree reads it.

use serde_json::Value;
use tally::journal::bounded;

/// Panics if the property is broken.
pub(crate) fn holds(input: &[u8]) {
    let read = bounded::document(input);
    let json = input.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(input);
    let Ok(tree) = serde_json::from_slice::<Value>(json) else { return };
    assert_eq!(read.is_ok(), tree.is_object(), "an object is a payload, and nothing else is");
    let Ok(document) = read else { return };
    for (name, value) in tree.as_object().into_iter().flatten() {
        // What is left out is said; all else is as it was.
        assert!(document.cut.contains(name) || document.fields.get(name) == Some(value), "{name}");
    }
}
