//! The disjoint buckets in which a request is billed (transcript formats §0).

use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Token counts of one call, of a sum of calls, or of a signed difference of two sums. The buckets never overlap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Uncached, unwritten prompt tokens.
    pub input: i64,
    /// All billed output tokens, reasoning included.
    pub output: i64,
    /// Cache writes at the default time to live.
    pub cache_write_5m: i64,
    /// Cache writes kept for one hour.
    pub cache_write_1h: i64,
    /// Cache hits.
    pub cache_read: i64,
    /// Server-side web searches; requests, not tokens.
    pub web_search_requests: i64,
}

impl Tokens {
    /// The whole prompt of the request: what long-context tiers are chosen by (pricing reference §1).
    #[must_use]
    pub fn prompt(&self) -> i64 {
        self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h
    }

    /// Tokens of every kind; searches are not tokens.
    #[must_use]
    pub fn total(&self) -> i64 {
        self.prompt() + self.output
    }

    /// Whether every bucket is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// The larger value of each bucket: two snapshots of one call are one call.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.zip(other, i64::max)
    }

    /// The buckets in the order of their fields: how they are stored.
    #[must_use]
    pub fn to_array(self) -> [i64; 6] {
        let Self { input, output, cache_write_5m, cache_write_1h, cache_read, web_search_requests } = self;
        [input, output, cache_write_5m, cache_write_1h, cache_read, web_search_requests]
    }

    /// What [`to_array`](Self::to_array) was made of.
    #[must_use]
    pub fn from_array(buckets: [i64; 6]) -> Self {
        let [input, output, cache_write_5m, cache_write_1h, cache_read, web_search_requests] = buckets;
        Self { input, output, cache_write_5m, cache_write_1h, cache_read, web_search_requests }
    }

    fn zip(self, other: Self, f: impl Fn(i64, i64) -> i64) -> Self {
        Self {
            input: f(self.input, other.input),
            output: f(self.output, other.output),
            cache_write_5m: f(self.cache_write_5m, other.cache_write_5m),
            cache_write_1h: f(self.cache_write_1h, other.cache_write_1h),
            cache_read: f(self.cache_read, other.cache_read),
            web_search_requests: f(self.web_search_requests, other.web_search_requests),
        }
    }
}

impl Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.zip(other, i64::saturating_add)
    }
}

impl Sub for Tokens {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.zip(other, i64::saturating_sub)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Tokens {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
