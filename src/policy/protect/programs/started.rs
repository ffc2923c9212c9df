//! Processes that text in another language starts: its literals as commands.
//!
//! Each literal is taken for shell text, each list of literals for arguments. It does not matter which function is called
//! with them; without anything that starts processes nothing is looked at. What is put together in another way is blocked
//! if all that makes a commit skip its hooks is there.

use crate::policy::code::tongue::{List, Token, Tongue, lists};
use crate::policy::code::{Code, Part, names};
use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::protect::{What, git};
use crate::policy::shell::{Bit, Field, Value};
use std::collections::HashSet;
use std::path::PathBuf;

/// Commands of git with hooks.
const HOOKED: &[&str] = &["commit", "am", "push", "merge", "rebase", "pull"];
/// Programs for which `-n` is something else.
const PRINTS: &[&str] = &["echo", "printf", "grep", "rg", "print", "log", "say"];

impl Walk<'_> {
    /// What `code` starts. `given`: arguments and input that it may take as commands; `sure`: that it starts something is known.
    pub(in crate::policy::protect) fn started(&mut self, code: &Code, given: &[Field], sure: bool) {
        if !sure && !code.starts() {
            return;
        }
        self.apart(|walk| {
            let variables = walk.surroundings(code);
            let setting = Setting { variables, ..Setting::default() };
            let mut seen = HashSet::new();
            for part in &code.parts {
                for list in lists(&part.joined, code.tongue) {
                    walk.spend(64 + list.fields.len());
                    walk.started_list(&list.fields, &setting);
                }
                let texts = part.joined.iter().filter_map(|token| match token {
                    Token::Text(field) | Token::Run(field) => Some(field),
                    _ => None,
                });
                for text in texts {
                    if seen.insert(text.shown()) {
                        walk.started_text(text);
                    }
                }
            }
            for text in code.made() {
                if seen.insert(text.shown()) {
                    walk.started_text(&text);
                }
            }
            given.iter().for_each(|text| walk.started_text(text));
            if given.len() > 1 {
                walk.command(given, &setting);
            }
        });
        self.undecided(code, given);
    }

    /// Variables and folders that a text gives to what it starts.
    fn surroundings(&mut self, code: &Code) -> Vec<(String, Value)> {
        let mut variables = Vec::new();
        let moves = code
            .words()
            .any(|word| matches!(word, "chdir" | "cwd" | "cd" | "dir" | "Dir" | "workdir" | "setwd"));
        for part in &code.parts {
            for (at, token) in part.joined.iter().enumerate() {
                let name = match token {
                    Token::Word(word) => Some(word.clone()),
                    Token::Text(field) => field.literal(),
                    _ => None,
                };
                let Some(name) = name.filter(|_| self.found.is_none()) else { continue };
                let skips = self.rules.section("skips").is_some_and(|off| off.knows(&name));
                if skips || name.starts_with("GIT_") {
                    let value = part.joined.iter().skip(at + 1).take(5).find_map(|token| match token {
                        Token::Text(field) => Some(field.clone()),
                        Token::Word(word) if word.starts_with(|c: char| c.is_ascii_digit()) => {
                            Some(Field::of(word))
                        }
                        _ => None,
                    });
                    if let Some(value) = value {
                        self.export(&name, Some(vec![value.clone()]));
                        variables.push((name.clone(), Some(vec![value])));
                    }
                }
                if moves
                    && token.text().is_some()
                    && self.cwd.len() < crate::policy::protect::walk::MOST_VALUES
                    && !name.is_empty()
                {
                    self.spend(2048);
                    let folders: Vec<PathBuf> =
                        self.cwd.iter().flatten().map(|base| base.join(&name)).collect();
                    self.cwd
                        .extend(folders.into_iter().filter(|folder| self.place.is_folder(folder)).map(Some));
                }
            }
        }
        variables
    }

    /// A list of literals, as arguments.
    fn started_list(&mut self, fields: &[Field], setting: &Setting) {
        let Some(first) = fields.first().and_then(Field::literal).filter(|_| fields.len() > 1) else {
            return;
        };
        self.command(fields, setting);
        // The program's name may come twice, or after what is for the function.
        let name = first.rsplit('/').next().unwrap_or_default();
        if PRINTS.contains(&name) {
            return;
        }
        for at in 1..fields.len().min(6) {
            let next = fields.get(at).and_then(Field::literal).unwrap_or_default();
            if next == first || is_git(&next) {
                self.command(fields.get(at..).unwrap_or_default(), setting);
            }
        }
    }

    /// A literal, as shell text.
    fn started_text(&mut self, text: &Field) {
        let plain = |bit: &Bit| matches!(bit, Bit::Char(c) if c.is_alphanumeric() || "_./:-,".contains(*c));
        self.spend(text.bits.len());
        if self.found.is_some() || text.is_any() || text.bits.iter().all(plain) {
            return;
        }
        // `open(F, "git commit |")`
        let pipe = |bit: &&Bit| matches!(bit, Bit::Char('|' | '!' | ' ' | '\n' | '-'));
        let from = text.bits.iter().take_while(pipe).count();
        let to = text.bits.len() - text.bits.iter().rev().take_while(pipe).count();
        let bits = text.bits.get(from..to).unwrap_or_default().to_vec();
        self.field_text(&Field { bits, unknown: text.unknown.clone() });
    }

    /// A commit that skips its hooks, put together from pieces.
    fn undecided(&mut self, code: &Code, given: &[Field]) {
        if self.found.is_some() {
            return;
        }
        let mut seen = Seen::default();
        code.parts.iter().for_each(|part| seen.gather(part, code.tongue));
        code.decoded.iter().for_each(|text| seen.text(text, Open::All));
        given.iter().filter_map(Field::literal).for_each(|text| seen.text(&text, Open::All));
        if code.tongue == Tongue::Other {
            // Words need no quotes there.
            let cut = |c: char| c.is_whitespace() || "{}[]();\"".contains(c);
            code.raw.split(cut).for_each(|word| seen.word(word, Open::All));
        }
        if code.doubt {
            let texts: Vec<String> = code.texts().map(Field::shown).collect();
            texts.iter().for_each(|text| names(text).for_each(|word| seen.word(word, Open::All)));
        }
        if let (true, true, Some(option)) = (seen.git, seen.hooked, seen.option) {
            let unknown = "what the text puts together from its pieces".to_owned();
            self.find(What::Hooks, &option, "git".to_owned(), Some(unknown));
        }
    }
}

/// What the pieces of a text speak of.
#[derive(Debug, Default)]
struct Seen {
    git: bool,
    hooked: bool,
    option: Option<String>,
}

impl Seen {
    fn gather(&mut self, part: &Part, tongue: Tongue) {
        for list in lists(&part.joined, tongue) {
            let open = open(&list);
            list.fields.iter().for_each(|field| self.text(&field.shown(), open));
        }
        let words = part.tokens.iter().filter_map(Token::word);
        words.for_each(|word| {
            self.word(word.trim_start_matches(['$', '@']), Open::None);
            if matches!(word, "no_verify" | "noVerify" | "skip_hooks" | "hooksPath" | "skipHooks") {
                self.option.get_or_insert_with(|| word.to_owned());
            }
        });
    }

    /// `open`: an option in it may be for a command that stands elsewhere.
    fn text(&mut self, text: &str, open: Open) {
        let first = text.split_whitespace().next().unwrap_or_default();
        let for_git = first.starts_with(['-', '…']) || is_git(first) || HOOKED.contains(&first);
        let open = if for_git { open } else { Open::None };
        text.split_whitespace().for_each(|word| self.word(word.trim_matches(['"', '\'']), open));
    }

    fn word(&mut self, word: &str, open: Open) {
        self.git |= is_git(word) || matches!(word, "simple-git" | "Repo" | "dulwich");
        self.hooked |= HOOKED.contains(&word);
        let long = word.starts_with("--");
        if ((open == Open::All || open == Open::Long && long) && git::looks_like_skip(word))
            || word.to_lowercase().contains("core.hookspath")
        {
            self.option.get_or_insert_with(|| word.to_owned());
        }
    }
}

/// What may still be added to a list before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// Anything: it has been judged only as it stands.
    All,
    /// It is of another program, for which short options mean something else.
    Long,
    /// Nothing: it has been judged as a whole.
    None,
}

fn open(list: &List) -> Open {
    let Some(first) = list.fields.first().and_then(Field::literal) else { return Open::All };
    let words: Vec<&str> = first.split_whitespace().collect();
    let name = words.first().copied().unwrap_or_default();
    // One text alone may be added to.
    if list.fields.len() == 1 && words.len() < 2 {
        return Open::All;
    }
    let command = list.fields.get(1).and_then(Field::literal);
    let command = words.get(1).map(|word| (*word).to_owned()).or(command);
    let hooked = list.fields.iter().filter_map(Field::literal).any(|word| HOOKED.contains(&word.as_str()));
    let harmless =
        command.is_some_and(|command| git::is_known(&command) && !HOOKED.contains(&command.as_str()));
    if is_git(name) && (list.direct || harmless) {
        Open::None
    } else if is_git(name) || name.starts_with('-') || hooked || HOOKED.contains(&name) {
        Open::All
    } else {
        Open::Long
    }
}

fn is_git(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    name == "git" || name == "git.exe"
}
