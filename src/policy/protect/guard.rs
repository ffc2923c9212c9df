//! Whether a path names a protected file, also where part of the path is not known.
//!
//! What is not known could be anything. It counts only where what is known already says which file it is about: the
//! file's name for its greater part, or the protected folder that it is in.

use crate::policy::rules::{Entry, Rules};
use crate::policy::shell::{Bit, Field};
use std::path::Path;

/// What is protected.
pub(super) struct Guard {
    entries: Vec<Protected>,
}

/// One `[[protect]]`.
struct Protected {
    entry: Entry<'static>,
    names: Vec<&'static str>,
    /// By component.
    paths: Vec<Vec<&'static str>>,
}

/// What a component of a path says about a component of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    No,
    /// It may be anything.
    Perhaps,
    Yes,
}

impl Protected {
    fn tail(&self, open: bool) -> Tail {
        Tail { open, telling: self.entry.flag("telling") }
    }
}

impl Guard {
    pub(super) fn new() -> Self {
        let entries = Rules::shipped().entries("protect").map(|entry| Protected {
            entry,
            names: entry.list("names").collect(),
            paths: entry.list("paths").map(|path| path.split('/').collect()).collect(),
        });
        Self { entries: entries.collect() }
    }

    /// Whether a text without case has the part of a protected file's name that says which it is.
    pub(super) fn has_stem(&self, text: &str) -> bool {
        let names = self.entries.iter().flat_map(|protected| {
            let last = protected.paths.iter().filter_map(|path| path.last());
            protected.names.iter().chain(last)
        });
        let stems =
            names.map(|name| name.trim_start_matches('.').split(['.', '*']).next().unwrap_or_default());
        stems
            .filter(|stem| {
                stem.len() > 4 && !matches!(*stem, "config" | "settings" | "profile" | "state" | "hooks")
            })
            .any(|stem| text.contains(stem))
    }

    /// What protects the file at `path`, all of which is known.
    pub(super) fn find(&self, path: &Path) -> Option<Entry<'static>> {
        let parts: Vec<Field> = path.iter().map(|part| Field::of(&part.to_string_lossy())).collect();
        self.look(&parts, false)
    }

    /// What may protect the file at `parts`. `open`: more may come before them.
    pub(super) fn look(&self, parts: &[Field], open: bool) -> Option<Entry<'static>> {
        let parts: Vec<Part> = parts.iter().map(Part::of).collect();
        let name = parts.last()?;
        let known = !open && parts.iter().all(|part| part.text.is_some());
        let protects = |protected: &&Protected| {
            protected.names.iter().any(|pattern| fits(name, pattern) == Fit::Yes)
                || protected.paths.iter().any(|pattern| protected.tail(open).is(&parts, pattern, known))
        };
        self.entries.iter().find(protects).map(|protected| protected.entry)
    }

    /// What protects a folder that holds protected files by its name: `.kontourai`, `.git`. The second is whether that is
    /// so only if such files are in it.
    pub(super) fn folder(&self, path: &Path) -> Option<(Entry<'static>, bool)> {
        let parts: Vec<Part> =
            path.iter().map(|part| Part::of(&Field::of(&part.to_string_lossy()))).collect();
        let holds = |pattern: &Vec<&'static str>| {
            let tail = Tail { open: false, telling: true };
            (1..pattern.len())
                .rev()
                .any(|length| pattern.get(..length).is_some_and(|head| tail.is(&parts, head, true)))
        };
        let own = |name: &str| name.starts_with('.') && !matches!(name, ".config" | ".github");
        self.entries.iter().find_map(|protected| {
            let pattern = protected.paths.iter().find(|pattern| holds(pattern))?;
            let sure = pattern.first().is_some_and(|name| own(name));
            Some((protected.entry, !sure))
        })
    }
}

/// A pattern of a path, and what it takes to be sure of it.
#[derive(Debug, Clone, Copy)]
struct Tail {
    /// Whether more may come before the parts.
    open: bool,
    /// Whether a component without a dot is a proof.
    telling: bool,
}

impl Tail {
    /// Whether the end of `parts` is what `pattern` describes. `proven`: whether a component said so for certain.
    fn is(self, parts: &[Part], pattern: &[&str], proven: bool) -> bool {
        let Some((wanted, before)) = pattern.split_last() else { return proven };
        let Some((part, rest)) = parts.split_last() else { return self.open && proven };
        if *wanted == "**" {
            return self.is(parts, before, proven) || self.is(rest, pattern, proven);
        }
        match fits(part, wanted) {
            Fit::No => false,
            // It may be several components, or none: what comes after it has to tell, …
            Fit::Perhaps if proven => true,
            // … or what comes before it, which is then the folder: `.claude/$F`.
            Fit::Perhaps => {
                let first = before.iter().find(|part| **part != "**");
                first.is_some_and(|part| part.starts_with('.') || before.len() > 1)
                    && self.is(rest, before, false)
            }
            Fit::Yes => {
                let proven = proven || wanted.starts_with('.') || (self.telling && !wanted.starts_with('*'));
                // Something unknown in front may bring any number of components.
                if part.field.bits.first() == Some(&Bit::Any) {
                    proven
                } else {
                    self.is(rest, before, proven)
                }
            }
        }
    }
}

/// A component of a path without case, and its text, if all of it is known.
#[derive(Debug)]
struct Part {
    field: Field,
    text: Option<String>,
}

impl Part {
    fn of(part: &Field) -> Self {
        let field = fold(part);
        Self { text: field.literal(), field }
    }
}

/// Whether a component may be what `pattern` describes.
fn fits(part: &Part, pattern: &str) -> Fit {
    if let Some(text) = &part.text {
        return if describes(pattern, text) { Fit::Yes } else { Fit::No };
    }
    let part = &part.field;
    if part.is_any() {
        return Fit::Perhaps;
    }
    let pattern: Vec<Bit> =
        pattern.chars().map(|c| if c == '*' { Bit::Star } else { Bit::Char(c) }).collect();
    if !meet(&part.bits, &pattern) {
        return Fit::No;
    }
    let is_known = |bit: &&Bit| matches!(bit, Bit::Char(_));
    let known = pattern.iter().filter(is_known).count();
    // What both begin with, and what both end with.
    let same = |(a, b): &(&Bit, &Bit)| is_known(a) && a == b;
    let head = part.bits.iter().zip(&pattern).take_while(same).count();
    let end = part.bits.iter().rev().zip(pattern.iter().rev()).take_while(same).count();
    if (head + end) * 2 > known { Fit::Yes } else { Fit::No }
}

/// Whether a pattern describes a text.
fn describes(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*') {
        match left.find(piece) {
            Some(at) => left = left.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    left.ends_with(tail)
}

/// Whether one text can be described by both.
pub(super) fn meet(a: &[Bit], b: &[Bit]) -> bool {
    let wild = |bit: &Bit| matches!(bit, Bit::Star | Bit::Any);
    // Row by row: whether the first `i` of `a` and the first `j` of `b` meet.
    let mut row: Vec<bool> = Vec::with_capacity(b.len() + 1);
    row.push(true);
    for bit in b {
        row.push(row.last().copied().unwrap_or_default() && wild(bit));
    }
    for bit in a {
        let mut next = Vec::with_capacity(row.len());
        next.push(row.first().copied().unwrap_or_default() && wild(bit));
        for (at, other) in b.iter().enumerate() {
            let (diagonal, above) =
                (row.get(at).copied().unwrap_or_default(), row.get(at + 1).copied().unwrap_or_default());
            let left = next.last().copied().unwrap_or_default();
            let same = match (bit, other) {
                (Bit::Char(x), Bit::Char(y)) => x == y,
                _ => true,
            };
            next.push(
                (diagonal && same) || (wild(bit) && (left || above)) || (wild(other) && (left || above)),
            );
        }
        if next.iter().all(|met| !met) {
            return false;
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// Without case, as file systems without case compare.
fn fold(part: &Field) -> Field {
    let bits = part.bits.iter().flat_map(|bit| match bit {
        Bit::Char('\u{17f}') => vec![Bit::Char('s')],
        Bit::Char(c) => c.to_lowercase().map(Bit::Char).collect(),
        bit => vec![*bit],
    });
    Field { bits: bits.collect(), unknown: part.unknown.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> bool {
        Guard::new().find(Path::new(path)).is_some()
    }

    /// `…` in a path is not known.
    fn perhaps(path: &str, open: bool) -> bool {
        let bits =
            |part: &str| part.chars().map(|c| if c == '…' { Bit::Any } else { Bit::Char(c) }).collect();
        let parts: Vec<Field> =
            path.split('/').map(|part| Field { bits: bits(part), unknown: None }).collect();
        Guard::new().look(&parts, open).is_some()
    }

    proptest::proptest! {
        /// Two readings of one pattern: by its pieces, and by what both may become.
        #[test]
        fn a_text_is_described_if_it_meets_the_pattern(pattern in "[ab.*]{0,6}", text in "[ab.]{0,8}") {
            let bits = |text: &str| {
                text.chars().map(|c| if c == '*' { Bit::Star } else { Bit::Char(c) }).collect::<Vec<_>>()
            };
            proptest::prop_assert_eq!(describes(&pattern, &text), meet(&bits(&text), &bits(&pattern)));
        }
    }

    #[test]
    fn known_paths_are_compared_by_component_without_case() {
        for path in [
            "/r/biome.json",
            "/r/.ESLINTRC.cjs",
            "/r/eslint.config.mts",
            "/u/.baſhrc",
            "/r/.Claude/Settings.json",
            "/r/.kontourai/flow-agents/s/state.json",
            "/r/.flow-agents/a/b/trust.bundle",
            "/r/.git/hooks/pre-commit",
            "/r/.git/hooks",
            "/r/delivery/trust.bundle",
            "/r/delivery/s/trust.bundle",
            "/r/.husky/_/x",
            "/r/.git/modules/a/b/hooks/x",
        ] {
            assert!(found(path), "{path}");
        }
        for path in [
            "/r/biome.json.bak",
            "/r/my-biome.json",
            "/r/src/state.json",
            "/r/settings.json",
            "/r/delivery/a/b/trust.bundle",
            "/r/x.kontourai/flow-agents/s/state.json",
            "/r/flow-agents/s/state.json",
            "/r/.git/HEAD",
            "/r/trust.bundle",
            "/r/.config",
            "/r/.kontourai/flow-agents/s/notes.md",
            "/",
            "/r/config",
            "/r/hooks/x.json",
        ] {
            assert!(!found(path), "{path}");
        }
    }

    #[test]
    fn what_is_not_known_counts_where_the_rest_says_which_file_it_is() {
        for path in [
            "…/.bashrc",
            "/r/.eslintrc…",
            "/r/.eslintrc.…",
            "…biome.json",
            "/r/.claude/…",
            "/r/.git/hooks/…",
            "…/state.json",
            "/r/.kontourai/flow-agents/…/state.json",
            "/r/.kontourai/flow-agents/s/…",
            "…/trust.bundle",
            "/r/.kontourai/…/state.json",
        ] {
            assert!(perhaps(path, false), "{path}");
        }
        for path in [
            "…",
            "/r/…",
            "/r/….json",
            "…/x.json",
            "/r/src/…",
            "/r/delivery/…",
            "/r/….ts",
            "src/….config",
            "/r/out…/notes.md",
            "…/config.toml",
            "…/hooks/x",
        ] {
            assert!(!perhaps(path, false), "{path}");
        }
        assert!(perhaps("state.json", true) && !perhaps("state.json", false));
        assert!(!perhaps("notes.json", true));
    }

    #[test]
    fn folders_that_hold_what_is_protected_are_known_by_name() {
        let sure = |path: &str| Guard::new().folder(Path::new(path)).map(|(_, only_if)| !only_if);
        assert_eq!(sure("/r/.kontourai"), Some(true));
        assert_eq!(sure("/r/.kontourai/flow-agents/s"), Some(true));
        assert_eq!(sure("/r/.git"), Some(true));
        assert_eq!(sure("/r/delivery"), Some(false));
        assert_eq!(sure("/r/scripts/hooks"), Some(false));
        assert_eq!(sure("/r/node_modules"), None);
        assert_eq!(sure("/r"), None);
    }

    #[test]
    fn wildcards_meet() {
        let bits = |text: &str| -> Vec<Bit> {
            text.chars().map(|c| if c == '*' { Bit::Star } else { Bit::Char(c) }).collect()
        };
        for (a, b, met) in [
            ("abc", "abc", true),
            ("abc", "a*", true),
            ("a*c", "*bc", true),
            ("a*", "b*", false),
            ("", "*", true),
            ("", "a", false),
            ("*a*b", "ab*", true),
            ("abc", "ab", false),
            ("*", "", true),
            ("a**c", "abbc", true),
            ("*x", "ay*", true),
            ("*x", "ay", false),
        ] {
            assert_eq!(meet(&bits(a), &bits(b)), met, "{a} {b}");
            assert_eq!(meet(&bits(b), &bits(a)), met, "{b} {a}");
        }
        assert!(!meet(&bits(&"*a".repeat(2000)), &bits(&"b".repeat(200))));
    }
}
