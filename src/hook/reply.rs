//! What a host hears. Whatever a hook has to say goes through `project` with the host's profile: what the host cannot do
//! with it is taken away, and that is said, on standard error and in our log.
//!
//! What a host cannot hear at this phase, but at a later one, waits for that ([`Hearing::Later`]). A host that can take
//! no context at all is told on standard error at once.

use super::Complaint;
use crate::hosts::{
    AnswerForm, Decision, Kind, LifecycleEvent, LifecycleOutcome, NormalizedCapabilities, Phase, Profile,
    Trace, normalize, project,
};
use serde_json::json;

/// What the hook answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A line for standard output, in the words of the host.
    Stdout(String),
    /// A line for standard error, for whoever reads that.
    Stderr(String),
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

    /// Says `text` to the agent, as far as the host can take it, and what was taken away.
    pub(super) fn say(&self, session: &str, text: String) -> (Reply, Option<Complaint>) {
        let Some(phase) = self.kind.phase() else { return (Reply::Stderr(text), None) };
        let event = LifecycleEvent { phase, session_id: session.to_owned(), context: None };
        let asked =
            LifecycleOutcome { model_context: Some(text.clone()), ..LifecycleOutcome::of(Decision::Observe) };
        let got = project(&self.capabilities(), &event, asked.clone());
        match got.outcome.model_context {
            Some(context) => (Reply::Stdout(self.words(&context)), None),
            None => {
                let trace = Trace::of(self.host, &event, &asked, &got.rules);
                let trace = serde_json::to_string(&trace).unwrap_or_default();
                (
                    Reply::Stderr(text),
                    Some(Complaint(format!("the host cannot do all that was asked: {trace}"))),
                )
            }
        }
    }

    /// Context in the host's own form.
    fn words(&self, context: &str) -> String {
        match self.form {
            AnswerForm::HookOutput => {
                let output = json!({ "hookEventName": self.native, "additionalContext": context });
                json!({ "hookSpecificOutput": output }).to_string()
            }
            AnswerForm::Allow => {
                json!({ "allow": true, "context": context, "event": self.native }).to_string()
            }
            AnswerForm::Text => context.to_owned(),
        }
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
            voice(host, native, kind).say("s-1", "conflict".to_owned())
        };
        let (reply, downgrade) = said("claude-code", "PreToolUse");
        let answer =
            r#"{"hookSpecificOutput":{"additionalContext":"conflict","hookEventName":"PreToolUse"}}"#;
        assert_eq!((reply, downgrade), (Reply::Stdout(answer.to_owned()), None));
        let forms = [
            ("opencode", r#"{"allow":true,"context":"conflict","event":"UserPromptSubmit"}"#),
            ("pi", r#"{"allow":true,"context":"conflict","event":"UserPromptSubmit"}"#),
            ("kiro", "conflict"),
        ];
        for (host, answer) in forms {
            assert_eq!(said(host, "UserPromptSubmit"), (Reply::Stdout(answer.to_owned()), None), "{host}");
        }

        let (reply, downgrade) = said("kiro", "PreToolUse");
        assert_eq!(reply, Reply::Stderr("conflict".to_owned()));
        let Complaint(line) = downgrade.unwrap();
        assert!(line.contains(r#""phase":"before-tool""#), "{line}");
        assert!(line.contains(r#""decision":"observe","rules":[3],"contextLength":8"#), "{line}");
        assert!(!line.contains("s-1"), "{line}");

        let Complaint(line) = said("codex", "SessionStart").1.unwrap();
        assert!(line.contains(r#""rules":[1]"#), "a phase that there is not: {line}");
    }
}
