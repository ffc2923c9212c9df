//! The screen, from books that hold everything at once.

use super::*;
use crate::relay::status::{NextAttempt, Oldest, Waiting};

fn busy() -> Status {
    let reason = |reason: String, records: u64| ReasonCount { reason, records };
    let waiting = |n: u32| Waiting {
        tenant: Some("t".repeat(100)),
        source: format!("conf:/home/{}/conf", "d".repeat(100)),
        reason: "HTTP 401: the token is refused".to_owned(),
        fingerprint: Some(format!("{n:016x}")),
        probe_at: None,
    };
    let origin = |n: u32| OriginStatus {
        origin: format!("https://{}.example.com", "o".repeat(60)),
        pending: n.into(),
        delivered: 1_234_567,
        failures: 4,
        next_attempt_at: None,
        reason: Some(format!("HTTP 503: {}", "y".repeat(100))),
        waiting: vec![waiting(n)],
    };
    Status {
        enqueued: 1000,
        delivered: 500,
        rejected: 120,
        evicted: 300,
        pending: 80,
        rejected_kept: 20,
        rejected_dropped: 100,
        rejected_reasons: (0..20).map(|n| reason(format!("HTTP 4{n:02} {}", "X".repeat(90)), 1)).collect(),
        evicted_reasons: vec![
            reason("made room in a full outbox".to_owned(), 100),
            reason("made way for later liveness records".to_owned(), 100),
            reason("vanished with their file".to_owned(), 100),
        ],
        superseded: 100,
        delivered_before: 7,
        oldest: Some(Oldest {
            id: "r".repeat(190),
            kind: "economics".to_owned(),
            origin: "https://a.example".to_owned(),
            enqueued_at: None,
        }),
        next_attempt: Some(NextAttempt { at: None, reason: "z".repeat(200) }),
        origins: (0..12).map(origin).collect(),
        worker_running: true,
    }
}

fn drawn(status: &Status, width: usize, colour: bool) -> String {
    let switch = Switch { on: true, reason: "set by console_economics_relay".repeat(5) };
    let mut screen = Screen { text: String::new(), used: 0, width, colour };
    draw(status, &switch, &mut screen);
    screen.text
}

/// Lines as an 80-column terminal shows them.
fn height(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum()
}

#[test]
fn everything_at_once_fits_a_screen_and_what_is_left_out_is_said() {
    let text = drawn(&busy(), 80, false);
    assert!(height(&text) <= HEIGHT, "{}:\n{text}", height(&text));
    for part in [
        "rejected 120, 100 of them not kept any more",
        "… and 18 others (--json has all)",
        "… and 10 others (--json has all)",
        "… and 11 other origins (--json has all)",
        "evicted 300: 100 made room in a full outbox, 100 made way for later liveness records, 100 vanished",
        "finding: the Console knew 7 ids",
        "a worker is sending now",
        "token #0000000000000000",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

#[test]
fn an_empty_outbox_is_three_lines() {
    let text = drawn(&Status::default(), 200, false);
    let expected = "enqueued 0 = delivered 0 + rejected 0 + evicted 0 + pending 0\nno worker is running\n";
    assert!(text.ends_with(expected) && text.lines().count() == 3, "{text}");
}

#[test]
fn colour_is_whole_lines_and_only_where_it_is_wanted() {
    let (plain, colour) = (drawn(&busy(), 80, false), drawn(&busy(), 80, true));
    assert!(!plain.contains('\u{1b}'));
    let stripped = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"]
        .iter()
        .fold(colour.clone(), |text, code| text.replace(code, ""));
    assert_eq!(stripped, plain);
    assert!(colour.starts_with("\u{1b}[32mthe relay is on"), "{colour}");
}

#[test]
fn what_an_entry_or_a_console_says_cannot_steer_the_terminal() {
    let mut status = busy();
    status.rejected_reasons[0].reason = "\u{1b}[2J".to_owned();
    status.origins[11].origin = "https://\u{1b}[2J".to_owned();
    status.origins[0].waiting[0].source = "conf:/\u{1b}[2J".to_owned();
    assert!(!drawn(&status, 80, false).contains('\u{1b}'));
}
