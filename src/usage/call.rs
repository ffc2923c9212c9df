//! One billed request, what a transcript line says of it, and the rule that merges the two.

use super::credits::Credits;
use super::tokens::Tokens;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The identity of a call: a hash of the runtime's own identity for it, never of a request id (gateways omit it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey(pub [u8; 16]);

impl CallKey {
    /// Hashes `parts`, joined by NUL, to a key. Keys are stored, so the hash is a fixed one.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
            hasher.update([0]);
        }
        let digest = hasher.finalize();
        let mut key = [0; 16];
        for (to, from) in key.iter_mut().zip(digest) {
            *to = from;
        }
        Self(key)
    }
}

/// What one transcript line says about one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation<'a> {
    /// Which call.
    pub key: CallKey,
    /// The session that made the call, as the line names it.
    pub session: Option<Cow<'a, str>>,
    /// The model as the runtime spells it; `None` when the line has none.
    pub model: Option<Cow<'a, str>>,
    /// The subagent that made the call, if one did.
    pub agent: Option<Cow<'a, str>>,
    /// Epoch milliseconds.
    pub at_ms: Option<i64>,
    /// The counters of this snapshot.
    pub tokens: Tokens,
    /// What was charged in credits, where the runtime says so.
    pub credits: Option<Credits>,
    /// Circumstances that the price depends on, and the standing of the snapshot.
    pub traits: Traits,
}

/// Yes-or-no facts of a call. When observations merge, [`Traits::MAIN_CHAIN`] decides whose counters stand and every
/// other fact stays true once it was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traits(u8);

impl Traits {
    /// The line belongs to the conversation itself, not to a side chain that may replay it.
    pub const MAIN_CHAIN: Self = Self(1);
    /// The request ran in fast mode.
    pub const FAST: Self = Self(2);
    /// The request was confined to inference in the US.
    pub const US_ONLY: Self = Self(4);
    /// The request ran at batch rates.
    pub const BATCH: Self = Self(8);
    /// The runtime wrote the final count; without it the counters are a lower bound.
    pub const FINAL: Self = Self(16);
    /// The runtime wrote no counts: the call's tokens are unknown, not zero.
    pub const UNCOUNTED: Self = Self(32);
    /// The counters are those of several requests: no tier can be chosen by their prompt.
    pub const SUMMED: Self = Self(64);

    /// Whether all of `other` hold.
    #[must_use]
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These facts and, if `holds`, also `other`.
    #[must_use]
    pub fn with(self, other: Self, holds: bool) -> Self {
        if holds { Self(self.0 | other.0) } else { self }
    }

    /// The stored form.
    #[must_use]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Reads the stored form.
    #[must_use]
    pub fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
}

/// A name kept once per ledger. [`Name::NONE`] stands for "not said".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Name(pub(super) u32);

impl Name {
    /// No name was given.
    pub const NONE: Self = Self(0);
}

/// The merged state of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Its identity.
    pub key: CallKey,
    /// Epoch milliseconds of its first line.
    pub at_ms: Option<i64>,
    /// Its counters.
    pub tokens: Tokens,
    /// What was charged in credits, where the runtime says so.
    pub credits: Option<Credits>,
    /// The session that owns it.
    pub session: Name,
    /// Its model as the runtime spells it.
    pub model: Name,
    /// The subagent that made it.
    pub agent: Name,
    /// Its circumstances.
    pub traits: Traits,
}

impl Call {
    /// Merges two observations of one call (transcript formats §1, exact dedupe): if exactly one of them is on the
    /// main chain its counters stand, otherwise each counter is the larger one; owner, model, agent and time come
    /// together from the earliest line that names a model. Nothing is filled in from another line: what the first
    /// of three would take from the second or the third would depend on their order. `name_order` breaks ties.
    #[must_use]
    pub fn merge(&self, other: &Self, name_order: impl Fn(Name, Name) -> std::cmp::Ordering) -> Self {
        let main = (self.traits.has(Traits::MAIN_CHAIN), other.traits.has(Traits::MAIN_CHAIN));
        let tokens = match main {
            (true, false) => self.tokens,
            (false, true) => other.tokens,
            _ => self.tokens.max(other.tokens),
        };
        let rank = |call: &Self| (call.model == Name::NONE, call.at_ms.is_none(), call.at_ms);
        let order = rank(self)
            .cmp(&rank(other))
            .then_with(|| (self.session == Name::NONE).cmp(&(other.session == Name::NONE)))
            .then_with(|| name_order(self.session, other.session))
            .then_with(|| name_order(self.model, other.model))
            .then_with(|| name_order(self.agent, other.agent));
        let first = if order.is_le() { self } else { other };
        let credits = self.credits.max(other.credits);
        Self { tokens, credits, traits: Traits(self.traits.0 | other.traits.0), ..*first }
    }
}
