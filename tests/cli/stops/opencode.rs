//! opencode's database: read by what changed, while its host goes on writing.

use super::opencode_host::{Host, MODEL, T0, answer, counts, say};
use super::{assert_add_up, records_of};
use crate::env::TestEnv;
use crate::transcript::{sum, tokens};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn all(records: &[Value]) -> Vec<[i64; 3]> {
    records.iter().map(tokens).collect()
}

/// Names and contents of the files in a folder.
fn state(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

#[test]
fn each_stop_records_what_its_turn_added_and_leaves_no_trace_in_the_hosts_folder() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    host.session("ses_1", None, &env.project(), T0);
    say(&env, "SessionStart", "ses_1");
    // Two steps: the message keeps the tokens of the last one alone.
    host.prompt("ses_1", "msg_u1", T0 + 1_000)
        .step("ses_1", "msg_a1", "prt_1", T0 + 2_000, [100, 20, 0])
        .step("ses_1", "msg_a1", "prt_2", T0 + 3_000, [10, 30, 100])
        .answer("ses_1", "msg_a1", T0 + 3_000, [10, 30, 100]);
    let before = state(&host.data);
    assert_eq!(before.len(), 3, "the database, its log and its index");
    say(&env, "Stop", "ses_1");
    say(&env, "Stop", "ses_1");
    assert_eq!(state(&host.data), before);
    host.turn("ses_1", "2", T0 + 90_000, [5, 7, 110]);
    say(&env, "Stop", "ses_1");
    say(&env, "SessionEnd", "ses_1");
    let records = records_of(&env, "ses_1");
    assert_eq!(all(&records), [[110, 50, 100], [5, 7, 110]]);
    assert_eq!(records[0]["cost"]["calls"], 2);
    assert_eq!(records[0]["baseline"], "session-start");
    assert_eq!(records[0]["signals"]["runtime"], "opencode");
    assert_eq!(records[0]["cost"]["complete"], true);
    assert_eq!(records[1]["session_totals"]["output_tokens"], 57);
    assert_add_up(&env, [115, 57, 210]);
    assert_eq!(env.log(), "");
}

#[test]
fn rows_of_the_last_millisecond_are_neither_lost_nor_billed_twice() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    host.session("ses_1", None, &env.project(), T0);
    host.turn("ses_1", "1", T0 + 1_000, [1, 2, 3]);
    say(&env, "Stop", "ses_1");
    // A row of the very millisecond that was read last.
    host.step("ses_1", "msg_ases_11", "prt_late", T0 + 2_000, [40, 50, 60]);
    say(&env, "Stop", "ses_1");
    say(&env, "Stop", "ses_1");
    assert_eq!(all(&env.records()), [[1, 2, 3], [40, 50, 60]]);
    assert_add_up(&env, [41, 52, 63]);
}

#[test]
fn a_row_that_is_overwritten_in_place_is_a_correction_in_the_next_record() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    host.session("ses_1", None, &env.project(), T0);
    for turn in 1..=20 {
        host.turn("ses_1", &turn.to_string(), T0 + turn * 10_000, [10, 20, 30]);
    }
    say(&env, "Stop", "ses_1");
    // The step of the third of them, long after; its message stays as it is.
    host.step("ses_1", "msg_ases_13", "prt_ses_13", T0 + 900_000, [10, 25, 31]);
    say(&env, "Stop", "ses_1");
    let records = env.records();
    assert_eq!(all(&records), [[200, 400, 600], [0, 5, 1]]);
    assert_eq!(records[1]["cost"]["calls"], 0);
    assert_add_up(&env, [200, 405, 601]);
}

#[test]
fn a_message_without_steps_counts_itself_and_grows() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    host.session("ses_1", None, &env.project(), T0).answer("ses_1", "msg_a1", T0 + 1_000, [10, 20, 0]);
    say(&env, "Stop", "ses_1");
    host.message("ses_1", "msg_a1", T0 + 5_000, &answer(T0 + 1_000, "build", [10, 70, 0]));
    say(&env, "Stop", "ses_1");
    assert_eq!(all(&env.records()), [[10, 20, 0], [0, 50, 0]]);
    assert_add_up(&env, [10, 70, 0]);
}

#[test]
fn of_very_many_parts_those_of_a_turn_are_read_at_once_and_an_old_one_within_the_hour() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    let noise = |turn: i64, parts: i64| {
        host.database.execute_batch("BEGIN").unwrap();
        for at in 0..parts {
            let data = json!({"type": "text", "text": "…"});
            host.part("ses_1", "msg_ases_11", &format!("prt_{turn}_{at}"), T0 + turn * 10_000 + 2_000, &data);
        }
        host.database.execute_batch("COMMIT").unwrap();
    };
    host.session("ses_1", None, &env.project(), T0).turn("ses_1", "1", T0 + 10_000, [1, 2, 3]);
    noise(1, 2_500);
    say(&env, "Stop", "ses_1");
    // A turn's first step lies behind more parts than are asked first.
    host.turn("ses_1", "2", T0 + 20_000, [10, 20, 30]);
    noise(2, 2_500);
    host.prompt("ses_1", "msg_also", T0 + 28_000);
    say(&env, "Stop", "ses_1");
    // A usual turn; and the first step of all is written over.
    host.turn("ses_1", "3", T0 + 30_000, [4, 5, 6]);
    host.step("ses_1", "msg_ases_11", "prt_ses_11", T0 + 31_500, [1, 9, 3]);
    say(&env, "Stop", "ses_1");
    host.turn("ses_1", "4", T0 + 3_700_000, [1, 1, 1]);
    say(&env, "Stop", "ses_1");
    host.turn("ses_1", "5", T0 + 3_800_000, [2, 2, 2]);
    say(&env, "Stop", "ses_1");
    assert_eq!(all(&env.records()), [[1, 2, 3], [10, 20, 30], [4, 5, 6], [1, 1, 1], [2, 9, 2]]);
    assert_add_up(&env, [18, 37, 42]);
}

#[test]
fn interleaved_sessions_have_nothing_of_each_other() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    for (session, at) in [("ses_a", T0), ("ses_b", T0 + 10)] {
        host.session(session, None, &env.project(), at);
        say(&env, "SessionStart", session);
    }
    let mut counted = [0; 3];
    for turn in 1..=4_i64 {
        // Both write before either stops, in the same milliseconds.
        host.turn("ses_a", &turn.to_string(), T0 + turn * 10_000, [turn, 10, 0]);
        host.turn("ses_b", &turn.to_string(), T0 + turn * 10_000, [1_000 * turn, 100, 5]);
        for session in if turn % 2 == 0 { ["ses_a", "ses_b"] } else { ["ses_b", "ses_a"] } {
            say(&env, "Stop", session);
        }
        for (sum, added) in counted.iter_mut().zip([1_001 * turn, 110, 5]) {
            *sum += added;
        }
    }
    assert_eq!(all(&records_of(&env, "ses_a")), [1, 2, 3, 4].map(|turn| [turn, 10, 0]));
    assert_eq!(all(&records_of(&env, "ses_b")), [1, 2, 3, 4].map(|turn| [1_000 * turn, 100, 5]));
    assert_add_up(&env, counted);
}

#[test]
fn a_subagents_calls_are_billed_once_to_the_session_that_sent_it_off() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    host.session("ses_top", None, &env.project(), T0);
    say(&env, "SessionStart", "ses_top");
    host.prompt("ses_top", "msg_u", T0 + 1_000);
    for (child, parent, at) in [("ses_kid", "ses_top", T0 + 2_000), ("ses_grandkid", "ses_kid", T0 + 3_000)] {
        host.session(child, Some(parent), &env.project(), at).prompt(child, &format!("u{child}"), at);
        host.step(child, &format!("a{child}"), &format!("p{child}"), at + 100, [7, 8, 9]);
        host.message(child, &format!("a{child}"), at + 100, &answer(at + 100, "explore", [7, 8, 9]));
        say(&env, "SubagentStop", child);
    }
    // A plugin that was loaded anew does not know that this is a child.
    say(&env, "Stop", "ses_grandkid");
    host.step("ses_top", "msg_a", "prt_a", T0 + 9_000, [100, 200, 300]);
    host.answer("ses_top", "msg_a", T0 + 9_000, [100, 200, 300]);
    say(&env, "Stop", "ses_top");
    // And a child's deletion is not the session's end.
    say(&env, "SessionEnd", "ses_kid");
    let records = env.records();
    assert!(records.iter().all(|record| record["session_id"] == "ses_top"), "{records:?}");
    assert_eq!(all(&records), [[14, 16, 18], [100, 200, 300]]);
    let mut rows: Vec<_> = records[0]["delegations"].as_array().unwrap().iter().collect();
    rows.sort_by_key(|row| row["agent_id"].as_str());
    let told = rows.iter().map(|row| (row["agent_id"].as_str().unwrap(), row["role"].as_str().unwrap()));
    assert_eq!(told.collect::<Vec<_>>(), [("ses_grandkid", "explore"), ("ses_kid", "explore")]);
    assert_eq!((&rows[0]["output_tokens"], &rows[0]["resolved_model"]), (&json!(8), &json!(MODEL)));
    assert_eq!(records[0]["signals"]["per_delegation_tokens"], true);
    assert_add_up(&env, [114, 216, 318]);
    // A sink that keeps the last record of an id, and adds up sessions, counts nothing twice.
    let events = crate::env::lines(&env.data_dir().join("analytics.jsonl"));
    let usage = events.iter().filter(|event| event["event_type"] == "session.usage");
    let usage: Vec<_> = usage
        .map(|event| (&event["session_id"], &event["event_id"], &event["usage"]["output_tokens"]))
        .collect();
    let told = |output: i64| (json!("ses_top"), json!("ses_top-usage"), json!(output));
    let (first, second) = (told(16), told(216));
    assert_eq!(usage, [(&first.0, &first.1, &first.2), (&second.0, &second.1, &second.2)]);
    assert_eq!(env.log(), "");
}

#[test]
fn what_a_fork_copied_is_billed_to_its_parent_alone() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    host.session("ses_1", None, &env.project(), T0).turn("ses_1", "1", T0 + 1_000, [10, 20, 30]);
    say(&env, "Stop", "ses_1");
    host.session("ses_fork", None, &env.project(), T0 + 50_000);
    host.step("ses_fork", "msg_copy", "prt_copy", T0 + 2_000, [10, 20, 30]);
    host.answer("ses_fork", "msg_copy", T0 + 2_000, [10, 20, 30]);
    host.turn("ses_fork", "2", T0 + 60_000, [1, 2, 3]);
    say(&env, "Stop", "ses_fork");
    assert_eq!(all(&records_of(&env, "ses_fork")), [[1, 2, 3]]);
    assert_add_up(&env, [11, 22, 33]);
}

#[test]
fn a_run_is_timed_from_its_prompt_and_a_prompt_that_is_written_again_starts_none() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    // By the clock of the machine: a stop is now.
    #[expect(clippy::disallowed_methods, reason = "the time that the program under test has")]
    let now = i64::try_from(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis(),
    )
    .unwrap();
    let start = now - 3_600_000;
    host.session("ses_1", None, &env.project(), start - 1_000).turn("ses_1", "1", start, [1, 2, 3]);
    say(&env, "SubagentStop", "ses_1");
    say(&env, "Stop", "ses_1");
    let first = env.records()[0]["time"]["wall_clock_s"].as_f64().unwrap();
    assert!((3_600.0..3_900.0).contains(&first), "{first}");
    // The host adds a summary to the first prompt; the second turn has one of its own, a minute ago.
    let summed = json!({"role": "user", "time": {"created": start}, "summary": {"title": "go", "diffs": []}});
    host.message("ses_1", "msg_uses_11", now, &summed).turn("ses_1", "2", now - 60_000, [4, 5, 6]);
    say(&env, "Stop", "ses_1");
    let second = env.records()[1]["time"]["wall_clock_s"].as_f64().unwrap();
    assert!((60.0..360.0).contains(&second), "{second}");
}

#[test]
fn a_host_that_writes_meanwhile_is_seen_in_the_next_record() {
    let env = TestEnv::new();
    let mut host = Host::new(&env);
    host.session("ses_1", None, &env.project(), T0).turn("ses_1", "1", T0 + 1_000, [1, 2, 3]);
    // A transaction is open, and holds the database's only lock for writers.
    let data = host.data.clone();
    let writing = host.database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let step = json!({"type": "step-finish", "tokens": counts([10, 20, 30])}).to_string();
    writing
        .execute("INSERT INTO part VALUES ('prt_w', 'msg_ases_11', 'ses_1', ?1, ?1, ?2)", (T0 + 1_500, &step))
        .unwrap();
    let before = state(&data);
    say(&env, "Stop", "ses_1");
    assert_eq!(state(&data), before);
    // Committed now, with a time from before the latest row that was read.
    writing.commit().unwrap();
    say(&env, "Stop", "ses_1");
    assert_eq!(all(&env.records()), [[1, 2, 3], [10, 20, 30]]);
    // The log is written back, and the host leaves.
    host.database.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    host.turn("ses_1", "2", T0 + 30_000, [4, 5, 6]);
    let Host { database, data } = host;
    drop(database);
    assert_eq!(state(&data).len(), 1, "a database at rest");
    say(&env, "SessionEnd", "ses_1");
    assert_eq!(state(&data).len(), 1);
    assert_eq!(all(&env.records())[2..], [[4, 5, 6]]);
    assert_add_up(&env, [15, 27, 39]);
    assert_eq!(env.log(), "");
}

#[test]
fn a_database_that_cannot_be_read_is_unknown_usage_and_a_line_in_the_log() {
    for (what, bytes) in [("missing", None), ("corrupt", Some("SQLite format 3\0 and nothing else"))] {
        let env = TestEnv::new();
        let path = env.home().join(".local/share/opencode/opencode.db");
        if let Some(bytes) = bytes {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, bytes).unwrap();
        }
        say(&env, "Stop", "ses_1");
        let records = env.records();
        assert_eq!(records.len(), 1, "{what}");
        let (cost, diagnostics) = (&records[0]["cost"], &records[0]["diagnostics"]);
        assert_eq!(
            (&cost["input_tokens"], &cost["estimated_cost_usd"]),
            (&Value::Null, &Value::Null),
            "{what}"
        );
        assert_eq!(cost["complete"], false, "{what}");
        assert!(diagnostics["usage_unknown"].is_string(), "{what}");
        assert!(env.log().contains("hook opencode"), "{what}: {}", env.log());
        // It is good again: nothing was lost.
        drop(std::fs::remove_file(&path));
        let host = Host::new(&env);
        host.session("ses_1", None, &env.project(), T0).turn("ses_1", "1", T0 + 1_000, [1, 2, 3]);
        say(&env, "Stop", "ses_1");
        assert_eq!(tokens(&env.records()[1]), [1, 2, 3], "{what}");
        let (counted, _) = super::usage(&env);
        assert_eq!(counted, [1, 2, 3]);
    }
}

#[test]
fn a_session_that_was_deleted_keeps_what_was_recorded_and_one_that_was_never_seen_has_no_record() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    host.session("ses_1", None, &env.project(), T0).turn("ses_1", "1", T0 + 1_000, [1, 2, 3]);
    say(&env, "Stop", "ses_1");
    host.database.execute_batch("PRAGMA foreign_keys = ON; DELETE FROM session").unwrap();
    say(&env, "SessionEnd", "ses_1");
    say(&env, "SessionEnd", "ses_never");
    assert_eq!(all(&env.records()), [[1, 2, 3]]);
    assert_eq!(env.log(), "");
}

#[test]
fn the_data_folder_may_be_moved_and_there_may_be_a_database_per_channel() {
    let mut env = TestEnv::new();
    let moved = env.project().join("data");
    env.set("XDG_DATA_HOME", moved.to_str().unwrap());
    let host = Host::in_folder(&moved.join("opencode"));
    host.session("ses_1", None, &env.project(), T0).turn("ses_1", "1", T0 + 1_000, [1, 2, 3]);
    // What is in the usual place is another installation's.
    let other = Host::new(&env);
    other.session("ses_1", None, &env.project(), T0).turn("ses_1", "9", T0 + 1_000, [900, 900, 900]);
    std::fs::write(moved.join("opencode/opencode-dev.db"), "").unwrap();
    say(&env, "Stop", "ses_1");
    assert_eq!(all(&env.records()), [[1, 2, 3]]);
    assert_add_up(&env, [1, 2, 3]);
}

#[test]
fn a_session_of_another_folder_is_recorded_where_it_works() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    let elsewhere = env.home().join("elsewhere");
    std::fs::create_dir_all(elsewhere.join(".kontourai")).unwrap();
    host.session("ses_1", None, &elsewhere, T0).turn("ses_1", "1", T0 + 1_000, [1, 2, 3]);
    say(&env, "Stop", "ses_1");
    assert_eq!(env.records().len(), 0);
    let records = crate::env::lines(&elsewhere.join(".kontourai/telemetry/economics.jsonl"));
    assert_eq!(sum(&records), [1, 2, 3]);
}

#[test]
fn a_lost_session_file_repeats_nothing() {
    let env = TestEnv::new();
    let host = Host::new(&env);
    host.session("ses_1", None, &env.project(), T0).turn("ses_1", "1", T0 + 1_000, [1, 2, 3]);
    say(&env, "Stop", "ses_1");
    std::fs::remove_dir_all(env.data_dir().join("sessions")).unwrap();
    host.turn("ses_1", "2", T0 + 20_000, [4, 5, 6]);
    say(&env, "Stop", "ses_1");
    assert_eq!(all(&env.records()), [[1, 2, 3], [4, 5, 6]]);
    assert_add_up(&env, [5, 7, 9]);
}
