//! Every fact is compared with what the real git says about the same directory.

use std::fs;
use std::path::{Path, PathBuf};

use super::Repository;

/// Runs git in `dir` with nothing of this machine's configuration; `None` when git refuses.
#[expect(clippy::disallowed_methods, reason = "the real git is the oracle, in tests only")]
fn git(dir: &Path, args: &[&str]) -> Option<String> {
    let mut command = std::process::Command::new("git");
    command.current_dir(dir).args(["-c", "user.name=t", "-c", "user.email=t@example.com"]);
    command.args(["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=trunk"]).args(args);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_CEILING_DIRECTORIES"] {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().expect("these tests compare with the real git: install git to run them");
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
}

fn run(dir: &Path, args: &[&str]) {
    assert!(git(dir, args).is_some(), "git {args:?} in {}", dir.display());
}

/// A scratch folder with a repository `main` that has one commit.
fn scratch() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    run(&root, &["init", "-q", "main"]);
    run(&root.join("main"), &["commit", "-q", "--allow-empty", "-m", "first"]);
    (dir, root)
}

/// What we say about `dir`, after checking that git says the same.
fn agreed(dir: &Path) -> Repository {
    let ours = Repository::discover(dir).expect("git finds a repository here");
    let path = |args: &[&str]| git(dir, args).map(|text| dir.join(text).canonicalize().unwrap());
    assert_eq!(ours.worktree_root().map(Path::to_path_buf), path(&["rev-parse", "--show-toplevel"]));
    assert_eq!(Some(ours.git_dir().canonicalize().unwrap()), path(&["rev-parse", "--absolute-git-dir"]));
    assert_eq!(Some(ours.common_dir().canonicalize().unwrap()), path(&["rev-parse", "--git-common-dir"]));
    assert_eq!(ours.branch().map(str::to_owned), git(dir, &["symbolic-ref", "-q", "--short", "HEAD"]));
    assert_eq!(
        ours.origin_url().map(str::to_owned),
        git(dir, &["config", "--local", "--get", "remote.origin.url"])
    );
    ours
}

#[test]
fn main_checkout_and_subdirectory() {
    let (_dir, root) = scratch();
    let main = root.join("main");
    run(&main, &["remote", "add", "origin", "https://user:secret@example.com/org/repo.git"]);
    fs::create_dir_all(main.join("a/b")).unwrap();
    for dir in [main.clone(), main.join("a/b")] {
        let found = agreed(&dir);
        assert_eq!(found.shared_root(), main);
        assert_eq!(found.name().as_deref(), Some("main"));
        assert_eq!(found.branch(), Some("trunk"));
        assert!(found.origin_url().is_some());
    }
}

#[test]
fn inside_the_git_directory_there_is_no_worktree() {
    let (_dir, root) = scratch();
    let found = agreed(&root.join("main/.git/refs"));
    assert_eq!(found.worktree_root(), None);
    assert_eq!(found.shared_root(), root.join("main"));
}

#[test]
fn linked_worktree_shares_the_main_checkout() {
    let (_dir, root) = scratch();
    run(&root.join("main"), &["worktree", "add", "-q", "-b", "side/x", "../wt"]);
    let found = agreed(&root.join("wt"));
    assert_eq!(found.shared_root(), root.join("main"));
    assert_eq!(found.worktree_root(), Some(root.join("wt").as_path()));
    assert_eq!(found.name().as_deref(), Some("main"));
    assert_eq!(found.branch(), Some("side/x"));
}

#[test]
fn worktree_of_a_bare_repository() {
    let (_dir, root) = scratch();
    run(&root, &["clone", "-q", "--bare", "main", "store/app.git"]);
    let bare = root.join("store/app.git");
    run(&bare, &["worktree", "add", "-q", "--detach", "../../wt"]);
    for dir in [root.join("wt"), bare] {
        let found = agreed(&dir);
        assert_eq!(found.shared_root(), root.join("store"));
        assert_eq!(found.name().as_deref(), Some("app"));
    }
    assert_eq!(Repository::discover(&root.join("wt")).unwrap().branch(), None);
}

#[test]
fn bare_repository_behind_a_git_file() {
    let (_dir, root) = scratch();
    run(&root, &["clone", "-q", "--bare", "main", "app/.bare"]);
    fs::write(root.join("app/.git"), "gitdir: ./.bare\n").unwrap();
    run(&root.join("app"), &["worktree", "add", "-q", "-b", "x", "x"]);
    for dir in [root.join("app"), root.join("app/x")] {
        let found = agreed(&dir);
        assert_eq!(found.shared_root(), root.join("app"));
        assert_eq!(found.name().as_deref(), Some("app"));
    }
}

#[test]
fn submodule_and_its_linked_worktree() {
    let (_dir, root) = scratch();
    run(&root, &["init", "-q", "super"]);
    let sub = root.join("super/libs/sub");
    run(&root.join("super"), &["submodule", "--quiet", "add", "../main", "libs/sub"]);
    run(&sub, &["worktree", "add", "-q", "-b", "y", "../../../subwt"]);
    for dir in [sub.clone(), root.join("subwt")] {
        let found = agreed(&dir);
        assert_eq!(found.shared_root(), sub);
        assert_eq!(found.name().as_deref(), Some("sub"));
    }
}

#[test]
fn sparse_submodule_keeps_its_worktree_in_the_per_worktree_config() {
    let (_dir, root) = scratch();
    run(&root, &["init", "-q", "super"]);
    run(&root.join("super"), &["submodule", "--quiet", "add", "../main", "sub"]);
    let sub = root.join("super/sub");
    run(&sub, &["sparse-checkout", "set", "a"]);
    run(&sub, &["worktree", "add", "-q", "-b", "y", "../../subwt"]);
    assert_eq!(agreed(&sub).shared_root(), sub);
    assert_eq!(agreed(&root.join("subwt")).shared_root(), sub);
}

#[test]
fn separate_git_dir() {
    let (_dir, root) = scratch();
    run(&root, &["init", "-q", "--separate-git-dir", "sep", "checkout"]);
    let checkout = root.join("checkout");
    assert_eq!(agreed(&checkout).shared_root(), checkout);
    // A relative `core.worktree` counts from the git directory.
    run(&checkout, &["config", "core.worktree", "../checkout"]);
    assert_eq!(agreed(&checkout).shared_root(), checkout);
    run(&checkout, &["commit", "-q", "--allow-empty", "-m", "first"]);
    run(&checkout, &["worktree", "add", "-q", "--detach", "../wt"]);
    assert_eq!(agreed(&root.join("wt")).shared_root(), checkout);
}

#[test]
fn nested_repository_is_the_nearest() {
    let (_dir, root) = scratch();
    run(&root.join("main"), &["init", "-q", "inner"]);
    assert_eq!(agreed(&root.join("main/inner")).shared_root(), root.join("main/inner"));
}

#[test]
fn a_git_directory_that_is_no_repository_is_passed_over() {
    let (_dir, root) = scratch();
    fs::create_dir_all(root.join("main/a/.git")).unwrap();
    assert_eq!(agreed(&root.join("main/a")).shared_root(), root.join("main"));
}

#[test]
fn nothing_is_found_where_git_finds_nothing() {
    let (_dir, root) = scratch();
    fs::create_dir(root.join("plain")).unwrap();
    for (name, content) in
        [("lost", "gitdir: /nowhere/at/all\n"), ("self", "gitdir: .git\n"), ("junk", "hello")]
    {
        // Inside a repository, so that looking further up would find one.
        fs::create_dir(root.join("main").join(name)).unwrap();
        fs::write(root.join("main").join(name).join(".git"), content).unwrap();
    }
    for dir in ["plain", "main/lost", "main/self", "main/junk"] {
        let dir = root.join(dir);
        assert_eq!(git(&dir, &["rev-parse", "--git-dir"]), None, "{}", dir.display());
        assert_eq!(Repository::discover(&dir), None, "{}", dir.display());
    }
    assert_eq!(Repository::discover(&root.join("missing")), None);
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_leads_to_the_repository_it_points_into() {
    let (_dir, root) = scratch();
    std::os::unix::fs::symlink(root.join("main"), root.join("link")).unwrap();
    assert_eq!(agreed(&root.join("link")).shared_root(), root.join("main"));
}

#[test]
fn what_the_index_has_is_tracked_in_every_version_of_its_form() {
    let (_dir, root) = scratch();
    let main = root.join("main");
    let sha256 = root.join("sha256");
    run(&root, &["init", "-q", "--object-format=sha256", "sha256"]);
    for (repository, version) in [(&main, "2"), (&main, "3"), (&main, "4"), (&sha256, "4")] {
        fs::create_dir_all(repository.join("a/b")).unwrap();
        for name in ["a/b/one", "a/b/once", "a/two", "z"] {
            fs::write(repository.join(name), version).unwrap();
        }
        run(repository, &["add", "a/b/once", "a/two", "z"]);
        run(repository, &["update-index", "--index-version", version]);
        if version == "3" {
            run(repository, &["add", "--intent-to-add", "a/b/one"]);
        }
        let ours = Repository::discover(&repository.join("a")).unwrap();
        for name in ["a/b/one", "a/b/once", "a/two", "z", "a", "gone"] {
            let tracked = git(repository, &["ls-files", "--error-unmatch", name]).is_some() && name != "a";
            assert_eq!(ours.tracks(&repository.join(name)), Some(tracked), "{name} in version {version}");
        }
        let (changed, same) = (repository.join("a/two"), repository.join("z"));
        assert_eq!(ours.has_unchanged(&changed), Some(true), "in version {version}");
        fs::write(&changed, "changed").unwrap();
        assert_eq!(ours.has_unchanged(&changed), Some(false), "in version {version}");
        assert_eq!(ours.has_unchanged(&same), Some(true), "in version {version}");
        assert_eq!(ours.has_unchanged(&repository.join("stray")), Some(false));
    }
    run(&main, &["update-index", "--split-index"]);
    assert_eq!(Repository::discover(&main).unwrap().tracks(&main.join("z")), None);
    fs::write(main.join(".git/index"), b"DIRC").unwrap();
    assert_eq!(Repository::discover(&main).unwrap().tracks(&main.join("z")), None);
    fs::remove_file(main.join(".git/index")).unwrap();
    assert_eq!(Repository::discover(&main).unwrap().tracks(&main.join("z")), Some(false));
}
