//! A disk in memory for the tests of one thread, with the ways in which a real one fails.
//!
//! - *Process crash*: the call at which it comes does nothing, or, for a write, a part of it; the process is gone, which is
//!   an unwinding that only [`survive`] stops. What was written before is there.
//! - *Power loss*: all names go back to what they were at some earlier moment, but not to before their folder was synced. Of
//!   each file's bytes only those that were synced surely stay. What was appended since may be gone from some point on, or be NUL
//!   from there on.
//! - *Full*: a write takes what fits, and the next fails, as on a full tmpfs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

pub(super) mod seam;

thread_local! {
    static MOUNTED: RefCell<Option<Memory>> = const { RefCell::new(None) };
}

type Inode = usize;

/// A file's bytes, and those that were synced last.
#[derive(Debug, Clone, Default)]
struct Content {
    now: Vec<u8>,
    synced: Vec<u8>,
}

/// The whole disk.
#[derive(Debug, Default)]
struct Memory {
    root: PathBuf,
    names: BTreeMap<PathBuf, Inode>,
    /// What the names were before each change since the last loss of power.
    earlier: Vec<BTreeMap<PathBuf, Inode>>,
    files: Vec<Content>,
    /// How many bytes all files may have together.
    capacity: Option<u64>,
    crash: Option<Crash>,
    /// What a byte counts where a file's length is asked for.
    weight: u64,
}

/// A crash to come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crash {
    /// How many more calls change something.
    pub(crate) after: u32,
    /// If it comes in a write, how many bytes of that are written, in 255ths.
    pub(crate) part: u8,
}

/// What a crash unwinds with.
struct Crashed;

/// The disk in the hands of a test; dropping it gives the thread the real one back.
#[derive(Debug)]
pub(crate) struct Mounted(());

fn with<T>(act: impl FnOnce(&mut Memory) -> T) -> T {
    MOUNTED.with_borrow_mut(|mounted| act(mounted.as_mut().expect("a disk is mounted")))
}

/// Puts an empty disk in the place of all files under `root`, for this thread. Locks and folders stay real.
pub(crate) fn mount(root: &Path) -> Mounted {
    let memory = Memory { root: root.to_path_buf(), weight: 1, ..Memory::default() };
    MOUNTED.with_borrow_mut(|mounted| assert!(mounted.replace(memory).is_none(), "mounted twice"));
    Mounted(())
}

/// Runs `act` as a process of its own; `None` when it crashed.
pub(crate) fn survive<T>(act: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(done) => Some(done),
        Err(panic) if panic.is::<Crashed>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        MOUNTED.with_borrow_mut(Option::take);
    }
}

impl Mounted {
    /// Arms a crash.
    pub(crate) fn crash(&self, crash: Crash) {
        with(|memory| memory.crash = Some(crash));
    }

    /// Disarms it.
    pub(crate) fn no_crash(&self) {
        with(|memory| memory.crash = None);
    }

    /// Lets every byte count for so many where a file's length is asked for, so that a limit of megabytes is reached with
    /// little.
    pub(crate) fn weigh(&self, weight: u64) {
        with(|memory| memory.weight = weight);
    }

    /// Leaves room for `bytes` more.
    pub(crate) fn fill(&self, bytes: u64) {
        with(|memory| memory.capacity = Some(memory.used() + bytes));
    }

    /// Makes all room again.
    pub(crate) fn free(&self) {
        with(|memory| memory.capacity = None);
    }

    /// The names of all files.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        with(|memory| memory.names.keys().cloned().collect())
    }

    /// The bytes of a file, if there is one.
    pub(crate) fn read(&self, path: &Path) -> Option<Vec<u8>> {
        with(|memory| memory.names.get(path).map(|&inode| memory.files[inode].now.clone()))
    }

    /// Adds to a file, whatever is armed. What is there is synced, but the name of a new file is not.
    pub(crate) fn append(&self, path: &Path, bytes: &[u8]) {
        with(|memory| {
            let inode = memory.names.get(path).copied().unwrap_or_else(|| {
                memory.remember();
                memory.add(path, Content::default())
            });
            let content = &mut memory.files[inode];
            content.now.extend_from_slice(bytes);
            content.synced.clone_from(&content.now);
        });
    }

    /// Puts a file with this content in the place of one that there is or ever was, synced, whatever is armed.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) {
        with(|memory| {
            let content = Content { now: bytes.to_vec(), synced: bytes.to_vec() };
            let inode = memory.add(path, content);
            for names in &mut memory.earlier {
                names.insert(path.to_path_buf(), inode);
            }
        });
    }

    /// Removes a file for good.
    pub(crate) fn remove(&self, path: &Path) {
        with(|memory| {
            memory.names.remove(path);
            for names in &mut memory.earlier {
                names.remove(path);
            }
        });
    }

    /// The power fails; `seed` decides what of that which was not synced is lost.
    pub(crate) fn lose_power(&self, seed: u64) {
        with(|memory| memory.lose_power(&mut fastrand::Rng::with_seed(seed)));
    }
}

impl Memory {
    fn used(&self) -> u64 {
        let named: BTreeSet<_> = self.names.values().collect();
        named.into_iter().map(|&inode| self.files[inode].now.len() as u64).sum()
    }

    fn add(&mut self, path: &Path, content: Content) -> Inode {
        self.files.push(content);
        let inode = self.files.len() - 1;
        self.names.insert(path.to_path_buf(), inode);
        inode
    }

    /// Before a change of the names.
    fn remember(&mut self) {
        self.earlier.push(self.names.clone());
    }

    fn lose_power(&mut self, random: &mut fastrand::Rng) {
        // Half the time the names are as they were just now: else nothing but their loss would ever be seen.
        if !self.earlier.is_empty() && random.bool() {
            self.names = self.earlier.swap_remove(random.usize(..self.earlier.len()));
        }
        self.earlier.clear();
        for content in &mut self.files {
            content.lose_power(random);
        }
    }
}

impl Content {
    fn lose_power(&mut self, random: &mut fastrand::Rng) {
        let from = if self.now.starts_with(&self.synced) { self.synced.len() } else { 0 };
        let kept = match random.u8(..4) {
            0 => self.now.len(),
            1 => from,
            _ => random.usize(from..=self.now.len()),
        };
        let length = if random.bool() { kept } else { random.usize(kept..=self.now.len()) };
        self.now.truncate(kept);
        self.now.resize(length, 0);
        if kept > from && random.u8(..4) == 0 {
            // A block that was not written back before those behind it.
            let hole = random.usize(from..kept);
            self.now[hole..random.usize(hole..kept)].fill(0);
        }
        self.synced.clone_from(&self.now);
    }
}
