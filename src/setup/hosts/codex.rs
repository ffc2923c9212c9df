//! Codex. Source: developers.openai.com/codex/hooks and …/codex/config-advanced (May 2026): hooks are read from `hooks.json`
//! and from `[hooks]` tables of `config.toml` in `~/.codex` and in a trusted project's `.codex`; both have the same shape,
//! `timeout` is in seconds, one of both is to be preferred per folder; a hook runs once the user has trusted it.

use super::{Asset, Refusal, Shape, Target, toml};
use crate::settings::env::vars;
use crate::setup::command;
use crate::setup::place::{Place, Scope};
use crate::sys::files;
use std::path::{Path, PathBuf};

pub(super) const NAME: &str = "codex";

const EVENTS: &[&str] =
    &["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStop", "Stop"];
const TIMEOUT_S: u64 = 15;

/// The user's own folder.
pub(super) fn home(place: &Place) -> PathBuf {
    let named = place.env.path(&vars::CODEX_HOME).map(Path::to_path_buf);
    named.unwrap_or_else(|| place.home.join(".codex"))
}

pub(super) fn targets(place: &Place) -> Result<Vec<Target>, Refusal> {
    let folder = match place.scope {
        Scope::UserGlobal => home(place),
        Scope::Workspace => place.dest.join(".codex"),
    };
    let (hooks, config) = (folder.join("hooks.json"), folder.join("config.toml"));
    let command = command::of(&place.program, NAME);
    let text = files::read_bounded(&config, crate::setup::plan::MAX_BYTES).ok().flatten();
    let inline = text.is_some_and(|bytes| toml::has_hooks(&String::from_utf8_lossy(&bytes)));
    // Whoever has hooks in config.toml alone keeps them in one place.
    if inline && !hooks.exists() {
        let asset = Asset::Toml { events: EVENTS, timeout_s: TIMEOUT_S, command };
        return Ok(vec![Target { host: NAME, path: config, asset }]);
    }
    let asset = Asset::Json { shape: Shape::Grouped, events: EVENTS, timeout_s: TIMEOUT_S, command };
    Ok(vec![Target { host: NAME, path: hooks, asset }])
}
