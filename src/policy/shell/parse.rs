//! Commands: what stands between words.

use super::compound::{Frame, Kind};
use super::redirect::is_descriptor;
use super::word::{Reader, hole};
use super::{Assign, Cell, Command, Fill, Group, Join, Redirect, Script, Step, Word};

/// Scripts within scripts; beyond it, what is nested is not read ([`Script::deep`]).
pub(super) const DEEPEST: usize = 24;

/// Reads `text`, which stands `depth` scripts deep.
pub(super) fn script(text: &str, depth: usize) -> Script {
    let chars: Vec<char> = text.chars().collect();
    let mut reader = Reader::new(&chars, depth);
    let mut script = reader.script(false);
    script.steps.extend(reader.doubted().map(number));
    script.deep |= reader.deep;
    script
}

impl Reader<'_> {
    /// Reads up to the end, or up to the `)` that ends a substitution.
    pub(super) fn script(&mut self, nested: bool) -> Script {
        let mut frame = Frame::default();
        loop {
            self.blanks();
            if let Some(pattern @ true) = frame.case() {
                *pattern = false;
                if !self.pattern() {
                    self.closed(&mut frame);
                }
                if self.peek().is_some() {
                    continue;
                }
            }
            match self.peek() {
                None => break,
                Some('\n') => {
                    self.bump();
                    self.bodies(&mut frame);
                    frame.before = Join::Next;
                }
                Some('#') => self.comment(),
                Some(';') => {
                    self.bump();
                    if (self.eat(';') | self.eat('&'))
                        && let Some(pattern) = frame.case()
                    {
                        self.eat('&');
                        *pattern = true;
                    }
                    frame.before = Join::Next;
                }
                Some(')') => {
                    self.bump();
                    match frame.blocks.iter().rposition(|block| block.kind == Kind::Paren) {
                        Some(at) => {
                            frame.script.steps.push(Step::Close);
                            let group = frame.close(at);
                            self.command(&mut frame, group);
                        }
                        None if nested => break,
                        None => {}
                    }
                }
                Some('(') => match self.arithmetic() {
                    Some(inner) => frame.script.steps.push(number(inner)),
                    None => {
                        self.bump();
                        frame.open(Kind::Paren);
                        frame.script.steps.push(Step::Open);
                    }
                },
                // An operator without a command before it.
                Some('|') => drop(self.bump()),
                Some('&') if self.peek_at(1) != Some('>') => drop(self.bump()),
                Some(_) => self.command(&mut frame, None),
            }
        }
        // What is never closed ends with the text.
        while let Some(at) = frame.blocks.len().checked_sub(1) {
            let group = frame.close(at);
            frame.script.groups.extend(group);
        }
        frame.script.groups.sort_by_key(|group| (group.start, std::cmp::Reverse(group.end)));
        frame.script.deep |= self.deep;
        frame.script
    }

    pub(super) fn comment(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.bump();
        }
    }

    /// Goes on after the end of the innermost compound command.
    fn closed(&mut self, frame: &mut Frame) {
        let group = frame.blocks.len().checked_sub(1).and_then(|at| frame.close(at));
        self.command(frame, group);
    }

    /// Reads one simple command and what joins it to the next; or, after a compound command, its redirects and that.
    fn command(&mut self, frame: &mut Frame, mut group: Option<Group>) {
        let mut command = Command::default();
        // Whether the next redirect is about standard output.
        let mut output = true;
        let join = loop {
            self.blanks();
            match (self.peek(), self.peek_at(1)) {
                (None | Some('\n' | ';' | ')'), _) => break Join::Next,
                (Some('&'), Some('>')) => {
                    self.skip(2);
                    let append = self.eat('>');
                    let target = self.target();
                    command.redirects.push(Redirect::Write { target, output: true, append });
                }
                (Some('&'), Some('&')) => break self.joined(2, Join::And),
                (Some('&'), _) => break self.joined(1, Join::Background),
                (Some('|'), Some('|')) => break self.joined(2, Join::Or),
                (Some('|'), Some('&')) => break self.joined(2, Join::Pipe),
                (Some('|'), _) => break self.joined(1, Join::Pipe),
                (Some('('), _) => {
                    if command.words.len() != 1 || !self.parentheses() {
                        break Join::Next;
                    }
                    frame.defined = command.words.first().and_then(Word::literal);
                    command = Command::default();
                    frame.function = true;
                }
                (Some('<' | '>'), after) if after != Some('(') => {
                    self.redirect(frame, &mut command, output);
                    output = true;
                }
                (Some('#'), _) => self.comment(),
                _ => {
                    let word = self.word();
                    let is_fd = matches!(self.peek(), Some('<' | '>')) && is_descriptor(&word);
                    if is_fd {
                        output = word.bare().as_deref() == Some("1");
                    } else if !self.reserved(frame, &command, &word, &mut group) {
                        self.take(&mut command, word);
                    }
                }
            }
        };
        command.fed = frame.before == Join::Pipe;
        let plain = frame.blocks.is_empty()
            && frame.loops.is_empty()
            && !frame.function
            && !matches!(join, Join::Pipe | Join::Background);
        frame.chain = plain && (frame.before == Join::Next || (frame.chain && frame.before == Join::And));
        command.sure = frame.chain && frame.before == Join::Next;
        command.chained = frame.chain && frame.before == Join::And;
        command.join = join;
        frame.before = join;
        if let Some(group) = group {
            let redirected = command.words.is_empty() && !command.redirects.is_empty();
            frame.script.groups.push(Group { redirected, piped: join == Join::Pipe, ..group });
        }
        if !(command.words.is_empty() && command.assigns.is_empty() && command.redirects.is_empty()) {
            frame.script.steps.push(Step::Run(command));
        }
    }

    fn joined(&mut self, length: usize, join: Join) -> Join {
        self.skip(length);
        join
    }

    /// Adds a word to a command: an assignment, as long as nothing else was before it, or an argument.
    fn take(&mut self, command: &mut Command, word: Word) {
        // What declares variables takes assignments as arguments, lists included.
        let first = command.words.first().and_then(Word::bare);
        let declares = first.is_some_and(|name| {
            matches!(name.as_str(), "declare" | "typeset" | "local" | "export" | "readonly")
        });
        match assignment(&word) {
            Some(mut assign) if command.words.is_empty() || declares => {
                if assign.values.iter().all(|word| word.cells.is_empty()) && self.peek() == Some('(') {
                    self.bump();
                    assign.list = true;
                    assign.values = self.list();
                }
                command.assigns.push(assign);
            }
            _ => command.words.push(word),
        }
    }

    /// The words of a list up to its `)`.
    fn list(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.peek() {
                None => return words,
                Some(')') => {
                    self.bump();
                    return words;
                }
                Some('#') => self.comment(),
                Some('\n') => drop(self.bump()),
                // An error for bash, which goes on with the next line.
                Some(';' | '&' | '|' | '(' | '<' | '>') => {
                    self.doubt_from(self.next_line());
                    self.bump();
                }
                Some(_) => words.push(self.word()),
            }
        }
    }
}

/// An arithmetic expression in the place of a command.
pub(super) fn number(inner: Script) -> Step {
    Step::Look(Word { cells: vec![hole(Fill::Number(inner), false)], quoted: false })
}

/// Whether `text` can name a variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}

/// Reads `NAME=…`, `NAME+=…`, `NAME[…]=…`.
pub(super) fn assignment(word: &Word) -> Option<Assign> {
    let equals = word.cells.iter().position(|cell| *cell == Cell::Bare('='))?;
    let (before, after) = word.cells.split_at_checked(equals)?;
    let before = Word { cells: before.to_vec(), quoted: false }.bare()?;
    let (before, append) = before.strip_suffix('+').map_or((before.as_str(), false), |name| (name, true));
    let (name, element) = before.split_once('[').map_or((before, false), |(name, _)| (name, true));
    let cells = after.get(1..)?.to_vec();
    is_name(name).then(|| Assign {
        name: name.to_owned(),
        append: append || element,
        values: vec![Word { cells, quoted: word.quoted }],
        list: element,
    })
}
