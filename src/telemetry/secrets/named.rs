//! Values behind a name that says what they are: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`, `Authorization: Bearer …`.

use std::ops::Range;

use super::MARKER;
use super::known::{Found, private_key};
use super::text::{Text, is_word};

/// How much a name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// People choose these: nearly any value is one.
    Password,
    /// Machines make these: a value has six characters, and not just letters unless it is long.
    Secret,
    /// The same, but a number is a count or a position.
    Token,
    /// A scheme and a credential.
    Header,
    /// Only something near it (`token_count`, `secret_name`): a value is long and looks random.
    Hardly,
}

/// What a name says of its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hint {
    says: Says,
    label: &'static str,
}

/// How names end, without case, `_`, `-` and spaces.
const NAMES: [(&str, &str, Says); 15] = [
    ("password", "password", Says::Password),
    ("passwd", "password", Says::Password),
    ("passphrase", "password", Says::Password),
    ("secret", "secret", Says::Secret),
    ("secretkey", "secret", Says::Secret),
    ("apikey", "api-key", Says::Secret),
    ("accesskey", "access-key", Says::Secret),
    ("privatekey", "private-key", Says::Secret),
    ("accountkey", "access-key", Says::Secret),
    ("signingkey", "private-key", Says::Secret),
    ("encryptionkey", "private-key", Says::Secret),
    ("credential", "secret", Says::Secret),
    ("credentials", "secret", Says::Secret),
    ("token", "token", Says::Token),
    ("authorization", "authorization", Says::Header),
];

/// What stands for a value in code, and is none.
const KEYWORDS: [&str; 15] = [
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "required",
    "optional",
    "string",
    "str",
    "&str",
    "bool",
    "boolean",
    "number",
    "any",
];

/// Longest end of a name, and beginning of a value, that is looked at.
const WINDOW: usize = 64;
/// Most spaces, and backslashes of text in text, that are passed over.
const GAP: usize = 8;

impl Hint {
    /// What the name in `name` says.
    pub(super) fn of(text: &Text<'_>, name: Range<usize>) -> Option<Self> {
        let mut letters = [0_u8; WINDOW];
        let mut from = WINDOW;
        for byte in name.rev().take(WINDOW).filter_map(|place| text.byte(place)) {
            if byte.is_ascii_alphanumeric() {
                from -= 1;
                *letters.get_mut(from)? = byte.to_ascii_lowercase();
            }
        }
        let name = std::str::from_utf8(letters.get(from..)?).ok()?;
        let ends = NAMES.iter().find(|(end, ..)| name.ends_with(end));
        if let Some(&(_, label, says)) = ends {
            return Some(Self { says, label });
        }
        // A tokenizer's names are those of models.
        let near = |(part, _, says): &&(&str, &str, Says)| *says != Says::Header && name.contains(part);
        let (_, label, _) = NAMES.iter().find(near).filter(|_| !name.contains("tokeni"))?;
        Some(Self { says: Says::Hardly, label })
    }
}

/// What ends a value.
#[derive(Clone, Copy)]
enum End {
    /// This quote; in text in text, with backslashes in front.
    Quote { quote: u8, in_text: bool },
    /// What separates words, in a shell, a query or a connection string.
    Separator,
    /// White space or a quote: behind a colon, where nothing else separates.
    Space,
    /// The end of the text.
    Whole,
}

impl End {
    fn is_at(self, byte: u8) -> bool {
        let space_or_quote = byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b'\\');
        match self {
            Self::Quote { quote, .. } => byte == quote || byte == b'\n',
            Self::Separator => space_or_quote || b",;&)]}<>|".contains(&byte),
            Self::Space => space_or_quote,
            Self::Whole => false,
        }
    }

    fn is_quoted(self) -> bool {
        matches!(self, Self::Quote { .. } | Self::Whole)
    }
}

/// The value behind the name that ends with `word` and begins at `first`, if it is a secret.
pub(super) fn behind(text: &Text<'_>, first: usize, word: Range<usize>) -> Option<Found> {
    let (start, end) = value(text, word.end, text.has(word.start, "--"))?;
    Hint::of(text, first..word.end)?.judge(text, start, end)
}

/// The secret that the whole text is, under a key that says `hint`.
pub(super) fn whole(text: &Text<'_>, hint: Hint) -> Option<Found> {
    hint.judge(text, 0, End::Whole)
}

/// `Bearer` and a token, wherever it stands.
pub(super) fn bearer(text: &Text<'_>, word: Range<usize>) -> Option<Found> {
    let is_bearer = word.len() == 6
        && "bearer"
            .bytes()
            .zip(word.clone())
            .all(|(wanted, place)| text.byte(place).is_some_and(|byte| byte.to_ascii_lowercase() == wanted));
    let start = word.end + 1;
    let part = |byte: u8| is_word(byte) || b".~+/=".contains(&byte);
    if !is_bearer || text.byte(word.end) != Some(b' ') {
        return None;
    }
    let seen = text.run(start, WINDOW, part);
    let has_digit = (start..seen).any(|place| text.byte(place).is_some_and(|byte| byte.is_ascii_digit()));
    (seen - start >= 16 && has_digit)
        .then(|| Found { place: start..text.token(start, part), label: "bearer" })
}

/// Where the value of a name that ends at `at` begins, and what ends it.
fn value(text: &Text<'_>, at: usize, is_flag: bool) -> Option<(usize, End)> {
    let spaces = |at: usize| text.run(at, GAP, |byte| matches!(byte, b' ' | b'\t'));
    // The quote of a key, and the bracket of an index.
    let (closed, _) = quote(text, at).unwrap_or((at, 0));
    let closed = if closed > at && text.byte(closed) == Some(b']') { closed + 1 } else { closed };
    let sign = spaces(closed);
    let (start, bare) = match text.byte(sign) {
        Some(b':') if text.has(sign, "::") || text.has(sign, "://") => return None,
        Some(b':' | b'=') => {
            let end = text.run(sign, 2, |byte| matches!(byte, b':' | b'=' | b'>'));
            let bare = if text.has(sign, ":") && end == sign + 1 { End::Space } else { End::Separator };
            (spaces(end), bare)
        }
        Some(byte) if is_flag && closed == at && sign > at && byte != b'-' => (sign, End::Separator),
        _ => return None,
    };
    Some(match quote(text, start) {
        Some((inside, quote)) => (inside, End::Quote { quote, in_text: inside > start + 1 }),
        None => (start, bare),
    })
}

/// A quote at `at`, with backslashes in front where text lies in text: the place behind it, and which.
fn quote(text: &Text<'_>, at: usize) -> Option<(usize, u8)> {
    let place = text.run(at, GAP, |byte| byte == b'\\');
    let quote = text.byte(place).filter(|byte| matches!(byte, b'"' | b'\'' | b'`'))?;
    Some((place + 1, quote))
}

/// What a value's first word looks like.
#[derive(Default)]
struct Look {
    /// Bytes but for closing punctuation, which may be of the text around.
    length: usize,
    letters: usize,
    lower: usize,
    upper: usize,
    digits: usize,
    /// Marks but for `_`, `-`, `.` and closing punctuation.
    marks: usize,
    /// `_`, `-`, `.`
    joints: usize,
    stars: usize,
    slashes: usize,
    /// Marks that are not in base64 either.
    odd: usize,
    /// A path, a macro or a parameter of types: `token: Token![,]`.
    is_code: bool,
}

impl Look {
    fn note(&mut self, byte: u8) {
        if b",;)}]".contains(&byte) {
            return;
        }
        self.length += 1;
        match byte {
            b'0'..=b'9' => self.digits += 1,
            b'_' | b'-' | b'.' => self.joints += 1,
            _ if byte.is_ascii_alphabetic() || !byte.is_ascii() => {
                self.letters += 1;
                self.lower += usize::from(byte.is_ascii_lowercase());
                self.upper += usize::from(byte.is_ascii_uppercase());
            }
            _ => {
                self.marks += 1;
                self.stars += usize::from(byte == b'*');
                self.slashes += usize::from(byte == b'/');
                self.odd += usize::from(!b"/+=~".contains(&byte));
            }
        }
    }
}

impl Hint {
    /// The value from `start` to `end`, if it looks as the name says. Only its first word, of at most [`WINDOW`] bytes, decides.
    fn judge(self, text: &Text<'_>, start: usize, end: End) -> Option<Found> {
        let start = text.run(start, GAP, |byte| byte == b' ');
        let (start, known_scheme) = match self.says {
            Says::Header => scheme(text, start),
            _ => (start, false),
        };
        if is_reference(text, start, end) {
            return None;
        }
        let mut look = Look::default();
        let mut place = start;
        while let Some(byte) = text.byte(place).filter(|_| place < start + WINDOW) {
            if end.is_at(byte) || byte.is_ascii_whitespace() {
                break;
            }
            // A value in which something is masked was judged when it was.
            if text.has(place, MARKER) {
                return None;
            }
            if byte == b'(' && !end.is_quoted() && look.is_word() {
                return None;
            }
            look.is_code |= byte == b'<' || text.has(place, "::") || text.has(place, "![");
            look.note(byte);
            place += 1;
        }
        let is_secret = match self.says {
            Says::Header if known_scheme => look.length > 0,
            Says::Password => {
                let least = if end.is_quoted() { 1 } else { 4 };
                let only = text.byte(place).is_none_or(|byte| end.is_at(byte));
                look.length >= least && look.stars < look.length && !(only && is_keyword(text, start..place))
            }
            Says::Secret | Says::Token | Says::Header => {
                let number = look.letters + look.marks == 0 && self.says == Says::Token;
                let made = look.digits > 0 || look.marks > 0 || look.length >= 16;
                let code = look.is_code && !end.is_quoted();
                look.length >= 6 && made && !number && !code && look.stars < look.length
            }
            Says::Hardly => look.is_random(),
        };
        is_secret.then(|| Found { place: start..value_end(text, start, end), label: self.label })
    }
}

impl Look {
    /// Whether it is a short name, as of a function.
    fn is_word(&self) -> bool {
        self.length < 16 && self.digits + self.marks == 0
    }

    /// Whether it is long, of one alphabet of keys and mixed; no path, no name in words.
    fn is_random(&self) -> bool {
        let mixed = self.upper > 0 && self.lower > 0 && self.digits > 0;
        let hex_like = self.letters > 0 && self.digits > 0 && self.joints == 0 && self.length >= 32;
        let path_like = self.slashes > 0 && (self.joints > 0 || self.length < 32);
        self.length >= 20 && self.odd == 0 && !path_like && (mixed || hex_like)
    }
}

/// Whether the value is taken from elsewhere (`$NAME`, `<name>`, `{{ name }}`), is a structure, or was masked.
fn is_reference(text: &Text<'_>, start: usize, end: End) -> bool {
    let next = text.byte(start + 1);
    match text.byte(start) {
        Some(b'$') => next.is_some_and(|byte| byte.is_ascii_alphabetic() || b"_{([".contains(&byte)),
        Some(b'<') => true,
        Some(b'{' | b'[') => !end.is_quoted() || next == Some(b'{') || text.has(start, MARKER),
        _ => false,
    }
}

fn is_keyword(text: &Text<'_>, value: Range<usize>) -> bool {
    let is_part = |byte: &u8| !b",;)}]?!".contains(byte);
    let word: Vec<u8> = value.filter_map(|place| text.byte(place)).take_while(is_part).collect();
    KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword.as_bytes()))
}

/// Passes over the scheme of an `Authorization`; says whether it is one that a credential follows.
fn scheme(text: &Text<'_>, start: usize) -> (usize, bool) {
    const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "apikey"];
    let end = text.run(start, 16, |byte| byte.is_ascii_alphabetic());
    let word: Vec<u8> = (start..end).filter_map(|place| text.byte(place)).collect();
    let known = SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme.as_bytes()));
    match text.run(end, GAP, |byte| byte == b' ') {
        credential if known && credential > end => (credential, true),
        _ => (start, false),
    }
}

/// Where the value ends. A block of a private key in it belongs to it, whole.
fn value_end(text: &Text<'_>, start: usize, end: End) -> usize {
    let mut place = start;
    while let Some(byte) = text.byte(place) {
        if let Some(end) = (byte == b'-').then(|| private_key(text, place)).flatten() {
            place = end;
        } else if byte == b'\\' && matches!(end, End::Quote { in_text: false, .. }) {
            place += 2;
        } else if end.is_at(byte) {
            break;
        } else {
            place += 1;
        }
    }
    if matches!(end, End::Quote { in_text: true, .. }) {
        while place > start && text.byte(place - 1) == Some(b'\\') {
            place -= 1;
        }
    }
    place.min(text.len())
}
