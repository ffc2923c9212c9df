//! The words in names that hosts and tools choose.

/// A key without case, `_` and `-`.
pub(super) fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect()
}

/// The words of a tool's name, without the name of its server: `mcp__fs__readText_file` is `read`, `text`, `file`; a name
/// of one word is also kept whole (`NotebookRead`).
pub(super) fn words(tool: &str) -> Vec<String> {
    let name = tool.rsplit("__").next().unwrap_or(tool);
    let name = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
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
