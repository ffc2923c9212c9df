//! Commands: what stands between words.

use super::word::{Reader, hole};
use super::{Assign, Cell, Command, Fill, Join, Redirect, Script, Step, Word};

/// Scripts within scripts; beyond it, what is nested is not read ([`Script::deep`]).
pub(super) const DEEPEST: usize = 24;

/// Reads `text`, which stands `depth` scripts deep.
pub(super) fn script(text: &str, depth: usize) -> Script {
    let chars: Vec<char> = text.chars().collect();
    Reader::new(&chars, depth).script(false)
}

/// A compound command that is not closed yet.
#[derive(Debug, PartialEq, Eq)]
enum Block {
    Plain,
    Paren,
    /// `case`; whether a pattern comes next.
    Case(bool),
}

/// A here-document whose body comes after the line.
#[derive(Debug)]
struct Pending {
    body: usize,
    delimiter: String,
    tabs: bool,
    literal: bool,
}

/// One script while it is read.
#[derive(Debug, Default)]
struct Frame {
    script: Script,
    pending: Vec<Pending>,
    blocks: Vec<Block>,
    before: Join,
    function: bool,
}

impl Reader<'_> {
    /// Reads up to the end, or up to the `)` that ends a substitution.
    pub(super) fn script(&mut self, nested: bool) -> Script {
        let mut frame = Frame::default();
        loop {
            self.blanks();
            if let Some(Block::Case(pattern @ true)) = frame.blocks.last_mut() {
                *pattern = false;
                if !self.pattern() {
                    frame.blocks.pop();
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
                        && let Some(Block::Case(pattern)) = frame.blocks.last_mut()
                    {
                        self.eat('&');
                        *pattern = true;
                    }
                    frame.before = Join::Next;
                }
                Some(')') => {
                    self.bump();
                    match frame.blocks.iter().rposition(|block| *block == Block::Paren) {
                        Some(at) => {
                            frame.blocks.truncate(at);
                            frame.script.steps.push(Step::Close);
                        }
                        None if nested => break,
                        None => {}
                    }
                }
                Some('(') => match self.arithmetic() {
                    Some(inner) => frame.script.steps.push(number(inner)),
                    None => {
                        self.bump();
                        frame.blocks.push(Block::Paren);
                        frame.script.steps.push(Step::Open);
                    }
                },
                // An operator without a command before it.
                Some('|') => drop(self.bump()),
                Some('&') if self.peek_at(1) != Some('>') => drop(self.bump()),
                Some(_) => self.command(&mut frame),
            }
        }
        frame.script.deep |= self.deep;
        frame.script
    }

    fn comment(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.bump();
        }
    }

    /// Passes over a pattern of `case`, with its `)`; false at `esac`.
    fn pattern(&mut self) -> bool {
        while self.peek().is_some_and(char::is_whitespace) {
            self.bump();
        }
        self.eat('(');
        let mut first = true;
        loop {
            self.blanks();
            match self.peek() {
                None => return false,
                Some(')') => {
                    self.bump();
                    return true;
                }
                Some('\n' | ';' | '|' | '&' | '(' | '<' | '>') => drop(self.bump()),
                Some('#') if first => self.comment(),
                Some(_) if self.word().bare().as_deref() == Some("esac") && first => return false,
                Some(_) => {}
            }
            first = false;
        }
    }

    /// Reads one simple command and what joins it to the next.
    fn command(&mut self, frame: &mut Frame) {
        let mut command = Command::default();
        let join = loop {
            self.blanks();
            match (self.peek(), self.peek_at(1)) {
                (None | Some('\n' | ';' | ')'), _) => break Join::Next,
                (Some('&'), Some('>')) => {
                    self.skip(2);
                    self.eat('>');
                    let target = self.target();
                    command.redirects.push(Redirect::Write(target));
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
                    command = Command::default();
                    frame.function = true;
                }
                (Some('<' | '>'), after) if after != Some('(') => self.redirect(frame, &mut command),
                (Some('#'), _) => self.comment(),
                _ => {
                    let word = self.word();
                    let is_fd = matches!(self.peek(), Some('<' | '>')) && is_descriptor(&word);
                    if !is_fd && !self.reserved(frame, &command, &word) {
                        self.take(&mut command, word);
                    }
                }
            }
        };
        command.fed = frame.before == Join::Pipe;
        command.sure = frame.blocks.is_empty()
            && !frame.function
            && frame.before == Join::Next
            && !matches!(join, Join::Pipe | Join::Background);
        command.join = join;
        frame.before = join;
        if !(command.words.is_empty() && command.assigns.is_empty() && command.redirects.is_empty()) {
            frame.script.steps.push(Step::Run(command));
        }
    }

    fn joined(&mut self, length: usize, join: Join) -> Join {
        self.skip(length);
        join
    }

    /// Passes over the `()` of a function's definition.
    fn parentheses(&mut self) -> bool {
        let start = self.at();
        self.bump();
        self.blanks();
        let closed = self.eat(')');
        if !closed {
            self.back_to(start);
        }
        closed
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
                Some('\n' | ';' | '&' | '|' | '(' | '<' | '>') => drop(self.bump()),
                Some(_) => words.push(self.word()),
            }
        }
    }

    /// Acts on a reserved word where a command is expected; false if `word` is none.
    fn reserved(&mut self, frame: &mut Frame, command: &Command, word: &Word) -> bool {
        if !command.words.is_empty() || !command.assigns.is_empty() {
            return false;
        }
        let Some(text) = word.bare() else { return false };
        match text.as_str() {
            "then" | "else" | "elif" | "!" | "while" | "until" | "coproc" => {}
            "if" | "do" | "{" => frame.blocks.push(Block::Plain),
            "fi" | "done" | "}" | "esac" => {
                if frame.blocks.last().is_some_and(|block| *block != Block::Paren) {
                    frame.blocks.pop();
                }
            }
            "function" => {
                self.blanks();
                self.word();
                self.blanks();
                if self.peek() == Some('(') {
                    self.parentheses();
                }
                frame.function = true;
            }
            "for" | "select" => self.each(frame),
            "case" => {
                self.blanks();
                let subject = self.word();
                frame.script.steps.push(Step::Look(subject));
                while self.peek().is_some_and(char::is_whitespace) {
                    self.bump();
                }
                self.word();
                frame.blocks.push(Block::Case(false));
                if !self.pattern() {
                    frame.blocks.pop();
                }
            }
            _ => return false,
        }
        true
    }

    /// `for NAME [in WORDS]`
    fn each(&mut self, frame: &mut Frame) {
        self.blanks();
        if self.peek() == Some('(') {
            if let Some(inner) = self.arithmetic() {
                frame.script.steps.push(number(inner));
            }
            return;
        }
        let name = self.word().literal().unwrap_or_default();
        while self.peek().is_some_and(char::is_whitespace) {
            self.bump();
        }
        let start = self.at();
        let words = if self.word().bare().as_deref() == Some("in") {
            let mut words = Vec::new();
            loop {
                self.blanks();
                if matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | '(' | ')')) {
                    break Some(words);
                }
                let word = self.word();
                if word.cells.is_empty() && !word.quoted {
                    self.bump();
                }
                words.push(word);
            }
        } else {
            self.back_to(start);
            None
        };
        frame.script.steps.push(Step::For(name, words));
    }

    /// Reads a redirect, from its operator on.
    fn redirect(&mut self, frame: &mut Frame, command: &mut Command) {
        let input = self.peek() == Some('<');
        self.bump();
        if input && self.eat('<') {
            if self.eat('<') {
                let text = self.target();
                command.redirects.push(Redirect::Text(text));
                return;
            }
            let tabs = self.eat('-');
            let delimiter = self.target();
            let body = frame.script.bodies.len();
            frame.script.bodies.push(Word::default());
            command.redirects.push(Redirect::Here(body));
            let literal = delimiter.quoted;
            frame.pending.push(Pending { body, delimiter: delimiter.source(), tabs, literal });
            return;
        }
        if input && self.eat('&') {
            self.target();
            return;
        }
        let writes = !input || self.eat('>');
        let copies = !input && self.eat('&');
        if !input && !copies {
            // `>>`, `>|`, and what zsh adds to them.
            while self.eat('>') || self.eat('|') || self.eat('!') {}
        }
        let target = self.target();
        if copies && (is_descriptor(&target) || target.bare().as_deref() == Some("-")) {
            return;
        }
        command.redirects.push(if writes { Redirect::Write(target) } else { Redirect::Read(target) });
    }

    fn target(&mut self) -> Word {
        self.blanks();
        self.word()
    }

    /// Reads the bodies that the line before asked for.
    fn bodies(&mut self, frame: &mut Frame) {
        for pending in std::mem::take(&mut frame.pending) {
            let text = self.body(&pending.delimiter, pending.tabs);
            let body = if pending.literal {
                Word { cells: text.chars().map(Cell::Quoted).collect(), quoted: true }
            } else {
                self.document(&text)
            };
            if let Some(slot) = frame.script.bodies.get_mut(pending.body) {
                *slot = body;
            }
        }
    }
}

/// An arithmetic expression in the place of a command.
fn number(inner: Script) -> Step {
    Step::Look(Word { cells: vec![hole(Fill::Number(inner), false)], quoted: false })
}

/// Whether a word before `<` or `>` is a descriptor: `2`, `{name}`.
fn is_descriptor(word: &Word) -> bool {
    let Some(text) = word.bare() else { return false };
    let named = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    !text.is_empty() && (text.chars().all(|c| c.is_ascii_digit()) || named.is_some_and(is_name))
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
        list: false,
    })
}
