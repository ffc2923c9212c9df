//! Programs that run what their arguments name: `[[wrapper]]` in `config/policies.toml`.

use super::writers::behind_name;
use crate::policy::protect::streams::Input;
use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::protect::{What, git};
use crate::policy::rules::Entry;
use crate::policy::shell::{Bit, Field, LONGEST, size, split};
use crate::policy::words::typed;

/// Lines of input that a command is made for, each.
const MOST_LINES: usize = 64;

impl Walk<'_> {
    /// A program that runs what its arguments name.
    pub(in crate::policy::protect) fn wrapper(
        &mut self,
        wrapper: Entry<'static>,
        name: &str,
        arguments: &[Field],
        setting: &Setting,
    ) {
        if wrapper.flag("loose") {
            return self.loose(wrapper, name, arguments, setting);
        }
        if wrapper.text("text") == "input" {
            return self.told(name, setting);
        }
        let mut setting = Setting { sure: false, chained: false, ..setting.clone() };
        let mut folder = None;
        let mut skip = wrapper.count("skip");
        let mut token = None;
        // `exec -a NAME`: the program goes by that name.
        let named = match arguments {
            [option, name, rest @ ..] if option.is("-a") && wrapper.has("names", "exec") => {
                Some((name, rest))
            }
            _ => None,
        };
        if let Some((name, rest)) = named {
            let list = [std::slice::from_ref(name), rest.get(1..).unwrap_or_default()].concat();
            self.command(&list, &setting);
        }
        let mut rest = arguments.iter().enumerate();
        while let Some((at, argument)) = rest.next() {
            let word = argument.literal().unwrap_or_default();
            if wrapper.has("stops", &word) {
                return;
            }
            if word == "--" {
                continue;
            }
            if git::starts(argument, "-") && argument.bits.len() > 1 {
                let Some((list, joined)) = valued(wrapper, argument, &word) else { continue };
                let value = joined.or_else(|| rest.next().map(|(_, value)| value.clone()));
                if ["-I", "-i", "-J", "--replace"].iter().any(|option| word.starts_with(option)) {
                    token = value.as_ref().and_then(Field::literal);
                }
                match (list, value) {
                    ("folder", value) => folder = value,
                    ("outputs", Some(value)) => self.write(&value, "writing"),
                    ("texts", Some(value)) if wrapper.flag("assigns") => {
                        let mut words = split(&value.shown());
                        words.extend(rest.by_ref().map(|(_, field)| field.clone()));
                        return self
                            .within(folder.as_ref(), |walk| walk.wrapper(wrapper, name, &words, &setting));
                    }
                    ("texts", Some(value)) => self.field_text(&behind_name(&value)),
                    ("inputs", Some(file)) => {
                        setting.input = self.text_of(&file).map_or(Input::Unknown, Input::Known);
                    }
                    _ => {}
                }
                continue;
            }
            let (variable, value) = git::setting(argument);
            if wrapper.flag("assigns") && argument.bits.contains(&Bit::Char('=')) {
                let variable = variable.literal().unwrap_or_default();
                value.iter().for_each(|value| self.heeded(&variable, value));
                setting.variables.push((variable, value.map(|value| vec![value])));
                continue;
            }
            if wrapper.knows("words") {
                // `yarn workspace NAME exec`
                if !wrapper.has("words", &word) {
                    continue;
                }
                let list = after_options(wrapper, arguments.get(at + 1..).unwrap_or_default());
                return self.command(list, &setting);
            }
            if skip > 0 {
                let host = word.rsplit('@').next().unwrap_or_default();
                if wrapper.knows("here") && !wrapper.has("here", host) {
                    return;
                }
                skip -= 1;
                continue;
            }
            let list = arguments.get(at..).unwrap_or_default().to_vec();
            if wrapper.knows("text") {
                return self.within(folder.as_ref(), |walk| walk.as_text(wrapper, name, &list, &setting));
            }
            if wrapper.flag("feeds") {
                return fed(&list, token.as_deref(), &setting)
                    .iter()
                    .for_each(|list| self.within(folder.as_ref(), |walk| walk.command(list, &setting)));
            }
            return self.within(folder.as_ref(), |walk| walk.command(&list, &setting));
        }
        if wrapper.knows("text") {
            self.told(name, &setting);
        } else if let Some(input) = setting.input.known().filter(|_| !wrapper.flag("feeds")) {
            // Without a command, many start a shell.
            self.field_text(input);
        }
    }

    /// A command that the program gives to a shell as text.
    fn as_text(&mut self, wrapper: Entry<'static>, name: &str, list: &[Field], setting: &Setting) {
        match wrapper.text("text") {
            "joined" => {
                let at = list.iter().position(|field| git::starts(field, ":::")).unwrap_or(list.len());
                let (command, inputs) = list.split_at(at.min(list.len()));
                let text = Field::joined(command);
                let inputs = inputs.iter().filter(|field| !git::starts(field, ":::"));
                let mut given: Vec<Field> = inputs.take(16).cloned().collect();
                if name == "parallel" {
                    given.extend(setting.input.known().into_iter().flat_map(Field::words).take(16));
                }
                if name == "parallel" && given.is_empty() && !command.is_empty() {
                    given.push(Field::any("what is read from standard input"));
                }
                self.field_text(&text);
                given.iter().for_each(|input| self.field_text(&placed(&text, input)));
            }
            "each" => list.iter().for_each(|text| self.field_text(&behind_name(text))),
            _ => {}
        }
    }

    /// Shell text that comes in on standard input.
    fn told(&mut self, name: &str, setting: &Setting) {
        let Some(input) = setting.input.known() else { return };
        self.field_text(input);
        if name == "expect" {
            self.field_text(&tcl(input));
        }
        if name == "crontab" {
            for line in input.shown().lines().map(str::trim) {
                let when = if line.starts_with('@') { 1 } else { 5 };
                let command: Vec<&str> = line.split_whitespace().skip(when).collect();
                self.field_text(&Field::of(&command.join(" ")));
            }
        }
    }

    /// A program whose command may begin at any of its arguments: each that has a blank is text, and one that is known as
    /// a program begins a command, which may be typed.
    fn loose(&mut self, wrapper: Entry<'static>, name: &str, arguments: &[Field], setting: &Setting) {
        let words: Vec<String> = arguments.iter().map(|field| field.literal().unwrap_or_default()).collect();
        let after = words.iter().position(|word| wrapper.has("words", word));
        if wrapper.knows("words") && after.is_none() {
            return;
        }
        // A container sees what is mounted; what a service of a composition mounts is not known.
        let composed = name.ends_with("compose") || words.iter().any(|word| word == "compose");
        let alone = !composed && words.iter().any(|word| word == "run");
        let mounted = |word: &String| wrapper.list("mounts").any(|option| word.starts_with(option));
        if wrapper.knows("mounts") && alone && !words.iter().any(mounted) {
            return;
        }
        for (at, argument) in arguments.iter().enumerate().skip(after.map_or(0, |at| at + 1)) {
            let text = behind_name(argument);
            let blank = text.bits.iter().any(|bit| matches!(bit, Bit::Char(c) if c.is_whitespace()));
            let base = words.get(at).and_then(|word| word.rsplit('/').next()).unwrap_or_default();
            let known = self.is_program(base);
            if blank {
                self.field_text(&text);
                if name == "expect" {
                    self.field_text(&tcl(&text));
                }
            }
            if known {
                let list = arguments.get(at..).unwrap_or_default();
                self.apart(|walk| walk.command(list, setting));
            }
            if self.found.is_some() {
                return;
            }
            if known && self.rules.named("wrapper", base).is_some() {
                // It runs the rest.
                return;
            }
            if blank || known {
                let keys = words.get(at + 1..).unwrap_or_default().iter().map(String::as_str);
                let line = typed(std::iter::once(text.shown().as_str()).chain(keys));
                self.field_text(&Field::again(&line));
            }
        }
        self.told(name, setting);
    }

    /// A program that takes away hooks, or what runs them: `[uninstalls]`.
    pub(in crate::policy::protect) fn uninstalls(&mut self, name: &str, arguments: &[Field]) {
        let Some(off) = self.rules.section("uninstalls").filter(|off| off.knows(name)) else { return };
        let words: Vec<String> = arguments.iter().filter_map(Field::literal).collect();
        let there = |wanted: &str| {
            words.iter().any(|word| {
                word == wanted || word.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(['=', '@']))
            })
        };
        let all = |line: &&str| line.split(' ').all(|words| words.split('|').any(there));
        if off.list(name).any(|line| all(&line)) {
            self.find(What::Hooks, &words.join(" "), format!("{name} {}", words.join(" ")), None);
        }
    }
}

/// The commands that `xargs` makes of one: with what comes in behind it, or each line of that in the place of a token.
fn fed(list: &[Field], token: Option<&str>, setting: &Setting) -> Vec<Vec<Field>> {
    let unknown = || vec![Field::any("what is read from standard input")];
    let Some(token) = token.filter(|token| !token.is_empty()) else {
        let input = setting.input.known();
        let given = input.map(|input| input.literal().map_or_else(|| input.words(), |text| split(&text)));
        return vec![[list, &given.unwrap_or_else(unknown)].concat()];
    };
    let lines = setting.input.known().map(|input| input.parts('\n'));
    let mut lines: Vec<Field> = lines.unwrap_or_else(unknown);
    lines.retain(|line| !line.bits.is_empty());
    let places: usize = list.iter().map(|field| field.shown().matches(token).count()).sum();
    if lines.len() > MOST_LINES || places.saturating_mul(size(&lines)) > LONGEST {
        lines = unknown();
    }
    let with = |line: &Field| list.iter().map(|field| replaced(field, token, line)).collect();
    lines.iter().map(with).collect()
}

/// A field with another in each place of a token.
pub(in crate::policy::protect) fn replaced(field: &Field, token: &str, with: &Field) -> Field {
    let token: Vec<Bit> = token.chars().map(Bit::Char).collect();
    let mut whole = Field { bits: Vec::new(), unknown: field.unknown.clone() };
    let mut rest = field.bits.as_slice();
    while let Some((first, after)) = rest.split_first() {
        match rest.strip_prefix(token.as_slice()).filter(|_| !token.is_empty()) {
            Some(after) => {
                whole.push(with);
                rest = after;
            }
            None => {
                whole.bits.push(*first);
                rest = after;
            }
        }
    }
    whole
}

/// Which list of a wrapper an option with a value is in, and the value if it is joined to it.
fn valued(wrapper: Entry<'static>, argument: &Field, word: &str) -> Option<(&'static str, Option<Field>)> {
    let find = |option: &str| {
        ["values", "texts", "outputs", "folder", "inputs"].into_iter().find(|list| wrapper.has(list, option))
    };
    if word.starts_with("--") {
        let (option, value) = git::setting(argument);
        return Some((find(&option.literal()?)?, value.filter(|_| word.contains('='))));
    }
    // Of joined short options the first that takes a value takes the rest.
    argument.bits.iter().enumerate().skip(1).find_map(|(at, bit)| {
        let Bit::Char(c) = bit else { return None };
        let rest = argument.after(at + 1);
        Some((find(&format!("-{c}"))?, Some(rest).filter(|rest| !rest.bits.is_empty())))
    })
}

/// Text of Tcl, whose braces are quotes, as shell text.
fn tcl(text: &Field) -> Field {
    let quote = |bit: &Bit| if matches!(bit, Bit::Char('{' | '}')) { Bit::Char('\'') } else { *bit };
    Field { bits: text.bits.iter().map(quote).collect(), unknown: text.unknown.clone() }
}

/// A text with an input in the place of `{}`, `{1}` and the like, or behind it.
fn placed(text: &Field, input: &Field) -> Field {
    let (open, close) = (Bit::Char('{'), Bit::Char('}'));
    let at = text.bits.iter().position(|bit| *bit == open);
    let end = text.bits.iter().position(|bit| *bit == close);
    let (Some(at), Some(end)) = (at, end.filter(|end| at.is_some_and(|at| at < *end))) else {
        return Field::joined(&[text.clone(), input.clone()]);
    };
    let mut whole =
        Field { bits: text.bits.iter().take(at).copied().collect(), unknown: text.unknown.clone() };
    whole.push(input);
    whole.push(&text.after(end + 1));
    whole
}

/// A command behind the options of the word that runs it.
fn after_options<'f>(wrapper: Entry<'static>, arguments: &'f [Field]) -> &'f [Field] {
    let mut at = 0;
    while let Some(argument) = arguments.get(at).filter(|argument| git::starts(argument, "-")) {
        let word = argument.literal().unwrap_or_default();
        at += 1;
        if word == "--" {
            break;
        }
        at += usize::from(matches!(valued(wrapper, argument, &word), Some((_, None))));
    }
    arguments.get(at..).unwrap_or_default()
}
