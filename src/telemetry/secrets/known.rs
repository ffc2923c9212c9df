//! Credentials that show by their own form what they are: known prefixes, JSON web tokens, blocks of private keys.

use std::ops::Range;

use super::text::{Text, is_word};

/// A credential that was found: where it stands, and what it is.
pub(super) struct Found {
    pub(super) place: Range<usize>,
    pub(super) label: &'static str,
}

/// What follows a prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// Letters and digits.
    Alnum,
    /// Capital letters and digits, so many and no more.
    Capitals,
    /// Letters, digits, `_` and `-`.
    Word,
    /// The same, with twelve letters and digits in a row of both kinds: no name in words has these.
    Random,
}

struct Kind {
    prefix: &'static str,
    label: &'static str,
    body: Body,
    /// Shortest body.
    least: usize,
    /// Whether a letter or digit in front makes it something else (`task-…`).
    edge: bool,
}

const fn kind(prefix: &'static str, label: &'static str, body: Body, least: usize) -> Kind {
    Kind { prefix, label, body, least, edge: false }
}

const fn edge(prefix: &'static str, label: &'static str, body: Body, least: usize) -> Kind {
    Kind { prefix, label, body, least, edge: true }
}

/// The kinds whose prefix begins with `first`. Sources: the issuers' own descriptions of their formats; a least length is at or
/// below that of the shortest one issued.
fn kinds(first: u8) -> &'static [Kind] {
    use Body::{Alnum, Capitals, Random, Word};
    match first {
        b'A' => {
            const {
                &[
                    kind("AKIA", "aws-key", Capitals, 16),
                    kind("ASIA", "aws-key", Capitals, 16),
                    kind("AIza", "google-key", Word, 35),
                    kind("AGE-SECRET-KEY-1", "age-key", Alnum, 50),
                ]
            }
        }
        b'G' => const { &[kind("GOCSPX-", "google-secret", Word, 20)] },
        b'd' => {
            const {
                &[
                    kind("dop_v1_", "digitalocean-token", Alnum, 40),
                    kind("dckr_pat_", "docker-token", Word, 20),
                ]
            }
        }
        b'g' => {
            const {
                &[
                    kind("ghp_", "github-token", Word, 20),
                    kind("gho_", "github-token", Word, 20),
                    kind("ghs_", "github-token", Word, 20),
                    kind("ghu_", "github-token", Word, 20),
                    kind("ghr_", "github-token", Word, 20),
                    kind("github_pat_", "github-token", Word, 20),
                    kind("glpat-", "gitlab-token", Word, 20),
                    kind("gldt-", "gitlab-token", Word, 20),
                    kind("glrt-", "gitlab-token", Word, 20),
                    edge("gsk_", "groq-key", Alnum, 40),
                ]
            }
        }
        b'h' => {
            const { &[edge("hf_", "huggingface-token", Alnum, 30), edge("hvs.", "vault-token", Word, 24)] }
        }
        b'l' => const { &[kind("lin_api_", "linear-key", Alnum, 32)] },
        b'n' => const { &[kind("npm_", "npm-token", Alnum, 36), edge("ntn_", "notion-token", Alnum, 40)] },
        b'p' => const { &[kind("pypi-AgE", "pypi-token", Word, 20)] },
        b'r' => {
            const { &[edge("rk_live_", "stripe-key", Alnum, 16), edge("rk_test_", "stripe-key", Alnum, 16)] }
        }
        b's' => {
            const {
                &[
                    kind("sk-ant-", "anthropic-key", Random, 20),
                    edge("sk-", "openai-key", Random, 20),
                    edge("sk_live_", "stripe-key", Alnum, 16),
                    edge("sk_test_", "stripe-key", Alnum, 16),
                    kind("shpat_", "shopify-token", Alnum, 32),
                ]
            }
        }
        b'x' => {
            const {
                &[
                    kind("xoxa-", "slack-token", Word, 10),
                    kind("xoxb-", "slack-token", Word, 10),
                    kind("xoxe-", "slack-token", Word, 10),
                    kind("xoxp-", "slack-token", Word, 10),
                    kind("xoxr-", "slack-token", Word, 10),
                    kind("xoxs-", "slack-token", Word, 10),
                    kind("xapp-", "slack-token", Random, 20),
                    edge("xai-", "xai-key", Random, 40),
                ]
            }
        }
        _ => &[],
    }
}

/// The credential that begins at `at`, in the word that ends at `word_end`. `at_edge`: no letter or digit stands in front.
pub(super) fn at(text: &Text<'_>, at: usize, word_end: usize, at_edge: bool) -> Option<Found> {
    let found = |end, label| Some(Found { place: at..end, label });
    match text.byte(at)? {
        b'-' => private_key(text, at).and_then(|end| found(end, "private-key")),
        b'e' => web_token(text, at, word_end).and_then(|end| found(end, "jwt")),
        b'S' => sendgrid(text, at).and_then(|end| found(end, "sendgrid-key")),
        first => kinds(first).iter().find_map(|kind| {
            if kind.edge && !at_edge || !text.has(at, kind.prefix) {
                return None;
            }
            found(kind.end(text, at + kind.prefix.len())?, kind.label)
        }),
    }
}

impl Kind {
    /// Where the body from `start` on ends, if it is one.
    fn end(&self, text: &Text<'_>, start: usize) -> Option<usize> {
        let part: fn(u8) -> bool = match self.body {
            Body::Alnum => |byte| byte.is_ascii_alphanumeric(),
            Body::Capitals => |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Body::Word | Body::Random => is_word,
        };
        let least = text.run(start, self.least, part);
        if least - start < self.least || self.body == Body::Random && !has_random_row(text, start) {
            return None;
        }
        if self.body == Body::Capitals {
            return Some(least);
        }
        Some(tail(text, text.token(least, part)))
    }
}

/// Whether twelve letters and digits in a row, of both kinds, stand among the first 64 bytes.
fn has_random_row(text: &Text<'_>, start: usize) -> bool {
    let (mut length, mut letters, mut digits) = (0, 0, 0);
    for byte in (start..start + 64).map_while(|place| text.byte(place)).take_while(|&byte| is_word(byte)) {
        if byte.is_ascii_alphanumeric() {
            length += 1;
            digits += usize::from(byte.is_ascii_digit());
            letters += usize::from(byte.is_ascii_alphabetic());
        } else {
            (length, letters, digits) = (0, 0, 0);
        }
        if length >= 12 && letters > 0 && digits > 0 {
            return true;
        }
    }
    false
}

/// Passes over what goes on behind dots: signatures, the routing of newer tokens.
fn tail(text: &Text<'_>, mut end: usize) -> usize {
    while text.byte(end) == Some(b'.') && text.byte(end + 1).is_some_and(is_word) {
        let next = text.token(end + 1, is_word);
        if next == end + 1 {
            break;
        }
        end = next;
    }
    end
}

/// `SG.` and two words.
fn sendgrid(text: &Text<'_>, at: usize) -> Option<usize> {
    let first = at + 3;
    let dot = text.has(at, "SG.").then(|| text.run(first, 64, is_word))?;
    let second = text.byte(dot).filter(|&byte| byte == b'.').map(|_| dot + 1)?;
    let is_long = dot - first >= 16 && text.run(second, 16, is_word) == second + 16;
    is_long.then(|| tail(text, dot))
}

/// Header and payload of a JSON web token, both of which begin with `{"`, and what is signed or sealed behind them. The shortest
/// header names an algorithm in twelve characters.
fn web_token(text: &Text<'_>, at: usize, word_end: usize) -> Option<usize> {
    let is_token = word_end - at >= 12 && text.has(at, "eyJ") && text.has(word_end, ".eyJ");
    is_token.then(|| tail(text, word_end))
}

/// The end of a block `-----BEGIN … PRIVATE KEY-----`. One that does not end reaches to the end of the text.
pub(super) fn private_key(text: &Text<'_>, at: usize) -> Option<usize> {
    const BEGIN: &str = "-----BEGIN ";
    const END: &str = "-----END ";
    const LONGEST_TITLE: usize = 64;
    if !text.has(at, BEGIN) {
        return None;
    }
    let title = at + BEGIN.len();
    let in_title = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    let title_end = text.run(title, LONGEST_TITLE, in_title);
    let is_private = (title..title_end).any(|place| text.has(place, "PRIVATE KEY"));
    if !is_private || !text.has(title_end, "-----") {
        return None;
    }
    let footer = (title_end..text.len()).find(|&place| text.has(place, END));
    Some(footer.map_or(text.len(), |place| {
        let end = text.run(place + END.len(), LONGEST_TITLE, in_title);
        if text.has(end, "-----") { end + 5 } else { end }
    }))
}
