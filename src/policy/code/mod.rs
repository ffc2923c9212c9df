//! Text in another language that a command brings along: `python3 -c`, `node -e`, a here-document.
//!
//! It is not run. What it does to files is judged by the names that it calls (`effects`, `says`), what it starts by its
//! literals (`started`). It matters if it names a protected file, or a command that does harm.

mod effects;
mod known;
mod says;
pub(in crate::policy) mod tongue;

use crate::policy::shell::{Bit, Field};
use effects::effects;
use std::collections::HashSet;
use tongue::{Token, Tokens, Tongue, decoded, filled, join, lists, numbers, replaced};

/// Texts within texts.
const DEEPEST: usize = 4;
/// Elements of a list that are put together.
const LONGEST_LIST: usize = 64;
/// A text that may be a path, in pieces.
const LONGEST_PATH: usize = 4096;

/// A text in another language, read.
pub(in crate::policy) struct Code {
    pub(in crate::policy) tongue: Tongue,
    pub(in crate::policy) raw: String,
    pub(in crate::policy) parts: Vec<Part>,
    /// What it may be read as, once it is decoded.
    pub(in crate::policy) decoded: Vec<String>,
    pub(in crate::policy) doubt: bool,
}

/// A part of it: the text itself, or one that stands in it.
pub(in crate::policy) struct Part {
    pub(in crate::policy) tokens: Vec<Token>,
    /// With texts put together.
    pub(in crate::policy) joined: Vec<Token>,
}

/// What it does to files.
pub(in crate::policy) struct Writes {
    /// It may change what is not known.
    pub(in crate::policy) unknown: bool,
    pub(in crate::policy) targets: Vec<Field>,
}

impl Code {
    pub(in crate::policy) fn read(tongue: Tongue, text: &str) -> Self {
        let mut code =
            Self { tongue, raw: text.to_owned(), parts: Vec::new(), decoded: Vec::new(), doubt: false };
        code.add(text, 0);
        let decodes = [
            "64", "hex", "decode", "unpack", "pack", "atob", "Buffer", "chr", "har", "bytes", "everse",
            "strrev", "[::-1]",
        ];
        if decodes.iter().any(|word| text.contains(word)) {
            code.decode(text);
        }
        // What is run as code, and what is quoted so that the reader took it for a text.
        let runs = code.starts() || code.doubt;
        let texts: Vec<String> =
            if runs { code.texts().filter_map(Field::literal).collect() } else { Vec::new() };
        let holds =
            |text: &&String| text.contains(['(', '`', '"', '\'']) && names(text).any(starts_processes);
        let held: Vec<&String> =
            texts.iter().chain(if runs { code.decoded.iter() } else { [].iter() }).filter(holds).collect();
        let held: Vec<String> = held.into_iter().cloned().collect();
        held.iter().for_each(|text| code.add(text, 1));
        code
    }

    fn add(&mut self, text: &str, depth: usize) {
        let Tokens { list, inner, doubt } = self.tongue.read(text, depth);
        self.doubt |= doubt;
        let joined = join(&list, self.tongue);
        self.parts.push(Part { tokens: list, joined });
        if depth < DEEPEST {
            inner.iter().for_each(|text| self.add(text, depth + 1));
        }
    }

    /// All texts, put together.
    pub(in crate::policy) fn texts(&self) -> impl Iterator<Item = &Field> {
        self.parts.iter().flat_map(|part| part.joined.iter().filter_map(Token::text))
    }

    /// All names.
    pub(in crate::policy) fn words(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| part.tokens.iter().filter_map(Token::word))
    }

    fn decode(&mut self, text: &str) {
        let backwards = ["everse", "strrev", "[::-1]"].iter().any(|word| text.contains(word));
        let mut found = Vec::new();
        for text in self.texts().filter_map(Field::literal) {
            found.extend(decoded(&text));
            if backwards && text.len() <= LONGEST_PATH {
                found.push(text.chars().rev().collect());
            }
        }
        found.extend(self.parts.iter().flat_map(|part| numbers(&part.tokens)));
        self.decoded = found;
    }

    /// Whether it starts processes, or runs what only a run tells.
    pub(in crate::policy) fn starts(&self) -> bool {
        let run = |part: &Part| part.tokens.iter().any(|token| matches!(token, Token::Run(_)));
        let piped = || {
            let pipe = |text: &Field| {
                let (first, last) = (text.bits.first(), text.bits.last());
                [first, last].contains(&Some(&Bit::Char('|')))
            };
            self.words().any(|word| matches!(word, "open" | "ARGV" | "@ARGV" | "$ARGV"))
                && self.texts().any(pipe)
        };
        let named = |text: &Field| {
            text.bits.len() < 40
                && text.literal().is_some_and(|text| {
                    text.chars().all(|c| c.is_alphanumeric() || "_-./:".contains(c)) && has_part(&text)
                })
        };
        let loads =
            self.tongue == Tongue::Lua && self.words().any(|word| matches!(word, "load" | "loadstring"));
        loads
            || self.parts.iter().any(run)
            || self.words().any(starts_processes)
            || self.texts().any(named)
            || piped()
    }

    /// What it does to files.
    pub(in crate::policy) fn writes(&self) -> Writes {
        let parts: Vec<&[Token]> = self.parts.iter().map(|part| part.tokens.as_slice()).collect();
        if self.tongue.is_wordy() {
            return Writes { unknown: says::may_write(&parts, self.tongue), targets: Vec::new() };
        }
        let effects = effects(&parts, self.tongue);
        Writes { unknown: effects.unknown, targets: effects.targets }
    }

    /// Texts that may be paths because of the way in which they are put together.
    pub(in crate::policy) fn made(&self) -> Vec<Field> {
        let mut made: Vec<Field> = self.decoded.iter().map(|text| Field::of(text)).collect();
        for part in &self.parts {
            made.extend(
                part.joined
                    .iter()
                    .filter_map(Token::text)
                    .filter(|text| text.bits.len() <= LONGEST_PATH)
                    .cloned(),
            );
            made.extend(replaced(&part.joined).iter().map(|text| Field::of(text)));
            for list in lists(&part.joined, self.tongue) {
                let size: usize = list.fields.iter().map(|field| field.bits.len()).sum();
                if list.fields.len() < 2 || list.fields.len() > LONGEST_LIST || size > LONGEST_PATH {
                    continue;
                }
                let between = [Some(Field::default()), Some(Field::of("/")), list.between.clone()];
                let inner = list.fields.get(..list.inner).unwrap_or_default();
                for between in between.iter().flatten() {
                    made.push(with(&list.fields, between));
                    made.push(with(inner, between));
                }
                let rest = list.fields.get(1..).unwrap_or_default();
                made.extend(list.fields.first().and_then(|first| filled(first, rest)));
                // `implode('.', …)`, `join("/", …)`
                for at in 0..list.fields.len().min(3) {
                    let between = list.fields.get(at).filter(|text| text.bits.len() < 3);
                    let rest = list.fields.get(at + 1..).unwrap_or_default();
                    made.extend(between.map(|between| with(rest, between)));
                }
            }
            made.extend(self.put_in(part));
        }
        made
    }

    /// `'bio%s' % 'me.json'`, `'{}me.json'.format('bio')`, `'.'.join(['biome', 'json'])`
    fn put_in(&self, part: &Part) -> Vec<Field> {
        let mut made = Vec::new();
        for (at, token) in part.joined.iter().enumerate() {
            let Some(text) = token.text().filter(|text| text.bits.len() <= LONGEST_PATH) else { continue };
            let next = part.joined.get(at + 1);
            // `Path('biome').with_suffix('.json')`
            let near = part
                .joined
                .iter()
                .skip(at + 1)
                .take(5)
                .find_map(Token::text)
                .filter(|near| near.bits.len() < 64);
            made.extend(near.map(|near| with(&[text.clone(), near.clone()], &Field::default())));
            let put_in = next.is_some_and(|token| token.is('%')) || next.is_some_and(|token| token.is('.'));
            if !put_in {
                continue;
            }
            let by: Vec<Field> = part
                .joined
                .iter()
                .skip(at + 1)
                .take(24)
                .take_while(|token| **token != Token::Break)
                .filter_map(Token::text)
                .cloned()
                .collect();
            made.extend(filled(text, &by));
            if part.joined.get(at + 2).and_then(Token::word) == Some("join") && text.bits.len() < 9 {
                made.push(with(&by, text));
            }
            if part.joined.get(at + 2).and_then(Token::word) == Some("concat") {
                made.extend(by.first().map(|by| with(&[text.clone(), by.clone()], &Field::default())));
            }
        }
        made
    }
}

fn with(fields: &[Field], between: &Field) -> Field {
    let mut whole = Field::default();
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            whole.push(between);
        }
        whole.push(field);
    }
    whole
}

/// Parts of names that start processes, or that take from somewhere what they run.
const STARTING: &str = "system popen exec spawn subprocess child_process fork getoutput getstatus check_ passthru proc_ \
    shell pexpect runsource runcode interactiveinterpreter timeit webbrowser readpipe cprofile getattr eval import_module importlib ctypes cdll ffi binding globalthis mainmodule \
    constructor runpy __ dlopen syscall call-process start-process make-process process- processbuilder \
    call_user_func array_map open3 open2 jobstart job_start term_start termopen worker_threads plumbum \
    invoke execa simple-git gitpython dulwich backtick";

/// Such names as a whole.
const STARTING_WHOLE: &str = "run call start cmd command Command sh $ send public_send method instance_method Function pty PTY \
    commands zx terminal term ter vars globals locals Reflect capture capture2 capture2e capture3 \
    pipeline git Git Repo pipe IPC luaeval lua python python3 py3 py perl ruby";

fn has_part(word: &str) -> bool {
    let lower = word.to_lowercase();
    let plain = ["__name__", "__main__", "__file__", "__init__"].contains(&word);
    !plain && STARTING.split(' ').any(|part| lower.contains(part))
}

/// Whether a name is one that starts processes.
pub(in crate::policy) fn starts_processes(word: &str) -> bool {
    known::has(STARTING_WHOLE, word) || has_part(word)
}

/// The names in a text.
pub(in crate::policy) fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '$')))
        .filter(|word| !word.is_empty())
}

/// The words in `code` that could be paths, also without what could be escapes.
pub(in crate::policy) fn paths(code: &str) -> Vec<String> {
    let cut = |c: char| c.is_whitespace() || "'\"`(),;=<>|&{}[]".contains(c);
    let bare = if code.contains('\\') { code.replace("\\\n", "").replace('\\', "") } else { String::new() };
    let words = [code, bare.as_str()];
    let words = words
        .iter()
        .flat_map(|text| text.split(cut))
        .filter(|word| word.len() > 2 && word.len() <= LONGEST_PATH);
    let words = words.map(|word| word.trim_end_matches(['.', ':', '!']));
    let mut seen = HashSet::new();
    words.filter(|word| seen.insert(*word)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_write(tongue: Tongue, text: &str) -> bool {
        let writes = Code::read(tongue, text).writes();
        writes.unknown || !writes.targets.is_empty()
    }

    #[test]
    fn reading_is_told_from_writing() {
        for (tongue, code) in [
            (Tongue::Script, "console.log(require('./state.json').status)"),
            (
                Tongue::Script,
                "const s=JSON.parse(require('fs').readFileSync('state.json','utf8')); if (s.a) { console.log((s.b)) }",
            ),
            (Tongue::Python, "import json; print(json.load(open('state.json'))['status'])"),
            (Tongue::Python, "with open('state.json', 'r', encoding='utf-8') as f:\n  print(f.read())"),
            (Tongue::Ruby, "puts File.read('state.json')"),
            (Tongue::Perl, "print 'state.json'"),
        ] {
            assert!(!may_write(tongue, code), "{code}");
        }
        for (tongue, code) in [
            (Tongue::Script, "require('fs').writeFileSync('state.json','{}')"),
            (Tongue::Script, "require('fs')['writeFileSync']('state.json','{}')"),
            (Tongue::Script, "const {writeFileSync:log}=require('fs'); fs.rmSync('state.json')"),
            (Tongue::Python, "open('.bashrc','w').write('x')"),
            (Tongue::Python, "open('.bashrc', mode)"),
            (Tongue::Python, "open(mode='a', file='.bashrc')"),
            (Tongue::Python, "import os; os.remove('x')"),
            (Tongue::Python, "exec('x')"),
            (Tongue::Ruby, "File.write '.bashrc', 1"),
            (Tongue::Perl, "open(F,\">.bashrc\")"),
            (Tongue::Perl, "unlink '.bashrc'"),
        ] {
            assert!(may_write(tongue, code), "{code}");
        }
    }

    #[test]
    fn what_is_written_is_known_where_it_is_named_once() {
        let written = |text: &str| {
            let writes = Code::read(Tongue::Python, text).writes();
            (!writes.unknown).then(|| writes.targets.iter().map(Field::shown).collect::<Vec<_>>())
        };
        let one = Some(vec!["a".to_owned()]);
        assert_eq!(written("open('a', 'w').write('b')"), one);
        assert_eq!(written("p = 'a'\nwith open(p, 'w') as f: f.write('b')"), one);
        assert_eq!(written("from pathlib import Path\np = Path('a'); p.write_text('b')"), one);
        for text in [
            "open(x, 'w')",
            "p = 'a'; p = 'b'; open(p, 'w')",
            "p = 'a'\nfor p in x: open(p, 'w')",
            "p = 'a'\ndef f(p): open(p, 'w')",
            "p = 'a'; (p := x); open(p, 'w')",
            "open('a', 'w', opener=x)",
        ] {
            assert_eq!(written(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_found_in_code_also_when_they_are_put_together() {
        for code in [
            "open('a/biome.json')",
            "f('bio'+'me.json')",
            "f(\"bio\" + \"me.json\")",
            "f('\\x62iome.json')",
            "f('biome.json')",
        ] {
            let made = Code::read(Tongue::Python, code).made();
            assert!(made.iter().any(|text| text.shown().ends_with("biome.json")), "{code}");
        }
        assert!(paths("x=biome.json;").contains(&"biome.json".to_owned()));
    }
}
