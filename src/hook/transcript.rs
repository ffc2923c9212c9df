//! Where the session that a hook speaks of has its calls written.

use super::payload::Payload;
use crate::settings::env::{Env, vars};
use crate::sys::files;
use crate::usage::{Runtime, claude, codex, kiro, opencode, pi};
use std::path::{Path, PathBuf};

/// The source: the transcript as the payload names it, else as the session's id finds it; opencode's data folder, which
/// has all sessions. Nothing of a host without hooks.
pub(super) fn find(env: &Env, runtime: Runtime, payload: &Payload<'_>) -> Option<PathBuf> {
    let home = env.path(&vars::HOME);
    if runtime == Runtime::Opencode {
        let moved = env.path(&vars::XDG_DATA_HOME).filter(|path| path.is_absolute());
        let data = moved.map(Path::to_path_buf).or_else(|| Some(home?.join(".local/share")));
        return data.map(|data| data.join("opencode"));
    }
    let named = payload.transcript_path.as_deref().filter(|path| !path.is_empty());
    if let Some(named) = named {
        return Some(PathBuf::from(named));
    }
    let id = payload.session_id.as_deref().filter(|id| !id.is_empty())?;
    match runtime {
        Runtime::Codex => {
            let moved = env.path(&vars::CODEX_HOME).map(Path::to_path_buf);
            codex::layout::of_thread(&moved.or_else(|| Some(home?.join(".codex")))?, id)
        }
        Runtime::Pi => pi::of_session(home?, id),
        Runtime::Kiro => kiro::of_session(home?, id),
        Runtime::ClaudeCode | Runtime::Opencode | Runtime::GeminiCli | Runtime::CopilotCli => None,
    }
}

/// Where the agent worked when the session started.
pub(super) fn started_in(runtime: Runtime, source: &Path, payload: &Payload<'_>) -> Option<PathBuf> {
    if runtime == Runtime::Opencode {
        return opencode::family::top(source, payload.session_id.as_deref()?)?.directory;
    }
    let mut file = files::open_regular(source).ok()?;
    match runtime {
        Runtime::Codex => codex::read::first_cwd(&file),
        Runtime::Pi => pi::first_cwd(&mut file),
        Runtime::Kiro => kiro::first_cwd(file),
        _ => claude::read::first_cwd(&file),
    }
}
