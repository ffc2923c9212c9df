//! Whether hosts call us: which of their files do, whether as this program would write them, whether as they were
//! installed, and when they last did.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::report::{Finding, HookReport};
use crate::hosts::InstallationReceipt;
use crate::setup::hosts::{self, Target};
use crate::setup::place::{Place, Scope};
use crate::setup::receipt::Receipt;
use crate::setup::{command, install, plan};
use crate::sys::{clock, files, order};

/// Session files that are looked at, the newest first.
const MAX_SESSIONS: usize = 32;
/// A session's last line is not longer than this (see `economics::session`).
const TAIL: u64 = 256 * 1024;

/// The hooks of every host that has any, here and for all workspaces, and what is wrong with them.
pub(super) fn look(place: &Place, data_dir: &Path) -> (Vec<HookReport>, Vec<Finding>) {
    let seen = last_events(data_dir);
    let (mut reports, mut findings) = (vec![], vec![]);
    let mut places = vec![Installed::at(place.clone(), &mut findings)];
    if place.scope == Scope::Workspace && place.dest != place.home {
        places.push(Installed::at(place.global(), &mut findings));
    }
    for host in hosts::NAMES {
        let mut calling = vec![];
        for at in &places {
            let verified = at.verify(host, &mut findings);
            for target in hosts::candidates(host, &at.place) {
                let (report, found) = one(&at.place, &target, &verified, seen.get(host));
                if report.installed {
                    calling.push(report.file.display().to_string());
                    reports.push(report);
                }
                findings.extend(found);
            }
        }
        if host != "kiro" && calling.len() > 1 {
            let said = format!("{host} calls tally twice for each event: {}", calling.join(" and "));
            findings.push(Finding::warning(
                "hooks-twice",
                said,
                format!("tally uninstall --yes --global --host {host}"),
            ));
        }
    }
    if reports.is_empty() {
        let said = "no host calls tally here, so nothing is recorded";
        findings.push(Finding::warning("hooks-missing", said, "tally init --yes --host claude-code"));
    } else if reports.iter().all(|report| report.last_event_at.is_none()) {
        let said = "no event of any host was seen here yet";
        findings.push(Finding::info(
            "hooks-silent",
            said,
            "start a session of the host here, then run tally doctor again",
        ));
    }
    (reports, findings)
}

/// A place, and what was installed there.
struct Installed {
    place: Place,
    hosts: Vec<InstallationReceipt>,
}

/// By an asset's id, whether it is what was installed.
type Verified = BTreeMap<String, bool>;

impl Installed {
    fn at(place: Place, findings: &mut Vec<Finding>) -> Self {
        let hosts = Receipt::load(&place.state, &place.dest).map(|receipt| receipt.hosts);
        let hosts = hosts.unwrap_or_else(|error| {
            let said = format!("what was installed cannot be told, for the receipt is unreadable: {error}");
            let fix = format!("see {}", command::quote(&place.state.to_string_lossy()));
            findings.push(Finding::warning("receipt-unreadable", said, fix));
            vec![]
        });
        Self { place, hosts }
    }

    /// Hashes again what was installed in `host`.
    fn verify(&self, host: &str, findings: &mut Vec<Finding>) -> Verified {
        let mut verified = Verified::new();
        for receipt in self.hosts.iter().filter(|receipt| receipt.host_id == host) {
            verified.extend(receipt.installed.iter().map(|one| (one.id.clone(), true)));
            for drift in install::drift(&self.place, receipt) {
                let said = format!("{host}: {}", install::said(&self.place, host, &drift));
                findings.push(Finding::warning("hooks-drifted", said, install::again(&self.place, host)));
                verified.insert(drift.installed.id, false);
            }
        }
        verified
    }
}

fn one(
    place: &Place,
    target: &Target,
    verified: &Verified,
    seen: Option<&i64>,
) -> (HookReport, Option<Finding>) {
    let text = files::read_bounded(&install::real(target), plan::MAX_BYTES).ok().flatten();
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    let calls = text.as_deref().and_then(|text| target.ours(text).ok()).unwrap_or_default();
    let current =
        text.as_deref().is_some_and(|text| target.merge(Some(text)).is_ok_and(|after| after == text));
    let report = HookReport {
        host: target.host,
        scope: place.scope,
        file: target.path.clone(),
        installed: !calls.is_empty(),
        current: current && !calls.is_empty(),
        verified: verified.get(&target.id).copied(),
        last_event_at: seen.and_then(|at_ms| clock::rfc3339(*at_ms)),
    };
    let again = install::again(place, target.host);
    let gone = calls.iter().filter_map(|(_, command)| command::program(command)).map(PathBuf::from);
    let gone = gone.filter(|program| program.is_absolute()).find(|program| !program.exists());
    let finding = match gone {
        Some(program) => {
            let said = format!("{} calls {}, which is not there", target.path.display(), program.display());
            Some(Finding::error("hooks-broken", said, again))
        }
        None if report.installed && !report.current => {
            let said = format!("{} calls tally otherwise than this version would", target.path.display());
            Some(Finding::warning("hooks-outdated", said, again))
        }
        None => None,
    };
    (report, finding)
}

/// When each host was last heard of, in epoch milliseconds, as the session files tell.
fn last_events(data_dir: &Path) -> BTreeMap<String, i64> {
    let listing = std::fs::read_dir(data_dir.join("sessions")).into_iter().flatten().flatten();
    let mut sessions: Vec<(i64, PathBuf)> = listing
        .filter(|item| item.path().extension().is_some_and(|end| end == "jsonl"))
        .filter_map(|item| {
            let modified = item.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            Some((i64::try_from(modified.as_millis()).ok()?, item.path()))
        })
        .collect();
    order::sort_by_key(&mut sessions, |(at_ms, _)| std::cmp::Reverse(*at_ms));
    let mut seen = BTreeMap::new();
    for (at_ms, path) in sessions.into_iter().take(MAX_SESSIONS) {
        if let Some(host) = host_of(&path) {
            seen.entry(host).or_insert(at_ms);
        }
    }
    seen
}

/// The host in the last head of a session file.
fn host_of(path: &Path) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Line {
        head: Head,
    }
    #[derive(serde::Deserialize)]
    struct Head {
        host: String,
    }
    let tail = files::read_tail(path, TAIL).ok()?;
    let lines = tail.split(|byte| *byte == b'\n').rev();
    lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok()).map(|line| line.head.host).next()
}
