//! Programs that write what they name: `[[program]]` in `config/policies.toml`, and `find`.

use super::git;
use super::walk::{Setting, Walk};
use crate::policy::rules::Entry;
use crate::policy::shell::{Bit, Field};
use std::path::Path;

/// Arguments of a program, sorted.
#[derive(Debug, Default)]
struct Sorted {
    operands: Vec<Field>,
    /// Folders of the result, by an option.
    folders: Vec<Field>,
    /// Whether one of the `only` options is there.
    only: bool,
    /// Whether an option took a value.
    valued: bool,
    /// Short and long options that are there.
    options: String,
}

impl Walk<'_> {
    /// A program of the table.
    pub(super) fn program(&mut self, program: Entry<'static>, name: &str, arguments: &[Field]) {
        // The first word of tar's is options, with a dash or without.
        let mut arguments = arguments.to_vec();
        if let Some(first) =
            arguments.first_mut().filter(|first| name.ends_with("tar") && !git::starts(first, "-"))
        {
            first.bits.insert(0, Bit::Char('-'));
        }
        let sorted = self.sort(program, &arguments);
        if program.knows("only") && !sorted.only {
            return;
        }
        let how = format!("{name} on");
        let skip = usize::from(!sorted.valued || name == "uniq");
        match program.text("operands") {
            "all" => sorted.operands.iter().for_each(|field| self.take(name, &sorted, field, &how)),
            "second" => sorted.operands.iter().skip(skip).for_each(|field| self.write(field, &how)),
            kind @ ("last" | "move") => self.copy(name, kind == "move", &sorted, &how),
            _ => {}
        }
    }

    /// Writes an operand, and what is in it if the program takes whole folders.
    fn take(&mut self, name: &str, sorted: &Sorted, field: &Field, how: &str) {
        self.write(field, how);
        let removes = matches!(name, "rm" | "mv" | "trash" | "trash-put" | "move" | "del" | "srm" | "gmv");
        if removes || (sorted.options.contains('R') && name.starts_with("ch")) {
            for field in self.spread(field) {
                self.whole(&field, how);
            }
        }
    }

    /// A field, or what its glob names.
    fn spread(&self, field: &Field) -> Vec<Field> {
        if !field.is_glob() || field.unknown.is_some() {
            return vec![field.clone()];
        }
        let bases = self.cwd.iter().flatten();
        let paths = bases.flat_map(|base| self.globbed(field, base));
        paths.map(|path| Field::of(&path.to_string_lossy())).collect()
    }

    /// Copies, moves and links: sources, then where they go.
    fn copy(&mut self, name: &str, moves: bool, sorted: &Sorted, how: &str) {
        let mut sources = sorted.operands.clone();
        let (target, into) = match sorted.folders.last() {
            Some(folder) => (Some(folder.clone()), true),
            None if sources.len() > 1 => (sources.pop(), sources.len() > 1),
            // `ln FILE` makes a link in the working directory.
            None => (Some(Field::of(".")).filter(|_| name == "ln"), true),
        };
        let Some(target) = target else { return };
        let symbolic = name.ends_with("ln") && sorted.options.contains('s');
        if moves && !symbolic {
            sources.iter().for_each(|source| self.take(name, sorted, source, how));
        }
        let slash = target.bits.last() == Some(&Bit::Char('/'));
        let as_it_is = sorted.options.contains('T') && sorted.folders.is_empty() && name != "rsync";
        let folder = !as_it_is && (into || slash || self.is_folder(&target));
        let recursive =
            moves || sorted.options.contains(['r', 'R', 'a']) || name == "rsync" || name == "ditto";
        let mut targets = Vec::new();
        if !folder || target.is_any() {
            targets.push(target.clone());
        }
        for source in sources.iter().flat_map(|source| self.spread(source)).filter(|_| folder) {
            let named = source.bits.last() != Some(&Bit::Char('/')) || name != "rsync";
            let parts = source.parts('/');
            let last = parts.iter().rev().find(|part| !part.bits.is_empty()).filter(|_| named);
            let last = last.filter(|last| !matches!(last.literal().as_deref(), Some("." | "..")));
            let mut inside = target.clone();
            inside.bits.push(Bit::Char('/'));
            last.into_iter().for_each(|last| inside.push(last));
            targets.push(inside);
        }
        for target in &targets {
            if let [source] = sources.as_slice() {
                self.copied_to(source, target);
            }
            self.write(target, how);
            if recursive {
                self.whole(target, how);
            }
            if symbolic {
                sources.iter().for_each(|source| self.link(target, source));
            }
        }
    }

    fn is_folder(&self, target: &Field) -> bool {
        let Some(path) = target.literal() else { return false };
        let mut folders = self.cwd.iter().flatten().map(|base| super::place::normal(&base.join(&path)));
        folders.any(|folder| self.place.is_folder(&folder) || self.made.contains(&folder))
    }

    /// A symbolic link that later commands go through.
    fn link(&mut self, link: &Field, target: &Field) {
        let (Some(link), Some(to)) = (link.literal(), target.literal()) else {
            return self.write(target, "a link to");
        };
        for base in self.cwd.clone().into_iter().flatten() {
            let at = super::place::normal(&base.join(&link));
            self.links.push((at, to.clone().into()));
        }
    }

    fn sort(&mut self, program: Entry<'static>, arguments: &[Field]) -> Sorted {
        let mut sorted = Sorted::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let word = argument.literal().unwrap_or_default();
            if word == "--" {
                sorted.operands.extend(rest.by_ref().cloned());
            } else if !git::starts(argument, "-") || argument.bits.len() == 1 {
                sorted.operands.push(argument.clone());
            } else if word.starts_with("--") || program.has("outputs", &word) || program.has("only", &word) {
                let (option, value) = git::setting(argument);
                let option = option.literal().unwrap_or_default();
                let value = value.filter(|_| argument.bits.contains(&Bit::Char('=')));
                let shortened = |list| {
                    program
                        .list(list)
                        .any(|name| name == option || (option.len() > 3 && name.starts_with(&option)))
                };
                sorted.only |= shortened("only");
                sorted.options.push_str(option.trim_start_matches("--recursive"));
                if option == "--recursive" || option == "--archive" {
                    sorted.options.push('R');
                }
                if option == "--symbolic" {
                    sorted.options.push('s');
                }
                let takes = ["values", "outputs", "folders"].into_iter().find(|list| shortened(list));
                let value = value.or_else(|| takes.and_then(|_| rest.next().cloned()));
                self.option(takes, value, &mut sorted);
            } else {
                self.cluster(program, argument, &mut rest, &mut sorted);
            }
        }
        sorted
    }

    /// Joined short options.
    fn cluster<'f>(
        &mut self,
        program: Entry<'static>,
        argument: &Field,
        rest: &mut impl Iterator<Item = &'f Field>,
        sorted: &mut Sorted,
    ) {
        for (at, bit) in argument.bits.iter().enumerate().skip(1) {
            let Bit::Char(c) = bit else { return };
            let option = format!("-{c}");
            sorted.options.push(*c);
            if program.has("only", &option) {
                // A suffix may follow; an option that takes a value may as well.
                sorted.only = true;
            }
            let takes = ["values", "outputs", "folders"].into_iter().find(|list| program.has(list, &option));
            if takes.is_some() {
                let joined = Some(argument.after(at + 1)).filter(|value| !value.bits.is_empty());
                let value = joined.or_else(|| rest.next().cloned());
                return self.option(takes, value, sorted);
            }
        }
    }

    fn option(&mut self, takes: Option<&str>, value: Option<Field>, sorted: &mut Sorted) {
        sorted.valued |= takes == Some("values");
        match (takes, value) {
            (Some("outputs"), Some(value)) => self.write(&value, "writing to"),
            (Some("folders"), Some(value)) => sorted.folders.push(value),
            _ => {}
        }
    }

    /// `find`, and what it does with what it finds.
    pub(super) fn find_files(&mut self, arguments: &[Field], setting: &Setting) {
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
        for (at, word) in words.iter().enumerate() {
            let next = arguments.get(at + 1);
            match word.as_str() {
                "-name" | "-iname" | "-path" | "-ipath" | "-wholename" => names.extend(next.cloned()),
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    next.into_iter().for_each(|file| self.write(file, "find writing to"))
                }
                "-delete" => actions.push(None),
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch" => {
                    let after = arguments.iter().skip(at + 1);
                    let ends = |field: &&Field| !matches!(field.literal().as_deref(), Some(";" | "+"));
                    actions.push(Some(after.take_while(ends).cloned().collect::<Vec<_>>()));
                }
                _ => {}
            }
        }
        if actions.is_empty() {
            return;
        }
        let mut hits = self.protected_below(&starts, &names);
        hits.push(Field::any("what find finds"));
        for (action, hit) in actions.iter().flat_map(|action| hits.iter().map(move |hit| (action, hit))) {
            match action {
                None => self.write(hit, "find -delete on"),
                Some(list) => {
                    let place = |field: &Field| match field.literal() {
                        Some(text) if text.contains("{}") => {
                            Field { bits: hit.bits.clone(), unknown: hit.unknown.clone() }
                        }
                        _ => field.clone(),
                    };
                    let list: Vec<Field> = list.iter().map(place).collect();
                    self.apart(|walk| walk.command(&list, setting));
                }
            }
        }
    }

    /// The protected files that `find` prints.
    pub(super) fn found_by(&self, arguments: &[Field]) -> Vec<Field> {
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
    pub(super) fn protected_below(&self, starts: &[&Field], names: &[Field]) -> Vec<Field> {
        let here = Field::of(".");
        let starts = if starts.is_empty() { vec![&here] } else { starts.to_vec() };
        let mut hits = Vec::new();
        for base in self.cwd.iter().flatten() {
            for start in starts.iter().filter_map(|start| start.literal()) {
                let folder = base.join(&start);
                for file in self.place.below(&folder) {
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
    super::guard::meet(&super::git_call::globs(pattern).bits, &Field::of(name).bits)
}
