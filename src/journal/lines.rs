//! The lines of an append-only JSONL file from a byte offset on, in bounded memory.
//!
//! 1. Only lines that contain one of the needles are yielded: most of a transcript is text that cannot hold usage.
//! 2. The offset that is returned lies behind the last line that ends in a newline; the next read starts there.
//! 3. An unterminated last line is yielded too, marked as open: if it is whole it counts now, and because the offset
//!    stays before it, it is read again when its newline has come.
//! 4. A line longer than [`MAX_LINE`] is passed over, so that memory stays bounded, and counted if it has the needle.

use memchr::{memchr, memmem, memrchr};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

/// The longest line that is looked at, in bytes.
pub const MAX_LINE: usize = 8 << 20;
/// What is read at once: little enough to be looked through while it is still in the processor's cache.
const CHUNK: usize = 256 << 10;

/// One line, without its newline.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Where it starts in the file.
    pub offset: u64,
    /// Whether it has no newline yet: its writer may still be writing it.
    pub open: bool,
}

/// How far a read came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Where the next read starts.
    pub offset: u64,
    /// Lines with the needle that were too long to be looked at.
    pub overlong: u64,
}

/// Yields each line of `file` from `from` on that contains `needle`.
///
/// # Errors
/// When the file cannot be read; lines that were yielded before stay yielded.
pub fn for_each(
    file: &mut File,
    from: u64,
    needle: &[u8],
    yielded: impl FnMut(Line<'_>),
) -> io::Result<Progress> {
    for_each_in(file, from..u64::MAX, needle, yielded)
}

/// As [`for_each`], up to the end of `span`, which is the start of a line or lies behind the file.
///
/// # Errors
/// As [`for_each`].
pub fn for_each_in(
    file: &mut File,
    span: Range<u64>,
    needle: &[u8],
    yielded: impl FnMut(Line<'_>),
) -> io::Result<Progress> {
    file.seek(SeekFrom::Start(span.start))?;
    let mut spanned = file.take(span.end.saturating_sub(span.start));
    for_each_of(&mut spanned, span.start, needle, needle, yielded)
}

/// As [`for_each`], of a stream whose first byte lies at `start`. A line that is too long is counted if it contains
/// `loss`.
///
/// # Errors
/// As [`for_each`].
pub fn for_each_of(
    source: &mut dyn Read,
    start: u64,
    needle: &[u8],
    loss: &[u8],
    mut yielded: impl FnMut(Line<'_>),
) -> io::Result<Progress> {
    let (finder, loss_finder) = (memmem::Finder::new(needle), memmem::Finder::new(loss));
    let mut buffer: Vec<u8> = Vec::with_capacity(2 * CHUNK);
    let mut base = start;
    let mut overlong = 0;
    let mut skipping = false;
    let mut hit = false;
    loop {
        let filled = buffer.len();
        let read = (&mut *source).take(CHUNK as u64).read_to_end(&mut buffer)?;
        if read == 0 {
            break;
        }
        let Some(last) = buffer.get(filled..).and_then(|new| memrchr(b'\n', new)).map(|at| at + filled)
        else {
            if skipping || buffer.len() > MAX_LINE {
                skipping = true;
                hit |= loss_finder.find(&buffer).is_some();
                // The needle may lie across two chunks.
                let passed = buffer.len().saturating_sub(loss.len());
                base += passed as u64;
                buffer.drain(..passed);
            }
            continue;
        };
        let mut start = 0;
        if skipping {
            start = memchr(b'\n', &buffer).map_or(last, |at| at) + 1;
            hit |= buffer.get(..start).is_some_and(|rest| loss_finder.find(rest).is_some());
            overlong += u64::from(hit);
            (skipping, hit) = (false, false);
        }
        let whole = buffer.get(start..=last).unwrap_or_default();
        yield_lines(whole, base + start as u64, &finder, &mut yielded);
        base += last as u64 + 1;
        buffer.drain(..=last);
    }
    if skipping {
        overlong += u64::from(hit || loss_finder.find(&buffer).is_some());
        base += buffer.len() as u64;
    } else if !buffer.is_empty() && finder.find(&buffer).is_some() {
        yielded(Line { bytes: &buffer, offset: base, open: true });
    }
    Ok(Progress { offset: base, overlong })
}

/// Cuts `file`, of `length` bytes, into spans of about `size` bytes that each start and end with a line; the last one
/// is open.
///
/// # Errors
/// When the file cannot be read.
pub fn spans(file: &mut File, length: u64, size: u64) -> io::Result<Vec<Range<u64>>> {
    let mut spans = vec![];
    let mut start = 0;
    while length.saturating_sub(start) > 2 * size {
        let end = line_after(file, start + size)?;
        spans.push(start..end);
        start = end;
    }
    spans.push(start..u64::MAX);
    Ok(spans)
}

/// The start of the first line that begins behind `offset`; the end of the file if there is none.
fn line_after(file: &mut File, offset: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(offset))?;
    let passed = BufReader::new(file).skip_until(b'\n')?;
    Ok(offset + passed as u64)
}

/// Yields the lines of `whole`, each ending in a newline, that the finder hits.
fn yield_lines(whole: &[u8], base: u64, finder: &memmem::Finder<'_>, yielded: &mut impl FnMut(Line<'_>)) {
    let mut from = 0;
    // An empty needle is in every line, but not behind the last one.
    while let Some(rest) = whole.get(from..).filter(|rest| !rest.is_empty()) {
        let Some(hit) = finder.find(rest).map(|at| at + from) else { return };
        let start =
            whole.get(from..hit).and_then(|before| memrchr(b'\n', before)).map_or(from, |at| from + at + 1);
        let end = whole.get(hit..).and_then(|after| memchr(b'\n', after)).map_or(whole.len(), |at| hit + at);
        let bytes = whole.get(start..end).unwrap_or_default();
        yielded(Line { bytes, offset: base + start as u64, open: false });
        from = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn read(bytes: &[u8], from: u64) -> (Vec<(Vec<u8>, u64, bool)>, Progress) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let mut lines = Vec::new();
        let progress =
            for_each(&mut file, from, b"x", |line| lines.push((line.bytes.to_vec(), line.offset, line.open)));
        (lines, progress.unwrap())
    }

    #[test]
    fn an_open_line_is_yielded_and_read_again() {
        let (lines, progress) = read(b"1x\n2\n3x", 0);
        assert_eq!(lines, [(b"1x".to_vec(), 0, false), (b"3x".to_vec(), 5, true)]);
        assert_eq!(progress.offset, 5);
        let (lines, progress) = read(b"1x\n2\n3x\n", progress.offset);
        assert_eq!(lines, [(b"3x".to_vec(), 5, false)]);
        assert_eq!(progress.offset, 8);
    }

    #[test]
    fn an_overlong_line_costs_only_itself() {
        let mut bytes = b"1x\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', MAX_LINE + CHUNK));
        bytes.extend(b"\n2x\n");
        let (lines, progress) = read(&bytes, 0);
        assert_eq!(lines.iter().map(|line| line.0.as_slice()).collect::<Vec<_>>(), [b"1x", b"2x"]);
        assert_eq!(progress, Progress { offset: bytes.len() as u64, overlong: 1 });
    }

    #[test]
    fn an_overlong_line_without_the_needle_is_nobodys_loss_and_a_needle_across_chunks_is_seen() {
        for (line, at, overlong) in [("y", None, 0), ("y", Some(MAX_LINE + 2 * CHUNK - 1), 1)] {
            let mut bytes = line.repeat(MAX_LINE + 3 * CHUNK).into_bytes();
            if let Some(at) = at {
                bytes[at..at + 2].copy_from_slice(b"xx");
            }
            bytes.extend(b"\nxx\n");
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            let mut yielded = vec![];
            let progress = for_each(&mut file, 0, b"xx", |line| yielded.push(line.offset)).unwrap();
            assert_eq!(yielded, [bytes.len() as u64 - 3]);
            assert_eq!(progress, Progress { offset: bytes.len() as u64, overlong });
        }
    }

    #[test]
    fn spans_cover_each_line_once() {
        let text: String = (0..500).map(|n| format!("{n}x{}\n", "-".repeat(n % 37))).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        for size in [1, 7, 100, 5_000, 1 << 20] {
            let mut lines = vec![];
            for span in spans(&mut file, text.len() as u64, size).unwrap() {
                for_each_in(&mut file, span, b"x", |line| lines.push(line.bytes.to_vec())).unwrap();
            }
            let expected: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
            assert_eq!(lines, expected, "{size}");
        }
    }

    proptest! {
        #[test]
        fn every_line_with_the_needle_comes_once(text in "[xy\n]{0,60}") {
            let (lines, progress) = read(text.as_bytes(), 0);
            let expected: Vec<&str> = text.split('\n').filter(|line| line.contains('x')).collect();
            let got: Vec<&str> = lines.iter().map(|line| std::str::from_utf8(&line.0).unwrap()).collect();
            prop_assert_eq!(got, expected);
            prop_assert_eq!(progress.offset as usize, text.rfind('\n').map_or(0, |at| at + 1));
        }
    }
}
