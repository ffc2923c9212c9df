//! Escapes within quotes.

use super::Tongue;

/// The escapes of single quotes.
pub(in crate::policy) fn single(text: &str) -> String {
    if text.contains('\\') {
        text.replace("\\\\", "\u{0}").replace("\\'", "'").replace('\u{0}', "\\")
    } else {
        text.to_owned()
    }
}

/// The escapes of double quotes.
pub(in crate::policy) fn escaped(text: &str, tongue: Tongue) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(escape) = chars.next() else { break };
        let mut digits = |radix: u32, most: usize| {
            let braces = chars.next_if_eq(&'{').is_some();
            let mut value = 0_u32;
            let mut count = 0;
            while count < if braces { 8 } else { most }
                && let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix))
            {
                value = value.saturating_mul(radix).saturating_add(digit);
                count += 1;
                chars.next();
            }
            if braces {
                chars.next_if_eq(&'}');
            }
            char::from_u32(value).unwrap_or('\u{fffd}')
        };
        match escape {
            'x' => out.push(digits(16, 2)),
            'u' => out.push(digits(16, 4)),
            'U' => out.push(digits(16, 8)),
            '0'..='9' if tongue == Tongue::Lua => {
                let first = escape.to_digit(10).unwrap_or_default();
                let rest = [chars.next_if(char::is_ascii_digit), chars.next_if(char::is_ascii_digit)];
                let value = rest
                    .iter()
                    .flatten()
                    .fold(first, |value, c| value * 10 + c.to_digit(10).unwrap_or_default());
                out.extend(char::from_u32(value));
            }
            '0'..='7' => {
                let first = escape.to_digit(8).unwrap_or_default();
                let mut value = first;
                for _ in 0..2 {
                    if let Some(digit) = chars.peek().and_then(|c| c.to_digit(8)) {
                        value = value * 8 + digit;
                        chars.next();
                    }
                }
                out.extend(char::from_u32(value));
            }
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'e' => out.push('\u{1b}'),
            '\n' => {}
            c if tongue == Tongue::Python && !matches!(c, '\\' | '"' | '\'') => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}
