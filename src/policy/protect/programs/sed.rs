//! sed: the files that it writes by `w`, and the commands that it runs by `e`.

use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::shell::{Bit, Field};

impl Walk<'_> {
    /// The arguments of sed, any of which may be a script.
    pub(in crate::policy::protect) fn sed(&mut self, arguments: &[Field], setting: &Setting) {
        let mut scripts: Vec<String> = arguments.iter().map(Field::shown).collect();
        for (at, argument) in arguments.iter().enumerate() {
            let file = match argument.shown().as_str() {
                "-f" => arguments.get(at + 1).cloned(),
                word if word.starts_with("--file=") => Some(argument.after("--file=".len())),
                _ => None,
            };
            let texts = file.map(|file| self.scripts_of(&file)).unwrap_or_default();
            scripts.extend(texts.iter().map(Field::shown));
        }
        // `e` alone runs what has become of a line.
        let runs_line =
            scripts.iter().any(|script| script.split([';', '\n', '{', '}']).any(|part| part.trim() == "e"));
        let mut runs_input = runs_line;
        for script in &scripts {
            self.sed_script(script);
            runs_input |= self.sed_substitutions(script, runs_line, setting);
        }
        if runs_input {
            setting.input.known().into_iter().for_each(|input| self.field_text(input));
        }
    }

    /// `s/…/COMMAND/e`; whether there is one, which also runs what it was given.
    fn sed_substitutions(&mut self, script: &str, runs_line: bool, setting: &Setting) -> bool {
        let chars: Vec<char> = script.chars().collect();
        let mut found = false;
        for (at, _) in chars.iter().enumerate().filter(|(_, c)| **c == 's') {
            let Some(delimiter) = chars
                .get(at + 1)
                .copied()
                .filter(|c| !c.is_alphanumeric() && !c.is_whitespace() && *c != '\\')
            else {
                continue;
            };
            self.spend(chars.len());
            if self.found.is_some() {
                return found;
            }
            let Some(middle) = end(&chars, at + 2, delimiter) else { continue };
            let Some(last) = end(&chars, middle + 1, delimiter) else { continue };
            let flags =
                chars.iter().skip(last + 1).take_while(|c| c.is_ascii_alphanumeric()).collect::<String>();
            if !runs_line && !flags.chars().take_while(|c| *c != 'w').any(|c| c == 'e') {
                continue;
            }
            found = true;
            let by = chars.get(middle + 1..last).unwrap_or_default();
            let mut text = Field::default();
            let mut escaped = false;
            for c in by {
                match (*c, escaped) {
                    ('\\', false) => escaped = true,
                    ('0'..='9', true) | ('&', false) => {
                        text.bits.push(Bit::Any);
                        escaped = false;
                    }
                    (c, _) => {
                        text.bits.push(Bit::Char(if escaped && c == 'n' { '\n' } else { c }));
                        escaped = false;
                    }
                }
            }
            self.field_text(&text);
            // It may stand anywhere in what comes in.
            if let Some(mut input) = setting.input.known().cloned() {
                input.bits.retain(|bit| *bit != Bit::Char('\n'));
                input.bits.push(Bit::Char(' '));
                input.push(&text);
                self.field_text(&input);
            }
        }
        found
    }

    /// `w FILE` and `e COMMAND` of sed.
    fn sed_script(&mut self, script: &str) {
        for line in script.lines() {
            for (at, _) in line.match_indices(['w', 'W', 'e']) {
                // Each may take the rest of the line.
                self.spend(line.len());
                if self.found.is_some() {
                    return;
                }
                let Some((command, rest)) = line.get(at..).and_then(|text| text.split_at_checked(1)) else {
                    continue;
                };
                let rest = rest.trim();
                match command {
                    "e" if rest.contains(' ') => self.field_text(&Field::of(rest)),
                    "e" => {}
                    _ if !rest.is_empty() => self.write(&Field::of(rest), "sed writing to"),
                    _ => {}
                }
            }
        }
    }
}

/// Where the next delimiter is that is not escaped.
fn end(chars: &[char], from: usize, delimiter: char) -> Option<usize> {
    let mut at = from;
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 1,
            c if *c == delimiter => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}
