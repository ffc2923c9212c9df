//! Lists of files that programs print: of them only the protected ones are kept, and that there may be others.

use super::printed::lines_of;
use super::walk::Walk;
use super::{git, git_call};
use crate::policy::shell::{Bit, Field};
use std::path::Path;

/// What else a list may have: no protected file.
const OTHERS: &str = "other files of a list";

/// Whether a field stands for files that are not protected.
pub(super) fn is_others(field: &Field) -> bool {
    field.is_any() && field.unknown.as_deref() == Some(OTHERS)
}

impl Walk<'_> {
    /// What a program that lists files prints.
    pub(super) fn files_printed(&mut self, name: &str, arguments: &[Field]) -> Option<Field> {
        let here = Field::of(".");
        let mut operands: Vec<&Field> = arguments.iter().filter(|field| !git::starts(field, "-")).collect();
        let hits: Vec<Field> = match name {
            "git" => {
                let (command, paths) = operands.split_first()?;
                match command.literal()?.as_str() {
                    "ls-files" => {
                        let names: Vec<Field> = paths.iter().map(|field| git_call::globs(field)).collect();
                        self.protected_below(&[&here], &names)
                    }
                    "ls-tree" => self.protected_below(&[&here], &[]),
                    "grep" => return self.files_with(arguments.get(1..).unwrap_or_default()),
                    _ => return None,
                }
            }
            "ls" | "dir" | "stat" | "wc" | "file" | "md5sum" | "sha256sum" | "shasum" | "cksum" => {
                // Files that are named are all that is printed.
                let all_files = !operands.is_empty() && operands.iter().all(|operand| self.is_file(operand));
                if operands.is_empty() {
                    operands.push(&here);
                }
                let hits: Vec<Field> =
                    operands.into_iter().flat_map(|operand| self.listed(operand)).collect();
                if all_files {
                    return Some(lines_of(hits));
                }
                hits
            }
            "fd" | "fdfind" | "locate" => {
                let pattern = operands.first().and_then(|field| field.literal()).unwrap_or_default();
                let hits = self.protected_below(operands.get(1..).unwrap_or_default(), &[]);
                hits.into_iter().filter(|hit| may_match(&pattern, &hit.shown())).collect()
            }
            "tree" | "du" => self.protected_below(&operands, &[]),
            "compgen" => self.listed(&here),
            _ => self.found_by(arguments),
        };
        Some(with_others(hits))
    }

    /// The files in which `grep -l` and the like find something.
    pub(super) fn files_with(&mut self, arguments: &[Field]) -> Option<Field> {
        let words: Vec<String> = arguments.iter().filter_map(Field::literal).collect();
        let lists = words.iter().any(|word| {
            let short = word.starts_with('-') && !word.starts_with("--");
            short && word.contains(['l', 'L']) || word.starts_with("--files")
        });
        if !lists {
            return None;
        }
        let all = words.iter().any(|word| word == "--files");
        let mut ended = false;
        let operand = |field: &&Field| {
            let operand = ended || !git::starts(field, "-");
            ended |= field.is("--");
            operand
        };
        let operands: Vec<&Field> = arguments.iter().filter(operand).collect();
        let (pattern, paths) = match operands.split_first() {
            Some((pattern, paths)) if !all => (pattern.literal().unwrap_or_default(), paths),
            _ => (String::new(), operands.as_slice()),
        };
        let mut hits = Vec::new();
        let here = Field::of(".");
        let given = if paths.is_empty() { vec![&here] } else { paths.to_vec() };
        let mut starts = Vec::new();
        for path in given {
            let globbed = path.is_glob() && path.unknown.is_none();
            let bases: Vec<_> = self.cwd.iter().flatten().cloned().collect();
            match path.literal() {
                Some(_) => starts.push(path.clone()),
                None if globbed => starts.extend(bases.iter().flat_map(|base| {
                    self.globbed(path, base).into_iter().map(|path| Field::of(&path.to_string_lossy()))
                })),
                None => return None,
            }
        }
        for hit in self.protected_below(&starts.iter().collect::<Vec<_>>(), &[]) {
            let text = self.place.text(Path::new(&hit.shown())).unwrap_or_default();
            if text.lines().any(|line| may_match(&pattern, line)) || all {
                hits.push(hit);
            }
        }
        Some(with_others(hits))
    }

    fn is_file(&self, operand: &Field) -> bool {
        let path = operand.literal();
        let bases: Vec<_> = self.cwd.iter().flatten().collect();
        path.is_some_and(|path| bases.iter().all(|base| self.place.is_file(&base.join(&path))))
    }

    /// The protected files that `ls` prints of an operand.
    fn listed(&mut self, operand: &Field) -> Vec<Field> {
        let mut names = Vec::new();
        for base in self.cwd.clone().into_iter().flatten() {
            self.spend(8192);
            if self.found.is_some() {
                return names;
            }
            for path in self.globbed(operand, &base) {
                let (within, printed) = if self.place.is_folder(&path) {
                    (path.clone(), self.place.listed(&path))
                } else {
                    let below = path.strip_prefix(&base).unwrap_or(&path);
                    (base.clone(), vec![below.to_string_lossy().into_owned()])
                };
                let protected = printed.into_iter().filter(|name| self.protected(name, &within).is_some());
                names.extend(protected.map(|name| Field::of(&name)).take(8));
            }
        }
        names
    }
}

/// A list of files of which the program may print more.
fn with_others(hits: Vec<Field>) -> Field {
    lines_of(hits.into_iter().chain([Field::any(OTHERS)]))
}

/// Whether a regular expression may match a line: of one of its alternatives every plain part is in it.
fn may_match(pattern: &str, line: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | ' ' | ':' | '"' | '@' | '#');
    let line = line.to_lowercase();
    pattern.to_lowercase().split('|').any(|alternative| {
        // A repeated, optional or grouped part need not be there as it stands.
        let parts = alternative.split(|c| !plain(c)).filter(|part| part.chars().count() > 2);
        let mut parts = parts.map(|part| part.get(1..part.len() - 1).unwrap_or_default());
        parts.all(|part| line.contains(part))
    })
}

/// The lines that `grep` may leave of a text: where its pattern is plain, those that have it, or have it not.
pub(super) fn grep(arguments: &[Field], input: &Field) -> Field {
    let words: Vec<String> = arguments.iter().filter_map(Field::literal).collect();
    let short =
        |c| words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(c));
    let patterns: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let [pattern] = patterns.as_slice() else { return input.clone() };
    let plain = pattern.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | ' '));
    let (inverted, fold) = (short('v'), short('i'));
    if !plain
        || words.len() < arguments.len()
        || words.iter().any(|word| word.starts_with("--"))
        || short('o')
    {
        return input.clone();
    }
    let has = |line: &Field| {
        let (text, pattern) = (line.shown(), pattern.as_str());
        if fold { text.to_lowercase().contains(&pattern.to_lowercase()) } else { text.contains(pattern) }
    };
    let mut left = Field { bits: Vec::new(), unknown: input.unknown.clone() };
    for line in input.parts('\n') {
        if line.bits.contains(&Bit::Any) || has(&line) != inverted {
            left.push(&line);
            left.bits.push(Bit::Char('\n'));
        }
    }
    left
}
