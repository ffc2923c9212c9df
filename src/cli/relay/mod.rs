//! `tally relay`: what is on its way, what was refused, and what to do about either.

mod backfill;
mod listen;
mod rejected;
mod retry;
mod status;

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::failure::Failure;
use super::verb::Does::Verbs;
use super::verb::Verb;
use crate::relay::classify::is_printable;

/// How long a person waits for the outbox: as long as a save may take on a busy disk.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) const VERB: Verb = Verb {
    name: "relay",
    about: "Look after the records on their way to the Console",
    does: Verbs(&[status::STATUS, status::FLUSH, rejected::VERB, retry::VERB, backfill::VERB, listen::VERB]),
    args: &[],
};

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
