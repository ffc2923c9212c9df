//! Settings of git: for one run, and those that `git config` changes.

use super::What;
use super::git;
use super::git_call::single;
use super::walk::{Setting, Walk};
use crate::policy::shell::Field;

impl Walk<'_> {
    /// A config for one run of git.
    pub(super) fn git_config(
        &mut self,
        key: &Field,
        value: Option<&Field>,
        command: &str,
        arguments: &[Field],
        setting: &Setting,
        depth: usize,
    ) {
        if git::moves_hooks(key) && git::may_run_hooks(command) {
            return self.find(What::Hooks, &key.shown(), format!("git with {}", key.shown()), None);
        }
        let Some(key) = key.literal() else { return };
        let Some(value) = value else { return };
        let lower = key.to_lowercase();
        if let Some(alias) = lower.strip_prefix("alias.") {
            let given = if alias == command.to_lowercase() { arguments } else { &[] };
            match value.literal() {
                Some(text) if depth < 4 => self.aliased(&text, given, setting, depth),
                _ => self.mentioned(value, "an alias for"),
            }
        } else if git::is_command(&key) {
            self.run_setting(&key, value);
        }
    }

    /// `git config`
    pub(super) fn git_config_command(&mut self, arguments: &[Field], words: &[String], setting: &Setting) {
        let at = words.iter().position(|word| matches!(word.as_str(), "-f" | "--file" | "--blob"));
        let file = at.and_then(|at| arguments.get(at + 1)).cloned();
        let file = file.or_else(|| {
            arguments
                .iter()
                .find(|field| git::starts(field, "--file="))
                .map(|field| field.after("--file=".len()))
        });
        let mut skip = false;
        let mut ended = false;
        let operands: Vec<&Field> = arguments
            .iter()
            .zip(words)
            .filter_map(|(field, word)| {
                let passed = std::mem::replace(
                    &mut skip,
                    matches!(
                        word.as_str(),
                        "-f" | "--file" | "--blob" | "--type" | "--default" | "--comment" | "--value"
                    ),
                );
                let operand = !passed && (ended || !git::starts(field, "-"));
                ended |= word == "--";
                operand.then_some(field)
            })
            .collect();
        let first = operands.first().and_then(|field| field.literal()).unwrap_or_default();
        let options = words.iter().take_while(|word| *word != "--");
        let reads = options.clone().any(|word| {
            word.starts_with("--get")
                || matches!(word.as_str(), "-l" | "--list" | "--name-only" | "--show-origin")
        }) || matches!(first.as_str(), "get" | "list" | "get-color" | "get-urlmatch");
        if reads {
            return;
        }
        if options.clone().any(|word| matches!(word.as_str(), "-e" | "--edit")) || first == "edit" {
            let harmless = ["", "true", ":", "cat", "vi", "vim", "nvim", "nano", "less"];
            let named = ["GIT_EDITOR", "VISUAL", "EDITOR"];
            let set = setting.variables.iter().filter(|(name, _)| named.contains(&name.as_str()));
            let editor = set.filter_map(|(_, value)| single(value)).map(|editor| editor.shown()).next();
            if editor.is_some_and(|editor| !harmless.contains(&editor.as_str())) {
                self.find(What::Hooks, "--edit", "git config --edit".to_owned(), None);
            }
        }
        let changes = words.iter().any(|word| {
            ["--unset", "--add", "--replace", "--remove", "--rename"]
                .iter()
                .any(|option| word.starts_with(option))
        }) || matches!(first.as_str(), "set" | "unset" | "remove-section" | "rename-section");
        let worded = matches!(first.as_str(), "set" | "unset" | "remove-section" | "rename-section" | "edit");
        let rest = operands.get(usize::from(worded)..).unwrap_or_default();
        if !changes && rest.len() < 2 {
            return;
        }
        file.iter().for_each(|file| self.write(file, "git config in"));
        let Some((key, values)) = rest.split_first() else { return };
        let section = words.iter().any(|word| word.contains("-section"))
            && rest.iter().any(|key| {
                let key = key.literal().unwrap_or_default().to_lowercase();
                ["core", "include", "includeif", "alias"].iter().any(|section| key.starts_with(section))
            });
        if section || git::moves_hooks(key) {
            return self.find(
                What::Hooks,
                &key.shown(),
                format!("git config {}", key.shown()),
                key.unknown.clone(),
            );
        }
        let alias = key.literal().is_some_and(|key| key.to_lowercase().starts_with("alias."));
        match values.first().and_then(|value| value.literal()) {
            Some(text) if alias => {
                let name = key.literal().unwrap_or_default().to_lowercase();
                self.aliased(&text, &[], setting, 1);
                self.aliases.push((name.trim_start_matches("alias.").to_owned(), text));
            }
            Some(text) if key.literal().is_some_and(|key| git::is_command(&key)) => {
                self.run_setting(&key.shown(), &Field::of(&text))
            }
            _ => {}
        }
    }
}
