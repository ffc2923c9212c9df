//! JSON, read as the hosts' own parser reads it.
//!
//! What `JSON.parse` takes and `serde_json` refuses must not be a way around a policy, so this takes: halves of surrogate
//! pairs (replaced), any depth (what is nested deeper than [`DEEPEST`] is `null`: no tool has arguments there), numbers
//! beyond all range (`null`), bytes that are no UTF-8 (replaced). It also takes a byte order mark and control characters
//! in strings. Of a key that stands twice the last one counts. All else that is no JSON is refused.

use serde_json::{Map, Value};

/// Levels that are kept.
pub const DEEPEST: usize = 96;

/// Reads a document; `None` if it is none.
#[must_use]
pub fn parse(text: &str) -> Option<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { rest: text };
    let value = reader.document()?;
    reader.blanks();
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
}

/// What is open.
enum Open {
    List(Vec<Value>),
    Object(Map<String, Value>, String),
}

impl Reader<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.rest.strip_prefix(wanted);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// One value, without recursion: depth is the sender's to choose.
    fn document(&mut self) -> Option<Value> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.blanks();
            let mut value = if self.eat("[") {
                self.blanks();
                if !self.eat("]") {
                    open.push(Open::List(Vec::new()));
                    continue;
                }
                Value::Array(Vec::new())
            } else if self.eat("{") {
                self.blanks();
                if !self.eat("}") {
                    let key = self.key()?;
                    open.push(Open::Object(Map::new(), key));
                    continue;
                }
                Value::Object(Map::new())
            } else {
                self.scalar()?
            };
            // Put it where it belongs; what it closes is a value again.
            loop {
                let kept = open.len() <= DEEPEST;
                let kept_value = if kept { value } else { Value::Null };
                let Some(innermost) = open.last_mut() else { return Some(kept_value) };
                match innermost {
                    Open::List(items) if kept => items.push(kept_value),
                    Open::List(_) => {}
                    Open::Object(map, key) => drop(map.insert(std::mem::take(key), kept_value)),
                }
                self.blanks();
                let more = self.eat(",");
                match open.last_mut()? {
                    Open::List(_) if more => break,
                    Open::Object(_, next) if more => {
                        self.blanks();
                        *next = self.key()?;
                        break;
                    }
                    Open::List(_) if !self.eat("]") => return None,
                    Open::Object(..) if !self.eat("}") => return None,
                    _ => {}
                }
                value = match open.pop()? {
                    Open::List(items) => Value::Array(items),
                    Open::Object(map, _) => Value::Object(map),
                };
            }
        }
    }

    fn key(&mut self) -> Option<String> {
        let key = self.string()?;
        self.blanks();
        self.eat(":").then_some(key)
    }

    fn scalar(&mut self) -> Option<Value> {
        match self.rest.chars().next()? {
            '"' => self.string().map(Value::String),
            't' => self.eat("true").then_some(Value::Bool(true)),
            'f' => self.eat("false").then_some(Value::Bool(false)),
            'n' => self.eat("null").then_some(Value::Null),
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Option<Value> {
        let end = self.rest.find(|c: char| !matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        let (text, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len()))?;
        self.rest = rest;
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Some(value),
            // Out of range, if it is a number at all: Rust reads those as infinite.
            Err(_) => text.parse::<f64>().ok().filter(|number| number.is_infinite()).map(|_| Value::Null),
        }
    }

    fn string(&mut self) -> Option<String> {
        self.rest = self.rest.strip_prefix('"')?;
        let mut text = String::new();
        loop {
            let at = self.rest.find(['"', '\\'])?;
            let (plain, rest) = self.rest.split_at_checked(at)?;
            text.push_str(plain);
            if let Some(rest) = rest.strip_prefix('"') {
                self.rest = rest;
                return Some(text);
            }
            let mut after = rest.get(1..)?.chars();
            text.push(match after.next()? {
                c @ ('"' | '\\' | '/') => c,
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let (c, rest) = escaped(rest)?;
                    text.push(c);
                    self.rest = rest;
                    continue;
                }
                _ => return None,
            });
            self.rest = after.as_str();
        }
    }
}

/// The character of one or two `\uXXXX` at the start of `text`, and what follows.
fn escaped(text: &str) -> Option<(char, &str)> {
    let (high, rest) = unit(text)?;
    if let Some((low, after)) = unit(rest).filter(|(low, _)| (0xdc00..0xe000).contains(low))
        && (0xd800..0xdc00).contains(&high)
    {
        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        return Some((char::from_u32(code)?, after));
    }
    Some((char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER), rest))
}

fn unit(text: &str) -> Option<(u32, &str)> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let plain = digits.chars().all(|c| c.is_ascii_hexdigit());
    Some((u32::from_str_radix(digits, 16).ok().filter(|_| plain)?, text.get(6..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_the_hosts_parser_takes_is_taken() {
        assert_eq!(
            parse(r#"{"a":"\ud83d","b":[1,-2.5e3,1e400,true,null]}"#),
            Some(json!({"a": "\u{fffd}", "b": [1, -2500.0, null, true, null]}))
        );
        assert_eq!(parse(r#" {"a":1,"\u0061":"\ud83d\ude00\/"} "#), Some(json!({"a": "\u{1f600}/"})));
        assert_eq!(parse("\u{feff}\"a\u{1}b\""), Some(json!("a\u{1}b")));
        assert_eq!(
            parse(r#"{"a":{},"b":[],"c":[[1],{"d":2}]}"#),
            Some(json!({"a": {}, "b": [], "c": [[1], {"d": 2}]}))
        );
    }

    #[test]
    fn any_depth_is_taken_and_what_is_too_deep_is_null() {
        let deep = format!("{{\"x\":{}1{},\"y\":2}}", "[".repeat(400_000), "]".repeat(400_000));
        assert_eq!(parse(&deep).unwrap()["y"], 2);
        assert_eq!(parse(&"[".repeat(400_000)), None);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        let refused = [
            "",
            "biome.json",
            "{",
            "{}x",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "[1 2]",
            "'a'",
            "\"a",
            "tru",
            "01",
            "1.",
            "+1",
            "--1",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u+123\"",
            "NaN",
            "{\"a\"}",
            "[}",
            "{]",
            "inf",
            "1e",
        ];
        for text in refused {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_serde_reads_is_read_alike(text in r#"[\[\]{}",:a0-9.eE+\-truefalsn \\/]{0,24}"#) {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                prop_assert_eq!(parse(&text), Some(value));
            } else {
                prop_assert!(parse(&text).is_none() || text.contains("\\u") || text.contains('e') || text.contains('E'));
            }
        }
    }
}
