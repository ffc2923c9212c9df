//! What happens once the record is safe: the relay is woken, and the process that it runs in also keeps the price
//! registry fresh. A hook never fetches; it uses the copy that an earlier worker stored.

use crate::journal::notes;
use crate::pricing;
use crate::relay;
use crate::relay::outbox::Error;
use crate::relay::worker::Fetch;
use crate::settings::endpoint::Endpoint;
use crate::settings::env::{Env, vars};
use crate::settings::{PricingSettings, Settings};
use crate::sys::clock;
use std::path::Path;
use std::time::Duration;

/// How long a price registry may take to arrive (contract B.3).
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest registry that is fetched.
const MAX_REGISTRY: usize = 4 << 20;

/// Wakes the relay if anything is in the outbox, or the price registry is due.
///
/// # Errors
/// When the relay cannot be started; the records are safe, and the next hook tries again.
pub fn wake(env: &Env, settings: &Settings) -> Result<(), Error> {
    // The worker works in the data directory, which need not lie in the workspace.
    let env = env.with(&vars::TELEMETRY_WORKSPACE_ROOT, settings.workspace.root.as_os_str());
    if settings.pricing.url.is_some() && pricing::cached_copy_is_stale(&settings.pricing, clock::now_ms()) {
        if settings.foreground {
            return relay::run_errand(&settings.data_dir, &env, &mut |fetch| refresh(fetch, settings));
        }
        return relay::wake_for_errand(&settings.data_dir, &env);
    }
    // What was queued before the relay was switched off stays where it is.
    let relays = [&settings.economics_relay, &settings.liveness_relay, &settings.telemetry_relay];
    if relays.iter().all(|relay| !relay.on) {
        return Ok(());
    }
    relay::wake(&settings.data_dir, &env, settings.foreground)
}

/// The detached process, from start to end; `data_dir` is its working directory.
pub fn worker(env: &Env, data_dir: &Path) {
    let mut settings = Settings::load(env, data_dir);
    settings.keep_data_in(data_dir.to_path_buf());
    relay::worker_main(env, Some(&mut |fetch| refresh(fetch, &settings)));
}

/// Fetches the price registry if its copy is stale; what is no registry is not stored, and said once.
fn refresh(fetch: &Fetch<'_>, settings: &Settings) {
    let prices = &settings.pricing;
    if !pricing::cached_copy_is_stale(prices, clock::now_ms()) {
        return;
    }
    if let Err(why) = fetched(fetch, prices) {
        notes::note(&settings.data_dir, &format!("the price registry was not refreshed: {why}"));
    }
}

fn fetched(fetch: &Fetch<'_>, prices: &PricingSettings) -> Result<(), String> {
    let url = prices.url.as_deref().unwrap_or_default();
    let endpoint = Endpoint::parse(url).map_err(|error| error.to_string())?;
    let body = fetch.get(&endpoint, MAX_REGISTRY, FETCH_TIMEOUT).map_err(|error| error.to_string())?;
    pricing::store(prices, &body).map_err(|error| error.to_string())
}
