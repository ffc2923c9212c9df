//! `tally relay backfill`: what was never queued, and nothing else, and once.

use super::{Receiver, conf, console, flush, run_ids, status, tree};
use crate::env::TestEnv;
use crate::transcript::{SESSION, Transcript};
use serde_json::{Value, json};

const OPUS: &str = "claude-opus-4-8";
const LONG_AGO: &str = "2000-01-01";

fn stop(env: &TestEnv, transcript: &mut Transcript, id: &str) {
    transcript.prompt().call(id, OPUS, [1, 2, 3]);
    transcript.stop(env);
}

fn backfill(env: &TestEnv, since: &str, more: &[&str]) -> Value {
    let output = env.run(&[&["relay", "backfill", "--json", "--since", since], more].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = include_str!("../../../schemas/relay-backfill.schema.json");
    jsonschema::validate(&serde_json::from_str(schema).unwrap(), &answer).unwrap();
    answer
}

#[test]
fn what_was_recorded_while_the_relay_was_off_is_sent_once_when_asked_for() {
    let mut env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    let mut transcript = Transcript::new(&env, SESSION);
    // No Console, then one that is switched off, then one that is on.
    stop(&env, &mut transcript, "m1");
    console(&env, &receiver);
    env.set("FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY", "0");
    stop(&env, &mut transcript, "m2");
    env.set("FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY", "1");
    stop(&env, &mut transcript, "m3");
    flush(&env);
    assert_eq!(run_ids(&receiver.received()), [format!("{SESSION}.3")]);

    let answer = backfill(&env, LONG_AGO, &[]);
    assert_eq!((&answer["queued"], &answer["known"]), (&json!(2), &json!(1)));
    assert_eq!(answer["ids"], json!([SESSION, format!("{SESSION}.2")]));
    assert_eq!(answer["destination"]["url"], format!("{}/records", receiver.url()));
    assert_eq!(answer["destination"]["tenant"], "tenant-a");
    flush(&env);
    // Built as the hook builds it: everything is known here, so what leaves is what was recorded.
    let mut bodies: Vec<Value> =
        receiver.received().iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    bodies.sort_by_key(|body| body["sequence"].as_u64());
    assert_eq!(bodies, env.records());

    // Again, after it was delivered and its segments are gone.
    let again = backfill(&env, LONG_AGO, &[]);
    assert_eq!((&again["queued"], &again["known"]), (&json!(0), &json!(3)));
    flush(&env);
    assert_eq!(receiver.received().len(), 3);
    let status = status(&env);
    assert_eq!([&status["enqueued"], &status["delivered"], &status["delivered_before"]], [3, 3, 0]);
}

#[test]
fn twice_in_a_row_or_at_once_queues_nothing_twice() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    for id in ["m1", "m2", "m3"] {
        stop(&env, &mut transcript, id);
    }
    // A Console that is not there: everything stays queued.
    conf(&env, "console_telemetry_url=http://127.0.0.1:1\n");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| backfill(&env, LONG_AGO, &[]));
        }
    });
    assert_eq!(backfill(&env, LONG_AGO, &[])["known"], 3);
    assert_eq!(status(&env)["enqueued"], 3);
}

#[test]
fn a_record_is_known_from_its_own_file_where_the_list_of_ids_is_lost() {
    let env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    conf(&env, "console_telemetry_url=http://127.0.0.1:1\n");
    stop(&env, &mut transcript, "m1");
    // Takes the entry in, and leaves it pending.
    env.run(&["relay", "flush", "--timeout", "1"]);
    let ids = env.data_dir().join("outbox/ids.jsonl");
    assert_eq!(std::fs::read_to_string(&ids).unwrap(), format!("[\"economics\",\"{SESSION}\"]\n"));
    std::fs::remove_file(ids).unwrap();
    assert_eq!(backfill(&env, LONG_AGO, &[])["known"], 1);
}

#[test]
fn only_what_is_of_that_time_or_later_is_looked_at() {
    let mut env = TestEnv::new();
    let mut transcript = Transcript::new(&env, SESSION);
    // 2026-11-01 is day 20,758 of the epoch.
    let midnight = 20_758_u64 * 86_400_000;
    for (id, at) in [("m1", midnight - 1), ("m2", midnight), ("m3", midnight + 1)] {
        env.set("TALLY_CLOCK_MS", at.to_string());
        stop(&env, &mut transcript, id);
    }
    conf(&env, "console_telemetry_url=http://127.0.0.1:1\n");
    let ids = |since: &str| backfill(&env, since, &["--dry-run"])["ids"].as_array().unwrap().len();
    for (since, expected) in [
        ("2026-10-31", 3),
        ("2026-10-31T23:59:59.999Z", 3),
        ("2026-11-01", 2),
        ("2026-11-01T00:00:00.001Z", 1),
        ("2026-11-01T00:00:01Z", 0),
    ] {
        assert_eq!(ids(since), expected, "{since}");
    }
    for wrong in ["yesterday", "2026-13-01", "2026-11-01T00:00:00+01:00"] {
        let output = env.run(&["relay", "backfill", "--since", wrong]);
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("YYYY-MM-DDTHH:MM:SSZ") && text.contains("YYYY-MM-DD"), "{text}");
    }
}

#[test]
fn a_dry_run_names_what_it_would_queue_and_writes_nothing() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    let mut transcript = Transcript::new(&env, SESSION);
    stop(&env, &mut transcript, "m1");
    console(&env, &receiver);
    let before = tree(&env.project());
    let answer = backfill(&env, LONG_AGO, &["--dry-run"]);
    assert_eq!((&answer["dry_run"], &answer["ids"]), (&json!(true), &json!([SESSION])));
    let output = env.run(&["relay", "backfill", "--since", LONG_AGO, "--dry-run"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text,
        format!(
            "{SESSION}\n1 record would be queued for {}/records, tenant tenant-a [conf:{}]\n",
            receiver.url(),
            env.project().join(".kontourai/telemetry-console.conf").display()
        )
    );
    assert_eq!(tree(&env.project()), before);
    // And where an outbox and its locks are there already.
    stop(&env, &mut transcript, "m2");
    flush(&env);
    let before = tree(&env.project());
    assert_eq!(backfill(&env, LONG_AGO, &["--dry-run"])["queued"], 1);
    assert_eq!(tree(&env.project()), before);
    assert_eq!(run_ids(&receiver.received()), [format!("{SESSION}.2")]);
}

#[test]
fn a_relay_that_is_off_refuses_and_says_why() {
    let receiver = Receiver::start(0).unwrap();
    let url = format!("console_telemetry_url={}\n", receiver.url());
    for (variable, text, reason) in [
        (("DO_NOT_TRACK", "1"), url.clone(), "DO_NOT_TRACK"),
        (("FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY", "0"), url.clone(), "FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY"),
        (("HOME", "/nowhere"), format!("{url}console_economics_relay=false\n"), "console_economics_relay"),
        (("HOME", "/nowhere"), String::new(), "no Console is configured"),
    ] {
        let mut env = TestEnv::new();
        let mut transcript = Transcript::new(&env, SESSION);
        stop(&env, &mut transcript, "m1");
        conf(&env, &text);
        env.set(variable.0, variable.1);
        let before = tree(&env.project());
        for more in [&[][..], &["--dry-run"]] {
            let output = env.run(&[&["relay", "backfill", "--since", LONG_AGO], more].concat());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains("the relay is off") && said.contains(reason), "{said}");
        }
        assert_eq!(tree(&env.project()), before, "{reason}");
    }
    assert!(receiver.received().is_empty());
}

#[test]
fn what_a_hook_would_not_send_and_what_is_anothers_stays_local() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    let mut silent = Transcript::new(&env, "silent");
    silent.prompt();
    silent.stop(&env);
    conf(
        &env,
        &format!(
            "console_telemetry_url={}\nconsole_tenant_id=tenant-b\nconsole_economics_relay=0\n",
            receiver.url()
        ),
    );
    let mut transcript = Transcript::new(&env, SESSION);
    stop(&env, &mut transcript, "m1");
    assert_eq!(env.records()[1]["tenant_id"], "tenant-b");
    console(&env, &receiver);
    let answer = backfill(&env, LONG_AGO, &[]);
    assert_eq!(
        ["queued", "known", "without_signal", "other_tenant"].map(|name| answer[name].as_u64().unwrap()),
        [0, 0, 1, 1]
    );
    assert!(!env.data_dir().join("outbox").exists());
}

#[test]
fn what_the_next_hook_will_hand_on_is_left_to_it() {
    let env = TestEnv::new();
    let receiver = Receiver::start(0).unwrap();
    console(&env, &receiver);
    let mut transcript = Transcript::new(&env, SESSION);
    stop(&env, &mut transcript, "m1");
    let cursor = env.data_dir().join("economics.jsonl.lock");
    let before = std::fs::read(&cursor).unwrap();
    stop(&env, &mut transcript, "m2");
    flush(&env);
    // As after a kill between journal and outbox: the second record is in the journal alone.
    std::fs::write(&cursor, before).unwrap();
    std::fs::remove_dir_all(env.data_dir().join("outbox")).unwrap();
    let answer = backfill(&env, LONG_AGO, &[]);
    assert_eq!(answer["ids"], json!([SESSION]), "the outbox is lost, and only the hook hands the second on");
    stop(&env, &mut transcript, "m3");
    flush(&env);
    // Up to four requests are out at once: which of them arrives first is nobody's promise.
    let mut ids = run_ids(&receiver.received()).split_off(2);
    ids.sort();
    assert_eq!(ids, [SESSION.to_owned(), format!("{SESSION}.2"), format!("{SESSION}.3")]);
}
