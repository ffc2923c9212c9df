//! What kind of call it was, by the tool's name and, for a shell, the first words of its command. The command is looked
//! at and never kept.

use serde_json::Value;

use super::shell;

/// The tool's name in the words that all hosts share; another name is its own.
#[must_use]
pub fn normalized_name(name: &str) -> &str {
    match name {
        "Bash" | "bash" | "shell" | "execute_bash" => "execute_bash",
        "apply_patch" | "Edit" | "Write" | "fs_write" | "write" | "code" => "fs_write",
        "spawn_agent"
        | "use_subagent"
        | "InvokeSubagents"
        | "Task"
        | "task"
        | "Agent"
        | "delegate to a specialist agent" => "use_subagent",
        "Read" | "read" | "fs_read" => "fs_read",
        other => other,
    }
}

/// What the call did: `edit`, `search`, `read`, `web`, `git`, `test` or `build`. `None` when that cannot be told;
/// it is never guessed.
#[must_use]
pub fn action(name: &str, input: Option<&Value>) -> Option<&'static str> {
    match name {
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" | "apply_patch" | "fs_write" | "write" | "code" => {
            Some("edit")
        }
        "Grep" | "Glob" | "find" | "search" => Some("search"),
        "Read" | "fs_read" | "NotebookRead" => Some("read"),
        "WebFetch" | "WebSearch" | "web_search" | "web_fetch" => Some("web"),
        _ => command_action(shell_command(name, input)?),
    }
}

/// Whom the call hands work to, by name; empty when it delegates nothing. Of a target that is an object only its name
/// is taken: the rest is the task's text.
#[must_use]
pub fn delegation_targets(name: &str, input: Option<&Value>) -> Vec<String> {
    const NAMES: [&str; 4] = ["agent_name", "agent", "subagent_type", "name"];
    let list = |path: &str| input.and_then(|input| input.pointer(path)?.as_array());
    let named = |keys: &[&str]| keys.iter().find_map(|key| input?.get(key)?.as_str());
    let one = |target: &str| if target.is_empty() { vec![] } else { vec![target.to_owned()] };
    let each = |targets: &Vec<Value>| {
        targets
            .iter()
            .map(|target| {
                let name = target.as_str().or_else(|| NAMES.iter().find_map(|key| target.get(key)?.as_str()));
                name.unwrap_or("subagent").to_owned()
            })
            .collect()
    };
    match name {
        "InvokeSubagents" => list("/targets").map(each).unwrap_or_default(),
        "spawn_agent" => one(named(&["agent_type"]).unwrap_or("default")),
        "use_subagent" | "subagent" | "delegate to a specialist agent" => {
            let targets =
                list("/targets").or_else(|| list("/subagents")).or_else(|| list("/content/subagents"));
            targets.map_or_else(
                || one(named(&["agent_name", "agent", "subagent_type"]).unwrap_or("subagent")),
                each,
            )
        }
        "Task" | "task" | "Agent" => {
            one(named(&["subagent_type", "agent_type", "agent"]).unwrap_or("general-purpose"))
        }
        _ => {
            let command = shell_command(name, input).unwrap_or_default();
            one(Some("codex").filter(|codex| first_words(command)[0] == *codex).unwrap_or_default())
        }
    }
}

fn shell_command<'a>(name: &str, input: Option<&'a Value>) -> Option<&'a str> {
    let input = input.filter(|_| normalized_name(name) == "execute_bash")?;
    input.get("command")?.as_str()
}

/// The first three words of what a command runs; missing ones are empty.
fn first_words(command: &str) -> [&str; 3] {
    let mut words = shell::words(shell::without_assignments(shell::unwrapped(command)));
    std::array::from_fn(|_| words.next().unwrap_or_default())
}

fn command_action(command: &str) -> Option<&'static str> {
    let [program, first, second] = first_words(command);
    match (program, first) {
        ("git", _) => Some("git"),
        ("npm" | "pnpm" | "yarn" | "bun", "test") => Some("test"),
        ("npm" | "pnpm" | "yarn" | "bun", "run") => named_target(second),
        ("pytest" | "jest" | "vitest" | "mocha" | "tox", _) | ("go" | "cargo", "test") => Some("test"),
        ("go" | "cargo" | "vite", "build") | ("make", "") | ("tsc" | "webpack", _) => Some("build"),
        ("make", target) => named_target(target),
        _ => None,
    }
}

/// `test` or `build`, alone or before `:`, `_` or `-`.
fn named_target(target: &str) -> Option<&'static str> {
    ["test", "build"].into_iter().find(|name| {
        target.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '_', '-']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const GOLDEN: &str = include_str!("../../tests/fixtures/flow-agents/golden/tool-classification.jsonl");

    #[test]
    fn golden_names_actions_and_targets() {
        let mut differences = 0;
        let rows: Vec<Value> = GOLDEN.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), 91);
        for row in &rows {
            let name = row["tool_name"].as_str().unwrap();
            let command = row.get("command").map(|command| json!({ "command": command }));
            let input = row.get("tool_input").or(command.as_ref());
            if let Some(normalized) = row.get("normalized_name") {
                assert_eq!(normalized_name(name), normalized, "{row}");
            }
            if let Some(expected) = row.get("action") {
                assert_eq!(action(name, input), expected.as_str(), "{row}");
            }
            let Some(theirs) = row.get("delegation_targets") else { continue };
            let ours = delegation_targets(name, input);
            let expected = match (name, theirs) {
                ("use_subagent", Value::Null) => json!(["subagent"]),
                ("InvokeSubagents", targets) if targets[0].is_object() => json!(["a"]),
                (_, theirs) => theirs.clone(),
            };
            differences += usize::from(expected != *theirs);
            assert_eq!(json!(ours), expected, "{row}");
        }
        assert_eq!(differences, 2, "docs/differences/evidence.md lists them");
    }

    #[test]
    fn opencode_delegates_by_a_tool_named_task() {
        let input = json!({"subagent_type": "explore", "prompt": "look", "description": "Look around"});
        assert_eq!(delegation_targets("task", Some(&input)), ["explore"]);
        assert_eq!(normalized_name("task"), "use_subagent");
    }

    #[test]
    fn the_text_of_a_delegated_task_is_no_target() {
        let input = json!({"targets": [{"query": "the secret plan"}, "worker", 7]});
        assert_eq!(delegation_targets("use_subagent", Some(&input)), ["subagent", "worker", "subagent"]);
    }

    #[test]
    fn inputs_of_other_types_classify_nothing() {
        for input in [json!(null), json!("git"), json!({"command": ["git"]}), json!({"command": 7})] {
            assert_eq!(action("Bash", Some(&input)), None);
            assert!(delegation_targets("Bash", Some(&input)).is_empty());
        }
        assert_eq!(action("Bash", None), None);
    }
}
