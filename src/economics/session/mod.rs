//! What Tally remembers of a session between two hooks: a file of its own, append-only.
//!
//! ```text
//! sessions/<name>.jsonl      name = first 32 hex digits of sha256(host NUL session id)
//!   {"call":{…}}             a billed call in its latest state; a later line for the same key replaces it
//!   {"head":{…}}             where the session stands; the last one counts
//! sessions/calls.index       which session owns a call, and where its line stands
//! sessions/lock              guards them all
//! ```
//!
//! 1. A commit is one append: the calls that changed, then the head. A torn commit is no commit.
//! 2. The files are caches of the transcript and of the journal. A session file that is lost is made again from the
//!    transcript; what was already recorded is then taken off by the journal (see [`super::reconcile`]).
//! 3. The index is written before the session file. An entry that does not point at a line of its call tells of a
//!    commit that was lost, and the call's line is searched for instead.
//! 4. A head of a newer version than ours is not written over: the session is then left to the newer program.

pub mod index;

use super::amount::Totals;
use super::clock::RunClock;
use super::record::{Baseline, Record};
use crate::journal::label::session_file;
use crate::journal::{Durability, Log};
use crate::pricing::Usd;
use crate::sys::hex::hex;
use crate::sys::lock::Lock;
use crate::usage::call::Traits;
use crate::usage::codex::thread::Thread;
use crate::usage::opencode::family::Mark;
use crate::usage::{CallKey, Credits, Observation, Tokens};
use index::{Entry, Index};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version of head and call lines.
const VERSION: u32 = 1;
/// No line of a session file is longer than this.
const MAX_LINE: usize = 256 * 1024;

/// Where a session stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Version of this form.
    pub v: u32,
    /// The host.
    pub host: String,
    /// The host's session id.
    pub session_id: String,
    /// What the first delta counts from.
    pub baseline: Baseline,
    /// Records written so far.
    pub sequence: u64,
    /// Journal offset behind the last record; later records of this session are unknown to this head.
    pub journal_end: u64,
    /// What the session's records add up to: the sum and the models.
    pub recorded: Totals,
    /// Their wall clock, in milliseconds.
    pub recorded_wall_ms: i64,
    /// What was billed since, in no record yet.
    pub pending: Totals,
    /// What the conversation calls the session, if it has told.
    #[serde(default)]
    pub named: String,
    /// The run that is going on.
    pub clock: RunClock,
    /// How far each transcript file was read.
    pub files: Vec<FileMark>,
    /// How far each store that holds many sessions was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<Mark>,
    /// When the latest prompt was, in a source that is not read from a mark on; epoch milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompted_ms: Option<i64>,
    /// The modification time of the transcript's folder when it was last searched for subagents of older versions.
    pub siblings_seen_ns: Option<i64>,
}

impl Head {
    /// The head of a session that nothing is known of.
    #[must_use]
    pub fn new(host: &str, session_id: &str, baseline: Baseline, journal_end: u64) -> Self {
        Self {
            v: VERSION,
            host: host.to_owned(),
            session_id: session_id.to_owned(),
            baseline,
            sequence: 0,
            journal_end,
            recorded: Totals::default(),
            recorded_wall_ms: 0,
            pending: Totals::default(),
            named: String::new(),
            clock: RunClock::default(),
            files: vec![],
            stores: vec![],
            prompted_ms: None,
            siblings_seen_ns: None,
        }
    }
}

impl Head {
    /// Takes in a record that was written: what it added is recorded now.
    pub fn record(&mut self, record: &Record) {
        let delta = record.delta();
        self.sequence = record.sequence;
        self.baseline = record.baseline;
        self.recorded.sum += delta.sum;
        for (model, amount) in delta.by_model.iter() {
            self.recorded.by_model.add(model, *amount);
        }
        self.recorded_wall_ms += record.time.wall_clock_s.unwrap_or_default().ms;
        if let Ok(at_ms) = record.at.parse() {
            self.clock.recorded(at_ms);
        }
        self.pending.subtract_all(&delta);
    }
}

/// How far a file was read, and which file it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Its path.
    pub path: PathBuf,
    /// Device and inode, where the system has them.
    pub identity: (u64, u64),
    /// The next read starts here.
    pub offset: u64,
    /// A hash of the bytes before `offset`: another file may have taken the place of the one that was read.
    pub before: u64,
    /// What later lines depend on, in a rollout of Codex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Thread>,
}

/// A call as it was billed last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BilledCall {
    /// Its identity, in hex.
    #[serde(with = "hex_key")]
    pub key: CallKey,
    /// Its model as the runtime spells it.
    pub model: String,
    /// The subagent that made it; empty if none did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// Epoch milliseconds.
    pub at_ms: Option<i64>,
    /// Its counters: input, output, write 5m, write 1h, read, searches.
    pub tokens: [i64; 6],
    /// Its circumstances ([`Traits::bits`]).
    pub traits: u8,
    /// The phase that it was put in.
    pub phase: String,
    /// The canonical id that it was summed under.
    pub summed_as: String,
    /// What it was charged, in pico-USD; `None` when it had no price.
    pub charge_pico: Option<i64>,
    /// What it was charged in millionths of a credit, where the host sells those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits_micro: Option<i64>,
}

impl BilledCall {
    /// Its counters.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        Tokens::from_array(self.tokens)
    }

    /// What it was charged.
    #[must_use]
    pub fn charge(&self) -> Option<Usd> {
        self.charge_pico.map(|pico| Usd::from_pico(pico.into()))
    }

    /// What it was charged in credits.
    #[must_use]
    pub fn credits(&self) -> Option<Credits> {
        self.credits_micro.map(Credits::from_micros)
    }

    /// The call as an observation, to be merged with what is read of it later.
    #[must_use]
    pub fn observation(&self) -> Observation<'_> {
        let named = |text: &'_ str| Some(text.to_owned().into()).filter(|_| !text.is_empty());
        Observation {
            key: self.key,
            session: None,
            model: named(&self.model),
            agent: named(&self.agent),
            at_ms: self.at_ms,
            tokens: self.tokens(),
            credits: self.credits(),
            traits: Traits::from_bits(self.traits),
        }
    }
}

/// The sessions of a data directory, locked.
#[derive(Debug)]
pub struct Sessions {
    dir: PathBuf,
    _lock: Lock,
}

impl Sessions {
    /// Locks the sessions below `data_dir`; `None` when another process held them for all of `patience`.
    ///
    /// # Errors
    /// When the folder or the lock cannot be created.
    pub fn lock(data_dir: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let dir = data_dir.join("sessions");
        crate::sys::files::create_dir_private(&dir)?;
        let lock = Lock::acquire(&dir.join("lock"), patience)?;
        Ok(lock.map(|lock| Self { dir, _lock: lock }))
    }

    /// Opens one session.
    ///
    /// # Errors
    /// When its file cannot be created or read, or was written by a newer program.
    pub fn open(&self, host: &str, session_id: &str) -> io::Result<Session> {
        let name = session_file(host, session_id);
        let mut log = Log::open(&self.dir.join(format!("{name}.jsonl")))?;
        let head = log.last(b"{\"head\":", |line| serde_json::from_slice::<HeadLine>(line).ok())?;
        if let Some(found) = head.as_ref().filter(|found| found.head.v > VERSION) {
            let what =
                format!("session file {name}.jsonl has version {}, newer than {VERSION}", found.head.v);
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        Ok(Session {
            dir: self.dir.clone(),
            owner: owner(&name),
            log,
            head: head.map(|line| line.head),
            index: None,
        })
    }
}

/// One session's file, open.
#[derive(Debug)]
pub struct Session {
    dir: PathBuf,
    owner: u64,
    log: Log,
    /// Where the session stands; `None` when its file is new or lost.
    pub head: Option<Head>,
    index: Option<Index>,
}

/// What the index says of a call.
#[derive(Debug)]
pub enum Ownership {
    /// Nobody was billed for it.
    New,
    /// This session was; in this state.
    Own(Box<BilledCall>),
    /// Another session was.
    Foreign,
}

impl Session {
    /// Whether calls of any session are known here.
    #[must_use]
    pub fn has_company(&self) -> bool {
        self.dir.join("calls.index").exists()
    }

    /// Who was billed for a call.
    ///
    /// # Errors
    /// When index or session file cannot be read.
    pub fn ownership(&mut self, key: CallKey) -> io::Result<Ownership> {
        let owner = self.owner;
        let Some(entry) = self.index()?.get(key)? else { return Ok(Ownership::New) };
        if entry.owner != owner {
            return Ok(Ownership::Foreign);
        }
        let at_entry = self.log.line_at(entry.offset, MAX_LINE)?.and_then(|line| call_line(&line));
        let found = match at_entry.filter(|call| call.key == key) {
            Some(call) => Some(call),
            None => self
                .log
                .last(hex(&key.0).as_bytes(), |line| call_line(line).filter(|call| call.key == key))?,
        };
        Ok(found.map_or(Ownership::New, |call| Ownership::Own(Box::new(call))))
    }

    /// Commits changed calls and the head.
    ///
    /// # Errors
    /// When index or session file cannot be written; nothing is committed then.
    pub fn commit(&mut self, calls: &[BilledCall], head: Head, durability: Durability) -> io::Result<()> {
        let mut lines = Vec::with_capacity(calls.len() + 1);
        for call in calls {
            lines.push(serde_json::to_vec(&CallLine { call })?);
        }
        lines.push(serde_json::to_vec(&serde_json::json!({ "head": &head }))?);
        if !calls.is_empty() {
            let owner = self.owner;
            let mut offset = self.log.length();
            let mut index = match self.index.take() {
                Some(index) => index,
                None => open_index(&self.dir)?,
            };
            for (call, line) in calls.iter().zip(&lines) {
                index.set(call.key, Entry { owner, offset })?;
                offset += line.len() as u64 + 1;
            }
            index.commit()?;
        }
        self.log.append(&lines, durability)?;
        self.head = Some(head);
        Ok(())
    }

    fn index(&mut self) -> io::Result<&mut Index> {
        if self.index.is_none() {
            self.index = Some(open_index(&self.dir)?);
        }
        self.index.as_mut().ok_or_else(|| io::Error::other("the index is open"))
    }
}

fn open_index(dir: &Path) -> io::Result<Index> {
    Index::open(&dir.join("calls.index"), |yielded| {
        let Ok(entries) = std::fs::read_dir(dir) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".jsonl")) else {
                continue;
            };
            let Ok(mut log) = Log::open(&path) else { continue };
            let owner = owner(name);
            // A session file that cannot be read gives no entries; its calls then count as nobody's.
            drop(log.for_each_from(0, b"{\"call\":", |line, offset| {
                if let Some(call) = call_line(line) {
                    yielded(call.key, Entry { owner, offset });
                }
            }));
        }
    })
}

#[derive(Deserialize)]
struct HeadLine {
    head: Head,
}

#[derive(Serialize)]
struct CallLine<'a> {
    call: &'a BilledCall,
}

fn call_line(line: &[u8]) -> Option<BilledCall> {
    #[derive(Deserialize)]
    struct Owned {
        call: BilledCall,
    }
    serde_json::from_slice::<Owned>(line).ok().map(|line| line.call)
}

fn owner(name: &str) -> u64 {
    name.get(..16).and_then(|start| u64::from_str_radix(start, 16).ok()).unwrap_or(0)
}

mod hex_key {
    use super::CallKey;
    use crate::sys::hex::hex;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;

    pub(super) fn serialize<S: Serializer>(key: &CallKey, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&hex(&key.0))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<CallKey, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        let number = u128::from_str_radix(&text, 16).map_err(D::Error::custom)?;
        Ok(CallKey(number.to_be_bytes()))
    }
}
