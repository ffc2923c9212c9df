//! Compound commands: what stays open while their commands are read, and the words that open and close them.

use super::parse::number;
use super::redirect::Pending;
use super::word::Reader;
use super::{Command, Function, Group, Join, Script, Step, Word};

/// Compound commands within compound commands; beyond it, what comes is not read.
const MOST_BLOCKS: usize = 1000;

/// A compound command that is not closed yet.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// Its first step.
    start: usize,
    /// How it is joined to what comes before it.
    before: Join,
    /// The function whose body it is.
    function: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
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
    pub(super) blocks: Vec<Block>,
    /// Loops whose `do` is still to come.
    pub(super) loops: Vec<(usize, Join)>,
    pub(super) before: Join,
    /// Whether the commands so far are joined by `&&` to one that is sure to run.
    pub(super) chain: bool,
    pub(super) function: bool,
    /// A function whose body comes next.
    pub(super) defined: Option<String>,
}

impl Frame {
    pub(super) fn open(&mut self, kind: Kind) {
        let (start, before) = self.here();
        self.script.deep |= self.blocks.len() > MOST_BLOCKS;
        if self.script.deep {
            return;
        }
        self.blocks.push(Block { kind, start, before, function: self.defined.take() });
    }

    /// The next step, and how it is joined: what is fed here is fed to the compound command that begins.
    fn here(&mut self) -> (usize, Join) {
        (self.script.steps.len(), std::mem::take(&mut self.before))
    }

    /// Closes a compound command, and what was not closed in it.
    pub(super) fn close(&mut self, at: usize) -> Option<Group> {
        let block = self.blocks.drain(at..).next()?;
        self.before = block.before;
        let end = self.script.steps.len();
        if let Some(name) = block.function {
            self.script.functions.push(Function { name, start: block.start, end });
        }
        Some(Group { start: block.start, end, fed: block.before == Join::Pipe, ..Group::default() })
    }

    /// Whether a pattern of the innermost `case` comes next.
    pub(super) fn case(&mut self) -> Option<&mut bool> {
        match self.blocks.last_mut() {
            Some(Block { kind: Kind::Case(pattern), .. }) => Some(pattern),
            _ => None,
        }
    }
}

impl Reader<'_> {
    /// Passes over a pattern of `case`, with its `)`; false at `esac`.
    pub(super) fn pattern(&mut self) -> bool {
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

    /// Passes over the `()` of a function's definition.
    pub(super) fn parentheses(&mut self) -> bool {
        let start = self.at();
        self.bump();
        self.blanks();
        let closed = self.eat(')');
        if !closed {
            self.back_to(start);
        }
        closed
    }

    /// Acts on a reserved word where a command is expected; false if `word` is none.
    pub(super) fn reserved(
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
