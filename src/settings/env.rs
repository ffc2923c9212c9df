//! The environment, read once.
//!
//! Every variable that Tally reads is a constant in [`vars`], with its meaning and default; the same table generates
//! `docs/environment.md`. Code takes an [`Env`] value, so that tests never touch the process environment.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Write as _};
use std::path::Path;

pub use vars::GROUPS;

#[path = "env_vars.rs"]
pub mod vars;

/// One environment variable that Tally reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Var {
    /// The name in the environment.
    pub name: &'static str,
    /// What holds when it is unset or empty, as text for the reference page.
    pub default: &'static str,
    /// What it does, in one or two sentences.
    pub doc: &'static str,
}

/// A titled list of variables, one section of the reference page.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// The section's title.
    pub title: &'static str,
    /// Its variables.
    pub vars: &'static [&'static Var],
}

/// A snapshot of the environment. An empty value counts as unset, for every variable.
#[derive(Clone, Default)]
pub struct Env {
    values: HashMap<OsString, OsString>,
}

impl Env {
    /// Takes a snapshot of this process's environment.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the one door to the environment")]
    pub fn from_process() -> Self {
        Self { values: std::env::vars_os().collect() }
    }

    /// An environment of exactly these pairs.
    pub fn from_pairs<K: Into<OsString>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { values: pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// This environment with one variable set.
    #[must_use]
    pub fn with(&self, var: &Var, value: impl Into<OsString>) -> Self {
        let mut changed = self.clone();
        changed.values.insert(var.name.into(), value.into());
        changed
    }

    /// The variable's text; `None` when it is unset or empty. What is not UTF-8 reads as U+FFFD: it is set, and every
    /// check refuses it, where taking it for unset could send a record without the token that was meant for it.
    #[must_use]
    pub fn get(&self, var: &Var) -> Option<&str> {
        Some(self.raw(var)?.to_str().unwrap_or("\u{fffd}"))
    }

    /// The first of `vars` that has a text.
    #[must_use]
    pub fn first(&self, vars: &[&Var]) -> Option<&str> {
        vars.iter().find_map(|var| self.get(var))
    }

    /// The variable as a path, whatever its bytes; `None` when it is unset or empty.
    #[must_use]
    pub fn path(&self, var: &Var) -> Option<&Path> {
        self.raw(var).map(Path::new)
    }

    /// All pairs of the snapshot, in no order: what a child process may inherit is chosen from these.
    pub fn pairs(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.values.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    fn raw(&self, var: &Var) -> Option<&OsStr> {
        self.values.get(OsStr::new(var.name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }
}

/// Names only: values may be secrets.
impl fmt::Debug for Env {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.values.keys()).finish()
    }
}

/// The reference page `docs/environment.md`, generated from [`GROUPS`].
#[must_use]
pub fn generated_page() -> String {
    let mut page = String::from(
        "# Environment variables\n\n\
         <!-- Generated from src/settings/env_vars.rs; `cargo run -- __generate > docs/environment.md` writes it again. -->\n\n\
         Every variable that Tally reads. An empty value counts as unset. A switch takes `1`, `true`, `yes`, `on` or\n\
         `0`, `false`, `no`, `off`, in any case.\n",
    );
    for group in GROUPS {
        // Writing to a String cannot fail.
        let _ =
            write!(page, "\n## {}\n\n| variable | what it does | when unset |\n|---|---|---|\n", group.title);
        for var in group.vars {
            let _ = writeln!(page, "| `{}` | {} | {} |", var.name, var.doc, var.default);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn empty_is_unset_and_the_first_set_variable_counts() {
        let env = Env::from_pairs([("CONSOLE_TELEMETRY_URL", ""), ("CONSOLE_URL", "https://u")]);
        assert_eq!(env.get(&vars::CONSOLE_TELEMETRY_URL), None);
        assert_eq!(env.first(&[&vars::CONSOLE_TELEMETRY_URL, &vars::CONSOLE_URL]), Some("https://u"));
        assert_eq!(env.path(&vars::HOME), None);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_not_text_is_set_but_safe_for_nothing() {
        use std::os::unix::ffi::OsStrExt;
        let bytes = OsStr::from_bytes(b"/\xff");
        let env = Env::from_pairs([("CONSOLE_TELEMETRY_TOKEN", bytes), ("HOME", bytes)]);
        assert_eq!(env.get(&vars::CONSOLE_TELEMETRY_TOKEN), Some("\u{fffd}"));
        assert_eq!(env.path(&vars::HOME), Some(Path::new(bytes)));
    }

    #[test]
    fn debug_shows_names_without_values() {
        let env = Env::from_pairs([("CONSOLE_TELEMETRY_TOKEN", "tok-123")]);
        let shown = format!("{env:?}");
        assert!(shown.contains("CONSOLE_TELEMETRY_TOKEN") && !shown.contains("tok-123"), "{shown}");
    }

    #[test]
    fn each_variable_is_listed_once_with_its_texts() {
        let mut names = HashSet::new();
        for var in GROUPS.iter().flat_map(|group| group.vars) {
            assert!(names.insert(var.name), "{} is listed twice", var.name);
            assert!(!var.doc.is_empty() && !var.default.is_empty(), "{} lacks a text", var.name);
            assert!(
                !format!("{}{}", var.doc, var.default).contains(['|', '\n']),
                "{} breaks the table",
                var.name
            );
        }
    }

    #[test]
    fn the_reference_page_is_up_to_date() {
        let committed = include_str!("../../docs/environment.md");
        assert_eq!(
            committed,
            generated_page(),
            "docs/environment.md is stale: run `cargo run -- __generate > docs/environment.md`"
        );
    }
}
