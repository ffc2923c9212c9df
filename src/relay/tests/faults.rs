//! The fault checklist at the outbox, with a Console that takes what arrives (`docs/faults.md`, cases 3, 16, 17 and 19).

use std::io::Write;

use super::super::outbox::Guard;
use super::*;

/// Writes into the outbox as nobody should.
fn tamper(bench: &Bench, name: &str, with: impl FnOnce(&mut Vec<u8>)) {
    let path = bench.path().join("outbox").join(name);
    let mut bytes = std::fs::read(&path).unwrap();
    with(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

fn sent(bench: &Bench) -> Vec<String> {
    let mut ids: Vec<_> = bench.requests().iter().map(id_of).collect();
    ids.sort();
    ids
}

#[test]
fn nuls_between_entries_cost_only_themselves() {
    let bench = Bench::new(accepted());
    bench.queue(&["a"]);
    let current = bench.path().join("outbox/current.jsonl");
    let mut file = std::fs::OpenOptions::new().append(true).open(current).unwrap();
    file.write_all(&[0; 4096]).unwrap();
    bench.queue(&["b"]);
    assert_eq!(bench.flush(), [3, 2, 1, 0, 0]);
    assert_eq!(sent(&bench), ["a", "b"]);
    let kept = Guard::acquire(bench.path(), WAIT).unwrap().rejected().unwrap();
    assert_eq!(kept[0].torn.as_deref().map(str::len), Some(4096), "the bytes are kept");
}

#[test]
fn a_line_that_was_corrupted_in_the_middle_is_one_rejection_and_the_rest_is_delivered() {
    let bench = Bench::new(accepted());
    bench.queue(&["a", "b", "c", "d", "e"]);
    tamper(&bench, "current.jsonl", |bytes| {
        let third = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
        for byte in &mut bytes[third + 20..third + 30] {
            *byte ^= 0xff;
        }
    });
    assert_eq!(bench.flush(), [5, 4, 1, 0, 0]);
    assert_eq!(sent(&bench), ["a", "b", "d", "e"]);
    let kept = Guard::acquire(bench.path(), WAIT).unwrap().rejected().unwrap();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].reason.contains("corrupt") && kept[0].torn.as_deref().unwrap().starts_with("hex:"));
    bench.queue(&["f"]);
    assert_eq!(bench.flush(), [6, 5, 1, 0, 0], "the work goes on");
}

#[test]
fn a_crash_before_a_settled_segment_was_unlinked_leaves_the_next_one_to_be_sent() {
    let bench = Bench::new(accepted());
    bench.queue(&["a"]);
    let segment = bench.path().join("outbox/current.jsonl");
    let bytes = std::fs::read(segment).unwrap();
    assert_eq!(bench.flush(), [1, 1, 0, 0, 0]);
    // The state was written, the unlink was not.
    std::fs::write(bench.path().join("outbox/0000000001.jsonl"), bytes).unwrap();
    bench.queue(&["b"]);
    assert_eq!(bench.flush(), [2, 2, 0, 0, 0]);
    assert_eq!(sent(&bench), ["a", "b"]);
    assert!(!bench.path().join("outbox/0000000001.jsonl").exists());
}

/// Our state names lines of a segment, not bytes: a segment that is not the one it was told of has fewer lines (these are
/// counted as evicted) or more (which nobody has ever queued, and are left alone). Nothing is waited for.
#[test]
fn a_segment_shorter_than_the_state_says_is_not_waited_for() {
    let refusing = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let refuses = std::sync::Arc::clone(&refusing);
    let bench =
        Bench::new(
            move |_: &Request| {
                if refuses.load(Ordering::SeqCst) { ResponseTemplate::new(401) } else { accepted() }
            },
        );
    bench.queue(&["a", "b", "c"]);
    assert_eq!(bench.flush(), [3, 0, 0, 0, 3]);
    tamper(&bench, "0000000001.jsonl", |bytes| {
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        bytes.truncate(first + 1);
    });
    refusing.store(false, Ordering::SeqCst);
    assert_eq!(bench.flush_with(&bench.env("tok-b")), [3, 1, 0, 2, 0]);
    assert_eq!(sent(&bench), ["a", "a"], "refused once, taken once");
}
