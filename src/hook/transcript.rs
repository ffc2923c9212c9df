//! The transcript of the session that a hook speaks of.

use super::payload::Payload;
use crate::settings::env::{Env, vars};
use crate::sys::files;
use crate::usage::{Runtime, claude, codex};
use std::path::{Path, PathBuf};

/// The transcript as the payload names it. Codex may name none: then the session's id finds it.
pub(super) fn find(env: &Env, runtime: Runtime, payload: &Payload<'_>) -> Option<PathBuf> {
    let named = payload.transcript_path.as_deref().filter(|path| !path.is_empty());
    if let Some(named) = named {
        return Some(PathBuf::from(named));
    }
    if runtime != Runtime::Codex {
        return None;
    }
    let codex_home = match env.path(&vars::CODEX_HOME) {
        Some(moved) => moved.to_path_buf(),
        None => env.path(&vars::HOME)?.join(".codex"),
    };
    codex::layout::of_thread(&codex_home, payload.session_id.as_deref()?)
}

/// Where the agent worked when the session started.
pub(super) fn started_in(runtime: Runtime, transcript: &Path) -> Option<PathBuf> {
    let file = files::open_regular(transcript).ok()?;
    match runtime {
        Runtime::Codex => codex::read::first_cwd(&file),
        _ => claude::read::first_cwd(&file),
    }
}
