//! Which command of a project checks a claim, and whether a text is a command at all.

use super::super::captured::Claimed;
use crate::sys::files;
use serde_json::Value;
use std::path::Path;

/// The largest manifest that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Words of a claim, and the targets that check such a one, the first that a project has.
const KINDS: [(&[&str], &[&str]); 3] = [
    (&["test", "tests", "spec", "jest", "vitest", "pytest"], &["test"]),
    (&["build", "compile", "bundle"], &["build"]),
    (&["lint", "format", "style", "typecheck"], &["lint", "typecheck", "format"]),
];

/// A check of the project.
pub(super) struct Target {
    /// The manifest that names it, in the root of the project.
    pub file: &'static str,
    /// The command that runs it.
    pub command: String,
    /// What that runs, where the manifest says so on one line.
    pub script: Option<String>,
}

/// The project's check of a claim.
pub(super) fn of(root: &Path, claimed: &Claimed) -> Option<Target> {
    let plain = |file, command| Some(Target { file, command, script: None });
    let text = format!("{} {} {}", claimed.command, claimed.check, claimed.words).to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let (_, targets) = KINDS.iter().find(|(kind, _)| words.iter().any(|word| kind.contains(word)))?;
    let read = |name: &str| {
        let bytes = files::read_bounded(&root.join(name), MAX_BYTES).ok().flatten()?;
        String::from_utf8(bytes).ok()
    };
    if let Some(package) = read("package.json").and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
        let scripts = package.get("scripts").and_then(Value::as_object);
        let script = |target| scripts.and_then(|scripts| scripts.get(target));
        let mut named = targets.iter().filter_map(|target| Some((*target, script(*target)?)));
        if let Some((target, script)) = named.next() {
            return Some(Target {
                file: "package.json",
                command: format!("npm run --silent {target}"),
                script: script.as_str().map(str::to_owned),
            });
        }
    }
    let rule = |text: &str, target: &str| {
        text.lines()
            .any(|line| line.strip_prefix(target).is_some_and(|rest| rest.trim_start().starts_with(':')))
    };
    for (file, program) in [("Makefile", "make"), ("justfile", "just"), ("Justfile", "just")] {
        let Some(text) = read(file) else { continue };
        if let Some(target) = targets.iter().find(|target| rule(&text, target)) {
            return plain(file, format!("{program} {target}"));
        }
    }
    for file in ["Taskfile.yml", "Taskfile.yaml"] {
        let Some(text) = read(file) else { continue };
        let has = |target: &&&str| text.lines().any(|line| line.trim() == format!("{target}:"));
        if let Some(target) = targets.iter().find(has) {
            return plain(file, format!("task {target}"));
        }
    }
    let first = *targets.first()?;
    let of_language = [
        ("Cargo.toml", "test", "cargo test"),
        ("Cargo.toml", "build", "cargo build"),
        ("Cargo.toml", "lint", "cargo clippy"),
        ("tox.ini", "test", "tox"),
        ("pytest.ini", "test", "pytest"),
    ];
    let found =
        of_language.into_iter().find(|(file, target, _)| *target == first && root.join(file).is_file());
    found.and_then(|(file, _, command)| plain(file, command.to_owned()))
}

/// Words that stand in sentences and hardly in commands.
const PROSE: [&str; 11] =
    ["the", "a", "an", "is", "are", "and", "that", "should", "works", "manually", "then"];
const PROGRAMS: [&str; 56] = [
    "bash", "sh", "zsh", "node", "npm", "npx", "pnpm", "yarn", "bun", "deno", "tsc", "jest", "vitest",
    "mocha", "eslint", "prettier", "biome", "python", "python3", "pytest", "tox", "ruff", "mypy", "uv",
    "pip", "cargo", "rustc", "go", "gofmt", "make", "just", "task", "cmake", "ninja", "mvn", "gradle",
    "java", "dotnet", "ruby", "bundle", "rake", "php", "composer", "git", "grep", "rg", "diff", "test", "[",
    ":", "true", "echo", "ls", "cat", "docker", "curl",
];

/// Whether a text is a command and not a sentence about one; in doubt it is none.
pub(super) fn looks_runnable(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_prefix('!').map_or(text, str::trim_start);
    let mut words = text.split_whitespace().skip_while(|word| is_assignment(word)).peekable();
    let Some(first) = words.peek().copied() else { return !text.is_empty() };
    let ends = text.strip_suffix('.').is_some_and(|rest| rest.ends_with(char::is_alphabetic));
    let sentence = text.contains(". ") || ends;
    let prose = text.split_whitespace().any(|word| PROSE.contains(&word.trim_matches([',', ';', ':'])));
    if sentence || prose || first.starts_with(|c: char| c.is_ascii_uppercase()) {
        return false;
    }
    let shell = text.contains(['|', '&', ';', '$', '`', '>', '<']);
    PROGRAMS.contains(&first) || first.contains('/') || shell
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_about_a_command_is_none() {
        let vectors = include_str!("../../../../tests/fixtures/policy/runnable.jsonl");
        for line in vectors.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            assert_eq!(looks_runnable(row["args"][0].as_str().unwrap()), row["expect"]["both"], "{line}");
        }
        assert_eq!(vectors.lines().count(), 28);
    }
}
