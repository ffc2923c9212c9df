//! Programs that run commands from a file of tasks: `make`, `npm run`. The file is read as scripts are: if the call writes
//! it, or the checkout's index does not have it as it is.

use super::git;
use super::streams::Input;
use super::walk::{Setting, Walk};
use crate::policy::json;
use crate::policy::shell::Field;
use serde_json::Value;

impl Walk<'_> {
    /// `make`: the lines of its recipes, whichever target they are for.
    pub(super) fn make(&mut self, arguments: &[Field], setting: &Setting) {
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
        for text in texts {
            for line in text.shown().split(['\n', ';']).filter(|line| !line.trim_start().starts_with('#')) {
                // `$$` is a dollar sign of the shell's; of a target's line what is behind it is a recipe.
                let recipe = line.trim_start().trim_start_matches(['@', '-', '+']).replace("$$", "$");
                self.field_text(&Field::of(&recipe));
            }
        }
    }

    /// `npm run NAME` and what runs with it.
    pub(super) fn npm(&mut self, arguments: &[Field]) {
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
