//! Exclusive advisory locks between processes.
//!
//! A lock is a file of its own, never the data file and never unlinked by us. The kernel frees it when the holder
//! dies. If someone else unlinks it while it is held, a second process could lock the new file: so the holder checks
//! after locking that the path still names the file it locked, and starts over when it does not.

use super::files;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// Pause between two tries while another process holds the lock.
const POLL: Duration = Duration::from_millis(2);

/// A held lock; dropping it lets go.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock if nobody holds it.
    ///
    /// # Errors
    /// When the lock file cannot be created or opened, or the file system cannot lock.
    #[expect(clippy::disallowed_methods, reason = "this is the one door to locks")]
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        loop {
            let file = open(path)?;
            match fs2::FileExt::try_lock_exclusive(&file) {
                Ok(()) if files::still_named(&file, path) => return Ok(Some(Self { file })),
                Ok(()) => {}
                Err(error) if error.kind() == fs2::lock_contended_error().kind() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the lock, waiting up to `patience`; `None` when another process held it all that time.
    ///
    /// # Errors
    /// As [`Lock::try_acquire`].
    pub fn acquire(path: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let start = Instant::now();
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            if start.elapsed() >= patience {
                return Ok(None);
            }
            std::thread::sleep(POLL);
        }
    }

    /// The locked file, for the few bytes that an owner keeps in it.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    files::no_link(files::private(&mut options)).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_lock_is_refused_and_freed_on_drop() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        let held = Lock::try_acquire(&path).unwrap().unwrap();
        assert!(Lock::try_acquire(&path).unwrap().is_none());
        drop(held);
        assert!(Lock::try_acquire(&path).unwrap().is_some());
    }

    #[test]
    fn an_unlinked_lock_file_is_replaced_not_shared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        let _held = Lock::try_acquire(&path).unwrap().unwrap();
        std::fs::remove_file(&path).unwrap();
        let second = Lock::try_acquire(&path).unwrap().unwrap();
        assert!(files::still_named(second.file(), &path));
    }
}
