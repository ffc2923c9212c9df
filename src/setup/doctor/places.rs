//! What files and environment say: the conf, its folder, the workspace, token files, and tokens in the wrong places.

use std::fs;
use std::path::Path;

use super::report::{ConfReport, Finding};
use crate::settings::Settings;
use crate::settings::conf::{Conf, ConfError};
use crate::settings::destination::{Destination, Source};
use crate::settings::env::{Env, vars};
use crate::settings::workspace::MARKER;
use crate::setup::command::quote;
use crate::setup::place::{Place, Scope};
use crate::setup::write::mode_of;
use crate::sys::files;
use crate::telemetry::redact::Paths;

/// The conf that holds, and what is wrong with it.
pub(super) fn conf(place: &Place, env: &Env, settings: &Settings) -> (ConfReport, Vec<Finding>) {
    let own = settings.workspace.root.join(MARKER).join(crate::settings::conf::FILE_NAME);
    let named = env.path(&vars::TELEMETRY_CONFIG_FILE).map(|path| place.dest.join(path));
    let global = place.global().conf;
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    let (path, scope) = match (named, place.scope) {
        (Some(_), Scope::UserGlobal) if is_there(&global) => (global, "user-global"),
        (Some(_), Scope::UserGlobal) => (global, "absent"),
        (Some(named), _) => (named, "explicit"),
        (None, _) if is_there(&own) => (own, "workspace"),
        (None, _) if is_there(&global) => (global, "user-global"),
        (None, _) => (own, "absent"),
    };
    let mut findings = vec![];
    let shown = quote(&path.to_string_lossy());
    let trusted = match Conf::open(&path) {
        Ok(_) => Some(true),
        Err(ConfError::Absent(_)) => {
            if scope == "explicit" {
                let said = format!(
                    "TELEMETRY_CONFIG_FILE names {}, which is not there; no conf is read",
                    path.display()
                );
                findings.push(Finding::error("conf-missing", said, "unset TELEMETRY_CONFIG_FILE"));
            }
            None
        }
        Err(ConfError::Untrusted { reason, .. }) => {
            let closed =
                if scope == "user-global" { "" } else { ", and nothing is sent from this workspace" };
            let said = format!(
                "Untrusted telemetry console conf at {} (must be mode 600, owned by the current user, and not a symlink): \
                 {reason}; it is ignored{closed}",
                path.display()
            );
            findings.push(Finding::error("conf-untrusted", said, format!("chmod 600 {shown}")));
            Some(false)
        }
    };
    let tracked = trusted.is_some().then(|| place.is_tracked(&path)).flatten();
    if tracked == Some(true) {
        let said = format!("git tracks {}: whoever has the repository has what is in it", path.display());
        findings.push(Finding::error("conf-tracked", said, format!("git rm --cached {shown}")));
    }
    if trusted.is_some() {
        findings.extend(open_folder(&path));
    }
    let of_conf = settings.conf.as_ref().map(|conf| conf.path().display().to_string());
    for warning in &settings.warnings {
        // The others have findings of their own.
        if of_conf.as_ref().is_some_and(|path| warning.starts_with(path)) || warning.contains("no switch") {
            findings.push(Finding::warning(
                "conf-lines",
                warning.clone(),
                format!("${{EDITOR:-vi}} {shown}"),
            ));
        }
    }
    (ConfReport { path, scope, trusted, tracked }, findings)
}

/// Channels that are not there, and redaction lists of which nearly nothing of an event is left.
pub(super) fn channels(settings: &Settings) -> Vec<Finding> {
    let channels = &settings.channels;
    let list = |name: &str| channels.on.iter().find(|channel| channel.name == name)?.redact.as_deref();
    let mut said: Vec<String> =
        settings.warnings.iter().filter(|warning| warning.contains("no channel")).cloned().collect();
    for channel in &channels.on {
        let (_, refused) = Paths::of_channel(channel.name, list(channel.name));
        said.extend(refused.iter().map(|refused| format!("channel {}: {refused}", channel.name)));
    }
    let (_, refused) = Paths::of_console(channels.console_redact.as_deref(), list("analytics"));
    said.extend(refused.iter().map(|refused| format!("the Console's copy: {refused}")));
    let fix = "correct the list: docs/redaction.md has the names of variables and keys";
    said.into_iter().map(|said| Finding::warning("event-channels", said, fix)).collect()
}

/// A conf's folder that others may look into or write to.
fn open_folder(conf: &Path) -> Option<Finding> {
    let folder = conf.parent()?;
    let mode = mode_of(&fs::metadata(folder).ok()?);
    if mode & 0o077 == 0 {
        return None;
    }
    let what = if mode & 0o022 != 0 { "write to" } else { "look into" };
    let said = format!("others can {what} {}, the folder of the conf (mode {mode:o})", folder.display());
    Some(Finding::warning(
        "conf-folder-open",
        said,
        format!("chmod 700 {}", quote(&folder.to_string_lossy())),
    ))
}

/// A token file that others may read.
pub(super) fn token_file(destination: &Destination) -> Option<Finding> {
    let path = destination.token_file()?;
    let mode = mode_of(&fs::metadata(path).ok()?);
    let said = format!("others can read the token file {} (mode {mode:o})", path.display());
    let fix = format!("chmod 600 {}", quote(&path.to_string_lossy()));
    (mode & 0o077 != 0).then(|| Finding::warning("token-file-open", said, fix))
}

/// What the environment says besides, where the workspace's data really is, and tokens in shell profiles.
pub(super) fn environment(place: &Place, env: &Env, settings: &Settings) -> Vec<Finding> {
    let mut findings = vec![];
    let of_env = Destination::from_env(env);
    if let (Some(other), Some(holds)) = (&of_env, &settings.destination)
        && holds.source != Source::Environment
        && (other.read_endpoint() != holds.read_endpoint() || other.tenant != holds.tenant)
    {
        let said = format!(
            "the environment names another Console or tenant; {} holds, and it changes nothing",
            holds.source
        );
        let fix = "unset CONSOLE_TELEMETRY_URL CONSOLE_URL FLOW_AGENTS_CONSOLE_URL CONSOLE_TENANT_ID CONSOLE_TELEMETRY_TOKEN";
        findings.push(Finding::warning("environment-differs", said, fix));
    }
    if settings.do_not_track {
        let said = "DO_NOT_TRACK is set: nothing leaves this machine, and nothing is queued";
        findings.push(Finding::info("do-not-track", said, "unset DO_NOT_TRACK"));
    }
    let meant = settings.workspace.data_dir(env.path(&vars::TELEMETRY_DATA_DIR));
    if settings.data_dir != meant {
        let said =
            format!("{} cannot hold journals; they are in {}", meant.display(), settings.data_dir.display());
        let fix = format!("make it writable, and no link: ls -ld {}", quote(&meant.to_string_lossy()));
        findings.push(Finding::warning("data-elsewhere", said, fix));
    }
    findings.extend(profiles(&place.home));
    findings
}

/// Shell profiles that put a token in the environment of every program.
fn profiles(home: &Path) -> Vec<Finding> {
    const PROFILES: [&str; 8] = [
        ".profile",
        ".bash_profile",
        ".bashrc",
        ".zprofile",
        ".zshenv",
        ".zshrc",
        ".envrc",
        ".config/fish/config.fish",
    ];
    const NAMES: [&str; 2] = ["CONSOLE_TELEMETRY_TOKEN", "CONSOLE_AUTH_TOKEN"];
    let mut findings = vec![];
    for path in PROFILES.map(|name| home.join(name)) {
        let Ok(Some(bytes)) = files::read_bounded(&path, 1 << 20) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let names_token = |line: &str| {
            let line = line.trim_start();
            !line.starts_with('#')
                && NAMES.iter().any(|name| {
                    line.split_once(name)
                        .is_some_and(|(_, rest)| rest.starts_with('=') || rest.starts_with(' '))
                })
        };
        if let Some((number, _)) = (1..).zip(text.lines()).find(|(_, line)| names_token(line)) {
            let said =
                format!("{} line {number} puts a token in the environment of every program", path.display());
            let fix = "move it to a conf: tally init --yes --console-url URL --console-token-file FILE";
            findings.push(Finding::warning("token-in-profile", said, fix));
        }
    }
    findings
}
