//! Session events: what a host says becomes records of schema `0.3.0`, in local channels first, then in the outbox
//! (contract A).
//!
//! 1. [`event`] is pure: an event and what is known besides become records.
//! 2. [`session`] is what one event must know of another; it is a cache.
//! 3. Nothing is written or sent but a copy that was [redacted](redact) and from which credentials were
//!    [masked](secrets): each channel by its own list, the Console by another.
//! 4. The channels come first. What fails for the Console is in them.

pub mod channel;
pub mod event;
pub mod mirror;
pub mod redact;
pub mod secrets;
pub mod session;

use crate::attribution::project::Project;
use crate::evidence::outcome::{self, Observed};
use crate::hosts::{Field, HostEvent, Kind};
use crate::journal::label::label;
use crate::settings::Settings;
use event::{Moment, ToolResult};
use serde_json::{Value, json};
use session::Memory;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

/// What a hook knows of an event when it emits it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// What the host said.
    pub event: &'a HostEvent<'a>,
    /// The folder whose project it is; `None` where the host names no folder.
    pub cwd: Option<&'a Path>,
    /// What the user decided.
    pub settings: &'a Settings,
    /// When the hook was called, in epoch milliseconds.
    pub now_ms: i64,
    /// The fields of the payload that were not read whole.
    pub cut: &'a [String],
    /// At a stop with news.
    pub usage: Option<Usage<'a>>,
    /// The run's task, where it is known.
    pub task_slug: Option<&'a str>,
    /// At the end of a tool call: what it came to.
    pub observed: Option<Observed>,
}

/// A session's usage so far.
#[derive(Clone, Copy)]
pub struct Usage<'a> {
    /// The session, as records name it. A subagent's stop may bring news of the session above it.
    pub whose: &'a str,
    /// The number of the session's last economics record.
    pub sequence: u64,
    /// The sums.
    pub sums: &'a Value,
}

/// Whether the usage as of a session's economics record was told already. It was not where a hook was killed in between.
#[must_use]
pub fn is_usage_told(event: &HostEvent<'_>, settings: &Settings, whose: &str, sequence: u64) -> bool {
    memory_of(event, settings, whose).usage_told() == Some(sequence)
}

/// The memory of the session that records name `whose`.
fn memory_of(event: &HostEvent<'_>, settings: &Settings, whose: &str) -> Memory {
    let own = event.text(Field::Session).filter(|id| label(id) == whose);
    Memory::of(&settings.data_dir, event.host(), own.unwrap_or(whose))
}

/// Emits the records of an event. Returns what is to be said, one line each; the records are written as far as they can be.
#[must_use]
pub fn emit(call: &Call<'_>) -> Vec<String> {
    let event = call.event;
    let settings = call.settings;
    let session = event.text(Field::Session);
    let named = session.map(label);
    let mut memory = session.map(|id| Memory::of(&settings.data_dir, event.host(), id));
    let project = call.cwd.and_then(|cwd| {
        let find = || project(cwd, settings);
        match &mut memory {
            Some(memory) => memory.project(cwd, find),
            None => find(),
        }
    });
    if let Some(memory) = memory.as_mut().filter(|_| event.kind() == Kind::AgentSpawn) {
        memory.start(call.now_ms);
    }
    let key = || outcome::duration_key(event.payload);
    let result = call.observed.map(|observed| ToolResult {
        duration_ms: memory.as_mut().and_then(|memory| memory.end(&key(), call.now_ms)),
        status: outcome::status(event.payload, observed.result),
        observed,
    });
    // A clock that was set back makes no session shorter than nothing.
    let duration_ms = memory.as_ref().and_then(Memory::started_ms).map(|start| (call.now_ms - start).max(0));
    let mut said = vec![];
    let usage = call.usage.map(|Usage { whose, sums, .. }| {
        if named.as_deref() == Some(whose) {
            let counts = memory.as_ref().map_or(Ok(session::Counts::default()), Memory::counts);
            return (whose, with_counts(sums, counts, duration_ms, &mut said));
        }
        let other = memory_of(event, settings, whose);
        let duration_ms = other.started_ms().map(|start| (call.now_ms - start).max(0));
        (whose, with_counts(sums, other.counts(), duration_ms, &mut said))
    });
    let moment = Moment {
        event,
        session_id: named.as_deref(),
        event_id: &event_id(),
        now_ms: call.now_ms,
        project: project.as_ref(),
        duration_ms,
        result: result.as_ref(),
        usage: usage.as_ref().map(|(whose, usage)| (*whose, usage)),
        task_slug: call.task_slug,
        raw_input: settings.channels.raw_input,
        cut: call.cut,
    };
    if let Some(memory) = memory.as_mut().filter(|_| event.kind() == Kind::PreToolUse) {
        memory.begin(&key(), call.now_ms);
        if moment.delegates() {
            memory.delegate();
        }
    }
    let records = moment.records();
    let (told, written) = channel::write(&records, settings);
    said.extend(told);
    let mut is_told = written.is_ok();
    said.extend(written.err().map(|error| error.to_string()));
    let (told, queued) = mirror::queue(&records, settings);
    said.extend(told);
    is_told &= queued.is_ok();
    said.extend(queued.err().map(|error| format!("an event was not queued for the Console: {error}")));
    if let Some(usage) = call.usage.filter(|_| is_told) {
        let mut other =
            (named.as_deref() != Some(usage.whose)).then(|| memory_of(event, settings, usage.whose));
        let memory = other.as_mut().or(memory.as_mut());
        let kept = memory.map_or(Ok(()), |memory| {
            memory.tell_usage(usage.sequence);
            memory.keep()
        });
        said.extend(kept.err().map(|error| format!("the session's memory: {error}")));
    }
    let kept = memory.as_mut().map_or(Ok(()), Memory::keep);
    said.extend(kept.err().map(|error| format!("the session's memory: {error}")));
    said
}

/// `usage` with what only events count.
fn with_counts(
    usage: &Value,
    counts: std::io::Result<session::Counts>,
    duration_ms: Option<i64>,
    said: &mut Vec<String>,
) -> Value {
    let mut usage = usage.clone();
    let counts = counts.map_err(|error| said.push(format!("tool calls cannot be counted: {error}"))).ok();
    if let Some(fields) = usage.as_object_mut() {
        fields.insert("semantics".to_owned(), "snapshot".into());
        fields.insert("duration_s".to_owned(), json!(duration_ms.map(|ms| ms / 1000)));
        fields.insert("tool_invocations".to_owned(), json!(counts.map(|counts| counts.tool_invocations)));
        fields.insert("delegations".to_owned(), json!(counts.map(|counts| counts.delegations)));
    }
    usage
}

/// The label of `cwd` and the step that gave it.
fn project(cwd: &Path, settings: &Settings) -> Option<(String, String)> {
    let repository = settings.workspace.repository.as_ref();
    let found =
        Project::new(cwd, repository, settings.project.as_deref(), settings.home.as_deref())?.label()?;
    Some((found.text, found.step.as_str().to_owned()))
}

/// A random id, in the form of a UUID of version 4.
fn event_id() -> String {
    let half = |word: u8| RandomState::new().hash_one(word);
    let (high, low) = (half(1), half(2));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}
