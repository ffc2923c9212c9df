//! The credentials of one round of sending, read from where each destination was configured, and never from elsewhere
//! (DESIGN §6): a record of one tenant is never sent with another's token.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::outbox::{Hold, State};
use super::queue::Route;
use crate::settings::destination::{Source, credential_for};
use crate::settings::env::Env;
use crate::settings::secret::Secret;
use crate::sys::hex::hex;

/// A credential that may be used.
#[derive(Debug)]
pub(super) struct Credential {
    /// The token; `None` where none is configured, and a record goes without.
    pub(super) token: Option<Secret>,
    /// Tells credentials apart without holding one: the first 16 hex digits of a hash.
    pub(super) fingerprint: String,
}

/// The credential of each route; `None` where there is none that may be used.
#[derive(Debug, Default)]
pub(super) struct Credentials(HashMap<Route, Option<Credential>>);

impl Credentials {
    /// Reads the credential of `route` if this round has not, and notes in the books why it cannot be used. Returns
    /// whether the books changed.
    pub(super) fn load(&mut self, route: &Route, env: &Env, state: &mut State) -> bool {
        if self.0.contains_key(route) {
            return false;
        }
        let read = read(route, env);
        let origin = state.origins.entry(route.origin.clone()).or_default();
        let mut changed = false;
        let credential = read
            .map_err(|reason| {
                let (tenant, source) = (route.tenant.clone(), route.source.clone());
                let hold = Hold { tenant, source, reason, fingerprint: None, probe_at_ms: 0 };
                changed = !origin.holds.contains(&hold);
                if changed {
                    origin.hold(hold);
                }
            })
            .ok();
        self.0.insert(route.clone(), credential);
        changed
    }

    /// The credential of `route`, if it may be used.
    pub(super) fn usable(&self, route: &Route) -> Option<&Credential> {
        self.0.get(route)?.as_ref()
    }

    /// Whether records on `route` wait for a credential.
    pub(super) fn is_held(&self, state: &State, route: &Route, now_ms: i64) -> bool {
        let Some(credential) = self.usable(route) else { return true };
        let origin = state.origins.get(&route.origin);
        origin.is_some_and(|origin| origin.refuses(route.tenant.as_deref(), &credential.fingerprint, now_ms))
    }

    /// The routes to `origin` that were asked for.
    pub(super) fn routes_to(&self, origin: &str) -> impl Iterator<Item = &Route> {
        self.0.keys().filter(move |route| route.origin == origin)
    }
}

fn read(route: &Route, env: &Env) -> Result<Credential, String> {
    let source: Source = route.source.parse().map_err(|error| format!("{error}"))?;
    let token = credential_for(&source, &route.origin, route.tenant.as_deref(), env);
    let token = token.map_err(|error| error.to_string())?;
    Ok(Credential { fingerprint: fingerprint(route, token.as_ref()), token })
}

fn fingerprint(route: &Route, token: Option<&Secret>) -> String {
    let mut hash = Sha256::new();
    let tenant = route.tenant.as_deref().unwrap_or_default();
    for part in [route.origin.as_str(), tenant, token.map_or("", Secret::expose)] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hex(hash.finalize().get(..8).unwrap_or_default())
}
