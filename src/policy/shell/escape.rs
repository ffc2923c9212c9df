//! Escapes in texts: `$'…'` of shells, and what `printf` and some `echo`s print.

/// Who reads the escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escapes {
    /// `$'…'`, in which a byte of zero ends the text.
    Quoted,
    /// `printf` and `echo`, of whose texts nothing is lost: a byte of zero becomes a new line, for it separates, too.
    Printed,
}

/// A text with its escapes read.
#[must_use]
pub fn unescape(text: &str, escapes: Escapes) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some((c, length)) = escape(rest.as_str(), escapes) else { break };
        match (c, escapes) {
            ('\0', Escapes::Quoted) => break,
            ('\0', Escapes::Printed) => out.push('\n'),
            (c, _) => out.push(c),
        }
        rest = rest.as_str().get(length..).unwrap_or_default().chars();
    }
    out
}

/// The character that an escape stands for, and its length after the backslash; `None` where the text ends.
fn escape(ahead: &str, escapes: Escapes) -> Option<(char, usize)> {
    let printed = escapes == Escapes::Printed;
    let number = |skip: usize, radix: u32, most: usize| {
        let digits = ahead.get(skip..).unwrap_or_default();
        let length = digits.chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let value = u32::from_str_radix(digits.get(..length).unwrap_or_default(), radix);
        // Where no number comes, nothing is escaped.
        Some(value.ok().and_then(char::from_u32).map_or(('\\', 0), |c| (c, skip + length)))
    };
    let c = ahead.chars().next();
    match c {
        Some('x') => number(1, 16, 2),
        Some('u') => number(1, 16, 4),
        Some('U') => number(1, 16, 8),
        Some('0') if printed => number(0, 8, 4),
        Some('0'..='7') => number(0, 8, 3),
        Some('c') if printed => None,
        Some('c') => {
            let control = ahead.chars().nth(1)?;
            Some((char::from_u32(u32::from(control) & 0x1f)?, 1 + control.len_utf8()))
        }
        _ => {
            let plain = match c {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('a') => '\u{7}',
                Some('b') => '\u{8}',
                Some('e' | 'E') => '\u{1b}',
                Some('f') => '\u{c}',
                Some('v') => '\u{b}',
                Some(c @ ('\\' | '\'' | '"')) => c,
                Some(c) if !printed => return Some((c, c.len_utf8())),
                _ => return Some(('\\', 0)),
            };
            Some((plain, 1))
        }
    }
}
