use super::*;
use crate::policy::Policy;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

fn fixture(changes: Value) -> Result<Fixture, String> {
    let mut fields = json!({
        "policy_class": "evidence-capture", "conformance_level": "L2", "hook_id": "x", "hook_script": "x.js",
        "payload": {"cwd": "__TEMP_WORKSPACE__"}, "workspace_setup": {"a/b.json": {"c": 1}},
        "expected": {"exit_code": 0},
    });
    for (key, value) in changes.as_object().unwrap() {
        fields[key] = value.clone();
    }
    Fixture::parse("it", fields.to_string().as_bytes()).map_err(|error| error.to_string())
}

#[cfg(unix)]
fn run(command: &str, changes: Value) -> Vec<String> {
    run_within(command, changes, TIMEOUT)
}

#[cfg(unix)]
fn run_within(command: &str, changes: Value, timeout: Duration) -> Vec<String> {
    let scratch = tempfile::tempdir().unwrap();
    let env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let subject = Subject::Adapter(command);
    let bench = Bench { subject, env, cwd: Path::new("/"), scratch: scratch.path(), timeout };
    let failures = bench.run(&fixture(changes).unwrap()).failures;
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "nothing is left behind");
    failures
}

#[test]
fn the_shipped_fixtures_are_those_of_3_4_1_and_one_tells_what_a_capture_leaves() {
    let released: serde_json::Map<String, Value> =
        serde_json::from_str(include_str!("../../../tests/fixtures/policy/fixtures/3.4.1.json")).unwrap();
    let mut shipped: serde_json::Map<String, Value> =
        shipped_text().into_iter().map(|(name, text)| (name, serde_json::from_str(&text).unwrap())).collect();
    let capture = shipped.get_mut("evidence-capture--allow-records-command").unwrap();
    let files = capture["expected"].as_object_mut().unwrap().remove("files").unwrap();
    assert!(files[".flow-agents/cap-task/command-log.jsonl"]["contains"].as_array().unwrap().len() == 3);
    assert_eq!(shipped, released);
    assert_eq!(super::shipped().unwrap().len(), 24);
}

#[test]
fn a_fixture_that_cannot_be_understood_is_named_with_the_reason() {
    for (changes, why) in [
        (json!({"policy_class": "manners"}), "manners"),
        (json!({"conformance_level": "L3"}), "L3"),
        (json!({"hook_id": 1}), "hook_id"),
        (json!({"payload": []}), "payload"),
        (json!({"workspace_setup": {"../x": ""}}), "../x"),
        (json!({"workspace_setup": {"/x": ""}}), "/x"),
        (json!({"workspace_setup": {"a/../../x": ""}}), "a/../../x"),
        (json!({"workspace_setup": {"a": "", "a/b": ""}}), "a twice, or as a file and as a folder"),
        (json!({"workspace_setup": {"a/b": "", "a//b": ""}}), "twice, or"),
        (json!({"expected": {"files": {"../x": null}}}), "../x"),
        (json!({"env": {"A": 1}}), "env"),
        (json!({"expected": {}}), "expects nothing"),
        (json!({"expected": {"exit_kode": 0}}), "exit_kode"),
        (json!({"expected": {"stderr_contains": "x"}}), "stderr_contains"),
        (json!({"expected": {"files": {"a": 1}}}), "files"),
    ] {
        let error = fixture(changes).unwrap_err();
        assert!(error.starts_with("fixture it: ") && error.contains(why), "{error}");
    }
    assert!(Fixture::parse("it", b"{").unwrap_err().to_string().contains("not a JSON object"));
}

#[cfg(unix)]
#[test]
fn every_expectation_is_held_against_what_came() {
    let expect = |command: &str, expected: Value| run(command, json!({ "expected": expected }));
    let none: [&str; 0] = [];
    assert_eq!(
        expect("cat", json!({"exit_code": 0, "stdout_echoes_input": true, "stderr_is_empty": true})),
        none
    );
    assert_eq!(expect("cat", json!({"exit_code": 2})), ["exit code 0, expected 2"]);
    assert_eq!(expect("echo x", json!({"stdout_echoes_input": true})), ["standard output lacks the input"]);
    assert_eq!(expect("echo x >&2", json!({"stderr_is_empty": true})), ["standard error is not empty"]);
    assert_eq!(expect("echo x", json!({"stdout_is_empty": true})), ["standard output is not empty"]);
    assert_eq!(expect("echo x >&2", json!({"stderr_contains": ["x", "y"]})), [r#"standard error lacks "y""#]);
    assert_eq!(expect("kill -9 $$", json!({"exit_code": 0})), ["it was ended by signal 9"]);
    assert_eq!(expect("no-such-program 2>/dev/null", json!({"exit_code": 0})), ["exit code 127, expected 0"]);
}

#[cfg(unix)]
#[test]
fn what_a_command_leaves_in_the_workspace_is_looked_at() {
    let cwd = r#"cd "$(sed 's/.*"cwd":"//;s/".*//')""#;
    let left = |command: &str, files: Value| {
        run(&format!("{cwd}; {command}"), json!({"expected": {"files": files}}))
    };
    let none: [&str; 0] = [];
    assert_eq!(
        left("printf x > n", json!({"n": "x", "a/b.json": {"contains": ["\"c\": 1"]}, "m": null})),
        none
    );
    assert_eq!(left("true", json!({"n": "x"})), ["n is not there"]);
    assert_eq!(left("printf y > n", json!({"n": "x"})), ["n has another text"]);
    assert_eq!(left("printf y > n", json!({"n": {"contains": ["x"]}})), [r#"n lacks "x""#]);
    assert_eq!(left("true", json!({"a/b.json": null})), ["a/b.json is there"]);
}

#[test]
fn a_level_needs_its_fixtures_to_pass_and_one_of_each_policy() {
    let run = |failing: &str, without: Option<Policy>| {
        let fixtures = shipped().unwrap().into_iter().filter(|fixture| Some(fixture.policy) != without);
        let judged: Vec<_> = fixtures
            .map(|fixture| {
                let failures = if fixture.name.starts_with(failing) { vec!["x".to_owned()] } else { vec![] };
                (fixture, Verdict { failures, ..Verdict::default() })
            })
            .collect();
        Summary::of(&judged)
    };
    let all = run("nothing", None);
    let required: Vec<_> = all.levels.iter().map(|tally| tally.required).collect();
    assert_eq!((all.highest, required.as_slice()), (Some(Level::L2), &[0, 8, 24][..]));
    assert_eq!(run("quality-gate--allow-no-path", None).highest, Some(Level::L1));
    assert_eq!(run("workflow-steering--allow", None).highest, None);
    assert_eq!(run("nothing", Some(Policy::QualityGate)).highest, Some(Level::L1));
    assert_eq!(Summary::of(&[]).highest, None);
    assert!(!all.levels[0].is_tested() && !all.levels[0].passes(), "telemetry was not shown");
}

#[test]
fn a_declaration_says_what_the_host_cannot_keep() {
    let reached = Summary { levels: vec![], highest: Some(Level::L2) };
    let of = |host| declaration(host, &reached, (24, 24), "2026-07-01").unwrap();
    let claude = of("claude-code");
    assert!(
        claude.starts_with("conformance_level: L2\nhost: claude-code\nengine_contract_version: \"1.0\"\n")
    );
    assert!(claude.contains("\ngaps: []\n"), "{claude}");
    let pi = of("pi");
    assert!(pi.starts_with("conformance_level: L1\n"), "{pi}");
    assert!(pi.contains("  - event: stop\n    policy: stop-goal-fit\n    reason: "), "{pi}");
    assert_eq!(declaration("emacs", &reached, (24, 24), "2026-07-01"), None);
}

#[cfg(unix)]
#[test]
fn a_command_that_misbehaves_fails_or_passes_by_what_it_did_and_holds_nobody_up() {
    let echo = json!({"expected": {"exit_code": 0, "stdout_echoes_input": true}});
    let none: [&str; 0] = [];
    // It ends before what it started, which goes on holding its outputs.
    assert_eq!(run("cat; sleep 5 & exit 0", echo.clone()), none);
    assert_eq!(run("exec <&-; exit 0", json!({})), none, "it reads nothing");
    let long = "x".repeat(2 << 20);
    assert_eq!(run("exec <&-; exit 0", json!({"payload": {"x": long}})), none, "and nothing of much");
    assert_eq!(
        run("cat; head -c 100000000 /dev/zero", echo.clone()),
        none,
        "of a flood the beginning is kept"
    );
    assert_eq!(run("head -c 100000000 /dev/zero >&2; cat", echo), none);
    let noise = json!({"expected": {"exit_code": 0, "stdout_contains": ["ok"], "stderr_contains": ["no"]}});
    assert_eq!(run(r"printf '\377\376ok\377'; printf '\200no' >&2", noise), none, "no UTF-8");
    assert_eq!(run("kill -SEGV $$", json!({})), ["it was ended by signal 11"]);
    let never = "trap '' TERM; while :; do sleep 60; done";
    assert_eq!(run_within(never, json!({}), Duration::from_millis(200)), ["it took longer than 200ms"]);
}

#[test]
fn a_folder_of_fixtures_is_read_whole_or_what_is_wrong_is_named() {
    let shipped = shipped_text();
    let read = |change: &dyn Fn(&Path)| {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in shipped.iter().take(2) {
            std::fs::write(dir.path().join(format!("{name}.json")), text).unwrap();
        }
        change(dir.path());
        Fixture::read_all(dir.path()).map(|all| all.len()).map_err(|error| error.to_string())
    };
    let put = |name: &str, text: &str| {
        let (name, text) = (name.to_owned(), text.to_owned());
        move |dir: &Path| std::fs::write(dir.join(&name), &text).unwrap()
    };
    assert_eq!(read(&|_| ()), Ok(2));
    assert_eq!(read(&put("README.md", "no fixture")), Ok(2));
    let named = shipped[0].1.replacen('{', "{\"name\": \"same\",", 1);
    let twice = |dir: &Path| {
        put("x.json", &named)(dir);
        put("y.json", &named)(dir);
    };
    assert_eq!(read(&twice), Err("fixture same: another fixture has this name".to_owned()));
    let huge = format!("{{\"description\":\"{}\"}}", "x".repeat(5 << 20));
    assert!(read(&put("huge.json", &huge)).unwrap_err().starts_with("fixture huge: larger than"));
    assert!(read(&put("odd.json", "[]")).unwrap_err().starts_with("fixture odd: not a JSON object"));
    let folder = |dir: &Path| std::fs::create_dir(dir.join("a.json")).unwrap();
    assert_eq!(read(&folder), Err("fixture a: not a regular file".to_owned()));
    #[cfg(unix)]
    {
        let link =
            |to: &'static str| move |dir: &Path| std::os::unix::fs::symlink(to, dir.join("l.json")).unwrap();
        assert_eq!(read(&link("gone")), Err("fixture l: a link that leads nowhere".to_owned()));
        assert_eq!(read(&link("/dev/zero")), Err("fixture l: not a regular file".to_owned()));
    }
    let dir = tempfile::tempdir().unwrap();
    put("file.json", &shipped[0].1)(dir.path());
    assert!(matches!(Fixture::read_all(&dir.path().join("file.json")), Err(FixtureError::Folder { .. })));
}
