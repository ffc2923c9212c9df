//! Words: quotes, escapes, parameters, substitutions.

use super::escape::{Escapes, unescape};
use super::parse::{DEEPEST, script};
use super::{Cell, Fill, Hole, Script, Word};

/// Braces of one word, and characters of one arithmetic expression, that are read: each may begin anew what comes after it.
const MOST_BRACES: usize = 256;
const LONGEST_NUMBER: usize = 4096;

/// A place in a text.
pub(super) struct Reader<'a> {
    chars: &'a [char],
    at: usize,
    depth: usize,
    /// Whether something was too deep to be read.
    pub(super) deep: bool,
    /// From where on a shell may read the text as commands, although another takes it for something else.
    pub(super) doubt: Option<usize>,
}

/// Where cells end, and what has a meaning among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// A word between blanks and operators.
    Word,
    /// `"…"`
    Quotes,
    /// `${NAME-…}`, and whether that stands in double quotes.
    Braces(bool),
    /// A here-document.
    Document,
}

impl<'a> Reader<'a> {
    pub(super) fn new(chars: &'a [char], depth: usize) -> Self {
        Self { chars, at: 0, depth, deep: false, doubt: None }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    pub(super) fn skip(&mut self, length: usize) {
        self.at += length;
    }

    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn back_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Passes over blanks and continued lines.
    pub(super) fn blanks(&mut self) {
        loop {
            match (self.peek(), self.peek_at(1)) {
                (Some('\\'), Some('\n')) => self.skip(2),
                (Some('\\'), Some('\r')) if self.peek_at(2) == Some('\n') => self.skip(3),
                (Some(' ' | '\t' | '\r'), _) => self.skip(1),
                _ => return,
            }
        }
    }

    /// Reads one word; an empty one where none begins.
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word::default();
        self.cells(Within::Word, &mut word);
        self.deep |= word.cells.iter().filter(|cell| **cell == Cell::Bare('{')).count() > MOST_BRACES;
        word
    }

    /// The word that the text of a here-document is.
    pub(super) fn document(&mut self, text: &str) -> Word {
        let chars: Vec<char> = text.chars().collect();
        let mut inner = Reader::new(&chars, self.depth);
        let mut word = Word { cells: Vec::new(), quoted: true };
        inner.cells(Within::Document, &mut word);
        word.cells.extend(inner.doubted().map(|script| hole(Fill::Number(script), true)));
        self.deep |= inner.deep;
        word
    }

    /// The lines up to the one that is `delimiter`.
    pub(super) fn body(&mut self, delimiter: &str, tabs: bool) -> String {
        let mut text = String::new();
        while self.peek().is_some() {
            let start = self.at;
            let mut line: String = std::iter::from_fn(|| self.bump().filter(|c| *c != '\n')).collect();
            if tabs {
                line = line.trim_start_matches('\t').to_owned();
            }
            if line.strip_suffix('\r').unwrap_or(&line) == delimiter {
                break;
            }
            // In a substitution bash ends the body here, other shells do not.
            if line.strip_prefix(delimiter).is_some_and(|rest| rest.starts_with(')')) {
                let before = delimiter.chars().count();
                let closing = line.chars().skip(before).take_while(|c| ")\"'`}".contains(*c)).count();
                self.doubt_from(start + before + closing);
            }
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    /// Notes that a shell may read commands from `at` on.
    pub(super) fn doubt_from(&mut self, at: usize) {
        self.doubt = Some(self.doubt.unwrap_or(at).min(at));
    }

    /// The script that a shell may read where this reading has a doubt.
    pub(super) fn doubted(&mut self) -> Option<Script> {
        let text: String = self.chars.get(self.doubt?..)?.iter().collect();
        Some(self.inner(&text))
    }

    /// From the next line on.
    pub(super) fn next_line(&self) -> usize {
        let ahead = self.chars.get(self.at..).unwrap_or_default();
        self.at + ahead.iter().position(|c| *c == '\n').unwrap_or(ahead.len())
    }

    fn cells(&mut self, within: Within, word: &mut Word) {
        let quoted = matches!(within, Within::Quotes | Within::Document | Within::Braces(true));
        let put = |word: &mut Word, c| word.cells.push(if quoted { Cell::Quoted(c) } else { Cell::Bare(c) });
        while let Some(c) = self.peek() {
            match (c, within) {
                ('"', Within::Quotes) | ('}', Within::Braces(_)) => return,
                ('<' | '>', Within::Word) if self.peek_at(1) == Some('(') => {
                    self.skip(2);
                    let inner = self.nested();
                    word.cells.push(hole(if c == '<' { Fill::From(inner) } else { Fill::To(inner) }, false));
                }
                (' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>', Within::Word) => return,
                ('\\', _) => self.escape(within, word),
                ('$', _) => self.dollar(quoted, word),
                ('`', _) => {
                    let inner = self.backquoted();
                    word.cells.push(hole(Fill::Output(inner), quoted));
                }
                ('\'', Within::Word | Within::Braces(false)) => {
                    self.bump();
                    word.quoted = true;
                    while let Some(c) = self.bump().filter(|c| *c != '\'') {
                        word.cells.push(Cell::Quoted(c));
                    }
                }
                ('"', Within::Word | Within::Braces(_)) => {
                    self.bump();
                    word.quoted = true;
                    self.cells(Within::Quotes, word);
                    self.bump();
                }
                _ => {
                    self.bump();
                    put(word, c);
                }
            }
        }
    }

    /// A backslash and what it escapes.
    fn escape(&mut self, within: Within, word: &mut Word) {
        self.bump();
        match (self.peek(), within) {
            (Some('\n'), _) => drop(self.bump()),
            (Some(c), Within::Word | Within::Braces(false)) => {
                self.bump();
                word.quoted = true;
                word.cells.push(Cell::Quoted(c));
            }
            (Some(c @ ('$' | '`' | '\\')), _) | (Some(c @ '"'), Within::Quotes | Within::Braces(true)) => {
                self.bump();
                word.cells.push(Cell::Quoted(c));
            }
            _ => word.cells.push(Cell::Quoted('\\')),
        }
    }

    /// A dollar sign and what it introduces.
    fn dollar(&mut self, quoted: bool, word: &mut Word) {
        self.bump();
        let fill = match self.peek() {
            Some('(') => match self.arithmetic() {
                Some(inner) => Fill::Number(inner),
                None => {
                    self.bump();
                    Fill::Output(self.nested())
                }
            },
            Some('{') => {
                self.bump();
                self.braces(quoted)
            }
            Some('\'') if !quoted => {
                self.bump();
                word.quoted = true;
                return self.ansi(word);
            }
            // `$"…"` is translated text; the quotes are read next.
            Some('"') if !quoted => return,
            Some(c) if c == '_' || c.is_ascii_alphabetic() => Fill::Parameter(self.name()),
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.bump();
                Fill::Parameter(c.to_string())
            }
            _ => return word.cells.push(Cell::Quoted('$')),
        };
        word.cells.push(hole(fill, quoted));
    }

    fn name(&mut self) -> String {
        std::iter::from_fn(|| {
            let next = self.peek().filter(|c| *c == '_' || c.is_ascii_alphanumeric());
            self.at += usize::from(next.is_some());
            next
        })
        .collect()
    }

    /// `${…}`, after its brace.
    fn braces(&mut self, quoted: bool) -> Fill {
        let indirect = self.eat('!') | (self.peek_at(1) != Some('}') && self.eat('#'));
        let mut name = self.name();
        if name.is_empty() {
            name.extend(self.bump().filter(|c| *c != '}'));
        }
        let whole = self.chars.get(self.at..self.at + 3);
        if matches!(whole, Some(['[', '@' | '*', ']'])) {
            self.skip(3);
        }
        let colon = self.peek() == Some(':');
        let operator = self.peek_at(usize::from(colon));
        let mut word = Word::default();
        if !indirect && matches!(operator, Some('-' | '=' | '?' | '+')) {
            self.skip(1 + usize::from(colon));
        }
        if self.depth >= DEEPEST {
            self.deep = true;
            self.at = self.chars.len();
        }
        self.depth += 1;
        self.cells(Within::Braces(quoted), &mut word);
        self.depth -= 1;
        self.eat('}');
        match operator {
            _ if indirect => Fill::Operation(name, word),
            Some('}') if !colon => Fill::Parameter(name),
            Some('-' | '=' | '?') => Fill::Default(name, word),
            Some('+') => Fill::Alternate(word),
            _ => Fill::Operation(name, word),
        }
    }

    /// A script up to its `)`.
    fn nested(&mut self) -> Script {
        if self.depth >= DEEPEST {
            self.deep = true;
            self.at = self.chars.len();
            return Script { deep: true, ..Script::default() };
        }
        self.depth += 1;
        let inner = self.script(true);
        self.depth -= 1;
        inner
    }

    /// `` `…` ``, whose text has escapes of its own.
    fn backquoted(&mut self) -> Script {
        self.bump();
        let mut text = String::new();
        while let Some(c) = self.bump().filter(|c| *c != '`') {
            match (c, self.peek()) {
                ('\\', Some(escaped @ ('`' | '\\' | '$'))) => {
                    self.bump();
                    text.push(escaped);
                }
                _ => text.push(c),
            }
        }
        self.inner(&text)
    }

    fn inner(&mut self, text: &str) -> Script {
        if self.depth >= DEEPEST {
            self.deep = true;
            return Script { deep: true, ..Script::default() };
        }
        script(text, self.depth + 1)
    }

    /// `((…))`, if that is what begins here. It may be subshells after all, so it is read as a script of its own.
    pub(super) fn arithmetic(&mut self) -> Option<Script> {
        if self.peek_at(1) != Some('(') {
            return None;
        }
        let start = self.at + 2;
        let mut open = 2_usize;
        let mut at = start;
        loop {
            match self.chars.get(at)? {
                '(' => open += 1,
                ')' => open -= 1,
                '\'' | '"' | '\\' | '\n' => return None,
                _ => {}
            }
            at += 1;
            if open == 1 {
                break;
            }
            if at - start > LONGEST_NUMBER {
                self.deep = true;
                return None;
            }
        }
        // Between the two closing parentheses is nothing.
        if self.chars.get(at) != Some(&')') {
            return None;
        }
        let text: String = self.chars.get(start..at - 1)?.iter().collect();
        let inner = self.inner(&text);
        self.at = at + 1;
        Some(inner)
    }

    /// `$'…'`, after its quote.
    fn ansi(&mut self, word: &mut Word) {
        let mut text = String::new();
        while let Some(c) = self.bump().filter(|c| *c != '\'') {
            text.push(c);
            text.extend(if c == '\\' { self.bump() } else { None });
        }
        word.cells.extend(unescape(&text, Escapes::Quoted).chars().map(Cell::Quoted));
    }
}

pub(super) fn hole(fill: Fill, quoted: bool) -> Cell {
    Cell::Hole(Box::new(Hole { fill, quoted }))
}

impl Word {
    /// Its text as a delimiter: holes are not expanded, and only their names are kept.
    pub(super) fn source(&self) -> String {
        let mut text = String::new();
        for cell in &self.cells {
            match cell {
                Cell::Quoted(c) | Cell::Bare(c) => text.push(*c),
                Cell::Hole(hole) => {
                    if let Fill::Parameter(name) = &hole.fill {
                        text.push('$');
                        text.push_str(name);
                    }
                }
            }
        }
        text
    }
}
