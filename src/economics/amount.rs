//! What calls add up to, and the projections of a sum that a record shows.

use crate::pricing::Usd;
use crate::usage::{Credits, Tokens};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::{AddAssign, SubAssign};

/// A sum over calls, or the signed difference of two sums. Every part adds, so differences add up again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Tokens of all calls.
    pub tokens: Tokens,
    /// What the priced calls cost.
    pub cost: Usd,
    /// How many calls.
    pub calls: i64,
    /// Tokens of calls that have no price: not part of `cost`.
    pub unpriced_tokens: i64,
    /// Calls of which the host writes no counts: not part of `tokens`, and without a price.
    pub uncounted_calls: i64,
    /// What was charged in credits; `None` where no call was.
    pub credits: Option<Credits>,
}

impl Amount {
    /// One call, at its price if it has one.
    #[must_use]
    pub fn of_call(tokens: Tokens, cost: Option<Usd>) -> Self {
        let unpriced_tokens = if cost.is_none() { tokens.total() } else { 0 };
        Self { tokens, cost: cost.unwrap_or_default(), calls: 1, unpriced_tokens, ..Self::default() }
    }

    /// One call whose tokens are not known.
    #[must_use]
    pub fn of_uncounted_call() -> Self {
        Self { calls: 1, uncounted_calls: 1, ..Self::default() }
    }

    /// What is known of the tokens: those of the calls that were counted, `None` when no call was (never zero, DESIGN §7).
    #[must_use]
    pub fn known_tokens(&self) -> Option<Tokens> {
        let counted = !self.tokens.is_zero() || self.calls != self.uncounted_calls;
        (counted || (self.calls == 0 && self.credits.is_none())).then_some(self.tokens)
    }

    /// What is known of the cost: the sum of the priced part, `None` when no part is priced (never zero, DESIGN §7).
    #[must_use]
    pub fn known_cost(&self) -> Option<Usd> {
        let all_priced = self.is_complete() && self.known_tokens().is_some();
        (all_priced || self.cost != Usd::default()).then_some(self.cost)
    }

    /// Whether every call is counted, and every token priced.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.unpriced_tokens == 0 && self.uncounted_calls == 0
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.cost += other.cost;
        self.calls += other.calls;
        self.unpriced_tokens += other.unpriced_tokens;
        self.uncounted_calls += other.uncounted_calls;
        if let Some(credits) = other.credits {
            *self.credits.get_or_insert_default() += credits;
        }
    }
}

impl SubAssign for Amount {
    fn sub_assign(&mut self, other: Self) {
        self.tokens -= other.tokens;
        self.cost -= other.cost;
        self.calls -= other.calls;
        self.unpriced_tokens -= other.unpriced_tokens;
        self.uncounted_calls -= other.uncounted_calls;
        if let Some(credits) = other.credits {
            let left = self.credits.get_or_insert_default();
            *left += -credits;
            // What was taken off whole is as if it had never been there.
            self.credits = self.credits.filter(|left| *left != Credits::default());
        }
    }
}

/// The stored form: `[input, output, write 5m, write 1h, read, searches, calls, unpriced tokens, cost in pico-USD]`, then
/// `uncounted calls` and `millionths of a credit` as far as there are any.
const STORED: usize = 9;

impl Serialize for Amount {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let cost = i64::try_from(self.cost.pico()).map_err(serde::ser::Error::custom)?;
        let mut stored = Vec::with_capacity(STORED + 2);
        stored.extend(self.tokens.to_array());
        stored.extend([self.calls, self.unpriced_tokens, cost]);
        if self.uncounted_calls != 0 || self.credits.is_some() {
            stored.push(self.uncounted_calls);
        }
        stored.extend(self.credits.map(Credits::micros));
        stored.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let stored = Vec::<i64>::deserialize(from)?;
        let Some((first, more)) = stored.split_first_chunk::<STORED>() else {
            return Err(serde::de::Error::invalid_length(stored.len(), &"at least nine numbers"));
        };
        let [input, output, write_5m, write_1h, read, searches, calls, unpriced_tokens, cost] = *first;
        Ok(Self {
            tokens: Tokens::from_array([input, output, write_5m, write_1h, read, searches]),
            cost: Usd::from_pico(cost.into()),
            calls,
            unpriced_tokens,
            uncounted_calls: more.first().copied().unwrap_or(0),
            credits: more.get(1).copied().map(Credits::from_micros),
        })
    }
}

/// Amounts by name. An amount that comes to nothing is not kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parts(BTreeMap<String, Amount>);

impl Parts {
    /// The parts, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Amount)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), amount))
    }

    /// One part.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Amount> {
        self.0.get(name)
    }

    /// Adds to one part.
    pub fn add(&mut self, name: &str, amount: Amount) {
        self.change(name, |part| *part += amount);
    }

    /// Takes from one part.
    pub fn subtract(&mut self, name: &str, amount: Amount) {
        self.change(name, |part| *part -= amount);
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Amount)) {
        let mut part = self.0.remove(name).unwrap_or_default();
        change(&mut part);
        if part != Amount::default() {
            self.0.insert(name.to_owned(), part);
        }
    }
}

/// One sum and its projections. `by_model` and `by_phase` each add up to `sum`, exactly; `by_agent` holds only what
/// subagents did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// All of it.
    pub sum: Amount,
    /// By canonical model id.
    pub by_model: Parts,
    /// By phase of the task.
    pub by_phase: Parts,
    /// By subagent, as the host names it.
    pub by_agent: Parts,
}

/// Where an amount belongs.
#[derive(Debug, Clone, Copy)]
pub struct Share<'a> {
    /// Canonical model id.
    pub model: &'a str,
    /// Phase of the task.
    pub phase: &'a str,
    /// The subagent, if one did it.
    pub agent: Option<&'a str>,
}

impl Totals {
    /// Adds an amount to the sum and to each projection.
    pub fn add(&mut self, share: Share<'_>, amount: Amount) {
        self.sum += amount;
        self.by_model.add(share.model, amount);
        self.by_phase.add(share.phase, amount);
        if let Some(agent) = share.agent {
            self.by_agent.add(agent, amount);
        }
    }

    /// Takes an amount from the sum and from each projection.
    pub fn subtract(&mut self, share: Share<'_>, amount: Amount) {
        self.sum -= amount;
        self.by_model.subtract(share.model, amount);
        self.by_phase.subtract(share.phase, amount);
        if let Some(agent) = share.agent {
            self.by_agent.subtract(agent, amount);
        }
    }

    /// Takes all of `other`.
    pub fn subtract_all(&mut self, other: &Self) {
        self.sum -= other.sum;
        let pairs = [
            (&mut self.by_model, &other.by_model),
            (&mut self.by_phase, &other.by_phase),
            (&mut self.by_agent, &other.by_agent),
        ];
        for (own, others) in pairs {
            for (name, amount) in others.iter() {
                own.subtract(name, *amount);
            }
        }
    }

    /// Whether nothing is left in any projection.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credits(value: f64) -> Option<Credits> {
        Credits::of(value)
    }

    #[test]
    fn what_is_stored_is_read_back_and_so_is_what_an_earlier_version_stored() {
        let counted = Amount::of_call(Tokens { input: 1, output: 2, ..Tokens::default() }, None);
        let charged = Amount { credits: credits(0.25), ..Amount::of_uncounted_call() };
        for amount in [Amount::default(), counted, Amount::of_uncounted_call(), charged] {
            let stored = serde_json::to_string(&amount).unwrap();
            assert_eq!(serde_json::from_str::<Amount>(&stored).unwrap(), amount, "{stored}");
        }
        assert_eq!(serde_json::from_str::<Amount>("[1,2,0,0,0,0,1,3,0]").unwrap(), counted);
        assert!(serde_json::from_str::<Amount>("[1,2]").is_err());
    }

    #[test]
    fn tokens_are_unknown_where_no_call_was_counted_and_known_to_be_none_where_there_was_no_call() {
        let mut sum = Amount::default();
        assert_eq!((sum.known_tokens(), sum.known_cost()), (Some(Tokens::default()), Some(Usd::default())));
        let turn = Amount { credits: credits(0.25), ..Amount::of_uncounted_call() };
        sum += turn;
        assert_eq!((sum.known_tokens(), sum.known_cost(), sum.is_complete()), (None, None, false));
        let counted = Tokens { input: 5, ..Tokens::default() };
        sum += Amount::of_call(counted, Some(Usd::from_pico(7)));
        assert_eq!((sum.known_tokens(), sum.known_cost()), (Some(counted), Some(Usd::from_pico(7))));
        assert!(!sum.is_complete());
        sum -= Amount::of_call(counted, Some(Usd::from_pico(7)));
        sum -= turn;
        assert_eq!(sum, Amount::default(), "nothing is left, not even no credits");
    }
}
