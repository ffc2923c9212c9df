//! What a host calls: its hook JSON in, a record out, and never an answer that depends on how we fare (DESIGN §4, G1).
//! The one answer is context: a conflict of claims, told where the host can take it ([`reply`]).
//!
//! Nothing here opens a socket, starts a runtime, loads TLS roots or starts git. What goes wrong is one line in
//! `tally.log`; the host sees exit 0, and a stdout that is empty unless there is something to tell the agent.

pub mod errand;
mod liveness;
pub mod payload;
pub mod reply;
mod transcript;

use crate::economics::run::{self, Subject};
use crate::journal::notes;
use crate::liveness::actor::Session;
use crate::settings::Settings;
use crate::settings::env::Env;
use crate::sys::clock;
use crate::usage::{Runtime, claude, codex, kiro, opencode, pi};
use payload::Payload;
use reply::{Reply, Voice};
use std::path::{Path, PathBuf};

/// The hosts whose hooks are known.
pub const HOSTS: [&str; 5] = [claude::line::HOST, codex::HOST, opencode::HOST, pi::HOST, kiro::HOST];

/// What a hook has to say for itself; the host never hears it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint(pub String);

/// Serves one hook call of `host`. `event` names the event where the payload does not.
pub fn serve(env: &Env, host: &str, event: Option<&str>, input: &[u8], process_cwd: &Path) -> Option<Reply> {
    let mut mended = String::new();
    let payload = payload::parse(input, &mut mended);
    let cwd = payload.as_ref().ok().and_then(|payload| payload.cwd.as_deref()).map(Path::new);
    let cwd = cwd.filter(|cwd| cwd.is_dir()).unwrap_or(process_cwd);
    let log = |Complaint(text)| complain(env, cwd, &format!("hook {host}: {text}"));
    let payload = match &payload {
        Ok(payload) => payload,
        Err(error) => {
            log(Complaint(format!("the payload is not a JSON object: {error}")));
            return None;
        }
    };
    let event = payload.hook_event_name.as_deref().or(event)?;
    // Records come first: they are the duty that cannot be made good by the next hook.
    let runtime = Runtime::of_host(host)?;
    if let Some(moment) = moment(runtime, payload, event) {
        let source = transcript::find(env, runtime, payload);
        let started = source.as_deref().and_then(|source| transcript::started_in(runtime, source, payload));
        let (cwd, settings) = home_of_session(env, started, cwd);
        let call = Call { env, host, payload, source: source.as_deref(), cwd: &cwd };
        if settings.enabled
            && let Err(complaint) = act(&call, moment, settings)
        {
            log(complaint);
        }
    }
    let call = liveness::Call {
        env,
        cwd,
        voice: Voice { host, event },
        session: payload.session_id.as_deref().map(|id| Session { host, id }),
        tool: payload.tool_name.as_deref(),
    };
    let told = liveness::serve(&call).unwrap_or_else(|complaint| {
        log(complaint);
        None
    });
    let (reply, downgrade) = call.voice.say(payload.session_id.as_deref().unwrap_or_default(), told?);
    downgrade.into_iter().for_each(log);
    Some(reply)
}

/// The folder and the settings that a session is recorded under. An agent may move on into another repository; its
/// session stays where it started, as its transcript tells: else it would be billed in both, and to both tenants.
fn home_of_session(env: &Env, started: Option<PathBuf>, cwd: &Path) -> (PathBuf, Settings) {
    let settings = Settings::load(env, cwd);
    if let Some(start) = started.filter(|start| start != cwd && start.is_dir()) {
        let at_start = Settings::load(env, &start);
        if at_start.workspace.root != settings.workspace.root {
            return (start, at_start);
        }
    }
    (cwd.to_path_buf(), settings)
}

/// Writes one line to the log of the workspace that `cwd` is in.
pub fn complain(env: &Env, cwd: &Path, text: &str) {
    let mut settings = Settings::load(env, cwd);
    // Without a place for it there is nobody left to tell.
    if settings.enabled && settings.prepare().is_ok() {
        notes::note(&settings.data_dir, text);
    }
}

/// The events at which economics happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Start { resumed: bool },
    SubagentStop,
    Stop,
    End,
}

fn moment(runtime: Runtime, payload: &Payload<'_>, event: &str) -> Option<Moment> {
    match event {
        "SessionStart" | "agentSpawn" => {
            Some(Moment::Start { resumed: matches!(payload.source.as_deref(), Some("resume" | "compact")) })
        }
        // A subagent of Codex is a thread of its own, and the rollout of the one that called it is read at its stop: in
        // the middle of a turn nobody knows yet what is billed in it.
        "SubagentStop" => (runtime != Runtime::Codex).then_some(Moment::SubagentStop),
        "Stop" | "stop" => Some(Moment::Stop),
        "SessionEnd" => Some(Moment::End),
        _ => None,
    }
}

/// One hook call, as far as records are concerned.
struct Call<'a> {
    env: &'a Env,
    host: &'a str,
    payload: &'a Payload<'a>,
    source: Option<&'a Path>,
    cwd: &'a Path,
}

fn act(call: &Call<'_>, moment: Moment, mut settings: Settings) -> Result<(), Complaint> {
    settings.prepare().map_err(|error| Complaint(format!("no place to keep records: {error}")))?;
    let Some(session_id) = call.payload.session_id.as_deref().filter(|id| !id.is_empty()) else {
        return Err(Complaint(
            "the payload has no session_id, so the run cannot be told from others".to_owned(),
        ));
    };
    let subject = Subject {
        host: call.host,
        session_id,
        source: call.source,
        cwd: call.cwd,
        settings: &settings,
        now_ms: clock::now_ms(),
    };
    let wrong = |error: run::RunError| Complaint(error.to_string());
    match moment {
        Moment::Start { resumed } => run::start(&subject, resumed).map_err(wrong),
        Moment::SubagentStop => run::advance(&subject).map_err(wrong),
        Moment::Stop | Moment::End => {
            let stopped = run::stop(&subject, moment == Moment::End).map_err(wrong)?;
            let woken = errand::wake(call.env, &settings);
            woken.map_err(|error| Complaint(format!("the relay was not woken: {error}")))?;
            let said = stopped.warnings.into_iter().chain(stopped.handoff.map(|error| error.to_string()));
            let said: Vec<String> = said.chain(settings.warnings.iter().cloned()).collect();
            if said.is_empty() { Ok(()) } else { Err(Complaint(said.join("; "))) }
        }
    }
}
