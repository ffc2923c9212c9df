//! The case corpus (`tests/fixtures/cases`): 28 homes, where each fault was reported in public, and the right answers.

use super::{is_cost, usage};
use crate::env::{TestEnv, fixture};
use serde::Deserialize;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;

#[derive(Deserialize)]
struct Index {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    dir: String,
    files: Vec<String>,
    runtime: String,
    answer: Value,
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(fixture("cases/index.json")).unwrap();
    serde_json::from_str::<Index>(&text).unwrap().cases
}

/// The answer for a copy of the case's home.
fn answer(case: &Case) -> Value {
    let env = TestEnv::new();
    let home = env.project().join("home");
    for file in &case.files {
        let to = home.join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(fixture("cases").join(&case.dir).join(file), to).unwrap();
    }
    usage(&env, &[OsStr::new("--home"), home.as_os_str()])
}

/// What differs between a right answer and ours, for the whole of a home or for one of its sessions.
fn differences(right: &Value, ours: &Value) -> Vec<String> {
    let mut found = vec![];
    let (models, our_models) = (right["by_model"].as_object().unwrap(), &ours["by_model"]);
    for (model, figures) in models {
        // Reasoning is a part of output that the corpus tells for information.
        for (bucket, expected) in figures.as_object().unwrap().iter().filter(|(name, _)| *name != "reasoning")
        {
            let ours = &our_models[model][bucket];
            let same = match bucket.as_str() {
                "cost_usd" => same_cost(expected, ours),
                _ => expected == ours,
            };
            if !same {
                found.push(format!("{model}.{bucket}: {ours} instead of {expected}"));
            }
        }
    }
    if our_models.as_object().map(serde_json::Map::len) != Some(models.len()) {
        found.push(format!("models: {our_models}"));
    }
    if !same_cost(&right["total_cost_usd"], &ours["total_cost_usd"]) {
        found.push(format!("total: {} instead of {}", ours["total_cost_usd"], right["total_cost_usd"]));
    }
    found
}

fn same_cost(expected: &Value, ours: &Value) -> bool {
    match expected.as_f64() {
        Some(expected) => is_cost(ours, expected),
        None => ours.is_null() && expected.is_null(),
    }
}

#[test]
fn every_case_has_the_right_answer() {
    let mut wrong = vec![];
    let mut sessions = 0;
    let cases: Vec<Case> = cases();
    let of = |runtime: &str| cases.iter().filter(|case| case.runtime == runtime).count();
    let counted = ["claude-code", "codex", "copilot-cli", "kiro-cli", "opencode", "pi"].map(of);
    assert_eq!(counted, [17, 7, 1, 1, 1, 1]);
    for case in &cases {
        let ours = answer(case);
        let right = &case.answer;
        let mut found = differences(right, &ours);
        if ours["unpriced_models"] != right["unpriced_models"] {
            found.push(format!("unpriced: {}", ours["unpriced_models"]));
        }
        let complete = right.get("complete").cloned().unwrap_or(Value::Bool(true));
        // Where the corpus does not say, it counts and prices every call.
        if ours["complete"] != complete {
            found.push(format!("complete: {}", ours["complete"]));
        }
        if !same_cost(right.get("credits").unwrap_or(&Value::Null), &ours["credits"]) {
            found.push(format!("credits: {}", ours["credits"]));
        }
        for (session, right) in right["by_run"].as_object().into_iter().flatten() {
            sessions += 1;
            found.extend(differences(right, &ours["by_session"][session]));
        }
        wrong.extend(found.into_iter().map(|difference| format!("{}: {difference}", case.name)));
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(sessions, 8, "c05, c26, c34 and c37 tell two sessions apart each");
}

#[test]
fn every_file_of_the_corpus_is_in_the_index() {
    let mut listed: Vec<String> = cases()
        .iter()
        .flat_map(|case| case.files.iter().map(|file| format!("{}/{file}", case.dir)))
        .collect();
    let mut there = vec![];
    collect(&fixture("cases/open"), &fixture("cases"), &mut there);
    listed.sort();
    there.sort();
    assert_eq!(listed, there);
}

fn collect(dir: &Path, root: &Path, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, root, files);
        } else {
            files.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
}
