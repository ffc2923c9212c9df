//! Where a set-up happens: the workspace of a folder, or the user's home for all workspaces; and where its files are.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::settings::conf::FILE_NAME;
use crate::settings::env::{Env, vars};
use crate::settings::workspace::{self, MARKER};
use crate::sys::git::Repository;
use crate::sys::hex::hex;

/// Whom a set-up is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// One workspace.
    Workspace,
    /// All workspaces of the user that have no set-up of their own.
    UserGlobal,
}

/// The name of the state folder of the user's home; those of workspaces are hashes.
const GLOBAL: &str = "global";

/// A place for a set-up.
#[derive(Debug, Clone)]
pub struct Place {
    /// Whom it is for.
    pub scope: Scope,
    /// The folder that the host files are in: the project, or the home.
    pub dest: PathBuf,
    /// The conf.
    pub conf: PathBuf,
    /// The user's home.
    pub home: PathBuf,
    /// The repository that the project is in.
    pub repository: Option<Repository>,
    /// Where receipt and backups are: never in the workspace.
    pub state: PathBuf,
    /// The program that hooks are to call.
    pub program: PathBuf,
    /// The environment that hooks in this place have, as far as we know.
    pub env: Env,
}

/// Why there is no such place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Nowhere(pub String);

impl Place {
    /// The place that the flags `--dest` and `--global` name, seen from `cwd`. A folder that is named goes before
    /// `TELEMETRY_WORKSPACE_ROOT`.
    ///
    /// # Errors
    /// When there is no such folder, no home, or both were named.
    pub fn find(env: &Env, cwd: &Path, dest: Option<&Path>, global: bool) -> Result<Self, Nowhere> {
        if global && dest.is_some() {
            return Err(Nowhere("--dest and --global exclude each other: name one place".into()));
        }
        let home = env.path(&vars::HOME).map(|home| cwd.join(home));
        let home =
            home.ok_or_else(|| Nowhere("HOME is not set: set it, so that a receipt can be kept".into()))?;
        let program = crate::sys::process::program()
            .map_err(|error| Nowhere(format!("this program's own path is unknown: {error}")))?;
        let state_home = workspace::state_home(env.path(&vars::XDG_STATE_HOME), Some(&home));
        let state_home = state_home.unwrap_or_else(|| home.join(".local/state")).join("tally/setup");
        if global {
            let (conf, state) = (home.join(".flow-agents").join(FILE_NAME), state_home.join(GLOBAL));
            let (dest, env) = (home.clone(), env.clone());
            let scope = Scope::UserGlobal;
            return Ok(Self { scope, dest, conf, home, repository: None, state, program, env });
        }
        let named = cwd.join(dest.unwrap_or(Path::new("")));
        let named = named
            .canonicalize()
            .ok()
            .filter(|dir| dir.is_dir())
            .ok_or_else(|| Nowhere(format!("--dest {}: there is no such folder", named.display())))?;
        let env = if dest.is_some() { env.with(&vars::TELEMETRY_WORKSPACE_ROOT, "") } else { env.clone() };
        let found = workspace::resolve(
            env.path(&vars::TELEMETRY_WORKSPACE_ROOT),
            Some(&home),
            env.path(&vars::XDG_STATE_HOME),
            &named,
        );
        let repository = found.repository.clone();
        // A named folder outside any repository becomes a workspace by having a conf.
        let root = if dest.is_some() && repository.is_none() { named.clone() } else { found.root };
        let top = repository.as_ref().and_then(Repository::worktree_root);
        let dest = if dest.is_some() { named } else { top.unwrap_or(&root).to_path_buf() };
        let hash = hex(Sha256::digest(dest.as_os_str().as_encoded_bytes()).get(..16).unwrap_or_default());
        Ok(Self {
            scope: Scope::Workspace,
            conf: root.join(MARKER).join(FILE_NAME),
            state: state_home.join(hash),
            dest,
            home,
            repository,
            program,
            env,
        })
    }

    /// The same program and user, for the other scope: what else may apply in this place.
    #[must_use]
    pub fn global(&self) -> Self {
        Self {
            scope: Scope::UserGlobal,
            dest: self.home.clone(),
            conf: self.home.join(".flow-agents").join(FILE_NAME),
            repository: None,
            state: self.state.with_file_name(GLOBAL),
            ..self.clone()
        }
    }

    /// Whether git tracks the file; `None` where that cannot be told.
    #[must_use]
    pub fn is_tracked(&self, path: &Path) -> Option<bool> {
        match Repository::discover(path.parent()?) {
            None => Some(false),
            Some(repository) => repository.tracks(path),
        }
    }
}
