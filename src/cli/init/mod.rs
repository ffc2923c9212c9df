//! `tally init`: one command that installs hooks and conf, verifies, and says what came of it.

mod wizard;

use super::Context;
use super::failure::Failure;
use super::verb::Does::Run;
use super::verb::Kind::{Choice, Path, Text};
use super::verb::{Arg, Given, Verb, flag, option};
use crate::settings::policies::Policies;
use crate::setup::console::{Flags, Mistake, TokenSource};
use crate::setup::doctor::report::{Finding, Reachability, Report, Severity};
use crate::setup::doctor::{self, Network, Reach};
use crate::setup::place::{Place, Scope};
use crate::setup::plan::{Planned, Summary};
use crate::setup::{apply, hosts, plan};
use serde::Serialize;
use std::io::{self, IsTerminal};
use std::time::Duration;

pub(super) const VERB: Verb = Verb {
    name: "init",
    about: "Set up: hooks of hosts, and a Console if you want one; then verify it",
    does: Run(run),
    args: &[
        DEST,
        GLOBAL,
        option(
            "host",
            "NAME",
            Choice(&hosts::NAMES),
            "A host to set up: claude-code, codex, opencode, pi, kiro. May be repeated; those in use here if not given",
        )
        .many(),
        option(
            "telemetry-sink",
            "NAME",
            Text,
            "Where records go: local-files, local-kontour-console, kontour-hosted-console, user-hosted-console",
        )
        .many()
        .alias("telemetry-sinks"),
        option("console-url", "U", Text, "Base URL of the Console"),
        option(
            "console-endpoint",
            "U",
            Text,
            "Endpoint of telemetry events, instead of a base URL; economics and claims go to /records at its origin",
        )
        .alias("console-endpoint-url"),
        option("console-tenant", "T", Text, "The tenant").alias("console-tenant-id"),
        option("console-token-file", "F", Path, "A file that holds the token; a token is never an argument"),
        flag("economics-relay", "Send economics records; what holds if you never said")
            .against("no-economics-relay"),
        flag("no-economics-relay", "Send no economics records"),
        flag("liveness-relay", "Send claims, heartbeats and releases").against("no-liveness-relay"),
        flag("no-liveness-relay", "Send no claims; what holds if you never said"),
        flag("events-relay", "Send session events; what holds if you never said").against("no-events-relay"),
        flag("no-events-relay", "Send no session events"),
        option(
            "policies",
            "MODE",
            Choice(&Policies::WORDS),
            "What policies do: off, warn (say what they would refuse), block; off if you never said",
        ),
        YES,
        DRY_RUN,
        JSON,
    ],
};

// Where a set-up is.
pub(super) const DEST: Arg =
    option("dest", "DIR", Path, "The project's folder; the current one's if not given");
pub(super) const GLOBAL: Arg = flag("global", "For all your projects, in your home");

// How it is done.
pub(super) const YES: Arg = flag("yes", "Ask nothing").alias("headless");
pub(super) const DRY_RUN: Arg = flag("dry-run", "Say what would be done, and do nothing");
pub(super) const JSON: Arg = flag("json", "Print one JSON object");

/// How long verifying may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// What `--json` prints; `schemas/init.schema.json` is its contract.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    dry_run: bool,
    scope: Scope,
    destination: &'a std::path::Path,
    files: &'a [Summary],
    verification: Verification<'a>,
    findings: &'a [Finding],
    notes: &'a [String],
}

/// Whether the Console takes what was configured.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verification<'a> {
    /// `verified`, `unverified-failed`, `unverified-not-attempted` or `not-configured`.
    state: &'static str,
    conf: Option<&'a std::path::Path>,
    conf_scope: Option<&'static str>,
    url: Option<&'a str>,
    authenticated: Option<bool>,
    reachability: Option<&'a Reachability>,
}

fn run(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let place = place(given, context)?;
    let dry_run = given.flag("dry-run");
    let mut flags = flags(given);
    if !given.flag("yes") && !dry_run {
        if !io::stdin().is_terminal() {
            return Err(Failure::Usage(
                "nobody can be asked here: standard input is no terminal; add --yes, and for a Console \
                 --telemetry-sink NAME (or --console-url U), --console-token-file F and --console-tenant T"
                    .to_owned(),
            ));
        }
        if !flags.any() {
            let mut terminal = wizard::Terminal { out: context.err };
            flags = wizard::ask(context.env, &mut terminal)?.ok_or_else(gave_up)?;
        }
    }
    let usage = |mistake: Mistake| Failure::Usage(mistake.0);
    let change = flags.validate(context.env, context.cwd).map_err(usage)?;
    let mut notes = vec![];
    let mut reach = Reach::Anywhere;
    let mut planned: Vec<Planned> = vec![];
    if flags.any() {
        plan::check(&place, &change).map_err(usage)?;
        if let Some(from) = plan::moved_token(&place, &change) {
            notes.push(format!(
                "the token that was given for {from} stays in the conf and now goes to the new Console; if it is not \
                 meant for it, give another with --console-token-file"
            ));
            reach = Reach::Nowhere("the Console moved and the token did not: run tally doctor to ask it");
        }
        notes.extend(plan::shadowed(&place, &change));
        planned.extend(plan::conf(&place, &change));
    }
    if let Some(file) = given.path("console-token-file")
        && plan::is_open(&context.cwd.join(file))
    {
        notes.push(format!("others can read {}: remove it, the conf has the token now", file.display()));
    }
    if place.scope == Scope::Workspace && place.dest == place.home {
        notes.push("this is your home as one project; for all your projects use --global".to_owned());
    }
    let named = given.texts("host");
    let names = if named.is_empty() { hosts::detected(&place) } else { named };
    planned.extend(plan::hosts(&place, &names));
    let files = if dry_run {
        planned.iter().map(Planned::summary).collect()
    } else {
        apply::apply(&place, &planned)
            .map_err(|error| Failure::Failed(format!("{}: {error}", place.state.display())))?
    };
    notes.extend(names.iter().filter_map(|name| hosts::next_step(name)).map(str::to_owned));
    let report = (!dry_run).then(|| doctor::examine(&place, Network { reach, timeout: PATIENCE }));
    let done = Done { place: &place, files: &files, report: report.as_ref(), notes: &notes };
    if given.flag("json") {
        done.print_json(context)?
    } else {
        done.print(context)?
    }
    Ok(u8::from(files.iter().any(|file| file.action == "refused")))
}

fn gave_up() -> Failure {
    Failure::Failed("nothing was changed".to_owned())
}

/// Where the set-up is, by [`DEST`] and [`GLOBAL`].
pub(super) fn place(given: &Given<'_>, context: &Context<'_>) -> Result<Place, Failure> {
    Place::find(context.env, context.cwd, given.path("dest"), given.flag("global"))
        .map_err(|nowhere| Failure::Usage(nowhere.0))
}

fn flags(given: &Given<'_>) -> Flags {
    let switch = |on, off| {
        let on = given.flag(on);
        (on || given.flag(off)).then_some(on)
    };
    let text = |id| given.text(id).map(str::to_owned);
    Flags {
        sinks: given.texts("telemetry-sink").into_iter().map(str::to_owned).collect(),
        url: text("console-url"),
        endpoint: text("console-endpoint"),
        tenant: text("console-tenant"),
        token: given.path("console-token-file").map(|file| TokenSource::File(file.to_path_buf())),
        economics_relay: switch("economics-relay", "no-economics-relay"),
        liveness_relay: switch("liveness-relay", "no-liveness-relay"),
        telemetry_relay: switch("events-relay", "no-events-relay"),
        policies: Policies::WORDS.into_iter().find(|word| given.text("policies") == Some(word)),
    }
}

/// What was done, and what is known of it.
struct Done<'a> {
    place: &'a Place,
    files: &'a [Summary],
    report: Option<&'a Report>,
    notes: &'a [String],
}

impl Done<'_> {
    fn verification(&self) -> Verification<'_> {
        let Some(report) = self.report else {
            let state = "unverified-not-attempted";
            return Verification {
                state,
                conf: None,
                conf_scope: None,
                url: None,
                authenticated: None,
                reachability: None,
            };
        };
        let console = &report.console;
        let state = match (console.sink, console.authenticated, console.reachability.ok) {
            ("console", Some(true), _) => "verified",
            ("console", Some(false), _) | ("console", _, Some(false)) => "unverified-failed",
            // A Console that asks for no token has nothing to verify but that it is there.
            ("console", None, Some(true)) if !console.token_configured => "verified",
            ("console", None, Some(true)) => "unverified-failed",
            ("console", None, None) if report.findings.iter().any(is_credential) => "unverified-failed",
            ("console", None, None) => "unverified-not-attempted",
            _ => "not-configured",
        };
        Verification {
            state,
            conf: report.conf.trusted.map(|_| report.conf.path.as_path()),
            conf_scope: Some(report.conf.scope),
            url: console.url.as_deref().or(console.endpoint_url.as_deref()),
            authenticated: console.authenticated,
            reachability: Some(&console.reachability),
        }
    }

    fn findings(&self) -> &[Finding] {
        self.report.map_or(&[], |report| &report.findings)
    }

    fn print_json(&self, context: &mut Context<'_>) -> io::Result<()> {
        let answer = Answer {
            dry_run: self.report.is_none(),
            scope: self.place.scope,
            destination: &self.place.dest,
            files: self.files,
            verification: self.verification(),
            findings: self.findings(),
            notes: self.notes,
        };
        serde_json::to_writer_pretty(&mut *context.out, &answer)?;
        writeln!(context.out)
    }

    fn print(&self, context: &mut Context<'_>) -> io::Result<()> {
        let what = if self.report.is_none() { "What would be done" } else { "What was done" };
        writeln!(context.out, "{what} in {}", self.place.dest.display())?;
        for file in self.files {
            let line = format!("  {:<12} {:<9}  {}", file.role, file.action, file.path.display());
            let line = if file.action == "refused" { context.red(&line) } else { line };
            writeln!(context.out, "{line}")?;
            if let Some(reason) = &file.reason {
                writeln!(context.out, "               {reason}")?;
            }
            if let Some(backup) = &file.backup {
                writeln!(context.out, "               before: {}", backup.display())?;
            }
        }
        if let Some(report) = self.report {
            self.print_console(report, context)?;
        }
        for note in self.notes {
            writeln!(context.out, "note: {note}")?;
        }
        let bad = self.findings().iter().filter(|finding| finding.severity != Severity::Info);
        for finding in bad {
            let line = match finding.severity {
                Severity::Error => context.red(&format!("error: {}", finding.message)),
                _ => format!("warning: {}", finding.message),
            };
            writeln!(context.out, "{line}\n  fix: {}", finding.fix)?;
        }
        Ok(())
    }

    fn print_console(&self, report: &Report, context: &mut Context<'_>) -> io::Result<()> {
        let verification = self.verification();
        let url = verification.url.unwrap_or("(no URL)");
        let said = match verification.state {
            "verified" if report.console.token_configured => {
                format!("{url} accepts the token for the tenant")
            }
            "verified" => format!("{url} answers"),
            "unverified-failed" => match report.console.reachability.error.as_deref() {
                Some(why) => context.red(&format!(
                    "{url} does NOT accept what is configured: {why}; it is stored all the same"
                )),
                // A Console in local mode, or `tally relay listen`.
                None => format!("{url} answers, and checks no token"),
            },
            "unverified-not-attempted" => {
                let why = report.console.reachability.error.as_deref().unwrap_or("not asked");
                format!("{url} was not asked: {why}")
            }
            _ => "none: records stay on this machine".to_owned(),
        };
        writeln!(context.out, "Console: {said}")?;
        if let Some(conf) = verification.conf {
            writeln!(context.out, "  from {} ({})", conf.display(), report.conf.scope)?;
        }
        Ok(())
    }
}

fn is_credential(finding: &Finding) -> bool {
    matches!(finding.id, "credential-unusable" | "endpoint-refused")
}
