//! One row of a registry: the rates of one model in one version (schema: `schemas/pricing.schema.json`).

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::money::div_round;

/// A rate: whole pico-dollars per token, which is USD per million tokens to six decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(i64);

/// A multiplier in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Factor(i64);

/// Millionths in one: the scale of [`Rate`] and [`Factor`].
pub(crate) const SCALE: i128 = 1_000_000;

impl Rate {
    /// A dearer rate is a mistake of unit. The dearest listed model was 600 USD.
    const MAX_USD_PER_MILLION: f64 = 10_000.0;

    /// A rate in pico-dollars per token.
    #[must_use]
    pub const fn from_pico(pico: i64) -> Self {
        Self(pico)
    }

    /// Pico-dollars per token.
    #[must_use]
    pub fn pico(self) -> i128 {
        self.0.into()
    }

    /// This rate times `numerator / denominator`, a whole pico-dollar again; `None` without a denominator.
    fn scaled(self, numerator: i128, denominator: i128) -> Option<Self> {
        let product = (denominator > 0).then(|| self.pico().checked_mul(numerator))??;
        i64::try_from(div_round(product, denominator)).ok().map(Self)
    }
}

impl Factor {
    const MAX: f64 = 100.0;

    /// One half: what batch and flex requests cost (pricing reference §2, §3).
    pub const HALF: Self = Self(500_000);
    /// The premium of a regional Bedrock profile (pricing reference §2).
    pub const BEDROCK_REGIONAL: Self = Self(1_100_000);

    /// The multiplier in millionths.
    #[must_use]
    pub fn millionths(self) -> i128 {
        self.0.into()
    }
}

/// A decimal of at most six places becomes its exact integer: the error of the nearest `f64` is far below one half.
impl TryFrom<f64> for Rate {
    type Error = String;
    fn try_from(usd: f64) -> Result<Self, String> {
        match (0.0..=Self::MAX_USD_PER_MILLION).contains(&usd) {
            true => Ok(Self(to_millionths(usd))),
            false => Err(format!("a rate must be 0 to {} USD, not {usd}", Self::MAX_USD_PER_MILLION)),
        }
    }
}

impl TryFrom<f64> for Factor {
    type Error = String;
    fn try_from(value: f64) -> Result<Self, String> {
        match to_millionths(value) {
            millionths @ 1.. if value <= Self::MAX => Ok(Self(millionths)),
            _ => Err(format!("a multiplier must be above 0 and at most {}, not {value}", Self::MAX)),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the callers bound the value; a cast never wraps a float"
)]
fn to_millionths(value: f64) -> i64 {
    (value * 1e6).round() as i64
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        from_millionths(rate.0)
    }
}

impl From<Factor> for f64 {
    fn from(factor: Factor) -> Self {
        from_millionths(factor.0)
    }
}

/// Exact: what was bounded on the way in is far below 2^53.
fn from_millionths(value: i64) -> f64 {
    value as f64 / 1e6
}

/// The rates of the five token buckets. A cache rate that nothing states stays `None`: tokens in such a bucket have
/// no known price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub struct Rates {
    /// Uncached input.
    pub input: Rate,
    /// Output, reasoning included.
    pub output: Rate,
    /// Cache hits.
    pub cache_read: Option<Rate>,
    /// Cache writes at the default time to live.
    pub cache_write_5m: Option<Rate>,
    /// Cache writes kept for one hour.
    pub cache_write_1h: Option<Rate>,
}

/// What a version charges for cache traffic where a row does not say, as multiples of the input rate.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct CacheMultipliers {
    write_5m: Option<Factor>,
    write_1h: Option<Factor>,
    read: Option<Factor>,
}

/// The rates of the whole request once its prompt is larger than a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub struct Tier {
    /// The prompt that is still at the rates below; one token more is not.
    pub prompt_above: u64,
    /// The rates above it.
    #[serde(flatten)]
    pub rates: Rates,
}

/// One model's rates as a registry writes them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Row {
    /// The base rates.
    #[serde(flatten)]
    pub rates: Rates,
    /// Fast (priority) mode, on every token bucket; `None`: there is no such mode, or its price is not known.
    pub fast: Option<Factor>,
    /// US-only inference, on every token bucket; `None`: no premium.
    pub us_geo: Option<Factor>,
    /// A regional Bedrock profile, on every token bucket; `None`: the rule of pricing reference §2.
    pub regional: Option<Factor>,
    /// Long-context tiers.
    #[serde(default)]
    pub tiers: Vec<Tier>,
    /// Where the row is from.
    pub source: Option<String>,
}

impl Row {
    /// The row with every cache rate that it leaves out filled in: at base from the version's multipliers; in a tier
    /// at the base row's own ratio to input.
    pub(crate) fn completed(mut self, multipliers: &CacheMultipliers) -> Self {
        let base = &mut self.rates;
        let times_input = |factor: Option<Factor>| base.input.scaled(factor?.millionths(), SCALE);
        base.cache_read = base.cache_read.or_else(|| times_input(multipliers.read));
        base.cache_write_5m = base.cache_write_5m.or_else(|| times_input(multipliers.write_5m));
        base.cache_write_1h = base.cache_write_1h.or_else(|| times_input(multipliers.write_1h));
        let base = *base;
        for Tier { rates, .. } in &mut self.tiers {
            let in_ratio = |rate: Option<Rate>| rate?.scaled(rates.input.pico(), base.input.pico());
            rates.cache_read = rates.cache_read.or_else(|| in_ratio(base.cache_read));
            rates.cache_write_5m = rates.cache_write_5m.or_else(|| in_ratio(base.cache_write_5m));
            rates.cache_write_1h = rates.cache_write_1h.or_else(|| in_ratio(base.cache_write_1h));
        }
        self
    }

    /// The rates for a request with this whole prompt: the highest tier whose threshold it exceeds, else the base.
    #[must_use]
    pub fn rates_for(&self, prompt: i64) -> &Rates {
        let exceeded = |tier: &&Tier| u64::try_from(prompt).is_ok_and(|prompt| prompt > tier.prompt_above);
        let highest = self.tiers.iter().filter(exceeded).max_by_key(|tier| tier.prompt_above);
        highest.map_or(&self.rates, |tier| &tier.rates)
    }

    /// Whether the row gives the model away.
    pub(crate) fn is_free(&self) -> bool {
        self.rates.input.0 == 0 && self.rates.output.0 == 0
    }
}

/// A row that is parsed when it is first priced: a hook prices a handful of calls and lives for milliseconds.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Box<RawValue>")]
pub(crate) struct LazyRow {
    text: Box<RawValue>,
    row: OnceLock<Option<Row>>,
}

impl From<Box<RawValue>> for LazyRow {
    fn from(text: Box<RawValue>) -> Self {
        Self { text, row: OnceLock::new() }
    }
}

impl LazyRow {
    /// Parses the row: how a registry from outside is validated.
    pub(crate) fn parse(&self) -> serde_json::Result<Row> {
        serde_json::from_slice(self.text.get().as_bytes())
    }

    /// The completed row; `None` when its text is not a row, which validation rules out.
    pub(crate) fn get(&self, multipliers: &CacheMultipliers) -> Option<&Row> {
        self.row.get_or_init(|| Some(self.parse().ok()?.completed(multipliers))).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(json: &str) -> serde_json::Result<Row> {
        serde_json::from_str(json)
    }

    #[test]
    fn decimals_become_exact_integers() {
        for (text, pico) in
            [("0.1", 100_000), ("3.125", 3_125_000), ("0.000001", 1), ("10000", 10_000_000_000)]
        {
            assert_eq!(serde_json::from_str::<Rate>(text).unwrap(), Rate(pico), "{text}");
        }
        assert_eq!(serde_json::from_str::<Factor>("1.1").unwrap(), Factor(1_100_000));
    }

    #[test]
    fn impossible_numbers_are_refused() {
        for text in ["-0.01", "10000.1", "1e400", "NaN", "\"3\"", "null", "[]"] {
            assert!(serde_json::from_str::<Rate>(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "0.0000001", "100.1"] {
            assert!(serde_json::from_str::<Factor>(text).is_err(), "{text}");
        }
        assert!(Rate::try_from(f64::NAN).is_err() && Factor::try_from(f64::NAN).is_err());
        assert!(row(r#"{"input": 1}"#).is_err());
        assert!(row(r#"{"input": 1, "output": 2, "tiers": [{"input": 1, "output": 2}]}"#).is_err());
    }

    #[test]
    fn what_a_row_leaves_out_is_derived_from_its_own_input() {
        let multipliers = serde_json::from_str(r#"{"write_5m": 1.25, "write_1h": 2, "read": 0.1}"#).unwrap();
        let tiered = r#"{"input": 3, "output": 15, "cache_read": 0.15, "tiers": [{"prompt_above": 9, "input": 6, "output": 9}]}"#;
        let row = row(tiered).unwrap().completed(&multipliers);
        let pico = |rate: Option<Rate>| rate.unwrap().pico();
        assert_eq!(pico(row.rates.cache_read), 150_000);
        assert_eq!(pico(row.rates.cache_write_5m), 3_750_000);
        assert_eq!(pico(row.rates.cache_write_1h), 6_000_000);
        let above = row.rates_for(10);
        assert_eq!(pico(above.cache_read), 300_000);
        assert_eq!(pico(above.cache_write_5m), 7_500_000);
        assert_eq!(pico(above.cache_write_1h), 12_000_000);
        assert_eq!(row.rates_for(9), &row.rates);
        assert_eq!(row.rates_for(-1), &row.rates);
    }

    #[test]
    fn the_highest_exceeded_tier_counts_in_any_order() {
        let text = r#"{"input": 1, "output": 1, "tiers": [{"prompt_above": 20, "input": 3, "output": 3},
                       {"prompt_above": 10, "input": 2, "output": 2}]}"#;
        let row = row(text).unwrap().completed(&CacheMultipliers::default());
        let input = |prompt| row.rates_for(prompt).input.pico() / SCALE;
        assert_eq!([input(10), input(11), input(20), input(21)], [1, 2, 2, 3]);
        assert_eq!(row.rates.cache_read, None);
    }
}
