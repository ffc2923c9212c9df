//! What a decision sees of the file system: links, folders and what is in them, the aliases of git. Read only here.
//!
//! A path has two readings: as it is written, with `.` and `..` taken away, and as the kernel follows it, through every
//! link. A file is protected if either names one.

use crate::policy::rules::Rules;
use crate::settings::env::{Env, vars};
use crate::sys::files;
use crate::sys::git::Repository;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Links that one path may lead through, as on Linux.
const MOST_LINKS: usize = 40;
/// Bytes of a script that is read.
const LARGEST_TEXT: u64 = 64 << 10;
/// Entries of folders that are looked at for one command.
const MOST_ENTRIES: usize = 20_000;

/// Where a call happens.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The working directory.
    pub cwd: PathBuf,
    /// The user's home.
    pub home: Option<String>,
    /// Folders for temporary files.
    pub temporary: Vec<PathBuf>,
    /// More workspaces, whose files are protected wherever they are.
    pub workspaces: Vec<PathBuf>,
}

impl Place {
    /// The place of a call in `cwd`.
    #[must_use]
    pub fn new(env: &Env, cwd: &Path) -> Self {
        let known = [
            "/tmp",
            "/var/tmp",
            "/private/tmp",
            "/private/var/tmp",
            "/var/folders",
            "/private/var/folders",
            "/dev/shm",
        ];
        let named = env.path(&vars::TMPDIR).filter(|path| path.parent().is_some()).map(Path::to_path_buf);
        let workspaces = env.get(&vars::SA_PROTECTED_WORKSPACE_ROOTS).unwrap_or_default();
        Self {
            cwd: cwd.to_path_buf(),
            home: env.get(&vars::HOME).map(str::to_owned),
            temporary: named.into_iter().chain(known.into_iter().map(PathBuf::from)).collect(),
            workspaces: workspaces
                .split([':', ','])
                .filter(|root| !root.is_empty())
                .map(PathBuf::from)
                .collect(),
        }
    }

    /// The readings of `path`, which is meant from `base` on. `links`: links that are made before it is used.
    #[must_use]
    pub(super) fn readings(&self, path: &str, base: &Path, links: &[(PathBuf, PathBuf)]) -> Vec<PathBuf> {
        let whole = base.join(path);
        let written = normal(&whole);
        let followed = follow(&whole, links);
        if followed == written { vec![written] } else { vec![written, followed] }
    }

    /// Whether `path` is in a folder for temporary files and in no workspace and no git checkout.
    #[must_use]
    pub(super) fn is_scratch(&self, path: &Path) -> bool {
        let own = path.ancestors().skip(1).any(|folder| {
            [".git", "AGENTS.md"].iter().any(|name| folder.join(name).symlink_metadata().is_ok())
        });
        let mut workspaces = self.workspaces.iter().map(PathBuf::as_path).chain([self.workspace()]);
        !own && self.temporary.iter().any(|folder| path.starts_with(folder) && path != folder)
            && !workspaces.any(|root| path.starts_with(root) || path.starts_with(follow(root, &[])))
    }

    /// The workspace that the call is in: the checkout, else the folder itself.
    pub(super) fn workspace(&self) -> &Path {
        let top = self.cwd.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
        top.unwrap_or(&self.cwd)
    }

    /// The paths that a glob names, from `base` on. `matches` says whether a name fits a component of it.
    pub(super) fn glob<P>(
        &self,
        base: &Path,
        parts: &[P],
        matches: &dyn Fn(&P, &str) -> bool,
        plain: &dyn Fn(&P) -> Option<String>,
    ) -> Vec<PathBuf> {
        let mut found = vec![base.to_path_buf()];
        let mut seen = 0;
        for part in parts {
            let mut next = Vec::new();
            for folder in found {
                if let Some(name) = plain(part) {
                    next.push(folder.join(name));
                } else {
                    let names = entries(&folder);
                    seen += 8 + names.len();
                    let names = names.into_iter().filter(|name| matches(part, name));
                    next.extend(names.map(|name| folder.join(name)));
                }
                if seen + next.len() > MOST_ENTRIES {
                    return next;
                }
            }
            found = next;
        }
        found
    }

    /// The files below `folder`, no further than a bound.
    pub(super) fn below(&self, folder: &Path) -> Vec<PathBuf> {
        if self.is_file(folder) {
            return vec![folder.to_path_buf()];
        }
        let mut files = Vec::new();
        let mut folders = VecDeque::from([folder.to_path_buf()]);
        let mut seen = 0;
        while let Some(folder) = folders.pop_front() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                seen += 1;
                if seen > MOST_ENTRIES {
                    return files;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push_back(entry.path());
                } else {
                    files.push(entry.path());
                }
            }
        }
        files
    }

    /// The text of a small file.
    pub(super) fn text(&self, path: &Path) -> Option<String> {
        String::from_utf8(files::read_bounded(path, LARGEST_TEXT).ok()??).ok()
    }

    /// The text of a script that the checkout's index does not have as it is, and that is no dependency.
    pub(super) fn script(&self, path: &Path) -> Option<String> {
        let scripts = Rules::shipped().section("scripts")?;
        let installed = path.iter().any(|part| scripts.has("foreign", &part.to_string_lossy()))
            || scripts.list("system").any(|folder| path.starts_with(folder));
        if !path.is_absolute() || installed {
            return None;
        }
        let text = self.text(path)?;
        let repository = path.parent().and_then(Repository::discover);
        let own = repository.is_some_and(|repository| repository.has_unchanged(path) == Some(true));
        (!own).then_some(text)
    }

    /// The names in a folder, or the name of a file.
    pub(super) fn listed(&self, path: &Path) -> Vec<String> {
        entries(path)
    }

    /// Whether `path` is there and no folder.
    pub(super) fn is_file(&self, path: &Path) -> bool {
        path.exists() && !path.is_dir()
    }

    /// Whether `path` is a folder.
    pub(super) fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    /// What git's `name` stands for, by the configs of the repository at `folder` and of the user.
    pub(super) fn git_alias(&self, folder: &Path, name: &str) -> Option<String> {
        let user = self.home.as_ref().map(|home| Path::new(home).join(".gitconfig"));
        let shared = self.home.as_ref().map(|home| Path::new(home).join(".config/git/config"));
        let files: Vec<PathBuf> = shared.into_iter().chain(user).collect();
        Repository::alias(folder, &files, name)
    }
}

/// The names in a folder.
fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// A path without `.` and `..`, by its text.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

/// The file that the kernel would open, whether it is there or not.
fn follow(path: &Path, links: &[(PathBuf, PathBuf)]) -> PathBuf {
    let parts =
        |path: &Path| path.components().map(|part| part.as_os_str().to_os_string()).collect::<VecDeque<_>>();
    let mut rest = parts(path);
    let mut out = PathBuf::new();
    let mut followed = 0;
    while let Some(part) = rest.pop_front() {
        match part.to_str() {
            Some(".") => continue,
            Some("..") => {
                out.pop();
                continue;
            }
            _ => out.push(&part),
        }
        let made = links.iter().rev().find(|(link, _)| *link == out).map(|(_, target)| target.clone());
        let Some(target) = made.or_else(|| fs::read_link(&out).ok()) else { continue };
        followed += 1;
        if followed > MOST_LINKS {
            break;
        }
        out.pop();
        let mut ahead = parts(&target);
        ahead.append(&mut rest);
        rest = ahead;
    }
    out
}
