//! `tally relay retry`: rejected records on their way again.

use serde::Serialize;

use super::super::Context;
use super::super::failure::Failure;
use super::{PATIENCE, failed, json, one_line, records};
use crate::hook::errand;
use crate::relay::outbox::Entry;
use crate::relay::outbox::retry::{self, Choice};

/// Arguments of `tally relay retry`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The record to put back, as `tally relay rejected` names it.
    #[arg(value_name = "ID", required_unless_present = "all")]
    id: Option<String>,
    /// Put all back that are kept.
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// Print one JSON object (schemas/relay-retry.schema.json).
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    put_back: Vec<Row<'a>>,
    on_their_way: Vec<Row<'a>>,
    unreadable: u64,
}

#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    kind: &'a str,
    origin: &'a str,
    tenant: Option<&'a str>,
}

impl<'a> From<&'a Entry> for Row<'a> {
    fn from(entry: &'a Entry) -> Self {
        let Entry { id, kind, origin, tenant, .. } = entry;
        Self { id, kind, origin, tenant: tenant.as_deref() }
    }
}

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Result<u8, Failure> {
    let settings = context.settings()?;
    if settings.do_not_track {
        return Err(failed("DO_NOT_TRACK is set: nothing is put on its way; unset it and try again"));
    }
    let choice = args.id.as_deref().map_or(Choice::All, Choice::Id);
    let done = retry::put_back(&settings.data_dir, choice, PATIENCE).map_err(failed)?;
    if let Choice::Id(id) = choice
        && done.put_back.is_empty()
        && done.on_their_way.is_empty()
    {
        return Err(Failure::Failed(format!(
            "no rejected record with the id {} is kept in {}; `tally relay rejected` lists those that are",
            one_line(id),
            settings.data_dir.join("outbox").display()
        )));
    }
    if let Err(error) = errand::wake(context.env, &settings) {
        writeln!(context.err, "tally: the records wait for the next stop, or `tally relay flush`: {error}")?;
    }
    if args.json {
        let rows = |entries| Vec::from_iter(<[Entry]>::iter(entries).map(Row::from));
        let (put_back, on_their_way) = (rows(&done.put_back), rows(&done.on_their_way));
        json(context.out, &Answer { put_back, on_their_way, unreadable: done.unreadable })?;
        return Ok(0);
    }
    for entry in &done.put_back {
        writeln!(
            context.out,
            "put back: {} {} for {}",
            entry.kind,
            one_line(&entry.id),
            one_line(&entry.origin)
        )?;
    }
    for entry in &done.on_their_way {
        writeln!(context.out, "on its way already: {} {}", entry.kind, one_line(&entry.id))?;
    }
    if done.unreadable > 0 {
        writeln!(context.out, "{} torn lines are no records and stay rejected", done.unreadable)?;
    }
    let put_back = records(done.put_back.len());
    let relay = &settings.economics_relay;
    if done.put_back.is_empty() || relay.on {
        writeln!(context.out, "{put_back} put back; `tally relay status` shows what becomes of them")?;
    } else {
        writeln!(
            context.out,
            "{put_back} put back; no worker is started, the relay is off: {}",
            relay.reason
        )?;
    }
    Ok(0)
}
