//! Foreign names, as a record may carry them.

use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The longest name in a record: the Console cannot store index keys much longer (Console ingest §3).
const LONGEST: usize = 190;

/// The name without control characters (a NUL is refused by the Console on every try), and its hash where it would be
/// too long (DESIGN §5).
#[must_use]
pub fn label(text: &str) -> Cow<'_, str> {
    if text.chars().nth(LONGEST).is_some() {
        let digest = Sha256::digest(text.as_bytes());
        return digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    }
    if text.contains(char::is_control) {
        text.replace(char::is_control, "\u{fffd}").into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_printable() {
        assert_eq!(label("plain/name"), "plain/name");
        assert_eq!(label("a\0b\u{85}"), "a\u{fffd}b\u{fffd}");
        assert_eq!(label(&"é".repeat(190)), "é".repeat(190));
        // The published SHA-256 of 191 letters "a" would be as good as any: what matters is a fixed, short form.
        assert_eq!(label(&"a".repeat(191)).len(), 64);
        assert_ne!(label(&"a".repeat(191)), label(&"a".repeat(192)));
    }
}
