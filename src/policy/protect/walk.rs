//! A walk through a shell text: which commands run, with which arguments, variables and folders, as far as the text tells.
//!
//! The walk takes no branch: what may run is looked at, and a variable that may have been set has both values. It stops at
//! the first finding.

use super::guard::Guard;
use super::mentions::Mentions;
use super::place::Place;
use super::{Finding, What};
use crate::policy::rules::Rules;
use crate::policy::shell::{
    Assign, Bit, Command, Field, Join, LONGEST, Redirect, Script, Step, Value, Values, Word, expand, size,
};
use std::collections::HashMap;
use std::path::PathBuf;

/// Texts within texts (`bash -c "bash -c …"`).
const DEEPEST: usize = 10;
/// Commands of one call.
const MOST_COMMANDS: usize = 50_000;
/// Commands within commands (`sudo sudo …`).
const MOST_NESTED: usize = 48;
/// Work for one call, in pieces of words that are looked at or kept. It bounds what grows with two things at once.
const MOST_WORK: usize = 48 << 20;
/// What it takes to look into folders.
pub(super) const LISTING: usize = 40_000;
/// What one variable, or the folder, may be.
pub(super) const MOST_VALUES: usize = 16;
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
    pub(super) left: Vec<Option<PathBuf>>,
    /// Links that the text makes.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Aliases of git that it makes.
    pub(super) aliases: Vec<(String, String)>,
    /// Folders that it makes.
    pub(super) made: Vec<PathBuf>,
    /// The texts so far, for what they mention.
    texts: Vec<String>,
    /// What the command before printed, if that is known.
    pub(super) printed: Option<Field>,
    variables: HashMap<String, Vec<Value>>,
    exports: Vec<(String, Value)>,
    depth: usize,
    commands: usize,
    work: usize,
    pub(super) nested: usize,
    /// Whether the text that is walked through runs exactly once, in this shell.
    certain: bool,
    /// Whether a function is defined, in which the positional parameters are others.
    functions: bool,
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
            aliases: Vec::new(),
            made: Vec::new(),
            texts: Vec::new(),
            printed: None,
            variables: HashMap::new(),
            exports: Vec::new(),
            depth: 0,
            commands: 0,
            work: 0,
            nested: 0,
            certain: true,
            functions: false,
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

    /// A variable may have this value, too.
    pub(super) fn may_be(&mut self, name: &str, value: Field) {
        self.assign(name, &[Some(vec![value])], false);
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

    /// Counts work, and gives up where it becomes too much.
    pub(super) fn spend(&mut self, work: usize) {
        self.work = self.work.saturating_add(work);
        if self.work > MOST_WORK {
            self.find(What::Deep, "", String::new(), None);
        }
    }

    /// Runs a command, unless it is within too many others.
    pub(super) fn command(&mut self, list: &[Field], setting: &Setting) {
        if self.nested >= MOST_NESTED {
            return self.find(What::Deep, "", String::new(), None);
        }
        self.nested += 1;
        self.spend(size(list) + setting.variables.len());
        self.one_command(list, setting);
        self.nested -= 1;
    }

    /// Walks through shell text.
    pub(super) fn text(&mut self, text: &str) {
        if self.depth >= DEEPEST {
            return self.find(What::Deep, "", String::new(), None);
        }
        self.spend(text.len());
        let script = Script::parse(text);
        self.depth += 1;
        self.texts.push(text.to_owned());
        self.script(&script);
        self.depth -= 1;
    }

    /// Walks through shell text that a process of its own runs, and that need not all be known.
    pub(super) fn field_text(&mut self, field: &Field) {
        self.apart(|walk| walk.text_here(field, true));
    }

    /// Walks through shell text that this shell runs; `sure`: exactly once.
    pub(super) fn text_here(&mut self, field: &Field, sure: bool) {
        let certain = self.certain;
        self.certain &= sure;
        self.some_text(field);
        self.certain = certain;
    }

    fn some_text(&mut self, field: &Field) {
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

    /// What the texts mention, wherever that goes. It is seldom asked for, and takes a look at every word.
    pub(super) fn mentions(&mut self) -> Mentions {
        self.spend(self.texts.iter().map(|text| 4 * text.len()).sum());
        let mut mentions = Mentions::default();
        for text in &self.texts {
            mentions.gather(&Script::parse(text), &|word| self.named(word));
        }
        mentions
    }

    /// Blocks something that is not known at all if the text mentions what it must not be.
    pub(super) fn mentioned(&mut self, field: &Field, how: &str) {
        let mentions = self.mentions();
        if let Some((path, entry)) = mentions.path {
            self.find(What::File(entry), how, path, field.unknown.clone());
        } else if let Some(option) = mentions.long {
            self.find(What::Hooks, &option, "git".to_owned(), field.unknown.clone());
        }
    }

    fn script(&mut self, script: &Script) {
        if script.deep {
            self.find(What::Deep, "", String::new(), None);
        }
        self.functions |= script.functions;
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
                Step::Open => {
                    self.spend(self.copied());
                    scopes.push((self.variables.clone(), self.cwd.clone(), self.exports.clone()));
                }
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
        let fields = expand(word, self, false).concat();
        self.spend(size(&fields));
        fields
    }

    fn run(&mut self, script: &Script, command: &Command) {
        self.commands += 1;
        self.spend(self.exports.len() + self.cwd.len() + self.links.len());
        if self.commands > MOST_COMMANDS {
            return self.find(What::Deep, "", String::new(), None);
        }
        let before = self.printed.take().filter(|_| command.fed);
        let mut setting = Setting {
            sure: command.sure && self.certain,
            chained: command.chained && self.certain,
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
                self.assign(&name, &values, setting.sure);
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
            if let ([list], [more]) = (lists.as_mut_slice(), alternatives.as_mut_slice()) {
                list.append(more);
                continue;
            }
            self.spend(lists.iter().map(|list| size(list)).sum::<usize>() * alternatives.len());
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
        if held.len() > MOST_VALUES
            || held.iter().flatten().map(|fields| size(fields)).sum::<usize>() > LONGEST
        {
            *held = vec![None];
        }
    }

    /// How much a copy of what is known takes.
    fn copied(&self) -> usize {
        let of = |value: &Value| value.as_ref().map_or(8, |fields| 8 + size(fields));
        let variables: usize = self.variables.values().flatten().map(of).sum();
        variables + self.exports.iter().map(|(_, value)| of(value)).sum::<usize>()
    }

    /// Does something as a process of its own would: what it sets is gone afterwards.
    pub(super) fn apart(&mut self, act: impl FnOnce(&mut Self)) {
        self.spend(self.copied());
        let kept = (self.variables.clone(), self.cwd.clone(), self.exports.clone());
        act(self);
        (self.variables, self.cwd, self.exports) = kept;
    }
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
            let other = self.functions
                && (name == "@" || name == "*" || name.starts_with(|c: char| c.is_ascii_digit()));
            return values.iter().cloned().chain(other.then_some(None)).collect();
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
