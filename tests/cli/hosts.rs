//! What hosts can do, asked from any language: lines in, lines out.

use crate::env::{TestEnv, fixture};
use crate::setup::{init, tree};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;

#[expect(clippy::disallowed_methods, reason = "where a test finds its rows is no setting of the product")]
fn rows(file: &str) -> Vec<Value> {
    let dir = std::env::var_os("TALLY_VECTOR_DIR").map_or_else(|| fixture("conduit"), PathBuf::from);
    let dir = if dir.join("conduit").is_dir() { dir.join("conduit") } else { dir };
    let text = std::fs::read_to_string(dir.join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn out(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The answers to lines, which are as many.
fn ask(args: &[&str], lines: &[String]) -> Vec<Value> {
    let input = lines.join("\n");
    let answers = out(TestEnv::new().feed(args, input.as_bytes()));
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), lines.len());
    answers
}

fn schema(text: &str) -> jsonschema::Validator {
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

/// Holds an answer to a part of the schema of answers.
fn holds(part: &str, answer: &Value) {
    let mut whole: Value =
        serde_json::from_str(include_str!("../../schemas/hosts-output.schema.json")).unwrap();
    whole.as_object_mut().unwrap().remove("oneOf");
    whole["$ref"] = format!("#/$defs/{part}").into();
    let validator = jsonschema::validator_for(&whole).unwrap();
    assert!(validator.is_valid(answer), "{part}: {answer}");
}

#[test]
fn capabilities_of_any_kind_are_normalized_line_by_line() {
    let rows = rows("normalize.jsonl");
    let lines: Vec<String> = rows.iter().map(|row| row["caps"].to_string()).collect();
    for (row, answer) in rows.iter().zip(ask(&["hosts", "normalize"], &lines)) {
        match row.get("normalized") {
            Some(expected) => assert_eq!(&answer, expected, "{}", row["id"]),
            None => holds("error", &answer),
        }
        if row["typed"] == true {
            holds("normalized", &answer);
        }
    }
}

#[test]
fn outcomes_are_projected_line_by_line() {
    let mut rows_of_profiles = rows("project-profiles.jsonl");
    for row in &mut rows_of_profiles {
        row["host"] = row["profile"].take();
    }
    for rows in [rows_of_profiles, rows("project-random.jsonl")] {
        let line = |row: &Value| {
            let mut line = json!({ "event": row["event"], "outcome": row["outcome"] });
            let (key, value) =
                if row.get("caps").is_some() { ("capabilities", "caps") } else { ("host", "host") };
            line[key] = row[value].clone();
            line.to_string()
        };
        let lines: Vec<String> = rows.iter().map(line).collect();
        // What a line says of its host goes before what the command line says.
        for (row, answer) in rows.iter().zip(ask(&["hosts", "project", "--host", "strands"], &lines)) {
            assert_eq!(&answer["outcome"], row.get("page").unwrap_or(&row["expect"]), "{row}");
            let rules = answer["rules"].as_array().unwrap().iter().map(Value::to_string).collect::<Vec<_>>();
            let expected = row["rule"].as_str().unwrap().replace('0', "");
            assert_eq!(rules.join("+"), expected, "{row}");
            holds("projection", &answer);
        }
    }
}

#[test]
fn each_line_that_cannot_be_answered_gets_an_error_in_its_place() {
    let good = r#"{"event":{"phase":"stop"},"outcome":{"decision":"deny","modelContext":"x"}}"#;
    let lines: Vec<String> = [
        good,
        "",
        "[",
        "7",
        r#"{"event":{"phase":"stop"}}"#,
        r#"{"event":{"phase":"teardown"},"outcome":{"decision":"deny"}}"#,
        r#"{"event":{"phase":"stop"},"outcome":{"decision":"ask"}}"#,
        r#"{"event":{"phase":"stop"},"outcome":{"decision":"deny","reason":7}}"#,
        r#"{"host":"emacs","event":{"phase":"stop"},"outcome":{"decision":"deny"}}"#,
        r#"{"capabilities":{},"event":{"phase":"stop"},"outcome":{"decision":"deny"}}"#,
        good,
    ]
    .map(str::to_owned)
    .into();
    let answers = ask(&["hosts", "project", "--host", "codex"], &lines);
    let expected =
        json!({"outcome": {"decision": "observe", "reason": "host cannot block"}, "rules": [2, 3]});
    let (last, wrong) = answers[1..].split_last().unwrap();
    assert_eq!((&answers[0], last), (&expected, &expected));
    for (answer, named) in wrong.iter().zip([
        "JSON",
        "JSON",
        "event",
        "outcome",
        "teardown",
        "ask",
        "reason",
        "emacs",
        "lifecycle",
    ]) {
        holds("error", answer);
        assert!(answer["error"].as_str().unwrap().contains(named), "{named}: {answer}");
    }
    assert!(ask(&["hosts", "project"], &lines[..1])[0]["error"].as_str().unwrap().contains("--host"));
    let bytes = TestEnv::new().feed(&["hosts", "normalize"], b"\xff\xfe\n{}");
    assert_eq!(out(bytes).lines().count(), 2);
}

#[test]
fn every_host_is_listed_and_shown() {
    let env = TestEnv::new();
    let listed = out(env.run(&["hosts", "list"]));
    let listed: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let profiles: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(fixture("conduit/profiles.json")).unwrap()).unwrap();
    assert_eq!(listed.len(), profiles.len());
    for answer in &listed {
        holds("listed", answer);
        let id = answer["id"].as_str().unwrap();
        let shown: Value = serde_json::from_str(&out(env.run(&["hosts", "show", id, "--json"]))).unwrap();
        holds("shown", &shown);
        let expected = profiles.iter().find(|profile| profile["id"] == id).unwrap();
        for key in ["id", "shape", "capabilities", "normalized"] {
            assert_eq!(shown[key], expected[key], "{id}");
        }
        let table = out(env.run(&["hosts", "show", id]));
        let stop = table.lines().find(|line| line.starts_with("stop")).unwrap();
        let words = |at: usize| stop.split_whitespace().nth(at).unwrap();
        assert_eq!(words(1), expected["normalized"]["lifecycle"]["stop"]);
        assert_eq!(words(2), expected["normalized"]["influence"]["stop"]["decision"]);
        assert_eq!(words(3), expected["normalized"]["influence"]["stop"]["contextInjection"]);
        let agent = table.lines().find_map(|line| line.strip_prefix("agent")).unwrap();
        assert_eq!(agent.trim(), expected["normalized"]["install"]["agent"]);
    }
    let unknown = env.run(&["hosts", "show", "emacs"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8(unknown.stderr).unwrap().contains("known: claude-code, codex"));
}

/// A generated file of the repository, which the command in it writes again.
fn committed(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_committed_evidence_is_what_the_adapters_give_on_any_locale() {
    let mut env = TestEnv::new();
    for locale in ["C", "da_DK.UTF-8", "cs_CZ.UTF-8"] {
        env.set("LC_ALL", locale);
        let report = out(env.run(&["hosts", "report"]));
        let why = "is stale: cargo run -- hosts report > conformance/host-conformance.json";
        assert_eq!(
            report,
            committed("conformance/host-conformance.json"),
            "conformance/host-conformance.json {why}"
        );
        let matrix = out(env.run(&["hosts", "report", "--matrix"]));
        let why = "is stale: cargo run -- hosts report --matrix > docs/host-conformance.md";
        assert_eq!(matrix, committed("docs/host-conformance.md"), "docs/host-conformance.md {why}");
    }
    let report: Value = serde_json::from_str(&committed("conformance/host-conformance.json")).unwrap();
    assert!(schema(include_str!("../../schemas/host-conformance.schema.json")).is_valid(&report));
    for entry in report["adapters"].as_array().unwrap() {
        assert_eq!(
            (&entry["evidenceScope"], &entry["hostId"]),
            (&json!("adapter-contract"), &json!("unbound"))
        );
        let results = entry["results"].as_array().unwrap();
        assert_eq!(results.len(), 23);
        assert!(results.iter().all(|result| result["status"] == "pass"), "{}", entry["adapterId"]);
    }
}

#[test]
fn hosts_of_a_report_are_chosen_by_name_in_any_order_and_once() {
    let env = TestEnv::new();
    let one = out(env.run(&["hosts", "report", "--host", "pi", "--host", "codex", "--host", "pi"]));
    let other = out(env.run(&["hosts", "report", "--host", "codex", "--host", "pi"]));
    assert_eq!(one, other);
    let report: Value = serde_json::from_str(&one).unwrap();
    let ids: Vec<&Value> =
        report["adapters"].as_array().unwrap().iter().map(|entry| &entry["adapterId"]).collect();
    assert_eq!(ids, ["codex", "pi"]);
}

#[test]
fn host_bound_evidence_is_earned() {
    let mut env = TestEnv::new();
    let scratch = env.home().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    env.set("TMPDIR", scratch.to_str().unwrap());
    let bound = |host: &[&str], id: &str, version: &str| {
        let args = ["hosts", "report", "--scope", "host-bound", "--host-id", id, "--host-version", version];
        env.run(&[&args, host].concat())
    };
    // With nothing installed there is nothing to be evidence of, and the way to it is said.
    let refused = bound(&["--host", "kiro"], "kiro-cli", "2.13.0");
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{refused:?}");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("no host-bound evidence of kiro") && said.contains("tally init --yes"), "{said}");
    init(&env, &["--host", "kiro"], 0);

    let before = (tree(&env.project()), tree(&env.home()));
    let report: Value = serde_json::from_str(&out(bound(&["--host", "kiro"], "kiro-cli", "2.13.0"))).unwrap();
    assert_eq!(
        (tree(&env.project()), tree(&env.home())),
        before,
        "evidence is made without an edit of a host"
    );
    let entry = &report["adapters"][0];
    assert_eq!((&entry["evidenceScope"], &entry["hostVersion"]), (&json!("host-bound"), &json!("2.13.0")));
    assert!(entry["results"].as_array().unwrap().iter().all(|result| result["status"] == "pass"));
    assert!(entry["limitations"].to_string().contains("not given to the host"), "{entry:#}");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "nothing is left behind");

    for (host, id, version, code, named) in [
        (&["--host", "kiro"][..], "unbound", "2.13.0", 1, "unbound"),
        (&["--host", "kiro"], "kiro-cli", "Unbound", 1, "Unbound"),
        (&["--host", "kiro"], "kiro-cli", " ", 1, "real host"),
        (&["--host", "strands"], "strands", "1.0", 1, "strands"),
        (&[], "kiro-cli", "2.13.0", 2, "--host"),
        (&["--host", "kiro", "--host", "pi"], "kiro-cli", "2.13.0", 2, "--host"),
        (&["--host", "pi"], "pi", "0.80.6", 1, "installed nothing"),
    ] {
        let refused = bound(host, id, version);
        assert_eq!(refused.status.code(), Some(code), "{refused:?}");
        assert!(
            refused.stdout.is_empty() && String::from_utf8_lossy(&refused.stderr).contains(named),
            "{refused:?}"
        );
    }
    for args in
        [&["--scope", "host-bound", "--host", "kiro"][..], &["--host-id", "kiro-cli"], &["--scope", "both"]]
    {
        assert_eq!(env.run(&[&["hosts", "report"], args].concat()).status.code(), Some(2), "{args:?}");
    }

    // Bindings that cannot write cost the probes that need them, and the report says so.
    env.set("TMPDIR", "/dev/null");
    let args = [
        "hosts",
        "report",
        "--scope",
        "host-bound",
        "--host-id",
        "k",
        "--host-version",
        "1",
        "--host",
        "kiro",
    ];
    let report: Value = serde_json::from_str(&out(env.run(&args))).unwrap();
    let results = report["adapters"][0]["results"].as_array().unwrap();
    let failed: Vec<&Value> = results.iter().filter(|r| r["status"] == "fail").map(|r| &r["check"]).collect();
    assert_eq!(failed, ["install-fidelity", "secret-free-install-receipt"]);
    assert!(schema(include_str!("../../schemas/host-conformance.schema.json")).is_valid(&report));
    assert!(!report.to_string().contains("/dev/null"));
}

#[test]
fn host_bound_evidence_ends_where_what_is_installed_is_not_what_was_installed() {
    let env = TestEnv::new();
    let bound = || {
        let args = ["hosts", "report", "--scope", "host-bound", "--host-id", "claude-code-cli"];
        env.run(&[&args[..], &["--host-version", "2.1.0", "--host", "claude-code"]].concat())
    };
    // What is installed for all projects holds in each.
    init(&env, &["--global", "--host", "claude-code"], 0);
    assert_eq!(bound().status.code(), Some(0));
    // What is installed here holds here.
    init(&env, &["--host", "claude-code"], 0);
    let settings = env.project().join(".claude/settings.json");
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text.replacen("15", "1", 1)).unwrap();
    let refused = bound();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{refused:?}");
    let said = String::from_utf8(refused.stderr).unwrap();
    let file = settings.to_str().unwrap();
    assert!(said.contains("changed since it was installed") && said.contains(file), "{said}");
    init(&env, &["--host", "claude-code"], 0);
    assert_eq!(bound().status.code(), Some(0), "what the message says to do helps");
}

#[test]
fn a_report_is_read_version_first_and_printed_in_its_normal_form() {
    let env = TestEnv::new();
    let file = env.home().join("report.json");
    let parse = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        env.run(&["hosts", "parse", file.to_str().unwrap()])
    };
    let report = committed("conformance/host-conformance.json");
    let minified = serde_json::from_str::<Value>(&report).unwrap().to_string();
    assert_eq!(out(parse(minified.as_bytes())), report);
    for (bytes, named) in [
        (
            &br#"{"schemaVersion":"1","adapters":"nonsense"}"#[..],
            "Unsupported Conduit conformance schema version: 1",
        ),
        (br#"{"adapters":[]}"#, "Unsupported Conduit conformance schema version: undefined"),
        (br#"{"schemaVersion":"2","adapters":[],"at":"now"}"#, "at is not a key"),
        (br#"{"schemaVersion":"2""#, "not JSON"),
        (b"\xff", "utf-8"),
    ] {
        let refused = parse(bytes);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let err = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.stdout.is_empty() && err.contains(named) && err.contains("report.json"), "{err}");
    }
    assert_eq!(env.run(&["hosts", "parse", "/nowhere.json"]).status.code(), Some(1));
}
