//! What is protected and how tools name things: `config/policies.toml`.
//!
//! Every call of a hook needs it, so it is read by a reader of our own, of the few forms that the file uses: comments, `[name]`,
//! `[[name]]`, and `key = ` a text without escapes, a list of such, a number or a switch. That is ten times as fast as reading all
//! of TOML; a test holds the two together. A key that is not there is an empty list, no text, off or 0.

use std::sync::LazyLock;

/// The embedded file.
pub(crate) const TEXT: &str = include_str!("../../config/policies.toml");

static RULES: LazyLock<Rules> = LazyLock::new(|| read(TEXT));

/// The file.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    tables: Vec<Table>,
}

/// `[name]` or `[[name]]`, and what stands below it.
#[derive(Debug, Default)]
struct Table {
    name: &'static str,
    keys: Vec<(&'static str, Value)>,
}

#[derive(Debug, PartialEq, Eq)]
enum Value {
    Text(&'static str),
    List(Vec<&'static str>),
    Flag(bool),
    Count(usize),
}

/// One table, such as `[[protect]]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a>(&'a Table);

impl Rules {
    /// The rules that are shipped.
    pub(crate) fn shipped() -> &'static Self {
        &RULES
    }

    /// The tables `name`.
    pub(crate) fn entries(&self, name: &str) -> impl Iterator<Item = Entry<'_>> {
        self.tables.iter().filter(move |table| table.name == name).map(Entry)
    }

    /// The one table `name`.
    pub(crate) fn section(&self, name: &str) -> Option<Entry<'_>> {
        self.entries(name).next()
    }

    /// The first table `name` that has `wanted` among its names.
    pub(crate) fn named(&self, name: &str, wanted: &str) -> Option<Entry<'_>> {
        self.entries(name).find(|entry| entry.has("names", wanted))
    }
}

impl<'a> Entry<'a> {
    fn get(self, key: &str) -> Option<&'a Value> {
        self.0.keys.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// A text; empty if there is none.
    pub(crate) fn text(self, key: &str) -> &'static str {
        match self.get(key) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// A switch; off if there is none.
    pub(crate) fn flag(self, key: &str) -> bool {
        self.get(key) == Some(&Value::Flag(true))
    }

    /// A count; 0 if there is none.
    pub(crate) fn count(self, key: &str) -> usize {
        match self.get(key) {
            Some(Value::Count(count)) => *count,
            _ => 0,
        }
    }

    /// The texts of a list.
    pub(crate) fn list(self, key: &str) -> impl Iterator<Item = &'static str> + use<'a> {
        let list = match self.get(key) {
            Some(Value::List(list)) => list.as_slice(),
            _ => &[],
        };
        list.iter().copied()
    }

    /// Whether a list has `wanted`.
    pub(crate) fn has(self, key: &str, wanted: &str) -> bool {
        self.list(key).any(|text| text == wanted)
    }

    /// Whether there is such a key at all.
    pub(crate) fn knows(self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

/// Reads the file.
fn read(text: &'static str) -> Rules {
    let mut tables: Vec<Table> = Vec::new();
    let mut open: Option<(&'static str, Vec<&'static str>)> = None;
    for line in text.lines().map(str::trim) {
        if let Some((key, list)) = &mut open {
            texts(line, list);
            if line.ends_with(']') {
                let (key, list) = (*key, std::mem::take(list));
                if let Some(table) = tables.last_mut() {
                    table.keys.push((key, Value::List(list)));
                }
                open = None;
            }
        } else if let Some(name) = line.strip_prefix('[') {
            let name = name.trim_matches(['[', ']']);
            tables.push(Table { name, keys: Vec::new() });
        } else if let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            let value = match value.strip_prefix('[') {
                Some(rest) => {
                    let mut list = Vec::new();
                    texts(rest, &mut list);
                    if !rest.ends_with(']') {
                        open = Some((key, list));
                        continue;
                    }
                    Value::List(list)
                }
                None => match value.strip_prefix('"') {
                    Some(text) => Value::Text(text.strip_suffix('"').unwrap_or(text)),
                    None => value.parse().map_or(Value::Flag(value == "true"), Value::Count),
                },
            };
            if let Some(table) = tables.last_mut() {
                table.keys.push((key, value));
            }
        }
    }
    Rules { tables }
}

/// The texts of a line of a list.
fn texts(line: &'static str, list: &mut Vec<&'static str>) {
    list.extend(line.split('"').skip(1).step_by(2));
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::Value as Toml;

    /// Every list and the keys that may stand in it.
    const SHAPE: [(&str, &[&str]); 3] = [
        ("protect", &["what", "instead", "scratch", "telling", "names", "paths"]),
        (
            "program",
            &[
                "names", "words", "operands", "values", "outputs", "folders", "texts", "only", "takes",
                "unless", "verb", "remote", "peels", "prefixed", "speaks",
            ],
        ),
        (
            "wrapper",
            &[
                "names", "values", "skip", "assigns", "texts", "outputs", "folder", "stops", "feeds",
                "words", "inputs", "text", "here", "loose", "mounts",
            ],
        ),
    ];

    /// A table as the library reads it.
    fn same(ours: &Table, theirs: &toml::Table) {
        assert_eq!(ours.keys.len(), theirs.len(), "{}", ours.name);
        for (key, value) in &ours.keys {
            let theirs = match &theirs[*key] {
                Toml::String(text) => Value::Text(text.clone().leak()),
                Toml::Boolean(flag) => Value::Flag(*flag),
                Toml::Integer(count) => Value::Count(usize::try_from(*count).unwrap()),
                Toml::Array(list) => {
                    Value::List(list.iter().map(|text| &*text.as_str().unwrap().to_owned().leak()).collect())
                }
                other => panic!("{key} = {other:?}"),
            };
            assert_eq!(*value, theirs, "{key}");
        }
    }

    #[test]
    fn the_file_is_read_as_toml_is_read() {
        let table: toml::Table = TEXT.parse().unwrap();
        let mut names: Vec<_> = table.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["heeds", "program", "protect", "scripts", "skips", "talkers", "tools", "uninstalls", "wrapper"]
        );
        for (name, value) in &table {
            let ours: Vec<Entry<'_>> = Rules::shipped().entries(name).collect();
            let theirs = value.as_array().map_or_else(|| vec![value.clone()], Clone::clone);
            assert_eq!(ours.len(), theirs.len(), "{name}");
            ours.iter().zip(&theirs).for_each(|(ours, theirs)| same(ours.0, theirs.as_table().unwrap()));
        }
    }

    #[test]
    fn the_file_has_the_keys_that_are_read_and_no_others() {
        for (name, keys) in SHAPE {
            for entry in Rules::shipped().entries(name) {
                assert!(entry.0.keys.iter().all(|(key, _)| keys.contains(key)), "{name}: {:?}", entry.0);
            }
        }
        for entry in Rules::shipped().entries("program") {
            let operands = ["all", "first", "last", "move", "none", "rename", "second"];
            assert!(operands.contains(&entry.text("operands")), "{:?}", entry.0);
        }
        for entry in Rules::shipped().entries("protect") {
            assert!(!entry.text("what").is_empty() && !entry.text("instead").is_empty());
        }
    }
}
