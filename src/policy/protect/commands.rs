//! What one command does: what it runs in turn, and the files it writes.

use super::files::How;
use super::printed::{is_edited, printf};
use super::programs::languages::{LANGUAGES, is_version};
use super::streams::{Input, Stream};
use super::walk::{MOST_CALLS, Setting, Walk};
use super::{git, patch};
use crate::policy::shell::{Bit, Field, Script, Value, Values};

/// Programs that run shell text.
pub(super) const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "mksh",
    "ash",
    "fish",
    "rbash",
    "yash",
    "pwsh",
    "powershell",
    "posh",
    "csh",
    "tcsh",
    "oksh",
    "loksh",
];

impl Walk<'_> {
    /// Runs a command, which its caller has counted.
    pub(super) fn one_command(&mut self, list: &[Field], setting: &Setting) {
        let Some((first, arguments)) = list.split_first() else { return };
        if self.found.is_some() {
            return;
        }
        let Some(path) = first.literal() else { return self.unknown(first, arguments, setting) };
        let name = self.program_of(&path);
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        self.shell_alias(name, arguments, setting);
        let function = self.function(name, arguments, setting);
        if let Input::Known(text) = &setting.input
            && name == "exec"
            && arguments.is_empty()
        {
            self.open(text);
        }
        self.printed = function.or_else(|| self.printed_by(name, arguments, setting));
        if self.builtin(name, arguments, setting) {
            return;
        }
        if path.contains('/') {
            self.run_file(&Field::of(&path), How::Itself, arguments);
        } else {
            self.run_named(name, arguments);
        }
        match name {
            "make" | "gmake" => self.make(arguments, setting),
            "npm" | "pnpm" | "yarn" | "bun" => self.npm(arguments),
            _ => {}
        }
        if let Some(command) = name.strip_prefix("git-").filter(|command| git::is_known(command)) {
            let all: Vec<Field> =
                std::iter::once(Field::of(command)).chain(arguments.iter().cloned()).collect();
            return self.git(&all, setting);
        }
        match name {
            "git" | "hub" | "yadm" => return self.git(arguments, setting),
            "find" | "gfind" => return self.find_files(arguments, setting),
            "fd" | "fdfind" => return self.fd(arguments, setting),
            "apply_patch" | "applypatch" => {
                let given = arguments.first().or(setting.input.known());
                given.into_iter().for_each(|field| self.patch(&field.shown()));
                return;
            }
            _ if SHELLS.contains(&name) => return self.shell(arguments, setting),
            _ => {}
        }
        self.uninstalls(name, arguments);
        if let Some(wrapper) = self.rules.named("wrapper", name) {
            self.wrapper(wrapper, name, arguments, setting);
            if arguments.iter().any(|field| field.literal().is_some_and(|word| wrapper.has("stops", &word))) {
                return;
            }
        }
        if let Some((language, short, long)) =
            LANGUAGES.iter().find(|(language, ..)| is_version(name, language))
        {
            self.language(language, short, long, arguments, setting);
        }
        match name {
            "sed" | "gsed" => self.sed(arguments, setting),
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(arguments, setting),
            "patch" | "gpatch" => {
                setting.input.known().into_iter().for_each(|field| self.patch(&field.shown()));
            }
            "dd" | "gdd" | "dcfldd" | "dc3dd" => {
                let outputs = arguments.iter().filter(|field| git::starts(field, "of="));
                outputs.for_each(|field| self.write(&field.after(3), "dd to"));
            }
            "python" | "python3"
                if arguments.iter().any(|field| field.literal().as_deref() == Some("json.tool")) =>
            {
                let files = arguments.iter().skip(2).filter(|field| !git::starts(field, "-"));
                files.skip(1).for_each(|field| self.write(field, "json.tool to"));
            }
            "curl" | "wget" | "aria2c" | "http" | "https" | "xh" | "xhs" => {
                self.download(name, arguments, setting)
            }
            _ => self.console(name, arguments, setting),
        }
        self.outputs(arguments);
        match self.rules.named("program", name) {
            Some(program) => self.program(program, name, arguments, setting),
            None if self.nested == 1 => self.embedded(name, arguments, setting),
            None => {}
        }
    }

    /// `--output=FILE` and the like, of whatever program.
    fn outputs(&mut self, arguments: &[Field]) {
        let writing =
            ["out", "log", "dest", "write", "prof", "report", "warn", "dump", "save", "trace-event"];
        for argument in arguments.iter().filter(|field| git::starts(field, "--")) {
            let (option, value) = git::setting(argument);
            let option = option.shown();
            let named =
                argument.bits.contains(&Bit::Char('=')) && writing.iter().any(|word| option.contains(word));
            value.iter().filter(|_| named).for_each(|value| self.write(value, "an option that writes to"));
        }
    }

    /// A command whose name is not known. It may be git, a shell, or something that writes.
    fn unknown(&mut self, name: &Field, arguments: &[Field], setting: &Setting) {
        if is_edited(name) {
            return self.some_text(name);
        }
        let words: Vec<String> = arguments.iter().filter_map(Field::literal).collect();
        if words
            .iter()
            .any(|word| matches!(word.as_str(), "commit" | "push" | "merge" | "am" | "rebase" | "pull"))
        {
            self.git(arguments, setting);
        }
        if words.iter().any(|word| word.starts_with('-') && word.ends_with('c')) {
            self.shell(arguments, setting);
        }
        for argument in arguments.iter().filter(|argument| !argument.is_any()) {
            self.write(argument, "a program that is not known, on");
        }
        match &mut self.found {
            Some(found) => found.unknown = found.unknown.take().or_else(|| name.unknown.clone()),
            None if arguments.is_empty() || name.is_any() && arguments.iter().all(Field::is_any) => {
                self.mentioned(name, "running what is not known with");
            }
            None => {}
        }
    }

    /// The name of the program at a path: that of the file that it leads to, if its own says nothing.
    fn program_of(&mut self, path: &str) -> String {
        let base = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_lowercase();
        let own = base(path.strip_prefix('=').unwrap_or(path));
        let known = own == "git"
            || own.starts_with("git-")
            || SHELLS.contains(&own.as_str())
            || ["program", "wrapper"].iter().any(|table| self.rules.named(table, &own).is_some());
        let followed = if known || !path.contains('/') { None } else { self.keys(&Field::of(path)).pop() };
        followed.map_or(own, |path| base(&path))
    }

    /// What an alias of the shell runs. A shell that takes no alias from a script runs the command itself.
    fn shell_alias(&mut self, name: &str, arguments: &[Field], setting: &Setting) {
        let Some(at) = self.names.iter().rposition(|(alias, _)| alias == name) else { return };
        let (alias, text) = self.names.remove(at);
        let mut line = text.clone();
        for argument in arguments {
            line.bits.push(Bit::Char(' '));
            line.push(argument);
        }
        self.text_here(&line, setting.sure);
        self.names.push((alias, text));
    }

    /// Runs the functions of a name, and tells what they print. One that calls itself does nothing new.
    fn function(&mut self, name: &str, arguments: &[Field], setting: &Setting) -> Option<Field> {
        if self.functions.is_empty() || self.calls > MOST_CALLS && !self.hints(arguments, None) {
            return None;
        }
        self.calls += 1;
        let (called, others) =
            std::mem::take(&mut self.functions).into_iter().partition(|(function, _)| function == name);
        let called: Vec<(String, Script)> = called;
        self.functions = others;
        if called.is_empty() {
            return None;
        }
        let kept = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*"]
            .map(|name| (name, self.variables.remove(name)));
        self.streams.push(Stream::of(setting.input.clone()));
        for (_, body) in &called {
            self.positional(arguments);
            self.script(body);
        }
        let printed = self.streams.pop().map(Stream::printed);
        for (name, values) in kept {
            match values {
                Some(values) => self.variables.insert(name.to_owned(), values),
                None => self.variables.remove(name),
            };
        }
        self.functions.extend(called);
        printed
    }

    /// What the shell itself does; false if `name` is none of it.
    fn builtin(&mut self, name: &str, arguments: &[Field], setting: &Setting) -> bool {
        match name {
            "cd" | "chdir" | "pushd" => {
                let target = arguments.iter().find(|field| !git::starts(field, "-") || field.bits.len() == 1);
                self.change_folder(target, setting);
            }
            "popd" => self.change_folder(Some(&Field::of("-")), setting),
            "eval" => {
                let mut all = Field::default();
                for (at, field) in arguments.iter().enumerate() {
                    if at > 0 {
                        all.bits.push(Bit::Char(' '));
                    }
                    all.push(field);
                }
                self.text_here(&all, setting.sure);
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
                let function = arguments.iter().any(|field| field.literal().as_deref() == Some("-f"));
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
                let callback = arguments.iter().position(|field| field.literal().as_deref() == Some("-C"));
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

    /// `sh -c TEXT`, `sh FILE`, or `sh` with text on standard input.
    fn shell(&mut self, arguments: &[Field], setting: &Setting) {
        let mut rest = arguments.iter();
        let mut text = false;
        let mut input = false;
        let mut unread = false;
        let mut operands = Vec::new();
        while let Some(argument) = rest.next() {
            let word = argument.literal().unwrap_or_default();
            let lower = word.to_lowercase();
            match word.strip_prefix(['-', '+']) {
                _ if matches!(
                    lower.as_str(),
                    "--command" | "-command" | "-encodedcommand" | "-commandwithargs"
                ) =>
                {
                    text = true
                }
                Some("-") => {
                    operands.extend(rest.by_ref());
                }
                Some("-rcfile" | "-init-file") => {
                    rest.next().into_iter().for_each(|file| self.run_file(file, How::Program("sh"), &[]));
                }
                Some(long) if long.starts_with('-') => {}
                Some(short) if !short.is_empty() => {
                    text |= short.contains('c');
                    input |= short.contains('s');
                    unread |= short == "n";
                    if short.ends_with(['o', 'O']) {
                        rest.next();
                    }
                }
                _ => {
                    operands.push(argument);
                    operands.extend(rest.by_ref());
                }
            }
        }
        let given = if text { operands.first().copied() } else { None };
        let takes_input = input || operands.first().is_none_or(|file| is_input(file));
        let skip = if text { 2 } else { usize::from(!input) };
        let parameters: Vec<Field> = operands.iter().skip(skip).map(|field| (*field).clone()).collect();
        let variables = setting.variables.clone();
        self.apart(|walk| {
            for (name, value) in variables {
                walk.assign(&name, std::slice::from_ref(&value), false);
                walk.export(&name, value);
            }
            walk.positional(&parameters);
            match (given, operands.first(), &setting.input) {
                (Some(text), ..) => walk.field_text(text),
                (None, _, Input::Known(input)) if takes_input => walk.field_text(input),
                (None, _, Input::Unknown) if takes_input => {
                    walk.suspected("what is read from standard input")
                }
                // It is only read through.
                (None, ..) if unread => {}
                (None, Some(file), _) if !takes_input => walk.run_file(file, How::Program("sh"), &parameters),
                _ => {}
            }
        });
    }

    /// A patch as text.
    pub(super) fn patch(&mut self, text: &str) {
        for path in patch::paths(text) {
            self.write(&Field::of(&path), "a patch of");
        }
    }
}

/// Whether a file that is to be run is standard input.
fn is_input(file: &Field) -> bool {
    file.literal().is_some_and(|path| {
        path == "-"
            || ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"].iter().any(|folder| path.starts_with(folder))
    })
}
