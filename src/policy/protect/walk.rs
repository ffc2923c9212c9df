//! A walk through a shell text: which commands run, with which arguments, variables and folders, as far as the text tells.
//!
//! The walk takes no branch: what may run is looked at, and a variable that may have been set has both values. It stops at
//! the first finding.

use super::guard::Guard;
use super::place::{Place, normal};
use super::{Finding, What};
use crate::policy::rules::{Entry, Rules};
use crate::policy::shell::{
    Assign, Bit, Command, Field, Join, Redirect, Script, Step, Value, Values, Word, expand,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Texts within texts (`bash -c "bash -c …"`).
const DEEPEST: usize = 10;
/// Commands of one call.
const MOST_COMMANDS: usize = 50_000;
/// What one variable, or the folder, may be.
const MOST_VALUES: usize = 16;
/// Argument lists of one command.
const MOST_LISTS: usize = 64;

/// The walk, and what is known so far.
pub(super) struct Walk<'a> {
    pub(super) place: &'a Place,
    pub(super) guard: &'a Guard,
    pub(super) rules: &'static Rules,
    pub(super) found: Option<Finding>,
    pub(super) cwd: Vec<Option<PathBuf>>,
    /// Folders that a command of this chain has left, if it succeeded.
    left: Vec<Option<PathBuf>>,
    /// Links that the text makes.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Folders that it makes.
    pub(super) made: Vec<PathBuf>,
    /// What it mentions, wherever that goes.
    pub(super) mentions: super::mentions::Mentions,
    /// What the command before printed, if that is known.
    pub(super) printed: Option<Field>,
    variables: HashMap<String, Vec<Value>>,
    exports: Vec<(String, Value)>,
    depth: usize,
    commands: usize,
}

/// How one command runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Setting {
    /// Variables that are set for it.
    pub(super) variables: Vec<(String, Value)>,
    /// What comes in on standard input, if that is known.
    pub(super) input: Option<Field>,
    /// Whether it runs exactly once.
    pub(super) sure: bool,
    /// Whether it runs at most once, after one that is sure to run and succeeded.
    pub(super) chained: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(place: &'a Place, guard: &'a Guard) -> Self {
        Self {
            place,
            guard,
            rules: Rules::shipped(),
            found: None,
            cwd: vec![Some(place.cwd.clone())],
            left: Vec::new(),
            links: Vec::new(),
            made: Vec::new(),
            mentions: super::mentions::Mentions::default(),
            printed: None,
            variables: HashMap::new(),
            exports: Vec::new(),
            depth: 0,
            commands: 0,
        }
    }

    /// Sets a variable for all that runs.
    pub(super) fn export(&mut self, name: &str, value: Value) {
        self.exports.push((name.to_owned(), value));
    }

    /// Sets the positional parameters.
    pub(super) fn positional(&mut self, fields: &[Field]) {
        for (at, field) in fields.iter().enumerate().take(9) {
            self.variables.insert((at + 1).to_string(), vec![Some(vec![field.clone()])]);
        }
        for name in ["@", "*"] {
            self.variables.insert(name.to_owned(), vec![Some(fields.to_vec())]);
        }
    }

    /// Forgets what a variable holds.
    pub(super) fn forget(&mut self, name: &str) {
        self.variables.insert(name.to_owned(), vec![None]);
    }

    /// Adds to the findings, of which the first counts.
    pub(super) fn find(&mut self, what: What, how: &str, shown: String, unknown: Option<String>) {
        if self.found.is_none() {
            self.found = Some(Finding { what, how: how.to_owned(), shown, unknown });
        }
    }

    /// Walks through shell text.
    pub(super) fn text(&mut self, text: &str) {
        if self.depth >= DEEPEST {
            return self.find(What::Deep, "", String::new(), None);
        }
        let script = Script::parse(text);
        self.depth += 1;
        self.mentions.gather(&script, self.guard);
        self.script(&script);
        self.depth -= 1;
    }

    /// Walks through shell text that is not all known.
    pub(super) fn field_text(&mut self, field: &Field) {
        if !field.is_any() {
            // What is not known stands as a parameter of that name.
            let text: String = field
                .bits
                .iter()
                .map(|bit| match bit {
                    Bit::Char(c) => c.to_string(),
                    Bit::One => "?".to_owned(),
                    Bit::Star => "*".to_owned(),
                    Bit::Any => "${…}".to_owned(),
                })
                .collect();
            return self.text(&text);
        }
        self.mentioned(field, "running");
    }

    /// Blocks something that is not known at all if the text mentions what it must not be.
    pub(super) fn mentioned(&mut self, field: &Field, how: &str) {
        if let Some((path, entry)) = self.mentions.path.clone() {
            self.find(What::File(entry), how, path, field.unknown.clone());
        } else if let Some(option) = self.mentions.long.clone() {
            self.find(What::Hooks, &option, "git".to_owned(), field.unknown.clone());
        }
    }

    fn script(&mut self, script: &Script) {
        if script.deep {
            self.find(What::Deep, "", String::new(), None);
        }
        let mut scopes = Vec::new();
        for step in &script.steps {
            if self.found.is_some() {
                return;
            }
            match step {
                Step::Run(command) => self.run(script, command),
                Step::Look(word) => drop(expand(word, self, true)),
                Step::For(name, words) => {
                    let fields =
                        words.as_ref().map(|words| words.iter().flat_map(|word| self.expand(word)).collect());
                    let values = match fields {
                        Some(fields) => Vec::into_iter(fields)
                            .map(|field: Field| Some(vec![field]))
                            .take(MOST_VALUES * 4)
                            .collect(),
                        None => self.parameter("@"),
                    };
                    self.variables.insert(name.clone(), if values.is_empty() { vec![None] } else { values });
                }
                Step::Open => scopes.push((self.variables.clone(), self.cwd.clone(), self.exports.clone())),
                Step::Close => {
                    if let Some((variables, cwd, exports)) = scopes.pop() {
                        (self.variables, self.cwd, self.exports) = (variables, cwd, exports);
                    }
                }
            }
        }
    }

    /// All fields that a word may become.
    fn expand(&mut self, word: &Word) -> Vec<Field> {
        expand(word, self, false).concat()
    }

    fn run(&mut self, script: &Script, command: &Command) {
        self.commands += 1;
        if self.commands > MOST_COMMANDS {
            return self.find(What::Deep, "", String::new(), None);
        }
        let before = self.printed.take().filter(|_| command.fed);
        let mut setting = Setting {
            sure: command.sure,
            chained: command.chained,
            variables: self.exports.clone(),
            input: before,
        };
        let assigned: Vec<(String, Vec<Value>)> =
            command.assigns.iter().map(|assign| (assign.name.clone(), self.assigned(assign))).collect();
        let lists = self.lists(&command.words);
        for redirect in &command.redirects {
            match redirect {
                Redirect::Write(word) => {
                    for field in self.expand(word) {
                        self.write(&field, "a redirect to");
                    }
                }
                Redirect::Read(word) => {
                    self.expand(word);
                    setting.input = None;
                }
                Redirect::Text(word) => setting.input = expand(word, self, true).concat().into_iter().next(),
                Redirect::Here(body) => {
                    let body = script.bodies.get(*body);
                    setting.input =
                        body.and_then(|word| expand(word, self, true).concat().into_iter().next());
                }
            }
        }
        let declares = lists.iter().any(|list| {
            let name = list.first().and_then(Field::literal);
            matches!(name.as_deref(), Some("export" | "declare" | "typeset" | "local" | "readonly"))
        });
        for (name, values) in assigned {
            if command.words.is_empty() || declares {
                self.assign(&name, &values, command.sure);
                if declares || self.exports.iter().any(|(exported, _)| *exported == name) {
                    self.exports.extend(values.iter().map(|value| (name.clone(), value.clone())));
                }
            } else {
                setting.variables.extend(values.into_iter().map(|value| (name.clone(), value)));
            }
        }
        for list in lists {
            if self.found.is_none() && !list.is_empty() {
                self.command(&list, &setting);
            }
        }
        if command.join != Join::And {
            let left = std::mem::take(&mut self.left);
            self.cwd.extend(left);
            self.settle();
        }
    }

    /// The argument lists that words may become.
    fn lists(&mut self, words: &[Word]) -> Vec<Vec<Field>> {
        let mut lists: Vec<Vec<Field>> = vec![Vec::new()];
        for word in words {
            let mut alternatives = expand(word, self, false);
            if lists.len() * alternatives.len() > MOST_LISTS {
                alternatives = vec![vec![Field::any("too many possible words")]];
            }
            lists = lists
                .iter()
                .flat_map(|list| alternatives.iter().map(|more| [list.as_slice(), more].concat()))
                .collect();
        }
        lists
    }

    fn assigned(&mut self, assign: &Assign) -> Vec<Value> {
        let values: Vec<Value> = if assign.list {
            vec![Some(assign.values.iter().flat_map(|word| self.expand(word)).collect())]
        } else {
            let word = assign.values.first();
            word.map(|word| expand(word, self, true).into_iter().map(Some).collect()).unwrap_or_default()
        };
        if !assign.append {
            return values;
        }
        let old = self.parameter(&assign.name);
        let joined = old
            .iter()
            .flat_map(|old| values.iter().map(move |new| join(old.as_ref()?, new.as_ref()?, assign.list)));
        joined.take(MOST_VALUES).collect()
    }

    fn assign(&mut self, name: &str, values: &[Value], sure: bool) {
        let held = self
            .variables
            .entry(name.to_owned())
            .or_insert_with(|| if sure { Vec::new() } else { vec![None] });
        if sure {
            held.clear();
        }
        held.extend(values.iter().cloned());
        if held.len() > MOST_VALUES {
            *held = vec![None];
        }
    }

    /// Something writes to `target`, removes it, or changes its mode.
    pub(super) fn write(&mut self, target: &Field, how: &str) {
        if self.found.is_some() {
            return;
        }
        if target.is_any() {
            if let Some((path, entry)) = self.mentions.path.clone() {
                self.find(What::File(entry), how, path, target.unknown.clone());
            }
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
            let hidden = name.starts_with('.') && part.bits.first() != Some(&Bit::Char('.'));
            !hidden && super::guard::meet(&part.bits, &Field::of(name).bits)
        };
        self.place.glob(start, &parts, &matches, &Field::literal)
    }

    /// What protects the file that a path names, from `base` on.
    pub(super) fn protected(&self, path: &str, base: &Path) -> Option<Entry<'static>> {
        let mut spellings = vec![path.to_owned()];
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

    /// Something takes a folder away, or puts another in its place.
    pub(super) fn whole(&mut self, target: &Field, how: &str) {
        let Some(path) = target.literal().filter(|_| self.found.is_none()) else { return };
        for base in self.cwd.clone().into_iter().flatten() {
            for reading in self.place.readings(&path, &base, &self.links) {
                let Some((entry, only_if_there)) = self.guard.folder(&reading) else { continue };
                let there = || self.place.below(&reading).iter().any(|file| self.guard.find(file).is_some());
                if !(entry.flag("scratch") && self.place.is_scratch(&reading)) && (!only_if_there || there())
                {
                    self.find(What::File(entry), how, path.clone(), None);
                }
            }
        }
    }

    /// Changes the folder. What is joined by `&&` runs only where that succeeded; what comes later may run in either.
    pub(super) fn change_folder(&mut self, target: Option<&Field>, setting: &Setting) {
        let home = self.place.home.clone().map(|home| Field::of(&home));
        let path = target.cloned().or(home).and_then(|field| field.literal()).filter(|path| path != "-");
        let new = self
            .cwd
            .iter()
            .map(|base| path.as_ref().and_then(|path| joined(base.as_deref(), path)))
            .collect();
        let old = std::mem::replace(&mut self.cwd, new);
        let there =
            self.cwd.iter().all(|folder| folder.as_ref().is_some_and(|folder| self.place.is_folder(folder)));
        if !setting.sure && !setting.chained {
            self.cwd.extend(old);
        } else if !(setting.sure && there) {
            self.left.extend(old);
        }
        self.settle();
    }

    /// Keeps the folders few and different.
    fn settle(&mut self) {
        self.cwd.sort();
        self.cwd.dedup();
        if self.cwd.len() > MOST_VALUES {
            self.cwd = vec![None];
        }
    }

    /// Does something in another folder.
    pub(super) fn within(&mut self, folder: Option<&Field>, act: impl FnOnce(&mut Self)) {
        let Some(folder) = folder else { return act(self) };
        let path = folder.literal();
        let moved = self
            .cwd
            .iter()
            .map(|base| path.as_ref().and_then(|path| joined(base.as_deref(), path)))
            .collect();
        let before = std::mem::replace(&mut self.cwd, moved);
        act(self);
        self.cwd = before;
    }

    /// Does something as a process of its own would: what it sets is gone afterwards.
    pub(super) fn apart(&mut self, act: impl FnOnce(&mut Self)) {
        let kept = (self.variables.clone(), self.cwd.clone(), self.exports.clone());
        act(self);
        (self.variables, self.cwd, self.exports) = kept;
    }
}

fn joined(base: Option<&Path>, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    if path.is_absolute() { Some(normal(path)) } else { base.map(|base| normal(&base.join(path))) }
}

/// A value with another added to it.
fn join(old: &[Field], new: &[Field], list: bool) -> Value {
    let mut joined = old.to_vec();
    match (joined.last_mut(), new.first()) {
        (Some(last), Some(first)) if !list => last.push(first),
        _ => joined.extend(new.iter().cloned()),
    }
    Some(joined)
}

impl Values for Walk<'_> {
    fn parameter(&mut self, name: &str) -> Vec<Value> {
        if let Some(values) = self.variables.get(name).filter(|values| !values.is_empty()) {
            return values.clone();
        }
        let known = |text: Option<String>| vec![text.map(|text| vec![Field::of(&text)])];
        match name {
            "PWD" => {
                self.cwd.iter().map(|cwd| Some(vec![Field::of(&cwd.as_ref()?.to_string_lossy())])).collect()
            }
            "HOME" => known(self.place.home.clone()),
            "TMPDIR" => known(self.place.temporary.first().map(|path| path.to_string_lossy().into_owned())),
            _ => vec![None],
        }
    }

    fn output(&mut self, script: &Script) -> Value {
        if self.depth >= DEEPEST {
            self.find(What::Deep, "", String::new(), None);
            return None;
        }
        self.depth += 1;
        let printed = self.printed.take();
        self.apart(|walk| walk.script(script));
        self.depth -= 1;
        let output = std::mem::replace(&mut self.printed, printed);
        let mut field = output.filter(|_| script.steps.len() == 1)?;
        while field.bits.last() == Some(&Bit::Char('\n')) {
            field.bits.pop();
        }
        Some(vec![field])
    }

    fn home(&self) -> Option<String> {
        self.place.home.clone()
    }

    fn separators(&self) -> String {
        let own = self.variables.get("IFS").into_iter().flatten().flatten().flatten();
        let own: String = own.filter_map(Field::literal).collect();
        format!(" \t\n{own}")
    }
}
