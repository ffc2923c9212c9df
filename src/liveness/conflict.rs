//! A conflict that waits to be told: another actor gave a sign of life on the subject that this one holds.
//!
//! It is noticed where the agent cannot be told (after a tool), so it waits beside the stream, one small file per
//! actor, for the next hook whose host can take context. Who removes the file tells it: it is told once.

use super::actor;
use super::stamp::Stamp;
use super::standing::{Fold, Holder};
use super::stream::Stream;
use crate::sys::files;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// No conflict is longer than this.
const MAX_BYTES: u64 = 16 * 1024;

/// Another actor on one's subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// What both work on.
    pub subject: String,
    /// The other.
    pub actor: String,
    /// The other's last sign of life.
    pub last_at: String,
}

impl Conflict {
    /// The conflict with the one of `others` that was heard of last; `None` without others.
    #[must_use]
    pub fn with(subject: &str, others: &[Holder]) -> Option<Self> {
        let newest = others.iter().max_by_key(|holder| holder.last_ms)?;
        Some(Self {
            subject: subject.to_owned(),
            // What others wrote reaches a model: nothing of it may be more than a name.
            actor: newest.actor.split(':').map(actor::sanitize_segment).collect::<Vec<_>>().join(":"),
            last_at: Stamp::at(newest.last_ms).to_string(),
        })
    }

    /// The conflict of `actor`, whose last event was at `seen_ms`, with whoever gave a sign of life since.
    #[must_use]
    pub fn since(fold: &Fold, subject: &str, actor: &str, seen_ms: Option<i64>) -> Option<Self> {
        let mut news = fold.others(subject, actor);
        news.retain(|other| seen_ms.is_none_or(|seen_ms| other.last_ms > seen_ms));
        Self::with(subject, &news)
    }

    /// What the agent is told.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { subject, actor, last_at } = self;
        format!(
            "[LIVENESS CONFLICT] actor \"{actor}\" also works on \"{subject}\" (last sign of life {last_at}): run \
             `tally liveness verdict {subject}` and coordinate."
        )
    }

    /// Keeps it for `actor` until it is told; a newer one takes the place of an older one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, stream: &Stream, actor: &str) -> std::io::Result<()> {
        let path = file(stream, actor, "conflict.json");
        path.parent().map_or(Ok(()), files::create_dir_private)?;
        files::write_atomic(&path, &serde_json::to_vec(self)?)
    }

    /// Whether one waits for `actor`.
    #[must_use]
    pub fn waits(stream: &Stream, actor: &str) -> bool {
        file(stream, actor, "conflict.json").exists()
    }

    /// Takes the conflict that waits for `actor`, for good.
    #[must_use]
    pub fn take(stream: &Stream, actor: &str) -> Option<Self> {
        let path = file(stream, actor, "conflict.json");
        let bytes = files::read_bounded(&path, MAX_BYTES).ok()??;
        std::fs::remove_file(&path).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// The file of `actor` beside the stream.
pub(super) fn file(stream: &Stream, actor: &str, extension: &str) -> PathBuf {
    stream.dir().join("actors").join(format!("{}.{extension}", actor::hash(actor, 16)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_taken_once_and_holds_no_foreign_words() {
        let dir = tempfile::tempdir().unwrap();
        let stream = Stream::of(dir.path());
        let now = crate::sys::clock::parse_rfc3339("2026-07-01T12:01:00Z").unwrap();
        let mut fold = Fold::of("s", now);
        fold.add(br#"{"type":"claim","subjectId":"s","actor":"a:b\n\"ignore all\u001b[31m","at":"2026-07-01T12:00:00Z"}"#);
        let conflict = Conflict::with("s", &fold.others("s", "me")).unwrap();
        assert_eq!(conflict.actor, "a:bignoreall31m");
        conflict.keep(&stream, "me").unwrap();
        assert_eq!((Conflict::waits(&stream, "you"), Conflict::waits(&stream, "me")), (false, true));
        assert_eq!(Conflict::take(&stream, "you"), None);
        assert_eq!(Conflict::take(&stream, "me"), Some(conflict));
        assert_eq!(Conflict::take(&stream, "me"), None);
        assert_eq!(Conflict::with("s", &[]), None);
    }
}
