//! The incumbent's recorded answers (`tests/fixtures/flow-agents/golden`), row by row. Where Tally answers otherwise the
//! row is in a table here with our answer, and in `docs/differences/settings.md` with the reason; a table row that
//! no longer differs fails too.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::conf::{Conf, Lookup};
use super::destination::{Destination, Flags};
use super::endpoint::Endpoint;
use super::env::Env;
use super::switch::{RelayKind, relay_switch};

macro_rules! golden {
    ($name:literal) => {
        rows(include_str!(concat!("../../tests/fixtures/flow-agents/golden/", $name, ".jsonl")))
    };
}

fn rows<Row: DeserializeOwned>(text: &str) -> Vec<Row> {
    let rows: Vec<Row> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!rows.is_empty());
    rows
}

fn relay(kind: RelayKind, lookup: &Lookup, env: &Env, destination: Option<&Destination>) -> bool {
    relay_switch(kind, lookup, env, destination, &mut Vec::new()).on
}

#[test]
fn endpoint_allow() {
    #[derive(Deserialize)]
    struct Row {
        url: String,
        peer_allows: bool,
    }
    let ours = BTreeMap::from([
        ("HTTPS://x", true),
        ("http://[::1]:3", true),
        ("http://LOCALHOST", true),
        ("http://127.0.0.1:80@evil.com/x", false),
        ("http://localhost:x@evil.com", false),
        ("https://u:p@h/x", false),
        ("https://a\tb", false),
        ("https://", false),
        ("https://x y", false),
    ]);
    let rows: Vec<Row> = golden!("endpoint-allow");
    for row in &rows {
        let expected = ours.get(row.url.as_str()).copied().unwrap_or(row.peer_allows);
        assert_eq!(Endpoint::parse(&row.url).is_ok(), expected, "{:?}", row.url);
    }
    for (url, allowed) in ours {
        assert!(
            rows.iter().any(|row| row.url == url && row.peer_allows != allowed),
            "{url:?} is no difference"
        );
    }
}

#[test]
fn endpoint_derivation() {
    #[derive(Deserialize)]
    struct Row {
        env: BTreeMap<String, String>,
        telemetry: Option<String>,
        economics_3_4_1: Option<String>,
        liveness_6x: Option<String>,
    }
    let telemetry_records = Some("https://c/api/telemetry/records");
    let records = Some("https://c/records");
    // By the one URL that the row's environment sets: telemetry, economics, liveness.
    let ours = BTreeMap::from([
        ("https://c//", [telemetry_records, records, records]),
        ("https://c/api/telemetry", [telemetry_records, records, records]),
        ("https://c/api/telemetry/", [telemetry_records, records, records]),
        ("https://c/api/telemetry/records", [telemetry_records, records, records]),
        (
            "https://e/api/telemetry/records",
            [Some("https://e/api/telemetry/records"), Some("https://e/records"), Some("https://e/records")],
        ),
    ]);
    let rows: Vec<Row> = golden!("endpoint-derivation");
    let mut differing = 0;
    for row in &rows {
        let golden = [&row.telemetry, &row.economics_3_4_1, &row.liveness_6x].map(Option::as_deref);
        let only = row.env.values().next().filter(|_| row.env.len() == 1);
        let expected = only.and_then(|url| ours.get(url.as_str())).copied().unwrap_or(golden);
        differing += usize::from(expected != golden);

        let found = Destination::from_env(&Env::from_pairs(row.env.clone()));
        let answer = found.map_or([const { None }; 3], |found| {
            [found.telemetry, found.economics, found.liveness]
                .map(|e| e.map(|e| String::from(e.url().as_str())))
        });
        assert_eq!(answer.each_ref().map(Option::as_deref), expected, "{:?}", row.env);
    }
    assert_eq!(differing, 6, "rows that differ, one of them twice in the file");
}

#[test]
fn relay_flag() {
    #[derive(Deserialize)]
    struct Row {
        value: String,
        economics_relay_sh: bool,
        liveness_relay_sh: bool,
    }
    // The value: economics, liveness. Empty is absent, so a configured Console decides.
    let ours = BTreeMap::from([
        ("True", [true, true]),
        ("YES", [true, true]),
        ("ON", [true, true]),
        ("", [true, false]),
    ]);
    for row in golden!("relay-flag") {
        let row: Row = row;
        let golden = [row.economics_relay_sh, row.liveness_relay_sh];
        let expected = ours.get(row.value.as_str()).copied().unwrap_or(golden);
        let env = Env::from_pairs([
            ("CONSOLE_URL", "https://c"),
            ("FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY", &row.value),
            ("FLOW_AGENTS_CONSOLE_LIVENESS_RELAY", &row.value),
        ]);
        let destination = Destination::from_env(&env);
        let answer = [RelayKind::Economics, RelayKind::Liveness]
            .map(|kind| relay(kind, &Lookup::default(), &env, destination.as_ref()));
        assert_eq!(answer, expected, "{:?}", row.value);
        assert_eq!(ours.contains_key(row.value.as_str()), expected != golden, "{:?}", row.value);
    }
}

#[derive(Deserialize)]
struct ConfRow {
    case: String,
    conf: String,
    env: BTreeMap<String, String>,
    resolved: BTreeMap<String, String>,
}

impl ConfRow {
    fn golden(&self, name: &str) -> Option<&str> {
        self.resolved.get(name).map(String::as_str)
    }

    fn parsed(&self) -> Conf {
        Conf::parse(Path::new("/conf"), self.conf.as_bytes())
    }
}

/// The 21 files on their own: what each key holds.
#[test]
fn conf_parse_alone() {
    let keys = [
        ("console_telemetry_url", "CONSOLE_TELEMETRY_URL"),
        ("console_telemetry_token", "CONSOLE_TELEMETRY_TOKEN"),
        ("console_tenant_id", "CONSOLE_TENANT_ID"),
        ("channel.extra.log_file", "TELEMETRY_CHANNEL_EXTRA_LOG_FILE"),
        ("channel.full.redact", "TELEMETRY_CHANNEL_FULL_REDACT"),
        ("enabled", "TELEMETRY_ENABLED"),
    ];
    let ours = BTreeMap::from([
        (("one_trailing_eq", "console_telemetry_token"), "abc="),
        (("no_final_newline", "console_tenant_id"), "t"),
        (("dash_n", "console_tenant_id"), "-n"),
        (("bom", "console_tenant_id"), "t"),
    ]);
    let rows: Vec<ConfRow> = golden!("conf-parse");
    let alone: Vec<_> = rows.iter().filter(|row| row.env.is_empty()).collect();
    assert_eq!(alone.len(), 21);
    for row in alone {
        let conf = row.parsed();
        for (key, variable) in keys {
            let golden = row.golden(variable);
            let expected = ours.get(&(row.case.as_str(), key)).copied();
            assert!(expected.is_none() || expected != golden, "{}: {key} is no difference", row.case);
            assert_eq!(conf.get(key), expected.or(golden), "{}: {key}", row.case);
        }
        let destination = Destination::from_conf(&conf);
        let lookup = Lookup { conf: Some(conf), ..Lookup::default() };
        let on = |kind| relay(kind, &lookup, &Env::default(), destination.as_ref());
        assert_eq!(on(RelayKind::Economics), row.golden("FLOW_AGENTS_CONSOLE_ECONOMICS_RELAY").is_some());
        assert!(!on(RelayKind::Liveness), "{}: liveness is off until asked for", row.case);
    }
}

/// The same files with a URL, token and tenant in the environment: the conf's group if it names a URL, else the
/// environment's, never a mix. `same`: whether the incumbent resolves the same three values.
#[test]
fn conf_parse_with_an_environment() {
    const ENVIRONMENT: (&str, Option<&str>, Option<&str>) =
        ("https://env/records", Some("envtok"), Some("envten"));
    let rows: Vec<ConfRow> = golden!("conf-parse");
    let with_env: Vec<_> = rows.iter().filter(|row| !row.env.is_empty()).collect();
    assert_eq!(with_env.len(), 21);
    for row in with_env {
        let (expected, same) = match row.case.as_str() {
            "basic" | "crlf" | "no_final_newline" => (("https://c/records", None, Some("t")), false),
            "spaces" => (("https://c/records", None, None), false),
            "eq_in_value" => (("https://c/records?a=b=c", None, None), false),
            "console_url_alias" => (("https://b/records", None, None), false),
            "alias_reverse" => (("https://a/records", None, None), false),
            "no_equals" | "key_inner_space" | "bom" | "channel_key" | "export_prefix" => (ENVIRONMENT, true),
            _ => (ENVIRONMENT, false),
        };
        let env = Env::from_pairs(row.env.clone());
        let lookup = Lookup { conf: Some(row.parsed()), ..Lookup::default() };
        let found = super::resolve_destination(&env, Path::new("/"), &Flags::default(), &lookup).unwrap();
        let token = found.load_credential().unwrap();
        let economics = found.economics.as_ref().map(|endpoint| endpoint.url().as_str());
        assert_eq!(economics, Some(expected.0), "{}", row.case);
        assert_eq!(token.as_ref().map(|token| token.expose()), expected.1, "{}", row.case);
        assert_eq!(found.tenant.as_deref(), expected.2, "{}", row.case);

        let golden = (
            format!("{}/records", row.golden("CONSOLE_TELEMETRY_URL").unwrap()),
            row.golden("CONSOLE_TELEMETRY_TOKEN"),
            row.golden("CONSOLE_TENANT_ID"),
        );
        assert_eq!((golden.0.as_str(), golden.1, golden.2) == expected, same, "{}", row.case);
        assert!(relay(RelayKind::Economics, &lookup, &env, Some(&found)), "{}", row.case);
        assert!(!relay(RelayKind::Liveness, &lookup, &env, Some(&found)), "{}", row.case);
    }
}
