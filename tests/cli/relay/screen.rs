//! `tally relay status` on one screen.

use super::{TOKEN, conf, status};
use crate::env::TestEnv;
use std::time::Duration;
use tally::relay::outbox::{self, Entry};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, ResponseTemplate};

#[test]
fn a_refused_credential_is_named_by_its_source_and_fingerprint_and_all_fits_a_screen() {
    let mut env = TestEnv::new();
    env.set("COLUMNS", "80");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let refusal = ResponseTemplate::new(401).set_body_string(r#"{"error":"UNAUTHORIZED"}"#);
        Mock::given(any()).respond_with(refusal).mount(&server).await;
        server
    });
    conf(&env, &format!("console_telemetry_url={}\nconsole_telemetry_token={TOKEN}\n", server.uri()));
    let source = format!("conf:{}", env.project().join(".kontourai/telemetry-console.conf").display());
    for n in 0..10 {
        // One origin that refuses the token, and nine that the conf does not name.
        let origin = if n == 0 { server.uri() } else { format!("https://console-{n}.example.com") };
        let entry = Entry {
            id: format!("run-{n}"),
            kind: "economics".to_owned(),
            origin,
            path: "/records".to_owned(),
            tenant: None,
            source: source.clone(),
            enqueued_at: 1_782_900_000_000,
            journal_end: 0,
            put_back: false,
            body: Entry::body("{}").unwrap(),
        };
        outbox::enqueue(&env.data_dir(), &entry, Duration::from_secs(5)).unwrap();
    }
    let output = env.run(&["relay", "flush", "--timeout", "20"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let status = status(&env);
    let origin = status["origins"].as_array().unwrap().iter().find(|origin| origin["origin"] == server.uri());
    let fingerprint = origin.unwrap()["waiting"][0]["fingerprint"].as_str().unwrap();
    let text = String::from_utf8(env.run(&["relay", "status"]).stdout).unwrap();
    let height: usize = text.lines().map(|line| line.chars().count().div_ceil(80).max(1)).sum();
    assert!(height < 24, "{height} lines:\n{text}");
    for part in [
        "pending 10",
        "oldest: economics run-0 since 2026-07-01T10:00:00.000Z",
        "next attempt: ",
        "waits: HTTP 401 UNAUTHORIZED: the token is refused (tenant (none)",
        &format!("credential: {source}, token #{fingerprint}"),
        "no worker is running",
        "… and 8 others",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains(TOKEN) && !text.contains('\u{1b}'), "{text}");
}
