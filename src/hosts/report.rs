//! The conformance report: for each adapter what it declares, what the probes found, and what a reader must know.
//!
//! The same inputs give the same bytes: nothing is timestamped, all is sorted by bytes, keys have a fixed order. The order
//! of the inputs does not count, not even between two adapters of one id.
//!
//! The scope `host-bound` is earned: see [`EvidenceInput::bound_to`].

use super::adapter::HostAdapter;
use super::capabilities::{NormalizedCapabilities, Stated, normalize};
use super::parse::said;
use super::probe::{ConformanceResult, probe_host_conformance};
use super::words::{EvidenceScope, Fidelity, Status};
use serde::Serialize;

/// The version of the report's format: it records the influence of each phase.
pub const SCHEMA_VERSION: &str = "2";
/// The host id and version of evidence that no host took part in.
pub const UNBOUND: &str = "unbound";

/// Evidence about adapters (schema: `schemas/host-conformance.schema.json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConformanceReport {
    /// [`SCHEMA_VERSION`].
    pub schema_version: String,
    /// By adapter id.
    pub adapters: Vec<AdapterConformanceEvidence>,
}

/// Evidence about one adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AdapterConformanceEvidence {
    /// What it proves.
    pub evidence_scope: EvidenceScope,
    /// Which adapter.
    pub adapter_id: String,
    /// The version of the code that the adapter is part of.
    pub adapter_version: String,
    /// The host.
    pub host_id: String,
    /// The host's version.
    pub host_version: String,
    /// What the adapter declares.
    pub capabilities: NormalizedCapabilities,
    /// What is not native, what failed, and what the caller adds.
    pub limitations: Vec<String>,
    /// What the probes found, by name.
    pub results: Vec<ConformanceResult>,
}

/// One adapter to be probed.
///
/// ```
/// use tally::hosts::{self, EvidenceError, EvidenceInput, EvidenceScope, Profile, create_conformance_report};
/// let stand_in = Profile::shipped("codex").unwrap().stand_in();
/// let refused = EvidenceInput::of(stand_in.as_ref(), "1.0.0").bound_to("codex-cli", "0.130.1");
/// assert_eq!(refused.err(), Some(EvidenceError::StandIn("codex".into())));
///
/// let bound = hosts::codex(Box::new(|asset| Ok(Some(asset.id.clone()))), Box::new(|_, _| Ok(())));
/// let input = EvidenceInput::of(&bound, "1.0.0").bound_to("codex-cli", "0.130.1")?;
/// let report = create_conformance_report(&[input]);
/// assert_eq!(report.adapters[0].evidence_scope, EvidenceScope::HostBound);
/// # Ok::<(), EvidenceError>(())
/// ```
#[derive(Clone)]
pub struct EvidenceInput<'a> {
    adapter: &'a dyn HostAdapter,
    adapter_version: String,
    scope: EvidenceScope,
    host_id: String,
    host_version: String,
    limitations: Vec<String>,
}

/// Why evidence cannot be bound to a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    /// There is no such host.
    #[error("host-bound evidence needs the id and the version of a real host: {0:?} is none")]
    NoHost(String),
    /// The bindings reach no host.
    #[error("host-bound evidence needs bindings of its own: those of {0} stand in for a host")]
    StandIn(String),
}

impl<'a> EvidenceInput<'a> {
    /// Evidence that `adapter` keeps the contract.
    #[must_use]
    pub fn of(adapter: &'a dyn HostAdapter, adapter_version: &str) -> Self {
        Self {
            adapter,
            adapter_version: adapter_version.to_owned(),
            scope: EvidenceScope::AdapterContract,
            host_id: UNBOUND.to_owned(),
            host_version: UNBOUND.to_owned(),
            limitations: vec![],
        }
    }

    /// Names what the adapter was probed with, without a claim to be that host.
    #[must_use]
    pub fn labelled(mut self, host_id: &str, host_version: &str) -> Self {
        (self.host_id, self.host_version) = (host_id.to_owned(), host_version.to_owned());
        self
    }

    /// Binds the evidence to the host that the adapter's bindings reach.
    ///
    /// # Errors
    /// When id or version are empty or [`UNBOUND`], or the bindings stand in for a host.
    pub fn bound_to(mut self, host_id: &str, host_version: &str) -> Result<Self, EvidenceError> {
        if let Some(none) = [host_id, host_version].into_iter().find(|name| {
            let name = name.trim();
            name.is_empty() || name.eq_ignore_ascii_case(UNBOUND)
        }) {
            return Err(EvidenceError::NoHost(none.to_owned()));
        }
        if self.adapter.is_stand_in() {
            return Err(EvidenceError::StandIn(self.adapter.id().to_owned()));
        }
        self.scope = EvidenceScope::HostBound;
        Ok(self.labelled(host_id, host_version))
    }

    /// Adds what a reader must know beyond what can be derived.
    #[must_use]
    pub fn limited_by(mut self, limitations: impl IntoIterator<Item = String>) -> Self {
        self.limitations.extend(limitations);
        self
    }
}

/// Probes each adapter.
///
/// ```
/// use tally::hosts::{EvidenceInput, Profile, create_conformance_report, serialize};
/// let (codex, pi) = (Profile::shipped("codex").unwrap().stand_in(), Profile::shipped("pi").unwrap().stand_in());
/// let inputs = [EvidenceInput::of(pi.as_ref(), "1.0.0"), EvidenceInput::of(codex.as_ref(), "1.0.0")];
/// let reversed = [inputs[1].clone(), inputs[0].clone()];
/// let text = serialize(&create_conformance_report(&inputs));
/// assert_eq!(text, serialize(&create_conformance_report(&reversed)));
/// ```
#[must_use]
pub fn create_conformance_report(inputs: &[EvidenceInput<'_>]) -> ConformanceReport {
    // Two adapters of one id have no order of their own: their bytes give one.
    let text = |entry: &AdapterConformanceEvidence| serde_json::to_string_pretty(entry).unwrap_or_default();
    let mut adapters: Vec<AdapterConformanceEvidence> = vec![];
    for entry in inputs.iter().map(evidence) {
        let place = adapters.binary_search_by(|other| {
            other.adapter_id.cmp(&entry.adapter_id).then_with(|| text(other).cmp(&text(&entry)))
        });
        let (Ok(at) | Err(at)) = place;
        adapters.insert(at, entry);
    }
    ConformanceReport { schema_version: SCHEMA_VERSION.to_owned(), adapters }
}

fn evidence(input: &EvidenceInput<'_>) -> AdapterConformanceEvidence {
    let capabilities = normalize(input.adapter.capabilities());
    let mut results: Vec<ConformanceResult> = vec![];
    for result in probe_host_conformance(input.adapter) {
        let at = results.partition_point(|other| other.check < result.check);
        results.insert(at, result);
    }
    let mut limitations = derive_conformance_limitations(&capabilities, &results);
    for limitation in &input.limitations {
        add(&mut limitations, limitation.clone());
    }
    AdapterConformanceEvidence {
        evidence_scope: input.scope,
        adapter_id: input.adapter.id().to_owned(),
        adapter_version: input.adapter_version.clone(),
        host_id: input.host_id.clone(),
        host_version: input.host_version.clone(),
        capabilities,
        limitations,
        results,
    }
}

/// What follows from the declaration and the probes: an entry for each capability that is not native, and for each
/// probe that failed. Sorted.
///
/// ```
/// use tally::hosts::{Profile, derive_conformance_limitations, normalize};
/// let opencode = normalize(&Profile::shipped("opencode").unwrap().capabilities);
/// let limitations = derive_conformance_limitations(&opencode, &[]);
/// assert_eq!(limitations, ["capability.lifecycle.stop=approximated"]);
/// ```
#[must_use]
pub fn derive_conformance_limitations(
    capabilities: &NormalizedCapabilities,
    results: &[ConformanceResult],
) -> Vec<String> {
    let mut all = vec![];
    for (path, stated) in capabilities.paths() {
        let value = match stated {
            Stated::Known(Fidelity::Native) => continue,
            Stated::Known(fidelity) => fidelity.as_str().to_owned(),
            Stated::Other(value) => said(&value),
            Stated::Absent => "undefined".to_owned(),
        };
        add(&mut all, format!("capability.{path}={value}"));
    }
    for failed in results.iter().filter(|result| result.status == Status::Fail) {
        add(&mut all, format!("probe.{}=fail", failed.check));
    }
    all
}

/// Adds a limitation in its place, once.
fn add(limitations: &mut Vec<String>, limitation: String) {
    if let Err(at) = limitations.binary_search(&limitation) {
        limitations.insert(at, limitation);
    }
}

/// The report as text: indented by two, and a newline at its end.
///
/// ```
/// use tally::hosts::{create_conformance_report, parse, serialize};
/// let text = serialize(&create_conformance_report(&[]));
/// assert_eq!(text, "{\n  \"schemaVersion\": \"2\",\n  \"adapters\": []\n}\n");
/// assert_eq!(serialize(&parse(&text).unwrap()), text);
/// ```
#[must_use]
pub fn serialize(report: &ConformanceReport) -> String {
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}
