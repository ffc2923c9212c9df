//! The records of an event: schema `0.3.0` (contract A.3–A.8). Pure: what happened in, records out.
//!
//! 1. What nobody said is `null`.
//! 2. Every record has an id of its own, but `session.usage`: it has one per session, so that a sink which keeps the last
//!    record of an id keeps the newest figures of the session.
//! 3. `agent.delegate` comes before `tool.invoke`, and `session.usage` before `session.end`.

use crate::evidence::classify;
use crate::evidence::outcome::Observed;
use crate::hosts::{Field, HostEvent, Kind};
use crate::journal::label::label;
use serde_json::{Map, Value, json};

/// The value of `schema_version`.
pub const SCHEMA_VERSION: &str = "0.3.0";
/// The `session_id` of an event whose session is not named; a sink demands one (Console ingest §3).
pub const NO_SESSION: &str = "no-session";
/// The `context.project` of an event without a working directory.
pub const UNKNOWN_PROJECT: &str = "unknown";

/// Most fields of a payload that are named as incomplete.
const MOST_CUT: usize = 64;

/// What a tool call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResult {
    /// From the beginning to the end, in milliseconds.
    pub duration_ms: Option<i64>,
    /// Whether it went well, as far as can be told.
    pub observed: Observed,
    /// `completed`, `failed`, `blocked`, `canceled` or `unknown`.
    pub status: &'static str,
}

/// An event, and what is known besides.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// What the host said.
    pub event: &'a HostEvent<'a>,
    /// The session, as a record may carry it.
    pub session_id: Option<&'a str>,
    /// An id for this event.
    pub event_id: &'a str,
    /// When the hook was called, in epoch milliseconds.
    pub now_ms: i64,
    /// The project's label and how it was found; `None` without a working directory.
    pub project: Option<&'a (String, String)>,
    /// How long the session has been going, in milliseconds.
    pub duration_ms: Option<i64>,
    /// At the end of a tool call: what it came to.
    pub result: Option<&'a ToolResult>,
    /// At a stop with news: whose usage it is, and how much so far.
    pub usage: Option<(&'a str, &'a Value)>,
    /// The run's task, where it is known.
    pub task_slug: Option<&'a str>,
    /// Whether the payload goes into the record.
    pub raw_input: bool,
    /// The fields of the payload that were not read whole.
    pub cut: &'a [String],
}

impl Moment<'_> {
    /// The records, in order.
    #[must_use]
    pub fn records(&self) -> Vec<Value> {
        let mut records = vec![];
        match self.event.kind() {
            Kind::AgentSpawn => records.push(self.record("session.start")),
            Kind::UserPromptSubmit => {
                let mut record = self.record("turn.user");
                record.insert("turn".into(), self.turn());
                records.push(record);
            }
            Kind::PreToolUse => {
                let record = self.tool("tool.invoke");
                if let Some(delegation) = record.get("delegation").filter(|_| self.delegates()) {
                    let mut delegate = self.record("agent.delegate");
                    delegate.insert("event_id".into(), format!("{}-delegate", self.event_id).into());
                    delegate.insert("delegation".into(), delegation.clone());
                    records.push(delegate);
                }
                records.push(record);
            }
            Kind::PermissionRequest => {
                let mut record = self.tool("tool.permission_request");
                record.insert("permission".into(), json!({ "description": self.text(Field::Permission) }));
                records.push(record);
            }
            Kind::PostToolUse => records.push(self.tool("tool.result")),
            Kind::Stop => {
                records.extend(self.usage.map(|(whose, usage)| self.usage(whose, usage)));
                records.push(self.over("session.end"));
            }
            Kind::SubagentStart | Kind::SubagentStop | Kind::Unknown => records.push(self.record("unknown")),
        }
        records.into_iter().map(Value::Object).collect()
    }

    /// Whether a tool call sends an agent off: a shell that runs one does not (contract A.7).
    #[must_use]
    pub fn delegates(&self) -> bool {
        let name = self.event.text(Field::Tool).unwrap_or_default();
        classify::normalized_name(name) != "execute_bash" && !self.targets().is_empty()
    }

    fn targets(&self) -> Vec<String> {
        let name = self.event.text(Field::Tool).unwrap_or_default();
        let targets = classify::delegation_targets(name, self.event.value(Field::ToolInput));
        targets.iter().map(|target| label(target).into_owned()).collect()
    }

    fn text(&self, field: Field) -> Value {
        self.event.text(field).into()
    }

    /// A name, in the bounds of one: it can be no text, and no record is too large for it.
    fn name(&self, field: Field) -> Value {
        self.event.text(field).map(label).into()
    }

    /// What every record has.
    fn record(&self, event_type: &str) -> Map<String, Value> {
        let event = self.event;
        let flag = event.value(Field::StopHookActive).and_then(Value::as_bool);
        let raw = self.raw_input.then(|| Value::Object(event.payload.clone()));
        let (project, source) = match self.project {
            Some((label, source)) => (label.as_str(), source.as_str()),
            None => (UNKNOWN_PROJECT, "no working directory"),
        };
        let mut record = Map::new();
        let mut set = |key: &str, value: Value| drop(record.insert(key.to_owned(), value));
        set("schema_version", SCHEMA_VERSION.into());
        set("timestamp", self.now_ms.to_string().into());
        set("session_id", self.session_id.unwrap_or(NO_SESSION).into());
        set("event_id", self.event_id.into());
        set("event_type", event_type.into());
        set(
            "agent",
            json!({
                "name": self.name(Field::Agent), "id": self.name(Field::AgentId),
                "runtime": event.host(), "version": self.name(Field::Version),
            }),
        );
        set(
            "hook",
            json!({
                "event_name": label(event.native), "canonical_event": event.kind().as_str(),
                "runtime_session_id": self.name(Field::Session), "turn_id": self.name(Field::Turn),
                "transcript_path": self.text(Field::Transcript), "model": self.name(Field::Model),
                "source": self.name(Field::Source), "stop_hook_active": flag,
                "last_assistant_message": self.text(Field::LastMessage), "raw_input": raw,
            }),
        );
        set(
            "context",
            json!({
                "cwd": self.text(Field::Cwd), "project": project, "project_source": source, "os": std::env::consts::OS,
            }),
        );
        if let Some(slug) = self.task_slug {
            set("task_slug", slug.into());
        }
        if !self.cut.is_empty() {
            set("incomplete_fields", self.cut.iter().take(MOST_CUT).map(|field| label(field)).collect());
        }
        record
    }

    fn turn(&self) -> Value {
        let whole = |_: &&str| !self.is_cut(Field::Prompt);
        let length = self.event.text(Field::Prompt).filter(whole).map(|prompt| prompt.chars().count());
        json!({ "prompt_text": self.text(Field::Prompt), "prompt_length": length })
    }

    fn is_cut(&self, field: Field) -> bool {
        self.event.places(field).any(|place| {
            let top = place.split('.').next();
            self.cut.iter().any(|cut| top == Some(cut))
        })
    }

    fn tool(&self, event_type: &str) -> Map<String, Value> {
        let event = self.event;
        let mut record = self.record(event_type);
        let input = event.value(Field::ToolInput);
        let name = event.text(Field::Tool);
        let mut tool = Map::new();
        let mut set = |key: &str, value: Value| drop(tool.insert(key.to_owned(), value));
        set("name", name.map(label).into());
        set("normalized_name", name.map(classify::normalized_name).map(label).into());
        if let Some(action) = name.and_then(|name| classify::action(name, input)) {
            set("action", action.into());
        }
        match self.result {
            None => set("input", input.cloned().into()),
            Some(result) => {
                set("output", event.value(Field::ToolOutput).cloned().into());
                set("duration_ms", result.duration_ms.into());
                set("outcome", result.observed.result.as_str().into());
                set("exit_code", result.observed.exit_code.into());
                set("status", result.status.into());
            }
        }
        record.insert("tool".to_owned(), tool.into());
        let targets = self.targets();
        if let Some(first) = targets.first().cloned() {
            record.insert("delegation".to_owned(), json!({ "targets": targets, "target": first }));
        }
        record
    }

    fn over(&self, event_type: &str) -> Map<String, Value> {
        let mut record = self.record(event_type);
        record.insert("session".to_owned(), json!({ "duration_s": self.duration_ms.map(|ms| ms / 1000) }));
        record
    }

    fn usage(&self, whose: &str, usage: &Value) -> Map<String, Value> {
        let mut record = self.over("session.usage");
        record.insert("session_id".to_owned(), whose.into());
        record.insert("event_id".to_owned(), format!("{whose}-usage").into());
        record.insert("session".to_owned(), json!({ "duration_s": usage.get("duration_s") }));
        record.insert("usage".to_owned(), usage.clone());
        record
    }
}
