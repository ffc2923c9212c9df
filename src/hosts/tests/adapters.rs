//! The adapters that rows describe: honest ones of both shapes, and ones that break the contract in one place.

use crate::hosts::{
    self, ApplyOutcome, BindingError, Decision, HostAdapter, HostCapabilities, InProcess, InstallAsset,
    InstallError, InstallationReceipt, Installed, LifecycleEvent, LifecycleOutcome, ManifestHarness, Phase,
    PortableAsset, Profile, Projection, ResolveTarget, Shape, SkipReason, Skipped, WriteTarget,
};
use serde_json::Value;

/// A message of a row, in the fixed words of an error.
pub(super) fn failure(message: &str) -> BindingError {
    BindingError::new(message.to_owned().leak())
}

pub(super) fn outcome(row: &Value) -> LifecycleOutcome {
    let text = |key: &str| row[key].as_str().map(str::to_owned);
    LifecycleOutcome {
        decision: Decision::parse(row["decision"].as_str().unwrap()).unwrap(),
        reason: text("reason"),
        model_context: text("modelContext"),
    }
}

pub(super) fn event(row: &Value) -> LifecycleEvent {
    LifecycleEvent {
        phase: Phase::parse(row["phase"].as_str().unwrap()).unwrap(),
        session_id: row["sessionId"].as_str().unwrap().to_owned(),
        context: row.get("context").cloned(),
    }
}

pub(super) fn capabilities(row: &Value) -> HostCapabilities {
    HostCapabilities::from_json(row).unwrap()
}

/// The named adapter of a host, with the given bindings.
pub(super) fn named<'a>(
    id: &str,
    resolve: ResolveTarget<'a>,
    write: WriteTarget<'a>,
    apply: ApplyOutcome<'a>,
    install: Option<InstallAsset<'a>>,
) -> Box<dyn HostAdapter + 'a> {
    match id {
        "claude-code" => Box::new(hosts::claude_code(resolve, write)),
        "codex" => Box::new(hosts::codex(resolve, write)),
        "kiro" => Box::new(hosts::kiro(resolve, write)),
        "opencode" => Box::new(hosts::opencode(resolve, write)),
        "pi" => Box::new(hosts::pi(resolve, write)),
        "strands" => Box::new(hosts::strands(apply, install)),
        "voltagent" => Box::new(hosts::voltagent(apply, install)),
        other => panic!("no adapter is named {other}"),
    }
}

/// What a framework makes of an outcome; `None` where it returns nothing.
pub(super) fn apply(
    op: &Value,
    mut outcome: LifecycleOutcome,
) -> Option<Result<LifecycleOutcome, BindingError>> {
    let value = || op["value"].as_str().unwrap().to_owned();
    match op["op"].as_str().unwrap_or("identity") {
        "identity" => {}
        "constant" => return Some(Ok(self::outcome(&op["outcome"]))),
        "deny-to-observe" if outcome.decision == Decision::Deny => outcome.decision = Decision::Observe,
        "deny-to-observe" => {}
        "drop-context" => outcome.model_context = None,
        "drop-reason" => outcome.reason = None,
        "set-context" => outcome.model_context = Some(value()),
        "set-decision" => outcome.decision = Decision::parse(&value()).unwrap(),
        "set-reason" => outcome.reason = Some(value()),
        "throw" => return Some(Err(failure(op["message"].as_str().unwrap()))),
        "undefined" => return None,
        other => panic!("unknown op {other}"),
    }
    Some(Ok(outcome))
}

/// Whether a row asks for what no typed port can do.
pub(super) fn cannot_be_asked(row: &Value) -> Option<&'static str> {
    if row["applyOutcome"]["op"] == "undefined" {
        return Some(super::NO_UNDEFINED);
    }
    let faults = row["faults"].as_array().into_iter().flatten();
    faults.into_iter().find_map(|fault| match (fault["op"].as_str(), fault["method"].as_str()) {
        (Some("throw"), Some("capabilities")) => Some("a declaration is a value: it cannot fail"),
        (Some("receipt-leak-reason"), _) => Some("the reason of a receipt is one of two words"),
        _ => None,
    })
}

/// The adapter that a row describes.
pub(super) fn described(row: &Value) -> Box<dyn HostAdapter> {
    let named_profile = row["profile"].as_str();
    let profile = named_profile.map(|id| Profile::shipped(id).unwrap());
    let shape =
        profile.as_ref().map_or_else(|| Shape::parse(row["shape"].as_str().unwrap()), |p| Some(p.shape));
    let (targets, op) = (row["resolveTarget"].clone(), row["applyOutcome"].clone());
    let resolve: ResolveTarget<'_> = Box::new(move |asset| {
        let mapped = match &targets {
            Value::Null => true,
            Value::String(word) if word == "empty" => return Ok(Some(String::new())),
            Value::String(word) => word == "all",
            only => only["kinds"].as_array().unwrap().contains(&asset.kind.as_str().into()),
        };
        Ok(mapped.then(|| format!("/conformance/{}/{}", asset.kind, asset.id)))
    });
    let write: WriteTarget<'_> = Box::new(|_, _| Ok(()));
    let bridge: ApplyOutcome<'_> = Box::new(move |_, outcome| apply(&op, outcome).expect("was sorted out"));
    let install: InstallAsset<'_> = Box::new(|_| Ok(()));
    let install = (row["installAsset"] != false).then_some(install);
    let honest: Box<dyn HostAdapter> = match (named_profile, shape) {
        (Some(id), _) => named(id, resolve, write, bridge, install),
        (None, Some(Shape::Manifest)) => {
            let (id, declared) = (row["id"].as_str().unwrap(), capabilities(&row["capabilities"]));
            Box::new(ManifestHarness::new(id, declared, resolve, write))
        }
        (None, _) => {
            let (id, declared) = (row["id"].as_str().unwrap(), capabilities(&row["capabilities"]));
            Box::new(InProcess::new(id, declared, bridge, install))
        }
    };
    let Some(faults) = row["faults"].as_array().filter(|faults| !faults.is_empty()) else { return honest };
    let lie = faults.iter().find(|fault| fault["op"] == "capabilities-replace");
    let declared =
        lie.map_or_else(|| honest.capabilities().clone(), |lie| capabilities(&lie["capabilities"]));
    Box::new(Faulty { honest, declared, faults: faults.clone() })
}

/// An adapter that breaks the contract.
struct Faulty {
    honest: Box<dyn HostAdapter>,
    declared: HostCapabilities,
    faults: Vec<Value>,
}

impl HostAdapter for Faulty {
    fn id(&self) -> &str {
        self.honest.id()
    }

    fn capabilities(&self) -> &HostCapabilities {
        &self.declared
    }

    fn install(&self, assets: &[PortableAsset]) -> Result<InstallationReceipt, InstallError> {
        let receipt = self.honest.install(assets)?;
        self.faults.iter().try_fold(receipt, |receipt, fault| spoiled(receipt, fault, assets))
    }

    fn project(&self, event: &LifecycleEvent, asked: LifecycleOutcome) -> Result<Projection, BindingError> {
        let class = match (asked.decision, asked.context()) {
            (Decision::Deny, None) => "deny",
            (Decision::Deny, Some(_)) => "deny-context",
            (_, Some(_)) => "context",
            (_, None) => "allow",
        };
        let mut got = self.honest.project(event, asked.clone())?;
        for fault in &self.faults {
            let hit = |key: &str, is: &str| {
                matches!(fault["when"][key].as_str(), None | Some("*")) || fault["when"][key] == is
            };
            if !hit("phase", event.phase.as_str()) || !hit("input", class) {
                continue;
            }
            let value = || fault["value"].as_str().unwrap().to_owned();
            match fault["op"].as_str().unwrap() {
                "project-replace" => got.outcome = outcome(&fault["outcome"]),
                "project-passthrough" => got.outcome = asked.clone(),
                "project-drop-reason" => got.outcome.reason = None,
                "project-drop-context" => got.outcome.model_context = None,
                "project-set-context" => got.outcome.model_context = Some(value()),
                "project-set-reason" => got.outcome.reason = Some(value()),
                "project-set-decision" => got.outcome.decision = Decision::parse(&value()).unwrap(),
                "throw" if fault["method"] == "project" => {
                    return Err(failure(fault["message"].as_str().unwrap()));
                }
                _ => {}
            }
        }
        Ok(got)
    }
}

fn spoiled(
    mut receipt: InstallationReceipt,
    fault: &Value,
    assets: &[PortableAsset],
) -> Result<InstallationReceipt, InstallError> {
    let of_kind = |kind: crate::hosts::AssetKind| fault["kind"] == kind.as_str();
    let (installed, skipped) = (&mut receipt.installed, &mut receipt.skipped);
    match fault["op"].as_str().unwrap() {
        "receipt-empty" => {
            installed.clear();
            skipped.clear();
        }
        "receipt-drop" => {
            installed.retain(|item| !of_kind(item.kind));
            skipped.retain(|item| !of_kind(item.kind));
        }
        "receipt-skipped-to-installed" => {
            for Skipped { id, kind, .. } in skipped.extract_if(.., |item| of_kind(item.kind)) {
                installed.push(Installed { id, kind, digest: "sha256:forged".to_owned() });
            }
        }
        "receipt-installed-to-skipped" => {
            for Installed { id, kind, .. } in installed.extract_if(.., |item| of_kind(item.kind)) {
                skipped.push(Skipped { id, kind, reason: SkipReason::Unsupported });
            }
        }
        "receipt-leak-digest" => {
            for item in installed.iter_mut().filter(|item| of_kind(item.kind)) {
                item.digest = assets.iter().find(|asset| asset.id == item.id).unwrap().content.clone();
            }
        }
        "receipt-rename" => {
            let ids = installed.iter_mut().map(|item| &mut item.id);
            for id in ids.chain(skipped.iter_mut().map(|item| &mut item.id)) {
                if fault["from"] == id.as_str() {
                    *id = fault["to"].as_str().unwrap().to_owned();
                }
            }
        }
        "receipt-duplicate" => {
            let twice: Vec<_> = installed.iter().filter(|item| of_kind(item.kind)).cloned().collect();
            installed.extend(twice);
        }
        "receipt-host-id" => receipt.host_id = fault["value"].as_str().unwrap().to_owned(),
        "throw" if fault["method"] == "install" => {
            let error = failure(fault["message"].as_str().unwrap());
            return Err(InstallError { receipt: Box::new(receipt), error });
        }
        _ => {}
    }
    Ok(receipt)
}
