//! A JSONL file that was left in any state: nothing that is there is lost or changed, the next append is on its own line, and
//! what is recovered of a torn file was written.

use serde_json::{Map, Value};
use std::fs::File;
use std::path::Path;
use tally::journal::lines::{self, Line, MAX_LINE};
use tally::journal::{self, Durability, Log};

const RECORD: &[u8] = br#"{"appended":"after the crash"}"#;

/// Panics if the property is broken.
pub(crate) fn holds(input: &[u8]) {
    if input.len() > MAX_LINE {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    std::fs::write(&path, input).unwrap();
    for needle in [&b""[..], b"{", b"\"a"] {
        reads_each_line_once(&path, input, needle);
    }
    appends_on_a_line_of_its_own(&path, input);
    let written: Vec<&[u8]> = input.split(|byte| *byte == b'\n').filter(|line| is_record(line)).collect();
    let text = [written.join(&b'\n'), vec![b'\n']].concat();
    for eighth in 0..=8 {
        recovers_what_was_written(&path, &written, &text[..text.len() * eighth / 8]);
    }
}

fn reads_each_line_once(path: &Path, input: &[u8], needle: &[u8]) {
    let has_needle = |line: &[u8]| needle.is_empty() || line.windows(needle.len()).any(|part| part == needle);
    let mut rest = input;
    let mut expected = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        expected.push((rest[..end].to_vec(), (input.len() - rest.len()) as u64, false));
        rest = &rest[end + 1..];
    }
    let start = (input.len() - rest.len()) as u64;
    if !rest.is_empty() {
        expected.push((rest.to_vec(), start, true));
    }
    expected.retain(|(line, ..)| has_needle(line));
    let mut found = Vec::new();
    let keep = |line: Line<'_>| found.push((line.bytes.to_vec(), line.offset, line.open));
    let progress = lines::for_each(&mut File::open(path).unwrap(), 0, needle, keep).unwrap();
    assert_eq!(found, expected);
    assert_eq!(
        (progress.offset, progress.overlong),
        (start, 0),
        "the next read starts behind the last newline"
    );
}

fn appends_on_a_line_of_its_own(path: &Path, input: &[u8]) {
    let mut log = Log::open(path).unwrap();
    log.append(&[RECORD], Durability::Written).unwrap();
    let sealed = if input.is_empty() || input.ends_with(b"\n") { &b""[..] } else { b"\n" };
    assert_eq!(std::fs::read(path).unwrap(), [input, sealed, RECORD, b"\n"].concat());
    let last = log.last(b"after the crash", |line| (line == RECORD).then(|| line.to_vec())).unwrap();
    assert_eq!(last.as_deref(), Some(RECORD));
}

/// `left` is what a crash left of the lines `written`.
fn recovers_what_was_written(path: &Path, written: &[&[u8]], left: &[u8]) {
    std::fs::write(path, left).unwrap();
    Log::open(path).unwrap().append(&[RECORD], Durability::Written).unwrap();
    let mut recovered = Vec::new();
    let keep = |line: &[u8], _| recovered.extend(is_record(line).then(|| line.to_vec()));
    journal::read(path, b"{", keep).unwrap();
    assert_eq!(recovered.pop().as_deref(), Some(RECORD));
    let mut end = 0;
    let whole = written.iter().take_while(|line| {
        let fits = end + line.len() <= left.len();
        end += line.len() + 1;
        fits
    });
    assert!(recovered.iter().eq(whole), "whole lines stay, and only they");
}

/// Records are JSON objects, written without blanks around them.
fn is_record(line: &[u8]) -> bool {
    line.trim_ascii() == line && serde_json::from_slice::<Map<String, Value>>(line).is_ok()
}
