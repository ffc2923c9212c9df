//! Files whose text is known: what the call writes itself, pipes, and scripts on disk that the checkout's index does not
//! have. What a shell or another program runs from them is judged as if it stood in the command.

use super::languages::{LANGUAGES, is_version};
use super::streams::{Input, Stream};
use super::walk::{MOST_VALUES, Walk};
use crate::policy::shell::{Bit, Field, Script};
use std::path::PathBuf;

/// The files that a walk knows something about.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// What a file may hold; `None` where that is not known.
    texts: Vec<(PathBuf, Option<Field>)>,
    /// Pipes to what a script reads.
    readers: Vec<(PathBuf, Script)>,
    pipes: usize,
    /// Copies, and of what.
    copies: Vec<(PathBuf, PathBuf)>,
    /// What was read from disk already.
    seen: Vec<PathBuf>,
}

impl Files {
    /// The name of a pipe: from `text`, or to what `script` reads.
    pub(super) fn pipe(&mut self, text: Option<Field>, script: &Script) -> Field {
        self.pipes += 1;
        let name = format!("/dev/pipe/{}", self.pipes);
        match text {
            Some(text) => self.texts.push((name.clone().into(), Some(text))),
            None => self.readers.push((name.clone().into(), script.clone())),
        }
        Field::of(&name)
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
    pub(super) fn keys(&self, file: &Field) -> Vec<PathBuf> {
        match file.literal() {
            Some(path) => {
                let bases = self.cwd.iter().flatten();
                let mut keys: Vec<PathBuf> =
                    bases.filter_map(|base| self.place.readings(&path, base, &self.links).pop()).collect();
                if keys.is_empty() {
                    keys.push(PathBuf::from(path));
                }
                keys
            }
            None => vec![PathBuf::from(file.shown())],
        }
    }

    /// A file is written; `None`: what is written is not known.
    pub(super) fn keep(&mut self, file: &Field, text: Option<Field>, append: bool) {
        self.spend(text.as_ref().map_or(1, |text| text.bits.len()) + self.files.texts.len());
        for key in self.keys(file) {
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
            let before: Vec<Option<Field>> = self.files.texts_at(&key).cloned().collect();
            if append {
                for before in before.iter().take(MOST_VALUES) {
                    let whole = before.clone().zip(text.clone()).map(|(mut before, text)| {
                        before.push(&text);
                        before
                    });
                    self.files.texts.push((key.clone(), whole));
                }
            }
            if !append || before.is_empty() {
                self.files.texts.push((key, text.clone()));
            }
        }
    }

    /// A file is copied, or moved, or gets another name.
    pub(super) fn copied_to(&mut self, source: &Field, target: &Field) {
        self.spend(self.files.texts.len() + self.files.copies.len());
        for (from, to) in self.keys(source).into_iter().zip(self.keys(target)) {
            let texts: Vec<_> = self.files.texts_at(&from).cloned().collect();
            self.files.texts.extend(texts.into_iter().map(|text| (to.clone(), text)));
            self.files.copies.push((to, from));
        }
    }

    /// What a file may hold, if that is known; also from disk.
    pub(super) fn text_of(&mut self, file: &Field) -> Option<Field> {
        let mut found = None;
        for key in self.keys(file) {
            let kept = self.files.texts_at(&key).last().cloned();
            found = kept.unwrap_or_else(|| self.place.script(&key).map(|text| Field::of(&text)));
        }
        found
    }

    /// A file is run.
    pub(super) fn run_file(&mut self, file: &Field, how: How<'_>, parameters: &[Field]) {
        let what = format!("what {} holds", file.shown());
        for key in self.keys(file) {
            let kept: Vec<Option<Field>> = self.files.texts_at(&key).cloned().collect();
            let key = self.files.origin(key);
            if kept.is_empty() && !self.files.seen.contains(&key) {
                self.files.seen.push(key.clone());
                if let Some(text) = self.place.script(&key) {
                    self.run_content(&Field::of(&text), how, parameters);
                } else if !self.place.is_file(&key) && self.made_here(&key) {
                    self.suspected(&what);
                }
            }
            for text in kept {
                match text {
                    Some(text) => self.run_content(&text, how, parameters),
                    None => self.suspected(&what),
                }
            }
        }
        if file.is_any() {
            self.mentioned(file, "running");
            // It may be any that the text writes.
            let texts: Vec<Field> = self.files.texts.iter().filter_map(|(_, text)| text.clone()).collect();
            texts.iter().take(MOST_VALUES).for_each(|text| self.run_content(text, how, parameters));
        }
    }

    /// The texts that the call itself writes to a file.
    pub(super) fn written(&self, file: &Field) -> Vec<Field> {
        if self.files.texts.is_empty() {
            return Vec::new();
        }
        let keys = self.keys(file);
        keys.iter().flat_map(|key| self.files.texts_at(key)).flatten().cloned().collect()
    }

    /// The texts of a file of commands.
    pub(super) fn scripts_of(&mut self, file: &Field) -> Vec<Field> {
        let mut texts = Vec::new();
        for key in self.keys(file) {
            texts.extend(self.files.texts_at(&key).flatten().cloned());
            if texts.is_empty() {
                texts.extend(self.place.script(&key).map(|text| Field::of(&text)));
            }
        }
        texts
    }

    /// A command that is found by its name alone may be a file that the text writes.
    pub(super) fn run_named(&mut self, name: &str, parameters: &[Field]) {
        let named = |key: &PathBuf| key.file_name().is_some_and(|file| file.eq_ignore_ascii_case(name));
        let files = self.files.texts.iter().map(|(key, _)| key).filter(|key| named(key));
        let files: Vec<Field> = files.map(|key| Field::of(&key.to_string_lossy())).collect();
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

impl Files {
    /// The file on disk that a path is a copy of, or the path itself.
    fn origin(&self, key: PathBuf) -> PathBuf {
        let copy = self.copies.iter().rev().find(|(to, _)| *to == key);
        copy.map_or(key, |(_, from)| from.clone())
    }

    fn texts_at<'f>(&'f self, key: &'f PathBuf) -> impl Iterator<Item = &'f Option<Field>> {
        self.texts.iter().filter(move |(name, _)| name == key).map(|(_, text)| text)
    }
}
