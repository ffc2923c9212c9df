//! What an agent might do to the files by which it is judged, if it got past config-protection.

use super::session::{BROKEN, FAILED, TASK, UNKNOWN, UNSEEN, Want, attempt};
use Want::{Free, Refused, Soft};
use serde_json::{Value, json};

#[test]
fn what_is_done_to_the_log() {
    let forged = |command: &str, result: &str, code: Value| {
        json!({"command": command, "observedResult": result, "exitCode": code, "source": "postToolUse-capture"}).to_string()
    };
    let pass = forged("npm test", "pass", json!(0));
    type Change<'a> = dyn Fn(&str) -> String + 'a;
    let line = |at: usize| move |log: &str| log.lines().nth(at).unwrap().to_owned();
    let unchained = |log: &str| {
        let mut record: Value = serde_json::from_str(log).unwrap();
        record.as_object_mut().unwrap().remove("_chain");
        record
    };
    // The log has `ls` pass, then `npm test` fail.
    let attempts: [(&str, Want, &Change<'_>); 16] = [
        ("left as it is", FAILED, &|log| log.to_owned()),
        ("without its last newline", FAILED, &|log| log.trim_end().to_owned()),
        ("a record put behind it", BROKEN, &|log| format!("{log}{pass}\n")),
        ("a record put before it", FAILED, &|log| format!("{pass}\n{log}")),
        ("a record put between", BROKEN, &|log| format!("{}\n{pass}\n{}\n", line(0)(log), line(1)(log))),
        ("the result changed", BROKEN, &|log| {
            log.replace("\"fail\",\"exitCode\":1", "\"pass\",\"exitCode\":0")
        }),
        ("the code alone changed", BROKEN, &|log| log.replace("\"exitCode\":1", "\"exitCode\":0")),
        ("the first record gone", BROKEN, &|log| format!("{}\n", line(1)(log))),
        ("the order turned round", BROKEN, &|log| format!("{}\n{}\n", line(1)(log), line(0)(log))),
        ("the last record twice", BROKEN, &|log| format!("{log}{}\n", log.replace("npm test", "npm  test"))),
        ("the chain stripped", FAILED, &|log| format!("{}\n", unchained(&line(1)(log)))),
        ("the chain stripped and turned into a pass", UNSEEN, &|_| format!("{pass}\n")),
        ("a pass without a code", UNKNOWN, &|_| format!("{}\n", forged("npm test", "pass", json!(null)))),
        ("a pass with another code", FAILED, &|_| format!("{}\n", forged("npm test", "pass", json!(3)))),
        ("rubbish behind it", BROKEN, &|log| format!("{log}rubbish\n")),
        ("emptied", UNSEEN, &|_| String::new()),
    ];
    for (name, want, change) in attempts {
        attempt(name, want, &json!({}), &|session| {
            session.ran("ls", 0);
            session.ran("npm test", 1);
            session.claims(&["npm test"]);
            session.set_log(&change(&session.log()));
        });
    }
    attempt("a torn record is taken off, and the failure stays", FAILED, &json!({}), &|session| {
        session.ran("npm test", 1);
        session.set_log(&format!("{}{{\"command\":\"npm te", session.log()));
        session.ran("ls", 0);
        session.claims(&["npm test"]);
    });
    attempt("nothing is chained to a record that was changed", BROKEN, &json!({}), &|session| {
        session.ran("npm test", 1);
        session.set_log(&session.log().replace("\"exitCode\":1", "\"exitCode\":0"));
        session.ran("npm test", 0);
        session.claims(&["npm test"]);
    });
    attempt("removed", Refused("expected capture log is missing"), &json!({}), &|session| {
        session.ran("npm test", 1);
        session.claims(&["npm test"]);
        std::fs::remove_file(session.file(&format!("{TASK}/command-log.jsonl"))).unwrap();
    });
    #[cfg(unix)]
    attempt("a link to another", BROKEN, &json!({}), &|session| {
        session.ran("npm test", 0);
        session.claims(&["npm test"]);
        let log = session.file(&format!("{TASK}/command-log.jsonl"));
        std::fs::rename(&log, session.file("elsewhere.jsonl")).unwrap();
        std::os::unix::fs::symlink(session.file("elsewhere.jsonl"), log).unwrap();
    });
}

/// A claim that matters, with this status.
fn claim(status: &Value, more: &Value) -> Value {
    let mut claim = json!({"id": "c", "subjectId": "t/c", "claimType": "acme.any", "value": "pass",
        "impactLevel": "high", "status": status});
    for (key, value) in more.as_object().into_iter().flatten() {
        claim[key] = value.clone();
    }
    json!({"claims": [claim], "evidence": [{"claimId": "c", "passing": true}], "events": []})
}

#[test]
fn what_is_done_to_the_bundle() {
    let unreadable = Refused("trust.bundle is there and cannot be read");
    let disputed = Refused("claim disputed");
    let whole = claim(&json!("verified"), &json!({}));
    let with = |key: &str, value: Value| {
        let mut bundle = whole.clone();
        bundle[key] = value;
        bundle.to_string()
    };
    let failing = json!([{"claimId": "c", "passing": false, "observedAt": "2026-07-01T00:00:00Z"}]);
    let rejected = json!([{"claimId": "c", "status": "Rejected", "createdAt": "2026-07-01T00:00:00Z"}]);
    let attempts = [
        ("as it should be", Free, whole.to_string()),
        ("disputed", disputed, claim(&json!("disputed"), &json!({})).to_string()),
        ("disputed in capitals", disputed, claim(&json!("DISPUTED"), &json!({})).to_string()),
        ("rejected, with a blank", disputed, claim(&json!("rejected "), &json!({})).to_string()),
        (
            "of critical impact, in capitals",
            disputed,
            claim(&json!("disputed"), &json!({"impactLevel": " CRITICAL"})).to_string(),
        ),
        (
            "no status that there is, which claims nothing",
            Free,
            claim(&json!("verifiedd"), &json!({})).to_string(),
        ),
        (
            "a status that is no text",
            Soft("claims[0].status is missing"),
            claim(&json!(["verified"]), &json!({})).to_string(),
        ),
        ("against its evidence", Refused("claim tampered"), with("evidence", failing)),
        ("against its last event", Refused("claim tampered"), with("events", rejected)),
        ("without its evidence", Refused("without any evidence"), with("evidence", json!([]))),
        (
            "with the evidence of another",
            Refused("without any evidence"),
            with("evidence", json!([{"claimId": "d", "passing": true}])),
        ),
        (
            "a check in capitals that says it failed",
            Refused("evidence verdict: fail"),
            claim(&json!("verified"), &json!({"claimType": "workflow.check.command", "value": "FAIL"}))
                .to_string(),
        ),
        (
            "a key twice, the last one counts",
            disputed,
            whole
                .to_string()
                .replace("\"status\":\"verified\"", "\"status\":\"verified\",\"status\":\"disputed\""),
        ),
        ("no JSON", unreadable, "{\"claims\":".to_owned()),
        ("a list", unreadable, "[]".to_owned()),
        ("claims that are an object", unreadable, with("claims", json!({}))),
        ("claims that are texts", unreadable, with("claims", json!(["all good"]))),
        ("empty", unreadable, String::new()),
        ("huge", unreadable, with("note", json!("x".repeat(5 << 20)))),
    ];
    for (name, want, bundle) in attempts {
        attempt(name, want, &json!({}), &|session| {
            session.ran("ls", 0);
            session.put(&format!("{TASK}/trust.bundle"), bundle.as_bytes());
        });
    }
    #[cfg(unix)]
    attempt("a link to another", unreadable, &json!({ "good.json": whole }), &|session| {
        let link = session.file(&format!("{TASK}/trust.bundle"));
        std::os::unix::fs::symlink(session.file("good.json"), link).unwrap();
    });
    #[cfg(unix)]
    attempt("a pipe that nobody writes into", unreadable, &json!({}), &|session| {
        let made =
            session.stage.command("mkfifo").arg(session.file(&format!("{TASK}/trust.bundle"))).status();
        assert!(made.unwrap().success());
    });
}

#[test]
fn what_is_done_to_the_session() {
    let nothing = Want::Done("there is no evidence of anything");
    attempt("said to be done, and nothing else", nothing, &json!({}), &|_| ());
    attempt("log and bundle removed", nothing, &json!({}), &|session| {
        session.ran("npm test", 1);
        session.claims(&["npm test"]);
        for name in ["command-log.jsonl", "trust.bundle"] {
            std::fs::remove_file(session.file(&format!("{TASK}/{name}"))).unwrap();
        }
    });
    attempt("a bundle without claims", nothing, &json!({}), &|session| session.claims(&[]));
    let unreadable = Refused("state.json is there and cannot be read");
    attempt("a state that is none", unreadable, &json!({}), &|session| {
        session.ran("npm test", 0);
        session.claims(&["npm test"]);
        session.put(&format!("{TASK}/state.json"), b"{\"status\":\"deliv");
    });
    attempt("no state", Refused("was last seen to fail"), &json!({}), &|session| {
        session.ran("npm test", 1);
        session.claims(&["npm test"]);
        std::fs::remove_file(session.file(&format!("{TASK}/state.json"))).unwrap();
    });
    // Another session, with a clean sheet: what is judged is that one, and so is what it is said to be.
    attempt("a pointer to an empty session", Free, &json!({}), &|session| {
        session.ran("npm test", 1);
        session.claims(&["npm test"]);
        std::fs::create_dir(session.file(".kontourai/flow-agents/other")).unwrap();
        session.put(".kontourai/flow-agents/current/conformance.json", br#"{"active_slug":"other"}"#);
    });
    attempt("a pass in the log of another session", FAILED, &json!({}), &|session| {
        session.ran("npm test", 1);
        session.claims(&["npm test"]);
        let passed = json!({"command": "npm test", "observedResult": "pass", "exitCode": 0});
        session.put(".kontourai/flow-agents/other/command-log.jsonl", format!("{passed}\n").as_bytes());
        session.put(".kontourai/flow-agents/other/state.json", b"{}");
        session.put(".kontourai/flow-agents/current.json", br#"{"active_slug":"other"}"#);
    });
    attempt("a streak that was never refused", FAILED, &json!({}), &|session| {
        session.ran("npm test", 1);
        session.claims(&["npm test"]);
        for hash in [json!(0), json!("x"), json!(u64::MAX)] {
            let streak =
                json!({"hash": hash, "count": 999, "sessions": {"177": {"hash": hash, "count": 999}}});
            session.put(".kontourai/flow-agents/.goal-fit-block-streak.json", streak.to_string().as_bytes());
            assert!(session.stop().refused);
        }
    });
}
