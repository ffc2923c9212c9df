//! A search for transcripts below a folder.

use crate::sys::order;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders nest, but no deeper than this.
const MAX_DEPTH: usize = 16;

/// A search for files by name. Links are followed, because people keep projects elsewhere; each folder is searched once.
#[derive(Debug)]
pub struct Walk {
    wanted: fn(&str) -> bool,
    searched: BTreeSet<PathBuf>,
    found: Vec<PathBuf>,
}

impl Walk {
    /// A search for files whose name is `wanted`.
    #[must_use]
    pub fn for_files(wanted: fn(&str) -> bool) -> Self {
        Self { wanted, searched: BTreeSet::new(), found: vec![] }
    }

    /// Searches `dir` and the folders in it.
    pub fn below(&mut self, dir: &Path) {
        self.search(dir, MAX_DEPTH);
    }

    /// Searches `dir` alone.
    pub fn within(&mut self, dir: &Path) {
        self.search(dir, 0);
    }

    fn search(&mut self, dir: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(dir) else { return };
        if !dir.canonicalize().is_ok_and(|dir| self.searched.insert(dir)) {
            return;
        }
        for entry in entries.flatten() {
            let path = entry.path();
            let is_dir =
                entry.file_type().is_ok_and(|kind| kind.is_dir() || (kind.is_symlink() && path.is_dir()));
            if is_dir {
                if let Some(depth) = depth.checked_sub(1) {
                    self.search(&path, depth);
                }
            } else if path.file_name().and_then(|name| name.to_str()).is_some_and(self.wanted) {
                self.found.push(path);
            }
        }
    }

    /// What was found, sorted, so that the same files always give the same answer.
    #[must_use]
    pub fn sorted(mut self) -> Vec<PathBuf> {
        order::sort(&mut self.found);
        self.found
    }
}
