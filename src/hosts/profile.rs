//! The hosts that Tally ships a profile of: `config/hosts/<host>.toml`.
//!
//! A profile is a claim about a host, not evidence of one. The tables follow the published package 0.7.1; where its own
//! pages contradict each other, the tables stand.

use super::adapter::{
    ApplyOutcome, HostAdapter, InProcess, InstallAsset, ManifestHarness, ResolveTarget, WriteTarget,
};
use super::capabilities::HostCapabilities;
use super::words::Shape;
use serde_json::Value;

/// Every file of `config/hosts` as JSON, by the host's name, sorted. Made by `build.rs`.
pub(super) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/hosts.rs"));

/// What is known of a host before it is met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub id: String,
    /// How it takes what is given to it.
    pub shape: Shape,
    /// What it declares.
    pub capabilities: HostCapabilities,
    /// What a reader must know beyond that.
    pub limitations: Vec<String>,
}

impl Profile {
    /// The names of the hosts, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().filter(|(_, text)| text.contains("\"capabilities\":{")).map(|(id, _)| *id)
    }

    /// The profile that is shipped for `id`.
    ///
    /// ```
    /// use tally::hosts::{Profile, Shape};
    /// assert_eq!(Profile::shipped("pi").unwrap().shape, Shape::Manifest);
    /// assert_eq!(Profile::shipped("emacs"), None);
    /// ```
    #[must_use]
    pub fn shipped(id: &str) -> Option<Self> {
        let (id, text) = FILES.iter().find(|(name, _)| *name == id)?;
        let profile: Value = serde_json::from_slice(text.as_bytes()).ok()?;
        let limitations = profile.get("limitations").and_then(Value::as_array).into_iter().flatten();
        Some(Self {
            id: (*id).to_owned(),
            shape: Shape::parse(profile.get("shape")?.as_str()?)?,
            capabilities: HostCapabilities::from_json(profile.get("capabilities")?).ok()?,
            limitations: limitations.filter_map(Value::as_str).map(str::to_owned).collect(),
        })
    }

    /// An adapter whose bindings do nothing: every asset has a target, every outcome is taken as it is. It shows what
    /// the profile promises, and can prove nothing about a host.
    #[must_use]
    pub fn stand_in(&self) -> Box<dyn HostAdapter> {
        let (id, capabilities) = (self.id.as_str(), self.capabilities.clone());
        match self.shape {
            Shape::Manifest => {
                let resolve: ResolveTarget<'_> =
                    Box::new(|asset| Ok(Some(format!("/conformance/{}/{}", asset.kind, asset.id))));
                let write: WriteTarget<'_> = Box::new(|_, _| Ok(()));
                Box::new(ManifestHarness::new(id, capabilities, resolve, write).standing_in())
            }
            Shape::InProcess => {
                let apply: ApplyOutcome<'_> = Box::new(|_, outcome| Ok(outcome));
                let install: InstallAsset<'_> = Box::new(|_| Ok(()));
                Box::new(InProcess::new(id, capabilities, apply, Some(install)).standing_in())
            }
        }
    }
}

/// What a profile declares; a test reads each of them.
fn declared(id: &str) -> HostCapabilities {
    Profile::shipped(id).map(|profile| profile.capabilities).unwrap_or_default()
}

/// Declares the named adapters of hosts that are configured through files.
macro_rules! manifest_adapters {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)+) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name<'a>(resolve_target: ResolveTarget<'a>, write: WriteTarget<'a>) -> ManifestHarness<'a> {
            ManifestHarness::new($id, declared($id), resolve_target, write)
        }
    )+};
}

manifest_adapters! {
    /// The adapter of Claude Code.
    claude_code = "claude-code",
    /// The adapter of Codex.
    codex = "codex",
    /// The adapter of Kiro CLI; [`super::evaluate_kiro_hook`] answers its hooks.
    kiro = "kiro",
    /// The adapter of opencode.
    opencode = "opencode",
    /// The adapter of Pi.
    pi = "pi",
}

/// Declares the named adapters of frameworks.
macro_rules! in_process_adapters {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)+) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name<'a>(apply_outcome: ApplyOutcome<'a>, install_asset: Option<InstallAsset<'a>>) -> InProcess<'a> {
            InProcess::new($id, declared($id), apply_outcome, install_asset)
        }
    )+};
}

in_process_adapters! {
    /// The adapter of Strands.
    strands = "strands",
    /// The adapter of VoltAgent.
    voltagent = "voltagent",
}
