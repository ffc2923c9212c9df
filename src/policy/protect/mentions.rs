//! What a shell text speaks of, wherever it goes: for what cannot be decided otherwise.
//!
//! `rm "$F"` may remove anything. It is suspicious where the same text has a word that is a protected file's name, and
//! `git commit $F` where it has one that is an option which skips hooks.

use super::git;
use super::guard::Guard;
use crate::policy::rules::Entry;
use crate::policy::shell::{Cell, Field, Fill, Join, Redirect, Script, Step, Word};

/// Commands that use `-n` for something else.
const OTHER_N: &[&str] = &[
    "sed",
    "grep",
    "head",
    "tail",
    "echo",
    "sort",
    "xargs",
    "awk",
    "perl",
    "read",
    "nl",
    "cat",
    "test",
    "[",
    "git",
    "ssh",
    "kubectl",
    "make",
    "ls",
    "nice",
    "rg",
    "journalctl",
    "docker",
    "watch",
    "diff",
    "pytest",
    "npm",
    "sudo",
];

/// Options whose value is text for people.
const MESSAGES: &[&str] =
    &["-m", "--message", "-b", "--body", "-t", "--title", "--notes", "--description", "-d"];

/// What was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Mentions {
    /// A protected file.
    pub(super) path: Option<(String, Entry<'static>)>,
    /// `--no-verify`, or a beginning of it.
    pub(super) long: Option<String>,
    /// `-n`, alone or with others.
    pub(super) short: Option<String>,
    /// `commit` or another command with hooks.
    pub(super) hooked: bool,
}

impl Mentions {
    /// Adds what `script` mentions.
    pub(super) fn gather(&mut self, script: &Script, guard: &Guard) {
        for step in &script.steps {
            match step {
                Step::Run(command) => {
                    let name = command.words.first().and_then(Word::literal).unwrap_or_default();
                    let name = name.rsplit('/').next().unwrap_or_default();
                    let prints = matches!(name, "echo" | "printf" | "print" | "set" | "read" | "");
                    let talks = matches!(name, "git" | "gh" | "glab" | "hub" | "jj" | "tea");
                    let mut passed = false;
                    for word in command.words.iter().skip(1) {
                        let text = word.literal().unwrap_or_default();
                        if !std::mem::replace(&mut passed, talks && MESSAGES.contains(&text.as_str())) {
                            self.word(word, prints, !OTHER_N.contains(&name), guard);
                        }
                    }
                    let assigned = command.assigns.iter().flat_map(|assign| &assign.values);
                    assigned.for_each(|word| self.word(word, true, true, guard));
                    for redirect in &command.redirects {
                        match redirect {
                            Redirect::Text(word) => self.word(word, true, true, guard),
                            Redirect::Here(body) if name != "cat" || command.join == Join::Pipe => {
                                script
                                    .bodies
                                    .get(*body)
                                    .into_iter()
                                    .for_each(|word| self.word(word, true, true, guard));
                            }
                            Redirect::Write(word) | Redirect::Read(word) => self.holes(word, guard),
                            Redirect::Here(_) => {}
                        }
                    }
                }
                Step::For(_, words) => {
                    words.iter().flatten().for_each(|word| self.word(word, true, true, guard))
                }
                Step::Look(word) => self.holes(word, guard),
                Step::Open | Step::Close => {}
            }
        }
    }

    fn word(&mut self, word: &Word, split: bool, short: bool, guard: &Guard) {
        self.holes(word, guard);
        let Some(text) = word.literal() else { return };
        let parts = text.split(|c: char| split && c.is_whitespace());
        parts.filter(|part| !part.is_empty()).for_each(|part| self.part(part, short, guard));
    }

    fn part(&mut self, part: &str, short: bool, guard: &Guard) {
        if part.starts_with('-') {
            let skips = git::looks_like_skip(part);
            let slot = if part.starts_with("--") { &mut self.long } else { &mut self.short };
            if skips && slot.is_none() && (short || part.starts_with("--")) {
                *slot = Some(part.to_owned());
            }
            return;
        }
        self.hooked |= matches!(part, "commit" | "am" | "push" | "merge" | "rebase" | "pull");
        if self.path.is_none() {
            let entry = guard.look(&Field::of(part).parts('/'), true);
            self.path = entry.map(|entry| (part.to_owned(), entry));
        }
    }

    fn holes(&mut self, word: &Word, guard: &Guard) {
        for cell in &word.cells {
            let Cell::Hole(hole) = cell else { continue };
            match &hole.fill {
                Fill::Output(script) | Fill::Pipe(script) | Fill::Number(script) => {
                    self.gather(script, guard)
                }
                Fill::Default(_, word) | Fill::Alternate(word) | Fill::Operation(_, word) => {
                    self.word(word, true, true, guard)
                }
                Fill::Parameter(_) => {}
            }
        }
    }
}
