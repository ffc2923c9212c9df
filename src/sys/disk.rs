//! Calls on files by their path, for rooms whose files must survive a crash between any two of them. A test can put a
//! disk in memory in the place of the real one, for its own thread: one that fills up, tears writes and loses power.

use std::fs::OpenOptions;

#[cfg(test)]
pub(crate) mod memory;

#[cfg(test)]
pub use memory::seam::*;
#[cfg(not(test))]
pub use real::*;

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading; it must exist.
    Read,
    /// Reading, and writing at the end; created if need be.
    Append,
    /// Writing, from empty; created if need be.
    Overwrite,
    /// Writing; it must not exist yet.
    Create,
}

impl Access {
    /// The options for a file that only the owner can read.
    fn options(self) -> OpenOptions {
        let mut options = OpenOptions::new();
        match self {
            Self::Read => options.read(true),
            Self::Append => options.read(true).append(true).create(true),
            Self::Overwrite => options.write(true).truncate(true).create(true),
            Self::Create => options.write(true).create_new(true),
        };
        super::files::no_link(super::files::private(&mut options));
        options
    }
}

/// The disk that there is; whoever comes in by [`self`] can be given another.
pub mod real {
    use super::Access;
    use std::ffi::OsString;
    use std::io;
    use std::path::Path;

    pub use std::fs::{File, read, remove_file, rename};

    /// Opens `path`; a file that this creates is readable by its owner only.
    ///
    /// # Errors
    /// When it cannot be opened or created.
    pub fn open(path: &Path, access: Access) -> io::Result<File> {
        access.options().open(path)
    }

    /// Makes the names in `dir` survive a loss of power, as they are now.
    ///
    /// # Errors
    /// When it cannot be opened or synced.
    pub fn sync_names(dir: &Path) -> io::Result<()> {
        // Where a folder cannot be opened, its names are not a user's to sync.
        if cfg!(unix) { File::open(dir)?.sync_all() } else { Ok(()) }
    }

    /// The length of the file at `path`.
    ///
    /// # Errors
    /// When there is none, or it cannot be asked.
    pub fn len(path: &Path) -> io::Result<u64> {
        std::fs::metadata(path).map(|metadata| metadata.len())
    }

    /// The names in `dir`, in no order.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn names(dir: &Path) -> io::Result<Vec<OsString>> {
        std::fs::read_dir(dir)?.map(|item| item.map(|item| item.file_name())).collect()
    }
}
