//! What a shell text speaks of, wherever it goes: for what cannot be decided otherwise.
//!
//! `rm "$F"` may remove anything. It is suspicious where the same text has a word that is a protected file's name, and
//! `git commit $F` where it has one that is an option which skips hooks.

use super::guard::Guard;
use super::walk::Walk;
use super::{What, git};
use crate::policy::rules::Entry;
use crate::policy::shell::{Bit, Cell, Field, Fill, Join, Redirect, Script, Step, Word};
use std::path::{Path, PathBuf};

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

/// What protects the file that a word may name.
type Protects<'a> = &'a dyn Fn(&Field) -> Option<Entry<'static>>;

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
    /// What raw text speaks of, whatever language it is in: every word of it counts. A short option counts where its command
    /// stands before it.
    pub(super) fn spoken(text: &str, guard: &Guard) -> Self {
        let mut mentions = Self::default();
        let part_of_word =
            |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '~' | '*' | '?');
        for line in text.split(['\n', ';', '|', '&']) {
            let mut hooked = false;
            for word in line.split(|c| !part_of_word(c)).filter(|word| word.len() > 1) {
                if word.starts_with('-') {
                    let slot = if word.starts_with("--") { &mut mentions.long } else { &mut mentions.short };
                    if git::looks_like_skip(word) && slot.is_none() && (hooked || word.starts_with("--")) {
                        *slot = Some(word.to_owned());
                    }
                } else {
                    hooked |= matches!(word, "commit" | "am");
                    mentions.hooked |= hooked;
                    if mentions.path.is_none() {
                        let entry = guard.look(&Field::of(word).parts('/'), true);
                        mentions.path = entry.map(|entry| (word.to_owned(), entry));
                    }
                }
            }
        }
        let moved = || text.to_lowercase().contains("core.hookspath");
        mentions.long = mentions.long.or_else(|| moved().then(|| "core.hooksPath".to_owned()));
        mentions
    }

    /// Whether it speaks of anything.
    pub(super) fn any(&self) -> bool {
        self.path.is_some() || self.long.is_some() || self.short.is_some()
    }

    /// Adds what `script` mentions.
    pub(super) fn gather(&mut self, script: &Script, protects: Protects<'_>) {
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
                            self.word(word, prints, !OTHER_N.contains(&name), protects);
                        }
                    }
                    let assigned = command.assigns.iter().flat_map(|assign| &assign.values);
                    assigned.for_each(|word| self.word(word, true, true, protects));
                    for redirect in &command.redirects {
                        match redirect {
                            Redirect::Text(word) => self.word(word, true, true, protects),
                            Redirect::Here(body) if name != "cat" || command.join == Join::Pipe => {
                                script
                                    .bodies
                                    .get(*body)
                                    .into_iter()
                                    .for_each(|word| self.word(word, true, true, protects));
                            }
                            Redirect::Write { target: word, .. } | Redirect::Read(word) => {
                                self.holes(word, protects)
                            }
                            Redirect::Here(_) | Redirect::Away | Redirect::Copy => {}
                        }
                    }
                }
                Step::For(_, words) => {
                    words.iter().flatten().for_each(|word| self.word(word, true, true, protects))
                }
                Step::Look(word) => self.holes(word, protects),
                Step::Open | Step::Close => {}
            }
        }
    }

    fn word(&mut self, word: &Word, split: bool, short: bool, protects: Protects<'_>) {
        self.holes(word, protects);
        let mut field = Field::default();
        for cell in &word.cells {
            field.bits.push(match cell {
                // What is a glob once it is used need not be one here.
                Cell::Bare('*') | Cell::Quoted('*') => Bit::Star,
                Cell::Bare('?') | Cell::Quoted('?') => Bit::One,
                Cell::Bare(c) | Cell::Quoted(c) => Bit::Char(*c),
                Cell::Hole(_) => Bit::Any,
            });
        }
        let parts = if split { field.words() } else { vec![field] };
        parts.iter().filter(|part| !part.bits.is_empty()).for_each(|part| self.part(part, short, protects));
    }

    fn part(&mut self, part: &Field, short: bool, protects: Protects<'_>) {
        let text = part.literal().unwrap_or_default();
        if text.starts_with('-') {
            let skips = git::looks_like_skip(&text);
            let slot = if text.starts_with("--") { &mut self.long } else { &mut self.short };
            if skips && slot.is_none() && (short || text.starts_with("--")) {
                *slot = Some(text);
            }
            return;
        }
        self.hooked |= matches!(text.as_str(), "commit" | "am" | "push" | "merge" | "rebase" | "pull");
        if self.path.is_none() && !part.is_any() {
            let bare = Field {
                bits: part.bits.iter().filter(|bit| **bit != Bit::Char('\\')).copied().collect(),
                unknown: None,
            };
            let entry = protects(part).or_else(|| protects(&bare));
            self.path = entry.map(|entry| (part.shown(), entry));
        }
    }

    fn holes(&mut self, word: &Word, protects: Protects<'_>) {
        for cell in &word.cells {
            let Cell::Hole(hole) = cell else { continue };
            match &hole.fill {
                Fill::Output(script) | Fill::From(script) | Fill::To(script) | Fill::Number(script) => {
                    self.gather(script, protects)
                }
                Fill::Default(_, word) | Fill::Alternate(word) | Fill::Operation(_, word) => {
                    self.word(word, true, true, protects)
                }
                Fill::Parameter(_) => {}
            }
        }
    }
}

/// What the first texts mention, seen from folders.
#[derive(Debug, Default)]
pub(super) struct Known {
    folders: Vec<Option<PathBuf>>,
    texts: usize,
    mentions: Mentions,
}

impl Walk<'_> {
    /// What the texts mention, wherever that goes. It takes a look at every word, once in each folder.
    pub(super) fn mentions(&mut self) -> Mentions {
        let known = self.known.take().filter(|known| known.folders == self.cwd);
        let mut known = known.unwrap_or_else(|| Known { folders: self.cwd.clone(), ..Known::default() });
        let new = self.texts.get(known.texts..).unwrap_or_default().to_vec();
        self.spend(new.iter().map(|text| 16 * text.len()).sum());
        for text in &new {
            known.mentions.gather(&Script::parse(text), &|word| self.named(word));
        }
        known.texts = self.texts.len();
        let mentions = known.mentions.clone();
        self.known = Some(known);
        mentions
    }

    /// Blocks something that is not known at all if the text mentions what it must not be.
    pub(super) fn mentioned(&mut self, field: &Field, how: &str) {
        let mentions = self.mentions();
        if let Some((path, entry)) = mentions.path {
            self.find(What::File(entry), how, path, field.unknown.clone());
        } else if let Some(option) = mentions.long {
            self.find(What::Hooks, &option, "git".to_owned(), field.unknown.clone());
        }
    }

    /// Blocks what runs something unknown if any word of the texts speaks of what it must not be.
    pub(super) fn suspected(&mut self, unknown: &str) {
        let new = self.texts.get(self.suspects..).unwrap_or_default().to_vec();
        self.suspects = self.texts.len();
        self.spend(new.iter().map(|text| 16 * text.len()).sum());
        for text in new {
            let mentions = Mentions::spoken(&text, self.guard);
            let unknown = Some(unknown.to_owned());
            if let Some((path, entry)) = mentions.path {
                self.find(What::File(entry), "running", path, unknown);
            } else if let Some(option) = mentions.long.or(mentions.short) {
                self.find(What::Hooks, &option, "git".to_owned(), unknown);
            }
        }
    }

    /// Whether the texts name a file more than once: where it is made, and where it is used.
    pub(super) fn made_here(&self, file: &Path) -> bool {
        // Without one of these every file that is made is known.
        let makers = [
            "python", "node", "perl", "ruby", "php", "curl", "wget", "tar", "zip", "git ", "patch", "base64",
            "dd ", "split", "awk", "sed", "rsync", "cp ", "mv ", "install", "make", "npm", "deno", "bun",
            "lua", "openssl",
        ];
        if !self.texts.first().is_some_and(|text| makers.iter().any(|maker| text.contains(maker))) {
            return false;
        }
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        !name.is_empty() && self.texts.first().is_some_and(|text| text.matches(&name).count() > 1)
    }
}
