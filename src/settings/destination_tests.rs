//! The group that is never mixed, and the binding of a token to its source.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn environment(pairs: &[(&str, &str)]) -> Env {
    Env::from_pairs(pairs.iter().copied())
}

fn conf(text: &str) -> Conf {
    Conf::parse(Path::new("/c"), text.as_bytes())
}

fn token(result: Result<Option<Secret>, Unusable>) -> Option<String> {
    result.unwrap().map(|secret| secret.expose().to_owned())
}

#[test]
fn a_source_survives_its_text_form() {
    for source in [Source::Flag, Source::Environment, Source::Conf("/a b/c:d".into())] {
        assert_eq!(source.to_string().parse(), Ok(source));
    }
    assert_eq!("conf".parse::<Source>(), Err(UnknownSource));
}

#[test]
fn without_a_url_a_token_and_a_tenant_are_no_destination() {
    assert_eq!(Destination::from_conf(&conf("console_telemetry_token=t\nconsole_tenant_id=x")), None);
    assert_eq!(Destination::from_env(&environment(&[("CONSOLE_AUTH_TOKEN", "t")])), None);
    let flags = Flags { tenant: Some("x".into()), ..Flags::default() };
    assert_eq!(Destination::from_flags(&flags, Path::new("/")), None);
}

#[test]
fn a_refused_url_falls_back_to_nothing_and_is_named_once_without_its_text() {
    let found = Destination::from_conf(&conf(
        "console_url=https://u:hunter2@h\nconsole_telemetry_endpoint_url=https://e/p\n",
    ))
    .unwrap();
    assert_eq!((&found.economics, &found.liveness), (&None, &None));
    assert_eq!(found.telemetry.unwrap().url().as_str(), "https://e/p");
    assert_eq!(found.problems, ["conf:/c: console_telemetry_url carries a user name or password"]);

    let found = Destination::from_conf(&conf(
        "console_url=https://h\nconsole_economics_endpoint_url=http://plain.example\n",
    ))
    .unwrap();
    assert_eq!(found.economics, None);
    assert_eq!(found.liveness.unwrap().url().as_str(), "https://h/records");
}

#[test]
fn unsafe_credentials_are_unusable_and_not_shown() {
    let long = "x".repeat(4097);
    for bad in ["tok en", "tok\"en", "tök", &long] {
        let found =
            Destination::from_conf(&conf(&format!("console_url=https://h\nconsole_telemetry_token={bad}")));
        let error = found.unwrap().load_credential().unwrap_err().to_string();
        assert!(error.starts_with("conf:/c: the token") && !error.contains(bad), "{error}");
    }
    let found = Destination::from_conf(&conf("console_url=https://h\nconsole_tenant_id=\"t\"")).unwrap();
    assert!(found.load_credential().unwrap_err().to_string().contains("the tenant"));

    let longest = "x".repeat(4096);
    let found =
        Destination::from_conf(&conf(&format!("console_url=https://h\nconsole_telemetry_token={longest}")));
    assert_eq!(token(found.unwrap().load_credential()), Some(longest));
}

#[test]
fn a_token_file_is_read_when_asked_and_its_faults_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let text = path.to_str().unwrap();
    let env = environment(&[("CONSOLE_URL", "https://h"), ("CONSOLE_TELEMETRY_TOKEN_FILE", text)]);
    let found = Destination::from_env(&env).unwrap();
    assert!(found.load_credential().unwrap_err().to_string().contains("does not exist"));
    fs::write(&path, "abc=\r\n").unwrap();
    assert_eq!(token(found.load_credential()), Some("abc=".into()));
    fs::write(&path, "\n").unwrap();
    assert!(found.load_credential().is_err(), "an empty token file is not the same as no token");

    let env = environment(&[("CONSOLE_URL", "https://h"), ("CONSOLE_TELEMETRY_TOKEN_FILE", "token")]);
    let error = Destination::from_env(&env).unwrap().load_credential().unwrap_err();
    assert!(error.to_string().contains("must be absolute"), "{error}");

    fs::write(&path, "of-the-flag").unwrap();
    let flags =
        Flags { console_url: Some("https://h".into()), token_file: Some("token".into()), tenant: None };
    assert_eq!(
        token(Destination::from_flags(&flags, dir.path()).unwrap().load_credential()),
        Some("of-the-flag".into())
    );
}

#[test]
fn the_environment_gives_its_token_only_to_its_own_origin_and_tenant() {
    let env = environment(&[
        ("CONSOLE_URL", "https://c"),
        ("FLOW_AGENTS_CONSOLE_ECONOMICS_ENDPOINT_URL", "https://e/records"),
        ("CONSOLE_AUTH_TOKEN", "tok"),
        ("FLOW_AGENTS_CONSOLE_TENANT", "a"),
    ]);
    let ask = |origin, tenant| credential_for(&Source::Environment, origin, tenant, &env);
    assert_eq!(token(ask("https://c", Some("a"))), Some("tok".into()));
    assert_eq!(token(ask("https://e", Some("a"))), Some("tok".into()));
    for (origin, tenant) in
        [("https://other", Some("a")), ("http://c", Some("a")), ("https://c", Some("b")), ("https://c", None)]
    {
        let error = ask(origin, tenant).unwrap_err().to_string();
        assert!(!error.contains("tok"), "{error}");
    }
    assert!(
        credential_for(&Source::Flag, "https://c", Some("a"), &env).is_err(),
        "flags do not outlive a command"
    );
}

#[test]
fn a_conf_is_read_and_trusted_again_for_every_credential() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("conf");
    let source = Source::Conf(path.clone());
    // The environment names the same Console, and is never asked.
    let env = environment(&[("CONSOLE_URL", "https://c"), ("CONSOLE_TELEMETRY_TOKEN", "envtok")]);
    let ask = || credential_for(&source, "https://c", None, &env);
    let write = |text: &str, mode| {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    assert!(ask().is_err(), "the conf is gone");
    write("console_url=https://c\nconsole_telemetry_token=one", 0o600);
    assert_eq!(token(ask()), Some("one".into()));
    write("console_url=https://c\nconsole_telemetry_token=two", 0o600);
    assert_eq!(token(ask()), Some("two".into()));
    write("console_url=https://c", 0o600);
    assert_eq!(token(ask()), None, "no token of its own: none, not the environment's");
    write("console_url=https://c\nconsole_telemetry_token=two", 0o644);
    assert!(ask().is_err(), "not trusted any more");
    write("console_url=https://d\nconsole_telemetry_token=two", 0o600);
    assert!(ask().is_err(), "another Console");
    write("console_url=https://c\nconsole_telemetry_token=two\nconsole_tenant_id=b", 0o600);
    assert!(ask().is_err(), "another tenant");
}
