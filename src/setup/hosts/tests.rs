//! What each host gets, in a project and for all projects; and that its file does what the host's documentation says.

use super::*;
use crate::settings::env::Env;
use crate::setup::place::Scope;
use std::path::Path;

fn place(root: &Path, scope: Scope, env: &[(&str, &str)]) -> Place {
    let pairs = env.iter().copied().chain([("HOME", root.to_str().unwrap())]);
    let env = Env::from_pairs(pairs);
    let mut place = Place::find(&env, root, None, scope == Scope::UserGlobal).unwrap();
    place.program = "/opt/my tools/tally".into();
    place
}

/// The files of a host, relative to `root`.
fn files(root: &Path, scope: Scope, host: &str) -> Vec<String> {
    let place = place(root, scope, &[]);
    let targets = targets(host, &place).unwrap();
    let relative = |target: &Target| target.path.strip_prefix(root).unwrap().display().to_string();
    targets.iter().map(relative).collect()
}

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    (dir, root)
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn each_host_has_its_files() {
    let (_dir, root) = scratch();
    let table = [
        ("claude-code", ".claude/settings.json", ".claude/settings.json"),
        ("codex", ".codex/hooks.json", ".codex/hooks.json"),
        ("opencode", ".opencode/plugins/tally.js", ".config/opencode/plugins/tally.js"),
        ("pi", ".pi/extensions/tally.ts", ".pi/agent/extensions/tally.ts"),
        ("kiro", ".kiro/hooks/tally.json", ".kiro/hooks/tally.json"),
    ];
    for (host, project, global) in table {
        assert_eq!(files(&root, Scope::Workspace, host), [project]);
        assert_eq!(files(&root, Scope::UserGlobal, host), [global]);
    }
    assert!(targets("emacs", &place(&root, Scope::Workspace, &[])).is_err());
}

#[test]
fn folders_that_the_environment_names_are_used() {
    let (_dir, root) = scratch();
    let env = [("CLAUDE_CONFIG_DIR", "/c"), ("CODEX_HOME", "/x"), ("XDG_CONFIG_HOME", "/g")];
    let place = place(&root, Scope::UserGlobal, &env);
    let file = |host| targets(host, &place).unwrap()[0].path.display().to_string();
    assert_eq!(file("claude-code"), "/c/settings.json");
    assert_eq!(file("codex"), "/x/hooks.json");
    assert_eq!(file("opencode"), "/g/opencode/plugins/tally.js");
}

#[test]
fn what_is_written_is_recognised_and_comes_back() {
    let (_dir, root) = scratch();
    for host in NAMES {
        for target in targets(host, &place(&root, Scope::Workspace, &[])).unwrap() {
            let text = target.merge(None).unwrap();
            assert_eq!(target.merge(Some(&text)).unwrap(), text, "{host}");
            let calls = target.ours(&text).unwrap();
            assert!(!calls.is_empty(), "{host}");
            for (_, command) in calls {
                assert_eq!(command::program(&command).as_deref(), Some("/opt/my tools/tally"), "{host}");
            }
            assert!(target.unmerge(&text).unwrap().is_some(), "{host}");
        }
    }
}

#[test]
fn each_asset_has_an_id_of_its_own_and_a_content_and_every_host_takes_hooks() {
    let (_dir, root) = scratch();
    put(&root.join(".kiro/agents/one.json"), "{}");
    put(&root.join(".kiro/agents/two.json"), "{}");
    for host in NAMES {
        let candidates = candidates(host, &place(&root, Scope::Workspace, &[]));
        let ids: std::collections::BTreeSet<&str> =
            candidates.iter().map(|target| target.id.as_str()).collect();
        assert_eq!(ids.len(), candidates.len(), "{host}: {ids:?}");
        for target in &candidates {
            let text = target.merge(None).unwrap();
            assert!(
                target.content(&text).unwrap().is_some_and(|content| content.contains("/opt/my tools/tally"))
            );
            let without = target.unmerge(&text).unwrap().unwrap();
            assert_eq!(without.and_then(|text| target.content(&text).unwrap()), None, "{host}");
        }
        let profile = adapters::normalize(&adapters::Profile::shipped(host).unwrap().capabilities);
        assert!(!profile.install.get(adapters::AssetKind::Hook).is_unavailable(), "{host}");
    }
    assert!(adapter("strands", Box::new(|_| Ok(None)), Box::new(|_, _| Ok(()))).is_none());
}

#[test]
fn a_file_of_the_same_name_that_is_not_ours_is_left_alone() {
    let (_dir, root) = scratch();
    for host in ["opencode", "pi"] {
        let target = &targets(host, &place(&root, Scope::Workspace, &[])).unwrap()[0];
        assert!(target.merge(Some("// mine")).unwrap_err().0.contains("another file of this name"), "{host}");
        assert_eq!(target.unmerge("// mine").unwrap(), None);
    }
}

#[test]
fn codex_hooks_stay_in_one_place() {
    let (_dir, root) = scratch();
    put(&root.join(".codex/config.toml"), "model = \"o\"\n");
    assert_eq!(files(&root, Scope::Workspace, "codex"), [".codex/hooks.json"]);
    put(
        &root.join(".codex/config.toml"),
        "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"x\"\n",
    );
    assert_eq!(files(&root, Scope::Workspace, "codex"), [".codex/config.toml"]);
    put(&root.join(".codex/hooks.json"), "{}");
    assert_eq!(files(&root, Scope::Workspace, "codex"), [".codex/hooks.json"]);
}

#[test]
fn kiro_agents_get_the_hooks_where_there_are_agents_and_never_twice() {
    let (_dir, root) = scratch();
    put(&root.join(".kiro/agents/dev.json"), "{\"name\": \"dev\"}");
    put(&root.join(".kiro/agents/notes.md"), "");
    assert_eq!(files(&root, Scope::Workspace, "kiro"), [".kiro/agents/dev.json"]);
    put(&root.join(".kiro/hooks/tally.json"), "{}");
    assert_eq!(files(&root, Scope::Workspace, "kiro"), [".kiro/hooks/tally.json"]);
}

#[test]
fn a_host_is_detected_by_its_folder() {
    let (_dir, root) = scratch();
    let place = place(&root, Scope::Workspace, &[]);
    assert_eq!(detected(&place), ["claude-code"]);
    for folder in [".codex", ".config/opencode", ".kiro"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    assert_eq!(detected(&place), ["claude-code", "codex", "opencode", "kiro"]);
}
