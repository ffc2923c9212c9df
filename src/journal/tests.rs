//! The invariants of a journal, on real files; the numbers are those of the room's list.

use super::*;

fn open(path: &Path) -> Journal {
    Journal::open(path, Duration::ZERO).unwrap().unwrap()
}

#[test]
fn r1_a_record_that_would_span_lines_or_grow_too_large_is_refused_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    let mut journal = open(&path);
    assert!(journal.append(b"{\n}", Durability::Written).is_err());
    assert!(journal.append(&vec![b'x'; MAX_RECORD + 1], Durability::Written).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}

#[test]
fn a_held_journal_is_not_opened_twice() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    let held = open(&path);
    assert!(Journal::open(&path, Duration::ZERO).unwrap().is_none());
    drop(held);
    assert!(Journal::open(&path, Duration::ZERO).unwrap().is_some());
}

#[test]
fn r5_the_cursor_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    let journal = open(&path);
    assert_eq!(journal.cursor().unwrap(), None);
    let cursor = Cursor { offset: 42, mark: 7 };
    journal.set_cursor(Cursor { offset: u64::MAX, mark: u64::MAX }).unwrap();
    journal.set_cursor(cursor).unwrap();
    drop(journal);
    assert_eq!(open(&path).cursor().unwrap(), Some(cursor));
}

/// The lines from offset `from` on, with their offsets.
fn lines_from(journal: &mut Journal, from: u64) -> Vec<(String, u64)> {
    let mut found = vec![];
    journal
        .for_each_from(from, b"{", |line, at| found.push((String::from_utf8(line.to_vec()).unwrap(), at)))
        .unwrap();
    found
}

fn append(journal: &mut Journal, record: &str) -> Range<u64> {
    journal.append(record.as_bytes(), Durability::Written).unwrap()
}

fn all(path: &Path) -> Vec<String> {
    let mut found = vec![];
    read(path, b"{", |line, _| found.push(String::from_utf8(line.to_vec()).unwrap())).unwrap();
    found
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|item| item.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| !name.ends_with(".lock"));
    names.sort();
    names
}

#[test]
fn r6_offsets_hold_across_rotations_and_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    let mut journal = open(&path);
    let records = ["{\"n\":1}", "{\"n\":22}", "{\"n\":333}", "{\"n\":4444}"];
    let mut spans = vec![];
    for record in records {
        spans.push(append(&mut journal, record));
        journal.rotate(9).unwrap();
        drop(journal);
        journal = open(&path);
    }
    // Each line is its record and a newline; it starts where the one before it ended.
    assert_eq!(spans, [0..8, 8..17, 17..27, 27..38]);
    assert_eq!((journal.end(), end(&path).unwrap()), (38, 38));
    for (at, span) in spans.iter().enumerate() {
        let expected: Vec<(String, u64)> = records[at..]
            .iter()
            .zip(&spans[at..])
            .map(|(record, span)| ((*record).to_owned(), span.start))
            .collect();
        assert_eq!(lines_from(&mut journal, span.start), expected);
    }
    assert_eq!(all(&path), records);
    assert_eq!(
        names(dir.path()),
        ["j.0-8.jsonl", "j.17-27.jsonl", "j.27-38.jsonl", "j.8-17.jsonl", "j.jsonl"]
    );
}

#[test]
fn r6_the_last_line_of_its_kind_is_found_in_whatever_file_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    let mut journal = open(&path);
    for record in ["{\"a\":1}", "{\"a\":2}", "{\"b\":3}"] {
        append(&mut journal, record);
        journal.rotate(9).unwrap();
    }
    let mut last = |needle: &str| {
        let text = |line: &[u8]| Some(String::from_utf8(line.to_vec()).unwrap());
        journal.last(needle.as_bytes(), text).unwrap()
    };
    assert_eq!(last("\"a\"").as_deref(), Some("{\"a\":2}"));
    assert_eq!(last("\"b\"").as_deref(), Some("{\"b\":3}"));
    assert_eq!(last("\"c\""), None);
}

#[test]
fn r6_the_oldest_files_go_and_offsets_still_hold() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    let mut journal = open(&path);
    for n in 0..5 {
        append(&mut journal, &format!("{{\"n\":{n}}}"));
        journal.rotate(2).unwrap();
    }
    assert_eq!(names(dir.path()), ["j.24-32.jsonl", "j.32-40.jsonl", "j.jsonl"]);
    assert_eq!(
        lines_from(&mut open_after(journal, &path), 0),
        [("{\"n\":3}".into(), 24), ("{\"n\":4}".into(), 32)]
    );
}

fn open_after(journal: Journal, path: &Path) -> Journal {
    drop(journal);
    open(path)
}

#[test]
fn r6_a_late_line_in_a_rotated_file_is_read_and_its_file_is_not_removed() {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    let mut journal = open(&path);
    append(&mut journal, "{\"n\":1}");
    let mut late = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    journal.rotate(1).unwrap();
    late.write_all(b"{\"late\":2}\n").unwrap();
    append(&mut journal, "{\"n\":3}");
    assert_eq!(all(&path), ["{\"n\":1}", "{\"late\":2}", "{\"n\":3}"]);
    let last = journal.last(b"late", |line| Some(line.to_vec())).unwrap();
    assert_eq!(last.as_deref(), Some(&b"{\"late\":2}"[..]));
    for _ in 0..3 {
        journal.rotate(1).unwrap();
        append(&mut journal, "{\"n\":4}");
    }
    assert!(all(&path).contains(&"{\"late\":2}".to_owned()), "{:?}", names(dir.path()));
    assert!(!all(&path).contains(&"{\"n\":3}".to_owned()), "others make room: {:?}", names(dir.path()));
}

#[test]
fn r7_a_lock_file_deleted_while_held_costs_neither_writer_its_record() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    let mut first = open(&path);
    std::fs::remove_file(lock_path(&path)).unwrap();
    let mut second = open(&path);
    let spans = [append(&mut second, "{\"by\":\"second\"}"), append(&mut first, "{\"by\":\"first\"}")];
    assert_eq!(spans, [0..16, 16..31]);
    assert_eq!(all(&path), ["{\"by\":\"second\"}", "{\"by\":\"first\"}"]);
    // The second rotates under the first: what the first still has to write goes into the new file.
    second.rotate(9).unwrap();
    let span = append(&mut first, "{\"by\":\"first again\"}");
    assert_eq!(lines_from(&mut second, span.start), [("{\"by\":\"first again\"}".to_owned(), span.start)]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"by\":\"first again\"}\n");
}

#[test]
fn only_names_of_our_own_making_are_rotated_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    for name in
        ["j.0-8.jsonl.gz", "j.00-8.jsonl", "j.x-8.jsonl", "k.0-8.jsonl", "j.8.jsonl", "j.0-8", "j.jsonl"]
    {
        std::fs::write(dir.path().join(name), "{\"n\":1}\n").unwrap();
    }
    assert_eq!((all(&path).len(), end(&path).unwrap()), (1, 8));
    // A journal may have a name without an extension.
    let plain = dir.path().join("j");
    append(&mut open(&plain), "{}");
    assert_eq!(end(&plain).unwrap(), 8 + 3);
}

#[test]
fn r6_a_crash_in_the_middle_of_a_rotation_leaves_a_whole_journal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    append(&mut open(&path), "{\"n\":1}");
    // The rename came through, the new file did not.
    std::fs::rename(&path, dir.path().join("j.0-8.jsonl")).unwrap();
    assert_eq!((all(&path), end(&path).unwrap()), (vec!["{\"n\":1}".to_owned()], 8));
    let mut journal = open(&path);
    assert_eq!(append(&mut journal, "{\"n\":2}"), 8..16);
    let mut unlocked = vec![];
    read(&path, b"{", |line, at| unlocked.push((String::from_utf8(line.to_vec()).unwrap(), at))).unwrap();
    assert_eq!(unlocked, [("{\"n\":1}".to_owned(), 0), ("{\"n\":2}".to_owned(), 8)]);
    assert_eq!(lines_from(&mut journal, 0), unlocked);
}

#[test]
fn r6_a_reader_during_rotations_misses_no_line_and_keeps_their_order() {
    const RECORDS: usize = 400;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    let number =
        |line: &[u8]| std::str::from_utf8(line).unwrap()[5..].trim_end_matches('}').parse::<usize>().unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut journal = open(&path);
            for n in 0..RECORDS {
                append(&mut journal, &format!("{{\"n\":{n}}}"));
                if n % 3 == 0 {
                    journal.rotate(RECORDS).unwrap();
                }
            }
        });
        loop {
            let last = writer.is_finished();
            let mut numbers = vec![];
            read(&path, b"{", |line, _| numbers.push(number(line))).unwrap();
            assert!(numbers.iter().copied().eq(0..numbers.len()), "{numbers:?}");
            if last {
                assert_eq!(numbers.len(), RECORDS);
                return;
            }
        }
    });
}

#[test]
fn records_that_are_added_without_offsets_are_the_same_journal_and_rotate_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j.jsonl");
    let rotation = Rotation { max_bytes: 20, keep: 2 };
    for batch in [&["{\"n\":1}", "{\"n\":2}"][..], &["{\"n\":3}"], &["{\"n\":4}"]] {
        assert!(Journal::add(&path, batch, rotation, Duration::ZERO).unwrap());
    }
    // Three lines of eight bytes filled the first file.
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"n\":4}\n");
    let mut all = vec![];
    read(&path, b"n", |line, at| all.push((String::from_utf8(line.to_vec()).unwrap(), at))).unwrap();
    let expected = [1, 2, 3, 4].map(|n| (format!("{{\"n\":{n}}}"), (n - 1) * 8));
    assert_eq!(all, expected);
    assert!(Journal::add(&path, &["{\n}"], rotation, Duration::ZERO).is_err());
    let _held = Journal::open(&path, Duration::ZERO).unwrap().unwrap();
    assert!(!Journal::add(&path, &["{}"], rotation, Duration::ZERO).unwrap(), "locked by another");
}
