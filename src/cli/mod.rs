//! The command line: the only room that prints, prompts or exits.

pub mod relay;

use std::process::ExitCode;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
