//! Masks what looks like a credential in a text that a user lets through.
//!
//! 1. What is masked is listed in `SECURITY.md`, *What is masked*: by form (`known`), by the name in front (`named`), and the user and
//!    password of a URL. It becomes `[masked:<kind>]`.
//! 2. One pass from left to right. Every look ahead is bounded, or belongs to what is masked and passed over: the work is linear in
//!    the length, whatever the text is.
//! 3. Masking twice is masking once: what was masked ends a word, and a value that holds a marker is left.
//! 4. Without a hint, nothing is masked: a hash, an id or a path is no credential by being long.
//!
//! This is the second line of defence; the first is that such texts are left out (`telemetry::redact`). A password in prose, or a key
//! of a form that is not listed, gets through.

mod known;
mod named;
mod text;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use known::Found;
use named::Hint;
use text::{Text, is_word};

/// How a marker begins.
const MARKER: &str = "[masked:";

/// `text` with its credentials masked; borrowed if there are none.
#[must_use]
pub fn mask(text: &str) -> Cow<'_, str> {
    let bytes = Text::new(text.as_bytes());
    splice(text, &scan(&bytes))
}

/// Masks every string in `value`, and wholly those whose key says that they are a secret. Keys stay.
pub fn mask_value(value: &mut Value) {
    let mut places: Vec<(&mut Value, Option<Hint>)> = vec![(value, None)];
    while let Some((place, hint)) = places.pop() {
        match place {
            Value::String(text) => {
                let bytes = Text::new(text.as_bytes());
                let found = match hint.and_then(|hint| named::whole(&bytes, hint)) {
                    Some(whole) => vec![whole],
                    None => scan(&bytes),
                };
                if let Cow::Owned(masked) = splice(text, &found) {
                    *text = masked;
                }
            }
            Value::Array(items) => {
                // An argument behind a flag: ["--password", "…"].
                let mut flag = None;
                for item in items {
                    let next = item.as_str().filter(|text| is_flag(text)).and_then(hint_of);
                    places.push((item, hint.or(flag)));
                    flag = next;
                }
            }
            Value::Object(fields) => {
                places.extend(fields.iter_mut().map(|(key, field)| (field, hint_of(key))));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Whether `text` is an option and stays as it is.
fn is_flag(text: &str) -> bool {
    text.starts_with("--") && text.bytes().all(is_word) && matches!(mask(text), Cow::Borrowed(_))
}

fn hint_of(name: &str) -> Option<Hint> {
    Hint::of(&Text::new(name.as_bytes()), 0..name.len())
}

/// `text` with a marker in each place of `found`.
fn splice<'t>(text: &'t str, found: &[Found]) -> Cow<'t, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut copied = 0;
    for Found { place, label } in found {
        masked.push_str(text.get(copied..place.start).unwrap_or_default());
        masked.push_str(MARKER);
        masked.push_str(label);
        masked.push(']');
        copied = place.end;
    }
    masked.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(masked)
}

/// The credentials in `text`, in order, none over another.
fn scan(text: &Text<'_>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let (mut at, mut word_end) = (0, 0);
    // The word before, if nothing in it was masked.
    let mut before = 0..0;
    while let Some(byte) = text.byte(at) {
        let next = if is_word(byte) {
            // What was found in a word leaves the rest of it: its end is known.
            if word_end <= at {
                word_end = text.run(at, usize::MAX, is_word);
            }
            let next = in_word(text, at..word_end, &before);
            before = at..word_end;
            next
        } else {
            userinfo(text, at)
        };
        match next {
            Some(next) => {
                at = next.place.end;
                before = 0..0;
                found.push(next);
            }
            None => at = word_end.max(at + 1),
        }
    }
    found
}

/// A credential in the word, or behind it if it is a name. A name may be of two words: `API key`.
fn in_word(text: &Text<'_>, word: Range<usize>, before: &Range<usize>) -> Option<Found> {
    let mut at_edge = true;
    for at in word.clone() {
        if let Some(found) = known::at(text, at, word.end, at_edge) {
            return Some(found);
        }
        at_edge = !text.byte(at).is_some_and(|byte| byte.is_ascii_alphanumeric());
    }
    let joined = !before.is_empty() && before.end + 1 == word.start && text.byte(before.end) == Some(b' ');
    let first = if joined { before.start } else { word.start };
    named::bearer(text, word.clone()).or_else(|| named::behind(text, first, word))
}

/// User and password of a URL whose `://` stands at `at`.
fn userinfo(text: &Text<'_>, at: usize) -> Option<Found> {
    if !text.has(at, "://") {
        return None;
    }
    let start = at + 3;
    let part = |byte: u8| !byte.is_ascii_whitespace() && !b"/?#\"'`<>\\".contains(&byte);
    let (mut end, mut colon, mut host) = (start, None, None);
    while let Some(byte) = text.byte(end).filter(|&byte| part(byte)) {
        match byte {
            b'[' if text.has(end, MARKER) => return None,
            b':' if colon.is_none() => colon = Some(end),
            b'@' => host = Some(end),
            _ => {}
        }
        end += 1;
    }
    let (colon, host) = (colon?, host?);
    (colon + 1 < host).then_some(Found { place: start..host, label: "url-credentials" })
}

#[cfg(test)]
mod tests;
