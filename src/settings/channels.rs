//! The channels that session events are written to, and what is taken out of them (contract A.12).
//!
//! There are two: `full` for the machine's owner, `analytics` for who counts. `TELEMETRY_CHANNELS` or the conf key
//! `channels` chooses among them. What is taken out of each is a list of paths that the telemetry room reads, and has defaults
//! for. The Console's copy has a list of its own, which a looser list for a local file does not loosen.

use super::conf::Conf;
use super::env::{Env, Var, vars};
use std::path::{Path, PathBuf};

/// A file that session events are written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// `full` or `analytics`.
    pub name: &'static str,
    /// Where the user wants the file; in the data directory where they do not say.
    log: Option<PathBuf>,
    /// The paths that the user wants taken out, in place of the channel's own.
    pub redact: Option<String>,
}

impl Channel {
    /// The file.
    #[must_use]
    pub fn path(&self, data_dir: &Path) -> PathBuf {
        self.log.clone().unwrap_or_else(|| data_dir.join(format!("{}.jsonl", self.name)))
    }
}

/// What the user decided about session events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channels {
    /// The channels that are on.
    pub on: Vec<Channel>,
    /// The paths that the user wants taken out of the Console's copy, in place of its own.
    pub console_redact: Option<String>,
    /// Whether a record carries the host's payload as it came.
    pub raw_input: bool,
}

struct Known {
    name: &'static str,
    log: &'static Var,
    redact: &'static Var,
}

const KNOWN: [Known; 2] = [
    Known {
        name: "full",
        log: &vars::TELEMETRY_CHANNEL_FULL_LOG_FILE,
        redact: &vars::TELEMETRY_CHANNEL_FULL_REDACT,
    },
    Known {
        name: "analytics",
        log: &vars::TELEMETRY_CHANNEL_ANALYTICS_LOG_FILE,
        redact: &vars::TELEMETRY_CHANNEL_ANALYTICS_REDACT,
    },
];

impl Channels {
    pub(super) fn load(env: &Env, cwd: &Path, conf: Option<&Conf>, warnings: &mut Vec<String>) -> Self {
        let set = |var: &Var, key: &str| env.get(var).or_else(|| conf?.get(key)).map(str::to_owned);
        let chosen =
            set(&vars::TELEMETRY_CHANNELS, "channels").unwrap_or_else(|| "full,analytics".to_owned());
        let chosen: Vec<&str> = chosen.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let unknown: Vec<_> =
            chosen.iter().filter(|name| KNOWN.iter().all(|known| known.name != **name)).collect();
        if !unknown.is_empty() {
            warnings
                .push(format!("TELEMETRY_CHANNELS: no channel {unknown:?}; there are full and analytics"));
        }
        let on = KNOWN.iter().filter(|known| chosen.contains(&known.name)).map(|known| Channel {
            name: known.name,
            log: set(known.log, &format!("channel.{}.log_file", known.name)).map(|path| cwd.join(path)),
            redact: set(known.redact, &format!("channel.{}.redact", known.name)),
        });
        let raw = &vars::FLOW_AGENTS_TELEMETRY_CAPTURE_RAW_HOOK_INPUT;
        Self {
            on: on.collect(),
            console_redact: set(&vars::CONSOLE_TELEMETRY_REDACT, "console_telemetry_redact"),
            raw_input: super::switch::of_env(env, raw, warnings).is_some_and(|switch| switch.on),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(pairs: &[(&'static str, &'static str)]) -> (Channels, Vec<String>) {
        let env = Env::from_pairs(pairs.iter().copied());
        let mut warnings = vec![];
        (Channels::load(&env, Path::new("/work"), None, &mut warnings), warnings)
    }

    #[test]
    fn both_channels_are_on_in_the_data_directory() {
        let (channels, warnings) = load(&[]);
        let files: Vec<_> = channels.on.iter().map(|channel| channel.path(Path::new("/data"))).collect();
        assert_eq!(files, [Path::new("/data/full.jsonl"), Path::new("/data/analytics.jsonl")]);
        assert_eq!((channels.raw_input, channels.console_redact, warnings.len()), (false, None, 0));
    }

    #[test]
    fn the_user_chooses_and_a_list_for_a_local_file_is_none_for_the_console() {
        let (channels, warnings) = load(&[
            ("TELEMETRY_CHANNELS", "analytics, extra"),
            ("TELEMETRY_CHANNEL_ANALYTICS_LOG_FILE", "a.jsonl"),
            ("TELEMETRY_CHANNEL_ANALYTICS_REDACT", "none"),
        ]);
        assert_eq!(channels.on.len(), 1);
        assert_eq!(channels.on[0].path(Path::new("/data")), Path::new("/work/a.jsonl"));
        assert_eq!((channels.on[0].redact.as_deref(), channels.console_redact), (Some("none"), None));
        assert!(warnings[0].contains("extra"), "{warnings:?}");
    }
}
