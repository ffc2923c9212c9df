//! What a tool does, by the words of its name and by what its arguments ask for.

use super::Payload;
use crate::policy::rules::Entry;
use crate::policy::words::{own, plain, words};
use serde_json::{Map, Value};

/// Words of flags of `open` that write.
const OPENS_TO_WRITE: [&str; 4] = ["wronly", "rdwr", "creat", "trunc"];
/// Commands of git with hooks to skip.
const HOOKED: [&str; 6] = ["commit", "push", "merge", "rebase", "pull", "am"];

/// A tool by its name.
pub(super) struct Kind {
    tools: Entry<'static>,
    words: Vec<String>,
    server: Vec<String>,
}

impl Kind {
    pub(super) fn of(tool: &str, tools: Entry<'static>) -> Self {
        let (server, name) = own(tool);
        Self { tools, words: words(name), server: words(server) }
    }

    /// Whether a word of its name is in the list.
    pub(super) fn any(&self, list: &str) -> bool {
        self.words.iter().any(|word| self.tools.has(list, word))
    }

    pub(super) fn is(&self, names: &[&str]) -> bool {
        self.words.iter().any(|word| names.contains(&word.as_str()))
    }

    /// Whether it is a tool of git.
    pub(super) fn is_git(&self) -> bool {
        self.is(&["git"]) || self.server.iter().any(|word| word == "git")
    }

    /// Whether it runs or types something. A server's name says so where the tool's own says nothing (`mcp__terminal__type`).
    pub(super) fn types(&self) -> bool {
        let server = || self.server.iter().any(|word| self.tools.has("types", word));
        self.any("types") || server() && !self.any("reads") && !self.any("writes")
    }

    /// The command of git that it is, by its name.
    pub(super) fn verb(&self) -> Option<&str> {
        let mut words = self.words.iter().map(String::as_str);
        let hooked = words.find(|word| HOOKED.contains(word));
        let mut words = self.words.iter().skip(1).map(String::as_str);
        hooked.or_else(|| {
            words.find(|word| !matches!(*word, "" | "git" | "tool") && !self.tools.has("types", word))
        })
    }

    /// Whether, as a tool of git, it changes no file that it names.
    fn keeps_files(&self, arguments: &[&Map<String, Value>]) -> bool {
        let tools = self.tools;
        let keeps = self.any("git") || actions(arguments, tools).any(|action| tools.has("git", &action));
        let hard = arguments.iter().any(|map| {
            map.iter().any(|(key, value)| {
                key == "hard" && is_on(value)
                    || value.as_str().is_some_and(|text| text.trim_matches('-') == "hard")
            })
        });
        keeps
            && !self.is(&[
                "checkout", "restore", "rm", "mv", "apply", "clean", "stash", "discard", "revert", "undo",
            ])
            && !hard
    }
}

/// Whether a switch is on.
pub(super) fn is_on(value: &Value) -> bool {
    match value {
        Value::Bool(on) => *on,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => {
            !matches!(text.to_ascii_lowercase().as_str(), "" | "false" | "0" | "no" | "off")
        }
        _ => false,
    }
}

/// What tools of several commands are to do: `action: create`.
fn actions<'a>(
    arguments: &'a [&Map<String, Value>],
    tools: Entry<'static>,
) -> impl Iterator<Item = String> + use<'a> {
    let pairs = arguments.iter().flat_map(|map| map.iter());
    let acts = pairs.filter(move |(key, _)| tools.has("actions", &plain(key)));
    let words = acts.filter_map(|(_, value)| value.as_str().map(str::trim));
    words.filter(|text| !text.contains(char::is_whitespace)).map(str::to_owned)
}

impl Payload {
    /// Whether the tool takes away what it names, whole folders too, or puts it elsewhere.
    #[must_use]
    pub fn removes(&self) -> bool {
        self.kind().is_some_and(|kind| {
            kind.is(&[
                "delete", "remove", "rm", "rmdir", "rmtree", "move", "mv", "rename", "trash", "unlink",
                "purge",
            ])
        })
    }

    /// Whether its arguments say that it is to write: `action: create`.
    pub(super) fn asked_to_write(&self) -> bool {
        let Some(kind) = self.kind() else { return false };
        // Some hosts have an event of its own for a file that is read.
        if self.root.get("hook_event_name").and_then(Value::as_str) == Some("beforeReadFile") {
            return true;
        }
        let arguments = self.arguments();
        let arguments: Vec<&Map<String, Value>> = arguments.iter().map(AsRef::as_ref).collect();
        let writes = |action: String| words(&action).iter().any(|word| kind.tools.has("writes", word));
        !kind.types() && actions(&arguments, kind.tools).any(writes)
    }

    /// Whether the call only reads: by its tool's name, or by what it is to do, and by what it brings along.
    #[must_use]
    pub fn only_reads(&self) -> bool {
        let Some(kind) = self.kind() else { return false };
        let arguments = self.arguments();
        let arguments: Vec<&Map<String, Value>> = arguments.iter().map(AsRef::as_ref).collect();
        let tools = kind.tools;
        if arguments.iter().any(|map| gives(map, tools)) {
            return false;
        }
        if kind.is_git() {
            return kind.keeps_files(&arguments);
        }
        if kind.any("says")
            && !kind.is(&["apply", "write", "edit", "replace", "patch", "fix", "resolve", "accept", "save"])
        {
            return true;
        }
        let writes = |word: &String| tools.has("writes", word);
        let acted = actions(&arguments, tools).next().is_some();
        let reading = |action: String| words(&action).iter().any(|word| tools.has("reads", word));
        // An editor's name says that it writes; what it is asked to do may be less.
        let may = kind.words.iter().filter(|word| writes(word));
        let editor = may.into_iter().all(|word| {
            matches!(word.as_str(), "edit" | "editor" | "replace" | "write") || kind.is(&["edit", "editor"])
        });
        let looks = acted && !kind.types() && editor && actions(&arguments, tools).all(reading);
        let named = kind.any("reads") && !kind.any("writes");
        (named || looks) && !self.asked_to_write()
    }
}

/// Whether there is something to be written, or a file is opened so that it can be.
fn gives(map: &Map<String, Value>, tools: Entry<'static>) -> bool {
    map.iter().any(|(key, value)| {
        let key = plain(key);
        match value {
            Value::String(text) => {
                tools.has("gives", &key) || tools.has("modes", &key) && opens_to_write(text, tools)
            }
            Value::Array(items) => {
                !items.is_empty() && tools.has("gives", &key)
                    || items.iter().filter_map(Value::as_object).any(|map| gives(map, tools))
            }
            Value::Object(map) => !map.is_empty() && tools.has("gives", &key) || gives(map, tools),
            _ => false,
        }
    })
}

/// Whether a mode (`r+`, `wb`, `O_WRONLY|O_CREAT`, `append`) is one to write with.
fn opens_to_write(mode: &str, tools: Entry<'static>) -> bool {
    let mode = mode.trim().to_ascii_lowercase();
    let mut letters = mode.chars();
    let first = letters.next();
    let short = matches!(first, Some('r' | 'w' | 'a' | 'x')) && letters.all(|c| "bt+wx".contains(c));
    if short {
        return first != Some('r') || mode.contains(['+', 'w']);
    }
    words(&mode).iter().any(|word| tools.has("writes", word) || OPENS_TO_WRITE.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(tool: &str, arguments: &str) -> bool {
        let text = format!(r#"{{"tool_name":"{tool}","tool_input":{arguments}}}"#);
        Payload::parse(&text).unwrap().only_reads()
    }

    #[test]
    fn a_tool_reads_if_its_name_says_so_and_nothing_else() {
        for tool in [
            "Read",
            "read_file",
            "fs_read",
            "NotebookRead",
            "LS",
            " glob ",
            "mcp__fs__read_text_file",
            "getFileInfo",
            "lsp",
            "mcp__ide__getDiagnostics",
            "find_symbols",
            "mcp__playwright__browser_file_upload",
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
            "lsp_rename",
            "lsp_format",
        ] {
            assert!(!reads(tool, "{}"), "{tool}");
        }
    }

    #[test]
    fn what_a_call_is_to_do_counts_more_than_a_name() {
        for (tool, arguments) in [
            ("str_replace_based_edit_tool", r#"{"command":"view","path":"a"}"#),
            ("text_editor", r#"{"command":"view","path":"a"}"#),
            ("file", r#"{"action":"read","path":"a"}"#),
            ("fs_read", r#"{"operations":[{"mode":"Line","path":"a"}]}"#),
            ("search_file", r#"{"path":"a","text":"x","query":"y","pattern":"z"}"#),
            ("lsp", r#"{"operation":"goToDefinition","filePath":"a"}"#),
            ("open_file", r#"{"path":"a","mode":"rb"}"#),
            ("fetch", r#"{"url":"a","method":"GET"}"#),
        ] {
            assert!(reads(tool, arguments), "{tool} {arguments}");
        }
        for (tool, arguments) in [
            ("str_replace_based_edit_tool", r#"{"command":"create","path":"a"}"#),
            ("str_replace_based_edit_tool", r#"{"path":"a"}"#),
            ("Bash", r#"{"command":"view","path":"a"}"#),
            ("file", r#"{"action":"append","path":"a"}"#),
            ("read_file", r#"{"path":"a","content":""}"#),
            ("open", r#"{"path":"a","contents":"x"}"#),
            ("view", r#"{"path":"a","edits":[{"new_text":"x"}]}"#),
            ("get", r#"{"items":[{"path":"a","newContent":"x"}]}"#),
            ("find", r#"{"path":"a","pattern":"x","replacement":"y"}"#),
            ("open_file", r#"{"path":"a","mode":"w"}"#),
            ("open_file", r#"{"path":"a","mode":"r+"}"#),
            ("open_file", r#"{"path":"a","flags":"O_WRONLY|O_CREAT"}"#),
            ("open_file", r#"{"path":"a","mode":"append"}"#),
            ("view", r#"{"path":"a","command":"str_replace"}"#),
            ("lsp", r#"{"operation":"rename","filePath":"a"}"#),
            ("show", r#"{"path":"a","op":"undo_edit"}"#),
        ] {
            assert!(!reads(tool, arguments), "{tool} {arguments}");
        }
    }

    #[test]
    fn tools_of_git_read_unless_they_change_the_files_that_they_name() {
        for (tool, arguments) in [
            ("git_add", r#"{"files":["a"]}"#),
            ("mcp__git__git_stage", "{}"),
            ("mcp__git__diff", r#"{"path":"a"}"#),
            ("git_log", r#"{"file":"a"}"#),
            ("git_commit", r#"{"files":["a"],"message":"x"}"#),
            ("git_reset", r#"{"paths":["a"]}"#),
            ("git", r#"{"action":"blame","file":"a"}"#),
        ] {
            assert!(reads(tool, arguments), "{tool} {arguments}");
        }
        for (tool, arguments) in [
            ("git_checkout", r#"{"files":["a"]}"#),
            ("mcp__git__restore", r#"{"paths":["a"]}"#),
            ("git_rm", "{}"),
            ("mcp__git__add_file", r#"{"path":"a","content":"x"}"#),
            ("git_mv", "{}"),
            ("git_apply", "{}"),
            ("git_reset", r#"{"mode":"hard","paths":["a"]}"#),
            ("git_reset", r#"{"hard":true,"paths":["a"]}"#),
            ("git", r#"{"action":"checkout","file":"a"}"#),
        ] {
            assert!(!reads(tool, arguments), "{tool} {arguments}");
        }
    }
}
