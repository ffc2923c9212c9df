//! What becomes of a claim whose command nobody saw run: the project's own check is run.
//!
//! 1. The command is the one that `acceptance.json` has for the claim; else the project's target for such a check (a script of
//!    `package.json`, a target of `Makefile`, …); else, if that is asked for and the task is not done, the claimed command.
//! 2. A file that names a command is followed only if nobody but the session's tools or a commit wrote what is in it: it
//!    has their receipt, or it is as `HEAD` has it. Else the finding says so, and nothing is run.
//! 3. All runs of one stop share one time limit.

use super::captured::Claimed;
use super::finding::{Finding, Kind, Weight};
use super::settings::{Backstop, Settings};
use super::subject::Subject;
use crate::evidence::command_log::normalized;
use crate::evidence::command_log::reduce::launders;
use crate::policy::honest::hides;
use crate::policy::receipt::{self, Writer};
use crate::policy::{Call, text};
use crate::sys::files;
use crate::sys::spawn::{self, End, Job};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::{Duration, Instant};

mod target;

use target::looks_runnable;

/// The largest file that names a command.
const MAX_BYTES: u64 = receipt::MAX_ACCEPTANCE;
/// Longest command that is repeated.
const SHOWN: usize = 160;

/// Runs checks for one stop.
pub(super) struct Runner<'a> {
    call: &'a Call<'a>,
    subject: &'a Subject,
    settings: &'a Settings,
    since: Instant,
}

/// A command, and who names it.
struct Check {
    command: String,
    /// What that runs in the end, as far as it is known: the command itself, or the script behind it.
    text: String,
    origin: &'static str,
}

impl Check {
    fn of(command: String, origin: &'static str) -> Self {
        Self { text: command.clone(), command, origin }
    }
}

/// Where a check comes from, or why there is none.
enum Source {
    Run(Check),
    /// The file's name.
    NotAsWritten(String),
    Malformed,
}

impl<'a> Runner<'a> {
    pub(super) fn new(call: &'a Call<'a>, subject: &'a Subject, settings: &'a Settings) -> Self {
        Self { call, subject, settings, since: Instant::now() }
    }

    /// What is to be said of a claim that the log does not bear out; `None` when it holds.
    pub(super) fn judge(&self, claimed: &Claimed) -> Option<Finding> {
        let check = claimed.check.as_str();
        let said = |kind, weight, what: String| Some(Finding::new(kind, weight, check, what));
        let shown = match claimed.command.as_str() {
            "" => "no command".to_owned(),
            command if hides(command) => {
                format!(
                    "`{}`, whose exit code is not that of the check (run it bare)",
                    text::line(command, SHOWN)
                )
            }
            command => format!("`{}`", text::line(command, SHOWN)),
        };
        if self.settings.backstop == Backstop::Skip {
            let what = format!(
                "NOT_VERIFIED — {check} is claimed by {shown}, and no record that counts shows it pass: run it"
            );
            return said(Kind::NeverCaptured, Weight::Soft, what);
        }
        let run = match self.source(claimed) {
            Source::Run(run) => run,
            Source::NotAsWritten(file) => {
                let what = format!(
                    "NOT_VERIFIED — {check} was not checked: its command stands in {file}, which is neither as it was \
                     committed nor as the session's own tools left it; run {shown} yourself, or commit the file"
                );
                return said(Kind::NotAsWritten, Weight::Soft, what);
            }
            Source::Malformed => {
                let what = format!(
                    "malformed-evidence: {check} is claimed by {shown}, no record that counts shows it pass, and nothing says how to check it"
                );
                return said(Kind::MalformedEvidence, Weight::Soft, what);
            }
        };
        let (origin, ran) = (run.origin, text::line(&run.command, SHOWN));
        if launders(&run.text) {
            let what =
                format!("exit-code-laundered: `{ran}` ({origin}) of {check} passes whatever happens in it");
            return said(Kind::Laundered, Weight::Hard, what);
        }
        match self.run(&run.command) {
            Some(0) if hides(&run.text) => {
                let what = format!(
                    "NOT_VERIFIED — the exit code of `{ran}` ({origin}) is not that of {check}: let it run the check bare"
                );
                said(Kind::NoSignal, Weight::Soft, what)
            }
            Some(0) => None,
            Some(1) if crate::evidence::command_log::is_bare_search(&run.command) => {
                let what = format!("NOT_VERIFIED (ambiguous): `{ran}` ({origin}) of {check} found nothing");
                said(Kind::AmbiguousSearch, Weight::Hard, what)
            }
            Some(code) if !matches!(code, 126 | 127) => {
                let hard = self.settings.backstop == Backstop::Block;
                let weight = if hard { Weight::Hard } else { Weight::Advice };
                let what = format!(
                    "caught false-completion: {check} is claimed to pass, and `{ran}` ({origin}) fails with exit code {code}"
                );
                said(Kind::BackstopFailed, weight, what)
            }
            _ => {
                let what = format!(
                    "NOT_VERIFIED — `{ran}` ({origin}) of {check} cannot be run here, or takes too long"
                );
                said(Kind::NeverCaptured, Weight::Soft, what)
            }
        }
    }

    fn source(&self, claimed: &Claimed) -> Source {
        if let Some(command) = self.accepted(claimed) {
            return match command {
                _ if !self.acceptance_is_as_written() => Source::NotAsWritten(receipt::ACCEPTANCE.to_owned()),
                Some(command) => Source::Run(Check::of(command, "acceptance")),
                None => Source::Malformed,
            };
        }
        if let Some(target) = target::of(&self.subject.site.root, claimed) {
            if !self.is_as_committed(&self.subject.site.root.join(target.file)) {
                return Source::NotAsWritten(target.file.to_owned());
            }
            let text = target.script.unwrap_or_else(|| target.command.clone());
            return Source::Run(Check { command: target.command, text, origin: "manifest" });
        }
        if self.settings.recheck && !self.subject.is_done() && looks_runnable(&claimed.command) {
            return Source::Run(Check::of(claimed.command.clone(), "claimed command"));
        }
        Source::Malformed
    }

    /// The command that the acceptance criteria have for a claim: of the criterion of the same name, of one with the same
    /// command, of the first one where the claim has no command. `Some(None)`: what stands there is none.
    fn accepted(&self, claimed: &Claimed) -> Option<Option<String>> {
        let criteria = self.subject.acceptance.get()?.get("criteria")?.as_array()?;
        let command = |criterion: &Value| {
            let refs = criterion.get("evidence_refs").and_then(Value::as_array).into_iter().flatten();
            let command = |item: &Value| item.get("kind").and_then(Value::as_str) == Some("command");
            let found = refs.filter(|item| command(item)).find_map(|item| {
                let keys = ["command", "excerpt"];
                keys.into_iter().find_map(|key| item.get(key)?.as_str().map(str::to_owned))
            });
            found.map(|text| text.trim().to_owned())
        };
        let id =
            |criterion: &Value| criterion.get("id").and_then(Value::as_str) == Some(claimed.check.as_str());
        let same =
            |criterion: &Value| command(criterion).is_some_and(|found| normalized(&found) == claimed.command);
        let found = criteria.iter().find(|criterion| id(criterion) && command(criterion).is_some());
        let found = found.or_else(|| criteria.iter().find(|criterion| same(criterion)));
        let found = found.or_else(|| criteria.first().filter(|_| claimed.command.is_empty()))?;
        command(found).map(|command| Some(command).filter(|command| looks_runnable(command)))
    }

    fn acceptance_is_as_written(&self) -> bool {
        let path = self.subject.folder.join(receipt::ACCEPTANCE);
        let Ok(Some(bytes)) = files::read_bounded(&path, MAX_BYTES) else { return false };
        match receipt::of(&self.subject.folder, &bytes) {
            Some(Writer::Installed) => true,
            Some(Writer::Of(file)) if self.is_installed(&file) || self.is_as_committed(&file) => true,
            _ => self.is_as_committed(&path),
        }
    }

    /// Whether a file of the project came with a package.
    fn is_installed(&self, file: &Path) -> bool {
        let (Ok(file), Ok(root)) = (file.canonicalize(), self.subject.site.root.canonicalize()) else {
            return false;
        };
        let below = file.strip_prefix(root).ok();
        below.is_some_and(|below| below.components().any(|part| part.as_os_str() == "node_modules"))
    }

    /// Whether a file has the bytes that `HEAD` has for it.
    fn is_as_committed(&self, path: &Path) -> bool {
        let (Ok(Some(bytes)), Some(folder), Some(name)) =
            (files::read_bounded(path, MAX_BYTES), path.parent(), path.file_name())
        else {
            return false;
        };
        let mut object = OsString::from("HEAD:./");
        object.push(name);
        let argv = [OsStr::new("git"), OsStr::new("cat-file"), OsStr::new("blob"), &object];
        let timeout = Duration::from_secs(5);
        let ran = self.start(&argv, folder, timeout, bytes.len() + 1);
        ran.is_some_and(|ran| ran.end == End::Code(0) && ran.stdout == bytes)
    }

    /// The exit code of a command; `None` when it has none or time is up.
    fn run(&self, command: &str) -> Option<i32> {
        let left = self.settings.timeout.checked_sub(self.since.elapsed())?;
        let argv = ["bash", "-c", command].map(OsStr::new);
        match self.start(&argv, &self.subject.site.root, left, 0)?.end {
            End::Code(code) => Some(code),
            End::Signal(_) | End::Timeout => None,
        }
    }

    fn start(&self, argv: &[&OsStr], cwd: &Path, timeout: Duration, keep: usize) -> Option<spawn::Ran> {
        // A hook of git runs within its variables, which would lead elsewhere.
        let plain = |name: &&(&OsStr, &OsStr)| !name.0.as_encoded_bytes().starts_with(b"GIT_");
        let pairs: Vec<_> = self.call.env.pairs().collect();
        let envs: Vec<_> = pairs
            .iter()
            .filter(plain)
            .map(|(name, value)| (name.to_os_string(), value.to_os_string()))
            .collect();
        spawn::run(&Job { argv, envs: &envs, cwd, stdin: b"", timeout, keep }).ok()
    }
}
