//! What literals come to by the ways to write a text so that it is not seen: base64, hexadecimal, numbers, `%s`, backwards.

use super::Token;
use super::joined::number_of;
use crate::policy::shell::{Bit, Field};

/// The text that `text` is in base64 or in hexadecimal digits, or read backwards.
pub(in crate::policy) fn decoded(text: &str) -> Vec<String> {
    if text.len() < 4 {
        return Vec::new();
    }
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let known = [hexadecimal(&plain), base64(&plain)];
    known
        .into_iter()
        .flatten()
        .filter_map(|bytes| String::from_utf8(bytes).ok())
        .filter(|text| !text.is_empty())
        .collect()
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok())).collect()
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in text.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = (held << 6 | u32::from(value)) & 0x00ff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(held >> bits & 0xff).unwrap_or_default());
        }
    }
    Some(out)
}

/// Texts that numbers stand for: `[103, 105, 116]`.
pub(in crate::policy) fn numbers(tokens: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    let mut text = String::new();
    for token in tokens {
        let number = token.word().and_then(number_of);
        match (number, token) {
            (Some(number), _) => {
                text.extend(char::from_u32(number).filter(|c| !c.is_control() || c.is_whitespace()))
            }
            (None, Token::Sign(',' | ' ' | '\\') | Token::Break) => {}
            _ if text.chars().count() > 2 => found.push(std::mem::take(&mut text)),
            _ => text.clear(),
        }
    }
    found.extend(Some(text).filter(|text| text.chars().count() > 2));
    found
}

/// A text with what stands for other texts (`%s`, `{}`, `{0}`) replaced by them, in their order.
pub(in crate::policy) fn filled(text: &Field, by: &[Field]) -> Option<Field> {
    let mut out = Field::default();
    let mut by = by.iter();
    let mut bits = text.bits.iter().copied().peekable();
    let mut any = false;
    while let Some(bit) = bits.next() {
        let hole = match (bit, bits.peek()) {
            (Bit::Char('%'), Some(Bit::Char('s' | 'd' | 'r' | 'v'))) => 1,
            (Bit::Char('{'), Some(Bit::Char('}'))) => 1,
            (Bit::Char('{'), Some(Bit::Char(c))) if c.is_ascii_digit() => 2,
            _ => 0,
        };
        if hole == 0 {
            out.bits.push(bit);
            continue;
        }
        bits.by_ref().take(hole).for_each(drop);
        out.push(&by.next().cloned().unwrap_or_else(|| Field::any("what is put into the text")));
        any = true;
    }
    any.then_some(out)
}

/// A text in which one text is replaced by another: `'biXome'.replace('X', '')`.
pub(in crate::policy) fn replaced(tokens: &[Token]) -> Vec<String> {
    let text = |at: usize| tokens.get(at).and_then(Token::text).and_then(Field::literal);
    let calls = tokens.iter().enumerate().filter(|(_, token)| {
        token.word().is_some_and(|word| {
            matches!(word, "replace" | "replaceAll" | "gsub" | "sub" | "tr" | "delete" | "str_replace")
        })
    });
    let made = calls.filter_map(|(at, _)| {
        let whole = text(at.checked_sub(2)?)?;
        let old = text(at + 2).or_else(|| text(at + 1)).filter(|old| !old.is_empty())?;
        let new = text(at + 4).unwrap_or_default();
        (whole.len() < 4096 && new.len() < 64).then(|| whole.replace(&old, &new))
    });
    made.collect()
}
