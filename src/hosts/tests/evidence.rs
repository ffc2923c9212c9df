//! Probes, reports, and reading them back.

use super::adapters::{cannot_be_asked, described};
use super::{Answer, BYTE_ORDER, each_row, json, text};
use crate::hosts::{
    AssetKind, ConformanceResult, EvidenceError, EvidenceInput, HostAdapter, ParseError, Phase, Status,
    create_conformance_report, derive_conformance_limitations, digest, normalize, parse,
    probe_host_conformance, render_matrix, serialize,
};
use serde_json::{Value, json as value};

fn failed(results: &[ConformanceResult]) -> Vec<&str> {
    results
        .iter()
        .filter(|result| result.status == Status::Fail)
        .map(|result| result.check.as_str())
        .collect()
}

fn strings(row: &Value) -> Vec<&str> {
    row.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

/// The probes that need the method of an adapter that fails, in their order.
fn needing(row: &Value, order: &[String]) -> Vec<String> {
    let installs =
        row["faults"].as_array().is_some_and(|faults| faults.iter().any(|f| f["method"] == "install"));
    let needs = |check: &&String| {
        let install = check.contains("install");
        if installs { install } else { !install && *check != "capability-completeness" }
    };
    order.iter().filter(needs).cloned().collect()
}

#[test]
fn probes_find_what_is_wrong_and_nothing_else() {
    let mut order = vec![];
    each_row("probe.jsonl", |row| {
        if let Some(expected) = row.get("order") {
            order = strings(expected).into_iter().map(str::to_owned).collect();
            let results = probe_host_conformance(described(&value!({"profile": "pi"})).as_ref());
            assert_eq!(results.iter().map(|result| result.check.as_str()).collect::<Vec<_>>(), order);
            return Answer::Same;
        }
        if let Some(why) = cannot_be_asked(&row["adapter"]) {
            return Answer::NotApplicable(why);
        }
        let results = probe_host_conformance(described(&row["adapter"]).as_ref());
        if let Some(error) = row.get("error") {
            assert_eq!(failed(&results), needing(&row["adapter"], &order), "{}", row["id"]);
            let why = Some(text(error, "message").to_owned());
            assert!(
                results.iter().all(|got| (got.status == Status::Fail) == (got.detail == why)),
                "{results:?}"
            );
            return Answer::OnPurpose("an adapter that fails costs the probes that needed it");
        }
        assert_eq!(failed(&results), strings(&row["fail"]), "{}: {}", row["id"], row["note"]);
        Answer::Same
    });
}

#[test]
fn limitations_are_derived_as_expected() {
    each_row("derive.jsonl", |row| {
        let results: Vec<ConformanceResult> = row["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| ConformanceResult {
                check: text(result, "check").to_owned(),
                status: Status::parse(text(result, "status")).unwrap(),
                detail: result["detail"].as_str().map(str::to_owned),
            })
            .collect();
        let declared = super::adapters::capabilities(&row["caps"]);
        let got = derive_conformance_limitations(&normalize(&declared), &results);
        let mut expected = strings(&row["limitations"]);
        let as_it_came = expected == got;
        expected.sort_unstable();
        assert_eq!(got, expected, "{}", row["id"]);
        if as_it_came { Answer::Same } else { Answer::OnPurpose(BYTE_ORDER) }
    });
}

/// The inputs of a row, and whether each was taken.
fn inputs<'a>(
    row: &Value,
    adapters: &'a [Box<dyn HostAdapter>],
) -> Result<Vec<EvidenceInput<'a>>, EvidenceError> {
    let rows = row["inputs"].as_array().unwrap();
    let input = |(row, adapter): (&Value, &'a dyn HostAdapter)| {
        let input = EvidenceInput::of(adapter, text(row, "adapterVersion"));
        let (id, version) = (text(row, "hostId"), text(row, "hostVersion"));
        let input = match text(row, "evidenceScope") {
            "host-bound" => input.bound_to(id, version)?,
            _ => input.labelled(id, version),
        };
        let prose = row["limitations"].as_array().into_iter().flatten();
        Ok(input.limited_by(prose.map(|line| line.as_str().unwrap().to_owned())))
    };
    rows.iter().zip(adapters.iter().map(AsRef::as_ref)).map(input).collect()
}

/// A report's value, with what is sorted sorted by bytes.
fn by_bytes(text: &str) -> Value {
    let mut report: Value = serde_json::from_str(text).unwrap();
    let adapters = report["adapters"].as_array_mut().unwrap();
    adapters.sort_by_key(|entry| self::text(entry, "adapterId").to_owned());
    for entry in adapters {
        entry["limitations"].as_array_mut().unwrap().sort_by_key(|line| line.as_str().unwrap().to_owned());
    }
    report
}

#[test]
fn reports_are_written_to_the_byte() {
    let schema = include_str!("../../../schemas/host-conformance.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    each_row("report.jsonl", |row| {
        let rows = row["inputs"].as_array().unwrap();
        if let Some(why) = rows.iter().find_map(|row| cannot_be_asked(&row["adapter"])) {
            return Answer::NotApplicable(why);
        }
        let adapters: Vec<_> = rows.iter().map(|row| described(&row["adapter"])).collect();
        let inputs = match inputs(row, &adapters) {
            Ok(inputs) => inputs,
            Err(EvidenceError::NoHost(name)) => {
                assert!(name.is_empty() || name == "unbound", "{name:?}");
                return Answer::OnPurpose("host-bound evidence of no host is refused");
            }
            Err(other) => panic!("{}: {other}", row["id"]),
        };
        let report = create_conformance_report(&inputs);
        let got = serialize(&report);
        let reversed: Vec<_> = inputs.iter().rev().cloned().collect();
        assert_eq!(got, serialize(&create_conformance_report(&reversed)), "{}", row["id"]);
        let Some(expected) = row["report"].as_str() else {
            let checks = report.adapters.iter().flat_map(|entry| &entry.results);
            let (all, bad): (Vec<_>, Vec<_>) =
                (checks.clone().collect(), checks.filter(|r| r.detail.is_some()).collect());
            assert!(!bad.is_empty() && bad.len() < all.len(), "{}", row["id"]);
            return Answer::OnPurpose("an adapter that fails costs its own entry, not the report");
        };
        assert_eq!(schema.is_valid(&json(&report)), row["schema_valid"], "{}", row["id"]);
        if got != expected {
            assert_eq!(by_bytes(&got), by_bytes(expected), "{}", row["id"]);
            assert_ne!(serde_json::from_str::<Value>(expected).unwrap(), by_bytes(expected), "{}", row["id"]);
            return Answer::OnPurpose(BYTE_ORDER);
        }
        assert_eq!(render_matrix(&report), text(row, "matrix"), "{}", row["id"]);
        if row["schema_valid"] == true {
            assert_eq!(parse(&got).unwrap(), report, "{}", row["id"]);
        }
        Answer::Same
    });
}

#[test]
fn reports_are_read_version_first_and_strictly() {
    each_row("parse.jsonl", |row| {
        let text = match row["file"].as_str() {
            Some(file) => std::fs::read_to_string(super::folder().join(file)).unwrap(),
            None => text(row, "text").to_owned(),
        };
        let got = parse(&text);
        if row["ok"] == true {
            if row["schema_valid"] == true {
                let bytes = serialize(&got.unwrap());
                assert_eq!(
                    digest(bytes.as_bytes()),
                    format!("sha256:{}", self::text(row, "reserialized_sha256"))
                );
                return Answer::Same;
            }
            assert!(matches!(got, Err(ParseError::Invalid { .. })), "{}: {got:?}", row["id"]);
            return Answer::OnPurpose("what the schema does not allow is refused");
        }
        let (got, error) = (got.unwrap_err(), &row["error"]);
        match self::text(error, "name") {
            "SyntaxError" => assert!(matches!(got, ParseError::Syntax(_)), "{}: {got}", row["id"]),
            "TypeError" => return Answer::NotApplicable("an object that hides its toString"),
            _ if error["schemaVersion"] == "<Infinity>" => {
                return Answer::NotApplicable("a number that JSON readers here refuse");
            }
            _ => assert_eq!(got.to_string(), self::text(error, "message"), "{}", row["id"]),
        }
        Answer::Same
    });
}

#[test]
fn the_strict_reader_agrees_with_the_schema_on_every_single_fault() {
    let schema = include_str!("../../../schemas/host-conformance.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let adapter = described(&value!({"profile": "pi"}));
    let sound = json(&create_conformance_report(&[EvidenceInput::of(adapter.as_ref(), "1")]));
    let mut paths = vec![];
    walk(&sound, String::new(), &mut paths);
    assert!(paths.len() > Phase::ALL.len() * 3 + AssetKind::ALL.len() + 46, "{}", paths.len());
    for path in paths {
        let faults: [fn(&mut Value); 4] = [
            |value| *value = Value::Null,
            |value| *value = value!(""),
            |value| *value = value!("2"),
            |value| {
                if let Some(map) = value.as_object_mut() {
                    map.insert("extra".to_owned(), value!(1));
                }
            },
        ];
        for (at, fault) in faults.into_iter().enumerate() {
            let mut broken = sound.clone();
            fault(broken.pointer_mut(&path).unwrap());
            let read = parse(&broken.to_string());
            assert_eq!(read.is_ok(), schema.is_valid(&broken), "{path}, fault {at}: {read:?}");
        }
        let (parent, key) = path.rsplit_once('/').unwrap();
        let mut broken = sound.clone();
        if let Some(map) = broken.pointer_mut(parent).and_then(Value::as_object_mut) {
            map.remove(key).unwrap();
            assert!(!schema.is_valid(&broken) && parse(&broken.to_string()).is_err(), "without {path}");
        }
    }
}

/// The pointers of every value below `value`.
fn walk(value: &Value, path: String, paths: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => vec![],
    };
    for (key, value) in below {
        let path = format!("{path}/{key}");
        paths.push(path.clone());
        walk(value, path, paths);
    }
}
