//! Files of lines that are kept under a size: when one would grow past it, its older half goes.

use std::path::Path;

use super::files;

/// Appends `line`, making room first so that the file stays under `cap` bytes.
pub(super) fn append_line(path: &Path, line: &[u8], cap: u64) -> std::io::Result<()> {
    if files::len(path).saturating_add(line.len() as u64) > cap {
        drop_older_half(path)?;
    }
    files::append_line(path, line).map(drop)
}

fn drop_older_half(path: &Path) -> std::io::Result<()> {
    let bytes = files::read(path)?;
    let middle = bytes.len() as u64 / 2;
    let from = files::lines(&bytes).map(|(offset, _)| offset).find(|&offset| offset >= middle);
    let kept = from.and_then(|from| bytes.get(usize::try_from(from).ok()?..)).unwrap_or_default();
    files::replace(path, kept)
}
