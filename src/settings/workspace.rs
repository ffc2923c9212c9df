//! The workspace: the one directory that a hook's working directory belongs to, and where our data lives in it
//! (DESIGN §5).
//!
//! The data directory is created on first use, for the owner only, and ignores itself, so that git never offers to
//! commit it. Where a workspace cannot be written to, the user's state directory holds its data instead.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::sys::files;
use crate::sys::git::Repository;
use crate::sys::hex::hex;

/// The directory that marks a workspace, shared with flow-agents.
pub const MARKER: &str = ".kontourai";

/// Where a workspace's data is, from its root.
const DATA: &str = ".kontourai/telemetry";

/// How the workspace root was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// `TELEMETRY_WORKSPACE_ROOT` names it.
    Override,
    /// It is the shared root of the git repository.
    Repository,
    /// It is the nearest ancestor that has a [`MARKER`] directory.
    Marker,
    /// It is the working directory itself.
    WorkingDirectory,
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its root; not necessarily an existing directory.
    pub root: PathBuf,
    /// How the root was found.
    pub found: Found,
    /// The repository that the working directory is in, whatever decided the root.
    pub repository: Option<Repository>,
    state_home: Option<PathBuf>,
}

/// A data directory that is ready to be written to.
#[derive(Debug, PartialEq, Eq)]
pub struct DataDir {
    /// The directory.
    pub path: PathBuf,
    /// Why it is not the one in the workspace, when it is not.
    pub fallback: Option<String>,
}

/// Finds the workspace of `cwd`. `override_root` is the value of `TELEMETRY_WORKSPACE_ROOT` (relative to `cwd`), `home`
/// and `xdg_state` those of `HOME` and `XDG_STATE_HOME`; empty values count as unset.
#[must_use]
pub fn resolve(
    override_root: Option<&Path>,
    home: Option<&Path>,
    xdg_state: Option<&Path>,
    cwd: &Path,
) -> Workspace {
    let repository = Repository::discover(cwd);
    let (root, found) = if let Some(root) = non_empty(override_root) {
        (cwd.join(root), Found::Override)
    } else if let Some(repository) = &repository {
        (repository.shared_root().to_path_buf(), Found::Repository)
    } else if let Some(root) = cwd.ancestors().find(|dir| dir.join(MARKER).is_dir()) {
        (root.to_path_buf(), Found::Marker)
    } else {
        (cwd.to_path_buf(), Found::WorkingDirectory)
    };
    Workspace { root, found, repository, state_home: state_home(xdg_state, home) }
}

/// The user's state directory: `XDG_STATE_HOME`, else `.local/state` in the home. The XDG specification has relative
/// values ignored.
#[must_use]
pub fn state_home(xdg_state: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    xdg_state
        .filter(|path| path.is_absolute())
        .map(Path::to_path_buf)
        .or_else(|| non_empty(home).map(|home| home.join(".local/state")))
}

fn non_empty(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| !path.as_os_str().is_empty())
}

impl Workspace {
    /// Where this workspace's data belongs: `data_dir` (the value of `TELEMETRY_DATA_DIR`, relative to the root), else
    /// `<root>/.kontourai/telemetry`.
    #[must_use]
    pub fn data_dir(&self, data_dir: Option<&Path>) -> PathBuf {
        match non_empty(data_dir) {
            Some(path) => self.root.join(path),
            None => self.root.join(DATA),
        }
    }

    /// Where this workspace's data is: as [`Workspace::data_dir`], unless an earlier run had to go elsewhere, or a link
    /// stands in its place, which a cloned repository may have brought along.
    #[must_use]
    pub fn data_dir_in_use(&self, data_dir: Option<&Path>) -> PathBuf {
        let path = self.data_dir(data_dir);
        if non_empty(data_dir).is_none() && files::has_link(&self.root, DATA) {
            return self.fallback_dir().unwrap_or(path);
        }
        if path.is_dir() {
            return path;
        }
        self.fallback_dir().filter(|fallback| fallback.is_dir()).unwrap_or(path)
    }

    /// The folders whose sidecars a run in `cwd` may have, the nearest first: its worktree, then the shared root.
    #[must_use]
    pub fn sidecar_bases(&self) -> Vec<PathBuf> {
        let worktree = self.repository.as_ref().and_then(Repository::worktree_root).map(Path::to_path_buf);
        let mut bases: Vec<PathBuf> = worktree.into_iter().collect();
        if !bases.contains(&self.root) {
            bases.push(self.root.clone());
        }
        bases
    }

    /// Makes the data directory ready for writing: the one of [`Workspace::data_dir`], else
    /// `<state home>/tally/<hash of the root>`.
    ///
    /// # Errors
    /// When neither can be written to.
    pub fn prepare_data_dir(&self, data_dir: Option<&Path>) -> io::Result<DataDir> {
        let path = self.data_dir(data_dir);
        // A directory that somebody else chose may be meant to be committed.
        let ours = non_empty(data_dir).is_none();
        match self.prepare_in_workspace(&path, ours) {
            Ok(()) => Ok(DataDir { path, fallback: None }),
            Err(refused) => {
                let fallback =
                    self.fallback_dir().ok_or_else(|| io::Error::new(refused.kind(), refused.to_string()))?;
                prepare(&fallback, false)?;
                Ok(DataDir { fallback: Some(format!("{}: {refused}", path.display())), path: fallback })
            }
        }
    }

    fn prepare_in_workspace(&self, path: &Path, ignore_itself: bool) -> io::Result<()> {
        if ignore_itself && files::has_link(&self.root, DATA) {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "a link stands in its place"));
        }
        if is_ready(path, ignore_itself) {
            return Ok(());
        }
        // A working directory that was deleted under the host must not come back as an empty one.
        if path.starts_with(&self.root) && !self.root.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the workspace is not a directory"));
        }
        prepare(path, ignore_itself)
    }

    fn fallback_dir(&self) -> Option<PathBuf> {
        let digest = Sha256::digest(self.root.as_os_str().as_encoded_bytes());
        let hash = hex(digest.get(..16).unwrap_or_default());
        Some(self.state_home.as_ref()?.join("tally").join(hash))
    }
}

const IGNORE_FILE: &str = ".gitignore";

fn prepare(path: &Path, ignore_itself: bool) -> io::Result<()> {
    files::create_dir_private(path)?;
    if !is_writable_dir(path) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "not writable"));
    }
    if ignore_itself && !path.join(IGNORE_FILE).exists() {
        files::write_atomic(&path.join(IGNORE_FILE), b"*\n")?;
    }
    Ok(())
}

/// The hot path: two more system calls for a directory that is in order.
fn is_ready(path: &Path, ignore_itself: bool) -> bool {
    is_writable_dir(path) && (!ignore_itself || path.join(IGNORE_FILE).exists())
}

#[cfg(unix)]
fn is_writable_dir(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    // The trailing dot makes anything but a directory fail.
    access(path.join("."), Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_writable_dir(path: &Path) -> bool {
    path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let marked = root.ancestors().find(|dir| dir.join(MARKER).exists());
        assert_eq!(
            marked, None,
            "these tests need a temporary folder outside every workspace: this one has {MARKER}"
        );
        (dir, root)
    }

    /// The least that git takes for a repository.
    fn fake_repository(top: &Path) {
        fs::create_dir_all(top.join(".git/objects")).unwrap();
        fs::create_dir_all(top.join(".git/refs")).unwrap();
        fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn the_first_source_that_answers_decides() {
        let (_dir, root) = scratch();
        let cwd = root.join("repo/a/b");
        fs::create_dir_all(&cwd).unwrap();
        let at = |override_root: Option<&Path>| {
            let workspace = resolve(override_root, None, None, &cwd);
            (workspace.root, workspace.found)
        };
        assert_eq!(at(None), (cwd.clone(), Found::WorkingDirectory));
        fs::create_dir_all(root.join("repo/a").join(MARKER)).unwrap();
        assert_eq!(at(None), (root.join("repo/a"), Found::Marker));
        fake_repository(&root.join("repo"));
        assert_eq!(at(None), (root.join("repo"), Found::Repository));
        assert_eq!(at(Some(Path::new(""))), (root.join("repo"), Found::Repository));
        assert_eq!(at(Some(Path::new("/else"))), (PathBuf::from("/else"), Found::Override));
        assert!(resolve(Some(Path::new("/else")), None, None, &cwd).repository.is_some());
    }

    #[test]
    fn the_data_directory_is_made_once_and_ignores_itself() {
        let (_dir, root) = scratch();
        let workspace = resolve(None, None, None, &root);
        let expected = DataDir { path: root.join(".kontourai/telemetry"), fallback: None };
        assert!(!expected.path.exists());
        assert_eq!(workspace.prepare_data_dir(None).unwrap(), expected);
        assert_eq!(fs::read(expected.path.join(".gitignore")).unwrap(), b"*\n");
        fs::write(expected.path.join(".gitignore"), b"mine\n").unwrap();
        assert_eq!(workspace.prepare_data_dir(None).unwrap(), expected);
        assert_eq!(fs::read(expected.path.join(".gitignore")).unwrap(), b"mine\n");
    }

    #[test]
    fn a_chosen_data_directory_gets_no_ignore_file() {
        let (_dir, root) = scratch();
        let workspace = resolve(None, None, None, &root);
        let ready = workspace.prepare_data_dir(Some(Path::new("data"))).unwrap();
        assert_eq!(ready, DataDir { path: root.join("data"), fallback: None });
        assert_eq!(fs::read_dir(root.join("data")).unwrap().count(), 0);
    }

    #[test]
    fn a_workspace_that_cannot_hold_data_has_it_in_the_state_home() {
        let (_dir, root) = scratch();
        let home = root.join("home");
        fs::write(root.join("file"), b"").unwrap();
        // A file where a directory must be (true for every user, root too), and a directory that is gone.
        for workspace_root in [root.join("file"), root.join("gone")] {
            let workspace = resolve(Some(&workspace_root), Some(&home), Some(Path::new("relative")), &root);
            let ready = workspace.prepare_data_dir(None).unwrap();
            assert_eq!(ready.path.parent(), Some(home.join(".local/state/tally").as_path()));
            assert!(ready.fallback.unwrap().contains(workspace_root.to_str().unwrap()));
            assert!(!root.join("gone").exists());
            assert_eq!(workspace.prepare_data_dir(None).unwrap().path, ready.path);
            assert!(resolve(Some(&workspace_root), None, None, &root).prepare_data_dir(None).is_err());
        }
        let one = resolve(Some(&root.join("gone")), None, Some(&home), &root).prepare_data_dir(None).unwrap();
        let two =
            resolve(Some(&root.join("gone2")), None, Some(&home), &root).prepare_data_dir(None).unwrap();
        assert_eq!(one.path.parent(), Some(home.join("tally").as_path()));
        assert_ne!(one.path, two.path);
    }
}
