//! Carrying out a plan: for each file receipt, backup and one atomic write. What cannot be written is said; the rest is.

use std::io;

use super::place::Place;
use super::plan::{Planned, Role, Step, Summary};
use super::receipt::{Entry, Former, Receipt, back_up, hash};
use super::write;

/// Writes what `planned` says, and returns what was done with each file.
///
/// # Errors
/// When the receipt of the place cannot be read: nothing is written then.
pub fn apply(place: &Place, planned: &[Planned]) -> io::Result<Vec<Summary>> {
    let mut receipt = Receipt::load(&place.state, &place.dest)?;
    Ok(planned.iter().map(|file| one(place, file, &mut receipt)).collect())
}

fn one(place: &Place, file: &Planned, receipt: &mut Receipt) -> Summary {
    let mut summary = file.summary();
    let Step::Write(bytes, mode) = &file.step else { return summary };
    match write_one(place, file, bytes, *mode, receipt) {
        Ok(backup) => summary.backup = backup,
        Err(error) => {
            summary.action = "refused";
            summary.reason = Some(format!("it cannot be written: {error}"));
        }
    }
    summary
}

fn write_one(
    place: &Place,
    file: &Planned,
    bytes: &[u8],
    mode: u32,
    receipt: &mut Receipt,
) -> io::Result<Option<std::path::PathBuf>> {
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
