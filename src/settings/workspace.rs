//! The workspace and its data directory. A minimal stand-in until the real resolution (DESIGN §5) is merged.

use std::path::{Path, PathBuf};

/// Where a run's files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// The workspace root.
    pub root: PathBuf,
    /// The folder of journals, session state and outbox.
    pub data_dir: PathBuf,
}

/// Resolves the workspace of `cwd`.
#[must_use]
pub fn resolve(
    override_root: Option<&Path>,
    _home: Option<&Path>,
    _xdg_state: Option<&Path>,
    cwd: &Path,
) -> Workspace {
    let root = override_root.map_or_else(|| cwd.to_path_buf(), |root| cwd.join(root));
    let data_dir = root.join(".kontourai/telemetry");
    Workspace { root, data_dir }
}
