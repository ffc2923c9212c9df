//! What a session's source says that is new since it was read last.
//!
//! ```text
//! Claude Code, Codex, pi    files that grow: read from where the last read ended
//! opencode                  a folder of stores with all sessions: what changed since the last change that was seen
//! Kiro                      a file of a few lines a turn, written anew: read whole
//! ```
//!
//! A stop costs what the turn added, not what the session weighs. A file is read further as long as it is still the file
//! that was read (device, inode, length, and the bytes before the offset). What is read twice is billed once: the ledger of
//! billed calls decides, not the mark.

use super::clock::RunClock;
use super::session::{FileMark, Head};
use crate::sys::{files, order};
use crate::usage::call::Name;
use crate::usage::claude::{layout, read};
use crate::usage::codex::thread::Thread;
use crate::usage::opencode::family;
use crate::usage::reader::{Prompt, Receiver};
use crate::usage::{Diagnostics, Ledger, Observation, Runtime, codex, kiro, pi};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The news of a session.
#[derive(Debug, Default)]
pub struct Reading {
    /// The calls whose lines were read, of whatever session.
    pub ledger: Ledger,
    /// What was not counted.
    pub diagnostics: Diagnostics,
    /// The file of each subagent that was read.
    pub agent_files: BTreeMap<String, PathBuf>,
    /// What kind of agent each subagent is, where its calls say so.
    pub agent_types: BTreeMap<String, String>,
    /// Whether the session is gone from its source: it was deleted, or never written.
    pub absent: bool,
    /// Whether the source tells calls and not when they were asked for, so that no run can be timed.
    pub untimed: bool,
    /// Why the conversation could not be read, if it could not.
    pub unreadable: Option<String>,
    session_id: String,
    stem: String,
    /// The conversation's prompts and calls, in order.
    turns: Vec<Turn>,
    last_session: String,
}

#[derive(Debug)]
struct Turn {
    session: String,
    at_ms: i64,
    prompt: bool,
}

impl Reading {
    /// Reads what is new in the session's source, and moves the marks of `head` forward.
    #[must_use]
    pub fn of_session(head: &mut Head, source: &Path) -> Self {
        let runtime = Runtime::of_host(&head.host).unwrap_or(Runtime::ClaudeCode);
        match runtime {
            Runtime::Opencode => Self::of_stores(head, source),
            _ => Self::of_files(head, source, runtime),
        }
    }

    fn of_stores(head: &mut Head, data: &Path) -> Self {
        let session_id = head.session_id.clone();
        let mut reading = Self { session_id: session_id.clone(), ..Self::default() };
        let mut met = Diagnostics::default();
        let mut receiver = Receive { reading: &mut reading, conversation: true };
        let news = family::news(data, &session_id, &mut head.stores, &mut receiver, &mut met);
        reading.diagnostics += met;
        reading.agent_types = news.agent_types;
        reading.absent = !news.known && news.failed.is_empty();
        if reading.absent {
            reading.unreadable = Some(format!("{}: no session {session_id}", data.display()));
        } else if news.known {
            reading.diagnostics.unreadable_files += news.failed.len() as u64;
        }
        if let Some((path, error)) = news.failed.first() {
            reading.unreadable = Some(format!("{}: {error}", path.display()));
        }
        // Rows come in no order.
        order::sort_by_key(&mut reading.turns, |turn| (turn.at_ms, !turn.prompt));
        reading.forget_old_prompts(head);
        reading
    }

    /// A source that is not read from a mark on tells of a prompt more than once; a run starts once.
    fn forget_old_prompts(&mut self, head: &mut Head) {
        let latest = &mut head.prompted_ms;
        self.turns.retain(|turn| {
            let keep = !turn.prompt || *latest < Some(turn.at_ms);
            if turn.prompt {
                *latest = (*latest).max(Some(turn.at_ms));
            }
            keep
        });
    }

    fn of_files(head: &mut Head, transcript: &Path, runtime: Runtime) -> Self {
        let stem = transcript.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let last_session = head.named.clone();
        let mut reading = Self { session_id: head.session_id.clone(), stem, last_session, ..Self::default() };
        // Subagents lie beside the file itself, wherever a link to it may be.
        let real = transcript.is_symlink().then(|| transcript.canonicalize().ok()).flatten();
        let transcript = real.as_deref().unwrap_or(transcript);
        let mut files = vec![transcript.to_path_buf()];
        // What is no transcript has no subagents: the folder of its name may be anything.
        if runtime == Runtime::ClaudeCode && transcript.is_file() {
            files.extend(layout::subagents(transcript));
            files.extend(reading.own_siblings(head, transcript));
        }
        for path in files {
            let of_agent =
                layout::place(&path).agent.filter(|_| runtime == Runtime::ClaudeCode).map(str::to_owned);
            let read = reading.file(head, &path, of_agent.is_none(), runtime);
            match (read, of_agent) {
                (Err(error), None) => reading.unreadable = Some(format!("{}: {error}", path.display())),
                (Err(_), Some(_)) => reading.diagnostics.unreadable_files += 1,
                (Ok(()), Some(agent)) => drop(reading.agent_files.insert(agent, path)),
                (Ok(()), None) => {}
            }
        }
        head.named.clone_from(&reading.last_session);
        if runtime == Runtime::Kiro {
            reading.forget_old_prompts(head);
            reading.untimed = !reading.turns.iter().any(|turn| turn.prompt);
        }
        reading
    }

    /// Whether a call or prompt of that session is this session's own. Lines of another session are history that a
    /// resumed or forked transcript carries along: billed to whoever made them. A transcript that is not named after
    /// the session tells by its last line what it calls the session itself.
    #[must_use]
    pub fn is_own(&self, session: &str) -> bool {
        session.is_empty()
            || session == self.session_id
            || (self.stem != self.session_id && (session == self.stem || session == self.last_session))
    }

    /// Tells the clock of the conversation's prompts and calls.
    pub fn wind(&self, clock: &mut RunClock) {
        for turn in self.turns.iter().filter(|turn| self.is_own(&turn.session)) {
            if turn.prompt {
                clock.prompt(turn.at_ms);
            } else {
                clock.call(turn.at_ms);
            }
        }
    }

    /// The text of a name in the ledger.
    #[must_use]
    pub fn name(&self, name: Name) -> &str {
        self.ledger.name(name)
    }

    /// Subagent files of older versions lie beside the conversation and tell only inside whose they are. The folder is
    /// searched again only after something was added to it.
    fn own_siblings(&self, head: &mut Head, transcript: &Path) -> Vec<PathBuf> {
        let known = |head: &Head, path: &Path| head.files.iter().any(|mark| mark.path == path);
        let changed =
            transcript.parent().and_then(|dir| dir.metadata().ok()).and_then(|folder| modified_ns(&folder));
        if changed.is_some() && changed == head.siblings_seen_ns {
            let beside = |mark: &&FileMark| {
                mark.path.parent() == transcript.parent() && layout::place(&mark.path).agent.is_some()
            };
            return head.files.iter().filter(beside).map(|mark| mark.path.clone()).collect();
        }
        let mut undecided = false;
        let mut own = vec![];
        for path in layout::sibling_agents(transcript) {
            let session = files::open_regular(&path).ok().and_then(|file| read::first_session(&file));
            undecided |= session.is_none();
            if known(head, &path)
                || session.is_some_and(|session| session == self.session_id || session == self.stem)
            {
                own.push(path);
            }
        }
        // A file that does not tell yet whose it is (its first line is being written) is asked again next time.
        head.siblings_seen_ns = changed.filter(|_| !undecided);
        own
    }

    fn file(&mut self, head: &mut Head, path: &Path, conversation: bool, runtime: Runtime) -> io::Result<()> {
        let at = head.files.iter().position(|mark| mark.path == path);
        let mark = at.and_then(|at| head.files.get(at));
        if let Some(mark) = mark.filter(|_| !conversation) {
            let now = path.metadata()?;
            if now.len() == mark.offset && files::identity(&now) == mark.identity {
                return Ok(());
            }
        }
        let mut file = files::open_regular(path)?;
        if runtime == Runtime::Kiro {
            let mut met = Diagnostics::default();
            let read = kiro::session(file, path, &mut Receive { reading: self, conversation }, &mut met);
            self.diagnostics += met;
            return read;
        }
        let metadata = file.metadata()?;
        let mark = mark.filter(|mark| is_same(&file, &metadata, mark));
        let from = mark.map_or(0, |mark| mark.offset);
        let mut thread = mark.and_then(|mark| mark.thread.clone());
        let mut receiver = Receive { reading: self, conversation };
        let mut met = Diagnostics::default();
        let offset = match runtime {
            Runtime::ClaudeCode => {
                let (place, want) = (layout::place(path), read::Want::CallsAndPrompts);
                read::transcript(&mut file, from..u64::MAX, place, want, &mut receiver, &mut met)?
            }
            Runtime::Codex => {
                let named = || Thread::named(codex::layout::thread(path).unwrap_or_default());
                codex::read::news(&file, from, thread.get_or_insert_with(named), &mut receiver, &mut met)?
            }
            Runtime::Pi => pi::news(&mut file, path, from, &mut receiver, &mut met)?,
            Runtime::Opencode | Runtime::GeminiCli | Runtime::CopilotCli | Runtime::Kiro => {
                let why = format!("sessions of {} are no files that grow", runtime.host());
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
        };
        self.diagnostics += met;
        let before = hash_before(&file, offset)?;
        let identity = files::identity(&metadata);
        let mark = FileMark { path: path.to_path_buf(), identity, offset, before, thread };
        match at.and_then(|at| head.files.get_mut(at)) {
            Some(known) => *known = mark,
            None => head.files.push(mark),
        }
        Ok(())
    }
}

struct Receive<'r> {
    reading: &'r mut Reading,
    conversation: bool,
}

impl Receive<'_> {
    fn turn(&mut self, session: &str, at_ms: Option<i64>, prompt: bool) {
        if self.conversation
            && let Some(at_ms) = at_ms
        {
            self.reading.turns.push(Turn { session: session.to_owned(), at_ms, prompt });
        }
    }
}

impl Receiver for Receive<'_> {
    fn call(&mut self, seen: Observation<'_>) {
        let session = seen.session.as_deref().unwrap_or_default();
        self.turn(session, seen.at_ms, false);
        if self.conversation {
            session.clone_into(&mut self.reading.last_session);
        }
        self.reading.ledger.observe(&seen);
    }

    fn prompt(&mut self, seen: Prompt<'_>) {
        self.turn(seen.session.as_deref().unwrap_or_default(), Some(seen.at_ms), true);
    }
}

/// How many bytes before the offset tell whether a file is the one that was read.
const WITNESS: u64 = 64;

fn is_same(file: &File, metadata: &Metadata, mark: &FileMark) -> bool {
    files::identity(metadata) == mark.identity
        && metadata.len() >= mark.offset
        && hash_before(file, mark.offset).is_ok_and(|before| before == mark.before)
}

fn hash_before(mut file: &File, offset: u64) -> io::Result<u64> {
    let from = offset.saturating_sub(WITNESS);
    let mut bytes = vec![];
    file.seek(SeekFrom::Start(from))?;
    file.take(offset - from).read_to_end(&mut bytes)?;
    let digest = Sha256::digest(&bytes);
    Ok(u64::from_le_bytes(digest.first_chunk::<8>().copied().unwrap_or_default()))
}

fn modified_ns(metadata: &Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}
