//! What one command does: what it runs in turn, and the files it writes.

use super::files::How;
use super::printed::is_edited;
use super::programs::languages::{LANGUAGES, is_version};
use super::streams::{Input, Stream};
use super::walk::{MOST_CALLS, Setting, Walk};
use super::{git, patch};
use crate::policy::shell::{Bit, Field, Script};

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
            "make" | "gmake" | "remake" => self.make(arguments, setting),
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
            "python" | "python3" if arguments.iter().any(|field| field.is("json.tool")) => {
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
        let known = own.starts_with("git-") || self.is_program(&own);
        let followed = if known || !path.contains('/') { None } else { self.keys(&Field::of(path)).pop() };
        // A copy goes by the name of what it is a copy of.
        let copied = self.origin_of(path).map(|path| base(&path));
        copied.or_else(|| followed.map(|path| base(&path))).unwrap_or(own)
    }

    /// Whether a name is that of git, a shell, or a program of the tables.
    pub(super) fn is_program(&self, name: &str) -> bool {
        name == "git"
            || SHELLS.contains(&name)
            || ["program", "wrapper"].iter().any(|table| self.rules.named(table, name).is_some())
    }

    /// What an alias of the shell runs. A shell that takes no alias from a script runs the command itself.
    fn shell_alias(&mut self, name: &str, arguments: &[Field], setting: &Setting) {
        let Some(at) = self.names.iter().rposition(|(alias, _)| alias == name) else { return };
        let (alias, text) = self.names.remove(at);
        let line = Field::joined(&[std::slice::from_ref(&text), arguments].concat());
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
pub(super) fn is_input(file: &Field) -> bool {
    file.literal().is_some_and(|path| {
        path == "-"
            || ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"].iter().any(|folder| path.starts_with(folder))
    })
}
