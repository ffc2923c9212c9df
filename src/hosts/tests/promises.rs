//! What no vector tells: what is kept holds no content, and a binding lets go of what it bound.

use super::json;
use crate::hosts::{
    self, AssetKind, BindingError, Decision, DriftKind, EvidenceInput, Fidelity, HostAdapter,
    HostCapabilities, InstallationReceipt, LifecycleEvent, LifecycleOutcome, ManifestHarness, PerKind,
    PerPhase, Phase, PortableAsset, Profile, Stated, Trace, create_conformance_report, normalize, project,
    serialize,
};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;

/// Text that stands out, so that it cannot be in an answer by chance.
fn secret() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9/+=\"\\\\ é☕\n]{12,40}".prop_filter("no fixed word", |text| text.trim().len() > 10)
}

fn asset(at: usize, content: String, hint: Option<String>) -> PortableAsset {
    let kind = AssetKind::ALL[at % AssetKind::ALL.len()];
    PortableAsset { id: format!("a{at}"), kind, content, target_hint: hint }
}

/// Whether `text`, or its spelling in JSON, stands in `haystack`.
fn holds(haystack: &str, text: &str) -> bool {
    let spelled = serde_json::to_string(text).unwrap();
    haystack.contains(text) || haystack.contains(spelled.trim_matches('"'))
}

proptest! {
    #[test]
    fn receipts_hold_no_content_no_target_and_no_words_of_an_error(
        contents in proptest::collection::vec(secret(), 1..12), target in secret(), stops_at in 0..14_usize,
        fidelities in proptest::collection::vec(0..5_usize, 6),
    ) {
        let declared = HostCapabilities {
            install: PerKind::of(|kind| Fidelity::ALL[fidelities[kind as usize]].into()),
            ..HostCapabilities::default()
        };
        let written = RefCell::new(0);
        let adapter = ManifestHarness::new(
            "h",
            declared,
            Box::new(|_| Ok(Some(target.clone()))),
            Box::new(|target, content| {
                if *written.borrow() == stops_at {
                    let what = format!("cannot write {content} to {target}");
                    return Err(io::Error::new(io::ErrorKind::StorageFull, what).into());
                }
                *written.borrow_mut() += 1;
                Ok(())
            }),
        );
        let assets: Vec<_> =
            contents.iter().enumerate().map(|(at, c)| asset(at, c.clone(), Some(target.clone()))).collect();
        let receipt = match adapter.install(&assets) {
            Ok(receipt) => receipt,
            Err(stopped) => {
                prop_assert!(stopped.error.to_string().contains(&target), "the caller is told all");
                prop_assert_eq!(&stopped.receipt.stopped.as_ref().unwrap().reason, "no storage space");
                *stopped.receipt
            }
        };
        let text = serde_json::to_string(&receipt).unwrap();
        for secret in contents.iter().chain([&target]) {
            prop_assert!(!holds(&text, secret), "{secret:?} in {text}");
        }
        prop_assert_eq!(serde_json::from_str::<InstallationReceipt>(&text).unwrap(), receipt);
    }

    #[test]
    fn a_trace_holds_nothing_of_payload_reason_context_or_session(
        payload in secret(), reason in secret(), context in secret(), session in secret(),
        host in 0..7_usize, phase in 0..5_usize, decision in 0..3_usize,
    ) {
        let host = Profile::names().nth(host).unwrap();
        let event = LifecycleEvent {
            phase: Phase::ALL[phase],
            session_id: session.clone(),
            context: Some(serde_json::json!({"hostEvent": {"prompt": payload}})),
        };
        let asked = LifecycleOutcome {
            decision: Decision::ALL[decision],
            reason: Some(reason.clone()),
            model_context: Some(context.clone()),
        };
        let got = project(&normalize(&Profile::shipped(host).unwrap().capabilities), &event, asked.clone());
        let trace = json(&Trace::of(host, &event, &asked, &got.rules));
        prop_assert_eq!(&trace["contextLength"], context.len());
        let text = trace.to_string();
        for secret in [&payload, &reason, &context, &session] {
            prop_assert!(!holds(&text, secret), "{secret:?} in {text}");
        }
    }
}

#[test]
fn a_deny_that_could_not_be_kept_never_carries_context_that_could_not_be_injected() {
    let all: Vec<Fidelity> = Fidelity::ALL.to_vec();
    for (&lifecycle, &decision, &context) in
        all.iter().flat_map(|a| all.iter().flat_map(move |b| Fidelity::ALL.iter().map(move |c| (a, b, c))))
    {
        let influence = hosts::Influence { decision: decision.into(), context_injection: context.into() };
        let declared = HostCapabilities {
            lifecycle: PerPhase::of(|_| lifecycle.into()),
            influence: PerPhase::of(|_| influence.clone().into()),
            ..HostCapabilities::default()
        };
        let event = LifecycleEvent { phase: Phase::Stop, session_id: "s".into(), context: None };
        let asked =
            LifecycleOutcome { model_context: Some("ctx".into()), ..LifecycleOutcome::of(Decision::Deny) };
        let got = project(&normalize(&declared), &event, asked).outcome;
        let there = lifecycle != Fidelity::Unavailable;
        let able = |fidelity| matches!(fidelity, Fidelity::Native | Fidelity::Approximated);
        assert_eq!(got.decision == Decision::Deny, there && able(decision));
        assert_eq!(got.model_context.is_some(), there && able(context));
        let reason = match (there, able(decision), able(context)) {
            (false, ..) => Some("lifecycle phase unavailable"),
            (_, false, _) => Some("host cannot block"),
            (_, _, false) => Some("host cannot inject context"),
            _ => None,
        };
        assert_eq!(got.reason.as_deref(), reason);
    }
}

#[test]
fn two_adapters_of_one_id_are_in_the_same_order_however_they_came() {
    let adapter = |fidelity: Fidelity| {
        let install = PerKind::of(|_| fidelity.into());
        let declared = HostCapabilities { install, ..HostCapabilities::default() };
        ManifestHarness::new("twin", declared, Box::new(|_| Ok(None)), Box::new(|_, _| Ok(())))
    };
    let adapters = [Fidelity::Unavailable, Fidelity::Native, Fidelity::StaticOnly].map(adapter);
    let inputs = adapters.each_ref().map(|adapter| EvidenceInput::of(adapter, "1"));
    let text = |order: [usize; 3]| {
        let inputs = order.map(|at| inputs[at].clone());
        serialize(&create_conformance_report(&inputs))
    };
    let expected = text([0, 1, 2]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(text(order), expected, "{order:?}");
    }
}

#[test]
fn what_was_installed_is_hashed_again_and_each_drift_is_named() {
    let disk: RefCell<BTreeMap<String, String>> = RefCell::default();
    let adapter = hosts::opencode(
        Box::new(|asset| Ok(Some(asset.id.clone()))),
        Box::new(|target, content| {
            disk.borrow_mut().insert(target.to_owned(), content.to_owned());
            Ok(())
        }),
    );
    let assets: Vec<_> = (0..4).map(|at| asset(at, format!("content {at}"), None)).collect();
    let receipt = adapter.install(&assets).unwrap();
    let drift = || {
        let drift = receipt.verify(&mut |installed| match installed.id.as_str() {
            "a3" if disk.borrow().contains_key("locked") => Err(io::ErrorKind::PermissionDenied.into()),
            id => Ok(disk.borrow().get(id).map(|text| text.clone().into_bytes())),
        });
        drift.into_iter().map(|drift| (drift.installed.id, drift.kind)).collect::<Vec<_>>()
    };
    assert_eq!(drift(), []);
    disk.borrow_mut().remove("a0");
    disk.borrow_mut().insert("a1".to_owned(), "content 1 ".to_owned());
    disk.borrow_mut().insert("locked".to_owned(), String::new());
    let unreadable = DriftKind::Unreadable(io::ErrorKind::PermissionDenied);
    let expected = [("a0", DriftKind::Missing), ("a1", DriftKind::Changed), ("a3", unreadable)];
    assert_eq!(drift(), expected.map(|(id, kind)| (id.to_owned(), kind)));
}

#[test]
fn a_declaration_without_its_tables_is_refused_by_name() {
    let read = |text: &str| {
        let declared = serde_json::from_str(text).unwrap();
        HostCapabilities::from_json(&declared).map_err(|error| error.to_string())
    };
    assert!(read("[]").unwrap_err().contains("not a JSON object"));
    assert!(read(r#"{"install":{}}"#).unwrap_err().contains("`lifecycle`"));
    assert!(read(r#"{"lifecycle":{},"install":7}"#).unwrap_err().contains("`install`"));
    assert_eq!(*read(r#"{"lifecycle":{},"install":{}}"#).unwrap().lifecycle.get(Phase::Stop), Stated::Absent);
}

#[test]
fn an_error_tells_the_caller_more_than_a_receipt() {
    let error = BindingError::from(io::Error::new(io::ErrorKind::NotFound, "no /home/me/.secret"));
    assert_eq!((error.reason(), error.to_string().contains(".secret")), ("entity not found", true));
}
