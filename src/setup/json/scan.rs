//! A JSON document together with the places of its parts, so that it can be changed without being written anew.
//!
//! Accepted is JSON, and beyond it what editors of settings files let pass: `//` and `/* */` comments, a comma behind the
//! last item, a byte order mark. Everything else is refused with the line it stands on.

use std::ops::Range;

use serde_json::{Map, Value};

/// Deeper documents are refused: no settings file is, and a scanner that recurses must end.
const MAX_DEPTH: usize = 100;

/// Why a document is left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// Its bytes in the text.
    pub(super) span: Range<usize>,
    /// What it is.
    pub(super) kind: Kind,
}

/// The parts of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Its members, in order.
    Object(Vec<Member>),
    /// Its items, in order.
    Array(Vec<Node>),
    /// Anything else, as a value.
    Scalar(Value),
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    /// Its name.
    pub(super) key: String,
    /// Where the name starts.
    pub(super) start: usize,
    /// Its value.
    pub(super) value: Node,
}

impl Node {
    /// The member `key` of an object; `None` where there is none or this is no object.
    ///
    /// # Errors
    /// When it stands there twice: readers differ in which one counts.
    pub(super) fn member(&self, key: &str) -> Result<Option<&Self>, Refusal> {
        let Kind::Object(members) = &self.kind else { return Ok(None) };
        let mut found = members.iter().filter(|member| member.key == key);
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(Refusal(format!("{key:?} stands there twice; keep one"))),
            (first, _) => Ok(first.map(|member| &member.value)),
        }
    }

    /// The items of an array.
    pub(super) fn items(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Whether this is an object.
    pub(super) fn is_object(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    /// The text of a string.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// What it says, without places and comments.
    pub(super) fn value(&self) -> Value {
        match &self.kind {
            Kind::Object(members) => {
                let mut object = Map::new();
                object.extend(members.iter().map(|member| (member.key.clone(), member.value.value())));
                Value::Object(object)
            }
            Kind::Array(items) => Value::Array(items.iter().map(Self::value).collect()),
            Kind::Scalar(value) => value.clone(),
        }
    }

    /// The places of an object's members or an array's items.
    pub(super) fn parts(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => {
                members.iter().map(|member| member.start..member.value.span.end).collect()
            }
            Kind::Array(items) => items.iter().map(|item| item.span.clone()).collect(),
            Kind::Scalar(_) => vec![],
        }
    }
}

/// Reads the document in `text`.
///
/// # Errors
/// When it is none; the message names the line.
pub(super) fn scan(text: &str) -> Result<Node, Refusal> {
    let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut scanner = Scanner { text, at };
    scanner.trivia()?;
    let node = scanner.value(0)?;
    scanner.trivia()?;
    if scanner.at == text.len() { Ok(node) } else { Err(scanner.refuse("something follows the document")) }
}

/// The first position from `at` on that is neither white space nor comment.
pub(super) fn skip_trivia(text: &str, at: usize) -> usize {
    let mut scanner = Scanner { text, at };
    // A comment that does not end was refused by the scan.
    drop(scanner.trivia());
    scanner.at
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn refuse(&self, what: &str) -> Refusal {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        Refusal(format!(
            "it is not JSON that can be edited: line {}: {what}",
            before.matches('\n').count() + 1
        ))
    }

    fn trivia(&mut self) -> Result<(), Refusal> {
        loop {
            let rest = self.rest();
            let skipped = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map(|end| end + 2).ok_or_else(|| self.refuse("a comment does not end"))?
            } else {
                let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
                rest.len() - rest.trim_start_matches(blank).len()
            };
            if skipped == 0 {
                return Ok(());
            }
            self.at += skipped;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, Refusal> {
        if depth > MAX_DEPTH {
            return Err(self.refuse("it is nested too deeply"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some('{') => Kind::Object(self.list('}', |scanner| scanner.member(depth + 1))?),
            Some('[') => Kind::Array(self.list(']', |scanner| scanner.value(depth + 1))?),
            Some('"') => Kind::Scalar(Value::String(self.string()?)),
            Some(_) => Kind::Scalar(self.word()?),
            None => return Err(self.refuse("a value is missing at the end")),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn list<T>(
        &mut self,
        close: char,
        mut next: impl FnMut(&mut Self) -> Result<T, Refusal>,
    ) -> Result<Vec<T>, Refusal> {
        let mut parts = vec![];
        self.at += 1;
        loop {
            self.trivia()?;
            if self.peek() == Some(close) {
                self.at += 1;
                return Ok(parts);
            }
            parts.push(next(self)?);
            self.trivia()?;
            match self.peek() {
                Some(',') => self.at += 1,
                Some(found) if found == close => {}
                _ => return Err(self.refuse(&format!("`,` or `{close}` is missing"))),
            }
        }
    }

    fn member(&mut self, depth: usize) -> Result<Member, Refusal> {
        let start = self.at;
        if self.peek() != Some('"') {
            return Err(self.refuse("a name in double quotes is missing"));
        }
        let key = self.string()?;
        self.trivia()?;
        if self.peek() != Some(':') {
            return Err(self.refuse("`:` is missing"));
        }
        self.at += 1;
        self.trivia()?;
        Ok(Member { key, start, value: self.value(depth)? })
    }

    fn string(&mut self) -> Result<String, Refusal> {
        let rest = self.rest();
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find_map(|(at, c)| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends.then_some(at + 1)
        });
        let literal =
            end.and_then(|end| rest.get(..end)).ok_or_else(|| self.refuse("a text does not end"))?;
        let text =
            serde_json::from_slice(literal.as_bytes()).map_err(|_| self.refuse("a text is not valid"))?;
        self.at += literal.len();
        Ok(text)
    }

    fn word(&mut self) -> Result<Value, Refusal> {
        let rest = self.rest();
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let length = rest.len() - rest.trim_start_matches(part).len();
        let word = rest.get(..length).unwrap_or_default();
        let value =
            serde_json::from_slice(word.as_bytes()).map_err(|_| self.refuse("a value is not valid"))?;
        self.at += length;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_trailing_commas_and_a_byte_order_mark_are_read_past() {
        let text = "\u{feff}// top\n{\"a\": [1, /* two */ 2,], \"b\\u0041\": {\"c\": null,},\r\n}\n// end";
        assert_eq!(scan(text).unwrap().value(), json!({"a": [1, 2], "bA": {"c": null}}));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_line() {
        let table = [
            ("", "line 1"),
            ("{\n\"a\": 1\n\"b\": 2}", "line 3"),
            ("{'a': 1}", "double quotes"),
            ("{\"a\": undefined}", "not valid"),
            ("{\"a\": 1} x", "follows"),
            ("{\"a\": \"x}", "does not end"),
            ("[1 /* x", "does not end"),
            ("[,]", "not valid"),
        ];
        for (text, expected) in table {
            let Refusal(reason) = scan(text).unwrap_err();
            assert!(reason.contains(expected), "{text:?}: {reason}");
        }
        assert!(scan(&"[".repeat(50_000)).unwrap_err().0.contains("too deeply"));
    }

    #[test]
    fn a_name_that_stands_twice_is_refused_where_it_is_asked_for() {
        let node = scan(r#"{"a": 1, "a": 2, "b": 3}"#).unwrap();
        assert!(node.member("a").unwrap_err().0.contains("twice"));
        assert_eq!(node.member("b").unwrap().unwrap().value(), json!(3));
        assert_eq!(node.member("c").unwrap(), None);
    }
}
