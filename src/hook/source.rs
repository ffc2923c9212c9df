//! Where the session that a hook speaks of has its calls written.

use crate::hosts::{Field, HostEvent, Kind};
use crate::settings::env::{Env, vars};
use crate::sys::files;
use crate::usage::{Runtime, claude, codex, kiro, opencode, pi};
use std::path::{Path, PathBuf};

/// The source: the transcript as the payload names it, else as the session's id finds it; opencode's data folder, which
/// has all sessions. Nothing of a host without hooks. A search is for the events that economics hangs on, and so is a look
/// into a database: between them a hook must stay cheap, and only a transcript that is named counts.
pub(super) fn find(env: &Env, runtime: Runtime, event: &HostEvent<'_>) -> Option<PathBuf> {
    let home = env.path(&vars::HOME);
    let searches = matches!(event.kind(), Kind::AgentSpawn | Kind::SubagentStop | Kind::Stop);
    let named = event.text(Field::Transcript).filter(|_| runtime != Runtime::Opencode).map(PathBuf::from);
    if named.is_some() || !searches {
        return named;
    }
    if runtime == Runtime::Opencode {
        let moved = env.path(&vars::XDG_DATA_HOME).filter(|path| path.is_absolute());
        let data = moved.map(Path::to_path_buf).or_else(|| Some(home?.join(".local/share")));
        return data.map(|data| data.join("opencode"));
    }
    let id = event.text(Field::Session)?;
    match runtime {
        Runtime::Codex => codex::layout::of_thread(&codex_home(env)?, id),
        Runtime::Pi => pi::of_session(home?, id),
        Runtime::Kiro => kiro::of_session(home?, id),
        Runtime::ClaudeCode | Runtime::Opencode | Runtime::GeminiCli | Runtime::CopilotCli => None,
    }
}

fn codex_home(env: &Env) -> Option<PathBuf> {
    let moved = env.path(&vars::CODEX_HOME).map(Path::to_path_buf);
    moved.or_else(|| Some(env.path(&vars::HOME)?.join(".codex")))
}

/// Where Codex keeps its sessions, if `runtime` is Codex.
pub(super) fn codex_sessions(env: &Env, runtime: Option<Runtime>) -> Option<PathBuf> {
    runtime.filter(|runtime| *runtime == Runtime::Codex)?;
    Some(codex_home(env)?.join("sessions"))
}

/// Where the agent worked when the session started.
pub(super) fn started_in(runtime: Runtime, source: &Path, event: &HostEvent<'_>) -> Option<PathBuf> {
    if runtime == Runtime::Opencode {
        return opencode::family::top(source, event.text(Field::Session)?)?.directory;
    }
    let mut file = files::open_regular(source).ok()?;
    match runtime {
        Runtime::Codex => codex::read::first_cwd(&file),
        Runtime::Pi => pi::first_cwd(&mut file),
        Runtime::Kiro => kiro::first_cwd(file),
        _ => claude::read::first_cwd(&file),
    }
}
