//! The worker against real servers on loopback.

mod cut;
mod faults;
mod life;
mod model;
mod outcomes;
mod pace;
mod rejected;
mod supersede;

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::outbox::{Entry, enqueue, sample};
use super::worker::run;
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
        // A busy machine must not turn an answer into none.
        let patient = [
            ("CONSOLE_TELEMETRY_CONNECT_TIMEOUT_SECONDS", "30"),
            ("CONSOLE_TELEMETRY_MAX_TIME_SECONDS", "60"),
        ];
        let console = [("CONSOLE_URL", url.as_str()), ("CONSOLE_TELEMETRY_TOKEN", token)];
        Env::from_pairs(console.into_iter().chain(patient))
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
