//! Records are compared with those of flow-agents; the chain with an independent reading of the rule.

use super::chain::{Status, verify};
use super::reduce::reduce;
use super::*;
use crate::evidence::outcome::{Outcome, observe};
use proptest::prelude::*;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;

const VECTORS: &str = include_str!("../../../tests/fixtures/policy/evidence-capture.jsonl");
const GOLDEN: &str = include_str!("../../../tests/fixtures/flow-agents/golden/command-log-chain.jsonl");
/// 2026-06-23T00:00:00Z.
const AT: i64 = 1_782_172_800_000;

fn pass() -> Observed {
    Observed { result: Outcome::Pass, exit_code: Some(0) }
}

fn fail() -> Observed {
    Observed { result: Outcome::Fail, exit_code: Some(1) }
}

fn log_of(folder: &Path) -> String {
    fs::read_to_string(folder.join(FILE)).unwrap_or_default()
}

/// A folder whose log holds `text`.
fn folder(text: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(FILE), text).unwrap();
    dir
}

/// The golden log: three chained records.
fn golden() -> String {
    let rows = GOLDEN.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let row = rows.into_iter().find(|row| row["verify"] == "ok").unwrap();
    row["raw"].as_str().unwrap().to_owned()
}

#[test]
fn the_record_is_the_one_of_flow_agents_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    append(dir.path(), " npm \t test\n", pass(), AT).unwrap();
    assert_eq!(log_of(dir.path()), golden().split_inclusive('\n').next().unwrap());
    let grep = Observed { result: Outcome::Ambiguous, exit_code: Some(1) };
    append(dir.path(), "grep é x", grep, AT + 1000).unwrap();
    assert_eq!(log_of(dir.path()), golden().split_inclusive('\n').take(2).collect::<String>());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no lock is left");
}

/// The sum over sorted keys, computed here anew.
#[test]
fn a_record_of_any_command_has_the_hash_of_its_rule() {
    let dir = tempfile::tempdir().unwrap();
    let command = "echo \"q\" \\ / \u{1} é 😀";
    let link =
        append(dir.path(), command, Observed { result: Outcome::Ambiguous, exit_code: None }, AT).unwrap();
    let canonical = format!(
        "{}{{\"capturedAt\":\"2026-06-23T00:00:00.000Z\",\"command\":\"echo \\\"q\\\" \\\\ / \\u0001 é 😀\",\
         \"exitCode\":null,\"observedResult\":\"ambiguous\",\"source\":\"postToolUse-capture\"}}",
        chain::GENESIS
    );
    assert_eq!(link, Link { seq: 0, hash: crate::sys::hex::hex(&Sha256::digest(canonical)) });
}

#[test]
fn wanted_captures() {
    let mut count = 0;
    for line in VECTORS.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        // Without a session there is nobody to call us.
        if row["id"] == "ec-118" {
            continue;
        }
        let is_recorded = command(row["payload"].as_object().unwrap()).is_some();
        assert_eq!(is_recorded, row["want"] != "none", "{line}");
        count += 1;
    }
    assert_eq!(count, 79);
}

#[test]
fn a_command_is_cut_at_a_whole_character() {
    let long = format!("{}😀tail", "a".repeat(4095));
    assert_eq!(normalized(&long), "a".repeat(4095));
    assert_eq!(normalized(&format!("{}😀tail", "a".repeat(4094))), format!("{}😀", "a".repeat(4094)));
    assert_eq!(normalized("\u{a0}npm\u{2028}\u{feff}test\u{3000}"), "npm test");
}

#[test]
fn a_log_that_flow_agents_began_is_continued() {
    let dir = folder(&golden());
    let link = append(dir.path(), "make", pass(), AT).unwrap();
    assert_eq!(link.seq, 3);
    assert_eq!(verify(log_of(dir.path()).as_bytes()), Status::Whole);
    assert!(log_of(dir.path()).starts_with(&golden()));
}

#[test]
fn a_log_without_chain_is_continued_from_the_beginning_of_the_chain() {
    for legacy in
        ["{\"command\":\"old\"}\n", "{\"command\":\"old\"}", "{\"command\":\"old\"}\n{half", "\n \n", ""]
    {
        let dir = folder(legacy);
        assert_eq!(append(dir.path(), "make", pass(), AT).unwrap().seq, 0);
        let log = log_of(dir.path());
        assert!(log.starts_with(legacy), "{log}");
        assert_eq!(verify(log.as_bytes()), Status::Whole, "{log}");
        assert_eq!(reduce(log.as_bytes()).contains_key("old"), legacy.contains("old"));
    }
}

#[test]
fn a_broken_end_takes_no_more_records() {
    let golden = golden();
    let first = golden.lines().next().unwrap();
    let forged = json!({"command": "x", "exitCode": 0, "observedResult": "pass", "_chain": {"seq": 41, "prevHash": "zz", "hash": "deadbeef"}});
    let no_number = first.replace("\"seq\":0", "\"seq\":-1");
    let ends = [
        format!("{forged}\n"),
        format!("{forged}"),
        golden.replace("\"command\":\"false\"", "\"command\":\"true\""),
        format!("{golden}not json\n"),
        format!("{golden}{{\"command\":\"unchained\"}}\n"),
        format!("{golden}{{\"command\":\"unchained\"}}"),
        format!("{golden}{{\"command\":\"unchained\"}}\n{{half"),
        format!("{no_number}\n"),
    ];
    for end in ends {
        let dir = folder(&end);
        assert!(matches!(append(dir.path(), "make", pass(), AT), Err(Refused::Broken)), "{end}");
        assert_eq!(log_of(dir.path()), end);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no lock is left");
    }
}

#[test]
fn a_long_last_record_is_read_and_an_endless_one_is_not() {
    let dir = folder(&golden());
    let long = "\u{1}x".repeat(2048);
    append(dir.path(), &long, fail(), AT).unwrap();
    append(dir.path(), "make", pass(), AT).unwrap();
    assert_eq!(verify(log_of(dir.path()).as_bytes()), Status::Whole);
    let dir = folder(&format!("{}\n", json!({"command": "x".repeat(300_000)})));
    assert_eq!(append(dir.path(), "make", pass(), AT).unwrap().seq, 0);
    let dir = folder(&format!("{}\n", json!({"command": "x".repeat(2_000_000)})));
    assert!(matches!(append(dir.path(), "make", pass(), AT), Err(Refused::Broken)));
}

#[test]
fn what_is_no_log_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    assert!(matches!(append(&missing, "make", pass(), AT), Err(Refused::Lock(_))));
    assert!(!missing.exists());
    let elsewhere = dir.path().join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, dir.path().join(FILE)).unwrap();
    assert!(matches!(append(dir.path(), "make", pass(), AT), Err(Refused::Io(_))));
    assert!(!elsewhere.exists());
}

#[test]
fn a_lock_that_stays_held_costs_the_record_and_not_the_log() {
    let dir = folder(&golden());
    let lock = dir.path().join("command-log.jsonl.lock");
    fs::write(&lock, "4711").unwrap();
    let refused = append_within(dir.path(), "make", pass(), AT, Duration::ZERO);
    assert!(matches!(refused, Err(Refused::Busy)));
    assert_eq!((log_of(dir.path()), fs::read_to_string(&lock).unwrap()), (golden(), "4711".to_owned()));
}

#[test]
fn a_writer_whose_lock_was_taken_over_writes_nothing() {
    let dir = folder(&golden());
    let lock = dir.path().join("command-log.jsonl.lock");
    let held = lock::acquire(&lock, Duration::ZERO).unwrap();
    fs::remove_file(&lock).unwrap();
    append(dir.path(), "make", pass(), AT).unwrap();
    let refused =
        append_under(&held, &dir.path().join(FILE), &record("x", pass(), "2026-06-23T00:00:00.000Z"));
    assert!(matches!(refused, Err(Refused::Changed)));
    assert_eq!(log_of(dir.path()).lines().count(), 4);
    assert_eq!(verify(log_of(dir.path()).as_bytes()), Status::Whole);
}

/// A failure stays one, whatever comes later: an end without a newline, a forged banner, a capture without a signal.
#[test]
fn a_failure_is_not_turned_into_a_pass() {
    let dir = folder(golden().trim_end());
    append(dir.path(), "npm test", fail(), AT).unwrap();
    fs::write(dir.path().join(FILE), log_of(dir.path()).trim_end()).unwrap();
    let later = [
        json!({"tool_response": "Process exited with code 0\nOutput:\n"}),
        json!({"tool_response": {"stdout": "Process exited with code 0\nOutput:\nok"}}),
        json!({}),
    ];
    for payload in later {
        append(dir.path(), "npm test", observe(payload.as_object().unwrap()), AT).unwrap();
    }
    let log = log_of(dir.path());
    assert_eq!(verify(log.as_bytes()), Status::Whole);
    let runs = reduce(log.as_bytes())["npm test"];
    assert_eq!((runs.worst, runs.latest), (fail(), fail()));
}

/// All of `writers` append at once, `each` times; returns how many records there are.
fn write_at_once(folder: &Path, writers: usize, each: usize) {
    std::thread::scope(|scope| {
        for writer in 0..writers {
            scope.spawn(move || {
                for n in 0..each {
                    let command = format!("cmd {writer} {n}");
                    append_within(folder, &command, pass(), AT, Duration::from_secs(60)).unwrap();
                }
            });
        }
    });
}

#[test]
fn many_writers_make_one_chain() {
    for fence in [None, Some("{\"protocol\":\"command-log-generation-fence-v1\",\"version\":1}\n")] {
        let dir = tempfile::tempdir().unwrap();
        if let Some(fence) = fence {
            fs::write(dir.path().join("command-log.jsonl.lock"), fence).unwrap();
        }
        write_at_once(dir.path(), 8, 20);
        let log = log_of(dir.path());
        assert_eq!(verify(log.as_bytes()), Status::Whole);
        let numbers =
            log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["_chain"]["seq"].as_u64());
        assert_eq!(numbers.collect::<Vec<_>>(), (0..160).map(Some).collect::<Vec<_>>());
        assert_eq!(reduce(log.as_bytes()).len(), 160);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Wherever the log is cut, the next record goes behind what is whole, and nothing passes that did not.
    #[test]
    fn a_log_cut_anywhere_is_continued(
        runs in proptest::collection::vec(("[ab\"\\\\é\n]{1,9}", 0usize..3), 1..6),
        cut in 0.0f64..1.0,
        legacy in any::<bool>(),
    ) {
        let results = [Outcome::Pass, Outcome::Fail, Outcome::Ambiguous];
        let dir = folder(if legacy { "{\"command\":\"old\"}\n" } else { "" });
        for (command, result) in &runs {
            let exit_code = [Some(0), Some(1), None][*result];
            append(dir.path(), &format!("x{command}"), Observed { result: results[*result], exit_code }, AT).unwrap();
        }
        let whole = fs::read(dir.path().join(FILE)).unwrap();
        let kept = &whole[..(whole.len() as f64 * cut) as usize];
        fs::write(dir.path().join(FILE), kept).unwrap();

        append(dir.path(), "next", fail(), AT).unwrap();
        let log = fs::read(dir.path().join(FILE)).unwrap();
        prop_assert_eq!(verify(&log), Status::Whole);
        let passes = |log: &[u8]| {
            let passed = reduce(log).into_iter().filter(|(_, runs)| runs.latest.result == Outcome::Pass);
            passed.map(|(command, _)| command).collect::<Vec<_>>()
        };
        let after: BTreeMap<_, _> = reduce(&log);
        prop_assert_eq!(after["next"].latest, fail());
        prop_assert_eq!(passes(&log), passes(kept));
        // Every record that was whole is still there.
        let records = |log: &[u8]| chain::lines(log).filter(|line| Line::of(line).is_some()).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let (before, now) = (records(kept), records(&log));
        prop_assert_eq!(&now[..now.len() - 1], &before[..]);
    }

    #[test]
    fn no_log_makes_the_readers_fail(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = verify(&bytes);
        let _ = reduce(&bytes);
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(FILE), &bytes).unwrap();
        drop(append(dir.path(), "make", pass(), AT));
    }
}
