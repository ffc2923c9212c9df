//! Workers among themselves, wakes, gates, and what is shown of it all.

use super::super::outbox::{Entry, enqueue, sample};
use super::super::worker::{Outcome, run};
use super::super::*;
use super::*;

#[test]
fn a_record_that_arrives_during_the_run_is_sent_by_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, late) = (dir.path().to_path_buf(), Mutex::new(Some("late")));
    let origin = std::sync::Arc::new(Mutex::new(String::new()));
    let known = std::sync::Arc::clone(&origin);
    let bench = Bench::new(move |_: &Request| {
        if let Some(id) = late.lock().unwrap().take() {
            enqueue(&path, &sample(id, &known.lock().unwrap()), WAIT).unwrap();
        }
        accepted()
    });
    *origin.lock().unwrap() = bench.server.uri();
    enqueue(dir.path(), &sample("a", &bench.server.uri()), WAIT).unwrap();
    run(dir.path(), &bench.env("tok-a"), Budget::detached(), None).unwrap();
    assert_eq!(counters(dir.path()), [2, 2, 0, 0, 0]);
}

#[test]
fn a_lost_state_sends_again_and_still_conserves() {
    let bench = Bench::new(|request: &Request| match id_of(request).as_str() {
        "a" => ResponseTemplate::new(401),
        _ => accepted(),
    });
    bench.queue(&["b", "c", "a"]);
    assert_eq!(bench.flush(), [3, 2, 0, 0, 1]);
    std::fs::remove_file(bench.path().join("outbox/state.json")).unwrap();
    assert_eq!(bench.flush(), [3, 2, 0, 0, 1]);
    let requests = bench.requests();
    assert_eq!(["b", "c"].map(|id| count_ids(&requests, id)), [2, 2]);
    // An answer to another record that comes after the refusal speaks for the credential: then it is tried once more.
    assert!(count_ids(&requests, "a") >= 2);
}

#[test]
fn two_workers_at_once_send_each_record_once() {
    let bench = Bench::new(accepted());
    let ids: Vec<String> = (0..60).map(|n| format!("r{n}")).collect();
    bench.queue(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let env = bench.env("tok-a");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| run(bench.path(), &env, quick(), None).unwrap());
        }
    });
    assert_eq!(counters(bench.path()), [60, 60, 0, 0, 0]);
    assert_eq!(bench.requests().len(), 60);
}

#[test]
fn a_second_worker_leaves_the_first_alone() {
    let bench = Bench::new(accepted());
    bench.queue(&["a"]);
    let guard = Guard::acquire(bench.path(), WAIT).unwrap();
    let held = guard.try_worker().unwrap().unwrap();
    drop(guard);
    let outcome = run(bench.path(), &bench.env("tok-a"), Budget::detached(), None).unwrap();
    assert_eq!(outcome, Outcome::OtherAtWork);
    assert!(status(bench.path()).unwrap().worker_running);
    held.release(&Guard::acquire(bench.path(), WAIT).unwrap());
    assert_eq!(bench.flush(), [1, 1, 0, 0, 0]);
}

#[test]
fn one_identity_is_never_in_flight_twice_and_stays_in_order() {
    let flying = std::sync::Arc::new(AtomicUsize::new(0));
    let now = std::sync::Arc::clone(&flying);
    let most = std::sync::Arc::new(AtomicUsize::new(0));
    let seen = std::sync::Arc::clone(&most);
    let bench = Bench::new(move |_: &Request| {
        seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(5));
        now.fetch_sub(1, Ordering::SeqCst);
        accepted()
    });
    for n in 0..5 {
        let mut entry = sample("same", &bench.server.uri());
        entry.body = Entry::body(&format!(r#"{{"run_id":"same","n":{n}}}"#)).unwrap();
        enqueue(bench.path(), &entry, WAIT).unwrap();
    }
    assert_eq!(bench.flush(), [5, 5, 0, 0, 0]);
    let order: Vec<_> = bench
        .requests()
        .iter()
        .map(|request| request.body_json::<serde_json::Value>().unwrap()["n"].as_u64().unwrap())
        .collect();
    assert_eq!((order, most.load(Ordering::SeqCst)), (vec![0, 1, 2, 3, 4], 1));
}

#[test]
fn a_tampered_destination_is_rejected_unsent() {
    let bench = Bench::new(accepted());
    for (id, path) in [("a", "@evil.example/"), ("b", ":1/"), ("c", "/records#x")] {
        let entry = Entry { path: path.to_owned(), ..sample(id, &bench.server.uri()) };
        enqueue(bench.path(), &entry, WAIT).unwrap();
    }
    assert_eq!(bench.flush(), [3, 0, 3, 0, 0]);
    assert!(bench.requests().is_empty());
}

#[test]
fn do_not_track_sends_nothing() {
    let bench = Bench::new(accepted());
    bench.queue(&["a"]);
    let url = bench.server.uri();
    let env = Env::from_pairs([("CONSOLE_URL", url.as_str()), ("DO_NOT_TRACK", "1")]);
    wake(bench.path(), &env, true).unwrap();
    assert_eq!(flush(bench.path(), &env, WAIT).unwrap().pending, 1);
    assert!(bench.requests().is_empty());
}

#[test]
fn a_foreground_wake_has_sent_when_it_returns() {
    let bench = Bench::new(accepted());
    bench.queue(&["a"]);
    wake(bench.path(), &bench.env("tok-a"), true).unwrap();
    assert_eq!(counters(bench.path()), [1, 1, 0, 0, 0]);
}

#[test]
fn the_gate_is_shut_after_a_run_that_left_only_what_must_wait() {
    let bench = Bench::new(ResponseTemplate::new(401));
    bench.queue(&["a"]);
    bench.flush();
    let now = clock::now_ms();
    assert!(Guard::acquire(bench.path(), WAIT).unwrap().is_gated(now));
    bench.queue(&["b"]);
    assert!(Guard::acquire(bench.path(), WAIT).unwrap().is_gated(now), "the same credential");
}

#[test]
fn the_worker_inherits_what_the_design_lists() {
    let names = [
        ("HOME", true),
        ("https_proxy", true),
        ("HTTPS_PROXY", true),
        ("SSL_CERT_FILE", true),
        ("CONSOLE_URL", true),
        ("FLOW_AGENTS_CONSOLE_URL", true),
        ("TELEMETRY_DATA_DIR", true),
        ("XDG_STATE_HOME", true),
        ("AWS_SECRET_ACCESS_KEY", false),
        ("LD_PRELOAD", false),
        ("MY_CONSOLE_TOKEN", false),
    ];
    let empty = [("SSL_CERT_DIR", ""), ("HTTP_PROXY", "")];
    let env = Env::from_pairs(names.map(|(name, _)| (name, "1")).into_iter().chain(empty));
    let mut inherited: Vec<_> =
        worker_environment(&env).into_iter().map(|(name, _)| name.into_string().unwrap()).collect();
    inherited.sort();
    let mut expected: Vec<_> =
        names.iter().filter(|(_, kept)| *kept).map(|(name, _)| (*name).to_owned()).collect();
    expected.push("TALLY_RELAY_WORKER".to_owned());
    expected.sort();
    assert_eq!(inherited, expected);
}

#[test]
fn an_errand_fetches_within_its_limit() {
    let bench = Bench::new(ResponseTemplate::new(200).set_body_string("prices"));
    let endpoint = crate::settings::endpoint::Endpoint::parse(&bench.server.uri()).unwrap();
    let mut got = Vec::new();
    let mut errand = |fetch: &worker::Fetch<'_>| {
        got.push(fetch.get(&endpoint, 6, WAIT).ok());
        got.push(fetch.get(&endpoint, 5, WAIT).ok());
    };
    run(bench.path(), &Env::default(), Budget::detached(), Some(&mut errand)).unwrap();
    assert_eq!(got, [Some(b"prices".to_vec()), None]);
}

#[test]
fn status_keeps_its_published_form() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../schemas/relay-status.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let bench = Bench::new(ResponseTemplate::new(401));
    let check = || {
        let status = serde_json::to_value(status(bench.path()).unwrap()).unwrap();
        let errors: Vec<_> = validator.iter_errors(&status).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {status:#}");
    };
    check();
    bench.queue(&["a"]);
    check();
    bench.flush();
    check();
}

#[test]
fn a_waiting_worker_hands_over_to_somebody_who_wants_to_try_now() {
    let bench = Bench::new(ResponseTemplate::new(503).insert_header("retry-after", "20"));
    bench.queue(&["a"]);
    let env = bench.env("tok-a");
    std::thread::scope(|scope| {
        let lingering = scope.spawn(|| run(bench.path(), &env, Budget::detached(), None).unwrap());
        while bench.requests().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(run(bench.path(), &env, quick(), None).unwrap(), Outcome::Worked);
        assert_eq!(lingering.join().unwrap(), Outcome::Worked);
    });
    assert_eq!(bench.requests().len(), 1);
}

#[test]
fn a_hook_starts_a_worker_only_where_one_is_of_use() {
    // The program that is started is this test binary, which knows no test of the worker's name and ends at once.
    let bench = Bench::new(accepted());
    let (path, env) = (bench.path(), bench.env("tok-a"));
    let guard = || Guard::acquire(path, WAIT).unwrap();
    let started = |env: &Env| {
        wake(path, env, false).unwrap();
        let guard = guard();
        let started = guard.is_starting(clock::now_ms());
        guard.clear_hints();
        started
    };
    assert!(!started(&env), "nothing is pending");
    bench.queue(&["a"]);
    assert!(started(&env));
    assert!(!started(&Env::from_pairs([("TALLY_RELAY_WORKER", "1")])), "a worker starts no other");
    assert!(!started(&Env::from_pairs([("DO_NOT_TRACK", "1")])));
    let running = guard().try_worker().unwrap().unwrap();
    assert!(!started(&env), "one is at work");
    running.release(&guard());
    let now_ms = clock::now_ms();
    guard().shut_gate(outbox::Gate { not_before_ms: i64::MAX, blocked: [bench.server.uri()].into() }, now_ms);
    assert!(!started(&env), "it could do nothing");
    assert!(started(&env));
}

#[test]
fn an_endless_timeout_is_no_panic() {
    let bench = Bench::new(accepted());
    bench.queue(&["a"]);
    assert_eq!(flush(bench.path(), &bench.env("tok-a"), Duration::MAX).unwrap().pending, 0);
}
