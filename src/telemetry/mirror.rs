//! The Console's copy of an event: what leaves the machine, and how it is queued (contract A.14, Console ingest §3).
//!
//! One record is one request, and no event starts a process: records wait in the outbox for the worker that the next start,
//! prompt or stop wakes. A session's usage has one id, and the later figure is always sent after the earlier one.

use super::channel::{copy, line};
use super::redact::Paths;
use crate::relay::outbox::{self, Entry};
use crate::settings::Settings;
use crate::sys::clock;
use serde_json::Value;
use std::time::Duration;

/// The kind of session events in the outbox.
const KIND: &str = "telemetry";
/// How long a hook waits for the outbox.
const PATIENCE: Duration = Duration::from_secs(2);

/// Queues the Console's copy of `records`, if session events are relayed. Returns what is to be said.
///
/// # Errors
/// When the outbox cannot be written; the events are in their channels.
pub fn queue(records: &[Value], settings: &Settings) -> (Vec<String>, Result<(), outbox::Error>) {
    let Some(destination) = settings.destination.as_ref().filter(|_| settings.telemetry_relay.on) else {
        return (vec![], Ok(()));
    };
    let Some(endpoint) = &destination.telemetry else { return (vec![], Ok(())) };
    let channels = &settings.channels;
    let analytics = channels.on.iter().find(|channel| channel.name == "analytics");
    let analytics = analytics.and_then(|channel| channel.redact.as_deref());
    let (paths, refused) = Paths::of_console(channels.console_redact.as_deref(), analytics);
    let said = refused.iter().map(|refused| format!("the Console's copy: {refused}")).collect();
    let queued = records.iter().try_for_each(|record| {
        let id = record.get("event_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let body = line(sendable(copy(record, &paths))).map_err(outbox::Error::Body)?;
        let entry = Entry {
            id,
            kind: KIND.to_owned(),
            origin: endpoint.origin().to_owned(),
            path: endpoint.path().to_owned(),
            tenant: destination.tenant.clone(),
            source: destination.source.to_string(),
            enqueued_at: clock::now_ms(),
            // The channels have no cursor: what a kill kept out of the outbox is in them, and stays there.
            journal_end: 0,
            put_back: false,
            body: Entry::body(&body)?,
        };
        outbox::enqueue(&settings.data_dir, &entry, PATIENCE)
    });
    (said, queued)
}

/// `record` without NUL, which no Console store can hold.
fn sendable(mut record: Value) -> Value {
    let mut stack = vec![&mut record];
    while let Some(value) = stack.pop() {
        match value {
            Value::String(text) if text.contains('\0') => *text = text.replace('\0', "\u{fffd}"),
            Value::Array(items) => stack.extend(items),
            Value::Object(fields) => stack.extend(fields.values_mut()),
            _ => {}
        }
    }
    record
}
