//! Literals: quotes, escapes, and what is put into a text when it runs.

use super::escapes::{escaped, single};
use super::lexer::Lexer;
use super::{DEEPEST, Token, Tongue};
use crate::policy::shell::{Bit, Field};

impl Lexer {
    /// A literal that begins with `quote` here, after the letters `prefix`.
    pub(in crate::policy) fn quote(&mut self, quote: char, prefix: &str) -> bool {
        let plain = match self.tongue {
            Tongue::Lisp | Tongue::Apple | Tongue::Awk => quote == '"',
            Tongue::Python | Tongue::Lua | Tongue::R => quote != '`',
            _ => true,
        };
        if !plain {
            return false;
        }
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let long = self.tongue == Tongue::Python && self.starts(&triple);
        self.at += if long { 3 } else { 1 };
        let from = self.at;
        let one_line = matches!(self.tongue, Tongue::Python | Tongue::Script | Tongue::Lua | Tongue::Awk)
            && !long
            && quote != '`';
        let mut nested = 0_usize;
        loop {
            match self.peek(0) {
                None => {
                    self.out.doubt = true;
                    break;
                }
                Some('\n') if one_line => {
                    self.out.doubt = true;
                    break;
                }
                Some('\\') if self.tongue != Tongue::R || !prefix.contains('r') => self.at += 2,
                // What stands in `${…}` may have quotes of its own.
                Some('$') if quote == '`' && self.tongue == Tongue::Script && self.peek(1) == Some('{') => {
                    nested += 1;
                    self.at += 2;
                }
                Some('#') if self.tongue == Tongue::Ruby && quote != '\'' && self.peek(1) == Some('{') => {
                    nested += 1;
                    self.at += 2;
                }
                Some('{') if nested > 0 => {
                    nested += 1;
                    self.at += 1;
                }
                Some('}') if nested > 0 => {
                    nested -= 1;
                    self.at += 1;
                }
                Some(c) if c == quote && nested == 0 && (!long || self.starts(&triple)) => break,
                Some(_) => self.at += 1,
            }
        }
        let text = self.cut(from);
        self.at += if long { 3 } else { 1 };
        let field = match self.tongue {
            Tongue::Python if prefix.contains(['f', 't']) => self.filled(&text, prefix.contains('r')),
            Tongue::Python | Tongue::R if prefix.contains('r') => Field::of(&text),
            Tongue::Script if quote == '`' => self.interpolated(&text),
            Tongue::Perl | Tongue::Ruby | Tongue::Php | Tongue::Other if quote != '\'' => {
                self.interpolated(&text)
            }
            Tongue::Perl | Tongue::Ruby | Tongue::Php => Field::of(&single(&text)),
            _ => Field::of(&escaped(&text, self.tongue)),
        };
        let runs = quote == '`' && matches!(self.tongue, Tongue::Perl | Tongue::Ruby | Tongue::Php);
        if quote == '`' && self.tongue == Tongue::Script {
            self.push(Token::Sign('`'));
        }
        self.push(if runs { Token::Run(field) } else { Token::Text(field) });
        true
    }

    fn cut(&self, from: usize) -> String {
        self.chars.get(from..self.at.min(self.chars.len())).unwrap_or_default().iter().collect()
    }

    /// `q(…)`, `qw(…)`, `m{…}`, `s/…/…/e` of Perl, after their name.
    pub(in crate::policy) fn quoting(&mut self, name: &str) -> bool {
        if !matches!(name, "q" | "qq" | "qw" | "qx" | "qr" | "m" | "s" | "y" | "tr") {
            return false;
        }
        let blanks = (0..8).take_while(|at| self.peek(*at).is_some_and(char::is_whitespace)).count();
        let Some(open) = self.peek(blanks) else { return false };
        let key = matches!(self.out.list.last(), Some(Token::Sign('{'))) && open == '}'
            || matches!(self.out.list.last(), Some(Token::Sign('>')))
            || matches!(self.out.list.last(), Some(Token::Word(word)) if word == "sub")
            || open == '=' && self.peek(blanks + 1) == Some('>');
        if key
            || matches!(open, ',' | ';' | ')')
            || (blanks > 0 && matches!(open, '=' | '#' | '.' | '<' | '>' | '*' | '+' | '-' | '&' | '?' | ':'))
            || (open.is_alphanumeric() && blanks == 0)
        {
            return false;
        }
        self.at += blanks;
        let text = self.delimited();
        match name {
            "q" => self.push(Token::Text(Field::of(&single(&text)))),
            "qq" => {
                let field = self.interpolated(&text);
                self.push(Token::Text(field));
            }
            "qx" => {
                let field = if open == '\'' { Field::of(&text) } else { self.interpolated(&text) };
                self.push(Token::Run(field));
            }
            "qw" => self.words(&text),
            _ => {
                let by = if matches!(name, "s" | "y" | "tr") { self.second(open) } else { String::new() };
                let from = self.at;
                while self.peek(0).is_some_and(|c| c.is_ascii_alphabetic()) {
                    self.at += 1;
                }
                let flags = self.cut(from);
                let put_in = |text: &str| text.contains("@{") || text.contains("${") || text.contains("(?{");
                if name == "s" && flags.contains('e') {
                    self.out.inner.push(by.clone());
                } else if put_in(&by) {
                    self.interpolated(&by);
                }
                if put_in(&text) {
                    self.out.inner.push(text);
                }
                if name == "s" && flags.matches('e').count() > 1 {
                    self.push(Token::Word("eval".to_owned()));
                }
                self.push(Token::Pattern);
            }
        }
        true
    }

    /// `%w[…]`, `%q(…)`, `%x{…}`, `%(…)` of Ruby.
    pub(in crate::policy) fn percent(&mut self) -> bool {
        let letter = self.peek(1).filter(|c| "wWiIqQxrs".contains(*c));
        let open = if letter.is_some() { self.peek(2) } else { self.peek(1) };
        let Some(open) = open.filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && *c != '=') else {
            return false;
        };
        if letter.is_none() && !(matches!(open, '(' | '[' | '{' | '|' | '<' | '!') && self.takes_pattern()) {
            return false;
        }
        self.at += if letter.is_some() { 2 } else { 1 };
        let text = self.delimited();
        match letter {
            Some('w' | 'W' | 'i' | 'I') => self.words(&text),
            Some('q' | 's') => self.push(Token::Text(Field::of(&single(&text)))),
            Some('x') => {
                let field = self.interpolated(&text);
                self.push(Token::Run(field));
            }
            Some('r') => self.push(Token::Pattern),
            _ => {
                let field = self.interpolated(&text);
                self.push(Token::Text(field));
            }
        }
        true
    }

    /// What stands between a delimiter, which is next, and its end; with all nested ones.
    fn delimited(&mut self) -> String {
        let Some(open) = self.peek(0) else { return String::new() };
        let end = match open {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            '<' => '>',
            c => c,
        };
        self.at += 1;
        let from = self.at;
        let mut nested = 0_usize;
        loop {
            match self.peek(0) {
                None => {
                    self.out.doubt = true;
                    break;
                }
                Some('\\') => self.at += 1,
                Some(c) if c == end && nested == 0 => break,
                Some(c) if c == end => nested -= 1,
                Some(c) if c == open => nested += 1,
                Some(_) => {}
            }
            self.at += 1;
        }
        let text = self.cut(from);
        self.at += 1;
        text
    }

    /// The second part of `s///` or `s{}{}`.
    fn second(&mut self, open: char) -> String {
        if matches!(open, '(' | '[' | '{' | '<') {
            while self.peek(0).is_some_and(char::is_whitespace) {
                self.at += 1;
            }
        } else {
            self.at -= 1;
        }
        self.delimited()
    }

    fn words(&mut self, text: &str) {
        self.push(Token::Sign('['));
        for word in text.split_whitespace() {
            self.push(Token::Text(Field::of(&single(word))));
            self.push(Token::Sign(','));
        }
        self.push(Token::Sign(']'));
    }

    /// A text of Python with `{…}` in it.
    fn filled(&mut self, text: &str, raw: bool) -> Field {
        let mut field = Field::default();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at(at);
            let before = if raw { before.to_owned() } else { escaped(before, self.tongue) };
            field.push(&Field::of(&before));
            if after.starts_with("{{") || after.starts_with("}}") {
                field.bits.extend(after.chars().next().map(Bit::Char));
                rest = after.get(2..).unwrap_or_default();
                continue;
            }
            let (code, end) = braced(after);
            self.put_in(code, &mut field);
            rest = end;
        }
        field.push(&Field::of(&if raw { rest.to_owned() } else { escaped(rest, self.tongue) }));
        field
    }

    /// A text with variables and code in it.
    pub(in crate::policy) fn interpolated(&mut self, text: &str) -> Field {
        let mut field = Field::default();
        let mut rest = text;
        let sigils: &[char] = match self.tongue {
            Tongue::Perl => &['$', '@'],
            Tongue::Ruby => &['#'],
            _ => &['$'],
        };
        let mut from = 0;
        while let Some(at) = rest.get(from..).and_then(|text| text.find(sigils)).map(|at| at + from) {
            let escape =
                rest.get(..at).is_some_and(|before| before.ends_with('\\') && !before.ends_with("\\\\"));
            let (before, after) = rest.split_at(at);
            let next = after.chars().nth(1);
            let named = next.is_some_and(|c| c.is_alphanumeric() || c == '_')
                && !matches!(self.tongue, Tongue::Script | Tongue::Ruby);
            if escape || !(named || next == Some('{') || (self.tongue == Tongue::Perl && next == Some('$'))) {
                from = at + 1;
                continue;
            }
            from = 0;
            field.push(&Field::of(&escaped(before, self.tongue)));
            if named || next == Some('$') {
                let name: String = after
                    .chars()
                    .skip(1)
                    .take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '$')
                    .collect();
                field.push(&Field::any(&format!("${name}")));
                rest = after.get(1 + name.len()..).unwrap_or_default();
                // `$x{a}`, `$x[0]`, `$x->{a}`
                let index = rest.strip_prefix("->").unwrap_or(rest);
                if index.starts_with('{') && self.tongue == Tongue::Perl {
                    let (code, end) = braced(index);
                    self.out.inner.extend(Some(code.to_owned()).filter(|code| code.len() > 1));
                    rest = end;
                }
                continue;
            }
            let (code, end) = braced(after.get(1..).unwrap_or_default());
            // Of Perl's it is a block that gives a reference.
            self.put_in(code.trim().trim_start_matches(['\\', '[']), &mut field);
            rest = end;
        }
        field.push(&Field::of(&escaped(rest, self.tongue)));
        field
    }

    /// Code within a text: known if it is a text itself.
    fn put_in(&mut self, code: &str, field: &mut Field) {
        if self.depth >= DEEPEST {
            self.out.doubt = true;
        } else {
            let inner = self.tongue.read(code, self.depth + 1);
            let texts: Vec<&Field> = inner.list.iter().filter_map(Token::text).collect();
            let only = inner.list.iter().all(|token| matches!(token, Token::Text(_) | Token::Sign('`')));
            if let ([text], true) = (texts.as_slice(), only) {
                return field.push(text);
            }
            if inner.list.len() > 1 {
                self.out.inner.push(code.to_owned());
            }
        }
        field.push(&Field::any(&format!("{{{}}}", code.chars().take(40).collect::<String>())));
    }
}

/// What stands in the braces that `text` begins with, and what comes after them.
fn braced(text: &str) -> (&str, &str) {
    let mut nested = 0_usize;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (c, Some(end)) => quote = (c != end).then_some(end),
            ('"' | '\'', None)
                if text.get(at + 1..).is_some_and(|rest| rest.chars().take(40).any(|other| other == c)) =>
            {
                quote = Some(c)
            }
            ('{', None) => nested += 1,
            ('}', None) => {
                nested = nested.saturating_sub(1);
                if nested == 0 {
                    return (text.get(1..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
                }
            }
            _ => {}
        }
    }
    (text.get(1..).unwrap_or_default(), "")
}
