//! `tally doctor`: healthy and sick installs, each told as it is, never with a secret, and without writing anything.

use super::console::Console;
use super::*;
use crate::transcript::{SESSION, Transcript};
use serde_json::json;
use std::net::TcpListener;

const KNOWN: &[(&str, &str)] = &[(TOKEN, "acme"), ("second-token", "birch")];

/// A set-up in the project.
fn installed(env: &TestEnv, url: &str, token: &str, tenant: &str) {
    let token = token_file(env, token);
    init(env, &["--console-url", url, "--console-token-file", &token, "--console-tenant", tenant], 0);
}

/// The report, the exit code held to it, and nothing written by looking.
fn report(env: &TestEnv, args: &[&str]) -> Value {
    let before = (tree(&env.project()), tree(&env.home()));
    let output = env.run(&[&["doctor", "--json", "--headless"], args].concat());
    assert_eq!((tree(&env.project()), tree(&env.home())), before, "the doctor wrote something");
    let report = json(&output, "doctor.schema.json");
    let errors = report["findings"].as_array().unwrap().iter().any(|finding| finding["severity"] == "error");
    assert_eq!(report["ok"], !errors, "{report:#}");
    assert_eq!(output.status.code(), Some(i32::from(errors)), "{report:#}");
    for finding in report["findings"].as_array().unwrap() {
        assert!(
            !finding["message"].as_str().unwrap().is_empty() && !finding["fix"].as_str().unwrap().is_empty()
        );
    }
    report
}

fn severity<'a>(report: &'a Value, id: &str) -> Option<&'a str> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["id"] == id)?["severity"].as_str()
}

#[test]
fn a_healthy_install() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    installed(&env, &console.url, TOKEN, "acme");
    let found = report(&env, &[]);
    assert_eq!(found["ok"], true, "{found:#}");
    let console_report = &found["console"];
    assert_eq!(console_report["sink"], "console");
    assert_eq!(
        (&console_report["tokenConfigured"], &console_report["tenantConfigured"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(console_report["authenticated"], true);
    assert_eq!(console_report["reachability"], json!({"checked": true, "ok": true, "statusCode": 200}));
    for source in ["urlSource", "tokenSource", "tenantSource"] {
        assert_eq!(console_report[source], "config-file", "{source}");
    }
    assert_eq!((&found["conf"]["scope"], &found["conf"]["trusted"]), (&json!("workspace"), &json!(true)));
    assert_eq!(found["telemetry"]["activeSinks"], json!(["local-files", "console"]));
    assert_eq!(
        (&found["pricing"]["origin"], &found["pricing"]["source"]),
        (&json!("bundled"), &json!("default"))
    );
    let hook = &found["hooks"][0];
    assert_eq!(
        (&hook["host"], &hook["installed"], &hook["current"]),
        (&json!("claude-code"), &json!(true), &json!(true))
    );
    assert_eq!((&hook["lastEventAt"], severity(&found, "hooks-silent")), (&Value::Null, Some("info")));
    assert!(console.posts().is_empty(), "verifying wrote something at the Console");

    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt().call("m1", "claude-opus-4-8", [1, 2, 3]);
    transcript.stop(&env);
    env.run(&["relay", "flush", "--timeout", "20"]);
    let found = report(&env, &[]);
    assert!(found["hooks"][0]["lastEventAt"].is_string(), "{found:#}");
    assert_eq!((&found["outbox"]["delivered"], severity(&found, "hooks-silent")), (&json!(1), None));
    let text = env.run(&["doctor"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains(": healthy\n") && text.contains("accepted: yes") && !text.contains('\u{1b}'),
        "{text}"
    );
}

#[test]
fn a_refused_token_and_a_wrong_tenant_are_told_apart_and_never_ok() {
    for (token, tenant, id, status) in
        [("unknown", "acme", "token-refused", 401), (TOKEN, "birch", "tenant-refused", 403)]
    {
        let env = TestEnv::new();
        let console = Console::start(KNOWN);
        installed(&env, &console.url, token, tenant);
        let found = report(&env, &[]);
        assert_eq!((&found["ok"], severity(&found, id)), (&json!(false), Some("error")), "{found:#}");
        assert_eq!(found["console"]["authenticated"], false);
        let reachability = &found["console"]["reachability"];
        assert_eq!((&reachability["ok"], &reachability["statusCode"]), (&json!(false), &json!(status)));
    }
}

#[test]
fn a_dead_endpoint_and_one_that_never_answers() {
    let env = TestEnv::new();
    installed(&env, "http://127.0.0.1:1", TOKEN, "acme");
    let found = report(&env, &[]);
    assert_eq!((&found["ok"], severity(&found, "console-unreachable")), (&json!(false), Some("error")));
    assert_eq!(found["console"]["authenticated"], Value::Null);
    assert_eq!(found["console"]["reachability"]["ok"], false);

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let env = TestEnv::new();
    let url = format!("http://{}", silent.local_addr().unwrap());
    put(&conf(&env), &format!("console_url={url}\n"));
    set_mode(&conf(&env), 0o600);
    let found = report(&env, &["--timeout-ms", "50"]);
    assert_eq!(found["console"]["reachability"]["error"], "timeout after 50ms");
    let default = report(&env, &["--timeout-ms", "-1"]);
    assert_eq!(default["console"]["reachability"]["error"], "timeout after 2000ms");
}

#[test]
fn an_untrusted_conf_closes_the_relay_and_names_the_fix() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    installed(&env, &console.url, TOKEN, "acme");
    let asked = console.requests().len();
    set_mode(&conf(&env), 0o644);
    let found = report(&env, &[]);
    assert_eq!((&found["ok"], &found["conf"]["trusted"]), (&json!(false), &json!(false)));
    assert_eq!(
        (&found["console"]["sink"], &found["console"]["tokenConfigured"]),
        (&json!("local-only"), &json!(false))
    );
    let finding = &found["findings"][0];
    assert_eq!((&finding["id"], &finding["severity"]), (&json!("conf-untrusted"), &json!("error")));
    assert_eq!(finding["fix"], format!("chmod 600 {}", conf(&env).display()));
    assert_eq!(console.requests().len(), asked);
}

#[test]
fn without_any_set_up_it_is_healthy_and_says_that_nothing_is_recorded() {
    let env = TestEnv::new();
    let found = report(&env, &[]);
    assert_eq!((&found["ok"], &found["conf"]["scope"]), (&json!(true), &json!("absent")));
    assert_eq!(found["console"]["reachability"], json!({"checked": false, "ok": null}));
    assert_eq!(severity(&found, "hooks-missing"), Some("warning"));
}

#[test]
fn only_this_machine_is_asked_without_leave() {
    let env = TestEnv::new();
    put(&conf(&env), "console_url=https://c.invalid?token=abc123\nconsole_telemetry_token=t\n");
    set_mode(&conf(&env), 0o600);
    let found = report(&env, &[]);
    assert_eq!((&found["ok"], severity(&found, "console-not-asked")), (&json!(true), Some("warning")));
    assert_eq!(found["console"]["reachability"]["checked"], false);
    assert_eq!(found["console"]["endpointAllowed"], false);
    assert!(!found.to_string().contains("abc123"), "{found:#}");
    let asked = report(&env, &["--allow-network"]);
    assert_eq!(asked["console"]["reachability"]["checked"], true);
}

#[test]
fn do_not_track_asks_nobody() {
    let mut env = TestEnv::new();
    let console = Console::start(KNOWN);
    installed(&env, &console.url, TOKEN, "acme");
    let asked = console.requests().len();
    env.set("DO_NOT_TRACK", "1");
    let found = report(&env, &["--allow-network"]);
    assert_eq!(found["console"]["reachability"]["checked"], false);
    assert_eq!(severity(&found, "do-not-track"), Some("info"));
    assert_eq!(console.requests().len(), asked);
}

#[test]
fn what_is_wrong_besides_is_found_each_under_its_name() {
    type Break = fn(&mut TestEnv);
    let table: [(&str, &str, Break); 16] = [
        ("conf-folder-open", "warning", |env| set_mode(conf(env).parent().unwrap(), 0o755)),
        ("conf-lines", "warning", |env| put(&conf(env), &format!("{}typo_key=1\n", read(&conf(env))))),
        ("tenant-missing", "warning", |env| {
            put(&conf(env), &read(&conf(env)).replace("console_tenant_id", "# x"))
        }),
        ("endpoint-refused", "error", |env| {
            put(&conf(env), &format!("{}console_liveness_endpoint_url=http://c.example\n", read(&conf(env))))
        }),
        ("credential-unusable", "error", |env| {
            put(&conf(env), &read(&conf(env)).replace("token-never", "token never"))
        }),
        ("event-channels", "warning", |env| env.set("TELEMETRY_CHANNELS", "ful")),
        ("event-channels", "warning", |env| env.set("TELEMETRY_CHANNEL_FULL_REDACT", "tool|del(.input)")),
        ("event-channels", "warning", |env| {
            put(&conf(env), &format!("{}console_telemetry_redact=tool.*\n", read(&conf(env))))
        }),
        ("telemetry-off", "error", |env| put(&conf(env), &format!("{}enabled=false\n", read(&conf(env))))),
        ("environment-differs", "warning", |env| {
            env.set("CONSOLE_TELEMETRY_URL", "https://other.example");
            env.set("CONSOLE_TENANT_ID", "other");
        }),
        ("conf-missing", "error", |env| env.set("TELEMETRY_CONFIG_FILE", "/gone.conf")),
        ("token-in-profile", "warning", |env| {
            put(&env.home().join(".zshrc"), "# x\nexport CONSOLE_TELEMETRY_TOKEN=abc123\n")
        }),
        ("hooks-outdated", "warning", |env| {
            put(&settings(env), &read(&settings(env)).replace(env!("CARGO_BIN_EXE_tally"), "tally"))
        }),
        ("hooks-broken", "error", |env| {
            put(&settings(env), &read(&settings(env)).replace(env!("CARGO_BIN_EXE_tally"), "/gone/tally"))
        }),
        ("hooks-twice", "warning", |env| drop(init(env, &["--global", "--host", "claude-code"], 0))),
        ("pricing-registry", "warning", |env| {
            put(&conf(env), &format!("{}pricing_file=/gone.json\n", read(&conf(env))))
        }),
    ];
    for (id, expected, break_it) in table {
        let mut env = TestEnv::new();
        let console = Console::start(KNOWN);
        installed(&env, &console.url, TOKEN, "acme");
        break_it(&mut env);
        let found = report(&env, &[]);
        assert_eq!(severity(&found, id), Some(expected), "{id}: {found:#}");
        assert!(!found.to_string().contains("abc123"), "{found:#}");
    }
}

#[test]
fn a_conf_that_git_tracks_is_an_error() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    assert!(git(&env, &["init", "-q"]).status.success());
    installed(&env, &console.url, TOKEN, "acme");
    assert_eq!(report(&env, &[])["conf"]["tracked"], false);
    assert!(git(&env, &["add", "-f", ".claude/settings.json"]).status.success());
    let hooks = &report(&env, &[])["hooks"];
    assert_eq!(hooks[0]["current"], true, "hooks that the project shares are hooks: {hooks:#}");
    assert!(git(&env, &["add", "-f", ".kontourai/telemetry-console.conf"]).status.success());
    let found = report(&env, &[]);
    assert_eq!((&found["conf"]["tracked"], severity(&found, "conf-tracked")), (&json!(true), Some("error")));
}

#[test]
fn a_token_file_that_others_can_read_is_said() {
    let env = TestEnv::new();
    let console = Console::start(KNOWN);
    let token = token_file(&env, TOKEN);
    put(
        &conf(&env),
        &format!(
            "console_url={}\nconsole_telemetry_token_file={token}\nconsole_tenant_id=acme\n",
            console.url
        ),
    );
    set_mode(&conf(&env), 0o600);
    set_mode(Path::new(&token), 0o644);
    let found = report(&env, &[]);
    assert_eq!(
        (&found["console"]["authenticated"], severity(&found, "token-file-open")),
        (&json!(true), Some("warning"))
    );
}

#[test]
fn values_of_the_environment_are_told_as_such() {
    let mut env = TestEnv::new();
    let console = Console::start(KNOWN);
    env.set("CONSOLE_TELEMETRY_URL", console.url.clone());
    env.set("CONSOLE_TELEMETRY_TOKEN", TOKEN);
    let found = report(&env, &[]);
    assert_eq!(found["console"]["urlSource"], "environment");
    assert_eq!(
        (&found["console"]["tokenSource"], &found["console"]["tenantSource"]),
        (&json!("environment"), &json!("absent"))
    );
    assert_eq!(found["console"]["authenticated"], true);
}

#[test]
fn a_stand_in_that_checks_no_token_is_no_refusal_and_no_acceptance() {
    let env = TestEnv::new();
    let listener = tally::relay::receiver::Receiver::start(0).unwrap();
    let file = token_file(&env, TOKEN);
    let args = ["--console-url", &listener.url(), "--console-token-file", &file, "--console-tenant", "acme"];
    let said = String::from_utf8(init(&env, &args, 0).stdout).unwrap();
    assert!(said.contains("answers, and checks no token") && !said.contains("does NOT accept"), "{said}");
    let again = json(&init(&env, &["--json"], 0), "init.schema.json");
    assert_eq!(again["verification"]["authenticated"], Value::Null);
    assert!(listener.received().is_empty(), "a look is no record");
}
