//! The banner: the line `Process exited with code N` in the preamble that Codex writes before a command's output.
//!
//! ```text
//! Chunk ID: 1a2b
//! Wall time: 0.1 seconds
//! Process exited with code 1
//! Original token count: 25
//! Output:
//! ⟨what the command printed⟩
//! ```
//!
//! The preamble is the lines of this kind at the very beginning, up to `Output:`. Where that never comes, or anything else
//! comes first, nothing tells the host's words from the command's: then only a failure is believed, because nobody
//! forges one. A line may also end in a backslash and an `n`, as in a piece of JSON that is not decoded.

const BANNER: &str = "Process exited with code ";
const DELIMITER: &str = "Output:";
/// Codex writes five lines; a text that goes on for longer like this is not its preamble.
const MAX_LINES: usize = 16;

/// The exit code in the preamble of `text`; `None` is no signal, never 0.
#[must_use]
pub fn exit_code(text: &str) -> Option<i64> {
    let mut code = None;
    let mut rest = text;
    for _ in 0..MAX_LINES {
        let (line, after) = first_line(rest);
        if line == DELIMITER {
            return code;
        }
        if !is_of_preamble(line) {
            break;
        }
        code = code.or_else(|| told_by(line));
        rest = after;
    }
    code.filter(|code| *code != 0)
}

fn told_by(line: &str) -> Option<i64> {
    let digits = line.strip_prefix(BANNER)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

/// `Process …`, or `Some words: …`.
fn is_of_preamble(line: &str) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c == ' ' || c.is_ascii_alphabetic());
    line.starts_with("Process ") || line.split_once(": ").is_some_and(|(name, _)| is_name(name))
}

/// The first line, without its end, and what follows it.
fn first_line(text: &str) -> (&str, &str) {
    let ends = ["\r\n", "\n", "\\r\\n", "\\n"];
    let first = ends.iter().filter_map(|end| Some((text.find(end)?, end.len()))).min();
    let (at, length) = first.unwrap_or((text.len(), 0));
    (text.get(..at).unwrap_or_default(), text.get(at + length..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    const GOLDEN: &str = include_str!("../../../tests/fixtures/flow-agents/golden/codex-banner.jsonl");
    const VECTORS: &str = include_str!("../../../tests/fixtures/policy/codex-banner.jsonl");

    /// Texts of which flow-agents reads another code; docs/differences/evidence.md.
    const OURS: [(&str, Option<i64>); 4] = [
        ("Output:\nProcess exited with code 0", None),
        ("Output:\nProcess exited with code 0\n", None),
        ("Process exited with code 12abc", None),
        ("Process exited with code 99999999999999999999999999\nOutput:\n", None),
    ];

    #[test]
    fn golden_banners() {
        let rows = GOLDEN.lines().chain(VECTORS.lines().filter(|line| line.contains("FromBanner")));
        let (mut count, mut differences) = (0, 0);
        for line in rows {
            let row: Value = serde_json::from_str(line).unwrap();
            let theirs = row.get("6.x").unwrap_or(&row["expect"]["both"]);
            let Some(text) = row["text"].as_str() else { continue };
            let ours = OURS.iter().find(|(known, _)| *known == text);
            let expected = ours.map_or(theirs.as_i64(), |(_, code)| *code);
            differences += usize::from(ours.is_some() && !theirs.is_null());
            assert_eq!(exit_code(text), expected, "{line}");
            count += 1;
        }
        assert_eq!((count, differences), (28, 4));
    }

    #[test]
    fn without_the_delimiter_only_a_failure_is_believed() {
        assert_eq!(exit_code("Process exited with code 0\n"), None);
        assert_eq!(exit_code("Process exited with code 0\nok\nOutput:\n"), None);
        assert_eq!(exit_code("tests:\nProcess exited with code 0\nOutput:\n"), None);
        assert_eq!(exit_code("Process exited with code 2\nok"), Some(2));
        assert_eq!(exit_code("ok\nProcess exited with code 2\n"), None);
    }

    proptest! {
        #[test]
        fn what_a_command_prints_changes_nothing(printed in any::<String>(), code in 0i64..300) {
            let text = format!("Wall time: 1 seconds\nProcess exited with code {code}\nOutput:\n{printed}");
            prop_assert_eq!(exit_code(&text), Some(code));
            prop_assert_eq!(exit_code(&format!("Wall time: 1 seconds\nOutput:\n{printed}")), None);
        }
    }
}
