//! `tally relay rejected` and `retry` at a Console that refuses, and then does not.

use super::{TOKEN, conf, flush, status};
use crate::env::TestEnv;
use crate::transcript::{SESSION, Transcript};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

const OPUS: &str = "claude-opus-4-8";
/// The Console's own answer to such a record (Console ingest §2), with an escape sequence in it.
const REFUSAL: &str = r#"{"error":"INVALID_RECORD","safeMessage":"economics record validation failed",
    "validation":[{"severity":"error","path":"economics.defects","message":"must\u001b[2J be there"}]}"#;

/// A Console that refuses every record until it is mended.
struct Console {
    runtime: tokio::runtime::Runtime,
    server: MockServer,
    mended: Arc<AtomicBool>,
}

impl Console {
    fn new(env: &mut TestEnv) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mended = Arc::new(AtomicBool::new(false));
        let accepts = Arc::clone(&mended);
        let answer = move |_: &Request| match accepts.load(Ordering::SeqCst) {
            true => {
                ResponseTemplate::new(202).set_body_string(r#"{"outcome":"accepted","status":"persisted"}"#)
            }
            false => ResponseTemplate::new(400).set_body_string(REFUSAL),
        };
        let server = runtime.block_on(async {
            let server = MockServer::start().await;
            Mock::given(any()).respond_with(answer).mount(&server).await;
            server
        });
        let url = server.uri();
        let text = format!(
            "console_telemetry_url={url}\nconsole_telemetry_token={TOKEN}\nconsole_tenant_id=tenant-a\n"
        );
        conf(env, &text);
        Self { runtime, server, mended }
    }

    fn bodies(&self) -> Vec<Vec<u8>> {
        let requests = self.runtime.block_on(self.server.received_requests()).unwrap();
        requests.into_iter().map(|request| request.body).collect()
    }
}

fn stops(env: &TestEnv, session: &str, runs: i64) {
    let mut transcript = Transcript::new(env, session);
    for run in 0..runs {
        transcript.prompt().call(&format!("{session}-{run}"), OPUS, [run + 1, 2, 3]);
        transcript.stop(env);
    }
}

/// The answer of a command that has to succeed, held to its schema.
fn answer(env: &TestEnv, args: &[&str], schema: &str) -> Value {
    let output = env.run(args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    jsonschema::validate(&serde_json::from_str(schema).unwrap(), &answer).unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains(TOKEN));
    answer
}

fn rejected(env: &TestEnv) -> Value {
    answer(env, &["relay", "rejected", "--json"], include_str!("../../../schemas/relay-rejected.schema.json"))
}

fn retry(env: &TestEnv, what: &str) -> Value {
    answer(env, &["relay", "retry", what, "--json"], include_str!("../../../schemas/relay-retry.schema.json"))
}

fn of<'a>(rows: &'a Value, field: &str) -> Vec<&'a str> {
    rows.as_array().unwrap().iter().map(|row| row[field].as_str().unwrap()).collect()
}

#[test]
fn what_the_console_refused_is_kept_with_its_words_and_accepted_after_the_fix() {
    let mut env = TestEnv::new();
    let console = Console::new(&mut env);
    stops(&env, SESSION, 2);
    flush(&env);
    let before = status(&env);
    assert_eq!([&before["rejected"], &before["rejected_kept"], &before["rejected_dropped"]], [2, 2, 0]);
    assert_eq!(
        before["rejected_reasons"],
        json!([{"reason": "HTTP 400 INVALID_RECORD: refused", "records": 2}])
    );
    let second = format!("{SESSION}.2");
    let listed = rejected(&env);
    assert_eq!((&listed["rejected"], &listed["dropped"]), (&json!(2), &json!(0)));
    let records = &listed["records"];
    assert_eq!(of(records, "id"), [SESSION, second.as_str()], "the newest last");
    assert_eq!(of(records, "kind"), ["economics"; 2]);
    assert_eq!(of(records, "tenant"), ["tenant-a"; 2]);
    assert_eq!(of(records, "origin"), [console.server.uri(), console.server.uri()]);
    let said = "economics record validation failed; economics.defects: must\u{fffd}[2J be there";
    assert_eq!(of(records, "said"), [said; 2]);
    let bodies = console.bodies();
    assert_eq!(records[0]["bytes"], bodies[0].len());
    assert_eq!((&records[0]["status"], &records[0]["attempts"]), (&json!(400), &json!(1)));

    console.mended.store(true, Ordering::SeqCst);
    assert_eq!(of(&retry(&env, &second)["put_back"], "id"), [second.as_str()]);
    flush(&env);
    let after = status(&env);
    assert_eq!(
        ["enqueued", "delivered", "rejected", "pending"].map(|name| after[name].as_u64().unwrap()),
        [2, 1, 1, 0]
    );
    assert_eq!(of(&retry(&env, "--all")["put_back"], "id"), [SESSION]);
    flush(&env);
    let after = status(&env);
    assert_eq!(
        (&after["delivered"], &after["rejected"], &after["delivered_before"]),
        (&json!(2), &json!(0), &json!(0))
    );
    assert_eq!(rejected(&env)["records"], json!([]));
    let again = console.bodies();
    assert_eq!(again.len(), 4);
    assert_eq!((&again[2], &again[3]), (&bodies[1], &bodies[0]), "every copy is byte-equal");
}

#[test]
fn the_list_is_readable_and_holds_nothing_that_steers_a_terminal() {
    let mut env = TestEnv::new();
    let console = Console::new(&mut env);
    stops(&env, SESSION, 2);
    flush(&env);
    let output = env.run(&["relay", "rejected"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for part in [
        "HTTP 400 INVALID_RECORD: refused\n",
        "economics record validation failed; economics.defects: must\u{fffd}[2J be there\n",
        &format!("economics {SESSION}.2\n"),
        &format!(" bytes for {}, tenant tenant-a\n", console.server.uri()),
        "2 records rejected and kept\n",
        "tally relay retry",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}') && !text.contains(TOKEN), "{text}");
    console.mended.store(true, Ordering::SeqCst);
    let output = env.run(&["relay", "retry", "--all"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("2 records put back"), "{text}");
    flush(&env);
    assert_eq!(status(&env)["delivered"], 2);
}

#[test]
fn what_is_not_kept_any_more_is_counted_and_said() {
    let mut env = TestEnv::new();
    let _console = Console::new(&mut env);
    stops(&env, SESSION, 3);
    flush(&env);
    // As when later ones took the room of the first two.
    let path = env.data_dir().join("outbox/rejected.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.split_inclusive('\n').next_back().unwrap()).unwrap();
    let listed = rejected(&env);
    assert_eq!((&listed["rejected"], &listed["dropped"]), (&json!(3), &json!(2)));
    assert_eq!(of(&listed["records"], "id"), [format!("{SESSION}.3")]);
    let status = status(&env);
    assert_eq!([&status["rejected"], &status["rejected_kept"], &status["rejected_dropped"]], [3, 1, 2]);
    for (verb, said) in [
        ("rejected", "2 more rejected and not kept any more"),
        ("status", "rejected 3, 2 of them not kept any more"),
    ] {
        let text = String::from_utf8(env.run(&["relay", verb]).stdout).unwrap();
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn an_unknown_id_is_an_error_that_says_what_to_do_and_changes_nothing() {
    let mut env = TestEnv::new();
    let _console = Console::new(&mut env);
    stops(&env, SESSION, 1);
    flush(&env);
    let before = super::tree(&env.data_dir());
    let output = env.run(&["relay", "retry", "no-such\u{1b}id"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("tally relay rejected") && text.contains("no-such") && !text.contains('\u{1b}'),
        "{text}"
    );
    assert_eq!(super::tree(&env.data_dir()), before);
    for wrong in [&["relay", "retry"][..], &["relay", "retry", "x", "--all"]] {
        assert_eq!(env.run(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn with_nothing_rejected_there_is_nothing_to_do() {
    let env = TestEnv::new();
    assert_eq!(rejected(&env), json!({"rejected": 0, "dropped": 0, "records": []}));
    assert_eq!(retry(&env, "--all"), json!({"put_back": [], "on_their_way": [], "unreadable": 0}));
    assert!(!env.data_dir().exists(), "looking makes no folder");
}

#[test]
fn do_not_track_puts_nothing_on_its_way() {
    let mut env = TestEnv::new();
    let console = Console::new(&mut env);
    stops(&env, SESSION, 1);
    flush(&env);
    console.mended.store(true, Ordering::SeqCst);
    env.set("DO_NOT_TRACK", "1");
    let output = env.run(&["relay", "retry", "--all"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("DO_NOT_TRACK"), "{output:?}");
    assert_eq!(rejected(&env)["records"].as_array().unwrap().len(), 1);
    assert_eq!(console.bodies().len(), 1);
}

#[test]
fn a_retry_while_workers_run_sends_each_record_once() {
    let mut env = TestEnv::new();
    let console = Console::new(&mut env);
    stops(&env, SESSION, 6);
    flush(&env);
    assert_eq!(status(&env)["rejected"], 6);
    console.mended.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        // Hooks that queue and start workers, flushes that are workers, and several retries of the same records.
        scope.spawn(|| stops(&env, "another", 6));
        scope.spawn(|| (0..3).for_each(|_| drop(env.run(&["relay", "flush", "--timeout", "20"]))));
        for _ in 0..3 {
            scope.spawn(|| retry(&env, "--all"));
        }
    });
    flush(&env);
    let status = status(&env);
    assert_eq!(
        ["enqueued", "delivered", "rejected", "evicted", "delivered_before"]
            .map(|name| status[name].as_u64().unwrap()),
        [12, 12, 0, 0, 0]
    );
    let bodies = console.bodies();
    let again = bodies.iter().skip(6).map(|body| String::from_utf8_lossy(body).into_owned());
    let mut ids: Vec<String> = again
        .map(|body| serde_json::from_str::<Value>(&body).unwrap()["run_id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    let all = ids.len();
    ids.dedup();
    assert_eq!((all, ids.len()), (12, 12), "{ids:?}");
}
