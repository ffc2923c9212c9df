//! The boundary between an agent product and the host it runs in: what a host can do, what is installed in it, what
//! becomes of a decision there, and executable evidence of all that.
//!
//! The contract is Conduit's, as its concepts page states it; where the published package 0.7.1 differs, the page stands,
//! and the module in question says so.
//!
//! 1. Pure: nothing here finds, reads or writes anything of a host, or decides anything for an application. Every
//!    host-specific action is a binding of the caller.
//! 2. The same inputs give the same bytes, on any machine: sorted by bytes, without times.
//! 3. What is kept or leaves (receipts, traces, reports) holds no content, no target, no payload, no secret.
//! 4. A host is never asked for more than it declares, and what was taken away from a decision is said.

mod adapter;
mod capabilities;
mod kiro;
mod lifecycle;
mod mapping;
mod matrix;
mod outcome;
mod parse;
mod probe;
mod profile;
mod receipt;
mod report;
mod words;

pub use adapter::{
    ApplyOutcome, BindingError, HostAdapter, InProcess, InstallAsset, InstallError, ManifestHarness,
    ResolveTarget, WriteTarget,
};
pub use capabilities::{
    CapabilityError, HostCapabilities, Influence, NormalizedCapabilities, PerKind, PerPhase, Stated,
    normalize,
};
pub use kiro::{KiroReply, evaluate_kiro_hook, kiro_phase};
pub use lifecycle::{
    DispatchError, Disposer, Evaluate, Handler, LifecycleBinding, LifecycleRegistrar, bind_adapter_lifecycle,
};
pub use mapping::{AnswerForm, Field, HostEvent, Kind, Mapping, Meaning};
pub use matrix::render_matrix;
pub use outcome::{LifecycleEvent, LifecycleOutcome, OutcomeError, Projection, Rule, Trace, project};
pub use parse::{ParseError, parse};
pub use probe::{ConformanceResult, probe_host_conformance};
pub use profile::{Profile, claude_code, codex, kiro, opencode, pi, strands, voltagent};
pub use receipt::{
    Drift, DriftKind, InstallationReceipt, Installed, PortableAsset, Skipped, Stopped, digest,
};
pub use report::{
    AdapterConformanceEvidence, ConformanceReport, EvidenceError, EvidenceInput, SCHEMA_VERSION, UNBOUND,
    create_conformance_report, derive_conformance_limitations, serialize,
};
pub use words::{AssetKind, Decision, EvidenceScope, Fidelity, Phase, Shape, SkipReason, Status};

#[cfg(test)]
mod tests;
