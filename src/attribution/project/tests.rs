//! The golden rows are what flow-agents answers; the few that differ are in `docs/differences/project-label.md`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Label, Project, Step, path_free};
use crate::sys::git::Repository;

const GOLDEN: &str = include_str!("../../../tests/fixtures/flow-agents/golden/project-label.jsonl");

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    (dir, root)
}

/// A repository as git lays it out, with `url` as its remote.
fn repository(top: &Path, url: Option<&str>) {
    fs::create_dir_all(top.join(".git/objects")).unwrap();
    fs::create_dir_all(top.join(".git/refs")).unwrap();
    fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let remote = url.map(|url| format!("[remote \"origin\"]\n\turl = {url}\n")).unwrap_or_default();
    fs::write(top.join(".git/config"), remote).unwrap();
}

fn label_of(cwd: &Path, override_label: Option<&str>, home: Option<&Path>) -> Option<Label> {
    let repository = Repository::discover(cwd);
    Project::new(cwd, repository.as_ref(), override_label, home)?.label()
}

fn label(text: &str, step: Step) -> Option<Label> {
    Some(Label { text: text.to_owned(), step })
}

/// The label of the situation that a golden case names.
fn golden_case(case: &str) -> String {
    let (_dir, root) = scratch();
    let cwd = root.join("pkg");
    fs::create_dir(&cwd).unwrap();
    fs::write(root.join("package.json"), r#"{"name":"@s/root"}"#).unwrap();
    let found = match case {
        "nearest package.json without name falls to parent named" => {
            fs::write(cwd.join("package.json"), r#"{"version":"1.0.0"}"#).unwrap();
            label_of(&cwd, None, None)
        }
        "malformed package.json skipped" => {
            fs::write(cwd.join("package.json"), r#"{"name":"#).unwrap();
            label_of(&cwd, None, None)
        }
        "missing cwd" => label_of(&root.join("missing"), None, None),
        "missing cwd with FLOW_AGENTS_PROJECT" => label_of(&root.join("missing"), Some("x"), None),
        "FLOW_AGENTS_PROJECT" => label_of(&cwd, Some("/abs/path"), None),
        other => panic!("unknown golden case {other}"),
    };
    found.map(|label| label.text).unwrap_or_default()
}

#[test]
fn golden_project_labels() {
    let mut rows = 0;
    for line in GOLDEN.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let expected = row["label"].as_str().unwrap();
        rows += 1;
        if let Some(url) = row["remote"].as_str() {
            let (_dir, root) = scratch();
            let top = root.join("checkout");
            repository(&top, Some(url));
            let expected = match expected {
                "<toplevel-basename>" => label("checkout", Step::Toplevel),
                text => label(text, Step::Remote),
            };
            assert_eq!(label_of(&top, None, None), expected, "{url}");
        } else {
            let case = row["case"].as_str().unwrap();
            // Differs: flow-agents lets an operator's path through whole, and a path must never leave the machine.
            let expected = if case == "FLOW_AGENTS_PROJECT" { "path" } else { expected };
            assert_eq!(golden_case(case), expected, "{case}");
        }
    }
    assert_eq!(rows, 22);
}

#[test]
fn a_manifest_above_the_checkout_or_above_home_is_somebody_elses() {
    let (_dir, root) = scratch();
    fs::write(root.join("package.json"), r#"{"name":"outer"}"#).unwrap();
    let cwd = root.join("home/plain");
    fs::create_dir_all(&cwd).unwrap();
    let home = root.join("home");
    assert_eq!(label_of(&cwd, None, Some(&home)), label("plain", Step::Directory));
    assert_eq!(label_of(&cwd, None, None), label("outer", Step::Manifest));
    fs::write(home.join("package.json"), r#"{"name":"dotfiles"}"#).unwrap();
    assert_eq!(label_of(&cwd, None, Some(&home)), label("dotfiles", Step::Manifest));
    repository(&cwd, None);
    fs::create_dir(cwd.join("src")).unwrap();
    assert_eq!(label_of(&cwd.join("src"), None, Some(&home)), label("plain", Step::Toplevel));
    fs::write(cwd.join("package.json"), r#"{"name":"own"}"#).unwrap();
    assert_eq!(label_of(&cwd.join("src"), None, Some(&home)), label("own", Step::Manifest));
}

#[test]
fn a_linked_worktree_has_the_label_of_its_repository() {
    let (_dir, root) = scratch();
    let admin = root.join("main/.git/worktrees/wt");
    repository(&root.join("main"), None);
    fs::create_dir_all(&admin).unwrap();
    fs::write(admin.join("HEAD"), "ref: refs/heads/side\n").unwrap();
    fs::write(admin.join("commondir"), "../..\n").unwrap();
    fs::create_dir(root.join("wt-4711")).unwrap();
    fs::write(root.join("wt-4711/.git"), format!("gitdir: {}\n", admin.display())).unwrap();
    assert_eq!(label_of(&root.join("wt-4711"), None, None), label("main", Step::Toplevel));
}

#[test]
fn an_empty_or_nameless_override_is_no_override() {
    let (_dir, root) = scratch();
    let cwd = root.join("here");
    fs::create_dir(&cwd).unwrap();
    for value in ["", "  ", "/", "..", "\u{7}"] {
        assert_eq!(label_of(&cwd, Some(value), None), label("here", Step::Directory), "{value:?}");
    }
    assert_eq!(label_of(&cwd, Some("acme/app"), None), label("acme/app", Step::Override));
}

#[test]
fn labels_are_free_of_paths() {
    let cases = [
        ("@s/root", Some("@s/root")),
        ("org/repo", Some("org/repo")),
        ("my project", Some("my project")),
        ("/home/me/app/", Some("app")),
        ("~/app", Some("app")),
        ("./app", Some("app")),
        ("../../etc", Some("etc")),
        ("a/b/c", Some("c")),
        (r"C:\Users\me\app", Some("app")),
        (r"\\server\share", Some("share")),
        ("C:app", Some("app")),
        ("https://user:tok@host/org/repo", Some("org/repo")),
        ("https://tok@host", None),
        ("file:///home/me/app", None),
        ("~", None),
        ("../..", None),
        ("a\u{1b}[31m\nb", Some("a[31mb")),
    ];
    for (text, expected) in cases {
        assert_eq!(path_free(text).as_deref(), expected, "{text:?}");
    }
    assert_eq!(path_free(&"ä".repeat(500)).unwrap().chars().count(), 190);
}

#[test]
fn every_step_is_explained_and_no_remote_url_is_shown() {
    let (_dir, root) = scratch();
    let top = root.join("checkout");
    repository(&top, Some("https://user:s3cret@host/org/repo"));
    let found = Repository::discover(&top);
    let attempts = Project::new(&top, found.as_ref(), None, None).unwrap().explain();
    let labels: Vec<_> =
        attempts.iter().map(|attempt| (attempt.step.as_str(), attempt.label.as_deref())).collect();
    assert_eq!(
        labels,
        [
            ("override", None),
            ("manifest", None),
            ("remote", Some("org/repo")),
            ("toplevel", Some("checkout")),
            ("directory", Some("checkout"))
        ]
    );
    assert!(attempts.iter().all(|attempt| !attempt.detail.is_empty() && !attempt.detail.contains("s3cret")));
}
