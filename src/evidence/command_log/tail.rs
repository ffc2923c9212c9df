//! The end of a log: which record the next one follows, and what a writer that died has left there.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use memchr::memrchr;

use super::Refused;
use super::chain::{GENESIS, Line, is_blank};
use crate::journal::lines;

/// How far back is looked for the last record: enough for most, for the longest of ours, for any that is sane.
const WINDOWS: [u64; 3] = [4 << 10, 64 << 10, 1 << 20];

/// Where and after what the next record goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tip {
    /// The hash that it continues.
    pub(super) parent: String,
    /// Its number.
    pub(super) seq: u64,
    /// The bytes of the log that stay.
    pub(super) keep: u64,
    /// Whether a newline is missing behind them.
    pub(super) seal: bool,
}

/// The end of a log, as far as it was read.
struct End<'a> {
    /// The last line that is not blank; `None` in a log without any.
    last: Option<&'a [u8]>,
    /// Where the line begins within which a writer died.
    torn: Option<u64>,
    /// Whether the last line is whole but has no newline.
    open: bool,
}

/// The tip of the log in `file`, which has `length` bytes.
///
/// A last line without its newline is whole if it is an object. Else its writer died within it: after a chained record it
/// goes, as a line that is no record would break the chain for all who come after; after unchained ones it is closed.
///
/// # Errors
/// [`Refused::Broken`] when the last record is not what its hash says, is too long, or follows a chained one unchained;
/// [`Refused::Io`] when the log cannot be read.
pub(super) fn find(file: &mut File, length: u64) -> Result<Tip, Refused> {
    for window in WINDOWS {
        let from = length.saturating_sub(window);
        let mut bytes = Vec::with_capacity(usize::try_from(length - from).unwrap_or_default());
        file.seek(SeekFrom::Start(from))?;
        (&*file).take(window).read_to_end(&mut bytes)?;
        if let Some(end) = End::of(&bytes, from) {
            return end.tip(file, length);
        }
    }
    Err(Refused::Broken)
}

impl<'a> End<'a> {
    /// `None` when the last line begins before `bytes`, which are the log from `from` on.
    fn of(bytes: &'a [u8], from: u64) -> Option<Self> {
        let whole = memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        let (mut before, open) = bytes.split_at_checked(whole)?;
        if whole == 0 && from > 0 {
            return None;
        }
        if !open.is_empty() && Line::of(open).is_some() {
            return Some(Self { last: Some(open), torn: None, open: true });
        }
        let torn = (!open.is_empty()).then_some(from + whole as u64);
        while let Some((_, line)) = before.split_last() {
            let start = memrchr(b'\n', line).map(|at| at + 1);
            if start.is_none() && from > 0 {
                return None;
            }
            let (rest, line) = line.split_at_checked(start.unwrap_or(0))?;
            if !is_blank(line) {
                return Some(Self { last: Some(line), torn, open: false });
            }
            before = rest;
        }
        (from == 0).then_some(Self { last: None, torn, open: false })
    }

    fn tip(&self, file: &mut File, length: u64) -> Result<Tip, Refused> {
        let line = self.last.and_then(Line::of);
        if let Some((line, chain)) = line.as_ref().and_then(|line| Some((line, line.chain()?))) {
            let (link, _) = line.link(&chain).ok_or(Refused::Broken)?;
            let keep = self.torn.unwrap_or(length);
            return Ok(Tip { parent: link.hash, seq: link.seq + 1, keep, seal: self.open });
        }
        if has_chained(file)? {
            return Err(Refused::Broken);
        }
        let seal = self.open || self.torn.is_some();
        Ok(Tip { parent: GENESIS.to_owned(), seq: 0, keep: length, seal })
    }
}

/// Whether any record of the log is chained. Only asked until there is one.
fn has_chained(file: &mut File) -> io::Result<bool> {
    let mut found = false;
    lines::for_each(file, 0, b"\"_chain\"", |line| {
        found |= Line::of(line.bytes).is_some_and(|line| line.chain().is_some());
    })?;
    Ok(found)
}
