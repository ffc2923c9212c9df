//! The project label: a coarse, path-free name of the project that a session works in (contract A.13).
//!
//! The most stable source wins, so that clones, worktrees and colleagues agree:
//! 1. `FLOW_AGENTS_PROJECT`, the operator's word;
//! 2. the nearest manifest's name (`manifest` lists which), never above the checkout, nor above `HOME` outside one;
//! 3. `org/repo` of the git remote `origin` (`remote`);
//! 4. the name of the main checkout's directory, the same in all worktrees;
//! 5. the name of the working directory.
//!
//! A label never holds a path, a credential or a control character, whatever its source says.

mod manifest;
mod remote;

use std::path::{Path, PathBuf};

use crate::sys::git::Repository;

/// The longest label, in characters.
const MAX_CHARS: usize = 190;

/// One step of the derivation, in the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `FLOW_AGENTS_PROJECT`.
    Override,
    /// The nearest project manifest.
    Manifest,
    /// The git remote `origin`.
    Remote,
    /// The directory of the repository's main checkout.
    Toplevel,
    /// The working directory.
    Directory,
}

impl Step {
    /// All steps, most stable first.
    pub const ALL: [Self; 5] =
        [Self::Override, Self::Manifest, Self::Remote, Self::Toplevel, Self::Directory];

    /// The step's name in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Manifest => "manifest",
            Self::Remote => "remote",
            Self::Toplevel => "toplevel",
            Self::Directory => "directory",
        }
    }
}

/// A project label and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The label: 1 to 190 characters.
    pub text: String,
    /// The step that gave it.
    pub step: Step,
}

/// What one step says on its own, whether or not an earlier one already decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The step.
    pub step: Step,
    /// Its label, if it has one.
    pub label: Option<String>,
    /// Where the label was found, or why there is none. For local eyes only: it may hold paths.
    pub detail: String,
}

/// Everything that the label of one working directory depends on.
#[derive(Debug)]
pub struct Project<'a> {
    cwd: PathBuf,
    home: Option<PathBuf>,
    repository: Option<&'a Repository>,
    override_label: Option<&'a str>,
}

impl<'a> Project<'a> {
    /// Looks at `cwd`, which is in `repository`; `None` when it is not a directory. `override_label` is the value of
    /// `FLOW_AGENTS_PROJECT`, `home` that of `HOME`.
    #[must_use]
    pub fn new(
        cwd: &Path,
        repository: Option<&'a Repository>,
        override_label: Option<&'a str>,
        home: Option<&Path>,
    ) -> Option<Self> {
        let cwd = cwd.canonicalize().ok().filter(|path| path.is_dir())?;
        let home = home.and_then(|path| path.canonicalize().ok());
        Some(Self { cwd, home, repository, override_label })
    }

    /// The label; `None` when no step has one (the file system's root).
    #[must_use]
    pub fn label(&self) -> Option<Label> {
        Step::ALL.into_iter().find_map(|step| {
            let text = self.attempt(step).label?;
            Some(Label { text, step })
        })
    }

    /// What every step says, in order; the first with a label is the one that [`Project::label`] returns.
    #[must_use]
    pub fn explain(&self) -> Vec<Attempt> {
        Step::ALL.into_iter().map(|step| self.attempt(step)).collect()
    }

    fn attempt(&self, step: Step) -> Attempt {
        let (label, detail) = match step {
            Step::Override => self.by_override(),
            Step::Manifest => self.by_manifest(),
            Step::Remote => self.by_remote(),
            Step::Toplevel => self.by_toplevel(),
            Step::Directory => named(self.cwd.file_name().map(|name| name.to_string_lossy()), &self.cwd),
        };
        Attempt { step, label, detail }
    }

    fn by_override(&self) -> (Option<String>, String) {
        let Some(value) = self.override_label.filter(|value| !value.trim().is_empty()) else {
            return (None, "FLOW_AGENTS_PROJECT is not set".to_owned());
        };
        match path_free(value) {
            Some(label) => (Some(label), "FLOW_AGENTS_PROJECT".to_owned()),
            None => (None, "FLOW_AGENTS_PROJECT holds no name".to_owned()),
        }
    }

    fn by_manifest(&self) -> (Option<String>, String) {
        let directories = self.walk();
        match manifest::nearest(&directories) {
            Some((label, file)) => (Some(label), file.display().to_string()),
            None => {
                let top = directories.last().map_or_else(|| self.cwd.display(), |top| top.display());
                (None, format!("no manifest with a name from {} up to {top}", self.cwd.display()))
            }
        }
    }

    /// The directories to look for a manifest in: from the working directory up to the top of the checkout, or up to
    /// `HOME` outside one; never the file system's root.
    fn walk(&self) -> Vec<&Path> {
        let toplevel = self.repository.and_then(Repository::worktree_root);
        let last = toplevel.filter(|top| self.cwd.starts_with(top)).or(self.home.as_deref());
        let mut directories = Vec::new();
        for directory in self.cwd.ancestors().filter(|directory| directory.parent().is_some()) {
            directories.push(directory);
            if Some(directory) == last {
                break;
            }
        }
        directories
    }

    fn by_remote(&self) -> (Option<String>, String) {
        let Some(repository) = self.repository else {
            return (None, "not in a git repository".to_owned());
        };
        let source = format!("remote origin in {}", repository.common_dir().join("config").display());
        match repository.origin_url() {
            None => (None, format!("no {source}")),
            Some(url) => match remote::org_and_repo(url).and_then(|label| sanitised(&label)) {
                Some(label) => (Some(label), source),
                None => (None, format!("{source} names no org/repo")),
            },
        }
    }

    fn by_toplevel(&self) -> (Option<String>, String) {
        match self.repository {
            None => (None, "not in a git repository".to_owned()),
            Some(repository) => named(repository.name(), repository.shared_root()),
        }
    }
}

fn named(name: Option<impl AsRef<str>>, directory: &Path) -> (Option<String>, String) {
    let label = name.and_then(|name| sanitised(name.as_ref()));
    let detail = match label {
        Some(_) => directory.display().to_string(),
        None => format!("{} has no name", directory.display()),
    };
    (label, detail)
}

/// The label in `text`: a name, `org/repo` or `@scope/name` as it is; a URL's `org/repo`; of a path only the last
/// segment. Anything absolute, relative to `.`, `..` or `~`, with a backslash or with more than one slash is a path.
fn path_free(text: &str) -> Option<String> {
    let text = text.trim();
    if text.contains("://") {
        return remote::org_and_repo(text).and_then(|label| sanitised(&label));
    }
    let after_drive = text.get(2..).filter(|_| text.as_bytes().get(1) == Some(&b':'));
    let path = after_drive.unwrap_or(text);
    let segments = || path.split(['/', '\\']);
    let is_path = after_drive.is_some()
        || path.contains('\\')
        || path.starts_with('~')
        || segments().count() > 2
        || segments().any(|segment| matches!(segment, "" | "." | ".."));
    if !is_path {
        return sanitised(path);
    }
    let last = segments().rev().find(|segment| !segment.is_empty())?;
    Some(last).filter(|last| !matches!(*last, "." | ".." | "~")).and_then(sanitised)
}

/// `text` without control characters, at most [`MAX_CHARS`] of it; `None` when nothing is left.
fn sanitised(text: &str) -> Option<String> {
    let label: String = text.chars().filter(|next| !next.is_control()).take(MAX_CHARS).collect();
    let label = label.trim();
    (!label.is_empty()).then(|| label.to_owned())
}

#[cfg(test)]
mod tests;
