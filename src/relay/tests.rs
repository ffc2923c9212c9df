//! The worker against real servers on loopback.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::outbox::{Entry, enqueue, sample};
use super::worker::{Outcome, run};
use super::*;

const WAIT: Duration = Duration::from_secs(10);

fn accepted() -> ResponseTemplate {
    ResponseTemplate::new(202).set_body_string(r#"{"outcome":"accepted","status":"persisted"}"#)
}

/// A Console on loopback, a data directory, and an environment that names both.
struct Bench {
    runtime: tokio::runtime::Runtime,
    server: MockServer,
    dir: TempDir,
}

impl Bench {
    fn new(answer: impl Respond + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = runtime.block_on(async {
            let server = MockServer::start().await;
            Mock::given(any()).respond_with(answer).mount(&server).await;
            server
        });
        Self { runtime, server, dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn env(&self, token: &str) -> Env {
        let url = self.server.uri();
        Env::from_pairs([("CONSOLE_URL", url.as_str()), ("CONSOLE_TELEMETRY_TOKEN", token)])
    }

    fn queue(&self, ids: &[&str]) {
        for id in ids {
            enqueue(self.path(), &sample(id, &self.server.uri()), WAIT).unwrap();
        }
    }

    fn requests(&self) -> Vec<Request> {
        self.runtime.block_on(self.server.received_requests()).unwrap()
    }

    fn flush(&self) -> [u64; 5] {
        self.flush_with(&self.env("tok-a"))
    }

    fn flush_with(&self, env: &Env) -> [u64; 5] {
        run(self.path(), env, quick(), None).unwrap();
        counters(self.path())
    }
}

/// As a flush, but hardly waiting between tries.
fn quick() -> Budget {
    Budget { backoff_cap_ms: 2, ..Budget::flush(WAIT) }
}

fn counters(dir: &Path) -> [u64; 5] {
    let status = status(dir).unwrap();
    let counted = [status.enqueued, status.delivered, status.rejected, status.evicted, status.pending];
    assert_eq!(counted[0], counted[1..].iter().sum::<u64>(), "conservation");
    counted
}

fn id_of(request: &Request) -> String {
    request.body_json::<serde_json::Value>().unwrap()["run_id"].as_str().unwrap().to_owned()
}

fn count_ids(requests: &[Request], id: &str) -> usize {
    requests.iter().filter(|request| id_of(request) == id).count()
}

#[test]
fn a_record_arrives_whole_with_its_credential() {
    let bench = Bench::new(accepted());
    let env = Env::from_pairs([
        ("CONSOLE_URL", bench.server.uri().as_str()),
        ("CONSOLE_TELEMETRY_TOKEN", "tok-a"),
        ("CONSOLE_TENANT_ID", "tenant-a"),
    ]);
    let mut entry = sample("a", &bench.server.uri());
    entry.tenant = Some("tenant-a".to_owned());
    enqueue(bench.path(), &entry, WAIT).unwrap();
    assert_eq!(bench.flush_with(&env), [1, 1, 0, 0, 0]);
    assert_eq!(bench.flush_with(&env), [1, 1, 0, 0, 0]);
    let requests = bench.requests();
    let [request] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    assert_eq!((request.method.as_str(), request.url.path()), ("POST", "/records"));
    assert_eq!(request.body, entry.body.get().as_bytes());
    let header = |name: &str| request.headers.get(name).and_then(|value| value.to_str().ok());
    assert_eq!(header("authorization"), Some("Bearer tok-a"));
    assert_eq!(header("x-console-tenant-id"), Some("tenant-a"));
    assert_eq!(header("content-type"), Some("application/json"));
    assert!(header("user-agent").unwrap().starts_with("tally/"));
}

#[test]
fn a_retry_repeats_the_bytes() {
    let tries = AtomicUsize::new(0);
    let bench = Bench::new(move |_: &Request| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => ResponseTemplate::new(503),
        1 => ResponseTemplate::new(200).set_body_string("<html>portal</html>"),
        _ => accepted(),
    });
    bench.queue(&["a"]);
    assert_eq!(bench.flush(), [1, 1, 0, 0, 0]);
    let bodies: Vec<_> = bench.requests().into_iter().map(|request| request.body).collect();
    let expected = sample("a", "").body.get().as_bytes().to_vec();
    assert_eq!(bodies, vec![expected; 3]);
}

#[test]
fn a_refused_token_is_tried_once_until_it_changes() {
    let bench = Bench::new(|request: &Request| {
        let token = request.headers.get("authorization").and_then(|value| value.to_str().ok());
        if token == Some("Bearer tok-b") { accepted() } else { ResponseTemplate::new(401) }
    });
    bench.queue(&["a", "b", "c"]);
    assert_eq!(bench.flush(), [3, 0, 0, 0, 3]);
    bench.queue(&["d"]);
    assert_eq!(bench.flush(), [4, 0, 0, 0, 4]);
    assert_eq!(bench.requests().len(), 1);
    let text = serde_json::to_string(&status(bench.path()).unwrap()).unwrap();
    assert!(text.contains("HTTP 401") && !text.contains("tok-a"), "{text}");
    assert_eq!(bench.flush_with(&bench.env("tok-b")), [4, 4, 0, 0, 0]);
    assert!(status(bench.path()).unwrap().origins[0].waiting.is_empty());
}

#[cfg(unix)]
#[test]
fn a_conf_that_changes_its_token_resumes_the_relay() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new(|request: &Request| {
        let token = request.headers.get("authorization").and_then(|value| value.to_str().ok());
        if token == Some("Bearer tok-new") { accepted() } else { ResponseTemplate::new(401) }
    });
    let conf = bench.path().join("telemetry-console.conf");
    let write = |token: &str| {
        let text = format!("console_telemetry_url={}\nconsole_telemetry_token={token}\n", bench.server.uri());
        std::fs::write(&conf, text).unwrap();
        std::fs::set_permissions(&conf, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("tok-old");
    let entry = Entry { source: format!("conf:{}", conf.display()), ..sample("a", &bench.server.uri()) };
    enqueue(bench.path(), &entry, WAIT).unwrap();
    let leaked = bench.env("tok-new");
    assert_eq!(bench.flush_with(&leaked), [1, 0, 0, 0, 1], "the environment's token is not the conf's");
    write("tok-new");
    std::fs::set_permissions(&conf, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(bench.flush_with(&leaked), [1, 0, 0, 0, 1], "an untrusted conf is no credential");
    assert_eq!(bench.requests().len(), 1);
    write("tok-new");
    assert_eq!(bench.flush_with(&leaked), [1, 1, 0, 0, 0]);
}

#[test]
fn another_tenants_token_is_never_used() {
    let bench = Bench::new(accepted());
    let env = Env::from_pairs([
        ("CONSOLE_URL", bench.server.uri().as_str()),
        ("CONSOLE_TELEMETRY_TOKEN", "tok-b"),
        ("CONSOLE_TENANT_ID", "tenant-b"),
    ]);
    for tenant in ["tenant-a", "tenant-b"] {
        let mut entry = sample(tenant, &bench.server.uri());
        entry.tenant = Some(tenant.to_owned());
        enqueue(bench.path(), &entry, WAIT).unwrap();
    }
    assert_eq!(bench.flush_with(&env), [2, 1, 0, 0, 1]);
    let sent: Vec<_> = bench.requests().iter().map(id_of).collect();
    assert_eq!(sent, ["tenant-b"]);
    let waiting = &status(bench.path()).unwrap().origins[0].waiting;
    assert_eq!(waiting[0].tenant.as_deref(), Some("tenant-a"));
}

#[test]
fn a_redirect_is_never_followed() {
    let elsewhere = Bench::new(accepted());
    let target = elsewhere.server.uri();
    for status in [301, 302, 303, 307, 308] {
        let location = format!("{target}/records");
        let bench = Bench::new(ResponseTemplate::new(status).insert_header("location", location.as_str()));
        bench.queue(&["a"]);
        let budget = Budget { linger: false, ..quick() };
        run(bench.path(), &bench.env("tok-a"), budget, None).unwrap();
        assert_eq!(counters(bench.path()), [1, 0, 0, 0, 1]);
    }
    assert!(elsewhere.requests().is_empty());
}

#[test]
fn a_collision_and_a_bad_request_are_rejected_and_kept() {
    let bench = Bench::new(|request: &Request| match id_of(request).as_str() {
        "a" => ResponseTemplate::new(202)
            .set_body_string(r#"{"outcome":"accepted","status":"record_id_collision_ignored"}"#),
        "b" => ResponseTemplate::new(400).set_body_string(r#"{"error":"INVALID_RECORD"}"#),
        _ => accepted(),
    });
    bench.queue(&["a", "b", "c"]);
    assert_eq!(bench.flush(), [3, 1, 2, 0, 0]);
    assert_eq!(bench.requests().len(), 3);
    let kept = Guard::acquire(bench.path(), WAIT).unwrap().rejected().unwrap();
    let whys: Vec<_> = kept.iter().map(|record| (record.status, record.reason.as_str())).collect();
    assert!(whys.contains(&(Some(400), "HTTP 400 INVALID_RECORD: refused")), "{whys:?}");
    let entry: Entry = serde_json::from_str(kept[1].entry.as_ref().unwrap().get()).unwrap();
    assert!(entry.body.get().contains("1.10"), "to the byte");
}

#[test]
fn a_poison_record_is_given_up_and_others_pass() {
    let bench = Bench::new(|request: &Request| match id_of(request).as_str() {
        "poison" => ResponseTemplate::new(500),
        _ => accepted(),
    });
    bench.queue(&["poison", "a", "b", "c", "d"]);
    assert_eq!(bench.flush(), [5, 4, 1, 0, 0]);
    assert_eq!(count_ids(&bench.requests(), "poison"), 8);
}

#[test]
fn an_origin_that_fails_for_all_rejects_none() {
    let bench = Bench::new(ResponseTemplate::new(500));
    bench.queue(&["a", "b"]);
    let budget = Budget { linger: false, ..quick() };
    for _ in 0..24 {
        run(bench.path(), &bench.env("tok-a"), budget, None).unwrap();
    }
    assert_eq!(counters(bench.path()), [2, 0, 0, 0, 2]);
    let requests = bench.requests();
    assert!(count_ids(&requests, "a") > 8 && count_ids(&requests, "b") > 8, "{} requests", requests.len());
}

#[test]
fn what_an_origin_asks_for_is_honoured_even_by_a_flush() {
    let bench = Bench::new(ResponseTemplate::new(503).insert_header("retry-after", "600"));
    bench.queue(&["a", "b"]);
    for _ in 0..2 {
        assert_eq!(bench.flush(), [2, 0, 0, 0, 2]);
    }
    assert_eq!(bench.requests().len(), 1);
    assert!(status(bench.path()).unwrap().next_attempt.unwrap().at.is_some());
}

#[test]
fn no_answer_is_retried_later() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        // Reads the first bytes, then hangs up.
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 16]).unwrap();
    });
    let dir = tempfile::tempdir().unwrap();
    enqueue(dir.path(), &sample("a", &origin), WAIT).unwrap();
    let env = Env::from_pairs([("CONSOLE_URL", origin.as_str())]);
    run(dir.path(), &env, Budget { linger: false, ..Budget::detached() }, None).unwrap();
    server.join().unwrap();
    assert_eq!(counters(dir.path()), [1, 0, 0, 0, 1]);
    let origin = status(dir.path()).unwrap().origins.remove(0);
    assert_eq!(origin.failures, 1);
    assert!(origin.reason.unwrap().starts_with("connection failed"));
}

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
    let again: Vec<_> = ["a", "b", "c"].map(|id| count_ids(&requests, id)).to_vec();
    assert_eq!(again, [2, 2, 2]);
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
    let env = Env::from_pairs(names.map(|(name, _)| (name, "1")));
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
        serde_json::from_str(include_str!("../../schemas/relay-status.schema.json")).unwrap();
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
