//! The name in the nearest project manifest.
//!
//! | manifest | name |
//! |---|---|
//! | `package.json` | `.name` |
//! | `pyproject.toml` | `[project] name`, else `[tool.poetry] name` |
//! | `Cargo.toml` | `[package] name` |
//! | `go.mod` | the module path without host and major version, its last two segments |
//! | `composer.json` | `.name` |
//!
//! The whole way up is walked for `package.json` first, as flow-agents does, so that adding Tally renames no project;
//! then again for the others, in the order above where one directory has several. A manifest that is malformed, has no
//! name or is larger than 1 MiB is passed over.

use std::path::{Path, PathBuf};

use crate::sys::{files, toml};

const MAX_BYTES: u64 = 1024 * 1024;

type Reader = fn(&str) -> Option<String>;

const FIRST: [(&str, Reader); 1] = [("package.json", json_name)];
const THEN: [(&str, Reader); 4] = [
    ("pyproject.toml", pyproject),
    ("Cargo.toml", cargo),
    ("go.mod", go_module),
    ("composer.json", json_name),
];

/// The label and file of the nearest manifest that names its project; `directories` go from the nearest upwards.
pub(super) fn nearest(directories: &[&Path]) -> Option<(String, PathBuf)> {
    walk(directories, &FIRST).or_else(|| walk(directories, &THEN))
}

fn walk(directories: &[&Path], manifests: &[(&str, Reader)]) -> Option<(String, PathBuf)> {
    directories.iter().find_map(|directory| {
        manifests.iter().find_map(|(name, reader)| {
            let file = directory.join(name);
            let bytes = files::read_bounded(&file, MAX_BYTES).ok()??;
            let text = std::str::from_utf8(&bytes).ok()?;
            let label = super::path_free(&reader(text.trim_start_matches('\u{feff}'))?)?;
            Some((label, file))
        })
    })
}

fn json_name(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(text.as_bytes()).ok()?;
    value.get("name")?.as_str().map(str::to_owned)
}

fn pyproject(text: &str) -> Option<String> {
    let table = toml::parse(text).ok()?;
    let name = |table: &serde_json::Value| table.get("name")?.as_str().map(str::to_owned);
    table.get("project").and_then(name).or_else(|| table.get("tool")?.get("poetry").and_then(name))
}

fn cargo(text: &str) -> Option<String> {
    let table = toml::parse(text).ok()?;
    table.get("package")?.get("name")?.as_str().map(str::to_owned)
}

/// `github.com/org/repo/v2` is `org/repo`, `example.com/tool` is `tool`.
fn go_module(text: &str) -> Option<String> {
    let module = text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix("module")?;
        let path = rest.split("//").next()?.trim();
        rest.starts_with([' ', '\t']).then(|| path.trim_matches(['"', '`']))
    })?;
    let mut segments: Vec<&str> = module.split('/').collect();
    let is_major = |segment: &&str| {
        segment
            .strip_prefix('v')
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if segments.len() > 1 {
        segments.pop_if(|last| is_major(&&**last));
    }
    if segments.len() > 1 && segments.first().is_some_and(|host| host.contains('.')) {
        segments.remove(0);
    }
    let from = segments.len().saturating_sub(2);
    Some(segments.get(from..)?.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_manifest_has_its_name() {
        assert_eq!(json_name(r#"{"name":"@s/app"}"#).as_deref(), Some("@s/app"));
        assert_eq!(json_name(r#"{"name":5}"#), None);
        assert_eq!(json_name(r#"["name"]"#), None);
        assert_eq!(pyproject("[project]\nname = 'one'\n[tool.poetry]\nname = 'two'").as_deref(), Some("one"));
        assert_eq!(pyproject("[project]\nname = 1\n[tool.poetry]\nname = 'two'").as_deref(), Some("two"));
        assert_eq!(cargo("[workspace]\nmembers = []"), None);
        assert_eq!(cargo("[package]\nname = \"x\"").as_deref(), Some("x"));
        assert_eq!(cargo("[package\nname"), None);
    }

    #[test]
    fn a_go_module_is_cut_to_what_names_the_project() {
        let cases = [
            ("// c\nmodule github.com/org/repo // c\n\ngo 1.22", "org/repo"),
            ("module github.com/org/repo/v2", "org/repo"),
            ("module \"example.com/tool\"", "tool"),
            ("module example.com/v3", "example.com"),
            ("module mono/a/b", "a/b"),
            ("module tool", "tool"),
        ];
        for (text, expected) in cases {
            assert_eq!(go_module(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(go_module("modules x\n"), None);
    }

    #[test]
    fn package_json_anywhere_on_the_way_wins_over_the_nearest_of_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("crate");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("Cargo.toml"), "[package]\nname = \"inner\"").unwrap();
        std::fs::write(inner.join("composer.json"), r#"{"name":"v/inner"}"#).unwrap();
        let directories = [inner.as_path(), dir.path()];
        assert_eq!(nearest(&directories), Some(("inner".to_owned(), inner.join("Cargo.toml"))));
        let root = dir.path().join("package.json");
        std::fs::write(&root, "\u{feff}{\"name\":\"root\"}").unwrap();
        assert_eq!(nearest(&directories), Some(("root".to_owned(), root)));
    }
}
