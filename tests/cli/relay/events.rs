//! Session events on their way to the Console, when nothing else is on its way.

use super::{TOKEN, conf};
use crate::env::TestEnv;
use serde_json::{Value, json};
use tally::relay::receiver::Receiver;

/// A workspace whose events alone are relayed, before the hook returns; `more` are further lines of the conf.
fn machine(receiver: &Receiver, more: &str) -> TestEnv {
    let mut env = TestEnv::new();
    env.set("FLOW_AGENTS_TELEMETRY_FOREGROUND", "true");
    env.set("FLOW_AGENTS_CONSOLE_TELEMETRY_RELAY", "1");
    let url = receiver.url();
    conf(
        &env,
        &format!(
            "console_telemetry_url={url}\nconsole_telemetry_token={TOKEN}\nconsole_economics_relay=off\n{more}"
        ),
    );
    env
}

fn prompt(env: &TestEnv) {
    env.hook(&json!({
        "hook_event_name": "UserPromptSubmit", "session_id": "s-1", "cwd": env.project(), "prompt": "go"
    }));
}

fn only(receiver: &Receiver) -> Value {
    let received = receiver.received();
    let [request] = &received[..] else { panic!("{} requests", received.len()) };
    assert_eq!(request.path, "/api/telemetry/records");
    serde_json::from_slice(&request.body).unwrap()
}

#[test]
fn a_prompt_is_sent_where_events_alone_are_relayed() {
    let receiver = Receiver::start(0).unwrap();
    prompt(&machine(&receiver, ""));
    assert_eq!(only(&receiver)["event_type"], "turn.user");
}

#[test]
fn what_the_user_hides_of_analytics_is_hidden_of_the_console_too() {
    let receiver = Receiver::start(0).unwrap();
    prompt(&machine(&receiver, "channel.analytics.redact=context.project\n"));
    let event = only(&receiver);
    assert_eq!(event["context"]["project"], Value::Null);
    // The Console's own list holds all the same.
    assert_eq!((&event["turn"]["prompt_text"], &event["context"]["cwd"]), (&Value::Null, &Value::Null));
}
