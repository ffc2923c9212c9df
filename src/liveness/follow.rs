//! The standing of one subject, kept up without reading the stream again.
//!
//! Beside the stream an actor has a checkpoint: the pairs of its subject, and up to which byte of which file they were
//! folded. Catching up reads only what came since, so that a heartbeat costs the same however long the stream is. A
//! checkpoint is a cache: one that is missing, of another subject, or of a stream that was rewritten, is made anew.

use super::standing::{Fold, Pair};
use super::stream::{Error, Stream, Told};
use crate::sys::files;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A checkpoint of another version is not understood.
const VERSION: u32 = 1;
/// A subject with so many actors would be a mistake; beyond this the stream is read again.
const MAX_BYTES: u64 = 1 << 20;
/// Less news than this is not worth writing a checkpoint for.
const WORTH: u64 = 32 * 1024;

#[derive(Debug, Serialize, Deserialize)]
struct Checkpoint {
    version: u32,
    subject: String,
    file: (u64, u64),
    offset: u64,
    pairs: HashMap<String, Pair>,
}

/// A subject as it is followed.
#[derive(Debug)]
pub(super) struct Follow<'a> {
    stream: &'a Stream,
    path: PathBuf,
    subject: &'a str,
    now_ms: i64,
    file: (u64, u64),
    offset: u64,
    saved: u64,
    /// What is known of the subject.
    pub fold: Fold,
}

impl<'a> Follow<'a> {
    /// Goes on from the checkpoint of `actor`, if it has one of this subject.
    pub(super) fn resume(stream: &'a Stream, subject: &'a str, actor: &str, now_ms: i64) -> Self {
        let path = super::conflict::file(stream, actor, "json");
        let checkpoint = files::read_bounded(&path, MAX_BYTES).ok().flatten();
        let checkpoint = checkpoint.and_then(|bytes| serde_json::from_slice::<Checkpoint>(&bytes).ok());
        let (file, offset, pairs) = checkpoint
            .filter(|checkpoint| checkpoint.version == VERSION && checkpoint.subject == subject)
            .map_or(((0, 0), 0, HashMap::new()), |checkpoint| {
                (checkpoint.file, checkpoint.offset, checkpoint.pairs)
            });
        let fold = Fold::resumed(subject, pairs, now_ms);
        Self { stream, path, subject, now_ms, file, offset, saved: offset, fold }
    }

    /// Folds what came since.
    pub(super) fn catch_up(&mut self) -> Result<(), Error> {
        let (subject, now_ms, needle, fold) = (self.subject, self.now_ms, self.fold.needle(), &mut self.fold);
        let (file, offset) = self.stream.read_on(self.file, self.offset, &needle, |told| match told {
            Told::Restart => *fold = Fold::of(subject, now_ms),
            Told::Line(line) => fold.add(line),
        })?;
        if file != self.file {
            self.saved = 0;
        }
        (self.file, self.offset) = (file, offset);
        Ok(())
    }

    /// Writes the checkpoint if it saves the next one enough. What was ahead of the clock must be judged again later, so
    /// a subject with such a stamp has no checkpoint.
    pub(super) fn save(&self) {
        let pairs = || self.fold.pairs(self.subject);
        let skewed = pairs().any(|(_, pair)| pair.is_skewed());
        if skewed || self.offset.saturating_sub(self.saved) < WORTH {
            return;
        }
        let checkpoint = Checkpoint {
            version: VERSION,
            subject: self.subject.to_owned(),
            file: self.file,
            offset: self.offset,
            pairs: pairs().map(|(actor, pair)| (actor.to_owned(), pair.clone())).collect(),
        };
        // A checkpoint that cannot be written costs the next heartbeat time, and nothing else.
        if let (Some(dir), Ok(bytes)) = (self.path.parent(), serde_json::to_vec(&checkpoint)) {
            drop(files::create_dir_private(dir).and_then(|()| files::write_atomic(&self.path, &bytes)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::Duration;

    fn append(stream: &Stream, text: &str) {
        let mut file = files::open_append(stream.path()).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn claim(subject: &str, actor: &str) -> String {
        format!(
            "{{\"type\":\"claim\",\"subjectId\":\"{subject}\",\"actor\":\"{actor}\",\"at\":\"2026-07-01T12:00:00Z\"}}\n"
        )
    }

    fn actors(follow: &Follow<'_>) -> Vec<String> {
        follow.fold.holders("s").into_iter().map(|holder| holder.actor).collect()
    }

    #[test]
    fn a_checkpoint_replaces_what_was_read_and_a_rewritten_stream_replaces_the_checkpoint() {
        let dir = tempfile::tempdir().unwrap();
        let stream = Stream::of(dir.path());
        drop(stream.open(Duration::ZERO).unwrap());
        let now = crate::sys::clock::parse_rfc3339("2026-07-01T12:01:00Z").unwrap();
        let followed = || {
            let mut follow = Follow::resume(&stream, "s", "me", now);
            follow.catch_up().unwrap();
            follow
        };
        append(&stream, &claim("s", "a"));
        append(&stream, &claim("other", "x").repeat(500));
        let first = followed();
        first.save();
        // Only a checkpoint can know of `a` now: the bytes that said so are gone, the length is not.
        let mut bytes = std::fs::read(stream.path()).unwrap();
        bytes[..20].fill(b' ');
        std::fs::write(stream.path(), &bytes).unwrap();
        append(&stream, &claim("s", "b"));
        assert_eq!(actors(&followed()), ["a", "b"]);
        files::write_atomic(stream.path(), claim("s", "c").as_bytes()).unwrap();
        assert_eq!(actors(&followed()), ["c"]);
    }
}
