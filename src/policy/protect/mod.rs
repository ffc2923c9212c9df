//! `config-protection`: what an agent is held to is not the agent's to change.
//!
//! A call is blocked when it writes, removes or replaces a protected file (configs of linters, profiles, hooks, the state
//! and the evidence of sessions), or when it makes git skip its hooks. What a command does decides, not what it looks like.
//!
//! ```text
//! payload --names--> paths, patches ---------------------------------------> guard: is it protected?
//!    |                                                                          ^
//!    +--runs--> shell text --shell--> walk --commands--> git, programs --write--+
//!                                      ^  |                  |
//!                    texts, scripts ---+  +--------------- code in other languages
//! ```
//!
//! `walk` follows a shell text: variables and functions (`variables`, `commands`), folders, what flows between commands
//! (`streams`, `printed`, `listings`), files that it writes and runs (`files`). What is not known is judged by what the text
//! speaks of (`mentions`).
//!
//! 1. A payload that was cut off is blocked: what it would do is in the part that is missing.
//! 2. A payload that is no JSON is allowed: no host runs it.
//! 3. What cannot be decided is blocked only if the call itself speaks of a protected thing, and the reason says what it was.
//! 4. What a program does by itself (a script that git tracks, a formatter, a checkout of another commit) is not looked into.

mod builtins;
mod commands;
mod files;
mod folders;
mod git;
mod git_call;
mod git_config;
mod guard;
mod listings;
mod mentions;
mod patch;
mod place;
mod printed;
mod programs;
mod reach;
mod streams;
mod variables;
mod walk;

pub use place::Place;

use super::Verdict;
use super::payload::{Named, Payload, Run};
use super::rules::Entry;
use super::shell::Field;
use guard::Guard;
use std::collections::BTreeSet;
use std::path::PathBuf;
use walk::{Setting, Walk};

/// The policy's name, which is its hook id.
pub const ID: &str = "config-protection";

/// Files that one call may name: each is looked for on the disk.
const MOST_PATHS: usize = 4000;

/// Why a call is blocked.
#[derive(Debug)]
struct Finding {
    what: What,
    /// How it is done: `rm on`, `a redirect to`; for hooks the option.
    how: String,
    /// The path or the command.
    shown: String,
    /// What could not be decided.
    unknown: Option<String>,
}

/// What a call would do.
#[derive(Debug, Clone, Copy)]
enum What {
    /// Change a protected file.
    File(Entry<'static>),
    /// Skip the hooks of git.
    Hooks,
    /// Something that is nested too deeply, or too long, to be read.
    Deep,
    /// Run what a program makes of a text.
    Veiled,
}

/// Decides on a call. `payload` is `None` where standard input was no JSON; `truncated`: it was cut off.
///
/// ```
/// use tally::policy::protect::{Place, judge};
/// use tally::policy::{Payload, Verdict};
/// let call = |text| judge(Payload::parse(text).as_ref(), &Place::default(), false);
/// assert_eq!(call(r#"{"tool_name":"Write","tool_input":{"file_path":"src/main.rs"}}"#), Verdict::Allow);
/// assert_ne!(call(r#"{"tool_name":"Bash","tool_input":{"command":"git commit -anm fix"}}"#), Verdict::Allow);
/// ```
#[must_use]
pub fn judge(payload: Option<&Payload>, place: &Place, truncated: bool) -> Verdict {
    if truncated {
        let reason = "BLOCKED: the hook's input was cut off, so what the call would do is not known. Make it smaller: write large \
            content in several steps.";
        return Verdict::Block { reason: reason.to_owned() };
    }
    match payload.and_then(|payload| look(payload, place)) {
        Some(finding) => Verdict::Block { reason: finding.reason() },
        None => Verdict::Allow,
    }
}

/// What is wrong with a call.
fn look(payload: &Payload, place: &Place) -> Option<Finding> {
    let mut place = place.clone();
    if let Some(cwd) = payload.cwd() {
        place.cwd = PathBuf::from(cwd);
    }
    let guard = Guard::new();
    payload.clone().calls().iter().find_map(|call| one(call, &place, &guard))
}

/// What is wrong with one call, without those within it.
fn one(payload: &Payload, place: &Place, guard: &Guard) -> Option<Finding> {
    let mut place = place.clone();
    let paths = payload.names().into_iter().flat_map(|named| match named {
        Named::Path(path) => vec![path],
        Named::Patch(text) => patch::paths(&text),
    });
    let paths: BTreeSet<String> = paths.collect();
    if paths.len() > MOST_PATHS {
        let (how, shown) = (String::new(), String::new());
        return Some(Finding { what: What::Deep, how, shown, unknown: None });
    }
    let found = paths.iter().find_map(|path| file(path, &place, guard));
    if found.is_some() {
        return found;
    }
    if payload.removes() {
        let mut walk = Walk::new(&place, guard);
        paths.iter().for_each(|path| walk.whole(&Field::of(path), "taking away"));
        if walk.found.is_some() {
            return walk.found;
        }
    }
    if let Some(folder) = payload.folder() {
        place.cwd.push(folder);
    }
    let variables = payload.variables().into_iter();
    let variables: Vec<_> = variables.map(|(name, value)| (name, Some(vec![Field::of(&value)]))).collect();
    let mut spent = 0;
    for run in payload.runs() {
        let mut walk = Walk::new(&place, guard);
        walk.spend(spent + 16 * variables.len());
        variables.iter().for_each(|(name, value)| walk.export(name, value.clone()));
        match &run {
            Run::Shell(text) => walk.text(text),
            Run::Arguments(list) => {
                let setting = Setting { variables: variables.clone(), ..Setting::default() };
                walk.command(&list.iter().map(|text| Field::of(text)).collect::<Vec<_>>(), &setting);
            }
            Run::Code(text) => walk.code("", text),
        }
        if walk.found.is_some() {
            return walk.found;
        }
        spent = walk.work;
    }
    None
}

/// What is wrong with writing the file that a tool names.
fn file(path: &str, place: &Place, guard: &Guard) -> Option<Finding> {
    // As some hosts read it: without the sign of a mention.
    let path = path.trim_start_matches(['@', '\u{feff}']);
    let path = uri(path).unwrap_or_else(|| path.to_owned());
    let path = match (path.strip_prefix("~/"), &place.home) {
        (Some(below), Some(home)) => format!("{home}/{below}"),
        (Some(below), None) => below.to_owned(),
        (None, _) => path,
    };
    let spellings = [path.clone(), path.replace('\\', "/")];
    let found = spellings
        .iter()
        .flat_map(|path| place.readings(path, &place.cwd, &[]))
        .find_map(|path| guard.find(&path))?;
    Some(Finding { what: What::File(found), how: "a change of".to_owned(), shown: path, unknown: None })
}

/// The path of a `file:` URI.
fn uri(text: &str) -> Option<String> {
    let (scheme, path) = text.split_at_checked(5)?;
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    let path = path.split(['#', '?']).next().unwrap_or(path);
    let path = path.strip_prefix("//localhost").or_else(|| path.strip_prefix("//")).unwrap_or(path);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        match after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

impl Finding {
    fn reason(&self) -> String {
        let unknown = self.unknown.as_ref().map(|unknown| {
            format!(" What could not be decided is {unknown}: spell it out, if it is harmless.")
        });
        let unknown = unknown.unwrap_or_default();
        match self.what {
            What::File(entry) => format!(
                "BLOCKED: {} {} is not allowed. It is {}. {}{unknown} Never disable this hook: it keeps what work is measured by.",
                self.how,
                self.shown,
                entry.text("what"),
                entry.text("instead"),
            ),
            What::Hooks => format!(
                "BLOCKED: `{}` would bypass git's verification hooks ({}). Fix what the hook finds, and leave the \
                 option away.{unknown} Never disable this hook: it keeps what work is measured by.",
                self.shown, self.how,
            ),
            What::Veiled => format!(
                "BLOCKED: {} what comes out of a text that a program changes first could do anything; what it is could not be \
                 decided. Spell it out. Never disable this hook: it keeps what work is measured by.",
                self.how,
            ),
            What::Deep => "BLOCKED: the command is nested so deeply, or is so long, that what it does could not be decided. Run it in \
                parts. Never disable this hook: it keeps what work is measured by."
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod calls;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
