//! The time of an event: an instant in milliseconds, and whether its writer gave whole seconds.
//!
//! Times are compared as instants, never as text: `…:00.500Z` is later than `…:00Z`, though it sorts before it.

use crate::sys::calendar::{MINUTE, milliseconds, minute_ms, two};
use crate::sys::clock;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An instant. Its text form has whole seconds where its writer gave whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Epoch milliseconds.
    pub ms: i64,
    whole_seconds: bool,
}

impl Stamp {
    /// The instant `ms`, in epoch milliseconds.
    #[must_use]
    pub fn at(ms: i64) -> Self {
        Self { ms, whole_seconds: false }
    }

    /// Reads `YYYY-MM-DDTHH:MM:SS[.1-9 digits]Z`, the form that the Console accepts (Console ingest §3), if it is a
    /// real date and time. Digits beyond milliseconds are dropped.
    #[must_use]
    pub fn strict(text: &str) -> Option<Self> {
        Self::of_bytes(text.as_bytes())
    }

    /// As [`Self::strict`].
    #[must_use]
    pub fn of_bytes(text: &[u8]) -> Option<Self> {
        let (minute, rest) = text.split_first_chunk()?;
        Self::within(minute_ms(minute)?, rest)
    }

    /// The instant of `SS[.1-9 digits]Z` within a minute.
    fn within(minute_ms: i64, rest: &[u8]) -> Option<Self> {
        let ([s1, s2], fraction) = rest.strip_suffix(b"Z")?.split_first_chunk()?;
        let second = Some(two(*s1, *s2)).filter(|second| *second < 60)?;
        let ms = match fraction {
            [] => 0,
            [b'.', digits @ ..] => milliseconds(digits)?,
            _ => return None,
        };
        let ms = minute_ms + second * 1000 + ms;
        Some(Self { ms, whole_seconds: fraction.is_empty() })
    }

    /// Reads any RFC 3339 time: what other writers may have put into a stream.
    #[must_use]
    pub fn lenient(text: &str) -> Option<Self> {
        Self::strict(text)
            .or_else(|| clock::parse_rfc3339(text).map(|ms| Self { ms, whole_seconds: !text.contains('.') }))
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = clock::rfc3339(self.ms).unwrap_or_default();
        match text.strip_suffix(".000Z").filter(|_| self.whole_seconds) {
            Some(seconds) => write!(out, "{seconds}Z"),
            None => out.write_str(&text),
        }
    }
}

/// Reads many stamps that are near each other: the minute is understood once.
#[derive(Debug)]
pub struct Nearby {
    minute: [u8; MINUTE],
    ms: i64,
}

impl Default for Nearby {
    fn default() -> Self {
        Self { minute: *b"1970-01-01T00:00:", ms: 0 }
    }
}

impl Nearby {
    /// As [`Stamp::of_bytes`].
    pub fn read(&mut self, text: &[u8]) -> Option<Stamp> {
        let (minute, rest) = text.split_first_chunk()?;
        if *minute != self.minute {
            self.ms = minute_ms(minute)?;
            self.minute = *minute;
        }
        Stamp::within(self.ms, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_agrees_with_a_calendar_library_on_every_day() {
        let mut nearby = Nearby::default();
        for day in (-719_162..2_932_896).step_by(13) {
            let text = clock::rfc3339(day * 86_400_000 + 45_296_789).unwrap();
            assert_eq!(Stamp::strict(&text).map(|stamp| stamp.ms), clock::parse_rfc3339(&text), "{text}");
            assert_eq!(nearby.read(text.as_bytes()), Stamp::strict(&text));
            assert_eq!(nearby.read(&text.as_bytes()[..23]), None, "without its Z");
            let second = text.replace(":36.", ":59.");
            assert_eq!(nearby.read(second.as_bytes()), Stamp::strict(&second));
        }
    }

    #[test]
    fn only_real_utc_instants_are_accepted() {
        for text in [
            "2026-02-29T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "0000-01-01T00:00:00Z",
            "2026-01-01T00:00:00z",
            "2026-01-01T00:00:00+00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1234567890Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01",
            "1767225600000",
            "",
            "Z",
            "now",
            "２026-01-01T00:00:00Z",
        ] {
            assert!(Stamp::strict(text).is_none(), "{text}");
        }
        assert!(Stamp::strict("2024-02-29T23:59:59.1Z").is_some());
    }

    #[test]
    fn the_text_keeps_its_precision_and_digits_beyond_it_are_dropped() {
        for (text, shown) in [
            ("2026-07-01T12:00:00Z", "2026-07-01T12:00:00Z"),
            ("2026-07-01T12:00:00.5Z", "2026-07-01T12:00:00.500Z"),
            ("2026-07-01T12:00:00.000Z", "2026-07-01T12:00:00.000Z"),
            ("2026-07-01T12:00:00.123999Z", "2026-07-01T12:00:00.123Z"),
            ("2026-07-01T14:00:00+02:00", "2026-07-01T12:00:00Z"),
        ] {
            assert_eq!(Stamp::lenient(text).unwrap().to_string(), shown);
        }
    }
}
