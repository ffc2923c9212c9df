//! What one command does: what it runs in turn, and the files it writes.

use super::languages::{LANGUAGES, is_version};
use super::walk::{Setting, Walk};
use super::{What, git, patch};
use crate::policy::shell::{Bit, Field};

/// Programs that run shell text.
const SHELLS: &[&str] = &[
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
        let name = path.rsplit(['/', '\\']).next().unwrap_or(&path).to_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        self.printed = printed(self, name, arguments, setting);
        if self.builtin(name, arguments, setting) {
            return;
        }
        if let Some(command) = name.strip_prefix("git-").filter(|command| git::is_known(command)) {
            let all: Vec<Field> =
                std::iter::once(Field::of(command)).chain(arguments.iter().cloned()).collect();
            return self.git(&all, setting);
        }
        match name {
            "git" | "hub" | "yadm" => return self.git(arguments, setting),
            "find" | "gfind" | "fd" | "fdfind" => return self.find_files(arguments, setting),
            "apply_patch" | "applypatch" => {
                let given = arguments.first().or(setting.input.as_ref());
                given.into_iter().for_each(|field| self.patch(&field.shown()));
                return;
            }
            _ if SHELLS.contains(&name) => return self.shell(arguments, setting),
            _ => {}
        }
        if let Some(off) = self.rules.section("uninstalls").filter(|off| off.knows(name))
            && let Some(word) = arguments.iter().filter_map(Field::literal).find(|word| off.has(name, word))
        {
            self.find(What::Hooks, &word, format!("{name} {word}"), None);
        }
        if let Some(wrapper) = self.rules.named("wrapper", name) {
            self.wrapper(wrapper, arguments, setting);
        }
        if let Some((language, short, long)) =
            LANGUAGES.iter().find(|(language, ..)| is_version(name, language))
        {
            self.language(language, short, long, arguments, setting);
        }
        match name {
            "sed" | "gsed" => self.sed(arguments, setting),
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(arguments, setting),
            "patch" | "gpatch" => setting.input.iter().for_each(|field| self.patch(&field.shown())),
            "dd" => {
                let outputs = arguments.iter().filter(|field| git::starts(field, "of="));
                outputs.for_each(|field| self.write(&field.after(3), "dd to"));
            }
            "python" | "python3"
                if arguments.iter().any(|field| field.literal().as_deref() == Some("json.tool")) =>
            {
                let files = arguments.iter().skip(2).filter(|field| !git::starts(field, "-"));
                files.skip(1).for_each(|field| self.write(field, "json.tool to"));
            }
            "curl" | "wget" => self.download(name, arguments),
            _ => self.console(name, arguments, setting),
        }
        if let Some(program) = self.rules.named("program", name) {
            self.program(program, name, arguments);
        }
    }

    /// A command whose name is not known. It may be git, a shell, or something that writes.
    fn unknown(&mut self, name: &Field, arguments: &[Field], setting: &Setting) {
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

    /// What the shell itself does; false if `name` is none of it.
    fn builtin(&mut self, name: &str, arguments: &[Field], setting: &Setting) -> bool {
        match name {
            "cd" | "chdir" | "pushd" => {
                let target = arguments.iter().find(|field| !git::starts(field, "-") || field.bits.len() == 1);
                self.change_folder(target, setting);
            }
            "popd" => self.change_folder(Some(&Field::any("popd")), setting),
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
                }
            }
            "source" | "." => {
                let operand = arguments.first();
                let input =
                    operand.and_then(Field::literal).is_some_and(|path| path == "/dev/stdin" || path == "-");
                match (&setting.input, operand) {
                    (Some(text), _) if input => self.text_here(text, setting.sure),
                    (_, Some(field)) if field.is_any() => self.mentioned(field, "running"),
                    _ => {}
                }
            }
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                for name in arguments.iter().filter_map(Field::literal).filter(|name| !name.starts_with('-'))
                {
                    let values = crate::policy::shell::Values::parameter(self, &name);
                    values.into_iter().for_each(|value| self.export(&name, value));
                }
            }
            "set" => {
                let operands = arguments.iter().skip_while(|field| git::starts(field, "-"));
                let operands: Vec<Field> = operands.cloned().collect();
                if !operands.is_empty() {
                    self.positional(&operands);
                }
            }
            "shift" => {
                for name in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*"] {
                    self.forget(name);
                }
            }
            "read" | "mapfile" | "readarray" | "getopts" | "unset" | "let" => {
                for name in arguments.iter().filter_map(Field::literal) {
                    self.forget(&name);
                    let words = setting.input.as_ref().map(Field::words).unwrap_or_default();
                    words.into_iter().for_each(|word| self.may_be(&name, word));
                }
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
                Some("-rcfile" | "-init-file") => drop(rest.next()),
                Some(long) if long.starts_with('-') => {}
                Some(short) if !short.is_empty() => {
                    text |= short.contains('c');
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
        let takes_input = operands
            .first()
            .is_none_or(|file| file.literal().is_some_and(|file| file == "/dev/stdin" || file == "-"));
        let parameters: Vec<Field> =
            operands.iter().skip(if text { 2 } else { 1 }).map(|field| (*field).clone()).collect();
        let variables = setting.variables.clone();
        self.apart(|walk| {
            variables.into_iter().for_each(|(name, value)| walk.export(&name, value));
            walk.positional(&parameters);
            match (given, &setting.input) {
                (Some(text), _) => walk.field_text(text),
                (None, Some(input)) if takes_input => walk.field_text(input),
                (None, _) => {
                    if let Some(file) = operands.first().filter(|file| file.is_any()) {
                        walk.mentioned(file, "running");
                    }
                }
            }
        });
    }

    fn download(&mut self, name: &str, arguments: &[Field]) {
        let to_name = name == "wget"
            || arguments.iter().filter_map(Field::literal).any(|word| {
                word == "--remote-name"
                    || word == "--remote-name-all"
                    || (word.starts_with('-') && !word.starts_with("--") && word.contains('O'))
            });
        for field in arguments.iter().filter(|_| to_name) {
            let parts = field.parts('/');
            if let Some(last) = parts.last().filter(|_| parts.len() > 1) {
                self.write(last, "a download to");
            }
        }
    }

    /// A patch as text.
    pub(super) fn patch(&mut self, text: &str) {
        for path in patch::paths(text) {
            self.write(&Field::of(&path), "a patch of");
        }
    }
}

/// What a command prints, where that is plain.
fn printed(walk: &Walk<'_>, name: &str, arguments: &[Field], setting: &Setting) -> Option<Field> {
    match name {
        "echo" => {
            // Shells differ in what they take for options; what is left over is printed by one of them.
            let options = arguments.first().and_then(Field::literal);
            let option = matches!(options.as_deref(), Some("-n" | "-e" | "-ne" | "-en" | "-E"));
            let mut words = arguments.iter().skip(usize::from(option));
            let mut line = words.next().cloned().unwrap_or_default();
            for word in words {
                line.bits.push(Bit::Char(' '));
                line.push(word);
            }
            Some(line)
        }
        "printf" => {
            let (format, values) = arguments.split_first()?;
            let format = format.literal()?.replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\n");
            let mut line = Field::default();
            let mut values = values.iter();
            loop {
                let mut rest = format.as_str();
                while let Some((before, after)) = rest.split_once('%') {
                    line.push(&Field::of(before));
                    match after.chars().next() {
                        Some('%') => line.bits.push(Bit::Char('%')),
                        Some('s' | 'b' | 'q') => values.next().into_iter().for_each(|value| line.push(value)),
                        _ => line.push(&Field::any("printf")),
                    }
                    rest = after.get(1..).unwrap_or_default();
                }
                line.push(&Field::of(rest));
                if values.len() == 0 || !format.contains("%s") {
                    return Some(line);
                }
            }
        }
        "cat" if arguments.is_empty() => setting.input.clone(),
        "pwd" => match walk.cwd.as_slice() {
            [Some(cwd)] => Some(Field::of(&cwd.to_string_lossy())),
            _ => None,
        },
        // A new file or folder of its own.
        "mktemp"
            if arguments.iter().all(|field| {
                matches!(field.literal().as_deref(), Some("-d" | "-q" | "-t" | "--directory"))
            }) =>
        {
            let folder = walk.place.temporary.first()?;
            Some(Field::of(&folder.join("tmp.XXXXXXXXXX").to_string_lossy()))
        }
        _ => None,
    }
}
