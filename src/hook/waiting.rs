//! What policies have to tell an agent whose host does not listen at this event, but at a later one: it waits, one small file
//! per session, beside the session's state. What comes later takes its place; who removes the file tells it.

use crate::journal::label::session_file;
use crate::sys::files;
use std::path::{Path, PathBuf};

/// No context is longer than this.
const MAX_BYTES: u64 = 64 << 10;

/// Where it waits.
pub(super) struct Waiting(PathBuf);

impl Waiting {
    /// The place of a session, by the host and its id.
    pub(super) fn of(data_dir: &Path, host: &str, session: &str) -> Self {
        Self(data_dir.join("sessions").join(format!("{}.context", session_file(host, session))))
    }

    /// Keeps `text`; what cannot be kept is lost, and the state that it speaks of is still there.
    pub(super) fn keep(&self, text: &str) {
        let made = self.0.parent().map_or(Ok(()), files::create_dir_private);
        drop(made.and_then(|()| files::write_atomic(&self.0, text.as_bytes())));
    }

    /// Takes what waits, for good.
    pub(super) fn take(&self) -> Option<String> {
        let bytes = files::read_bounded(&self.0, MAX_BYTES).ok().flatten()?;
        std::fs::remove_file(&self.0).ok()?;
        String::from_utf8(bytes).ok()
    }
}
