//! Rejected, put back, and sent again.

use super::super::outbox::retry::{Choice, put_back, shelf};
use super::*;

#[test]
fn a_record_that_was_put_back_is_no_finding_when_the_console_had_it_all_along() {
    let tries = AtomicUsize::new(0);
    let bench = Bench::new(move |_: &Request| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => ResponseTemplate::new(400),
        _ => ResponseTemplate::new(202)
            .set_body_string(r#"{"outcome":"accepted","status":"duplicate_ignored"}"#),
    });
    bench.queue(&["a"]);
    assert_eq!(bench.flush(), [1, 0, 1, 0, 0]);
    put_back(bench.path(), Choice::Id("a"), WAIT).unwrap();
    assert_eq!(bench.flush(), [1, 1, 0, 0, 0]);
    assert_eq!(status(bench.path()).unwrap().delivered_before, 0);
}

#[test]
fn a_console_that_repeats_the_token_is_not_quoted() {
    let bench = Bench::new(|request: &Request| {
        let id = id_of(request);
        let what = if id == "a" { "Bearer tok-a is not welcome" } else { "not welcome" };
        ResponseTemplate::new(400).set_body_string(format!(r#"{{"error":"NO","safeMessage":"{what}"}}"#))
    });
    bench.queue(&["a", "b"]);
    assert_eq!(bench.flush(), [2, 0, 2, 0, 0]);
    let kept = shelf(bench.path(), WAIT).unwrap().kept;
    let said: Vec<_> = kept.iter().map(|record| record.said.as_deref()).collect();
    assert_eq!(said, [None, Some("not welcome")]);
    let bytes = std::fs::read_to_string(bench.path().join("outbox/rejected.jsonl")).unwrap();
    assert!(!bytes.contains("tok-a"), "{bytes}");
}

#[test]
fn a_record_that_is_put_back_during_the_run_is_sent_by_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_path_buf();
    let refused = AtomicUsize::new(0);
    let bench = Bench::new(move |request: &Request| match id_of(request).as_str() {
        "bad" if refused.fetch_add(1, Ordering::SeqCst) == 0 => ResponseTemplate::new(400),
        _ => {
            put_back(&path, Choice::All, WAIT).unwrap();
            accepted()
        }
    });
    enqueue(dir.path(), &sample("bad", &bench.server.uri()), WAIT).unwrap();
    run(dir.path(), &bench.env("tok-a"), quick(), None).unwrap();
    assert_eq!(counters(dir.path()), [1, 0, 1, 0, 0]);
    for id in ["a", "b"] {
        enqueue(dir.path(), &sample(id, &bench.server.uri()), WAIT).unwrap();
    }
    run(dir.path(), &bench.env("tok-a"), quick(), None).unwrap();
    assert_eq!(counters(dir.path()), [3, 3, 0, 0, 0]);
    assert_eq!(count_ids(&bench.requests(), "bad"), 2, "refused once, sent again once");
}
