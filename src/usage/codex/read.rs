//! A rollout to observations.

use super::line::{self, may_matter};
use super::thread::Thread;
use crate::journal::lines::{self, Line};
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::Receiver;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// The largest window that a compressed rollout may ask memory for. Codex compresses at the default level, which asks
/// for 2 MiB.
const MAX_WINDOW: u64 = 8 << 20;

/// Reads a whole rollout, plain or compressed as its name says.
///
/// # Errors
/// When the file cannot be read or is no rollout of its kind; what was read before stays read.
pub fn rollout(file: File, path: &Path, to: &mut dyn Receiver, met: &mut Diagnostics) -> io::Result<()> {
    let mut thread = Thread::named(super::layout::thread(path).unwrap_or_default());
    if path.extension().is_some_and(|extension| extension == "zst") {
        read(&mut Frames::of(file)?, 0, &mut thread, to, met)?;
    } else {
        news(&file, 0, &mut thread, to, met)?;
    }
    Ok(())
}

/// A compressed file: one frame after the other.
struct Frames(Option<Frame>);

type Frame = StreamingDecoder<BufReader<File>, FrameDecoder>;

impl Frames {
    fn of(file: File) -> io::Result<Self> {
        frame(BufReader::new(file)).map(Some).map(Self)
    }
}

fn frame(source: BufReader<File>) -> io::Result<Frame> {
    let frame = StreamingDecoder::new_with_max_window_size(source, MAX_WINDOW);
    frame.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(mut current) = self.0.take() {
            let read = current.read(buffer)?;
            if read > 0 {
                self.0 = Some(current);
                return Ok(read);
            }
            let mut source = current.into_inner();
            if !source.fill_buf()?.is_empty() {
                self.0 = Some(frame(source)?);
            }
        }
        Ok(0)
    }
}

/// Reads the lines of a plain rollout from `from` on, where `thread` is what an earlier read left behind, and returns
/// the offset at which the next read starts.
///
/// # Errors
/// When the file cannot be read.
pub fn news(
    mut file: &File,
    from: u64,
    thread: &mut Thread,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> io::Result<u64> {
    file.seek(SeekFrom::Start(from))?;
    read(&mut file, from, thread, to, met)
}

fn read(
    source: &mut dyn Read,
    from: u64,
    thread: &mut Thread,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
) -> io::Result<u64> {
    // A line that is still being written is read again: it must not count for what later lines depend on.
    let mut open = None;
    let mut shown = Shown::default();
    let progress = lines::for_each_of(source, from, b"", b"\"token_count\"", |line| {
        if line.open {
            open = Some(thread.clone());
        }
        if line.bytes.is_empty() || !may_matter(line.bytes) {
            return;
        }
        if shown.again(line.bytes) {
            met.echoes_skipped += 1;
            return;
        }
        take(&line, open.as_mut().unwrap_or(thread), to, met);
    })?;
    met.unreadable_lines += progress.overlong;
    open.as_mut().unwrap_or(thread).flush(to);
    if open.is_some() {
        thread.forget_held();
    }
    Ok(progress.offset)
}

/// The counters that were shown last. Most counts are shown more than once, and a repetition need not be parsed to be
/// known as one (`thread`, rule 1).
#[derive(Default)]
struct Shown(Vec<u8>);

impl Shown {
    fn again(&mut self, line: &[u8]) -> bool {
        let Some(at) = memchr::memmem::find(line, b"\"total_token_usage\":{") else { return false };
        let counters = line.get(at..).unwrap_or_default();
        let end = memchr::memchr(b'}', counters).unwrap_or(counters.len());
        let counters = counters.get(..end).unwrap_or_default();
        if self.0 == counters {
            return true;
        }
        self.0.clear();
        self.0.extend_from_slice(counters);
        false
    }
}

fn take(line: &Line<'_>, thread: &mut Thread, to: &mut dyn Receiver, met: &mut Diagnostics) {
    match line::parse(line.bytes) {
        Ok(read) => thread.line(read, to, met),
        Err(_) if line.open => {}
        Err(_) => met.unreadable_lines += u64::from(holds_usage(line.bytes)),
    }
}

/// Whether a line that cannot be read would have been a call.
fn holds_usage(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"token_usage").is_some()
}

/// Where the agent worked when the thread started.
#[must_use]
pub fn first_cwd(file: &File) -> Option<std::path::PathBuf> {
    let mut cwd = None;
    let mut head = file.take(FIRST_LINE);
    let read = lines::for_each_of(&mut head, 0, b"\"session_meta\"", b"\"session_meta\"", |line| {
        if cwd.is_none()
            && let Ok(line::Line { said: line::Said::Header(header), .. }) = line::parse(line.bytes)
        {
            cwd = header.cwd.map(|cwd| cwd.into_owned().into());
        }
    });
    read.ok().and(cwd)
}

/// How far a thread's header is looked for.
const FIRST_LINE: u64 = 1 << 20;

#[cfg(test)]
mod tests;
