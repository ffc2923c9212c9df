//! How many requests an outage costs, and when they come (fault checklist 24 and 29): the pure cores over simulated hours.

use super::super::backoff::{Failure, Health, History, MAX_MS, Pace, failed};
use super::super::classify::{Answer, classify};

const HOUR_MS: i64 = 3_600_000;

/// Books one failure of the origin at `now_ms`; returns when it may be tried next.
fn fails(record: &mut History, origin: &mut Health, now_ms: i64, random: f64) -> i64 {
    let verdict = classify(&Answer { status: 500, retry_after: None, body: b"", whole: true }, 1, now_ms);
    let failure = Failure { status: Some(500), verdict: &verdict, deliveries_when_sent: origin.deliveries };
    let gives_up = failed(record, origin, &failure, Pace { now_ms, cap_ms: MAX_MS, random });
    assert!(!gives_up, "an origin that fails for all rejects none");
    assert!(origin.next.holds(now_ms) && !origin.next.asked);
    origin.next.at_ms
}

#[test]
fn case_24_a_day_of_500s_costs_what_full_jitter_at_the_cap_costs() {
    // One record every 8.64 s. As if a worker were always there, which is more than there is: one leaves after 30 s.
    let mut random = fastrand::Rng::with_seed(24);
    let (mut origin, mut requests, mut now_ms) = (Health::default(), 0_u32, 0);
    let mut records = vec![History::default(); 10_000];
    while now_ms < 24 * HOUR_MS {
        // The origin is probed with the record that was tried least.
        let queued = usize::try_from(now_ms / 8640 + 1).unwrap();
        let record = records[..queued].iter_mut().min_by_key(|record| record.attempts).unwrap();
        now_ms = fails(record, &mut origin, now_ms, random.f64());
        requests += 1;
    }
    // Evenly from nothing to 60 s: 30 s on average, after a start of a few quick ones.
    let expected = 24 * 60 * 2;
    assert!(requests < expected * 11 / 10 && requests > expected * 9 / 10, "{requests} requests");
}

/// When 200 machines that fail together at 0 try again during an hour of outage.
fn herd(mut random: impl FnMut() -> f64) -> Vec<i64> {
    let mut tries = Vec::new();
    for _ in 0..200 {
        let (mut record, mut origin, mut now_ms) = (History::default(), Health::default(), 0);
        while now_ms < HOUR_MS {
            now_ms = fails(&mut record, &mut origin, now_ms, random());
            tries.push(now_ms);
        }
    }
    tries
}

/// The most that any one second sees.
fn busiest_second(tries: impl Iterator<Item = i64>) -> usize {
    let mut seconds = std::collections::BTreeMap::<i64, usize>::new();
    for at_ms in tries {
        *seconds.entry(at_ms / 1000).or_default() += 1;
    }
    seconds.into_values().max().unwrap()
}

#[test]
fn case_29_200_machines_that_fail_together_do_not_come_back_together() {
    let mut random = fastrand::Rng::with_seed(29);
    let tries = herd(|| random.f64());
    let busiest = busiest_second(tries.iter().copied());
    assert!(busiest * 20 <= tries.len(), "{busiest} of {} in one second", tries.len());
    // The first tries come within seconds, as they should after a blip. Once the ceiling is reached, after a minute or two, a
    // second sees 200 / 30 machines on average, and never one in eight.
    let later = busiest_second(tries.iter().copied().filter(|&at_ms| at_ms > 2 * 60_000));
    assert!(later * 8 < 200, "{later} of 200 machines in one second");

    let together = busiest_second(herd(|| 1.0).into_iter());
    assert!(together >= 200, "without jitter the same count finds the herd");
}
