//! A repository that was cloned from a stranger, with everything in it that could lead a token, a record or a write astray.

use super::console::Console;
use super::*;
use crate::transcript::{SESSION, Transcript};
use std::os::unix::fs::symlink;

const KNOWN: &[(&str, &str)] = &[(TOKEN, "acme")];

fn global(env: &TestEnv, console: &Console) {
    let token = token_file(env, TOKEN);
    init(
        env,
        &[
            "--global",
            "--console-url",
            &console.url,
            "--console-token-file",
            &token,
            "--console-tenant",
            "acme",
        ],
        0,
    );
}

fn stop(env: &TestEnv) {
    let mut transcript = Transcript::new(env, SESSION);
    transcript.prompt().call("m1", "claude-opus-4-8", [1, 2, 3]);
    transcript.stop(env);
    env.run(&["relay", "flush", "--timeout", "5"]);
}

fn doctor(env: &TestEnv) -> Value {
    json(&env.run(&["doctor", "--json"]), "doctor.schema.json")
}

fn ids(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

#[test]
fn a_conf_that_a_clone_ships_sends_nothing_anywhere_and_is_not_made_trusted() {
    for shipped_as_link in [false, true] {
        let env = TestEnv::new();
        let (own, stranger) = (Console::start(KNOWN), Console::start(&[]));
        global(&env, &own);
        let asked = own.requests().len();
        let text = format!("console_economics_endpoint_url={}/steal\n", stranger.url);
        if shipped_as_link {
            let target = env.project().join("shipped.conf");
            put(&target, &text);
            set_mode(&target, 0o600);
            std::fs::create_dir(conf(&env).parent().unwrap()).unwrap();
            symlink(&target, conf(&env)).unwrap();
        } else {
            put(&conf(&env), &text);
        }
        put(&env.project().join(".env"), &format!("CONSOLE_TELEMETRY_URL={}\n", stranger.url));
        stop(&env);
        assert_eq!(env.records().len(), 1, "the journal is local and stays");
        assert!(stranger.requests().is_empty() && own.requests().len() == asked, "something left");
        let report = doctor(&env);
        assert_eq!((report["ok"].as_bool(), report["conf"]["trusted"].as_bool()), (Some(false), Some(false)));
        assert!(ids(&report).contains(&"conf-untrusted"));
        let before = tree(&env.project());
        let token = token_file(&env, TOKEN);
        let args = ["--host", "codex", "--console-url", &own.url, "--console-token-file", &token];
        let output = init(&env, &args, 1);
        assert!(String::from_utf8(output.stdout).unwrap().contains("not trusted"));
        let token_is_in =
            |(_, _, bytes): &(PathBuf, u32, Vec<u8>)| String::from_utf8_lossy(bytes).contains(TOKEN);
        assert!(!tree(&env.project()).iter().any(token_is_in));
        let changed: Vec<_> =
            tree(&env.project()).into_iter().filter(|file| !before.contains(file)).collect();
        assert_eq!(changed.len(), 1, "only the hooks: {changed:?}");
    }
}

#[test]
fn a_folder_that_is_a_link_gets_no_token_and_no_record() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    let outside = env.home().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, env.project().join(".kontourai")).unwrap();
    let token = token_file(&env, TOKEN);
    let output = init(&env, &["--console-url", &console.url, "--console-token-file", &token], 1);
    assert!(String::from_utf8(output.stdout).unwrap().contains("is a link"));
    stop(&env);
    env.run(&["liveness", "claim", "subject", "--actor", "a"]);
    assert!(tree(&outside).is_empty(), "{:?}", tree(&outside));
    let kept = env.home().join(".local/state/tally");
    assert!(
        tree(&kept).iter().any(|(path, ..)| path.ends_with("economics.jsonl")),
        "the record is kept elsewhere"
    );
    assert!(ids(&doctor(&env)).contains(&"data-elsewhere"));
}

#[test]
fn a_link_to_the_conf_of_another_workspace_is_not_followed() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    let other = env.home().join("other");
    std::fs::create_dir(&other).unwrap();
    let token = token_file(&env, TOKEN);
    let dest = other.to_str().unwrap();
    init(
        &env,
        &[
            "--dest",
            dest,
            "--console-url",
            &console.url,
            "--console-token-file",
            &token,
            "--console-tenant",
            "acme",
        ],
        0,
    );
    let asked = console.requests().len();
    symlink(other.join(".kontourai"), env.project().join(".kontourai")).unwrap();
    stop(&env);
    assert_eq!(console.requests().len(), asked, "another workspace's Console got a record");
    assert!(!other.join(".kontourai/telemetry").exists());
}

#[test]
fn journals_and_locks_that_are_links_are_not_written_through() {
    for name in
        ["economics.jsonl", "economics.jsonl.lock", "tally.log", "sessions", "outbox", "sessions/lock"]
    {
        let env = TestEnv::new();
        let victim = env.home().join("victim");
        let is_dir = matches!(name, "sessions" | "outbox");
        if is_dir {
            std::fs::create_dir(&victim).unwrap();
        } else {
            std::fs::write(&victim, "mine\n").unwrap();
        }
        let link = env.data_dir().join(name);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&victim, &link).unwrap();
        stop(&env);
        if is_dir {
            assert!(tree(&victim).is_empty(), "{name}");
        } else {
            assert_eq!(read(&victim), "mine\n", "{name}");
        }
    }
}

#[test]
fn hooks_are_not_written_through_links_that_lead_out_of_the_project() {
    let env = TestEnv::new();
    let own = env.home().join(".claude/settings.json");
    put(&own, "{}\n");
    std::fs::create_dir(env.project().join(".claude")).unwrap();
    symlink(&own, settings(&env)).unwrap();
    let outside = env.home().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, env.project().join(".codex")).unwrap();
    symlink("/nowhere/at/all", env.project().join(".pi")).unwrap();
    let output = init(&env, &["--host", "claude-code", "--host", "codex", "--host", "pi", "--json"], 1);
    let answer = json(&output, "init.schema.json");
    for (file, expected) in answer["files"].as_array().unwrap().iter().zip([
        "out of the project",
        "out of the project",
        "nowhere",
    ]) {
        assert_eq!(file["action"], "refused", "{file}");
        assert!(file["reason"].as_str().unwrap().contains(expected), "{file}");
    }
    assert_eq!(read(&own), "{}\n");
    assert!(tree(&outside).is_empty());
}

#[test]
fn a_pointer_that_leads_outside_is_not_followed() {
    let env = TestEnv::new();
    let outside = env.home().join("outside/task");
    put(&outside.join("state.json"), "{\"task_slug\": \"stolen\"}");
    let sidecars = env.project().join(".kontourai/flow-agents");
    put(&sidecars.join("current.json"), "{\"active_slug\": \"../../../home/outside/task\"}");
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", "claude-opus-4-8", [1, 2, 3]);
    transcript.stop(&env);
    assert!(!env.records()[0].to_string().contains("stolen"));
    std::fs::remove_file(sidecars.join("current.json")).unwrap();
    symlink(&outside, sidecars.join("task")).unwrap();
    put(&sidecars.join("current.json"), "{\"active_slug\": \"task\"}");
    transcript.call("m2", "claude-opus-4-8", [1, 2, 3]);
    transcript.stop(&env);
    assert!(!env.records()[1].to_string().contains("stolen"));
}

#[test]
fn a_receipt_that_a_clone_ships_restores_and_deletes_nothing() {
    let env = TestEnv::new();
    let victim = env.home().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    let entry = serde_json::json!({"role": "claude-code", "path": victim, "mode": 420, "before": null,
        "after": "6dfd5a3f5c3c9e1ae3a9f0e2c4d0a5b1", "backup": null, "dirs": []});
    let receipt = serde_json::json!({"version": 1, "dest": env.project(), "files": [entry]}).to_string();
    for folder in [".kontourai", ".kontourai/telemetry", ".local/state/tally/setup", "tally/setup"] {
        put(&env.project().join(folder).join("receipt.json"), &receipt);
    }
    let output = env.run(&["uninstall", "--yes", "--json"]);
    assert_eq!(json(&output, "uninstall.schema.json")["files"], Value::Array(vec![]));
    assert_eq!(read(&victim), "mine");
}
