//! Whether a hook has anything to do with claims: its repository's stream, its actor, and the task it is bound to. Each
//! step is cheaper than the next, and most hooks end at the first ones (contract D.5, 1 to 4).

use super::actor::{self, Session, sanitize_segment};
use super::stream::Stream;
use crate::attribution::sidecar;
use crate::settings::env::{Env, vars};
use crate::settings::workspace;
use std::path::{Path, PathBuf};

/// An actor with a task.
#[derive(Debug)]
pub struct Bound {
    /// Where its claims are.
    pub stream: Stream,
    /// Who it is.
    pub actor: String,
    /// The task's slug, which is what is claimed.
    pub subject: String,
    bases: Vec<PathBuf>,
    pointer: String,
}

impl Bound {
    /// The task of who works in `cwd`, whose claims are in `stream`; `None` without a pointer, an actor or a task.
    #[must_use]
    pub fn find(env: &Env, cwd: &Path, stream: Stream, session: Option<Session<'_>>) -> Option<Self> {
        let bases = match env.path(&vars::TELEMETRY_WORKSPACE_ROOT) {
            Some(root) => workspace::resolve(Some(root), None, None, cwd).sidecar_bases(),
            None => stream.sidecar_bases(),
        };
        if !bases.iter().any(|base| sidecar::may_have_task(base)) {
            return None;
        }
        let actor = actor::resolve(env, session).actor?.name;
        let pointer = sanitize_segment(&actor);
        let slug = sidecar::active_slug(&sidecar::Lookup {
            bases: &bases,
            actor: Some(&pointer),
            ..sidecar::Lookup::default()
        })?;
        let subject = sanitize_segment(&slug);
        (subject != "unknown").then_some(Self { stream, actor, subject, bases, pointer })
    }

    /// Whether the task has come to its end: delivered, accepted, archived or canceled (contract D.7).
    #[must_use]
    pub fn is_over(&self) -> bool {
        let lookup =
            sidecar::Lookup { bases: &self.bases, actor: Some(&self.pointer), ..sidecar::Lookup::default() };
        let status = sidecar::read(&lookup).status;
        status.is_some_and(|status| {
            matches!(status.as_str(), "delivered" | "accepted" | "archived" | "canceled" | "cancelled")
        })
    }
}
