//! `tally uninstall`: every file as it was before; journals and the outbox stay.

use super::Context;
use super::failure::Failure;
use super::init::{DEST, DRY_RUN, GLOBAL, JSON, YES, place};
use super::verb::Does::Run;
use super::verb::Kind::Choice;
use super::verb::{Given, Verb, flag, option};
use crate::relay;
use crate::settings::Settings;
use crate::setup::hosts;
use crate::setup::remove::{Removal, Request, remove};
use serde::Serialize;
use std::io::{self, IsTerminal};

pub(super) const VERB: Verb = Verb {
    name: "uninstall",
    about: "Take a set-up back: every file as it was before",
    does: Run(run),
    args: &[
        DEST,
        GLOBAL,
        option("host", "NAME", Choice(&hosts::NAMES), "Only this host, and not the conf. May be repeated")
            .many(),
        flag("keep-conf", "Leave the conf"),
        YES,
        DRY_RUN,
        JSON,
    ],
};

/// What `--json` prints; `schemas/uninstall.schema.json` is its contract.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    dry_run: bool,
    destination: &'a std::path::Path,
    files: &'a [Removal],
    /// Records in the outbox that the Console does not have yet; `None` where that is not known.
    pending: Option<u64>,
}

fn run(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let place = place(given, context)?;
    let dry_run = given.flag("dry-run");
    if !given.flag("yes") && !dry_run && !confirmed(&place.dest, context)? {
        return Err(Failure::Failed("nothing was changed".to_owned()));
    }
    let request = Request { hosts: given.texts("host"), keep_conf: given.flag("keep-conf"), dry_run };
    let data_dir = Settings::load(&place.env, &place.dest).data_dir;
    let files = remove(&place, &request)
        .map_err(|error| Failure::Failed(format!("{}: {error}", place.state.display())))?;
    let pending = relay::status(&data_dir).ok().map(|status| status.pending);
    if given.flag("json") {
        let answer = Answer { dry_run, destination: &place.dest, files: &files, pending };
        serde_json::to_writer_pretty(&mut *context.out, &answer).map_err(io::Error::from)?;
        writeln!(context.out)?;
    } else {
        if dry_run && !files.is_empty() {
            writeln!(context.out, "What would be done in {}", place.dest.display())?;
        }
        print(&files, context)?;
        if let Some(pending @ 1..) = pending {
            writeln!(
                context.out,
                "note: {pending} records wait in {}; they are sent when the Console is configured again",
                data_dir.join("outbox").display()
            )?;
        }
    }
    Ok(u8::from(files.iter().any(|file| file.action == "failed")))
}

fn confirmed(dest: &std::path::Path, context: &mut Context<'_>) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        let what =
            "nobody can be asked here: standard input is no terminal; add --yes, or --dry-run to look first";
        return Err(Failure::Usage(what.to_owned()));
    }
    write!(context.err, "Take tally out of {}? Journals stay. [y/N]: ", dest.display())?;
    context.err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn print(files: &[Removal], context: &mut Context<'_>) -> io::Result<()> {
    if files.is_empty() {
        writeln!(context.out, "nothing of tally's is installed here")?;
    }
    for file in files {
        let line = format!("  {:<12} {:<9}  {}", file.role, file.action, file.path.display());
        let line = if file.action == "failed" { context.red(&line) } else { line };
        writeln!(context.out, "{line}")?;
        if let Some(reason) = &file.reason {
            writeln!(context.out, "               {reason}")?;
        }
    }
    Ok(())
}
