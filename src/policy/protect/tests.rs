//! The recorded answers of the incumbent (`tests/fixtures/policy`), row by row. Where a row has a `want`, that is the right
//! answer; rows that differ from the incumbent are those of `docs/differences/policy.md`, and no others.

use super::{Place, judge};
use crate::policy::{Input, Payload, Verdict};
use crate::settings::env::Env;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const VECTORS: &str = include_str!("../../../tests/fixtures/policy/config-protection.jsonl");
const DIFFERENCES: &str = include_str!("../../../docs/differences/policy.md");

/// Rows about the runner, which decides before a policy is asked.
const OF_THE_RUNNER: [&str; 1] = ["cp-e14"];

pub(super) fn rows() -> Vec<Value> {
    VECTORS.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The files that a row's workspace has.
fn furnish(row: &Value, workspace: &Path) {
    let given = &row["workspace"];
    for (name, text) in given["files"].as_object().into_iter().flatten() {
        let path = workspace.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.as_str().map_or_else(|| text.to_string(), str::to_owned)).unwrap();
    }
    for (name, target) in given["symlinks"].as_object().into_iter().flatten() {
        std::os::unix::fs::symlink(target.as_str().unwrap(), workspace.join(name)).unwrap();
    }
    if given["git"] == true {
        fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
        fs::write(workspace.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }
}

fn stdin(row: &Value) -> String {
    let raw = &row["stdin_raw"];
    match raw {
        Value::Null => row["payload"].to_string(),
        Value::String(text) => text.clone(),
        raw => {
            let fill = raw["fill"][0]
                .as_str()
                .unwrap()
                .repeat(usize::try_from(raw["fill"][1].as_u64().unwrap()).unwrap());
            [raw["head"].as_str().unwrap(), &fill, raw["tail"].as_str().unwrap()].concat()
        }
    }
}

fn verdict(row: &Value) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let (workspace, home) = (folder.path().join("ws"), folder.path().join("home"));
    fs::create_dir_all(&workspace).unwrap();
    fs::create_dir_all(&home).unwrap();
    furnish(row, &workspace);
    let text =
        stdin(row).replace("__WS__", workspace.to_str().unwrap()).replace("__HOME__", home.to_str().unwrap());
    let input = Input::read(text.as_bytes());
    let cut = input.truncated || row["env"]["SA_HOOK_INPUT_TRUNCATED"] == "1";
    let env = Env::from_pairs([("HOME", home.as_os_str())]);
    judge(Payload::parse(&input.text).as_ref(), &Place::new(&env, &workspace), cut)
}

fn exit(verdict: &Verdict) -> u64 {
    if *verdict == Verdict::Allow { 0 } else { 2 }
}

#[test]
fn every_row_has_the_right_answer_and_differs_from_the_incumbent_only_on_purpose() {
    let (mut wanted, mut agreed, mut skipped) = (0, 0, 0);
    let (mut wrong, mut different) = (Vec::new(), BTreeSet::new());
    let rows = rows();
    for row in &rows {
        let id = row["id"].as_str().unwrap();
        if OF_THE_RUNNER.contains(&id) {
            skipped += 1;
            continue;
        }
        let verdict = verdict(row);
        let ours = exit(&verdict);
        let right = row["want"].as_str().is_none_or(|want| match want {
            "block" => ours == 2,
            "allow" => ours == 0,
            _ => true,
        });
        if !right {
            wrong.push(format!("{id} {}: {} {verdict:?}", row["title"], row["payload"]));
        }
        wanted += usize::from(right && row["want"] != "-");
        let theirs = row["expect"].as_object().unwrap().values();
        if theirs.into_iter().any(|answer| answer["exit"] == ours) {
            agreed += 1;
        } else {
            different.insert(id.to_owned());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let listed: BTreeSet<String> = DIFFERENCES
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter(|word| word.starts_with("cp-"))
        .map(str::to_owned)
        .collect();
    assert_eq!(different, listed, "left: those that differ, right: those in docs/differences/policy.md");
    assert_eq!((rows.len(), wanted, agreed, different.len(), skipped), (168, 151, 80, 87, 1));
}

#[test]
fn the_kits_fixtures_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/policy/kit");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let fixture: Value = serde_json::from_str(&text).unwrap();
        let verdict = verdict(&fixture);
        assert_eq!(exit(&verdict), fixture["expected"]["exit_code"], "{}", fixture["description"]);
        if let Verdict::Block { reason } = &verdict {
            for needle in fixture["expected"]["stderr_contains"].as_array().unwrap() {
                assert!(reason.contains(needle.as_str().unwrap()), "{needle} in {reason}");
            }
        }
        seen += 1;
    }
    assert_eq!(seen, 8);
}
