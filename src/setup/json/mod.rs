//! Hook entries in a host's JSON file: added to what the user has, found again, taken out again.
//!
//! ```text
//! {"hooks": {EVENT: [ {"hooks": [ENTRY, …]}, … ]}}     grouped: Claude Code, Codex
//! {"hooks": {EVENT: [ ENTRY, … ]}}                     flat: Kiro's agents
//! ```
//!
//! 1. An entry is ours if its command runs a program named `tally` as `hook HOST`, whatever its path.
//! 2. Merging leaves one entry of ours per event and changes nothing else: without our entries, the document says the same
//!    before and after. Both are checked on the result; what does not pass is refused, not written.
//! 3. Merging twice is merging once.

mod edit;
mod scan;

use serde_json::{Map, Value};

pub use scan::Refusal;

use super::command;
use scan::{Kind, Node, scan};

/// How a host's file holds its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A list of groups with a list of entries each; `timeout` in seconds.
    Grouped,
    /// A list of entries; `timeout_ms` in milliseconds.
    Flat,
}

/// What a host's file is to hold.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// How the file holds it.
    pub shape: Shape,
    /// The host's name in the command.
    pub host: &'a str,
    /// The events, in order.
    pub events: &'a [&'a str],
    /// The command, the same for each event.
    pub command: &'a str,
    /// Seconds that the host lets it run.
    pub timeout_s: u64,
}

/// The document with our entries; an empty one becomes an object.
///
/// # Errors
/// When it cannot be edited without a risk; the reason.
pub fn merge(text: &str, wanted: &Wanted<'_>) -> Result<String, Refusal> {
    let blank = text.trim_start_matches('\u{feff}').trim().is_empty();
    let before = if blank { "{}\n" } else { text };
    let mut after = before.to_owned();
    for event in wanted.events {
        after = with_event(after, event, wanted)?;
    }
    let (old, new) = (scan(before)?.value(), scan(&after)?.value());
    let once = |event: &&str| count(new.pointer(&format!("/hooks/{event}")), wanted) == 1;
    if without(old, wanted) != without(new.clone(), wanted) || !wanted.events.iter().all(once) {
        return Err(Refusal("its layout is too unusual to edit safely".to_owned()));
    }
    Ok(after)
}

/// The document without our entries, and without what held nothing else; `None` where there are none.
///
/// # Errors
/// As [`merge`].
pub fn unmerge(text: &str, wanted: &Wanted<'_>) -> Result<Option<String>, Refusal> {
    let mut after = text.to_owned();
    let mut found = false;
    while let Some(less) = without_first(&after, wanted)? {
        after = less;
        found = true;
    }
    if !found {
        return Ok(None);
    }
    let (old, new) = (scan(text)?.value(), scan(&after)?.value());
    if without(old, wanted) != without(new, wanted) {
        return Err(Refusal("its layout is too unusual to edit safely".to_owned()));
    }
    Ok(Some(after))
}

/// The commands of ours in the document, each with its event.
///
/// # Errors
/// When it is no JSON.
pub fn ours(text: &str, wanted: &Wanted<'_>) -> Result<Vec<(String, String)>, Refusal> {
    let root = scan(text)?;
    let mut found = vec![];
    let Some(Kind::Object(events)) = root.member("hooks")?.map(|hooks| &hooks.kind) else { return Ok(found) };
    for event in events {
        for place in places(&event.value, wanted)? {
            found.push((event.key.clone(), place.command));
        }
    }
    Ok(found)
}

/// What of the document is ours, in one spelling whatever its layout; `None` where nothing is.
///
/// # Errors
/// When it is no JSON.
pub fn content(text: &str, wanted: &Wanted<'_>) -> Result<Option<String>, Refusal> {
    Ok(content_of(&scan(text)?.value(), wanted))
}

/// The same of a document that was read: for each event the items that hold an entry of ours, without those of others.
pub(super) fn content_of(document: &Value, wanted: &Wanted<'_>) -> Option<String> {
    let mut found = Map::new();
    for (event, list) in document.get("hooks")?.as_object()? {
        let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
        let items: Vec<Value> = items.iter().filter_map(|item| ours_of(item, wanted)).collect();
        if !items.is_empty() {
            found.insert(event.clone(), items.into());
        }
    }
    (!found.is_empty()).then(|| Value::Object(found).to_string())
}

/// An item of an event's list without the entries of others, but with what else it says (a matcher).
fn ours_of(item: &Value, wanted: &Wanted<'_>) -> Option<Value> {
    let mut item = item.clone();
    let holds = match wanted.shape {
        Shape::Flat => is_ours(&item, wanted),
        Shape::Grouped => {
            let entries = item.get_mut("hooks")?.as_array_mut()?;
            entries.retain(|entry| is_ours(entry, wanted));
            !entries.is_empty()
        }
    };
    holds.then_some(item)
}

fn with_event(text: String, event: &str, wanted: &Wanted<'_>) -> Result<String, Refusal> {
    let root = scan(&text)?;
    if !root.is_object() {
        return Err(Refusal("it is not a JSON object".to_owned()));
    }
    let entry = wanted.entry();
    let Some(hooks) = root.member("hooks")? else {
        return Ok(edit::append(&text, &root, &member("hooks", &member_object(event, &entry))));
    };
    if !hooks.is_object() {
        return Err(Refusal("its \"hooks\" is not an object".to_owned()));
    }
    let Some(list) = hooks.member(event)? else {
        return Ok(edit::append(&text, hooks, &member(event, &array(&entry))));
    };
    if list.items().is_none() {
        return Err(Refusal(format!("its hooks of {event} are not a list")));
    }
    let places = places(list, wanted)?;
    let Some(first) = places.first() else {
        return Ok(edit::append(&text, list, &entry));
    };
    if places.len() > 1 {
        let less = without_place(&text, &[], places.last().map_or(&[], |place| &place.path), list)?;
        return with_event(less, event, wanted);
    }
    if first.command == wanted.command {
        return Ok(text);
    }
    let quoted = Value::String(wanted.command.to_owned()).to_string();
    Ok(edit::replace(&text, first.command_span.clone(), &quoted))
}

/// Where an entry of ours stands in an event's list.
struct Place {
    /// The index in the list; in a grouped file also that in the group.
    path: Vec<usize>,
    command: String,
    command_span: std::ops::Range<usize>,
}

fn places(list: &Node, wanted: &Wanted<'_>) -> Result<Vec<Place>, Refusal> {
    let mut found = vec![];
    for (at, item) in list.items().unwrap_or_default().iter().enumerate() {
        let entries = match wanted.shape {
            Shape::Flat => vec![(vec![at], item)],
            Shape::Grouped => {
                let entries = item.member("hooks")?.and_then(Node::items).unwrap_or_default();
                entries.iter().enumerate().map(|(index, entry)| (vec![at, index], entry)).collect()
            }
        };
        for (path, entry) in entries {
            let Some(node) = entry.member("command")? else { continue };
            if let Some(text) = node.text()
                && command::is_ours(text, wanted.host)
            {
                found.push(Place { path, command: text.to_owned(), command_span: node.span.clone() });
            }
        }
    }
    Ok(found)
}

/// `text` without the first entry of ours; `None` where there is none.
fn without_first(text: &str, wanted: &Wanted<'_>) -> Result<Option<String>, Refusal> {
    let root = scan(text)?;
    let Some(hooks) = root.member("hooks")? else { return Ok(None) };
    let Kind::Object(events) = &hooks.kind else { return Ok(None) };
    for event in events {
        if let Some(place) = places(&event.value, wanted)?.first() {
            return without_place(text, &[(&root, "hooks"), (hooks, &event.key)], &place.path, &event.value)
                .map(Some);
        }
    }
    Ok(None)
}

/// Takes out the entry at `path` of `list`, or the outermost container that would be left empty: its group, the list, and
/// each of `parents` (the object and the name of the member that leads to the list).
fn without_place(
    text: &str,
    parents: &[(&Node, &str)],
    path: &[usize],
    list: &Node,
) -> Result<String, Refusal> {
    let lost = || Refusal("its layout is too unusual to edit safely".to_owned());
    let (&at, inner) = path.split_first().ok_or_else(lost)?;
    if let Some(&index) = inner.first() {
        let group = list.items().and_then(|items| items.get(at)).ok_or_else(lost)?;
        let entries = group.member("hooks")?.ok_or_else(lost)?;
        if entries.parts().len() > 1 {
            return Ok(edit::remove(text, entries, index));
        }
    }
    if list.parts().len() > 1 {
        return Ok(edit::remove(text, list, at));
    }
    let mut cut = (list, at);
    for (object, name) in parents.iter().rev() {
        let Kind::Object(members) = &object.kind else { return Err(lost()) };
        let index = members.iter().position(|member| member.key == *name).ok_or_else(lost)?;
        cut = (object, index);
        if members.len() > 1 {
            break;
        }
    }
    Ok(edit::remove(text, cut.0, cut.1))
}

impl Wanted<'_> {
    /// The item that an event's list gets, as lines indented from 0.
    fn entry(&self) -> String {
        let command = Value::String(self.command.to_owned());
        match self.shape {
            Shape::Grouped => format!(
                "{{\n  \"hooks\": [\n    {{\n      \"type\": \"command\",\n      \"command\": {command},\n      \
                 \"timeout\": {}\n    }}\n  ]\n}}",
                self.timeout_s
            ),
            Shape::Flat => {
                format!("{{\n  \"command\": {command},\n  \"timeout_ms\": {}\n}}", self.timeout_s * 1000)
            }
        }
    }
}

fn indented(part: &str) -> String {
    part.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn array(item: &str) -> String {
    format!("[\n{}\n]", indented(item))
}

fn member(key: &str, value: &str) -> String {
    format!("{}: {value}", Value::String(key.to_owned()))
}

fn member_object(event: &str, entry: &str) -> String {
    format!("{{\n{}\n}}", indented(&member(event, &array(entry))))
}

/// The document without our entries and without empty groups, lists and `hooks`.
fn without(mut document: Value, wanted: &Wanted<'_>) -> Value {
    let Some(root) = document.as_object_mut() else { return document };
    if let Some(Value::Object(events)) = root.get_mut("hooks") {
        for list in events.values_mut() {
            let Some(items) = list.as_array_mut() else { continue };
            if wanted.shape == Shape::Grouped {
                for item in items.iter_mut() {
                    if let Some(Value::Array(entries)) = item.get_mut("hooks") {
                        entries.retain(|entry| !is_ours(entry, wanted));
                    }
                }
                let filled =
                    |item: &Value| item.get("hooks").is_none_or(|hooks| hooks != &Value::Array(vec![]));
                items.retain(filled);
            } else {
                items.retain(|entry| !is_ours(entry, wanted));
            }
        }
        events.retain(|_, list| list != &Value::Array(vec![]));
    }
    root.retain(|key, value| key != "hooks" || value != &Value::Object(Map::new()));
    document
}

fn is_ours(entry: &Value, wanted: &Wanted<'_>) -> bool {
    entry.get("command").and_then(Value::as_str).is_some_and(|text| command::is_ours(text, wanted.host))
}

fn count(list: Option<&Value>, wanted: &Wanted<'_>) -> usize {
    let items = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of_group = |item: &Value| {
        let entries = item.get("hooks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        entries.iter().filter(|entry| is_ours(entry, wanted)).count()
    };
    match wanted.shape {
        Shape::Grouped => items.iter().map(of_group).sum(),
        Shape::Flat => items.iter().filter(|entry| is_ours(entry, wanted)).count(),
    }
}

#[cfg(test)]
mod tests;
