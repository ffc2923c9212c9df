//! The names in git's index: what git tracks (gitformat-index, versions 2 to 4).

use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::sys::files;

/// An index larger than this is not searched.
const MAX_BYTES: u64 = 256 << 20;
/// Stat data of an entry, before the object id.
const STAT_BYTES: usize = 40;

/// What the index notes of a file, to tell whether it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    /// Time of change, in seconds; the low 32 bits.
    seconds: u32,
    /// Size in bytes; the low 32 bits.
    size: u32,
}

impl Stat {
    /// That of a file as it is; `None` where the system tells no time.
    pub(super) fn of(metadata: &Metadata) -> Option<Self> {
        let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self { seconds: low(since.as_secs()), size: low(metadata.len()) })
    }

    fn read(stat: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_be_bytes(stat.get(at..at + 4)?.try_into().ok()?));
        Some(Self { seconds: number(8)?, size: number(36)? })
    }
}

/// The low 32 bits, as the index keeps them.
fn low(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(u32::MAX)
}

/// What the index at `path` notes of the entry `name` (a path from the top, with `/`), if it has it; `None` where the
/// index is in a form that is not read here (split, sparse, newer) or cannot be read.
pub(super) fn find(path: &Path, name: &[u8], object_id_bytes: usize) -> Option<Option<Stat>> {
    match files::read_bounded(path, MAX_BYTES) {
        Ok(Some(bytes)) => search(&bytes, name, object_id_bytes),
        Ok(None) => Some(None),
        Err(_) => None,
    }
}

fn search(bytes: &[u8], name: &[u8], object_id_bytes: usize) -> Option<Option<Stat>> {
    let mut at = Cursor { bytes, at: 0 };
    if at.take(4)? != b"DIRC" {
        return None;
    }
    let version = at.number(4)?;
    let entries = at.number(4)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut found = None;
    let mut previous: Vec<u8> = vec![];
    for _ in 0..entries {
        let start = at.at;
        let stat = at.take(STAT_BYTES)?;
        // Mode 040000: a folder that a sparse index has collapsed.
        if stat.get(24..28)? == [0, 0, 0x40, 0] {
            return None;
        }
        at.take(object_id_bytes)?;
        let flags = at.number(2)?;
        if flags & 0x4000 != 0 {
            at.take(2)?;
        }
        if version == 4 {
            let stripped = at.varint()?;
            previous.truncate(previous.len().checked_sub(stripped)?);
            previous.extend_from_slice(at.until_nul()?);
            found = found.or(if previous == name { Stat::read(stat) } else { None });
        } else {
            found = found.or(if at.until_nul()? == name { Stat::read(stat) } else { None });
            let length = at.at - start;
            at.take(length.next_multiple_of(8) - length)?;
        }
    }
    // A split index has most of its entries in another file.
    let split = at.bytes.get(at.at..at.at + 4) == Some(b"link");
    if split { None } else { Some(found) }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn number(&mut self, length: usize) -> Option<usize> {
        Some(self.take(length)?.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
    }

    /// The bytes before the next NUL, which is passed over.
    fn until_nul(&mut self) -> Option<&'a [u8]> {
        let length = self.bytes.get(self.at..)?.iter().position(|byte| *byte == 0)?;
        let taken = self.take(length)?;
        self.take(1)?;
        Some(taken)
    }

    /// The offset encoding of pack files.
    fn varint(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        loop {
            let byte = *self.take(1)?.first()?;
            value = value.checked_add(usize::from(byte & 0x7f))?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?.checked_mul(128)?;
        }
    }
}
