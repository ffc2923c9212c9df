//! The files that a journal was rotated into: `economics.jsonl` becomes `economics.<from>-<to>.jsonl` when it is full,
//! and holds the bytes `from..to` of the journal from then on.
//!
//! The names are all there is to know, so a rotation is one rename: the current file starts at the highest `to`. A file
//! is read to its end, not to `to`: what a late writer put behind it is part of the journal too.

use super::log;
use crate::sys::{files, order};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// One rotated file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rotated {
    /// The offset in the journal at which it starts.
    pub(super) from: u64,
    /// The offset at which it ended when it was rotated.
    pub(super) to: u64,
    path: PathBuf,
}

impl Rotated {
    /// The file that the bytes `from..to` of the journal at `path` go into.
    pub(super) fn new(path: &Path, from: u64, to: u64) -> Self {
        let mut name = path.file_stem().unwrap_or_default().to_os_string();
        name.push(format!(".{from}-{to}"));
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        Self { from, to, path: path.with_file_name(name) }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Yields each whole line from offset `from` of the journal on that contains `needle`, with its offset. A file that
    /// is gone, because whoever rotates has removed it, has no lines.
    pub(super) fn for_each_from(
        &self,
        from: u64,
        needle: &[u8],
        mut yielded: impl FnMut(&[u8], u64),
    ) -> io::Result<()> {
        let Some(mut file) = self.open()? else { return Ok(()) };
        log::whole_lines(&mut file, from.saturating_sub(self.from), needle, |line, offset| {
            yielded(line, self.from + offset);
        })
    }

    /// See [`super::Log::last`].
    pub(super) fn last<T>(
        &self,
        needle: &[u8],
        accept: impl FnMut(&[u8]) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let Some(mut file) = self.open()? else { return Ok(None) };
        let length = file.metadata()?.len();
        log::last(&mut file, length, needle, accept)
    }

    /// Removes it; but a file that was written to after it was rotated holds what may never have been handed on, and
    /// stays. Returns whether it is gone.
    pub(super) fn remove(&self) -> io::Result<bool> {
        let Some(metadata) = present(std::fs::metadata(&self.path))? else { return Ok(true) };
        if metadata.len() != self.to.saturating_sub(self.from) {
            return Ok(false);
        }
        std::fs::remove_file(&self.path).map(|()| true)
    }

    fn open(&self) -> io::Result<Option<File>> {
        present(files::open_regular(&self.path))
    }
}

/// The rotated files of the journal at `path`, in the order of the journal.
pub(super) fn list(path: &Path) -> io::Result<Vec<Rotated>> {
    let (Some(dir), Some(stem)) = (path.parent(), path.file_stem()) else { return Ok(vec![]) };
    let Some(listing) = present(std::fs::read_dir(dir))? else { return Ok(vec![]) };
    let mut found = vec![];
    for item in listing {
        found.extend(parse(&item?.file_name(), &stem.to_string_lossy(), path));
    }
    order::sort(&mut found);
    Ok(found)
}

fn parse(name: &OsString, stem: &str, journal: &Path) -> Option<Rotated> {
    let (from, rest) = name.to_str()?.strip_prefix(stem)?.strip_prefix('.')?.split_once('-')?;
    let to = rest.split_once('.').map_or(rest, |(to, _)| to);
    let rotated = Rotated::new(journal, from.parse().ok()?, to.parse().ok()?);
    (rotated.path.file_name() == Some(name)).then_some(rotated)
}

/// The offset of the end of the journal at `path`, which is not locked: it may be further by now.
///
/// # Errors
/// When the folder cannot be read.
pub fn end(path: &Path) -> io::Result<u64> {
    // In this order: a rotation in between makes it too small, never too large.
    let start = list(path)?.last().map_or(0, |rotated| rotated.to);
    Ok(start + std::fs::metadata(path).map_or(0, |current| current.len()))
}

/// Yields each whole line of the journal at `path` that contains `needle`, with its offset, rotated files first; nothing
/// when there is none. Takes no lock: a rotation meanwhile hides no line that was there before.
///
/// # Errors
/// When a file cannot be read.
pub fn read(path: &Path, needle: &[u8], mut yielded: impl FnMut(&[u8], u64)) -> io::Result<()> {
    // The current file first: if it is rotated before the listing, it is known again by its identity.
    let current = present(files::open_regular(path))?;
    let identity = current.as_ref().map(File::metadata).transpose()?.as_ref().map(files::identity);
    let mut read = |mut file: File, from: u64| {
        log::whole_lines(&mut file, 0, needle, |line, offset| yielded(line, from + offset))
    };
    let mut met = false;
    let mut start = 0;
    for rotated in list(path)? {
        if let Some(file) = rotated.open()? {
            met |= Some(files::identity(&file.metadata()?)) == identity;
            read(file, rotated.from)?;
        }
        start = rotated.to;
    }
    current.filter(|_| !met).map_or(Ok(()), |file| read(file, start))
}

/// `None` for what is not there.
fn present<T>(opened: io::Result<T>) -> io::Result<Option<T>> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
