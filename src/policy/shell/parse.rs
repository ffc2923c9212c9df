//! Commands: what stands between words.

use super::redirect::{Pending, is_descriptor};
use super::word::{Reader, hole};
use super::{Assign, Cell, Command, Fill, Function, Group, Join, Redirect, Script, Step, Word};

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

/// A compound command that is not closed yet.
#[derive(Debug)]
struct Block {
    kind: Kind,
    /// Its first step.
    start: usize,
    /// How it is joined to what comes before it.
    before: Join,
    /// The function whose body it is.
    function: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Paren,
    /// `case`; whether a pattern comes next.
    Case(bool),
}

/// One script while it is read.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) script: Script,
    pub(super) pending: Vec<Pending>,
    blocks: Vec<Block>,
    /// Loops whose `do` is still to come.
    loops: Vec<(usize, Join)>,
    before: Join,
    /// Whether the commands so far are joined by `&&` to one that is sure to run.
    chain: bool,
    function: bool,
    /// A function whose body comes next.
    defined: Option<String>,
}

impl Frame {
    fn open(&mut self, kind: Kind) {
        let (start, before) = self.here();
        self.blocks.push(Block { kind, start, before, function: self.defined.take() });
    }

    /// The next step, and how it is joined: what is fed here is fed to the compound command that begins.
    fn here(&mut self) -> (usize, Join) {
        (self.script.steps.len(), std::mem::take(&mut self.before))
    }

    /// Closes a compound command, and what was not closed in it.
    fn close(&mut self, at: usize) -> Option<Group> {
        let block = self.blocks.drain(at..).next()?;
        self.before = block.before;
        let end = self.script.steps.len();
        if let Some(name) = block.function {
            self.script.functions.push(Function { name, start: block.start, end });
        }
        Some(Group { start: block.start, end, fed: block.before == Join::Pipe, ..Group::default() })
    }

    /// Whether a pattern of the innermost `case` comes next.
    fn case(&mut self) -> Option<&mut bool> {
        match self.blocks.last_mut() {
            Some(Block { kind: Kind::Case(pattern), .. }) => Some(pattern),
            _ => None,
        }
    }
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
        frame.script.groups.sort_by_key(|group| (group.start, std::cmp::Reverse(group.end)));
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

    /// Acts on a reserved word where a command is expected; false if `word` is none.
    fn reserved(
        &mut self,
        frame: &mut Frame,
        command: &Command,
        word: &Word,
        group: &mut Option<Group>,
    ) -> bool {
        if !command.words.is_empty() || !command.assigns.is_empty() {
            return false;
        }
        let Some(text) = word.bare() else { return false };
        match text.as_str() {
            "then" | "else" | "elif" | "!" | "coproc" => {}
            "while" | "until" => {
                let here = frame.here();
                frame.loops.push(here);
            }
            "if" | "{" => frame.open(Kind::Plain),
            "do" => {
                let (start, before) = frame.loops.pop().unwrap_or_else(|| frame.here());
                frame.blocks.push(Block { kind: Kind::Plain, start, before, function: frame.defined.take() });
            }
            "fi" | "done" | "}" | "esac" => {
                if frame.blocks.last().is_some_and(|block| block.kind != Kind::Paren) {
                    *group = frame.close(frame.blocks.len() - 1);
                }
            }
            "function" => {
                self.blanks();
                frame.defined = self.word().literal();
                self.blanks();
                if self.peek() == Some('(') {
                    self.parentheses();
                }
                frame.function = true;
            }
            "for" | "select" => {
                let here = frame.here();
                frame.loops.push(here);
                self.each(frame);
            }
            "case" => {
                self.blanks();
                let subject = self.word();
                frame.script.steps.push(Step::Look(subject));
                while self.peek().is_some_and(char::is_whitespace) {
                    self.bump();
                }
                self.word();
                frame.open(Kind::Case(false));
                if !self.pattern() {
                    *group = frame.close(frame.blocks.len() - 1);
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
}

/// An arithmetic expression in the place of a command.
fn number(inner: Script) -> Step {
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
        list: false,
    })
}
