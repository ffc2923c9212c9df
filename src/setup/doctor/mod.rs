//! The doctor: what is set up here, where each value comes from, whether the Console takes it, whether hosts call us, and
//! what to do about what is wrong. It reads, and asks the Console one question; it writes nothing.

mod console;
mod hooks;
mod places;
pub mod report;

pub use console::{Network, Reach};
use report::{
    ConsoleReport, Finding, OutboxReport, PricingReport, RelayReport, Report, Severity, SwitchReport,
    TelemetryReport,
};

use super::place::{Place, Scope};
use crate::pricing;
use crate::pricing::Origin;
use crate::relay;
use crate::settings::Settings;
use crate::settings::conf::Conf;
use crate::settings::destination::{Destination, Source};
use crate::settings::env::{Env, Var, vars};
use crate::settings::switch::{Switch, do_not_track};
use crate::sys::order;
use url::Url;

/// Looks at `place`.
#[must_use]
pub fn examine(place: &Place, network: Network) -> Report {
    let env = match place.scope {
        Scope::Workspace => place.env.clone(),
        // What holds for all workspaces is the user's conf alone.
        Scope::UserGlobal => place.env.with(&vars::TELEMETRY_CONFIG_FILE, place.conf.as_os_str()),
    };
    let settings = Settings::load(&env, &place.dest);
    let reach = if do_not_track(&env) { Reach::Nowhere("DO_NOT_TRACK is set") } else { network.reach };
    let network = Network { reach, ..network };
    let (conf, mut findings) = places::conf(place, &env, &settings);
    findings.extend(places::environment(place, &env, &settings));
    findings.extend(places::channels(&settings));
    let (console, found) = of_console(&env, &settings, network);
    findings.extend(found);
    let (hooks, found) = hooks::look(place, &settings.data_dir);
    findings.extend(found);
    let (outbox, found) = of_outbox(&settings);
    findings.extend(found);
    let (pricing, found) = of_pricing(&env, &settings);
    findings.extend(found);
    if !settings.enabled {
        let fix = "unset TELEMETRY_ENABLED, or take `enabled` out of the conf";
        findings.push(Finding::error(
            "telemetry-off",
            "hooks record nothing: telemetry is switched off",
            fix,
        ));
    }
    order::sort_by_key(&mut findings, |finding| finding.severity);
    let mut active_sinks = vec!["local-files"];
    if console.sink == "console" && settings.economics_relay.on {
        active_sinks.push("console");
    }
    Report {
        ok: findings.iter().all(|finding| finding.severity != Severity::Error),
        destination: place.dest.clone(),
        telemetry: TelemetryReport {
            config_file: conf.path.clone(),
            config_exists: conf.trusted.is_some(),
            enabled: settings.enabled,
            enabled_source: source(
                env.get(&vars::TELEMETRY_ENABLED).is_some(),
                settings.conf.as_ref().is_some_and(|conf| conf.get("enabled").is_some()),
                "default",
            ),
            session_dir: settings.data_dir.join("sessions"),
            data_dir: settings.data_dir.clone(),
            channels: settings.channels.on.iter().map(|channel| channel.name).collect(),
            active_sinks,
        },
        conf,
        console,
        relay: RelayReport {
            economics: of_switch(&settings.economics_relay),
            liveness: of_switch(&settings.liveness_relay),
            telemetry: of_switch(&settings.telemetry_relay),
        },
        hooks,
        outbox,
        pricing,
        policies: settings.policies.as_str(),
        warnings: findings
            .iter()
            .filter(|finding| finding.severity == Severity::Warning)
            .map(|finding| finding.message.clone())
            .collect(),
        findings,
    }
}

fn source(environment: bool, conf: bool, otherwise: &'static str) -> &'static str {
    match (environment, conf) {
        (true, _) => "environment",
        (false, true) => "config-file",
        (false, false) => otherwise,
    }
}

fn of_switch(switch: &Switch) -> SwitchReport {
    SwitchReport { on: switch.on, reason: switch.reason.clone() }
}

fn of_console(env: &Env, settings: &Settings, network: Network) -> (ConsoleReport, Vec<Finding>) {
    let mut findings = vec![];
    let Some(destination) = &settings.destination else {
        let report = ConsoleReport {
            sink: "local-only",
            url: None,
            endpoint_url: None,
            endpoint_allowed: false,
            token_configured: false,
            tenant_configured: settings.tenant.is_some(),
            url_source: "absent",
            token_source: "absent",
            tenant_source: "absent",
            authenticated: None,
            reachability: report::Reachability::default(),
        };
        return (report, findings);
    };
    for problem in &destination.problems {
        let fix = "tally init --yes --console-url URL";
        findings.push(Finding::error("endpoint-refused", format!("{problem}; nothing is sent there"), fix));
    }
    if destination.tenant.is_none() {
        let said = "no tenant is configured: records carry the tenant that the token belongs to";
        findings.push(Finding::warning("tenant-missing", said, "tally init --yes --console-tenant TENANT"));
    }
    findings.extend(places::token_file(destination));
    let answer = console::ask(destination, network);
    findings.extend(answer.finding);
    let from = match &destination.source {
        Source::Environment => "environment",
        Source::Flag | Source::Conf(_) => "config-file",
    };
    let of = |there: bool| if there { from } else { "absent" };
    let read = destination.read_endpoint();
    let report = ConsoleReport {
        sink: "console",
        url: base_url(env, settings, destination).map(|text| redacted(&text)),
        endpoint_url: destination.economics.as_ref().map(|endpoint| redacted(endpoint.url().as_str())),
        endpoint_allowed: read.is_some_and(|endpoint| console::is_allowed(&endpoint, network)),
        token_configured: destination.has_token(),
        tenant_configured: destination.tenant.is_some(),
        url_source: from,
        token_source: of(destination.has_token()),
        tenant_source: of(destination.tenant.is_some()),
        authenticated: answer.authenticated,
        reachability: answer.reachability,
    };
    (report, findings)
}

/// The base URL as it was configured.
fn base_url(env: &Env, settings: &Settings, destination: &Destination) -> Option<String> {
    let text = match destination.source {
        Source::Environment => {
            const NAMES: [&Var; 3] =
                [&vars::FLOW_AGENTS_CONSOLE_URL, &vars::CONSOLE_TELEMETRY_URL, &vars::CONSOLE_URL];
            env.first(&NAMES)
        }
        _ => settings.conf.as_ref().and_then(|conf: &Conf| conf.get("console_telemetry_url")),
    };
    text.map(str::to_owned)
}

/// A URL without user name, password, fragment and the values of its query.
fn redacted(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return "[malformed-url]".to_owned() };
    // Both fail only for URLs that cannot have any.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let names: Vec<String> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
    if !names.is_empty() {
        url.query_pairs_mut().clear().extend_pairs(names.iter().map(|name| (name, "[redacted]")));
    }
    url.to_string()
}

fn of_outbox(settings: &Settings) -> (Option<OutboxReport>, Vec<Finding>) {
    let mut findings = vec![];
    let status = match relay::status(&settings.data_dir) {
        Ok(status) => status,
        Err(error) => {
            findings.push(Finding::error("outbox-unreadable", error.to_string(), "tally relay status"));
            return (None, findings);
        }
    };
    for waiting in status.origins.iter().flat_map(|origin| &origin.waiting) {
        let said = format!("records wait for a credential: {} [{}]", waiting.reason, waiting.source);
        findings.push(Finding::warning(
            "outbox-waiting",
            said,
            "mend the credential, then: tally relay flush",
        ));
    }
    if status.rejected > 0 {
        let said = format!("the Console refused {} records for good", status.rejected);
        let fix = format!("see why: {}", settings.data_dir.join("outbox/rejected.jsonl").display());
        findings.push(Finding::warning("outbox-rejected", said, fix));
    }
    if status.evicted > status.superseded {
        let said = format!("{} records made room in a full outbox", status.evicted - status.superseded);
        findings.push(Finding::warning(
            "outbox-evicted",
            said,
            "they are still in the journal: tally economics show",
        ));
    }
    if status.delivered_before > 0 {
        let said = format!("the Console knew {} ids before we first sent them", status.delivered_before);
        findings.push(Finding::warning(
            "outbox-foreign-ids",
            said,
            "see who else sends these run ids: tally relay status",
        ));
    }
    let report = OutboxReport {
        enqueued: status.enqueued,
        delivered: status.delivered,
        rejected: status.rejected,
        evicted: status.evicted,
        pending: status.pending,
        oldest_pending_at: status.oldest.and_then(|oldest| oldest.enqueued_at),
    };
    (Some(report), findings)
}

fn of_pricing(env: &Env, settings: &Settings) -> (PricingReport, Vec<Finding>) {
    let loaded = pricing::load(&settings.pricing);
    let findings = loaded
        .warnings
        .iter()
        .map(|warning| Finding::warning("pricing-registry", warning.clone(), "tally pricing check FILE"))
        .collect();
    let (origin, path) = match loaded.origin {
        Origin::File(path) => ("file", Some(path)),
        Origin::Cached(path) => ("cached", Some(path)),
        Origin::Bundled => ("bundled", None),
    };
    let version = loaded.registry.table(None).map(|table| table.version().to_owned());
    const NAMES: [&Var; 4] = [
        &vars::TELEMETRY_PRICING_FILE,
        &vars::FLOW_AGENTS_PRICING_FILE,
        &vars::TELEMETRY_PRICING_URL,
        &vars::FLOW_AGENTS_PRICING_URL,
    ];
    let configured = settings.pricing.file.is_some() || settings.pricing.url.is_some();
    let source = source(env.first(&NAMES).is_some(), configured, "default");
    (PricingReport { origin, path, source, version }, findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_what_may_be_secret() {
        assert_eq!(
            redacted("https://u:pa55@c.example/a?token=s&x=s#s"),
            "https://c.example/a?token=%5Bredacted%5D&x=%5Bredacted%5D"
        );
        assert_eq!(redacted("https://c.example"), "https://c.example/");
        assert_eq!(redacted("no url"), "[malformed-url]");
    }
}
