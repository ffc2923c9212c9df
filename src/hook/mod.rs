//! What a host calls: its hook JSON in, records out, and never an answer that depends on how we fare (DESIGN §4, G1).
//! The one answer is context: a conflict of claims, told where the host can take it ([`reply`]).
//!
//! Nothing here opens a socket, starts a runtime, loads TLS roots or starts git. What goes wrong is one line in
//! `tally.log`; the host sees exit 0, and a stdout that is empty unless there is something to tell the agent.

pub mod errand;
mod evidence;
mod liveness;
mod records;
pub mod reply;
mod source;

use crate::hosts::{Field, HostEvent, Kind, Mapping};
use crate::journal::{bounded, notes};
use crate::liveness::actor::Session;
use crate::settings::Settings;
use crate::settings::env::Env;
use crate::settings::workspace::Workspace;
use crate::usage::Runtime;
use reply::{Reply, Voice};
use std::path::{Path, PathBuf};

/// What a hook has to say for itself; the host never hears it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint(pub String);

/// Serves one hook call of `host`. `event` names the event where the payload does not.
pub fn serve(env: &Env, host: &str, event: Option<&str>, input: &[u8], process_cwd: &Path) -> Option<Reply> {
    let mapping = Mapping::of(host)?;
    let log = |cwd: &Path, Complaint(text): Complaint| complain(env, cwd, &format!("hook {host}: {text}"));
    let document = match bounded::document(input) {
        Ok(document) => document,
        Err(error) => {
            // Where, and not what: the parser's own words repeat a text that stands in the place of an object.
            let place = format!("line {}, column {}", error.line(), error.column());
            log(process_cwd, Complaint(format!("the payload is not a JSON object: {place}")));
            return None;
        }
    };
    let Some(event) = mapping.event(&document.fields, event) else {
        log(process_cwd, Complaint("neither the payload nor the call names an event".to_owned()));
        return None;
    };
    let told = event.text(Field::Cwd).map(Path::new).filter(|cwd| cwd.is_dir());
    let cwd = told.unwrap_or(process_cwd);
    // Records come first: they are the duty that cannot be made good by the next hook.
    let runtime = Runtime::of_host(host);
    let source = runtime.and_then(|runtime| source::find(env, runtime, &event));
    let started = runtime
        .zip(source.as_deref())
        .and_then(|(runtime, source)| source::started_in(runtime, source, &event));
    let (home, settings) = home_of_session(env, started, cwd);
    let workspace = (home == cwd).then(|| settings.workspace.clone());
    if settings.enabled {
        let call = records::Call {
            env,
            event: &event,
            cut: &document.cut,
            runtime,
            source: source.as_deref(),
            home: &home,
            cwd: told,
        };
        for complaint in records::write(&call, settings) {
            log(cwd, complaint);
        }
    }
    answer(env, &event, cwd, workspace.as_ref(), &|complaint| log(cwd, complaint))
}

/// Keeps the claim of the session, and says what the agent is to be told.
fn answer(
    env: &Env,
    event: &HostEvent<'_>,
    cwd: &Path,
    workspace: Option<&Workspace>,
    log: &dyn Fn(Complaint),
) -> Option<Reply> {
    let host = event.host();
    let call = liveness::Call {
        env,
        cwd,
        workspace,
        voice: Voice { host, native: event.native, kind: event.kind(), form: event.answer_form() },
        session: event.text(Field::Session).map(|id| Session { host, id }),
        tool: event.text(Field::Tool),
    };
    let told = liveness::serve(&call).unwrap_or_else(|complaint| {
        log(complaint);
        None
    });
    let (reply, downgrade) = call.voice.say(event.text(Field::Session).unwrap_or_default(), told?);
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

/// Whether a stop, a start or a prompt: the moments at which what waits for the Console is sent. Between them events only wait.
fn is_time_to_send(kind: Kind) -> bool {
    matches!(kind, Kind::AgentSpawn | Kind::UserPromptSubmit | Kind::Stop)
}
