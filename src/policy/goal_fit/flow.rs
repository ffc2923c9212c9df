//! The step of a kit's flow that a session works on, and which kinds of claims its gate expects.
//!
//! `active_flow_id` of the pointer is `<kit>.<flow>`; the flow is `kits/<kit>/flows/<flow>.flow.json`, and its gate the one
//! whose `step` is `active_step_id`.

use super::subject::Subject;
use crate::policy::session::object;
use serde_json::Value;

/// A gate.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// `<flow>/<gate>`.
    pub label: String,
    /// The kinds of claims that it expects.
    pub expects: Vec<String>,
}

impl Gate {
    /// The gate that `subject` is at.
    pub(super) fn of(subject: &Subject) -> Option<Self> {
        let text = |key: &str| subject.pointer.get(key).and_then(Value::as_str);
        let (flow_id, step) = (text("active_flow_id")?, text("active_step_id")?);
        let (kit, flow) = flow_id.split_once('.').filter(|(kit, flow)| is_name(kit) && is_name(flow))?;
        let flow = object(&subject.site.root.join(format!("kits/{kit}/flows/{flow}.flow.json")))?;
        let mut gates = flow.get("gates")?.as_object()?.iter();
        let (name, gate) = gates.find(|(_, gate)| gate.get("step").and_then(Value::as_str) == Some(step))?;
        let expects = gate.get("expects").and_then(Value::as_array).into_iter().flatten();
        let kinds = expects.filter_map(|expected| expected.pointer("/bundle_claim/claimType")?.as_str());
        Some(Self { label: format!("{flow_id}/{name}"), expects: kinds.map(str::to_owned).collect() })
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
