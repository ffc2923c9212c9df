//! The properties of `fuzz/`, held for the committed seeds and for all that a torn write could leave of them. `cargo fuzz` looks
//! for more inputs (CONTRIBUTING); this test needs neither it nor nightly.
#![cfg(test)]

#[path = "../fuzz/properties/conf.rs"]
mod conf;
#[path = "../fuzz/properties/host_payload.rs"]
mod host_payload;
#[path = "../fuzz/properties/jsonl_tail.rs"]
mod jsonl_tail;
#[path = "../fuzz/properties/transcript_line.rs"]
mod transcript_line;

use std::path::Path;

/// Holds a property for each seed of a target, and for its beginnings, `step` bytes apart.
fn replay(target: &str, step: usize, holds: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let seed = std::fs::read(&path).unwrap();
        for length in (0..seed.len().min(1024)).step_by(step).chain([seed.len()]) {
            let held = std::panic::catch_unwind(|| holds(&seed[..length]));
            assert!(held.is_ok(), "the first {length} bytes of {}", path.display());
        }
        seeds += 1;
    }
    assert!(seeds >= 8, "{} has {seeds} seeds", folder.display());
}

#[test]
fn host_payloads_are_read_as_json_and_never_a_panic() {
    replay("host_payload", 1, host_payload::holds);
}

#[test]
fn a_journal_loses_nothing_whatever_a_crash_left() {
    replay("jsonl_tail", 16, jsonl_tail::holds);
}

#[test]
fn a_conf_says_what_its_format_says_and_warnings_tell_no_secret() {
    replay("conf", 1, conf::holds);
}

#[test]
fn a_transcript_line_has_the_same_calls_cut_or_whole() {
    replay("transcript_line", 1, transcript_line::holds);
}
