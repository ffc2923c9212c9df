//! What the user decided: flags > environment > trusted conf > `config/default.toml` (DESIGN §6), with two exceptions
//! that are modules of their own: the [`destination`] is one group that is never mixed, and a conf key beats the
//! environment for the relay's [`switch`]es.
//!
//! Loading costs a hook at most two opened conf files; token files are read only by who sends.

pub mod channels;
pub mod conf;
pub mod defaults;
mod derive;
pub mod destination;
pub mod endpoint;
pub mod env;
#[cfg(test)]
mod golden_tests;
pub mod policies;
pub mod secret;
pub mod switch;
mod trust;
pub mod workspace;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use channels::Channels;
use conf::{Conf, Lookup};
use defaults::DEFAULTS;
use destination::{Destination, Flags};
use env::{Env, Var, vars};
use policies::Policies;
use switch::{RelayKind, Switch, relay_switch};
use workspace::Workspace;

/// The settings of one run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The workspace that the run's directory belongs to.
    pub workspace: Workspace,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Journals, session state and outbox. [`Settings::prepare`] makes it.
    pub data_dir: PathBuf,
    chosen_data_dir: Option<PathBuf>,
    /// The economics journal.
    pub economics_log: PathBuf,
    /// Where session events go, and what is taken out of them.
    pub channels: Channels,
    /// When a journal is rotated.
    pub rotation: Rotation,
    /// Where the pricing registry comes from.
    pub pricing: PricingSettings,
    /// The project label that the user set.
    pub project: Option<String>,
    /// The trusted conf in force, for the settings of higher rooms.
    pub conf: Option<Conf>,
    /// Whose data it is: the destination's tenant, else the configured one that has no Console yet.
    pub tenant: Option<String>,
    /// Where records go; `None` without a Console, and where an untrusted conf closes the relay.
    pub destination: Option<Destination>,
    /// Whether economics records are queued and sent.
    pub economics_relay: Switch,
    /// Whether liveness records are queued and sent.
    pub liveness_relay: Switch,
    /// Whether session events are queued and sent.
    pub telemetry_relay: Switch,
    /// Whether policies decide, and how strictly.
    pub policies: Policies,
    /// Whether hooks emit anything.
    pub enabled: bool,
    /// `DO_NOT_TRACK`: nothing leaves the machine and nothing is queued.
    pub do_not_track: bool,
    /// Whether the relay runs before the hook returns.
    pub foreground: bool,
    /// Time limits of a request.
    pub timeouts: Timeouts,
    /// What the user should know, one line each; never a secret.
    pub warnings: Vec<String>,
}

/// Where the pricing registry comes from; a file goes before a URL, and the bundled registry is behind both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PricingSettings {
    /// A registry file; when set, the URL is not looked at.
    pub file: Option<PathBuf>,
    /// Where a registry is published; not yet held against the allowlist. Never derived from the Console's URL.
    pub url: Option<String>,
    /// A private directory for cached copies, one file per URL.
    pub cache_dir: PathBuf,
    /// Seconds until a cached copy should be fetched again.
    pub ttl_s: u64,
}

/// When a journal is rotated, and what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// The current file is rotated when it has this many bytes.
    pub max_bytes: u64,
    /// Rotated files that are kept, at least 1.
    pub keep: usize,
}

/// Time limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To connect.
    pub connect: Duration,
    /// For the whole request.
    pub total: Duration,
}

impl Settings {
    /// Loads the settings of a run in `cwd`. Never fails: what cannot be used is a warning.
    #[must_use]
    pub fn load(env: &Env, cwd: &Path) -> Self {
        Self::load_with(env, cwd, &Flags::default())
    }

    /// As [`Settings::load`], with the destination flags of a command.
    #[must_use]
    pub fn load_with(env: &Env, cwd: &Path, flags: &Flags) -> Self {
        let workspace = workspace::resolve(
            env.path(&vars::TELEMETRY_WORKSPACE_ROOT),
            env.path(&vars::HOME),
            env.path(&vars::XDG_STATE_HOME),
            cwd,
        );
        let absolute = |var: &Var| env.path(var).map(|path| cwd.join(path));
        let chosen_data_dir = env.path(&vars::TELEMETRY_DATA_DIR).map(Path::to_path_buf);
        let data_dir = workspace.data_dir_in_use(chosen_data_dir.as_deref());
        let mut lookup = conf::find(env, &workspace.root, cwd);
        let mut warnings = std::mem::take(&mut lookup.warnings);
        let destination = resolve_destination(env, cwd, flags, &lookup);
        if let Some(destination) = &destination {
            warnings.extend_from_slice(&destination.problems);
        }
        let economics_relay =
            relay_switch(RelayKind::Economics, &lookup, env, destination.as_ref(), &mut warnings);
        let liveness_relay =
            relay_switch(RelayKind::Liveness, &lookup, env, destination.as_ref(), &mut warnings);
        let telemetry_relay =
            relay_switch(RelayKind::Telemetry, &lookup, env, destination.as_ref(), &mut warnings);
        let enabled = switch::of_env(env, &vars::TELEMETRY_ENABLED, &mut warnings)
            .or_else(|| switch::of_conf(lookup.conf.as_ref(), "enabled", &mut warnings));
        let foreground = switch::of_env(env, &vars::FLOW_AGENTS_TELEMETRY_FOREGROUND, &mut warnings);
        Self {
            channels: Channels::load(env, cwd, lookup.conf.as_ref(), &mut warnings),
            rotation: Rotation::load(env, lookup.conf.as_ref(), &mut warnings),
            pricing: PricingSettings::load(env, cwd, &data_dir, lookup.conf.as_ref(), &mut warnings),
            economics_log: absolute(&vars::TELEMETRY_ECONOMICS_LOG_FILE)
                .unwrap_or_else(|| data_dir.join(ECONOMICS_LOG)),
            data_dir,
            chosen_data_dir,
            home: env.path(&vars::HOME).map(Path::to_path_buf),
            tenant: match &destination {
                Some(destination) => destination.tenant.clone(),
                None => lookup
                    .conf
                    .as_ref()
                    .and_then(|conf| conf.get("console_tenant_id"))
                    .or_else(|| env.first(&[&vars::CONSOLE_TENANT_ID, &vars::FLOW_AGENTS_CONSOLE_TENANT]))
                    .map(str::to_owned),
            },
            project: env.get(&vars::FLOW_AGENTS_PROJECT).map(str::to_owned),
            enabled: enabled.map_or(DEFAULTS.telemetry.enabled, |switch| switch.on),
            do_not_track: switch::do_not_track(env),
            foreground: foreground.is_some_and(|switch| switch.on),
            timeouts: Timeouts::load(env, &mut warnings),
            workspace,
            policies: Policies::of(lookup.conf.as_ref(), &mut warnings),
            conf: lookup.conf,
            destination,
            economics_relay,
            liveness_relay,
            telemetry_relay,
            warnings,
        }
    }

    /// Makes the data directory ready for writing, elsewhere if the workspace cannot hold it.
    ///
    /// # Errors
    /// When no place can be written to.
    pub fn prepare(&mut self) -> std::io::Result<()> {
        let ready = self.workspace.prepare_data_dir(self.chosen_data_dir.as_deref())?;
        self.keep_data_in(ready.path);
        Ok(())
    }

    /// Makes `data_dir` the place of everything that has no place of its own.
    pub fn keep_data_in(&mut self, data_dir: PathBuf) {
        if self.economics_log.parent() == Some(&self.data_dir) {
            self.economics_log = data_dir.join(ECONOMICS_LOG);
        }
        self.pricing.cache_dir = data_dir.join(PRICING_CACHE);
        self.data_dir = data_dir;
    }
}

/// The economics journal's name in the data directory.
const ECONOMICS_LOG: &str = "economics.jsonl";
/// The folder of cached price registries in the data directory.
const PRICING_CACHE: &str = "pricing";

/// The first of flag, conf and environment that names a URL; an untrusted conf leaves only the flags.
fn resolve_destination(env: &Env, cwd: &Path, flags: &Flags, lookup: &Lookup) -> Option<Destination> {
    let flagged = Destination::from_flags(flags, cwd);
    if flagged.is_some() || lookup.closed {
        return flagged;
    }
    lookup.conf.as_ref().and_then(Destination::from_conf).or_else(|| Destination::from_env(env))
}

impl PricingSettings {
    fn load(env: &Env, cwd: &Path, data_dir: &Path, conf: Option<&Conf>, warnings: &mut Vec<String>) -> Self {
        let of_conf = |key| conf.and_then(|conf| conf.get(key));
        let file = env
            .path(&vars::TELEMETRY_PRICING_FILE)
            .or_else(|| env.path(&vars::FLOW_AGENTS_PRICING_FILE))
            .or_else(|| of_conf("pricing_file").map(Path::new));
        let url = env
            .first(&[&vars::TELEMETRY_PRICING_URL, &vars::FLOW_AGENTS_PRICING_URL])
            .or_else(|| of_conf("console_pricing_url"))
            .or_else(|| of_conf("pricing_url"));
        let ttl = seconds(
            env,
            &vars::TELEMETRY_PRICING_TTL_SEC,
            0..=u64::from(u32::MAX),
            DEFAULTS.pricing.ttl_seconds,
            warnings,
        );
        let cache_dir = data_dir.join(PRICING_CACHE);
        Self {
            file: file.map(|path| cwd.join(path)),
            url: url.map(str::to_owned),
            cache_dir,
            ttl_s: ttl.as_secs(),
        }
    }
}

impl Rotation {
    fn load(env: &Env, conf: Option<&Conf>, warnings: &mut Vec<String>) -> Self {
        let defaults = DEFAULTS.telemetry;
        let mut set = |var: &Var, key: &str, most: u64, default: u64| {
            let of_conf = || Some((key, conf?.get(key)?));
            let Some((name, text)) = env.get(var).map(|text| (var.name, text)).or_else(of_conf) else {
                return default;
            };
            whole_number(text, 1..=most).unwrap_or_else(|| {
                warnings.push(format!("{name}: not a whole number from 1 to {most}: {default}"));
                default
            })
        };
        let size = &vars::TELEMETRY_MAX_LOG_SIZE_MB;
        let mib = set(size, "max_log_size_mb", 1 << 20, defaults.max_log_size_mb);
        let files = &vars::TELEMETRY_MAX_LOG_FILES;
        let keep = set(files, "max_log_files", 10_000, u64::from(defaults.max_log_files));
        Self { max_bytes: mib << 20, keep: usize::try_from(keep).unwrap_or(usize::MAX) }
    }
}

impl Timeouts {
    /// The limits of an environment.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        Self::load(env, &mut vec![])
    }

    fn load(env: &Env, warnings: &mut Vec<String>) -> Self {
        let defaults = DEFAULTS.relay;
        let connect = &vars::CONSOLE_TELEMETRY_CONNECT_TIMEOUT_SECONDS;
        let total = &vars::CONSOLE_TELEMETRY_MAX_TIME_SECONDS;
        Self {
            connect: seconds(env, connect, 1..=30, defaults.connect_timeout_seconds, warnings),
            total: seconds(env, total, 1..=60, defaults.total_timeout_seconds, warnings),
        }
    }
}

/// Whole seconds within `bounds`; anything else is the default, with a warning (contract E.2).
fn seconds(
    env: &Env,
    var: &Var,
    bounds: std::ops::RangeInclusive<u64>,
    default: u64,
    warnings: &mut Vec<String>,
) -> Duration {
    let Some(text) = env.get(var) else {
        return Duration::from_secs(default);
    };
    let given = whole_number(text, bounds.clone());
    if given.is_none() {
        let (low, high) = (bounds.start(), bounds.end());
        warnings.push(format!("{}: not a whole number of seconds from {low} to {high}: {default}", var.name));
    }
    Duration::from_secs(given.unwrap_or(default))
}

fn whole_number(text: &str, bounds: std::ops::RangeInclusive<u64>) -> Option<u64> {
    u64::from_str(text.trim()).ok().filter(|value| bounds.contains(value))
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
