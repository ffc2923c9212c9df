//! What a hook does about claims: it keeps the task of its session claimed, and tells the agent of a conflict
//! (DESIGN §10). `FLOW_AGENTS_LIVENESS` switches it, not `TELEMETRY_ENABLED`.
//!
//! A hook without a task ends after the look for a pointer; settings are loaded only when an event was written.

use super::{Complaint, Reply, errand};
use crate::liveness::actor::{self, Session};
use crate::liveness::bound::Bound;
use crate::liveness::conflict::Conflict;
use crate::liveness::event::Event;
use crate::liveness::policy::Policy;
use crate::liveness::stream::Stream;
use crate::liveness::tool_activity::Outcome;
use crate::liveness::{lifecycle, relay, tool_activity};
use crate::settings::Settings;
use crate::settings::env::Env;
use crate::sys::clock;
use std::path::Path;

/// One hook call, as far as claims are concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub env: &'a Env,
    pub cwd: &'a Path,
    pub event: &'a str,
    pub session: Option<Session<'a>>,
    pub tool: Option<&'a str>,
}

/// Does what `call` calls for, and returns what the agent is to be told.
pub(super) fn serve(call: &Call<'_>) -> Result<Option<Reply>, Complaint> {
    let policy = Policy::of(call.env);
    let wrong = |error: crate::liveness::stream::Error| Complaint(error.to_string());
    if !policy.enabled {
        return Ok(None);
    }
    let bound = || Bound::find(call.env, call.cwd, call.session);
    let now_ms = clock::now_ms();
    match call.event {
        "PostToolUse" | "PostToolUseFailure" => {
            let Some(bound) = bound() else { return Ok(None) };
            let outcome = tool_activity::heartbeat(&bound, &policy, call.tool, now_ms).map_err(wrong)?;
            if let Outcome::Emitted(event, ttl_s) = outcome {
                send(call, &event, ttl_s)?;
            }
            Ok(None)
        }
        "PreToolUse" | "UserPromptSubmit" => Ok(waiting(call)),
        "SessionStart" => {
            let Some(bound) = bound() else { return Ok(waiting(call)) };
            let outcome = lifecycle::start(&bound, &policy, now_ms).map_err(wrong)?;
            // What is told now takes the place of what was to be told.
            let waited = Conflict::take(&bound.stream, &bound.actor);
            let told = outcome.conflict.or(waited).map(|conflict| reply(call, &conflict));
            let sent = outcome.said.map_or(Ok(()), |(event, ttl_s)| send(call, &event, ttl_s));
            if let Err(Complaint(text)) = sent {
                super::complain(call.env, call.cwd, &text);
            }
            Ok(told)
        }
        "Stop" | "SessionEnd" => {
            let Some(bound) = bound() else { return Ok(None) };
            if let Some((event, ttl_s)) = lifecycle::stop(&bound, now_ms).map_err(wrong)?.said {
                send(call, &event, ttl_s)?;
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// The conflict that waits for the actor.
fn waiting(call: &Call<'_>) -> Option<Reply> {
    let stream = Stream::of(call.cwd);
    if !stream.dir().is_dir() {
        return None;
    }
    let actor = actor::resolve(call.env, call.session).actor?;
    Some(reply(call, &Conflict::take(&stream, &actor.name)?))
}

fn reply(call: &Call<'_>, conflict: &Conflict) -> Reply {
    Reply { event: call.event.to_owned(), context: conflict.text() }
}

/// Queues the event for the Console where that is asked for. The event itself is safe.
fn send(call: &Call<'_>, event: &Event, ttl_s: u64) -> Result<(), Complaint> {
    let mut settings = Settings::load(call.env, call.cwd);
    if !settings.liveness_relay.on {
        return Ok(());
    }
    let wrong = |error: String| Complaint(format!("a claim's event was not queued: {error}"));
    settings.prepare().map_err(|error| wrong(error.to_string()))?;
    relay::queue(event, ttl_s, &settings).map_err(|error| wrong(error.to_string()))?;
    errand::wake(call.env, &settings).map_err(|error| wrong(error.to_string()))
}
