//! Kiro. Sources: kiro.dev/docs/cli/hooks (hooks in an agent's file, `timeout_ms`; version 2, still read by 3) and
//! kiro.dev/docs/cli/v3/hooks (files of their own in `.kiro/hooks`, for all agents, `timeout` in seconds).
//!
//! Agents that exist get the entries in their files, which both versions read. Without an agent there is a hooks file of
//! ours. Never both: version 3 would call us twice.

use super::{Asset, Shape, Target};
use crate::setup::command;
use crate::setup::place::{Place, Scope};
use crate::setup::receipt::hash;
use crate::sys::order;
use serde_json::json;
use std::path::Path;

pub(super) const NAME: &str = "kiro";

const AGENT_EVENTS: &[&str] = &["agentSpawn", "userPromptSubmit", "preToolUse", "postToolUse", "stop"];
const TRIGGERS: [&str; 5] = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];
const TIMEOUT_S: u64 = 15;

/// The hooks file of ours, and each agent.
pub(super) fn candidates(place: &Place) -> Vec<Target> {
    let folder = match place.scope {
        Scope::UserGlobal => place.home.join(".kiro"),
        Scope::Workspace => place.dest.join(".kiro"),
    };
    let command = command::of(&place.program, NAME);
    let own = Asset::Own(hooks_file(&command));
    let asset = Asset::Json { shape: Shape::Flat, events: AGENT_EVENTS, timeout_s: TIMEOUT_S, command };
    let agents = agents(&folder.join("agents")).into_iter();
    let path = folder.join("hooks/tally.json");
    let own = Target { host: NAME, id: "tally-hooks".to_owned(), path, asset: own };
    let agents = agents.map(|path| Target { host: NAME, id: agent_id(&path), path, asset: asset.clone() });
    std::iter::once(own).chain(agents).collect()
}

pub(super) fn targets(place: &Place) -> Vec<Target> {
    let mut targets = candidates(place);
    let in_own = targets.len() == 1 || targets.first().is_some_and(|own| own.path.exists());
    targets.retain(|target| target.is_json() != in_own);
    targets
}

/// Agents are told apart without their names, which are the user's.
fn agent_id(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    format!("tally-agent-hooks-{:.12}", hash(name))
}

fn agents(folder: &Path) -> Vec<std::path::PathBuf> {
    let listing = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|item| item.path());
    let mut found: Vec<_> =
        listing.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    order::sort(&mut found);
    found
}

fn hooks_file(command: &str) -> String {
    let hook = |trigger: &&str| {
        json!({
            "name": format!("tally init: {trigger}"), "trigger": trigger,
            "action": { "type": "command", "command": command }, "timeout": TIMEOUT_S, "enabled": true,
        })
    };
    let hooks: Vec<_> = TRIGGERS.iter().map(hook).collect();
    format!("{:#}\n", json!({ "version": "v1", "hooks": hooks }))
}
