//! Texts that are put together: `'a' + "b"`, `'a' 'b'`, `"a" . 'b'`, `chr(97)`, and by names that were given to texts.

use super::{Token, Tongue};
use crate::policy::shell::{Bit, Field};
use std::cell::Cell;
use std::collections::HashMap;

/// Tokens of one operand that are looked at.
const LONGEST_OPERAND: usize = 64;
/// What a name may hold, in pieces.
const LONGEST_VALUE: usize = 4096;
/// What all that names are replaced by may be, in pieces.
const MOST_REPLACED: usize = 1 << 20;
/// Operands of a sum before its first text.
const MOST_BEFORE: usize = 8;

/// Names of awk beside which a text is not joined.
const RESERVED: &[&str] = &[
    "print", "printf", "getline", "if", "else", "in", "return", "while", "do", "for", "next", "exit",
    "delete", "BEGIN", "END", "function",
];

/// Puts together what is joined; what is not known of it stands as such.
pub(in crate::policy) fn join(tokens: &[Token], tongue: Tongue) -> Vec<Token> {
    let joiner = Joiner::new(tokens, tongue);
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match joiner.sum(at) {
            Some((field, end)) => {
                out.push(Token::Text(field));
                at = end;
            }
            None => {
                out.push(token.clone());
                at += 1;
            }
        }
    }
    out
}

struct Joiner<'a> {
    tokens: &'a [Token],
    tongue: Tongue,
    /// What names were given, if only one text.
    named: HashMap<&'a str, Option<Field>>,
    replaced: Cell<usize>,
}

/// What names were given, where that is one text.
pub(in crate::policy) fn named(tokens: &[Token], tongue: Tongue) -> HashMap<&str, Field> {
    let named = Joiner::new(tokens, tongue).named;
    named.into_iter().filter_map(|(name, field)| Some((name, field?))).collect()
}

impl<'a> Joiner<'a> {
    fn new(tokens: &'a [Token], tongue: Tongue) -> Self {
        let mut joiner = Self { tokens, tongue, named: HashMap::new(), replaced: Cell::new(0) };
        joiner.names();
        joiner
    }

    fn get(&self, at: usize) -> Option<&'a Token> {
        self.tokens.get(at)
    }

    fn is(&self, at: usize, sign: char) -> bool {
        self.get(at).is_some_and(|token| token.is(sign))
    }

    /// Gathers `name = text`.
    fn names(&mut self) {
        let assigns: Vec<usize> = (1..self.tokens.len())
            .filter(|at| {
                let alone = !self.is(at + 1, '=') && !self.is(at + 1, '~') && !self.is(at + 1, '>');
                self.is(*at, '=') && alone || (self.is(*at, '-') && self.is(at.wrapping_sub(1), '<'))
            })
            .collect();
        for at in assigns {
            let before = at - if self.is(at, '-') { 2.min(at) } else { 1 };
            // `x += 'a'` makes it something else.
            let changed = matches!(self.get(before), Some(Token::Sign('+' | '.')));
            let name = self.get(if changed { before.wrapping_sub(1) } else { before }).and_then(Token::word);
            let Some(name) = name else { continue };
            let value = if changed { None } else { self.sum(at + 1).map(|(field, _)| field) };
            let value = value.filter(|field| field.bits.len() <= LONGEST_VALUE);
            let known = self.named.entry(name).or_insert_with(|| value.clone());
            if *known != value {
                *known = None;
            }
        }
    }

    /// The text that begins at a token, and where it ends. `None`: there is no text in it.
    fn sum(&self, from: usize) -> Option<(Field, usize)> {
        // A name alone is no sum: what it was given is seen there.
        if !matches!(self.get(from), Some(Token::Text(_) | Token::Word(_) | Token::Sign('`'))) {
            return None;
        }
        let mut field = Field::default();
        let mut texts = 0;
        let (mut at, mut operands) = (from, 0);
        loop {
            let (value, end, is_text) = self.operand(at)?;
            texts += usize::from(is_text);
            operands += 1;
            field.push(&value);
            if texts == 0 && operands > MOST_BEFORE {
                return None;
            }
            if let Some(next) = self.joined(end, is_text) {
                let next = (next..next + 4).find(|at| !self.is(*at, '(')).unwrap_or(next);
                if self.operand(next).is_some() {
                    at = next;
                    if self.is(end, '/') || self.is(end, ')') && self.is(end + 1, '/') {
                        field.bits.push(Bit::Char('/'));
                    }
                    continue;
                }
            }
            let alone = operands == 1 && matches!(self.get(from), Some(Token::Word(_)));
            return (texts > 0 && (!alone || self.is_char(from) || end == from + 4)).then_some((field, end));
        }
    }

    fn is_char(&self, at: usize) -> bool {
        self.get(at).and_then(Token::word).is_some_and(|word| {
            matches!(word, "chr" | "fromCharCode" | "fromCodePoint" | "char" | "intToUtf8" | "String")
        })
    }

    /// Where the operand after a joining sign begins; `is_text`: a text stands before it.
    fn joined(&self, end: usize, is_text: bool) -> Option<usize> {
        let closed = (end..end + 3).take_while(|at| self.is(*at, ')')).count();
        let at = end + closed;
        let next = self.get(at)?;
        let tongue = self.tongue;
        match next {
            Token::Sign('+') => (!self.is(at + 1, '=')).then_some(at + 1),
            Token::Sign('.') => match tongue {
                Tongue::Lua => self.is(at + 1, '.').then_some(at + 2),
                Tongue::Perl | Tongue::Php => Some(at + 1),
                Tongue::Other => Some(if self.is(at + 1, '.') { at + 2 } else { at + 1 }),
                _ => None,
            },
            Token::Sign('&') => (tongue == Tongue::Apple).then_some(at + 1),
            // Of paths.
            Token::Sign('/') => (tongue == Tongue::Python).then_some(at + 1),
            Token::Text(_) => {
                let beside =
                    matches!(tongue, Tongue::Python | Tongue::Ruby) && is_text || tongue == Tongue::Awk;
                (closed == 0 && beside).then_some(at)
            }
            Token::Word(_) => (closed == 0 && tongue == Tongue::Awk).then_some(at),
            _ => None,
        }
    }

    /// One operand: its text, where it ends, and whether it is a text.
    fn operand(&self, at: usize) -> Option<(Field, usize, bool)> {
        match self.get(at)? {
            Token::Sign('`') => self.operand(at + 1),
            Token::Text(field) => Some((field.clone(), at + 1, true)),
            // A path that is a value of its own.
            Token::Word(word) if word == "Path" && self.is(at + 1, '(') && self.is(at + 3, ')') => {
                let field = self.get(at + 2).and_then(Token::text)?;
                Some((field.clone(), at + 4, true))
            }
            Token::Word(word) if self.is_char(at) => {
                let number = (at + 1..at + 6).find_map(|at| {
                    self.get(at)
                        .and_then(Token::word)
                        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
                });
                let close = (at + 1..at + 8).find(|at| self.is(*at, ')'));
                let c = number.and_then(number_of).and_then(char::from_u32);
                match (c, close) {
                    (Some(c), Some(close)) if self.numbers(at, close) == 1 => {
                        Some((Field { bits: vec![Bit::Char(c)], unknown: None }, close + 1, true))
                    }
                    _ => Some((Field::any(word), self.chained(at + 1), false)),
                }
            }
            Token::Word(word) if self.tongue == Tongue::Awk && RESERVED.contains(&word.as_str()) => None,
            Token::Word(word) => {
                let end = self.chained(at + 1);
                let value = self.named.get(word.as_str()).and_then(Option::as_ref).filter(|_| end == at + 1);
                let held = self.replaced.get() + value.map_or(0, |field| field.bits.len());
                let value = value.filter(|_| held < MOST_REPLACED).cloned();
                self.replaced.set(held);
                let is_text = value.is_some();
                Some((value.unwrap_or_else(|| Field::any(word)), end, is_text))
            }
            _ => None,
        }
    }

    fn numbers(&self, from: usize, to: usize) -> usize {
        let words = (from..to).filter_map(|at| self.get(at).and_then(Token::word));
        words.filter(|word| number_of(word).is_some()).count()
    }

    /// Where what belongs to an operand ends: `.name`, `(…)`, `[…]`.
    fn chained(&self, from: usize) -> usize {
        let mut at = from;
        let most = from + LONGEST_OPERAND;
        while at < most {
            match self.get(at) {
                Some(Token::Sign('(' | '[')) => {
                    let mut depth = 0_usize;
                    let end = (at..most).find(|at| {
                        match self.get(*at) {
                            Some(Token::Sign('(' | '[')) => depth += 1,
                            Some(Token::Sign(')' | ']')) => depth = depth.saturating_sub(1),
                            _ => {}
                        }
                        depth == 0
                    });
                    let Some(end) = end else { return at };
                    at = end + 1;
                }
                Some(Token::Sign('.'))
                    if !matches!(self.tongue, Tongue::Perl | Tongue::Php)
                        && matches!(self.get(at + 1), Some(Token::Word(_))) =>
                {
                    at += 2;
                }
                _ => break,
            }
        }
        at
    }
}

/// A number as languages write it.
pub(in crate::policy) fn number_of(word: &str) -> Option<u32> {
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}
