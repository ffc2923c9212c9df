//! A message and its steps, as both layouts write them.
//!
//! `tokens` are disjoint: `input` is uncached, `output` is without `reasoning`, which is billed as output. Builds that
//! put reasoning into output show it in `total`.

use super::key;
use crate::journal::foreign::{Count, NotACount, document, object, text, whole};
use crate::usage::call::{Observation, Traits};
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::{Prompt, Receiver};
use crate::usage::tokens::Tokens;
use serde::Deserialize;
use std::borrow::Cow;

/// A message's JSON.
#[derive(Debug, Deserialize, Default)]
#[serde(default)]
pub struct Message<'a> {
    #[serde(borrow, deserialize_with = "text")]
    role: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "modelID", deserialize_with = "text")]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    agent: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    mode: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    finish: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "object")]
    time: Option<Time>,
    #[serde(deserialize_with = "object")]
    tokens: Option<RawTokens>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default)]
struct Time {
    #[serde(deserialize_with = "whole")]
    created: Option<i64>,
    #[serde(deserialize_with = "whole")]
    completed: Option<i64>,
}

/// Where a message stands.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Its id.
    pub id: &'a str,
    /// The session that it is counted for.
    pub session: &'a str,
    /// The subagent whose it is, if it is one's.
    pub agent: Option<&'a str>,
    /// When its session was created, in epoch milliseconds, if that is known.
    pub session_ms: Option<i64>,
}

impl<'a> Message<'a> {
    /// Reads a message.
    #[must_use]
    pub fn parse(json: &'a [u8]) -> Option<Self> {
        document(json).ok()
    }

    /// Whether a model wrote it.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        self.role.as_deref() == Some("assistant")
    }

    /// What kind of agent wrote it; builds call that its mode, or its agent.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref().or(self.mode.as_deref()).filter(|name| !name.is_empty())
    }

    fn created_ms(&self) -> Option<i64> {
        self.time.as_ref().and_then(|time| time.created)
    }

    /// Whether it was copied from another session.
    #[must_use]
    pub fn is_inherited(&self, place: Place<'_>) -> bool {
        self.created_ms().zip(place.session_ms).is_some_and(|(created, session)| created < session)
    }

    /// Hands on what a person asked.
    pub fn prompt(&self, place: Place<'_>, to: &mut dyn Receiver) {
        // What a subagent is asked is asked by an agent.
        if self.role.as_deref() == Some("user")
            && place.agent.is_none()
            && !self.is_inherited(place)
            && let Some(at_ms) = self.created_ms()
        {
            to.prompt(Prompt { session: Some(Cow::Borrowed(place.session)), at_ms });
        }
    }

    /// Hands on one step of it.
    pub fn step(
        &self,
        place: Place<'_>,
        id: &str,
        step: &Step,
        to: &mut dyn Receiver,
        met: &mut Diagnostics,
    ) {
        self.call(place, id, step.tokens.as_ref(), to, met);
    }

    /// Hands on the message itself, where it has no steps.
    pub fn whole(&self, place: Place<'_>, to: &mut dyn Receiver, met: &mut Diagnostics) {
        self.call(place, place.id, self.tokens.as_ref(), to, met);
    }

    fn call(
        &self,
        place: Place<'_>,
        id: &str,
        tokens: Option<&RawTokens>,
        to: &mut dyn Receiver,
        met: &mut Diagnostics,
    ) {
        let Some(tokens) = tokens else { return };
        let Ok(tokens) = tokens.read() else {
            met.unreadable_lines += 1;
            return;
        };
        if tokens.is_zero() {
            return;
        }
        if self.is_inherited(place) {
            met.echoes_skipped += 1;
            return;
        }
        let is_final =
            self.finish.is_some() || self.time.as_ref().is_some_and(|time| time.completed.is_some());
        to.call(Observation {
            key: key(id),
            session: Some(Cow::Borrowed(place.session)),
            model: self.model.as_deref().filter(|model| !model.is_empty()).map(Cow::Borrowed),
            agent: place.agent.map(Cow::Borrowed),
            at_ms: self.created_ms(),
            tokens,
            credits: None,
            traits: Traits::default()
                .with(Traits::MAIN_CHAIN, true)
                // A step is written when it is finished.
                .with(Traits::FINAL, is_final || id != place.id),
        });
    }
}

/// A part's JSON, if the part is the end of a step.
#[derive(Debug, Deserialize, Default)]
#[serde(default)]
pub struct Step {
    #[serde(deserialize_with = "object")]
    tokens: Option<RawTokens>,
}

/// The end of a step is never longer than this; what is longer is text or a tool's output, and is not read.
pub const MAX_STEP: u64 = 8 << 10;

impl Step {
    /// Reads a part; `None` when it is another kind of part.
    #[must_use]
    pub fn parse(json: &[u8]) -> Option<Self> {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Part<'a> {
            #[serde(borrow, rename = "type", deserialize_with = "text")]
            kind: Option<Cow<'a, str>>,
            #[serde(deserialize_with = "object")]
            tokens: Option<RawTokens>,
        }
        memchr::memmem::find(json, b"step-finish")?;
        let part: Part<'_> = document(json).ok()?;
        (part.kind.as_deref() == Some("step-finish")).then_some(Self { tokens: part.tokens })
    }
}

#[derive(Debug, Deserialize, Default)]
#[serde(default)]
struct RawTokens {
    total: Count,
    input: Count,
    output: Count,
    reasoning: Count,
    #[serde(deserialize_with = "object")]
    cache: Option<Cache>,
}

#[derive(Debug, Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct Cache {
    read: Count,
    write: Count,
}

impl RawTokens {
    fn read(&self) -> Result<Tokens, NotACount> {
        let cache = self.cache.unwrap_or_default();
        let (input, output, reasoning) = (self.input.get()?, self.output.get()?, self.reasoning.get()?);
        let (read, written) = (cache.read.get()?, cache.write.get()?);
        let contains_reasoning = self.total.get()? == input + output + read + written;
        Ok(Tokens {
            input,
            output: if contains_reasoning { output } else { output + reasoning },
            cache_read: read,
            cache_write_5m: written,
            ..Tokens::default()
        })
    }
}
