//! The stop path: deltas that add up to what was billed, whatever repeats, is torn, comes late or was killed.

use crate::env::TestEnv;
use crate::transcript::{SESSION, Transcript, cost, message, sum, tokens};
use serde_json::{Value, json};
use std::path::Path;

const OPUS: &str = "claude-opus-4-8";

#[test]
fn each_stop_records_what_is_new_and_the_sum_is_the_session() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    env.hook(&transcript.payload(&env, "SessionStart"));
    transcript.prompt().call("m1", OPUS, [10, 1, 100]).call("m1", OPUS, [10, 50, 100]);
    transcript.stop(&env);
    transcript.prompt().call("m2", OPUS, [5, 7, 200]);
    transcript.stop(&env);
    transcript.stop(&env);
    env.hook(&transcript.payload(&env, "SessionEnd"));
    let records = env.records();
    assert_eq!(records.iter().map(tokens).collect::<Vec<_>>(), [[10, 50, 100], [5, 7, 200]]);
    assert_eq!([&records[0]["run_id"], &records[1]["run_id"]], [SESSION, &format!("{SESSION}.2")]);
    assert_eq!(records[0]["baseline"], "session-start");
    assert_eq!(records[1]["session_totals"]["output_tokens"], 57);
    // Opus 4.8: 5 and 25 USD a million, cache reads a tenth of input.
    assert!((cost(&records) - (15.0 * 5.0 + 57.0 * 25.0 + 300.0 * 0.5) / 1e6).abs() < 1e-12);
}

#[test]
fn a_late_fuller_line_is_a_correction_in_the_next_record() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [10, 3, 0]);
    transcript.stop(&env);
    transcript.call("m1", OPUS, [10, 400, 0]).call("m2", OPUS, [1, 1, 0]);
    transcript.stop(&env);
    assert_eq!(env.records().iter().map(tokens).collect::<Vec<_>>(), [[10, 3, 0], [1, 398, 0]]);
    assert_eq!(env.records()[1]["cost"]["calls"], 1);
}

#[test]
fn a_transcript_cut_anywhere_adds_up_to_its_last_state() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt();
    for turn in 0..6 {
        let id = format!("m{turn}");
        transcript.call(&id, OPUS, [10 + turn, 2, 0]).call(&id, OPUS, [10 + turn, 90 + turn, 7]);
    }
    let whole = std::fs::read(&transcript.path).unwrap();
    // Three cuts: inside a line, just before its newline, and the whole file.
    let in_a_line = whole.len() / 3;
    let before_newline = whole.iter().rposition(|&byte| byte == b'\n').unwrap();
    for cut in [in_a_line, before_newline, whole.len()] {
        std::fs::write(&transcript.path, &whole[..cut]).unwrap();
        transcript.stop(&env);
    }
    assert_eq!(sum(&env.records()), [75, 555, 42]);
    let last = env.records().pop().unwrap();
    assert_eq!(last["session_totals"]["output_tokens"], 555);
    assert_eq!(last["session_totals"]["calls"], 6);
}

#[test]
fn a_run_is_timed_from_its_prompt_to_its_stop() {
    let mut env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 1, 0]);
    // The prompt is at 09:00:01, the stop at 09:00:11.
    env.set("TALLY_CLOCK_MS", "1794301211000");
    transcript.stop(&env);
    assert_eq!(env.records()[0]["time"]["wall_clock_s"], 10);
    assert_eq!(env.records()[0]["at"], "1794301211000");
}

#[test]
fn subagents_count_once_for_the_session_that_made_them_at_their_own_price() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 1, 0]);
    let line = |id: &str, output: i64| {
        let mut line = json!({
            "type": "assistant", "sessionId": SESSION, "isSidechain": true, "agentId": "a1", "uuid": id,
            "timestamp": "2026-11-10T09:00:05.000Z", "message": message(id, "claude-haiku-4-5-20251001", [100, output, 0]),
        })
        .to_string();
        line.push('\n');
        line
    };
    let agent = transcript.path.with_extension("").join("subagents/agent-a1.jsonl");
    std::fs::create_dir_all(agent.parent().unwrap()).unwrap();
    std::fs::write(&agent, line("h1", 10)).unwrap();
    env.hook(&transcript.payload(&env, "SubagentStop"));
    assert!(env.records().is_empty(), "a subagent's end only advances the checkpoint");
    std::fs::write(&agent, line("h1", 10) + &line("h2", 20)).unwrap();
    transcript.stop(&env);
    let records = env.records();
    assert_eq!(sum(&records), [201, 31, 0]);
    let delegation = &records[0]["delegations"][0];
    assert_eq!((&delegation["agent_id"], &delegation["output_tokens"]), (&json!("a1"), &json!(30)));
    // Haiku 4.5: 1 and 5 USD a million.
    assert!((delegation["estimated_cost_usd"].as_f64().unwrap() - (200.0 + 30.0 * 5.0) / 1e6).abs() < 1e-12);
    assert_eq!(records[0]["signals"]["per_delegation_tokens"], true);
}

#[test]
fn resumed_history_is_not_billed_again() {
    let env = TestEnv::new();
    let mut first = Transcript::new(&env, "first-session");
    first.prompt().call("m1", OPUS, [10, 20, 0]);
    first.stop(&env);
    // The older way: lines are copied with the old session id. The newer way: rewritten, with `forkedFrom` or nothing.
    for (at, rewrite) in ["keep", "forked", "silent"].into_iter().enumerate() {
        let session = format!("resumed-{rewrite}");
        let mut resumed = Transcript::new(&env, &session);
        for line in crate::env::lines(&first.path) {
            let mut line = line;
            if rewrite != "keep" {
                line["sessionId"] = json!(session);
            }
            if rewrite == "forked" {
                line["forkedFrom"] = json!({ "sessionId": "first-session" });
            }
            resumed.append(&line);
        }
        resumed.prompt().call(&format!("n{at}"), OPUS, [1, 2, 0]);
        resumed.stop(&env);
        assert_eq!(tokens(&env.records()[at + 1]), [1, 2, 0], "{rewrite}");
    }
}

#[test]
fn a_torn_or_broken_line_costs_only_itself() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", OPUS, [1, 1, 0]);
    transcript
        .raw("{\"type\":\"assistant\",\"message\":{\"id\":\"m9\",\"usage\":{\"input_tok\n\0\0\0\nnull\n");
    let strings = json!({ "id": "m8", "model": OPUS, "usage": { "input_tokens": "7", "output_tokens": 1 } });
    let line = transcript.line("assistant", strings);
    transcript.append(&line).call("m2", OPUS, [2, 2, 0]);
    transcript.stop(&env);
    assert_eq!(sum(&env.records()), [3, 3, 0]);
    assert_eq!(env.records()[0]["diagnostics"]["unreadable_lines"], 2);
}

#[test]
fn an_unlisted_model_has_no_price_and_the_sum_says_so() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", "glm-99", [1_000, 10, 0]);
    transcript.stop(&env);
    transcript.call("m2", OPUS, [1_000_000, 0, 0]).call("m3", "glm-99", [5, 5, 0]);
    transcript.stop(&env);
    let records = env.records();
    assert_eq!(records[0]["cost"]["estimated_cost_usd"], Value::Null);
    assert_eq!(records[1]["cost"]["estimated_cost_usd"], 5.0);
    for record in &records {
        assert_eq!(record["cost"]["complete"], false);
        assert_eq!(record["cost"]["unpriced_models"], json!(["glm-99"]));
    }
}

/// Copies a folder as it is.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_kill_between_journal_and_session_file_repeats_nothing_and_skips_nothing() {
    /// What a crash did to the sessions' folder; the second folder is how it was before.
    type Undo = fn(&Path, &Path);
    let undo: [(&str, Undo); 4] = [
        ("the commit was lost", |sessions, before| {
            std::fs::remove_dir_all(sessions).unwrap();
            copy(before, sessions);
        }),
        ("the commit was lost behind the index", |sessions, before| {
            let index = std::fs::read(sessions.join("calls.index")).unwrap();
            std::fs::remove_dir_all(sessions).unwrap();
            copy(before, sessions);
            std::fs::write(sessions.join("calls.index"), index).unwrap();
        }),
        ("all state was lost", |sessions, _| std::fs::remove_dir_all(sessions).unwrap()),
        ("the index was lost", |sessions, _| std::fs::remove_file(sessions.join("calls.index")).unwrap()),
    ];
    for (what, undo) in undo {
        let env = TestEnv::new();
        let mut transcript = Transcript::new(&env, SESSION);
        transcript.prompt().call("m1", OPUS, [10, 20, 0]).call("m2", OPUS, [1, 2, 0]);
        transcript.stop(&env);
        let sessions = env.data_dir().join("sessions");
        let before = env.home().join("before");
        copy(&sessions, &before);
        // One call is corrected, one is new.
        transcript.call("m2", OPUS, [1, 200, 0]).call("m3", OPUS, [5, 5, 5]);
        transcript.stop(&env);
        undo(&sessions, &before);
        transcript.call("m3", OPUS, [5, 9, 5]).call("m4", OPUS, [7, 7, 7]);
        transcript.stop(&env);
        transcript.stop(&env);
        let records = env.records();
        assert_eq!(tokens(&records[2]), [7, 11, 7], "{what}");
        assert_eq!(sum(&records), [23, 236, 12], "{what}");
        assert_eq!(records.len(), 3, "{what}");
        assert_eq!(records[2]["session_totals"]["output_tokens"], 236, "{what}");
        assert!((cost(&records) - (23.0 * 5.0 + 236.0 * 25.0 + 12.0 * 0.5) / 1e6).abs() < 1e-12, "{what}");
    }
}

#[test]
fn parallel_stops_of_many_sessions_lose_nothing_and_mix_nothing() {
    let env = TestEnv::new();
    let transcripts: Vec<Transcript> = (0..8)
        .map(|n| {
            let mut transcript = Transcript::new(&env, &format!("session-{n}"));
            transcript.prompt().call(&format!("m{n}"), OPUS, [n + 1, 0, 0]);
            transcript
        })
        .collect();
    std::thread::scope(|scope| {
        for transcript in &transcripts {
            // The same stop twice, at the same time: one record.
            scope.spawn(|| transcript.stop(&env));
            scope.spawn(|| transcript.stop(&env));
        }
    });
    let mut seen: Vec<(String, i64)> = env
        .records()
        .iter()
        .map(|record| (record["session_id"].as_str().unwrap().to_owned(), tokens(record)[0]))
        .collect();
    seen.sort();
    let expected: Vec<(String, i64)> = (0..8).map(|n| (format!("session-{n}"), n + 1)).collect();
    assert_eq!(seen, expected, "{}", env.log());
}
