//! A line without what the model said: most bytes of a transcript are content, and none of them is usage.
//!
//! ```text
//! {…,"message":{"id":…,"content":[ cut out ],"stop_reason":…,"usage":{…}},…}
//! ```
//!
//! The cut is a guess that proves itself. It goes from the first `"content":[` to the last `],"` before the last
//! `"usage"`; a quote inside a JSON string is escaped, so these are tokens and not text. If the guess is wrong (other
//! content, usage inside a tool's input, fields in another order), the brackets of what is left do not match or the
//! line is no call any more, and the caller parses the whole line instead.

use memchr::memmem::{Finder, FinderRev};

/// Cuts lines; made once for many, because so are its searchers.
pub(super) struct Excerpt {
    content: Finder<'static>,
    id: Finder<'static>,
    stop_reason: Finder<'static>,
    usage: FinderRev<'static>,
    content_end: FinderRev<'static>,
    short: Vec<u8>,
}

const CONTENT: &[u8] = b"\"content\":[";

impl Excerpt {
    pub(super) fn new() -> Self {
        Self {
            content: Finder::new(CONTENT),
            id: Finder::new(b"\"id\":\""),
            stop_reason: Finder::new(b"\"stop_reason\":"),
            usage: FinderRev::new(b"\"usage\""),
            content_end: FinderRev::new(b"],\""),
            short: vec![],
        }
    }

    /// `line` without its content; `None` when it does not look like a line that can be cut, or when the cut could take
    /// out a field that matters (the id, the stop reason).
    pub(super) fn of(&mut self, line: &[u8]) -> Option<&[u8]> {
        let start = self.content.find(line)? + CONTENT.len() - 1;
        let usage = self.usage.rfind(line)?;
        let end = start + self.content_end.rfind(line.get(start..usage)?)? + 1;
        let (before, after) = (line.get(..start)?, line.get(end..)?);
        self.id.find(before)?;
        self.stop_reason.find(after)?;
        self.short.clear();
        self.short.extend_from_slice(before);
        self.short.extend_from_slice(b"[]");
        self.short.extend_from_slice(after);
        Some(&self.short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(line: &str) -> Option<String> {
        Excerpt::new().of(line.as_bytes()).map(|short| String::from_utf8(short.to_vec()).unwrap())
    }

    #[test]
    fn the_content_is_cut_out_and_nothing_else() {
        let line = r#"{"message":{"id":"m","content":[{"t":"a],\"b","i":{"usage":[1],"x":2}}],"stop_reason":null,"usage":{"i":[2],"o":1}},"uuid":"u"}"#;
        let expected =
            r#"{"message":{"id":"m","content":[],"stop_reason":null,"usage":{"i":[2],"o":1}},"uuid":"u"}"#;
        assert_eq!(short(line).as_deref(), Some(expected));
    }

    #[test]
    fn a_line_of_another_shape_is_not_cut() {
        for line in [
            r#"{"message":{"id":"m","content":"text","stop_reason":null,"usage":{}}}"#,
            r#"{"message":{"content":[1],"id":"m","stop_reason":null,"usage":{}}}"#,
            r#"{"message":{"id":"m","stop_reason":null,"content":[1],"usage":{}}}"#,
            r#"{"message": {"id": "m", "content": [1], "stop_reason": null, "usage": {}}}"#,
            r#"{"message":{"id":"m","usage":{},"content":[1],"stop_reason":null}}"#,
        ] {
            assert_eq!(short(line), None, "{line}");
        }
    }

    #[test]
    fn a_wrong_cut_is_no_json() {
        let nested = r#"{"message":{"id":"m","usage":{},"content":[{"a":[1],"stop_reason":1,"usage":{}}]}}"#;
        let wrong = short(nested).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&wrong).is_err(), "{wrong}");
    }
}
