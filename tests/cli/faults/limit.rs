//! A disk that is full in the middle of a write. A file size limit stands in for it: the kernel refuses the same writes,
//! with EFBIG instead of ENOSPC, once the signal that it sends first is ignored (cases 6 and 7). A real full disk needs
//! root: `evals/faults/disk`.

use super::{console, counters, event, flush, record, records, run_ids};
use crate::env::TestEnv;
use crate::transcript::{SESSION, Transcript, sum};
use std::process::{Output, Stdio};
use tally::relay::receiver::Receiver;

const OPUS: &str = "claude-opus-4-8";
/// The unit of `ulimit -f`.
const BLOCK: usize = 512;

/// Runs a command under a limit of `blocks` for the size of a file, with `input`.
fn limited(env: &TestEnv, blocks: usize, args: &[&str], input: &str) -> Output {
    let file = env.home().join("input");
    std::fs::write(&file, input).unwrap();
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = env.command_of("/bin/sh", &["-c", &script, env!("CARGO_BIN_EXE_tally")]);
    command.args(args).stdin(std::fs::File::open(file).unwrap());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap()
}

#[test]
fn a_write_that_is_cut_short_is_undone_and_the_run_is_recorded_later() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 0, 0]);
    transcript.stop(&env);
    // The journal ends 100 bytes before the limit: the record's first 100 bytes still fit.
    let blocks = 200;
    let path = env.data_dir().join("economics.jsonl");
    let mut journal = std::fs::read_to_string(&path).unwrap();
    let room = blocks * BLOCK - 100 - journal.len() - "{\"x\":\"\"}\n".len();
    journal.push_str(&format!("{{\"x\":\"{}\"}}\n", "x".repeat(room)));
    std::fs::write(&path, &journal).unwrap();
    transcript.prompt().call("m2", OPUS, [2, 0, 0]);
    let payload = transcript.payload(&env, "Stop").to_string();
    let output = limited(&env, blocks, &["hook", "claude-code"], &payload);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), journal, "cut back to its old length");
    assert!(env.log().contains("economics.jsonl"), "{}", env.log());
    let refused = limited(&env, blocks, &["economics", "record"], &event("other", 1, 0).to_string());
    assert_eq!(refused.status.code(), Some(1), "a command says so: {refused:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), journal);
    transcript.prompt().call("m3", OPUS, [4, 0, 0]);
    transcript.stop(&env);
    assert_eq!(sum(&records(&env)), [7, 0, 0]);
}

#[test]
fn a_state_that_cannot_be_written_leaves_the_old_one_and_sends_again() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, "http://127.0.0.1:1");
    record(&env, &event("first", 1, 0));
    env.run(&["relay", "flush", "--timeout", "1"]);
    let state = env.data_dir().join("outbox/state.json");
    let before = std::fs::read(&state).unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&before).unwrap()["version"].is_u64());
    // The Console is there now, and the record is delivered; but not a byte can be written.
    let port = receiver.url();
    let outbox = env.data_dir().join("outbox/0000000001.jsonl");
    let segment = std::fs::read_to_string(&outbox).unwrap().replace("http://127.0.0.1:1", &port);
    std::fs::write(&outbox, segment).unwrap();
    console(&env, &port);
    limited(&env, 0, &["relay", "flush", "--timeout", "20"], "");
    assert_eq!(std::fs::read(&state).unwrap(), before, "the old state stands");
    let times_sent = receiver.received().len();
    assert!(times_sent > 0);
    let names = std::fs::read_dir(env.data_dir().join("outbox")).unwrap();
    let left: Vec<_> = names.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    assert!(left.iter().all(|name| !name.ends_with(".tmp")), "{left:?}");
    flush(&env);
    let received = receiver.received();
    assert_eq!(received.len(), times_sent + 1, "sent again");
    assert!(received.iter().all(|request| request.body == received[0].body), "with the same bytes");
    assert_eq!(counters(&env), [1, 1, 0, 0, 0]);
    assert_eq!(run_ids(&records(&env)), ["first"]);
}
