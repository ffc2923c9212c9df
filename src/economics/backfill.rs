//! Records that were never queued, on request (`tally relay backfill`; DESIGN §9: records written while the relay was off are
//! never sent later, unless asked for).
//!
//! What counts is whether a record *was* queued, not why it was not: the relay was off, no Console was configured, or the
//! record stayed behind because it was written for another destination. The journal says what there is to send; the outbox
//! says what it ever held ([`crate::relay::outbox::backfill`]). That is asked by id, not by a place in the journal: a cursor
//! knows one place, and the relay may have been off many times before it.
//!
//! 1. A record is built as the hook builds it ([`super::handoff`]), and what a hook would not send stays here too.
//! 2. Lines that start behind the journal's cursor are the next hook's to hand on, and are left to it: else both would queue
//!    them. The journal is read without its lock, so that no hook waits; lines before the cursor never change.
//! 3. A record of another tenant than the destination's is never sent there.
//! 4. All is decided again under the outbox's lock: done twice, it queues nothing twice, and after a kill it goes on.

use super::handoff::{self, HandoffError};
use super::record::{Record, SCHEMA};
use crate::journal::{self, Journal};
use crate::relay::outbox::{self, Entry, Known};
use crate::settings::Settings;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How long to wait for the journal and for the outbox: as long as a save may take on a busy disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a backfill would queue, and what it passes over.
#[derive(Debug, Default)]
pub struct Plan {
    /// To be queued, in the journal's order.
    pub entries: Vec<Entry>,
    /// Were queued before.
    pub known: u64,
    /// Say nothing that a reader elsewhere could use, and stay local.
    pub without_signal: u64,
    /// Are of another tenant.
    pub other_tenant: u64,
    /// Would not fit into the outbox now.
    pub no_room: u64,
}

/// Why nothing, or not all, can be backfilled.
#[derive(Debug, thiserror::Error)]
pub enum BackfillError {
    /// The relay is off.
    #[error("the relay is off: {0}; a backfill sends, so switch the relay on first")]
    Off(String),
    /// The journal cannot be read.
    #[error("{}: {source}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A record cannot be made ready.
    #[error(transparent)]
    Record(#[from] HandoffError),
    /// The outbox cannot be used.
    #[error(transparent)]
    Outbox(#[from] outbox::Error),
}

/// Works out what a backfill of the records from `since_ms` on would queue; writes nothing.
///
/// # Errors
/// When the relay is off, or journal or outbox cannot be read.
pub fn plan(settings: &Settings, since_ms: i64) -> Result<Plan, BackfillError> {
    if !settings.economics_relay.on {
        return Err(BackfillError::Off(settings.economics_relay.reason.clone()));
    }
    let path = &settings.economics_log;
    let unread = |source| BackfillError::Journal { path: path.clone(), source };
    let length = journal::end(path).map_err(unread)?;
    let cursor = Journal::peek_cursor(path, PATIENCE).map_err(unread)?;
    let end = cursor.map_or(length, |cursor| cursor.offset);
    let mut planning = Planning {
        settings,
        since_ms,
        known: outbox::backfill::known(&settings.data_dir, PATIENCE)?,
        room: outbox::backfill::ROOM,
        plan: Plan::default(),
        failed: None,
    };
    let needle = format!("\"{SCHEMA}\"");
    journal::read(path, needle.as_bytes(), |line, start| {
        if start < end && planning.failed.is_none() {
            planning.failed = planning.take(line, start).err();
        }
    })
    .map_err(unread)?;
    planning.failed.map_or(Ok(planning.plan), |error| Err(error.into()))
}

struct Planning<'a> {
    settings: &'a Settings,
    since_ms: i64,
    known: Known,
    /// Bytes that the bodies may still take.
    room: u64,
    plan: Plan,
    failed: Option<HandoffError>,
}

impl Planning<'_> {
    fn take(&mut self, line: &[u8], start: u64) -> Result<(), HandoffError> {
        let Ok(record) = serde_json::from_slice::<Record>(line) else { return Ok(()) };
        if !record.at.parse().is_ok_and(|at_ms: i64| at_ms >= self.since_ms) {
            return Ok(());
        }
        let tenant = self.settings.destination.as_ref().and_then(|destination| destination.tenant.as_ref());
        if record.tenant_id.is_some() && record.tenant_id.as_ref() != tenant {
            self.plan.other_tenant += 1;
        } else if record.is_without_signal() {
            self.plan.without_signal += 1;
        } else if let Some(entry) = handoff::entry(&record, start + line.len() as u64 + 1, self.settings)? {
            self.queue(entry);
        }
        Ok(())
    }

    fn queue(&mut self, entry: Entry) {
        if !self.known.insert(&entry) {
            self.plan.known += 1;
            return;
        }
        match self.room.checked_sub(entry.body.get().len() as u64) {
            Some(left) => {
                self.room = left;
                self.plan.entries.push(entry);
            }
            None => self.plan.no_room += 1,
        }
    }
}

/// Queues what `plan` names, as far as it is still new and there is room; afterwards the plan says what was queued.
///
/// # Errors
/// When the outbox cannot be used; doing it again goes on from there.
pub fn carry_out(plan: &mut Plan, settings: &Settings) -> Result<(), BackfillError> {
    let queued = outbox::backfill::enqueue_new(&settings.data_dir, &plan.entries, PATIENCE)?;
    plan.no_room += (plan.entries.len() - queued.len()) as u64;
    plan.known += queued.iter().filter(|is_new| !**is_new).count() as u64;
    let mut queued = queued.into_iter();
    plan.entries.retain(|_| queued.next() == Some(true));
    Ok(())
}
