//! Locks that are held, cannot be taken, or vanish (cases 11 to 13).

use super::{console, event, flush, record, records, run_ids, sum};
use crate::env::TestEnv;
use crate::transcript::{SESSION, Transcript, tokens};
use tally::relay::receiver::Receiver;
use tally::sys::lock::Lock;

const OPUS: &str = "claude-opus-4-8";

/// The hook gives up within its patience and harms nobody; the transcript still has the run, so the next stop records it.
/// (There is no fallback file to merge: what a hook would put there can be read again.)
#[test]
fn a_lock_held_by_another_process_loses_no_run_and_stops_no_hook() {
    for lock in ["sessions/lock", "economics.jsonl.lock"] {
        let env = TestEnv::new();
        let mut transcript = Transcript::new(&env, SESSION);
        transcript.prompt().call("m1", OPUS, [1, 0, 0]);
        transcript.stop(&env);
        let held = Lock::try_acquire(&env.data_dir().join(lock)).unwrap().unwrap();
        transcript.prompt().call("m2", OPUS, [2, 0, 0]);
        transcript.stop(&env);
        assert_eq!(env.records().len(), 1, "{lock}");
        assert!(env.log().contains("in use by another hook"), "{lock}: {}", env.log());
        drop(held);
        transcript.prompt().call("m3", OPUS, [4, 0, 0]);
        transcript.stop(&env);
        assert_eq!(env.records().iter().map(tokens).collect::<Vec<_>>(), [[1, 0, 0], [6, 0, 0]], "{lock}");
    }
}

#[test]
fn an_outbox_held_by_another_process_leaves_the_record_to_the_next_hook() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver.url());
    record(&env, &event("first", 1, 0));
    flush(&env);
    let held = Lock::try_acquire(&env.data_dir().join("outbox/outbox.lock")).unwrap().unwrap();
    let output = env.feed(&["economics", "record"], event("held", 2, 0).to_string().as_bytes());
    assert!(String::from_utf8_lossy(&output.stderr).contains("held by another process"), "{output:?}");
    assert_eq!(run_ids(&records(&env)), ["first", "held"]);
    drop(held);
    record(&env, &event("next", 3, 0));
    flush(&env);
    assert_eq!(receiver.received().len(), 3);
}

/// A file system without locks refuses each of them, as a folder in the lock's place does. Nothing is written without a
/// lock: the runs go into the next record that can be.
#[test]
fn locks_that_cannot_be_taken_at_all_lose_no_run_of_many() {
    let env = TestEnv::new();
    let mut transcripts: Vec<Transcript> =
        (0..8).map(|at| Transcript::new(&env, &format!("session-{at}"))).collect();
    let lock = env.data_dir().join("economics.jsonl.lock");
    std::fs::create_dir_all(&lock).unwrap();
    for transcript in &mut transcripts {
        let call = format!("{}-m1", transcript.session);
        transcript.prompt().call(&call, OPUS, [1, 0, 0]);
    }
    std::thread::scope(|scope| {
        for transcript in &transcripts {
            scope.spawn(|| transcript.stop(&env));
        }
    });
    assert!(env.records().is_empty());
    assert_eq!(env.log().lines().count(), 8, "{}", env.log());
    std::fs::remove_dir(&lock).unwrap();
    for transcript in &mut transcripts {
        let call = format!("{}-m2", transcript.session);
        transcript.prompt().call(&call, OPUS, [2, 0, 0]);
        transcript.stop(&env);
    }
    let records = env.records();
    assert_eq!(records.len(), 8);
    for transcript in &transcripts {
        assert_eq!(sum(&records, &transcript.session), 3);
    }
}

#[test]
fn lock_files_deleted_under_their_holders_stop_nobody() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 0, 0]);
    transcript.stop(&env);
    for name in ["sessions/lock", "economics.jsonl.lock"] {
        let path = env.data_dir().join(name);
        let held = Lock::try_acquire(&path).unwrap().unwrap();
        std::fs::remove_file(&path).unwrap();
        transcript.prompt().call(name, OPUS, [2, 0, 0]);
        transcript.stop(&env);
        drop(held);
    }
    assert_eq!(env.records().iter().map(tokens).collect::<Vec<_>>(), [[1, 0, 0], [2, 0, 0], [2, 0, 0]]);
}
