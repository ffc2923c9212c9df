//! Projection: an application's decision, reduced to what the host can do.
//!
//! 1. A phase that is `unavailable`: observe, `lifecycle phase unavailable`, and nothing of what was asked.
//! 2. A deny where the decision influences nothing: observe; the reason stays, else `host cannot block`.
//! 3. Context where context injection influences nothing: no context; the reason stays, else `host cannot inject context`.
//!
//! Rule 1 ends it. Rules 2 and 3 stack, and rule 2's reason wins: so a deny that could not be kept carries no context
//! that could not be injected. (The published package 0.7.1 stops after rule 2.) An empty context is none.

use super::capabilities::NormalizedCapabilities;
use super::words::{Decision, Phase};
use crate::sys::hex::hex;
use serde::{Serialize, Serializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What happens in a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LifecycleEvent {
    /// When in the run.
    pub phase: Phase,
    /// The host's session id.
    pub session_id: String,
    /// What the binding knows of it; may hold the raw payload of the host, which is never relayed.
    pub context: Option<Value>,
}

/// An event or an outcome that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutcomeError {
    /// A word that there is not.
    #[error("`{field}` is {got}: it must be one of {known}")]
    Word {
        /// Which field.
        field: &'static str,
        /// What stands there, as JSON.
        got: String,
        /// What may stand there.
        known: String,
    },
    /// A text that is something else.
    #[error("`{0}` is not a string")]
    NotText(&'static str),
}

impl LifecycleEvent {
    /// Reads an event; all but its phase may be missing.
    ///
    /// # Errors
    /// When the phase is none.
    pub fn from_json(value: &Value) -> Result<Self, OutcomeError> {
        let phase = value.get("phase");
        let word = || word("event.phase", phase, &Phase::ALL.iter().map(|p| p.as_str()).collect::<Vec<_>>());
        Ok(Self {
            phase: phase.and_then(Value::as_str).and_then(Phase::parse).ok_or_else(word)?,
            session_id: value.get("sessionId").and_then(Value::as_str).unwrap_or_default().to_owned(),
            context: value.get("context").cloned(),
        })
    }
}

/// What the application wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LifecycleOutcome {
    /// Its decision.
    pub decision: Decision,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the model should know.
    #[serde(rename = "modelContext", skip_serializing_if = "Option::is_none")]
    pub model_context: Option<String>,
}

impl LifecycleOutcome {
    /// A bare decision.
    #[must_use]
    pub const fn of(decision: Decision) -> Self {
        Self { decision, reason: None, model_context: None }
    }

    /// Reads an outcome; unknown keys are passed over, and `null` is nothing.
    ///
    /// ```
    /// use tally::hosts::{Decision, LifecycleOutcome};
    /// let outcome = LifecycleOutcome::from_json(&serde_json::json!({"decision": "allow", "reason": null})).unwrap();
    /// assert_eq!(outcome, LifecycleOutcome::of(Decision::Allow));
    /// let error = LifecycleOutcome::from_json(&serde_json::json!({"decision": "ask"})).unwrap_err();
    /// assert_eq!(error.to_string(), "`outcome.decision` is \"ask\": it must be one of allow, deny, observe");
    /// ```
    ///
    /// # Errors
    /// When the decision is none, or reason or context are no strings.
    pub fn from_json(value: &Value) -> Result<Self, OutcomeError> {
        let decision = value.get("decision");
        let word = || {
            word("outcome.decision", decision, &Decision::ALL.iter().map(|d| d.as_str()).collect::<Vec<_>>())
        };
        let text = |key, field| match value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(OutcomeError::NotText(field)),
        };
        Ok(Self {
            decision: decision.and_then(Value::as_str).and_then(Decision::parse).ok_or_else(word)?,
            reason: text("reason", "outcome.reason")?,
            model_context: text("modelContext", "outcome.modelContext")?,
        })
    }

    /// The context, if it says anything.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.model_context.as_deref().filter(|text| !text.is_empty())
    }
}

fn word(field: &'static str, got: Option<&Value>, known: &[&str]) -> OutcomeError {
    let got = got.map_or_else(|| "missing".to_owned(), Value::to_string);
    OutcomeError::Word { field, got, known: known.join(", ") }
}

/// A rule of projection that fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The phase is unavailable.
    PhaseUnavailable = 1,
    /// The host cannot block.
    CannotBlock = 2,
    /// The host cannot inject context.
    CannotInject = 3,
}

/// Its number.
impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u8(*self as u8)
    }
}

/// What came of an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Projection {
    /// What the host can do of it.
    pub outcome: LifecycleOutcome,
    /// The rules that fired, in their order; none means that nothing was changed.
    pub rules: Vec<Rule>,
}

/// Reduces `outcome` to what a host of these capabilities can do at the phase of `event`. Pure.
///
/// ```
/// use tally::hosts::{Decision, LifecycleEvent, LifecycleOutcome, Phase, Profile, Rule, normalize, project};
/// let kiro = normalize(&Profile::shipped("kiro").unwrap().capabilities);
/// let event = LifecycleEvent { phase: Phase::AfterTool, session_id: "s".into(), context: None };
/// let projection = project(&kiro, &event, LifecycleOutcome {
///     decision: Decision::Deny, reason: None, model_context: Some("secret plan".into()),
/// });
/// assert_eq!(projection.rules, [Rule::CannotBlock, Rule::CannotInject]);
/// assert_eq!(projection.outcome.reason.as_deref(), Some("host cannot block"));
/// assert_eq!(projection.outcome.model_context, None);
/// ```
#[must_use]
pub fn project(
    capabilities: &NormalizedCapabilities,
    event: &LifecycleEvent,
    mut outcome: LifecycleOutcome,
) -> Projection {
    if capabilities.lifecycle.get(event.phase).is_unavailable() {
        let reason = Some("lifecycle phase unavailable".to_owned());
        let outcome = LifecycleOutcome { reason, ..LifecycleOutcome::of(Decision::Observe) };
        return Projection { outcome, rules: vec![Rule::PhaseUnavailable] };
    }
    let influence = capabilities.influence.get(event.phase);
    let mut rules = vec![];
    if outcome.decision == Decision::Deny && !influence.decision().can_influence() {
        outcome.decision = Decision::Observe;
        outcome.reason.get_or_insert_with(|| "host cannot block".to_owned());
        rules.push(Rule::CannotBlock);
    }
    if outcome.context().is_some() && !influence.context_injection().can_influence() {
        outcome.model_context = None;
        outcome.reason.get_or_insert_with(|| "host cannot inject context".to_owned());
        rules.push(Rule::CannotInject);
    }
    Projection { outcome, rules }
}

/// All that may leave a projection for a log or a sink: no payload, no reason, no context, no session id in clear.
///
/// ```
/// use tally::hosts::{Decision, LifecycleEvent, LifecycleOutcome, Phase, Rule, Trace};
/// let event = LifecycleEvent { phase: Phase::Stop, session_id: "s-1".into(), context: None };
/// let asked = LifecycleOutcome { model_context: Some("four".into()), ..LifecycleOutcome::of(Decision::Deny) };
/// let line = serde_json::to_string(&Trace::of("codex", &event, &asked, &[Rule::CannotBlock])).unwrap();
/// assert!(line.contains(r#""decision":"deny","rules":[2],"contextLength":4"#));
/// assert!(!line.contains("s-1") && !line.contains("four"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    /// When in the run.
    pub phase: Phase,
    /// `sha256(host NUL session id)`, in hexadecimal.
    pub session: String,
    /// What the application decided; the rules tell what came of it.
    pub decision: Decision,
    /// The rules that fired.
    pub rules: Vec<Rule>,
    /// Bytes of the context that the application gave; `null` for none.
    pub context_length: Option<usize>,
}

impl Trace {
    /// The trace of what `asked` became in `host`.
    #[must_use]
    pub fn of(host: &str, event: &LifecycleEvent, asked: &LifecycleOutcome, rules: &[Rule]) -> Self {
        let session = Sha256::new().chain_update(host).chain_update([0]).chain_update(&event.session_id);
        Self {
            phase: event.phase,
            session: hex(&session.finalize()),
            decision: asked.decision,
            rules: rules.to_vec(),
            context_length: asked.context().map(str::len),
        }
    }
}
