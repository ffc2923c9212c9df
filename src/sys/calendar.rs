//! The Gregorian calendar between text and epoch milliseconds, for the years 1 to 9999.
//!
//! The project's own, because an event's time is read in its own strict form anyway (`liveness::stamp`), and because a
//! library's further forms, time zones and texts of errors would be 60 KB of the program. A library is its test.

/// The length of `YYYY-MM-DDTHH:MM:`.
pub const MINUTE: usize = 17;

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// An RFC 3339 time in epoch milliseconds; digits beyond those are dropped. A space or `t` for the `T`, a `z`, a comma, an
/// offset without its colon or its minutes are taken too: other writers write them. A leap second is the one before.
#[must_use]
pub fn parse(text: &[u8]) -> Option<i64> {
    let (minute, rest) = text.split_first_chunk()?;
    let mut minute: [u8; MINUTE] = *minute;
    if let [.., between @ (b't' | b' '), _, _, _, _, _, _] = &mut minute {
        *between = b'T';
    }
    let ([s1, s2], rest) = rest.split_first_chunk()?;
    let second = Some(two(*s1, *s2)).filter(|second| *second <= 60)?;
    let (ms, offset) = match rest {
        [b'.' | b',', rest @ ..] => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (digits, offset) = rest.split_at_checked(digits)?;
            (milliseconds(digits)?, offset)
        }
        offset => (0, offset),
    };
    let ms = minute_ms(&minute)? + second.min(59) * 1000 + ms;
    ms.checked_sub(offset_ms(offset)?)
}

/// Epoch milliseconds as `YYYY-MM-DDTHH:MM:SS.mmmZ`, or `None` outside the years.
#[must_use]
pub fn print(ms: i64) -> Option<String> {
    let (year, month, day) = date(ms.div_euclid(DAY_MS));
    let of_day = ms.rem_euclid(DAY_MS);
    let (minutes, ms) = (of_day / MINUTE_MS, of_day % MINUTE_MS);
    let (hour, minute, second, ms) = (minutes / 60, minutes % 60, ms / 1000, ms % 1000);
    (1..=9999)
        .contains(&year)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"))
}

/// The start of a real minute, in epoch milliseconds.
#[must_use]
pub fn minute_ms(text: &[u8; MINUTE]) -> Option<i64> {
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
    real.then(|| ((days_since_epoch(year, month, day) * 24 + hour) * 60 + minute) * MINUTE_MS)
}

/// The number of two digits; out of every range of a date where one is no digit.
#[must_use]
pub fn two(tens: u8, units: u8) -> i64 {
    let digit = |byte: u8| if byte.is_ascii_digit() { i64::from(byte - b'0') } else { 100_000 };
    digit(tens) * 10 + digit(units)
}

/// The milliseconds in the 1 to 9 digits of a fraction.
#[must_use]
pub fn milliseconds(digits: &[u8]) -> Option<i64> {
    if !(1..=9).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |at: usize| digits.get(at).map_or(0, |digit| i64::from(digit - b'0'));
    Some(digit(0) * 100 + digit(1) * 10 + digit(2))
}

fn offset_ms(text: &[u8]) -> Option<i64> {
    let (sign, hour, minute) = match *text {
        [b'Z' | b'z'] => return Some(0),
        [sign, h1, h2, b':', m1, m2] | [sign, h1, h2, m1, m2] => (sign, two(h1, h2), two(m1, m2)),
        [sign, h1, h2] => (sign, two(h1, h2), 0),
        _ => return None,
    };
    let ms = (hour < 24 && minute < 60).then_some((hour * 60 + minute) * MINUTE_MS)?;
    match sign {
        b'+' => Some(ms),
        b'-' => Some(-ms),
        _ => None,
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 1970-01-01; the year is taken to begin in March, so that the leap day is last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

/// The year, month and day of a day since 1970-01-01. 400 years, an era, have as many days whichever they are.
fn date(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / (ERA - 1)) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use proptest::prelude::*;

    #[test]
    fn every_day_is_the_library_s() {
        for day in -719_162..2_932_896 {
            let ms = day * DAY_MS + 45_296_789;
            let text = print(ms).unwrap();
            assert_eq!(parse(text.as_bytes()), Some(ms), "{text}");
            if day % 7 == 0 {
                assert_eq!(text, format!("{:.3}", Timestamp::from_millisecond(ms).unwrap()));
            }
        }
    }

    #[test]
    fn years_beyond_four_digits_have_no_text() {
        let (first, last) = (-62_135_596_800_000, 253_402_300_799_999);
        assert_eq!(print(first).as_deref(), Some("0001-01-01T00:00:00.000Z"));
        assert_eq!(print(last).as_deref(), Some("9999-12-31T23:59:59.999Z"));
        for beyond in [first - 1, last + 1, i64::MIN, i64::MAX] {
            assert_eq!(print(beyond), None);
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2026-11-10",
            "2026-11-10T08:00",
            "2026-11-10T08:00:00",
            "2026-11-10T08:00:00.Z",
            "0000-11-10T08:00:00Z",
            "2026-11-10T08:00:00.1234567890Z",
            "2026-11-10T08:00:61Z",
            "2026-11-10T08:00:00 Z",
            "2026-11-10T08:00:00+1",
            "2026-11-10T08:00:00+24:00",
            "2026-11-10T08:00:00~01:00",
            "２026-11-10T08:00:00Z",
            " 2026-11-10T08:00:00Z",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn times_are_read_as_the_library_reads_them(
            text in "(19[7-9]|[2-8][0-9]{2})[0-9]-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-6][0-9]:[0-6][0-9]\
                     ([.,][0-9]{1,9})?([Zz]|[+-](0[0-9]|1[0-9]|2[0-3])(:?[0-6][0-9])?)",
        ) {
            let theirs = text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond);
            prop_assert_eq!(parse(text.as_bytes()), theirs);
        }

        #[test]
        fn nothing_is_read_that_the_library_refuses(text in "[0-9TZtz:.,+ -]{0,32}") {
            if let Some(ms) = parse(text.as_bytes()) {
                prop_assert_eq!(text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond), Some(ms));
            }
        }
    }
}
