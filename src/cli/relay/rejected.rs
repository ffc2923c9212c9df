//! `tally relay rejected`: the records that were given up and are kept, with the reason.

use std::io::Write;

use serde::Serialize;

use super::super::Context;
use super::super::failure::Failure;
use super::super::verb::Does::Run;
use super::super::verb::{Given, Verb, flag};
use super::{PATIENCE, failed, json, one_line};
use crate::relay::outbox::{Rejected, retry};
use crate::report::table::count;
use crate::sys::clock;

pub(super) const VERB: Verb = Verb {
    name: "rejected",
    about: "List the records that the Console refused for good, the newest last",
    does: Run(run),
    args: &[flag("json", "Print one JSON object (schemas/relay-rejected.schema.json)")],
};

#[derive(Serialize)]
struct Answer {
    rejected: u64,
    dropped: u64,
    records: Vec<Row>,
}

/// A rejected record; what its torn line does not tell is `null`.
#[derive(Serialize)]
struct Row {
    id: Option<String>,
    kind: Option<String>,
    origin: Option<String>,
    tenant: Option<String>,
    rejected_at: Option<String>,
    reason: String,
    status: Option<u16>,
    said: Option<String>,
    attempts: u32,
    bytes: u64,
}

impl Row {
    fn of(record: &Rejected) -> Self {
        let entry = record.parsed();
        let torn = record.torn.as_deref().unwrap_or_default();
        let bytes = entry.as_ref().map_or(torn.len(), |entry| entry.body.get().len());
        let (id, kind, origin, tenant) = match entry {
            Some(entry) => (Some(entry.id), Some(entry.kind), Some(entry.origin), entry.tenant),
            None => (None, None, None, None),
        };
        Self {
            id,
            kind,
            origin,
            tenant,
            rejected_at: clock::rfc3339(record.rejected_at),
            reason: record.reason.clone(),
            status: record.status,
            said: record.said.clone(),
            attempts: record.attempts,
            bytes: bytes as u64,
        }
    }

    /// What a person reads; the id is whole, because `retry` wants it so.
    fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let text =
            |text: &Option<String>, none: &str| text.as_deref().map_or_else(|| none.to_owned(), one_line);
        let (at, kind) = (text(&self.rejected_at, "–"), text(&self.kind, "torn line"));
        writeln!(out, "{at}  {kind} {}", text(&self.id, "–"))?;
        let bytes = count(i64::try_from(self.bytes).unwrap_or(i64::MAX));
        match &self.origin {
            Some(origin) => {
                let tenant = text(&self.tenant, "(none)");
                writeln!(out, "  {bytes} bytes for {}, tenant {tenant}", one_line(origin))?;
            }
            None => writeln!(out, "  {bytes} bytes")?,
        }
        writeln!(out, "  {}", one_line(&self.reason))?;
        self.said.as_ref().map_or(Ok(()), |said| writeln!(out, "  {}", one_line(said)))
    }
}

fn run(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let settings = context.settings()?;
    let retry::Shelf { rejected, kept } = retry::shelf(&settings.data_dir, PATIENCE).map_err(failed)?;
    let dropped = rejected.saturating_sub(kept.len() as u64);
    let records: Vec<Row> = kept.iter().map(Row::of).collect();
    if given.flag("json") {
        json(context.out, &Answer { rejected, dropped, records })?;
        return Ok(0);
    }
    for record in &records {
        record.write(context.out)?;
    }
    writeln!(context.out, "{} rejected and kept", super::records(records.len()))?;
    if !records.is_empty() {
        writeln!(
            context.out,
            "after a fix at the Console: `tally relay retry ID`, or `tally relay retry --all`"
        )?;
    }
    if dropped > 0 {
        writeln!(context.out, "{dropped} more rejected and not kept any more: later ones took their room")?;
    }
    Ok(0)
}
