//! Liveness records that wait while others of their pair arrive (invariant 9 of the outbox).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::*;

/// The `n`th heartbeat of `id`; later ones are later.
fn heartbeat(id: &str, origin: &str, n: u32) -> Entry {
    liveness(id, origin, "heartbeat", n)
}

fn liveness(id: &str, origin: &str, verb: &str, n: u32) -> Entry {
    let at = format!("2026-07-01T10:{:02}:{:02}Z", n / 60, n % 60);
    let body =
        format!(r#"{{"schema":"kontour.console.liveness","type":"{verb}","at":"{at}","id":"{id}","n":{n}}}"#);
    Entry { kind: "liveness".to_owned(), body: Entry::body(&body).unwrap(), ..sample(id, origin) }
}

fn put(bench: &Bench, entry: &Entry) {
    enqueue(bench.path(), entry, WAIT).unwrap();
}

fn superseded(bench: &Bench) -> u64 {
    status(bench.path()).unwrap().superseded
}

/// What was sent: each request's id and number, in order of arrival.
fn sent(bench: &Bench) -> Vec<(String, u64)> {
    let parsed = bench.requests().into_iter().map(|request| {
        let body: serde_json::Value = request.body_json().unwrap();
        let id = body["id"].as_str().or(body["run_id"].as_str()).unwrap();
        (id.to_owned(), body["n"].as_u64().unwrap_or(0))
    });
    parsed.collect()
}

/// A Console that answers with 503 until it is told to be well.
fn broken_console() -> (Bench, Arc<AtomicBool>) {
    let well = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&well);
    let bench = Bench::new(
        move |_: &Request| {
            if seen.load(Ordering::SeqCst) { accepted() } else { ResponseTemplate::new(503) }
        },
    );
    (bench, well)
}

/// One try for each record that is due, whatever the stored back-off.
fn try_once(bench: &Bench) -> [u64; 5] {
    run(bench.path(), &bench.env("tok-a"), Budget { linger: false, ..quick() }, None).unwrap();
    counters(bench.path())
}

#[test]
fn of_a_hundred_heartbeats_that_wait_the_last_is_sent() {
    let (bench, well) = broken_console();
    let origin = bench.server.uri();
    for n in 0..100 {
        put(&bench, &heartbeat("pair", &origin, n));
        if n % 10 == 9 {
            // A worker of the outage: whatever it tries fails.
            let [enqueued, delivered, rejected, evicted, pending] = try_once(&bench);
            assert_eq!((enqueued, delivered, rejected), (u64::from(n) + 1, 0, 0));
            assert_eq!((evicted, pending), (u64::from(n), 1));
        }
    }
    let tried = bench.requests().len();
    well.store(true, Ordering::SeqCst);
    assert_eq!(bench.flush(), [100, 1, 0, 99, 0]);
    assert_eq!(superseded(&bench), 99);
    assert_eq!(sent(&bench)[tried..], [("pair".to_owned(), 99)]);
}

#[test]
fn pairs_and_kinds_stand_for_themselves() {
    let bench = Bench::new(accepted());
    let origin = bench.server.uri();
    for n in 0..10 {
        put(&bench, &heartbeat("one", &origin, n));
        put(&bench, &heartbeat("two", &origin, n));
        put(&bench, &sample("run", &origin));
        put(&bench, &Entry { kind: "telemetry".to_owned(), ..heartbeat("event", &origin, n) });
    }
    assert_eq!(bench.flush(), [40, 22, 0, 18, 0]);
    assert_eq!(superseded(&bench), 18);
    let sent = sent(&bench);
    let of = |id: &str| sent.iter().filter(|(sent, _)| sent == id).map(|(_, n)| *n).collect::<Vec<_>>();
    assert_eq!((of("one"), of("two")), (vec![9], vec![9]));
    assert_eq!((of("run").len(), of("event")), (10, (0..10).collect()));
}

#[test]
fn tenants_stand_for_themselves_also_while_one_waits_for_its_credential() {
    let bench = Bench::new(accepted());
    let origin = bench.server.uri();
    let of = |tenant: &str, n| Entry { tenant: Some(tenant.to_owned()), ..heartbeat("pair", &origin, n) };
    for n in 0..5 {
        put(&bench, &of("tenant-a", n));
        put(&bench, &of("tenant-b", n + 10));
    }
    let env = Env::from_pairs([
        ("CONSOLE_URL", origin.as_str()),
        ("CONSOLE_TELEMETRY_TOKEN", "tok-b"),
        ("CONSOLE_TENANT_ID", "tenant-b"),
    ]);
    assert_eq!(bench.flush_with(&env), [10, 1, 0, 8, 1]);
    assert_eq!(sent(&bench), [("pair".to_owned(), 14)]);
}

#[test]
fn latest_is_what_the_console_takes_for_it() {
    let bench = Bench::new(accepted());
    let origin = bench.server.uri();
    put(&bench, &liveness("back-dated", &origin, "heartbeat", 50));
    put(&bench, &liveness("back-dated", &origin, "claim", 20));
    put(&bench, &liveness("released", &origin, "release", 30));
    put(&bench, &liveness("released", &origin, "heartbeat", 30));
    put(&bench, &liveness("taken again", &origin, "release", 30));
    put(&bench, &liveness("taken again", &origin, "claim", 31));
    assert_eq!(bench.flush(), [6, 3, 0, 3, 0]);
    let verbs: Vec<String> = bench
        .requests()
        .iter()
        .map(|request| request.body_json::<serde_json::Value>().unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(verbs.iter().filter(|verb| *verb == "release").count(), 1, "{verbs:?}");
    let mut sent = sent(&bench);
    sent.sort();
    let latest = [("back-dated", 50), ("released", 30), ("taken again", 31)];
    assert_eq!(sent, latest.map(|(id, n)| (id.to_owned(), n)));
}

#[test]
fn what_is_sent_already_is_left_alone_and_of_those_behind_it_the_last_follows() {
    let dir = tempfile::tempdir().unwrap();
    let (path, origin) = (dir.path().to_path_buf(), Arc::new(Mutex::new(String::new())));
    let (known, late) = (Arc::clone(&origin), Mutex::new(Some(1..4)));
    let bench = Bench::new(move |_: &Request| {
        for n in late.lock().unwrap().take().into_iter().flatten() {
            enqueue(&path, &heartbeat("pair", &known.lock().unwrap(), n), WAIT).unwrap();
        }
        accepted()
    });
    *origin.lock().unwrap() = bench.server.uri();
    enqueue(dir.path(), &heartbeat("pair", &bench.server.uri(), 0), WAIT).unwrap();
    run(dir.path(), &bench.env("tok-a"), Budget::detached(), None).unwrap();
    assert_eq!(counters(dir.path()), [4, 2, 0, 2, 0]);
    assert_eq!(sent(&bench).into_iter().map(|(_, n)| n).collect::<Vec<_>>(), [0, 3]);
}

#[test]
fn a_crash_at_any_save_conserves_and_ends_with_the_latest() {
    // What the books may be when the next worker comes: as they were before the run, as saved, or gone.
    for lost in ["nothing", "the last save", "everything"] {
        let (bench, well) = broken_console();
        let origin = bench.server.uri();
        let state = bench.path().join("outbox/state.json");
        (0..5).for_each(|n| put(&bench, &heartbeat("pair", &origin, n)));
        put(&bench, &sample("run", &origin));
        assert_eq!(try_once(&bench), [6, 0, 0, 4, 2]);
        let before = std::fs::read(&state).unwrap();
        (5..10).for_each(|n| put(&bench, &heartbeat("pair", &origin, n)));
        assert_eq!(try_once(&bench), [11, 0, 0, 9, 2]);
        match lost {
            "nothing" => {}
            "the last save" => std::fs::write(&state, before).unwrap(),
            _ => std::fs::remove_file(&state).unwrap(),
        }
        counters(bench.path());
        let tried = bench.requests().len();
        well.store(true, Ordering::SeqCst);
        let [enqueued, delivered, rejected, evicted, pending] = bench.flush();
        assert_eq!((delivered, rejected, pending), (2, 0, 0), "{lost}");
        assert_eq!((evicted, superseded(&bench)), (enqueued - 2, enqueued - 2), "{lost}");
        let mut sent = sent(&bench).split_off(tried);
        sent.sort();
        assert_eq!(sent, [("pair".to_owned(), 9), ("run".to_owned(), 0)], "{lost}");
    }
}
