//! What each host says, and the records that come of it. `tests/fixtures/hosts/<host>/` has a file per event, fired in the
//! order of their names: the payload, the records of both channels, the reply. Written by hand after the contract (A.2–A.9).

use crate::env::{TestEnv, lines};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tally::hosts::{Field, Mapping};

mod golden;
mod hooks;
mod sink;

const CLOCK_MS: &str = "1790000000000";

fn sorted(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|item| item.unwrap().path()).collect();
    paths.sort();
    paths
}

fn machine() -> TestEnv {
    let mut env = TestEnv::new();
    env.set("TALLY_CLOCK_MS", CLOCK_MS);
    env
}

fn channel(env: &TestEnv, name: &str) -> Vec<Value> {
    lines(&env.data_dir().join(format!("{name}.jsonl")))
}

/// Ids are random, but for that of a session's usage.
fn without_random_ids(records: &[Value]) -> Vec<Value> {
    let mut records = records.to_vec();
    for record in &mut records {
        let record = record.as_object_mut().unwrap();
        if !record["event_id"].as_str().unwrap().ends_with("-usage") {
            record.remove("event_id");
        }
    }
    records
}

/// A payload of Claude Code.
fn claude(env: &TestEnv, session: &str, event: &str, more: &Value) -> Value {
    let mut payload = serde_json::json!({
        "hook_event_name": event, "session_id": session, "cwd": env.project(),
        "transcript_path": env.home().join(format!("{session}.jsonl")),
    });
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload
}

#[test]
fn each_event_of_each_host_becomes_the_records_of_its_fixture() {
    let schema: Value = serde_json::from_str(include_str!("../../schemas/event.schema.json")).unwrap();
    let hosts = sorted(&crate::env::fixture("hosts"));
    assert_eq!(hosts.len(), 6);
    for host in hosts {
        let env = machine();
        let name = host.file_name().unwrap().to_str().unwrap().to_owned();
        let mut seen = [0, 0];
        for path in sorted(&host) {
            let text = std::fs::read_to_string(&path).unwrap();
            let text =
                text.replace("@CWD@", env.project().to_str().unwrap()).replace("@OS@", std::env::consts::OS);
            let fixture: Value = serde_json::from_str(&text).unwrap();
            let given = fixture["event"].as_str().map(|event| ["--event", event]);
            let args =
                [&["hook", name.as_str()][..], given.as_ref().map_or(&[], |given| &given[..])].concat();
            let output = env.feed(&args, fixture["payload"].to_string().as_bytes());
            let at = path.display();
            assert_eq!(output.status.code(), Some(0), "{at}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), fixture["reply"].as_str().unwrap(), "{at}");
            for record in channel(&env, "full").iter().chain(&channel(&env, "analytics")) {
                jsonschema::validate(&schema, record)
                    .unwrap_or_else(|error| panic!("{at}: {error}: {record}"));
            }
            for (channel_name, seen) in ["full", "analytics"].into_iter().zip(&mut seen) {
                let records = channel(&env, channel_name);
                let new = without_random_ids(&records[*seen..]);
                *seen = records.len();
                assert_eq!(Value::from(new), fixture[channel_name], "{at}: {channel_name}: {}", env.log());
            }
        }
    }
}

#[test]
fn the_schema_refuses_what_is_no_event() {
    let env = machine();
    env.hook(&claude(&env, "s-1", "UserPromptSubmit", &json!({"prompt": "x"})));
    let schema: Value = serde_json::from_str(include_str!("../../schemas/event.schema.json")).unwrap();
    let record = channel(&env, "full").pop().unwrap();
    jsonschema::validate(&schema, &record).unwrap();
    for (pointer, wrong) in
        [("/timestamp", json!(5)), ("/event_type", json!("turn")), ("/turn/prompt_length", json!(-1))]
    {
        let mut broken = record.clone();
        *broken.pointer_mut(pointer).unwrap() = wrong;
        assert!(!jsonschema::is_valid(&schema, &broken), "{pointer}");
    }
    let mut broken = record;
    broken["hook"]["prompt"] = "x".into();
    assert!(!jsonschema::is_valid(&schema, &broken), "a field too many");
}

/// The tables of what each host says, for docs/events.md.
fn page_of_hosts() -> String {
    let mut page = String::new();
    for host in Mapping::hosts() {
        let mapping = Mapping::of(host).unwrap();
        page += &format!("\n### {host}\n\n| event | means |\n|---|---|\n");
        for (native, meaning) in mapping.events() {
            let more =
                [(meaning.ends, ", and the session is over"), (meaning.failed, ", and the call failed")];
            let more: String = more.iter().filter(|(is, _)| *is).map(|(_, text)| *text).collect();
            page += &format!("| `{native}` | `{}`{more} |\n", meaning.kind.as_str());
        }
        page += "\n| field | where the payload has it |\n|---|---|\n";
        for (field, name) in Field::ALL {
            let places: Vec<_> = mapping.places(field).map(|place| format!("`{place}`")).collect();
            let places = if places.is_empty() { "not told".to_owned() } else { places.join(", else ") };
            page += &format!("| {name} | {places} |\n");
        }
        page += "\n| gap | why |\n|---|---|\n";
        for (what, why) in mapping.gaps() {
            page += &format!("| {what} | {why} |\n");
        }
    }
    page
}

#[test]
fn the_page_of_events_lists_the_words_of_every_host() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/events.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- hosts: begin -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- hosts: end -->").unwrap();
    let fresh = format!("{before}<!-- hosts: begin -->\n{}\n<!-- hosts: end -->{after}", page_of_hosts());
    #[expect(clippy::disallowed_methods, reason = "asks whoever runs the test")]
    if std::env::var_os("TALLY_WRITE_DOCS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    assert_eq!(text, fresh, "TALLY_WRITE_DOCS=1 cargo test --test cli page_of_events writes it again");
}
