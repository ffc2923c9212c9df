//! Programs that run commands from a file of tasks: `make`, `npm run`. The file is read as scripts are: if the call writes
//! it, or the checkout's index does not have it as it is.

use crate::policy::json;
use crate::policy::protect::git;
use crate::policy::protect::streams::Input;
use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::shell::Field;
use serde_json::Value;

impl Walk<'_> {
    /// `make`: the lines of its recipes, whichever target they are for.
    pub(in crate::policy::protect) fn make(&mut self, arguments: &[Field], setting: &Setting) {
        let mut texts = Vec::new();
        let mut files = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.literal().unwrap_or_default().as_str() {
                "-f" | "--file" | "--makefile" => files.extend(rest.next().cloned()),
                "--eval" | "-E" => texts.extend(rest.next().cloned()),
                _ if git::starts(argument, "--eval=") => texts.push(argument.after(7)),
                _ if git::starts(argument, "-f") => files.push(argument.after(2)),
                _ => {}
            }
        }
        if files.is_empty() {
            files.extend(["GNUmakefile", "makefile", "Makefile"].map(Field::of));
        }
        for file in files {
            match (&setting.input, file.literal().as_deref()) {
                (Input::Known(text), Some("-" | "/dev/stdin")) => texts.push(text.clone()),
                _ => texts.extend(self.scripts_of(&file)),
            }
        }
        texts.iter().for_each(|text| self.recipes(&text.shown()));
    }

    /// The text of a Makefile: whatever may be a recipe, or the value of a variable that is one.
    fn recipes(&mut self, text: &str) {
        let text = text
            .replace("\\\n", " ")
            .replace("$(shell ", "$( ")
            .replace("${shell ", "$( ")
            .replace("$$", "$");
        let text = variables_of_make(text);
        for line in text.lines() {
            let value = line.split_once('=').map(|(_, value)| value);
            for part in line.split(';').chain([line]).chain(value) {
                self.spend(part.len());
                let part = part.trim_start_matches(|c: char| c.is_whitespace() || "@-+!".contains(c));
                if part.contains(' ') {
                    self.field_text(&Field::again(part));
                }
            }
        }
    }

    /// `npm run NAME` and what runs with it.
    pub(in crate::policy::protect) fn npm(&mut self, arguments: &[Field]) {
        if arguments.first().and_then(Field::literal).as_deref() == Some("pkg") {
            // What a script is set to may be run by its name.
            for (key, value) in arguments.iter().map(git::setting) {
                let script = key.shown().starts_with("scripts");
                value.into_iter().filter(|_| script).for_each(|text| self.field_text(&text));
            }
            return;
        }
        let words = arguments.iter().map(|field| field.literal().unwrap_or_default());
        let mut words = words
            .filter(|word| !word.starts_with('-'))
            .skip_while(|word| word == "run" || word == "run-script");
        let Some(name) = words.next() else { return };
        for text in self.scripts_of(&Field::of("package.json")) {
            let Some(Value::Object(package)) = json::parse(&text.shown()) else { continue };
            let scripts = package.get("scripts").and_then(Value::as_object);
            let wanted = ["", "pre", "post"].map(|prefix| format!("{prefix}{name}"));
            let texts = wanted.iter().filter_map(|name| scripts?.get(name)?.as_str());
            texts.map(Field::of).collect::<Vec<_>>().iter().for_each(|text| self.field_text(text));
        }
    }
}

/// The text of a Makefile with the values of its variables.
fn variables_of_make(mut text: String) -> String {
    let assigned = text.lines().filter_map(|line| line.split_once('='));
    let variables: Vec<(String, String)> = assigned
        .map(|(name, value)| (name.trim_end_matches([':', '?', '+', ' ']).trim(), value.trim()))
        .filter(|(name, value)| !name.is_empty() && !name.contains(char::is_whitespace) && value.len() < 256)
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .take(32)
        .collect();
    for (name, value) in &variables {
        if text.len() < 1 << 20 {
            text = text.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
        }
    }
    text
}
