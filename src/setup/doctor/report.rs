//! What the doctor says: the fields of the incumbent's report (contract H) with the same names and meaning, and ours.
//! `schemas/doctor.schema.json` is the contract of its JSON form. No field ever holds a secret.

use std::path::PathBuf;

use serde::Serialize;

use crate::setup::place::Scope;

/// The whole report.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Whether no finding is an error.
    pub ok: bool,
    /// The folder that was looked at.
    pub destination: PathBuf,
    /// The conf that holds there.
    pub conf: ConfReport,
    /// Local telemetry.
    pub telemetry: TelemetryReport,
    /// The Console.
    pub console: ConsoleReport,
    /// What is relayed, and why.
    pub relay: RelayReport,
    /// The hooks of each host.
    pub hooks: Vec<HookReport>,
    /// The outbox; `None` where it cannot be read.
    pub outbox: Option<OutboxReport>,
    /// The price registry in force.
    pub pricing: PricingReport,
    /// What policies do: `off`, `warn` or `block`.
    pub policies: &'static str,
    /// What is wrong or worth knowing, errors first.
    pub findings: Vec<Finding>,
    /// The messages of the findings that are warnings, for readers of the incumbent's report.
    pub warnings: Vec<String>,
}

/// The conf that holds.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfReport {
    /// Where it is, or would be looked for first.
    pub path: PathBuf,
    /// `explicit`, `workspace`, `user-global` or `absent`.
    pub scope: &'static str,
    /// Whether it is trusted; `None` where there is none.
    pub trusted: Option<bool>,
    /// Whether git tracks it; `None` where that cannot be told.
    pub tracked: Option<bool>,
}

/// Local telemetry.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TelemetryReport {
    /// As `conf.path`.
    pub config_file: PathBuf,
    /// Whether it exists.
    pub config_exists: bool,
    /// Whether hooks record anything.
    pub enabled: bool,
    /// Where that was decided: `environment`, `config-file` or `default`.
    pub enabled_source: &'static str,
    /// Where journals are.
    pub data_dir: PathBuf,
    /// Where session state is.
    pub session_dir: PathBuf,
    /// The channels of session events that are written.
    pub channels: Vec<&'static str>,
    /// `local-files`, and `console` where one may be sent to.
    pub active_sinks: Vec<&'static str>,
}

/// The Console.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleReport {
    /// `console` or `local-only`.
    pub sink: &'static str,
    /// The configured base URL, without what may be secret in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where economics records are posted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_url: Option<String>,
    /// Whether the doctor may ask it: loopback, the hosted Console, or `--allow-network`.
    pub endpoint_allowed: bool,
    /// Whether a token is configured.
    pub token_configured: bool,
    /// Whether a tenant is.
    pub tenant_configured: bool,
    /// `environment`, `config-file` or `absent`.
    pub url_source: &'static str,
    /// As `url_source`.
    pub token_source: &'static str,
    /// As `url_source`.
    pub tenant_source: &'static str,
    /// Whether the Console accepts the token for the tenant; `None` where that is not known.
    pub authenticated: Option<bool>,
    /// Whether it can be reached.
    pub reachability: Reachability,
}

/// Whether the Console can be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reachability {
    /// Whether it was asked.
    pub checked: bool,
    /// Whether it answered, and not with a refusal of the credential; `None` where it was not asked.
    pub ok: Option<bool>,
    /// The status of its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// Why there is no good answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What is relayed.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RelayReport {
    /// Economics records.
    pub economics: SwitchReport,
    /// Claims.
    pub liveness: SwitchReport,
    /// Session events.
    pub telemetry: SwitchReport,
}

/// A switch.
#[derive(Debug, Clone, Serialize)]
pub struct SwitchReport {
    /// Whether it is on.
    pub on: bool,
    /// Why.
    pub reason: String,
}

/// The hooks in one file of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookReport {
    /// The host.
    pub host: &'static str,
    /// For one workspace or for all.
    pub scope: Scope,
    /// The file.
    pub file: PathBuf,
    /// Whether it calls us.
    pub installed: bool,
    /// Whether it is what this program would write.
    pub current: bool,
    /// Whether what is ours in it hashes to what the receipt says; `None` where there is no receipt of it.
    pub verified: Option<bool>,
    /// When an event of this host was last seen here, RFC 3339; `None` for never.
    pub last_event_at: Option<String>,
}

/// The outbox.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutboxReport {
    /// Records ever queued.
    pub enqueued: u64,
    /// Records that the Console has.
    pub delivered: u64,
    /// Records that it refused for good.
    pub rejected: u64,
    /// Records that made room, or way.
    pub evicted: u64,
    /// Records on their way.
    pub pending: u64,
    /// When the oldest of them was queued, RFC 3339.
    pub oldest_pending_at: Option<String>,
}

/// The price registry.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PricingReport {
    /// `file`, `cached` or `bundled`.
    pub origin: &'static str,
    /// The file.
    pub path: Option<PathBuf>,
    /// Where that was decided: `environment`, `config-file` or `default`.
    pub source: &'static str,
    /// Its current version.
    pub version: Option<String>,
}

/// How bad a finding is. Only an error makes an install unhealthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something does not work.
    Error,
    /// Something may not be as meant.
    Warning,
    /// Good to know.
    Info,
}

/// Something that a person should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which finding it is; stays the same between versions.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is the case, and where.
    pub message: String,
    /// What to do: a command that can be pasted, where one is enough.
    pub fix: String,
}

impl Finding {
    pub(super) fn error(id: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id, severity: Severity::Error, message: message.into(), fix: fix.into() }
    }

    pub(super) fn warning(id: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id, severity: Severity::Warning, message: message.into(), fix: fix.into() }
    }

    pub(super) fn info(id: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id, severity: Severity::Info, message: message.into(), fix: fix.into() }
    }
}
