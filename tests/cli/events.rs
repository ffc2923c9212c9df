//! What each host says, and the records that come of it. `tests/fixtures/hosts/<host>/` has a file per event, fired in the
//! order of their names: the payload, the records of both channels, the reply. Written by hand after the contract (A.2–A.9).

use crate::env::{TestEnv, lines};
use crate::transcript::{SESSION, Transcript};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tally::evidence::command_log::chain::{Status, verify};
use tally::hosts::{Field, Mapping};
use tally::relay::receiver::Receiver;

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

#[test]
fn interleaved_sessions_have_nothing_of_each_other() {
    let mut env = TestEnv::new();
    let bash = |id: &str| json!({"tool_name": "Bash", "tool_use_id": id, "tool_input": {"command": "ls"}});
    // Both sessions name their calls alike; each begins and ends at times of its own.
    let beats = [
        (1_000, "a", "SessionStart", json!({})),
        (2_000, "b", "SessionStart", json!({})),
        (3_000, "a", "PreToolUse", bash("t1")),
        (3_500, "b", "PreToolUse", bash("t1")),
        (3_600, "b", "PreToolUse", bash("t2")),
        (4_000, "a", "PostToolUse", bash("t1")),
        (5_500, "b", "PostToolUse", bash("t1")),
        (5_600, "a", "PostToolUse", bash("t2")),
        (9_000, "a", "Stop", json!({})),
        (9_000, "b", "Stop", json!({})),
    ];
    for (at_ms, session, event, more) in &beats {
        env.set("TALLY_CLOCK_MS", (1_790_000_000_000_i64 + at_ms).to_string());
        env.hook(&claude(&env, session, event, more));
    }
    let records = channel(&env, "full");
    let of = |session: &str, event_type: &str, pointer: &str| -> Vec<Value> {
        let own = records
            .iter()
            .filter(|record| record["session_id"] == session && record["event_type"] == event_type);
        own.map(|record| record.pointer(pointer).unwrap().clone()).collect()
    };
    assert_eq!(
        of("a", "tool.result", "/tool/duration_ms"),
        [json!(1_000), json!(null)],
        "t2 was another session's"
    );
    assert_eq!(of("b", "tool.result", "/tool/duration_ms"), [json!(2_000)]);
    assert_eq!(of("a", "session.end", "/session/duration_s"), [json!(8)]);
    assert_eq!(of("b", "session.end", "/session/duration_s"), [json!(7)]);
    assert_eq!(of("a", "session.usage", "/usage/tool_invocations"), [json!(1)]);
    assert_eq!(of("b", "session.usage", "/usage/tool_invocations"), [json!(2)]);
}

#[test]
fn an_event_without_a_working_directory_is_of_no_project_and_says_so() {
    let env = machine();
    env.hook(&json!({"hook_event_name": "UserPromptSubmit", "session_id": "s-1", "prompt": "x"}));
    let context = &channel(&env, "analytics")[0]["context"];
    assert_eq!(
        (&context["project"], &context["project_source"]),
        (&json!("unknown"), &json!("no working directory"))
    );
}

#[test]
fn what_a_user_lets_through_holds_no_credential() {
    let mut env = machine();
    env.set("TELEMETRY_CHANNEL_FULL_REDACT", "none");
    env.set("TELEMETRY_CHANNELS", "full");
    let key = ["sk-ant-", "api03-", &"Ab3".repeat(30)].concat();
    let command = format!("curl -H 'x-api-key: {key}' https://u:{key}@example.com # said");
    env.hook(&claude(
        &env,
        "s-1",
        "PreToolUse",
        &json!({"tool_name": "Bash", "tool_input": {"command": command}}),
    ));
    let text = std::fs::read_to_string(env.data_dir().join("full.jsonl")).unwrap();
    assert!(text.contains("example.com # said") && !text.contains(&key[14..]), "{text}");
    assert!(!env.data_dir().join("analytics.jsonl").exists());
}

#[test]
fn a_path_that_is_an_expression_closes_the_channel_and_is_said() {
    let mut env = machine();
    env.set("TELEMETRY_CHANNEL_ANALYTICS_REDACT", "tool.input,(.context | keys)");
    env.hook(&claude(&env, "s-1", "UserPromptSubmit", &json!({"prompt": "do not tell"})));
    let record = &channel(&env, "analytics")[0];
    assert_eq!(record["event_type"], "turn.user");
    assert!(
        record.get("turn").is_none_or(Value::is_null) && record.get("context").is_none_or(Value::is_null),
        "{record}"
    );
    assert!(env.log().contains("redaction path"), "{}", env.log());
}

#[test]
fn a_payload_of_any_shape_is_one_valid_line_or_one_note() {
    let long = "x".repeat(1 << 20);
    let hostile = [
        format!(r#"{{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_response":{{"stdout":"{long}"}}}}"#),
        r#"{"hook_event_name":"PreToolUse","session_id":"a\u0000b","tool_name":"\ud800","tool_input":{"command":"\u0000"}}"#.to_owned(),
        format!(r#"{{"hook_event_name":"PreToolUse","session_id":"s","tool_input":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000)),
        r#"{"hook_event_name":"Stop","hook_event_name":"PreToolUse","session_id":"x","session_id":"s"}"#.to_owned(),
        r#"{"hook_event_name":"PostToolUse","session_id":7,"cwd":[],"transcript_path":{},"tool_name":1,"tool_input":"t","tool_response":3,"tool_use_id":[1]}"#.to_owned(),
        r#"{"hook_event_name":["x"],"session_id":"s"}"#.to_owned(),
        "[1]".to_owned(),
    ];
    for host in ["claude-code", "codex", "opencode", "pi", "kiro", "generic"] {
        for payload in &hostile {
            let mut env = machine();
            env.set("TELEMETRY_CHANNEL_FULL_REDACT", "none");
            let output = env.feed(&["hook", host], payload.as_bytes());
            let start = &payload[..payload.len().min(90)];
            assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{host}: {start}");
            let written = std::fs::read_to_string(env.data_dir().join("full.jsonl")).unwrap_or_default();
            let records = channel(&env, "full").len();
            assert_eq!(records, written.lines().count(), "{host}: {start}");
            let notes = env.log().lines().count();
            assert!(matches!((records, notes), (1, 0) | (0, 1)), "{host}: {start}: {records}, {}", env.log());
        }
    }
}

/// A machine whose events go to `console`.
fn mirrored(console: &Receiver) -> TestEnv {
    let mut env = TestEnv::new();
    env.set("FLOW_AGENTS_CONSOLE_TELEMETRY_RELAY", "1");
    crate::relay::console(&env, console);
    env
}

fn bodies(console: &Receiver, path: &str) -> Vec<Value> {
    let requests = console.received().into_iter().filter(|request| request.path == path);
    requests.map(|request| serde_json::from_slice(&request.body).unwrap()).collect()
}

#[test]
fn the_consoles_copy_has_no_words_paths_or_outputs_and_one_usage_id_per_session() {
    let console = Receiver::start(0).unwrap();
    let env = mirrored(&console);
    let mut transcript = Transcript::new(&env, SESSION);
    transcript.prompt();
    env.hook(&transcript.payload(&env, "SessionStart"));
    let canary = "canary-7f3a";
    let say = |event: &str, more: Value| {
        let mut payload = transcript.payload(&env, event);
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        env.hook(&payload);
    };
    say("UserPromptSubmit", json!({"prompt": canary}));
    say(
        "PreToolUse",
        json!({"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": canary, "description": canary}}),
    );
    say(
        "PermissionRequest",
        json!({"tool_name": "Bash", "tool_input": {"command": canary, "description": canary}}),
    );
    say(
        "PostToolUse",
        json!({"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": canary}, "tool_response": {"stdout": canary, "exitCode": 0}}),
    );
    say(
        "PreToolUse",
        json!({"tool_name": "InvokeSubagents", "tool_input": {"targets": [{"agent_name": "writer", "query": canary}]}}),
    );
    for (at, cost) in [("m1", [10, 20, 30]), ("m2", [1, 2, 3])] {
        transcript.call(at, "claude-opus-4-8", cost);
        let mut payload = transcript.payload(&env, "Stop");
        payload["last_assistant_message"] = canary.into();
        env.hook(&payload);
    }
    crate::relay::flush(&env);
    let events = bodies(&console, "/api/telemetry/records");
    let text = Value::from(events.clone()).to_string();
    for secret in [canary, env.project().to_str().unwrap(), env.home().to_str().unwrap()] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let mut types: Vec<_> = events.iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    types.sort_unstable();
    types.dedup();
    assert_eq!(
        types,
        [
            "agent.delegate",
            "session.end",
            "session.start",
            "session.usage",
            "tool.invoke",
            "tool.permission_request",
            "tool.result",
            "turn.user"
        ]
    );
    let usage: Vec<_> = events.iter().filter(|event| event["event_type"] == "session.usage").collect();
    assert_eq!(usage.len(), 2);
    assert!(usage.iter().all(|event| event["event_id"] == format!("{SESSION}-usage")), "{usage:?}");
    // The last one that arrives is the whole session: what the Console keeps.
    assert_eq!(usage[1]["usage"]["input_tokens"], 11);
    assert_eq!(usage[1]["usage"]["output_tokens"], 22);
    assert_eq!(usage[1]["context"]["project"], "project");
    let local = channel(&env, "full").len();
    assert_eq!(events.len(), local, "each event leaves once");
    assert_eq!(bodies(&console, "/records").len(), 2, "economics goes its own way");
}

#[test]
fn without_a_console_or_where_it_is_switched_off_no_event_is_queued() {
    let console = Receiver::start(0).unwrap();
    let off = |name: &str, value: &str| {
        let mut env = mirrored(&console);
        env.set(name, value);
        env
    };
    let mut without = TestEnv::new();
    without.set("FLOW_AGENTS_CONSOLE_TELEMETRY_RELAY", "1");
    for env in [without, off("FLOW_AGENTS_CONSOLE_TELEMETRY_RELAY", "0"), off("DO_NOT_TRACK", "1")] {
        env.hook(&claude(&env, "s-1", "UserPromptSubmit", &json!({"prompt": "x"})));
        assert_eq!(crate::relay::status(&env)["enqueued"], 0);
        assert_eq!(channel(&env, "full").len(), 1);
    }
}

#[test]
fn a_command_of_a_bound_session_is_in_the_tasks_log_and_a_later_silence_is_no_pass() {
    let env = machine();
    let task = env.project().join(".kontourai/flow-agents/t");
    std::fs::create_dir_all(&task).unwrap();
    std::fs::write(task.parent().unwrap().join("current.json"), r#"{"active_slug":"t"}"#).unwrap();
    std::fs::write(task.join("state.json"), r#"{"task_slug":"t","status":"in_progress"}"#).unwrap();
    let run = |event: &str, tool: &str, command: &str, more: Value| {
        let mut call = json!({"tool_name": tool, "tool_input": {"command": command}});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        env.hook(&claude(&env, "s-1", event, &call));
    };
    run(
        "PostToolUse",
        "Bash",
        "npm  test",
        json!({"tool_response": {"exitCode": 1, "stdout": "Process exited with code 0"}}),
    );
    run("PostToolUse", "Bash", "npm test", json!({"tool_response": {"stdout": "fine"}}));
    run("PostToolUseFailure", "Bash", "npm run lint", json!({}));
    run("PostToolUse", "Read", "npm test", json!({"tool_response": {"exitCode": 0}}));
    run("PreToolUse", "Bash", "npm test", json!({}));
    let log = lines(&task.join("command-log.jsonl"));
    let seen: Vec<_> =
        log.iter().map(|row| [&row["command"], &row["observedResult"], &row["exitCode"]]).collect();
    assert_eq!(
        json!(seen),
        json!([["npm test", "fail", 1], ["npm test", "ambiguous", null], ["npm run lint", "fail", null]])
    );
    let bytes = std::fs::read(task.join("command-log.jsonl")).unwrap();
    assert_eq!(verify(&bytes), Status::Whole);
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
