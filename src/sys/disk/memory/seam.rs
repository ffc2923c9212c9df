//! The calls of [`super::super`], for tests: on the mounted disk where the path is on it, else on the real one.

use std::ffi::OsString;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::panic::resume_unwind;
use std::path::Path;

use super::super::{Access, real};
use super::{Content, Crash, Crashed, Inode, MOUNTED, Memory};

/// An open file.
#[derive(Debug)]
pub enum File {
    /// On the real disk.
    Real(std::fs::File),
    /// On the mounted one.
    Memory(Handle),
}

/// An open file of the mounted disk.
#[derive(Debug)]
pub struct Handle {
    inode: Inode,
    appends: bool,
    at: u64,
}

/// `None` when `path` is not on the mounted disk.
fn on<T>(path: &Path, act: impl FnOnce(&mut Memory) -> io::Result<T>) -> Option<io::Result<T>> {
    MOUNTED.with_borrow_mut(|mounted| {
        Some(act(mounted.as_mut().filter(|memory| path.starts_with(&memory.root))?))
    })
}

/// A call that changes something is about to: the crash may come first.
fn change(path: &Path) {
    if on(path, |memory| Ok(memory.crashes().is_some())).is_some_and(|due| due.is_ok_and(|due| due)) {
        resume_unwind(Box::new(Crashed));
    }
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

impl Memory {
    /// Counts a changing call; the crash, if it comes now.
    fn crashes(&mut self) -> Option<Crash> {
        let crash = self.crash.as_mut()?;
        match crash.after.checked_sub(1) {
            Some(after) => {
                crash.after = after;
                None
            }
            None => self.crash.take(),
        }
    }

    fn inode(&self, path: &Path) -> io::Result<Inode> {
        self.names.get(path).copied().ok_or_else(not_found)
    }

    fn open(&mut self, path: &Path, access: Access) -> io::Result<Handle> {
        let inode = match (self.inode(path), access) {
            (Ok(_), Access::Create) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Ok(inode), Access::Overwrite) => {
                self.files[inode].now.clear();
                inode
            }
            (Ok(inode), _) => inode,
            (Err(missing), Access::Read) => return Err(missing),
            (Err(_), _) => {
                self.remember();
                self.add(path, Content::default())
            }
        };
        Ok(Handle { inode, appends: access == Access::Append, at: 0 })
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let inode = self.inode(from)?;
        self.remember();
        self.names.remove(from);
        self.names.insert(to.to_path_buf(), inode);
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.inode(path)?;
        self.remember();
        self.names.remove(path);
        Ok(())
    }
}

/// As [`real::open`].
pub fn open(path: &Path, access: Access) -> io::Result<File> {
    if access != Access::Read {
        change(path);
    }
    match on(path, |memory| memory.open(path, access)) {
        Some(opened) => opened.map(File::Memory),
        None => real::open(path, access).map(File::Real),
    }
}

/// As [`real::read`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let found = on(path, |memory| memory.inode(path).map(|inode| memory.files[inode].now.clone()));
    found.unwrap_or_else(|| real::read(path))
}

/// As [`real::rename`].
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    change(from);
    on(from, |memory| memory.rename(from, to)).unwrap_or_else(|| real::rename(from, to))
}

/// As [`real::remove_file`].
pub fn remove_file(path: &Path) -> io::Result<()> {
    change(path);
    on(path, |memory| memory.remove(path)).unwrap_or_else(|| real::remove_file(path))
}

/// As [`real::len`].
pub fn len(path: &Path) -> io::Result<u64> {
    let found = on(path, |memory| {
        let inode = memory.inode(path)?;
        Ok(memory.files[inode].now.len() as u64 * memory.weight)
    });
    found.unwrap_or_else(|| real::len(path))
}

/// As [`real::names`].
pub fn names(dir: &Path) -> io::Result<Vec<OsString>> {
    let found = on(dir, |memory| {
        let inside = memory.names.keys().filter(|path| path.parent() == Some(dir));
        Ok(inside.filter_map(|path| path.file_name()).map(OsString::from).collect())
    });
    found.unwrap_or_else(|| real::names(dir))
}

impl File {
    /// As the real one's.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        match self {
            Self::Real(file) => file.set_len(length),
            Self::Memory(handle) => handle.change(|content| {
                content.resize(usize::try_from(length).unwrap(), 0);
            }),
        }
    }

    /// As the real one's.
    pub fn sync_data(&self) -> io::Result<()> {
        match self {
            Self::Real(file) => file.sync_data(),
            Self::Memory(handle) => {
                handle.change(|_| ())?;
                super::with(|memory| {
                    let content = &mut memory.files[handle.inode];
                    content.synced.clone_from(&content.now);
                });
                Ok(())
            }
        }
    }
}

impl Handle {
    fn change(&self, act: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        if super::with(|memory| memory.crashes().is_some()) {
            resume_unwind(Box::new(Crashed));
        }
        super::with(|memory| act(&mut memory.files[self.inode].now));
        Ok(())
    }

    fn length(&self) -> u64 {
        super::with(|memory| memory.files[self.inode].now.len() as u64)
    }

    /// Writes what fits, at most `bytes`.
    fn put(&mut self, bytes: &[u8]) -> usize {
        super::with(|memory| {
            let room = memory.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(memory.used()));
            let fits = bytes.len().min(usize::try_from(room).unwrap());
            let content = &mut memory.files[self.inode].now;
            assert!(self.appends || self.at == content.len() as u64, "nothing is written over");
            content.extend_from_slice(&bytes[..fits]);
            self.at = content.len() as u64;
            fits
        })
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let handle = match self {
            Self::Real(file) => return file.write_all(bytes).map(|()| bytes.len()),
            Self::Memory(handle) => handle,
        };
        if let Some(Crash { part, .. }) = super::with(Memory::crashes) {
            handle.put(&bytes[..bytes.len() * usize::from(part) / 255]);
            resume_unwind(Box::new(Crashed));
        }
        match handle.put(bytes) {
            0 if !bytes.is_empty() => Err(io::ErrorKind::StorageFull.into()),
            fits => Ok(fits),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let handle = match self {
            Self::Real(file) => return file.read(into),
            Self::Memory(handle) => handle,
        };
        let found = super::with(|memory| {
            let mut rest =
                memory.files[handle.inode].now.get(usize::try_from(handle.at).unwrap()..).unwrap_or(&[]);
            rest.read(into)
        })?;
        handle.at += found as u64;
        Ok(found)
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let handle = match self {
            Self::Real(file) => return file.seek(to),
            Self::Memory(handle) => handle,
        };
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => handle.at.checked_add_signed(by),
            SeekFrom::End(by) => handle.length().checked_add_signed(by),
        };
        handle.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(handle.at)
    }
}
