//! `evidence-capture`: what a command came to, into the log of the session's task. It never blocks.
//!
//! The record, its chain and its lock are those of [`crate::evidence::command_log`]. After a command that was the session's own
//! writer, and did not fail, a [receipt](super::receipt) goes beside it.

use super::honest::hides;
use super::{Call, Outcome, receipt};
use crate::evidence::command_log::{self, Refused};
use crate::evidence::outcome::{self, Observed};
use std::path::{Path, PathBuf};

/// Records the command of a finished call.
#[must_use]
pub fn run(call: &Call<'_>) -> Outcome {
    let Some(payload) = call.payload else { return Outcome::allow() };
    let Some(command) = command_log::command(payload.root()) else { return Outcome::allow() };
    let Some(folder) = folder(call) else { return Outcome::allow() };
    match keep(&folder, command, &call.works(), outcome::observe(payload.root()), call.now_ms) {
        Ok(()) => Outcome::allow(),
        Err(why) => Outcome { stderr: format!("[EvidenceCapture] not recorded: {why}"), ..Outcome::allow() },
    }
}

/// The folder of the session, whose log is written.
#[must_use]
pub fn folder(call: &Call<'_>) -> Option<PathBuf> {
    let mut sites = call.sites().filter(|site| !site.places.is_empty()).peekable();
    sites.peek()?;
    let actor = call.actor().map(|actor| actor.name);
    let works = call.works();
    // What runs in another project is about that.
    sites.find_map(|site| site.session(actor.as_deref(), call.searches()).filter(|_| site.is_about(&works)))
}

/// Records what was `observed` of `command`, which ran in `works`, and the receipt where it was the session's writer.
///
/// # Errors
/// As [`command_log::append`].
pub fn keep(
    folder: &Path,
    command: &str,
    works: &Path,
    observed: Observed,
    now_ms: i64,
) -> Result<(), Refused> {
    command_log::append(folder, command, believed(command, observed), now_ms)?;
    if observed.result != outcome::Outcome::Fail
        && let Some(writer) = receipt::writer(command, works)
    {
        receipt::leave(folder, &writer)?;
    }
    Ok(())
}

/// What is recorded of what was `observed`. The log spells a command on one line and cuts a long one, so what hid the exit code
/// may not be in it: then a pass would be one of another command.
fn believed(command: &str, observed: Observed) -> Observed {
    let spelled = command_log::normalized(command);
    let is_cut = command.split_whitespace().map(str::len).sum::<usize>()
        != spelled.split_whitespace().map(str::len).sum::<usize>();
    let hidden = || hides(command) && !hides(&spelled);
    if observed.result == outcome::Outcome::Pass && (is_cut || hidden()) {
        return Observed { result: outcome::Outcome::Ambiguous, ..observed };
    }
    observed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_recorded_only_of_the_command_that_the_log_can_spell() {
        let pass = Observed { result: outcome::Outcome::Pass, exit_code: Some(0) };
        let recorded = |command: &str| believed(command, pass).result.as_str();
        for command in [
            "npm test",
            " npm  test ",
            "npm test | cat",
            "npm test; true",
            "node -e '1\n2'",
            "cd a &&\nnpm test",
        ] {
            assert_eq!(recorded(command), "pass", "{command}");
        }
        let cut = format!("npm test{}|| true", " ".repeat(5000));
        let long = format!("npm test {}", "x".repeat(5000));
        for command in ["npm test\ntrue", "npm test\necho ok", "npm test # quick\necho ok", &cut, &long] {
            assert_eq!(recorded(command), "ambiguous", "{command}");
        }
        let fail = Observed { result: outcome::Outcome::Fail, exit_code: Some(1) };
        assert_eq!(believed("npm test\ntrue", fail), fail);
    }
}
