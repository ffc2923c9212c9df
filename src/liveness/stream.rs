//! The stream of a repository: one file that all of its worktrees share.
//!
//! `<shared root>/.kontourai/flow-agents/liveness/events.jsonl`, where the shared root is that of the git repository
//! that a directory is in, else the nearest ancestor with `.kontourai/`, else the directory itself (DESIGN §5).
//! `TELEMETRY_WORKSPACE_ROOT` does not move it: two agents with different settings must still see each other.

use super::event::{Event, Kind};
use super::stamp::Stamp;
use super::standing::Fold;
use crate::journal::{Durability, Journal, lines};
use crate::settings::workspace::{self, Workspace};
use crate::sys::git::Repository;
use crate::sys::{files, process};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the stream is below the shared root.
const DIR: &str = ".kontourai/flow-agents/liveness";
/// The stream's name there.
const NAME: &str = "events.jsonl";
/// How much of the stream's end answers most questions, and how much nearly all.
pub(super) const TAILS: [u64; 2] = [8 * 1024, 64 * 1024];
/// A stream longer than twice this is worth more than one core.
const SPAN: u64 = 4 << 20;
/// More threads than this wait for memory, not for the processor.
const MOST_THREADS: usize = 8;

/// Why a stream cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file, its folder or its lock.
    #[error("the liveness stream {path}: {source}")]
    Io {
        /// The stream.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else held the lock all the time.
    #[error("the liveness stream {0} is locked by another process; try again")]
    Busy(PathBuf),
}

/// Where the events of a repository are.
#[derive(Debug)]
pub struct Stream {
    dir: PathBuf,
    path: PathBuf,
    workspace: Workspace,
}

impl Stream {
    /// The stream for who works in `cwd`.
    #[must_use]
    pub fn of(cwd: &Path) -> Self {
        Self::in_workspace(workspace::resolve(None, None, None, cwd))
    }

    /// The stream of a workspace that was found already, and not by an override.
    #[must_use]
    pub fn in_workspace(workspace: Workspace) -> Self {
        let dir = workspace.root.join(DIR);
        Self { path: dir.join(NAME), dir, workspace }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that it is in, for the little that is kept beside it.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folders whose sidecars a run here may have, the nearest first.
    #[must_use]
    pub fn sidecar_bases(&self) -> Vec<PathBuf> {
        self.workspace.sidecar_bases()
    }

    /// An event of somebody who works here.
    #[must_use]
    pub fn event(&self, kind: Kind, subject: &str, actor: &str, at: Stamp) -> Event {
        Event {
            kind,
            subject: subject.to_owned(),
            actor: actor.to_owned(),
            at: at.to_string(),
            ttl_s: None,
            source: None,
            activity: None,
            host: Some(process::hostname()).filter(|host| !host.is_empty()),
            branch: self.workspace.repository.as_ref().and_then(Repository::branch).map(str::to_owned),
            actor_key: Some(actor.to_owned()),
            artifact_dir: self.artifact_dir(subject),
        }
    }

    /// The folder of the task that `subject` names, from the root that it is below; `None` where it names none.
    fn artifact_dir(&self, subject: &str) -> Option<String> {
        let plain = subject.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        if !plain || subject.starts_with('.') {
            return None;
        }
        let dir = format!(".kontourai/flow-agents/{subject}");
        self.sidecar_bases().iter().any(|base| base.join(&dir).is_dir()).then_some(dir)
    }

    /// Folds the whole stream, on every core where it is long; nothing when there is none yet.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn fold(&self, fold: &mut Fold) -> Result<(), Error> {
        match self.fold_parts(fold) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            folded => folded.map_err(|source| self.error(source)),
        }
    }

    fn fold_parts(&self, fold: &mut Fold) -> io::Result<()> {
        let mut file = files::open_regular(&self.path)?;
        let metadata = file.metadata()?;
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let spans = lines::spans(&mut file, metadata.len(), SPAN)?;
        let groups = spans.chunks(spans.len().div_ceil(threads).max(1));
        let mut parts: Vec<_> =
            groups.filter_map(|group| Some(group.first()?.start..group.last()?.end)).collect();
        let mut opened: Vec<File> = vec![];
        for _ in parts.iter().skip(1) {
            opened.push(files::open_regular(&self.path)?);
        }
        // All parts must be of one file: a compaction may have replaced it meanwhile.
        let identity = files::identity(&metadata);
        if opened.iter().any(|file| file.metadata().is_ok_and(|other| files::identity(&other) != identity)) {
            opened.clear();
            parts = std::iter::once(0..u64::MAX).collect();
        }
        let files = std::iter::once(file).chain(opened);
        let folds: Vec<io::Result<Fold>> = std::thread::scope(|scope| {
            let work: Vec<_> = files
                .zip(parts)
                .map(|(file, part)| {
                    let empty = fold.anew();
                    scope.spawn(move || fold_part(file, part, empty))
                })
                .collect();
            work.into_iter()
                .map(|part| part.join().unwrap_or_else(|_| Err(io::Error::other("a bug"))))
                .collect()
        });
        for part in folds {
            fold.then(part?);
        }
        Ok(())
    }

    /// Hands on the whole lines from `offset` on that contain `needle`, and returns which file they are in and where the
    /// next ones will start. When the file is not `known`, or shorter than `offset`, its lines are handed on from the
    /// start, after [`Told::Restart`].
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read_on(
        &self,
        known: (u64, u64),
        offset: u64,
        needle: &[u8],
        mut add: impl FnMut(Told<'_>),
    ) -> Result<((u64, u64), u64), Error> {
        let wrap = |source| self.error(source);
        let mut file = match files::open_regular(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                add(Told::Restart);
                return Ok(((0, 0), 0));
            }
            Err(error) => return Err(wrap(error)),
        };
        let metadata = file.metadata().map_err(wrap)?;
        let identity = files::identity(&metadata);
        let from = if identity == known && offset <= metadata.len() { offset } else { 0 };
        if from == 0 {
            add(Told::Restart);
        }
        let progress = lines::for_each(&mut file, from, needle, |line| {
            if !line.open {
                add(Told::Line(line.bytes));
            }
        });
        Ok((identity, progress.map_err(wrap)?.offset))
    }

    /// The whole lines in the last `length` bytes of the stream; empty when there is none yet.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn tail(&self, length: u64) -> Result<Vec<u8>, Error> {
        self.read_tail(length).map_err(|source| self.error(source))
    }

    fn read_tail(&self, length: u64) -> io::Result<Vec<u8>> {
        let mut file = match files::open_regular(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(error) => return Err(error),
        };
        let from = file.metadata()?.len().saturating_sub(length);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![];
        file.take(2 * length).read_to_end(&mut bytes)?;
        if from > 0 {
            let first = memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |end| end + 1);
            bytes.drain(..first);
        }
        Ok(bytes)
    }

    /// Opens the stream for appending, alone, creating it if need be.
    ///
    /// # Errors
    /// When it cannot be opened, or is locked for all of `patience`.
    pub fn open(&self, patience: Duration) -> Result<Writer, Error> {
        let wrap = |source| self.error(source);
        if files::has_link(&self.workspace.root, DIR) {
            return Err(wrap(io::Error::new(
                io::ErrorKind::NotADirectory,
                "a link stands in the way of its folder",
            )));
        }
        if !self.dir.is_dir() {
            files::create_dir_private(&self.dir).map_err(wrap)?;
            // Claims are of this machine; git must never offer to commit them.
            files::write_atomic(&self.dir.join(".gitignore"), b"*\n").map_err(wrap)?;
        }
        let journal = Journal::open(&self.path, patience).map_err(wrap)?;
        journal.map(|journal| Writer { journal }).ok_or_else(|| Error::Busy(self.path.clone()))
    }

    /// `source`, with the stream's name.
    #[must_use]
    pub fn error(&self, source: io::Error) -> Error {
        Error::Io { path: self.path.clone(), source }
    }
}

fn fold_part(mut file: File, part: Range<u64>, mut fold: Fold) -> io::Result<Fold> {
    lines::for_each_in(&mut file, part, &fold.needle(), |line| {
        if !line.open {
            fold.add(line.bytes);
        }
    })?;
    Ok(fold)
}

/// What [`Stream::read_on`] hands on.
#[derive(Debug)]
pub enum Told<'a> {
    /// What was known of the stream is of another file.
    Restart,
    /// A line.
    Line(&'a [u8]),
}

/// The stream, open and locked; dropping it lets go.
#[derive(Debug)]
pub struct Writer {
    journal: Journal,
}

impl Writer {
    /// Appends one event in one write. Claims and releases survive a loss of power; a heartbeat is worth less than the
    /// wait for the disk.
    ///
    /// # Errors
    /// When it cannot be written; nothing was added then.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        let line = serde_json::to_vec(event)?;
        let durability = match event.kind {
            Kind::Heartbeat => Durability::Written,
            Kind::Claim | Kind::Release => Durability::Synced,
        };
        self.journal.append(&line, durability).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn a_long_stream_in_parts_is_the_same_stream() {
        let dir = tempfile::tempdir().unwrap();
        let stream = Stream::of(dir.path());
        drop(stream.open(Duration::ZERO).unwrap());
        let mut text = String::new();
        for at in 0..120_000_u64 {
            let kind = ["claim", "heartbeat", "release", "heartbeat", "ping"][at as usize * 7 % 5];
            let (subject, actor) = (at * 31 % 17, at * 13 % 23);
            let time = Stamp::at(1_782_907_200_000 + (at * 7919 % 100_000) as i64);
            writeln!(
                text,
                r#"{{"type":"{kind}","subjectId":"s{subject}","actor":"a{actor}","at":"{time}","ttlSeconds":{}}}"#,
                at % 90 + 1
            )
            .unwrap();
        }
        assert!(text.len() as u64 > 2 * SPAN, "more than one part");
        std::fs::write(stream.path(), &text).unwrap();
        let mut whole = Fold::new(1_782_907_280_000);
        text.lines().for_each(|line| whole.add(line.as_bytes()));
        let mut parts = Fold::new(1_782_907_280_000);
        stream.fold(&mut parts).unwrap();
        assert_eq!(parts.standings(), whole.standings());
        assert_eq!(parts.standings().len(), 17 * 23);
    }
}
