//! Text of others, before it reaches a model or a terminal: one line, no control characters, bounded.

/// White space as JavaScript's `\s` has it: commands and texts are compared with what flow-agents wrote.
fn is_space(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}

/// `text` with each run of white space one space and none around it, without control characters, cut to `most` UTF-16 units.
#[must_use]
pub fn line(text: &str, most: usize) -> String {
    let joined = text.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let clean: String = joined.chars().filter(|c| !c.is_control()).collect();
    if clean.encode_utf16().count() <= most {
        return clean;
    }
    let mut room = most.saturating_sub(3);
    let kept: String = clean
        .chars()
        .take_while(|c| {
            let fits = c.len_utf16() <= room;
            room = room.saturating_sub(c.len_utf16());
            fits
        })
        .collect();
    format!("{kept}...")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_one_clean_bounded_line() {
        assert_eq!(line(" a  b\n\u{a0}c ", 240), "a b c");
        assert_eq!(line("a\u{1b}[31mred\u{7} b\u{85}c\0", 240), "a[31mred bc");
        assert_eq!(line("xxxxxxxxxx", 10), "xxxxxxxxxx");
        assert_eq!(line("xxxxxxxxxxx", 10), "xxxxxxx...");
        assert_eq!(line("😀😀😀", 5), "😀...");
    }
}
