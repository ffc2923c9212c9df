//! The price of one call (pricing reference §1): integer arithmetic, rounded once, half away from zero.
//!
//! ```text
//! ( Σ bucket × rate of the tier that the whole prompt is in ) × fast or batch × US-only × regional
//!   + web searches × fee
//! ```

use super::model_id::{self, Region};
use super::money::{Usd, div_round};
use super::registry::{Basis, Registry};
use super::row::{Factor, Rate, Rates, Row, SCALE};
use crate::usage::call::Traits;
use crate::usage::{Call, Tokens};

/// The service that the request was billed as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Speed {
    /// The list price.
    #[default]
    Standard,
    /// Fast or priority service: the row's `fast`.
    Fast,
    /// Batch or flex service: half, for every vendor.
    Batch,
}

/// One billed request to a model.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The model as the host wrote it; empty when it wrote none.
    pub model: &'a str,
    /// When, in epoch milliseconds.
    pub at_ms: Option<i64>,
    /// The buckets of this one request.
    pub tokens: &'a Tokens,
    /// The service that it was billed as.
    pub speed: Speed,
    /// Whether it was bound to inference in the US (`inference_geo: "us"`).
    pub us_only: bool,
    /// Whether the buckets are those of several requests, of which none tells its own prompt: the base rates hold.
    pub summed: bool,
}

impl<'a> Request<'a> {
    /// How a call that was read asks for its price; `model` is its model as the runtime spells it. `None` when the
    /// runtime wrote no counts: then nobody knows what it cost.
    #[must_use]
    pub fn of_call(call: &'a Call, model: &'a str) -> Option<Self> {
        if call.traits.has(Traits::UNCOUNTED) {
            return None;
        }
        let speed = if call.traits.has(Traits::FAST) {
            Speed::Fast
        } else if call.traits.has(Traits::BATCH) {
            Speed::Batch
        } else {
            Speed::Standard
        };
        Some(Self {
            model,
            at_ms: call.at_ms,
            tokens: &call.tokens,
            speed,
            us_only: call.traits.has(Traits::US_ONLY),
            summed: call.traits.has(Traits::SUMMED),
        })
    }
}

/// What a request cost, and by which rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priced<'a> {
    /// The cost.
    pub cost: Usd,
    /// The registry version.
    pub version: &'a str,
    /// How the version was chosen; other than [`Basis::InForce`] is said in the record's diagnostics.
    pub basis: Basis,
    /// Whether the model is unlisted and the registry's own `default` was used; the record says so.
    pub default_rate: bool,
}

impl Registry {
    /// Prices one request. `None` is an unknown price, never zero: a model that is not listed (or not named), fast
    /// mode on a row without a fast rate, tokens in a bucket without a rate, or a sum beyond any money.
    #[must_use]
    pub fn price(&self, request: &Request<'_>) -> Option<Priced<'_>> {
        let model = self.model_id(request.model);
        if model.id == model_id::UNKNOWN {
            return None;
        }
        let table = self.table(request.at_ms)?;
        let (cost, default_rate) = if table.is_free(request.model.trim(), &model.id) {
            (Usd::ZERO, false)
        } else {
            let listed = table.row(&model.id);
            let row = listed.or_else(|| table.default_row())?;
            let speed = if model.fast { Speed::Fast } else { request.speed };
            let factors = [
                match speed {
                    Speed::Standard => None,
                    Speed::Fast => Some(row.fast?),
                    Speed::Batch => Some(Factor::HALF),
                },
                row.us_geo.filter(|_| request.us_only),
                (model.region == Region::Regional).then(|| regional_premium(row, &model.id)).flatten(),
            ];
            let tokens = request.tokens;
            let prompt = if request.summed { 0 } else { tokens.prompt() };
            let base = base_cost(row.rates_for(prompt), tokens)?;
            (multiplied(base, &factors)? + search_fee(table.web_search_per_1000(), tokens), listed.is_none())
        };
        Some(Priced { cost, version: table.version(), basis: table.basis, default_rate })
    }
}

/// The sum over the buckets in pico-dollars, before any multiplier.
fn base_cost(rates: &Rates, tokens: &Tokens) -> Option<i128> {
    let buckets = [
        (tokens.input, Some(rates.input)),
        (tokens.output, Some(rates.output)),
        (tokens.cache_read, rates.cache_read),
        (tokens.cache_write_5m, rates.cache_write_5m),
        (tokens.cache_write_1h, rates.cache_write_1h),
    ];
    buckets
        .into_iter()
        .filter(|(count, _)| *count != 0)
        .try_fold(0_i128, |sum, (count, rate)| sum.checked_add(i128::from(count).checked_mul(rate?.pico())?))
}

fn multiplied(base: i128, factors: &[Option<Factor>]) -> Option<Usd> {
    let (product, scale) =
        factors.iter().flatten().try_fold((base, 1_i128), |(product, scale), factor| {
            Some((product.checked_mul(factor.millionths())?, scale.checked_mul(SCALE)?))
        })?;
    Some(Usd::from_pico(div_round(product, scale)))
}

/// Searches are a fee per request: no speed or place multiplies them. USD per thousand in millionths is a thousandth
/// of the pico-dollars per search.
fn search_fee(per_1000: Rate, tokens: &Tokens) -> Usd {
    Usd::from_pico(i128::from(tokens.web_search_requests) * per_1000.pico() * 1_000)
}

/// The row's own premium; for a registry that does not know the key, Bedrock's on Claude from generation 4.5 on.
fn regional_premium(row: &Row, id: &str) -> Option<Factor> {
    let charged = || model_id::claude_generation(id).is_some_and(|generation| generation >= (4, 5));
    row.regional.or_else(|| charged().then_some(Factor::BEDROCK_REGIONAL))
}

#[cfg(test)]
#[path = "price_tests.rs"]
mod tests;
