//! The transcript of the session that a hook speaks of.

use crate::hosts::{Field, HostEvent};
use crate::settings::env::{Env, vars};
use crate::sys::files;
use crate::usage::{Runtime, claude, codex};
use std::path::{Path, PathBuf};

/// The transcript as the payload names it. Codex may name none: then the session's id finds it.
pub(super) fn find(env: &Env, runtime: Runtime, event: &HostEvent<'_>) -> Option<PathBuf> {
    if let Some(named) = event.text(Field::Transcript) {
        return Some(PathBuf::from(named));
    }
    if runtime != Runtime::Codex {
        return None;
    }
    codex::layout::of_thread(&codex_home(env)?, event.text(Field::Session)?)
}

fn codex_home(env: &Env) -> Option<PathBuf> {
    let moved = env.path(&vars::CODEX_HOME).map(Path::to_path_buf);
    moved.or_else(|| Some(env.path(&vars::HOME)?.join(".codex")))
}

/// Where Codex keeps its sessions, if `runtime` is Codex.
pub(super) fn codex_sessions(env: &Env, runtime: Option<Runtime>) -> Option<PathBuf> {
    runtime
        .filter(|runtime| *runtime == Runtime::Codex)
        .and_then(|_| codex_home(env))
        .map(|home| home.join("sessions"))
}

/// Where the agent worked when the session started.
pub(super) fn started_in(runtime: Runtime, transcript: &Path) -> Option<PathBuf> {
    let file = files::open_regular(transcript).ok()?;
    match runtime {
        Runtime::Codex => codex::read::first_cwd(&file),
        _ => claude::read::first_cwd(&file),
    }
}
