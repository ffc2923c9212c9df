//! Where Codex keeps its rollouts (transcript formats §2, Where).
//!
//! ```text
//! ~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl
//! ~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl.zst     idle for a week
//! ~/.codex/archived_sessions/**                                      the same
//! ```
//!
//! `CODEX_HOME` replaces `~/.codex`. One thread may be there in all three forms: its calls have one identity.

use crate::usage::walk::Walk;
use std::path::{Path, PathBuf};

/// The rollouts of a Codex home.
#[must_use]
pub fn rollouts(codex_home: &Path) -> Vec<PathBuf> {
    let mut walk = Walk::for_files(is_rollout);
    for dir in ["sessions", "archived_sessions"] {
        walk.below(&codex_home.join(dir));
    }
    walk.sorted()
}

/// Whether a file of this name is a rollout.
#[must_use]
pub fn is_rollout(name: &str) -> bool {
    name.starts_with("rollout-") && (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst"))
}

/// The thread that a rollout's name tells: `rollout-2026-11-10T09-00-00-<thread>.jsonl`.
#[must_use]
pub fn thread(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".zst").unwrap_or(name).strip_suffix(".jsonl")?;
    stem.strip_prefix("rollout-")?.get("2026-11-10T09-00-00-".len()..).filter(|thread| !thread.is_empty())
}

/// The plain rollout of a thread, the newest first.
#[must_use]
pub fn of_thread(codex_home: &Path, thread_id: &str) -> Option<PathBuf> {
    let own = |path: &PathBuf| {
        thread(path) == Some(thread_id) && path.extension().is_some_and(|extension| extension == "jsonl")
    };
    rollouts(codex_home).into_iter().rev().find(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_thread_in_every_form() {
        let id = "019a0000-0000-7000-8000-000000000025";
        for end in ["jsonl", "jsonl.zst"] {
            let path = format!("/h/sessions/2026/11/10/rollout-2026-11-10T09-00-00-{id}.{end}");
            assert_eq!(thread(Path::new(&path)), Some(id));
        }
        for other in ["rollout-2026.jsonl", "history.jsonl", "rollout-2026-11-10T09-00-00-.jsonl"] {
            assert_eq!(thread(Path::new(other)), None, "{other}");
        }
    }
}
