//! When a record may be sent again, and when it is given up (DESIGN §9).
//!
//! An origin that answers nobody is left alone as a whole; a record that fails while others to the same origin pass is
//! left alone by itself, and for a shorter time. Which of the two it is can only be told by other records: a failed
//! attempt counts against the *record* when another record was delivered to the origin after this one was first tried,
//! and nothing has spoken against the origin since. Everything else counts against the *origin*, so that an origin
//! that fails for all rejects none.
//!
//! Deadlines are stored as epoch milliseconds. The clock may jump: a stored deadline further ahead than its kind can
//! be is treated as expired.

use serde::{Deserialize, Serialize};

use crate::settings::defaults::DEFAULTS;

use super::classify::{Blame, Class, MAX_RETRY_AFTER_MS, Verdict};

const FIRST_MS: i64 = DEFAULTS.relay.backoff_first_ms as i64;
/// The longest back-off of an origin.
pub const MAX_MS: i64 = DEFAULTS.relay.backoff_max_ms as i64;
/// The longest back-off of a record that fails while others pass.
const MAX_WHILE_OTHERS_PASS_MS: i64 = DEFAULTS.relay.backoff_lone_max_ms as i64;
/// How long a refused credential is left alone before one request probes it again.
pub const PROBE_MS: i64 = 15 * 60 * 1000;
const GIVE_UP_ATTEMPTS: u32 = DEFAULTS.relay.reject_after_attempts;
const GIVE_UP_AFTER_DELIVERY: u32 = DEFAULTS.relay.reject_after_others_delivered;

/// A stored time before which nothing is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Deadline {
    /// Epoch milliseconds.
    pub at_ms: i64,
    /// Whether the origin itself asked for it (`Retry-After`); such a deadline is never ignored.
    pub asked: bool,
}

impl Deadline {
    /// Whether it still holds at `now_ms`.
    #[must_use]
    pub fn holds(&self, now_ms: i64) -> bool {
        let longest = if self.asked { MAX_RETRY_AFTER_MS } else { MAX_MS };
        still_ahead(self.at_ms, now_ms, longest)
    }
}

/// Whether `at_ms` is ahead of `now_ms`, by no more than it could have been set ahead.
#[must_use]
pub fn still_ahead(at_ms: i64, now_ms: i64, longest_ms: i64) -> bool {
    let ahead = at_ms.saturating_sub(now_ms);
    ahead > 0 && ahead <= longest_ms
}

/// What is known of the tries of one record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// Attempts that ended, with or without an answer.
    pub attempts: u32,
    /// Those of them that failed after another record was delivered to the origin.
    pub attempts_after_delivery: u32,
    /// The origin's count of deliveries when the first attempt was made.
    pub deliveries_at_first: u64,
    /// When it may be tried again.
    pub next: Deadline,
    /// Why the last attempt failed.
    pub reason: String,
    /// The status of the last answer.
    pub status: Option<u16>,
}

/// What is known of an origin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// Records delivered there, ever.
    pub deliveries: u64,
    /// Failures that spoke against the origin since the last delivery.
    pub failures: u32,
    /// When it may be tried again.
    pub next: Deadline,
    /// Why it is left alone.
    pub reason: String,
}

impl Health {
    /// Notes a delivery: whatever spoke against the origin is over.
    pub fn delivered(&mut self) {
        *self = Self { deliveries: self.deliveries.saturating_add(1), ..Self::default() };
    }
}

/// A failed attempt, as [`failed`] books it.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// The status of the answer, if one came.
    pub status: Option<u16>,
    /// What the answer, or its absence, means; of class [`Class::Retry`].
    pub verdict: &'a Verdict,
    /// The origin's count of deliveries when the request was sent.
    pub deliveries_when_sent: u64,
}

/// The circumstances that a wait depends on.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// The time, in epoch milliseconds.
    pub now_ms: i64,
    /// The longest back-off; [`MAX_MS`] but for a flush that somebody is waiting for.
    pub cap_ms: i64,
    /// In `0.0..1.0`.
    pub random: f64,
}

/// Books a failed attempt on the record and its origin. Returns whether the record is to be given up.
pub fn failed(record: &mut History, origin: &mut Health, failure: &Failure<'_>, pace: Pace) -> bool {
    let Failure { status, verdict, deliveries_when_sent } = *failure;
    if record.attempts == 0 {
        record.deliveries_at_first = deliveries_when_sent;
    }
    record.attempts = record.attempts.saturating_add(1);
    record.status = status;
    record.reason.clone_from(&verdict.reason);
    let others_pass = origin.failures == 0
        && origin.deliveries > record.deliveries_at_first
        && verdict.class == Class::Retry(Blame::Unknown);
    if others_pass {
        record.attempts_after_delivery = record.attempts_after_delivery.saturating_add(1);
        let wait =
            jittered(record.attempts_after_delivery, pace.cap_ms.min(MAX_WHILE_OTHERS_PASS_MS), pace.random);
        record.next = Deadline { at_ms: pace.now_ms.saturating_add(wait), asked: false };
    } else {
        origin.failures = origin.failures.saturating_add(1);
        let backoff = || jittered(origin.failures, pace.cap_ms, pace.random);
        let wait = verdict.retry_after_ms.unwrap_or_else(backoff);
        origin.next =
            Deadline { at_ms: pace.now_ms.saturating_add(wait), asked: verdict.retry_after_ms.is_some() };
        origin.reason.clone_from(&verdict.reason);
    }
    gives_up(record, status)
}

fn gives_up(record: &History, status: Option<u16>) -> bool {
    status.is_some_and(|status| (500..600).contains(&status))
        && record.attempts >= GIVE_UP_ATTEMPTS
        && record.attempts_after_delivery >= GIVE_UP_AFTER_DELIVERY
}

/// Full jitter: evenly spread from nothing to the ceiling of failure number `failures`, so that machines that failed
/// together do not come back together.
fn jittered(failures: u32, max_ms: i64, random: f64) -> i64 {
    let doublings = failures.saturating_sub(1).min(16);
    let ceiling = (FIRST_MS << doublings).min(max_ms);
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "at most 60,000")]
    let wait = (ceiling as f64 * random.clamp(0.0, 1.0)) as i64;
    wait.clamp(1, max_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(blame: Blame, retry_after_ms: Option<i64>) -> Verdict {
        Verdict { class: Class::Retry(blame), reason: "HTTP 500".to_owned(), retry_after_ms }
    }

    fn book(record: &mut History, origin: &mut Health, status: u16, verdict: &Verdict, now_ms: i64) -> bool {
        let failure = Failure { status: Some(status), verdict, deliveries_when_sent: origin.deliveries };
        failed(record, origin, &failure, Pace { now_ms, cap_ms: MAX_MS, random: 1.0 })
    }

    fn fail(record: &mut History, origin: &mut Health, now_ms: i64) -> bool {
        book(record, origin, 500, &verdict(Blame::Unknown, None), now_ms)
    }

    #[test]
    fn the_ceiling_doubles_from_half_a_second_to_a_minute() {
        let ceilings: Vec<i64> = (1..=9).map(|n| jittered(n, MAX_MS, 1.0)).collect();
        assert_eq!(ceilings, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(jittered(3, MAX_MS, 0.25), 500);
        assert_eq!(jittered(u32::MAX, MAX_MS, 1.0), MAX_MS);
    }

    #[test]
    fn a_deadline_holds_only_as_far_ahead_as_it_could_have_been_set() {
        let backoff = Deadline { at_ms: 100_000, asked: false };
        assert!(backoff.holds(99_999) && backoff.holds(40_000));
        assert!(!backoff.holds(100_000) && !backoff.holds(39_999) && !backoff.holds(i64::MIN));
        let asked = Deadline { asked: true, ..backoff };
        assert!(asked.holds(39_999) && !asked.holds(100_000 - MAX_RETRY_AFTER_MS - 1));
    }

    #[test]
    fn an_origin_that_fails_for_all_rejects_none() {
        let mut origin = Health { deliveries: 5, ..Health::default() };
        let mut records = vec![History::default(); 3];
        for round in 0..40 {
            for record in &mut records {
                assert!(!fail(record, &mut origin, round * 100_000));
            }
        }
        assert_eq!(origin.failures, 120);
        assert!(records.iter().all(|record| record.attempts == 40 && record.attempts_after_delivery == 0));
    }

    #[test]
    fn a_poison_record_goes_after_eight_attempts_while_others_pass() {
        let (mut origin, mut poison) = (Health::default(), History::default());
        for _ in 0..5 {
            assert!(!fail(&mut poison, &mut origin, 0));
        }
        origin.delivered();
        assert!(!fail(&mut poison, &mut origin, 0) && !fail(&mut poison, &mut origin, 0));
        assert!(fail(&mut poison, &mut origin, 0));
        assert_eq!((poison.attempts, poison.attempts_after_delivery), (8, 3));
        assert_eq!(origin.failures, 0, "the origin is not blamed");
        let mut other = poison.clone();
        assert!(!book(&mut other, &mut origin, 408, &verdict(Blame::Unknown, None), 0));
    }

    #[test]
    fn its_back_off_is_capped_at_five_seconds() {
        let (mut origin, mut poison) = (Health::default(), History::default());
        fail(&mut poison, &mut origin, 0);
        origin.delivered();
        for _ in 0..7 {
            fail(&mut poison, &mut origin, 0);
        }
        assert_eq!(poison.next, Deadline { at_ms: 5000, asked: false });
    }

    #[test]
    fn silence_and_overload_speak_against_the_origin() {
        let mut origin = Health { deliveries: 1, ..Health::default() };
        let mut record = History { attempts: 1, ..History::default() };
        book(&mut record, &mut origin, 429, &verdict(Blame::Origin, Some(7000)), 1000);
        assert_eq!(origin.next, Deadline { at_ms: 8000, asked: true });
        assert_eq!(record.attempts_after_delivery, 0);
        fail(&mut record, &mut origin, 1000);
        assert_eq!(record.attempts_after_delivery, 0, "nothing passed since");
    }
}
