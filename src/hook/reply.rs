//! What a host hears. Whatever a hook has to say goes through `project` with the host's profile: what the host cannot do
//! with it is taken away, and that is said, on standard error and in our log.
//!
//! What a host cannot hear at this phase, but at a later one, waits for that ([`Hearing::Later`]). A host that can take
//! no context at all is told on standard error at once.

use super::Complaint;
use crate::hosts::{
    AnswerForm, Decision, Kind, LifecycleEvent, LifecycleOutcome, NormalizedCapabilities, Phase, Profile,
    Trace, evaluate_kiro_hook, normalize, project,
};
use serde_json::{Value, json};

/// What the hook answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// A line for standard output, in the words of the host.
    pub stdout: Option<String>,
    /// Lines for standard error, for whoever reads that.
    pub stderr: Option<String>,
    /// The exit code: 0, but where a host is told of a refusal by another.
    pub exit_code: u8,
}

/// What there is to say at an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Why it is refused; `None`: it is not.
    pub deny: Option<String>,
    /// Whether a refused stop is to end all the same, because only a person can help.
    pub stuck: bool,
    /// What the agent should know.
    pub context: Option<String>,
}

/// One event of a host, as an occasion to say something.
#[derive(Debug, Clone, Copy)]
pub struct Voice<'a> {
    /// The host.
    pub host: &'a str,
    /// Its event, in its own words.
    pub native: &'a str,
    /// What the event means.
    pub kind: Kind,
    /// How the host is answered.
    pub form: AnswerForm,
}

/// When a host can take context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearing {
    /// At this event.
    Now,
    /// At one of the later events at which we speak.
    Later,
    /// At none.
    Never,
}

/// The phases at which a hook speaks.
const SPOKEN: [Phase; 3] = [Phase::SessionStart, Phase::BeforeModel, Phase::BeforeTool];

impl Voice<'_> {
    /// What the host declares; a host without a profile declares nothing, and so can do nothing.
    fn capabilities(&self) -> NormalizedCapabilities {
        Profile::shipped(self.host).map(|profile| normalize(&profile.capabilities)).unwrap_or_default()
    }

    /// When the host can be told something, seen from this event.
    #[must_use]
    pub fn hearing(&self) -> Hearing {
        let capabilities = self.capabilities();
        let hears = |phase: Phase| {
            !capabilities.lifecycle.get(phase).is_unavailable()
                && capabilities.influence.get(phase).context_injection().can_influence()
        };
        match self.kind.phase() {
            Some(phase) if hears(phase) => Hearing::Now,
            _ if SPOKEN.into_iter().any(hears) => Hearing::Later,
            _ => Hearing::Never,
        }
    }

    /// Says it, as far as the host can take it, and what was taken away.
    pub(super) fn say(&self, session: &str, said: &Said) -> (Reply, Option<Complaint>) {
        // A host that can refuse a call can also refuse to be asked about it.
        let permission = self.kind == Kind::PermissionRequest;
        let phase = if permission { Some(Phase::BeforeTool) } else { self.kind.phase() };
        let words: Vec<&str> = said.deny.iter().chain(&said.context).map(String::as_str).collect();
        let Some(phase) = phase else { return (Reply::stderr(words.join("\n")), None) };
        let event = LifecycleEvent { phase, session_id: session.to_owned(), context: None };
        let asked = LifecycleOutcome {
            decision: if said.deny.is_some() { Decision::Deny } else { Decision::Observe },
            reason: said.deny.clone(),
            model_context: said.context.clone(),
        };
        let got = project(&self.capabilities(), &event, asked.clone());
        let denied = got.outcome.decision == Decision::Deny;
        let mut reply = match self.form {
            AnswerForm::Text => self.of_kiro(session, &asked),
            _ => Reply { stdout: self.words(said, denied, got.outcome.context()), ..Reply::default() },
        };
        if got.rules.is_empty() {
            return (reply, None);
        }
        // What the host does not take is for whoever reads standard error.
        let lost_deny = said.deny.as_deref().filter(|_| !denied);
        let lost_context = said.context.as_deref().filter(|_| got.outcome.context().is_none());
        let lost: Vec<&str> = lost_deny.into_iter().chain(lost_context).collect();
        if !lost.is_empty() {
            reply.stderr = Some(lost.join("\n"));
        }
        let trace = Trace::of(self.host, &event, &asked, &got.rules);
        let trace = serde_json::to_string(&trace).unwrap_or_default();
        (reply, Some(Complaint(format!("the host cannot do all that was asked: {trace}"))))
    }

    /// The answer in the host's own form; `None`: there is nothing to answer.
    fn words(&self, said: &Said, denied: bool, context: Option<&str>) -> Option<String> {
        let reason = said.deny.as_deref().filter(|_| denied);
        let answer = match (self.form, reason) {
            (_, None) if context.is_none() => return None,
            (AnswerForm::Allow, None) => json!({ "allow": true, "context": context, "event": self.native }),
            (AnswerForm::Allow, Some(reason)) => {
                let mut answer = json!({ "allow": false, "reason": reason, "event": self.native });
                if said.stuck
                    && let Some(fields) = answer.as_object_mut()
                {
                    fields.insert("stuck".to_owned(), true.into());
                }
                put(&mut answer, "context", context);
                answer
            }
            (_, None) => self.output(json!({}), context),
            (_, Some(reason)) => match self.kind {
                Kind::PreToolUse => {
                    let decision =
                        json!({ "permissionDecision": "deny", "permissionDecisionReason": reason });
                    self.output(decision, context)
                }
                Kind::PermissionRequest => {
                    self.output(json!({ "decision": { "behavior": "deny", "message": reason } }), None)
                }
                _ if said.stuck => json!({ "continue": false, "stopReason": reason }),
                _ => json!({ "decision": "block", "reason": reason }),
            },
        };
        Some(answer.to_string())
    }

    /// An object with the output of this event.
    fn output(&self, mut output: Value, context: Option<&str>) -> Value {
        put(&mut output, "hookEventName", Some(self.native));
        put(&mut output, "additionalContext", context);
        json!({ "hookSpecificOutput": output })
    }

    /// The answer of Kiro's protocol. Both spellings of its events are one to it.
    fn of_kiro(&self, session: &str, asked: &LifecycleOutcome) -> Reply {
        let Some(profile) = Profile::shipped(self.host) else { return Reply::default() };
        let payload = json!({ "hook_event_name": self.kind.as_str(), "session_id": session });
        let answer = evaluate_kiro_hook(profile.stand_in().as_ref(), &payload, &|_| Ok(asked.clone()));
        let answer = answer.unwrap_or_default();
        Reply { stdout: answer.stdout, stderr: answer.stderr, exit_code: answer.exit_code }
    }
}

fn put(object: &mut Value, key: &str, text: Option<&str>) {
    if let (Some(fields), Some(text)) = (object.as_object_mut(), text) {
        fields.insert(key.to_owned(), text.into());
    }
}

impl Reply {
    /// An answer for standard error.
    #[must_use]
    pub fn stderr(text: String) -> Self {
        Self { stderr: Some(text).filter(|text| !text.is_empty()), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::Mapping;

    const EVENTS: [(&str, Kind); 4] = [
        ("SessionStart", Kind::AgentSpawn),
        ("UserPromptSubmit", Kind::UserPromptSubmit),
        ("PreToolUse", Kind::PreToolUse),
        ("PostToolUse", Kind::PostToolUse),
    ];

    fn told(answer: &str) -> Reply {
        Reply { stdout: Some(answer.to_owned()), ..Reply::default() }
    }

    fn voice<'a>(host: &'a str, native: &'a str, kind: Kind) -> Voice<'a> {
        let form = Mapping::of(host).map_or(AnswerForm::Allow, |mapping| mapping.answer_form());
        Voice { host, native, kind, form }
    }

    #[test]
    fn a_host_is_told_where_its_profile_can_take_context_and_later_where_it_cannot_yet() {
        use Hearing::{Later, Never, Now};
        for (host, expected) in [
            ("claude-code", [Now, Now, Now, Later]),
            ("codex", [Later, Later, Now, Later]),
            ("kiro", [Now, Now, Later, Later]),
            ("opencode", [Now, Now, Now, Now]),
            ("pi", [Later, Now, Later, Later]),
            ("a host without a profile", [Never, Never, Never, Never]),
        ] {
            assert_eq!(EVENTS.map(|(native, kind)| voice(host, native, kind).hearing()), expected, "{host}");
        }
    }

    #[test]
    fn what_a_host_cannot_take_goes_to_stderr_and_the_downgrade_into_our_log() {
        let said = |host, native| {
            let (_, kind) = EVENTS.into_iter().find(|(name, _)| *name == native).unwrap();
            voice(host, native, kind)
                .say("s-1", &Said { context: Some("conflict".to_owned()), ..Said::default() })
        };
        let (reply, downgrade) = said("claude-code", "PreToolUse");
        let answer =
            r#"{"hookSpecificOutput":{"additionalContext":"conflict","hookEventName":"PreToolUse"}}"#;
        assert_eq!((reply, downgrade), (told(answer), None));
        let forms = [
            ("opencode", r#"{"allow":true,"context":"conflict","event":"UserPromptSubmit"}"#),
            ("pi", r#"{"allow":true,"context":"conflict","event":"UserPromptSubmit"}"#),
            ("kiro", "conflict"),
        ];
        for (host, answer) in forms {
            assert_eq!(said(host, "UserPromptSubmit"), (told(answer), None), "{host}");
        }

        let (reply, downgrade) = said("kiro", "PreToolUse");
        assert_eq!(reply, Reply::stderr("conflict".to_owned()));
        let Complaint(line) = downgrade.unwrap();
        assert!(line.contains(r#""phase":"before-tool""#), "{line}");
        assert!(line.contains(r#""decision":"observe","rules":[3],"contextLength":8"#), "{line}");
        assert!(!line.contains("s-1"), "{line}");

        let Complaint(line) = said("codex", "SessionStart").1.unwrap();
        assert!(line.contains(r#""rules":[1]"#), "a phase that there is not: {line}");
    }
    #[test]
    fn a_refusal_is_told_in_each_hosts_own_form() {
        let refused = |host, native, kind, stuck| {
            let said = Said { deny: Some("no".to_owned()), stuck, context: None };
            let (reply, downgrade) = voice(host, native, kind).say("s-1", &said);
            let stdout = reply.stdout.map(|text| serde_json::from_str::<Value>(&text).unwrap());
            (stdout, reply.stderr, reply.exit_code, downgrade.is_some())
        };
        let before = |host, native| refused(host, native, Kind::PreToolUse, false);
        let output = json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no",
        }});
        for host in ["claude-code", "codex"] {
            assert_eq!(before(host, "PreToolUse"), (Some(output.clone()), None, 0, false), "{host}");
            let asked = json!({"hookSpecificOutput": {
                "hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "no"},
            }});
            let answer = refused(host, "PermissionRequest", Kind::PermissionRequest, false);
            assert_eq!(answer, (Some(asked), None, 0, false), "{host}");
        }
        for host in ["opencode", "pi"] {
            let answer = json!({"allow": false, "reason": "no", "event": "PreToolUse"});
            assert_eq!(before(host, "PreToolUse"), (Some(answer), None, 0, false), "{host}");
        }
        for native in ["preToolUse", "PreToolUse"] {
            assert_eq!(before("kiro", native), (None, Some("no".to_owned()), 2, false));
        }
        let stop = |host, stuck| refused(host, "Stop", Kind::Stop, stuck);
        let block = json!({"decision": "block", "reason": "no"});
        assert_eq!(stop("claude-code", false), (Some(block.clone()), None, 0, false));
        assert_eq!(stop("claude-code", true).0, Some(json!({"continue": false, "stopReason": "no"})));
        assert_eq!(stop("kiro", false), (Some(block), None, 0, false));
        assert_eq!(
            stop("pi", false),
            (None, Some("no".to_owned()), 0, true),
            "pi cannot be kept from stopping"
        );
    }
}
