//! Foreign JSON as a value, in bounded memory: what is beyond a bound is left out, and that is said.
//!
//! 1. Each field of the document stands for itself: one that cannot be read is `null` and costs no other.
//! 2. Of a key that stands twice the last value counts.
//! 3. Within a field at most `DEPTH` levels, `NODES` values and `TEXT` bytes of one string are kept; over all fields
//!    at most `TOTAL_TEXT` bytes of strings and `FIELDS` fields.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// Levels below a field.
const DEPTH: usize = 64;
/// Values below a field.
const NODES: usize = 50_000;
/// Bytes of one string; more than a record may have.
const TEXT: usize = 256 << 10;
/// Bytes of all strings together.
const TOTAL_TEXT: usize = 4 << 20;
/// Fields of a document.
const FIELDS: usize = 1024;

/// An object of foreign JSON.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Document {
    /// Its fields.
    pub fields: Map<String, Value>,
    /// The fields of which something was left out.
    pub cut: Vec<String>,
}

/// Reads an object.
///
/// # Errors
/// When it is no JSON object. What no Rust string can hold (bytes that are no UTF-8, halves of surrogate pairs) is replaced.
pub fn document(bytes: &[u8]) -> Result<Document, serde_json::Error> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    // Values are mended one by one; only a key can make the whole unreadable.
    read(&text).or_else(|_| read(&mend(&text)))
}

fn read(text: &str) -> Result<Document, serde_json::Error> {
    let mut from = serde_json::Deserializer::from_slice(text.as_bytes());
    let raw = from.deserialize_map(Fields)?;
    from.end()?;
    let mut document = Document::default();
    let mut budget = Budget { nodes: NODES, text: TOTAL_TEXT, cut: false };
    for (name, raw) in raw {
        budget.nodes = NODES;
        budget.cut = false;
        let value = value(raw.get(), &mut budget);
        if budget.cut {
            document.cut.push(name.clone());
        }
        document.fields.insert(name, value);
    }
    Ok(document)
}

fn value(raw: &str, budget: &mut Budget) -> Value {
    let read = |raw: &str, budget: &mut Budget| {
        Node { depth: 0, budget }.deserialize(&mut serde_json::Deserializer::from_slice(raw.as_bytes()))
    };
    read(raw, budget).or_else(|_| read(&mend(raw), budget)).unwrap_or_else(|_| {
        budget.cut = true;
        Value::Null
    })
}

struct Budget {
    nodes: usize,
    text: usize,
    cut: bool,
}

impl Budget {
    fn text(&mut self, text: Cow<'_, str>) -> String {
        let room = text.floor_char_boundary(TEXT.min(self.text));
        self.cut |= room < text.len();
        self.text -= room;
        match text {
            Cow::Owned(text) if room == text.len() => text,
            text => text.get(..room).unwrap_or_default().to_owned(),
        }
    }

    fn node(&mut self, depth: usize) -> bool {
        let fits = self.nodes > 0 && depth < DEPTH;
        self.nodes = self.nodes.saturating_sub(1);
        self.cut |= !fits;
        fits
    }
}

/// The fields of an object, unread.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = vec![];
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let raw = map.next_value::<&RawValue>()?;
            if fields.len() < FIELDS {
                fields.push((name.into_owned(), raw));
            }
        }
        Ok(fields)
    }
}

struct Node<'b> {
    depth: usize,
    budget: &'b mut Budget,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a JSON value")
    }
    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(self.budget.text(value.into()).into())
    }
    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(self.budget.text(value.into()).into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let Self { depth, budget } = self;
        let mut items = vec![];
        while budget.node(depth) {
            match seq.next_element_seed(Node { depth: depth + 1, budget })? {
                Some(item) => items.push(item),
                None => return Ok(items.into()),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Self { depth, budget } = self;
        let mut fields = Map::new();
        while budget.node(depth) {
            let Some(name) = map.next_key::<Cow<'de, str>>()? else { return Ok(fields.into()) };
            let name = budget.text(name);
            fields.insert(name, map.next_value_seed(Node { depth: depth + 1, budget })?);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(fields.into())
    }
}

/// Replaces what no string can hold: escapes of half a surrogate pair.
fn mend(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (taken, replaced) = match unit(escape) {
            Some(0xd800..=0xdbff) if matches!(escape.get(6..).and_then(unit), Some(0xdc00..=0xdfff)) => {
                (12, None)
            }
            Some(0xd800..=0xdfff) => (6, Some("\\ufffd")),
            _ => (escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end), None),
        };
        let (kept, after) = escape.split_at_checked(taken).unwrap_or((escape, ""));
        out.push_str(replaced.unwrap_or(kept));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The UTF-16 unit of a `\uXXXX` escape at the start of `text`.
fn unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(bytes: &[u8]) -> Value {
        document(bytes).unwrap().fields.into()
    }

    #[test]
    fn what_no_string_can_hold_is_replaced() {
        assert_eq!(fields(br#"{"id":"a\ud800b"}"#), json!({"id": "a\u{fffd}b"}));
        assert_eq!(fields(br#"{"id":"\udc00\ud83d\ude00\\u"}"#), json!({"id": "\u{fffd}\u{1f600}\\u"}));
        assert_eq!(fields(b"{\"id\":\"a\xff\"}"), json!({"id": "a\u{fffd}"}));
        assert_eq!(fields(br#"{"id":"\u0000","\ud800":1}"#), json!({"id": "\0", "\u{fffd}": 1}));
    }

    #[test]
    fn a_field_that_cannot_be_read_costs_no_other() {
        let read = document(br#"{"a":1e999,"id":"s","b":[1e999]}"#).unwrap();
        assert_eq!(Value::from(read.fields), json!({"a": null, "id": "s", "b": null}));
        assert_eq!(read.cut, ["a", "b"]);
    }

    #[test]
    fn a_byte_order_mark_and_a_key_that_stands_twice_are_no_obstacle() {
        assert_eq!(fields(b"\xEF\xBB\xBF{\"id\":\"s\"}"), json!({"id": "s"}));
        assert_eq!(fields(br#"{"id":"a","id":"b"}"#), json!({"id": "b"}));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for bytes in [&b""[..], b"null", b"[1]", b"{", b"\"x\"", b"5", b"{} {}", b"{\"a\":tru}"] {
            assert!(document(bytes).is_err(), "{bytes:?}");
        }
        assert!(document("[".repeat(50_000).as_bytes()).is_err());
    }

    #[test]
    fn depth_width_and_length_are_bounded_and_what_was_left_out_is_said() {
        let deep = format!(r#"{{"x":{}{},"id":"s"}}"#, "[".repeat(50_000), "]".repeat(50_000));
        let read = document(deep.as_bytes()).unwrap();
        assert_eq!((read.fields["id"].as_str(), &read.cut[..]), (Some("s"), &["x".to_owned()][..]));

        let wide = format!(r#"{{"x":[{}0],"id":"s"}}"#, "0,".repeat(2_000_000));
        let read = document(wide.as_bytes()).unwrap();
        assert_eq!(read.fields["x"].as_array().unwrap().len(), NODES);
        assert_eq!((read.fields["id"].as_str(), read.cut.len()), (Some("s"), 1));

        let long = format!(r#"{{"x":"{}","y":["é"],"id":"s"}}"#, "é".repeat(5_000_000));
        let read = document(long.as_bytes()).unwrap();
        assert_eq!(read.fields["x"].as_str().unwrap().len(), TEXT);
        assert_eq!((&read.fields["y"], read.cut.len()), (&json!(["é"]), 1));
    }

    #[test]
    fn what_fits_is_as_it_was() {
        let text = r#"{"a":[1,-2,0.5,1e3,true,null,"x\n",{"b":{}}],"c":18446744073709551615}"#;
        let read = document(text.as_bytes()).unwrap();
        assert_eq!(Value::from(read.fields), serde_json::from_str::<Value>(text).unwrap());
        assert!(read.cut.is_empty());
    }
}
