//! `tally relay retry`: rejected records on their way again.

use serde::Serialize;

use super::super::Context;
use super::super::failure::Failure;
use super::super::verb::Does::Run;
use super::super::verb::Kind::Text;
use super::super::verb::{Given, Verb, flag, place};
use super::{PATIENCE, failed, json, one_line, records};
use crate::hook::errand;
use crate::relay::outbox::Entry;
use crate::relay::outbox::retry::{self, Choice};

pub(super) const VERB: Verb = Verb {
    name: "retry",
    about: "Put rejected records back on their way, after a fix at the Console",
    does: Run(run),
    args: &[
        place("ID", Text, "The record to put back, as `tally relay rejected` names it").unless("all"),
        flag("all", "Put all back that are kept").against("ID"),
        flag("json", "Print one JSON object (schemas/relay-retry.schema.json)"),
    ],
};

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

fn run(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let settings = context.settings()?;
    if settings.do_not_track {
        return Err(failed("DO_NOT_TRACK is set: nothing is put on its way; unset it and try again"));
    }
    let choice = given.text("ID").map_or(Choice::All, Choice::Id);
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
    if given.flag("json") {
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
