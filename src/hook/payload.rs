//! What a host writes to a hook's standard input.
//!
//! A field of the wrong type costs that field. Bytes that are no UTF-8 and halves of surrogate pairs, which no Rust
//! string can hold, are replaced before a payload is given up.

use crate::journal::foreign::{document, text};
use serde::Deserialize;
use std::borrow::Cow;

/// The fields of Claude Code's hook JSON that economics and liveness need.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Payload<'a> {
    /// Which event this is.
    #[serde(borrow, deserialize_with = "text")]
    pub hook_event_name: Option<Cow<'a, str>>,
    /// The host's session id.
    #[serde(borrow, deserialize_with = "text")]
    pub session_id: Option<Cow<'a, str>>,
    /// The conversation's transcript.
    #[serde(borrow, deserialize_with = "text")]
    pub transcript_path: Option<Cow<'a, str>>,
    /// Where the agent works.
    #[serde(borrow, deserialize_with = "text")]
    pub cwd: Option<Cow<'a, str>>,
    /// The tool that is used.
    #[serde(borrow, deserialize_with = "text")]
    pub tool_name: Option<Cow<'a, str>>,
    /// How a session starts: `startup`, `resume`, `clear`, `compact`.
    #[serde(borrow, deserialize_with = "text")]
    pub source: Option<Cow<'a, str>>,
}

/// Parses a payload; `mended` is scratch space for one that had to be mended.
///
/// # Errors
/// When it is not a JSON object even after mending.
pub fn parse<'a>(bytes: &'a [u8], mended: &'a mut String) -> Result<Payload<'a>, serde_json::Error> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    document(bytes).or_else(|_| {
        *mended = mend(bytes);
        // Of a key that stands twice the last one counts.
        if let Ok(value) = serde_json::from_slice::<serde_json::Value>(mended.as_bytes()) {
            *mended = value.to_string();
        }
        document(mended.as_bytes())
    })
}

/// Replaces what no string can hold: invalid UTF-8, and escapes of half a surrogate pair.
fn mend(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (taken, replaced) = match unit(escape) {
            Some(0xd800..=0xdbff) if matches!(escape.get(6..).and_then(unit), Some(0xdc00..=0xdfff)) => {
                (12, None)
            }
            Some(0xd800..=0xdfff) => (6, Some("\\ufffd")),
            _ => (escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end), None),
        };
        let (kept, after) = escape.split_at_checked(taken).unwrap_or((escape, ""));
        out.push_str(replaced.unwrap_or(kept));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The UTF-16 unit of a `\uXXXX` escape at the start of `text`.
fn unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(bytes: &[u8]) -> Option<String> {
        let mut mended = String::new();
        parse(bytes, &mut mended).ok()?.session_id.map(Cow::into_owned)
    }

    #[test]
    fn what_no_string_can_hold_is_replaced() {
        assert_eq!(session(br#"{"session_id":"a\ud800b"}"#).as_deref(), Some("a\u{fffd}b"));
        assert_eq!(
            session(br#"{"session_id":"\udc00\ud83d\ude00\\u"}"#).as_deref(),
            Some("\u{fffd}\u{1f600}\\u")
        );
        assert_eq!(session(b"{\"session_id\":\"a\xff\"}").as_deref(), Some("a\u{fffd}"));
        assert_eq!(session(br#"{"session_id":"\u0000"}"#).as_deref(), Some("\0"));
    }

    #[test]
    fn a_wrong_type_costs_only_its_field() {
        assert_eq!(
            session(br#"{"session_id":"s","cwd":5,"source":{"a":[1]},"hook_event_name":null}"#).as_deref(),
            Some("s")
        );
        assert_eq!(session(br#"{"session_id":[1]}"#), None);
    }

    #[test]
    fn a_byte_order_mark_and_a_key_that_stands_twice_are_no_obstacle() {
        assert_eq!(session(b"\xEF\xBB\xBF{\"session_id\":\"s\"}").as_deref(), Some("s"));
        assert_eq!(session(br#"{"session_id":"a","session_id":"b"}"#).as_deref(), Some("b"));
    }

    #[test]
    fn what_is_no_object_is_refused_and_depth_is_no_danger() {
        let mut mended = String::new();
        for bytes in [&b""[..], b"null", b"[1]", b"{", b"\"x\"", b"5"] {
            assert!(parse(bytes, &mut mended).is_err(), "{bytes:?}");
        }
        let deep = format!("{{\"session_id\":\"s\",\"x\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(session(deep.as_bytes()).as_deref(), Some("s"));
        let whole = "[".repeat(50_000);
        assert!(parse(whole.as_bytes(), &mut mended).is_err());
    }
}
