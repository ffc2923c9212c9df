//! What of an event leaves for the Console: `kontour.console.liveness` 0.1 (contract D.8, Console ingest §3 and §4).
//!
//! The Console keeps one row per (tenant, actor, subject) and forgets after a restart what the last record did not say,
//! so each record carries everything. A stamp that is ahead would pin the actor there, so it is brought back to now.

use super::actor::hash;
use super::event::{Event, Kind};
use super::stamp::Stamp;
use crate::relay::outbox::{self, Entry};
use crate::settings::Settings;
use crate::sys::clock;
use serde::Serialize;
use std::fmt::Write as _;
use std::time::Duration;

/// How long a hook waits for the outbox.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest time to live that the Console takes, in seconds.
const MAX_TTL_S: u64 = 86_400;
/// The longest text in a record, in characters (DESIGN §5).
const MAX_TEXT: usize = 190;

/// A record as the Console takes it; every field is always there.
#[derive(Debug, Serialize)]
pub struct Record<'a> {
    schema: &'static str,
    version: &'static str,
    #[serde(rename = "type")]
    kind: Kind,
    #[serde(rename = "subjectId")]
    subject: String,
    actor: String,
    actor_key: Option<String>,
    at: String,
    #[serde(rename = "ttlSeconds")]
    ttl_s: u64,
    host: Option<String>,
    branch: Option<String>,
    artifact_dir: Option<String>,
    source: Option<&'a str>,
    activity: Option<&'a super::event::Activity>,
}

impl<'a> Record<'a> {
    /// The record of `event`, whose claim lives for `ttl_s`, as sent at `now_ms`.
    #[must_use]
    pub fn new(event: &'a Event, ttl_s: u64, now_ms: i64) -> Self {
        let text = |text: &Option<String>| text.as_deref().map(bounded);
        let stamp = Stamp::lenient(&event.at).map_or(now_ms, |stamp| stamp.ms.min(now_ms));
        Self {
            schema: "kontour.console.liveness",
            version: "0.1",
            kind: event.kind,
            subject: bounded(&event.subject),
            actor: bounded(&event.actor),
            actor_key: text(&event.actor_key),
            at: Stamp::at(stamp).to_string(),
            ttl_s: ttl_s.clamp(1, MAX_TTL_S),
            host: text(&event.host),
            branch: text(&event.branch),
            artifact_dir: text(&event.artifact_dir),
            source: event.source,
            activity: event.activity.as_ref(),
        }
    }

    /// The record's identity at the Console, the same for all records of one pair.
    #[must_use]
    pub fn id(&self) -> String {
        format!("liveness:{}:{}", encode(&self.actor), encode(&self.subject))
    }

    /// The record on one line, in ASCII: what a terminal or a log could take for more than text is escaped.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn json(&self) -> serde_json::Result<String> {
        let json = serde_json::to_string(self)?;
        let mut ascii = String::with_capacity(json.len());
        for c in json.chars() {
            if c.is_ascii() && c != '\u{7f}' {
                ascii.push(c);
                continue;
            }
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
        Ok(ascii)
    }
}

/// Queues the record of `event` if the liveness relay is on; whether it did.
///
/// # Errors
/// When the outbox cannot be written.
pub fn queue(event: &Event, ttl_s: u64, settings: &Settings) -> Result<bool, outbox::Error> {
    let Some(destination) = settings.destination.as_ref().filter(|_| settings.liveness_relay.on) else {
        return Ok(false);
    };
    let Some(endpoint) = &destination.liveness else { return Ok(false) };
    let now_ms = clock::now_ms();
    let record = Record::new(event, ttl_s, now_ms);
    let entry = Entry {
        id: record.id(),
        kind: outbox::LIVENESS.to_owned(),
        origin: endpoint.origin().to_owned(),
        path: endpoint.path().to_owned(),
        tenant: destination.tenant.clone(),
        source: destination.source.to_string(),
        enqueued_at: now_ms,
        // The stream has no cursor: an event that was not queued is made good by the next heartbeat.
        journal_end: 0,
        put_back: false,
        body: Entry::body(&record.json().map_err(outbox::Error::Body)?)?,
    };
    outbox::enqueue(&settings.data_dir, &entry, PATIENCE)?;
    Ok(true)
}

/// `text` without NUL, which no Console store can hold; one that is too long is replaced by its hash.
fn bounded(text: &str) -> String {
    if text.chars().count() <= MAX_TEXT {
        return text.replace('\0', "\u{fffd}");
    }
    format!("sha256-{}", hash(text, 32))
}

/// As JavaScript's `encodeURIComponent`.
fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests;
