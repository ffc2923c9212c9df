//! The git config file format: sections, quoted subsections, comments, continuation lines.
//!
//! A line that git would refuse costs only itself. `include` and `includeIf` are not followed.

use std::collections::HashMap;
use std::iter::Peekable;
use std::str::Chars;

/// Last values by key: `section.key` or `section.subsection.key`, with the subsection as written and the rest lower-case.
#[derive(Debug, Default)]
pub(super) struct Config {
    values: HashMap<String, String>,
}

impl Config {
    /// The last value of `key`; a key written without `=` has the value `true`.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// Adds the entries of one file; they win over what is there.
    pub(super) fn apply(&mut self, text: &str) {
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let mut chars = text.chars().peekable();
        let mut section = None;
        while let Some(&next) = chars.peek() {
            match next {
                '[' => {
                    section = read_section(&mut chars);
                    if section.is_none() {
                        skip_line(&mut chars);
                    }
                }
                '#' | ';' => skip_line(&mut chars),
                _ if next.is_ascii_alphabetic() => {
                    let entry = read_entry(&mut chars);
                    if let (Some(section), Some((key, value))) = (&section, entry) {
                        self.values.insert(format!("{section}.{key}"), value);
                    }
                }
                _ if next.is_whitespace() => drop(chars.next()),
                _ => skip_line(&mut chars),
            }
        }
    }
}

/// Whether git reads `value` as true.
pub(super) fn is_true(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    matches!(value.as_str(), "true" | "yes" | "on") || value.parse::<i64>().is_ok_and(|number| number != 0)
}

type Text<'a> = Peekable<Chars<'a>>;

/// Reads up to the newline and leaves it.
fn skip_line(chars: &mut Text<'_>) {
    while chars.next_if(|&next| next != '\n').is_some() {}
}

/// `[section]`, `[section "Subsection"]` or the older `[section.subsection]`.
fn read_section(chars: &mut Text<'_>) -> Option<String> {
    chars.next_if_eq(&'[')?;
    let mut name = String::new();
    while let Some(next) = chars.next_if(|&next| next.is_ascii_alphanumeric() || next == '-' || next == '.') {
        name.push(next.to_ascii_lowercase());
    }
    if chars.next_if_eq(&']').is_some() {
        return Some(name);
    }
    while chars.next_if(|&next| next == ' ' || next == '\t').is_some() {}
    chars.next_if_eq(&'"')?;
    name.push('.');
    loop {
        match chars.next_if(|&next| next != '\n')? {
            '"' => break,
            '\\' => name.push(chars.next_if(|&next| next != '\n')?),
            other => name.push(other),
        }
    }
    chars.next_if_eq(&']')?;
    Some(name)
}

/// `key`, or `key = value` with quotes, escapes, comments and continuation lines; `None` for one that git refuses.
fn read_entry(chars: &mut Text<'_>) -> Option<(String, String)> {
    let mut key = String::new();
    while let Some(next) = chars.next_if(|&next| next.is_ascii_alphanumeric() || next == '-') {
        key.push(next.to_ascii_lowercase());
    }
    while chars.next_if(|&next| next == ' ' || next == '\t').is_some() {}
    match chars.peek() {
        None | Some('\n' | '#' | ';') => {
            skip_line(chars);
            Some((key, "true".to_owned()))
        }
        Some('=') => {
            chars.next();
            let value = read_value(chars);
            skip_line(chars);
            Some((key, value?))
        }
        Some(_) => {
            skip_line(chars);
            None
        }
    }
}

fn read_value(chars: &mut Text<'_>) -> Option<String> {
    let mut value = String::new();
    let mut quoted = false;
    // Where the value ends when what follows turns out to be trailing blanks.
    let mut end = 0;
    loop {
        match chars.next_if(|&next| next != '\n') {
            None if quoted => return None,
            None => break,
            Some('#' | ';') if !quoted => break,
            Some('"') => {
                quoted = !quoted;
                end = value.len();
            }
            Some('\\') => {
                match chars.next()? {
                    '\n' => continue,
                    't' => value.push('\t'),
                    'n' => value.push('\n'),
                    'b' => value.push('\u{8}'),
                    escaped @ ('"' | '\\') => value.push(escaped),
                    _ => return None,
                }
                end = value.len();
            }
            Some(blank) if !quoted && blank.is_whitespace() => {
                if !value.is_empty() {
                    value.push(blank);
                }
            }
            Some(other) => {
                value.push(other);
                end = value.len();
            }
        }
    }
    value.truncate(end);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Config {
        let mut config = Config::default();
        config.apply(text);
        config
    }

    #[test]
    fn keys_fold_case_and_subsections_do_not() {
        let config =
            parse("[REMOTE \"Origin\"]\n\tURL = a\n[remote \"origin\"] url = b\n[Remote.Old]\nUrl=c\n");
        assert_eq!(config.get("remote.Origin.url"), Some("a"));
        assert_eq!(config.get("remote.origin.url"), Some("b"));
        assert_eq!(config.get("remote.old.url"), Some("c"));
    }

    #[test]
    fn values_drop_comments_and_outer_blanks_and_keep_quoted_ones() {
        let config = parse(
            "[a]\nx =  one two  ; c\ny = \" q # \" ;c\nz = a\\\\b\\tc\\\"\nw = one\\\n  two\nbare\nn = \n# x = 9",
        );
        assert_eq!(config.get("a.x"), Some("one two"));
        assert_eq!(config.get("a.y"), Some(" q # "));
        assert_eq!(config.get("a.z"), Some("a\\b\tc\""));
        assert_eq!(config.get("a.w"), Some("one  two"));
        assert_eq!(config.get("a.bare"), Some("true"));
        assert_eq!(config.get("a.n"), Some(""));
    }

    #[test]
    fn the_last_value_wins_and_a_broken_line_costs_itself() {
        let config = parse(
            "\u{feff}[a]\r\nx = 1\r\nx = 2\r\ny = \"open\n?!\nk e y = 3\nz = \\q\nok = 4\n[b \"c\nd = 5\n",
        );
        assert_eq!(config.get("a.x"), Some("2"));
        assert_eq!(config.get("a.y"), None);
        assert_eq!(config.get("a.z"), None);
        assert_eq!(config.get("a.ok"), Some("4"));
        assert_eq!(config.get("a.d"), None);
    }

    #[test]
    fn booleans_are_read_as_git_reads_them() {
        assert!(["true", "YES", "on", "1"].into_iter().all(is_true));
        assert!(!["false", "no", "off", "0", ""].into_iter().any(is_true));
    }
}
