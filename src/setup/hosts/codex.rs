//! Codex. Source: developers.openai.com/codex/hooks and …/codex/config-advanced (May 2026): hooks are read from `hooks.json`
//! and from `[hooks]` tables of `config.toml` in `~/.codex` and in a trusted project's `.codex`; both have the same shape,
//! `timeout` is in seconds, one of both is to be preferred per folder; a hook runs once the user has trusted it.

use super::{Asset, Shape, Target, toml};
use crate::settings::env::vars;
use crate::setup::command;
use crate::setup::place::{Place, Scope};
use crate::sys::files;
use std::path::{Path, PathBuf};

pub(super) const NAME: &str = "codex";

const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "SubagentStart",
    "SubagentStop",
    "Stop",
];
const TIMEOUT_S: u64 = 15;

/// The user's own folder.
pub(super) fn home(place: &Place) -> PathBuf {
    let named = place.env.path(&vars::CODEX_HOME).map(Path::to_path_buf);
    named.unwrap_or_else(|| place.home.join(".codex"))
}

/// `hooks.json`, and `config.toml`.
pub(super) fn candidates(place: &Place) -> Vec<Target> {
    let folder = match place.scope {
        Scope::UserGlobal => home(place),
        Scope::Workspace => place.dest.join(".codex"),
    };
    let command = command::of(&place.program, NAME);
    let json =
        Asset::Json { shape: Shape::Grouped, events: EVENTS, timeout_s: TIMEOUT_S, command: command.clone() };
    let toml = Asset::Toml { events: EVENTS, timeout_s: TIMEOUT_S, command };
    let target =
        |id: &str, name, asset| Target { host: NAME, id: id.to_owned(), path: folder.join(name), asset };
    vec![target("tally-hooks", "hooks.json", json), target("tally-hooks-config", "config.toml", toml)]
}

/// Whoever has hooks in `config.toml` alone keeps them in one place.
pub(super) fn targets(place: &Place) -> Vec<Target> {
    let mut targets = candidates(place);
    let has_hooks = |target: &Target| {
        let bytes = files::read_bounded(&target.path, crate::setup::plan::MAX_BYTES).ok().flatten();
        bytes.is_some_and(|bytes| toml::has_hooks(&String::from_utf8_lossy(&bytes)))
    };
    let in_toml = targets.last().is_some_and(has_hooks)
        && !targets.iter().any(|one| one.is_json() && one.path.exists());
    targets.retain(|target| target.is_json() != in_toml);
    targets
}
