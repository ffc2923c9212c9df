//! Every file operation of the outbox, and nothing else: the seam for tests of crashes between any two of them.
//! Callers hold `outbox.lock`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::sys::files;

/// Appends `line` and a newline in one write, on a line of its own even after a torn tail. Returns the new length.
/// What a failed write left is cut off again.
pub(super) fn append_line(path: &Path, line: &[u8]) -> io::Result<u64> {
    let mut file = files::open_append(path)?;
    let before = file.metadata()?.len();
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

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    let [byte] = byte;
    Ok(byte)
}

/// The whole file; nothing when it does not exist.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// `len` bytes from `offset`.
pub(super) fn read_range(path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = vec![0; len];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The file's length; 0 when it does not exist.
pub(super) fn len(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// The path of segment `number`.
pub(super) fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:010}.jsonl"))
}

/// The segments present, by number, with their sizes.
pub(super) fn segments(dir: &Path) -> io::Result<BTreeMap<u64, u64>> {
    let mut found = BTreeMap::new();
    let listing = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        listing => listing?,
    };
    for item in listing {
        let item = item?;
        let name = item.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jsonl")).and_then(|n| n.parse().ok());
        if let Some(number) = number {
            found.insert(number, item.metadata()?.len());
        }
    }
    Ok(found)
}

/// Gives a file another name at once.
pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Removes a file; one that is not there is as good.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Replaces a file by `bytes`; a crash leaves the old or the new content.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    files::write_atomic(path, bytes)
}

/// Writes a small hint file in place: losing or tearing it costs a needless start, never a record.
pub(super) fn write_hint(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    files::no_link(files::private(&mut options)).open(path)?.write_all(bytes)
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
