//! The places in a call that name files which it may write.

use super::{Named, Payload, tools};
use crate::policy::rules::Entry;
use crate::policy::words::plain;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Bytes of a value that may be a path though its key does not say so.
const LONGEST: usize = 1024;

/// Places that are gathered before nothing is added to them.
const MOST: usize = 8192;

impl Payload {
    /// What it names, of which it may write any: of a call that only reads, where it puts what it has read.
    #[must_use]
    pub fn names(&self) -> Vec<Named> {
        let (Some(tools), Some(kind)) = (tools(), self.kind()) else { return Vec::new() };
        let talks = kind.any("talks") || kind.any("says");
        let mut walk = Walk {
            tools,
            reads: self.only_reads(),
            copies: kind.is(&["copy", "cp", "duplicate", "backup"]),
            patches: kind.is(&["patch", "diff", "applypatch"]),
            talks,
            guesses: !kind.types()
                && !talks
                && (kind.any("writes") || kind.is_git() || self.asked_to_write()),
            git: kind.is_git(),
            top: false,
            found: Vec::new(),
        };
        for arguments in self.arguments() {
            walk.top = matches!(arguments, Cow::Borrowed(_));
            walk.object(&arguments, &Place::default());
        }
        for (_, value) in self.root.iter().filter(|(key, _)| tools.has("arguments", key)) {
            match value {
                _ if walk.reads => {}
                Value::String(text) => walk.patch(text, walk.patches),
                Value::Array(items) => walk.list(items, &Place::default()),
                _ => {}
            }
        }
        walk.found
    }
}

struct Walk {
    tools: Entry<'static>,
    /// Whether the call only reads.
    reads: bool,
    copies: bool,
    /// Whether the tool takes patches.
    patches: bool,
    /// Whether it writes into no file, but to people or into a list.
    talks: bool,
    /// Whether a path may stand under any key.
    guesses: bool,
    git: bool,
    /// Whether the object is the payload itself, whose other keys are the host's.
    top: bool,
    found: Vec<Named>,
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// The strings in it are paths.
    named: bool,
    /// So are the keys in it.
    keys: bool,
    /// Text that goes into a file that is named, or that is for people: no path and no patch.
    text: bool,
    /// The object, or one around it, names the file.
    filed: bool,
    /// A string that is a path by its looks is one.
    guessed: bool,
}

impl Walk {
    fn object(&mut self, map: &Map<String, Value>, around: &Place) {
        let is = |list: &str, key: &str| self.tools.has(list, key);
        let held = map.keys().any(|key| is("contents", &plain(key)));
        let names = |key: &str| is("paths", key) || held && is("titles", key);
        let filed = around.filed
            || self.talks
            || map.iter().any(|(key, value)| value.is_string() && names(&plain(key)));
        let folders = map.iter().filter(|(key, _)| is("folders", &plain(key)) && !self.reads && !self.top);
        let folders: Vec<&str> = folders.filter_map(|(_, value)| value.as_str()).collect();
        let before = self.found.len();
        for (key, value) in map {
            let key = plain(key);
            let has = |list: &str| self.tools.has(list, &key);
            if self.top && !matches!(key.as_str(), "filepath" | "path" | "file" | "edits") {
                continue;
            }
            let origin = self.copies && has("sources");
            let url = key == "url" && value.as_str().is_some_and(|url| url.starts_with("file:"));
            let named = if self.reads {
                has("outputs")
            } else {
                let path = has("paths") || has("sources") || url || held && has("titles");
                path && !origin && (!self.talks || key.contains("path") || key.contains("file"))
            };
            let text = has("texts") || filed && has("contents");
            let runs = has("commands") || has("actions") || self.git && has("typed");
            let other = text || origin || runs || has("contents") || has("folders");
            let guessed =
                self.guesses && !self.reads && !around.text && !other && (self.git || !has("branches"));
            if has("patches")
                && !self.reads
                && let Value::String(text) = value
            {
                self.patch(text, true);
            }
            let keys = key == "changes" && !self.reads;
            self.value(value, &Place { named, keys, text, filed, guessed });
        }
        // A folder that stands beside a name is where that is.
        let inside = self.found.get(before..).unwrap_or_default().iter().filter_map(|named| match named {
            Named::Path(path) => {
                Some(folders.iter().map(move |folder| Named::Path(format!("{folder}/{path}"))))
            }
            Named::Patch(_) => None,
        });
        let inside: Vec<Named> = inside.flatten().take(MOST).collect();
        // One around it would take them again.
        if self.found.len() < MOST {
            self.found.extend(inside);
        }
    }

    fn list(&mut self, items: &[Value], place: &Place) {
        items.iter().for_each(|item| self.value(item, &Place { keys: false, ..*place }));
    }

    /// Looks at a value.
    fn value(&mut self, value: &Value, place: &Place) {
        match value {
            Value::String(text) if place.named => self.found.push(Named::Path(text.clone())),
            Value::String(text) if !self.reads && !place.text && (self.patches || is_patch(text)) => {
                self.patch(text, true);
            }
            Value::String(text) if place.guessed && may_be_path(text) => {
                self.found.push(Named::Path(text.clone()));
            }
            Value::Array(items) => self.list(items, place),
            Value::Object(map) => {
                self.top = false;
                if place.named || place.keys {
                    self.found.extend(map.keys().cloned().map(Named::Path));
                }
                if place.named {
                    let strings = map.values().filter(|value| value.is_string());
                    strings.for_each(|value| self.value(value, place));
                }
                self.object(map, place);
            }
            _ => {}
        }
    }

    fn patch(&mut self, text: &str, sure: bool) {
        if sure || is_patch(text) {
            self.found.push(Named::Patch(text.to_owned()));
        }
    }
}

/// Whether a text may be a path by its looks.
fn may_be_path(text: &str) -> bool {
    let local = !text.contains("://") || text.starts_with("file:");
    local && text.len() < LONGEST && !text.contains(['\n', '\r'])
}

/// Whether a text says itself that it is a patch.
fn is_patch(text: &str) -> bool {
    let head = text.trim_start().get(..15);
    head.is_some_and(|head| head.eq_ignore_ascii_case("*** Begin Patch"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let text_of = |named| match named {
            Named::Path(path) => path,
            Named::Patch(patch) => format!("patch {patch}"),
        };
        let mut found: Vec<String> = Payload::parse(text).unwrap().names().into_iter().map(text_of).collect();
        found.sort_unstable();
        found
    }

    fn of(tool: &str, arguments: &str) -> Vec<String> {
        names(&format!(r#"{{"tool_name":"{tool}","tool_input":{arguments}}}"#))
    }

    #[test]
    fn paths_are_found_wherever_hosts_put_them() {
        for (arguments, expected) in [
            (r#"{"path":"a","file_path":"b","content":"c"}"#, vec!["a", "b"]),
            (r#"{"filePath":"a","old_string":"b"}"#, vec!["a"]),
            (r#"{"path":["a",{"file":"b"}]}"#, vec!["a", "b", "b", "file"]),
            (r#"{"edits":[{"path":"a","text":"b"},{"absolute-path":"c"}]}"#, vec!["a", "c"]),
            (r#"{"changes":{"a":{"update":{"move_path":"b"}}}}"#, vec!["a", "b"]),
            (r#"{"patch":"p","input":"q"}"#, vec!["patch p", "patch q"]),
            (r#"{"anything":"*** Begin Patch\n"}"#, vec!["patch *** Begin Patch\n"]),
            (
                r#"{"location":"a","where":"b","resource":{"uri":"c"},"document":"d"}"#,
                vec!["a", "b", "c", "c", "d", "uri"],
            ),
            (r#"{"name":"a","content":"x"}"#, vec!["a"]),
            (r#"{"url":"file:///a"}"#, vec!["file:///a"]),
        ] {
            assert_eq!(of("tool", arguments), expected, "{arguments}");
        }
        assert_eq!(names(r#"{"tool":"write","args":{"filePath":"a"}}"#), ["a"]);
        assert_eq!(names(r#"{"tool_name":"write","tool_input":"{\"path\":\"a\"}"}"#), ["a"]);
        assert_eq!(of("apply_patch", r#""x""#), ["patch x"]);
        assert_eq!(of("apply_patch", r#"{"command":"x"}"#), ["patch x"]);
        assert_eq!(of("copy_file", r#"{"source":"a","destination":"b"}"#), ["b"]);
        assert_eq!(names(r#"{"file_path":"a","transcript_path":"b","cwd":"c"}"#), ["a"]);
        assert_eq!(names("[1]"), [""; 0]);
        for (tool, arguments) in [
            ("note", r#"{"name":"a","id":"b","url":"https://x/a"}"#),
            ("search_file", r#"{"path":"a","text":"x"}"#),
        ] {
            assert_eq!(of(tool, arguments), [""; 0], "{tool} {arguments}");
        }
    }

    #[test]
    fn a_tool_that_writes_may_have_its_path_under_any_key_but_those_of_texts() {
        assert_eq!(
            of("write_file", r#"{"whatever":"a","list":["b"],"content":"c","prompt":"d"}"#),
            ["a", "b"]
        );
        assert_eq!(of("delete", r#"{"name":"a"}"#), ["a"]);
        assert_eq!(of("download", r#"{"url":"https://x/biome.json","where_to":"b"}"#), ["b"]);
        assert_eq!(
            of("create_pull_request", r#"{"head":"a","base":"b","title":"c","summary":"d"}"#),
            [""; 0]
        );
        assert_eq!(of("git_checkout", r#"{"branch_name":"a"}"#), ["a"]);
        assert_eq!(of("run_and_write", r#"{"whatever":"a"}"#), [""; 0]);
        assert_eq!(of("copy", r#"{"src":"a","other":"b"}"#), ["b"]);
        assert_eq!(of("write", r#"{"directory":"d","filename":"a"}"#), ["a", "d/a"]);
        assert_eq!(of("fs", r#"{"method":"writeFile","args":["a"]}"#), ["a"]);
    }

    #[test]
    fn a_tool_that_reads_names_what_it_puts_somewhere() {
        assert_eq!(of("read_file", r#"{"path":"a","output_path":"b","saveTo":"c"}"#), ["b", "c"]);
        assert_eq!(
            of("fetch", r#"{"url":"https://x","download_path":"a","options":{"outfile":"b"}}"#),
            ["a", "b"]
        );
        assert_eq!(of("read_file", r#"{"path":"a","patch":"b"}"#), ["a", "patch b"]);
    }

    #[test]
    fn a_text_that_quotes_a_patch_is_none() {
        for arguments in [
            r#"{"file_path":"a","content":"*** Begin Patch\nb"}"#,
            r#"{"file_path":"a","new_string":"*** Begin Patch\nb"}"#,
            r#"{"file_path":"a","edits":[{"old_string":"*** Begin Patch","new_string":"*** begin patch"}]}"#,
        ] {
            assert_eq!(of("Write", arguments), ["a"], "{arguments}");
        }
        assert_eq!(of("Task", r#"{"prompt":"*** Begin Patch\nb","description":"*** Begin Patch"}"#), [""; 0]);
        assert_eq!(of("anything", r#"{"content":"*** begin patch\nb"}"#), ["patch *** begin patch\nb"]);
    }
}
