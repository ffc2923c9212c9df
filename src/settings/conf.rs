//! The trusted conf: `key=value` lines in a file that only its owner can touch (DESIGN §6).
//!
//! Format: the first `=` splits; key and value are trimmed, the value is otherwise literal (quotes, `;`, inner `#` and
//! a trailing `=` belong to it); a line whose first character is `#` is a comment; CRLF and a BOM are tolerated; the
//! last line counts without a newline; the last duplicate wins; `console_url` is another name of
//! `console_telemetry_url`. Trusted: a regular file, not a symlink, mode exactly 600, owned by the current user.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::env::{Env, vars};
use super::trust::{self, Opened};
use super::workspace::MARKER;
use crate::sys::files;

/// The conf's name, in the workspace's `.kontourai` and in the user's `.flow-agents`.
pub const FILE_NAME: &str = "telemetry-console.conf";

/// A conf larger than this is refused: it cannot be one.
const MAX_BYTES: u64 = 64 * 1024;

/// Keys with a meaning (contract F.4), besides `channel.NAME.KEY`. `console_telemetry_token_file`,
/// `console_telemetry_relay` and `policies` are our additions.
const KEYS: [&str; 31] = [
    "enabled",
    "channels",
    "enrich_system",
    "enrich_workspace",
    "enrich_auth",
    "max_log_size_mb",
    "max_log_files",
    "sync_include",
    "sync_exclude",
    "usage_tracking",
    "notifications",
    "notification_profile",
    "governance",
    "governance_audit_max_size_mb",
    "governance_audit_max_files",
    "console_url",
    "console_telemetry_url",
    "console_telemetry_endpoint_url",
    "console_telemetry_token",
    "console_telemetry_token_file",
    "console_tenant_id",
    "console_telemetry_redact",
    "console_telemetry_relay",
    "console_economics_relay",
    "console_economics_endpoint_url",
    "console_liveness_relay",
    "console_liveness_endpoint_url",
    "console_pricing_url",
    "pricing_url",
    "pricing_file",
    "policies",
];

/// The settings of one conf file.
#[derive(Clone, PartialEq, Eq)]
pub struct Conf {
    path: PathBuf,
    values: BTreeMap<String, String>,
    warnings: Vec<String>,
}

/// Why a conf gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfError {
    /// There is no such file.
    #[error("{} does not exist", .0.display())]
    Absent(PathBuf),
    /// There is something that must not be read.
    #[error(
        "{} is not trusted and is ignored: {reason}; it must be a regular file (not a symlink) owned by you; fix: chmod 600 \"{}\"",
        path.display(), path.display()
    )]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// What the search for a conf found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lookup {
    /// The conf in force.
    pub conf: Option<Conf>,
    /// An untrusted file stands where the workspace's own conf belongs: nothing may be relayed, because whatever else
    /// is configured may be another tenant's.
    pub closed: bool,
    /// What the user should know, one line each; never a value.
    pub warnings: Vec<String>,
}

/// Looks for the conf in force: `TELEMETRY_CONFIG_FILE` alone if it is set; else the workspace's; else the user's.
/// Opens at most two files.
#[must_use]
pub fn find(env: &Env, workspace: &Path, cwd: &Path) -> Lookup {
    let named = env.path(&vars::TELEMETRY_CONFIG_FILE).map(|path| cwd.join(path));
    let own = named.clone().unwrap_or_else(|| workspace.join(MARKER).join(FILE_NAME));
    let absent = match Conf::open(&own) {
        // Whoever made the folder a link chose whose conf this is.
        Ok(_) if named.is_none() && files::has_link(workspace, MARKER) => {
            let reason = "its folder is a link".to_owned();
            let error = ConfError::Untrusted { path: own, reason };
            return Lookup { conf: None, closed: true, warnings: vec![error.to_string()] };
        }
        Ok(conf) => return Lookup::of(conf),
        Err(error @ ConfError::Untrusted { .. }) => {
            return Lookup { conf: None, closed: true, warnings: vec![error.to_string()] };
        }
        Err(absent) => absent,
    };
    if named.is_some() {
        let warning = format!("TELEMETRY_CONFIG_FILE: {absent}; no conf is read");
        return Lookup { warnings: vec![warning], ..Lookup::default() };
    }
    let Some(home) = env.path(&vars::HOME) else {
        return Lookup::default();
    };
    match Conf::open(&home.join(".flow-agents").join(FILE_NAME)) {
        Ok(conf) => Lookup::of(conf),
        Err(ConfError::Absent(_)) => Lookup::default(),
        Err(error) => Lookup { warnings: vec![error.to_string()], ..Lookup::default() },
    }
}

impl Lookup {
    fn of(conf: Conf) -> Self {
        Self { warnings: conf.warnings().to_vec(), conf: Some(conf), closed: false }
    }
}

impl Conf {
    /// Opens, checks and parses the file at `path`.
    ///
    /// # Errors
    /// When it is absent or not trusted.
    pub fn open(path: &Path) -> Result<Self, ConfError> {
        let untrusted = |reason| ConfError::Untrusted { path: path.to_path_buf(), reason };
        let file = match trust::open(path) {
            Opened::Trusted(file) => file,
            Opened::Absent => return Err(ConfError::Absent(path.to_path_buf())),
            Opened::Untrusted(reason) => return Err(untrusted(reason)),
        };
        let mut bytes = Vec::new();
        match file.take(MAX_BYTES + 1).read_to_end(&mut bytes) {
            Ok(length) if length as u64 > MAX_BYTES => {
                Err(untrusted(format!("it is larger than {MAX_BYTES} bytes")))
            }
            Ok(_) => Ok(Self::parse(path, &bytes)),
            Err(error) => Err(untrusted(format!("it cannot be read ({error})"))),
        }
    }

    /// Parses `bytes` as the content of the conf at `path`. Never fails: a line that says nothing is a warning.
    #[must_use]
    pub fn parse(path: &Path, bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut values = BTreeMap::new();
        let (mut unknown, mut broken) = (Vec::new(), Vec::new());
        for (line, number) in text.lines().map(str::trim).zip(1_u32..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            match line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
                Some((key, value)) if is_known(key) => {
                    values.insert(slot(key).to_owned(), value.to_owned());
                }
                Some(_) => unknown.push(number),
                None => broken.push(number),
            }
        }
        // Line numbers, not the keys: a token pasted on a line of its own looks like a key.
        let warnings = [("unknown key", unknown), ("no `=`", broken)]
            .into_iter()
            .filter(|(_, lines)| !lines.is_empty())
            .map(|(what, lines)| format!("{}: {what}, ignored: line {}", path.display(), join(&lines)))
            .collect();
        Self { path: path.to_path_buf(), values, warnings }
    }

    /// Where it was read from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the user should know of it, one line each; never a key or a value.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The value of `key`; an empty value counts as absent.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(slot(key)).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// Paths and key names only: values may be secrets.
impl fmt::Debug for Conf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<_> = self.values.keys().collect();
        out.debug_struct("Conf").field("path", &self.path).field("keys", &keys).finish_non_exhaustive()
    }
}

/// The name under which `key` is kept: two keys share one slot.
fn slot(key: &str) -> &str {
    if key == "console_url" { "console_telemetry_url" } else { key }
}

fn is_known(key: &str) -> bool {
    KEYS.contains(&key) || is_channel_key(key)
}

/// `channel.NAME.KEY`, both of `[A-Za-z0-9_]+` (contract F.2).
fn is_channel_key(key: &str) -> bool {
    let word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    key.strip_prefix("channel.")
        .and_then(|rest| rest.split_once('.'))
        .is_some_and(|(name, key)| word(name) && word(key))
}

fn join(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(unix)]
#[cfg(test)]
#[path = "conf_tests.rs"]
mod tests;
