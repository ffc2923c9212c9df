//! What a hook does about claims: it keeps the task of its session claimed, and tells the agent of a conflict
//! (DESIGN §10). `FLOW_AGENTS_LIVENESS` switches it, not `TELEMETRY_ENABLED`.
//!
//! A hook without a task ends after the look for a pointer; settings are loaded only when an event was written.

use super::reply::{Hearing, Voice};
use super::{Complaint, errand};
use crate::hosts::Kind;
use crate::liveness::actor::{self, Session};
use crate::liveness::bound::Bound;
use crate::liveness::conflict::Conflict;
use crate::liveness::event::Event;
use crate::liveness::policy::Policy;
use crate::liveness::stream::Stream;
use crate::liveness::tool_activity::Outcome;
use crate::liveness::{leave, lifecycle, relay, tool_activity};
use crate::settings::Settings;
use crate::settings::env::Env;
use crate::settings::workspace::{Found, Workspace};
use crate::sys::clock;
use std::path::Path;

/// One hook call, as far as claims are concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub env: &'a Env,
    pub cwd: &'a Path,
    /// The workspace of `cwd`, where it was found already.
    pub workspace: Option<&'a Workspace>,
    pub voice: Voice<'a>,
    pub session: Option<Session<'a>>,
    pub tool: Option<&'a str>,
}

impl Call<'_> {
    fn stream(&self) -> Stream {
        // An override moves the records, and not the claims.
        match self.workspace.filter(|workspace| workspace.found != Found::Override) {
            Some(workspace) => Stream::in_workspace(workspace.clone()),
            None => Stream::of(self.cwd),
        }
    }
}

/// Does what `call` calls for, and returns what the agent is to be told.
pub(super) fn serve(call: &Call<'_>) -> Result<Option<String>, Complaint> {
    let policy = Policy::of(call.env);
    let wrong = |error: crate::liveness::stream::Error| Complaint(error.to_string());
    if !policy.enabled {
        return Ok(None);
    }
    let bound = || Bound::find(call.env, call.cwd, call.stream(), call.session);
    let now_ms = clock::now_ms();
    match call.voice.kind {
        Kind::PostToolUse => {
            let Some(bound) = bound() else { return Ok(None) };
            let outcome = tool_activity::heartbeat(&bound, &policy, call.tool, now_ms).map_err(wrong)?;
            if let Outcome::Emitted(event, ttl_s) = outcome {
                send(call, &event, ttl_s)?;
            }
            Ok(None)
        }
        Kind::UserPromptSubmit if !comes_back(call) => Ok(waiting(call)),
        Kind::PreToolUse => Ok(waiting(call)),
        // Who was let go with the task open and is asked to go on takes it up as a new session does.
        Kind::AgentSpawn | Kind::UserPromptSubmit => {
            let Some(bound) = bound() else { return Ok(waiting(call)) };
            let outcome = lifecycle::start(&bound, &policy, now_ms).map_err(wrong)?;
            // What is told now takes the place of what was to be told.
            let waited = Conflict::take(&bound.stream, &bound.actor);
            let told = outcome.conflict.or(waited).map(|conflict| told(call, &bound, &conflict));
            let sent = outcome.said.map_or(Ok(()), |(event, ttl_s)| send(call, &event, ttl_s));
            if let Err(Complaint(text)) = sent {
                super::complain(call.env, call.cwd, &text);
            }
            told.unwrap_or(Ok(None))
        }
        Kind::Stop => {
            let Some(bound) = bound() else { return Ok(None) };
            if let Some((event, ttl_s)) = lifecycle::stop(&bound, now_ms).map_err(wrong)?.said {
                send(call, &event, ttl_s)?;
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Whether the actor left its task when it stopped.
fn comes_back(call: &Call<'_>) -> bool {
    let stream = call.stream();
    let actor = || actor::resolve(call.env, call.session).actor;
    stream.dir().is_dir() && actor().is_some_and(|actor| leave::comes_back(&stream, &actor.name))
}

/// The conflict that waits for the actor; it goes on waiting where the host will hear of it later.
fn waiting(call: &Call<'_>) -> Option<String> {
    let stream = call.stream();
    if !stream.dir().is_dir() {
        return None;
    }
    let actor = actor::resolve(call.env, call.session).actor?.name;
    if !Conflict::waits(&stream, &actor) || call.voice.hearing() == Hearing::Later {
        return None;
    }
    Conflict::take(&stream, &actor).map(|conflict| conflict.text())
}

/// The conflict in words; where the host will hear of it later, it waits.
fn told(call: &Call<'_>, bound: &Bound, conflict: &Conflict) -> Result<Option<String>, Complaint> {
    if call.voice.hearing() == Hearing::Later {
        let kept = conflict.keep(&bound.stream, &bound.actor);
        return kept.map(|()| None).map_err(|error| Complaint(format!("a conflict was not kept: {error}")));
    }
    Ok(Some(conflict.text()))
}

/// Queues the event for the Console where that is asked for. The event itself is safe.
pub(super) fn send(call: &Call<'_>, event: &Event, ttl_s: u64) -> Result<(), Complaint> {
    let mut settings = Settings::load(call.env, call.cwd);
    if !settings.liveness_relay.on {
        return Ok(());
    }
    let wrong = |error: String| Complaint(format!("a claim's event was not queued: {error}"));
    settings.prepare().map_err(|error| wrong(error.to_string()))?;
    relay::queue(event, ttl_s, &settings).map_err(|error| wrong(error.to_string()))?;
    errand::wake(call.env, &settings).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::env::vars;

    #[test]
    fn a_conflict_waits_for_a_phase_at_which_the_host_can_take_context() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(".kontourai/flow-agents");
        std::fs::create_dir_all(folder.join("t")).unwrap();
        std::fs::create_dir_all(folder.join("liveness")).unwrap();
        std::fs::write(folder.join("current.json"), r#"{"active_slug":"t"}"#).unwrap();
        std::fs::write(folder.join("t/state.json"), r#"{"task_slug":"t","status":"planned"}"#).unwrap();
        let at = crate::liveness::stamp::Stamp::at(clock::now_ms());
        let claim =
            format!(r#"{{"type":"claim","subjectId":"t","actor":"other","at":"{at}","ttlSeconds":1800}}"#);
        std::fs::write(folder.join("liveness/events.jsonl"), format!("{claim}\n")).unwrap();
        let env = Env::from_pairs([(vars::FLOW_AGENTS_ACTOR.name, "me")]);
        let told = |host, event| {
            let mapping = crate::hosts::Mapping::of(host).unwrap();
            let kind = mapping.meaning(event).kind;
            let voice = Voice { host, native: event, kind, form: mapping.answer_form() };
            serve(&Call { env: &env, cwd: dir.path(), workspace: None, voice, session: None, tool: None })
                .unwrap()
        };
        // Pi hears nothing when a session starts, and nothing before a tool; when a prompt is submitted, it does.
        assert_eq!(told("pi", "SessionStart"), None);
        assert_eq!(told("pi", "PreToolUse"), None);
        assert!(told("pi", "UserPromptSubmit").unwrap().contains("\"other\""));
        assert_eq!(told("pi", "UserPromptSubmit"), None, "told once");
    }
}
