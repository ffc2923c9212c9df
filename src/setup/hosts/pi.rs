//! pi: an extension file of ours. Source: the extensions page of the pi coding agent's own documentation
//! (packages/coding-agent/docs/extensions.md): `~/.pi/agent/extensions/*.ts` for all projects, `.pi/extensions/*.ts` for one;
//! a default export takes the API, `pi.on(EVENT, (event, ctx) => …)`, `ctx.cwd`, `ctx.sessionManager`.

use super::{Asset, Target, script};
use crate::setup::place::{Place, Scope};

pub(super) const NAME: &str = "pi";

const TEMPLATE: &str = include_str!("../../../config/hosts/pi.ts");

pub(super) fn targets(place: &Place) -> Vec<Target> {
    let folder = match place.scope {
        Scope::UserGlobal => place.home.join(".pi/agent/extensions"),
        Scope::Workspace => place.dest.join(".pi/extensions"),
    };
    let asset = Asset::Own(script(TEMPLATE, place));
    vec![Target { host: NAME, id: "tally-extension".to_owned(), path: folder.join("tally.ts"), asset }]
}
