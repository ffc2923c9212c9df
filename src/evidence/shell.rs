//! As much of a command line as can be told without being a shell.

/// White space as JavaScript's `\s` has it: commands are compared with what flow-agents wrote.
pub(super) fn is_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

/// `text` without white space around it.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// The words of `text`, cut at white space; quotes mean nothing here.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// The first word of `text` and what follows it, trimmed.
fn head(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_at(text.find(is_space).unwrap_or(text.len()));
    (word, trim(rest))
}

/// What one `bash -lc '…'` (`sh`, `zsh`, double quotes) around the command runs; else the command, trimmed.
pub(super) fn unwrapped(command: &str) -> &str {
    let command = trim(command);
    inside_of_shell(command).unwrap_or(command)
}

fn inside_of_shell(command: &str) -> Option<&str> {
    let (program, rest) = head(command);
    let (flags, quoted) = head(rest);
    if !is_shell_running_text(program, flags) {
        return None;
    }
    let inside = ['\'', '"'].into_iter().find_map(|quote| quoted.strip_prefix(quote)?.strip_suffix(quote));
    inside.map(trim)
}

/// Whether `program` is a shell that `flags` tell to run a text.
pub(super) fn is_shell_running_text(program: &str, flags: &str) -> bool {
    matches!(program, "bash" | "sh" | "zsh") && flags.starts_with('-') && flags.ends_with('c')
}

/// `command` without the `NAME=value` words that it begins with, as long as anything follows them.
pub(super) fn without_assignments(command: &str) -> &str {
    let mut command = trim(command);
    loop {
        let (word, rest) = head(command);
        if rest.is_empty() || !is_assignment(word) {
            return command;
        }
        command = rest;
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    })
}

/// Whether the command is a `grep` or `diff` on its own, whose exit code 1 says that nothing was found: good news for
/// who looks for absence, bad news for who looks for presence.
pub(super) fn is_bare_search(command: &str) -> bool {
    let inner = unwrapped(command);
    if inner.starts_with('!') || inner.contains('|') || inner.contains("&&") {
        return false;
    }
    words(without_assignments(inner)).next().is_some_and(|first| matches!(first, "grep" | "diff"))
}
