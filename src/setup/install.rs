//! What is installed in hosts, as their adapters' receipts say, against what is there now.
//!
//! 1. Each file of a host is given one asset of the kind `hook`: entries among the user's own, or a whole file (opencode
//!    calls it a plugin and pi an extension; their profiles have it as `hook` too). Its content is [`Target::content`]: what
//!    of the file is ours. The rest is the user's, who may edit it without any drift.
//! 2. The edit itself goes through the host's adapter: the set-up resolves the asset to its file, and writes (`apply`). A
//!    host whose profile takes no hooks is thus given none. Of the five that can be set up there is none such.
//! 3. The adapter's receipt is kept within the set-up's. The one knows how to undo and holds paths; the other holds an id, a
//!    kind and a digest.

use std::io;
use std::path::PathBuf;

use super::command;
use super::hosts::{self, Target};
use super::json::Refusal;
use super::place::{Place, Scope};
use super::plan::{self, MAX_BYTES};
use super::receipt::Receipt;
use crate::hosts::{AssetKind, Drift, InstallationReceipt, PortableAsset};
use crate::sys::files;

/// The asset that `target` holds once its file has `text`.
///
/// # Errors
/// When nothing of ours can be found again in `text`.
pub(super) fn asset(target: &Target, text: &str) -> Result<PortableAsset, Refusal> {
    let content = target.content(text)?;
    let content = content.ok_or_else(|| Refusal("its layout is too unusual to edit safely".to_owned()))?;
    let target_hint = Some(target.path.to_string_lossy().into_owned());
    Ok(PortableAsset { id: target.id.clone(), kind: AssetKind::Hook, content, target_hint })
}

/// What differs from `receipt` in this place.
#[must_use]
pub fn drift(place: &Place, receipt: &InstallationReceipt) -> Vec<Drift> {
    receipt.verify(&mut |installed| content(place, &receipt.host_id, &installed.id))
}

/// Drops from `receipt` what is there no more, of the hosts that `covers` names.
pub(super) fn forget(place: &Place, receipt: &mut Receipt, covers: impl Fn(&str) -> bool) {
    for host in receipt.hosts.iter_mut().filter(|host| covers(&host.host_id)) {
        let id = host.host_id.clone();
        host.installed.retain(|one| !matches!(content(place, &id, &one.id), Ok(None)));
        host.skipped.clear();
    }
    receipt.hosts.retain(|host| !host.is_empty());
}

/// The content that an asset has now; `None` where it is gone.
fn content(place: &Place, host: &str, id: &str) -> io::Result<Option<Vec<u8>>> {
    let Some(target) = target(place, host, id) else { return Ok(None) };
    let path = real(&target);
    let Some(bytes) = files::read_bounded(&path, MAX_BYTES)? else { return Ok(None) };
    let broken = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let text = String::from_utf8(bytes).map_err(|error| broken(error.to_string()))?;
    let content = target.content(&text).map_err(|refusal| broken(refusal.0))?;
    Ok(content.map(String::into_bytes))
}

fn target(place: &Place, host: &str, id: &str) -> Option<Target> {
    hosts::candidates(host, place).into_iter().find(|target| target.id == id)
}

/// Where a target's file really is.
pub(super) fn real(target: &Target) -> PathBuf {
    plan::real(&target.path, None).unwrap_or_else(|_| target.path.clone())
}

/// A drift in words, with the file where there is one.
#[must_use]
pub fn said(place: &Place, host: &str, drift: &Drift) -> String {
    let target = target(place, host, &drift.installed.id);
    let file = target.map(|target| format!(", in {}", target.path.display())).unwrap_or_default();
    format!("{drift}{file}")
}

/// The command that installs the hooks of `host` in this place.
#[must_use]
pub fn again(place: &Place, host: &str) -> String {
    match place.scope {
        Scope::UserGlobal => format!("tally init --yes --global --host {host}"),
        Scope::Workspace => {
            let dest = command::quote(&place.dest.to_string_lossy());
            format!("tally init --yes --dest {dest} --host {host}")
        }
    }
}

/// Checks that something is installed in `host` and is what its receipt says: here, else for all workspaces.
///
/// # Errors
/// Where it is not: why, and what to do.
pub fn verify(here: &Place, host: &str) -> Result<(), String> {
    for place in [here, &here.global()] {
        let kept = Receipt::load(&place.state, &place.dest);
        let kept = kept.map_err(|error| format!("{}: {error}", place.state.display()))?;
        let receipt = kept.hosts.iter().find(|receipt| receipt.host_id == host);
        let Some(receipt) = receipt.filter(|receipt| !receipt.installed.is_empty()) else { continue };
        return match drift(place, receipt).first() {
            None => Ok(()),
            Some(drift) => Err(format!("{}; first: {}", said(place, host, drift), again(place, host))),
        };
    }
    Err(format!(
        "tally init installed nothing in it, neither in {} nor for all projects; first: {}",
        here.dest.display(),
        again(here, host)
    ))
}
