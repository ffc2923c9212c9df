//! Assets, and what is kept of their installation.
//!
//! A receipt holds ids, kinds, digests and fixed reasons: no content, no target, no words of an error. So it may be
//! kept, shown and relayed.

use super::words::{AssetKind, SkipReason};
use crate::sys::hex::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;

/// Something to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortableAsset {
    /// Its name; it is part of the receipt.
    pub id: String,
    /// What it is.
    pub kind: AssetKind,
    /// Its content.
    pub content: String,
    /// Where it would like to be; for the binding that resolves targets.
    pub target_hint: Option<String>,
}

/// What an installation came to, in the order of the assets.
///
/// ```
/// use tally::hosts::{AssetKind, Installed, InstallationReceipt, digest};
/// let installed = vec![Installed { id: "review".into(), kind: AssetKind::Skill, digest: digest(b"# Review") }];
/// let receipt = InstallationReceipt { host_id: "codex".into(), installed, skipped: vec![], stopped: None };
/// let drift = receipt.verify(&mut |_| Ok(Some(b"# Review, but edited".to_vec())));
/// assert_eq!(drift[0].to_string(), "skill review was changed since it was installed");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallationReceipt {
    /// The adapter's id.
    pub host_id: String,
    /// What was installed.
    pub installed: Vec<Installed>,
    /// What was not, and why.
    pub skipped: Vec<Skipped>,
    /// Where a binding failed: the assets behind it were not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
}

/// An asset that was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Installed {
    /// The asset's id.
    pub id: String,
    /// The asset's kind.
    pub kind: AssetKind,
    /// The [`digest`] of its content.
    pub digest: String,
}

/// An asset that was not installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// The asset's id.
    pub id: String,
    /// The asset's kind.
    pub kind: AssetKind,
    /// Why.
    pub reason: SkipReason,
}

/// The asset at which a binding failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopped {
    /// The asset's id.
    pub id: String,
    /// The asset's kind.
    pub kind: AssetKind,
    /// Why: fixed words, never those of the error, which may name a path.
    pub reason: String,
}

/// `sha256:` and the hexadecimal SHA-256 of `content`.
///
/// ```
/// assert!(tally::hosts::digest(b"").starts_with("sha256:e3b0c442"));
/// ```
#[must_use]
pub fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(content)))
}

/// An installed asset that is not what was installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} {} {}", .installed.kind, .installed.id, .kind)]
pub struct Drift {
    /// The asset, as the receipt has it.
    pub installed: Installed,
    /// What is wrong with it.
    pub kind: DriftKind,
}

/// How an installed asset differs from its receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DriftKind {
    /// It is not there.
    #[error("is gone")]
    Missing,
    /// It has another content.
    #[error("was changed since it was installed")]
    Changed,
    /// It cannot be read, so nobody knows.
    #[error("cannot be read ({0})")]
    Unreadable(io::ErrorKind),
}

impl InstallationReceipt {
    /// The receipt of a host in which nothing was done yet.
    #[must_use]
    pub fn of(host_id: &str) -> Self {
        Self { host_id: host_id.to_owned(), installed: vec![], skipped: vec![], stopped: None }
    }

    /// Whether no asset was installed and none skipped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.installed.is_empty() && self.skipped.is_empty()
    }

    /// Hashes again what was installed. `read` gives the content that an asset has now, `None` if it is gone: the receipt
    /// does not know where assets went.
    #[must_use]
    pub fn verify(&self, read: &mut dyn FnMut(&Installed) -> io::Result<Option<Vec<u8>>>) -> Vec<Drift> {
        let mut drifted = vec![];
        for installed in &self.installed {
            let kind = match read(installed) {
                Ok(Some(content)) if digest(&content) == installed.digest => continue,
                Ok(Some(_)) => DriftKind::Changed,
                Ok(None) => DriftKind::Missing,
                Err(error) => DriftKind::Unreadable(error.kind()),
            };
            drifted.push(Drift { installed: installed.clone(), kind });
        }
        drifted
    }
}
