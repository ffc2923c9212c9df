//! A Codex thread: its lines, in order, to calls.
//!
//! 1. `token_count` repeats the thread's counters for displays: only one whose total differs from the one before is a
//!    call, and its last usage is what was billed (ccusage#1288). The total alone tells nothing: on a full context Codex
//!    overwrites it (`fill_to_context_window`).
//! 2. `token_usage_record` is written once per billed response, for compaction too, which `token_count` leaves out
//!    (openai/codex#47003). In a turn that has one, records are the ledger and counts are not.
//! 3. A fork or a subagent begins with a copy of its parent's lines, with old or new times. Lines before the ordinal
//!    that the header names are that copy. Where it names none, lines older than the thread are, and lines of a turn
//!    whose id (a UUIDv7) is older than the thread's. They are the parent's calls, whether or not its rollout is still
//!    there.
//! 4. A call's identity is its response id, else its turn and the total after it: the same in every copy of the rollout,
//!    plain, compressed, archived or forked.
//! 5. Model and service tier belong to the turn. Settings hold from the next turn on.

use super::HOST;
use super::line::{Header, Line, Said, Usage};
use crate::usage::call::{CallKey, Observation, Traits};
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::{Prompt, Receiver};
use crate::usage::tokens::Tokens;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What later lines of a rollout depend on: kept between two reads of a rollout that grows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Thread {
    /// The thread; empty until its header was read.
    pub id: String,
    /// The oldest thread whose header the rollout holds.
    root: String,
    started_ms: Option<i64>,
    has_parent: bool,
    has_copy: bool,
    own_from: Option<i64>,
    turn: String,
    model: String,
    traits: u8,
    /// What [`Said::Settings`] put up for the next turn.
    next_model: String,
    next_traits: u8,
    total: Option<Usage>,
    /// The turn of the last record.
    recorded_turn: String,
    /// Whether this turn has records.
    recorded: bool,
    /// Calls of this turn that a record may still take the place of.
    #[serde(skip)]
    held: Vec<Held>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    key: CallKey,
    at_ms: Option<i64>,
    tokens: Tokens,
    model: String,
}

impl Thread {
    /// A thread whose rollout's name says `id`, which stands until a header says otherwise.
    #[must_use]
    pub fn named(id: &str) -> Self {
        Self { root: id.to_owned(), ..Self::default() }
    }

    /// Takes in the next line.
    pub fn line(&mut self, line: Line<'_>, to: &mut dyn Receiver, met: &mut Diagnostics) {
        let Line { at_ms, ordinal, said } = line;
        match said {
            Said::Header(header) => self.header(header),
            Said::Turn { id, model } => self.turn(id, model, at_ms, ordinal, to),
            Said::Settings { model, tier } => {
                self.next_model = model.map_or_else(String::new, Cow::into_owned);
                self.next_traits = traits_of(tier.as_deref()).bits();
                if self.turn.is_empty() && self.model.is_empty() {
                    self.model.clone_from(&self.next_model);
                    self.traits = self.next_traits;
                }
            }
            Said::Count { total, last } => {
                let Some(total) = total.or(last) else { return };
                let before = self.total.replace(total);
                let inherited = self.inherits(at_ms, ordinal, &self.turn);
                if before == Some(total) || inherited || self.recorded {
                    met.echoes_skipped += 1;
                    return;
                }
                let tokens = last.unwrap_or_else(|| total.since(before.unwrap_or_default())).tokens();
                if !tokens.is_zero() {
                    let scope = if self.turn.is_empty() { &self.root } else { &self.turn };
                    let key = CallKey::of(&[HOST.as_bytes(), b"count", scope.as_bytes(), &total.to_bytes()]);
                    self.held.push(Held { key, at_ms, tokens, model: self.model.clone() });
                }
            }
            Said::Record { thread, turn, response, model, usage } => {
                let turn = turn.unwrap_or(Cow::Borrowed(&self.turn)).into_owned();
                let elsewhere = self.has_parent && thread.is_some_and(|thread| thread != self.id);
                if elsewhere || self.inherits(at_ms, ordinal, &turn) {
                    met.echoes_skipped += 1;
                    return;
                }
                // What is compacted before a turn is written before the turn is, with the turn's id.
                let is_next = uuid_v7_ms(&turn) > uuid_v7_ms(&self.turn) && !self.turn.is_empty();
                if is_next {
                    self.flush(to);
                } else {
                    met.echoes_skipped += self.held.drain(..).len() as u64;
                    self.recorded = true;
                }
                self.recorded_turn = turn;
                let key = CallKey::of(&[HOST.as_bytes(), b"response", response.as_bytes()]);
                let model = model.as_deref().unwrap_or(&self.model);
                to.call(self.observation(key, at_ms, usage.tokens(), model));
            }
            Said::Other => {}
        }
    }

    /// Hands on what no record took the place of: at the end of a turn, and of a read.
    pub fn flush(&mut self, to: &mut dyn Receiver) {
        for Held { key, at_ms, tokens, model } in std::mem::take(&mut self.held) {
            to.call(self.observation(key, at_ms, tokens, &model));
        }
    }

    /// Forgets what waits: a copy of this thread has handed it on.
    pub fn forget_held(&mut self) {
        self.held.clear();
    }

    fn header(&mut self, header: Header<'_>) {
        let id = header.id.unwrap_or_default();
        if !id.is_empty() {
            self.root = id.clone().into_owned();
        }
        if !self.id.is_empty() {
            self.has_copy |= id != self.id;
            return;
        }
        self.id.clone_from(&self.root);
        self.started_ms = header.started_ms;
        self.has_parent = header.has_parent;
        self.own_from = header.own_from;
    }

    fn turn(
        &mut self,
        id: Option<Cow<'_, str>>,
        model: Option<Cow<'_, str>>,
        at_ms: Option<i64>,
        ordinal: Option<i64>,
        to: &mut dyn Receiver,
    ) {
        let id = id.unwrap_or_default();
        let is_new = id.is_empty() || id != self.turn;
        if is_new {
            self.flush(to);
            self.turn = id.into_owned();
            self.recorded = !self.turn.is_empty() && self.turn == self.recorded_turn;
            self.traits = self.next_traits;
        }
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            self.model = model.into_owned();
        } else if !self.next_model.is_empty() {
            self.model.clone_from(&self.next_model);
        }
        if let Some(at_ms) = at_ms
            && is_new
            && !self.inherits(Some(at_ms), ordinal, &self.turn)
        {
            to.prompt(Prompt { session: Some(Cow::Borrowed(self.root_or_id())), at_ms });
        }
    }

    /// Whether a line is a copy of another thread's (rule 3).
    fn inherits(&self, at_ms: Option<i64>, ordinal: Option<i64>, turn: &str) -> bool {
        if let (Some(own_from), Some(ordinal)) = (self.own_from, ordinal) {
            return ordinal < own_from;
        }
        if !self.has_parent && !self.has_copy {
            return false;
        }
        let is_older = at_ms.zip(self.started_ms).is_some_and(|(at, started)| at < started);
        let turn_is_older = match (uuid_v7_ms(turn), uuid_v7_ms(&self.id)) {
            // A thread is made before its first turn; ids of one millisecond can only be a copy's.
            (Some(turn), Some(thread)) => turn < thread || (self.has_copy && turn == thread),
            _ => false,
        };
        is_older || turn_is_older
    }

    fn root_or_id(&self) -> &str {
        if self.id.is_empty() { &self.root } else { &self.id }
    }

    fn observation<'a>(
        &'a self,
        key: CallKey,
        at_ms: Option<i64>,
        tokens: Tokens,
        model: &'a str,
    ) -> Observation<'a> {
        let named = |text: &'a str| Some(text).filter(|text| !text.is_empty()).map(Cow::Borrowed);
        Observation {
            key,
            session: named(self.root_or_id()),
            model: named(model),
            agent: None,
            at_ms,
            tokens,
            traits: Traits::from_bits(self.traits).with(Traits::MAIN_CHAIN, true).with(Traits::FINAL, true),
            credits: None,
        }
    }
}

/// What a service tier means for the price (pricing reference §3).
fn traits_of(tier: Option<&str>) -> Traits {
    Traits::default()
        .with(Traits::FAST, matches!(tier, Some("priority" | "fast")))
        .with(Traits::BATCH, matches!(tier, Some("flex" | "batch")))
}

/// When a UUIDv7 was made, in epoch milliseconds; `None` for any other text.
fn uuid_v7_ms(text: &str) -> Option<i64> {
    let groups: Vec<&str> = text.split('-').collect();
    let [high, low, third, _, _] = groups.as_slice() else { return None };
    let is_v7 = (high.len(), low.len(), third.len()) == (8, 4, 4) && third.starts_with('7');
    is_v7.then(|| i64::from_str_radix(&format!("{high}{low}"), 16).ok())?
}

#[cfg(test)]
mod tests;
