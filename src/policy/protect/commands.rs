//! What one command does: what it runs in turn, and the files it writes.

use super::walk::{Setting, Walk};
use super::{What, code, patch};
use crate::policy::rules::Entry;
use crate::policy::shell::{Bit, Field, split};

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

/// Programs that run text in a language of their own, and their options for it: short ones, long ones.
const LANGUAGES: &[(&str, &str, &[&str])] = &[
    ("python", "c", &[]),
    ("pypy", "c", &[]),
    ("node", "ep", &["--eval", "--print"]),
    ("nodejs", "ep", &["--eval", "--print"]),
    ("bun", "ep", &["--eval", "--print"]),
    ("deno", "", &["eval"]),
    ("perl", "eE", &[]),
    ("ruby", "e", &[]),
    ("php", "r", &["--run"]),
    ("lua", "e", &[]),
    ("rscript", "e", &[]),
    ("tclsh", "", &[]),
    ("osascript", "e", &[]),
];

impl Walk<'_> {
    /// Runs a command.
    pub(super) fn command(&mut self, list: &[Field], setting: &Setting) {
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
        if let Some(command) = name.strip_prefix("git-").filter(|command| super::git::is_known(command)) {
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
        if let Some(wrapper) = self.rules.named("wrapper", name) {
            self.wrapper(wrapper, arguments, setting);
        }
        if let Some((language, short, long)) =
            LANGUAGES.iter().find(|(language, ..)| is_version(name, language))
        {
            self.language(language, short, long, arguments, setting);
        }
        match name {
            "sed" | "gsed" => arguments.iter().for_each(|field| self.sed(&field.shown())),
            "awk" | "gawk" | "mawk" | "nawk" => self.awk(arguments),
            "patch" | "gpatch" => setting.input.iter().for_each(|field| self.patch(&field.shown())),
            "dd" => {
                let outputs = arguments.iter().filter(|field| super::git::starts(field, "of="));
                outputs.for_each(|field| self.write(&field.after(3), "dd to"));
            }
            "python" | "python3"
                if arguments.iter().any(|field| field.literal().as_deref() == Some("json.tool")) =>
            {
                let files = arguments.iter().skip(2).filter(|field| !super::git::starts(field, "-"));
                files.skip(1).for_each(|field| self.write(field, "json.tool to"));
            }
            "curl" | "wget" => self.download(name, arguments),
            _ => {}
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
                let target =
                    arguments.iter().find(|field| !super::git::starts(field, "-") || field.bits.len() == 1);
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
                self.field_text(&all);
            }
            "trap" | "alias" => {
                for field in arguments.iter().filter(|field| !super::git::starts(field, "-")) {
                    let (key, value) = super::git::setting(field);
                    let text = if name == "alias" { value.unwrap_or_default() } else { key.clone() };
                    let text = if name == "trap" { field.clone() } else { text };
                    self.field_text(&text);
                }
            }
            "source" | "." => {
                let operand = arguments.first();
                let input =
                    operand.and_then(Field::literal).is_some_and(|path| path == "/dev/stdin" || path == "-");
                match (&setting.input, operand) {
                    (Some(text), _) if input => self.field_text(text),
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
                let operands = arguments.iter().skip_while(|field| super::git::starts(field, "-"));
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
                arguments.iter().filter_map(Field::literal).for_each(|name| self.forget(&name));
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

    /// A program that runs what its arguments name.
    fn wrapper(&mut self, wrapper: Entry<'static>, arguments: &[Field], setting: &Setting) {
        let mut setting = Setting { sure: false, chained: false, ..setting.clone() };
        let mut folder = None;
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
            if super::git::starts(argument, "-") && argument.bits.len() > 1 {
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
                    _ => {}
                }
                continue;
            }
            let (name, value) = super::git::setting(argument);
            if wrapper.flag("assigns") && argument.bits.contains(&Bit::Char('=')) {
                setting.variables.push((name.literal().unwrap_or_default(), value.map(|value| vec![value])));
                continue;
            }
            if wrapper.knows("words") {
                if !wrapper.has("words", &word) {
                    return;
                }
                let list = arguments.get(at + 1..).unwrap_or_default();
                let list: Vec<Field> =
                    list.iter().skip_while(|field| super::git::starts(field, "-")).cloned().collect();
                return self.command(&list, &setting);
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let mut list = arguments.get(at..).unwrap_or_default().to_vec();
            if wrapper.flag("feeds") {
                self.feed(&mut list, &setting);
            }
            return self.within(folder.as_ref(), |walk| walk.command(&list, &setting));
        }
    }

    /// The arguments that `xargs` adds.
    fn feed(&mut self, list: &mut Vec<Field>, setting: &Setting) {
        let given = match setting.input.as_ref().and_then(Field::literal) {
            Some(text) => split(&text),
            None => vec![Field::any("what is read from standard input")],
        };
        let mut placed = false;
        for field in list.iter_mut() {
            if field.literal().is_some_and(|text| text.contains("{}") || text == "%") {
                *field =
                    given.first().cloned().unwrap_or_else(|| Field::any("what is read from standard input"));
                placed = true;
            }
        }
        if !placed {
            list.extend(given);
        }
    }

    /// A program with a language of its own.
    fn language(
        &mut self,
        language: &str,
        short: &str,
        long: &[&str],
        arguments: &[Field],
        setting: &Setting,
    ) {
        let mut rest = arguments.iter();
        let mut texts = Vec::new();
        let mut operand = false;
        while let Some(argument) = rest.next() {
            let word = argument.literal().unwrap_or_default();
            let cluster = word.strip_prefix('-').filter(|cluster| !cluster.starts_with('-') && !operand);
            if long.contains(&word.as_str()) {
                texts.extend(rest.next().map(Field::shown));
            } else if let Some((_, text)) = word.split_once('=').filter(|(option, _)| long.contains(option)) {
                texts.push(text.to_owned());
            } else if let Some(at) = cluster.and_then(|cluster| cluster.find(|c| short.contains(c))) {
                let joined: String = word.chars().skip(at + 2).collect();
                let code = if joined.is_empty() { rest.next().map(Field::shown) } else { Some(joined) };
                texts.extend(code);
            } else if super::git::starts(argument, "-") && word.len() > 1 {
                operand |= word == "-m";
            } else {
                operand = true;
            }
        }
        if texts.is_empty()
            && (!operand || arguments.first().and_then(Field::literal).as_deref() == Some("-"))
        {
            texts.extend(setting.input.iter().map(Field::shown));
        }
        texts.iter().for_each(|text| self.code(language, text));
    }

    /// Text in another language.
    pub(super) fn code(&mut self, language: &str, text: &str) {
        if !code::may_write(language, text) {
            return;
        }
        for path in code::paths(text) {
            self.code_path(
                &path,
                &format!("text for {} that names", if language.is_empty() { "a program" } else { language }),
            );
        }
    }

    /// A word of another language that may be a path.
    fn code_path(&mut self, path: &str, how: &str) {
        let fields: Vec<Field> =
            Field::of(path).parts('/').into_iter().filter(|part| !part.bits.is_empty()).collect();
        for base in self.cwd.clone().into_iter().flatten() {
            if let Some(entry) = self.protected(path, &base) {
                self.find(What::File(entry), how, path.to_owned(), None);
            }
        }
        // A path that is put together from pieces is known by its last ones.
        if let Some(entry) = self.guard.look(&fields, true).filter(|entry| entry.flag("telling")) {
            self.find(What::File(entry), how, path.to_owned(), Some("the folder that it is in".to_owned()));
        }
    }

    /// `w FILE` and `e COMMAND` of sed.
    fn sed(&mut self, script: &str) {
        for line in script.lines() {
            for (at, _) in line.match_indices(['w', 'W', 'e']) {
                let Some((command, rest)) = line.get(at..).and_then(|text| text.split_at_checked(1)) else {
                    continue;
                };
                let rest = rest.trim();
                match command {
                    "e" if rest.contains(' ')
                        && line.get(at + 1..).is_some_and(|text| text.starts_with(' ')) =>
                    {
                        self.text(rest)
                    }
                    "e" => {}
                    _ if !rest.is_empty() => self.write(&Field::of(rest), "sed writing to"),
                    _ => {}
                }
            }
        }
    }

    fn awk(&mut self, arguments: &[Field]) {
        let in_place =
            arguments.iter().any(|field| matches!(field.literal().as_deref(), Some("inplace" | "-iinplace")));
        for field in arguments {
            let text = field.shown();
            if in_place {
                self.write(field, "awk in place on");
            }
            if text.contains(['>', '|']) || text.contains("system") {
                code::paths(&text)
                    .iter()
                    .for_each(|path| self.code_path(path, "a program of awk that names"));
            }
        }
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

/// Which list of a wrapper an option with a value is in, and the value if it is joined to it.
fn valued(wrapper: Entry<'static>, argument: &Field, word: &str) -> Option<(&'static str, Option<Field>)> {
    let find = |option: &str| {
        ["values", "texts", "outputs", "folder"].into_iter().find(|list| wrapper.has(list, option))
    };
    if word.starts_with("--") {
        let (option, value) = super::git::setting(argument);
        return Some((find(&option.literal()?)?, value.filter(|_| word.contains('='))));
    }
    // Of joined short options the first that takes a value takes the rest.
    argument.bits.iter().enumerate().skip(1).find_map(|(at, bit)| {
        let Bit::Char(c) = bit else { return None };
        let rest = argument.after(at + 1);
        Some((find(&format!("-{c}"))?, Some(rest).filter(|rest| !rest.bits.is_empty())))
    })
}

/// Whether `name` is that of a language, with or without a version: `python3.11`.
fn is_version(name: &str, language: &str) -> bool {
    name.strip_prefix(language)
        .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-'))
}

/// What a command prints, where that is plain.
fn printed(walk: &Walk<'_>, name: &str, arguments: &[Field], setting: &Setting) -> Option<Field> {
    match name {
        "echo" => {
            let mut words = arguments.iter().skip_while(|field| {
                matches!(field.literal().as_deref(), Some("-n" | "-e" | "-ne" | "-en" | "-E"))
            });
            let mut line = words.next().cloned().unwrap_or_default();
            for word in words {
                line.bits.push(Bit::Char(' '));
                line.push(word);
            }
            Some(line)
        }
        "printf" => {
            let (format, values) = arguments.split_first()?;
            let format = format.literal()?.replace("\\n", "\n").replace("\\t", "\t");
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
