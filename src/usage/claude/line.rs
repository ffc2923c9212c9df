//! One line of a Claude Code transcript.
//!
//! Only a line with top-level `type: "assistant"` and an object `message.usage` is a call. Its identity is
//! `message.id`, else the line's `uuid`, else its place in the file; never the request id, which gateways omit
//! (ccusage#976). `progress` lines and `toolUseResult` repeat the usage of another file's call: echoes, never added
//! (gabriel-dehan/claude_hooks#43).
//!
//! `usage.iterations[]` of type `advisor_message` and `compaction` are billed and excluded from the top level; they
//! are calls of their own, at ordinary rates, the former with their own model (transcript formats §1, Iterations).

use super::super::call::{CallKey, Observation, Traits};
use super::super::reader::Prompt;
use super::super::tokens::Tokens;
use crate::journal::foreign::{
    Count, Maybe, NotACount, Wants, document, flag, object, objects, text, wanted,
};
use crate::journal::lines::Line;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess};
use std::borrow::Cow;

/// The host's name in keys and records.
pub const HOST: &str = "claude-code";
/// The model id of notices that Claude Code writes by itself; no request was made.
const SYNTHETIC: &str = "<synthetic>";

/// What the reader knows of a line from the file it stands in.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Names the file in the identity of a call that has no id at all.
    pub file: &'a str,
    /// The session that the file's name tells, for lines that name none.
    pub session: Option<&'a str>,
    /// The subagent whose file it is.
    pub agent: Option<&'a str>,
}

/// What a line is.
#[derive(Debug)]
pub enum Parsed<'a> {
    /// A request to a model; the calls that it was billed as (usually one).
    Calls(Vec<Observation<'a>>),
    /// Somebody asked for something: a run starts here.
    Prompt(Prompt<'a>),
    /// Usage that repeats a call of another file.
    Echo,
    /// A local notice; nothing was billed.
    Synthetic,
    /// A line of any other kind.
    Other,
    /// A line with usage that cannot be read.
    Unreadable,
}

/// Parses one line. Lines that cannot hold usage are never [`Parsed::Unreadable`].
#[must_use]
pub fn parse<'a>(line: &Line<'a>, place: Place<'a>) -> Parsed<'a> {
    // Windows editors begin a file with a byte order mark.
    let json = line.bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line.bytes);
    let Ok(raw) = document::<RawLine<'a>>(json) else {
        let holds_usage = memchr::memmem::find(line.bytes, b"\"usage\"").is_some();
        return if holds_usage && !line.open { Parsed::Unreadable } else { Parsed::Other };
    };
    match raw.kind.as_deref() {
        Some("assistant") => calls(raw, line, place),
        Some("progress") if memchr::memmem::find(line.bytes, b"\"usage\"").is_some() => Parsed::Echo,
        Some("user") if raw.tool_use_result.as_ref().is_some_and(|result| result.usage.is_some()) => {
            Parsed::Echo
        }
        Some("user") => prompt(raw, place),
        _ => Parsed::Other,
    }
}

/// A prompt is a user line that a person or a program wrote: no tool result, no note of the host itself.
fn prompt<'a>(raw: RawLine<'a>, place: Place<'a>) -> Parsed<'a> {
    let by_host = raw.is_meta || raw.is_sidechain || raw.is_compact_summary || raw.tool_use_result.is_some();
    let tool_result = raw.message.as_ref().is_none_or(|message| message.content == Content::ToolResult);
    match raw.timestamp.as_deref().and_then(crate::sys::clock::parse_rfc3339) {
        Some(at_ms) if !by_host && !tool_result => {
            Parsed::Prompt(Prompt { session: raw.session_id.or(place.session.map(Cow::Borrowed)), at_ms })
        }
        _ => Parsed::Other,
    }
}

fn calls<'a>(raw: RawLine<'a>, line: &Line<'a>, place: Place<'a>) -> Parsed<'a> {
    let Some(message) = raw.message else { return Parsed::Other };
    let Some(usage) = message.usage else { return Parsed::Other };
    let Ok(tokens) = usage.tokens() else { return Parsed::Unreadable };
    let model = message.model.filter(|model| !model.is_empty());
    if model.as_deref() == Some(SYNTHETIC) && tokens.is_zero() {
        return Parsed::Synthetic;
    }
    let id = message.id.or(raw.uuid).filter(|id| !id.is_empty());
    let identity = |suffix: &[u8]| match &id {
        Some(id) => CallKey::of(&[HOST.as_bytes(), id.as_bytes(), suffix]),
        None => CallKey::of(&[HOST.as_bytes(), place.file.as_bytes(), &line.offset.to_le_bytes(), suffix]),
    };
    let session = raw.forked_from.and_then(|fork| fork.session_id).or(raw.session_id);
    let ordinary = Traits::default()
        .with(Traits::MAIN_CHAIN, !raw.is_sidechain && place.agent.is_none())
        .with(Traits::FINAL, message.stop_reason.is_some());
    let call = Observation {
        key: identity(b""),
        session: session.or(place.session.map(Cow::Borrowed)),
        model,
        agent: place.agent.map(Cow::Borrowed).or(raw.agent_id.filter(|_| raw.is_sidechain)),
        at_ms: raw.timestamp.as_deref().and_then(crate::sys::clock::parse_rfc3339),
        tokens,
        credits: None,
        traits: ordinary
            .with(Traits::FAST, usage.speed.as_deref() == Some("fast"))
            .with(Traits::US_ONLY, usage.inference_geo.as_deref() == Some("us"))
            .with(Traits::BATCH, usage.service_tier.as_deref() == Some("batch")),
    };
    let mut calls = vec![];
    for (at, iteration) in usage.iterations.iter().enumerate() {
        let own_model = match iteration.kind.as_deref() {
            Some("advisor_message") => iteration.model.clone(),
            Some("compaction") => call.model.clone(),
            _ => continue,
        };
        let Ok(tokens) = iteration.tokens() else { return Parsed::Unreadable };
        let key = identity(&(at as u64).to_le_bytes());
        calls.push(Observation { key, model: own_model, tokens, traits: ordinary, ..call.clone() });
    }
    calls.push(call);
    Parsed::Calls(calls)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawLine<'a> {
    #[serde(borrow, default, rename = "type", deserialize_with = "text")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text")]
    agent_id: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "flag")]
    is_sidechain: bool,
    #[serde(default, deserialize_with = "flag")]
    is_meta: bool,
    #[serde(default, deserialize_with = "flag")]
    is_compact_summary: bool,
    #[serde(borrow, default, deserialize_with = "object")]
    forked_from: Option<Fork<'a>>,
    #[serde(default, deserialize_with = "object")]
    tool_use_result: Option<ToolUseResult>,
    #[serde(borrow, default, deserialize_with = "object")]
    message: Option<Message<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Fork<'a> {
    #[serde(borrow, deserialize_with = "text")]
    session_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToolUseResult {
    usage: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow, deserialize_with = "text")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    stop_reason: Option<Cow<'a, str>>,
    content: Content,
    #[serde(borrow, deserialize_with = "object")]
    usage: Option<Usage<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Usage<'a> {
    input_tokens: Count,
    output_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    #[serde(deserialize_with = "object")]
    cache_creation: Option<CacheCreation>,
    #[serde(deserialize_with = "object")]
    server_tool_use: Option<ServerToolUse>,
    #[serde(borrow, deserialize_with = "text")]
    service_tier: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    speed: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    inference_geo: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "objects")]
    iterations: Vec<Iteration<'a>>,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct CacheCreation {
    ephemeral_5m_input_tokens: Count,
    ephemeral_1h_input_tokens: Count,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct ServerToolUse {
    web_search_requests: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Iteration<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    model: Option<Cow<'a, str>>,
    input_tokens: Count,
    output_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
    #[serde(deserialize_with = "object")]
    cache_creation: Option<CacheCreation>,
}

impl Usage<'_> {
    fn tokens(&self) -> Result<Tokens, NotACount> {
        let searches = self.server_tool_use.unwrap_or_default().web_search_requests.get()?;
        let tokens = tokens(
            [self.input_tokens, self.output_tokens, self.cache_read_input_tokens],
            self.cache_creation_input_tokens,
            self.cache_creation,
        )?;
        Ok(Tokens { web_search_requests: searches, ..tokens })
    }
}

impl Iteration<'_> {
    fn tokens(&self) -> Result<Tokens, NotACount> {
        tokens(
            [self.input_tokens, self.output_tokens, self.cache_read_input_tokens],
            self.cache_creation_input_tokens,
            self.cache_creation,
        )
    }
}

/// The breakdown and the total of cache writes can disagree behind gateways: the larger sum stands, the one-hour
/// part as reported, the rest at the default time to live (Wei-Shaw/claude-relay-service PR#1081).
fn tokens(
    [input, output, cache_read]: [Count; 3],
    written: Count,
    breakdown: Option<CacheCreation>,
) -> Result<Tokens, NotACount> {
    let breakdown = breakdown.unwrap_or_default();
    let one_hour = breakdown.ephemeral_1h_input_tokens.get()?;
    let written = written.get()?.max(breakdown.ephemeral_5m_input_tokens.get()? + one_hour);
    Ok(Tokens {
        input: input.get()?,
        output: output.get()?,
        cache_write_5m: written - one_hour,
        cache_write_1h: one_hour,
        cache_read: cache_read.get()?,
        web_search_requests: 0,
    })
}

/// What a message's content is, as far as a prompt can be told from a tool result.
#[derive(Default, PartialEq, Eq)]
enum Content {
    #[default]
    Prompt,
    ToolResult,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        wanted(from).map(Option::unwrap_or_default)
    }
}

impl<'de> Wants<'de> for Content {
    fn array<A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        #[derive(Deserialize)]
        struct Block<'a> {
            #[serde(borrow, default, rename = "type", deserialize_with = "text")]
            kind: Option<Cow<'a, str>>,
        }
        let mut content = Self::Prompt;
        while let Some(Maybe(block)) = seq.next_element::<Maybe<Block<'de>>>()? {
            if block.and_then(|block| block.kind).as_deref() == Some("tool_result") {
                content = Self::ToolResult;
            }
        }
        Ok(Some(content))
    }
}

#[cfg(test)]
mod tests;
