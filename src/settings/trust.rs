//! Opening a file that may hold a token: the checks are made on the open descriptor, so that nobody can swap the file
//! between check and read (DESIGN §6).

use std::fs::File;
use std::io;
use std::path::Path;

/// What opening a file for trust found.
#[derive(Debug)]
pub(super) enum Opened {
    /// A regular file, mode exactly 600, owned by the current user.
    Trusted(File),
    /// Nothing is there.
    Absent,
    /// Something is there that must not be read; the reason, as a fragment.
    Untrusted(String),
}

/// Opens `path` without following a final symlink and without waiting for a FIFO's writer.
#[cfg(unix)]
pub(super) fn open(path: &Path) -> Opened {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

    use rustix::fs::OFlags;

    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut options = std::fs::OpenOptions::new();
    options.read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    let opened = options.open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (metadata, file) = match opened {
        Ok(opened) => opened,
        Err(error) => return refused(&error),
    };
    if !metadata.is_file() {
        return Opened::Untrusted("it is not a regular file".into());
    }
    if metadata.mode() & 0o7777 != 0o600 {
        return Opened::Untrusted(format!("its mode is {:o}, not 600", metadata.mode() & 0o7777));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Opened::Untrusted("it belongs to another user".into());
    }
    Opened::Trusted(file)
}

#[cfg(unix)]
fn refused(error: &io::Error) -> Opened {
    use rustix::io::Errno;

    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT | Errno::NOTDIR) => Opened::Absent,
        Some(Errno::LOOP) => Opened::Untrusted("it is a symlink".into()),
        _ => Opened::Untrusted(format!("it cannot be opened ({error})")),
    }
}

/// Without an owner and a mode there is nothing to trust: a present file is refused, and the environment remains.
#[cfg(not(unix))]
pub(super) fn open(path: &Path) -> Opened {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Opened::Absent,
        _ => Opened::Untrusted("this platform has no owner and mode to check".into()),
    }
}
