//! What a text in Python or JavaScript does to files, as far as the names that it calls tell.
//!
//! A text only reads if everything that it calls is known to read. Where it writes, it may be plain which file that is:
//! `open('out.txt', 'w')`.

use super::known::{FS_READS, GROUPS, MODULES, OS_READS, READS, changes, has};
use super::tongue::{Token, Tongue, named};
use crate::policy::shell::Field;
use std::collections::{HashMap, HashSet};

/// What a text does to files.
#[derive(Debug, Default)]
pub(in crate::policy) struct Effects {
    /// It may change files that are not known.
    pub(in crate::policy) unknown: bool,
    /// Files that it writes.
    pub(in crate::policy) targets: Vec<Field>,
}

/// What the parts of a text in Python or JavaScript do.
pub(in crate::policy) fn effects(parts: &[&[Token]], tongue: Tongue) -> Effects {
    let own: HashSet<&str> = parts.iter().flat_map(|tokens| own(tokens)).collect();
    let mut effects = Effects::default();
    for tokens in parts {
        let mut look = Look { tokens, named: named(tokens, tongue), own: &own };
        look.keep_stable();
        effects.unknown |= (0..tokens.len()).any(|at| look.changes(at, &mut effects.targets));
        if effects.unknown {
            break;
        }
    }
    effects
}

struct Look<'a> {
    tokens: &'a [Token],
    /// What names hold that are given a text once and are nothing else anywhere.
    named: HashMap<&'a str, Field>,
    /// Functions that the text itself makes.
    own: &'a HashSet<&'a str>,
}

/// Names of functions and classes that are made here, and names for what is known.
fn own(tokens: &[Token]) -> HashSet<&str> {
    let word = |at: usize| tokens.get(at).and_then(Token::word);
    let is = |at: usize, sign: char| tokens.get(at).is_some_and(|token| token.is(sign));
    let mut own = HashSet::new();
    for at in 0..tokens.len() {
        match word(at) {
            Some("def" | "function" | "class") => own.extend(word(at + 1)),
            Some("as") if at > 0 && word(at - 1).is_some_and(|name| has(READS, name)) => {
                own.extend(word(at + 1))
            }
            Some(name) if is(at + 1, '=') && !is(at + 2, '=') => {
                let from = at + if word(at + 2) == Some("async") { 3 } else { 2 };
                let arrow = is(from + 1, '=') && is(from + 2, '>');
                let close = (from..from + 40).find(|at| is(*at, ')')).unwrap_or(from);
                let parens = is(from, '(') && is(close + 1, '=') && is(close + 2, '>');
                if arrow || parens || matches!(word(from), Some("lambda" | "function")) {
                    own.insert(name);
                }
            }
            _ => {}
        }
    }
    own
}

impl<'a> Look<'a> {
    fn is(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(sign))
    }

    fn word(&self, at: usize) -> Option<&'a str> {
        self.tokens.get(at).and_then(Token::word)
    }

    fn before(&self, at: usize, back: usize) -> Option<usize> {
        at.checked_sub(back)
    }

    fn text(&self, at: usize) -> Option<String> {
        self.tokens.get(at).and_then(Token::text).and_then(Field::literal)
    }

    /// Whether the token here may change a file that is not known.
    fn changes(&self, at: usize, targets: &mut Vec<Field>) -> bool {
        match self.tokens.get(at) {
            Some(Token::Word(word)) => self.name(at, word, targets),
            Some(Token::Sign('(')) => self.called(at),
            // A function that is called by a text behind it.
            Some(Token::Sign('`')) => {
                self.before(at, 1).and_then(|at| self.tokens.get(at)).is_some_and(|token| match token {
                    Token::Word(word) => !has(GROUPS, word) && word != "raw",
                    token => matches!(token, Token::Sign(')' | ']')),
                })
            }
            // An escape in a name.
            Some(Token::Sign('\\')) | Some(Token::Run(_)) => true,
            _ => false,
        }
    }

    fn name(&self, at: usize, word: &str, targets: &mut Vec<Field>) -> bool {
        let method = self.before(at, 1).is_some_and(|at| self.is(at, '.'));
        let owner = self.before(at, 2).and_then(|at| self.word(at)).filter(|_| method);
        match word {
            "os" | "fs" if method => return true,
            "os" => return self.module(at, OS_READS, "import"),
            "fs" | "fsp" | "fsPromises" if !method => return self.module(at, FS_READS, ""),
            "require" if self.is(at + 1, '(') => return self.required(at),
            "from" => return self.imported(at),
            "Bun" if self.tokens.iter().any(|token| matches!(token.word(), Some("delete" | "writer"))) => {
                return true;
            }
            "Deno" | "Bun" => {
                let read = self.word(at + 2);
                return !read.is_some_and(|word| {
                    matches!(word, "readTextFile" | "readTextFileSync" | "file" | "args" | "readDir")
                });
            }
            "process" if self.is(at + 1, '.') => {
                return !self.word(at + 2).is_some_and(|word| {
                    matches!(
                        word,
                        "exit"
                            | "stdout"
                            | "stderr"
                            | "stdin"
                            | "argv"
                            | "env"
                            | "cwd"
                            | "exitCode"
                            | "version"
                            | "versions"
                            | "platform"
                            | "hrtime"
                            | "memoryUsage"
                            | "uptime"
                            | "pid"
                            | "arch"
                    )
                });
            }
            "process" if !method => return true,
            "import" if self.is(at + 1, '(') => return true,
            "write" | "writelines" if method => return false,
            "dump" if method && matches!(owner, Some("json" | "yaml")) => return false,
            "open" if self.is(at + 1, '(') => return self.opens(at, method, owner, targets),
            "write_text" | "write_bytes" if method => return !self.path_of(at, targets),
            "writeFileSync" | "writeFile" | "appendFileSync" if method && self.is(at + 1, '(') => {
                return !self.target(at + 2, targets);
            }
            "exec" => return !method,
            "constructor" => return method,
            _ => {}
        }
        changes(word, method && self.is(at + 1, '('))
    }

    /// A module some of whose functions write stands only where one that reads is taken from it.
    fn module(&self, at: usize, reads: &str, import: &str) -> bool {
        if self.is(at + 1, '.') {
            return !self
                .word(at + 2)
                .is_some_and(|word| has(reads, word) || import.is_empty() && self.is_write(at + 2));
        }
        let first = self.before(at, 1).and_then(|at| self.word(at));
        let made = self.is(at + 1, '=') && !self.is(at + 2, '=') && self.word(at + 2) == Some("require");
        let from = matches!(first, Some("as" | "import")) && self.word(at + 1) == Some("from");
        let taken = first == Some("from") && self.word(at + 1) == Some("import");
        if made || from || taken {
            return false;
        }
        let in_list = (0..at).rev().take(40).find_map(|at| match self.tokens.get(at) {
            Some(Token::Word(word)) if word == import => Some(true),
            Some(Token::Word(_) | Token::Sign(',')) => None,
            _ => Some(false),
        });
        import.is_empty() || in_list != Some(true) || self.word(at + 1) == Some("as")
    }

    /// `require('…')`
    fn required(&self, at: usize) -> bool {
        // A path is no module of Node's own.
        let made = self.word(at + 2) == Some("path") && self.is(at + 3, '.');
        if made && matches!(self.word(at + 4), Some("resolve" | "join")) {
            return false;
        }
        let Some(module) = self.text(at + 2).filter(|_| self.is(at + 3, ')')) else { return true };
        let module = module.strip_prefix("node:").unwrap_or(&module);
        if !matches!(module, "fs" | "fs/promises") {
            return !(module.starts_with('.') || module.starts_with('/') || has(MODULES, module));
        }
        if self.is(at + 4, '.') {
            return !self.word(at + 5).is_some_and(|word| has(FS_READS, word) || self.is_write(at + 5));
        }
        let Some(equals) = self.before(at, 1).filter(|at| self.is(*at, '=')) else { return true };
        let Some(before) = self.before(equals, 1) else { return true };
        match self.word(before) {
            Some(word) => !matches!(word, "fs" | "fsp" | "fsPromises"),
            None => !self.is(before, '}') || !self.braced(before),
        }
    }

    /// `from '…'` of JavaScript, and `from … import …` of Python.
    fn imported(&self, at: usize) -> bool {
        if self.word(at + 1) == Some("os") && self.word(at + 2) == Some("import") {
            let mut names = (at + 3..at + 40).take_while(|at| {
                matches!(self.tokens.get(*at), Some(Token::Word(_) | Token::Sign(',' | '(' | ')' | '*')))
            });
            return names
                .any(|at| self.is(at, '*') || self.word(at).is_some_and(|word| !has(OS_READS, word)));
        }
        let Some(module) = self.text(at + 1) else { return false };
        let module = module.strip_prefix("node:").unwrap_or(&module);
        let Some(before) = self.before(at, 1) else { return false };
        if matches!(module, "fs" | "fs/promises") {
            return match self.word(before) {
                Some(word) => !matches!(word, "fs" | "fsp" | "fsPromises"),
                None => !self.braced(before),
            };
        }
        !(module.starts_with('.') || module.starts_with('/') || has(MODULES, module))
    }

    /// Whether the names in braces that end at `close` only read.
    fn braced(&self, close: usize) -> bool {
        let mut inside = (0..close).rev().take(40).take_while(|at| !self.is(*at, '{'));
        inside.all(|at| match self.tokens.get(at) {
            Some(Token::Word(word)) => has(FS_READS, word) && word != "promises",
            token => token.is_some_and(|token| token.is(',')),
        })
    }

    fn is_write(&self, at: usize) -> bool {
        matches!(self.word(at), Some("writeFileSync" | "writeFile" | "appendFileSync" | "promises"))
    }

    /// Whether what is called before a parenthesis is not known to read.
    fn called(&self, at: usize) -> bool {
        let Some(before) = self.before(at, 1) else { return false };
        match self.tokens.get(before) {
            Some(Token::Word(word)) => {
                let word = word.as_str();
                let method = self.before(before, 1).is_some_and(|at| self.is(at, '.'));
                let special = matches!(
                    word,
                    "open" | "write_text" | "write_bytes" | "writeFileSync" | "writeFile" | "appendFileSync"
                ) || method && matches!(word, "write" | "writelines" | "dump" | "remove");
                let fine = has(READS, word) || has(GROUPS, word) || self.own.contains(word) || special;
                !fine || (word == "replace" && method && !self.has_two(at)) || (word == "exec" && !method)
            }
            // `(() => {…})()`
            Some(Token::Sign(')')) => !self.before(before, 1).is_some_and(|at| self.is(at, '}')),
            Some(Token::Sign(']' | '.' | '?' | '}')) => !self.is(before, '}') && !self.is(before, '?'),
            Some(Token::Text(_) | Token::Run(_)) => true,
            _ => false,
        }
    }

    /// Whether a call has two arguments: that of a text has, that of a path has one.
    fn has_two(&self, open: usize) -> bool {
        let mut depth = 0_usize;
        for at in open..open + 400 {
            match self.tokens.get(at) {
                Some(Token::Sign('(' | '[' | '{')) => depth += 1,
                Some(Token::Sign(')' | ']' | '}')) => depth = depth.saturating_sub(1),
                Some(Token::Sign(',')) if depth == 1 => return true,
                None => return false,
                _ => {}
            }
            if depth == 0 {
                return false;
            }
        }
        false
    }

    /// `open(…)`: whether it may write what is not known.
    fn opens(&self, at: usize, method: bool, owner: Option<&str>, targets: &mut Vec<Field>) -> bool {
        let of_module = matches!(owner, Some("io" | "codecs" | "gzip" | "bz2" | "lzma"));
        let of_path = method && !of_module;
        // The arguments, each with its tokens.
        let mut arguments: Vec<Vec<&Token>> = vec![Vec::new()];
        let mut depth = 0_usize;
        let mut closed = false;
        for at in at + 1..at + 200 {
            let Some(token) = self.tokens.get(at) else { break };
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
                Token::Sign(',') if depth == 1 => {
                    arguments.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            if depth == 0 {
                closed = true;
                break;
            }
            if !(depth == 1 && token.is('(')) {
                arguments.last_mut().into_iter().for_each(|argument| argument.push(token));
            }
        }
        if arguments.iter().any(|argument| argument.first().is_some_and(|token| token.is('*'))) {
            return true;
        }
        let modes = arguments.iter().skip(usize::from(!of_path)).filter(|argument| !argument.is_empty());
        let mut writes = false;
        for mode in modes {
            match mode.as_slice() {
                [Token::Word(name), Token::Sign('='), ..]
                    if matches!(name.as_str(), "encoding" | "errors" | "newline" | "buffering") => {}
                [Token::Text(mode)] => writes |= !is_reading(mode),
                [Token::Word(name), Token::Sign('='), Token::Text(mode)] if name == "mode" => {
                    writes |= !is_reading(mode)
                }
                _ => return true,
            }
        }
        if !closed || !writes {
            return !closed;
        }
        if of_path { !self.path_of(at, targets) } else { !self.target(at + 2, targets) }
    }

    /// Whether the file that is named from here on is known; then it is one of `targets`.
    fn target(&self, at: usize, targets: &mut Vec<Field>) -> bool {
        let ends = self.is(at + 1, ',') || self.is(at + 1, ')');
        let found = match self.tokens.get(at).filter(|_| ends) {
            Some(Token::Text(field)) => Some(field),
            Some(Token::Word(word)) => self.named.get(word.as_str()),
            _ => None,
        };
        targets.extend(found.cloned());
        found.is_some()
    }

    /// The same of `Path('…').name` and `p.name`, where `at` is at the name.
    fn path_of(&self, at: usize, targets: &mut Vec<Field>) -> bool {
        let Some(owner) = self.before(at, 2) else { return false };
        let found = match self.tokens.get(owner) {
            Some(Token::Word(word)) if !self.before(owner, 1).is_some_and(|at| self.is(at, '.')) => {
                self.named.get(word.as_str())
            }
            Some(Token::Sign(')')) => {
                let path = self.before(owner, 3).and_then(|at| self.word(at)) == Some("Path");
                return path && self.before(owner, 1).is_some_and(|at| self.target(at, targets));
            }
            _ => None,
        };
        targets.extend(found.cloned());
        found.is_some()
    }

    /// Forgets the names that may be something else somewhere: an argument, the name of a loop.
    fn keep_stable(&mut self) {
        let mut given: HashMap<&str, usize> = HashMap::new();
        let mut other = HashSet::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let Some(name) = token.word().filter(|name| self.named.contains_key(name)) else { continue };
            let word = |back: usize| self.before(at, back).and_then(|at| self.word(at));
            let opened = self.before(at, 1).is_some_and(|at| self.is(at, '('));
            let bound = matches!(word(1), Some("for" | "as" | "global" | "let" | "var"));
            let makes = matches!(word(3), Some("def" | "function"))
                || matches!(word(2), Some("def" | "function" | "catch"));
            let arrow = self.is(at + 1, ')')
                && (self.is(at + 2, '=') && self.is(at + 3, '>') || self.is(at + 2, '{'));
            if self.is(at + 1, '=') && !self.is(at + 2, '=') && !opened {
                *given.entry(name).or_default() += 1;
            } else if !(self.is(at + 1, '.') && !bound
                || opened && !makes && !arrow && (self.is(at + 1, ',') || self.is(at + 1, ')')))
            {
                other.insert(name);
            }
        }
        self.named.retain(|name, _| given.get(name) == Some(&1) && !other.contains(name));
    }
}

fn is_reading(mode: &Field) -> bool {
    mode.literal().is_some_and(|mode| matches!(mode.as_str(), "r" | "rb" | "rt"))
}
