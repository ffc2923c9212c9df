//! What the shell itself does: folders, variables, functions that are exported, aliases, what it reads.

use super::commands::is_input;
use super::files::How;
use super::git;
use super::printed::printf;
use super::streams::Input;
use super::walk::{Setting, Walk};
use crate::policy::shell::{Bit, Field, Value, Values};

impl Walk<'_> {
    /// What the shell itself does; false if `name` is none of it.
    pub(super) fn builtin(&mut self, name: &str, arguments: &[Field], setting: &Setting) -> bool {
        if matches!(name, "let" | "test" | "[" | "[[" | "read" | "printf" | "declare" | "unset" | "compgen") {
            let runs = |field: &&Field| {
                field.literal().is_some_and(|text| text.contains("$(") || text.contains('`'))
            };
            let texts: Vec<Field> = arguments.iter().filter(runs).cloned().collect();
            texts.iter().for_each(|text| self.field_text(text));
        }
        match name {
            "shopt" => {
                let wide = ["dotglob", "nocaseglob", "extglob", "globstar"];
                self.wide |=
                    arguments.iter().filter_map(Field::literal).any(|word| wide.contains(&word.as_str()));
            }
            "cd" | "chdir" | "pushd" => {
                let target = arguments.iter().find(|field| !git::starts(field, "-") || field.bits.len() == 1);
                self.change_folder(target, setting);
            }
            "popd" => self.change_folder(Some(&Field::of("-")), setting),
            "eval" => {
                self.text_here(&Field::joined(arguments), setting.sure);
            }
            "trap" | "alias" => {
                for field in arguments.iter().filter(|field| !git::starts(field, "-")) {
                    let (key, value) = git::setting(field);
                    let text = if name == "alias" { value.unwrap_or_default() } else { key.clone() };
                    let text = if name == "trap" { field.clone() } else { text };
                    self.text_here(&text, false);
                    if name == "alias" {
                        self.names.extend(key.literal().map(|key| (key.to_lowercase(), text)));
                    }
                }
            }
            "source" | "." => {
                let Some((file, parameters)) = arguments.split_first() else { return true };
                match (&setting.input, is_input(file)) {
                    (Input::Known(text), true) => self.text_here(text, setting.sure),
                    (Input::Unknown, true) => self.suspected("what is read from standard input"),
                    (_, true) => {}
                    (_, false) => self.run_file(file, How::Here(setting.sure), parameters),
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                let function = arguments.iter().any(|field| field.is("-f"));
                for argument in arguments {
                    // What an expansion made an assignment.
                    if let (name, Some(value)) = git::setting(argument)
                        && argument.bits.contains(&Bit::Char('='))
                        && let Some(name) = name.literal()
                    {
                        self.heeded(&name, &value);
                        self.assign(&name, &[Some(vec![value.clone()])], false);
                        self.export(&name, Some(vec![value]));
                    }
                }
                for name in arguments.iter().filter_map(Field::literal).filter(|name| !name.starts_with('-'))
                {
                    if function {
                        self.export(&format!("BASH_FUNC_{name}"), None);
                    }
                    let values = crate::policy::shell::Values::parameter(self, &name);
                    values.into_iter().for_each(|value| self.export(&name, value));
                }
            }
            "set" => {
                let option = |field: &Field| {
                    field.literal().is_some_and(|word| {
                        word == "allexport"
                            || word.starts_with('-') && !word.starts_with("--") && word.contains('a')
                    })
                };
                self.exporting |= arguments.iter().any(option);
                let operands = arguments.iter().skip_while(|field| git::starts(field, "-"));
                let operands: Vec<Field> = operands.cloned().collect();
                if !operands.is_empty() {
                    self.positional(&operands);
                }
            }
            "shift" => {
                // Each may then be any that comes after it.
                let all: Vec<Field> = self.parameter("@").into_iter().flatten().flatten().collect();
                let any: Vec<Value> = all.into_iter().map(|field| Some(vec![field])).collect();
                for name in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*"] {
                    self.forget(name);
                    self.assign(name, &any, false);
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" => {
                // Its own separators cut what it reads.
                let cut = setting.variables.iter().filter(|(name, _)| name == "IFS");
                let cut: String = cut.filter_map(|(_, value)| value.as_ref()?.first()?.literal()).collect();
                let input = setting.input.known().map(|input| {
                    let bit = |bit: &Bit| match bit {
                        Bit::Char(c) if cut.contains(*c) => Bit::Char('\n'),
                        bit => *bit,
                    };
                    Field { bits: input.bits.iter().map(bit).collect(), unknown: input.unknown.clone() }
                });
                let values = input.as_ref().map(|input| self.read_from(input)).unwrap_or_default();
                if name == "unset" && setting.sure {
                    arguments.iter().filter_map(Field::literal).for_each(|name| {
                        self.variables.insert(name, vec![Some(Vec::new())]);
                    });
                    return true;
                }
                let list = name != "read" || arguments.iter().any(|field| field.shown().contains('a'));
                let words = input.as_ref().filter(|_| list && name != "let").map(Field::words);
                let callback = arguments.iter().position(|field| field.is("-C"));
                let callback = callback.and_then(|at| arguments.get(at + 1)).cloned();
                callback.iter().for_each(|text| self.text_here(text, false));
                for name in arguments.iter().filter_map(Field::literal) {
                    self.forget(&name);
                    values.iter().for_each(|value| self.may_be(&name, value.clone()));
                    words.iter().for_each(|words| self.assign(&name, &[Some(words.clone())], false));
                }
            }
            "hash" if arguments.first().is_some_and(|field| git::starts(field, "-p")) => {
                if let [_, path, name] = arguments {
                    self.names.extend(name.literal().map(|name| (name.to_lowercase(), path.clone())));
                }
            }
            "printf" if arguments.first().is_some_and(|field| git::starts(field, "-v")) => {
                let joined =
                    arguments.first().map(|field| field.after(2)).filter(|name| !name.bits.is_empty());
                let skip = if joined.is_some() { 1 } else { 2 };
                let name = joined.or_else(|| arguments.get(1).cloned()).and_then(|name| name.literal());
                let value = arguments.get(skip..).and_then(printf).map(|value| vec![value]);
                name.iter().for_each(|name| self.assign(name, std::slice::from_ref(&value), setting.sure));
            }
            "mkdir" => {
                let folders: Vec<_> = arguments.iter().filter_map(Field::literal).collect();
                let bases: Vec<_> = self.cwd.iter().flatten().cloned().collect();
                let made = bases.iter().flat_map(|base| {
                    folders.iter().map(move |folder| super::place::normal(&base.join(folder)))
                });
                self.made.extend(made);
            }
            _ => return false,
        }
        true
    }
}
