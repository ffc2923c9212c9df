//! Claude Code. Sources: code.claude.com/docs/en/hooks (file, shape, events, `timeout` in seconds; without a matcher every
//! tool matches) and …/settings (`settings.local.json` is the project's file that is not shared).

use super::{Asset, Refusal, Shape, Target};
use crate::settings::env::vars;
use crate::setup::command;
use crate::setup::place::{Place, Scope};
use crate::sys::files;
use std::path::{Path, PathBuf};

pub(super) const NAME: &str = "claude-code";

/// Every event that means something to us (`config/hosts/claude-code.toml`).
const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionEnd",
];

/// The project's file that is not shared.
const LOCAL: &str = "settings.local.json";

/// Covers a hook's longest waits for other hooks: sessions 3 s, journal 3 s, outbox 2 s.
const TIMEOUT_S: u64 = 15;

/// The user's file, or the project's: the shared one and the one that is not.
fn paths(place: &Place) -> Vec<PathBuf> {
    if place.scope == Scope::UserGlobal {
        let named = place.env.path(&vars::CLAUDE_CONFIG_DIR).map(Path::to_path_buf);
        let folder = named.unwrap_or_else(|| place.home.join(".claude"));
        return vec![folder.join("settings.json")];
    }
    ["settings.json", LOCAL].map(|name| place.dest.join(".claude").join(name)).to_vec()
}

pub(super) fn candidates(place: &Place) -> Vec<Target> {
    paths(place).iter().map(|path| target(place, path)).collect()
}

pub(super) fn targets(place: &Place) -> Result<Vec<Target>, Refusal> {
    let paths = paths(place);
    let [shared, local] = paths.as_slice() else { return Ok(candidates(place)) };
    // An index that cannot be read may well have it: the file that is not shared is right either way.
    if place.is_tracked(shared) == Some(false) && !calls_us(place, local) {
        return Ok(vec![target(place, shared)]);
    }
    if calls_us(place, shared) {
        return Err(Refusal(format!(
            "{} calls tally, and git tracks it: the project shares its hooks",
            shared.display()
        )));
    }
    Ok(vec![target(place, local)])
}

fn target(place: &Place, path: &Path) -> Target {
    let command = command::of(&place.program, NAME);
    let asset = Asset::Json { shape: Shape::Grouped, events: EVENTS, timeout_s: TIMEOUT_S, command };
    let local = path.file_name().is_some_and(|name| name == LOCAL);
    let id = if local { "tally-hooks-local" } else { "tally-hooks" };
    Target { host: NAME, id: id.to_owned(), path: path.to_path_buf(), asset }
}

fn calls_us(place: &Place, path: &Path) -> bool {
    let bytes = files::read_bounded(path, crate::setup::plan::MAX_BYTES).ok().flatten();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| target(place, path).ours(&text).ok()).is_some_and(|found| !found.is_empty())
}
