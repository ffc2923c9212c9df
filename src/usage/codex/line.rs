//! One line of a Codex rollout: `{timestamp, ordinal?, type, payload}`.
//!
//! Most bytes of a rollout are `response_item` lines, which never hold usage; [`may_matter`] tells them from the head of
//! the line, so that they are never parsed.
//!
//! `TokenUsage` has `input_tokens` ⊇ `cached_input_tokens` and `cache_write_input_tokens`, and `output_tokens` ⊇
//! `reasoning_output_tokens`; `total_tokens` = input + output proves it, and a provider behind a gateway whose sum says
//! otherwise is read as its sum says.

use crate::journal::foreign::{Count, NotACount, Wants, document, object, text, wanted};
use crate::usage::tokens::Tokens;
use memchr::memmem;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How far into a line its type is looked for.
const HEAD: usize = 256;

/// Whether a line can say anything of usage.
#[must_use]
pub fn may_matter(line: &[u8]) -> bool {
    const TYPE: &[u8] = b"\"type\":\"";
    let head = line.get(..HEAD).unwrap_or(line);
    let Some(at) = memmem::find(head, TYPE) else { return true };
    let kind = head.get(at + TYPE.len()..).unwrap_or_default();
    let is = |name: &[u8]| kind.starts_with(name);
    if is(b"event_msg\"") {
        return memmem::find(line, b"\"token_count\"").is_some()
            || memmem::find(line, b"\"thread_settings_applied\"").is_some();
    }
    !(is(b"response_item\"") || is(b"compacted\"") || is(b"world_state\""))
}

/// What a line says.
#[derive(Debug)]
pub enum Said<'a> {
    /// A thread's header. The first one of a file owns it.
    Header(Header<'a>),
    /// A turn starts.
    Turn {
        /// Its id; older builds give none.
        id: Option<Cow<'a, str>>,
        /// The model that is asked in it.
        model: Option<Cow<'a, str>>,
    },
    /// What holds from the next turn on.
    Settings {
        /// The model.
        model: Option<Cow<'a, str>>,
        /// `default`, `priority`, `fast`, `flex`.
        tier: Option<Cow<'a, str>>,
    },
    /// The thread's counters after a response, or once more for a display.
    Count {
        /// All of the thread; `None` when the line does not tell.
        total: Option<Usage>,
        /// The last response.
        last: Option<Usage>,
    },
    /// One billed response.
    Record {
        /// The thread that was billed.
        thread: Option<Cow<'a, str>>,
        /// The turn that it was part of.
        turn: Option<Cow<'a, str>>,
        /// Its identity.
        response: Cow<'a, str>,
        /// Its model, where it is said.
        model: Option<Cow<'a, str>>,
        /// Its counters.
        usage: Usage,
    },
    /// Nothing of usage.
    Other,
}

/// A thread's header.
#[derive(Debug, Default)]
pub struct Header<'a> {
    /// The thread.
    pub id: Option<Cow<'a, str>>,
    /// When it started, in epoch milliseconds.
    pub started_ms: Option<i64>,
    /// Whether it came of another thread: a fork or a subagent.
    pub has_parent: bool,
    /// The ordinal of the first line that is its own; lines before it are another thread's history.
    pub own_from: Option<i64>,
    /// Where the agent works.
    pub cwd: Option<Cow<'a, str>>,
}

/// A line, read.
#[derive(Debug)]
pub struct Line<'a> {
    /// Epoch milliseconds.
    pub at_ms: Option<i64>,
    /// Its number in the thread, where the build writes it.
    pub ordinal: Option<i64>,
    /// What it says.
    pub said: Said<'a>,
}

/// Counters as Codex has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    input: i64,
    cached: i64,
    written: i64,
    output: i64,
    reasoning: i64,
    total: i64,
}

impl Usage {
    /// The disjoint buckets. How long a cache write is kept is not recorded: it counts as the default.
    #[must_use]
    pub fn tokens(self) -> Tokens {
        let Self { input, cached, written, output, reasoning, total } = self;
        let outside = total > 0 && total == input + cached + written + output && cached + written > 0;
        let apart = total > 0 && total == input + output + reasoning && reasoning > 0;
        Tokens {
            input: if outside { input } else { (input - cached - written).max(0) },
            output: if apart { output + reasoning } else { output },
            cache_write_5m: written,
            cache_read: cached,
            ..Tokens::default()
        }
    }

    /// What was added since `before`; all of it when the counters started anew.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let pairs = self.to_array().into_iter().zip(before.to_array());
        if pairs.clone().any(|(now, then)| now < then) {
            return self;
        }
        let mut added = pairs.map(|(now, then)| now - then);
        let mut next = || added.next().unwrap_or_default();
        Self {
            input: next(),
            cached: next(),
            written: next(),
            output: next(),
            reasoning: next(),
            total: next(),
        }
    }

    /// The counters as bytes: part of a call's identity.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        self.to_array().into_iter().flat_map(i64::to_le_bytes).collect()
    }

    fn to_array(self) -> [i64; 6] {
        [self.input, self.cached, self.written, self.output, self.reasoning, self.total]
    }
}

/// Why a line with usage cannot be read.
#[derive(Debug)]
pub struct Unreadable;

impl From<NotACount> for Unreadable {
    fn from(_: NotACount) -> Self {
        Self
    }
}

/// Reads one line.
///
/// # Errors
/// When it is not JSON, or has counters that are not counts.
pub fn parse(bytes: &[u8]) -> Result<Line<'_>, Unreadable> {
    let json = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let raw: RawLine<'_> = document(json).map_err(|_| Unreadable)?;
    let payload = raw.payload.unwrap_or_default();
    let time = |text: Option<Cow<'_, str>>| text.as_deref().and_then(crate::sys::clock::parse_rfc3339);
    let at_ms = time(raw.timestamp);
    let said = match (raw.kind.as_deref(), payload.kind.as_deref()) {
        (Some("session_meta"), _) => Said::Header(Header {
            started_ms: time(payload.timestamp).or(at_ms),
            has_parent: payload.forked_from_id.is_some()
                || payload.parent_thread_id.is_some()
                || payload.source.is_some_and(|source| source.subagent.is_some()),
            own_from: payload
                .subagent_history_start_ordinal
                .max(payload.history_base.and_then(|base| base.end_ordinal_exclusive))
                .map(|Ordinal(from)| from),
            id: payload.id.or(payload.session_id),
            cwd: payload.cwd,
        }),
        (Some("turn_context"), _) => Said::Turn { id: payload.turn_id, model: payload.model },
        (Some("token_usage_record"), _) => match (payload.response_id, payload.usage) {
            (Some(response), Some(usage)) => Said::Record {
                thread: payload.thread_id,
                turn: payload.turn_id,
                response,
                model: payload.model,
                usage: usage.read()?,
            },
            _ => return Err(Unreadable),
        },
        (Some("event_msg"), Some("thread_settings_applied")) => {
            let settings = payload.thread_settings.unwrap_or_default();
            Said::Settings { model: settings.model, tier: settings.service_tier }
        }
        (Some("event_msg"), Some("token_count")) => {
            let info = payload.info.unwrap_or_default();
            let read = |usage: Option<RawUsage>| usage.map(RawUsage::read).transpose();
            Said::Count { total: read(info.total_token_usage)?, last: read(info.last_token_usage)? }
        }
        _ => Said::Other,
    };
    Ok(Line { at_ms, ordinal: raw.ordinal.map(|Ordinal(number)| number), said })
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawLine<'a> {
    #[serde(borrow, deserialize_with = "text")]
    timestamp: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "wanted")]
    ordinal: Option<Ordinal>,
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "object")]
    payload: Option<Payload<'a>>,
}

/// The fields of every payload that matters; their names mean the same in each.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    cwd: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    forked_from_id: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    parent_thread_id: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "object")]
    source: Option<Source>,
    #[serde(deserialize_with = "wanted")]
    subagent_history_start_ordinal: Option<Ordinal>,
    #[serde(deserialize_with = "object")]
    history_base: Option<HistoryBase>,
    #[serde(borrow, deserialize_with = "text")]
    turn_id: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "object")]
    thread_settings: Option<Settings<'a>>,
    #[serde(deserialize_with = "object")]
    info: Option<Info>,
    #[serde(borrow, deserialize_with = "text")]
    thread_id: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    response_id: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "object")]
    usage: Option<RawUsage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Source {
    subagent: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct HistoryBase {
    #[serde(deserialize_with = "wanted")]
    end_ordinal_exclusive: Option<Ordinal>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Settings<'a> {
    #[serde(borrow, deserialize_with = "text")]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    service_tier: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Info {
    #[serde(deserialize_with = "object")]
    total_token_usage: Option<RawUsage>,
    #[serde(deserialize_with = "object")]
    last_token_usage: Option<RawUsage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawUsage {
    input_tokens: Count,
    cached_input_tokens: Count,
    cache_write_input_tokens: Count,
    output_tokens: Count,
    reasoning_output_tokens: Count,
    total_tokens: Count,
}

impl RawUsage {
    fn read(self) -> Result<Usage, NotACount> {
        Ok(Usage {
            input: self.input_tokens.get()?,
            cached: self.cached_input_tokens.get()?,
            written: self.cache_write_input_tokens.get()?,
            output: self.output_tokens.get()?,
            reasoning: self.reasoning_output_tokens.get()?,
            total: self.total_tokens.get()?,
        })
    }
}

/// The number of a line, which some builds write as a string.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Ordinal(i64);

impl<'de> Wants<'de> for Ordinal {
    fn text(text: Cow<'de, str>) -> Option<Self> {
        text.parse().ok().map(Self)
    }
    fn number(value: Option<i64>) -> Option<Self> {
        value.map(Self)
    }
}
