//! Appends by many, to what a crash left, and of what should not be appended (cases 1, 3 and 9).

use super::{console, counters, event, flush, record, record_among_many, records, run_ids, sum};
use crate::env::TestEnv;
use crate::transcript::{SESSION, Transcript, tokens};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Write;
use tally::relay::receiver::Receiver;

const OPUS: &str = "claude-opus-4-8";
/// The most that a record may have (DESIGN §4, G5).
const RECORD_MAX: usize = 256 * 1024;

#[test]
fn parallel_writers_of_small_and_large_records_weld_none() {
    const WRITERS: usize = 16;
    let env = TestEnv::new();
    console(&env, "http://127.0.0.1:1");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let env = &env;
            scope.spawn(move || {
                for (at, rows) in [0, 12, 200].into_iter().enumerate() {
                    record_among_many(env, &event(&format!("w{writer}-{at}"), 1, rows));
                }
            });
        }
    });
    // What a busy outbox left behind goes with the next record.
    record(&env, &event("last", 1, 0));
    let text = std::fs::read_to_string(env.data_dir().join("economics.jsonl")).unwrap();
    let records = records(&env);
    assert_eq!(text.lines().count(), records.len(), "every line is a record");
    assert_eq!(records.len(), WRITERS * 3 + 1);
    assert_eq!(run_ids(&records).into_iter().collect::<BTreeSet<_>>().len(), records.len());
    assert!(text.lines().any(|line| line.len() > 100_000), "large ones were among them");
    let [enqueued, _, _, _, pending] = counters(&env);
    assert_eq!((enqueued, pending), (records.len() as u64, records.len() as u64));
}

#[test]
fn nuls_that_a_power_loss_left_cost_no_record_before_or_after() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver.url());
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 0, 0]);
    transcript.stop(&env);
    flush(&env);
    let sessions = std::fs::read_dir(env.data_dir().join("sessions")).unwrap();
    let own = sessions.map(|item| item.unwrap().path()).find(|path| path.extension().is_some()).unwrap();
    for path in [env.data_dir().join("economics.jsonl"), own, env.data_dir().join("outbox/current.jsonl")] {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(&[0; 4096]).unwrap();
    }
    transcript.prompt().call("m2", OPUS, [2, 0, 0]);
    transcript.stop(&env);
    flush(&env);
    assert_eq!(records(&env).iter().map(tokens).collect::<Vec<_>>(), [[1, 0, 0], [2, 0, 0]]);
    assert_eq!(receiver.received().len(), 2);
    assert_eq!(counters(&env), [3, 2, 1, 0, 0], "the NULs are a line that was given up");
}

#[test]
fn a_record_with_too_many_delegations_keeps_the_first_and_counts_the_others() {
    let env = TestEnv::new();
    let agents = env.project().join("agents");
    for at in 0..1_200 {
        let dir = agents.join(format!("agent-{at:04}-{}", "x".repeat(150)));
        std::fs::create_dir_all(&dir).unwrap();
        let sent = json!({ "agent_id": dir.file_name().unwrap().to_str(), "kind": "delegation", "role": "r", "model": "m", "timestamp": "2026-07-05T00:00:01Z" });
        std::fs::write(dir.join("events.jsonl"), format!("{sent}\n")).unwrap();
    }
    std::fs::write(env.project().join("state.json"), json!({ "task_slug": "t" }).to_string()).unwrap();
    let event = event("s", 7, 0).to_string();
    let output = env.run(&["economics", "record", "--agents-dir", "agents", "--state", "state.json", &event]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = std::fs::read_to_string(env.data_dir().join("economics.jsonl")).unwrap();
    assert!(text.len() > RECORD_MAX / 4 && text.trim_end().len() <= RECORD_MAX, "{}", text.len());
    let record = records(&env).remove(0);
    let kept = record["delegations"].as_array().unwrap().len() as u64;
    assert_eq!(kept + record["diagnostics"]["delegations_omitted"].as_u64().unwrap(), 1_200);
    assert_eq!(record["cost"]["input_tokens"], 7);
}

#[test]
fn a_record_that_cannot_be_made_small_enough_is_refused_and_the_next_is_not() {
    let env = TestEnv::new();
    let output = env.feed(&["economics", "record"], event("s", 7, 1_500).to_string().as_bytes());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("too large") && said.lines().count() == 1, "{said}");
    assert_eq!(std::fs::read(env.data_dir().join("economics.jsonl")).unwrap(), b"");
    record(&env, &event("s", 9, 0));
    assert_eq!(sum(&records(&env), "s"), 9);
}

#[test]
fn a_record_that_the_outbox_cannot_take_stays_and_holds_up_no_other() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver.url());
    // What leaves names each unknown number, and so is larger than what was recorded: there is a size between.
    let output = record(&env, &event("large", 7, 280));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("run large cannot be sent and stays in the journal"), "{said}");
    record(&env, &event("small", 9, 0));
    flush(&env);
    assert_eq!(run_ids(&records(&env)), ["large", "small"]);
    assert_eq!(receiver.received().len(), 1);
}
