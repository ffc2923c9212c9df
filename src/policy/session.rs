//! Which session a policy speaks of: the folder with the sidecars of the task that is worked on.
//!
//! ```text
//! <base>/.kontourai/flow-agents/     then <base>/.flow-agents/     base: the worktree, then the shared root of the repository
//!   current/<actor>-<hash>.json      the actor's own pointer, 6.x; current/<actor>.json, 3.x
//!   current.json                     the pointer of everybody
//!   <slug>/                          state.json trust.bundle command-log.jsonl … and markdown
//! ```
//!
//! Without a repository the base is the nearest folder with `.git` or `AGENTS.md`, else the folder that the agent works in.
//! Own pointers go before shared ones. One that is a link, is no object or was retired is none. One that leads to no folder
//! inside its place is stale. Nothing here is written, and all of it is bounded.

use crate::liveness::actor::sanitize_segment;
use crate::sys::files;
use crate::sys::git::Repository;
use crate::sys::hex::hex;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// Where a base has its sessions, in order.
const LAYOUTS: [&str; 2] = [".kontourai/flow-agents", ".flow-agents"];
/// Folders above the agent's that are looked at for a sign of a project.
const ANCESTORS: usize = 40;
/// Levels below a place that are searched.
const DEPTH: usize = 8;
/// Entries of folders that are looked at in a search.
const ENTRIES: usize = 20_000;
/// The largest sidecar that is read.
const MAX_BYTES: u64 = 4 << 20;

/// Statuses of a task. `canceled` also in the other spelling, which others read as well.
pub const STATUSES: [&str; 15] = [
    "new",
    "planning",
    "planned",
    "in_progress",
    "blocked",
    "verifying",
    "verified",
    "needs_decision",
    "not_verified",
    "failed",
    "delivered",
    "canceled",
    "cancelled",
    "accepted",
    "archived",
];
/// Those of a task that nobody works on any more.
pub const ENDED: [&str; 4] = ["canceled", "cancelled", "accepted", "archived"];

/// Where an agent works.
#[derive(Debug, Clone)]
pub struct Site {
    /// The folder that it works in.
    pub start: PathBuf,
    /// The root of the project: the shared root of the repository.
    pub root: PathBuf,
    /// The folders that hold sessions, those that exist, the first to be asked first.
    pub places: Vec<PathBuf>,
}

/// What the pointers say.
#[derive(Debug, Clone, PartialEq)]
pub enum Pointed {
    /// There is none.
    Nowhere,
    /// There is one, and what it names is not there.
    Stale,
    /// The session's folder, and the pointer itself.
    To(PathBuf, Map<String, Value>),
}

impl Site {
    /// Where an agent works whose host says `named`, in a process that works in `cwd`.
    #[must_use]
    pub fn of(named: Option<&str>, cwd: &Path) -> Self {
        let start = named.map_or_else(|| cwd.to_path_buf(), |named| cwd.join(named));
        let (root, bases) = match Repository::discover(&start) {
            Some(repository) => {
                let shared = repository.shared_root().to_path_buf();
                let own = repository.worktree_root().map(Path::to_path_buf).filter(|own| *own != shared);
                (shared.clone(), own.into_iter().chain([shared]).collect())
            }
            None => {
                let marked =
                    |folder: &&Path| folder.join(".git").exists() || folder.join("AGENTS.md").exists();
                let root = start.ancestors().take(ANCESTORS).find(marked).unwrap_or(&start).to_path_buf();
                (root.clone(), vec![root])
            }
        };
        let places = bases.iter().flat_map(|base: &PathBuf| LAYOUTS.map(|layout| base.join(layout)));
        Self { places: places.filter(|place| place.is_dir()).collect(), start, root }
    }

    /// Whether `folder` is of the same project: of its repository, whichever worktree, or below its root where there is none.
    #[must_use]
    pub fn is_about(&self, folder: &Path) -> bool {
        // That is the folder by which the project was found.
        if folder == self.start {
            return true;
        }
        let folder = real(folder);
        match Repository::discover(&folder) {
            Some(repository) => real(repository.shared_root()) == real(&self.root),
            None => self.holds(&folder),
        }
    }

    /// Whether `folder` is below the root of the project, be it in a repository of its own.
    #[must_use]
    pub fn holds(&self, folder: &Path) -> bool {
        real(folder).starts_with(real(&self.root))
    }

    /// What the pointers of `actor` say, then those of everybody; the first one that leads to a session decides.
    #[must_use]
    pub fn pointed(&self, actor: Option<&str>) -> Pointed {
        let own = actor.map(pointer_names).into_iter().flatten().map(|name| format!("current/{name}"));
        let names: Vec<String> = own.collect();
        let own = names.iter().flat_map(|name| self.places.iter().map(move |place| (place, name.as_str())));
        let shared = self.places.iter().map(|place| (place, "current.json"));
        let mut pointed = Pointed::Nowhere;
        for (place, name) in own.chain(shared) {
            let Some(pointer) = pointer(&place.join(name)) else { continue };
            match (folder(place, &pointer), &mut pointed) {
                (Some(found), Pointed::To(folder, first)) if found == *folder => complete(first, &pointer),
                (_, Pointed::To(..)) => {}
                (Some(folder), _) => pointed = Pointed::To(folder, pointer),
                (None, _) => pointed = Pointed::Stale,
            }
        }
        pointed
    }

    /// The session that the pointers lead to; else, where that is `searched` for, the one whose state was written last.
    #[must_use]
    pub fn session(&self, actor: Option<&str>, searched: bool) -> Option<PathBuf> {
        if let Pointed::To(folder, _) = self.pointed(actor) {
            return Some(folder);
        }
        if !searched {
            return None;
        }
        let state = self.newest(&|path| path.file_name().is_some_and(|name| name == "state.json"))?;
        state.parent().map(Path::to_path_buf)
    }

    /// The file that was written last of those that `wanted` takes, in the first place that has one; nothing archived.
    #[must_use]
    pub fn newest(&self, wanted: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
        self.places.iter().find_map(|place| newest(place, wanted))
    }
}

/// As [`Site::newest`], in and below one folder.
#[must_use]
pub fn newest(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut found: Option<(SystemTime, PathBuf)> = None;
    let mut open = vec![(folder.to_path_buf(), 0)];
    let mut seen = 0;
    while let Some((folder, depth)) = open.pop() {
        let Ok(listing) = std::fs::read_dir(&folder) else { continue };
        for entry in listing.flatten() {
            seen += 1;
            if seen > ENTRIES {
                return found.map(|(_, path)| path);
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth < DEPTH && entry.file_name() != "archive" {
                open.push((path, depth + 1));
            } else if kind.is_file() && wanted(&path) {
                let written = entry.metadata().and_then(|about| about.modified()).ok();
                let written = written.unwrap_or(SystemTime::UNIX_EPOCH);
                // Of two that were written at once, one must be chosen on every machine.
                if found.as_ref().is_none_or(|(time, best)| (*time, best) < (written, &path)) {
                    found = Some((written, path));
                }
            }
        }
    }
    found.map(|(_, path)| path)
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The names of an actor's pointer: that of 6.x, that of 3.x.
fn pointer_names(actor: &str) -> [String; 2] {
    let plain = sanitize_segment(actor);
    let hash = hex(Sha256::digest(actor.as_bytes()).get(..8).unwrap_or_default());
    [format!("{:.40}-{hash}.json", plain), format!("{plain}.json")]
}

/// The pointer in `file`; `None` where there is none to be followed.
fn pointer(file: &Path) -> Option<Map<String, Value>> {
    if file.symlink_metadata().ok()?.is_symlink() {
        return None;
    }
    let pointer = object(file)?;
    (pointer.get("binding_status").and_then(Value::as_str) != Some("retired")).then_some(pointer)
}

/// Adds the step that another pointer to the same session names, where this one names none: 3.x and 6.x keep it in
/// different ones.
fn complete(pointer: &mut Map<String, Value>, other: &Map<String, Value>) {
    const STEP: [&str; 2] = ["active_flow_id", "active_step_id"];
    if STEP.iter().any(|key| pointer.contains_key(*key)) {
        return;
    }
    for key in STEP {
        pointer.extend(other.get(key).map(|value| (key.to_owned(), value.clone())));
    }
}

/// The folder inside `place` that a pointer names.
fn folder(place: &Path, pointer: &Map<String, Value>) -> Option<PathBuf> {
    let text = |key| pointer.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let named = text("artifact_dir").or_else(|| text("active_slug"))?;
    let inside = |layout: &str| named.strip_prefix(layout)?.strip_prefix('/');
    let named = LAYOUTS.into_iter().find_map(inside).unwrap_or(named).trim_start_matches('/');
    let plain = Path::new(named).components().all(|part| matches!(part, Component::Normal(_)));
    if named.is_empty() || !plain {
        return None;
    }
    let folder = place.join(named);
    let (real, place) = (folder.canonicalize().ok()?, place.canonicalize().ok()?);
    (real.is_dir() && real.starts_with(place)).then_some(folder)
}

/// The object in a sidecar; `None` where there is none that can be read.
#[must_use]
pub fn object(file: &Path) -> Option<Map<String, Value>> {
    let bytes = files::read_bounded(file, MAX_BYTES).ok().flatten()?;
    match serde_json::from_slice(&bytes).ok()? {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::fs;

    fn site(files: &[(&str, Value)]) -> (tempfile::TempDir, Site) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("AGENTS.md"), "").unwrap();
        for (name, content) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content.to_string()).unwrap();
        }
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        let site = Site::of(Some("a/b"), dir.path());
        (dir, site)
    }

    fn leads_to(site: &Site, actor: &str) -> Option<String> {
        match site.pointed(Some(actor)) {
            Pointed::To(folder, _) => Some(folder.strip_prefix(&site.root).unwrap().display().to_string()),
            _ => None,
        }
    }

    #[test]
    fn the_names_of_pointers_are_those_of_flow_agents() {
        let vectors = [
            ("conformance", "conformance-6c1d6cedf276ea3f.json", "conformance.json"),
            ("claude-code:s1:host", "claude-codes1host-b32cda7b6e85816c.json", "claude-codes1host.json"),
            ("a b", "ab-c8687a08aa5d6ed2.json", "ab.json"),
        ];
        for (actor, new, old) in vectors {
            assert_eq!(pointer_names(actor), [new, old]);
        }
    }

    #[test]
    fn own_pointers_go_before_shared_ones_and_the_new_layout_before_the_old() {
        let task = json!({});
        let (_dir, site) = site(&[
            (".flow-agents/current/me.json", json!({"active_slug": "old"})),
            (".flow-agents/old/state.json", task.clone()),
            (".kontourai/flow-agents/current.json", json!({"artifact_dir": ".kontourai/flow-agents/shared"})),
            (".kontourai/flow-agents/shared/state.json", task.clone()),
            (".kontourai/flow-agents/current/you.json", json!({"artifact_dir": "/own", "active_slug": "x"})),
            (".kontourai/flow-agents/own/state.json", task),
        ]);
        assert_eq!(site.root, site.start.parent().unwrap().parent().unwrap());
        assert_eq!(leads_to(&site, "me").as_deref(), Some(".flow-agents/old"));
        assert_eq!(leads_to(&site, "you").as_deref(), Some(".kontourai/flow-agents/own"));
        assert_eq!(leads_to(&site, "other").as_deref(), Some(".kontourai/flow-agents/shared"));
    }

    #[test]
    fn a_pointer_that_leads_out_of_its_place_or_nowhere_is_stale() {
        for named in ["gone", "../t", "..", ".", "/", "t/../.."] {
            let (_dir, site) = site(&[
                (".kontourai/flow-agents/current.json", json!({ "active_slug": named })),
                (".kontourai/flow-agents/t/state.json", json!({})),
            ]);
            assert_eq!(site.pointed(None), Pointed::Stale, "{named}");
            assert_eq!(site.session(None, false), None);
            assert!(site.session(None, true).unwrap().ends_with("flow-agents/t"));
        }
        let retired = json!({"active_slug": "t", "binding_status": "retired"});
        let (_dir, site) = site(&[(".kontourai/flow-agents/current.json", retired)]);
        assert_eq!(site.pointed(None), Pointed::Nowhere);
    }

    #[test]
    fn what_is_archived_is_not_found() {
        let (_dir, site) = site(&[(".kontourai/flow-agents/archive/t/state.json", json!({}))]);
        assert_eq!(site.session(None, true), None);
    }

    #[test]
    fn a_repository_within_a_project_is_in_its_folder_and_another_project() {
        let (dir, site) = site(&[]);
        fs::create_dir_all(dir.path().join("nested/.git/objects")).unwrap();
        fs::write(dir.path().join("nested/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::create_dir_all(dir.path().join("nested/.git/refs")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let asked = |folder: &Path| (site.holds(folder), site.is_about(folder));
        assert_eq!(asked(&dir.path().join("a")), (true, true));
        assert_eq!(asked(&dir.path().join("nested")), (true, false));
        assert_eq!(asked(elsewhere.path()), (false, false));
    }
}
