//! `tally uninstall`: byte for byte where nothing was edited since, and no more than what is ours where something was.

use super::*;
use crate::transcript::{SESSION, Transcript};

const HOSTS: [&str; 10] =
    ["--host", "claude-code", "--host", "codex", "--host", "opencode", "--host", "pi", "--host", "kiro"];

fn uninstall(env: &TestEnv, args: &[&str], code: i32) -> Value {
    let args = [&["uninstall", "--yes", "--json"], args].concat();
    let output = env.run(&args);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    json(&output, "uninstall.schema.json")
}

fn action(answer: &Value, role: &str) -> String {
    let files = answer["files"].as_array().unwrap();
    let file =
        files.iter().find(|file| file["role"] == role).unwrap_or_else(|| panic!("no {role}: {answer:#}"));
    file["action"].as_str().unwrap().to_owned()
}

/// What a user may have before us: comments, a BOM, CRLF, trailing commas, other hooks, an own conf.
fn before(env: &TestEnv) {
    let project = env.project();
    put(
        &settings(env),
        "\u{feff}{\r\n  // mine\r\n  \"hooks\": {\r\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"bell\"}]},],\r\n  },\r\n}\r\n",
    );
    put(
        &project.join(".codex/config.toml"),
        "model = 'o'\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = 'command'\ncommand = 'bell'",
    );
    put(&project.join(".kiro/agents/dev.json"), "{\"name\": \"dev\", \"hooks\": {}}");
    put(&project.join(".opencode/plugins/other.js"), "export const x = 1\n");
    put(&conf(env), "# mine\nconsole_url=http://127.0.0.1:1\nsome_key=1\n");
    set_mode(&conf(env), 0o600);
    put(&project.join(".kontourai/.gitignore"), "sessions/\n");
}

#[test]
fn every_file_comes_back_byte_for_byte() {
    for with_files in [false, true] {
        let env = TestEnv::new();
        if with_files {
            before(&env);
        }
        let token = token_file(&env, TOKEN);
        let (project, home) = (tree(&env.project()), tree(&env.home()));
        let args =
            [&HOSTS[..], &["--console-url", "http://127.0.0.1:1", "--console-token-file", &token]].concat();
        init(&env, &args, 0);
        init(&env, &[&args[..], &["--console-tenant", "acme"]].concat(), 0);
        assert_ne!(tree(&env.project()), project);
        let dry = uninstall(&env, &["--dry-run"], 0);
        let answer = uninstall(&env, &[], 0);
        assert_eq!(answer["files"], dry["files"], "a dry run says what then happens");
        assert_eq!(action(&answer, "claude-code"), if with_files { "restored" } else { "deleted" });
        assert_eq!(tree(&env.project()), project);
        assert_eq!(tree(&env.home()), home, "receipts and backups are left behind");
        if !with_files {
            assert_eq!(std::fs::read_dir(env.project()).unwrap().count(), 0, "folders are left behind");
        }
        assert_eq!(uninstall(&env, &[], 0)["files"], Value::Array(vec![]));
    }
}

#[test]
fn what_the_user_edited_since_stays_and_is_said() {
    let env = TestEnv::new();
    let token = token_file(&env, TOKEN);
    init(
        &env,
        &[
            "--host",
            "claude-code",
            "--host",
            "opencode",
            "--console-url",
            "http://127.0.0.1:1",
            "--console-token-file",
            &token,
        ],
        0,
    );
    let edited = read(&settings(&env)).replacen('{', "{\n  \"model\": \"opus\",", 1);
    std::fs::write(settings(&env), &edited).unwrap();
    let plugin = env.project().join(".opencode/plugins/tally.js");
    std::fs::write(&plugin, format!("{}// mine\n", read(&plugin))).unwrap();
    std::fs::write(conf(&env), format!("{}pricing_file=/p\n", read(&conf(&env)))).unwrap();
    let answer = uninstall(&env, &[], 1);
    assert_eq!(action(&answer, "claude-code"), "cleaned");
    assert_eq!(
        serde_json::from_str::<Value>(&read(&settings(&env))).unwrap(),
        serde_json::json!({"model": "opus"})
    );
    assert_eq!(
        (action(&answer, "conf").as_str(), read(&conf(&env)).as_str()),
        ("cleaned", "pricing_file=/p\n")
    );
    assert_eq!(action(&answer, "opencode"), "failed");
    assert!(read(&plugin).ends_with("// mine\n"));
    for file in answer["files"].as_array().unwrap().iter().filter(|file| file["role"] != "ignore") {
        assert!(file["reason"].as_str().unwrap().contains("you edited it since"), "{file}");
    }
}

#[test]
fn an_install_over_an_edited_file_gives_the_edit_back() {
    let env = TestEnv::new();
    put(&settings(&env), "{}\n");
    init(&env, &["--host", "claude-code"], 0);
    // The user moves to another path of the program, and adds a setting.
    let edited = read(&settings(&env)).replace(env!("CARGO_BIN_EXE_tally"), "/old/tally").replacen(
        '{',
        "{\n  \"model\": \"opus\",",
        1,
    );
    std::fs::write(settings(&env), edited).unwrap();
    init(&env, &["--host", "claude-code"], 0);
    assert!(!read(&settings(&env)).contains("/old/tally"));
    let answer = uninstall(&env, &[], 0);
    assert_eq!(action(&answer, "claude-code"), "restored");
    assert_eq!(
        serde_json::from_str::<Value>(&read(&settings(&env))).unwrap(),
        serde_json::json!({"model": "opus"})
    );
}

#[test]
fn the_conf_stays_if_asked_and_one_host_is_one_host() {
    let env = TestEnv::new();
    init(&env, &["--host", "claude-code", "--host", "codex", "--console-url", "http://127.0.0.1:1"], 0);
    let answer = uninstall(&env, &["--host", "codex"], 0);
    assert_eq!(answer["files"].as_array().unwrap().len(), 1);
    assert!(settings(&env).exists() && conf(&env).exists() && !env.project().join(".codex").exists());
    uninstall(&env, &["--keep-conf"], 0);
    assert!(!settings(&env).exists() && conf(&env).exists());
    uninstall(&env, &[], 0);
    assert!(!conf(&env).exists() && !env.project().join(".kontourai").exists());
}

#[test]
fn journals_and_undelivered_records_stay() {
    let env = TestEnv::new();
    init(&env, &["--host", "claude-code", "--console-url", "http://127.0.0.1:1"], 0);
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", "claude-opus-4-8", [1, 2, 3]);
    transcript.stop(&env);
    env.run(&["relay", "flush", "--timeout", "0"]);
    let answer = uninstall(&env, &[], 0);
    assert_eq!(answer["pending"], 1);
    assert_eq!(env.records().len(), 1);
    assert!(!conf(&env).exists() && env.data_dir().join("outbox").exists());
}

#[test]
fn entries_that_were_written_by_hand_are_taken_out_too() {
    let env = TestEnv::new();
    put(
        &settings(&env),
        "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"tally hook claude-code\", \"timeout\": 15 }] }\n    ]\n  }\n}\n",
    );
    let answer = uninstall(&env, &[], 0);
    assert_eq!(action(&answer, "claude-code"), "cleaned");
    assert_eq!(read(&settings(&env)), "{\n  \"model\": \"opus\"\n}\n");
}

#[test]
fn nobody_to_ask_is_an_error_that_names_the_flag() {
    let env = TestEnv::new();
    init(&env, &["--host", "claude-code"], 0);
    let output = env.run(&["uninstall"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--yes"));
    assert!(settings(&env).exists());
}

#[test]
fn policies_that_were_on_leave_nothing_behind() {
    for with_files in [false, true] {
        let env = TestEnv::new();
        if with_files {
            before(&env);
        }
        let (project, home) = (tree(&env.project()), tree(&env.home()));
        for policies in ["block", "warn", "off"] {
            init(&env, &[&HOSTS[..], &["--policies", policies]].concat(), 0);
        }
        uninstall(&env, &[], 0);
        assert_eq!((tree(&env.project()), tree(&env.home())), (project, home), "with files: {with_files}");
    }
}
