//! Programs that run what their arguments name: `[[wrapper]]` in `config/policies.toml`.

use super::git;
use super::streams::Input;
use super::walk::{Setting, Walk};
use crate::policy::rules::Entry;
use crate::policy::shell::{Bit, Field, split};

impl Walk<'_> {
    /// A program that runs what its arguments name.
    pub(super) fn wrapper(&mut self, wrapper: Entry<'static>, arguments: &[Field], setting: &Setting) {
        let mut setting = Setting { sure: false, chained: false, ..setting.clone() };
        let mut folder = None;
        let mut mark = "{}".to_owned();
        let mut skip = wrapper.count("skip");
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
                match (list, value) {
                    ("folder", value) => folder = value,
                    ("outputs", Some(value)) => self.write(&value, "writing"),
                    ("texts", Some(value)) if wrapper.flag("assigns") => {
                        let mut words = split(&value.shown());
                        words.extend(rest.by_ref().map(|(_, field)| field.clone()));
                        return self.within(folder.as_ref(), |walk| walk.wrapper(wrapper, &words, &setting));
                    }
                    ("texts", Some(value)) => self.field_text(&value),
                    ("marks", value) => mark = value.and_then(|value| value.literal()).unwrap_or(mark),
                    ("inputs", Some(file)) => {
                        setting.input = self.text_of(&file).map_or(Input::Unknown, Input::Known);
                    }
                    _ => {}
                }
                continue;
            }
            let (name, value) = git::setting(argument);
            if wrapper.flag("assigns") && argument.bits.contains(&Bit::Char('=')) {
                if let (Some(name), Some(value)) = (name.literal(), &value) {
                    self.heeded(&name, value);
                }
                setting.variables.push((name.literal().unwrap_or_default(), value.map(|value| vec![value])));
                continue;
            }
            if wrapper.knows("words") {
                if !wrapper.has("words", &word) {
                    return;
                }
                let list = arguments.get(at + 1..).unwrap_or_default();
                let list: Vec<Field> =
                    list.iter().skip_while(|field| git::starts(field, "-")).cloned().collect();
                return self.command(&list, &setting);
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let list = arguments.get(at..).unwrap_or_default().to_vec();
            let lists = if wrapper.flag("feeds") { self.fed(&list, &mark, &setting) } else { vec![list] };
            return self.within(folder.as_ref(), |walk| {
                lists.iter().for_each(|list| walk.command(list, &setting));
            });
        }
        // Without a command, many start a shell.
        if let Some(input) = setting.input.known().filter(|_| !wrapper.flag("feeds")) {
            self.field_text(input);
        }
    }
}

/// Which list of a wrapper an option with a value is in, and the value if it is joined to it.
fn valued(wrapper: Entry<'static>, argument: &Field, word: &str) -> Option<(&'static str, Option<Field>)> {
    let find = |option: &str| {
        ["values", "texts", "outputs", "folder", "marks", "inputs"]
            .into_iter()
            .find(|list| wrapper.has(list, option))
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
