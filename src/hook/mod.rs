//! What a host calls: its hook JSON in, records out, and never an answer that depends on how we fare (DESIGN §4, G1).
//! What is answered is context, a conflict of claims for one, told where the host can take it ([`reply`]), and where policies
//! are on what they refuse.
//!
//! Nothing here opens a socket, starts a runtime, loads TLS roots or starts git. What goes wrong is one line in
//! `tally.log`; the host sees exit 0, and a stdout that is empty unless there is something to tell the agent.

pub mod errand;
mod evidence;
mod liveness;
mod policies;
mod records;
pub mod reply;
mod source;
mod waiting;

use crate::hosts::{Field, HostEvent, Kind, Mapping};
use crate::journal::{bounded, notes};
use crate::liveness::actor::Session;
use crate::policy::Input;
use crate::settings::Settings;
use crate::settings::env::Env;
use crate::settings::workspace::Workspace;
use crate::sys::clock;
use crate::usage::Runtime;
use reply::{Hearing, Reply, Said, Voice};
use serde_json::Map;
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
            return cut_off(env, &mapping, event, input, process_cwd);
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
    let call = records::Call {
        env,
        event: &event,
        cut: &document.cut,
        runtime,
        source: source.as_deref(),
        home: &home,
        cwd: told,
    };
    let policies = policies::Switches::of(env, settings.policies);
    let data_dir = settings.data_dir.clone();
    if settings.enabled {
        for complaint in records::write(&call, settings) {
            log(cwd, complaint);
        }
    } else if policies.any()
        && event.kind() == Kind::PostToolUse
        && let Err(refused) = evidence::keep(&call, &settings, evidence::observe(&call), clock::now_ms())
    {
        log(cwd, Complaint(refused.to_string()));
    }
    answer(
        env,
        &event,
        cwd,
        workspace.as_ref(),
        &policies::Asked { switches: policies, input, cwd, home: &home, data_dir: &data_dir },
        &|complaint| log(cwd, complaint),
    )
}

/// Answers a payload that is too long to be read whole: a policy may have to refuse what it cannot see.
fn cut_off(env: &Env, mapping: &Mapping, event: Option<&str>, input: &[u8], cwd: &Path) -> Option<Reply> {
    /// Where a host names the event.
    const HEAD: usize = 64 << 10;
    let settings = Settings::load(env, cwd);
    let switches = policies::Switches::of(env, settings.policies);
    if !switches.any() || !Input::read(input).truncated {
        return None;
    }
    let head = String::from_utf8_lossy(input.get(..HEAD).unwrap_or(input));
    let named = || {
        let after = head.split_once("\"hook_event_name\"")?.1.trim_start().strip_prefix(':')?;
        after.trim_start().strip_prefix('"')?.split('"').next()
    };
    // What does not say what it is may be anything, also what has to be refused.
    let name = event.or_else(named).unwrap_or("PreToolUse");
    let fields = Map::new();
    let event = mapping.event(&fields, Some(name))?;
    answer(
        env,
        &event,
        cwd,
        None,
        &policies::Asked { switches, input, cwd, home: cwd, data_dir: &settings.data_dir },
        &|Complaint(text)| complain(env, cwd, &text),
    )
}

/// Keeps the claim of the session, asks the policies, and says what the agent is to be told.
fn answer(
    env: &Env,
    event: &HostEvent<'_>,
    cwd: &Path,
    workspace: Option<&Workspace>,
    policies: &policies::Asked<'_>,
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
    let mut judged = policies.judge(env, event, call.session);
    if let Some((event, ttl_s)) = judged.released.take()
        && let Err(complaint) = liveness::send(&call, &event, ttl_s)
    {
        log(complaint);
    }
    if let Some(waiting) = policies.waiting(call.session) {
        match call.voice.hearing() {
            Hearing::Later => judged.context.take().iter().for_each(|text| waiting.keep(text)),
            Hearing::Now => judged.context = waiting.take().into_iter().chain(judged.context).reduce(join),
            Hearing::Never => {}
        }
    }
    let context = told.into_iter().chain(judged.context).reduce(join);
    if judged.deny.is_none() && context.is_none() && judged.stderr.is_empty() {
        return None;
    }
    let said = Said { deny: judged.deny, stuck: judged.stuck, context };
    let (mut reply, downgrade) = call.voice.say(event.text(Field::Session).unwrap_or_default(), &said);
    downgrade.into_iter().for_each(log);
    if !judged.stderr.is_empty() {
        let before = reply.stderr.map(|text| format!("{text}\n")).unwrap_or_default();
        reply.stderr = Some(format!("{before}{}", judged.stderr));
    }
    Some(reply)
}

fn join(first: String, next: String) -> String {
    format!("{first}\n{next}")
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
