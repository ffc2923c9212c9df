//! `tally relay`: what is on its way, what was refused, and what to do about either.

mod backfill;
mod listen;
mod rejected;
mod retry;
mod status;

use std::io::{self, Write};
use std::time::Duration;

use clap::Subcommand;
use serde::Serialize;

use super::Context;
use super::failure::Failure;
use crate::relay::classify::is_printable;

/// How long a person waits for the outbox: as long as a save may take on a busy disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// Arguments of `tally relay`.
#[derive(Debug, clap::Args)]
pub(super) struct RelayArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what was queued, delivered, rejected, evicted and is pending, and why.
    Status(status::Args),
    /// Send what can be sent now; exit code 1 when something is still pending.
    Flush(status::FlushArgs),
    /// List the records that the Console refused for good, the newest last.
    Rejected(rejected::Args),
    /// Put rejected records back on their way, after a fix at the Console.
    Retry(retry::Args),
    /// Queue records that never were, such as those from a time when the relay was off.
    Backfill(backfill::Args),
    /// Receive records on this machine and show them: a stand-in for the Console.
    Listen(listen::Args),
}

pub(super) fn run(args: &RelayArgs, context: &mut Context<'_>) -> Result<u8, Failure> {
    match &args.command {
        Command::Status(args) => status::run(args, context),
        Command::Flush(args) => status::flush(args, context),
        Command::Rejected(args) => rejected::run(args, context),
        Command::Retry(args) => retry::run(args, context),
        Command::Backfill(args) => backfill::run(args, context),
        Command::Listen(args) => listen::run(args, context),
    }
}

fn json(out: &mut dyn Write, answer: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, answer)?;
    writeln!(out)
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Failed(error.to_string())
}

/// The text on one line, without what would steer a terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if is_printable(c) { c } else { '\u{fffd}' }).collect()
}

/// `1 record`, `2 records`.
fn records(number: usize) -> String {
    format!("{number} record{}", if number == 1 { "" } else { "s" })
}
