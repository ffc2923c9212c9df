//! What a host says about a tool call, whatever it calls the parts.
//!
//! A call is read into what matters to a policy: the tool, its arguments, where it works, the shell texts in it, and the
//! places in it that name files. The keys are data: `[tools]` in `config/policies.toml`.

use super::json;
use super::rules::{Entry, Rules};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// UTF-16 units of a payload that are read (contract 1.0); what comes after is cut off.
pub const LIMIT: usize = 1024 * 1024;

/// Standard input, as the contract reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input<'a> {
    /// The text, without what was cut off.
    pub text: Cow<'a, str>,
    /// Whether something was.
    pub truncated: bool,
}

impl<'a> Input<'a> {
    /// Reads the bytes of standard input.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut units = 0;
        let end = text.char_indices().find(|(_, c)| {
            units += c.len_utf16();
            units > LIMIT
        });
        let Some((end, _)) = end else { return Self { text, truncated: false } };
        let kept = text.get(..end).unwrap_or_default().to_owned();
        Self { text: Cow::Owned(kept), truncated: true }
    }
}

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
            .unwrap_or_default()
            .trim()
    }

    /// Whether the call only reads, by its name and, for an editor, by its command.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        let Some(tools) = tools() else { return false };
        let words = words(self.tool());
        let any = |key| words.iter().any(|word| tools.has(key, word));
        let views = |arguments: &Map<String, Value>| {
            arguments.get("command").and_then(Value::as_str) == Some("view") && arguments.contains_key("path")
        };
        let editor = words.iter().any(|word| matches!(word.as_str(), "edit" | "editor" | "replace"));
        (any("reads") && !any("writes"))
            || editor && self.arguments().iter().all(|arguments| views(arguments))
    }

    /// The objects that hold the call's arguments.
    fn arguments(&self) -> Vec<Cow<'_, Map<String, Value>>> {
        let keys = tools().into_iter().flat_map(|tools| tools.list("arguments"));
        let object = |value: &'_ Value| match value {
            Value::Object(map) => Some(map.clone()),
            // Some protocols give arguments as the text of a JSON object.
            Value::String(text) => match json::parse(text) {
                Some(Value::Object(map)) => Some(map),
                _ => None,
            },
            _ => None,
        };
        let found: Vec<_> = keys.filter_map(|key| object(self.root.get(key)?)).map(Cow::Owned).collect();
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

    /// The variables that the tool sets for what it runs.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let arguments = self.arguments();
        let sets = arguments.iter().filter_map(|arguments| arguments.get("env")?.as_object());
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        sets.flatten().map(|(name, value)| (name.clone(), text(value))).collect()
    }

    /// What it is to run.
    #[must_use]
    pub fn runs(&self) -> Vec<Run> {
        let Some(tools) = tools() else { return Vec::new() };
        let mut runs = Vec::new();
        for arguments in self.arguments() {
            let more = arguments.iter().find(|(key, value)| tools.has("more", key) && value.is_array());
            let more = more.map(|(_, value)| texts(value)).unwrap_or_default();
            for (key, value) in arguments.iter() {
                let key = plain(key);
                if tools.has("commands", &key) {
                    command(value, key.ends_with('s'), &more, &mut runs);
                } else if tools.has("codes", &key) {
                    runs.extend(value.as_str().map(|text| Run::Code(text.to_owned())));
                }
            }
        }
        for (_, value) in self.root.iter().filter(|(key, _)| tools.has("arguments", key)) {
            // The arguments of a shell tool may be its text alone.
            if let Value::String(text) = value
                && words(self.tool())
                    .iter()
                    .any(|word| matches!(word.as_str(), "bash" | "shell" | "exec" | "sh"))
            {
                runs.push(Run::Shell(text.clone()));
            }
        }
        runs
    }

    /// What it names, of which it may write any.
    #[must_use]
    pub fn names(&self) -> Vec<Named> {
        let Some(tools) = tools() else { return Vec::new() };
        let tool = words(self.tool());
        let mut walk = Walk {
            tools,
            copies: tool.iter().any(|word| matches!(word.as_str(), "copy" | "cp")),
            patches: tool.iter().any(|word| matches!(word.as_str(), "patch" | "diff")),
            top: false,
            found: Vec::new(),
        };
        for arguments in self.arguments() {
            walk.top = matches!(arguments, Cow::Borrowed(_));
            walk.object(&arguments);
        }
        for (_, value) in self.root.iter().filter(|(key, _)| tools.has("arguments", key)) {
            match value {
                Value::String(text) => walk.patch(text, walk.patches),
                Value::Array(items) => walk.list(items, false),
                _ => {}
            }
        }
        walk.found
    }
}

/// A command in any of its forms.
fn command(value: &Value, plural: bool, more: &[String], runs: &mut Vec<Run>) {
    match value {
        Value::String(text) if more.is_empty() => runs.push(Run::Shell(text.clone())),
        Value::String(text) => {
            runs.push(Run::Arguments([std::slice::from_ref(text), more].concat()));
            runs.push(Run::Shell(text.clone()));
        }
        Value::Array(items) => {
            let all = texts(value);
            if plural || all.len() == 1 {
                runs.extend(all.iter().cloned().map(Run::Shell));
            }
            runs.push(Run::Arguments(all));
            items.iter().filter(|item| item.is_array()).for_each(|item| command(item, false, &[], runs));
            let objects = items.iter().filter_map(|item| item.get("command").or_else(|| item.get("cmd")));
            objects.for_each(|item| command(item, false, &[], runs));
        }
        _ => {}
    }
}

struct Walk<'a> {
    tools: Entry<'a>,
    copies: bool,
    patches: bool,
    /// Whether the object is the payload itself, whose other keys are the host's.
    top: bool,
    found: Vec<Named>,
}

impl Walk<'_> {
    fn object(&mut self, map: &Map<String, Value>) {
        for (key, value) in map {
            let key = plain(key);
            if self.top && !matches!(key.as_str(), "filepath" | "path" | "file" | "edits") {
                continue;
            }
            let origin = self.tools.has("sources", &key);
            let named = (self.tools.has("paths", &key) || origin) && !(self.copies && origin);
            if self.tools.has("patches", &key)
                && let Value::String(text) = value
            {
                self.patch(text, true);
            }
            self.value(value, named, key == "changes");
        }
    }

    fn list(&mut self, items: &[Value], named: bool) {
        items.iter().for_each(|item| self.value(item, named, false));
    }

    /// Looks at a value; `named`: the strings in it are paths; `keys`: so are the keys in it.
    fn value(&mut self, value: &Value, named: bool, keys: bool) {
        match value {
            Value::String(text) if named => self.found.push(Named::Path(text.clone())),
            // A patch says itself what it is.
            Value::String(text) if text.trim_start().starts_with("*** Begin Patch") => self.patch(text, true),
            Value::Array(items) => self.list(items, named),
            Value::Object(map) => {
                self.top = false;
                if named || keys {
                    self.found.extend(map.keys().cloned().map(Named::Path));
                }
                if named {
                    map.values().for_each(|value| self.value(value, value.is_string(), false));
                }
                self.object(map);
            }
            _ => {}
        }
    }

    fn patch(&mut self, text: &str, sure: bool) {
        if sure || text.trim_start().starts_with("*** Begin Patch") {
            self.found.push(Named::Patch(text.to_owned()));
        }
    }
}

fn tools() -> Option<Entry<'static>> {
    Rules::shipped().section("tools")
}

/// The strings of a list.
fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A key without case, `_` and `-`.
fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

/// The words of a tool's name, without the name of its server: `mcp__fs__readText_file` is `read`, `text`, `file`; a name
/// of one word is also kept whole (`NotebookRead`).
fn words(tool: &str) -> Vec<String> {
    let name = tool.rsplit("__").next().unwrap_or(tool);
    let name = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let mut words = vec![name.to_ascii_lowercase()];
    let mut word = String::new();
    let mut lower = false;
    for c in name.chars() {
        let boundary = !c.is_ascii_alphanumeric() || (lower && c.is_ascii_uppercase());
        if boundary && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        lower = c.is_ascii_lowercase();
        word.extend(Some(c.to_ascii_lowercase()).filter(char::is_ascii_alphanumeric));
    }
    words.push(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(text: &str) -> Payload {
        Payload::parse(text).unwrap()
    }

    fn names(text: &str) -> Vec<String> {
        let text_of = |named| match named {
            Named::Path(path) => path,
            Named::Patch(patch) => format!("patch {patch}"),
        };
        payload(text).names().into_iter().map(text_of).collect()
    }

    #[test]
    fn input_is_cut_at_a_mebi_of_utf_16_units() {
        let exact = "a".repeat(LIMIT);
        assert!(!Input::read(exact.as_bytes()).truncated);
        let wide = "€".repeat(LIMIT);
        assert_eq!(Input::read(wide.as_bytes()), Input { text: wide.as_str().into(), truncated: false });
        let over = "\u{1f600}".repeat(LIMIT / 2) + "a";
        let cut = Input::read(over.as_bytes());
        assert!(cut.truncated && cut.text.encode_utf16().count() == LIMIT);
        assert_eq!(Input::read(b"a\xffb").text, "a\u{fffd}b");
    }

    #[test]
    fn a_tool_reads_if_its_name_says_so_and_nothing_else() {
        let reads = |tool: &str, arguments: &str| {
            payload(&format!(r#"{{"tool_name":"{tool}","tool_input":{arguments}}}"#)).only_reads()
        };
        for tool in [
            "Read",
            "read_file",
            "fs_read",
            "NotebookRead",
            "LS",
            " glob ",
            "mcp__fs__read_text_file",
            "getFileInfo",
        ] {
            assert!(reads(tool, "{}"), "{tool}");
        }
        for tool in [
            "",
            "Write",
            "write_file",
            "read_and_write",
            "Edit",
            "fs_write",
            "mcp__read__write_file",
            "move_file",
            "thread",
        ] {
            assert!(!reads(tool, "{}"), "{tool}");
        }
        assert!(reads("str_replace_based_edit_tool", r#"{"command":"view","path":"a"}"#));
        assert!(!reads("str_replace_based_edit_tool", r#"{"command":"create","path":"a"}"#));
        assert!(!reads("Bash", r#"{"command":"view","path":"a"}"#));
    }

    #[test]
    fn paths_are_found_wherever_hosts_put_them() {
        for (arguments, expected) in [
            (r#"{"path":"a","file_path":"b","content":"c"}"#, vec!["a", "b"]),
            (r#"{"filePath":"a","old_string":"b"}"#, vec!["a"]),
            (r#"{"path":["a",{"file":"b"}]}"#, vec!["a", "file", "b", "b"]),
            (r#"{"edits":[{"path":"a","text":"b"},{"absolute-path":"c"}]}"#, vec!["a", "c"]),
            (r#"{"changes":{"a":{"update":{"move_path":"b"}}}}"#, vec!["a", "b"]),
            (r#"{"patch":"p","input":"q"}"#, vec!["patch q", "patch p"]),
            (r#"{"anything":"*** Begin Patch\n"}"#, vec!["patch *** Begin Patch\n"]),
        ] {
            let mut found = names(&format!(r#"{{"tool_name":"write","tool_input":{arguments}}}"#));
            let mut expected = expected;
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{arguments}");
        }
        assert_eq!(names(r#"{"tool":"write","args":{"filePath":"a"}}"#), ["a"]);
        assert_eq!(names(r#"{"tool_name":"write","tool_input":"{\"path\":\"a\"}"}"#), ["a"]);
        assert_eq!(names(r#"{"tool_name":"apply_patch","tool_input":"x"}"#), ["patch x"]);
        assert_eq!(
            names(r#"{"tool_name":"copy_file","tool_input":{"source":"a","destination":"b"}}"#),
            ["b"]
        );
        assert_eq!(names(r#"{"file_path":"a","transcript_path":"b","cwd":"c"}"#), ["a"]);
        assert_eq!(names("[1]"), [""; 0]);
    }

    #[test]
    fn commands_are_found_wherever_hosts_put_them() {
        use Run::{Arguments, Code, Shell};
        let runs =
            |arguments: &str| payload(&format!(r#"{{"tool_name":"Bash","tool_input":{arguments}}}"#)).runs();
        let shell = |text: &str| Shell(text.to_owned());
        let list = |items: &[&str]| Arguments(items.iter().map(|item| (*item).to_owned()).collect());
        assert_eq!(runs(r#"{"command":"a"}"#), [shell("a")]);
        assert_eq!(runs(r#"{"cmd":["bash","-c","a"]}"#), [list(&["bash", "-c", "a"])]);
        assert_eq!(runs(r#"{"commands":["a b","c"]}"#), [shell("a b"), shell("c"), list(&["a b", "c"])]);
        assert_eq!(runs(r#"{"command":"git","args":["x"]}"#), [list(&["git", "x"]), shell("git")]);
        assert_eq!(runs(r#"{"code":"a"}"#), [Code("a".to_owned())]);
        assert_eq!(runs(r#""a b""#), [shell("a b")]);
        assert_eq!(payload(r#"{"command":"a","cwd":"b"}"#).runs(), [shell("a")]);
    }
}
