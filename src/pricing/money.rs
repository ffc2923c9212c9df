//! US dollars as a whole number of pico-dollars (1e-12 USD): sums are exact, in any order.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const DECIMALS: u32 = 12;
const PICO_PER_USD: f64 = 1e12;

/// An amount of US dollars, or a signed difference of two amounts.
///
/// In JSON it is a number in USD: the nearest `f64`. Below 1,125 USD (2^50 pico-dollars) it goes out and back exact to
/// the pico-dollar; above, `f64` and its decimal text leave too few digits for that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(i128);

impl Usd {
    /// Nothing to pay. Not the same as an unknown price, which is `None`.
    pub const ZERO: Self = Self(0);

    /// An amount given in pico-dollars.
    #[must_use]
    pub const fn from_pico(pico: i128) -> Self {
        Self(pico)
    }

    /// The amount in pico-dollars.
    #[must_use]
    pub const fn pico(self) -> i128 {
        self.0
    }
}

impl Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Usd {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Usd {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Usd {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// Four decimals, or as many as the precision asks for (at most twelve): `$0.0498`, `-$1.50` with `{:.2}`.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().map_or(4, |p| u32::try_from(p).unwrap_or(DECIMALS).min(DECIMALS));
        let shown = div_round(self.0, 10_i128.pow(DECIMALS - decimals));
        let unit = 10_u128.pow(decimals);
        let (whole, part) = (shown.unsigned_abs() / unit, shown.unsigned_abs() % unit);
        let sign = if shown < 0 { "-" } else { "" };
        match decimals {
            0 => write!(f, "{sign}${whole}"),
            _ => write!(f, "{sign}${whole}.{part:0width$}", width = decimals as usize),
        }
    }
}

/// Divides by a positive `divisor`, rounding half away from zero: the one rounding that money knows.
pub(crate) const fn div_round(value: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (value / divisor, value % divisor);
    if rest.unsigned_abs() < (divisor - rest.abs()).unsigned_abs() {
        quotient
    } else {
        quotient + value.signum()
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / PICO_PER_USD)
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pico = (f64::deserialize(deserializer)? * PICO_PER_USD).round();
        if pico.abs() < 1e36 {
            return Ok(Self(pico as i128));
        }
        Err(de::Error::custom("an amount of money out of range"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn json_is_a_number_in_usd_and_zero_has_no_sign() {
        let json = |pico| serde_json::to_string(&Usd::from_pico(pico)).unwrap();
        assert_eq!(json(430_100_000_000), "0.4301");
        assert_eq!(json(-1_500_000_000_000), "-1.5");
        assert_eq!(serde_json::to_string(&-Usd::ZERO).unwrap(), "0.0");
        assert_eq!(serde_json::from_str::<Usd>("3").unwrap(), Usd::from_pico(3_000_000_000_000));
        assert_eq!(serde_json::from_str::<Usd>("-0.0").unwrap(), Usd::ZERO);
        assert!(serde_json::from_str::<Usd>("1e300").is_err());
        assert!(serde_json::from_str::<Usd>("\"3\"").is_err());
    }

    #[test]
    fn text_rounds_half_away_from_zero() {
        assert_eq!(Usd::from_pico(49_800_000_000).to_string(), "$0.0498");
        assert_eq!(Usd::from_pico(50_000_000).to_string(), "$0.0001");
        assert_eq!(Usd::from_pico(49_999_999).to_string(), "$0.0000");
        assert_eq!(Usd::from_pico(-49_999_999).to_string(), "$0.0000");
        assert_eq!(format!("{:.2}", Usd::from_pico(-1_005_000_000_000)), "-$1.01");
        assert_eq!(format!("{:.0}", Usd::from_pico(2_500_000_000_000)), "$3");
        assert_eq!(format!("{:.12}", Usd::from_pico(1)), "$0.000000000001");
    }

    #[test]
    fn sums_and_differences_are_exact() {
        let total: Usd = (0..10).map(|_| Usd::from_pico(100_000_000_000)).sum();
        assert_eq!(total, Usd::from_pico(1_000_000_000_000));
        assert_eq!(total - Usd::from_pico(1) - total, Usd::from_pico(-1));
    }

    proptest! {
        #[test]
        fn json_round_trips_below_a_thousand_dollars(pico in -(1_i64 << 50)..(1_i64 << 50)) {
            let amount = Usd::from_pico(pico.into());
            let text = serde_json::to_string(&amount).unwrap();
            prop_assert_eq!(serde_json::from_str::<Usd>(&text).unwrap(), amount);
        }
    }
}
