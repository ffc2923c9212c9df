//! Many transcripts at once: every core parses, one ledger merges.
//!
//! Work is cut into spans of whole lines, so that one long transcript keeps all cores busy too. The order in which
//! spans are done does not matter, because merging does not depend on it (see [`crate::usage::Call::merge`]).

use super::layout;
use super::line::Prompt;
use super::read::{self, Receiver, Want};
use crate::journal::lines;
use crate::sys::files;
use crate::usage::{Diagnostics, Ledger, Observation};
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A file longer than twice this is worth cutting.
const SPAN: u64 = 8 << 20;
/// More threads than this wait for memory, not for the processor.
const MOST_THREADS: usize = 8;

/// How many bytes the files have.
#[must_use]
pub fn size(paths: &[PathBuf]) -> u64 {
    paths.iter().map(|path| length(path)).sum()
}

/// Reads all calls of the files; `read_on` is told of bytes as they are done.
pub fn read(paths: &[PathBuf], read_on: impl Fn(u64) + Sync) -> (Ledger, Diagnostics) {
    let mut unreadable = BTreeSet::new();
    let mut work: Vec<(&Path, Range<u64>)> = vec![];
    for path in paths {
        match spans(path) {
            Ok(spans) => work.extend(spans.into_iter().map(|span| (path.as_path(), span))),
            Err(_) => drop(unreadable.insert(path.as_path())),
        }
    }
    let (ledger, next) = (Mutex::new(Ledger::new()), AtomicUsize::new(0));
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(work.len());
    let worker = || {
        let (mut met, mut failed) = (Diagnostics::default(), vec![]);
        while let Some((path, span)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            if one(path, span.clone(), &ledger, &mut met).is_err() {
                failed.push(*path);
            }
            read_on(span.end.min(length(path)).saturating_sub(span.start));
        }
        (met, failed)
    };
    let mut diagnostics = Diagnostics::default();
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        let all = others.into_iter().map(|other| other.join().unwrap_or_default());
        for (met, failed) in std::iter::once(worker()).chain(all) {
            diagnostics += met;
            unreadable.extend(failed);
        }
    });
    diagnostics.unreadable_files += unreadable.len() as u64;
    (ledger.into_inner().unwrap_or_else(PoisonError::into_inner), diagnostics)
}

fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |file| file.len())
}

fn spans(path: &Path) -> io::Result<Vec<Range<u64>>> {
    let mut file = files::open_regular(path)?;
    let length = file.metadata()?.len();
    lines::spans(&mut file, length, SPAN)
}

fn one(path: &Path, span: Range<u64>, ledger: &Mutex<Ledger>, met: &mut Diagnostics) -> io::Result<()> {
    let mut file = files::open_regular(path)?;
    read::transcript(&mut file, span, layout::place(path), Want::Calls, &mut Calls(ledger), met)?;
    Ok(())
}

struct Calls<'a>(&'a Mutex<Ledger>);

impl Receiver for Calls<'_> {
    fn call(&mut self, seen: Observation<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).observe(&seen);
    }

    fn prompt(&mut self, _seen: Prompt<'_>) {}
}
