//! The invariants of the outbox, on real files; the numbers are those of the module's list.

use std::fs;
use std::io::Write;

use super::*;
use crate::sys::disk::memory;

pub(super) const WAIT: Duration = Duration::from_secs(5);
pub(super) const ORIGIN: &str = "http://localhost:1";

fn queue(dir: &Path, ids: &[&str]) {
    for id in ids {
        enqueue(dir, &sample(id, ORIGIN), WAIT).unwrap();
    }
}

pub(super) fn guard(dir: &Path) -> Guard {
    Guard::acquire(dir, WAIT).unwrap()
}

/// Enqueued, delivered, rejected, evicted, pending.
pub(super) fn counters(dir: &Path) -> [u64; 5] {
    let status = crate::relay::status(dir).unwrap();
    let counted = [status.enqueued, status.delivered, status.rejected, status.evicted, status.pending];
    assert_eq!(counted[0], counted[1..].iter().sum::<u64>(), "invariant 1");
    counted
}

fn evicted_for(dir: &Path) -> Vec<(String, u64)> {
    let reasons = crate::relay::status(dir).unwrap().evicted_reasons;
    reasons.into_iter().map(|count| (count.reason, count.records)).collect()
}

/// Seals, takes in, and returns the books and their entries.
pub(super) fn open(dir: &Path) -> (Ledger, Vec<Located>) {
    let guard = guard(dir);
    let mut ledger = Ledger::open(&guard).unwrap();
    let mut found = Vec::new();
    for number in ledger.known() {
        found.extend(ledger.pending(&guard, number, 0).unwrap());
    }
    ledger.seal(&guard).unwrap();
    while let Some(arrived) = ledger.adopt_next(&guard, 0).unwrap() {
        found.extend(arrived);
    }
    (ledger, found)
}

fn ids(found: &[Located]) -> Vec<&str> {
    found.iter().map(|located| located.entry.id.as_str()).collect()
}

fn append_raw(dir: &Path, bytes: &[u8]) {
    let path = dir.join("outbox/current.jsonl");
    fs::OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn entries_come_back_in_order_and_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    queue(dir.path(), &["a", "b", "c"]);
    assert_eq!(counters(dir.path()), [3, 0, 0, 0, 3]);
    let (ledger, found) = open(dir.path());
    assert_eq!(ids(&found), ["a", "b", "c"]);
    let line = ledger.line(found[1].key, found[1].offset, found[1].len).unwrap();
    assert_eq!(Entry::parse(&line).unwrap().body.get(), sample("b", ORIGIN).body.get());
    assert!(contains(dir.path(), "c", WAIT).unwrap() && !contains(dir.path(), "d", WAIT).unwrap());
}

#[test]
fn segments_are_taken_in_one_at_a_time_so_that_a_full_outbox_does_not_fill_the_memory() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = open(dir.path()).0;
    for id in ["a", "b"] {
        queue(dir.path(), &[id]);
        ledger.seal(&guard(dir.path())).unwrap();
    }
    let guard = guard(dir.path());
    let mut next = || ledger.adopt_next(&guard, 0).unwrap().map(|found| ids(&found).join(","));
    assert_eq!([next(), next(), next()], [Some("a".to_owned()), Some("b".to_owned()), None]);
}

#[test]
fn invariant_2_a_torn_line_is_a_rejection_with_its_bytes() {
    let dir = tempfile::tempdir().unwrap();
    queue(dir.path(), &["a"]);
    append_raw(dir.path(), b"{\"id\":\"torn");
    queue(dir.path(), &["b"]);
    append_raw(dir.path(), &[0; 16]);
    assert_eq!(counters(dir.path()), [4, 0, 0, 0, 4]);
    let (mut ledger, found) = open(dir.path());
    assert_eq!(ids(&found), ["a", "b"]);
    ledger.save(&guard(dir.path())).unwrap();
    assert_eq!(counters(dir.path()), [4, 0, 2, 0, 2]);
    let kept = guard(dir.path()).rejected().unwrap();
    assert_eq!(kept[0].torn.as_deref(), Some("{\"id\":\"torn"));
    assert_eq!(kept[1].torn.as_deref(), Some("\0".repeat(16).as_str()));
}

#[test]
fn invariant_3_numbers_are_never_used_twice() {
    let dir = tempfile::tempdir().unwrap();
    for round in 1..=3 {
        queue(dir.path(), &["a"]);
        let (mut ledger, found) = open(dir.path());
        assert_eq!(found[0].key.segment, round);
        ledger.state.settle(found[0].key, Fate::Delivered);
        ledger.save(&guard(dir.path())).unwrap();
        assert!(files::segments(&dir.path().join("outbox")).unwrap().is_empty());
    }
    assert_eq!(counters(dir.path()), [3, 3, 0, 0, 0]);
}

#[test]
fn invariant_3_a_loss_of_power_moves_no_line_to_anothers_number() {
    for seed in 0..300 {
        let dir = tempfile::tempdir().unwrap();
        let disk = memory::mount(dir.path());
        queue(dir.path(), &["a", "b", "c"]);
        let (mut ledger, found) = open(dir.path());
        ledger.state.settle(found[1].key, Fate::Delivered);
        ledger.save(&guard(dir.path())).unwrap();
        disk.lose_power(seed);
        let is_there = contains(dir.path(), "c", WAIT).unwrap();
        let (_, found) = open(dir.path());
        assert!(
            ids(&found).contains(&"c") || !is_there,
            "seed {seed}: what was not delivered is taken for it"
        );
    }
}

#[test]
fn invariant_4_a_settled_file_that_was_not_unlinked_is_not_read_again() {
    let dir = tempfile::tempdir().unwrap();
    queue(dir.path(), &["a"]);
    let (mut ledger, found) = open(dir.path());
    let path = files::segment_path(&dir.path().join("outbox"), 1);
    let bytes = fs::read(&path).unwrap();
    ledger.state.settle(found[0].key, Fate::Delivered);
    ledger.save(&guard(dir.path())).unwrap();
    fs::write(&path, bytes).unwrap();
    assert_eq!(counters(dir.path()), [1, 1, 0, 0, 0]);
    let (mut ledger, found) = open(dir.path());
    assert!(found.is_empty());
    ledger.save(&guard(dir.path())).unwrap();
    assert!(!path.exists());
}

#[test]
fn invariant_5_a_crash_after_keeping_a_rejection_counts_it_once() {
    let dir = tempfile::tempdir().unwrap();
    queue(dir.path(), &["a", "b"]);
    let (mut ledger, found) = open(dir.path());
    ledger.reject_line(found[0].key, b"{}", "refused", Some(400), 0);
    ledger.save(&guard(dir.path())).unwrap();
    let before = fs::read(dir.path().join("outbox/state.json")).unwrap();
    ledger.reject_line(found[1].key, b"{}", "refused", Some(400), 0);
    ledger.save(&guard(dir.path())).unwrap();
    // As if the crash had come before the state was written, and so before the segment was unlinked.
    fs::write(dir.path().join("outbox/state.json"), before).unwrap();
    let path = files::segment_path(&dir.path().join("outbox"), 1);
    fs::write(
        &path,
        [sample("a", ORIGIN).to_line().unwrap(), sample("b", ORIGIN).to_line().unwrap()].join(&b'\n'),
    )
    .unwrap();
    assert_eq!(counters(dir.path()), [2, 0, 1, 0, 1]);
    let (mut ledger, found) = open(dir.path());
    assert_eq!(ids(&found), ["b"]);
    ledger.reject_line(found[0].key, b"{}", "refused", Some(400), 0);
    ledger.save(&guard(dir.path())).unwrap();
    assert_eq!(counters(dir.path()), [2, 0, 2, 0, 0]);
}

#[test]
fn invariant_6_a_lost_state_loses_no_record() {
    for broken in [None, Some(&b""[..]), Some(b"\0\0\0\0"), Some(b"{\"version\":1,\"known"), Some(b"[]")] {
        let dir = tempfile::tempdir().unwrap();
        queue(dir.path(), &["a", "b"]);
        let (mut ledger, found) = open(dir.path());
        ledger.state.settle(found[0].key, Fate::Delivered);
        ledger.save(&guard(dir.path())).unwrap();
        let state = dir.path().join("outbox/state.json");
        match broken {
            None => fs::remove_file(&state).unwrap(),
            Some(bytes) => fs::write(&state, bytes).unwrap(),
        }
        queue(dir.path(), &["c"]);
        assert_eq!(counters(dir.path()), [3, 0, 0, 0, 3]);
        let (mut ledger, found) = open(dir.path());
        assert_eq!(ids(&found), ["a", "b", "c"]);
        ledger.save(&guard(dir.path())).unwrap();
        assert_eq!(dir.path().join("outbox/state.json.bad").exists(), broken.is_some());
    }
}

#[test]
fn invariant_7_a_newer_state_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    queue(dir.path(), &["a"]);
    let state = dir.path().join("outbox/state.json");
    fs::write(&state, br#"{"version":2,"what":"ever"}"#).unwrap();
    assert!(matches!(Ledger::open(&guard(dir.path())), Err(Error::Newer { version: 2, .. })));
    assert!(crate::relay::status(dir.path()).is_err());
    queue(dir.path(), &["b"]);
    assert_eq!(guard(dir.path()).current().unwrap().len(), 2);
    assert_eq!(fs::read(&state).unwrap(), br#"{"version":2,"what":"ever"}"#);
}

#[test]
fn a_segment_that_somebody_removed_or_cut_is_counted_as_evicted() {
    let dir = tempfile::tempdir().unwrap();
    queue(dir.path(), &["a", "b", "c"]);
    let (mut ledger, found) = open(dir.path());
    ledger.state.settle(found[0].key, Fate::Delivered);
    ledger.save(&guard(dir.path())).unwrap();
    let path = files::segment_path(&dir.path().join("outbox"), 1);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..usize::try_from(found[2].offset).unwrap()]).unwrap();
    assert_eq!(counters(dir.path()), [3, 1, 0, 1, 1]);
    fs::remove_file(&path).unwrap();
    assert_eq!(counters(dir.path()), [3, 1, 0, 2, 0]);
    assert_eq!(evicted_for(dir.path()), [("vanished with their file".to_owned(), 2)]);
}

#[test]
fn the_oldest_segments_make_room() {
    let dir = tempfile::tempdir().unwrap();
    let text = "x".repeat(MAX_BODY - 2);
    let mut large = sample("large", ORIGIN);
    large.body = Entry::body(&format!("\"{text}\"")).unwrap();
    let entries = CAP / MAX_BODY as u64 + 30;
    for _ in 0..entries {
        enqueue(dir.path(), &large, WAIT).unwrap();
    }
    let [enqueued, delivered, rejected, evicted, pending] = counters(dir.path());
    assert_eq!((enqueued, delivered, rejected), (entries, 0, 0));
    assert!(evicted >= 30 && evicted + pending == entries, "{evicted} evicted, {pending} pending");
    assert_eq!(evicted_for(dir.path()), [("made room in a full outbox".to_owned(), evicted)]);
    let sizes = files::segments(&dir.path().join("outbox")).unwrap();
    assert!(sizes.values().sum::<u64>() <= CAP);
    assert!(!sizes.contains_key(&1), "the oldest went");
    // What is there, counted from the files alone.
    let folder = fs::read_dir(dir.path().join("outbox")).unwrap().map(|item| item.unwrap().path());
    let queue = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.strip_suffix(".jsonl").is_some_and(|stem| stem == "current" || stem.parse::<u64>().is_ok())
    };
    let lines = folder.filter(queue).map(|path| files::lines(&fs::read(path).unwrap()).count() as u64);
    assert_eq!(lines.sum::<u64>(), pending);
}

#[test]
fn what_a_worker_left_that_was_killed_while_it_saved_is_removed_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    queue(dir.path(), &["a"]);
    let left = dir.path().join("outbox/state.json.4242-0a1b2c3d.tmp");
    fs::write(&left, b"{\"version\":1").unwrap();
    Ledger::open(&guard(dir.path())).unwrap();
    assert!(!left.exists());
    assert_eq!(counters(dir.path()), [1, 0, 0, 0, 1]);
}

#[test]
fn small_entries_are_bounded_by_their_number() {
    let dir = tempfile::tempdir().unwrap();
    queue(dir.path(), &["first"]);
    let line = String::from_utf8(sample("small", ORIGIN).to_line().unwrap()).unwrap() + "\n";
    assert!(line.len() as u64 >= SMALLEST, "{line}");
    for segment in 1..=6 {
        fs::write(files::segment_path(&dir.path().join("outbox"), segment), line.repeat(10_000)).unwrap();
    }
    make_room(&guard(dir.path())).unwrap();
    assert_eq!(counters(dir.path()), [60_001, 0, 0, 20_000, 40_001]);
}

#[test]
fn a_held_lock_is_an_error_within_the_wait() {
    let dir = tempfile::tempdir().unwrap();
    let _held = guard(dir.path());
    let result = enqueue(dir.path(), &sample("a", ORIGIN), Duration::ZERO);
    assert!(matches!(result, Err(Error::Busy { .. })));
}

#[test]
fn parallel_hooks_weld_no_lines() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let dir = dir.path();
            scope.spawn(move || {
                for n in 0..50 {
                    enqueue(dir, &sample(&format!("{thread}-{n}"), ORIGIN), Duration::from_secs(60)).unwrap();
                }
            });
        }
    });
    let (_, found) = open(dir.path());
    let unique: std::collections::HashSet<_> = ids(&found).into_iter().collect();
    assert_eq!((found.len(), unique.len()), (400, 400));
}

#[test]
fn the_gate_opens_for_other_origins_and_never_holds_for_long() {
    let dir = tempfile::tempdir().unwrap();
    queue(dir.path(), &["a"]);
    let shut = || {
        let blocked = [ORIGIN.to_owned()].into();
        guard(dir.path()).shut_gate(Gate { not_before_ms: i64::MAX, blocked }, 1000);
    };
    shut();
    assert!(guard(dir.path()).is_gated(1000) && guard(dir.path()).is_gated(60_999));
    assert!(!guard(dir.path()).is_gated(61_000) && !guard(dir.path()).is_gated(0), "the clock jumped back");
    queue(dir.path(), &["b"]);
    assert!(guard(dir.path()).is_gated(1000), "nothing new to try");
    enqueue(dir.path(), &sample("c", "http://localhost:2"), WAIT).unwrap();
    assert!(!guard(dir.path()).is_gated(1000));
}

#[test]
fn no_credential_is_ever_in_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    queue(dir.path(), &["a"]);
    let line = fs::read_to_string(dir.path().join("outbox/current.jsonl")).unwrap();
    let keys: Vec<String> = serde_json::from_str::<serde_json::Map<_, _>>(&line)
        .unwrap()
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    let mut expected =
        ["id", "kind", "origin", "path", "tenant", "source", "enqueued_at", "journal_end", "body"]
            .map(String::from);
    let mut found = keys;
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_segment_that_vanishes_while_somebody_looks_hides_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let outbox = dir.path().join("outbox");
    std::fs::create_dir(&outbox).unwrap();
    assert!(!has_pending(dir.path()));
    // A name that leads nowhere is one whose file was removed after the folder was listed.
    std::os::unix::fs::symlink("gone", files::segment_path(&outbox, 1)).unwrap();
    assert!(!has_pending(dir.path()));
    std::fs::write(files::segment_path(&outbox, 2), "{}\n").unwrap();
    assert!(has_pending(dir.path()));
}
