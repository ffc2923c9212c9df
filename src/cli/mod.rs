//! The command line: the only room that prints, prompts or exits.
//!
//! Exit codes: 0 done, 1 refused, failed or unhealthy, 2 usage, 3 claim not free. `tally hook` is different: always
//! 0, but 2 where a policy refuses something to Kiro; `tally run-hook` and `tally conformance adapter` answer as the contract
//! has it.

mod conformance;
mod demo;
mod doctor;
mod economics;
mod failure;
mod hook;
mod hosts;
mod init;
mod liveness;
mod panics;
mod pricing;
mod progress;
mod project;
mod relay;
mod run_hook;
mod uninstall;
mod usage;
mod verb;

use crate::settings::Settings;
use crate::settings::env::{Env, vars};
use crate::sys::{clock, spawn};
use failure::Failure;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use verb::Does::Verbs;
use verb::{Given, Run, Verb};

/// All of it, in the order of `--help`.
static TALLY: Verb = Verb {
    name: "tally",
    about: "What coding agents cost, exactly: recorded locally first, relayed to your Console",
    does: Verbs(&[
        init::VERB,
        doctor::VERB,
        uninstall::VERB,
        hook::VERB,
        economics::VERB,
        usage::VERB,
        run_hook::VERB,
        conformance::VERB,
        hosts::VERB,
        liveness::VERB,
        pricing::VERB,
        project::VERB,
        relay::VERB,
        demo::VERB,
    ]),
    args: &[],
};

/// What a command works with.
struct Context<'a> {
    env: &'a Env,
    cwd: &'a Path,
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    /// Columns that a table may take.
    width: u16,
    /// Whether a person watches standard error.
    watched: bool,
    /// Whether standard output may have colour: on a terminal, unless `NO_COLOR` is set.
    colour: bool,
}

impl Context<'_> {
    /// `text` in red, on a terminal that wants colour.
    fn red(&self, text: &str) -> String {
        if self.env.get(&vars::NO_COLOR).is_none() && io::stdout().is_terminal() {
            return format!("\u{1b}[31m{text}\u{1b}[0m");
        }
        text.to_owned()
    }

    /// The settings of this run; what the user should know of them goes to standard error.
    fn settings(&mut self) -> io::Result<Settings> {
        let settings = Settings::load(self.env, self.cwd);
        for warning in &settings.warnings {
            writeln!(self.err, "tally: {warning}")?;
        }
        Ok(settings)
    }
}

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    spawn::survive_file_size_limit();
    let env = Env::from_process();
    if let Some(ms) = env.get(&vars::TALLY_CLOCK_MS).and_then(|ms| ms.parse().ok()) {
        clock::freeze(ms);
    }
    let args: Vec<OsString> = std::env::args_os().collect();
    // A directory that was deleted under us has no name any more. This one does not exist either, so whatever is written
    // goes to the user's state directory.
    let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/deleted-working-directory"));
    // A hook must not meet an argument parser: its exit code 2 would block the agent (DESIGN §11).
    if args.get(1).is_some_and(|verb| verb == "hook")
        && !args.iter().any(|arg| arg == "--help" || arg == "-h")
    {
        return ExitCode::from(hook::run(&env, args.get(2..).unwrap_or_default(), &cwd));
    }
    if args.get(1).is_some_and(|verb| verb == "run-hook")
        && !args.iter().any(|arg| arg == "--help" || arg == "-h")
    {
        return ExitCode::from(run_hook::run(&env, args.get(2..).unwrap_or_default(), &cwd));
    }
    if args.get(1..) == Some(&["conformance".into(), "adapter".into()]) {
        return ExitCode::from(conformance::adapt(&env, &cwd));
    }
    if args.get(1).is_some_and(|verb| verb == "__generate") {
        return ExitCode::from(generate(&mut io::stdout()));
    }
    if args.get(1).is_some_and(|verb| verb == "__relay") {
        crate::hook::errand::worker(&env, &cwd);
        return ExitCode::SUCCESS;
    }
    let parser = TALLY.to_clap().version(env!("CARGO_PKG_VERSION"));
    let matches = match parser.try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to standard output with code 0, mistakes to standard error with code 2.
            drop(error.print());
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let chosen = TALLY.chosen(&matches);
    chosen.map_or(ExitCode::SUCCESS, |(run, given)| ExitCode::from(answer(run, &given, &env, &cwd)))
}

/// `tally __generate`: the generated page of the environment, for docs/environment.md.
fn generate(out: &mut dyn Write) -> u8 {
    u8::from(write!(out, "{}", crate::settings::env::generated_page()).is_err())
}

fn answer(run: Run, given: &Given<'_>, env: &Env, cwd: &Path) -> u8 {
    // Standard error is not locked: threads that read show their progress there.
    let (mut out, mut err) = (io::stdout().lock(), io::stderr());
    let width = env
        .get(&vars::COLUMNS)
        .and_then(|columns| columns.parse().ok())
        .unwrap_or(crate::report::table::WIDTH);
    let watched = io::stderr().is_terminal();
    let colour = io::stdout().is_terminal() && env.get(&vars::NO_COLOR).is_none();
    let mut context = Context { env, cwd, out: &mut out, err: &mut err, width, watched, colour };
    let done = run(given, &mut context);
    let flushed = context.out.flush();
    match done.and_then(|code| flushed.map(|()| code).map_err(Failure::from)) {
        Ok(code) => code,
        // Whoever reads our output has seen enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => 0,
        Err(failure) => {
            drop(writeln!(context.err, "tally: {failure}"));
            failure.code()
        }
    }
}
