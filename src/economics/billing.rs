//! New lines to billed calls: what changed since each call was billed last, at what price, in which phase.
//!
//! A call that was billed before and is known better now is a correction: the old state is taken off, the new one
//! added. Amounts are signed and never clamped (transcript formats §1, Hooks and scoping).

use super::amount::{Amount, Share, Totals};
use super::reading::Reading;
use super::session::{BilledCall, Ownership, Session};
use crate::journal::label::label;
use crate::pricing::{Basis, Registry, Request};
use crate::usage::call::Traits;
use crate::usage::{Call, Credits};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What a reading adds to the bill of its session.
#[derive(Debug, Default)]
pub struct Bill {
    /// The calls in their new state.
    pub calls: Vec<BilledCall>,
    /// The price list of the latest priced call.
    pub pricing_version: Option<String>,
    /// Canonical ids without a price.
    pub unpriced_models: BTreeSet<String>,
    /// Canonical ids priced at the price list's own default rate.
    pub default_priced_models: BTreeSet<String>,
    /// Calls priced at the current list for want of a timestamp.
    pub calls_without_timestamp: u64,
    /// Calls older than the first price list.
    pub calls_before_first_prices: u64,
    /// The model of each subagent's latest call.
    pub agent_models: BTreeMap<String, String>,
}

impl Bill {
    /// Bills the session's own calls of `reading` into `pending`. `phase_at` names the phase of a new call.
    ///
    /// # Errors
    /// When the session's file or the index of billed calls cannot be read.
    pub fn of(
        reading: &mut Reading,
        session: &mut Session,
        registry: &Registry,
        phase_at: impl Fn(Option<i64>) -> String,
        pending: &mut Totals,
    ) -> io::Result<Self> {
        let mut bill = Self::default();
        let own: Vec<Call> = {
            let is_own = |call: &&Call| reading.is_own(reading.name(call.session));
            reading.ledger.calls().iter().filter(is_own).copied().collect()
        };
        for call in own {
            let before = match session.ownership(call.key)? {
                Ownership::Foreign => continue,
                Ownership::New => None,
                Ownership::Own(before) => Some(*before),
            };
            let call = match &before {
                None => call,
                Some(before) => reading.ledger.observe(&before.observation()),
            };
            let phase = before.as_ref().map_or_else(|| phase_at(call.at_ms), |before| before.phase.clone());
            let after = bill.price(reading, registry, &call, phase);
            if before.as_ref().is_some_and(|before| before.says_the_same(&after)) {
                continue;
            }
            if let Some(before) = &before {
                pending.subtract(before.share(), before.amount());
            }
            pending.add(after.share(), after.amount());
            bill.calls.push(after);
        }
        Ok(bill)
    }

    fn price(&mut self, reading: &Reading, registry: &Registry, call: &Call, phase: String) -> BilledCall {
        let model = reading.name(call.model).to_owned();
        let agent = label(reading.name(call.agent)).into_owned();
        let summed_as = label(&registry.canonical_id(&model)).into_owned();
        let priced = Request::of_call(call, &model).and_then(|request| registry.price(&request));
        match &priced {
            None => drop(self.unpriced_models.insert(summed_as.clone())),
            Some(priced) => {
                self.calls_without_timestamp += u64::from(priced.basis == Basis::CurrentNoTimestamp);
                self.calls_before_first_prices += u64::from(priced.basis == Basis::FirstVersion);
                if priced.default_rate {
                    self.default_priced_models.insert(summed_as.clone());
                }
                self.pricing_version = self.pricing_version.take().max(Some(priced.version.to_owned()));
            }
        }
        if !agent.is_empty() {
            self.agent_models.insert(agent.clone(), summed_as.clone());
        }
        BilledCall {
            key: call.key,
            model,
            agent,
            at_ms: call.at_ms,
            tokens: call.tokens.to_array(),
            traits: call.traits.bits(),
            phase,
            summed_as,
            credits_micro: call.credits.map(Credits::micros),
            charge_pico: priced.and_then(|priced| i64::try_from(priced.cost.pico()).ok()),
        }
    }
}

impl BilledCall {
    fn share(&self) -> Share<'_> {
        let agent = Some(self.agent.as_str()).filter(|agent| !agent.is_empty());
        Share { model: &self.summed_as, phase: &self.phase, agent }
    }

    /// Whether nothing that is billed differs. A new price list alone does not change a bill that was sent.
    fn says_the_same(&self, other: &Self) -> bool {
        let said = |call: &Self| (call.tokens, call.credits_micro, call.traits);
        said(self) == said(other) && self.model == other.model
    }

    fn amount(&self) -> Amount {
        let counted = !Traits::from_bits(self.traits).has(Traits::UNCOUNTED);
        let amount =
            if counted { Amount::of_call(self.tokens(), self.charge()) } else { Amount::of_uncounted_call() };
        Amount { credits: self.credits(), ..amount }
    }
}
