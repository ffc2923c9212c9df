//! A walk through a shell text: which commands run, with which arguments, variables and folders, as far as the text tells.
//!
//! The walk takes no branch: what may run is looked at, and a variable that may have been set has both values. It stops at
//! the first finding.

use super::files::Files;
use super::guard::Guard;
use super::mentions::Known;
use super::place::Place;
use super::streams::{Input, Stream};
use super::{Finding, What, printed};
use crate::policy::rules::{Entry, Rules};
use crate::policy::shell::{
    Bit, Command, Field, Group, Join, Script, Step, Value, Values, Word, expand, size,
};
use std::collections::HashMap;
use std::path::PathBuf;

/// Texts within texts (`bash -c "bash -c …"`).
pub(super) const DEEPEST: usize = 10;
/// Commands of one call.
const MOST_COMMANDS: usize = 50_000;
/// Commands within commands (`sudo sudo …`).
const MOST_NESTED: usize = 48;
/// Work for one call, in pieces of words that are looked at or kept. It bounds what grows with two things at once.
const MOST_WORK: usize = 32 << 20;
/// What it takes to look into folders.
pub(super) const LISTING: usize = 80_000;
/// What one variable, or the folder, may be.
pub(super) const MOST_VALUES: usize = 16;
/// Calls of functions that are followed, unless their arguments speak of what is protected.
pub(super) const MOST_CALLS: usize = 64;
/// Argument lists of one command.
const MOST_LISTS: usize = 64;

/// The walk, and what is known so far.
pub(super) struct Walk<'a> {
    pub(super) place: &'a Place,
    pub(super) guard: &'a Guard,
    pub(super) rules: &'static Rules,
    pub(super) found: Option<Finding>,
    pub(super) cwd: Vec<Option<PathBuf>>,
    /// Folders that the text has been in.
    pub(super) been: Vec<PathBuf>,
    /// Folders that a command of this chain has left, if it succeeded.
    pub(super) left: Vec<Option<PathBuf>>,
    /// Links that the text makes.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Aliases of git that it makes.
    pub(super) aliases: Vec<(String, String)>,
    /// Folders that it makes.
    pub(super) made: Vec<PathBuf>,
    /// The texts so far, for what they mention; how many of them were searched for suspicious words in vain; and what
    /// was found in them.
    pub(super) texts: Vec<String>,
    pub(super) suspects: usize,
    pub(super) known: Option<Known>,
    /// What the command before printed, if that is known.
    pub(super) printed: Option<Field>,
    /// What the compound commands that are open read, and what they have printed so far.
    pub(super) streams: Vec<Stream>,
    /// What the descriptors hold that the text has opened.
    pub(super) opened: Option<Field>,
    /// Files whose text is known.
    pub(super) files: Files,
    /// A protected file that is opened to be read: a descriptor may lead to it.
    pub(super) reads: Option<(String, Entry<'static>)>,
    /// Variables that stand for others: `declare -n`.
    pub(super) refs: Vec<(String, String)>,
    /// Whether globs match what is hidden, and without case.
    pub(super) wide: bool,
    /// Whether every variable that is set is exported.
    pub(super) exporting: bool,
    /// Aliases of the shell.
    pub(super) names: Vec<(String, Field)>,
    pub(super) variables: HashMap<String, Vec<Value>>,
    pub(super) exports: Vec<(String, Value)>,
    pub(super) depth: usize,
    commands: usize,
    pub(super) work: usize,
    pub(super) nested: usize,
    /// Whether the text that is walked through runs exactly once, in this shell.
    pub(super) certain: bool,
    /// The functions that are defined, in which the positional parameters are others.
    pub(super) functions: Vec<(String, Script)>,
    /// How often functions were run.
    pub(super) calls: usize,
}

/// How one command runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Setting {
    /// Variables that are set for it.
    pub(super) variables: Vec<(String, Value)>,
    /// What comes in on standard input.
    pub(super) input: Input,
    /// Whether the next command reads what it prints.
    pub(super) piped: bool,
    /// Whether the next command runs only if it succeeds.
    pub(super) leads: bool,
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
            been: Vec::new(),
            left: Vec::new(),
            links: Vec::new(),
            aliases: Vec::new(),
            made: Vec::new(),
            texts: Vec::new(),
            suspects: 0,
            known: None,
            printed: None,
            streams: Vec::new(),
            opened: None,
            files: Files::default(),
            reads: None,
            refs: Vec::new(),
            wide: false,
            exporting: false,
            names: Vec::new(),
            variables: HashMap::new(),
            exports: Vec::new(),
            depth: 0,
            commands: 0,
            work: 0,
            nested: 0,
            certain: true,
            functions: Vec::new(),
            calls: 0,
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
        self.spend(size(list) + 8 * list.len() + 16 * setting.variables.len());
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
        self.printed = Some(self.prints(|walk| walk.script(&script)));
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

    pub(super) fn some_text(&mut self, field: &Field) {
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
        if printed::is_edited(field) {
            self.find(What::Veiled, "running", field.shown(), None);
        }
    }

    pub(super) fn script(&mut self, script: &Script) {
        if script.deep {
            self.find(What::Deep, "", String::new(), None);
        }
        for function in &script.functions {
            self.spend(64 * (1 + function.end - function.start) + script.groups.len());
            if self.found.is_some() {
                return;
            }
            self.functions.push((function.name.to_lowercase(), script.body(function)));
        }
        let mut scopes = Vec::new();
        let mut groups = script.groups.iter().filter(|group| group.start < group.end).peekable();
        let mut open: Vec<&Group> = Vec::new();
        for (at, step) in script.steps.iter().enumerate() {
            if self.found.is_some() {
                return;
            }
            while let Some(group) = open.pop_if(|group| group.end <= at) {
                self.leave(group);
            }
            while let Some(group) = groups.next_if(|group| group.start <= at) {
                self.enter(script, group);
                open.push(group);
            }
            match step {
                Step::Run(command) => self.run(script, command),
                Step::Look(word) => drop(expand(word, self, true)),
                Step::For(name, words) => self.each(name, words.as_deref()),
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
        while let Some(group) = open.pop() {
            self.leave(group);
        }
    }

    /// A loop gives a variable each of the words.
    fn each(&mut self, name: &str, words: Option<&[Word]>) {
        let values: Vec<Value> = match words {
            Some(words) => {
                let fields: Vec<Field> = words.iter().flat_map(|word| self.expand(word)).collect();
                fields.into_iter().map(|field| Some(vec![field])).take(MOST_VALUES * 4).collect()
            }
            None => self.parameter("@"),
        };
        self.variables.insert(name.to_owned(), if values.is_empty() { vec![None] } else { values });
    }

    /// All fields that a word may become.
    pub(super) fn expand(&mut self, word: &Word) -> Vec<Field> {
        let fields = expand(word, self, false).concat();
        self.spend(size(&fields));
        fields
    }

    fn run(&mut self, script: &Script, command: &Command) {
        self.commands += 1;
        self.spend(16 * (self.exports.len() + self.cwd.len()));
        if self.commands > MOST_COMMANDS {
            return self.find(What::Deep, "", String::new(), None);
        }
        let held = self.printed.take();
        let mut setting = Setting {
            sure: command.sure && self.certain,
            chained: command.chained && self.certain,
            variables: self.exports.clone(),
            input: Input::Nothing,
            piped: command.join == Join::Pipe,
            leads: command.join == Join::And,
        };
        let assigned: Vec<(String, Vec<Value>)> =
            command.assigns.iter().map(|assign| (assign.name.clone(), self.assigned(assign))).collect();
        let lists = self.lists(&command.words);
        let input = self.redirected(script, &command.redirects);
        setting.input = match (input, command.fed) {
            (Some(input), _) => input,
            (None, true) => held.clone().map_or(Input::Unknown, Input::Known),
            (None, false) => self.inherited(),
        };
        let targets = self.targets(&command.redirects);
        let declares = lists.iter().any(|list| {
            let name = list.first().and_then(Field::literal);
            matches!(name.as_deref(), Some("export" | "declare" | "typeset" | "local" | "readonly"))
        });
        let refers = declares && lists.iter().flatten().any(|field| field.is("-n"));
        if refers {
            self.refer(&assigned);
        } else if command.words.is_empty() || declares {
            assigned
                .iter()
                .for_each(|(name, values)| self.keep_variable(name, values, declares, setting.sure));
        } else {
            let values = |(name, values): (String, Vec<Value>)| {
                values.into_iter().map(move |value| (name.clone(), value))
            };
            setting.variables.extend(assigned.into_iter().flat_map(values));
        }
        // What a compound command printed is what its redirects are about.
        // `$(<FILE)` prints the file.
        let read = setting.input.known().filter(|_| !self.streams.is_empty()).cloned();
        let mut outputs = if command.words.is_empty() { vec![held.or(read)] } else { Vec::new() };
        for list in lists {
            if self.found.is_none() && !list.is_empty() {
                self.command(&list, &setting);
                outputs.push(self.printed.take());
            }
        }
        self.put(command, outputs, &targets);
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
            if let [more] = alternatives.as_mut_slice() {
                self.spend(lists.len() * (size(more) + 64 * more.len()));
                if let [list] = lists.as_mut_slice() {
                    list.append(more);
                } else {
                    lists.iter_mut().for_each(|list| list.extend_from_slice(more));
                }
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
