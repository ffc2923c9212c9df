//! Standard input, cut where the contract cuts it.

use std::borrow::Cow;

/// UTF-16 units of a payload that are read (contract 1.0); what comes after is cut off.
pub const LIMIT: usize = 1024 * 1024;

/// Standard input, as the contract reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input<'a> {
    /// The text, without what was cut off.
    pub text: Cow<'a, str>,
    /// Whether something was.
    pub truncated: bool,
}

impl<'a> Input<'a> {
    /// Reads the bytes of standard input.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut units = 0;
        let end = text.char_indices().find(|(_, c)| {
            units += c.len_utf16();
            units > LIMIT
        });
        let Some((end, _)) = end else { return Self { text, truncated: false } };
        let kept = text.get(..end).unwrap_or_default().to_owned();
        Self { text: Cow::Owned(kept), truncated: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_cut_at_a_mebi_of_utf_16_units() {
        let exact = "a".repeat(LIMIT);
        assert!(!Input::read(exact.as_bytes()).truncated);
        let wide = "€".repeat(LIMIT);
        assert_eq!(Input::read(wide.as_bytes()), Input { text: wide.as_str().into(), truncated: false });
        let over = "\u{1f600}".repeat(LIMIT / 2) + "a";
        let cut = Input::read(over.as_bytes());
        assert!(cut.truncated && cut.text.encode_utf16().count() == LIMIT);
        assert_eq!(Input::read(b"a\xffb").text, "a\u{fffd}b");
    }
}
