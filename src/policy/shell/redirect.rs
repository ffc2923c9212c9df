//! Redirects and here-documents.

use super::compound::Frame;
use super::parse::is_name;
use super::word::Reader;
use super::{Cell, Command, Redirect, Word};

/// A here-document whose body comes after the line.
#[derive(Debug)]
pub(super) struct Pending {
    body: usize,
    delimiter: String,
    tabs: bool,
    literal: bool,
}

impl Reader<'_> {
    /// Reads a redirect, from its operator on. `output`: it is about standard output, if it is about any output.
    pub(super) fn redirect(&mut self, frame: &mut Frame, command: &mut Command, output: bool) {
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
            if self.target().bare().as_deref() != Some("-") {
                command.redirects.push(Redirect::Copy);
            }
            return;
        }
        let writes = !input || self.eat('>');
        let copies = !input && self.eat('&');
        let append = !input && !copies && self.peek() == Some('>');
        if !input && !copies {
            // `>>`, `>|`, and what zsh adds to them.
            while self.eat('>') || self.eat('|') || self.eat('!') {}
        }
        let target = self.target();
        if copies && (is_descriptor(&target) || target.bare().as_deref() == Some("-")) {
            if output && target.bare().as_deref() != Some("1") {
                command.redirects.push(Redirect::Away);
            }
            return;
        }
        command.redirects.push(if writes {
            Redirect::Write { target, output, append }
        } else {
            Redirect::Read(target)
        });
    }

    pub(super) fn target(&mut self) -> Word {
        self.blanks();
        self.word()
    }

    /// Reads the bodies that the line before asked for.
    pub(super) fn bodies(&mut self, frame: &mut Frame) {
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

/// Whether a word before `<` or `>` is a descriptor: `2`, `{name}`.
pub(super) fn is_descriptor(word: &Word) -> bool {
    let Some(text) = word.bare() else { return false };
    let named = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    !text.is_empty() && (text.chars().all(|c| c.is_ascii_digit()) || named.is_some_and(is_name))
}
