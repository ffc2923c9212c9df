//! Files whose text is known: what the call writes itself, pipes, and scripts on disk that the checkout's index does not
//! have. What a shell or another program runs from them is judged as if it stood in the command.

use super::printed::edited_text;
use super::programs::languages::{LANGUAGES, is_version};
use super::streams::{Input, Stream};
use super::walk::{MOST_CALLS, MOST_VALUES, Walk};
use crate::policy::shell::{Bit, Field, LONGEST, Script};
use std::collections::BTreeMap;
use std::path::Path;

/// Files of which a text is kept; what is written beyond them is not known.
const MOST_FILES: usize = 256;

/// What a file may hold; `None` where that is not known.
type Texts = Vec<Option<Field>>;

/// The files that a walk knows something about.
#[derive(Debug, Default)]
pub(super) struct Files {
    texts: BTreeMap<String, Texts>,
    /// Pipes to what a script reads.
    readers: Vec<(String, Script)>,
    pipes: usize,
    /// Copies, and of what.
    copies: BTreeMap<String, String>,
    /// What is being run, and what was read from disk already.
    seen: Vec<String>,
}

impl Files {
    /// The name of a pipe: from `text`, or to what `script` reads.
    pub(super) fn pipe(&mut self, text: Option<Field>, script: &Script) -> Field {
        self.pipes += 1;
        let name = format!("/dev/pipe/{}", self.pipes);
        match text {
            Some(text) => drop(self.texts.insert(name.clone(), vec![Some(text)])),
            None => self.readers.push((name.clone(), script.clone())),
        }
        Field::of(&name)
    }

    fn texts_of(&self, key: &str) -> &[Option<Field>] {
        self.texts.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// A file may hold this, too.
    fn add(&mut self, key: &str, text: Option<Field>) {
        if self.texts.len() < MOST_FILES || self.texts.contains_key(key) {
            let texts = self.texts.entry(key.to_owned()).or_default();
            if texts.len() < MOST_VALUES {
                texts.push(text);
            } else if let Some(last) = texts.last_mut() {
                *last = None;
            }
        }
    }

    /// The file on disk that a path is a copy of, or the path itself.
    fn origin(&self, key: String) -> String {
        self.copies.get(&key).cloned().unwrap_or(key)
    }

    fn size(&self) -> usize {
        self.texts.len() + self.copies.len() + self.seen.len()
    }
}

/// How a file is run.
#[derive(Debug, Clone, Copy)]
pub(super) enum How<'a> {
    /// By this program.
    Program(&'a str),
    /// By the program that its first line names, else by a shell.
    Itself,
    /// By the shell that runs the text; whether exactly once.
    Here(bool),
}

impl Walk<'_> {
    /// The paths that a field names; one that is not known stands for itself.
    pub(super) fn keys(&mut self, file: &Field) -> Vec<String> {
        let Some(path) = file.literal() else { return vec![file.shown()] };
        self.spend(8 * self.links.len() + 64);
        let bases = self.cwd.iter().flatten();
        let keys = bases.filter_map(|base| self.place.readings(&path, base, &self.links).pop());
        let keys: Vec<String> = keys.map(|path| path.to_string_lossy().into_owned()).collect();
        if keys.is_empty() { vec![path] } else { keys }
    }

    /// A file is written; `None`: what is written is not known.
    pub(super) fn keep(&mut self, file: &Field, text: Option<Field>, append: bool) {
        for key in self.keys(file) {
            let kept = self.files.texts_of(&key).len();
            self.spend(kept * (1 + text.as_ref().map_or(0, |text| text.bits.len())) + self.files.size());
            if let Some(at) = self.files.readers.iter().position(|(name, _)| *name == key) {
                let (_, script) = self.files.readers.remove(at);
                let input = text.clone().map_or(Input::Unknown, Input::Known);
                self.apart(|walk| {
                    walk.streams.push(Stream::of(input));
                    walk.script(&script);
                    walk.streams.pop();
                });
                continue;
            }
            for before in self.files.texts.get_mut(&key).into_iter().flatten().filter(|_| append) {
                match (before.as_mut(), &text) {
                    (Some(before), Some(text)) if before.bits.len() + text.bits.len() < LONGEST => {
                        before.push(text)
                    }
                    _ => *before = None,
                }
            }
            self.files.add(&key, text.clone());
        }
    }

    /// A file is copied, or moved, or gets another name.
    pub(super) fn copied_to(&mut self, source: &Field, target: &Field) {
        self.spend(self.files.size());
        for (from, to) in self.keys(source).into_iter().zip(self.keys(target)) {
            for text in self.files.texts_of(&from).to_vec() {
                self.files.add(&to, text);
            }
            if self.files.copies.len() < MOST_FILES {
                self.files.copies.insert(to, from);
            }
        }
    }

    /// A program changes a file whose text is kept: then it is not known.
    pub(super) fn edited(&mut self, file: &Field, how: &str) {
        let kept = ["a redirect to", "tee on", "sponge on", "cp on", "mv on", "ln on", "install on"];
        if self.files.texts.is_empty()
            || kept.contains(&how)
            || how.starts_with("ch")
            || how.starts_with("touch")
        {
            return;
        }
        for key in self.keys(file) {
            if self.files.texts.contains_key(&key) {
                self.files.add(&key, Some(edited_text()));
            }
        }
    }

    /// The files of a language that the text writes and that `words` names: modules.
    pub(super) fn modules(&self, language: &str, words: &str) -> Vec<Field> {
        let endings: &[&str] = match language {
            "python" | "pypy" => &["py"],
            "node" | "nodejs" | "bun" | "deno" => &["js", "mjs", "cjs", "ts"],
            "perl" => &["pm", "pl"],
            "ruby" | "jruby" => &["rb"],
            "php" => &["php"],
            "lua" | "luajit" => &["lua"],
            _ => &[],
        };
        let named = |key: &str| {
            let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
            let Some((stem, ending)) = name.rsplit_once('.') else { return false };
            let stem = if matches!(stem, "__init__" | "index" | "__main__") {
                folder.rsplit('/').next().unwrap_or_default()
            } else {
                stem
            };
            let mut words = words.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
            endings.contains(&ending) && (stem == "sitecustomize" || words.any(|word| word == stem))
        };
        let files = self.files.texts.iter().filter(|(key, _)| named(key));
        files.flat_map(|(_, texts)| texts).flatten().cloned().collect()
    }

    /// What a file is a copy of that the text makes.
    pub(super) fn origin_of(&mut self, path: &str) -> Option<String> {
        if self.files.copies.is_empty() {
            return None;
        }
        let key = self.keys(&Field::of(path)).pop()?;
        self.files.copies.get(&key).cloned()
    }

    /// Whether the text makes a folder, or copies one to it.
    pub(super) fn makes(&mut self, folder: &Field) -> bool {
        let keys = self.keys(folder);
        keys.iter().any(|key| {
            self.files.copies.contains_key(key) || self.made.iter().any(|made| made == Path::new(key))
        })
    }

    /// What a file may hold, if that is known, the last first; also from disk.
    pub(super) fn text_of(&mut self, file: &Field) -> Option<Field> {
        let mut found = None;
        for key in self.keys(file) {
            let kept = self.files.texts_of(&key).iter().rev().cloned().collect::<Option<Vec<Field>>>()?;
            found = if kept.is_empty() {
                self.place.script(Path::new(&key)).map(|text| Field::of(&text))
            } else {
                kept.into_iter().reduce(|mut all, text| {
                    all.bits.push(Bit::Char('\n'));
                    all.push(&text);
                    all
                })
            };
            self.spend(found.as_ref().map_or(0, |text| text.bits.len()));
        }
        found
    }

    /// A file is run. One that runs itself does nothing new.
    pub(super) fn run_file(&mut self, file: &Field, how: How<'_>, parameters: &[Field]) {
        let what = format!("what {} holds", file.shown());
        for key in self.keys(file) {
            self.spend(self.files.size());
            let kept = self.files.texts_of(&key).to_vec();
            let key = if kept.is_empty() { self.files.origin(key) } else { key };
            if self.files.seen.contains(&key) {
                continue;
            }
            self.files.seen.push(key.clone());
            if kept.is_empty() {
                let path = Path::new(&key);
                if let Some(text) = self.place.script(path) {
                    self.run_content(&Field::of(&text), how, parameters);
                } else if !self.place.is_file(path) && self.made_here(path) {
                    self.suspected(&what);
                }
                continue;
            }
            for text in &kept {
                match text {
                    Some(text) => self.run_content(text, how, parameters),
                    None => self.suspected(&what),
                }
            }
            self.files.seen.retain(|seen| *seen != key);
        }
        if file.is_any() {
            self.mentioned(file, "running");
            // It may be any that the text writes.
            let texts = self.files.texts.values().flatten().flatten().take(MOST_VALUES).cloned();
            for text in texts.collect::<Vec<_>>() {
                if self.calls <= MOST_CALLS {
                    self.calls += 1;
                    self.run_content(&text, how, parameters);
                }
            }
        }
    }

    /// Whether the call itself writes a file, and what is known.
    pub(super) fn is_written(&mut self, file: &Field) -> bool {
        !self.files.texts.is_empty()
            && self.keys(file).iter().any(|key| self.files.texts_of(key).iter().any(Option::is_some))
    }

    /// The texts that the call itself writes to a file.
    pub(super) fn written(&mut self, file: &Field) -> Vec<Field> {
        if self.files.texts.is_empty() {
            return Vec::new();
        }
        let keys = self.keys(file);
        keys.iter().flat_map(|key| self.files.texts_of(key)).flatten().cloned().collect()
    }

    /// The texts of a file of commands.
    pub(super) fn scripts_of(&mut self, file: &Field) -> Vec<Field> {
        let mut texts = Vec::new();
        for key in self.keys(file) {
            texts.extend(self.files.texts_of(&key).iter().flatten().cloned());
            if texts.is_empty() {
                texts.extend(self.place.script(Path::new(&key)).map(|text| Field::of(&text)));
            }
        }
        texts
    }

    /// A command that is found by its name alone may be a file that the text writes.
    pub(super) fn run_named(&mut self, name: &str, parameters: &[Field]) {
        let named =
            |key: &&String| key.rsplit('/').next().is_some_and(|file| file.eq_ignore_ascii_case(name));
        let files: Vec<Field> = self.files.texts.keys().filter(named).map(|key| Field::of(key)).collect();
        files.iter().for_each(|file| self.run_file(file, How::Itself, parameters));
    }

    /// Runs a text: by the program that runs the file, or that its first line names, else by a shell.
    fn run_content(&mut self, text: &Field, how: How<'_>, parameters: &[Field]) {
        let known = |bit: &Bit| match bit {
            Bit::Char(c) if *c != '\n' => Some(*c),
            _ => None,
        };
        let first: String = text.bits.iter().map_while(known).collect();
        let named = first.strip_prefix("#!").and_then(|line| {
            let mut words = line.split_whitespace().filter_map(|word| word.rsplit('/').next());
            words.find(|word| *word != "env" && !word.starts_with('-'))
        });
        let program = match how {
            How::Program(program) => program,
            How::Itself => named.unwrap_or("sh"),
            How::Here(sure) => return self.text_here(text, sure),
        };
        match LANGUAGES.iter().find(|(language, ..)| is_version(program, language)) {
            Some((language, ..)) => self.code(language, &text.shown()),
            None => self.apart(|walk| {
                walk.positional(parameters);
                walk.text_here(text, true);
            }),
        }
    }
}
