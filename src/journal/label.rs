//! Foreign names, as a record may carry them.

use crate::sys::hex::hex;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The longest name in a record: the Console cannot store index keys much longer (Console ingest §3).
const LONGEST: usize = 190;

/// The name without control characters (a NUL is refused by the Console on every try), line separators and turns of the
/// writing direction, and its hash where it would be
/// too long (DESIGN §5).
#[must_use]
pub fn label(text: &str) -> Cow<'_, str> {
    if text.chars().nth(LONGEST).is_some() {
        let digest = Sha256::digest(text.as_bytes());
        return hex(&digest).into();
    }
    if text.contains(is_hostile) {
        // Two names that differ only there stay two.
        let digest = Sha256::digest(text.as_bytes());
        let mark = hex(digest.get(..4).unwrap_or_default());
        return format!("{}#{mark}", text.replace(is_hostile, "\u{fffd}")).into();
    }
    text.into()
}

/// The name of a session's files, without an extension: the same for all that is kept of it (DESIGN §5).
#[must_use]
pub fn session_file(host: &str, session_id: &str) -> String {
    let digest = Sha256::new().chain_update(host).chain_update([0]).chain_update(session_id).finalize();
    hex(digest.get(..16).unwrap_or_default())
}

/// What ends a line for some readers, or makes a terminal show another text than there is.
fn is_hostile(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_printable() {
        assert_eq!(label("plain/name"), "plain/name");
        assert!(label("a\0b\u{85}").starts_with("a\u{fffd}b\u{fffd}#"));
        assert!(label("a\u{2028}b\u{202e}c").starts_with("a\u{fffd}b\u{fffd}c#"));
        assert_ne!(label("a\u{1}b"), label("a\u{2}b"));
        assert_eq!(label(&"é".repeat(190)), "é".repeat(190));
        // The published SHA-256 of 191 letters "a" would be as good as any: what matters is a fixed, short form.
        assert_eq!(label(&"a".repeat(191)).len(), 64);
        assert_ne!(label(&"a".repeat(191)), label(&"a".repeat(192)));
    }
}
