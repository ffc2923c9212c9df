//! Many transcripts at once: every core parses, one ledger merges.
//!
//! What can be cut is cut into spans of whole lines, so that one long transcript keeps all cores busy too. The order in
//! which spans are done does not matter, because merging does not depend on it (see [`crate::usage::Call::merge`]).

use super::call::Observation;
use super::diagnostics::{Diagnostics, UnreadFile};
use super::ledger::Ledger;
use super::reader::{Prompt, Receiver};
use super::runtime::Source;
use crate::journal::lines;
use crate::sys::files;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A file longer than twice this is worth cutting.
const SPAN: u64 = 8 << 20;
/// More threads than this wait for memory, not for the processor.
const MOST_THREADS: usize = 8;

/// All that transcripts say.
#[derive(Debug, Default)]
pub struct Everything {
    /// The calls.
    pub ledger: Ledger,
    /// What was met and not counted.
    pub diagnostics: Diagnostics,
    /// What could not be read.
    pub unread: Vec<UnreadFile>,
}

/// How many bytes the sources have.
#[must_use]
pub fn size(sources: &[Source]) -> u64 {
    sources.iter().map(|source| length(&source.path)).sum()
}

/// Reads all calls of the sources; `read_on` is told of bytes as they are done.
pub fn read(sources: &[Source], read_on: impl Fn(u64) + Sync) -> Everything {
    let unread = Mutex::new(BTreeMap::new());
    let fail = |source: &Source, path: &Path, error: io::Error| {
        let file = UnreadFile {
            host: source.runtime.host(),
            path: path.display().to_string(),
            why: error.to_string(),
        };
        lock(&unread).insert(path.to_path_buf(), file);
    };
    let mut work: Vec<(&Source, Range<u64>)> = vec![];
    for source in sources {
        match spans(source) {
            Ok(spans) => work.extend(spans.into_iter().map(|span| (source, span))),
            Err(error) => fail(source, &source.path, error),
        }
    }
    let (ledger, next) = (Mutex::new(Ledger::new()), AtomicUsize::new(0));
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(work.len());
    let worker = || {
        let mut met = Diagnostics::default();
        while let Some((source, span)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut failed = |path: &Path, error| fail(source, path, error);
            source.read(span.clone(), &mut Calls(&ledger), &mut met, &mut failed);
            read_on(span.end.min(length(&source.path)).saturating_sub(span.start));
        }
        met
    };
    let mut diagnostics = Diagnostics::default();
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(worker)).collect();
        diagnostics += worker();
        for other in others {
            diagnostics += other.join().unwrap_or_default();
        }
    });
    let unread: BTreeMap<PathBuf, UnreadFile> = unread.into_inner().unwrap_or_else(PoisonError::into_inner);
    diagnostics.unreadable_files += unread.len() as u64;
    let ledger = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
    Everything { ledger, diagnostics, unread: unread.into_values().collect() }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn length(path: &Path) -> u64 {
    path.metadata().map_or(0, |file| file.len())
}

fn spans(source: &Source) -> io::Result<Vec<Range<u64>>> {
    if !source.runtime.can_be_cut() {
        return Ok(std::iter::once(0..u64::MAX).collect());
    }
    let mut file = files::open_regular(&source.path)?;
    let length = file.metadata()?.len();
    lines::spans(&mut file, length, SPAN)
}

struct Calls<'a>(&'a Mutex<Ledger>);

impl Receiver for Calls<'_> {
    fn call(&mut self, seen: Observation<'_>) {
        lock(self.0).observe(&seen);
    }

    fn prompt(&mut self, _seen: Prompt<'_>) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Runtime;
    use crate::usage::runtime::Moved;

    /// What is known of each call, whatever was read first.
    fn answer(sources: &[Source]) -> Vec<String> {
        let read = read(sources, |_| ());
        let say = |call: &crate::usage::Call| {
            let names = [call.session, call.model, call.agent].map(|name| read.ledger.name(name));
            format!(
                "{:?} {names:?} {:?} {:?} {:?} {:?}",
                call.key, call.at_ms, call.tokens, call.credits, call.traits
            )
        };
        let mut said: Vec<_> = read.ledger.calls().iter().map(say).collect();
        said.sort();
        said
    }

    #[test]
    fn sources_may_be_read_in_any_order_and_more_than_once() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/cases/open");
        let mut calls = 0;
        for home in std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()) {
            let sources: Vec<Source> = Runtime::ALL
                .into_iter()
                .flat_map(|runtime| runtime.sources(&home, Moved::default()))
                .collect();
            let once = answer(&sources);
            let backwards: Vec<Source> = sources.iter().rev().cloned().collect();
            assert_eq!(answer(&backwards), once, "{}", home.display());
            assert_eq!(answer(&[sources, backwards].concat()), once, "{}", home.display());
            calls += once.len();
        }
        assert!(calls > 28, "{calls} calls in 28 homes");
    }
}
