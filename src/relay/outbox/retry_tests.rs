//! Putting back, on real files, with crashes between any two file operations (the seam is [`super::super::files`]: each of
//! its calls that writes is one step).

use std::fs;
use std::path::PathBuf;

use super::super::tests::{ORIGIN, WAIT, counters, guard, open};
use super::super::{Fate, Ledger, enqueue, sample};
use super::*;

fn file(dir: &Path, name: &str) -> PathBuf {
    dir.join("outbox").join(name)
}

/// One round of a worker: takes in what there is and settles each entry as `fate` says.
fn work(dir: &Path, fate: impl Fn(&Entry) -> Fate) -> Vec<Entry> {
    let (mut ledger, found) = open(dir);
    let guard = guard(dir);
    // As the worker does: what was taken in is saved before any of it is sent.
    ledger.save(&guard).unwrap();
    for located in &found {
        match fate(&located.entry) {
            Fate::Rejected => {
                let line = ledger.line(located.key, located.offset, located.len).unwrap();
                ledger.reject_line(located.key, &line, "refused", Some(400), 0);
            }
            fate => ledger.state.settle(located.key, fate),
        }
    }
    ledger.save(&guard).unwrap();
    found.into_iter().map(|located| located.entry).collect()
}

/// An outbox in which `ids` were rejected, beside one that was delivered.
fn with_rejected(ids: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for id in ids.iter().chain(&["fine"]) {
        enqueue(dir.path(), &sample(id, ORIGIN), WAIT).unwrap();
    }
    work(dir.path(), |entry| if entry.id == "fine" { Fate::Delivered } else { Fate::Rejected });
    dir
}

fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

fn kept(dir: &Path) -> Vec<String> {
    let shelf = shelf(dir, WAIT).unwrap();
    shelf.kept.iter().map(|record| record.parsed().unwrap().id).collect()
}

#[test]
fn invariant_11_rejected_becomes_pending_and_the_sum_stays() {
    let dir = with_rejected(&["a", "b"]);
    assert_eq!(counters(dir.path()), [3, 1, 2, 0, 0]);
    let done = put_back(dir.path(), Choice::Id("a"), WAIT).unwrap();
    assert_eq!((ids(&done.put_back), kept(dir.path())), (vec!["a"], vec!["b".to_owned()]));
    assert_eq!(counters(dir.path()), [3, 1, 1, 0, 1]);
    let sent = work(dir.path(), |_| Fate::Delivered);
    assert_eq!((ids(&sent), counters(dir.path())), (vec!["a"], [3, 2, 1, 0, 0]));
    assert_eq!(sent[0].body.get(), sample("a", ORIGIN).body.get(), "to the byte");
}

#[test]
fn what_is_rejected_again_is_kept_again_and_can_be_put_back_again() {
    let dir = with_rejected(&["a"]);
    for _ in 0..3 {
        assert_eq!(put_back(dir.path(), Choice::All, WAIT).unwrap().put_back.len(), 1);
        assert_eq!(counters(dir.path()), [2, 1, 0, 0, 1]);
        work(dir.path(), |_| Fate::Rejected);
        assert_eq!((counters(dir.path()), kept(dir.path())), ([2, 1, 1, 0, 0], vec!["a".to_owned()]));
    }
}

#[test]
fn invariant_11_what_is_on_its_way_is_not_put_back_a_second_time() {
    let dir = with_rejected(&["a"]);
    let before = fs::read(file(dir.path(), "rejected.jsonl")).unwrap();
    put_back(dir.path(), Choice::All, WAIT).unwrap();
    // As if the crash had come before the kept line was taken out.
    fs::write(file(dir.path(), "rejected.jsonl"), before).unwrap();
    assert!(kept(dir.path()).is_empty());
    let again = put_back(dir.path(), Choice::All, WAIT).unwrap();
    assert_eq!((ids(&again.put_back), ids(&again.on_their_way)), (vec![], vec!["a"]));
    assert_eq!(counters(dir.path()), [2, 1, 0, 0, 1]);
    assert_eq!(ids(&work(dir.path(), |_| Fate::Delivered)), ["a"]);
}

#[test]
fn invariant_11_a_crash_after_the_append_is_made_good_by_who_takes_the_entry_in() {
    let dir = with_rejected(&["a", "b"]);
    let before = fs::read(file(dir.path(), "rejected.jsonl")).unwrap();
    put_back(dir.path(), Choice::Id("a"), WAIT).unwrap();
    fs::write(file(dir.path(), "rejected.jsonl"), before).unwrap();
    assert_eq!(ids(&work(dir.path(), |_| Fate::Delivered)), ["a"]);
    assert_eq!((counters(dir.path()), kept(dir.path())), ([3, 2, 1, 0, 0], vec!["b".to_owned()]));
    assert!(put_back(dir.path(), Choice::Id("a"), WAIT).unwrap().put_back.is_empty(), "sent twice");
}

/// The files of the outbox, by name.
type Disk = std::collections::BTreeMap<String, Vec<u8>>;

fn disk(dir: &Path) -> Disk {
    let files = fs::read_dir(dir.join("outbox")).unwrap().map(|item| item.unwrap().path());
    files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect()
}

/// The same as `from`, but for the files of `names`, which are as in `to`.
fn mixed(from: &Disk, to: &Disk, names: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("outbox")).unwrap();
    let mut files = from.clone();
    for name in names {
        match to.get(*name) {
            Some(bytes) => files.insert((*name).to_owned(), bytes.clone()),
            None => files.remove(*name),
        };
    }
    for (name, bytes) in files {
        fs::write(file(dir.path(), &name), bytes).unwrap();
    }
    dir
}

#[test]
fn a_crash_between_any_two_file_operations_of_a_retry_loses_and_repeats_nothing() {
    let dir = with_rejected(&["a", "b", "c"]);
    let before = disk(dir.path());
    put_back(dir.path(), Choice::All, WAIT).unwrap();
    let after = disk(dir.path());
    let changed: Vec<&String> = after.keys().filter(|name| after.get(*name) != before.get(*name)).collect();
    assert_eq!(changed, ["current.jsonl", "rejected.jsonl"], "the files that a crash can fall between");
    let whole = &after["current.jsonl"];
    // Before, in the middle of and after each append, with and without its newline; then the removal is what is missing.
    let ends: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    assert_eq!(ends.len(), 3);
    let cuts = ends.iter().flat_map(|end| [end - 90, end - 2, end - 1, *end]).chain([0]);
    for written in cuts {
        let mut torn = after.clone();
        torn.insert("current.jsonl".to_owned(), whole[..written].to_vec());
        let dir = mixed(&before, &torn, &["current.jsonl"]);
        let [enqueued, delivered, ..] = counters(dir.path());
        // A torn piece is a line too (invariant 2), and a whole line may lack its newline only.
        assert!((4..=5).contains(&enqueued) && delivered == 1, "{written}: {enqueued}");
        put_back(dir.path(), Choice::All, WAIT).unwrap();
        let mut sent: Vec<String> = work(dir.path(), |_| Fate::Delivered).into_iter().map(|e| e.id).collect();
        sent.sort();
        assert_eq!(sent, ["a", "b", "c"], "cut after {written} bytes");
        assert_eq!(counters(dir.path())[1..], [4, enqueued - 4, 0, 0], "cut after {written} bytes");
        assert!(put_back(dir.path(), Choice::All, WAIT).unwrap().put_back.is_empty(), "{written}");
    }
}

#[test]
fn a_crash_between_any_two_file_operations_of_the_worker_that_takes_it_in_repeats_nothing() {
    let dir = with_rejected(&["a", "b"]);
    let kept_before = disk(dir.path())["rejected.jsonl"].clone();
    put_back(dir.path(), Choice::Id("a"), WAIT).unwrap();
    // The retry itself was cut short, so that the worker has something to make good.
    fs::write(file(dir.path(), "rejected.jsonl"), kept_before).unwrap();
    let before = disk(dir.path());
    {
        let guard = guard(dir.path());
        let mut ledger = Ledger::open(&guard).unwrap();
        ledger.seal(&guard).unwrap();
        ledger.adopt_next(&guard, 0).unwrap();
        ledger.save(&guard).unwrap();
    }
    let after = disk(dir.path());
    let sealed = ["current.jsonl", "0000000002.jsonl"];
    let steps: [&[&str]; 3] = [
        &sealed,
        &[&sealed[..], &["rejected.jsonl"]].concat(),
        &[&sealed[..], &["rejected.jsonl", "state.json"]].concat(),
    ];
    for done in steps {
        let dir = mixed(&before, &after, done);
        assert_eq!(counters(dir.path()), [3, 1, 1, 0, 1], "after {done:?}");
        assert_eq!(ids(&put_back(dir.path(), Choice::Id("a"), WAIT).unwrap().put_back), Vec::<&str>::new());
        assert_eq!(ids(&work(dir.path(), |_| Fate::Delivered)), ["a"], "after {done:?}");
        assert_eq!(counters(dir.path()), [3, 2, 1, 0, 0], "after {done:?}");
        assert_eq!(kept(dir.path()), ["b"], "after {done:?}");
    }
}

#[test]
fn a_rejection_that_is_kept_and_not_yet_booked_is_not_put_back() {
    let dir = tempfile::tempdir().unwrap();
    enqueue(dir.path(), &sample("a", ORIGIN), WAIT).unwrap();
    work(dir.path(), |_| Fate::Rejected);
    let kept_line = disk(dir.path())["rejected.jsonl"].clone();
    let dir = tempfile::tempdir().unwrap();
    enqueue(dir.path(), &sample("a", ORIGIN), WAIT).unwrap();
    // Invariant 5: kept, then the crash; the entry is still on its way.
    fs::write(file(dir.path(), "rejected.jsonl"), kept_line).unwrap();
    let done = put_back(dir.path(), Choice::All, WAIT).unwrap();
    assert_eq!((done.put_back.len(), ids(&done.on_their_way)), (0, vec!["a"]));
    assert_eq!(counters(dir.path()), [1, 0, 0, 0, 1]);
}

#[test]
fn with_lost_books_what_is_kept_can_still_be_put_back() {
    let dir = with_rejected(&["a"]);
    fs::remove_file(file(dir.path(), "state.json")).unwrap();
    assert_eq!(counters(dir.path()), [0, 0, 0, 0, 0]);
    assert_eq!(put_back(dir.path(), Choice::All, WAIT).unwrap().put_back.len(), 1);
    assert_eq!(counters(dir.path()), [1, 0, 0, 0, 1]);
    assert_eq!(ids(&work(dir.path(), |_| Fate::Delivered)), ["a"]);
    assert_eq!(counters(dir.path()), [1, 1, 0, 0, 0]);
}

#[test]
fn each_of_a_pairs_liveness_records_is_a_record_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    for second in 0..2 {
        let body = format!(r#"{{"type":"heartbeat","at":"2026-07-01T10:00:0{second}Z"}}"#);
        let entry = Entry {
            kind: super::super::LIVENESS.to_owned(),
            body: Entry::body(&body).unwrap(),
            ..sample("liveness:a:t", ORIGIN)
        };
        enqueue(dir.path(), &entry, WAIT).unwrap();
    }
    work(dir.path(), |_| Fate::Rejected);
    assert_eq!(put_back(dir.path(), Choice::Id("liveness:a:t"), WAIT).unwrap().put_back.len(), 2);
    assert_eq!(counters(dir.path()), [2, 0, 0, 0, 2]);
}

#[test]
fn a_torn_line_and_an_unknown_id_put_nothing_back_and_an_outbox_that_is_not_there_stays_so() {
    let dir = with_rejected(&["a"]);
    let torn = r#"{"rejected_at":0,"reason":"torn","status":null,"attempts":0,"segment":1,"line":9,"entry":null,"torn":"{"}"#;
    let mut bytes = fs::read(file(dir.path(), "rejected.jsonl")).unwrap();
    bytes.extend_from_slice(format!("{torn}\nno JSON\n").as_bytes());
    fs::write(file(dir.path(), "rejected.jsonl"), bytes).unwrap();
    assert!(put_back(dir.path(), Choice::Id("b"), WAIT).unwrap().put_back.is_empty());
    let done = put_back(dir.path(), Choice::All, WAIT).unwrap();
    assert_eq!((ids(&done.put_back), done.unreadable), (vec!["a"], 1));
    let left = fs::read_to_string(file(dir.path(), "rejected.jsonl")).unwrap();
    assert_eq!(left, format!("{torn}\nno JSON\n"), "what cannot be read is not thrown away");
    let empty = tempfile::tempdir().unwrap();
    assert!(put_back(empty.path(), Choice::All, WAIT).unwrap().put_back.is_empty());
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}
