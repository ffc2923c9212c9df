//! opencode: a plugin file of ours. Sources: opencode.ai/docs/plugins (folders, `event` of version 1) and
//! opencode.ai/docs/build/plugins/migrate-v1 (version 2: a default export with `id` and `setup(ctx)`, `ctx.event.subscribe`,
//! `ctx.location.directory`). The template serves both.

use super::{Asset, Target, script};
use crate::settings::env::vars;
use crate::setup::place::{Place, Scope};
use std::path::PathBuf;

pub(super) const NAME: &str = "opencode";

const TEMPLATE: &str = include_str!("../../../config/hosts/opencode.js");

/// The user's own folder.
pub(super) fn home(place: &Place) -> PathBuf {
    let named = place.env.path(&vars::XDG_CONFIG_HOME).filter(|path| path.is_absolute());
    named.map_or_else(|| place.home.join(".config"), PathBuf::from).join("opencode")
}

pub(super) fn targets(place: &Place) -> Vec<Target> {
    let folder = match place.scope {
        Scope::UserGlobal => home(place),
        Scope::Workspace => place.dest.join(".opencode"),
    };
    let path = folder.join("plugins/tally.js");
    let asset = Asset::Own(script(TEMPLATE, place));
    vec![Target { host: NAME, id: "tally-plugin".to_owned(), path, asset }]
}
