//! Every file operation of the outbox, and nothing else: the seam for tests of crashes between any two of them.
//! Callers hold `outbox.lock`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::sys::disk::{self, Access, File};
use crate::sys::files;

/// Appends `line` and a newline in one write, on a line of its own even after a torn tail. Returns the new length.
/// What a failed write left is cut off again.
pub(super) fn append_line(path: &Path, line: &[u8]) -> io::Result<u64> {
    let mut file = disk::open(path, Access::Append)?;
    let before = file.seek(SeekFrom::End(0))?;
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if before > 0 && last_byte(&mut file)? != b'\n' {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line);
    bytes.push(b'\n');
    if let Err(error) = file.write_all(&bytes) {
        // If the cut fails too, the torn tail is dealt with by the next append and the reader.
        drop(file.set_len(before));
        return Err(error);
    }
    Ok(before + bytes.len() as u64)
}

/// What was written to `path` survives the loss of power from here on.
pub(super) fn sync(path: &Path) -> io::Result<()> {
    disk::open(path, Access::Read)?.sync_data()
}

/// The names in `dir` survive the loss of power from here on.
pub(super) fn sync_names(dir: &Path) -> io::Result<()> {
    disk::sync_names(dir)
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    let [byte] = byte;
    Ok(byte)
}

/// The whole file; nothing when it does not exist.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    match disk::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// `len` bytes from `offset`.
pub(super) fn read_range(path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut file = disk::open(path, Access::Read)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0; len];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Whether there is such a file.
pub(super) fn exists(path: &Path) -> bool {
    disk::len(path).is_ok()
}

/// The file's length; 0 when it does not exist.
pub(super) fn len(path: &Path) -> u64 {
    disk::len(path).unwrap_or(0)
}

/// The path of segment `number`.
pub(super) fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:010}.jsonl"))
}

/// The segments present, by number, with their sizes. One that a worker removes meanwhile, seen by who holds no lock, is
/// not present.
pub(super) fn segments(dir: &Path) -> io::Result<BTreeMap<u64, u64>> {
    let names = match disk::names(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        names => names?,
    };
    let number_of = |name: &OsString| name.to_str()?.strip_suffix(".jsonl")?.parse().ok();
    let numbered = names.into_iter().filter_map(|name| Some((number_of(&name)?, name)));
    let mut found = BTreeMap::new();
    for (number, name) in numbered {
        match disk::len(&dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            length => drop(found.insert(number, length?)),
        }
    }
    Ok(found)
}

/// Gives a file another name at once.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    disk::rename(from, to)
}

/// Removes a file; one that is not there is as good.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match disk::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Replaces a file by `bytes`; a crash leaves the old or the new content.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    files::write_atomic(path, bytes)
}

/// Removes what killed processes left of [`replace`]: nobody is in the middle of one, as that takes the lock.
pub(super) fn remove_temporaries(dir: &Path) {
    files::remove_temporaries(dir);
}

/// Writes a small hint file in place: losing or tearing it costs a needless start, never a record.
pub(super) fn write_hint(path: &Path, bytes: &[u8]) -> io::Result<()> {
    disk::open(path, Access::Overwrite)?.write_all(bytes)
}

/// The non-empty lines of `bytes` with their offsets; a last line without a newline is one too.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut offset = 0;
    bytes
        .split(|&byte| byte == b'\n')
        .map(move |line| {
            let start = offset;
            offset += line.len() as u64 + 1;
            (start, line)
        })
        .filter(|(_, line)| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_torn_tail_never_swallows_the_next_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("current.jsonl");
        append_line(&path, b"{\"a\":1}").unwrap();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"to").unwrap();
        let len = append_line(&path, b"{\"b\":2}").unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes, b"{\"a\":1}\n{\"to\n{\"b\":2}\n");
        assert_eq!(len, bytes.len() as u64);
        let found: Vec<_> = lines(&bytes).map(|(offset, _)| offset).collect();
        assert_eq!(found, [0, 8, 13]);
    }

    #[test]
    fn only_numbered_files_are_segments() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["0000000007.jsonl", "current.jsonl", "rejected.jsonl", "state.json", "x.1.tmp"] {
            fs::write(dir.path().join(name), b"abc").unwrap();
        }
        assert_eq!(segments(dir.path()).unwrap(), BTreeMap::from([(7, 3)]));
        assert!(segments(&dir.path().join("none")).unwrap().is_empty());
    }
}
