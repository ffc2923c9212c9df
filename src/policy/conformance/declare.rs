//! A declaration of gaps, in the form that the contract asks adapters for: what a host's profile cannot keep of what the
//! engine can.

use super::level::{Level, Summary};
use crate::hosts::{Fidelity, Kind, Mapping, NormalizedCapabilities, Phase, Profile, Stated, normalize};
use crate::policy::Policy;
use crate::policy::runner::CONTRACT;
use serde_json::Value;

/// The events of the contract and their phases.
const EVENTS: [(Kind, Option<Phase>); 6] = [
    (Kind::AgentSpawn, Some(Phase::SessionStart)),
    (Kind::UserPromptSubmit, Some(Phase::BeforeModel)),
    (Kind::PreToolUse, Some(Phase::BeforeTool)),
    (Kind::PermissionRequest, None),
    (Kind::PostToolUse, Some(Phase::AfterTool)),
    (Kind::Stop, Some(Phase::Stop)),
];

/// What a host can do of one policy.
struct Coverage {
    policy: Policy,
    text: String,
    /// The event whose lack it suffers from, and how.
    gap: Option<(Kind, String)>,
}

struct Host<'a> {
    mapping: &'a Mapping,
    can: NormalizedCapabilities,
}

impl Host<'_> {
    fn raises(&self, phase: Phase) -> bool {
        !self.can.lifecycle.get(phase).is_unavailable()
    }

    fn blocks(&self, phase: Phase) -> bool {
        self.raises(phase) && self.can.influence.get(phase).decision().can_influence()
    }

    fn hears(&self, phase: Phase) -> bool {
        self.raises(phase) && self.can.influence.get(phase).context_injection().can_influence()
    }

    /// The host's own names for an event. With the end of a session nobody can go on: that is no stop to be judged.
    fn native(&self, kind: Kind) -> String {
        let events = self.mapping.events().filter(|(_, meaning)| meaning.kind == kind && !meaning.ends);
        let names = events.map(|(native, _)| native);
        names.collect::<Vec<_>>().join(", ")
    }

    fn gap(&self, kind: Kind) -> Option<&str> {
        self.mapping.gaps().find(|(what, _)| *what == kind.as_str()).map(|(_, why)| why)
    }

    fn coverage(&self, policy: Policy) -> Coverage {
        let wired = |kind, how: &str| Coverage {
            policy,
            text: format!("wired at {} ({how})", self.native(kind)),
            gap: None,
        };
        let lost = |kind: Kind, text: &str| Coverage {
            policy,
            text: text.to_owned(),
            gap: Some((kind, text.to_owned())),
        };
        match policy {
            Policy::ConfigProtection if self.blocks(Phase::BeforeTool) => wired(Kind::PreToolUse, "blocking"),
            Policy::ConfigProtection if self.raises(Phase::BeforeTool) => {
                lost(Kind::PreToolUse, "degraded: what it refuses is recorded, the host goes on")
            }
            Policy::ConfigProtection => lost(Kind::PreToolUse, "absent: nothing is known before a tool runs"),
            Policy::EvidenceCapture | Policy::QualityGate if self.raises(Phase::AfterTool) => {
                wired(Kind::PostToolUse, "never blocks")
            }
            Policy::EvidenceCapture | Policy::QualityGate => {
                lost(Kind::PostToolUse, "absent: nothing is known after a tool ran")
            }
            Policy::WorkflowSteering if self.hears(Phase::BeforeModel) => {
                wired(Kind::UserPromptSubmit, "context at each prompt")
            }
            Policy::WorkflowSteering if self.hears(Phase::SessionStart) => {
                lost(Kind::UserPromptSubmit, "partial: context when a session starts, not at each prompt")
            }
            Policy::WorkflowSteering => {
                lost(Kind::UserPromptSubmit, "degraded: told on standard error, where nobody may read it")
            }
            Policy::StopGoalFit if self.blocks(Phase::Stop) => wired(Kind::Stop, "blocking"),
            Policy::StopGoalFit if self.raises(Phase::Stop) => {
                lost(Kind::Stop, "degraded: what stands against a stop is recorded, the agent stops")
            }
            Policy::StopGoalFit => lost(Kind::Stop, "absent: a stop is not told"),
        }
    }
}

/// The declaration for `host`, in YAML, from a run of this engine's kit; `None` for a host without a profile. `date`: of the
/// run, as `YYYY-MM-DD`.
#[must_use]
pub fn declaration(host: &str, run: &Summary, counts: (usize, usize), date: &str) -> Option<String> {
    let (profile, mapping) = (Profile::shipped(host)?, Mapping::of(host)?);
    let view = Host { mapping: &mapping, can: normalize(&profile.capabilities) };
    let coverage: Vec<Coverage> = Policy::ALL.into_iter().map(|policy| view.coverage(policy)).collect();
    let whole = |policy: Policy| coverage.iter().any(|of| of.policy == policy && of.gap.is_none());
    let steered = view.hears(Phase::BeforeModel) || view.hears(Phase::SessionStart);
    let able = if Policy::ALL.into_iter().all(whole) {
        Level::L2
    } else if steered && view.raises(Phase::Stop) {
        Level::L1
    } else {
        Level::L0
    };
    let level = run.highest.map_or("none", |highest| highest.min(able).as_str());
    let (passed, all) = counts;
    let mut lines = vec![
        format!("conformance_level: {level}"),
        format!("host: {host}"),
        format!("engine_contract_version: \"{CONTRACT}\""),
        "runner_version: \"tally conformance\"".to_owned(),
        format!("test_date: {date}"),
        format!("verdict: {}", if passed == all { "PASS" } else { "FAIL" }),
        format!("fixture_count: {all}"),
        format!("fixtures_passed: {passed}"),
        "event_coverage:".to_owned(),
    ];
    for (kind, phase) in EVENTS {
        let native = view.native(kind);
        let how = match phase {
            Some(phase) if !view.raises(phase) => "unavailable".to_owned(),
            Some(phase) => format!(
                "{}; {}; {}",
                fidelity(view.can.lifecycle.get(phase)),
                if view.blocks(phase) { "can block" } else { "cannot block" },
                if view.hears(phase) { "takes context" } else { "takes no context" }
            ),
            None => "told to the host as a decision, where it has the event".to_owned(),
        };
        let said = if native.is_empty() { "no native event".to_owned() } else { format!("{native} ({how})") };
        lines.push(format!("  {}: {}", kind.as_str(), quoted(&said)));
    }
    lines.push("policy_coverage:".to_owned());
    for of in &coverage {
        lines.push(format!("  {}: {}", of.policy.name().replace('-', "_"), quoted(&of.text)));
    }
    let gaps: Vec<_> = coverage.iter().filter_map(|of| Some((of.policy, of.gap.as_ref()?))).collect();
    let failing = run.levels.last().map(|tally| tally.failing.as_slice()).unwrap_or_default();
    if gaps.is_empty() && failing.is_empty() {
        lines.push("gaps: []".to_owned());
    } else {
        lines.push("gaps:".to_owned());
    }
    for (policy, (kind, degradation)) in gaps {
        let why = view.gap(*kind).unwrap_or("the host's profile does not declare it");
        lines.push(format!("  - event: {}", kind.as_str()));
        lines.push(format!("    policy: {}", policy.name()));
        lines.push(format!("    reason: {}", quoted(why)));
        lines.push(format!("    degradation: {}", quoted(degradation)));
    }
    for name in failing {
        lines.push(format!("  - fixture: {}", quoted(name)));
        lines.push("    degradation: \"the engine fails it\"".to_owned());
    }
    for limitation in &profile.limitations {
        lines.push(format!("# {limitation}"));
    }
    Some(lines.join("\n") + "\n")
}

fn fidelity(stated: &Stated<Fidelity>) -> &'static str {
    match stated {
        Stated::Known(fidelity) => fidelity.as_str(),
        Stated::Other(_) | Stated::Absent => "unknown",
    }
}

/// A text as YAML takes it from JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
