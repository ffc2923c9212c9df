//! Hook tables in Codex' `config.toml`: a marked block at the end of the file, so that everything above stays as it is.
//!
//! Tables can be added at the end of any TOML file, as long as what they add to is not written as a value (`hooks = {…}`,
//! `Stop = […]`): a file with that is refused, and so is one that does not parse. That the file says the same without our
//! block as it said before is checked on the result.

use serde_json::{Map, Value};

use super::command;
use super::json::{self, Refusal, Wanted};
use crate::sys::toml;

const OPEN: &str = "# >>> tally: written by `tally init`, taken away by `tally uninstall`";
const CLOSE: &str = "# <<< tally";

/// Whether the file has hooks of any kind.
#[must_use]
pub(super) fn has_hooks(text: &str) -> bool {
    toml::parse(text).is_ok_and(|table| table.contains_key("hooks"))
}

/// The text with our block at the end.
///
/// # Errors
/// When it cannot be edited without a risk; the reason.
pub(super) fn merge(text: &str, wanted: &Wanted<'_>) -> Result<String, Refusal> {
    let rest = unmerge(text)?.unwrap_or_else(|| text.to_owned());
    let before = parse(&rest)?;
    if commands(&before).iter().any(|(_, command)| command::is_ours(command, wanted.host)) {
        return Err(Refusal("it calls tally in tables of its own; take them out first".to_owned()));
    }
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let block = block(wanted, end);
    if text.contains(&block) {
        return Ok(text.to_owned());
    }
    let mut after = rest;
    if !after.is_empty() && !after.ends_with('\n') {
        after.push_str(end);
    }
    after.push_str(&block);
    let written = toml::parse(&after).map_err(|_| {
        Refusal("its hooks are written as values; write them as [[hooks.EVENT]] tables, or move them to hooks.json".into())
    })?;
    let found = commands(&written);
    let once = |event: &&str| {
        found.iter().filter(|(at, command)| at == *event && command::is_ours(command, wanted.host)).count()
            == 1
    };
    if !wanted.events.iter().all(once) {
        return Err(Refusal("its layout is too unusual to edit safely".to_owned()));
    }
    Ok(after)
}

fn block(wanted: &Wanted<'_>, end: &str) -> String {
    let mut lines = vec![OPEN.to_owned()];
    for event in wanted.events {
        // The escapes of JSON are escapes of TOML too.
        let command = serde_json::Value::String(wanted.command.to_owned());
        lines.push(format!("[[hooks.{event}]]"));
        lines.push(format!("[[hooks.{event}.hooks]]"));
        lines.push("type = \"command\"".to_owned());
        lines.push(format!("command = {command}"));
        lines.push(format!("timeout = {}", wanted.timeout_s));
    }
    lines.push(CLOSE.to_owned());
    lines.iter().map(|line| format!("{line}{end}")).collect()
}

/// The text without our block; `None` where there is none.
///
/// # Errors
/// When the block has no end.
pub(super) fn unmerge(text: &str) -> Result<Option<String>, Refusal> {
    let Some(start) = text.find(OPEN) else { return Ok(None) };
    let block = text.get(start..).unwrap_or_default();
    let end = block
        .find(CLOSE)
        .ok_or_else(|| Refusal(format!("the line {CLOSE:?} that ends our block is gone; put it back")))?;
    let after = block.get(end..).and_then(|rest| rest.split_once('\n')).map_or("", |(_, after)| after);
    Ok(Some(format!("{}{after}", text.get(..start).unwrap_or_default())))
}

/// The commands of ours in the file, each with its event.
///
/// # Errors
/// When it is no TOML.
pub(super) fn ours(text: &str, host: &str) -> Result<Vec<(String, String)>, Refusal> {
    let mut found = commands(&parse(text)?);
    found.retain(|(_, command)| command::is_ours(command, host));
    Ok(found)
}

/// What of the file is ours, in one spelling whatever its layout; `None` where nothing is.
///
/// # Errors
/// When it is no TOML.
pub(super) fn content(text: &str, wanted: &Wanted<'_>) -> Result<Option<String>, Refusal> {
    let document = Value::Object(parse(text)?);
    Ok(json::content_of(&document, wanted))
}

fn parse(text: &str) -> Result<Map<String, Value>, Refusal> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    toml::parse(text)
        .map_err(|error| Refusal(format!("it is not TOML that can be edited: {}", error.message())))
}

fn commands(table: &Map<String, Value>) -> Vec<(String, String)> {
    let mut found = vec![];
    for (event, groups) in table.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            for entry in group.get("hooks").and_then(Value::as_array).into_iter().flatten() {
                if let Some(command) = entry.get("command").and_then(Value::as_str) {
                    found.push((event.clone(), command.to_owned()));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::json::Shape;

    fn wanted(command: &str) -> Wanted<'_> {
        Wanted {
            shape: Shape::Grouped,
            host: "codex",
            events: &["SessionStart", "Stop"],
            command,
            timeout_s: 15,
        }
    }

    #[test]
    fn tables_are_added_behind_the_users_and_taken_back_byte_for_byte() {
        let documents = [
            "model = \"o\" # mine\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = 'bell'\n",
            "[hooks.state]\r\nx = 1\r\n\r\n[[hooks.PreToolUse]]\r\nmatcher = '^Bash$'\r\n",
            "[hooks]\n",
        ];
        for text in documents {
            let with = merge(text, &wanted("'/a b/tally' hook codex")).unwrap();
            assert!(with.starts_with(text), "{with}");
            let found = ours(&with, "codex").unwrap();
            assert_eq!(found.len(), 2);
            assert!(found.iter().all(|(_, command)| command == "'/a b/tally' hook codex"));
            assert_eq!(merge(&with, &wanted("'/a b/tally' hook codex")).unwrap(), with);
            let moved = merge(&with, &wanted("/new/tally hook codex")).unwrap();
            assert_eq!(ours(&moved, "codex").unwrap()[0].1, "/new/tally hook codex");
            assert_eq!(unmerge(&moved).unwrap().unwrap(), text);
        }
        let no_newline = merge("[hooks]", &wanted("tally hook codex")).unwrap();
        assert_eq!(unmerge(&no_newline).unwrap().unwrap(), "[hooks]\n");
    }

    #[test]
    fn what_tables_cannot_be_added_to_is_refused() {
        let table = [
            ("hooks = {}", "written as values"),
            ("[hooks]\nStop = []", "written as values"),
            ("= 1", "not TOML"),
            ("[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = 'tally hook codex'", "tables of its own"),
        ];
        for (text, expected) in table {
            let Refusal(reason) = merge(text, &wanted("tally hook codex")).unwrap_err();
            assert!(reason.contains(expected), "{text}: {reason}");
        }
        assert!(unmerge(&format!("{OPEN}\nx = 1\n")).unwrap_err().0.contains("ends our block"));
    }
}
