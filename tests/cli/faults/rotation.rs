//! Rotation: a journal in several files is still one journal (cases 14, 15 and 17 of `docs/faults.md`).

use super::{console, counters, event, files, flush, record, record_among_many, records, run_ids, sum};
use crate::env::TestEnv;
use crate::transcript::{SESSION, Transcript, tokens};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use tally::relay::receiver::Receiver;

const OPUS: &str = "claude-opus-4-8";
/// Models that make the first record of a session some 160 KB large, seven of which fill a MiB.
const LARGE: usize = 200;

/// Journals of one MiB, of which `keep` are kept.
fn env(keep: u32) -> TestEnv {
    let mut env = TestEnv::new();
    env.set("TELEMETRY_MAX_LOG_SIZE_MB", "1");
    env.set("TELEMETRY_MAX_LOG_FILES", keep.to_string());
    env
}

/// Lets another program fill the journal, so that the next record finds it full.
fn rotate(env: &TestEnv) {
    let before = files(env);
    let mut journal = std::fs::OpenOptions::new().append(true).open(before.last().unwrap()).unwrap();
    journal.write_all(format!("{{\"foreign\":\"{}\"}}\n", "x".repeat(1 << 20)).as_bytes()).unwrap();
    record(env, &event("filler", records(env).len() as i64, 0));
    assert_ne!(files(env), before);
}

#[test]
fn rotation_while_many_write_and_one_sends_loses_no_record() {
    const WRITERS: usize = 4;
    const EVENTS: i64 = 6;
    let env = env(1000);
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver.url());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let env = &env;
            scope.spawn(move || {
                for at in 1..=EVENTS {
                    record_among_many(env, &event(&format!("s{writer}"), at * 100, LARGE));
                }
            });
        }
    });
    // What a busy outbox left behind goes with the next record.
    record(&env, &event("last", 7, 0));
    flush(&env);
    assert!(files(&env).len() >= 3, "{:?}", files(&env));
    let records = records(&env);
    let mut expected: BTreeSet<String> = (0..WRITERS)
        .flat_map(|writer| {
            (2..=EVENTS).map(move |at| format!("s{writer}.{at}")).chain([format!("s{writer}")])
        })
        .collect();
    expected.insert("last".to_owned());
    assert_eq!(records.len(), expected.len());
    assert_eq!(run_ids(&records).into_iter().collect::<BTreeSet<_>>(), expected);
    for writer in 0..WRITERS {
        assert_eq!(sum(&records, &format!("s{writer}")), EVENTS * 100);
    }
    let sent: Vec<Value> =
        receiver.received().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    assert_eq!(run_ids(&sent).into_iter().collect::<BTreeSet<_>>(), expected);
    let count = expected.len() as u64;
    assert_eq!(counters(&env), [count, count, 0, 0, 0]);
}

#[test]
fn what_is_shown_goes_across_the_files_of_a_journal() {
    let env = env(3);
    record(&env, &event("first", 1, 0));
    rotate(&env);
    record(&env, &event("after", 1, 0));
    let show = |last: &str| {
        let output = env.run(&["economics", "show", "--json", "--last", last]);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let all = records(&env);
    assert_eq!(run_ids(&show("1000")), run_ids(&all));
    assert_eq!(run_ids(&show("2")), run_ids(&all[all.len() - 2..]));
    let output = env.run(&["economics", "show", "--last", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("1 of {} records", all.len())), "{text}");
}

#[test]
fn a_session_whose_records_were_rotated_away_goes_on_where_it_was() {
    let env = env(3);
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [10, 1, 0]);
    transcript.stop(&env);
    record(&env, &event("told", 100, 0));
    rotate(&env);
    rotate(&env);
    // The journal alone must know now.
    std::fs::remove_dir_all(env.data_dir().join("sessions")).unwrap();
    transcript.call("m2", OPUS, [5, 1, 0]);
    transcript.stop(&env);
    record(&env, &event("told", 130, 0));
    let records = records(&env);
    let of = |session: &str| -> Vec<&Value> {
        records.iter().filter(|record| record["session_id"] == session).collect()
    };
    assert_eq!(of(SESSION).into_iter().map(tokens).collect::<Vec<_>>(), [[10, 1, 0], [5, 1, 0]]);
    assert_eq!(of(SESSION)[1]["run_id"], format!("{SESSION}.2"));
    assert_eq!(of(SESSION)[1]["session_totals"]["input_tokens"], 15);
    let told: Vec<&Value> = of("told").iter().map(|record| &record["cost"]["input_tokens"]).collect();
    assert_eq!(told, [100, 30]);
}

#[test]
fn a_task_whose_records_were_rotated_away_tells_no_finding_twice() {
    let env = env(3);
    let sidecar = |name: &str, content: Value| {
        let path = env.project().join(name);
        std::fs::write(&path, content.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let state = sidecar("state.json", json!({ "task_slug": "task-1", "phase": "build" }));
    let critique = |count: usize| {
        let findings: Vec<Value> =
            (0..count).map(|n| json!({ "id": format!("f{n}"), "severity": "high" })).collect();
        sidecar("critique.json", json!({ "critiques": [{ "verdict": "fail", "findings": findings }] }))
    };
    let tell = |session: &str, count: usize| {
        let (critique, event) = (critique(count), event(session, 1, 0).to_string());
        let args = ["economics", "record", "--state", &state, "--critique", &critique, &event];
        assert_eq!(env.run(&args).status.code(), Some(0));
        let record = records(&env).pop().unwrap();
        assert_eq!(record["task_slug"], "task-1");
        record["defects"]["findings_by_severity"]["high"].clone()
    };
    assert_eq!(tell("a", 3), 3);
    rotate(&env);
    assert_eq!(tell("b", 4), 1);
}

#[test]
fn a_journal_is_not_rotated_before_all_of_it_was_handed_on() {
    let env = env(1);
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver.url());
    // The outbox cannot be written: a file is in its place.
    std::fs::create_dir_all(env.data_dir()).unwrap();
    std::fs::write(env.data_dir().join("outbox"), "").unwrap();
    for n in 0..8 {
        record(&env, &event(&format!("s{n}"), 1, LARGE));
    }
    assert_eq!(files(&env).len(), 1, "nothing was handed on yet");
    assert!(files(&env)[0].metadata().unwrap().len() > 1 << 20);
    std::fs::remove_file(env.data_dir().join("outbox")).unwrap();
    record(&env, &event("s8", 1, 0));
    assert_eq!(files(&env).len(), 2, "now it was");
    flush(&env);
    assert_eq!(receiver.received().len(), 9);
    assert_eq!(counters(&env), [9, 9, 0, 0, 0]);
}

#[test]
fn a_cursor_that_a_power_loss_set_back_finds_its_records_in_the_rotated_file() {
    let env = env(3);
    console(&env, "http://127.0.0.1:1");
    record(&env, &event("before", 1, 0));
    let cursor = env.data_dir().join("economics.jsonl.lock");
    let old = std::fs::read(&cursor).unwrap();
    record(&env, &event("lost", 1, 0));
    rotate(&env);
    // Neither outbox nor cursor are synced: both are as they were.
    env.run(&["relay", "flush", "--timeout", "1"]);
    std::fs::remove_dir_all(env.data_dir().join("outbox")).unwrap();
    std::fs::write(&cursor, old).unwrap();
    record(&env, &event("next", 1, 0));
    let queued = counters(&env)[0];
    assert_eq!(queued as usize, records(&env).len() - 1, "all but the first, which lies before the cursor");
}

#[test]
fn a_late_writer_with_the_old_file_open_is_read_and_its_file_is_kept() {
    let env = env(1);
    record(&env, &event("model", 40, 0));
    let mut late = std::fs::OpenOptions::new().append(true).open(&files(&env)[0]).unwrap();
    let line = records(&env).remove(0).to_string().replace("\"model\"", "\"late\"");
    rotate(&env);
    late.write_all(format!("{line}\n").as_bytes()).unwrap();
    let kept = files(&env)[0].clone();
    for _ in 0..3 {
        rotate(&env);
    }
    assert!(kept.exists(), "{:?}", files(&env));
    assert_eq!(files(&env).len(), 3, "the late one, one that is kept by number, the current one");
    record(&env, &event("late", 90, 0));
    let records = records(&env);
    let own: Vec<_> = records.iter().filter(|record| record["session_id"] == "late").collect();
    assert_eq!([&own[0]["run_id"], &own[1]["run_id"]], ["late", "late.2"]);
    assert_eq!(sum(&records, "late"), 90);
}

#[test]
fn offsets_beyond_a_journal_that_was_replaced_are_not_waited_for() {
    let env = env(3);
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver.url());
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 0, 0]);
    transcript.stop(&env);
    rotate(&env);
    // The head and the cursor now know of offsets beyond a MiB.
    transcript.prompt().call("m2", OPUS, [2, 0, 0]);
    transcript.stop(&env);
    flush(&env);
    let sessions = env.data_dir().join("sessions");
    let heads: Vec<_> = std::fs::read_dir(&sessions)
        .unwrap()
        .map(|item| item.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect();
    for file in files(&env) {
        std::fs::remove_file(file).unwrap();
    }
    transcript.prompt().call("m3", OPUS, [4, 0, 0]);
    transcript.stop(&env);
    // A crash loses what the session's file learnt from that: the journal must tell.
    for (path, bytes) in heads {
        std::fs::write(path, bytes).unwrap();
    }
    transcript.prompt().call("m4", OPUS, [8, 0, 0]);
    transcript.stop(&env);
    assert_eq!(records(&env).iter().map(tokens).collect::<Vec<_>>(), [[4, 0, 0], [8, 0, 0]]);
    flush(&env);
    let sent: Vec<Value> =
        receiver.received().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    assert_eq!(run_ids(&sent)[run_ids(&sent).len() - 2..], [format!("{SESSION}.3"), format!("{SESSION}.4")]);
}
