//! `tally doctor`: what is set up, whether it works, and what to do where it does not.

use super::Context;
use super::failure::Failure;
use super::init::DEST;
use super::verb::Does::Run;
use super::verb::Kind::Text;
use super::verb::{Given, Verb, flag, option};
use crate::setup::doctor::report::{Report, Severity};
use crate::setup::doctor::{self, Network, Reach};
use crate::setup::place::Place;
use std::io;
use std::time::Duration;

pub(super) const VERB: Verb = Verb {
    name: "doctor",
    about: "Say what is set up here, whether it works, and what to do where it does not",
    does: Run(run),
    args: &[
        DEST,
        flag("json", "Print one JSON object (schemas/doctor.schema.json)"),
        flag("headless", "Ask nothing; it never does"),
        option("timeout-ms", "N", Text, "How long an answer of the Console may take, in milliseconds")
            .takes_dashes(),
        flag("allow-network", "Ask a Console that is neither on this machine nor the hosted one"),
    ],
};

/// What holds without `--timeout-ms`, and where it is no positive number (contract H).
const TIMEOUT_MS: u64 = 2000;

fn run(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let place = Place::find(context.env, context.cwd, given.path("dest"), false)
        .map_err(|nowhere| Failure::Usage(nowhere.0))?;
    let timeout_ms = given.text("timeout-ms").and_then(|text| text.trim().parse().ok()).filter(|ms| *ms > 0);
    let reach = if given.flag("allow-network") { Reach::Anywhere } else { Reach::Known };
    let timeout = Duration::from_millis(timeout_ms.unwrap_or(TIMEOUT_MS));
    let report = doctor::examine(&place, Network { reach, timeout });
    if given.flag("json") {
        serde_json::to_writer_pretty(&mut *context.out, &report).map_err(io::Error::from)?;
        writeln!(context.out)?;
    } else {
        print(&report, context)?;
    }
    Ok(u8::from(!report.ok))
}

fn print(report: &Report, context: &mut Context<'_>) -> io::Result<()> {
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    let healthy = if report.ok { "healthy".to_owned() } else { context.red("not healthy") };
    let out = &mut *context.out;
    writeln!(out, "{}: {healthy}", report.destination.display())?;
    let trusted =
        report.conf.trusted.map_or("", |trusted| if trusted { ", trusted" } else { ", NOT trusted" });
    writeln!(out, "  conf        {} ({}{trusted})", report.conf.path.display(), report.conf.scope)?;
    writeln!(out, "  journals    {}", report.telemetry.data_dir.display())?;
    let console = &report.console;
    match console.url.as_ref().or(console.endpoint_url.as_ref()) {
        None => writeln!(out, "  Console     none: records stay on this machine")?,
        Some(url) => {
            let accepted = console.authenticated.map_or("unknown", yes);
            writeln!(out, "  Console     {url} ({})", console.url_source)?;
            writeln!(
                out,
                "              token {}, tenant {}, accepted: {accepted}",
                console.token_source, console.tenant_source
            )?;
        }
    }
    let relay = &report.relay;
    for (name, switch) in
        [("economics", &relay.economics), ("events", &relay.telemetry), ("claims", &relay.liveness)]
    {
        writeln!(out, "  {name:<11} relay {}: {}", if switch.on { "on" } else { "off" }, switch.reason)?;
    }
    for hook in &report.hooks {
        let seen = hook.last_event_at.as_deref().unwrap_or("never");
        let current = if hook.current { "" } else { ", outdated" };
        let drifted = if hook.verified == Some(false) { ", not as installed" } else { "" };
        let file = hook.file.display();
        writeln!(out, "  hooks       {} in {file}{current}{drifted}; last event: {seen}", hook.host)?;
    }
    if let Some(outbox) = &report.outbox {
        writeln!(
            out,
            "  outbox      {} delivered, {} pending, {} rejected",
            outbox.delivered, outbox.pending, outbox.rejected
        )?;
    }
    let version = report.pricing.version.as_deref().unwrap_or("unknown");
    writeln!(out, "  prices      {version} ({})", report.pricing.origin)?;
    writeln!(out, "  policies    {}", report.policies)?;
    for finding in &report.findings {
        let (word, red) = match finding.severity {
            Severity::Error => ("error", true),
            Severity::Warning => ("warning", false),
            Severity::Info => ("info", false),
        };
        let line = format!("{word} [{}]: {}", finding.id, finding.message);
        let line = if red { context.red(&line) } else { line };
        writeln!(context.out, "{line}\n  fix: {}", finding.fix)?;
    }
    Ok(())
}
