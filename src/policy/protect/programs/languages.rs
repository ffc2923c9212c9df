//! Programs with a language of their own: what their texts may write.

use crate::policy::code::tongue::Tongue;
use crate::policy::code::{self, Code};
use crate::policy::protect::files::How;
use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::protect::{What, git};
use crate::policy::shell::{Bit, Field};
use std::collections::HashSet;

/// Programs that run text in a language of their own, and their options for it: short ones, long ones.
pub(in crate::policy::protect) const LANGUAGES: &[(&str, &str, &[&str])] = &[
    ("python", "c", &[]),
    ("pypy", "c", &[]),
    ("node", "ep", &["--eval", "--print"]),
    ("nodejs", "ep", &["--eval", "--print"]),
    ("bun", "ep", &["--eval", "--print"]),
    ("deno", "", &["eval"]),
    ("perl", "eE", &[]),
    ("ruby", "e", &[]),
    ("php", "rBRE", &["--run", "--process-code", "--process-begin", "--process-end"]),
    ("lua", "e", &[]),
    ("rscript", "e", &[]),
    ("tclsh", "", &[]),
    ("osascript", "e", &[]),
    ("luajit", "e", &[]),
    ("jruby", "e", &[]),
    ("zx", "e", &["--eval"]),
    ("tsx", "ep", &["--eval", "--print"]),
    ("ts-node", "ep", &["--eval", "--print"]),
    ("r", "e", &[]),
    ("julia", "eE", &["--eval", "--print"]),
    ("guile", "c", &[]),
    ("expect", "c", &[]),
];

impl Walk<'_> {
    /// A program with a language of its own.
    pub(in crate::policy::protect) fn language(
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
            // An option's value looks like an operand.
            let cluster = word
                .strip_prefix('-')
                .filter(|cluster| !cluster.starts_with('-') && (!operand || texts.is_empty()));
            if long.contains(&word.as_str()) && (!operand || texts.is_empty()) {
                texts.extend(rest.next().map(Field::shown));
            } else if let Some((_, text)) = word.split_once('=').filter(|(option, _)| long.contains(option)) {
                texts.push(text.to_owned());
            } else if let Some(at) = cluster.and_then(|cluster| code_at(cluster, language, short)) {
                let joined: String = word.chars().skip(at + 2).collect();
                let code = if joined.is_empty() { rest.next().map(Field::shown) } else { Some(joined) };
                texts.extend(code);
                // All that comes after it is for the text.
                operand |= language == "python" || language == "pypy";
            } else if let Some(module) = word.strip_prefix("-M").filter(|_| language == "perl" && !operand) {
                // It is put into the text as it stands.
                texts.push(module.to_owned());
            } else if operand {
                operands.push(argument);
            } else if word == "--" {
                operand = true;
            } else if git::starts(argument, "-") && word.len() > 1 {
                module |= word == "-m";
                operand |= module;
            } else {
                operand = true;
                operands.push(argument);
            }
        }
        let input = operands.first().and_then(|file| file.literal());
        let reads_input = input.is_some_and(|file| matches!(file.as_str(), "-" | "/dev/stdin" | "/dev/fd/0"));
        if texts.is_empty() && (!operand || operands.is_empty() || reads_input) {
            texts.extend(setting.input.known().map(Field::shown));
        } else if let Some((file, parameters)) =
            operands.split_first().filter(|_| texts.is_empty() && !module)
        {
            let parameters: Vec<Field> = parameters.iter().map(|field| (*field).clone()).collect();
            self.run_file(file, How::Program(language), &parameters);
        }
        let spoken: Vec<String> = arguments.iter().chain(setting.input.known()).map(Field::shown).collect();
        for module in self.modules(language, &spoken.join(" ")) {
            self.code(language, &module.shown());
        }
        // A text may run what it reads.
        let evaluates = ["stdin", "STDIN", "input(", "gets", "fd 0"];
        if let Some(input) = setting.input.known()
            && texts.iter().any(|text| evaluates.iter().any(|word| text.contains(word)))
        {
            self.code(language, &input.shown());
        }
        let given = setting.variables.iter().filter_map(|(_, value)| value.as_ref()).flatten();
        let given: Vec<Field> = operands.into_iter().chain(given).cloned().collect();
        let mut commands: Vec<Field> = given.clone();
        if !texts.is_empty() {
            commands.extend(setting.input.known().filter(|input| !texts.contains(&input.shown())).cloned());
        }
        // Several texts are one program.
        let texts: Vec<String> = if texts.len() > 1 { vec![texts.join("\n")] } else { texts };
        let mut writes = false;
        for text in &texts {
            writes |= self.code_given(language, text, &commands);
        }
        // The text may take its paths from elsewhere.
        if writes {
            let read = commands.iter().skip(given.len()).flat_map(Field::words);
            for field in given.iter().cloned().chain(read.collect::<Vec<_>>()) {
                self.write(&field, &format!("text for {language} on"));
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
                self.field_text(&Field::again(text.trim().trim_matches('|')));
            }
        }
    }

    /// Text in another language.
    pub(in crate::policy::protect) fn code(&mut self, language: &str, text: &str) {
        self.code_given(language, text, &[]);
    }

    /// Text in another language that gets `given`; whether it may write what is not known.
    fn code_given(&mut self, language: &str, text: &str, given: &[Field]) -> bool {
        let tongues = match Tongue::of(language) {
            // It takes JavaScript as well.
            Some(Tongue::Apple) => vec![Tongue::Apple, Tongue::Script],
            Some(tongue) => vec![tongue],
            None => vec![Tongue::Python, Tongue::Script],
        };
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
                let mut seen = HashSet::new();
                for made in code.made() {
                    if seen.insert(made.shown()) {
                        self.code_field(&made, &how);
                    }
                }
            }
        }
        unknown
    }

    /// A text of another language, and the words in it, as paths.
    fn code_field(&mut self, field: &Field, how: &str) {
        self.spend(field.bits.len());
        if let Some(path) = field.literal().filter(|path| path.len() > 2) {
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
        // Of which a part is not known.
        if path.contains('…') {
            return self.write(&Field::again(path), how);
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
    pub(in crate::policy::protect) fn named_in(&mut self, text: &str, how: &str) {
        for path in code::paths(text) {
            self.code_path(&path, how);
            // Names that the text itself may spread.
            let plain = path.chars().filter(|c| c.is_alphanumeric() || *c == '.').count();
            if path.contains(['*', '?']) && plain > 2 && !path.starts_with("**") {
                self.write(&crate::policy::protect::git_call::globs(&Field::again(&path)), how);
            }
        }
    }
}

/// Where in joined short options the one for a text is: what comes after one with a value is that value.
fn code_at(cluster: &str, language: &str, short: &str) -> Option<usize> {
    let valued = match language {
        "perl" => "MmIFDVdx",
        "ruby" | "jruby" => "rIEFCT",
        "python" | "pypy" => "WXm",
        "php" => "dcz",
        "lua" | "luajit" => "l",
        _ => "",
    };
    let at = cluster.find(|c| short.contains(c))?;
    (!cluster.chars().take(at).any(|c| valued.contains(c))).then_some(at)
}

/// Whether `name` is that of a language, with or without a version: `python3.11`.
pub(in crate::policy::protect) fn is_version(name: &str, language: &str) -> bool {
    name.strip_prefix(language)
        .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-'))
}
