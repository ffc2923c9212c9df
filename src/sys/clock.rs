//! The wall clock, in epoch milliseconds (UTC).

use super::calendar;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The frozen time, or [`RUNNING`].
static FROZEN: AtomicI64 = AtomicI64::new(RUNNING);
const RUNNING: i64 = i64::MIN;

/// Returns the time now in epoch milliseconds; negative before 1970.
#[must_use]
pub fn now_ms() -> i64 {
    match FROZEN.load(Ordering::Relaxed) {
        RUNNING => system_ms(),
        frozen => frozen,
    }
}

/// Stops the clock of this process at `ms`, so that a run can be repeated to the byte.
pub fn freeze(ms: i64) {
    FROZEN.store(ms, Ordering::Relaxed);
}

#[expect(clippy::disallowed_methods, reason = "this is the one door to the clock")]
fn system_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN + 1, |ms| -ms),
    }
}

/// Formats epoch milliseconds as RFC 3339 UTC with milliseconds, or `None` outside the years that it covers.
#[must_use]
pub fn rfc3339(ms: i64) -> Option<String> {
    calendar::print(ms)
}

/// Parses an RFC 3339 time (with any offset) to epoch milliseconds.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    calendar::parse(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_round_trip_at_millisecond_precision() {
        assert_eq!(parse_rfc3339("1970-01-01T00:00:01.5Z"), Some(1500));
        assert_eq!(parse_rfc3339("1970-01-01T01:00:00+01:00"), Some(0));
        assert_eq!(parse_rfc3339("1970-02-30T00:00:00Z"), None);
        assert_eq!(rfc3339(1500).as_deref(), Some("1970-01-01T00:00:01.500Z"));
    }
}
