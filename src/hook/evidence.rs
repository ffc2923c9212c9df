//! What a tool call came to, and its record beside the sidecars of the task that the session is bound to (contract I).

use super::policies::Switches;
use super::records::Call;
use super::source;
use crate::attribution::sidecar;
use crate::evidence::command_log::{self, Refused};
use crate::evidence::outcome::{Observed, Outcome};
use crate::evidence::{codex, outcome};
use crate::hosts::{Field, Kind};
use crate::liveness::actor::{self, Session, sanitize_segment};
use crate::policy::{self, capture};
use crate::settings::Settings;

/// What the call came to. Codex tells an exit code in words, or in its rollout.
pub(super) fn observe(call: &Call<'_>) -> Observed {
    let payload = call.event.payload;
    let observed = match source::codex_sessions(call.env, call.runtime) {
        Some(sessions) => codex::observe(payload, &sessions),
        None => outcome::observe(payload),
    };
    // The event may say by its name what the payload does not.
    if call.event.meaning.failed { Observed { result: Outcome::Fail, ..observed } } else { observed }
}

/// Adds a command to the log of the task, where there is a task.
pub(super) fn keep(
    call: &Call<'_>,
    settings: &Settings,
    observed: Observed,
    now_ms: i64,
) -> Result<(), Refused> {
    let Some(command) = command_log::command(call.event.payload) else { return Ok(()) };
    let session = call.event.text(Field::Session).map(|id| Session { host: call.event.host(), id });
    let cwd = call.cwd.unwrap_or(call.home);
    if Switches::of(call.env, settings.policies).any() {
        // The log that the Stop gate will read.
        let asked = policy::Call {
            env: call.env,
            cwd,
            home: Some(call.home),
            session,
            event: Kind::PostToolUse,
            payload: None,
            truncated: false,
            blocks: false,
            patience: None,
            now_ms,
        };
        let folder = capture::folder(&asked);
        return folder.map_or(Ok(()), |folder| capture::keep(&folder, command, cwd, observed, now_ms));
    }
    let bases = settings.workspace.sidecar_bases();
    if !bases.iter().any(|base| sidecar::may_have_task(base)) {
        return Ok(());
    }
    let actor = actor::resolve(call.env, session).actor.map(|actor| sanitize_segment(&actor.name));
    let lookup = sidecar::Lookup { bases: &bases, actor: actor.as_deref(), ..sidecar::Lookup::default() };
    let Some(folder) = sidecar::active_folder(&lookup) else { return Ok(()) };
    capture::keep(&folder, command, cwd, observed, now_ms)
}
