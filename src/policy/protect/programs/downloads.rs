//! Where downloads go: to the name that a URL ends in, into a folder, to what a config or a template says.

use super::writers::within;
use crate::policy::protect::git;
use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::shell::Field;

impl Walk<'_> {
    /// `curl`, `wget` and others: what they write beside the outputs that `[[program]]` has.
    pub(in crate::policy::protect) fn download(
        &mut self,
        name: &str,
        arguments: &[Field],
        setting: &Setting,
    ) {
        let words: Vec<String> = arguments.iter().filter_map(Field::literal).collect();
        let short = |c: char| {
            words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(c))
        };
        let long = |option: &str| words.iter().any(|word| word.starts_with(option));
        let to_name = match name {
            "wget" => !short('O') && !long("--output-d") && !long("--spider"),
            "curl" => short('O') || long("--remote-name"),
            "aria2c" => !short('o') && !long("--out"),
            _ => short('d') || long("--download"),
        };
        let folders = match name {
            "curl" => values(arguments, '\0', "--output-dir"),
            "wget" => values(arguments, 'P', "--directory-prefix"),
            "aria2c" => values(arguments, 'd', "--dir"),
            _ => Vec::new(),
        };
        let outputs = if name == "wget" {
            values(arguments, 'O', "--output-document")
        } else {
            values(arguments, 'o', "--output")
        };
        let urls =
            arguments.iter().map(|field| (field, field.parts('/'))).filter(|(_, parts)| parts.len() > 1);
        let urls: Vec<(&Field, Vec<Field>)> = urls.collect();
        let lasts = urls.iter().filter_map(|(_, parts)| parts.last().cloned()).filter(|_| to_name);
        for file in lasts.chain(outputs.iter().cloned()).collect::<Vec<_>>() {
            let name = file.shown();
            let bare =
                name.split(['?', '#']).next().filter(|bare| !file.is_any() && *bare != name).map(Field::of);
            for file in bare.iter().chain(std::iter::once(&file)) {
                self.write(file, "a download to");
                folders.iter().for_each(|folder| self.write(&within(folder, file), "a download to"));
            }
        }
        // An upload to a file is a copy.
        if name == "curl" && (short('T') || long("--upload-file")) {
            for field in arguments.iter().filter(|field| git::starts(field, "file://")) {
                let path = field.literal().and_then(|word| crate::policy::protect::uri(&word));
                let file = path.map_or_else(|| field.after("file://".len()), |path| Field::of(&path));
                self.write(&file, "an upload to");
            }
        }
        // `-o "#1.json"` takes what braces of the URL stand for.
        for output in outputs.iter().filter_map(Field::literal).filter(|output| output.contains("#1")) {
            let groups = words.iter().filter_map(|word| word.split_once('{')?.1.split_once('}'));
            let names = groups.flat_map(|(names, _)| names.split(','));
            let files = names.map(|name| Field::of(&output.replace("#1", name))).collect::<Vec<_>>();
            files.iter().for_each(|file| self.write(file, "a download to"));
        }
        for (_, rest) in words.iter().filter_map(|word| word.split_once("%output{")) {
            let file = rest.trim_start_matches('>').split('}').next().unwrap_or_default();
            self.write(&Field::of(file), "a download to");
        }
        // Its config, or its list of URLs, may come in as text.
        let told = words.iter().any(|word| word == "-" || word.ends_with("/stdin"));
        let input = setting.input.known().into_iter().filter(|_| told).map(Field::shown);
        let told: Vec<String> =
            input.chain(values(arguments, 'e', "--execute").iter().map(Field::shown)).collect();
        told.iter().for_each(|text| self.named_in(text, "a download that is told of"));
    }
}

/// The values of an option, by its letter and its name.
fn values(arguments: &[Field], short: char, long: &str) -> Vec<Field> {
    let mut found = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        let shown = argument.shown();
        let next = || arguments.get(at + 1).cloned();
        if let Some(rest) = shown.strip_prefix("--") {
            let (name, joined) = rest.split_once('=').map_or((rest, false), |(name, _)| (name, true));
            if long.get(2..).is_some_and(|long| long.starts_with(name) && name.len() > 2) {
                found.extend(if joined { Some(argument.after(name.len() + 3)) } else { next() });
            }
        } else if let Some(cluster) = shown.strip_prefix('-')
            && let Some(place) = cluster.chars().position(|c| c == short)
        {
            let rest = argument.after(place + 2);
            found.extend(if rest.bits.is_empty() { next() } else { Some(rest) });
        }
    }
    found
}
