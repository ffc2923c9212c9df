//! What a runtime that sells credits charged, where it writes no tokens.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::{AddAssign, Neg};

/// Credits in millionths; a difference of two sums may be negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Credits(i64);

impl Credits {
    /// More credits than this are a broken line.
    const MAX: f64 = 1e9;

    /// Credits as a runtime writes them; `None` for what is no amount.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "bounded first")]
    pub fn of(value: f64) -> Option<Self> {
        (0.0..=Self::MAX).contains(&value).then(|| Self((value * 1e6).round() as i64))
    }

    /// Millionths of a credit: how they are stored.
    #[must_use]
    pub fn micros(self) -> i64 {
        self.0
    }

    /// What [`micros`](Self::micros) was made of.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        Self(micros)
    }
}

impl AddAssign for Credits {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Neg for Credits {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl fmt::Display for Credits {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", self.0 as f64 / 1e6)
    }
}

impl Serialize for Credits {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.0 as f64 / 1e6)
    }
}

impl<'de> Deserialize<'de> for Credits {
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and is bounded where it is written")]
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        f64::deserialize(from).map(|value| Self((value * 1e6).round() as i64))
    }
}
