//! Writing a file that may hold a token, or that is the user's: whole, private from the first byte, and never through a
//! link that somebody put in its way.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::sys::files;

/// The mode of files that we create.
pub(super) const PRIVATE: u32 = 0o600;

/// Replaces the file at `path`: a temporary file beside it that has `mode` before it has a byte, sync, rename. The folder
/// must be a real one; a link in the place of the file is replaced, not followed.
///
/// # Errors
/// When any step fails; the old content then stands.
#[cfg(unix)]
pub(super) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, fsync, openat, renameat, unlinkat};
    use std::os::unix::fs::PermissionsExt;

    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, flags, Mode::empty())?;
    let temporary = format!(".tally-{}-{:08x}.tmp", std::process::id(), fastrand::u32(..));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let private = Mode::from_raw_mode(0o600);
    let mut file = File::from(openat(&folder, temporary.as_str(), flags, private)?);
    // The umask may have taken bits that a trusted conf needs.
    let written = file
        .set_permissions(std::fs::Permissions::from_mode(mode))
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| file.sync_all())
        .and_then(|()| Ok(renameat(&folder, temporary.as_str(), &folder, name)?));
    if written.is_err() {
        // The error that matters is the one already in hand.
        let _ = unlinkat(&folder, temporary.as_str(), AtFlags::empty());
        return written;
    }
    // Not every file system can sync a folder, and the file itself is safe.
    let _ = fsync(&folder);
    Ok(())
}

/// Replaces the file at `path`.
///
/// # Errors
/// When it cannot be written; the old content then stands.
#[cfg(not(unix))]
pub(super) fn replace(path: &Path, bytes: &[u8], _mode: u32) -> io::Result<()> {
    files::write_atomic(path, bytes)
}

/// Creates `dir` and its missing parents, each for the owner only; returns those that it created, outermost first.
///
/// # Errors
/// When a part cannot be created.
pub(super) fn create_dirs(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut missing: Vec<PathBuf> =
        dir.ancestors().take_while(|dir| !dir.exists()).map(Path::to_path_buf).collect();
    missing.reverse();
    files::create_dir_private(dir)?;
    Ok(missing)
}

/// The permission bits of a file.
#[cfg(unix)]
pub(super) fn mode_of(metadata: &std::fs::Metadata) -> u32 {
    use std::os::unix::fs::MetadataExt;
    metadata.mode() & 0o7777
}

/// The permission bits of a file.
#[cfg(not(unix))]
pub(super) fn mode_of(_metadata: &std::fs::Metadata) -> u32 {
    PRIVATE
}

/// Whether the current user owns a file.
#[cfg(unix)]
pub(super) fn is_own(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Whether the current user owns a file.
#[cfg(not(unix))]
pub(super) fn is_own(_metadata: &std::fs::Metadata) -> bool {
    true
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_file_is_replaced_whole_with_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        for (text, mode) in [("one", 0o600), ("two", 0o640), ("three", 0o755)] {
            replace(&path, text.as_bytes(), mode).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_are_neither_followed_nor_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (outside, inside) = (dir.path().join("outside"), dir.path().join("inside"));
        fs::create_dir_all(&outside).unwrap();
        fs::create_dir_all(&inside).unwrap();
        fs::write(outside.join("victim"), "mine").unwrap();
        symlink(outside.join("victim"), inside.join("f")).unwrap();
        replace(&inside.join("f"), b"token", 0o600).unwrap();
        assert_eq!(fs::read_to_string(outside.join("victim")).unwrap(), "mine");
        symlink(&outside, dir.path().join("link")).unwrap();
        assert!(replace(&dir.path().join("link/f"), b"token", 0o600).is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }

    #[test]
    fn the_folders_that_were_missing_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let made = create_dirs(&dir.path().join("a/b")).unwrap();
        assert_eq!(made, [dir.path().join("a"), dir.path().join("a/b")]);
        assert!(create_dirs(&dir.path().join("a/b")).unwrap().is_empty());
    }
}
