//! The time of an event: an instant in milliseconds, and whether its writer gave whole seconds.
//!
//! Times are compared as instants, never as text: `…:00.500Z` is later than `…:00Z`, though it sorts before it.

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
        let ms = minute_ms + second * 1000 + i64::from(milliseconds(fraction)?);
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

/// The length of `YYYY-MM-DDTHH:MM:`.
const MINUTE: usize = 17;

/// The start of a real minute, in epoch milliseconds.
fn minute_ms(text: &[u8; MINUTE]) -> Option<i64> {
    let [y1, y2, y3, y4, b'-', mo1, mo2, b'-', d1, d2, b'T', h1, h2, b':', mi1, mi2, b':'] = *text else {
        return None;
    };
    let year = two(y1, y2) * 100 + two(y3, y4);
    let (month, day) = (two(mo1, mo2), two(d1, d2));
    let (hour, minute) = (two(h1, h2), two(mi1, mi2));
    let real = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60;
    real.then(|| ((days_since_epoch(year, month, day) * 24 + hour) * 60 + minute) * 60_000)
}

/// The number of two digits; out of every range of a date where one is no digit.
fn two(tens: u8, units: u8) -> i64 {
    let digit = |byte: u8| if byte.is_ascii_digit() { i64::from(byte - b'0') } else { 100_000 };
    digit(tens) * 10 + digit(units)
}

/// The milliseconds in `.1-9 digits`; 0 of nothing.
fn milliseconds(fraction: &[u8]) -> Option<u32> {
    if fraction.is_empty() {
        return Some(0);
    }
    let digits = fraction.strip_prefix(b".")?;
    if !(1..=9).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |at: usize| digits.get(at).map_or(0, |digit| u32::from(digit - b'0'));
    Some(digit(0) * 100 + digit(1) * 10 + digit(2))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01 in the Gregorian calendar; the year is taken to begin in March, so that the leap day is last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
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
