//! What each host is given: the files in which it looks for hooks, and what we put there. One file per host holds its facts
//! and their sources; how a file is edited is the business of `json` and `toml`.

mod claude;
mod codex;
mod kiro;
mod opencode;
mod pi;

use std::path::PathBuf;

use super::json::{Refusal, Shape, Wanted};
use super::place::Place;
use super::{command, json, toml};
use crate::hosts::{self as adapters, ManifestHarness, ResolveTarget, WriteTarget};

/// The hosts that can be set up.
pub const NAMES: [&str; 5] = ["claude-code", "codex", "opencode", "pi", "kiro"];

/// A file of a host, and what is to be done to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The host.
    pub host: &'static str,
    /// The asset's id in receipts, the same on every machine; it says nothing of the path.
    pub id: String,
    /// The file, as it is named to the host.
    pub path: PathBuf,
    /// What is put there.
    pub asset: Asset,
}

/// What is put in a host's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asset {
    /// Entries among the user's own, in a JSON file.
    Json {
        /// How the file holds them.
        shape: Shape,
        /// The events, in order.
        events: &'static [&'static str],
        /// Seconds that the host lets a hook run.
        timeout_s: u64,
        /// The command.
        command: String,
    },
    /// Tables behind the user's own, in Codex' TOML file.
    Toml {
        /// The events, in order.
        events: &'static [&'static str],
        /// Seconds that the host lets a hook run.
        timeout_s: u64,
        /// The command.
        command: String,
    },
    /// A whole file of ours.
    Own(String),
}

/// In a file of ours: this line tells it from a user's file of the same name.
const MARK: &str = "tally init";

/// The files of `host` in this place.
///
/// # Errors
/// When there is no such host, or nothing is to be done for it here; the reason.
pub fn targets(host: &str, place: &Place) -> Result<Vec<Target>, Refusal> {
    match host {
        claude::NAME => claude::targets(place),
        codex::NAME => Ok(codex::targets(place)),
        opencode::NAME => Ok(opencode::targets(place)),
        pi::NAME => Ok(pi::targets(place)),
        kiro::NAME => Ok(kiro::targets(place)),
        _ => Err(Refusal(format!("unknown host {host:?}; known: {}", NAMES.join(", ")))),
    }
}

/// The adapter of a host that can be set up, with these bindings; `None` for any other.
#[must_use]
pub fn adapter<'a>(
    host: &str,
    resolve: ResolveTarget<'a>,
    write: WriteTarget<'a>,
) -> Option<ManifestHarness<'a>> {
    let named = match host {
        claude::NAME => adapters::claude_code,
        codex::NAME => adapters::codex,
        opencode::NAME => adapters::opencode,
        pi::NAME => adapters::pi,
        kiro::NAME => adapters::kiro,
        _ => return None,
    };
    Some(named(resolve, write))
}

/// Every file of `host` that may call us here, for who only looks.
#[must_use]
pub fn candidates(host: &str, place: &Place) -> Vec<Target> {
    match host {
        claude::NAME => claude::candidates(place),
        codex::NAME => codex::candidates(place),
        kiro::NAME => kiro::candidates(place),
        _ => targets(host, place).unwrap_or_default(),
    }
}

/// The hosts that seem to be in use here; Claude Code in any case.
#[must_use]
pub fn detected(place: &Place) -> Vec<&'static str> {
    let used = |folder: &str, global: PathBuf| place.dest.join(folder).is_dir() || global.is_dir();
    let table = [
        (codex::NAME, used(".codex", codex::home(place))),
        (opencode::NAME, used(".opencode", opencode::home(place))),
        (pi::NAME, used(".pi", place.home.join(".pi"))),
        (kiro::NAME, used(".kiro", place.home.join(".kiro"))),
    ];
    let others = table.into_iter().filter(|(_, used)| *used).map(|(name, _)| name);
    std::iter::once(claude::NAME).chain(others).collect()
}

/// What a person has to do in the host before its hooks run, if anything.
#[must_use]
pub fn next_step(host: &str) -> Option<&'static str> {
    match host {
        codex::NAME => Some("Codex runs a new hook once you have trusted it: open Codex and type /hooks"),
        pi::NAME => Some("pi loads the extension when it starts; in a running pi type /reload"),
        opencode::NAME => Some("opencode loads the plugin when it starts"),
        _ => None,
    }
}

impl Target {
    /// The file's text with what is ours; `text` is `None` where there is no file.
    ///
    /// # Errors
    /// When it cannot be edited without a risk; the reason.
    pub fn merge(&self, text: Option<&str>) -> Result<String, Refusal> {
        match &self.asset {
            Asset::Json { command, .. } => json::merge(text.unwrap_or_default(), &self.wanted(command)),
            Asset::Toml { command, .. } => toml::merge(text.unwrap_or_default(), &self.wanted(command)),
            Asset::Own(content) => match text {
                Some(text) if !text.contains(MARK) => Err(Refusal(format!(
                    "there is another file of this name; move it away, then run tally init --host {}",
                    self.host
                ))),
                _ => Ok(content.clone()),
            },
        }
    }

    /// The file's text without what is ours; `Some(None)` where the whole file is ours, `None` where nothing is.
    ///
    /// # Errors
    /// As [`Target::merge`].
    pub fn unmerge(&self, text: &str) -> Result<Option<Option<String>>, Refusal> {
        match &self.asset {
            Asset::Json { command, .. } => Ok(json::unmerge(text, &self.wanted(command))?.map(Some)),
            Asset::Toml { .. } => Ok(toml::unmerge(text)?.map(Some)),
            Asset::Own(content) => Ok((text == content).then_some(None)),
        }
    }

    /// Which events of the file call us, and with which command.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn ours(&self, text: &str) -> Result<Vec<(String, String)>, Refusal> {
        match &self.asset {
            Asset::Json { command, .. } => json::ours(text, &self.wanted(command)),
            Asset::Toml { .. } => toml::ours(text, self.host),
            Asset::Own(_) => {
                Ok(own_command(text).map(|command| ("*".to_owned(), command)).into_iter().collect())
            }
        }
    }

    /// What of the file's text is ours, in one spelling however the user lays the file out; `None` where nothing is. It is
    /// the content of the asset, and what its digest in a receipt is of.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn content(&self, text: &str) -> Result<Option<String>, Refusal> {
        match &self.asset {
            Asset::Json { command, .. } => json::content(text, &self.wanted(command)),
            Asset::Toml { command, .. } => toml::content(text, &self.wanted(command)),
            Asset::Own(_) => Ok(text.contains(MARK).then(|| text.to_owned())),
        }
    }

    fn is_json(&self) -> bool {
        matches!(self.asset, Asset::Json { .. })
    }

    fn wanted<'a>(&'a self, command: &'a str) -> Wanted<'a> {
        let (shape, events, timeout_s) = match &self.asset {
            Asset::Json { shape, events, timeout_s, .. } => (*shape, *events, *timeout_s),
            Asset::Toml { events, timeout_s, .. } => (Shape::Grouped, *events, *timeout_s),
            Asset::Own(_) => (Shape::Flat, &[][..], 0),
        };
        Wanted { shape, host: self.host, events, command, timeout_s }
    }
}

/// A file of ours in JavaScript: the template with the program and the host put in.
fn script(template: &str, place: &Place) -> String {
    let program = serde_json::Value::String(place.program.to_string_lossy().into_owned());
    template.replace("\"@PROGRAM@\"", &program.to_string())
}

/// The command that a file of ours runs, read back from the line that [`script`] wrote or from the JSON of Kiro's file.
fn own_command(text: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("const PROGRAM = "));
    if let Some(line) = line {
        let program: String =
            serde_json::from_slice(line.trim_end().trim_end_matches(';').as_bytes()).ok()?;
        return Some(command::of(std::path::Path::new(&program), "").trim_end().to_owned());
    }
    let file: serde_json::Value = serde_json::from_slice(text.as_bytes()).ok()?;
    file.pointer("/hooks/0/action/command")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
