//! The run's sidecars: which task is active in a workspace, and the files that describe it (contract C.1).
//!
//! ```text
//! <base>/.kontourai/flow-agents/current/<actor>.json   the actor's own pointer, 6.x
//! <base>/.kontourai/flow-agents/current.json           the shared pointer: active_slug, else artifact_dir
//! <base>/.kontourai/flow-agents/<slug>/                state.json  acceptance.json  critique.json  agents/
//! <base>/.kontourai/flow/runs/<run>/state.json         the canonical run with its dated transitions
//! <base>/.flow-agents/…                                the older place of pointer and sidecars
//! ```
//!
//! Bases are tried in order (the worktree, then the shared root). The first pointer *file* that exists decides: going on
//! when it names no task would attribute the run to somebody else's. Each sidecar is then taken from the first place
//! that has it. The task's slug is `state.task_slug`; a task whose state does not say has the pointer's slug.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::task::{Counters, Documents, Verdict};
use super::windows::{self, PhaseWindow};
use crate::sys::files;

/// Sidecars are a few kilobytes; a canonical run with a long history stays below this.
const MAX_BYTES: u64 = 1024 * 1024;

const CANONICAL: &str = ".kontourai/flow-agents";
const LEGACY: &str = ".flow-agents";

/// The phase of a call that no step can be given.
pub const UNATTRIBUTED: &str = "unattributed";

/// Where to look.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lookup<'a> {
    /// Directories that may hold sidecars, in order.
    pub bases: &'a [PathBuf],
    /// The sanitised actor, for its own pointer.
    pub actor: Option<&'a str>,
    /// `--state`: the task is the one in this file. No pointer is read, so that two tasks are never mixed.
    pub state: Option<&'a Path>,
    /// `--acceptance`: read this file instead of looking for one.
    pub acceptance: Option<&'a Path>,
    /// `--critique`: read this file instead of looking for one.
    pub critique: Option<&'a Path>,
    /// `--agents-dir`: the delegations' directory instead of looking for one.
    pub agents_dir: Option<&'a Path>,
}

/// The task of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// Its slug; `None` when no task is active.
    pub slug: Option<String>,
    /// Its current phase.
    pub phase: Option<String>,
    /// Its status.
    pub status: Option<String>,
    /// Its counters so far.
    pub counters: Counters,
    /// Its verdict now.
    pub verdict: Verdict,
    /// Its steps in time; empty where the run has no dated transitions.
    pub windows: Vec<PhaseWindow>,
    /// The directory with its delegations, for [`super::delegations::read`].
    pub agents_dir: Option<PathBuf>,
    /// What was passed over and why, for the log.
    pub warnings: Vec<String>,
}

impl Task {
    /// The phase of a call at `ts_ms` (DESIGN §7): with dated transitions the step that was active then, else the
    /// current phase, else [`UNATTRIBUTED`].
    #[must_use]
    pub fn phase_at(&self, ts_ms: Option<i64>) -> &str {
        let phase = match self.windows.as_slice() {
            [] => self.phase.as_deref(),
            windows => ts_ms.and_then(|ms| windows::phase_at(windows, ms)),
        };
        phase.unwrap_or(UNATTRIBUTED)
    }
}

/// Reads the task that is active where `lookup` says.
#[must_use]
pub fn read(lookup: &Lookup<'_>) -> Task {
    let mut warnings = Vec::new();
    let pointed = lookup.state.is_none().then(|| pointed_slug(lookup, &mut warnings)).flatten();
    let folders =
        pointed.as_deref().map(|slug| folders(lookup.bases, slug, &mut warnings)).unwrap_or_default();

    let mut document = |explicit: Option<&Path>, name: &str| {
        let found = match explicit {
            Some(path) => read_object(path, &mut warnings),
            None => folders.iter().find_map(|folder| read_object(&folder.join(name), &mut warnings)),
        };
        found.unwrap_or_default()
    };
    let documents = Documents {
        state: document(lookup.state, "state.json"),
        acceptance: document(lookup.acceptance, "acceptance.json"),
        critique: document(lookup.critique, "critique.json"),
    };
    let agents_dir = match lookup.agents_dir {
        Some(path) => Some(path.to_path_buf()),
        None => folders.iter().map(|folder| folder.join("agents")).find(|path| path.is_dir()),
    };

    let slug = documents.task_slug(&mut warnings).or(pointed);
    let run = documents.run_id().or(slug.as_deref());
    let windows = run.map(|run| run_windows(lookup.bases, run, &mut warnings)).unwrap_or_default();
    Task {
        phase: documents.phase(&mut warnings),
        status: documents.status(&mut warnings),
        counters: documents.counters(&mut warnings),
        verdict: documents.verdict(),
        slug,
        windows,
        agents_dir,
        warnings,
    }
}

/// Whether `base` may have a pointer to an active task: two or three system calls, for who must not pay for more.
#[must_use]
pub fn may_have_task(base: &Path) -> bool {
    let canonical = base.join(CANONICAL);
    let places =
        [canonical.join("current.json"), canonical.join("current"), base.join(LEGACY).join("current.json")];
    places.iter().any(|place| place.exists())
}

/// The slug that the first pointer names, without a look at the task's files.
#[must_use]
pub fn active_slug(lookup: &Lookup<'_>) -> Option<String> {
    pointed_slug(lookup, &mut Vec::new())
}

/// The folder of the task that the first pointer names, if it is there, for who writes beside its sidecars.
#[must_use]
pub fn active_folder(lookup: &Lookup<'_>) -> Option<PathBuf> {
    let mut warnings = Vec::new();
    let slug = pointed_slug(lookup, &mut warnings)?;
    folders(lookup.bases, &slug, &mut warnings).into_iter().find(|folder| folder.is_dir())
}

/// The slug in the first pointer that exists.
fn pointed_slug(lookup: &Lookup<'_>, warnings: &mut Vec<String>) -> Option<String> {
    let own = lookup.actor.filter(|actor| is_plain_name(actor)).map(|actor| format!("current/{actor}.json"));
    let pointers = lookup.bases.iter().flat_map(|base| {
        let canonical = base.join(CANONICAL);
        let own = own.as_ref().map(|own| canonical.join(own));
        own.into_iter().chain([canonical.join("current.json"), base.join(LEGACY).join("current.json")])
    });
    for file in pointers {
        let pointer = match read_json(&file) {
            Ok(None) => continue,
            Ok(Some(pointer)) => pointer,
            Err(reason) => {
                warnings.push(format!("{}: {reason}", file.display()));
                return None;
            }
        };
        let value = ["active_slug", "artifact_dir"].into_iter().find_map(|field| {
            pointer.get(field).filter(|value| !value.is_null() && *value != "" && *value != false)
        })?;
        let slug = value.as_str().map(strip_layout).filter(|slug| is_plain_name(slug));
        if slug.is_none() {
            warnings.push(format!("{}: the slug is not the name of a folder: {value}", file.display()));
        }
        return slug.map(str::to_owned);
    }
    None
}

/// `artifact_dir` may be written from the workspace's root.
fn strip_layout(slug: &str) -> &str {
    let inside =
        [CANONICAL, LEGACY].into_iter().find_map(|layout| slug.strip_prefix(layout)?.strip_prefix('/'));
    inside.unwrap_or(slug)
}

/// Whether `name` is one path segment that stays where it is put, on every system.
fn is_plain_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && name.len() <= 255
        && !name.contains(['/', '\\', ':'])
        && !name.contains(char::is_control)
}

/// The places of the task's sidecars, in order. One that a symbolic link takes out of its layout is refused.
fn folders(bases: &[PathBuf], slug: &str, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    let layouts = bases.iter().flat_map(|base| [base.join(CANONICAL), base.join(LEGACY)]);
    let mut folders = Vec::new();
    for layout in layouts {
        let folder = layout.join(slug);
        // Absent ones end here, so that only what exists is read from.
        let Ok(kind) = folder.symlink_metadata() else { continue };
        if kind.is_symlink() && !leads_inside(&folder, &layout) {
            warnings.push(format!("{}: a link out of its folder is not followed", folder.display()));
            continue;
        }
        folders.push(folder);
    }
    folders
}

fn leads_inside(path: &Path, parent: &Path) -> bool {
    match (path.canonicalize(), parent.canonicalize()) {
        (Ok(path), Ok(parent)) => path.starts_with(parent),
        _ => false,
    }
}

/// The windows of the canonical run, from the first base that has it.
fn run_windows(bases: &[PathBuf], run: &str, warnings: &mut Vec<String>) -> Vec<PhaseWindow> {
    let is_run_name = |next: char| next.is_ascii_alphanumeric() || matches!(next, '.' | '_' | '-');
    if !is_plain_name(run) || !run.chars().all(is_run_name) {
        warnings.push(format!("the run's name is not a file name: {run:?}"));
        return Vec::new();
    }
    for base in bases {
        let file = base.join(".kontourai/flow/runs").join(run).join("state.json");
        if let Some(run) = read_object(&file, warnings) {
            return windows::derive(&run).unwrap_or_else(|refusal| {
                warnings.push(format!("{}: {refusal}", file.display()));
                Vec::new()
            });
        }
    }
    Vec::new()
}

/// The object in `file`; `None` when there is no such file. A file that is there and no object is `Null`: it decides,
/// and says nothing.
fn read_object(file: &Path, warnings: &mut Vec<String>) -> Option<Value> {
    let reason = match read_json(file) {
        Ok(None) => return None,
        Ok(Some(value)) if value.is_object() => return Some(value),
        Ok(Some(_)) => "not a JSON object".to_owned(),
        Err(reason) => reason,
    };
    warnings.push(format!("{}: {reason}", file.display()));
    Some(Value::Null)
}

fn read_json(file: &Path) -> Result<Option<Value>, String> {
    match files::read_bounded(file, MAX_BYTES) {
        Ok(None) => Ok(None),
        // A file where a folder of the path should be: there is no such sidecar.
        Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(None),
        Ok(Some(bytes)) => serde_json::from_slice(&bytes).map(Some).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
