//! What a host says about a tool call, whatever it calls the parts.
//!
//! A call is read into what matters to a policy: the tool, its arguments, where it works, the shell texts in it, and the
//! places in it that name files. The keys are data: `[tools]` in `config/policies.toml`.

mod calls;
mod kind;
mod names;
mod runs;

use super::json;
use super::rules::{Entry, Rules};
use super::words::plain;
use kind::Kind;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Payload {
    root: Map<String, Value>,
}

/// A text that a tool is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    /// Shell text.
    Shell(String),
    /// A program and its arguments.
    Arguments(Vec<String>),
    /// Text in another language.
    Code(String),
}

/// A place in a call that names a file, or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// A path or a `file:` URI.
    Path(String),
    /// A patch, whose lines name files.
    Patch(String),
}

impl Payload {
    /// Reads a payload; `None` when it is no JSON. What is no object is an empty one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let root = match json::parse(text)? {
            Value::Object(root) => root,
            _ => Map::new(),
        };
        Some(Self { root })
    }

    /// Its fields, for what is not about tools.
    #[must_use]
    pub fn root(&self) -> &Map<String, Value> {
        &self.root
    }

    /// The working directory that the host names.
    #[must_use]
    pub fn cwd(&self) -> Option<&str> {
        self.root.get("cwd").and_then(Value::as_str).filter(|cwd| !cwd.is_empty())
    }

    /// The tool's name, or nothing.
    #[must_use]
    pub fn tool(&self) -> &str {
        let tools = tools();
        let names = tools.into_iter().flat_map(|tools| tools.list("name"));
        names
            .filter_map(|key| self.root.get(key)?.as_str())
            .find(|name| !name.is_empty())
            .or_else(|| self.root.get("input").and(self.root.get("name"))?.as_str())
            .unwrap_or_default()
            .trim()
    }

    fn kind(&self) -> Option<Kind> {
        Some(Kind::of(self.tool(), tools()?))
    }

    /// The objects that hold the call's arguments: also those of calls within the call.
    fn arguments(&self) -> Vec<Cow<'_, Map<String, Value>>> {
        let mut found = Vec::new();
        collect(&self.root, &mut found);
        let found: Vec<_> = found.into_iter().map(Cow::Owned).collect();
        // A host that has no tool object names the file or the command at the top.
        if found.is_empty() { vec![Cow::Borrowed(&self.root)] } else { found }
    }

    /// Where the tool works, if its arguments say so.
    #[must_use]
    pub fn folder(&self) -> Option<String> {
        let tools = tools()?;
        let arguments = self.arguments();
        let of = |map: &Map<String, Value>| {
            let mut named = map.iter().filter(|(key, _)| tools.has("folders", &plain(key)));
            named.find_map(|(_, value)| value.as_str()).map(str::to_owned)
        };
        arguments.iter().find_map(|arguments| of(arguments))
    }
}

/// Adds the objects under the keys of arguments, at any depth.
fn collect(map: &Map<String, Value>, found: &mut Vec<Map<String, Value>>) {
    for (key, value) in map {
        // Some protocols give arguments as the text of a JSON object.
        let parsed = value.as_str().filter(|_| is_arguments(key)).and_then(json::parse);
        let value = parsed.as_ref().unwrap_or(value);
        match value {
            Value::Object(inner) => {
                if is_arguments(key) {
                    found.push(inner.clone());
                }
                collect(inner, found);
            }
            Value::Array(items) => {
                items.iter().filter_map(Value::as_object).for_each(|inner| collect(inner, found))
            }
            _ => {}
        }
    }
}

fn is_arguments(key: &str) -> bool {
    tools().is_some_and(|tools| tools.has("arguments", key))
}

fn tools() -> Option<Entry<'static>> {
    Rules::shipped().section("tools")
}

/// The strings of a list.
fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
