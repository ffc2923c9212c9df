//! The words in names that hosts and tools choose.

/// A key without case, `_` and `-`.
pub(super) fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

/// A tool's name as hosts give it: that of its server, and its own (`mcp__fs__read_file` is `mcp__fs__` and `read_file`).
pub(super) fn own(tool: &str) -> (&str, &str) {
    let name = tool.rsplit("__").next().unwrap_or(tool);
    let name = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    (tool.strip_suffix(name).unwrap_or_default(), name)
}

/// The words of a name: `readText_file` is `read`, `text`, `file`; the whole name comes first (`NotebookRead`).
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![name.to_ascii_lowercase()];
    let mut word = String::new();
    let mut lower = false;
    for c in name.chars() {
        let boundary = !c.is_ascii_alphanumeric() || (lower && c.is_ascii_uppercase());
        if boundary && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        lower = c.is_ascii_lowercase();
        word.extend(Some(c.to_ascii_lowercase()).filter(char::is_ascii_alphanumeric));
    }
    words.push(word);
    words
}

/// A text as a terminal takes it from somebody who types: a return ends a line, a backspace takes a character back. Keys may be
/// told by their names, each in a text of its own, as `tmux send-keys` has them.
pub(super) fn typed<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for key in keys {
        let plain = match key.to_ascii_lowercase().as_str() {
            "enter" | "return" | "kpenter" | "c-m" | "c-j" | "ctrl+m" | "ctrl+j" => "\n",
            "space" => " ",
            "tab" | "c-i" => "\t",
            "bspace" | "backspace" | "c-h" => "\u{8}",
            "c-c" | "c-u" | "ctrl+c" | "ctrl+u" => "\u{15}",
            _ => key,
        };
        for c in plain.replace("\r\n", "\n").replace("^M", "\n").replace("\\015", "\n").chars() {
            match c {
                '\r' => line.push('\n'),
                '\u{8}' | '\u{7f}' => drop(line.pop()),
                // What was typed so far is given up.
                '\u{3}' | '\u{15}' => line.truncate(line.rfind('\n').map_or(0, |at| at + 1)),
                c => line.push(c),
            }
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_words_without_those_of_its_server() {
        assert_eq!(own("mcp__fs__readText_file"), ("mcp__fs__", "readText_file"));
        assert_eq!(own("@git/git_commit"), ("@git/", "git_commit"));
        assert_eq!(words("readText_file"), ["readtext_file", "read", "text", "file"]);
    }

    #[test]
    fn what_is_typed_is_what_the_line_is_in_the_end() {
        for (keys, line) in [
            (vec!["git commit -n\r"], "git commit -n\n"),
            (vec!["git commit", " -n", "Enter"], "git commit -n\n"),
            (vec!["git", "Space", "commit", "Space", "-nx", "BSpace", "C-m"], "git commit -n\n"),
            (vec!["rm x", "C-u", "ls\r\n"], "ls\n"),
            (vec!["ls^M"], "ls\n"),
        ] {
            assert_eq!(typed(keys), line);
        }
    }
}
