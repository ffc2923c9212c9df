//! `find` and `fd`, and what they do with what they find.

use super::wrappers::replaced;
use crate::policy::protect::git_call::globs;
use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::shell::{Field, size};
use std::path::Path;

/// What stands for a file that was found, or for a part of its path.
const PLACES: [&str; 5] = ["{}", "{/}", "{//}", "{.}", "{/.}"];

impl Walk<'_> {
    /// `find`, and what it does with what it finds.
    pub(in crate::policy::protect) fn find_files(&mut self, arguments: &[Field], setting: &Setting) {
        let words: Vec<String> = arguments.iter().map(|field| field.literal().unwrap_or_default()).collect();
        let is_test = |word: &String| word.starts_with(['-', '(', '!']);
        let starts: Vec<&Field> = arguments
            .iter()
            .zip(&words)
            .take_while(|(_, word)| !is_test(word))
            .map(|(field, _)| field)
            .collect();
        let mut names = Vec::new();
        let mut actions = Vec::new();
        let mut taken = 0;
        for (at, word) in words.iter().enumerate() {
            if at < taken {
                continue;
            }
            let next = arguments.get(at + 1);
            match word.as_str() {
                "-name" | "-iname" | "-path" | "-ipath" | "-wholename" => names.extend(next.cloned()),
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    next.into_iter().for_each(|file| self.write(file, "find writing to"))
                }
                "-delete" => actions.push(None),
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let after = arguments.iter().skip(at + 1);
                    let ends = |field: &&Field| !matches!(field.literal().as_deref(), Some(";" | "+"));
                    let list: Vec<Field> = after.take_while(ends).cloned().collect();
                    taken = at + 1 + list.len();
                    actions.push(Some(list));
                }
                _ => {}
            }
        }
        if actions.is_empty() {
            return;
        }
        let mut hits = self.protected_below(&starts, &names);
        self.each_hit(&actions, &mut hits, setting);
    }

    /// Does what is to be done with each file that is found.
    fn each_hit(&mut self, actions: &[Option<Vec<Field>>], hits: &mut Vec<Field>, setting: &Setting) {
        hits.push(Field::any("what find finds"));
        for (action, hit) in actions.iter().flat_map(|action| hits.iter().map(move |hit| (action, hit))) {
            match action {
                None => self.write(hit, "find -delete on"),
                Some(list) => {
                    self.spend(8 * size(list) + 64 * list.len());
                    if self.found.is_some() {
                        return;
                    }
                    let list: Vec<Field> = list.iter().map(|field| placed(field, hit)).collect();
                    self.apart(|walk| walk.command(&list, setting));
                }
            }
        }
    }

    /// `fd [PATTERN [FOLDER…]] -x COMMAND`: the pattern is a part of a name; what is hidden is left out unless it is asked for.
    pub(in crate::policy::protect) fn fd(&mut self, arguments: &[Field], setting: &Setting) {
        let words: Vec<String> = arguments.iter().map(|field| field.literal().unwrap_or_default()).collect();
        let action =
            words.iter().position(|word| matches!(word.as_str(), "-x" | "-X" | "--exec" | "--exec-batch"));
        let Some(action) = action else { return };
        let mut list = arguments.get(action + 1..).unwrap_or_default().to_vec();
        if !list.iter().any(|field| PLACES.iter().any(|place| field.shown().contains(place))) {
            list.push(Field::of("{}"));
        }
        let (mut operands, mut endings, mut hidden) = (Vec::new(), Vec::new(), false);
        let mut rest = words.iter().take(action);
        while let Some(word) = rest.next() {
            match word.as_str() {
                "-e" | "--extension" => endings.extend(rest.next().cloned()),
                "-t" | "-d" | "-E" | "-j" | "-S" | "--type" | "--exclude" | "--max-depth" | "--threads" => {
                    rest.next();
                }
                word if word.starts_with("--") => hidden |= matches!(word, "--hidden" | "--unrestricted"),
                word if word.starts_with('-') => hidden |= word.contains(['H', 'u']),
                word => operands.push(Field::of(word)),
            }
        }
        let pattern = operands.first().map(Field::shown).unwrap_or_default();
        let plain: String = pattern.chars().filter(|c| !matches!(c, '^' | '$' | '\\')).collect();
        // A pattern with more in it than letters is not read: it may be any name.
        let plain = if plain.contains(['[', '(', '|', '+', '{']) { "" } else { &plain };
        let text = format!("*{}*", plain.replace(".*", "*"));
        let names = if endings.is_empty() {
            vec![Field::of(&text)]
        } else {
            endings.iter().map(|ending| Field::of(&format!("{text}.{ending}"))).collect()
        };
        let starts: Vec<&Field> = operands.iter().skip(1).collect();
        let mut hits = self.protected_below(&starts, &names);
        let shows =
            |field: &Field| !field.shown().split('/').any(|part| part.len() > 1 && part.starts_with('.'));
        let base = self.place.workspace().to_string_lossy().into_owned();
        hits.retain(|hit| hidden || shows(&Field::of(hit.shown().strip_prefix(&base).unwrap_or_default())));
        self.each_hit(&[Some(list)], &mut hits, setting);
    }

    /// The protected files that `find` prints.
    pub(in crate::policy::protect) fn found_by(&mut self, arguments: &[Field]) -> Vec<Field> {
        let words: Vec<String> = arguments.iter().map(|field| field.literal().unwrap_or_default()).collect();
        let begin = words.iter().take_while(|word| !word.starts_with(['-', '(', '!'])).count();
        let starts: Vec<&Field> = arguments.iter().take(begin).collect();
        let mut before = "";
        let mut names = Vec::new();
        for (word, field) in words.iter().zip(arguments) {
            if matches!(before, "-name" | "-iname" | "-path" | "-ipath" | "-wholename") {
                names.push(field.clone());
            }
            before = word;
        }
        self.protected_below(&starts, &names)
    }

    /// Protected files below the start points of `find` that its names fit.
    pub(in crate::policy::protect) fn protected_below(
        &mut self,
        starts: &[&Field],
        names: &[Field],
    ) -> Vec<Field> {
        let here = Field::of(".");
        let starts = if starts.is_empty() { vec![&here] } else { starts.to_vec() };
        let mut hits = Vec::new();
        for base in self.cwd.clone().into_iter().flatten() {
            let base = base.as_path();
            for start in starts.iter().filter_map(|start| start.literal()) {
                let folder = base.join(&start);
                let files = self.place.below(&folder);
                self.spend(files.len() * (64 + 16 * names.len()) + 2048);
                if self.found.is_some() {
                    return hits;
                }
                for file in files {
                    let text = |path: &Path| path.to_string_lossy().into_owned();
                    let name = file.file_name().map(|name| text(name.as_ref())).unwrap_or_default();
                    // As find prints it.
                    let printed =
                        file.strip_prefix(&folder).map(|below| text(&Path::new(&start).join(below)));
                    let printed = printed.unwrap_or_default();
                    let fits = |pattern: &Field| glob(pattern, &name) || glob(pattern, &printed);
                    if hits.len() < 8
                        && (names.is_empty() || names.iter().any(fits))
                        && self.protected(&text(&file), base).is_some()
                    {
                        hits.push(Field::of(&text(&file)));
                    }
                }
            }
        }
        hits
    }
}

/// Whether a name fits a pattern that stands for itself in the shell.
fn glob(pattern: &Field, name: &str) -> bool {
    crate::policy::protect::guard::meet(&globs(pattern).bits, &Field::of(name).bits)
}

/// An argument with a file in the place of each `{}`.
fn placed(field: &Field, file: &Field) -> Field {
    PLACES.iter().fold(field.clone(), |field, place| replaced(&field, place, file))
}
