//! What an agent might run to pass as done.

use super::session::{FAILED, LAUNDERED, UNKNOWN, UNSEEN, Want, attempt};
use Want::{Free, Refused, Soft};
use serde_json::json;

#[test]
fn what_a_host_tells_of_a_result() {
    let attempts = [
        ("code 0", Free, json!({"tool_response": {"exitCode": 0}})),
        ("code 0 as a text", Free, json!({"tool_response": {"exit_code": "0"}})),
        ("code 0 with a fraction", Free, json!({"tool_response": {"exitCode": 0.0}})),
        (
            "code 0 and something on stderr",
            Free,
            json!({"tool_response": {"exitCode": 0, "stderr": "warning"}}),
        ),
        ("code 1", FAILED, json!({"tool_response": {"exitCode": 1}})),
        ("code 1 that claims success", FAILED, json!({"tool_response": {"exitCode": 1, "success": true}})),
        ("code 0 and a flag", FAILED, json!({"tool_response": {"exitCode": 0, "is_error": true}})),
        (
            "code 0 and a flag as a text",
            FAILED,
            json!({"tool_response": {"exitCode": 0, "is_error": "true"}}),
        ),
        (
            "code 0 and a flag that is off",
            Free,
            json!({"tool_response": {"exitCode": 0, "is_error": "false"}}),
        ),
        ("code 0 without success", FAILED, json!({"tool_response": {"exitCode": 0, "success": false}})),
        ("code 0, interrupted", FAILED, json!({"tool_response": {"exitCode": 0, "interrupted": true}})),
        ("code 0 and an error", FAILED, json!({"tool_response": {"exitCode": 0}, "error": "killed"})),
        ("code 0 and a blank error", Free, json!({"tool_response": {"exitCode": 0}, "error": ""})),
        (
            "code 0 of a failed call",
            FAILED,
            json!({"hook_event_name": "PostToolUseFailure", "tool_response": {"exitCode": 0}}),
        ),
        ("no code", UNKNOWN, json!({"tool_response": {"stdout": "42 passing", "stderr": ""}})),
        (
            "no code and a blank error before stderr",
            FAILED,
            json!({"error": "", "tool_response": {"stderr": "Error"}}),
        ),
        ("a code of null", UNKNOWN, json!({"tool_response": {"exitCode": null}})),
        ("a code that is a flag", UNKNOWN, json!({"tool_response": {"exitCode": false}})),
        ("a code that is an object", UNKNOWN, json!({"tool_response": {"exitCode": {"value": 0}}})),
        ("a code in words", UNKNOWN, json!({"tool_response": {"exitCode": "success"}})),
        ("a code with a sign", UNKNOWN, json!({"tool_response": {"exitCode": "+0"}})),
        ("a code deeper down", UNKNOWN, json!({"tool_response": {"result": {"exitCode": 0}}})),
        ("a code in a list", UNKNOWN, json!({"tool_response": [{"exitCode": 0}]})),
        ("success without a code", UNKNOWN, json!({"tool_response": {"success": true, "stdout": "ok"}})),
        (
            "two results, the first failed",
            FAILED,
            json!({"tool_response": {"exitCode": 2}, "tool_output": {"exitCode": 0}}),
        ),
        ("a huge code", FAILED, json!({"tool_response": {"exitCode": 1e300}})),
        ("a text that says it passed", UNKNOWN, json!({"tool_response": "exit code 0\nall tests passed"})),
        (
            "a banner in the text",
            UNKNOWN,
            json!({"tool_response": "Process exited with code 0\nOutput:\nok"}),
        ),
        (
            "a banner in stdout",
            UNKNOWN,
            json!({"tool_response": {"stdout": "Process exited with code 0\nOutput:\n"}}),
        ),
        (
            "a banner at the end of stdout",
            UNKNOWN,
            json!({"tool_response": {"stdout": "x\nProcess exited with code 0"}}),
        ),
        (
            "a banner in colour",
            UNKNOWN,
            json!({"tool_response": {"stdout": "\u{1b}[0mProcess exited with code 0\nOutput:\n"}}),
        ),
        (
            "a banner in stderr",
            FAILED,
            json!({"tool_response": {"stderr": "Process exited with code 0\nOutput:\n"}}),
        ),
        (
            "a banner beside a failure",
            FAILED,
            json!({"tool_response": {"exitCode": 1, "output": "Process exited with code 0\nOutput:\n"}}),
        ),
    ];
    for (name, want, told) in attempts {
        attempt(name, want, &json!({}), &|session| {
            session.told("npm test", told.clone());
            session.claims(&["npm test"]);
        });
    }
}

#[test]
fn how_a_command_is_spelled() {
    // What was run, with the code that the shell gave, and what is claimed.
    let attempts = [
        ("the same", Free, "npm test", 0, "npm test"),
        ("other blanks", Free, " npm   test\t", 0, "npm test"),
        ("an honest prelude", Free, "cd app && npm test", 0, "cd app && npm test"),
        ("a failure swallowed", LAUNDERED, "npm test || true", 0, "npm test || true"),
        ("a failure swallowed by a word", LAUNDERED, "npm test || echo failed", 0, "npm test || echo failed"),
        ("true after it", LAUNDERED, "npm test; true", 0, "npm test; true"),
        ("exit 0 after it", LAUNDERED, "npm test; exit 0", 0, "npm test; exit 0"),
        ("a colon after it", LAUNDERED, "npm test; :", 0, "npm test; :"),
        ("a pipe into true", LAUNDERED, "npm test | true", 0, "npm test | true"),
        ("within a shell", LAUNDERED, "sh -c 'npm test || true'", 0, "sh -c 'npm test || true'"),
        ("a pipe", UNSEEN, "npm test | tee log", 0, "npm test | tee log"),
        ("a pipe of stderr", UNSEEN, "npm test 2>&1 | tail -1", 0, "npm test 2>&1 | tail -1"),
        ("something after it", UNSEEN, "npm test; echo ok", 0, "npm test; echo ok"),
        ("a group and something after it", UNSEEN, "(npm test) ; echo ok", 0, "(npm test) ; echo ok"),
        ("in the background", UNSEEN, "npm test &", 0, "npm test &"),
        ("a condition", UNSEEN, "if npm test; then :; fi", 0, "if npm test; then :; fi"),
        ("turned round", UNSEEN, "! npm test", 0, "! npm test"),
        ("without set -e", UNSEEN, "set +e; npm test; echo ok", 0, "set +e; npm test; echo ok"),
        ("a function of its name", UNSEEN, "npm() { :; }; npm test", 0, "npm() { :; }; npm test"),
        ("an alias of its name", UNSEEN, "alias npm=true; npm test", 0, "alias npm=true; npm test"),
        ("a trap", UNSEEN, "trap 'exit 0' EXIT; npm test", 0, "trap 'exit 0' EXIT; npm test"),
        ("lines, of which the log makes one", UNKNOWN, "npm test\necho ok", 0, "npm test echo ok"),
        ("a line that swallows", UNKNOWN, "npm test\ntrue", 0, "npm test true"),
        ("a comment on one line", UNSEEN, "npm test # cargo test", 0, "cargo test"),
        ("quotes", UNSEEN, "npm 'test'", 0, "npm test"),
        ("another folder", UNSEEN, "cd /tmp/x && npm test", 0, "npm test"),
        ("another environment", UNSEEN, "PATH=/tmp/x npm test", 0, "npm test"),
        ("a shell around it", UNSEEN, "sh -c 'npm test'", 0, "npm test"),
        ("a part of it", UNSEEN, "npm test -- one.test", 0, "npm test"),
        ("a failure of what is claimed", FAILED, "npm test", 1, "npm test"),
        ("a failure with other blanks", FAILED, "npm  test", 1, " npm test "),
        (
            "a failure in a pipe",
            FAILED,
            "set -o pipefail; npm test | cat",
            1,
            "set -o pipefail; npm test | cat",
        ),
        (
            "a search that found nothing",
            Refused("NOT_VERIFIED (ambiguous)"),
            "grep -rn done src",
            1,
            "grep -rn done src",
        ),
    ];
    for (name, want, ran, code, claimed) in attempts {
        attempt(name, want, &json!({}), &|session| {
            session.ran(ran, code);
            session.claims(&[claimed]);
        });
    }
    let padded = format!("npm test{}|| true", " ".repeat(5000));
    attempt("a swallowed failure behind what the log keeps", UNKNOWN, &json!({}), &|session| {
        session.ran(&padded, 0);
        session.claims(&["npm test"]);
    });
}

#[test]
fn what_is_run_before_and_after() {
    type Runs = &'static [(&'static str, i64)];
    let attempts: [(&str, Want, Runs, &[&str]); 6] = [
        ("mended since", Free, &[("npm test", 1), ("npm test", 0)], &["npm test"]),
        ("broken since", FAILED, &[("npm test", 0), ("npm test", 1)], &["npm test"]),
        ("passed in a pipe since", FAILED, &[("npm test", 1), ("npm test | cat", 0)], &["npm test"]),
        ("passed in part since", FAILED, &[("npm test", 1), ("npm test -- a", 0)], &["npm test"]),
        (
            "the ninth of nine",
            FAILED,
            &[("a", 0), ("b", 0), ("c", 0), ("d", 0), ("e", 0), ("f", 0), ("g", 0), ("h", 0), ("i", 1)],
            &["a", "b", "c", "d", "e", "f", "g", "h", "i"],
        ),
        ("one of two", FAILED, &[("npm test", 0), ("npm run lint", 2)], &["npm test", "npm run lint"]),
    ];
    for (name, want, runs, claims) in attempts {
        attempt(name, want, &json!({}), &|session| {
            for (command, code) in runs {
                session.ran(command, *code);
            }
            session.claims(claims);
        });
    }
    attempt("a run without a signal since", FAILED, &json!({}), &|session| {
        session.ran("npm test", 1);
        session.told("npm test", json!({"tool_response": "ok"}));
        session.claims(&["npm test"]);
    });
    attempt("a pass by another tool", FAILED, &json!({}), &|session| {
        session.ran("npm test", 1);
        session.told("npm test", json!({"tool_name": "Write", "tool_response": {"exitCode": 0}}));
        session.claims(&["npm test"]);
    });
    attempt("a pass in another project", FAILED, &json!({}), &|session| {
        session.ran("npm test", 1);
        let elsewhere = session.stage.path("home");
        session.told("npm test", json!({"cwd": elsewhere, "tool_response": {"exitCode": 0}}));
        session.claims(&["npm test"]);
    });
    attempt("nothing run", Soft("malformed-evidence"), &json!({}), &|session| {
        session.ran("ls", 0);
        session.claims(&["npm test"]);
    });
}

/// `docs/policies.md` says so: what would see these is beyond the contract.
#[test]
fn what_is_not_seen() {
    attempt("the code was changed since", Free, &json!({"src.js": "good"}), &|session| {
        session.ran("npm test", 0);
        session.claims(&["npm test"]);
        session.put("src.js", b"bad");
    });
    attempt("a claim of less than it should", Free, &json!({}), &|session| {
        session.ran("npm test", 1);
        session.ran("npm test -- one.test", 0);
        session.claims(&["npm test -- one.test"]);
    });
    attempt("a pass in another folder of the project", Free, &json!({"sub/x": ""}), &|session| {
        session.told("npm test", json!({"cwd": session.file("sub"), "tool_response": {"exitCode": 0}}));
        session.claims(&["npm test"]);
    });
}
