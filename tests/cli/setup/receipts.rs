//! What the hosts' adapters say was installed: kept by `tally init`, hashed again by `tally doctor`, gone with
//! `tally uninstall`.

use super::*;
use serde_json::json;
use sha2::{Digest, Sha256};

const HOSTS: [&str; 10] =
    ["--host", "claude-code", "--host", "codex", "--host", "opencode", "--host", "pi", "--host", "kiro"];

/// The set-up's receipt of the project.
fn receipt_file(env: &TestEnv) -> PathBuf {
    let folder = env.home().join(".local/state/tally/setup");
    let mut folders = std::fs::read_dir(folder).unwrap().flatten().map(|item| item.path());
    let folder = folders.find(|path| path.file_name().unwrap() != "global").unwrap();
    folder.join("receipt.json")
}

/// The adapters' receipts in it, each held to its schema.
fn receipts(env: &TestEnv) -> Vec<Value> {
    let kept: Value = serde_json::from_str(&read(&receipt_file(env))).unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../../../schemas/install-receipt.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let receipts = kept["hosts"].as_array().unwrap().clone();
    assert!(receipts.iter().all(|receipt| schema.is_valid(receipt)), "{receipts:#?}");
    receipts
}

/// What the doctor says of drift: each message with its fix.
fn drifted(env: &TestEnv) -> Vec<(String, String)> {
    let report = json(&env.run(&["doctor", "--json"]), "doctor.schema.json");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let findings = report["findings"].as_array().unwrap();
    let findings = findings.iter().filter(|finding| finding["id"] == "hooks-drifted");
    findings
        .map(|finding| {
            assert_eq!(finding["severity"], "warning");
            (text(&finding["message"]), text(&finding["fix"]))
        })
        .collect()
}

/// Runs a command that a message says.
fn paste(env: &TestEnv, command: &str) {
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert_eq!(env.run(&words).status.code(), Some(0), "{command}");
}

#[test]
fn each_host_leaves_its_adapters_receipt_without_content_target_or_name() {
    let env = TestEnv::new();
    put(&env.project().join(".kiro/agents/secret-agent.json"), "{}");
    init(&env, &HOSTS, 0);
    let receipts = receipts(&env);
    let hosts: Vec<&Value> = receipts.iter().map(|receipt| &receipt["hostId"]).collect();
    assert_eq!(hosts, ["claude-code", "codex", "kiro", "opencode", "pi"]);
    let text = serde_json::to_string(&receipts).unwrap();
    for secret in ["secret-agent", ".claude", "settings.json", "tally.ts", env!("CARGO_BIN_EXE_tally")] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    for receipt in &receipts {
        assert_eq!((&receipt["installed"][0]["kind"], &receipt["skipped"]), (&json!("hook"), &json!([])));
    }
    let digest = |bytes: &[u8]| {
        let digest = Sha256::digest(bytes);
        json!(format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
    };
    // A file of ours is the asset; of a file of the user's it is what is ours, spelled as the smallest JSON.
    let plugin = std::fs::read(env.project().join(".opencode/plugins/tally.js")).unwrap();
    assert_eq!(receipts[3]["installed"][0]["digest"], digest(&plugin));
    let agent: Value =
        serde_json::from_str(&read(&env.project().join(".kiro/agents/secret-agent.json"))).unwrap();
    assert_eq!(receipts[2]["installed"][0]["digest"], digest(agent["hooks"].to_string().as_bytes()));
}

#[test]
fn what_is_the_users_may_change_without_any_drift() {
    let env = TestEnv::new();
    put(
        &env.project().join(".codex/config.toml"),
        "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"bell\"\n",
    );
    init(&env, &HOSTS, 0);
    assert_eq!(drifted(&env), []);
    let mut text: Value = serde_json::from_str(&read(&settings(&env))).unwrap();
    text["model"] = "opus".into();
    text["hooks"]["Stop"].as_array_mut().unwrap().insert(0, json!({"hooks": [{"command": "bell"}]}));
    text["hooks"]["Stop"][1]["hooks"].as_array_mut().unwrap().push(json!({"command": "bell"}));
    put(&settings(&env), &text.to_string());
    let config = env.project().join(".codex/config.toml");
    put(&config, &format!("model = \"o\"\n{}\n[tui]\n", read(&config)));
    assert_eq!(drifted(&env), []);
}

#[test]
fn each_edit_of_what_is_ours_is_told_by_asset_and_the_fix_mends_it() {
    type Edit = fn(&str) -> Option<String>;
    let change = |text: &str| text.replacen("15", "16", 1);
    let table: [(&str, &str, &str, Edit); 9] = [
        ("claude-code", ".claude/settings.json", "was changed since it was installed", |text| {
            Some(text.replacen("15", "16", 1))
        }),
        ("claude-code", ".claude/settings.json", "was changed since it was installed", |text| {
            Some(text.replacen("SessionStart", "SessionStop", 1))
        }),
        ("claude-code", ".claude/settings.json", "is gone", |_| Some("{}".to_owned())),
        ("claude-code", ".claude/settings.json", "is gone", |_| None),
        ("codex", ".codex/hooks.json", "is gone", |text| Some(text.replace("hook codex", "hook codecs"))),
        ("kiro", ".kiro/hooks/tally.json", "was changed since it was installed", |text| {
            Some(text.replacen("15", "16", 1))
        }),
        ("opencode", ".opencode/plugins/tally.js", "was changed since it was installed", |text| {
            Some(format!("{text}// mine"))
        }),
        ("pi", ".pi/extensions/tally.ts", "is gone", |_| None),
        ("pi", ".pi/extensions/tally.ts", "was changed since it was installed", |text| {
            Some(text.replacen("spawn", "spawned", 1))
        }),
    ];
    for (host, file, said, edit) in table {
        let env = TestEnv::new();
        init(&env, &HOSTS, 0);
        assert_eq!(drifted(&env), [], "{host}");
        let path = env.project().join(file);
        match edit(&read(&path)) {
            Some(text) => put(&path, &text),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let found = drifted(&env);
        let [(message, fix)] = found.as_slice() else { panic!("{host}: {found:?}") };
        let named = [host, "hook tally-", said, path.to_str().unwrap()];
        assert!(named.iter().all(|part| message.contains(part)), "{message}");
        paste(&env, fix);
        assert_eq!(drifted(&env), [], "{host}: {fix}");
    }
    // The tables of Codex' own format.
    let env = TestEnv::new();
    let config = env.project().join(".codex/config.toml");
    put(&config, "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"bell\"\n");
    init(&env, &["--host", "codex"], 0);
    put(&config, &change(&read(&config)));
    let found = drifted(&env);
    assert!(found[0].0.contains("codex: hook tally-hooks-config was changed"), "{found:?}");
    paste(&env, &found[0].1);
    assert_eq!(drifted(&env), []);
}

#[test]
fn a_file_that_is_no_json_any_more_is_not_called_changed() {
    let env = TestEnv::new();
    init(&env, &["--host", "claude-code"], 0);
    put(&settings(&env), "{");
    let found = drifted(&env);
    assert!(found[0].0.contains("cannot be read (invalid data)"), "{found:?}");
}

#[test]
fn the_doctor_says_of_each_file_whether_it_is_what_was_installed() {
    let env = TestEnv::new();
    let verified = || {
        let report = json(&env.run(&["doctor", "--json"]), "doctor.schema.json");
        report["hooks"][0]["verified"].clone()
    };
    // Written by hand: nobody knows.
    put(
        &settings(&env),
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "tally hook claude-code"}]}]}}"#,
    );
    assert_eq!(verified(), Value::Null);
    init(&env, &["--host", "claude-code"], 0);
    assert_eq!(verified(), true);
    put(&settings(&env), &read(&settings(&env)).replacen("15", "16", 1));
    assert_eq!(verified(), false);
    let said = String::from_utf8(env.run(&["doctor"]).stdout).unwrap();
    assert!(said.contains(", not as installed; ") && said.contains("[hooks-drifted]"), "{said}");
}

#[test]
fn a_receipt_from_before_the_adapters_is_completed_by_the_next_init() {
    let env = TestEnv::new();
    init(&env, &HOSTS, 0);
    let file = receipt_file(&env);
    let whole = read(&file);
    let mut old: Value = serde_json::from_str(&whole).unwrap();
    old.as_object_mut().unwrap().remove("hosts");
    put(&file, &old.to_string());
    assert_eq!(drifted(&env), []);
    init(&env, &HOSTS, 0);
    assert_eq!(read(&file), whole);
}

#[test]
fn entries_that_are_already_there_are_vouched_for_and_leave_no_trace() {
    let env = TestEnv::new();
    init(&env, &["--host", "claude-code"], 0);
    let by_hand = read(&settings(&env));
    assert_eq!(env.run(&["uninstall", "--yes"]).status.code(), Some(0));
    put(&settings(&env), &by_hand);
    let home = tree(&env.home());
    init(&env, &["--host", "claude-code"], 0);
    assert_eq!(receipts(&env)[0]["installed"].as_array().unwrap().len(), 1);
    let dry = env.run(&["uninstall", "--yes", "--dry-run"]);
    assert_eq!((dry.status.code(), receipts(&env).len()), (Some(0), 1));
    assert_eq!(env.run(&["uninstall", "--yes"]).status.code(), Some(0));
    assert_eq!(tree(&env.home()), home);
}

#[test]
fn a_receipt_that_cannot_be_read_is_said() {
    let env = TestEnv::new();
    init(&env, &["--host", "claude-code"], 0);
    put(&receipt_file(&env), "{");
    let report = json(&env.run(&["doctor", "--json"]), "doctor.schema.json");
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["id"] == "receipt-unreadable").unwrap();
    assert_eq!(finding["severity"], "warning");
    assert!(finding["fix"].as_str().unwrap().contains("tally/setup/"), "{finding}");
    assert_eq!(report["hooks"][0]["verified"], Value::Null);
}

#[test]
fn a_host_that_is_taken_out_leaves_no_receipt_and_one_that_cannot_be_keeps_it() {
    let env = TestEnv::new();
    init(&env, &HOSTS, 0);
    let plugin = env.project().join(".opencode/plugins/tally.js");
    put(&plugin, &format!("{}// mine\n", read(&plugin)));
    assert_eq!(env.run(&["uninstall", "--yes", "--host", "codex"]).status.code(), Some(0));
    assert_eq!((receipts(&env).len(), drifted(&env).len()), (4, 1));
    assert_eq!(env.run(&["uninstall", "--yes"]).status.code(), Some(1));
    let left = receipts(&env);
    assert_eq!((left.len(), &left[0]["hostId"]), (1, &json!("opencode")));
}

#[test]
fn one_file_that_cannot_be_written_costs_no_other_its_receipt() {
    let env = TestEnv::new();
    let agent = |name: &str| env.project().join(".kiro/agents").join(name);
    put(&agent("a.json"), "{}");
    put(&agent("b.json"), "{}");
    init(&env, &["--host", "kiro"], 0);
    let before = receipts(&env);
    assert_eq!(before[0]["installed"].as_array().unwrap().len(), 2);
    put(&agent("a.json"), "{");
    init(&env, &["--host", "kiro"], 1);
    let after = receipts(&env);
    let ids = |receipts: &[Value]| {
        let installed = receipts[0]["installed"].as_array().unwrap();
        installed.iter().map(|one| one["id"].to_string()).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(ids(&after), ids(&before));
    // An agent that its owner took away is gone, until init is run for what there is.
    std::fs::remove_file(agent("a.json")).unwrap();
    let found = drifted(&env);
    assert!(found.len() == 1 && found[0].0.contains("is gone"), "{found:?}");
    paste(&env, &found[0].1);
    assert_eq!((drifted(&env), receipts(&env)[0]["installed"].as_array().unwrap().len()), (vec![], 1));
}
