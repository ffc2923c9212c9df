//! The files that a command reaches, and what protects them.

use super::guard::meet;
use super::listings::is_others;
use super::walk::{LISTING, Walk};
use super::{What, printed};
use crate::policy::rules::Entry;
use crate::policy::shell::{Bit, Field};
use std::path::{Path, PathBuf};

impl Walk<'_> {
    /// Something writes to `target`, removes it, or changes its mode.
    pub(super) fn write(&mut self, target: &Field, how: &str) {
        if self.found.is_some() || is_others(target) {
            return;
        }
        self.edited(target, how);
        if target.is_any() || is_descriptor(target) {
            let opened = self.reads.clone().filter(|_| is_descriptor(target));
            if let Some((path, entry)) = self.mentions().path.or(opened) {
                self.find(What::File(entry), how, path, target.unknown.clone());
            } else if printed::is_changed(target) {
                self.find(What::Veiled, how, target.shown(), None);
            }
            return;
        }
        // Every folder of a path is looked at, in every working directory that there may be.
        let folders = target.bits.iter().filter(|bit| **bit == Bit::Char('/')).count();
        self.spend(
            self.cwd.len()
                * (2048 + (folders + 8) * self.links.len() + target.bits.len() * (64 + folders / 16))
                + LISTING * usize::from(target.is_glob()),
        );
        if self.found.is_some() {
            return;
        }
        let bases = self.cwd.clone();
        let absolute = target.bits.first() == Some(&Bit::Char('/'));
        for base in bases {
            let Some(base) = base.or_else(|| absolute.then(PathBuf::new)) else {
                if let Some(entry) = self.guard.look(&target.parts('/'), true) {
                    self.find(
                        What::File(entry),
                        how,
                        target.shown(),
                        Some("the working directory".to_owned()),
                    );
                }
                continue;
            };
            match target.literal() {
                Some(path) => {
                    if let Some(entry) = self.protected(&path, &base) {
                        self.find(What::File(entry), how, path, None);
                    }
                }
                None => self.write_pattern(target, &base, how),
            }
        }
    }

    /// Writes to what a glob names, or to a path that is not all known.
    fn write_pattern(&mut self, target: &Field, base: &Path, how: &str) {
        if target.is_glob() && target.unknown.is_none() {
            for path in self.globbed(target, base) {
                if let Some(entry) = self.protected(&path.to_string_lossy(), base) {
                    return self.find(What::File(entry), how, target.shown(), None);
                }
            }
        }
        let mut parts: Vec<Field> =
            if target.bits.first() == Some(&Bit::Char('/')) || target.bits.first() == Some(&Bit::Any) {
                Vec::new()
            } else {
                base.iter().map(|part| Field::of(&part.to_string_lossy())).collect()
            };
        parts.extend(target.parts('/').into_iter().filter(|part| !part.bits.is_empty()));
        if let Some(entry) = self.guard.look(&parts, false) {
            let unknown =
                target.unknown.clone().unwrap_or_else(|| "the files that the pattern names".to_owned());
            self.find(What::File(entry), how, target.shown(), Some(unknown));
        }
    }

    /// The files that a glob names.
    pub(super) fn globbed(&self, target: &Field, base: &Path) -> Vec<PathBuf> {
        let start = if target.bits.first() == Some(&Bit::Char('/')) { Path::new("/") } else { base };
        let parts: Vec<Field> = target.parts('/').into_iter().filter(|part| !part.bits.is_empty()).collect();
        let matches = |part: &Field, name: &str| {
            let hidden = name.starts_with('.') && part.bits.first() != Some(&Bit::Char('.')) && !self.wide;
            let folded = self.wide && meet(&lower(part).bits, &Field::of(&name.to_lowercase()).bits);
            !hidden && (folded || meet(&part.bits, &Field::of(name).bits))
        };
        self.place.glob(start, &parts, &matches, &Field::literal)
    }

    /// What protects the file that a path names, from `base` on.
    pub(super) fn protected(&self, path: &str, base: &Path) -> Option<Entry<'static>> {
        let mut spellings = vec![path.to_owned()];
        // The kernel's names of the folder and of the root.
        if let Some((_, rest)) = path.strip_prefix("/proc/").and_then(|path| path.split_once('/')) {
            spellings.extend(rest.strip_prefix("cwd/").map(str::to_owned));
            spellings.extend(rest.strip_prefix("root/").map(|path| format!("/{path}")));
        }
        if path.contains('\\') {
            spellings.push(path.replace('\\', "/"));
        }
        let readings = spellings.iter().flat_map(|path| self.place.readings(path, base, &self.links));
        readings.into_iter().find_map(|reading| {
            let entry = self.guard.find(&reading)?;
            let scratch = entry.flag("scratch") && self.place.is_scratch(&reading);
            (!scratch).then_some(entry)
        })
    }

    /// What protects the file that a word would name, were it a path, wherever that starts.
    pub(super) fn named(&self, word: &Field) -> Option<Entry<'static>> {
        let anywhere = self.guard.look(&word.parts('/'), true);
        anywhere.or_else(|| {
            self.cwd.iter().flatten().find_map(|base| match word.literal() {
                Some(path) => self.protected(&path, base),
                None if word.bits.contains(&Bit::Any) || !says_something(word) => None,
                None => self
                    .globbed(word, base)
                    .iter()
                    .find_map(|path| self.protected(&path.to_string_lossy(), base)),
            })
        })
    }

    /// Something takes a folder away, or puts another in its place.
    pub(super) fn whole(&mut self, target: &Field, how: &str) {
        let Some(path) = target.literal().filter(|_| self.found.is_none()) else { return };
        self.spend(self.cwd.len() * 2048);
        for base in self.cwd.clone().into_iter().flatten() {
            for reading in self.place.readings(&path, &base, &self.links) {
                if let Some(entry) = self.held(&reading) {
                    self.find(What::File(entry), how, path.clone(), None);
                }
            }
        }
    }

    /// What is protected in a folder that is one of ours by its name, or the whole workspace.
    fn held(&self, folder: &Path) -> Option<Entry<'static>> {
        let inside = |folder: &Path| self.place.below(folder).iter().find_map(|file| self.guard.find(file));
        if self.place.workspace().starts_with(folder) {
            return inside(self.place.workspace());
        }
        let (entry, only_if_there) = self.guard.folder(folder)?;
        let scratch = entry.flag("scratch") && self.place.is_scratch(folder);
        let may_hold = if only_if_there { inside(folder).is_some() } else { !self.place.is_file(folder) };
        (may_hold && !scratch).then_some(entry)
    }
}

/// Whether a glob names more than any file: `*` is in many texts.
fn says_something(glob: &Field) -> bool {
    glob.bits.iter().filter(|bit| matches!(bit, Bit::Char(c) if c.is_alphanumeric())).count() > 2
}

/// Whether a path is that of a descriptor, which may lead anywhere.
fn is_descriptor(path: &Field) -> bool {
    let text = path.shown();
    let own = matches!(text.as_str(), "/dev/fd/1" | "/dev/fd/2" | "/proc/self/fd/1" | "/proc/self/fd/2");
    !own && (text == "/dev/stdin"
        || text.starts_with("/dev/fd/")
        || text.starts_with("/proc/") && text.contains("/fd/"))
}

fn lower(field: &Field) -> Field {
    let bit = |bit: &Bit| match bit {
        Bit::Char(c) => Bit::Char(c.to_ascii_lowercase()),
        bit => *bit,
    };
    Field { bits: field.bits.iter().map(bit).collect(), unknown: field.unknown.clone() }
}
