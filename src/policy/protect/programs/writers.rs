//! Programs that write what they name: `[[program]]` in `config/policies.toml`.

use crate::policy::protect::git;
use crate::policy::protect::walk::{Setting, Walk};
use crate::policy::rules::Entry;
use crate::policy::shell::{Bit, Field};

/// Lists of options with a value.
const VALUED: [&str; 4] = ["values", "outputs", "folders", "texts"];
/// Lists whose options may be words behind one dash: `-out`.
const WHOLE: [&str; 6] = ["values", "outputs", "only", "takes", "unless", "texts"];

/// Arguments of a program, sorted.
#[derive(Debug, Default)]
struct Sorted {
    operands: Vec<Field>,
    /// Folders of the result, by an option.
    folders: Vec<Field>,
    /// Whether one of the `only` options is there.
    only: bool,
    /// Whether one of the `takes` options is there, and one of the `unless` options.
    takes: bool,
    unless: bool,
    /// Whether an option took a value.
    valued: bool,
    /// Values of options that are no files.
    told: Vec<Field>,
    /// Short and long options that are there.
    options: String,
}

impl Walk<'_> {
    /// A program of the table.
    pub(in crate::policy::protect) fn program(
        &mut self,
        program: Entry<'static>,
        name: &str,
        arguments: &[Field],
        setting: &Setting,
    ) {
        let mut arguments = arguments.to_vec();
        if program.knows("words") {
            let is_word = |field: &Field| field.literal().is_some_and(|word| program.has("words", &word));
            let Some(at) = arguments.iter().position(is_word) else { return };
            arguments.drain(..=at);
        }
        let verb = program.flag("verb");
        if let Some(first) = arguments.first_mut().filter(|first| verb && !git::starts(first, "-")) {
            first.bits.insert(0, Bit::Char('-'));
        }
        let sorted = self.sort(program, &arguments);
        if program.knows("speaks") {
            self.speaks(program, name, &sorted, setting);
        }
        if sorted.unless || program.knows("only") && !sorted.only {
            return;
        }
        let how = format!("{name} on");
        let skip = usize::from(!(sorted.valued && name.ends_with("sed")));
        match program.text("operands") {
            "first" if !sorted.takes => {
                sorted.operands.iter().take(1).for_each(|field| self.write(field, &how))
            }
            "all" | "first" => {
                sorted.operands.iter().for_each(|field| self.all(program, name, &sorted, field, &how))
            }
            "second" => sorted.operands.iter().skip(skip).for_each(|field| self.write(field, &how)),
            "rename" => self.renames(name, &sorted.operands, &how),
            kind @ ("last" | "move") => {
                self.copy(program, name, kind == "move" || sorted.takes, &sorted, &how)
            }
            _ => {}
        }
        // What it puts into a folder has the names that come from elsewhere.
        for folder in sorted.folders.iter().filter(|_| matches!(program.text("operands"), "all" | "first")) {
            self.write(&within(folder, &Field::any("what it puts there")), &how);
        }
    }

    /// Writes an operand in all the ways in which the program may mean it.
    fn all(&mut self, program: Entry<'static>, name: &str, sorted: &Sorted, field: &Field, how: &str) {
        if program.flag("remote") && is_remote(field) {
            return;
        }
        self.take(name, sorted, field, how);
        if program.knows("folders") {
            // Members of an archive may be patterns.
            self.write(&crate::policy::protect::git_call::globs(field), how);
        }
        sorted.folders.iter().for_each(|folder| self.write(&within(folder, field), how));
        if program.flag("peels")
            && let Some(at) = field.bits.iter().rposition(|bit| *bit == Bit::Char('.'))
        {
            let mut peeled = field.clone();
            peeled.bits.truncate(at);
            self.write(&peeled, how);
        }
        let text = field.literal().unwrap_or_default();
        if program.flag("prefixed")
            && let Some((kind, rest)) = text.split_once(':')
        {
            if ["exec", "system", "shell"].contains(&kind.to_ascii_lowercase().as_str()) {
                self.field_text(&Field::again(rest));
            }
            self.write(&Field::again(rest.split(',').next().unwrap_or(rest)), how);
        }
    }

    /// What a program is told in a language of its own, as operands or on standard input.
    fn speaks(&mut self, program: Entry<'static>, name: &str, sorted: &Sorted, setting: &Setting) {
        for text in sorted.operands.iter().chain(&sorted.told).chain(setting.input.known()).map(Field::shown)
        {
            let bare =
                |word: &str| word.trim_matches(['"', '\'', ',', ')']).replace('\\', "/").to_lowercase();
            let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, '(' | ';')).map(bare);
            if words.any(|word| program.has("speaks", &word)) {
                self.named_in(&text, &format!("what {name} is told about"));
            }
            for line in text.lines().map(str::trim_start) {
                let escapes = [".shell ", ".system ", "\\!", "!", "shell ", "system "];
                let piped =
                    [".once", ".output", "\\o", "\\g"].iter().find_map(|word| line.strip_prefix(word));
                let piped = piped.and_then(|rest| rest.trim_matches([' ', '\'', '"']).strip_prefix('|'));
                // `copy … to program '…'`
                let program = line
                    .to_lowercase()
                    .find("program '")
                    .and_then(|at| line.get(at + 9..)?.split('\'').next());
                let escaped = escapes.iter().find_map(|escape| line.strip_prefix(escape));
                let commands = escaped.into_iter().chain(piped).chain(program);
                commands.for_each(|command| self.field_text(&Field::again(command)));
            }
        }
    }

    /// Programs that give files other names: `rename s/a/b/ FILES`, `rename a b FILES`, `mmv FROM TO`.
    fn renames(&mut self, name: &str, operands: &[Field], how: &str) {
        let words: Vec<String> = operands.iter().map(Field::shown).collect();
        let first = words.first().map(String::as_str).unwrap_or_default();
        let mut change = first.strip_prefix('s').and_then(|rest| {
            let mark = rest.chars().next().filter(char::is_ascii_punctuation)?;
            let mut parts = rest.get(1..)?.split(mark);
            Some((parts.next()?.trim_matches(['^', '$']).replace('\\', ""), parts.next()?.to_owned()))
        });
        let mut files = operands.get(1..).unwrap_or_default();
        if name.starts_with('m') {
            files = operands;
        } else if change.is_none() && words.len() > 2 {
            change = Some((first.to_owned(), words.get(1).cloned().unwrap_or_default()));
            files = operands.get(2..).unwrap_or_default();
        } else {
            self.named_in(first, how);
        }
        for file in files {
            let mut parts = file.shown();
            // `#1` of mmv is what a pattern of it stood for.
            let marked = name.starts_with('m') && parts.contains('#');
            if marked {
                parts = parts.replace(|c: char| c.is_ascii_digit(), "");
                let bits = parts.chars().map(|c| if c == '#' { Bit::Any } else { Bit::Char(c) });
                self.write(&Field { bits: bits.collect(), unknown: Some("#1".to_owned()) }, how);
                continue;
            }
            for file in self.spread(&crate::policy::protect::git_call::globs(file)) {
                self.write(&file, how);
                if let (Some((from, to)), Some(path)) = (&change, file.literal())
                    && !from.is_empty()
                {
                    self.write(&Field::of(&path.replacen(from, to, 1)), how);
                }
            }
        }
    }

    /// Writes an operand, and what is in it if the program takes whole folders.
    fn take(&mut self, name: &str, sorted: &Sorted, field: &Field, how: &str) {
        self.write(field, how);
        let removes = matches!(name, "rm" | "mv" | "trash" | "trash-put" | "move" | "del" | "srm" | "gmv")
            || sorted.options.contains("--remove-files");
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
    fn copy(&mut self, program: Entry<'static>, name: &str, moves: bool, sorted: &Sorted, how: &str) {
        let mut sources = sorted.operands.clone();
        let (target, into) = match sorted.folders.last() {
            Some(folder) => (Some(folder.clone()), true),
            None if sources.len() > 1 => (sources.pop(), sources.len() > 1),
            // `ln FILE` makes a link in the working directory.
            None => (Some(Field::of(".")).filter(|_| name == "ln"), true),
        };
        let Some(target) = target.filter(|target| !program.flag("remote") || !is_remote(target)) else {
            return;
        };
        let (links, has) = (name.ends_with("ln"), |option| sorted.options.contains(option));
        let copies_links = matches!(name, "cp" | "gcp") && (has('s') || has('l'));
        let symbolic = (links || copies_links) && has('s');
        // A second name of a file is written as that file.
        if (moves || copies_links) && !symbolic {
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
                sources.iter().for_each(|source| self.link(target, source, has('r') || copies_links));
            }
        }
    }

    fn is_folder(&self, target: &Field) -> bool {
        let Some(path) = target.literal() else { return false };
        let mut folders =
            self.cwd.iter().flatten().map(|base| crate::policy::protect::place::normal(&base.join(&path)));
        folders.any(|folder| self.place.is_folder(&folder) || self.made.contains(&folder))
    }

    /// A symbolic link that later commands go through. `here`: its target is meant from the working directory.
    fn link(&mut self, link: &Field, target: &Field, here: bool) {
        let (Some(link), Some(to)) = (link.literal(), target.literal()) else {
            return self.write(target, "a link to");
        };
        for base in self.cwd.clone().into_iter().flatten() {
            let at = crate::policy::protect::place::normal(&base.join(&link));
            self.links.push((at, if here { base.join(&to) } else { to.clone().into() }));
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
            } else if word.starts_with("--") || WHOLE.iter().any(|list| program.has(list, &word)) {
                let (option, value) = git::setting(argument);
                let option = option.literal().unwrap_or_default();
                let value = value.filter(|_| argument.bits.contains(&Bit::Char('=')));
                let shortened = |list| {
                    program
                        .list(list)
                        .any(|name| name == option || (option.len() > 3 && name.starts_with(&option)))
                };
                sorted.only |= shortened("only");
                sorted.takes |= shortened("takes");
                sorted.unless |= shortened("unless");
                sorted.options.push_str(option.trim_start_matches("--recursive"));
                if option == "--recursive" || option == "--archive" {
                    sorted.options.push('R');
                }
                if option.starts_with("--symbolic") {
                    sorted.options.push('s');
                } else if option == "--link" {
                    sorted.options.push('l');
                } else if option == "--relative" {
                    sorted.options.push('r');
                }
                let takes = VALUED.into_iter().find(|list| shortened(list));
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
            sorted.takes |= program.has("takes", &option);
            sorted.unless |= program.has("unless", &option);
            let takes = VALUED.into_iter().find(|list| program.has(list, &option));
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
            (Some("values"), Some(value)) => sorted.told.push(value),
            (Some("texts"), Some(value)) => self.field_text(&behind_name(&value)),
            (Some("outputs"), Some(value)) => self.write(&value, "writing to"),
            (Some("folders"), Some(value)) => sorted.folders.push(value),
            _ => {}
        }
    }
}

/// A file in a folder.
pub(in crate::policy::protect) fn within(folder: &Field, file: &Field) -> Field {
    let mut inside = folder.clone();
    inside.bits.push(Bit::Char('/'));
    inside.push(file);
    inside
}

/// Whether a path is on another machine, or in a container: `host:path`, `namespace/pod:path`.
fn is_remote(field: &Field) -> bool {
    let local = matches!(field.bits.first(), Some(Bit::Char('.' | '/' | '~' | ':')));
    !local && field.bits.contains(&Bit::Char(':'))
}

/// A text without the name that it is given to: `SHELL=…`, `--cmd=…`, `ProxyCommand=…`.
pub(in crate::policy::protect) fn behind_name(field: &Field) -> Field {
    let named =
        |bit: &&Bit| matches!(bit, Bit::Char(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let length = field.bits.iter().take_while(named).count();
    if length > 0 && field.bits.get(length) == Some(&Bit::Char('=')) {
        field.after(length + 1)
    } else {
        field.clone()
    }
}
