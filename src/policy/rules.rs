//! What is protected and how tools name things: `config/policies.toml`, read as it is.
//!
//! Nothing in it is invented here: a key that is not there is an empty list. A test holds the file to its shape.

use std::sync::LazyLock;
use toml::{Table, Value};

/// The embedded file.
pub(crate) const TEXT: &str = include_str!("../../config/policies.toml");

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules { table: TEXT.parse().unwrap_or_default() });

/// The file.
#[derive(Debug)]
pub(crate) struct Rules {
    table: Table,
}

/// One table of a list of tables, such as `[[protect]]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a>(&'a Table);

impl Rules {
    /// The rules that are shipped.
    pub(crate) fn shipped() -> &'static Self {
        &RULES
    }

    /// The tables of the list `name`.
    pub(crate) fn entries(&self, name: &str) -> impl Iterator<Item = Entry<'_>> {
        let list = self.table.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_table).map(Entry)
    }

    /// The one table `name`.
    pub(crate) fn section(&self, name: &str) -> Option<Entry<'_>> {
        self.table.get(name).and_then(Value::as_table).map(Entry)
    }

    /// The first table of the list `name` that has `wanted` among its names.
    pub(crate) fn named(&self, name: &str, wanted: &str) -> Option<Entry<'_>> {
        self.entries(name).find(|entry| entry.has("names", wanted))
    }
}

impl<'a> Entry<'a> {
    /// A text; empty if there is none.
    pub(crate) fn text(self, key: &str) -> &'a str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// A switch; off if there is none.
    pub(crate) fn flag(self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    /// A count; 0 if there is none.
    pub(crate) fn count(self, key: &str) -> usize {
        self.0
            .get(key)
            .and_then(Value::as_integer)
            .and_then(|count| usize::try_from(count).ok())
            .unwrap_or_default()
    }

    /// The texts of a list.
    pub(crate) fn list(self, key: &str) -> impl Iterator<Item = &'a str> {
        self.0.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Whether a list has `wanted`.
    pub(crate) fn has(self, key: &str, wanted: &str) -> bool {
        self.list(key).any(|text| text == wanted)
    }

    /// Whether there is such a key at all.
    pub(crate) fn knows(self, key: &str) -> bool {
        self.0.contains_key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every list and the keys that may stand in it.
    const SHAPE: [(&str, &[&str]); 3] = [
        ("protect", &["what", "instead", "scratch", "names", "paths"]),
        ("program", &["names", "operands", "values", "outputs", "folders", "only"]),
        (
            "wrapper",
            &["names", "values", "skip", "assigns", "texts", "outputs", "folder", "stops", "feeds", "words"],
        ),
    ];

    #[test]
    fn the_file_has_the_keys_that_are_read_and_no_others() {
        let table: Table = TEXT.parse().unwrap();
        let mut names: Vec<_> = table.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["program", "protect", "skips", "tools", "wrapper"]);
        for (name, keys) in SHAPE {
            for entry in Rules::shipped().entries(name) {
                assert!(entry.0.keys().all(|key| keys.contains(&key.as_str())), "{name}: {:?}", entry.0);
            }
        }
        for entry in Rules::shipped().entries("program") {
            let operands = ["all", "last", "move", "none", "second"];
            assert!(operands.contains(&entry.text("operands")), "{:?}", entry.0);
        }
        for entry in Rules::shipped().entries("protect") {
            assert!(!entry.text("what").is_empty() && !entry.text("instead").is_empty());
        }
    }
}
