//! Programs with a language of their own: what their texts may write.

use super::files::How;
use super::walk::{Setting, Walk};
use super::{What, code, git};
use crate::policy::shell::Field;

/// Programs that run text in a language of their own, and their options for it: short ones, long ones.
pub(super) const LANGUAGES: &[(&str, &str, &[&str])] = &[
    ("python", "c", &[]),
    ("pypy", "c", &[]),
    ("node", "ep", &["--eval", "--print"]),
    ("nodejs", "ep", &["--eval", "--print"]),
    ("bun", "ep", &["--eval", "--print"]),
    ("deno", "", &["eval"]),
    ("perl", "eE", &[]),
    ("ruby", "e", &[]),
    ("php", "r", &["--run"]),
    ("lua", "e", &[]),
    ("rscript", "e", &[]),
    ("tclsh", "", &[]),
    ("osascript", "e", &[]),
];

impl Walk<'_> {
    /// A program with a language of its own.
    pub(super) fn language(
        &mut self,
        language: &str,
        short: &str,
        long: &[&str],
        arguments: &[Field],
        setting: &Setting,
    ) {
        let mut rest = arguments.iter();
        let mut texts = Vec::new();
        let mut operand = false;
        let mut module = false;
        let mut operands = Vec::new();
        while let Some(argument) = rest.next() {
            let word = argument.literal().unwrap_or_default();
            let cluster = word.strip_prefix('-').filter(|cluster| !cluster.starts_with('-') && !operand);
            if long.contains(&word.as_str()) {
                texts.extend(rest.next().map(Field::shown));
            } else if let Some((_, text)) = word.split_once('=').filter(|(option, _)| long.contains(option)) {
                texts.push(text.to_owned());
            } else if let Some(at) = cluster.and_then(|cluster| cluster.find(|c| short.contains(c))) {
                let joined: String = word.chars().skip(at + 2).collect();
                let code = if joined.is_empty() { rest.next().map(Field::shown) } else { Some(joined) };
                texts.extend(code);
            } else if git::starts(argument, "-") && word.len() > 1 {
                module |= word == "-m";
                operand |= module;
            } else {
                operand = true;
                operands.push(argument);
            }
        }
        if texts.is_empty()
            && (!operand || arguments.first().and_then(Field::literal).as_deref() == Some("-"))
        {
            texts.extend(setting.input.known().map(Field::shown));
        }
        if let Some((file, parameters)) = operands.split_first().filter(|_| texts.is_empty() && !module) {
            let parameters: Vec<Field> = parameters.iter().map(|field| (*field).clone()).collect();
            self.run_file(file, How::Program(language), &parameters);
        }
        texts.iter().for_each(|text| self.code(language, text));
        // The text may take its paths from elsewhere.
        if texts.iter().any(|text| code::may_write(language, text)) {
            let given = setting.variables.iter().filter_map(|(_, value)| value.as_ref()).flatten();
            for field in operands.into_iter().chain(given).filter(|field| field.literal().is_some()) {
                self.write(field, &format!("text for {language} on"));
            }
        }
    }

    /// Text in another language.
    pub(super) fn code(&mut self, language: &str, text: &str) {
        if !code::may_write(language, text) {
            return;
        }
        for path in code::paths(text) {
            self.code_path(
                &path,
                &format!("text for {} that names", if language.is_empty() { "a program" } else { language }),
            );
        }
    }

    /// A word of another language that may be a path.
    fn code_path(&mut self, path: &str, how: &str) {
        let fields: Vec<Field> =
            Field::of(path).parts('/').into_iter().filter(|part| !part.bits.is_empty()).collect();
        for base in self.cwd.clone().into_iter().flatten() {
            if let Some(entry) = self.protected(path, &base) {
                self.find(What::File(entry), how, path.to_owned(), None);
            }
        }
        // A path that is put together from pieces is known by its last ones.
        if let Some(entry) = self.guard.look(&fields, true).filter(|entry| entry.flag("telling")) {
            self.find(What::File(entry), how, path.to_owned(), Some("the folder that it is in".to_owned()));
        }
    }

    /// `w FILE` and `e COMMAND` of sed.
    pub(super) fn sed(&mut self, script: &str) {
        for line in script.lines() {
            for (at, _) in line.match_indices(['w', 'W', 'e']) {
                // Each may take the rest of the line.
                self.spend(line.len());
                if self.found.is_some() {
                    return;
                }
                let Some((command, rest)) = line.get(at..).and_then(|text| text.split_at_checked(1)) else {
                    continue;
                };
                let rest = rest.trim();
                match command {
                    "e" if rest.contains(' ')
                        && line.get(at + 1..).is_some_and(|text| text.starts_with(' ')) =>
                    {
                        self.field_text(&Field::of(rest))
                    }
                    "e" => {}
                    _ if !rest.is_empty() => self.write(&Field::of(rest), "sed writing to"),
                    _ => {}
                }
            }
        }
    }

    pub(super) fn awk(&mut self, arguments: &[Field]) {
        let words: Vec<String> = arguments.iter().map(Field::shown).collect();
        if words.iter().any(|word| word == "inplace" || word == "-iinplace") {
            arguments.iter().for_each(|field| self.write(field, "awk in place on"));
        }
        if words.iter().any(|text| text.contains(['>', '|']) || text.contains("system")) {
            words.iter().for_each(|text| self.named_in(text, "a program of awk that names"));
        }
    }

    /// Every word of a text in another language that may be a path.
    pub(super) fn named_in(&mut self, text: &str, how: &str) {
        code::paths(text).iter().for_each(|path| self.code_path(path, how));
    }
}

/// Whether `name` is that of a language, with or without a version: `python3.11`.
pub(super) fn is_version(name: &str, language: &str) -> bool {
    name.strip_prefix(language)
        .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-'))
}
