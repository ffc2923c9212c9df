//! From what a host says to what it means: the canonical event of a hook's payload.
//!
//! A host's words are data, in `config/hosts/<host>.toml`:
//!
//! ```text
//! [answer]   form = "hook-output" | "allow" | "text": how the host is answered
//! [events]   native name = canonical name, or { means = canonical name, ends = true | failed = true }
//! [fields]   field = [places in the payload, tried in order; a dot goes into an object]
//! [gaps]     what an event of this host cannot say = why
//! ```
//!
//! A canonical name is understood of every host. A name in neither list is an event of kind [`Kind::Unknown`].

use super::profile::FILES;
use super::words::Phase;
use serde_json::{Map, Value};

/// What an event means (contract A.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A session starts, or is taken up again.
    AgentSpawn,
    /// The user says something.
    UserPromptSubmit,
    /// A tool is about to be used.
    PreToolUse,
    /// The user is asked whether a tool may be used.
    PermissionRequest,
    /// A tool was used.
    PostToolUse,
    /// The agent stopped, or its session ended.
    Stop,
    /// A subagent starts.
    SubagentStart,
    /// A subagent stopped.
    SubagentStop,
    /// An event that nobody told us of.
    Unknown,
}

impl Kind {
    const ALL: [(Self, &'static str); 8] = [
        (Self::AgentSpawn, "agentSpawn"),
        (Self::UserPromptSubmit, "userPromptSubmit"),
        (Self::PreToolUse, "preToolUse"),
        (Self::PermissionRequest, "permissionRequest"),
        (Self::PostToolUse, "postToolUse"),
        (Self::Stop, "stop"),
        (Self::SubagentStart, "subagentStart"),
        (Self::SubagentStop, "subagentStop"),
    ];

    /// The canonical name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(kind, _)| *kind == self).map_or("unknown", |(_, name)| name)
    }

    /// The kind of a canonical name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(kind, _)| kind)
    }

    /// The phase at which a host can be answered, if it is one.
    #[must_use]
    pub fn phase(self) -> Option<Phase> {
        Some(match self {
            Self::AgentSpawn => Phase::SessionStart,
            Self::UserPromptSubmit => Phase::BeforeModel,
            Self::PreToolUse => Phase::BeforeTool,
            Self::PostToolUse => Phase::AfterTool,
            Self::Stop => Phase::Stop,
            Self::PermissionRequest | Self::SubagentStart | Self::SubagentStop | Self::Unknown => {
                return None;
            }
        })
    }
}

/// What a host's event comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meaning {
    /// What it means.
    pub kind: Kind,
    /// Whether the session is over with it.
    pub ends: bool,
    /// Whether it says by its name that a tool call failed.
    pub failed: bool,
}

impl Meaning {
    fn of(kind: Kind) -> Self {
        Self { kind, ends: false, failed: false }
    }

    fn read(value: &Value) -> Option<Self> {
        if let Some(name) = value.as_str() {
            return Kind::parse(name).map(Self::of);
        }
        let flag = |name| value.get(name).and_then(Value::as_bool).unwrap_or(false);
        let kind = Kind::parse(value.get("means")?.as_str()?)?;
        Some(Self { kind, ends: flag("ends"), failed: flag("failed") })
    }
}

/// A part of an event; [`Field::key`] is its name in `[fields]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The native event.
    Event,
    /// The host's session id.
    Session,
    /// Where the agent works.
    Cwd,
    /// The conversation's transcript.
    Transcript,
    /// The host's name for the turn.
    Turn,
    /// The model.
    Model,
    /// How a session starts: `startup`, `resume`, `clear`, `compact`.
    Source,
    /// The agent's name or type.
    Agent,
    /// The id of a subagent.
    AgentId,
    /// The host's version.
    Version,
    /// What the user said.
    Prompt,
    /// What the agent said last.
    LastMessage,
    /// Whether the agent goes on because of a stop hook.
    StopHookActive,
    /// The tool.
    Tool,
    /// What the tool was given.
    ToolInput,
    /// What the tool gave.
    ToolOutput,
    /// The host's id of the tool call.
    ToolCall,
    /// What a permission is asked for.
    Permission,
}

impl Field {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 18] = [
        (Self::Event, "event"),
        (Self::Session, "session"),
        (Self::Cwd, "cwd"),
        (Self::Transcript, "transcript"),
        (Self::Turn, "turn"),
        (Self::Model, "model"),
        (Self::Source, "source"),
        (Self::Agent, "agent"),
        (Self::AgentId, "agent_id"),
        (Self::Version, "version"),
        (Self::Prompt, "prompt"),
        (Self::LastMessage, "last_message"),
        (Self::StopHookActive, "stop_hook_active"),
        (Self::Tool, "tool"),
        (Self::ToolInput, "tool_input"),
        (Self::ToolOutput, "tool_output"),
        (Self::ToolCall, "tool_call"),
        (Self::Permission, "permission"),
    ];

    /// Its name in `[fields]`.
    #[must_use]
    pub fn key(self) -> &'static str {
        Self::ALL.into_iter().find(|(field, _)| *field == self).map_or("", |(_, key)| key)
    }
}

/// How a host is answered on standard output (conformance kit §11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    /// `{"hookSpecificOutput":{"hookEventName":…,"additionalContext":…}}`.
    HookOutput,
    /// `{"allow":true,"context":…,"event":…}`, and `{"allow":false,"reason":…,"event":…}`.
    Allow,
    /// The text as it is.
    Text,
}

impl AnswerForm {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "hook-output" => Self::HookOutput,
            "allow" => Self::Allow,
            "text" => Self::Text,
            _ => return None,
        })
    }
}

/// A host's words.
#[derive(Debug, Clone)]
pub struct Mapping {
    /// The host.
    pub host: &'static str,
    table: Map<String, Value>,
}

impl Mapping {
    /// The names of the hosts whose events are known, sorted.
    pub fn hosts() -> impl Iterator<Item = &'static str> {
        FILES.iter().filter(|(_, text)| text.contains("\"events\":{")).map(|(host, _)| *host)
    }

    /// The words of `host`; `None` where its events are not known.
    ///
    /// ```
    /// use tally::hosts::{Kind, Mapping};
    /// let mapping = Mapping::of("claude-code").unwrap();
    /// let payload = serde_json::json!({"hook_event_name": "SessionEnd", "session_id": "s-1"});
    /// let event = mapping.event(payload.as_object().unwrap(), None).unwrap();
    /// assert_eq!((event.meaning.kind, event.meaning.ends), (Kind::Stop, true));
    /// assert!(Mapping::of("emacs").is_none());
    /// ```
    #[must_use]
    pub fn of(host: &str) -> Option<Self> {
        let (host, text) = FILES.iter().find(|(name, _)| *name == host)?;
        let table: Map<String, Value> = serde_json::from_slice(text.as_bytes()).ok()?;
        table.contains_key("events").then_some(Self { host, table })
    }

    /// How the host is answered.
    #[must_use]
    pub fn answer_form(&self) -> AnswerForm {
        let form = self.table.get("answer").and_then(|answer| answer.get("form")).and_then(Value::as_str);
        form.and_then(AnswerForm::parse).unwrap_or(AnswerForm::Allow)
    }

    /// What a native event means.
    #[must_use]
    pub fn meaning(&self, native: &str) -> Meaning {
        let known = self.table.get("events").and_then(|events| events.get(native)).and_then(Meaning::read);
        known.unwrap_or_else(|| Meaning::of(Kind::parse(native).unwrap_or(Kind::Unknown)))
    }

    /// The event of a payload; `given` names it where the payload does not. `None` where nobody names it.
    #[must_use]
    pub fn event<'a>(
        &'a self,
        payload: &'a Map<String, Value>,
        given: Option<&'a str>,
    ) -> Option<HostEvent<'a>> {
        let mut event = HostEvent { mapping: self, payload, native: "", meaning: Meaning::of(Kind::Unknown) };
        event.native = event.text(Field::Event).or(given)?;
        event.meaning = self.meaning(event.native);
        Some(event)
    }

    /// The native events, in the order of their names, with what they mean.
    pub fn events(&self) -> impl Iterator<Item = (&str, Meaning)> {
        let events = self.table.get("events").and_then(Value::as_object).into_iter().flatten();
        events.map(|(native, _)| (native.as_str(), self.meaning(native)))
    }

    /// Where the payload has `field`, in the order in which the places are looked at.
    pub fn places(&self, field: Field) -> impl Iterator<Item = &str> {
        let places = self.table.get("fields").and_then(|fields| fields.get(field.key()));
        places.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// What an event of this host cannot say, and why.
    pub fn gaps(&self) -> impl Iterator<Item = (&str, &str)> {
        let gaps = self.table.get("gaps").and_then(Value::as_object).into_iter().flatten();
        gaps.filter_map(|(what, why)| Some((what.as_str(), why.as_str()?)))
    }
}

/// What a host said, and what it means.
#[derive(Debug, Clone, Copy)]
pub struct HostEvent<'a> {
    mapping: &'a Mapping,
    /// The payload as it came.
    pub payload: &'a Map<String, Value>,
    /// The event in the host's words.
    pub native: &'a str,
    /// What it means.
    pub meaning: Meaning,
}

impl<'a> HostEvent<'a> {
    /// The host.
    #[must_use]
    pub fn host(&self) -> &'static str {
        self.mapping.host
    }

    /// How the host is answered.
    #[must_use]
    pub fn answer_form(&self) -> AnswerForm {
        self.mapping.answer_form()
    }

    /// What it means.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.meaning.kind
    }

    /// Where the payload may have `field`.
    pub fn places(&self, field: Field) -> impl Iterator<Item = &'a str> {
        self.mapping.places(field)
    }

    /// The value of `field`: the first that is there and not null.
    #[must_use]
    pub fn value(&self, field: Field) -> Option<&'a Value> {
        self.mapping.places(field).find_map(|place| at(self.payload, place))
    }

    /// The value of `field` if it is a text that is not empty.
    #[must_use]
    pub fn text(&self, field: Field) -> Option<&'a str> {
        let texts = self.mapping.places(field).filter_map(|place| at(self.payload, place)?.as_str());
        texts.into_iter().find(|text| !text.is_empty())
    }
}

fn at<'a>(payload: &'a Map<String, Value>, place: &str) -> Option<&'a Value> {
    let mut steps = place.split('.');
    let first = payload.get(steps.next()?)?;
    steps.try_fold(first, |value, step| value.get(step)).filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_line_of_every_file_is_understood() {
        let hosts: Vec<_> = Mapping::hosts().collect();
        assert_eq!(hosts, ["claude-code", "codex", "generic", "kiro", "opencode", "pi"]);
        for host in hosts {
            let mapping = Mapping::of(host).unwrap();
            assert!(AnswerForm::parse(mapping.table["answer"]["form"].as_str().unwrap()).is_some(), "{host}");
            for (native, value) in mapping.table["events"].as_object().unwrap() {
                assert!(Meaning::read(value).is_some(), "{host}: {native}");
            }
            for (key, places) in mapping.table["fields"].as_object().unwrap() {
                let known = Field::ALL.into_iter().find(|(_, name)| name == key);
                let (field, _) = known.unwrap_or_else(|| panic!("{host}: no field {key}"));
                assert_eq!(mapping.places(field).count(), places.as_array().unwrap().len(), "{host}: {key}");
            }
            for needed in [Field::Event, Field::Session, Field::Cwd, Field::Tool, Field::ToolInput] {
                assert!(mapping.places(needed).next().is_some(), "{host}: {needed:?}");
            }
            let kinds: Vec<_> = mapping.events().map(|(_, meaning)| meaning.kind).collect();
            for always in
                [Kind::AgentSpawn, Kind::UserPromptSubmit, Kind::PreToolUse, Kind::PostToolUse, Kind::Stop]
            {
                assert!(kinds.contains(&always), "{host}: {always:?}");
            }
        }
    }

    #[test]
    fn a_payload_names_its_event_or_the_call_does_and_canonical_names_are_understood() {
        let claude = Mapping::of("claude-code").unwrap();
        let of = |payload: Value, given| {
            let payload = payload.as_object().unwrap().clone();
            claude.event(&payload, given).map(|event| event.meaning.kind)
        };
        assert_eq!(of(json!({"hook_event_name": "Stop"}), Some("SessionStart")), Some(Kind::Stop));
        assert_eq!(of(json!({"hook_event_name": 5}), Some("SessionStart")), Some(Kind::AgentSpawn));
        assert_eq!(of(json!({}), Some("postToolUse")), Some(Kind::PostToolUse));
        assert_eq!(of(json!({"hook_event_name": "PreCompact"}), None), Some(Kind::Unknown));
        assert_eq!(of(json!({}), None), None);
    }

    #[test]
    fn the_first_place_that_holds_something_counts() {
        let generic = Mapping::of("generic").unwrap();
        let payload = json!({
            "event": "preToolUse", "agent_name": "", "agent_type": "planner", "description": null,
            "tool_input": {"description": "why"}, "tool_output": null, "tool_response": {"exitCode": 0},
        });
        let event = generic.event(payload.as_object().unwrap(), None).unwrap();
        assert_eq!(event.text(Field::Agent), Some("planner"));
        assert_eq!(event.text(Field::Permission), Some("why"));
        assert_eq!(event.value(Field::ToolOutput), Some(&json!({"exitCode": 0})));
        assert_eq!(event.text(Field::Session), None);
    }
}
