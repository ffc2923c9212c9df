//! What commands came to, held against what is claimed of them.
//!
//! The log is read whole up to [`WHOLE`]; of a longer one only its end is, and its chain is checked from there on. A command
//! whose run is further back has to be run again: that is said, and the record of it is at the end then.

use super::bundle::{Claim, Said};
use super::finding::{Finding, Kind, Weight};
use super::flow::Gate;
use super::recorded::is_check;
use super::subject::{Doc, Subject};
use crate::evidence::command_log::reduce::{Runs, launders, reduce};
use crate::evidence::command_log::{FILE, chain, normalized};
use crate::evidence::outcome::Outcome;
use crate::policy::honest::hides;
use crate::policy::text;
use crate::sys::files;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A log of this size is read whole: some 12,000 commands.
const WHOLE: u64 = 4 << 20;
/// How much of a longer one is read.
const END: u64 = 128 << 10;
/// Longest command that is repeated.
const SHOWN: usize = 160;

/// The log of a session.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub status: Option<chain::Status>,
    /// Whether its beginning was not read.
    pub partial: bool,
    pub runs: BTreeMap<String, Runs>,
}

/// A check that is claimed to pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claimed {
    /// Its name.
    pub check: String,
    /// Its command; empty where the claim names none.
    pub command: String,
    /// What else is said of it, by which a target of the project may be found.
    pub words: String,
}

impl Log {
    /// Reads the log in `folder`; `None` where there is none.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let path = folder.join(FILE);
        let about = path.symlink_metadata().ok()?;
        let length = about.len();
        let broken = Self { status: Some(chain::Status::Broken(0)), ..Self::default() };
        if !about.is_file() {
            // Hooks write no link, and where it leads is anybody's.
            return Some(broken);
        }
        if length <= WHOLE {
            let Ok(Some(log)) = files::read_bounded(&path, WHOLE) else { return Some(broken) };
            return Some(Self { status: Some(chain::verify(&log)), partial: false, runs: reduce(&log) });
        }
        let Ok(end) = files::read_tail(&path, END) else { return Some(broken) };
        let begin = end.iter().position(|byte| *byte == b'\n').map_or(end.len(), |at| at + 1);
        let end = end.get(begin..).unwrap_or_default();
        Some(Self { status: Some(chain::verify_end(end)), partial: true, runs: reduce(end) })
    }

    fn is_broken(&self) -> bool {
        matches!(self.status, Some(chain::Status::Broken(_)))
    }

    /// Whether what it says of a pass counts.
    fn confirms(&self) -> bool {
        matches!(self.status, Some(chain::Status::Whole | chain::Status::Forked(_)))
    }
}

/// What is to be said of the log itself.
pub(super) fn about(subject: &Subject, log: Option<&Log>) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(log) = log else {
        let begun = subject.state().is_some()
            && subject.word("phase") != "planning"
            && !matches!(subject.status().as_str(), "planned" | "planning" | "new" | "backlog");
        let speaks = subject.bundle.get().is_some_and(super::bundle::Bundle::speaks_of_commands);
        if begun && speaks {
            let text =
                "the expected capture log is missing: claims speak of commands, and no command was recorded";
            found.push(Finding::new(Kind::LogMissing, Weight::Firm, "", text.to_owned()));
        }
        return found;
    };
    match log.status {
        Some(chain::Status::Broken(at)) => {
            let text = format!(
                "command-log integrity check FAILED at record {at}: the log is not what hooks wrote, so it confirms nothing; \
                 move it aside and run the checks again"
            );
            found.push(Finding::new(Kind::ChainBroken, Weight::Hard, "", text));
        }
        Some(chain::Status::Forked(at)) => {
            let text =
                format!("two hooks wrote to the command log at once, first at record {at}: nothing is lost");
            found.push(Finding::new(Kind::ChainForked, Weight::Advice, "", text));
        }
        _ => {}
    }
    found
}

/// The checks that a session claims to have passed.
pub(super) fn claimed(subject: &Subject, gate: Option<&Gate>) -> Vec<Claimed> {
    let mut all = Vec::new();
    let mut add = |check: &str, command: &str, words: String| {
        let (check, command) = (text::line(check, 80), normalized(command));
        if !all.iter().any(|known: &Claimed| known.check == check && known.command == command) {
            all.push(Claimed { check, command, words });
        }
    };
    if let Some(bundle) = subject.bundle.get() {
        for claim in bundle.claims().filter(|claim| is_check(claim, gate) && says_pass(claim)) {
            let words = format!("{} {}", claim.check(), claim.kind());
            let mut named = false;
            for command in claim.commands() {
                named = true;
                add(claim.check(), command, words.clone());
            }
            if !named && claim.kind() == "workflow.check.command" {
                add(claim.check(), claim.excerpt().unwrap_or(claim.field()), words);
            }
        }
    } else if let (Doc::Absent | Doc::Unreadable, Some(evidence)) = (&subject.bundle, subject.evidence.get())
    {
        let checks = evidence.get("checks").and_then(Value::as_array).into_iter().flatten();
        for check in checks {
            let of = |key: &str| check.get(key).and_then(Value::as_str).unwrap_or_default();
            if of("kind") == "command" && check.get("status").and_then(Said::of) == Some(Said::Pass) {
                add(of("id"), of("command"), format!("{} {}", of("id"), of("kind")));
            }
        }
    }
    all
}

/// Whether a claim is one of a pass: an honest failure is none.
fn says_pass(claim: &Claim<'_>) -> bool {
    match claim.said() {
        Some(said) => said == Said::Pass,
        None => claim.value().is_null() && !matches!(claim.status(), "disputed" | "rejected"),
    }
}

/// What the log says of a claim; `None` where it says nothing that counts. `Some(None)`: it holds.
pub(super) fn held(log: Option<&Log>, claimed: &Claimed) -> Option<Option<Finding>> {
    let log = log.filter(|log| !log.is_broken())?;
    let Some(runs) = log.runs.get(&claimed.command) else {
        // What is further back is not known to be anything.
        return log.partial.then(|| Some(further_back(claimed)));
    };
    let (check, shown) = (claimed.check.as_str(), text::line(&claimed.command, SHOWN));
    let said = |kind, weight, what: String| Some(Some(Finding::new(kind, weight, check, what)));
    match runs.latest.result {
        Outcome::Fail => {
            let code =
                runs.latest.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
            let what = format!(
                "caught false-completion: {check} is claimed to pass, and its command `{shown}` was last seen to fail{code}"
            );
            said(Kind::Contradicted, Weight::Hard, what)
        }
        Outcome::Ambiguous if runs.latest.exit_code == Some(1) => {
            let what = format!(
                "NOT_VERIFIED (ambiguous): `{shown}` found nothing, and only {check} can say whether that is good; use a \
                 command that fails when the claim does not hold"
            );
            said(Kind::AmbiguousSearch, Weight::Hard, what)
        }
        Outcome::Ambiguous => {
            let what = format!(
                "NOT_VERIFIED — nobody knows how `{shown}` ended, which {check} is claimed by: run it again"
            );
            said(Kind::NoSignal, Weight::Soft, what)
        }
        Outcome::Pass if launders(&claimed.command) => {
            let what = format!(
                "exit-code-laundered: `{shown}` of {check} passes whatever happens in it: run the check bare"
            );
            said(Kind::Laundered, Weight::Hard, what)
        }
        Outcome::Pass if log.confirms() && !hides(&claimed.command) => Some(None),
        // A log without a chain is anybody's, and a code that is not the check's says nothing of it.
        Outcome::Pass => None,
    }
}

fn further_back(claimed: &Claimed) -> Finding {
    let what = format!(
        "NOT_VERIFIED — the command log is long, and `{}` of {} is not among its last commands: run it again",
        text::line(&claimed.command, SHOWN),
        claimed.check
    );
    Finding::new(Kind::NeverCaptured, Weight::Firm, claimed.check.as_str(), what)
}

/// Claims of any kind that are linked to a command whose last run does not bear them out.
pub(super) fn reconciled(subject: &Subject, log: Option<&Log>, found: &[Finding]) -> Vec<Finding> {
    let (Some(log), Some(bundle)) = (log.filter(|log| !log.is_broken()), subject.bundle.get()) else {
        return vec![];
    };
    let mut more: Vec<Finding> = Vec::new();
    for claim in bundle.claims().filter(Claim::asserts_pass) {
        for command in claim.commands().chain([claim.field()]) {
            let claimed = Claimed {
                check: text::line(claim.check(), 80),
                command: normalized(command),
                words: String::new(),
            };
            if !log.runs.contains_key(&claimed.command) {
                continue;
            }
            let Some(Some(finding)) = held(Some(log), &claimed) else { continue };
            let known = |other: &Finding| other.kind == finding.kind && other.about == finding.about;
            if !found.iter().chain(&more).any(known) {
                more.push(finding);
            }
        }
    }
    more
}
