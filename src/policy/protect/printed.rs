//! What a command prints, as far as the text tells. It matters where a shell runs it, or where it names files.
//!
//! `None`: it is not known. Of lists of files only the protected ones are kept, and that there may be others. What a program
//! makes of a text that is known, or that speaks of what is protected, is *changed*: nobody may run it, or write to it.

use super::git;
use super::listings::grep;
use super::mentions::Mentions;
use super::walk::{MOST_VALUES, Setting, Walk};
use crate::policy::shell::{Bit, Escapes, Field, unescape};

/// What is not known of a field that a program made of a text.
const CHANGED: &str = "a text that a program changes";

/// Commands that print nothing, or nothing that anybody reads.
const SILENT: &[&str] = &[
    "true", ":", "false", "cd", "pushd", "popd", "export", "unset", "set", "shift", "local", "declare",
    "readonly", "test", "[", "[[", "exit", "return", "break", "continue", "rm", "cp", "mv", "ln", "mkdir",
    "touch", "chmod", "sleep", "wait", "trap", "alias", "exec", "read", "shopt", "umask", "kill",
];

/// Programs that turn a text into another, of which nothing can be seen before.
const CODERS: &[&str] = &[
    "base64", "gbase64", "base32", "basenc", "xxd", "od", "hexdump", "openssl", "gpg", "gzip", "gunzip",
    "zcat", "bzcat", "xzcat", "zstdcat", "uudecode", "tr", "iconv", "rot13", "caesar",
];

/// The same, where it is plain enough that it names no file which the text does not name.
const EDITED: &str = "a text that a program edits";

/// Whether a field is what a program made of a text, so that it may name anything.
pub(super) fn is_changed(field: &Field) -> bool {
    field.is_any() && field.unknown.as_deref() == Some(CHANGED)
}

/// Whether a field is what a program made of a text, so that it may be any command.
pub(super) fn is_edited(field: &Field) -> bool {
    is_changed(field) || field.is_any() && field.unknown.as_deref() == Some(EDITED)
}

impl Walk<'_> {
    /// What a command prints.
    pub(super) fn printed_by(&mut self, name: &str, arguments: &[Field], setting: &Setting) -> Option<Field> {
        if SILENT.contains(&name) {
            return Some(Field::default());
        }
        if !setting.piped && self.streams.is_empty() {
            return None;
        }
        let input = setting.input.known();
        match name {
            "echo" => Some(echo(arguments)),
            "printf" => printf(arguments),
            "yes" => Some(echo(arguments)),
            "pwd" => match self.cwd.as_slice() {
                [Some(cwd)] => Some(Field::of(&cwd.to_string_lossy())),
                _ => None,
            },
            "dirname" | "basename" | "realpath" | "readlink" => {
                let paths = arguments.iter().filter(|field| !git::starts(field, "-"));
                Some(lines_of(paths.map(|path| part_of(name, path))))
            }
            "which" | "command" | "type" => {
                let names = arguments.iter().filter(|field| !git::starts(field, "-"));
                Some(lines_of(names.cloned()))
            }
            "git" if arguments.first().is_some_and(|command| command.is("rev-parse")) => {
                self.git_paths(arguments)
            }
            "mktemp" => self.temporary(arguments),
            "cat" | "tac" | "nl" | "head" | "tail" | "sort" | "uniq" | "column" | "less" | "more" | "pv" => {
                self.through(arguments, setting)
            }
            "tee" | "sponge" => {
                let text = input.cloned();
                let files: Vec<_> =
                    arguments.iter().filter(|field| !git::starts(field, "-")).cloned().collect();
                let append = arguments.len() > files.len();
                files.iter().for_each(|file| self.keep(file, text.clone(), append));
                text
            }
            "grep" | "egrep" | "fgrep" | "rg" if input.is_some() => input.map(|input| grep(arguments, input)),
            "grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack" => self.files_with(arguments),
            "rev" if input.is_some() => input.map(|input| {
                let turned = |line: Field| line.bits.into_iter().rev().chain([Bit::Char('\n')]);
                Field {
                    bits: input
                        .parts('\n')
                        .into_iter()
                        .filter(|line| !line.bits.is_empty())
                        .flat_map(turned)
                        .collect(),
                    unknown: input.unknown.clone(),
                }
            }),
            "stat" | "wc" | "file" | "md5sum" | "sha256sum" | "shasum" | "cksum" | "ls" | "dir" | "find"
            | "gfind" | "fd" | "fdfind" | "git" | "tree" | "du" | "compgen" | "locate" => {
                self.files_printed(name, arguments)
            }
            _ if input.is_some_and(is_changed) => Some(changed()),
            _ if input.is_some_and(is_known) && CODERS.contains(&name) => Some(changed()),
            _ if self.hints(arguments, input) => Some(changed()),
            _ if arguments.iter().any(|file| self.is_written(file)) => Some(edited_text()),
            _ => input.filter(|input| is_known(input) || is_edited(input)).map(|_| edited_text()),
        }
    }

    /// What a variable may hold that is read from a text: a line or a word that speaks of what is protected, any other one, or
    /// several lines.
    pub(super) fn read_from(&mut self, input: &Field) -> Vec<Field> {
        self.spend(16 * input.bits.len());
        let lines = input.parts('\n');
        let mut values: Vec<Field> = lines.iter().filter(|line| !line.bits.is_empty()).cloned().collect();
        if values.iter().any(|line| line.words().len() > 1) {
            values.extend(input.words());
        }
        let guard = self.guard;
        values.sort_by_key(|value| !Mentions::spoken(&value.shown(), guard).any());
        values.truncate(MOST_VALUES - 3);
        if lines.len() > values.len() {
            values.push(input.clone());
        }
        values
    }

    /// The paths in the repository that `git rev-parse` prints.
    fn git_paths(&mut self, arguments: &[Field]) -> Option<Field> {
        let top = self.place.workspace().to_string_lossy().into_owned();
        let mut printed = Vec::new();
        let mut rest = arguments.iter().skip(1);
        while let Some(argument) = rest.next() {
            match argument.literal()?.as_str() {
                "--git-dir" | "--git-common-dir" | "--absolute-git-dir" => {
                    printed.push(Field::of(&format!("{top}/.git")));
                }
                "--show-toplevel" => printed.push(Field::of(&top)),
                "--git-path" => {
                    let mut path = Field::of(&format!("{top}/.git/"));
                    rest.next().into_iter().for_each(|name| path.push(name));
                    printed.push(path);
                }
                option if option.starts_with("--path-format") => {}
                _ => return None,
            }
        }
        Some(lines_of(printed))
    }

    /// Whether a command's words or its input speak of what is protected.
    pub(super) fn hints(&mut self, arguments: &[Field], input: Option<&Field>) -> bool {
        let all = arguments.iter().chain(input).map(Field::shown);
        let text = all.collect::<Vec<_>>().join(" ");
        self.spend(16 * text.len());
        let mentions = Mentions::spoken(&text, self.guard);
        let lower = text.to_lowercase();
        mentions.any()
            || mentions.hooked && text.contains("-n")
            || lower.contains("no-verif")
            || self.guard.has_stem(&lower)
    }

    /// A program that prints what it reads, or a part of it.
    fn through(&mut self, arguments: &[Field], setting: &Setting) -> Option<Field> {
        if arguments.iter().any(|field| git::starts(field, "-c")) {
            // It cuts words.
            return setting.input.known().map(|_| edited_text());
        }
        let number = |field: &Field| {
            field.literal().is_some_and(|text| text.chars().all(|c| c.is_ascii_digit() || c == '+'))
        };
        let files = arguments.iter().filter(|field| !git::starts(field, "-") && !number(field));
        let files: Vec<Field> = files.cloned().collect();
        if files.is_empty() {
            return setting.input.known().cloned();
        }
        let texts = files.iter().map(|file| self.text_of(file));
        let texts: Option<Vec<Field>> = texts.collect();
        let mut all = Field::default();
        texts?.iter().for_each(|text| all.push(text));
        Some(all)
    }

    /// A new file or folder of its own.
    fn temporary(&self, arguments: &[Field]) -> Option<Field> {
        let plain =
            |field: &Field| matches!(field.literal().as_deref(), Some("-d" | "-q" | "-t" | "--directory"));
        if let Some(template) = arguments.last().filter(|field| git::starts(field, "/")) {
            return Some(template.clone());
        }
        let folder = self.place.temporary.first().filter(|_| arguments.iter().all(plain))?;
        Some(Field::of(&folder.join("tmp.XXXXXXXXXX").to_string_lossy()))
    }
}

/// Fields, each on a line.
pub(super) fn lines_of(fields: impl IntoIterator<Item = Field>) -> Field {
    let mut lines = Field::default();
    for field in fields {
        lines.push(&field);
        lines.bits.push(Bit::Char('\n'));
    }
    lines
}

/// What `dirname` and the like leave of a path.
fn part_of(program: &str, path: &Field) -> Field {
    let cut = path.bits.iter().rposition(|bit| *bit == Bit::Char('/'));
    match (program, cut) {
        ("dirname", None) => Field::of("."),
        ("dirname", Some(at)) => {
            let bits = path.bits.iter().take(at.max(1)).copied().collect();
            Field { bits, unknown: path.unknown.clone() }
        }
        ("basename", Some(at)) => path.after(at + 1),
        _ => path.clone(),
    }
}

/// Whether there is a text, and all of it is known.
fn is_known(field: &Field) -> bool {
    let blank = |bit: &Bit| matches!(bit, Bit::Char(c) if c.is_whitespace());
    !field.bits.contains(&Bit::Any) && !field.bits.iter().all(blank)
}

/// What a program made of a text that was known.
pub(super) fn edited_text() -> Field {
    Field::any(EDITED)
}

fn changed() -> Field {
    Field::any(CHANGED)
}

fn echo(arguments: &[Field]) -> Field {
    // Shells differ in what they take for options; what is left over is printed by one of them.
    let options = arguments.first().and_then(Field::literal);
    let option = matches!(options.as_deref(), Some("-n" | "-e" | "-ne" | "-en" | "-E"));
    let mut line = Field::joined(arguments.get(usize::from(option)..).unwrap_or_default());
    let ends = !options.is_some_and(|option| option.starts_with('-') && option.contains('n'));
    line.bits.extend(ends.then_some(Bit::Char('\n')));
    // Shells differ also in whether they read escapes.
    match line.literal().filter(|text| text.contains('\\')) {
        Some(text) => {
            line.bits.push(Bit::Char('\n'));
            line.push(&Field::of(&unescape(&text, Escapes::Printed)));
            line
        }
        None => line,
    }
}

pub(super) fn printf(arguments: &[Field]) -> Option<Field> {
    let (format, values) = arguments.split_first()?;
    if format.is("--") {
        return printf(values);
    }
    let format = unescape(&format.literal()?, Escapes::Printed);
    let mut line = Field::default();
    let mut values = values.iter();
    loop {
        let before = values.len();
        let mut rest = format.as_str();
        while let Some((text, after)) = rest.split_once('%') {
            line.push(&Field::of(text));
            let width = after
                .find(|c: char| !c.is_ascii_digit() && !matches!(c, '-' | '.' | ' ' | '0'))
                .unwrap_or_default();
            match after.get(width..).and_then(|after| after.chars().next()) {
                Some('%') => line.bits.push(Bit::Char('%')),
                Some('s' | 'q') => {
                    let most = after.get(..width).and_then(|text| text.split_once('.')?.1.parse().ok());
                    values.next().into_iter().for_each(|value| match most {
                        Some(most) => line.bits.extend(value.bits.iter().take(most)),
                        None => line.push(value),
                    });
                }
                Some('c') => values.next().into_iter().for_each(|value| line.bits.extend(value.bits.first())),
                Some('b') => {
                    let value = values.next().map(|value| {
                        value.literal().map(|text| Field::of(&unescape(&text, Escapes::Printed)))
                    });
                    value
                        .into_iter()
                        .for_each(|value| line.push(&value.unwrap_or_else(|| Field::any("printf"))));
                }
                _ => {
                    values.next();
                    line.push(&Field::any("printf"));
                }
            }
            rest = after.get(width + 1..).unwrap_or_default();
        }
        line.push(&Field::of(rest));
        if values.len() == 0 || values.len() == before {
            return Some(line);
        }
    }
}
