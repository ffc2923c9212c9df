//! What a call is to run: shell text, arguments, text in another language, and calls of git that a tool stands for.

use super::kind::{Kind, is_on};
use super::{Payload, Run, texts, tools};
use crate::policy::rules::Entry;
use crate::policy::words::{plain, typed};
use serde_json::{Map, Value};

/// Names of languages that are shell text.
const SHELL: [&str; 5] = ["bash", "sh", "shell", "zsh", "console"];

impl Payload {
    /// The variables that the tool sets for what it runs.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let Some(tools) = tools() else { return Vec::new() };
        let mut found = Vec::new();
        for arguments in self.arguments() {
            let sets = arguments.iter().filter(|(key, _)| tools.has("variables", &plain(key)));
            sets.for_each(|(_, value)| set(value, &mut found));
        }
        found
    }

    /// What it is to run.
    #[must_use]
    pub fn runs(&self) -> Vec<Run> {
        let Some(kind) = self.kind() else { return Vec::new() };
        let Some(tools) = tools() else { return Vec::new() };
        let mut reader = Reader { tools, git: kind.is_git(), types: kind.types(), kind, runs: Vec::new() };
        let arguments = self.arguments();
        arguments.iter().for_each(|arguments| reader.object(arguments));
        for (_, value) in self.root.iter().filter(|(key, _)| tools.has("arguments", key)) {
            // The arguments of a shell tool may be its text alone, or a list.
            if (reader.types || reader.git) && !value.is_object() {
                reader.command(value, false, &[]);
            }
        }
        if reader.git || reader.kind.verb().is_some_and(|verb| matches!(verb, "commit" | "push" | "merge")) {
            let set = !self.variables().is_empty();
            arguments.iter().for_each(|arguments| reader.options(arguments, set));
        }
        // What is within what is found twice is read once.
        let mut runs: Vec<Run> = Vec::new();
        for run in reader.runs {
            if !runs.contains(&run) {
                runs.push(run);
            }
        }
        runs
    }
}

/// Adds variables: an object, `NAME=value` in a list or a text, or objects with a name and a value.
fn set(value: &Value, found: &mut Vec<(String, String)>) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match value {
        Value::Object(map) => {
            let of = |keys: &[&str]| keys.iter().find_map(|key| map.get(*key));
            match (of(&["name", "key"]).and_then(Value::as_str), of(&["value"])) {
                (Some(name), Some(value)) => found.push((name.to_owned(), text(value))),
                _ => found.extend(map.iter().map(|(name, value)| (name.clone(), text(value)))),
            }
        }
        Value::Array(items) => items.iter().for_each(|item| set(item, found)),
        Value::String(text) => {
            let pairs = text.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
            let pairs = pairs.filter_map(|pair| pair.split_once('='));
            found.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        _ => {}
    }
}

struct Reader {
    tools: Entry<'static>,
    git: bool,
    types: bool,
    kind: Kind,
    runs: Vec<Run>,
}

impl Reader {
    fn object(&mut self, map: &Map<String, Value>) {
        let tools = self.tools;
        let is_program = |key: &str| tools.has("programs", key) && (self.types || tools.has("commands", key));
        let more = map.iter().find(|(key, _)| tools.has("more", &plain(key)));
        let more =
            more.filter(|_| map.iter().any(|(key, value)| value.is_string() && is_program(&plain(key))));
        let more =
            more.map(|(_, value)| value.as_str().map_or_else(|| texts(value), words)).unwrap_or_default();
        let language =
            ["language", "lang", "kernel"].iter().find_map(|key| map.get(*key)).and_then(Value::as_str);
        let shell = language.is_none_or(|language| SHELL.contains(&language.to_ascii_lowercase().as_str()));
        for (key, value) in map {
            let key = plain(key);
            if tools.has("codes", &key)
                && let Some(text) = value.as_str()
            {
                self.runs.push(Run::Code(text.to_owned()));
            }
            let general = (self.types || self.git) && tools.has("typed", &key) && (shell || key != "code");
            let program = !more.is_empty() && tools.has("programs", &key);
            if tools.has("commands", &key) || program {
                self.command(value, key.ends_with('s'), &more);
            } else if general && (more.is_empty() || !tools.has("more", &key)) {
                self.command(value, key.ends_with('s'), &[]);
            } else if !tools.has("contents", &key) && !tools.has("texts", &key) {
                self.below(value);
            }
        }
    }

    fn below(&mut self, value: &Value) {
        match value {
            Value::Object(map) => self.object(map),
            Value::Array(items) => items.iter().for_each(|item| self.below(item)),
            _ => {}
        }
    }

    /// A command in any of its forms. `plural`: a list may be one of several commands.
    fn command(&mut self, value: &Value, plural: bool, more: &[String]) {
        match value {
            Value::String(text) => {
                if !more.is_empty() {
                    self.list([std::slice::from_ref(text), more].concat());
                }
                self.shell(text);
            }
            Value::Array(items) => {
                let all = texts(value);
                if plural || all.len() == 1 {
                    all.iter().for_each(|text| self.shell(text));
                }
                if self.types && all.len() > 1 {
                    // Keys, or lines, that are typed one after the other.
                    self.runs.push(Run::Shell(typed(all.iter().map(String::as_str))));
                }
                self.list(all);
                items.iter().filter(|item| item.is_array()).for_each(|item| self.command(item, false, &[]));
                items.iter().filter_map(Value::as_object).for_each(|item| self.object(item));
            }
            Value::Object(map) => self.object(map),
            _ => {}
        }
    }

    fn shell(&mut self, text: &str) {
        // A patch is no text for a shell where the tool takes patches.
        if self.kind.is(&["patch", "applypatch"]) && text.trim_start().starts_with("***") {
            return;
        }
        if self.git && !text.trim_start().starts_with("git") {
            self.runs.push(Run::Shell(format!("git {text}")));
        }
        let line = typed([text]);
        // A cell of a notebook gives a line to a shell by a mark in front of it.
        let marked = line.lines().filter_map(|line| line.trim_start().strip_prefix(['!', '%']));
        self.runs.extend(marked.map(|line| Run::Shell(line.to_owned())));
        if line != text {
            self.runs.push(Run::Shell(line));
        }
        self.runs.push(Run::Shell(text.to_owned()));
    }

    fn list(&mut self, list: Vec<String>) {
        if list.is_empty() {
            return;
        }
        if self.git && list.first().is_some_and(|first| first != "git") {
            self.runs.push(Run::Arguments(self.call(list.iter().cloned())));
        }
        self.runs.push(Run::Arguments(list));
    }

    /// The call of git that the tool stands for.
    fn call(&self, arguments: impl Iterator<Item = String>) -> Vec<String> {
        let mut arguments = arguments.peekable();
        let verb = self.kind.verb().filter(|verb| arguments.peek().is_none_or(|first| first != verb));
        let head = std::iter::once("git").chain(verb).map(str::to_owned);
        head.chain(arguments).collect()
    }

    /// Options and settings that a tool of git has as arguments of its own. `set`: variables are set for it.
    fn options(&mut self, map: &Map<String, Value>, set: bool) {
        let verb = if self.kind.is(&["config"]) { Some("config") } else { self.kind.verb() };
        let mut verb = verb.map(str::to_owned);
        let mut rest = Vec::new();
        let mut settings = Vec::new();
        self.gather(map, &mut verb, &mut rest, &mut settings);
        if set || !rest.is_empty() || !settings.is_empty() {
            let settings = settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]);
            let call = std::iter::once("git".to_owned()).chain(settings).chain(verb).chain(rest);
            self.runs.push(Run::Arguments(call.collect()));
        }
    }

    fn gather(
        &self,
        map: &Map<String, Value>,
        verb: &mut Option<String>,
        rest: &mut Vec<String>,
        settings: &mut Vec<String>,
    ) {
        let text = |keys: &[&str]| keys.iter().find_map(|key| map.get(*key)).and_then(Value::as_str);
        if verb.as_deref() == Some("config")
            && let (Some(key), Some(value)) = (text(&["key", "name", "setting"]), text(&["value"]))
        {
            rest.extend([key.to_owned(), value.to_owned()]);
        }
        for (key, value) in map {
            let plain = plain(key);
            if self.tools.has("skips", &plain) && is_on(value)
                || self.tools.has("keeps", &plain) && is_off(value)
            {
                rest.push("--no-verify".to_owned());
            }
            // Some servers take git's options as keys, whatever their values.
            if key.starts_with('-') && value != &Value::Bool(false) {
                rest.push(key.clone());
                rest.extend(value.as_str().filter(|text| !text.is_empty()).map(str::to_owned));
                continue;
            }
            let moves = |text: &str| text.to_lowercase().contains("hookspath");
            if verb.as_deref() != Some("config")
                && (moves(key) && !key.contains('.') || value.as_str().is_some_and(moves))
            {
                settings.push("core.hooksPath=x".to_owned());
            }
            if key.contains('.') {
                settings.push(format!("{key}={}", value.as_str().unwrap_or_default()));
            }
            if self.tools.has("actions", &plain) && verb.is_none() {
                *verb = value.as_str().map(str::to_owned);
            }
            if self.tools.has("texts", &plain) || self.tools.has("contents", &plain) {
                continue;
            }
            match value {
                Value::Object(map) => self.gather(map, verb, rest, settings),
                Value::Array(_) => texts(value).iter().for_each(|text| option(text, rest, settings)),
                Value::String(text) => option(text, rest, settings),
                _ => {}
            }
        }
    }
}

/// Whether a value switches off.
fn is_off(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    value == &Value::Bool(false)
        || value == 0
        || matches!(text, "false" | "no" | "off" | "none" | "0" | "skip")
}

/// Adds a text that git would take for options, or for a setting.
fn option(text: &str, rest: &mut Vec<String>, settings: &mut Vec<String>) {
    if text.starts_with('-') {
        rest.extend(words(text));
    } else if let Some((key, _)) = text.split_once('=')
        && key.contains('.')
        && !key.contains(['/', ' '])
    {
        settings.push(text.to_owned());
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::Run::{Arguments, Code, Shell};
    use super::*;

    fn runs_of(tool: &str, arguments: &str) -> Vec<Run> {
        let text = format!(r#"{{"tool_name":"{tool}","tool_input":{arguments}}}"#);
        Payload::parse(&text).unwrap().runs()
    }

    fn shell(text: &str) -> Run {
        Shell(text.to_owned())
    }

    fn list(items: &[&str]) -> Run {
        Arguments(items.iter().map(|item| (*item).to_owned()).collect())
    }

    #[test]
    fn commands_are_found_wherever_hosts_put_them() {
        let runs = |arguments: &str| runs_of("tool", arguments);
        assert_eq!(runs(r#"{"command":"a"}"#), [shell("a")]);
        assert_eq!(runs(r#"{"cmd":["bash","-c","a"]}"#), [list(&["bash", "-c", "a"])]);
        assert_eq!(runs(r#"{"commands":["a b","c"]}"#), [shell("a b"), shell("c"), list(&["a b", "c"])]);
        assert_eq!(runs(r#"{"command":"git","args":["x"]}"#), [list(&["git", "x"]), shell("git")]);
        assert_eq!(runs(r#"{"command":"git","args":"x y"}"#), [list(&["git", "x", "y"]), shell("git")]);
        assert_eq!(
            runs(r#"{"uses":[{"parameters":{"command":"a"}}],"arguments":"{\"cmd\":\"b\"}"}"#),
            [shell("a"), shell("b")]
        );
        assert_eq!(runs(r#"{"action":{"type":"exec","command":["a","b"]}}"#), [list(&["a", "b"])]);
        assert_eq!(runs(r#"{"code":"a"}"#), [Code("a".to_owned())]);
        assert_eq!(runs(r#"{"content":"a","text":"b","input":"c","args":["d"]}"#), []);
        assert_eq!(runs_of("Write", r#"{"file_path":"a","content":"git commit -n"}"#), []);
        let bare = Payload::parse(r#"{"command":"a","cwd":"b"}"#).unwrap();
        assert_eq!(bare.runs(), [shell("a")]);
    }

    #[test]
    fn a_tool_that_runs_or_types_has_its_text_under_any_key() {
        for key in
            ["bash", "shell", "text", "input", "data", "line", "stdin", "content", "run", "args", "cmdline"]
        {
            for tool in ["Bash", "terminal_write", "mcp__tmux__send-keys", "write_stdin", "run_in_process"] {
                assert!(
                    runs_of(tool, &format!(r#"{{"{key}":"a b"}}"#)).contains(&shell("a b")),
                    "{tool} {key}"
                );
            }
            assert_eq!(runs_of("note", &format!(r#"{{"{key}":"a b"}}"#)), [], "{key}");
        }
        assert_eq!(runs_of("Bash", r#""a b""#), [shell("a b")]);
        assert!(runs_of("exec", r#"["a","b"]"#).contains(&list(&["a", "b"])));
        assert!(runs_of("exec", r#"{"input":["sh","-c","a"]}"#).contains(&list(&["sh", "-c", "a"])));
        assert!(
            runs_of("exec", r#"{"input":["git commit"," -n","Enter"]}"#).contains(&shell("git commit -n\n"))
        );
        assert!(runs_of("exec", r#"{"program":"a","args":["b"]}"#).contains(&list(&["a", "b"])));
        assert!(runs_of("write_stdin", r#"{"chars":"a\r"}"#).contains(&shell("a\n")));
        assert!(runs_of("execute_code", r#"{"code":"x\n!a b"}"#).contains(&shell("a b")));
        assert_eq!(runs_of("run", r#"{"code":"a","language":"python"}"#), [Code("a".to_owned())]);
    }

    #[test]
    fn a_tool_of_git_stands_for_a_call_of_git() {
        let git = |items: &[&str]| list(&[&["git"], items].concat());
        for (tool, arguments, call) in [
            ("git", r#"{"args":["commit","-n"]}"#, git(&["commit", "-n"])),
            ("git", r#"{"command":"commit -n"}"#, shell("git commit -n")),
            ("mcp__git__run", r#"{"command":"commit -n"}"#, shell("git commit -n")),
            ("git_run", r#"{"command":"commit","args":["-n"]}"#, git(&["commit", "-n"])),
            ("mcp__git__git_commit", r#"{"no_verify":true,"message":"x"}"#, git(&["commit", "--no-verify"])),
            ("git_push", r#"{"noVerify":true}"#, git(&["push", "--no-verify"])),
            ("git_commit", r#"{"options":{"skipHooks":"true"}}"#, git(&["commit", "--no-verify"])),
            ("git_merge", r#"{"verify":false}"#, git(&["merge", "--no-verify"])),
            ("commit_changes", r#"{"hooks":false}"#, git(&["commit", "--no-verify"])),
            ("git", r#"{"action":"commit","no-verify":true}"#, git(&["commit", "--no-verify"])),
            ("git_commit", r#"{"flags":"-a -n"}"#, git(&["commit", "-a", "-n"])),
            ("git_diff", r#"{"target":"--output=x"}"#, git(&["diff", "--output=x"])),
            (
                "git_config",
                r#"{"key":"core.hooksPath","value":"x"}"#,
                git(&["config", "core.hooksPath", "x"]),
            ),
            (
                "git_commit",
                r#"{"config":{"core.hooksPath":"x"}}"#,
                git(&["-c", "core.hooksPath=x", "commit"]),
            ),
            ("git_commit", r#"{"config":["core.hooksPath=x"]}"#, git(&["-c", "core.hooksPath=x", "commit"])),
        ] {
            let runs = runs_of(tool, arguments);
            assert!(runs.contains(&call), "{tool} {arguments}: {runs:?}");
        }
        for (tool, arguments) in [
            ("git_commit", r#"{"message":"--no-verify","no_verify":false,"verify":true}"#),
            ("create_issue", r#"{"hooks":false}"#),
            ("git_config", r#"{"key":"core.hooksPath"}"#),
        ] {
            assert_eq!(runs_of(tool, arguments), [], "{tool} {arguments}");
        }
    }

    #[test]
    fn variables_are_found_wherever_hosts_put_them() {
        for set in [
            r#"{"env":{"A":"1","B":2}}"#,
            r#"{"environment":["A=1","B=2"]}"#,
            r#"{"env_vars":[{"name":"A","value":"1"},{"key":"B","value":"2"}]}"#,
            r#"{"environmentVariables":"A=1 B=2"}"#,
            r#"{"envs":[{"A":"1"},{"B":"2"}]}"#,
        ] {
            let payload = Payload::parse(&format!(r#"{{"tool_name":"Bash","tool_input":{set}}}"#)).unwrap();
            let expected = [("A".to_owned(), "1".to_owned()), ("B".to_owned(), "2".to_owned())];
            assert_eq!(payload.variables(), expected, "{set}");
        }
    }
}
