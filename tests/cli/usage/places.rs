//! Where transcripts are looked for, and what lies there besides.

use super::{call, jsonl, tokens, transcript, usage, write};
use crate::env::TestEnv;
use serde_json::{Value, json};
use std::ffi::OsStr;

const OPUS: &str = "claude-opus-4-8";

fn lines(id: &str, input: i64) -> String {
    jsonl(&[call(id, OPUS, tokens(input, 0))])
}

fn input(answer: &Value) -> &Value {
    &answer["by_model"][OPUS]["input"]
}

#[test]
fn a_folder_that_is_named_like_a_transcript_is_a_folder() {
    let env = TestEnv::new();
    write(&transcript(&env, "x.jsonl/s1.jsonl"), lines("a", 1));
    write(&transcript(&env, "s2.jsonl"), lines("b", 2));
    let answer = usage(&env, &[]);
    assert_eq!(input(&answer), 3);
    assert_eq!((&answer["complete"], &answer["diagnostics"]["unreadable_files"]), (&json!(true), &json!(0)));
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_opened_is_said_and_costs_only_itself() {
    let env = TestEnv::new();
    write(&transcript(&env, "s1.jsonl"), lines("a", 1));
    std::os::unix::fs::symlink("nowhere", transcript(&env, "gone.jsonl")).unwrap();
    let answer = usage(&env, &[]);
    assert_eq!(input(&answer), 1);
    assert_eq!((&answer["complete"], &answer["diagnostics"]["unreadable_files"]), (&json!(false), &json!(1)));
}

#[cfg(unix)]
#[test]
fn projects_behind_links_are_read_once_and_a_loop_of_links_ends() {
    use std::os::unix::fs::symlink;
    let env = TestEnv::new();
    let mut nameless = call("", OPUS, tokens(1, 0));
    nameless["message"].as_object_mut().unwrap().remove("id");
    nameless.as_object_mut().unwrap().remove("uuid");
    let elsewhere = env.project().join("kept-elsewhere");
    write(&elsewhere.join("s1.jsonl"), jsonl(&[nameless]));
    write(&transcript(&env, "s2.jsonl"), lines("b", 2));
    let projects = env.home().join(".claude/projects");
    symlink(&elsewhere, projects.join("-linked")).unwrap();
    symlink(&elsewhere, projects.join("-linked-too")).unwrap();
    symlink(&projects, elsewhere.join("loop")).unwrap();
    symlink(env.home().join(".claude"), env.home().join(".config")).unwrap();
    std::fs::create_dir_all(env.home().join(".claude/claude")).unwrap();
    symlink(&projects, env.home().join(".claude/claude/projects")).unwrap();
    let answer = usage(&env, &[]);
    assert_eq!((input(&answer), &answer["calls"]), (&json!(3), &json!(2)));
}

#[test]
fn the_config_dir_replaces_the_home_unless_a_home_is_named() {
    let mut env = TestEnv::new();
    write(&transcript(&env, "s1.jsonl"), lines("a", 1));
    let (one, two) = (env.project().join("one"), env.project().join("two"));
    write(&one.join("projects/p/s2.jsonl"), lines("b", 2));
    write(&two.join("projects/p/s3.jsonl"), lines("c", 4));
    let home = env.home();
    assert_eq!(input(&usage(&env, &[])), 1);
    env.set("CLAUDE_CONFIG_DIR", one.to_str().unwrap());
    assert_eq!(input(&usage(&env, &[])), 2);
    env.set("CLAUDE_CONFIG_DIR", format!("{}, {}", one.display(), two.display()));
    assert_eq!(input(&usage(&env, &[])), 6);
    assert_eq!(input(&usage(&env, &[OsStr::new("--home"), home.as_os_str()])), 1);
}

#[test]
fn the_older_place_of_transcripts_is_read_too() {
    let env = TestEnv::new();
    write(&transcript(&env, "s1.jsonl"), lines("a", 1));
    write(&env.home().join(".config/claude/projects/p/s2.jsonl"), lines("b", 2));
    assert_eq!(input(&usage(&env, &[])), 3);
}

#[test]
fn named_files_and_folders_are_read_and_nothing_else() {
    let env = TestEnv::new();
    write(&transcript(&env, "s1.jsonl"), lines("a", 1));
    write(&env.project().join("t/one.jsonl"), lines("b", 2));
    write(&env.project().join("t/deep/two.jsonl"), lines("c", 4));
    write(&env.project().join("t/notes.txt"), lines("d", 8));
    assert_eq!(input(&usage(&env, &[OsStr::new("t")])), 6);
    assert_eq!(input(&usage(&env, &[OsStr::new("t/one.jsonl")])), 2);
    assert_eq!(
        input(&usage(&env, &[OsStr::new("t/one.jsonl"), OsStr::new("t")])),
        6,
        "named twice, counted once"
    );
}
