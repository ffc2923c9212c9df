//! Probes: what an adapter does, against what it declares. They really install and really call the bindings.

use super::adapter::{BindingError, HostAdapter};
use super::capabilities::{NormalizedCapabilities, Stated, normalize};
use super::outcome::{LifecycleEvent, LifecycleOutcome};
use super::receipt::{InstallationReceipt, PortableAsset};
use super::words::{AssetKind, Decision, Phase, Status};
use serde::Serialize;

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConformanceResult {
    /// Its name.
    pub check: String,
    /// How it ended.
    pub status: Status,
    /// Why it could not be run: the fixed words of a [`BindingError`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

const CONTEXT: &str = "conduit-private-context";

/// Runs the 23 probes, in their own order.
///
/// | probe | holds when |
/// |---|---|
/// | `capability-completeness` | all 21 capabilities are fidelities |
/// | `install-fidelity` | of six assets, one of each kind, exactly the kinds that are not `unavailable` are installed |
/// | `secret-free-install-receipt` | the receipt names the probe's assets, and holds nothing of their content |
/// | `lifecycle-<phase>` | an allow stays one, unless the phase is `unavailable` |
/// | `decision-<phase>` | a deny stays one exactly where the host can block, and keeps a reason |
/// | `context-<phase>` | context stays, unchanged, exactly where the host can inject it |
/// | `decision-context-<phase>` | a deny with context does both |
///
/// A binding that fails costs the probes that needed it: they fail, with its fixed words as `detail`. (The published
/// package gives up.)
///
/// ```
/// use tally::hosts::{Profile, Status, probe_host_conformance};
/// let adapter = Profile::shipped("kiro").unwrap().stand_in();
/// let results = probe_host_conformance(adapter.as_ref());
/// assert_eq!(results.len(), 23);
/// assert!(results.iter().all(|result| result.status == Status::Pass));
/// ```
#[must_use]
pub fn probe_host_conformance(adapter: &dyn HostAdapter) -> Vec<ConformanceResult> {
    let capabilities = normalize(adapter.capabilities());
    let known = |(_, stated): &(String, _)| matches!(stated, Stated::Known(_));
    let mut results = vec![];
    record(&mut results, "capability-completeness".to_owned(), Ok(capabilities.paths().iter().all(known)));

    let assets: Vec<PortableAsset> = AssetKind::ALL.iter().map(|&kind| asset(kind)).collect();
    let receipt = adapter.install(&assets).map_err(|stopped| stopped.error);
    let installs = receipt.as_ref().map(|receipt| installs_as_declared(receipt, &capabilities));
    record(&mut results, "install-fidelity".to_owned(), installs.map_err(Clone::clone));
    let sealed = receipt.map(|receipt| names_without_content(&receipt, &assets));
    record(&mut results, "secret-free-install-receipt".to_owned(), sealed);

    for &phase in Phase::ALL {
        let asked = outcome(Decision::Allow, Some("phase probe"), None);
        let wanted = if gone(&capabilities, phase) { Decision::Observe } else { Decision::Allow };
        let holds = projected(adapter, phase, asked).map(|got| got.decision == wanted);
        record(&mut results, format!("lifecycle-{phase}"), holds);
    }
    for &phase in Phase::ALL {
        let influence = capabilities.influence.get(phase);
        let there = !gone(&capabilities, phase);
        let blocks = there && influence.decision().can_influence();
        let injects = there && influence.context_injection().can_influence();
        for (check, denies, tells) in
            [("decision", true, false), ("context", false, true), ("decision-context", true, true)]
        {
            let decision = if denies { Decision::Deny } else { Decision::Allow };
            let asked = outcome(decision, denies.then_some("policy denied"), tells.then_some(CONTEXT));
            let holds = projected(adapter, phase, asked).map(|got| {
                let wanted = if blocks { Decision::Deny } else { Decision::Observe };
                let reasoned = got.reason.is_some_and(|reason| !reason.is_empty());
                let told = got.model_context.as_deref() == injects.then_some(CONTEXT);
                (!denies || got.decision == wanted && reasoned) && (!tells || told)
            });
            record(&mut results, format!("{check}-{phase}"), holds);
        }
    }
    results
}

fn outcome(decision: Decision, reason: Option<&str>, context: Option<&str>) -> LifecycleOutcome {
    let (reason, model_context) = (reason.map(str::to_owned), context.map(str::to_owned));
    LifecycleOutcome { decision, reason, model_context }
}

fn record(results: &mut Vec<ConformanceResult>, check: String, holds: Result<bool, BindingError>) {
    let status = if matches!(holds, Ok(true)) { Status::Pass } else { Status::Fail };
    results.push(ConformanceResult {
        check,
        status,
        detail: holds.err().map(|error| error.reason().to_owned()),
    });
}

fn gone(capabilities: &NormalizedCapabilities, phase: Phase) -> bool {
    capabilities.lifecycle.get(phase).is_unavailable()
}

fn projected(
    adapter: &dyn HostAdapter,
    phase: Phase,
    asked: LifecycleOutcome,
) -> Result<LifecycleOutcome, BindingError> {
    let event = LifecycleEvent { phase, session_id: "conformance".to_owned(), context: None };
    adapter.project(&event, asked).map(|projection| projection.outcome)
}

fn asset(kind: AssetKind) -> PortableAsset {
    PortableAsset {
        id: format!("conformance-{kind}"),
        kind,
        content: format!("conduit-private-{kind}-content"),
        target_hint: None,
    }
}

/// Per kind: something of it was installed if and only if the host takes it.
fn installs_as_declared(receipt: &InstallationReceipt, capabilities: &NormalizedCapabilities) -> bool {
    AssetKind::ALL.iter().all(|&kind| {
        let installed = receipt.installed.iter().any(|installed| installed.kind == kind);
        installed != capabilities.install.get(kind).is_unavailable()
    })
}

/// Searched as text, because ids, digests and reasons are words that an adapter chose.
fn names_without_content(receipt: &InstallationReceipt, assets: &[PortableAsset]) -> bool {
    let text = serde_json::to_string(receipt).unwrap_or_default();
    text.contains("conformance-context")
        && !text.contains("\"content\"")
        && !assets.iter().any(|asset| text.contains(&asset.content))
}
