//! `evidence-capture`: what a command came to, into the log of the session's task. It never blocks.
//!
//! The record, its chain and its lock are those of [`crate::evidence::command_log`]. Beside it goes a *receipt*: after a
//! command that was the session's own writer and nothing else, the digest of `acceptance.json` as it is then. The Stop gate
//! runs commands of that file only if it still is so (`goal_fit::backstop`).

use super::honest::hides;
use super::shell::{Script, Step};
use super::{Call, Outcome};
use crate::evidence::command_log::{self, Refused};
use crate::evidence::outcome::{self, Observed};
use crate::sys::files;
use crate::sys::hex::hex;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// The receipt, in the session's folder: one line, a digest in hexadecimal.
const RECEIPT: &str = "acceptance.receipt";
/// What it is of.
pub const ACCEPTANCE: &str = "acceptance.json";
/// The largest `acceptance.json`.
pub const MAX_ACCEPTANCE: u64 = 1 << 20;

/// Records the command of a finished call.
#[must_use]
pub fn run(call: &Call<'_>) -> Outcome {
    let Some(payload) = call.payload else { return Outcome::allow() };
    let Some(command) = command_log::command(payload.root()) else { return Outcome::allow() };
    let Some(folder) = folder(call) else { return Outcome::allow() };
    match keep(&folder, command, outcome::observe(payload.root()), call.now_ms) {
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

/// Records what was `observed` of `command`, and the receipt where the command was the session's writer.
///
/// # Errors
/// As [`command_log::append`].
pub fn keep(folder: &Path, command: &str, observed: Observed, now_ms: i64) -> Result<(), Refused> {
    command_log::append(folder, command, believed(command, observed), now_ms)?;
    if is_writer(command)
        && let Ok(Some(bytes)) = files::read_bounded(&folder.join(ACCEPTANCE), MAX_ACCEPTANCE)
    {
        files::write_atomic(&folder.join(RECEIPT), digest(&bytes).as_bytes())?;
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

/// Whether the receipt in `folder` is of these bytes.
#[must_use]
pub fn has_receipt(folder: &Path, acceptance: &[u8]) -> bool {
    let receipt = files::read_bounded(&folder.join(RECEIPT), 256).ok().flatten();
    receipt.is_some_and(|receipt| receipt.trim_ascii() == digest(acceptance).as_bytes())
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Whether `command` is one call of the session's writer, without redirects, and nothing else.
fn is_writer(command: &str) -> bool {
    let script = Script::parse(command);
    let [Step::Run(run)] = script.steps.as_slice() else { return false };
    if !run.redirects.is_empty() || !run.assigns.is_empty() || script.deep {
        return false;
    }
    let words: Option<Vec<String>> = run.words.iter().map(|word| word.literal()).collect();
    let Some(words) = words else { return false };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_file = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        matches!(name, "workflow-sidecar" | "workflow-sidecar.js")
    };
    match words.as_slice() {
        ["npm", "run", "workflow:sidecar", ..]
        | ["npm", "run", "--silent" | "-s", "workflow:sidecar", ..] => true,
        ["npx", name, ..] => *name == "workflow-sidecar",
        ["node", script, ..] => is_file(script),
        [program, ..] => is_file(program),
        [] => false,
    }
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

    #[test]
    fn only_the_sessions_writer_alone_gives_a_receipt() {
        for command in [
            "npm run workflow:sidecar -- record-acceptance --id 'a b'",
            "npx workflow-sidecar init",
            "node build/src/cli/workflow-sidecar.js init-plan x",
            "./workflow-sidecar x",
        ] {
            assert!(is_writer(command), "{command}");
        }
        for command in [
            "npm run workflow:sidecar -- x && echo '{}' > acceptance.json",
            "npm run workflow:sidecar -- x > acceptance.json",
            "npm run $X",
            "workflow-sidecar $(rm x)",
            "PATH=/tmp workflow-sidecar x",
            "echo workflow-sidecar",
            "node x.js workflow-sidecar.js",
            "",
        ] {
            assert!(!is_writer(command), "{command}");
        }
    }
}
