//! What was written where, so that it can be taken back byte for byte.
//!
//! ```text
//! ${XDG_STATE_HOME:-~/.local/state}/tally/setup/<place>/
//!   receipt.json        {"version":1, "dest":…, "files":[{"role","path","mode","before","after","backup","dirs"}],
//!                        "hosts":[{"hostId","installed","skipped"}]}
//!   backups/<n>-<name>.before-tally   what a host's file held before we first wrote it
//!   backups/<n>-<name>.previous       what it held before we last wrote it
//! <conf>.before-tally, <conf>.previous   the same of the conf: beside it, because it may hold a token
//! ```
//!
//! 1. The receipt is written before the files: a kill in between leaves entries whose file is still as before.
//! 2. `hosts` are the receipts of the hosts' adapters (`schemas/install-receipt.schema.json`), kept after the files were
//!    written: a kill in between leaves files that nothing is said of until the next `tally init`.
//! 3. `before` and `after` are SHA-256 in hexadecimal; `before` is null for a file that was not there.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::plan::Role;
use super::write::{self, PRIVATE};
use crate::hosts::InstallationReceipt;
use crate::sys::files;
use crate::sys::hex::hex;

const VERSION: u32 = 1;
const MAX_BYTES: u64 = 1 << 20;

/// The receipt of a place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    version: u32,
    /// The place, for people who find the file.
    dest: PathBuf,
    /// The files that we wrote.
    pub files: Vec<Entry>,
    /// What was installed in each host, as its adapter said.
    #[serde(default)]
    pub hosts: Vec<InstallationReceipt>,
}

/// A file that we wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// `conf`, `ignore`, or the host.
    pub role: String,
    /// Where it really is.
    pub path: PathBuf,
    /// Its mode before.
    pub mode: u32,
    /// The hash of what it held before.
    pub before: Option<String>,
    /// The hash of what we wrote.
    pub after: String,
    /// Where what it held before is kept.
    pub backup: Option<PathBuf>,
    /// The folders that we made for it, outermost first.
    pub dirs: Vec<PathBuf>,
}

/// The hash by which contents are told apart.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

impl Receipt {
    /// The receipt kept in `state`; an empty one where there is none.
    ///
    /// # Errors
    /// When it cannot be read, or is from a newer version: it is then left alone.
    pub fn load(state: &Path, dest: &Path) -> io::Result<Self> {
        let path = state.join("receipt.json");
        let Some(bytes) = files::read_bounded(&path, MAX_BYTES)? else {
            return Ok(Self { version: VERSION, dest: dest.to_path_buf(), files: vec![], hosts: vec![] });
        };
        let receipt: Self = serde_json::from_slice(&bytes)?;
        if receipt.version > VERSION {
            let what = format!("{} is from a newer tally; use that one", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(receipt)
    }

    /// Keeps the receipt in `state`; an empty one leaves nothing there.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, state: &Path) -> io::Result<()> {
        if self.files.is_empty() && self.hosts.is_empty() {
            return match std::fs::remove_dir_all(state) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        files::create_dir_private(state)?;
        let text = format!("{}\n", serde_json::to_string_pretty(self)?);
        write::replace(&state.canonicalize()?.join("receipt.json"), text.as_bytes(), PRIVATE)
    }

    /// The entry of a file.
    #[must_use]
    pub fn of(&self, path: &Path) -> Option<&Entry> {
        self.files.iter().find(|entry| entry.path == path)
    }

    /// Puts an entry in the place of the one of the same file.
    pub fn put(&mut self, entry: Entry) {
        self.files.retain(|known| known.path != entry.path);
        self.files.push(entry);
    }

    /// Takes over what a host's adapter said of its files, one receipt each; returns whether that is news. Where a file was
    /// not written, what is known of the host's others still holds.
    pub fn keep(&mut self, host: &str, of_files: &[InstallationReceipt]) -> bool {
        let place = self.hosts.iter().position(|kept| kept.host_id == host);
        let known = place.and_then(|at| self.hosts.get(at));
        let mut kept = InstallationReceipt::of(host);
        if let Some(known) = known
            && of_files.iter().any(InstallationReceipt::is_empty)
        {
            let anew = |id: &str| of_files.iter().flat_map(|new| &new.installed).any(|new| new.id == id);
            kept.installed.extend(known.installed.iter().filter(|old| !anew(&old.id)).cloned());
        }
        for new in of_files {
            kept.installed.extend(new.installed.iter().cloned());
            kept.skipped.extend(new.skipped.iter().cloned());
        }
        let news = known.map_or(!kept.is_empty(), |known| *known != kept);
        match place.and_then(|at| self.hosts.get_mut(at)) {
            Some(known) => *known = kept,
            None if news => self.hosts.push(kept),
            None => {}
        }
        news
    }
}

/// Which of a file's former contents a backup is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Former {
    /// Before we first wrote it: what uninstalling gives back.
    Original,
    /// Before we last wrote it.
    Previous,
}

impl Former {
    fn of(self, path: &Path) -> String {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match self {
            Self::Original => format!("{name}.before-tally"),
            Self::Previous => format!("{name}.previous"),
        }
    }
}

/// Takes away the backups that lie beside a conf.
pub(super) fn forget_beside(conf: &Path) {
    for former in [Former::Original, Former::Previous] {
        // There is usually at most one.
        drop(std::fs::remove_file(conf.with_file_name(former.of(conf))));
    }
}

/// Keeps what a file held before; returns where.
///
/// # Errors
/// When it cannot be written.
pub(super) fn back_up(
    state: &Path,
    role: &Role,
    path: &Path,
    former: Former,
    bytes: &[u8],
) -> io::Result<PathBuf> {
    let name = former.of(path);
    if *role == Role::Conf {
        let backup = path.with_file_name(name);
        write::replace(&backup, bytes, PRIVATE)?;
        return Ok(backup);
    }
    let folder = state.join("backups");
    files::create_dir_private(&folder)?;
    let short: String = hash(path.as_os_str().as_encoded_bytes()).chars().take(12).collect();
    let backup = folder.canonicalize()?.join(format!("{short}-{name}"));
    write::replace(&backup, bytes, PRIVATE)?;
    Ok(backup)
}
