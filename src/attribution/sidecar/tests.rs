//! Workspaces are laid out by hand as contract C.1 describes them.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::attribution::task::Findings;

struct Scratch {
    _dir: tempfile::TempDir,
    bases: Vec<PathBuf>,
}

impl Scratch {
    /// Two empty bases: a worktree and a shared root.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bases = vec![dir.path().join("worktree"), dir.path().join("shared")];
        Self { _dir: dir, bases }
    }

    fn write(&self, base: usize, path: &str, content: &str) -> PathBuf {
        let file = self.bases[base].join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        file
    }

    fn read(&self, actor: Option<&str>) -> Task {
        read(&Lookup { bases: &self.bases, actor, ..Lookup::default() })
    }

    fn slug(&self, actor: Option<&str>) -> Option<String> {
        self.read(actor).slug
    }
}

#[test]
fn no_pointer_is_no_task() {
    assert_eq!(Scratch::new().read(Some("actor")), Task::default());
}

#[test]
fn the_first_pointer_that_exists_decides() {
    let scratch = Scratch::new();
    let pointers = [
        (1, ".flow-agents/current.json", "old-shared"),
        (1, ".kontourai/flow-agents/current.json", "shared"),
        (0, ".flow-agents/current.json", "old"),
        (0, ".kontourai/flow-agents/current.json", "canonical"),
        (0, ".kontourai/flow-agents/current/me.json", "mine"),
    ];
    for (base, path, slug) in pointers {
        scratch.write(base, path, &format!(r#"{{"active_slug":"{slug}"}}"#));
        assert_eq!(scratch.slug(Some("me")).as_deref(), Some(slug));
    }
    assert_eq!(scratch.slug(Some("you")).as_deref(), Some("canonical"));
    assert_eq!(scratch.slug(Some("../current/me")).as_deref(), Some("canonical"));
    // It decides even when it names nothing: the other pointers are of other work.
    scratch.write(0, ".kontourai/flow-agents/current/me.json", r#"{"active_slug":null}"#);
    assert_eq!(scratch.read(Some("me")), Task::default());
    scratch.write(0, ".kontourai/flow-agents/current/me.json", "{");
    let broken = scratch.read(Some("me"));
    assert_eq!((broken.slug, broken.warnings.len()), (None, 1));
}

#[test]
fn the_artifact_directory_stands_in_for_the_slug() {
    let scratch = Scratch::new();
    for (pointer, expected) in [
        (r#"{"active_slug":null,"artifact_dir":"a"}"#, Some("a")),
        (r#"{"artifact_dir":".kontourai/flow-agents/b"}"#, Some("b")),
        (r#"{"active_slug":"","artifact_dir":".flow-agents/c"}"#, Some("c")),
        (r#"{"active_slug":"d","artifact_dir":"e"}"#, Some("d")),
        (r#"{"artifact_dir":"src/e"}"#, None),
    ] {
        scratch.write(0, ".kontourai/flow-agents/current.json", pointer);
        assert_eq!(scratch.slug(None).as_deref(), expected, "{pointer}");
    }
}

#[test]
fn a_slug_that_leaves_its_folder_is_refused() {
    let scratch = Scratch::new();
    scratch.write(0, "secret/state.json", r#"{"phase":"stolen"}"#);
    for slug in
        [r"..", r"../../secret", r"/etc", r"a/../../../secret", r"..\\..\\secret", r"C:x", r"a\u0000b"]
    {
        scratch.write(0, ".kontourai/flow-agents/current.json", &format!(r#"{{"active_slug":"{slug}"}}"#));
        let task = scratch.read(None);
        assert_eq!((task.slug, task.phase, task.warnings.len()), (None, None, 1), "{slug}");
    }
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_out_of_the_folder_is_refused_and_one_inside_is_followed() {
    let scratch = Scratch::new();
    scratch.write(0, "secret/state.json", r#"{"phase":"stolen"}"#);
    scratch.write(0, ".kontourai/flow-agents/real/state.json", r#"{"phase":"build"}"#);
    scratch.write(0, ".kontourai/flow-agents/current.json", r#"{"active_slug":"link"}"#);
    let link = scratch.bases[0].join(".kontourai/flow-agents/link");
    std::os::unix::fs::symlink("../../secret", &link).unwrap();
    let task = scratch.read(None);
    assert_eq!((task.slug.as_deref(), task.phase, task.warnings.len()), (Some("link"), None, 1));
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("real", &link).unwrap();
    assert_eq!(scratch.read(None).phase.as_deref(), Some("build"));
}

#[test]
fn each_sidecar_comes_from_the_first_place_that_has_it() {
    let scratch = Scratch::new();
    scratch.write(0, ".kontourai/flow-agents/current.json", r#"{"active_slug":"t"}"#);
    scratch.write(1, ".kontourai/flow-agents/t/state.json", r#"{"phase":"build","gate_fires":2}"#);
    scratch.write(0, ".flow-agents/t/critique.json", r#"{"critiques":[{"findings":[{"severity":"high"}]}]}"#);
    scratch.write(0, ".flow-agents/t/acceptance.json", r#"{"verification_verdict":"FAIL"}"#);
    let agents = scratch.write(1, ".kontourai/flow-agents/t/agents/a/events.jsonl", "");
    let task = scratch.read(None);
    assert_eq!(task.phase.as_deref(), Some("build"));
    assert_eq!(task.counters.gate_fires, Some(2));
    assert_eq!(task.counters.findings, Some(Findings { high: 1, ..Findings::default() }));
    assert_eq!(task.verdict, Verdict::Fail);
    assert_eq!(task.agents_dir.as_deref(), agents.parent().unwrap().parent());
    assert_eq!(task.warnings, Vec::<String>::new());
}

#[test]
fn a_malformed_sidecar_costs_only_its_own_fields() {
    let scratch = Scratch::new();
    scratch.write(0, ".kontourai/flow-agents/current.json", r#"{"active_slug":"t"}"#);
    scratch.write(0, ".kontourai/flow-agents/t/state.json", "[]");
    scratch.write(1, ".kontourai/flow-agents/t/state.json", r#"{"phase":"stale"}"#);
    scratch.write(0, ".kontourai/flow-agents/t/acceptance.json", "{\"verif");
    scratch.write(
        0,
        ".kontourai/flow-agents/t/critique.json",
        r#"{"gate_fires":3,"verification_verdict":"PASS"}"#,
    );
    let task = scratch.read(None);
    assert_eq!((task.slug.as_deref(), task.phase), (Some("t"), None));
    assert_eq!(task.counters, Counters { gate_fires: Some(3), ..Counters::default() });
    assert_eq!(task.verdict, Verdict::Pass);
    assert_eq!(task.warnings.len(), 2, "{:?}", task.warnings);
}

#[test]
fn the_reference_sidecars_given_by_path() {
    let scratch = Scratch::new();
    // A pointer to other work, which an explicit state sets aside.
    scratch.write(0, ".kontourai/flow-agents/current.json", r#"{"active_slug":"other"}"#);
    scratch.write(0, ".kontourai/flow-agents/other/agents/a/events.jsonl", "");
    let fixtures = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/flow-agents/economics"));
    let (state, acceptance, critique) =
        (fixtures.join("state.json"), fixtures.join("acceptance.json"), fixtures.join("critique.json"));
    let task = read(&Lookup {
        bases: &scratch.bases,
        state: Some(&state),
        acceptance: Some(&acceptance),
        critique: Some(&critique),
        ..Lookup::default()
    });
    let expected = Task {
        slug: Some("kontourai-flow-agents-349".to_owned()),
        phase: Some("verify".to_owned()),
        status: Some("verified".to_owned()),
        counters: Counters {
            gate_fires: Some(3),
            findings: Some(Findings { critical: 1, high: 2, medium: 1, low: 2 }),
            caught_false_completions: Some(1),
            route_backs: Some(1),
            iterations: Some(2),
            human_wait_s: Some(45),
        },
        verdict: Verdict::Pass,
        ..Task::default()
    };
    assert_eq!(task, expected);
}

#[test]
fn dated_transitions_give_each_call_its_phase() {
    let scratch = Scratch::new();
    scratch.write(0, ".kontourai/flow-agents/current.json", r#"{"active_slug":"t"}"#);
    let state = scratch.write(0, ".kontourai/flow-agents/t/state.json", r#"{"phase":"now"}"#);
    assert_eq!(scratch.read(None).phase_at(Some(500)), "now");

    let run = |step: &str| {
        format!(
            r#"{{"schema_version":"1","run_id":"r","status":"active","current_step":"x",
                "transitions":[{{"to_step":"{step}","at":"1970-01-01T00:00:01Z"}}]}}"#
        )
    };
    scratch.write(1, ".kontourai/flow/runs/t/state.json", &run("by-slug"));
    let task = scratch.read(None);
    assert_eq!(
        [task.phase_at(Some(999)), task.phase_at(Some(1000)), task.phase_at(None)],
        [UNATTRIBUTED, "by-slug", UNATTRIBUTED]
    );

    scratch.write(1, ".kontourai/flow/runs/r-7/state.json", &run("by-run"));
    fs::write(&state, r#"{"phase":"now","flow_run":{"run_id":"r-7"}}"#).unwrap();
    assert_eq!(scratch.read(None).phase_at(Some(1000)), "by-run");

    for hostile in ["..", "../runs/r-7", "a b"] {
        fs::write(&state, format!(r#"{{"phase":"now","flow_run":{{"run_id":"{hostile}"}}}}"#)).unwrap();
        let task = scratch.read(None);
        assert_eq!((task.phase_at(Some(1000)), task.warnings.len()), ("now", 1), "{hostile}");
    }

    fs::write(&state, r#"{"flow_run":{"run_id":"r-8"}}"#).unwrap();
    scratch.write(1, ".kontourai/flow/runs/r-8/state.json", r#"{"status":"archived"}"#);
    let task = scratch.read(None);
    assert_eq!((task.phase_at(Some(1000)), task.warnings.len()), (UNATTRIBUTED, 1));
}

#[test]
fn the_folder_of_the_active_task_is_found_where_it_is() {
    let scratch = Scratch::new();
    let folder = |actor| active_folder(&Lookup { bases: &scratch.bases, actor, ..Lookup::default() });
    assert_eq!(folder(None), None);
    scratch.write(0, ".kontourai/flow-agents/current.json", r#"{"active_slug":"task"}"#);
    assert_eq!(folder(None), None);
    let state = scratch.write(1, ".kontourai/flow-agents/task/state.json", "{}");
    assert_eq!(folder(None).as_deref(), state.parent());
    scratch.write(0, ".kontourai/flow-agents/current/me.json", r#"{"active_slug":"../task"}"#);
    assert_eq!(folder(Some("me")), None);
}
