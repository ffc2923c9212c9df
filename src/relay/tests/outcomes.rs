//! What the Console answers, and what becomes of the record (fault checklist 21 to 23 and 25 to 27).

use super::super::backoff::PROBE_MS;
use super::super::classify::MAX_RETRY_AFTER_MS;
use super::*;

/// One try for whatever is due, as the worker of a hook would make it.
fn once(bench: &Bench) -> [u64; 5] {
    run(bench.path(), &bench.env("tok-a"), Budget { linger: false, ..Budget::detached() }, None).unwrap();
    counters(bench.path())
}

#[test]
fn case_21_one_poison_record_among_100_is_rejected_and_99_are_delivered() {
    // The checklist bisects a batch. We post one record per request, so a 400 names its record at once.
    let bench = Bench::new(|request: &Request| match id_of(request).as_str() {
        "r57" => ResponseTemplate::new(400).set_body_string(r#"{"error":"INVALID_RECORD"}"#),
        _ => accepted(),
    });
    let ids: Vec<String> = (0..100).map(|n| format!("r{n}")).collect();
    bench.queue(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(bench.flush(), [100, 99, 1, 0, 0]);
    assert_eq!(bench.requests().len(), 100);
    assert_eq!(bench.flush(), [100, 99, 1, 0, 0], "the next run sends nothing old");
    assert_eq!(bench.requests().len(), 100);
}

#[test]
fn case_22_a_record_too_large_for_the_console_is_rejected_and_smaller_ones_pass() {
    // The checklist halves batches and remembers the limit that it learned. One record cannot be halved, and one request
    // tells all there is to know about it: there is no limit to remember.
    const LIMIT: usize = 64 * 1024;
    let bench = Bench::new(
        |request: &Request| {
            if request.body.len() > LIMIT { ResponseTemplate::new(413) } else { accepted() }
        },
    );
    for (id, size) in [("small", 10), ("large", LIMIT), ("small too", 100)] {
        let mut entry = sample(id, &bench.server.uri());
        let text = format!(r#"{{"run_id":"{id}","text":"{}"}}"#, "x".repeat(size));
        entry.body = Entry::body(&text).unwrap();
        enqueue(bench.path(), &entry, WAIT).unwrap();
    }
    assert_eq!(bench.flush(), [3, 2, 1, 0, 0]);
    assert_eq!(bench.requests().len(), 3);
    let kept = Guard::acquire(bench.path(), WAIT).unwrap().rejected().unwrap();
    assert_eq!(kept[0].status, Some(413));
    assert!(kept[0].entry.as_ref().unwrap().get().len() > LIMIT, "kept whole");
}

#[test]
fn case_23_a_deadline_that_the_origin_sets_holds_for_the_next_worker_and_is_clamped() {
    let in_ten_minutes = jiff::Timestamp::from_millisecond(clock::now_ms() + 600_000).unwrap();
    let in_ten_minutes =
        jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&in_ten_minutes);
    for (header, honoured) in [
        ("600", true),
        (in_ten_minutes.unwrap().as_str(), true),
        ("1000000000", true),
        ("Sun, 06 Nov 1994 08:49:37 GMT", false),
        ("-1", false),
        ("soon", false),
    ] {
        for status in [429, 503] {
            let answer = ResponseTemplate::new(status).insert_header("retry-after", header);
            let bench = Bench::new(answer);
            bench.queue(&["a", "b"]);
            let from = clock::now_ms();
            for _ in 0..2 {
                // Each run reads the books anew, as after a restart. A flush forgets back-off, but not what was asked for.
                let budget = Budget { linger: false, ..quick() };
                run(bench.path(), &bench.env("tok-a"), budget, None).unwrap();
            }
            assert_eq!(counters(bench.path()), [2, 0, 0, 0, 2]);
            let requests = bench.requests().len();
            assert_eq!(requests == 1, honoured, "{status} {header}: {requests} requests");
            let state = Guard::acquire(bench.path(), WAIT).unwrap().look(from).unwrap().state;
            let next = state.origins[&bench.server.uri()].health.next;
            assert_eq!(next.asked, honoured, "{status} {header}");
            assert!(next.at_ms <= clock::now_ms() + MAX_RETRY_AFTER_MS, "{status} {header}");
        }
    }
}

#[test]
fn case_25_a_refused_token_costs_one_request_until_its_probe_is_due() {
    // The other way out, another token, is in `a_refused_token_is_tried_once_until_it_changes`.
    let forbidden = ResponseTemplate::new(403).set_body_string(r#"{"error":"TENANT_FORBIDDEN"}"#);
    for refusal in [ResponseTemplate::new(401), forbidden] {
        let bench = Bench::new(refusal);
        bench.queue(&["a", "b", "c"]);
        for _ in 0..5 {
            assert_eq!(bench.flush(), [3, 0, 0, 0, 3], "the records are kept");
        }
        assert_eq!(bench.requests().len(), 1);
        probe_is_due(&bench);
        for _ in 0..5 {
            assert_eq!(bench.flush(), [3, 0, 0, 0, 3]);
        }
        assert_eq!(bench.requests().len(), 2, "one probe, and the token is left alone again");
    }
}

/// Lets the time until the next probe pass.
fn probe_is_due(bench: &Bench) {
    let path = bench.path().join("outbox/state.json");
    let mut state: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let hold = &mut state["origins"][bench.server.uri()]["holds"][0];
    let probe_at_ms = hold["probe_at_ms"].as_i64().unwrap();
    hold["probe_at_ms"] = (probe_at_ms - PROBE_MS).into();
    std::fs::write(&path, state.to_string()).unwrap();
}

#[test]
fn case_26_a_redirect_to_a_page_is_no_delivery_even_at_home() {
    // To another origin: `a_redirect_is_never_followed`, where the other server sees no request at all.
    let bench = Bench::new(|request: &Request| match request.url.path() {
        "/records" => ResponseTemplate::new(302).insert_header("location", "/welcome"),
        _ => ResponseTemplate::new(200).set_body_string("<html>Welcome</html>"),
    });
    bench.queue(&["a"]);
    assert_eq!(once(&bench), [1, 0, 0, 0, 1]);
    let paths: Vec<_> = bench.requests().iter().map(|request| request.url.path().to_owned()).collect();
    assert_eq!(paths, ["/records"]);
}

#[test]
fn case_26_a_redirected_price_list_is_not_fetched_from_elsewhere() {
    let elsewhere = Bench::new(ResponseTemplate::new(200).set_body_string("{}"));
    let bench = Bench::new(ResponseTemplate::new(307).insert_header("location", elsewhere.server.uri()));
    let endpoint = crate::settings::endpoint::Endpoint::parse(&bench.server.uri()).unwrap();
    let mut got = None;
    let mut errand = |fetch: &worker::Fetch<'_>| got = fetch.get(&endpoint, 99, WAIT).ok();
    run(bench.path(), &Env::default(), Budget::detached(), Some(&mut errand)).unwrap();
    assert_eq!((got, bench.requests().len()), (None, 1));
    assert!(elsewhere.requests().is_empty());
}

/// `{"outcome":"accepted"}`, compressed.
const COMPRESSED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xabV\xca/-I\xce\xcfMU\xb2RJLNN-(IMQ\xaa\x05\x00x^\x00\xa4\x16\x00\x00\x00";

#[test]
fn case_27_a_success_that_is_not_the_consoles_is_no_delivery() {
    let page = |status, body: &str| ResponseTemplate::new(status).set_body_string(body);
    let large = format!(r#"{{"outcome":"accepted","text":"{}"}}"#, "x".repeat(64 * 1024));
    let padded = format!(r#"{{"outcome":"accepted"}}{}<html>"#, " ".repeat(64 * 1024));
    let answers = [
        ("a captive portal", page(200, "<html>Sign in</html>"), false),
        ("no content", ResponseTemplate::new(204), true),
        // A Console takes one record per request from us, so a list of items that failed is not its answer to one.
        ("a partial success", page(207, r#"{"error":{"items":[3,5,8]}}"#), false),
        ("an array", page(207, "[3,5,8]"), false),
        ("a body beyond what is read", page(200, &large), false),
        ("an acceptance that goes on beyond what is read", page(200, &padded), false),
        ("blanks beyond what is read", page(200, &" ".repeat(64 * 1024 + 1)), false),
        (
            "a compressed acceptance",
            ResponseTemplate::new(202).insert_header("content-encoding", "gzip").set_body_bytes(COMPRESSED),
            false,
        ),
    ];
    for (what, answer, delivered) in answers {
        let bench = Bench::new(answer);
        bench.queue(&["a"]);
        let expected = if delivered { [1, 1, 0, 0, 0] } else { [1, 0, 0, 0, 1] };
        assert_eq!(once(&bench), expected, "{what}");
        let requests = bench.requests();
        assert_eq!(requests.len(), 1, "{what}");
        // Nothing is ever decompressed, so a bomb weighs what comes over the wire; and nobody is invited to send one.
        assert!(!requests[0].headers.contains_key("accept-encoding"));
    }
}
