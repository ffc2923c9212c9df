//! `tally conformance`: the kit, against this engine and against adapters.

use crate::env::{TestEnv, fixture};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::Output;

fn env() -> TestEnv {
    let mut env = TestEnv::new();
    env.set("PATH", "/usr/bin:/bin");
    env
}

fn json_of(output: &Output) -> Value {
    held("conformance.schema.json", serde_json::from_slice(&output.stdout).unwrap())
}

/// A value, held to its schema.
fn held(schema: &str, value: Value) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(schema);
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mistakes = jsonschema::validator_for(&schema).unwrap();
    let mistakes: Vec<String> = mistakes.iter_errors(&value).map(|mistake| mistake.to_string()).collect();
    assert!(mistakes.is_empty(), "{mistakes:?}: {value:#}");
    value
}

/// A released set of fixtures, each in its file.
fn unpacked(set: &str, folder: &Path) {
    let text = std::fs::read_to_string(fixture(&format!("policy/fixtures/{set}.json"))).unwrap();
    let all: Map<String, Value> = serde_json::from_str(&text).unwrap();
    std::fs::create_dir_all(folder).unwrap();
    for (name, fixture) in all {
        std::fs::write(folder.join(format!("{name}.json")), fixture.to_string()).unwrap();
    }
}

/// Holds a run to L2 with all its fixtures.
fn assert_l2(output: &Output, count: usize) {
    let answer = json_of(output);
    let failing: Vec<&str> = answer["fixtures"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|fixture| fixture["pass"] == false)
        .map(|fixture| fixture["name"].as_str().unwrap())
        .collect();
    assert!(failing.is_empty(), "{failing:?}: {answer:#}");
    assert_eq!(answer["fixtures"].as_array().unwrap().len(), count);
    assert_eq!(answer["highest"], "L2");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn this_engine_satisfies_the_shipped_fixtures() {
    assert_l2(&env().run(&["conformance", "--self", "--json"]), 24);
}

#[test]
fn this_engine_and_our_adapter_satisfy_every_released_set() {
    let env = env();
    let adapter = format!("{} conformance adapter", env!("CARGO_BIN_EXE_tally"));
    for (set, count) in [("3.4.1", 24), ("3.4.1-pathfix", 24), ("6.0.0", 23)] {
        let folder = env.project().join(set);
        unpacked(set, &folder);
        let folder = folder.to_str().unwrap();
        assert_l2(&env.run(&["conformance", "--self", "--json", "--fixtures", folder]), count);
        let args =
            ["conformance", "--json", "--level", "L2", "--fixtures", folder, "--adapter-cmd", &adapter];
        assert_l2(&env.run(&args), count);
    }
}

#[test]
fn an_adapter_that_does_nothing_reaches_no_level_that_means_something() {
    let env = env();
    for command in ["true", "cat"] {
        for level in [&[][..], &["--level", "L0"], &["--level", "L1"]] {
            let output = env.run(&[&["conformance", "--adapter-cmd", command, "--json"], level].concat());
            let answer = json_of(&output);
            assert_eq!(
                (output.status.code(), &answer["reached"]),
                (Some(1), &json!(false)),
                "{command} {level:?}"
            );
            assert_eq!((&answer["highest"], &answer["levels"][0]["tested"]), (&Value::Null, &json!(false)));
        }
    }
    let answer = json_of(&env.run(&["conformance", "--adapter-cmd", "cat", "--json"]));
    let capture = answer["fixtures"]
        .as_array()
        .unwrap()
        .iter()
        .find(|fixture| fixture["name"] == "evidence-capture--allow-records-command")
        .unwrap();
    assert_eq!(capture["pass"], false, "it records nothing");
}

#[test]
fn what_cannot_be_tested_is_a_mistake_and_not_a_result() {
    let env = env();
    let folder = env.project().join("fixtures");
    std::fs::create_dir(&folder).unwrap();
    let run = |args: &[&str]| {
        let output = env.run(&[&["conformance"], args].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&["--self", "--fixtures", "fixtures"]);
    assert!(code == Some(2) && said.contains("no fixture"), "{said}");
    let (code, said) = run(&["--self", "--fixtures", "gone"]);
    assert!(code == Some(2) && said.contains("gone"), "{said}");
    std::fs::write(folder.join("odd.json"), "{").unwrap();
    let (code, said) = run(&["--self", "--fixtures", "fixtures"]);
    assert!(code == Some(2) && said.contains("fixture odd: not a JSON object"), "{said}");
    for args in [&[][..], &["--self", "--level", "L9"], &["--self", "--quick"], &["--adapter-cmd", " "]] {
        assert_eq!(run(args).0, Some(2), "{args:?}");
    }
}

#[test]
fn the_output_for_people_says_what_failed_and_how_far_it_goes() {
    let env = env();
    let folder = env.project().join("fixtures");
    let said = env.run(&["conformance", "export", "fixtures"]);
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), format!("24 fixtures in {}", folder.display()));
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 24);
    for file in files {
        held(
            "conformance-fixture.schema.json",
            serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap(),
        );
    }
    let args = ["conformance", "--adapter-cmd", "kill -9 $$", "--fixtures", "fixtures", "--verbose"];
    let output = env.run(&args);
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "24 fixtures, fixtures",
        "  FAIL  [L2] quality-gate--allow-no-path",
        "        - it was ended by signal 9",
        "exit code none",
        "  ----  L0  (0/0 required fixtures pass: no fixture shows it)",
        "  FAIL  L2  (0/24 required fixtures pass)",
        "0 of 24 fixtures pass; highest level: none",
        "FAIL: adapter: kill -9 $$ does not satisfy L0",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_declaration_of_gaps_is_written_from_the_profile_and_the_run() {
    let mut env = env();
    env.set("TALLY_CLOCK_MS", "1782864000000");
    let output = env.run(&["conformance", "declare", "--host", "opencode"]);
    let text = String::from_utf8_lossy(&output.stdout);
    for line in
        ["host: opencode", "engine_contract_version: \"1.0\"", "test_date: 2026-07-01", "fixture_count: 24"]
    {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
    assert_eq!(env.run(&["conformance", "declare", "--host", "emacs"]).status.code(), Some(2));
}

/// The blocks of a declaration: keys with a value, and under a key without one its own keys or a list of such.
fn blocks(yaml: &str) -> Map<String, Value> {
    fn pair(line: &str) -> (String, Value) {
        let (key, value) = line.split_once(':').unwrap_or_else(|| panic!("{line:?} is no key"));
        assert!(key.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()), "{line:?}");
        let value = value.strip_prefix(' ').unwrap_or(value);
        // What is not quoted must mean itself: nothing that YAML takes for a sign.
        let plain = |text: &str| {
            text.chars().all(|c| c.is_ascii_alphanumeric() || " -_.()".contains(c)) && text.trim() == text
        };
        if value.starts_with('"') {
            return (
                key.to_owned(),
                serde_json::from_str(value).unwrap_or_else(|error| panic!("{line:?}: {error}")),
            );
        }
        assert!(value == "[]" || plain(value), "{line:?}");
        (key.to_owned(), value.into())
    }
    let mut all = Map::new();
    let mut open = String::new();
    for line in yaml.lines().filter(|line| !line.starts_with('#')) {
        assert!(!line.contains('\t') && line.trim_end() == line && !line.is_empty(), "{line:?}");
        if let Some(first) = line.strip_prefix("  - ") {
            let (key, value) = pair(first);
            let list = all.get_mut(&open).unwrap();
            if *list == "" {
                *list = json!([]);
            }
            list.as_array_mut().unwrap().push(json!({ key: value }));
        } else if let Some(more) = line.strip_prefix("    ") {
            let (key, value) = pair(more);
            let item = all.get_mut(&open).unwrap().as_array_mut().unwrap().last_mut().unwrap();
            assert!(item.as_object_mut().unwrap().insert(key, value).is_none(), "{line:?}");
        } else if let Some(below) = line.strip_prefix("  ") {
            let (key, value) = pair(below);
            let object = all.get_mut(&open).unwrap();
            if *object == "" {
                *object = json!({});
            }
            assert!(object.as_object_mut().unwrap().insert(key, value).is_none(), "{line:?}");
        } else {
            let (key, value) = pair(line);
            assert!(all.insert(key.clone(), value).is_none(), "{line:?}");
            open = key;
        }
    }
    all
}

#[test]
fn every_hosts_declaration_is_yaml_and_says_what_the_run_said() {
    let env = env();
    let run = json_of(&env.run(&["conformance", "--self", "--json"]));
    let listed = String::from_utf8(env.run(&["hosts", "list"]).stdout).unwrap();
    let listed: Vec<Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (hosts, apart): (Vec<&Value>, Vec<&Value>) =
        listed.iter().partition(|host| host["shape"] == "manifest");
    for host in apart {
        let output = env.run(&["conformance", "declare", "--host", host["id"].as_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("runs inside a program"), "{host}");
    }
    assert!(hosts.len() >= 5, "{hosts:?}");
    for host in hosts {
        let host = host["id"].as_str().unwrap();
        let output = env.run(&["conformance", "declare", "--host", host]);
        let said = blocks(std::str::from_utf8(&output.stdout).unwrap());
        assert_eq!(said["host"], host);
        assert_eq!(said["fixtures_passed"], run["passed"].to_string());
        assert_eq!(said["fixture_count"], run["fixtures"].as_array().unwrap().len().to_string());
        assert_eq!((&said["verdict"], &said["engine_contract_version"]), (&json!("PASS"), &json!("1.0")));
        assert_eq!(said["policy_coverage"].as_object().unwrap().len(), 5, "{host}");
        assert_eq!(said["event_coverage"].as_object().unwrap().len(), 6, "{host}");
        let whole = said["gaps"] == "[]";
        assert_eq!(said["conformance_level"] == "L2", whole, "{host}: {said:?}");
        for gap in said["gaps"].as_array().into_iter().flatten() {
            let keys: Vec<&String> = gap.as_object().unwrap().keys().collect();
            assert!(
                keys.len() == 4 && gap["reason"].is_string() && gap["degradation"].is_string(),
                "{host}: {gap}"
            );
        }
    }
}

#[test]
fn our_adapter_refuses_what_is_cut_off_before_a_tool_runs_and_not_after() {
    let env = env();
    let run = |event: &str| {
        let filler = "x".repeat(1 << 20);
        let payload =
            json!({"hook_event_name": event, "tool_name": "Read", "tool_response": {"stdout": filler}});
        env.feed(&["conformance", "adapter"], payload.to_string().as_bytes()).status.code()
    };
    assert_eq!(run("PostToolUse"), Some(0));
    assert_eq!(run("PreToolUse"), Some(2));
}
