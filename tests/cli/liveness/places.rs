//! One stream per repository, wherever in it one works; git itself says what belongs together.

use super::events;
use crate::env::TestEnv;
use std::path::{Path, PathBuf};
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "git is the oracle")]
fn git(dir: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.current_dir(dir).args([
        "-c",
        "protocol.file.allow=always",
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
    ]);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    let output = command.args(args).output().ok()?;
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

fn repository(dir: &Path) -> bool {
    std::fs::create_dir_all(dir).unwrap();
    git(dir, &["init", "-q", "-b", "main"]).is_some()
        && git(dir, &["commit", "-q", "--allow-empty", "-m", "first"]).is_some()
}

/// Claims in `dir` and returns the stream that the claim went to.
fn claim(env: &TestEnv, dir: &Path, actor: &str) -> PathBuf {
    let output =
        env.command(&["liveness", "claim", "s", "--actor", actor]).current_dir(dir).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let status = env.command(&["liveness", "compact"]).current_dir(dir).output().unwrap();
    let text = String::from_utf8(status.stdout).unwrap();
    PathBuf::from(text.trim().rsplit_once(" in ").unwrap().1)
}

/// Where the stream must be when `root` is the shared root.
fn below(root: &Path) -> PathBuf {
    root.canonicalize().unwrap().join(".kontourai/flow-agents/liveness/events.jsonl")
}

/// The parent of what git calls the common directory.
fn beside_common_dir(dir: &Path) -> PathBuf {
    let common = git(dir, &["rev-parse", "--path-format=absolute", "--git-common-dir"]).unwrap();
    Path::new(&common).parent().unwrap().to_path_buf()
}

#[test]
fn worktrees_and_subdirectories_share_the_main_checkouts_stream() {
    let env = TestEnv::new();
    if !repository(&env.project()) {
        eprintln!("skipped: no git");
        return;
    }
    let (worktree, inside) = (env.home().join("worktree"), env.project().join("a/b"));
    git(&env.project(), &["worktree", "add", "-q", "-b", "side", worktree.to_str().unwrap()]);
    std::fs::create_dir_all(&inside).unwrap();
    let expected = below(&beside_common_dir(&worktree));
    for (dir, actor) in [(&env.project(), "main"), (&inside, "sub"), (&worktree, "side")] {
        assert_eq!(claim(&env, dir, actor), expected, "{}", dir.display());
    }
    let branches: Vec<_> = events(&env).iter().map(|event| event["branch"].clone()).collect();
    assert_eq!(branches, ["main", "main", "side"]);
    let seen = env.command(&["liveness", "verdict", "s"]).current_dir(&worktree).output().unwrap();
    let seen = String::from_utf8(seen.stdout).unwrap();
    assert!(seen.contains("WINNER: main") && seen.contains("LOSER: side"), "{seen}");
}

#[test]
fn a_submodule_and_its_worktree_have_the_submodules_stream() {
    let env = TestEnv::new();
    let part = env.home().join("part");
    if !repository(&env.project()) || !repository(&part) {
        eprintln!("skipped: no git");
        return;
    }
    git(&env.project(), &["submodule", "--quiet", "add", part.to_str().unwrap(), "sub"]);
    let sub = env.project().join("sub");
    let worktree = env.home().join("worktree");
    git(&sub, &["worktree", "add", "-q", "-b", "side", worktree.to_str().unwrap()]);
    let expected = below(Path::new(&git(&sub, &["rev-parse", "--show-toplevel"]).unwrap()));
    assert_eq!(claim(&env, &sub, "a"), expected);
    assert_eq!(claim(&env, &worktree, "b"), expected);
    assert_ne!(claim(&env, &env.project(), "c"), expected);
}

#[test]
fn a_separate_git_dir_and_a_bare_repository_have_one_stream_each() {
    let env = TestEnv::new();
    let (checkout, git_dir) = (env.home().join("checkout"), env.home().join("elsewhere/repo.git"));
    std::fs::create_dir_all(&checkout).unwrap();
    std::fs::create_dir_all(git_dir.parent().unwrap()).unwrap();
    let separate = format!("--separate-git-dir={}", git_dir.display());
    if git(&checkout, &["init", "-q", "-b", "main", &separate]).is_none() {
        eprintln!("skipped: no git");
        return;
    }
    let top = git(&checkout, &["rev-parse", "--show-toplevel"]).unwrap();
    assert_eq!(claim(&env, &checkout, "a"), below(Path::new(&top)));

    let (seed, bare) = (env.home().join("seed"), env.home().join("bares/app.git"));
    repository(&seed);
    git(&seed, &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let (one, two) = (env.home().join("one"), env.home().join("two"));
    git(&bare, &["worktree", "add", "-q", "-b", "one", one.to_str().unwrap()]);
    git(&bare, &["worktree", "add", "-q", "-b", "two", two.to_str().unwrap()]);
    let expected = below(&beside_common_dir(&one));
    assert_eq!((claim(&env, &one, "a"), claim(&env, &two, "b")), (expected.clone(), expected));
}

#[test]
fn outside_git_the_nearest_marked_folder_holds_the_stream_whatever_the_workspace_override() {
    let mut env = TestEnv::new();
    let inside = env.project().join("a/b");
    std::fs::create_dir_all(&inside).unwrap();
    env.set("TELEMETRY_WORKSPACE_ROOT", env.home().to_str().unwrap());
    assert_eq!(claim(&env, &inside, "a"), below(&inside));
    std::fs::remove_dir_all(inside.join(".kontourai")).unwrap();
    std::fs::create_dir(env.project().join(".kontourai")).unwrap();
    assert_eq!(claim(&env, &inside, "a"), below(&env.project()));
}
