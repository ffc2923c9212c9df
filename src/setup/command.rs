//! The command that a host runs for a hook: a program's absolute path, quoted for a shell, and `hook HOST`.

use std::path::Path;

/// The name of the program, whatever folder it is in.
const PROGRAM: &str = "tally";

/// `PROGRAM hook HOST`, as a POSIX shell takes it.
#[must_use]
pub fn of(program: &Path, host: &str) -> String {
    format!("{} hook {host}", quote(&program.to_string_lossy()))
}

/// Whether `command` runs us as a hook of `host`: also one that was written by hand, or with another path.
#[must_use]
pub fn is_ours(command: &str, host: &str) -> bool {
    let words = split(command);
    let mut words = words.iter().map(String::as_str);
    let program = words.next().and_then(|word| Path::new(word).file_name()).and_then(|name| name.to_str());
    program == Some(PROGRAM) && words.next() == Some("hook") && words.next() == Some(host)
}

/// The program that `command` runs.
#[must_use]
pub fn program(command: &str) -> Option<String> {
    split(command).into_iter().next()
}

/// `text` as one word of a POSIX shell.
pub(super) fn quote(text: &str) -> String {
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | ',' | ':');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The words of a simple command; what a shell would expand stays as it is.
fn split(command: &str) -> Vec<String> {
    let (mut words, mut word, mut open) = (vec![], String::new(), None);
    let mut started = false;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (c, open) {
            (quote, Some(mark)) if quote == mark => open = None,
            ('\'' | '"', None) => {
                open = Some(c);
                started = true;
            }
            ('\\', None | Some('"')) => {
                word.extend(chars.next());
                started = true;
            }
            (blank, None) if blank.is_whitespace() => {
                if std::mem::take(&mut started) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (other, _) => {
                word.push(other);
                started = true;
            }
        }
    }
    if started {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_blanks_and_quotes_survives_the_shell() {
        for path in ["/usr/bin/tally", "/my tools/tally", "/it's/tally", "/a$b/`c`/tally", "/ü/tally"] {
            let command = of(Path::new(path), "codex");
            assert_eq!(split(&command), [path, "hook", "codex"], "{command}");
            assert!(is_ours(&command, "codex") && !is_ours(&command, "pi"), "{command}");
        }
        assert_eq!(of(Path::new("/usr/bin/tally"), "pi"), "/usr/bin/tally hook pi");
    }

    #[test]
    fn ours_is_told_from_others() {
        for ours in ["tally hook pi", "\"/a b/tally\" hook pi --event Stop", " tally  hook\tpi "] {
            assert!(is_ours(ours, "pi"), "{ours}");
        }
        for other in [
            "",
            "tally",
            "tally hook",
            "tally hook codex",
            "rally hook pi",
            "echo tally hook pi",
            "tally-x hook pi",
        ] {
            assert!(!is_ours(other, "pi"), "{other}");
        }
    }
}
