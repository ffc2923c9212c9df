//! Installation, in both shapes, with bindings that fail.

use super::adapters::{capabilities, failure, named};
use super::{Answer, each_row, json, text};
use crate::hosts::{
    AssetKind, BindingError, HostAdapter, InProcess, ManifestHarness, PortableAsset, Profile,
};
use serde_json::{Value, json as value};
use std::cell::{Cell, RefCell};

/// The assets of a row; `None` where one is of a kind that there is not.
fn assets(row: &Value) -> Option<Vec<PortableAsset>> {
    let asset = |row: &Value| {
        Some(PortableAsset {
            id: text(row, "id").to_owned(),
            kind: AssetKind::parse(text(row, "kind"))?,
            content: text(row, "content").to_owned(),
            target_hint: row["targetHint"].as_str().map(str::to_owned),
        })
    };
    row["assets"].as_array().unwrap().iter().map(asset).collect()
}

/// Installs the assets of a row with bindings that follow it, and compares calls and receipt.
fn install(row: &Value, assets: &[PortableAsset], host: Option<&str>) {
    let trace = RefCell::new(vec![]);
    let log = |line: String| trace.borrow_mut().push(line);
    let resolved = Cell::new(0);
    let place = |asset: &PortableAsset| {
        let at = assets.iter().position(|other| std::ptr::eq(other, asset)).unwrap();
        resolved.set(at);
        at
    };
    let fault = |op: &str, at: usize| -> Result<(), BindingError> {
        let fault = &row["fault"];
        if fault["op"] == op && fault["at"] == at { Err(failure(text(fault, "message"))) } else { Ok(()) }
    };
    let resolve = |asset: &PortableAsset| {
        let at = place(asset);
        log(format!("resolve:{at}"));
        fault("resolve-throws", at)?;
        Ok(row["targets"][at].as_str().map(str::to_owned))
    };
    let write = |target: &str, content: &str| {
        let at = resolved.get();
        assert_eq!(content, assets[at].content);
        log(format!("write:{at}:{target}"));
        fault("write-throws", at)?;
        log(format!("wrote:{at}"));
        Ok(())
    };
    let register = |asset: &PortableAsset| {
        let at = place(asset);
        log(format!("register:{at}"));
        fault("install-throws", at)?;
        log(format!("registered:{at}"));
        Ok(())
    };
    let binding = (row["installAsset"] == true).then(|| Box::new(register) as _);
    let identity = Box::new(|_: &_, outcome| Ok(outcome));
    let adapter: Box<dyn HostAdapter + '_> = match (host, row["shape"].as_str()) {
        (Some(id), _) => named(id, Box::new(resolve), Box::new(write), identity, binding),
        (None, Some("manifest")) => {
            let declared = capabilities(&row["caps"]);
            Box::new(ManifestHarness::new("edge-host", declared, Box::new(resolve), Box::new(write)))
        }
        (None, _) => Box::new(InProcess::new("edge-host", capabilities(&row["caps"]), identity, binding)),
    };
    let schema = include_str!("../../../schemas/install-receipt.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    match adapter.install(assets) {
        Ok(receipt) => {
            assert_eq!(json(&receipt), row["receipt"], "{}", row["id"]);
            assert!(schema.is_valid(&json(&receipt)), "{}", row["id"]);
        }
        Err(stopped) => {
            assert_eq!(stopped.error.to_string(), text(&row["error"], "message"));
            let at = row["fault"]["at"].as_u64().unwrap() as usize;
            let receipt = json(&*stopped.receipt);
            assert!(schema.is_valid(&receipt), "{receipt}");
            let (id, kind) = (&assets[at].id, assets[at].kind);
            let reason = text(&row["error"], "message");
            assert_eq!(receipt["stopped"], value!({ "id": id, "kind": kind, "reason": reason }));
            let before: Vec<&str> = assets[..at].iter().map(|asset| asset.id.as_str()).collect();
            let installed = receipt["installed"].as_array().unwrap();
            assert_eq!(installed.iter().map(|item| text(item, "id")).collect::<Vec<_>>(), before);
        }
    }
    let done = |word: &str| -> Value {
        let trace = trace.borrow();
        let done = trace.iter().filter_map(|line| line.strip_prefix(word)?.parse::<u64>().ok());
        done.collect::<Vec<_>>().into()
    };
    if let Some(expected) = row.get("trace") {
        assert_eq!(&json(&*trace.borrow()), expected, "{}", row["id"]);
    } else if let Some(expected) = row.get("written") {
        assert_eq!(&done("wrote:"), expected, "{}", row["id"]);
    } else {
        assert_eq!(done("registered:"), row["registered"], "{}", row["id"]);
    }
}

#[test]
fn assets_are_installed_in_each_host_as_expected() {
    for host in Profile::names() {
        each_row(&format!("install-{host}.jsonl"), |row| {
            install(row, &assets(row).unwrap(), Some(host));
            Answer::Same
        });
    }
}

#[test]
fn assets_are_installed_with_any_capabilities_and_a_failure_says_how_far_it_came() {
    each_row("install-edge.jsonl", |row| {
        let Some(assets) = assets(row) else {
            return Answer::NotApplicable("a kind of asset that there is not");
        };
        install(row, &assets, None);
        if row.get("error").is_some() {
            return Answer::OnPurpose("a binding that fails leaves a receipt");
        }
        Answer::Same
    });
}
