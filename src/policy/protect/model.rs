//! What is allowed is run, by a real shell with a real git, in a copy of a checkout: no protected file may have changed
//! then, and no commit may be there whose hook did not run.
//!
//! `PROPTEST_CASES=20000 cargo test --lib policy::protect::model` runs many.

use super::{Place, judge};
use crate::policy::{Payload, Verdict};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::sync::LazyLock;

/// What must stay as it is; `~` is the home.
const PROTECTED: [&str; 7] = [
    "ws/biome.json",
    "ws/.eslintrc.json",
    "ws/.kontourai/flow-agents/s/state.json",
    "ws/.kontourai/flow-agents/s/command-log.jsonl",
    "ws/.git/hooks/pre-commit",
    "ws/.claude/settings.json",
    "home/.bashrc",
];

#[expect(clippy::disallowed_methods, reason = "a real shell and a real git are the oracle, in tests only")]
fn run(program: &str, arguments: &[&str], root: &Path) {
    let mut command = std::process::Command::new(program);
    command.args(arguments).current_dir(root.join("ws")).env_clear();
    command
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", root.join("home"))
        .env("TMPDIR", root.join("tmp"));
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_EDITOR", "true");
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.expect("this test runs what it judges: install sh and git");
}

/// The checkout that every case gets a copy of.
static CHECKOUT: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["ws/src", "home", "tmp", "ws/template"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    run("git", &["init", "-q", "--template=", "."], root);
    for name in PROTECTED {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}\n").unwrap();
    }
    fs::write(root.join("ws/.git/hooks/pre-commit"), "#!/bin/sh\necho ran >> .git/ran\n").unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(root.join("ws/.git/hooks/pre-commit"), executable).unwrap();
    fs::write(root.join("ws/src/a.txt"), "a\n").unwrap();
    fs::write(root.join("ws/trust.txt"), "b\n").unwrap();
    for (link, target) in
        [("ok.json", "biome.json"), ("hop", ".kontourai/flow-agents/s"), ("gitlink", "/usr/bin/git")]
    {
        symlink(target, root.join("ws").join(link)).unwrap();
    }
    run("git", &["config", "user.name", "t"], root);
    run("git", &["config", "user.email", "t@example.com"], root);
    run("git", &["config", "alias.ci", "commit --allow-empty -n"], root);
    run("git", &["config", "alias.co", "commit --allow-empty"], root);
    run("git", &["add", "src"], root);
    run("git", &["commit", "-q", "-m", "first"], root);
    folder
});

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (kind, target) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target);
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The bytes and the mode of each protected file; `None` for one that is not there.
fn protected(root: &Path) -> Vec<Option<(Vec<u8>, u32)>> {
    let state =
        |path: &Path| Some((fs::read(path).ok()?, fs::symlink_metadata(path).ok()?.permissions().mode()));
    PROTECTED.iter().map(|name| state(&root.join(name))).collect()
}

/// Commits, and runs of the hook.
fn commits(root: &Path) -> (usize, usize) {
    let lines =
        |name: &str| fs::read_to_string(root.join("ws/.git").join(name)).unwrap_or_default().lines().count();
    (lines("logs/HEAD"), lines("ran"))
}

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Became {
    allowed: bool,
    harmful: bool,
}

/// Judges a command, and runs it if it is allowed, or if `always`.
fn becomes(shell: &str, command: &str, always: bool) -> Became {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    copy(CHECKOUT.path(), &root);
    let place = Place {
        cwd: root.join("ws"),
        home: Some(root.join("home").to_str().unwrap().to_owned()),
        temporary: vec![root.join("tmp")],
        ..Place::default()
    };
    let payload = serde_json::json!({"tool_name": "Bash", "tool_input": {"command": command}}).to_string();
    let allowed = judge(Payload::parse(&payload).as_ref(), &place, false) == Verdict::Allow;
    if !allowed && !always {
        return Became { allowed, harmful: false };
    }
    let before = (protected(&root), commits(&root));
    run(shell, &["-c", &format!("{command}\nwait")], &root);
    let after = (protected(&root), commits(&root));
    let skipped = after.1.0 - before.1.0.min(after.1.0) > after.1.1 - before.1.1.min(after.1.1);
    Became { allowed, harmful: skipped || before.0 != after.0 }
}

/// One of the lines of a section of `tests/fixtures/policy/model.txt`. There ␤ is a new line, ␣ a space at an end, and ∅
/// nothing; what stands several times comes more often.
fn choice(section: &str) -> impl Strategy<Value = &'static str> + use<> {
    static SECTIONS: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
        let text = include_str!("../../../tests/fixtures/policy/model.txt");
        let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).map(plain_line).collect();
        let sections =
            text.strip_prefix("# ").unwrap().split("\n\n# ").map(|section| section.split_once('\n').unwrap());
        sections.map(|(name, text)| (name.to_owned(), lines(text))).collect()
    });
    select(SECTIONS[section].iter().map(String::as_str).collect::<Vec<_>>())
}

fn plain_line(line: &str) -> String {
    if line == "∅" { String::new() } else { line.replace('␤', "\n").replace('␣', " ") }
}

/// Text with some of it quoted, in a way that means the same.
fn quoted(text: &'static str) -> impl Strategy<Value = String> {
    proptest::collection::vec(0..14_u8, text.len()).prop_map(|ways| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "./-_".contains(c);
        let put = |(c, way): (char, u8)| match way {
            0 if plain(c) => format!("\\{c}"),
            1 if plain(c) => format!("'{c}'"),
            2 if plain(c) => format!("\"{c}\""),
            3 if plain(c) => format!("{c}''"),
            4 if plain(c) => format!("{c}\\\n"),
            _ => c.to_string(),
        };
        text.chars().zip(ways).map(put).collect::<String>()
    })
}

/// A file, protected or not, in one of the ways to say it.
fn file() -> impl Strategy<Value = String> {
    let plain = choice("plain");
    let expanded = choice("spelled");
    prop_oneof![3 => plain.prop_flat_map(quoted), 2 => expanded.prop_map(str::to_owned)]
}

/// A command that does something with a file.
fn writes() -> impl Strategy<Value = String> {
    let forms = choice("writes");
    (forms, file(), choice("before writes"))
        .prop_map(|(form, file, before)| format!("{before}{}", form.replace('@', &file)))
}

/// A commit, with or without its hook.
fn commit() -> impl Strategy<Value = String> {
    let before = choice("options of git");
    let name = choice("commands");
    let option = || choice("options");
    let variables = choice("variables");
    let git = choice("git");
    (variables, git, before, name, proptest::collection::vec(option(), 0..3)).prop_map(
        |(variables, git, before, name, options)| {
            format!("{variables}{git} {before}{name} --allow-empty {} -m x", options.join(" "))
        },
    )
}

fn command() -> impl Strategy<Value = String> {
    prop_oneof![3 => writes(), 2 => commit(), 1 => choice("harmless").prop_map(str::to_owned)]
}

/// A command in a place where a shell runs it, or does not.
fn placed() -> impl Strategy<Value = String> {
    let shapes = choice("shapes");
    (shapes, command()).prop_map(|(shape, command)| {
        let single = format!("'{}'", command.replace('\'', "'\\''"));
        shape
            .replace("'%s\\n'", "'\u{1}s\\n'")
            .replace('%', &single)
            .replace('\u{1}', "%")
            .replace('@', &command)
    })
}

fn story() -> impl Strategy<Value = (&'static str, String)> {
    let joined = (proptest::collection::vec(placed(), 1..4), choice("joins"));
    let shell = select(if Path::new("/bin/bash").exists() { vec!["sh", "bash"] } else { vec!["sh"] });
    (shell, joined.prop_map(|(commands, join)| commands.join(join)))
}

fn config() -> ProptestConfig {
    // Each case starts a shell; without a wish, few do.
    let wished = ProptestConfig::default();
    if wished.cases == 256 { ProptestConfig::with_cases(96) } else { wished }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_allowed_changes_no_protected_file_and_skips_no_hook((shell, command) in story()) {
        let became = becomes(shell, &command, false);
        prop_assert!(!(became.allowed && became.harmful), "{shell}: {command}");
    }
}

#[test]
fn the_model_sees_harm() {
    for (command, harmful) in [
        ("echo x > biome.json", true),
        ("chmod -x .git/hooks/pre-commit", true),
        ("rm ~/.bashrc", true),
        ("git commit -q --allow-empty -nm x", true),
        ("git commit -q --allow-empty -m x", false),
        ("echo x > out.txt", false),
    ] {
        assert_eq!(becomes("sh", command, true).harmful, harmful, "{command}");
    }
}
