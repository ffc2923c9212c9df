//! Text in another language, read as far as its literals go: which texts it holds, what they come to where they are put
//! together, and which of them stand in one list.
//!
//! It is not parsed, and no name in it is resolved. A language differs from another here only by its comments, its quotes
//! and what joins two texts. Where the reading is not sure, `Tokens::doubt` says so.

mod decode;
mod escapes;
mod joined;
mod lexer;
mod lists;
mod strings;

pub(in crate::policy) use decode::{decoded, filled, numbers, replaced};
pub(in crate::policy) use joined::{join, named};
pub(in crate::policy) use lists::{List, lists};

use crate::policy::shell::Field;

/// How deep text within text is read (`${'${…}'}`).
const DEEPEST: usize = 5;

/// A language, as far as its literals go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::policy) enum Tongue {
    Python,
    Script,
    Perl,
    Ruby,
    Php,
    Lua,
    Lisp,
    Awk,
    R,
    Apple,
    /// Any other: Tcl, the scripts of vim.
    Other,
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::policy) enum Token {
    /// A text, without its quotes and escapes; what is put into it when it runs is not known.
    Text(Field),
    /// A text that the language runs as a command: `…`, `qx(…)`.
    Run(Field),
    /// A regular expression.
    Pattern,
    /// A name, a number, or a variable with its sigil.
    Word(String),
    /// Anything else.
    Sign(char),
    /// The end of a line outside of brackets.
    Break,
}

/// A text in pieces.
#[derive(Debug, Default)]
pub(in crate::policy) struct Tokens {
    pub(in crate::policy) list: Vec<Token>,
    /// Code that stands within literals: `${…}`, `#{…}`, `s/…/…/e`.
    pub(in crate::policy) inner: Vec<String>,
    /// Whether a quote had no end, so that what is text and what is code may be mixed up.
    pub(in crate::policy) doubt: bool,
}

impl Tongue {
    /// The language of a program; `None` where the text may be in any.
    pub(in crate::policy) fn of(program: &str) -> Option<Self> {
        let known = [
            ("python", Self::Python),
            ("pypy", Self::Python),
            ("node", Self::Script),
            ("bun", Self::Script),
            ("deno", Self::Script),
            ("perl", Self::Perl),
            ("ruby", Self::Ruby),
            ("php", Self::Php),
            ("lua", Self::Lua),
            ("emacs", Self::Lisp),
            ("rscript", Self::R),
            ("osascript", Self::Apple),
            ("jruby", Self::Ruby),
            ("tsx", Self::Script),
            ("ts-node", Self::Script),
            ("guile", Self::Lisp),
            ("zx", Self::Script),
            ("julia", Self::Other),
            ("tclsh", Self::Other),
            ("expect", Self::Other),
        ];
        let found = known.into_iter().find(|(name, _)| program.starts_with(name)).map(|(_, tongue)| tongue);
        found.or_else(|| (program == "r").then_some(Self::R))
    }

    /// Reads a text; `depth`: texts that it is within.
    pub(in crate::policy) fn read(self, text: &str, depth: usize) -> Tokens {
        lexer::read(self, text, depth)
    }

    /// Whether names are called without parentheses.
    pub(in crate::policy) fn is_wordy(self) -> bool {
        !matches!(self, Self::Python | Self::Script)
    }
}

impl Token {
    /// The text that this is.
    pub(in crate::policy) fn text(&self) -> Option<&Field> {
        match self {
            Self::Text(field) => Some(field),
            _ => None,
        }
    }

    /// The name that this is.
    pub(in crate::policy) fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Whether this is that sign.
    pub(in crate::policy) fn is(&self, sign: char) -> bool {
        *self == Self::Sign(sign)
    }
}

#[cfg(test)]
mod tests;
