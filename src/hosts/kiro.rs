//! Kiro's hook protocol: JSON on standard input, and an answer of exit code, standard output and standard error.
//!
//! | first that holds | answer |
//! |---|---|
//! | `preToolUse`, deny | exit 2, the reason on standard error |
//! | `stop`, deny | `{"decision":"block","reason":…}` on standard output |
//! | `agentSpawn` or `userPromptSubmit`, context | the context on standard output |
//! | else | nothing |
//!
//! So a deny elsewhere has no effect, even of an adapter that would allow it.

use super::adapter::{BindingError, HostAdapter};
use super::outcome::{LifecycleEvent, LifecycleOutcome};
use super::words::{Decision, Phase};
use serde_json::{Value, json};

/// What the hook process does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KiroReply {
    /// Its exit code.
    pub exit_code: u8,
    /// What it writes to standard output, without a newline.
    pub stdout: Option<String>,
    /// What it writes to standard error.
    pub stderr: Option<String>,
}

/// The phase of a hook of Kiro CLI 2.13 and later.
#[must_use]
pub fn kiro_phase(hook: &str) -> Option<Phase> {
    Some(match hook {
        "agentSpawn" => Phase::SessionStart,
        "userPromptSubmit" => Phase::BeforeModel,
        "preToolUse" => Phase::BeforeTool,
        "postToolUse" => Phase::AfterTool,
        "stop" => Phase::Stop,
        _ => return None,
    })
}

/// Answers one hook call; `payload` is what Kiro wrote. A hook that is not known is answered with nothing, and the
/// application is not asked.
///
/// ```
/// use tally::hosts::{Decision, LifecycleOutcome, Profile, evaluate_kiro_hook};
/// let kiro = Profile::shipped("kiro").unwrap().stand_in();
/// let payload = serde_json::json!({"hook_event_name": "preToolUse", "session_id": "s"});
/// let reply = evaluate_kiro_hook(kiro.as_ref(), &payload, &|_| Ok(LifecycleOutcome::of(Decision::Deny)))?;
/// assert_eq!((reply.exit_code, reply.stderr.as_deref()), (2, Some("Tool use denied")));
/// # Ok::<(), tally::hosts::BindingError>(())
/// ```
///
/// # Errors
/// When the application or a binding fails. Whether that may block the host is the caller's affair.
pub fn evaluate_kiro_hook(
    adapter: &dyn HostAdapter,
    payload: &Value,
    evaluate: &dyn Fn(&LifecycleEvent) -> Result<LifecycleOutcome, BindingError>,
) -> Result<KiroReply, BindingError> {
    let text = |key| payload.get(key).and_then(Value::as_str).unwrap_or_default();
    let Some(phase) = kiro_phase(text("hook_event_name")) else { return Ok(KiroReply::default()) };
    let event = LifecycleEvent {
        phase,
        session_id: text("session_id").to_owned(),
        context: Some(json!({ "hostEvent": payload })),
    };
    let outcome = adapter.project(&event, evaluate(&event)?)?.outcome;
    let denied = outcome.decision == Decision::Deny;
    Ok(match phase {
        Phase::BeforeTool if denied => KiroReply {
            exit_code: 2,
            stderr: Some(outcome.reason.unwrap_or_else(|| "Tool use denied".to_owned())),
            stdout: None,
        },
        Phase::Stop if denied => {
            let reason = outcome.reason.unwrap_or_else(|| "Completion denied".to_owned());
            let answer = json!({ "decision": "block", "reason": reason }).to_string();
            KiroReply { stdout: Some(answer), ..KiroReply::default() }
        }
        Phase::SessionStart | Phase::BeforeModel => {
            KiroReply { stdout: outcome.context().map(str::to_owned), ..KiroReply::default() }
        }
        _ => KiroReply::default(),
    })
}
