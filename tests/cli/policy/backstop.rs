//! What the Stop gate runs by itself, and what it does not: checks of claims that no record bears out.

use super::session::{Session, TASK, Want, attempt};
use Want::{Free, Refused, Soft};
use serde_json::{Value, json};

/// Criteria that name a command for the claimed check.
fn acceptance(command: &str) -> Value {
    json!({"schema_version": "1.0", "task_slug": "t", "criteria": [{"id": "check0", "description": "it works",
        "status": "pass", "evidence_refs": [{"kind": "command", "excerpt": command}]}]})
}

/// Files of a project whose criteria, committed, name `command`.
fn project(command: &str) -> Value {
    json!({ format!("{TASK}/acceptance.json"): acceptance(command), "package.json": {"scripts": {}} })
}

fn claims(session: &Session) {
    session.ran("ls", 0);
    session.claims(&["verify it"]);
}

#[test]
fn a_check_that_is_as_committed_decides() {
    let unbelieved = Soft("is not that of check0");
    for (command, want) in [
        ("test -f package.json", Free),
        ("test -f no-such-file", Refused("fails with exit code 1")),
        ("sh -c 'exit 7'", Refused("fails with exit code 7")),
        ("grep -rn nothing package.json", Refused("NOT_VERIFIED (ambiguous)")),
        ("test -f no-such-file || true", Refused("exit-code-laundered")),
        ("test -f package.json | cat", unbelieved),
        ("ls; echo ok", unbelieved),
        ("echo ok", unbelieved),
        ("/no/such/program", Soft("cannot be run here")),
        ("sh -c 'kill -9 $$'", Soft("cannot be run here")),
        ("It should work. Then all is well", Soft("malformed-evidence")),
        // What reads finds nothing to read, what floods is not kept, what is left behind is not waited for.
        ("sh -c 'cat > got' && test ! -s got", Free),
        ("test -f package.json && head -c 30000000 /dev/zero", Free),
        ("bash -c 'sleep 5 & exit 0'", unbelieved),
        ("node_modules/.bin/forks", Free),
    ] {
        let mut files = project(command);
        files["node_modules/.bin/forks"] = json!("#!/bin/sh\nsleep 5 &\nexit 0\n");
        attempt(command, want, &files, &|session| {
            claims(session);
            executable(session, "node_modules/.bin/forks");
        });
    }
}

#[cfg(unix)]
fn executable(session: &Session, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(session.file(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_check_that_hangs_is_ended_with_what_it_started_and_blocks_no_one_for_good() {
    for hook in [false, true] {
        let command = "sh -c 'sleep 600 & echo $! > left; sleep 600'";
        let mut session = Session::of(hook, "in_progress", &project(command));
        session.stage.set("FLOW_AGENTS_GOAL_FIT_BACKSTOP_TIMEOUT_MS", "400");
        claims(&session);
        let stopped = session.stop();
        assert!(stopped.refused && stopped.said.contains("takes too long"), "{stopped:?}");
        // Ended is also what only waits for somebody to take note of it; the signal may still be on its way.
        let left = format!("/proc/{}/stat", session.stage.read("left").trim());
        let goes_on = || std::fs::read_to_string(&left).is_ok_and(|state| !state.contains(") Z "));
        let mut looks = 0;
        while goes_on() && looks < 200 {
            std::thread::sleep(std::time::Duration::from_millis(50));
            looks += 1;
        }
        assert!(!goes_on(), "what the check started goes on");
    }
}

#[test]
fn a_file_that_names_a_command_is_followed_only_as_it_was_written() {
    let not_checked = Soft("neither as it was committed nor as the session's own tools left it");
    let change = |session: &Session| {
        claims(session);
        session
            .put(&format!("{TASK}/acceptance.json"), acceptance("true && touch ran").to_string().as_bytes());
    };
    let committed = project("test -f package.json");
    let writer = "npm run workflow:sidecar -- record-acceptance";
    let try_it = |name: &str, want: Want, act: &dyn Fn(&Session)| {
        attempt(name, want, &committed, &|session| {
            act(session);
            assert!(!session.file("ran").exists());
        });
    };
    try_it("changed by another", not_checked, &change);
    try_it("changed, and any command since", not_checked, &|session| {
        change(session);
        session.ran("ls && echo workflow-sidecar", 0);
    });
    try_it("changed after the writer", not_checked, &|session| {
        session.ran(writer, 0);
        change(session);
    });
    try_it("changed before a writer that failed", not_checked, &|session| {
        change(session);
        session.ran(writer, 1);
    });
    try_it("by a script of the writer's name", not_checked, &|session| {
        change(session);
        session.put("tmp/workflow-sidecar.js", b"");
        session.ran("node tmp/workflow-sidecar.js", 0);
    });
    try_it("by a writer that was changed", not_checked, &|session| {
        change(session);
        session.put("package.json", br#"{"scripts":{"workflow:sidecar":"cp evil acceptance.json"}}"#);
        session.ran(writer, 0);
    });
    try_it("with a receipt of other bytes", not_checked, &|session| {
        change(session);
        session.put(&format!("{TASK}/acceptance.receipt"), format!("{} -\n", "0".repeat(64)).as_bytes());
    });
    attempt("by the writer", Free, &committed, &|session| {
        change(session);
        session.ran(writer, 0);
    });
    attempt("removed, as if it had never been", Soft("malformed-evidence"), &committed, &|session| {
        claims(session);
        std::fs::remove_file(session.file(&format!("{TASK}/acceptance.json"))).unwrap();
    });
    attempt("staged and not committed", not_checked, &committed, &|session| {
        change(session);
        assert!(session.stage.git(&["add", "--force", "--all"]).status.success());
    });
    #[cfg(unix)]
    attempt(
        "a link to a committed file",
        Refused("acceptance.json is there and cannot be read"),
        &committed,
        &|session| {
            claims(session);
            let file = session.file(&format!("{TASK}/acceptance.json"));
            std::fs::rename(&file, session.file("good.json")).unwrap();
            std::os::unix::fs::symlink(session.file("good.json"), file).unwrap();
        },
    );
}

/// A project with scripts; `npm` runs the one that is asked for, as npm does.
fn with_scripts(script: &str) -> Value {
    json!({"package.json": {"scripts": {"test": script}}})
}

#[test]
fn a_script_of_the_project_is_its_check_if_it_is_committed_and_checks_anything() {
    let unit = |session: &Session| {
        session.put(
            "../bin/npm",
            b"#!/bin/sh\nexec sh -c \"$(sed 's/.*\"test\":\"//;s/\"}.*//' package.json)\"\n",
        );
        executable(session, "../bin/npm");
        session.ran("ls", 0);
        session.claims(&["npm test"]);
    };
    attempt("it passes", Free, &with_scripts("test -f package.json"), &unit);
    attempt("it fails", Refused("fails with exit code 1"), &with_scripts("test -f no-such-file"), &unit);
    let passing = |session: &Session| {
        session
            .put("package.json", with_scripts("test -f package.json")["package.json"].to_string().as_bytes())
    };
    attempt(
        "changed to pass",
        Soft("its command stands in package.json"),
        &with_scripts("test -f x"),
        &|session| {
            unit(session);
            passing(session);
        },
    );
    // A commit is what a review sees. What it commits must still be a check.
    attempt("changed to pass, and committed", Free, &with_scripts("test -f x"), &|session| {
        unit(session);
        passing(session);
        session.stage.commit();
    });
    for (script, want) in [
        ("true", Soft("is not that of check0")),
        ("echo ok", Soft("is not that of check0")),
        ("exit 0", Soft("is not that of check0")),
        ("jest | cat", Soft("is not that of check0")),
        ("jest || true", Refused("exit-code-laundered")),
    ] {
        attempt(script, want, &with_scripts(script), &unit);
    }
}
