//! A writer killed at any moment (case 4). `evals/faults/disk` does the same for 500 rounds.

use super::{console, counters, event, files, flush, record, records, run_ids};
use crate::env::TestEnv;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;
use std::time::Instant;
use tally::relay::receiver::Receiver;

/// Each event tells more than the one before, so the records add up to the last one whatever was killed in between; and
/// an exit code 0 is the writer's word that its event is recorded.
#[test]
fn a_writer_killed_at_any_moment_repeats_nothing_and_takes_nothing_back() {
    const ROUNDS: u64 = 60;
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver.url());
    let mut acknowledged = vec![];
    let started = Instant::now();
    record(&env, &event("s", 1, 0));
    let one_run = started.elapsed();
    for round in 1..=ROUNDS {
        let told = i64::try_from(round).unwrap() * 10;
        let mut command = env.command(&["economics", "record"]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        // It may be dead already.
        drop(child.stdin.take().unwrap().write_all(event("s", told, 0).to_string().as_bytes()));
        // Between nothing and a little more than a whole run.
        std::thread::sleep(one_run.mul_f64((round * 7_919 % 100) as f64 / 66.0));
        child.kill().unwrap();
        if child.wait().unwrap().code() == Some(0) {
            acknowledged.push(told);
        }
    }
    record(&env, &event("s", 10_000, 0));
    let records = records(&env);
    let unique: BTreeSet<String> = run_ids(&records).into_iter().collect();
    assert_eq!(unique.len(), records.len(), "{:?}", run_ids(&records));
    assert_eq!(super::sum(&records, "s"), 10_000);
    let recorded: Vec<i64> =
        records.iter().map(|record| record["session_totals"]["input_tokens"].as_i64().unwrap()).collect();
    for told in acknowledged {
        assert_eq!(recorded.iter().filter(|&&total| total == told).count(), 1, "{told} of {recorded:?}");
    }
    let lines = std::fs::read_to_string(&files(&env)[0]).unwrap().lines().count();
    assert!(lines - records.len() <= 1, "{lines} lines, {} records", records.len());
    flush(&env);
    let sent: Vec<_> =
        receiver.received().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    assert_eq!(run_ids(&sent).into_iter().collect::<BTreeSet<_>>(), unique);
    let [enqueued, delivered, ..] = counters(&env);
    assert_eq!(enqueued, delivered);
}
