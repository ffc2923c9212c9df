//! Carrying out a plan: for each file receipt, backup and one atomic write. What cannot be written is said; the rest is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use super::hosts;
use super::place::Place;
use super::plan::{Planned, Role, Step, Summary};
use super::receipt::{Entry, Former, Receipt, back_up, hash};
use super::write;
use crate::hosts::{
    HostAdapter, InstallationReceipt, ManifestHarness, PortableAsset, ResolveTarget, WriteTarget,
};

/// Writes what `planned` says, and returns what was done with each file.
///
/// # Errors
/// When the receipt of the place cannot be read: nothing is written then. When what the hosts' adapters said cannot be kept.
pub fn apply(place: &Place, planned: &[Planned]) -> io::Result<Vec<Summary>> {
    let mut receipt = Receipt::load(&place.state, &place.dest)?;
    let mut installed: BTreeMap<&str, Vec<InstallationReceipt>> = BTreeMap::new();
    let mut done = vec![];
    for file in planned {
        let bind: &Bind<'_> = &|resolve, write| hosts::adapter(file.role.name(), resolve, write);
        let (summary, said) = one(place, file, &mut receipt, bind);
        done.push(summary);
        if let Role::Host(host) = file.role {
            installed.entry(host).or_default().push(said);
        }
    }
    // All are taken over before it is asked whether there was news.
    let news = installed.iter().filter(|(host, of_files)| receipt.keep(host, of_files)).count();
    if news > 0 {
        receipt.save(&place.state)?;
    }
    Ok(done)
}

/// The adapter with bindings, where the file is a host's.
type Bind<'b> = dyn for<'a> Fn(ResolveTarget<'a>, WriteTarget<'a>) -> Option<ManifestHarness<'a>> + 'b;

/// Does what is to be done with a file; a host's through its adapter, which is told where and how to write.
fn one(
    place: &Place,
    file: &Planned,
    receipt: &mut Receipt,
    bind: &Bind<'_>,
) -> (Summary, InstallationReceipt) {
    let host = file.role.name();
    let receipt = RefCell::new(receipt);
    let written = RefCell::new(Ok(None));
    let resolve = |asset: &PortableAsset| {
        let planned = file.asset.as_ref() == Some(asset);
        Ok(planned.then(|| file.path.to_string_lossy().into_owned()))
    };
    // The asset's content was merged into the file's when all was planned: nothing is written before that.
    let write = |_target: &str, _content: &str| {
        let done = carry_out(place, file, &mut receipt.borrow_mut());
        let told = done.as_ref().map(drop).map_err(|error| io::Error::from(error.kind()).into());
        *written.borrow_mut() = done;
        told
    };
    let said = match bind(Box::new(resolve), Box::new(write)) {
        Some(adapter) => match adapter.install(file.asset.as_slice()) {
            Ok(said) => said,
            Err(stopped) => *stopped.receipt,
        },
        None => {
            *written.borrow_mut() = carry_out(place, file, &mut receipt.borrow_mut());
            InstallationReceipt::of(host)
        }
    };
    let mut summary = file.summary();
    match written.into_inner() {
        Ok(backup) => summary.backup = backup,
        Err(error) => {
            summary.action = "refused";
            summary.reason = Some(format!("it cannot be written: {error}"));
        }
    }
    if let Some(skipped) = said.skipped.first() {
        summary.action = "unchanged";
        summary.reason = Some(format!("{host} takes no {}: {}", skipped.kind, skipped.reason));
    }
    (summary, said)
}

fn carry_out(place: &Place, file: &Planned, receipt: &mut Receipt) -> io::Result<Option<PathBuf>> {
    match &file.step {
        Step::Write(bytes, mode) => write_one(place, file, bytes, *mode, receipt),
        Step::Keep | Step::Leave(_) | Step::Refuse(_) => Ok(None),
    }
}

fn write_one(
    place: &Place,
    file: &Planned,
    bytes: &[u8],
    mode: u32,
    receipt: &mut Receipt,
) -> io::Result<Option<PathBuf>> {
    let folder = file.path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut dirs = write::create_dirs(folder)?;
    let known = receipt.of(&file.path);
    let untouched =
        known.is_some_and(|entry| file.before.as_deref().map(hash).as_ref() == Some(&entry.after));
    // What is to be given back: what was there before we came. Where the user has edited since, that is what it is now
    // without what is ours.
    let keep = known.filter(|_| untouched || file.role == Role::Conf);
    let (before, backup) = match keep {
        Some(entry) => (entry.before.clone(), entry.backup.clone()),
        None => {
            let base = if known.is_some() {
                file.own.as_ref().or(file.before.as_ref())
            } else {
                file.before.as_ref()
            };
            let backup =
                base.map(|base| back_up(&place.state, &file.role, &file.path, Former::Original, base));
            (base.map(|base| hash(base)), backup.transpose()?)
        }
    };
    let previous = match &file.before {
        Some(bytes) if known.is_some() => {
            Some(back_up(&place.state, &file.role, &file.path, Former::Previous, bytes)?)
        }
        _ => backup.clone(),
    };
    if let Some(known) = known {
        dirs.splice(0..0, known.dirs.iter().cloned());
    }
    receipt.put(Entry {
        role: file.role.name().to_owned(),
        path: file.path.clone(),
        mode,
        before,
        after: hash(bytes),
        backup,
        dirs,
    });
    receipt.save(&place.state)?;
    write::replace(&file.path, bytes, mode)?;
    Ok(previous)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::{AssetKind, Fidelity, HostCapabilities, PerKind};
    use crate::settings::env::Env;
    use crate::setup::plan;

    #[test]
    fn a_host_that_takes_no_hooks_is_given_none_and_the_summary_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let env = Env::from_pairs([("HOME", root.to_str().unwrap())]);
        let place = Place::find(&env, &root, Some(&root), false).unwrap();
        let [file] = &plan::hosts(&place, &["pi"])[..] else { panic!("pi has one file") };
        let install = PerKind::of(|kind| match kind {
            AssetKind::Hook => Fidelity::Unavailable.into(),
            _ => Fidelity::Native.into(),
        });
        let declared = HostCapabilities { install, ..HostCapabilities::default() };
        let bind: &Bind<'_> =
            &|resolve, write| Some(ManifestHarness::new("pi", declared.clone(), resolve, write));
        let mut receipt = Receipt::load(&place.state, &place.dest).unwrap();
        let (summary, said) = one(&place, file, &mut receipt, bind);
        assert_eq!(
            (summary.action, summary.reason.as_deref()),
            ("unchanged", Some("pi takes no hook: unsupported"))
        );
        assert_eq!((said.installed.len(), said.skipped.len(), receipt.files.len()), (0, 1, 0));
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
        // It is kept, once, and it is no installation.
        assert!(receipt.keep("pi", std::slice::from_ref(&said)) && !receipt.keep("pi", &[said]));
        assert!(receipt.hosts[0].installed.is_empty());
    }
}
