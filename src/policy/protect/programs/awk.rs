//! awk: the files and commands that its program prints to, and those that it reads from.
//!
//! `>` is a redirect only in `print` and `printf` and outside of parentheses; elsewhere it compares.

use crate::policy::code::Code;
use crate::policy::code::tongue::{Token, Tongue};
use crate::policy::protect::git;
use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::shell::Field;
use std::collections::HashSet;

/// The arguments of awk, sorted.
#[derive(Debug, Default)]
struct Sorted {
    programs: Vec<String>,
    /// `-v name=value`
    given: Vec<(String, Field)>,
    operands: Vec<Field>,
    in_place: bool,
    /// Files of options that write.
    outputs: Vec<Field>,
    /// Files with programs.
    files: Vec<Field>,
}

impl Walk<'_> {
    pub(in crate::policy::protect) fn awk(&mut self, arguments: &[Field], setting: &Setting) {
        let mut sorted = sort(arguments, setting);
        for file in &sorted.files {
            sorted.programs.extend(self.scripts_of(file).iter().map(Field::shown));
        }
        if sorted.in_place {
            sorted.operands.iter().for_each(|field| self.write(field, "awk in place on"));
        }
        sorted.outputs.iter().for_each(|field| self.write(field, "awk writing to"));
        let mut given = sorted.operands.clone();
        given.extend(sorted.given.iter().map(|(_, value)| value.clone()));
        given.extend(setting.input.known().cloned());
        given.extend(setting.variables.iter().filter_map(|(_, value)| value.as_ref()).flatten().cloned());
        for program in &sorted.programs {
            self.spend(8 * program.len());
            if self.found.is_some() {
                return;
            }
            let code = Code::read(Tongue::Awk, program);
            let pipes = code.parts.iter().any(|part| pipes(&part.tokens));
            self.started(&code, &given, pipes);
            for part in &code.parts {
                self.awk_prints(&part.joined, program, &sorted.given, &given);
            }
        }
    }

    /// What is printed to files.
    fn awk_prints(&mut self, tokens: &[Token], program: &str, named: &[(String, Field)], given: &[Field]) {
        let how = "a program of awk that prints to";
        let mut open = false;
        let mut seen = HashSet::new();
        for target in targets(tokens) {
            self.spend(64);
            if self.found.is_some() {
                return;
            }
            let fields: Vec<Field> = match target {
                [Token::Text(field)] if !field.is_any() => vec![field.clone()],
                [Token::Word(name)] if named.iter().any(|(given, _)| given == name) => {
                    named.iter().filter(|(given, _)| given == name).map(|(_, value)| value.clone()).collect()
                }
                // The program decides when it runs: it may be any file that is named.
                _ if std::mem::replace(&mut open, true) => Vec::new(),
                _ => {
                    self.named_in(program, how);
                    given.to_vec()
                }
            };
            for field in fields.into_iter().filter(|field| seen.insert(field.shown())).collect::<Vec<_>>() {
                self.write(&field, how);
                field
                    .words()
                    .iter()
                    .filter(|_| field.literal().is_some())
                    .for_each(|word| self.write(word, how));
            }
        }
    }
}

/// The tokens of each target of a redirect.
fn targets(tokens: &[Token]) -> Vec<&[Token]> {
    let mut found = Vec::new();
    let (mut prints, mut depth) = (false, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Word(word) if matches!(word.as_str(), "print" | "printf") => (prints, depth) = (true, 0),
            Token::Sign(';' | '{' | '}') | Token::Break => prints = false,
            Token::Sign('(' | '[') => depth += 1,
            Token::Sign(')' | ']') => depth = depth.saturating_sub(1),
            Token::Sign('>') if prints && depth == 0 => {
                let rest = tokens.get(at + 1..).unwrap_or_default();
                let from = rest.iter().take_while(|token| matches!(token, Token::Sign('>' | '('))).count();
                let rest = rest.get(from..).unwrap_or_default();
                let end = rest
                    .iter()
                    .take(64)
                    .take_while(|token| !matches!(token, Token::Sign(';' | '}' | ')') | Token::Break))
                    .count();
                found.push(rest.get(..end).unwrap_or_default());
                prints = false;
            }
            _ => {}
        }
    }
    found
}

/// Whether there is a `|` that is no part of `||`.
fn pipes(tokens: &[Token]) -> bool {
    let is = |at: usize| tokens.get(at).is_some_and(|token| token.is('|'));
    (0..tokens.len()).any(|at| is(at) && !is(at + 1) && !(at > 0 && is(at - 1)))
}

fn sort(arguments: &[Field], setting: &Setting) -> Sorted {
    let mut sorted = Sorted::default();
    let mut rest = arguments.iter();
    let mut in_file = false;
    let include = |sorted: &mut Sorted, file: &str| sorted.in_place |= file.ends_with("inplace");
    while let Some(argument) = rest.next() {
        let word = argument.literal().unwrap_or_default();
        let (option, joined) = match word.split_once('=').filter(|_| word.starts_with("--")) {
            Some((option, value)) => (option.to_owned(), Some(Field::of(value))),
            None if word.starts_with('-') && !word.starts_with("--") && word.len() > 2 => {
                (word.chars().take(2).collect(), Some(argument.after(2)))
            }
            None => (word.clone(), None),
        };
        let mut value = || joined.clone().or_else(|| rest.next().cloned());
        match option.as_str() {
            "--" => {
                sorted.operands.extend(rest.by_ref().cloned());
            }
            "-F" | "--field-separator" | "-l" | "--load" | "-m" => drop(value()),
            "-v" | "--assign" => sorted.assign(value().as_ref()),
            "-f" | "--file" | "-E" | "--exec" => {
                in_file = true;
                let file = value().unwrap_or_default();
                if matches!(file.shown().as_str(), "-" | "/dev/stdin") {
                    sorted.programs.extend(setting.input.known().map(Field::shown));
                } else {
                    sorted.files.push(file);
                }
            }
            "-i" | "--include" => {
                let file = value().map(|field| field.shown()).unwrap_or_default();
                include(&mut sorted, &file);
            }
            "-e" | "--source" => {
                in_file = true;
                sorted.programs.extend(value().map(|field| field.shown()));
            }
            "-o" | "-d" | "-p" | "--pretty-print" | "--dump-variables" | "--profile" => {
                sorted.outputs.extend(joined)
            }
            _ if git::starts(argument, "-") && word.len() > 1 => {}
            // Options end with the first operand.
            _ => sorted.operands.extend(std::iter::once(argument).chain(rest.by_ref()).cloned()),
        }
    }
    if !in_file && !sorted.operands.is_empty() {
        let program = sorted.operands.remove(0).shown();
        sorted.programs.push(program);
    }
    for program in &sorted.programs {
        sorted.in_place |= program.contains("@include") && program.contains("inplace");
    }
    // `name=value` may stand among the files.
    for operand in sorted.operands.clone() {
        sorted.assign(Some(&operand));
    }
    sorted
}

impl Sorted {
    fn assign(&mut self, field: Option<&Field>) {
        let Some(field) = field else { return };
        let (name, value) = git::setting(field);
        if let (Some(name), Some(value)) = (name.literal(), value.filter(|_| field.shown().contains('='))) {
            self.given.push((name, value));
        }
    }
}
