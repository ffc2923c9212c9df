//! Private files: directories 0700, files 0600, whole-file replacement that survives a crash, bounded reads.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::disk::{self, Access};

/// How the names of temporary files end.
const TEMPORARY: &str = ".tmp";

/// Makes `options` create files that only the owner can read.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

/// Makes `options` refuse a link in the place of the file: a cloned repository may ship one that leads anywhere.
pub fn no_link(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    options
}

/// Whether any part of `below` is a link, seen from `base`.
#[must_use]
pub fn has_link(base: &Path, below: &str) -> bool {
    let mut path = base.to_path_buf();
    below.split('/').any(|part| {
        path.push(part);
        fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink())
    })
}

/// Creates `dir` and its missing parents, each 0700. A link in its place is no directory.
///
/// # Errors
/// When a part cannot be created or is not a directory.
pub fn create_dir_private(dir: &Path) -> io::Result<()> {
    match fs::symlink_metadata(dir) {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(metadata) if metadata.is_symlink() => {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "a link stands in its place"));
        }
        _ => {}
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(dir)
}

/// Opens `path` for appending and reading, creating it 0600.
///
/// # Errors
/// When it cannot be opened or created.
pub fn open_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    no_link(private(&mut options)).open(path)
}

/// Replaces `path` by `bytes`: a temporary file beside it, `sync_data`, rename. A crash leaves the old or the new
/// content, never a mix and never an empty file.
///
/// # Errors
/// When any step fails; the old content then stands.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path);
    let written = write_new(&temporary, bytes).and_then(|()| disk::rename(&temporary, path));
    if written.is_err() {
        // The error that matters is the one already in hand.
        drop(disk::remove_file(&temporary));
    }
    written
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = disk::open(path, Access::Create)?;
    file.write_all(bytes)?;
    file.sync_data()
}

fn temporary_beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{:08x}{TEMPORARY}", std::process::id(), fastrand::u32(..)));
    path.with_file_name(name)
}

/// Removes from `dir` what [`write_atomic`] left where it was killed. The caller sees to it that nobody is in the middle
/// of one. What cannot be removed stays.
pub fn remove_temporaries(dir: &Path) {
    let names = disk::names(dir).unwrap_or_default();
    for name in names.iter().filter(|name| name.as_encoded_bytes().ends_with(TEMPORARY.as_bytes())) {
        let path = dir.join(name);
        drop(disk::remove_file(path.as_path()));
    }
}

/// Reads a regular file of at most `limit` bytes; `None` when it does not exist.
///
/// # Errors
/// When it is not a regular file, is larger than `limit`, or cannot be read. A FIFO is refused without blocking.
pub fn read_bounded(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Most files are small: one read takes them whole.
    let mut bytes = Vec::with_capacity(4096);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {limit} bytes")));
    }
    Ok(Some(bytes))
}

/// The last `limit` bytes of a regular file, or all of it.
///
/// # Errors
/// When it cannot be opened or read, or is not a regular file.
pub fn read_tail(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut file = open_regular(path)?;
    let start = file.metadata()?.len().saturating_sub(limit);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens `path` for reading if it is a regular file. Never waits: a FIFO without a writer must not hang a hook.
///
/// # Errors
/// When it cannot be opened or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}

/// Whether `path` names the open `file`; always so where the system cannot tell.
#[must_use]
pub fn still_named(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => identity(&held) == identity(&named),
        _ => false,
    }
}

/// Device and inode of a file; zeros where the system has none.
#[must_use]
pub fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        (0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_is_whole_and_leaves_no_temporary() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state.json");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn reading_is_bounded_and_a_directory_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read_bounded(&path, 5).unwrap().as_deref(), Some(&b"12345"[..]));
        assert!(read_bounded(&path, 4).is_err());
        assert!(read_bounded(&dir.path().join("none"), 4).unwrap().is_none());
        assert!(read_bounded(dir.path(), 4).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn files_and_directories_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        create_dir_private(&inner).unwrap();
        let path = inner.join("log");
        open_append(&path).unwrap();
        assert_eq!(fs::metadata(&inner).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
