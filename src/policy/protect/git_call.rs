//! What a call of git does: the hooks that it skips, the files that it names, the commands that it runs in turn.

use super::What;
use super::git::{self, Call, Skip};
use super::printed::is_edited;
use super::walk::{Setting, Walk};
use crate::policy::shell::{Bit, Field, Value, split};

impl Walk<'_> {
    /// `git`, with its arguments.
    pub(super) fn git(&mut self, arguments: &[Field], setting: &Setting) {
        self.git_at(arguments, setting, 0);
    }

    fn git_at(&mut self, arguments: &[Field], setting: &Setting, depth: usize) {
        let call = Call::read(arguments);
        let folder = call.folders.iter().fold(None, |before: Option<Field>, next| {
            let absolute = next.bits.first() == Some(&Bit::Char('/'));
            before.filter(|_| !absolute).map_or_else(
                || Some(next.clone()),
                |mut before| {
                    before.bits.push(Bit::Char('/'));
                    before.push(next);
                    Some(before)
                },
            )
        });
        self.within(folder.as_ref(), |walk| walk.git_call(&call, setting, depth));
    }

    fn git_call(&mut self, call: &Call, setting: &Setting, depth: usize) {
        let command = call.command();
        let name = command.as_deref().unwrap_or_default();
        for (key, value) in &call.configs {
            self.git_config(key, value.as_ref(), name, call.arguments(), setting, depth);
        }
        self.git_variables(setting, name, call, depth);
        self.git_places(setting, name, call);
        let Some(command) = command else {
            // The command itself is not known; or it is the next word, if this one is nothing, or an option.
            if let Some(rest) = call.rest.get(1..).filter(|_| depth < 4) {
                self.git_at(rest, setting, depth + 1);
            }
            if let Some(first) = call.rest.first().filter(|first| first.is_any()) {
                let mentions = self.mentions();
                let words: Vec<String> = call.arguments().iter().filter_map(Field::literal).collect();
                let named = words.iter().any(|word| git::is_known(word));
                let own = words.into_iter().find(|word| !named && git::looks_like_skip(word));
                let short = own.or(mentions.short.filter(|_| mentions.hooked));
                if let Some(option) = mentions.long.or(short) {
                    self.find(What::Hooks, &option, "git".to_owned(), first.unknown.clone());
                }
            }
            return;
        };
        match git::skips(&command, call.arguments()) {
            Some(Skip::Sure(option)) => {
                self.find(What::Hooks, &option, format!("git {command} {option}"), None)
            }
            Some(Skip::Perhaps(field)) if is_edited(&field) => {
                self.find(What::Hooks, "an option", format!("git {command} …"), field.unknown);
            }
            Some(Skip::Perhaps(field)) if field.is_any() => {
                let mentions = self.mentions();
                let short = mentions.short.filter(|_| matches!(command.as_str(), "commit" | "am"));
                if let Some(option) = mentions.long.or(short) {
                    self.find(What::Hooks, &option, format!("git {command}"), field.unknown);
                }
            }
            Some(Skip::Perhaps(field)) => {
                let shown = format!("git {command} {}", field.shown());
                self.find(What::Hooks, "an option", shown, field.unknown);
            }
            None => {}
        }
        if !git::is_known(&command) && depth < 4 {
            self.git_alias(&command, call.arguments(), setting, depth);
        }
        self.git_files(&command, call.arguments(), setting);
    }

    /// Variables and options by which git writes, or works elsewhere.
    fn git_places(&mut self, setting: &Setting, command: &str, call: &Call) {
        for (name, value) in &setting.variables {
            let traces = name.starts_with("GIT_TRACE") || name == "GIT_INDEX_FILE";
            if let Some(value) = single(value).filter(|value| traces && value.bits.len() > 1) {
                self.write(&value, &format!("{name} of"));
            }
        }
        let folders =
            call.places.iter().cloned().chain(setting.variables.iter().filter_map(|(name, value)| {
                matches!(name.as_str(), "GIT_DIR" | "GIT_COMMON_DIR").then(|| single(value)).flatten()
            }));
        // A folder of programs that the text makes goes before those that the hook needs.
        let path = setting
            .variables
            .iter()
            .filter(|(name, _)| name == "PATH")
            .filter_map(|(_, value)| single(value));
        let programs = path.flat_map(|path| path.parts(':')).collect::<Vec<_>>();
        for folder in folders.chain(programs).collect::<Vec<_>>() {
            // Its hooks are those of a folder that the text makes.
            if git::may_run_hooks(command) && self.makes(&folder) {
                self.find(What::Hooks, &folder.shown(), format!("git {command} in {}", folder.shown()), None);
            }
        }
    }

    /// A command that git does not have: an alias of it, if its configs say so.
    fn git_alias(&mut self, name: &str, arguments: &[Field], setting: &Setting, depth: usize) {
        let folders: Vec<_> = self.cwd.iter().flatten().cloned().collect();
        let made = self
            .aliases
            .iter()
            .filter(|(made, _)| *made == name.to_lowercase())
            .map(|(_, text)| text.clone());
        let kept = folders.iter().filter_map(|folder| self.place.git_alias(folder, name));
        for text in made.chain(kept).collect::<Vec<_>>() {
            self.aliased(&text, arguments, setting, depth);
        }
    }

    /// What an alias runs.
    pub(super) fn aliased(&mut self, text: &str, arguments: &[Field], setting: &Setting, depth: usize) {
        match text.strip_prefix('!') {
            Some(shell) => {
                // As git does it: the arguments follow as they are, and are those of the text.
                let whole = Field::of(&format!("{shell} \"$@\""));
                let list = [&[Field::of("sh"), Field::of("-c"), whole, Field::of("git")], arguments].concat();
                self.command(&list, setting);
            }
            None => {
                let mut words = split(text);
                words.extend(arguments.iter().cloned());
                self.git_at(&words, setting, depth + 1);
            }
        }
    }

    /// Variables that git reads, and those of tools that manage hooks.
    fn git_variables(&mut self, setting: &Setting, command: &str, call: &Call, depth: usize) {
        if !git::may_run_hooks(command) {
            return;
        }
        for (name, value) in &setting.variables {
            let text = single(value);
            let literal = text.as_ref().and_then(Field::literal);
            let shown = format!("{name}={}", text.as_ref().map(Field::shown).unwrap_or_default());
            if let Some(off) = self.rules.section("skips").filter(|skips| skips.knows(name)) {
                let any = off.list(name).next().is_none();
                let skips = literal
                    .as_ref()
                    .is_none_or(|value| if any { !value.is_empty() } else { off.has(name, value) });
                if skips {
                    self.find(What::Hooks, &shown, format!("{name} for git {command}"), None);
                }
            }
            let shells = ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES"];
            if shells.contains(&name.as_str()) || name.starts_with("BASH_FUNC_") {
                // The hook itself would run with it.
                self.find(What::Hooks, &shown, format!("{name} for git {command}"), None);
            }
            if name.starts_with("GIT_CONFIG_KEY_") {
                let number = name.trim_start_matches("GIT_CONFIG_KEY_");
                let mut values = setting
                    .variables
                    .iter()
                    .filter(|(other, _)| other.strip_prefix("GIT_CONFIG_VALUE_") == Some(number));
                let value = values.next_back().and_then(|(_, value)| single(value));
                let key = text.unwrap_or_else(|| Field::any(name));
                self.git_config(&key, value.as_ref(), command, call.arguments(), setting, depth);
            } else if name == "GIT_CONFIG_PARAMETERS" {
                let lower = literal.map(|text| text.to_lowercase());
                if lower.is_none_or(|text| {
                    text.contains("hookspath") || text.contains("include") || text.contains("alias.")
                }) {
                    self.find(What::Hooks, &shown, format!("{name} for git {command}"), None);
                }
            } else if matches!(
                name.as_str(),
                "GIT_CONFIG_GLOBAL"
                    | "GIT_CONFIG_SYSTEM"
                    | "GIT_CONFIG"
                    | "GIT_EXEC_PATH"
                    | "HOME"
                    | "XDG_CONFIG_HOME"
            ) {
                self.find(
                    What::Hooks,
                    &shown,
                    format!("{name} for git {command}"),
                    Some("which configs git then reads".to_owned()),
                );
            }
        }
    }

    /// What a command of git writes by name, and what it runs.
    fn git_files(&mut self, command: &str, arguments: &[Field], setting: &Setting) {
        let words: Vec<String> = arguments.iter().map(|field| field.literal().unwrap_or_default()).collect();
        let has = |option: &str| words.iter().any(|word| word == option);
        let how = format!("git {command} of");
        match command {
            "config" => self.git_config_command(arguments, &words, setting),
            "rm" if has("--cached") => {}
            // A new branch, and where it starts.
            "checkout" if ["-b", "-B", "--orphan"].into_iter().any(has) && !has("--") => {}
            "restore" if (has("--staged") || has("-S")) && !has("--worktree") && !has("-W") => {}
            "checkout" | "restore" | "rm" | "mv" | "checkout-index" => {
                for field in arguments.iter().filter(|field| !git::starts(field, "-")) {
                    let plain = ["./", ":/", ":(top)", ":(icase)", ":(literal)", ":(glob)"]
                        .into_iter()
                        .find(|magic| git::starts(field, magic));
                    let field =
                        plain.map_or_else(|| field.clone(), |magic| field.after(magic.chars().count()));
                    self.write(&globs(&field), &how);
                    if matches!(command, "rm" | "mv") {
                        self.whole(&field, &how);
                    }
                }
            }
            "apply" | "am" => setting.input.known().into_iter().for_each(|field| self.patch(&field.shown())),
            "clean" => self.git_clean(arguments, &words),
            "submodule" | "bisect" => {
                let at = words.iter().position(|word| matches!(word.as_str(), "foreach" | "run"));
                let list = at.and_then(|at| arguments.get(at + 1..)).unwrap_or_default();
                let list: Vec<Field> =
                    list.iter().skip_while(|field| git::starts(field, "-")).cloned().collect();
                match list.as_slice() {
                    [text] => self.field_text(text),
                    list => self.apart(|walk| walk.command(list, setting)),
                }
            }
            "rebase" | "filter-branch" | "difftool" | "mergetool" => {
                for (at, field) in arguments.iter().enumerate() {
                    let word = words.get(at).map(String::as_str).unwrap_or_default();
                    let joined = ["--exec=", "--extcmd=", "-x", "-yx"]
                        .into_iter()
                        .find(|option| git::starts(field, option) && word != *option);
                    if matches!(word, "-x" | "-yx" | "--exec" | "--extcmd")
                        || (word.starts_with("--") && word.ends_with("-filter"))
                    {
                        arguments.get(at + 1).into_iter().for_each(|text| self.field_text(text));
                    } else if let Some(option) = joined {
                        self.field_text(&field.after(option.len()));
                    }
                }
            }
            "grep" => {
                for field in arguments {
                    let pager =
                        ["--open-files-in-pager=", "-O"].iter().find(|option| git::starts(field, option));
                    pager.into_iter().for_each(|option| self.field_text(&field.after(option.len())));
                }
            }
            "send-pack" => self.find(What::Hooks, "send-pack", "git send-pack".to_owned(), None),
            "fetch" | "ls-remote" | "clone" | "push" | "pull" => self.git_remote(arguments, &words),
            "for-each-repo" => {
                let list: Vec<Field> =
                    arguments.iter().skip_while(|field| git::starts(field, "-")).cloned().collect();
                self.git(&list, setting);
            }
            _ => {}
        }
        self.git_targets(command, arguments, &how);
        let outputs = arguments.iter().enumerate().filter(|(_, field)| git::starts(field, "--output"));
        for (at, field) in outputs.collect::<Vec<_>>() {
            let value = if field.bits.contains(&Bit::Char('=')) {
                git::setting(field).1
            } else {
                arguments.get(at + 1).cloned()
            };
            value.iter().for_each(|value| self.write(value, &how));
        }
        if matches!(command, "archive" | "bundle" | "format-patch") {
            let at = words.iter().position(|word| matches!(word.as_str(), "-o" | "create"));
            at.and_then(|at| arguments.get(at + 1)).into_iter().for_each(|file| self.write(file, &how));
        }
    }

    /// Folders that git fills, and files that it writes by options.
    fn git_targets(&mut self, command: &str, arguments: &[Field], how: &str) {
        let operands: Vec<&Field> = arguments.iter().filter(|field| !git::starts(field, "-")).collect();
        let joined = |option: &str| -> Vec<Field> {
            let given = arguments.iter().filter(move |field| git::starts(field, option));
            given
                .map(|field| field.after(option.chars().count()))
                .filter(|value| !value.bits.is_empty())
                .collect()
        };
        let mut files: Vec<Field> = match command {
            "interpret-trailers" => operands.iter().map(|field| (*field).clone()).collect(),
            _ => joined("--export-marks="),
        };
        let mut folders = [joined("--prefix="), joined("--directory=")].concat();
        match command {
            "clone" | "worktree" | "init" => {
                folders.extend(operands.iter().skip(1).map(|field| (*field).clone()))
            }
            "format-patch" | "bugreport" | "diagnose" => folders.extend(joined("-o")),
            "archive" => files.extend(joined("-o")),
            _ => {}
        }
        if command == "init" {
            folders.extend(operands.first().map(|field| (*field).clone()));
        }
        files.iter().for_each(|file| self.write(file, how));
        for mut folder in folders {
            self.whole(&folder, how);
            folder.bits.extend("/x".chars().map(Bit::Char));
            self.write(&folder, how);
        }
    }

    /// Commands that the other end of a transfer runs, which may be here.
    fn git_remote(&mut self, arguments: &[Field], words: &[String]) {
        let options = ["--upload-pack", "--receive-pack", "--exec", "-u"];
        for (at, (field, word)) in arguments.iter().zip(words).enumerate() {
            if options.contains(&word.as_str()) {
                arguments.get(at + 1).into_iter().for_each(|text| self.field_text(text));
            } else if let Some(option) = options.iter().find(|option| word.starts_with(&format!("{option}=")))
            {
                self.field_text(&field.after(option.len() + 1));
            } else if let Some(text) = word.strip_prefix("ext::") {
                self.field_text(&Field::again(&text.replace("% ", " ")));
            }
        }
    }

    /// `git clean`, which takes what is not tracked, and with `-x` what is ignored: the state of sessions.
    fn git_clean(&mut self, arguments: &[Field], words: &[String]) {
        let short = |c: char| {
            words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(c))
        };
        let long =
            |option: &str| words.iter().any(|word| word.len() > 3 && option.starts_with(word.as_str()));
        let dry = short('n') || long("--dry-run");
        if dry || !(short('f') || long("--force")) || !(short('x') || short('X')) {
            return;
        }
        let paths: Vec<&Field> = arguments.iter().filter(|field| !git::starts(field, "-")).collect();
        if paths.is_empty() {
            for folder in [".kontourai/flow-agents", ".flow-agents"] {
                let there = self.cwd.iter().flatten().any(|base| self.place.is_folder(&base.join(folder)));
                if there {
                    self.whole(&Field::of(folder), "git clean of");
                }
            }
        }
        paths.into_iter().for_each(|path| self.whole(path, "git clean of"));
    }
}

/// The one field that a value is.
pub(super) fn single(value: &Value) -> Option<Field> {
    value.as_ref().map(|fields| fields.first().cloned().unwrap_or_default())
}

/// A path that git itself expands.
pub(super) fn globs(field: &Field) -> Field {
    let bits = field.bits.iter().map(|bit| match bit {
        Bit::Char('*') => Bit::Star,
        Bit::Char('?') => Bit::One,
        bit => *bit,
    });
    Field { bits: bits.collect(), unknown: field.unknown.clone() }
}
