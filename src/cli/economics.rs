//! `tally economics`: record an event as the script of that name did, and show what was recorded.

use super::Context;
use super::failure::Failure;
use super::verb::Does::{Run, Verbs};
use super::verb::Kind::{Path, Text};
use super::verb::{Given, NUMBER, Verb, flag, option, place};
use crate::economics::Record;
use crate::economics::event::{self, Named};
use crate::hook::errand;
use crate::journal;
use crate::report::economics as view;
use crate::settings::Settings;
use std::collections::VecDeque;
use std::io::Read;

pub(super) const VERB: Verb = Verb {
    name: "economics",
    about: "Record and show the economics of runs",
    does: Verbs(&[
        Verb {
            name: "record",
            about: "Turn a session.usage event into a record",
            does: Run(record),
            args: &[
                place(
                    "EVENT",
                    Text,
                    "The event: JSON, the path of a file, or `-` (the default) for standard input",
                )
                .optional(),
                option("state", "P", Path, "The task's state, instead of looking for it"),
                option("acceptance", "P", Path, "The task's acceptance, instead of looking for it"),
                option("critique", "P", Path, "The task's critique, instead of looking for it"),
                option(
                    "agents-dir",
                    "D",
                    Path,
                    "The folder of the task's subagents, instead of looking for it",
                ),
            ],
        },
        Verb {
            name: "show",
            about: "Show the latest records of this workspace",
            does: Run(show),
            args: &[
                option("last", "N", NUMBER, "How many records, the latest last").default("10"),
                flag("json", "Print the records, one JSON object a line (schemas/economics.schema.json)"),
            ],
        },
    ]),
    args: &[],
};

/// No event is longer than this.
const MAX_EVENT: u64 = 64 << 20;

fn record(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let event = match given.text("EVENT") {
        None | Some("-") => {
            let mut event = vec![];
            std::io::stdin().lock().take(MAX_EVENT).read_to_end(&mut event)?;
            event
        }
        Some(json) if json.trim_start().starts_with('{') => json.as_bytes().to_vec(),
        Some(path) => {
            let path = context.cwd.join(path);
            std::fs::read(&path).map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?
        }
    };
    if event.trim_ascii().is_empty() {
        return Ok(0);
    }
    // The event says where the agent worked; a folder that is gone, or none, leaves our own.
    let told = serde_json::from_slice::<serde_json::Value>(&event).unwrap_or_default();
    let told = told.pointer("/context/cwd").and_then(|cwd| cwd.as_str()).map(std::path::Path::new);
    let cwd = told.filter(|cwd| cwd.is_dir()).unwrap_or(context.cwd);
    let mut settings = Settings::load(context.env, cwd);
    settings.prepare().map_err(|error| Failure::Failed(format!("no place to keep records: {error}")))?;
    let here = |id| given.path(id).map(|path| context.cwd.join(path));
    let named = Named {
        state: here("state"),
        acceptance: here("acceptance"),
        critique: here("critique"),
        agents_dir: here("agents-dir"),
    };
    let stopped =
        event::record(&event, &named, &settings, cwd).map_err(|error| Failure::Failed(error.to_string()))?;
    let woken = errand::wake(context.env, &settings);
    let said = stopped.warnings.into_iter().chain(settings.warnings);
    let said = said.chain(stopped.handoff.map(|error| error.to_string()));
    for line in said.chain(woken.err().map(|error| error.to_string())) {
        writeln!(context.err, "tally: {line}")?;
    }
    Ok(0)
}

fn show(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let last = given.number("last").unwrap_or_default();
    let last = usize::try_from(last).unwrap_or(usize::MAX);
    let path = context.settings()?.economics_log;
    let mut latest: VecDeque<Record> = VecDeque::new();
    let mut count = 0;
    let needle = format!("\"{}\"", crate::economics::record::SCHEMA);
    let read = journal::read(&path, needle.as_bytes(), |line, _| {
        let Ok(record) = serde_json::from_slice(line) else { return };
        count += 1;
        latest.push_back(record);
        if latest.len() > last {
            latest.pop_front();
        }
    });
    read.map_err(|error| Failure::Failed(format!("{}: {error}", path.display())))?;
    let latest = latest.make_contiguous();
    if given.flag("json") {
        for record in latest {
            serde_json::to_writer(&mut *context.out, record).map_err(std::io::Error::from)?;
            writeln!(context.out)?;
        }
    } else if latest.is_empty() {
        writeln!(context.out, "No runs are recorded yet in {}", path.display())?;
    } else {
        writeln!(context.out, "{}", view::table_of(latest, context.width))?;
        writeln!(context.out, "{} of {} records in {}", latest.len(), count, path.display())?;
    }
    Ok(0)
}
