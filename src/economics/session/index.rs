//! Which session owns a call: one index of billed calls per data directory.
//!
//! A resumed or forked transcript repeats calls that another session was billed for. The first recorder owns a call,
//! and a hook must find that out without reading the other session's transcript (DESIGN §7).
//!
//! ```text
//! file    = header page, then pages of 128 slots                       calls.index
//! header  = "TALLYIX1"  boot (8)  count (8)  slots (8)                 all little endian
//! slot    = key (16)  owner (8)  offset (8)                            all zero: free
//! ```
//!
//! 1. Open addressing with linear probing over a power of two of slots, at most 7 in 10 taken: a look-up reads one
//!    page of 4 KiB, however many calls there are.
//! 2. The index is a cache of the session files, which are synced; it is not. It notes the boot in which it was
//!    written and is rebuilt from them after another boot, and whenever it cannot be read.
//! 3. Whoever uses it holds the lock of the data directory.

use crate::sys::{boot, files};
use crate::usage::CallKey;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"TALLYIX1";
const PAGE: u64 = 4096;
const SLOT: u64 = 32;
const FIRST_SLOTS: u64 = 4096;

/// Who owns a call, and where in the owner's session file its latest state stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The first eight bytes of the owner's session file name.
    pub owner: u64,
    /// Byte offset of the line in that file.
    pub offset: u64,
}

/// The index, open; changes are kept in memory until [`Index::commit`].
#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    file: File,
    boot: u64,
    count: u64,
    slots: u64,
    pages: BTreeMap<u64, Page>,
}

#[derive(Debug)]
struct Page {
    bytes: Vec<u8>,
    dirty: bool,
}

impl Index {
    /// Opens the index at `path`. When there is none that can be trusted, one is built from the entries that
    /// `all_calls` yields.
    ///
    /// # Errors
    /// When the file cannot be created, read or written.
    pub fn open(path: &Path, all_calls: impl FnOnce(&mut dyn FnMut(CallKey, Entry))) -> io::Result<Self> {
        let boot = boot_mark();
        if let Ok(file) = open_file(path)
            && let Some((found, count, slots)) = read_header(&file)
            && found == boot
            && file.metadata()?.len() == PAGE + slots * SLOT
        {
            return Ok(Self { path: path.to_path_buf(), file, boot, count, slots, pages: BTreeMap::new() });
        }
        let mut entries = vec![];
        all_calls(&mut |key, entry| entries.push((key, entry)));
        Self::build(path, boot, &entries)
    }

    /// The owner of a call.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn get(&mut self, key: CallKey) -> io::Result<Option<Entry>> {
        let at = self.probe(key)?;
        let slot = self.slot(at)?;
        Ok(if slot.0 == FREE { None } else { Some(slot.1) })
    }

    /// Sets the owner of a call.
    ///
    /// # Errors
    /// When the file cannot be read or grown.
    pub fn set(&mut self, key: CallKey, entry: Entry) -> io::Result<()> {
        if (self.count + 1) * 10 > self.slots * 7 {
            self.grow()?;
        }
        let at = self.probe(key)?;
        self.count += u64::from(self.slot(at)?.0 == FREE);
        let (page, within) = place(at);
        let page = self.page(page)?;
        page.dirty = true;
        let bytes = [&key.0[..], &entry.owner.to_le_bytes(), &entry.offset.to_le_bytes()].concat();
        if let Some(slot) = page.bytes.get_mut(within..within + bytes.len()) {
            slot.copy_from_slice(&bytes);
        }
        Ok(())
    }

    /// Writes what was set.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn commit(mut self) -> io::Result<()> {
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        for (&number, page) in &mut self.pages {
            if page.dirty {
                self.file.seek(SeekFrom::Start((number + 1) * PAGE))?;
                self.file.write_all(&page.bytes)?;
                page.dirty = false;
            }
        }
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header(self.boot, self.count, self.slots))?;
        // Without a boot id nobody could tell a write that was lost.
        if self.boot == NO_BOOT { self.file.sync_data() } else { Ok(()) }
    }

    fn build(path: &Path, boot: u64, entries: &[(CallKey, Entry)]) -> io::Result<Self> {
        let mut slots = FIRST_SLOTS;
        while (entries.len() as u64 + 1) * 10 > slots * 7 {
            slots *= 2;
        }
        // The file takes the old one's place only when all entries are in it: one that is half built would be trusted.
        let new = path.with_extension("index.new");
        files::write_atomic(&new, &empty(boot, slots))?;
        let file = open_file(&new)?;
        let mut index =
            Self { path: path.to_path_buf(), file, boot, count: 0, slots, pages: BTreeMap::new() };
        for &(key, entry) in entries {
            index.set(key, entry)?;
        }
        index.write()?;
        std::fs::rename(&new, path)?;
        Ok(index)
    }

    fn grow(&mut self) -> io::Result<()> {
        let mut entries = Vec::with_capacity(self.count as usize);
        for at in 0..self.slots {
            let (key, entry) = self.slot(at)?;
            if key != FREE {
                entries.push((key, entry));
            }
        }
        let path = self.path.clone();
        *self = Self::build(&path, self.boot, &entries)?;
        Ok(())
    }

    /// The slot that holds `key`, or the free one where it belongs.
    fn probe(&mut self, key: CallKey) -> io::Result<u64> {
        let [a, b, c, d, e, f, g, h, ..] = key.0;
        let mask = self.slots - 1;
        let mut at = u64::from_le_bytes([a, b, c, d, e, f, g, h]) & mask;
        loop {
            let found = self.slot(at)?.0;
            if found == key || found == FREE {
                return Ok(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn slot(&mut self, at: u64) -> io::Result<(CallKey, Entry)> {
        let (page, within) = place(at);
        let bytes = &self.page(page)?.bytes;
        let field =
            |from: usize| bytes.get(within + from..).and_then(|rest| rest.first_chunk::<8>()).copied();
        let key = bytes.get(within..).and_then(|rest| rest.first_chunk::<16>()).copied().unwrap_or_default();
        let number = |from| u64::from_le_bytes(field(from).unwrap_or_default());
        Ok((CallKey(key), Entry { owner: number(16), offset: number(24) }))
    }

    fn page(&mut self, number: u64) -> io::Result<&mut Page> {
        match self.pages.entry(number) {
            std::collections::btree_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::btree_map::Entry::Vacant(vacant) => {
                let mut bytes = vec![0; PAGE as usize];
                self.file.seek(SeekFrom::Start((number + 1) * PAGE))?;
                self.file.read_exact(&mut bytes)?;
                Ok(vacant.insert(Page { bytes, dirty: false }))
            }
        }
    }
}

/// No call has this key: it would need a hash of 128 zero bits.
const FREE: CallKey = CallKey([0; 16]);
const NO_BOOT: u64 = 0;

/// The page of a slot, and its place in the page.
fn place(at: u64) -> (u64, usize) {
    let per_page = PAGE / SLOT;
    (at / per_page, ((at % per_page) * SLOT) as usize)
}

fn boot_mark() -> u64 {
    let Some(id) = boot::id() else { return NO_BOOT };
    let digest = Sha256::digest(id.as_bytes());
    u64::from_le_bytes(digest.first_chunk::<8>().copied().unwrap_or_default())
}

/// A file of free slots.
fn empty(boot: u64, slots: u64) -> Vec<u8> {
    let mut bytes = header(boot, 0, slots);
    bytes.resize((PAGE + slots * SLOT) as usize, 0);
    bytes
}

fn header(boot: u64, count: u64, slots: u64) -> Vec<u8> {
    [&MAGIC[..], &boot.to_le_bytes(), &count.to_le_bytes(), &slots.to_le_bytes()].concat()
}

fn read_header(mut file: &File) -> Option<(u64, u64, u64)> {
    let mut bytes = [0; 32];
    file.read_exact(&mut bytes).ok()?;
    let ([magic, rest @ ..], []) = bytes.as_chunks::<8>() else { return None };
    let [boot, count, slots] = rest else { return None };
    let number = |field: &[u8; 8]| u64::from_le_bytes(*field);
    let slots = number(slots);
    (magic == MAGIC && slots.is_power_of_two() && slots >= FIRST_SLOTS).then_some((
        number(boot),
        number(count),
        slots,
    ))
}

fn open_file(path: &Path) -> io::Result<File> {
    std::fs::OpenOptions::new().read(true).write(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> CallKey {
        CallKey::of(&[&n.to_le_bytes()])
    }

    fn entry(n: u32) -> Entry {
        Entry { owner: u64::from(n) + 1, offset: u64::from(n) * 7 }
    }

    #[test]
    fn entries_survive_growth_and_reopening() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.index");
        let mut index = Index::open(&path, |_| ()).unwrap();
        for n in 0..10_000 {
            index.set(key(n), entry(n)).unwrap();
        }
        index.set(key(3), entry(4)).unwrap();
        index.commit().unwrap();
        let mut index = Index::open(&path, |_| panic!("a good index is not rebuilt")).unwrap();
        assert_eq!(index.count, 10_000);
        assert_eq!(index.get(key(3)).unwrap(), Some(entry(4)));
        assert_eq!(index.get(key(9_999)).unwrap(), Some(entry(9_999)));
        assert_eq!(index.get(key(10_000)).unwrap(), None);
    }

    #[test]
    fn r2_an_index_of_another_boot_or_of_another_length_is_rebuilt() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.index");
        let spoil: [fn(&Path); 3] = [
            |path| std::fs::write(path, "junk").unwrap(),
            |path| {
                let mut bytes = std::fs::read(path).unwrap();
                bytes[8] ^= 1;
                std::fs::write(path, bytes).unwrap();
            },
            |path| {
                let bytes = std::fs::read(path).unwrap();
                std::fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
            },
        ];
        for spoil in spoil {
            let mut index = Index::open(&path, |_| ()).unwrap();
            index.set(key(1), entry(1)).unwrap();
            index.commit().unwrap();
            spoil(&path);
            drop(Index::open(&path, |yielded| yielded(key(2), entry(2))).unwrap());
            // What was built stays, whether or not anything is added to it.
            let mut index = Index::open(&path, |_| panic!("a good index is not rebuilt")).unwrap();
            assert_eq!(index.get(key(1)).unwrap(), None);
            assert_eq!(index.get(key(2)).unwrap(), Some(entry(2)));
            std::fs::remove_file(&path).unwrap();
        }
    }
}
