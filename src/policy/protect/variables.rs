//! The variables of a walk: what they may hold, and those that programs take commands from.

use super::files::How;
use super::mentions::Mentions;
use super::walk::{DEEPEST, MOST_VALUES, Walk};
use super::{What, git};
use crate::policy::shell::{Assign, Bit, Field, LONGEST, Script, Value, Values, expand, size};

impl Walk<'_> {
    pub(super) fn assigned(&mut self, assign: &Assign) -> Vec<Value> {
        let values: Vec<Value> = if assign.list {
            let fields = assign.values.iter().flat_map(|word| self.expand(word));
            // `[key]=value`
            let plain = |field: Field| match field.bits.as_slice() {
                [Bit::One, Bit::Char('='), ..] => field.after(2),
                _ => field,
            };
            vec![Some(fields.map(plain).collect())]
        } else {
            let word = assign.values.first();
            word.map(|word| expand(word, self, true).into_iter().map(Some).collect()).unwrap_or_default()
        };
        self.spend(values.iter().flatten().map(|fields| size(fields)).sum());
        values.iter().flatten().flatten().for_each(|value| self.heeded(&assign.name, value));
        if !assign.append {
            return values;
        }
        let old = self.parameter(&assign.name);
        let joined = old
            .iter()
            .flat_map(|old| values.iter().map(move |new| join(old.as_ref()?, new.as_ref()?, assign.list)));
        joined.take(MOST_VALUES).collect()
    }

    pub(super) fn assign(&mut self, name: &str, values: &[Value], sure: bool) {
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

    /// What a script prints, without the last newlines.
    fn printed_in(&mut self, script: &Script) -> Option<Field> {
        if self.depth >= DEEPEST {
            self.find(What::Deep, "", String::new(), None);
            return None;
        }
        self.depth += 1;
        let printed = self.printed.take();
        let mut field = self.prints(|walk| walk.apart(|walk| walk.script(script)));
        self.depth -= 1;
        self.printed = printed;
        while field.bits.last() == Some(&Bit::Char('\n')) {
            field.bits.pop();
        }
        Some(field)
    }

    /// Variables that stand for others.
    pub(super) fn refer(&mut self, assigned: &[(String, Vec<Value>)]) {
        for (name, values) in assigned {
            let to = values.iter().flatten().flatten().find_map(Field::literal);
            self.refs.extend(to.map(|to| (name.clone(), to)));
        }
    }

    /// Sets a variable of the shell, which may be exported.
    pub(super) fn keep_variable(&mut self, name: &str, values: &[Value], declared: bool, sure: bool) {
        self.assign(name, values, sure);
        if declared || self.exporting || self.exports.iter().any(|(exported, _)| exported == name) {
            for value in values {
                let export = (name.to_owned(), value.clone());
                if !self.exports.contains(&export) {
                    self.exports.push(export);
                }
            }
        }
    }

    /// A variable is set that a program may take a command from, or a file of them.
    pub(super) fn heeded(&mut self, name: &str, value: &Field) {
        // Arithmetic, `[[ -v`, prompts and `@P` run what stands in a value.
        if value.literal().is_some_and(|text| text.contains("$(") || text.contains('`')) {
            self.field_text(value);
        }
        let Some(heeds) = self.rules.section("heeds") else { return };
        if heeds.has("commands", name) && !value.is_any() {
            self.run_setting(name, value);
        } else if heeds.has("files", name) {
            self.run_file(value, How::Program("sh"), &[]);
        }
    }

    /// A program runs what a variable or a setting says; for git `!` tells only that it is a command.
    pub(super) fn run_setting(&mut self, name: &str, value: &Field) {
        self.field_text(&if git::starts(value, "!") { value.after(1) } else { value.clone() });
        // An editor may write commands that git runs then, or put a file of them in place.
        let files = value.words().iter().flat_map(|word| self.written(word)).collect::<Vec<_>>();
        for text in files.iter().chain([value]) {
            let mentions = Mentions::spoken(&text.shown(), self.guard);
            if let Some(option) = mentions.long.or(mentions.short) {
                self.find(What::Hooks, &option, format!("{name}={}", value.shown()), None);
            }
        }
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
        let name = self
            .refs
            .iter()
            .rev()
            .find(|(other, _)| other == name)
            .map_or(name.to_owned(), |(_, to)| to.clone());
        let name = name.as_str();
        if let Some(values) = self.variables.get(name).filter(|values| !values.is_empty()) {
            let other = !self.functions.is_empty()
                && (name == "@" || name == "*" || name.starts_with(|c: char| c.is_ascii_digit()));
            return values.iter().cloned().chain(other.then_some(None)).collect();
        }
        let known = |text: Option<String>| vec![text.map(|text| vec![Field::of(&text)])];
        match name {
            "PWD" => {
                self.cwd.iter().map(|cwd| Some(vec![Field::of(&cwd.as_ref()?.to_string_lossy())])).collect()
            }
            "OLDPWD" | "DIRSTACK" => {
                let been = self.been.iter().chain(self.cwd.iter().flatten());
                been.map(|folder| Some(vec![Field::of(&folder.to_string_lossy())])).collect()
            }
            "HOME" => known(self.place.home.clone()),
            "TMPDIR" => known(self.place.temporary.first().map(|path| path.to_string_lossy().into_owned())),
            _ => vec![None],
        }
    }

    fn output(&mut self, script: &Script) -> Vec<Value> {
        let Some(field) = self.printed_in(script) else { return vec![None] };
        // Of lines of which some are not known, those that are may be all.
        let lines = field.parts('\n');
        let (unknown, known): (Vec<&Field>, Vec<&Field>) = lines.iter().partition(|line| line.is_any());
        if unknown.is_empty() || known.is_empty() {
            return vec![Some(vec![field])];
        }
        let mut rest = Field::default();
        for (at, line) in known.into_iter().enumerate() {
            rest.bits.extend((at > 0).then_some(Bit::Char('\n')));
            rest.push(line);
        }
        vec![Some(vec![rest]), Some(unknown.into_iter().take(1).cloned().collect())]
    }

    fn pipe(&mut self, script: &Script, from: bool) -> Value {
        self.spend(4096);
        let text = if from { Some(self.printed_in(script)?) } else { None };
        Some(vec![self.files.pipe(text, script)])
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
