//! `tally init`: one command that installs hooks and conf, verifies, and says what came of it.

mod wizard;

use super::Context;
use super::failure::Failure;
use crate::settings::policies::Policies;
use crate::setup::console::{Flags, Mistake, TokenSource};
use crate::setup::doctor::report::{Finding, Reachability, Report, Severity};
use crate::setup::doctor::{self, Network, Reach};
use crate::setup::place::{Place, Scope};
use crate::setup::plan::{Planned, Summary};
use crate::setup::{apply, hosts, plan};
use serde::Serialize;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

/// Set up: hooks of hosts, and a Console if you want one; then verify it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    at: At,
    /// A host to set up: claude-code, codex, opencode, pi, kiro. May be repeated; those in use here if not given.
    #[arg(long = "host", value_name = "NAME", value_parser = hosts::NAMES)]
    hosts: Vec<String>,
    /// Where records go: local-files, local-kontour-console, kontour-hosted-console, user-hosted-console.
    #[arg(long = "telemetry-sink", visible_alias = "telemetry-sinks", value_name = "NAME")]
    sinks: Vec<String>,
    /// Base URL of the Console.
    #[arg(long, value_name = "U")]
    console_url: Option<String>,
    /// Endpoint of telemetry events, instead of a base URL; economics and claims go to /records at its origin.
    #[arg(long, visible_alias = "console-endpoint-url", value_name = "U")]
    console_endpoint: Option<String>,
    /// The tenant.
    #[arg(long, visible_alias = "console-tenant-id", value_name = "T")]
    console_tenant: Option<String>,
    /// A file that holds the token; a token is never an argument.
    #[arg(long, value_name = "F")]
    console_token_file: Option<PathBuf>,
    /// Send economics records; what holds if you never said.
    #[arg(long, conflicts_with = "no_economics_relay")]
    economics_relay: bool,
    /// Send no economics records.
    #[arg(long)]
    no_economics_relay: bool,
    /// Send claims, heartbeats and releases.
    #[arg(long, conflicts_with = "no_liveness_relay")]
    liveness_relay: bool,
    /// Send no claims; what holds if you never said.
    #[arg(long)]
    no_liveness_relay: bool,
    /// What policies do: off, warn (say what they would refuse), block; off if you never said.
    #[arg(long, value_name = "MODE", value_parser = Policies::WORDS)]
    policies: Option<String>,
    #[command(flatten)]
    how: How,
}

/// Where a set-up is.
#[derive(Debug, clap::Args)]
pub(super) struct At {
    /// The project's folder; the current one's if not given.
    #[arg(long, value_name = "DIR")]
    pub(super) dest: Option<PathBuf>,
    /// For all your projects, in your home.
    #[arg(long)]
    pub(super) global: bool,
}

/// How it is done.
#[derive(Debug, clap::Args)]
pub(super) struct How {
    /// Ask nothing.
    #[arg(long, visible_alias = "headless")]
    pub(super) yes: bool,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

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

pub(super) fn run(args: &Args, context: &mut Context<'_>) -> Result<u8, Failure> {
    let place = args.at.place(context)?;
    let mut flags = args.flags();
    if !args.how.yes && !args.how.dry_run {
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
    if let Some(file) = &args.console_token_file
        && plan::is_open(&context.cwd.join(file))
    {
        notes.push(format!("others can read {}: remove it, the conf has the token now", file.display()));
    }
    if place.scope == Scope::Workspace && place.dest == place.home {
        notes.push("this is your home as one project; for all your projects use --global".to_owned());
    }
    let names = if args.hosts.is_empty() {
        hosts::detected(&place)
    } else {
        args.hosts.iter().map(String::as_str).collect()
    };
    planned.extend(plan::hosts(&place, &names));
    let files = if args.how.dry_run {
        planned.iter().map(Planned::summary).collect()
    } else {
        apply::apply(&place, &planned)
            .map_err(|error| Failure::Failed(format!("{}: {error}", place.state.display())))?
    };
    notes.extend(names.iter().filter_map(|name| hosts::next_step(name)).map(str::to_owned));
    let report = (!args.how.dry_run).then(|| doctor::examine(&place, Network { reach, timeout: PATIENCE }));
    let done = Done { place: &place, files: &files, report: report.as_ref(), notes: &notes };
    if args.how.json {
        done.print_json(context)?
    } else {
        done.print(context)?
    }
    Ok(u8::from(files.iter().any(|file| file.action == "refused")))
}

fn gave_up() -> Failure {
    Failure::Failed("nothing was changed".to_owned())
}

impl At {
    pub(super) fn place(&self, context: &Context<'_>) -> Result<Place, Failure> {
        Place::find(context.env, context.cwd, self.dest.as_deref(), self.global)
            .map_err(|nowhere| Failure::Usage(nowhere.0))
    }
}

impl Args {
    fn flags(&self) -> Flags {
        let switch = |on, off| (on || off).then_some(on);
        Flags {
            sinks: self.sinks.clone(),
            url: self.console_url.clone(),
            endpoint: self.console_endpoint.clone(),
            tenant: self.console_tenant.clone(),
            token: self.console_token_file.clone().map(TokenSource::File),
            economics_relay: switch(self.economics_relay, self.no_economics_relay),
            liveness_relay: switch(self.liveness_relay, self.no_liveness_relay),
            policies: Policies::WORDS.into_iter().find(|word| self.policies.as_deref() == Some(word)),
        }
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
            "unverified-failed" => {
                let why = report.console.reachability.error.as_deref().unwrap_or("it does not say so");
                context.red(&format!(
                    "{url} does NOT accept what is configured: {why}; it is stored all the same"
                ))
            }
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
