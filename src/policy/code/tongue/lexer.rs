//! A text in pieces: literals, names and signs.

use super::{Token, Tokens, Tongue};
use crate::policy::shell::Field;

/// What is left of a text, and what was read of it.
pub(in crate::policy) struct Lexer {
    pub(in crate::policy) tongue: Tongue,
    pub(in crate::policy) chars: Vec<char>,
    pub(in crate::policy) at: usize,
    pub(in crate::policy) out: Tokens,
    pub(in crate::policy) depth: usize,
    /// Open `(` and `[`; whether a name of a statement came before.
    open: Vec<bool>,
    /// Whether the bracket that was closed last is that of `if (…)`.
    headed: bool,
    /// Texts that begin on the next line: their last line, whether it may be indented, and how they are quoted.
    here: Vec<(String, char)>,
}

/// Names after which a text or an expression comes, and no operator.
const OPEN: &[&str] = &[
    "return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "if", "unless", "while",
    "until", "and", "or", "not", "split", "grep", "map", "print", "puts", "push", "say", "else", "do",
    "when", "elsif", "yield", "await", "x", "eq", "ne", "lt", "gt", "cmp", "BEGIN", "END",
];

pub(in crate::policy) fn read(tongue: Tongue, text: &str, depth: usize) -> Tokens {
    let mut lexer = Lexer {
        tongue,
        chars: text.chars().collect(),
        at: 0,
        out: Tokens::default(),
        depth,
        open: Vec::new(),
        headed: false,
        here: Vec::new(),
    };
    while lexer.step() {}
    lexer.out
}

impl Lexer {
    pub(in crate::policy) fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    pub(in crate::policy) fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(at, c)| self.peek(at) == Some(c))
    }

    pub(in crate::policy) fn push(&mut self, token: Token) {
        self.out.list.push(token);
    }

    fn step(&mut self) -> bool {
        let Some(c) = self.peek(0) else { return false };
        match c {
            '\n' => {
                self.at += 1;
                if self.open.is_empty() {
                    self.push(Token::Break);
                }
                self.bodies();
            }
            c if c.is_whitespace() => self.at += 1,
            _ if self.comment() => {}
            '"' | '\'' | '`' if self.quote(c, "") => {}
            '<' if self.begins_here() => {}
            '[' if self.tongue == Tongue::Lua && self.long_bracket() => {}
            '%' if self.tongue == Tongue::Ruby && self.percent() => {}
            '/' if self.takes_pattern() && self.pattern('/', true) => self.push(Token::Pattern),
            '$' | '@' | '%' if self.sigil(c) => {}
            '\\' if self.peek(1) == Some('\n') => self.at += 2,
            c if self.is_word(c) => self.name(),
            c => self.sign(c),
        }
        true
    }

    fn sign(&mut self, c: char) {
        self.at += 1;
        match c {
            '(' | '[' => {
                let head = self.out.list.last().and_then(Token::word);
                self.open.push(head.is_some_and(|word| matches!(word, "if" | "while" | "for" | "with")));
            }
            ')' | ']' => self.headed = self.open.pop().unwrap_or_default(),
            _ => {}
        }
        self.push(Token::Sign(c));
    }

    /// Skips a comment.
    fn comment(&mut self) -> bool {
        let line = match self.tongue {
            Tongue::Script => self.starts("//"),
            Tongue::Php => self.starts("//") || self.starts("#"),
            Tongue::Lua => self.starts("--") && !self.starts("--[["),
            Tongue::Apple => self.starts("--"),
            Tongue::Lisp => self.starts(";"),
            Tongue::Other => false,
            Tongue::Python | Tongue::Perl | Tongue::Ruby | Tongue::Awk | Tongue::R => self.starts("#"),
        };
        let block = match self.tongue {
            Tongue::Script | Tongue::Php if self.starts("/*") => "*/",
            Tongue::Lua if self.starts("--[[") => "]]",
            _ => "",
        };
        if line {
            while self.peek(0).is_some_and(|c| c != '\n') {
                self.at += 1;
            }
        } else if !block.is_empty() {
            self.at += 2;
            while self.peek(0).is_some() && !self.starts(block) {
                self.at += 1;
            }
            self.at += 2;
        }
        line || !block.is_empty()
    }

    pub(in crate::policy) fn is_word(&self, c: char) -> bool {
        c.is_alphanumeric()
            || c == '_'
            || (self.tongue == Tongue::Script && c == '$')
            || (self.tongue == Tongue::Lisp && matches!(c, '-' | '+' | '*' | '/' | '?' | '!'))
    }

    fn name(&mut self) {
        let from = self.at;
        while self.peek(0).is_some_and(|c| self.is_word(c)) {
            self.at += 1;
        }
        let word: String = self.chars.get(from..self.at).unwrap_or_default().iter().collect();
        match self.tongue {
            Tongue::Python | Tongue::R
                if word.len() < 3 && word.chars().all(|c| "rRbBuUfFtT".contains(c)) =>
            {
                if let Some(c) = self.peek(0).filter(|c| matches!(c, '"' | '\''))
                    && self.quote(c, &word.to_lowercase())
                {
                    return;
                }
            }
            _ => {}
        }
        if self.tongue == Tongue::Perl && self.quoting(&word) {
            return;
        }
        self.push(Token::Word(word));
    }

    /// A variable with its sigil, of which the language has several that look like quotes.
    fn sigil(&mut self, c: char) -> bool {
        let perl = self.tongue == Tongue::Perl;
        if !(perl || matches!(self.tongue, Tongue::Php | Tongue::Ruby) && c != '%')
            || (c == '%' && !self.takes_pattern())
        {
            return false;
        }
        let length = match (self.peek(1), self.peek(2)) {
            (Some(next), _) if next.is_alphabetic() || next == '_' => 1,
            (Some('#'), Some(_)) if perl && c == '$' => 2,
            (Some('^'), Some(name)) if perl && name.is_ascii_uppercase() => 3,
            (Some(next), _)
                if c != '%' && !next.is_whitespace() && !matches!(next, '{' | '$' | '(' | '@') =>
            {
                2
            }
            _ => return false,
        };
        let from = self.at;
        self.at += length;
        while length == 1 && self.peek(0).is_some_and(|c| self.is_word(c) || (perl && c == '\'')) {
            if self.peek(0) == Some('\'') && !self.peek(1).is_some_and(|c| c.is_alphabetic()) {
                break;
            }
            self.at += 1;
        }
        let word = self.chars.get(from..self.at).unwrap_or_default().iter().collect();
        self.push(Token::Word(word));
        true
    }

    /// Whether what comes next is no operator: then `/` begins a pattern.
    pub(in crate::policy) fn takes_pattern(&self) -> bool {
        let spaced = self.at > 0 && self.chars.get(self.at - 1).is_some_and(|c| c.is_whitespace());
        let tight = self.peek(1).is_some_and(|c| !c.is_whitespace() && c != '=');
        match self.out.list.last() {
            _ if matches!(
                self.tongue,
                Tongue::Python | Tongue::Php | Tongue::Lua | Tongue::R | Tongue::Apple
            ) =>
            {
                false
            }
            None | Some(Token::Break) => true,
            Some(Token::Sign(')')) => self.headed && self.tongue == Tongue::Script,
            Some(Token::Sign(c)) => {
                !matches!(c, ']') && (*c != '}' || self.tongue != Tongue::Script || tight)
            }
            Some(Token::Word(word)) if OPEN.contains(&word.as_str()) => true,
            // A method's first argument without parentheses.
            Some(Token::Word(word)) => {
                self.tongue.is_wordy()
                    && self.tongue != Tongue::Awk
                    && spaced
                    && tight
                    && word.starts_with(|c: char| c.is_alphabetic())
            }
            Some(Token::Text(_) | Token::Run(_) | Token::Pattern) => false,
        }
    }

    /// Skips to the end of a pattern, and what its flags are; false, and nothing is skipped, if it has no end.
    pub(in crate::policy) fn pattern(&mut self, end: char, line: bool) -> bool {
        let from = self.at;
        let single = line && self.tongue == Tongue::Script || self.tongue == Tongue::Awk;
        self.at += 1;
        let mut class = false;
        while let Some(c) = self.peek(0) {
            match c {
                '\n' if single => break,
                '\\' => self.at += 1,
                '[' => class = true,
                ']' => class = false,
                c if c == end && !(class && matches!(self.tongue, Tongue::Script | Tongue::Awk)) => {
                    let text: String = self.chars.get(from..self.at).unwrap_or_default().iter().collect();
                    if text.contains("(?{")
                        || text.contains("@{")
                        || text.contains("${")
                        || text.contains("#{")
                    {
                        self.out.inner.push(text);
                    }
                    self.at += 1;
                    while self.peek(0).is_some_and(|c| c.is_ascii_alphabetic()) && self.tongue != Tongue::Awk
                    {
                        self.at += 1;
                    }
                    return true;
                }
                _ => {}
            }
            self.at += 1;
        }
        // To look once for an end that is not there is enough.
        self.out.doubt = true;
        if !single {
            self.at = self.chars.len();
            let rest: String = self.chars.get(from + 1..).unwrap_or_default().iter().collect();
            self.out.inner.extend((self.depth < super::DEEPEST).then_some(rest));
            return true;
        }
        self.at = from;
        false
    }

    /// `<<E`: a text that begins on the next line.
    fn begins_here(&mut self) -> bool {
        let signs = match self.tongue {
            Tongue::Perl | Tongue::Ruby => "<<",
            Tongue::Php => "<<<",
            _ => return false,
        };
        if !self.starts(signs) {
            return false;
        }
        let mut at = signs.len();
        while self.peek(at).is_some_and(|c| matches!(c, '~' | '-')) && at < signs.len() + 1 {
            at += 1;
        }
        let quote = self.peek(at).filter(|c| matches!(c, '"' | '\'' | '`'));
        at += usize::from(quote.is_some());
        let from = self.at + at;
        let rest = self.chars.get(from..).unwrap_or_default();
        let name: String = rest
            .iter()
            .take(60)
            .take_while(|c| quote.map_or_else(|| c.is_alphanumeric() || **c == '_', |quote| **c != quote))
            .collect();
        if name.is_empty() || name.contains('\n') || name.starts_with(|c: char| c.is_ascii_digit()) {
            return false;
        }
        self.at = from + name.chars().count() + usize::from(quote.is_some());
        self.here.push((name, quote.unwrap_or('"')));
        // Its place in the line; the text is put there when it has been read.
        self.push(Token::Text(Field::default()));
        true
    }

    fn bodies(&mut self) {
        for (end, quote) in std::mem::take(&mut self.here) {
            let mut body = String::new();
            let mut ended = false;
            while self.peek(0).is_some() && !ended {
                let from = self.at;
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
                let line: String = self.chars.get(from..self.at).unwrap_or_default().iter().collect();
                self.at += 1;
                ended = line.trim().trim_end_matches([';', ',', ')']) == end;
                if !ended {
                    body.push_str(&line);
                    body.push('\n');
                }
            }
            self.out.doubt |= !ended;
            let field = if quote == '\'' { Field::of(&body) } else { self.interpolated(&body) };
            self.push(if quote == '`' { Token::Run(field) } else { Token::Text(field) });
            self.push(Token::Break);
        }
    }

    /// `[[…]]` and `[==[…]==]` of Lua.
    fn long_bracket(&mut self) -> bool {
        let level = (1..).take_while(|at| self.peek(*at) == Some('=')).count();
        if self.peek(level + 1) != Some('[') || level > 9 {
            return false;
        }
        let end = format!("]{}]", "=".repeat(level));
        self.at += level + 2;
        let from = self.at;
        while self.peek(0).is_some() && !self.starts(&end) {
            self.at += 1;
        }
        let text: String = self.chars.get(from..self.at).unwrap_or_default().iter().collect();
        self.at += end.len();
        self.push(Token::Text(Field::of(&text)));
        true
    }
}
