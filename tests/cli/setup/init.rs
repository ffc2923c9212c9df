//! `tally init`: what it writes, what it leaves, what it refuses.

use super::console::Console;
use super::*;
use serde_json::json;
use std::os::unix::fs::symlink;

const KNOWN: &[(&str, &str)] = &[(TOKEN, "acme"), ("second-token", "birch")];

fn connected(env: &TestEnv, console: &Console) -> Value {
    let token = token_file(env, TOKEN);
    let args =
        ["--console-url", &console.url, "--console-token-file", &token, "--console-tenant", "acme", "--json"];
    json(&init(env, &args, 0), "init.schema.json")
}

#[test]
fn one_command_installs_hooks_and_a_trusted_conf_and_verifies() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    let answer = connected(&env, &console);
    assert_eq!(answer["verification"]["state"], "verified", "{answer:#}");
    assert_eq!(answer["verification"]["authenticated"], true);
    assert_eq!(answer["verification"]["confScope"], "workspace");
    let expected = format!(
        "console_telemetry_url={}\nconsole_telemetry_token={TOKEN}\nconsole_tenant_id=acme\n",
        console.url
    );
    assert_eq!(read(&conf(&env)), expected);
    assert_eq!((mode(&conf(&env)), mode(conf(&env).parent().unwrap())), (0o600, 0o700));
    let hooks: Value = serde_json::from_str(&read(&settings(&env))).unwrap();
    let command = format!("{} hook claude-code", env!("CARGO_BIN_EXE_tally"));
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PostToolUse",
        "PostToolUseFailure",
        "SubagentStart",
        "SubagentStop",
        "Stop",
        "SessionEnd",
    ];
    let entry = json!([{"hooks": [{"type": "command", "command": command, "timeout": 15}]}]);
    let expected: Value = events.iter().map(|event| ((*event).to_owned(), entry.clone())).collect();
    assert_eq!(hooks, json!({ "hooks": expected }));
    let asked = console.requests();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].method.as_str(), asked[0].path.as_str()), ("GET", "/api/economics"));
    assert_eq!((asked[0].token.as_deref(), asked[0].tenant.as_deref()), (Some(TOKEN), Some("acme")));
}

#[test]
fn the_same_command_again_changes_no_byte() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    connected(&env, &console);
    let (project, home) = (tree(&env.project()), tree(&env.home()));
    let again = connected(&env, &console);
    assert!(again["files"].as_array().unwrap().iter().all(|file| file["action"] == "unchanged"), "{again:#}");
    assert_eq!((tree(&env.project()), tree(&env.home())), (project, home));
}

#[test]
fn session_events_are_switched_off_and_on_by_their_own_key() {
    let env = TestEnv::new();
    let args = ["--console-url", "http://127.0.0.1:1", "--no-events-relay"];
    init(&env, &args, 0);
    assert!(read(&conf(&env)).contains("console_telemetry_relay=0\n"));
    init(&env, &["--console-tenant", "acme"], 0);
    assert!(read(&conf(&env)).contains("console_telemetry_relay=0\n"), "who says nothing changes nothing");
    init(&env, &["--events-relay"], 0);
    assert!(read(&conf(&env)).contains("console_telemetry_relay=1\n"));
}

#[test]
fn a_rotation_and_a_second_tenant_change_their_keys_and_nothing_else() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    connected(&env, &console);
    init(&env, &["--no-economics-relay"], 0);
    let mut text = read(&conf(&env));
    text.push_str("# mine\nchannels=full\nsome_other=1\n");
    std::fs::write(conf(&env), &text).unwrap();
    let token = token_file(&env, "second-token");
    let output = init(&env, &["--console-token-file", &token, "--console-tenant", "birch", "--json"], 0);
    let answer = json(&output, "init.schema.json");
    assert_eq!(answer["verification"]["authenticated"], true, "{answer:#}");
    let changed = text.replace(TOKEN, "second-token").replace("=acme", "=birch");
    assert_eq!(read(&conf(&env)), changed);
    assert!(changed.contains("console_economics_relay=0\n"));
    let backup =
        answer["files"].as_array().unwrap().iter().find(|file| file["role"] == "conf").unwrap()["backup"]
            .clone();
    let backup = PathBuf::from(backup.as_str().unwrap());
    assert_eq!((read(&backup), mode(&backup)), (text, 0o600));
    init(&env, &["--economics-relay", "--liveness-relay"], 0);
    let on = changed.replace("economics_relay=0", "economics_relay=1");
    assert_eq!(read(&conf(&env)), format!("{on}console_liveness_relay=1\n"));
}

#[test]
fn url_and_endpoint_replace_each_other_and_the_token_stays() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    connected(&env, &console);
    let endpoint = format!("{}/api/telemetry/records", console.url);
    let output = init(&env, &["--console-endpoint", &endpoint, "--json"], 0);
    assert_eq!(json(&output, "init.schema.json")["verification"]["state"], "verified");
    assert_eq!(
        read(&conf(&env)),
        format!(
            "console_telemetry_token={TOKEN}\nconsole_tenant_id=acme\nconsole_telemetry_endpoint_url={endpoint}\n"
        )
    );
    init(&env, &["--console-url", &console.url], 0);
    assert!(!read(&conf(&env)).contains("endpoint_url"));
}

#[test]
fn a_token_does_not_follow_a_url_to_another_console_unasked() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    let other = Console::start(&[]);
    connected(&env, &console);
    let output = init(&env, &["--console-url", &other.url, "--json"], 0);
    let answer = json(&output, "init.schema.json");
    assert_eq!(answer["verification"]["state"], "unverified-not-attempted");
    assert!(answer["notes"][0].as_str().unwrap().contains(&console.url), "{answer:#}");
    assert!(other.requests().is_empty());
}

#[test]
fn a_token_that_the_console_refuses_is_stored_and_said() {
    for (token, tenant, id) in
        [("unknown-token", "acme", "token-refused"), (TOKEN, "birch", "tenant-refused")]
    {
        let env = TestEnv::new();
        let console = Console::start(KNOWN);
        let file = token_file(&env, token);
        let args = ["--console-url", &console.url, "--console-token-file", &file, "--console-tenant", tenant];
        let output = init(&env, &args, 0);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("does NOT accept") && said.contains("fix: "), "{said}");
        assert!(read(&conf(&env)).contains(&format!("console_telemetry_token={token}\n")));
        let again = json(&init(&env, &["--json"], 0), "init.schema.json");
        assert_eq!(again["verification"]["state"], "unverified-failed");
        assert!(again["findings"].as_array().unwrap().iter().any(|finding| finding["id"] == id), "{again:#}");
    }
}

#[test]
fn mistakes_touch_nothing_and_say_what_to_do() {
    let env = TestEnv::new();
    let long = "x".repeat(129);
    let (bad, good) = (env.home().join("bad"), token_file(&env, TOKEN));
    std::fs::write(&bad, "two words\n").unwrap();
    let bad = bad.to_str().unwrap();
    let url = "https://c.example";
    let table: [(&[&str], &str); 13] = [
        (&["--economics-relay", "--no-economics-relay"], "cannot be used with"),
        (&["--console-token-file", &good], "require --console-url"),
        (&["--console-tenant", "acme"], "require --console-url"),
        (&["--telemetry-sink", "emacs"], "unknown telemetry sink"),
        (&["--telemetry-sink", "kontour-cloud,local-kontour-console"], "at most one"),
        (&["--telemetry-sink", "user-hosted-console"], "requires --console-url"),
        (&["--console-url", "http://c.example"], "must be https"),
        (&["--console-url", "https://u:p@c.example"], "user name"),
        (&["--console-url", url, "--console-tenant", &long], "1 to 128"),
        (&["--console-url", url, "--console-tenant", "a b"], "1 to 128"),
        (&["--console-url", url, "--console-token-file", bad], "without quotes"),
        (&["--console-url", url, "--console-token-file", "/gone"], "/gone"),
        (&["--dest", "/gone"], "no such folder"),
    ];
    for (args, expected) in table {
        let output = init(&env, args, 2);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{args:?}: {said}");
        assert!(tree(&env.project()).is_empty(), "{args:?}");
    }
}

#[test]
fn a_token_file_that_others_can_read_is_said() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    let token = token_file(&env, TOKEN);
    set_mode(Path::new(&token), 0o644);
    let output = init(&env, &["--console-url", &console.url, "--console-token-file", &token, "--json"], 0);
    let answer = json(&output, "init.schema.json");
    assert!(answer["notes"][0].as_str().unwrap().contains(&token), "{answer:#}");
}

#[test]
fn nobody_to_ask_is_an_error_that_names_the_flags() {
    let env = TestEnv::new();
    for args in [&["init"][..], &["init", "--telemetry-sink", "local-files"]] {
        let output = env.run(args);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            said.contains("--yes")
                && said.contains("--telemetry-sink")
                && said.contains("--console-token-file"),
            "{said}"
        );
    }
    assert!(tree(&env.project()).is_empty());
}

#[test]
fn a_dry_run_says_what_would_be_and_does_nothing() {
    let env = TestEnv::new();
    let token = token_file(&env, TOKEN);
    let home = tree(&env.home());
    let args =
        ["init", "--dry-run", "--json", "--console-url", "https://c.example", "--console-token-file", &token];
    let answer = json(&env.run(&args), "init.schema.json");
    assert_eq!(
        (&answer["dryRun"], &answer["verification"]["state"]),
        (&json!(true), &json!("unverified-not-attempted"))
    );
    assert!(answer["files"].as_array().unwrap().iter().all(|file| file["action"] == "created"), "{answer:#}");
    assert!(tree(&env.project()).is_empty());
    assert_eq!(tree(&env.home()), home);
}

#[test]
fn the_conf_is_kept_out_of_git_and_what_git_tracks_is_left_alone() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    assert!(git(&env, &["init", "-q"]).status.success());
    put(&settings(&env), "{\"model\": \"opus\"}\n");
    assert!(git(&env, &["add", "-A"]).status.success());
    assert!(git(&env, &["commit", "-qm", "first"]).status.success());
    let answer = connected(&env, &console);
    assert_eq!(read(&settings(&env)), "{\"model\": \"opus\"}\n");
    let local = env.project().join(".claude/settings.local.json");
    assert!(read(&local).contains("hook claude-code"), "{answer:#}");
    let status = String::from_utf8(git(&env, &["status", "--porcelain", "-uall"]).stdout).unwrap();
    assert_eq!(status, "?? .claude/settings.local.json\n", "the conf can be committed by accident");
    // A conf that is tracked by now is not given a token.
    assert!(git(&env, &["add", "-f", ".kontourai/telemetry-console.conf"]).status.success());
    let token = token_file(&env, "second-token");
    let output = init(&env, &["--console-token-file", &token], 1);
    assert!(String::from_utf8(output.stdout).unwrap().contains("git rm --cached"));
    assert!(!read(&conf(&env)).contains("second-token"));
}

#[test]
fn hooks_that_the_project_shares_are_not_installed_a_second_time() {
    let env = TestEnv::new();
    assert!(git(&env, &["init", "-q"]).status.success());
    let shared =
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "tally hook claude-code"}]}]}}"#;
    put(&settings(&env), shared);
    assert!(git(&env, &["add", "-A"]).status.success());
    let answer = json(&init(&env, &["--host", "claude-code", "--json"], 0), "init.schema.json");
    assert_eq!(answer["files"][0]["action"], "unchanged");
    assert!(
        answer["files"][0]["reason"].as_str().unwrap().contains("the project shares its hooks"),
        "{answer:#}"
    );
    assert_eq!(read(&settings(&env)), shared);
    assert!(!env.project().join(".claude/settings.local.json").exists());
}

#[test]
fn a_linked_worktree_shares_the_conf_of_its_main_checkout() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    assert!(git(&env, &["init", "-q"]).status.success());
    assert!(git(&env, &["commit", "-q", "--allow-empty", "-m", "first"]).status.success());
    let worktree = env.home().join("worktree");
    assert!(git(&env, &["worktree", "add", "-q", worktree.to_str().unwrap()]).status.success());
    let token = token_file(&env, TOKEN);
    let dest = worktree.to_str().unwrap();
    let args = ["--dest", dest, "--console-url", &console.url, "--console-token-file", &token];
    init(&env, &args, 0);
    assert!(conf(&env).exists() && worktree.join(".claude/settings.json").exists());
    assert!(!worktree.join(".kontourai").exists());
}

#[test]
fn global_is_for_all_projects() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    let token = token_file(&env, TOKEN);
    let args = [
        "--global",
        "--console-url",
        &console.url,
        "--console-token-file",
        &token,
        "--console-tenant",
        "acme",
        "--json",
    ];
    let answer = json(&init(&env, &args, 0), "init.schema.json");
    assert_eq!(answer["verification"]["state"], "verified", "{answer:#}");
    assert_eq!(answer["verification"]["confScope"], "user-global");
    let conf = env.home().join(".flow-agents/telemetry-console.conf");
    assert_eq!(mode(&conf), 0o600);
    assert!(env.home().join(".claude/settings.json").exists());
    assert!(tree(&env.project()).is_empty());
    init(&env, &["--global", "--dest", "."], 2);
}

#[test]
fn a_dotfile_managers_link_is_written_through_and_stays_a_link() {
    let env = TestEnv::new();
    let real = env.home().join("dotfiles/claude.json");
    put(&real, "{\n  \"model\": \"opus\"\n}\n");
    set_mode(&real, 0o640);
    std::fs::create_dir(env.home().join(".claude")).unwrap();
    let link = env.home().join(".claude/settings.json");
    symlink(&real, &link).unwrap();
    init(&env, &["--global", "--host", "claude-code"], 0);
    assert_eq!(std::fs::read_link(&link).unwrap(), real);
    assert!(
        read(&real).contains("hook claude-code") && read(&real).starts_with("{\n  \"model\": \"opus\",\n")
    );
    assert_eq!(mode(&real), 0o640);
}

#[test]
fn files_that_cannot_be_edited_are_refused_one_by_one_and_stay() {
    let table: [(&[u8], &str); 5] = [
        (b"{\"hooks\": [", "line 1"),
        (b"\xff\xfe{\x00}\x00", "UTF-8"),
        (b"hooks: yes", "line 1"),
        (b"{\"hooks\": \"x\"}", "not an object"),
        (b"[]", "not a JSON object"),
    ];
    for (bytes, expected) in table {
        let env = TestEnv::new();
        std::fs::create_dir(env.project().join(".claude")).unwrap();
        std::fs::write(settings(&env), bytes).unwrap();
        let output = init(&env, &["--host", "claude-code", "--host", "codex", "--json"], 1);
        let answer = json(&output, "init.schema.json");
        assert_eq!(answer["files"][0]["action"], "refused");
        assert!(answer["files"][0]["reason"].as_str().unwrap().contains(expected), "{answer:#}");
        assert_eq!(std::fs::read(settings(&env)).unwrap(), bytes);
        assert_eq!(answer["files"][1]["action"], "created", "one host's trouble is not another's");
    }
}

#[test]
fn every_host_is_set_up_and_a_second_time_changes_nothing() {
    let env = TestEnv::new();
    let hosts =
        ["--host", "claude-code", "--host", "codex", "--host", "opencode", "--host", "pi", "--host", "kiro"];
    for args in [&[][..], &["--global"]] {
        let args = [args, &hosts].concat();
        init(&env, &args, 0);
        let (project, home) = (tree(&env.project()), tree(&env.home()));
        init(&env, &args, 0);
        assert_eq!((tree(&env.project()), tree(&env.home())), (project, home));
    }
    let output = env.run(&["init", "--yes", "--host", "codex", "--host", "kiro", "--json"]);
    let notes = json(&output, "init.schema.json")["notes"].to_string();
    assert!(notes.contains("/hooks"), "{notes}");
    for file in [
        ".codex/hooks.json",
        ".opencode/plugins/tally.js",
        ".pi/extensions/tally.ts",
        ".kiro/hooks/tally.json",
    ] {
        assert!(read(&env.project().join(file)).contains(env!("CARGO_BIN_EXE_tally")), "{file}");
    }
}

#[test]
fn environment_variables_never_end_up_in_a_conf() {
    let mut env = TestEnv::new();
    env.set("CONSOLE_TELEMETRY_URL", "https://leak.example");
    env.set("CONSOLE_TELEMETRY_TOKEN", "leaked-token");
    env.set("CONSOLE_TENANT_ID", "leaked-tenant");
    init(&env, &["--no-economics-relay"], 0);
    assert_eq!(read(&conf(&env)), "console_economics_relay=0\n");
    assert!(
        !tree(&env.project()).iter().any(|(_, _, bytes)| String::from_utf8_lossy(bytes).contains("leaked"))
    );
}

#[test]
fn policies_are_switched_by_a_key_of_the_conf_and_a_conf_that_hides_a_console_is_said() {
    let env = TestEnv::new();
    init(&env, &["--policies", "block"], 0);
    assert_eq!(read(&conf(&env)), "policies=block\n");
    assert_eq!(mode(&conf(&env)), 0o600);
    init(&env, &[], 0);
    assert_eq!(read(&conf(&env)), "policies=block\n", "what is not asked for stays");
    init(&env, &["--policies", "off"], 0);
    assert_eq!(read(&conf(&env)), "policies=off\n");
    init(&env, &["--policies", "warn"], 0);
    let report = json(&env.run(&["doctor", "--json"]), "doctor.schema.json");
    assert_eq!(report["policies"], "warn");
    init(&env, &["--policies", "sometimes"], 2);

    let env = TestEnv::new();
    let own = env.home().join(".flow-agents/telemetry-console.conf");
    put(&own, "console_telemetry_url=https://c.example\n");
    set_mode(&own, 0o600);
    let said = init(&env, &["--policies", "warn", "--json"], 0);
    let answer: Value = serde_json::from_slice(&said.stdout).unwrap();
    let notes = answer["notes"].to_string();
    assert!(notes.contains("does not hold here any more"), "{notes}");
}
