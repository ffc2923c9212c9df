//! The moments of a session at which economics happens: its start, a subagent's end, a stop.

use super::amount::Totals;
use super::assemble::{Facts, assemble, has_news};
use super::billing::Bill;
use super::handoff::{self, HandoffError};
use super::reading::Reading;
use super::reconcile;
use super::record::{Baseline, Record, RunDiagnostics, TaskTotals};
use super::session::{Head, Session, Sessions};
use crate::attribution::delegations;
use crate::attribution::project::Project;
use crate::attribution::sidecar::{self, Task};
use crate::journal::label::label;
use crate::journal::{self, Durability, Journal, MAX_RECORD};
use crate::pricing;
use crate::settings::Settings;
use crate::sys::files;
use crate::usage::claude::layout;
use crate::usage::opencode::{self, family};
use crate::usage::{kiro, pi};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a hook waits for another hook of the same data directory. One whose wait is in vain leaves its run to the
/// session's next record.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// The session that a hook speaks of. One of opencode's subagents is taken for the session at the top of its family, to
/// which its calls are billed ([`family`]).
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The host.
    pub host: &'a str,
    /// The host's session id; never empty.
    pub session_id: &'a str,
    /// Where its calls are written, if that is known: its transcript, or the data folder of opencode.
    pub source: Option<&'a Path>,
    /// Where the agent works.
    pub cwd: &'a Path,
    /// What the user decided.
    pub settings: &'a Settings,
    /// When the hook was called, in epoch milliseconds.
    pub now_ms: i64,
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Another hook of this data directory held its lock.
    #[error("{what} was in use by another hook for {} s; the run goes into the session's next record", PATIENCE.as_secs())]
    Busy {
        /// What was in use.
        what: PathBuf,
    },
    /// A file cannot be used.
    #[error("{what}: {source}")]
    Io {
        /// Which step failed, with the path.
        what: String,
        /// Why.
        source: io::Error,
    },
}

pub(super) fn at(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> RunError {
    move |source| RunError::Io { what: what.to_string(), source }
}

/// What a stop came to.
#[derive(Debug)]
pub struct Stopped {
    /// The record, if there was anything new.
    pub record: Option<Record>,
    /// Where there was nothing new: the session, as records name it, and the number of its last record.
    pub last: Option<(String, u64)>,
    /// Why records could not be queued, if they could not.
    pub handoff: Option<HandoffError>,
    /// What the user should know, one line each.
    pub warnings: Vec<String>,
}

/// Notes that a session starts. `resumed` when it takes an earlier conversation up.
///
/// # Errors
/// When the session's file cannot be written.
pub fn start(subject: &Subject<'_>, resumed: bool) -> Result<(), RunError> {
    // These say that a session starts whenever they load one.
    let has_been = [pi::HOST, kiro::HOST].contains(&subject.host) && subject.source.is_some_and(Path::exists);
    let resumed = resumed || has_been;
    let (_sessions, mut session) = open(subject)?;
    if session.head.is_some() {
        return Ok(());
    }
    // A conversation that goes on may have been recorded before its session file was lost: then the journal knows.
    let (baseline, journal_end) = if resumed {
        (Baseline::Transcript, 0)
    } else {
        // Where no session was ever kept, or all were lost, the journal is asked from its beginning.
        let path = &subject.settings.economics_log;
        let end = if session.has_company() { journal::end(path).map_err(at(path.display()))? } else { 0 };
        (Baseline::SessionStart, end)
    };
    let head = Head::new(subject.host, subject.session_id, baseline, journal_end);
    commit(&mut session, &[], head, Durability::Written)
}

/// Reads what a subagent left behind, so that the stop has less to read.
///
/// # Errors
/// When session, transcript or index cannot be read or written.
pub fn advance(subject: &Subject<'_>) -> Result<(), RunError> {
    let top = top(subject);
    advance_to(&Subject { session_id: top.as_deref().unwrap_or(subject.session_id), ..*subject })
}

fn advance_to(subject: &Subject<'_>) -> Result<(), RunError> {
    let (_sessions, mut session) = open(subject)?;
    let Some(source) = subject.source else { return Ok(()) };
    let mut head = head_of(&session, subject);
    let task = task(subject);
    let before = (head.files.clone(), head.stores.clone());
    let (_, bill) = bill(subject, source, &mut session, &mut head, &task)?;
    if bill.calls.is_empty() && (&head.files, &head.stores) == (&before.0, &before.1) {
        return Ok(());
    }
    commit(&mut session, &bill.calls, head, Durability::Written)
}

/// Records a run that stopped. `ended` when the session ends with it: nobody was waiting for its stop then, so the run
/// ended with its last sign of life.
///
/// # Errors
/// When nothing could be recorded. The transcript is not lost: the session's next record will hold the run.
pub fn stop(subject: &Subject<'_>, ended: bool) -> Result<Stopped, RunError> {
    let top = top(subject);
    let subject = &Subject { session_id: top.as_deref().unwrap_or(subject.session_id), ..*subject };
    if ended && top.is_some() {
        // With a subagent's session the one above it does not end.
        advance_to(subject)?;
        return Ok(Stopped { record: None, last: None, handoff: None, warnings: vec![] });
    }
    let settings = subject.settings;
    let (_sessions, mut session) = open(subject)?;
    let mut head = head_of(&session, subject);
    let task = task(subject);
    let mut news = News::read(subject, &mut session, &mut head, &task)?;
    // Billed before it is recorded: whoever meets these calls from now on, in a resumed copy, finds them owned.
    if news.moved {
        commit(&mut session, &news.bill.calls, head.clone(), Durability::Written)?;
    }
    let dispatched = task.agents_dir.as_deref().map(delegations::read).unwrap_or_default();

    let mut journal = open_journal(settings)?;
    let journal_at = || at(settings.economics_log.display());
    reconcile::session(&mut head, &mut journal).map_err(journal_at())?;
    let task_before = match &task.slug {
        Some(slug) => reconcile::task(&label(slug), &mut journal).map_err(journal_at())?,
        None => TaskTotals::default(),
    };

    let runs = head.clock.stop((!ended).then_some(subject.now_ms)).filter(|_| !news.untimed);
    let facts = Facts {
        host: Some(subject.host),
        session_id: subject.session_id,
        sequence: head.sequence + 1,
        baseline: head.baseline,
        at_ms: subject.now_ms,
        delta: &head.pending,
        recorded: &head.recorded,
        recorded_wall_ms: head.recorded_wall_ms,
        runs: runs.as_deref(),
        pricing_version: news.bill.pricing_version.take(),
        agent_models: &news.bill.agent_models,
        agent_types: &news.agent_types,
        task: &task,
        dispatched: &dispatched.agents,
        task_before: &task_before,
        project: project(subject),
        tenant: settings.tenant.clone(),
        diagnostics: news.diagnostics.clone(),
    };
    // A session that was deleted before anything of it was seen had no run that could be told of.
    let is_due = has_news(&facts) || (head.sequence == 0 && !(ended && news.absent));
    let record = is_due.then(|| assemble(&facts));
    let handoff = write(&mut journal, record.as_ref(), settings)?;
    let last = record.is_none().then(|| (label(subject.session_id).into_owned(), head.sequence));
    if let Some(record) = &record {
        head.journal_end = journal.end();
        head.record(record);
        head.pending = Totals::default();
        commit(&mut session, &[], head, Durability::Synced)?;
    }
    if ended && news.absent {
        news.warnings.clear();
    }
    Ok(Stopped {
        record,
        last,
        handoff,
        warnings: [news.warnings, task.warnings, dispatched.warnings].concat(),
    })
}

/// The last record of a host's session, named as in records.
///
/// # Errors
/// When the journal cannot be read.
pub fn last_of(host: &str, session_id: &str, settings: &Settings) -> Result<Option<Record>, RunError> {
    let mut journal = open_journal(settings)?;
    reconcile::last_of_session(session_id, Some(host), &mut journal)
        .map_err(at(settings.economics_log.display()))
}

/// Opens the journal, locked.
pub(super) fn open_journal(settings: &Settings) -> Result<Journal, RunError> {
    let path = &settings.economics_log;
    if let Some(folder) = path.parent() {
        files::create_dir_private(folder).map_err(at(folder.display()))?;
    }
    let journal = Journal::open(path, PATIENCE).map_err(at(path.display()))?;
    journal.ok_or_else(|| RunError::Busy { what: path.clone() })
}

/// Appends a record, if there is one, hands on what the journal holds and the outbox does not, and rotates the journal if
/// it is full.
pub(super) fn write(
    journal: &mut Journal,
    record: Option<&Record>,
    settings: &Settings,
) -> Result<Option<HandoffError>, RunError> {
    let wrong = || at(settings.economics_log.display());
    handoff::prepare(journal, settings).map_err(wrong())?;
    let fresh_from = match record {
        Some(record) => journal.append(&line(record)?, Durability::Synced).map_err(wrong())?.start,
        None => journal.end(),
    };
    Ok(match handoff::hand_on(journal, settings, fresh_from) {
        Ok(said) => said.or(handoff::rotate(journal, settings).err()),
        Err(error) => Some(error),
    })
}

/// What the source adds, and what was met in reading them.
struct News {
    bill: Bill,
    agent_types: BTreeMap<String, String>,
    diagnostics: RunDiagnostics,
    /// Whether anything was read further.
    moved: bool,
    untimed: bool,
    absent: bool,
    warnings: Vec<String>,
}

impl News {
    fn read(
        subject: &Subject<'_>,
        session: &mut Session,
        head: &mut Head,
        task: &Task,
    ) -> Result<Self, RunError> {
        let Some(source) = subject.source else {
            let diagnostics = RunDiagnostics {
                usage_unknown: Some("the hook named no transcript".to_owned()),
                ..RunDiagnostics::default()
            };
            let (bill, agent_types) = Default::default();
            let warnings = diagnostics.usage_unknown.iter().cloned().collect();
            let [moved, untimed, absent] = [false; 3];
            return Ok(Self { bill, agent_types, diagnostics, moved, untimed, absent, warnings });
        };
        let before = (head.files.clone(), head.stores.clone());
        let (reading, bill) = bill(subject, source, session, head, task)?;
        let diagnostics = RunDiagnostics {
            unreadable_lines: reading.diagnostics.unreadable_lines,
            uncounted_calls: reading.diagnostics.uncounted_calls,
            calls_without_timestamp: bill.calls_without_timestamp,
            calls_before_first_prices: bill.calls_before_first_prices,
            default_priced_models: bill.default_priced_models.iter().cloned().collect(),
            usage_unknown: reading.unreadable.as_ref().map(|_| "the transcript cannot be read".to_owned()),
            delegations_omitted: 0,
        };
        let type_of =
            |(agent, path): (&String, &PathBuf)| Some((label(agent).into_owned(), layout::agent_type(path)?));
        let types = reading.agent_types.iter();
        let told = types.map(|(agent, kind)| (label(agent).into_owned(), label(kind).into_owned()));
        Ok(Self {
            agent_types: reading.agent_files.iter().filter_map(type_of).chain(told).collect(),
            moved: !bill.calls.is_empty() || (&head.files, &head.stores) != (&before.0, &before.1),
            bill,
            diagnostics,
            untimed: reading.untimed,
            absent: reading.absent,
            warnings: reading.unreadable.into_iter().collect(),
        })
    }
}

fn open(subject: &Subject<'_>) -> Result<(Sessions, Session), RunError> {
    let data_dir = &subject.settings.data_dir;
    let sessions = Sessions::lock(data_dir, PATIENCE).map_err(at(data_dir.display()))?;
    let sessions = sessions.ok_or_else(|| RunError::Busy { what: data_dir.join("sessions") })?;
    let session = sessions.open(subject.host, subject.session_id).map_err(at("session file"))?;
    Ok((sessions, session))
}

fn commit(
    session: &mut Session,
    calls: &[super::session::BilledCall],
    head: Head,
    durability: Durability,
) -> Result<(), RunError> {
    session.commit(calls, head, durability).map_err(at("session file"))
}

/// The session at the top of a subagent's family, where a subagent is a session of its own; `None` for every other.
fn top(subject: &Subject<'_>) -> Option<String> {
    let data = subject.source.filter(|_| subject.host == opencode::HOST)?;
    let top = family::top(data, subject.session_id)?.id;
    (top != subject.session_id).then_some(top)
}

/// Where the session stands; one that was never seen yields its whole transcript, and the journal is asked from its
/// first record on.
fn head_of(session: &Session, subject: &Subject<'_>) -> Head {
    session
        .head
        .clone()
        .unwrap_or_else(|| Head::new(subject.host, subject.session_id, Baseline::Transcript, 0))
}

fn project(subject: &Subject<'_>) -> Option<String> {
    let settings = subject.settings;
    let repository = settings.workspace.repository.as_ref();
    let project =
        Project::new(subject.cwd, repository, settings.project.as_deref(), settings.home.as_deref());
    project?.label().map(|label| label.text)
}

fn task(subject: &Subject<'_>) -> Task {
    let bases = subject.settings.workspace.sidecar_bases();
    sidecar::read(&sidecar::Lookup { bases: &bases, ..sidecar::Lookup::default() })
}

fn bill(
    subject: &Subject<'_>,
    source: &Path,
    session: &mut Session,
    head: &mut Head,
    task: &Task,
) -> Result<(Reading, Bill), RunError> {
    let mut reading = Reading::of_session(head, source);
    reading.wind(&mut head.clock);
    let prices = pricing::load(&subject.settings.pricing);
    let phase_at = |at_ms: Option<i64>| label(task.phase_at(at_ms)).into_owned();
    let bill = Bill::of(&mut reading, session, &prices.registry, phase_at, &mut head.pending);
    Ok((reading, bill.map_err(at("index of billed calls"))?))
}

/// The record as its line. One that would be too large lists fewer delegations, and says how many it omits; if need be it
/// also forgets subagents of the task, which the next record then takes for new.
fn line(record: &Record) -> Result<Vec<u8>, RunError> {
    let mut record = record.clone();
    loop {
        let line = serde_json::to_vec(&record).map_err(|error| at("record")(error.into()))?;
        let listed = record.delegations.len();
        let known = record.task_totals.as_mut().map(|totals| &mut totals.delegation_events);
        match known {
            _ if line.len() <= MAX_RECORD => return Ok(line),
            Some(known) if known.len() > listed => {
                let middle = known.keys().nth(known.len() / 2).cloned().unwrap_or_default();
                drop(known.split_off(&middle));
            }
            _ if listed == 0 => return Ok(line),
            _ => {
                record.delegations.truncate(listed / 2);
                record.diagnostics.delegations_omitted += (listed - listed / 2) as u64;
            }
        }
    }
}
