//! Facts read from `.git` files; no git process is ever started.
//!
//! Discovery follows git: from the physical directory upwards, a `.git` directory or `gitdir:` file, or a directory
//! that is itself a repository. `GIT_*` variables are left alone (a hook inherits them from whatever git command is
//! running around it), and so are git's ownership and file-system-boundary checks: nothing found here is executed.

mod config;
mod index;

use std::path::{Path, PathBuf};

use super::files;
use config::Config;

/// `HEAD`, `commondir` and `.git` files hold one path or one ref.
const SMALL_FILE: u64 = 64 * 1024;
const CONFIG_FILE: u64 = 1024 * 1024;

/// The repository that a directory is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    worktree_root: Option<PathBuf>,
    git_dir: PathBuf,
    common_dir: PathBuf,
    shared_root: PathBuf,
    origin_url: Option<String>,
    branch: Option<String>,
    object_id_bytes: usize,
}

impl Repository {
    /// Finds the repository that `dir` is in; `None` when there is none or it cannot be read.
    #[must_use]
    pub fn discover(dir: &Path) -> Option<Self> {
        let start = dir.canonicalize().ok()?;
        for level in start.ancestors() {
            match Entry::at(level) {
                Entry::None => {}
                // git refuses here too, instead of looking further up.
                Entry::Broken => return None,
                Entry::CheckedOut(git_dir) => return Some(Self::open(git_dir, Some(level))),
                Entry::Bare(git_dir) => return Some(Self::open(git_dir, None)),
            }
        }
        None
    }

    fn open(git_dir: GitDir, checkout: Option<&Path>) -> Self {
        let GitDir { git_dir, common_dir, branch } = git_dir;
        let linked = git_dir != common_dir;
        let config = read_config(&common_dir);
        let bare = config.get("core.bare").is_some_and(config::is_true);
        let main_worktree = config
            .get("core.worktree")
            .filter(|_| !bare)
            .and_then(|path| common_dir.join(path).canonicalize().ok())
            .filter(|path| path.is_dir());

        let worktree_root = match checkout {
            Some(level) if linked => Some(level.to_path_buf()),
            Some(level) if !bare => Some(main_worktree.clone().unwrap_or_else(|| level.to_path_buf())),
            _ => None,
        };
        let shared_root = main_worktree
            .or_else(|| worktree_root.clone().filter(|_| !linked))
            .or_else(|| common_dir.parent().map(Path::to_path_buf))
            .unwrap_or_else(|| common_dir.clone());
        let origin_url = config.get("remote.origin.url").filter(|url| !url.is_empty()).map(str::to_owned);
        let object_id_bytes = match config.get("extensions.objectformat") {
            Some("sha256") => 32,
            _ => 20,
        };
        Self { worktree_root, git_dir, common_dir, shared_root, origin_url, branch, object_id_bytes }
    }

    /// The top of the checkout that the directory is in (`git rev-parse --show-toplevel`); `None` in a bare repository
    /// and inside a git directory.
    #[must_use]
    pub fn worktree_root(&self) -> Option<&Path> {
        self.worktree_root.as_deref()
    }

    /// The git directory of this checkout (`git rev-parse --absolute-git-dir`).
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The git directory that all worktrees share (`git rev-parse --git-common-dir`).
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// The one directory that stands for the repository in all of its worktrees (DESIGN §5): what `core.worktree`
    /// names, else the main checkout, else the parent of the common directory. That last one is also what a linked
    /// worktree of a separate git dir gets, because git records its main checkout nowhere else.
    #[must_use]
    pub fn shared_root(&self) -> &Path {
        &self.shared_root
    }

    /// A name that all worktrees share: of a bare repository its own (`app` for `app.git`), else that of the main
    /// checkout's directory.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let own = self.common_dir.file_name()?.to_string_lossy();
        let main_checkout_known = self.shared_root != self.common_dir.parent()?;
        if main_checkout_known || own.starts_with('.') {
            return Some(self.shared_root.file_name()?.to_string_lossy().into_owned());
        }
        Some(own.strip_suffix(".git").unwrap_or(&own).to_owned())
    }

    /// `remote.origin.url` as the repository's own config file has it, the last one where there are several; `include`
    /// and `insteadOf` are not applied. It may hold a credential: never show or send it.
    #[must_use]
    pub fn origin_url(&self) -> Option<&str> {
        self.origin_url.as_deref()
    }

    /// Whether this checkout's index has the file at `path`; `None` where that cannot be told.
    #[must_use]
    pub fn tracks(&self, path: &Path) -> Option<bool> {
        Some(self.indexed(path)?.is_some())
    }

    /// Whether this checkout's index has the file at `path`, and the file has the size and the time of change that the
    /// index noted for it; `None` where that cannot be told.
    #[must_use]
    pub fn has_unchanged(&self, path: &Path) -> Option<bool> {
        let Some(noted) = self.indexed(path)? else { return Some(false) };
        Some(index::Stat::of(&path.metadata().ok()?)? == noted)
    }

    /// What the index notes of a file, if it has it; `None` where that cannot be told.
    fn indexed(&self, path: &Path) -> Option<Option<index::Stat>> {
        let folder = path.parent()?.canonicalize().ok()?;
        let name = folder.strip_prefix(self.worktree_root.as_ref()?).ok()?.join(path.file_name()?);
        let parts: Vec<_> = name.iter().map(|part| part.as_encoded_bytes()).collect();
        index::find(&self.git_dir.join("index"), &parts.join(&b'/'), self.object_id_bytes)
    }

    /// What `alias.<name>` is in the repository at `dir`, else in one of the `user`'s files; `include` is not followed.
    #[must_use]
    pub fn alias(dir: &Path, user: &[PathBuf], name: &str) -> Option<String> {
        let mut config = Config::default();
        user.iter().for_each(|file| config.read(file));
        if let Some(repository) = Self::discover(dir) {
            config.read(&repository.common_dir.join("config"));
        }
        config.get(&format!("alias.{}", name.to_lowercase())).map(str::to_owned)
    }

    /// The branch that is checked out, born or not; `None` when `HEAD` is detached.
    #[must_use]
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }
}

/// What one directory on the way up says.
enum Entry {
    None,
    Broken,
    CheckedOut(GitDir),
    Bare(GitDir),
}

impl Entry {
    fn at(level: &Path) -> Self {
        let dot_git = level.join(".git");
        match std::fs::metadata(&dot_git) {
            Ok(kind) if kind.is_dir() => {
                if let Some(git_dir) = GitDir::at(dot_git) {
                    return Self::CheckedOut(git_dir);
                }
            }
            Ok(kind) if kind.is_file() => {
                return follow_git_file(&dot_git).and_then(GitDir::at).map_or(Self::Broken, Self::CheckedOut);
            }
            _ => {}
        }
        GitDir::at(level.to_path_buf()).map_or(Self::None, Self::Bare)
    }
}

/// Where a `.git` file points; one step only, so a cycle cannot be.
fn follow_git_file(file: &Path) -> Option<PathBuf> {
    let text = read_small(file)?;
    let target = text.strip_prefix("gitdir:")?.trim_start_matches(' ').trim_end_matches(['\r', '\n']);
    file.parent()?.join(target).canonicalize().ok()
}

/// A directory that git would accept as a repository.
struct GitDir {
    git_dir: PathBuf,
    common_dir: PathBuf,
    branch: Option<String>,
}

impl GitDir {
    fn at(git_dir: PathBuf) -> Option<Self> {
        let head = read_small(&git_dir.join("HEAD"))?;
        let head = head.trim_end();
        let reference = head.strip_prefix("ref:").map(str::trim_start);
        let is_object_id = matches!(head.len(), 40 | 64) && head.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_object_id && !reference.is_some_and(|name| name.starts_with("refs/")) {
            return None;
        }
        let common_dir = match read_small(&git_dir.join("commondir")) {
            Some(path) => git_dir.join(path.trim_end_matches(['\r', '\n'])).canonicalize().ok()?,
            None => git_dir.clone(),
        };
        if !common_dir.join("objects").is_dir() || !common_dir.join("refs").is_dir() {
            return None;
        }
        // Repositories with a ref table keep the placeholder `refs/heads/.invalid` in this file.
        let branch = reference.and_then(|name| name.strip_prefix("refs/heads/"));
        let branch = branch.filter(|name| !name.starts_with('.')).map(str::to_owned);
        Some(Self { git_dir, common_dir, branch })
    }
}

/// The main checkout's config: the shared file, and over it the per-worktree file where that extension is on (sparse
/// checkouts move `core.worktree` and `core.bare` there).
fn read_config(common_dir: &Path) -> Config {
    let mut config = Config::default();
    config.read(&common_dir.join("config"));
    if config.get("extensions.worktreeconfig").is_some_and(config::is_true) {
        config.read(&common_dir.join("config.worktree"));
    }
    config
}

fn read_small(path: &Path) -> Option<String> {
    let bytes = files::read_bounded(path, SMALL_FILE).ok()??;
    String::from_utf8(bytes).ok()
}

impl Config {
    fn read(&mut self, path: &Path) {
        if let Ok(Some(bytes)) = files::read_bounded(path, CONFIG_FILE) {
            self.apply(&String::from_utf8_lossy(&bytes));
        }
    }
}

#[cfg(test)]
mod tests;
