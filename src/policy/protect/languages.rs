//! Programs with a language of their own: what their texts may write.

use super::code::{self, Code};
use super::tongue::Tongue;
use super::walk::{Setting, Walk};
use super::{What, git};
use crate::policy::shell::{Bit, Field};

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
    ("luajit", "e", &[]),
    ("jruby", "e", &[]),
    ("tsx", "ep", &["--eval", "--print"]),
    ("ts-node", "ep", &["--eval", "--print"]),
    ("r", "e", &[]),
    ("julia", "eE", &["--eval", "--print"]),
    ("guile", "c", &[]),
    ("expect", "c", &[]),
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
                operand |= word == "-m";
            } else {
                operand = true;
                operands.push(argument);
            }
        }
        if texts.is_empty()
            && (!operand || arguments.first().and_then(Field::literal).as_deref() == Some("-"))
        {
            texts.extend(setting.input.iter().map(Field::shown));
        }
        let given = setting.variables.iter().filter_map(|(_, value)| value.as_ref()).flatten();
        let given: Vec<Field> = operands.into_iter().chain(given).cloned().collect();
        let mut commands: Vec<Field> = given.clone();
        if !texts.is_empty() {
            commands.extend(setting.input.clone().filter(|input| !texts.contains(&input.shown())));
        }
        // Several texts are one program.
        let texts: Vec<String> = if texts.len() > 1 { vec![texts.join("\n")] } else { texts };
        let mut writes = false;
        for text in &texts {
            writes |= self.code_given(language, text, &commands);
        }
        // The text may take its paths from elsewhere.
        if writes {
            for field in given.iter().filter(|field| field.literal().is_some()) {
                self.write(field, &format!("text for {language} on"));
            }
        }
        if language == "perl" {
            self.perl_operands(&given);
        }
    }

    /// A file that `<>` of Perl opens may be one to write, or a command.
    fn perl_operands(&mut self, operands: &[Field]) {
        for field in operands {
            let text = field.shown();
            if let Some(path) = text.trim_start().strip_prefix('>') {
                self.write(&Field::of(path.trim_start_matches('>').trim()), "text for perl on");
            } else if text.trim().starts_with('|') || text.trim().ends_with('|') {
                self.field_text(&Field::of(text.trim().trim_matches('|')));
            }
        }
    }

    /// Text in another language.
    pub(super) fn code(&mut self, language: &str, text: &str) {
        self.code_given(language, text, &[]);
    }

    /// Text in another language that gets `given`; whether it may write what is not known.
    fn code_given(&mut self, language: &str, text: &str, given: &[Field]) -> bool {
        let tongues =
            Tongue::of(language).map_or_else(|| vec![Tongue::Python, Tongue::Script], |tongue| vec![tongue]);
        let how = format!("text for {} that names", if language.is_empty() { "a program" } else { language });
        let mut unknown = false;
        for tongue in tongues {
            self.spend(8 * text.len());
            if self.found.is_some() {
                return true;
            }
            let code = Code::read(tongue, text);
            self.started(&code, given, false);
            let writes = code.writes();
            for target in &writes.targets {
                self.code_field(target, &how);
            }
            if writes.unknown {
                unknown = true;
                self.named_in(text, &how);
                for made in code.made() {
                    self.code_field(&made, &how);
                }
            }
        }
        unknown
    }

    /// A text of another language, and the words in it, as paths.
    fn code_field(&mut self, field: &Field, how: &str) {
        self.spend(field.bits.len());
        if let Some(path) = field.literal() {
            self.code_path(&path, how);
        }
        for word in field.words() {
            let known = word.bits.iter().filter(|bit| matches!(bit, Bit::Char(_))).count();
            match word.literal() {
                Some(path) if path.len() > 2 => self.code_path(&path, how),
                None if known > 2 => self.write(&word, how),
                _ => {}
            }
        }
    }

    /// A word of another language that may be a path.
    fn code_path(&mut self, path: &str, how: &str) {
        self.spend(256);
        if self.found.is_some() {
            return;
        }
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

    /// Every word of a text in another language that may be a path.
    pub(super) fn named_in(&mut self, text: &str, how: &str) {
        for path in code::paths(text) {
            self.code_path(&path, how);
            // Names that the text itself may spread.
            let plain = path.chars().filter(|c| c.is_alphanumeric() || *c == '.').count();
            if path.contains(['*', '?']) && plain > 2 && !path.starts_with("**") {
                self.write(&super::git_call::globs(&Field::of(&path)), how);
            }
        }
    }
}

/// Whether `name` is that of a language, with or without a version: `python3.11`.
pub(super) fn is_version(name: &str, language: &str) -> bool {
    name.strip_prefix(language)
        .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-'))
}
