//! What each runtime writes besides the corpus: copies, stores beside files, and what cannot be read.

use super::{jsonl, usage, write};
use crate::env::{TestEnv, fixture};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::Path;

const ROLLOUT: &str = "rollout-2026-11-10T09-00-00-019a0000-0000-7000-8000-0000000000c1.jsonl";

/// A rollout of one turn and one call of `input` tokens.
fn rollout(thread: &str, turn: &str, input: i64) -> String {
    let counted = json!({"input_tokens": input, "output_tokens": 0, "total_tokens": input});
    let info = json!({"total_token_usage": counted, "last_token_usage": counted});
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-11-10T09:00:01.000Z", "type": kind, "payload": payload});
    jsonl(&[
        line("session_meta", json!({"id": thread, "timestamp": "2026-11-10T09:00:00.000Z", "cwd": "/w"})),
        line("turn_context", json!({"turn_id": turn, "model": "gpt-5.5"})),
        line("event_msg", json!({"type": "token_count", "info": info})),
    ])
}

#[test]
fn a_compressed_rollout_counts_and_its_plain_and_archived_copies_are_the_same_calls() {
    let env = TestEnv::new();
    let compressed = std::fs::read(fixture("codex").join(format!("{ROLLOUT}.zst"))).unwrap();
    write(&env.home().join(format!(".codex/sessions/2026/11/10/{ROLLOUT}.zst")), &compressed);
    write(&env.home().join(format!(".codex/archived_sessions/{ROLLOUT}.zst")), &compressed);
    let answer = usage(&env, &[]);
    // 40 calls: input 1,000 + n of which 900 were cached, output 10 + n.
    let model = &answer["by_model"]["gpt-5.5"];
    let found = ["input", "cache_read", "output"].map(|bucket| &model[bucket]);
    assert_eq!((found, &answer["calls"]), ([&json!(4_780), &json!(36_000), &json!(1_180)], &json!(40)));
    assert_eq!((&answer["sources"], &answer["complete"]), (&json!({"codex": 2}), &json!(true)));
}

#[test]
fn a_compressed_rollout_that_is_cut_off_is_said_by_name() {
    let env = TestEnv::new();
    let compressed = std::fs::read(fixture("codex").join(format!("{ROLLOUT}.zst"))).unwrap();
    let path = env.home().join(format!(".codex/sessions/2026/11/10/{ROLLOUT}.zst"));
    write(&path, &compressed[..compressed.len() / 2]);
    write(
        &env.home().join(".codex/sessions/2026/11/11/rollout-2026-11-11T09-00-00-b.jsonl"),
        rollout("b", "t", 7),
    );
    let answer = usage(&env, &[]);
    assert_eq!(answer["by_session"]["b"]["calls"], 1);
    assert_eq!((&answer["complete"], &answer["diagnostics"]["unreadable_files"]), (&json!(false), &json!(1)));
    let unread = &answer["unread"][0];
    assert_eq!((&unread["host"], &unread["path"]), (&json!("codex"), &json!(path)));
    let table = String::from_utf8(env.run(&["usage"]).stdout).unwrap();
    assert!(table.contains("1 files could not be read") && table.contains(ROLLOUT), "{table}");
}

#[test]
fn codex_home_replaces_the_home_and_a_host_may_be_chosen() {
    let mut env = TestEnv::new();
    write(
        &env.home().join(".codex/sessions/2026/11/10/rollout-2026-11-10T09-00-00-a.jsonl"),
        rollout("a", "t1", 1),
    );
    let moved = env.project().join("moved");
    write(&moved.join("sessions/2026/11/10/rollout-2026-11-10T09-00-00-b.jsonl"), rollout("b", "t2", 2));
    let input = |answer: Value| answer["by_model"]["gpt-5.5"]["input"].clone();
    assert_eq!(input(usage(&env, &[])), 1);
    assert_eq!(input(usage(&env, &[OsStr::new("--host"), OsStr::new("codex")])), 1);
    assert_eq!(usage(&env, &[OsStr::new("--host"), OsStr::new("pi")])["calls"], 0);
    env.set("CODEX_HOME", moved.to_str().unwrap());
    assert_eq!(input(usage(&env, &[])), 2);
    let named = moved.join("sessions");
    assert_eq!(
        input(usage(&env, &[named.as_os_str()])),
        2,
        "a folder that is named is read as what it holds"
    );
}

fn tokens(input: i64) -> Value {
    json!({"input": input, "output": 1, "reasoning": 1, "cache": {"read": 0, "write": 0}})
}

fn answer(created: i64, input: i64) -> Value {
    json!({
        "role": "assistant", "modelID": "claude-sonnet-4-6", "time": {"created": created, "completed": created + 1},
        "tokens": tokens(input)
    })
}

/// opencode's database with one session, its log not written back yet: the connection is its host.
fn opencode(data: &Path) -> Connection {
    std::fs::create_dir_all(data).unwrap();
    let database = Connection::open(data.join("opencode.db")).unwrap();
    database.pragma_update(None, "journal_mode", "WAL").unwrap();
    let columns = "session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT";
    let sql = format!(
        "CREATE TABLE session (id TEXT PRIMARY KEY, time_created INTEGER);
         CREATE TABLE message (id TEXT PRIMARY KEY, {columns});
         CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, {columns});
         INSERT INTO session VALUES ('s', 1794300000000);"
    );
    database.execute_batch(&sql).unwrap();
    database
}

/// The files of a folder with their bytes.
fn state(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
    files.sort();
    files.into_iter().map(|path| (path.display().to_string(), std::fs::read(&path).unwrap())).collect()
}

#[test]
fn opencodes_database_and_its_files_are_one_and_a_message_in_both_is_read_from_the_database() {
    const AT: i64 = 1_794_300_001_000;
    let env = TestEnv::new();
    let data = env.home().join(".local/share/opencode");
    let database = opencode(&data);
    let message = "INSERT INTO message VALUES (?1, 's', ?2, ?2, ?3)";
    database.execute(message, ("m1", AT, answer(AT, 20).to_string())).unwrap();
    for (id, input) in [("p1", 10), ("p2", 20)] {
        let step = json!({"type": "step-finish", "tokens": tokens(input)}).to_string();
        database.execute("INSERT INTO part VALUES (?1, 'm1', 's', ?2, ?2, ?3)", (id, AT, step)).unwrap();
    }
    // The files have the message without its first step, another of the same session, and a fork's copy.
    let storage = data.join("storage");
    write(&storage.join("session/p/s.json"), json!({"id": "s", "time": {"created": AT - 1_000}}).to_string());
    write(
        &storage.join("session/p/fork.json"),
        json!({"id": "fork", "time": {"created": AT + 9_000}}).to_string(),
    );
    write(&storage.join("message/s/m1.json"), answer(AT, 20).to_string());
    write(&storage.join("message/s/m2.json"), answer(AT + 500, 40).to_string());
    write(&storage.join("message/fork/m3.json"), answer(AT, 20).to_string());
    write(&storage.join("message/s/broken.json"), "{");
    let before = state(&data);
    assert_eq!(before.len(), 3, "the database, its log and its index");
    let found = usage(&env, &[]);
    let model = &found["by_model"]["claude-sonnet-4-6"];
    assert_eq!((&found["calls"], &model["input"], &model["output"]), (&json!(3), &json!(70), &json!(6)));
    assert_eq!(found["by_session"]["s"]["calls"], 3);
    assert_eq!(found["diagnostics"]["unreadable_lines"], 1);
    assert_eq!(state(&data), before, "nothing is written in a host's folder");
    let step = json!({"type": "step-finish", "tokens": tokens(100)}).to_string();
    database.execute("INSERT INTO part VALUES ('p3', 'm1', 's', ?1, ?1, ?2)", (AT, step)).unwrap();
    assert_eq!(usage(&env, &[])["calls"], 4, "what its host has written meanwhile is seen");
}

#[test]
fn a_copilot_session_in_the_store_is_not_read_from_its_events_again() {
    let env = TestEnv::new();
    let home = env.home().join(".copilot");
    let shutdown = |session: &str, input: i64| {
        let usage =
            json!({"inputTokens": input, "outputTokens": 1, "cacheReadTokens": 0, "cacheWriteTokens": 0});
        let metrics = json!({"gpt-5.5": {"requests": {"count": 1}, "usage": usage}});
        let line = json!({"type": "session.shutdown", "id": "e", "timestamp": "2026-11-10T09:00:00.000Z", "data": {"modelMetrics": metrics}});
        write(&home.join(format!("session-state/{session}/events.jsonl")), jsonl(&[line]));
    };
    shutdown("s1", 100);
    shutdown("s2", 7);
    let store = Connection::open(home.join("session-store.db")).unwrap();
    store
        .execute_batch(
            "CREATE TABLE assistant_usage_events (id INTEGER PRIMARY KEY, session_id TEXT, created_at TEXT, model TEXT,
                input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER, cache_write_tokens INTEGER);
             INSERT INTO assistant_usage_events VALUES
                (1, 's1', '2026-11-10T09:00:00.000Z', 'gpt-5.5', 60, 1, 50, NULL),
                (2, 's1', '2026-11-10 09:00:01', 'gpt-5.5', 60, 2, 0, 0),
                (3, 's1', '2026-11-10T09:00:02.000Z', 'gpt-5.5', -1, 2, 0, 0)",
        )
        .unwrap();
    let answer = usage(&env, &[]);
    let model = &answer["by_model"]["gpt-5.5"];
    // 60 − 50, 60 and 7
    assert_eq!(
        (&model["input"], &model["cache_read"], &model["output"]),
        (&json!(77), &json!(50), &json!(4))
    );
    assert_eq!((&answer["calls"], &answer["diagnostics"]["unreadable_lines"]), (&json!(3), &json!(1)));
    assert_eq!(answer["diagnostics"]["calls_without_timestamp"], 0);
}

#[test]
fn a_sum_of_requests_is_priced_at_the_base_rates_and_one_request_by_its_own_prompt() {
    let cost = |requests: i64| {
        let env = TestEnv::new();
        let usage_of =
            json!({"inputTokens": 120_000, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0});
        let metrics = json!({"claude-haiku-5-5": {"requests": {"count": requests}, "usage": usage_of}});
        let line = json!({"type": "session.shutdown", "id": "e", "timestamp": "2026-11-10T09:00:00.000Z", "data": {"modelMetrics": metrics}});
        write(&env.home().join(".copilot/session-state/s1/events.jsonl"), jsonl(&[line]));
        usage(&env, &[])["total_cost_usd"].as_f64().unwrap()
    };
    // 120,000 × 0.1, and above 100,000 × 0.5
    assert!((cost(3) - 0.012).abs() < 1e-12 && (cost(1) - 0.06).abs() < 1e-12);
}

#[test]
fn credits_stand_beside_tokens_and_what_is_unknown_takes_nothing_from_what_is_known() {
    let env = TestEnv::new();
    let turn = json!({"metering_usage": [{"value": 0.5, "unit": "credit"}]});
    let state = json!({
        "rts_model_state": {"model_info": {"model_id": "claude-opus-4.8"}},
        "conversation_metadata": {"user_turn_metadatas": [turn, turn]}
    });
    write(
        &env.home().join(".kiro/sessions/cli/k.json"),
        json!({"session_id": "k", "session_state": state}).to_string(),
    );
    write(
        &super::transcript(&env, "s1.jsonl"),
        jsonl(&[super::call("m", "claude-opus-4-8", super::tokens(3, 0))]),
    );
    let answer = usage(&env, &[]);
    assert_eq!((&answer["credits"], &answer["by_session"]["s1"]["credits"]), (&json!(1.0), &Value::Null));
    let model = &answer["by_model"]["claude-opus-4-8"];
    assert_eq!((&model["input"], &answer["complete"]), (&json!(3), &json!(false)));
    assert_eq!(answer["by_session"]["k"]["by_model"]["claude-opus-4-8"]["input"], Value::Null);
    assert_eq!(answer["diagnostics"]["uncounted_calls"], 2);
    let table = String::from_utf8(env.run(&["usage"]).stdout).unwrap();
    assert!(table.contains("1 credits, not in that sum"), "{table}");
}

#[test]
fn a_home_full_of_things_that_are_no_transcripts_is_read_past() {
    let env = TestEnv::new();
    let home = env.home();
    for path in [
        ".codex/sessions/2026/11/10/rollout-2026-11-10T09-00-00-x.jsonl",
        ".codex/sessions/2026/11/10/notes.txt",
        ".pi/agent/sessions/--w--/x.jsonl",
        ".copilot/session-state/s1/events.jsonl",
        ".gemini/tmp/p/chats/session-1.jsonl",
        ".local/share/opencode/storage/part/m/p.json",
    ] {
        write(&home.join(path), b"\x00\xff{\"usage\n[[[[\n{}\nnull\n\n");
    }
    std::fs::create_dir_all(home.join(".kiro/sessions/cli/folder.json")).unwrap();
    let answer = usage(&env, &[]);
    assert_eq!((&answer["calls"], &answer["total_cost_usd"]), (&json!(0), &Value::Null));
    for (path, host) in
        [(".local/share/opencode/opencode.db", "opencode"), (".kiro/sessions/cli/k.json", "kiro")]
    {
        write(&home.join(path), "neither a database nor JSON");
        let answer = usage(&env, &[]);
        let hosts = answer["unread"].as_array().unwrap().iter().map(|file| file["host"].clone());
        assert!(hosts.collect::<Vec<_>>().contains(&json!(host)), "{answer}");
        assert_eq!(answer["complete"], false);
    }
}
