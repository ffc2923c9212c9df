//! From words to fields: braces, tildes, parameters, substitutions, splitting. Globs stay, for who can see the files.

use super::{Bit, Cell, Escapes, Field, Fill, Hole, Script, Word, unescape};

/// What a variable holds: several fields if it is a list; `None` if that is not known.
pub type Value = Option<Vec<Field>>;

/// Who knows what an expansion needs.
pub trait Values {
    /// What a parameter may hold; never empty.
    fn parameter(&mut self, name: &str) -> Vec<Value>;
    /// What a script may print, without the last newlines; never empty. It is run.
    fn output(&mut self, script: &Script) -> Vec<Value>;
    /// The name of a pipe from what a script prints, or to what it reads. It is run.
    fn pipe(&mut self, script: &Script, from: bool) -> Value;
    /// Where `~` is.
    fn home(&self) -> Option<String>;
    /// The characters that split fields.
    fn separators(&self) -> String;
}

/// Alternatives of one word; beyond it the word is not known.
const MOST: usize = 32;
/// Pieces of what a word or a variable becomes; beyond it, it is not known. Variables that hold one another grow fast.
pub(in crate::policy) const LONGEST: usize = 1 << 20;
/// Words that braces make of one.
const MOST_BRACES: usize = 256;

/// Expands a word: what it may become, each a list of fields. With `whole`, as in an assignment, it becomes one field.
pub fn expand(word: &Word, values: &mut dyn Values, whole: bool) -> Vec<Vec<Field>> {
    if whole {
        return expand_one(&word.cells, true, values, true);
    }
    let mut results: Vec<Vec<Field>> = vec![Vec::new()];
    for cells in braces(&word.cells) {
        let mut alternatives = expand_one(&cells, word.quoted, values, false);
        // Of one alternative nothing is copied: braces make many words.
        match (results.as_mut_slice(), alternatives.as_mut_slice()) {
            ([result], [one]) => result.append(one),
            _ => results = cross(&results, &alternatives),
        }
    }
    results
}

/// Every one of `heads` followed by every one of `tails`.
fn cross(heads: &[Vec<Field>], tails: &[Vec<Field>]) -> Vec<Vec<Field>> {
    if heads.len() * tails.len() > MOST
        || tails.iter().chain(heads).map(|list| size(list)).sum::<usize>() > LONGEST
    {
        return vec![vec![Field::any("too many possible words")]];
    }
    heads.iter().flat_map(|head| tails.iter().map(move |tail| [head.as_slice(), tail].concat())).collect()
}

/// How much there is of a value.
pub(in crate::policy) fn size(fields: &[Field]) -> usize {
    fields.iter().map(|field| field.bits.len() + 1).sum()
}

/// What a word has become so far.
#[derive(Debug, Clone, Default)]
struct State {
    done: Vec<Field>,
    now: Field,
    /// Whether `now` is a field even if it is empty.
    begun: bool,
}

impl State {
    fn push(&mut self, bit: Bit) {
        self.now.bits.push(bit);
        self.begun = true;
    }

    fn end(&mut self) {
        if self.begun {
            self.done.push(std::mem::take(&mut self.now));
            self.begun = false;
        }
    }

    /// Adds a value between quotes, or where there is no splitting.
    fn add_whole(&mut self, fields: &[Field], separate: bool) {
        for (at, field) in fields.iter().enumerate() {
            if at > 0 && separate {
                self.begun = true;
                self.end();
            } else if at > 0 {
                self.push(Bit::Char(' '));
            }
            self.now.push(field);
            self.begun = true;
        }
    }

    /// Adds a value that is split into fields.
    fn add_split(&mut self, fields: &[Field], separators: &str) {
        for (at, field) in fields.iter().enumerate() {
            if at > 0 {
                self.end();
            }
            let mut bracket = false;
            let closed = field.bits.iter().rposition(|bit| *bit == Bit::Char(']'));
            for (at, bit) in field.bits.iter().enumerate() {
                match bit {
                    Bit::Char(']') if bracket => {
                        bracket = false;
                        self.push(Bit::One);
                    }
                    _ if bracket => {}
                    Bit::Char('[') if closed > Some(at) => bracket = true,
                    Bit::Char(c) if separators.contains(*c) => self.end(),
                    Bit::Char('*') => self.push(Bit::Star),
                    Bit::Char('?') => self.push(Bit::One),
                    bit => {
                        self.now.unknown = self.now.unknown.take().or_else(|| field.unknown.clone());
                        self.push(*bit);
                    }
                }
            }
        }
    }
}

fn expand_one(cells: &[Cell], quoted: bool, values: &mut dyn Values, whole: bool) -> Vec<Vec<Field>> {
    let separators = values.separators();
    let mut states = vec![State { begun: quoted, ..State::default() }];
    let mut cells = cells.iter().peekable();
    if let Some(home) = tilde(&mut cells, values) {
        states.iter_mut().for_each(|state| state.add_whole(std::slice::from_ref(&home), false));
    }
    let mut bracket = false;
    // Nothing may be looked for to the end twice.
    let mut closed = true;
    while let Some(cell) = cells.next() {
        let bit = match cell {
            Cell::Quoted(c) => Bit::Char(*c),
            Cell::Bare('*') if !whole => Bit::Star,
            Cell::Bare('?') if !whole => Bit::One,
            Cell::Bare('[') if !whole && !bracket && closed => {
                closed = closes(cells.clone());
                bracket = closed;
                if bracket {
                    continue;
                }
                Bit::Char('[')
            }
            Cell::Bare(']') if bracket => {
                bracket = false;
                Bit::One
            }
            Cell::Bare(c) => Bit::Char(*c),
            Cell::Hole(hole) => {
                let alternatives = fill(hole, values);
                if states.len() * alternatives.len() > MOST {
                    return vec![vec![Field::any(&name_of(hole))]];
                }
                let separate = matches!(&hole.fill, Fill::Parameter(name) if name != "*");
                let unknown = [Field::any(&name_of(hole))];
                let add = |state: &mut State, value: &Value| {
                    let fields = value.as_deref().unwrap_or(&unknown);
                    if whole || hole.quoted {
                        state.add_whole(fields, separate && !whole);
                    } else {
                        state.add_split(fields, &separators);
                    }
                };
                // Of one value nothing is copied: there may be many in a word.
                if let [value] = alternatives.as_slice() {
                    states.iter_mut().for_each(|state| add(state, value));
                } else {
                    states = states
                        .iter()
                        .flat_map(|state| alternatives.iter().map(move |value| (state.clone(), value)))
                        .map(|(mut state, value)| {
                            add(&mut state, value);
                            state
                        })
                        .collect();
                }
                if states.iter().map(|state| size(&state.done) + state.now.bits.len()).sum::<usize>()
                    > LONGEST
                {
                    return vec![unknown.to_vec()];
                }
                continue;
            }
        };
        if !bracket {
            states.iter_mut().for_each(|state| state.push(bit));
        }
    }
    let finish = |mut state: State| {
        state.end();
        state.done
    };
    states.into_iter().map(finish).collect()
}

/// Whether a `[` has its `]`.
fn closes<'a>(mut cells: impl Iterator<Item = &'a Cell>) -> bool {
    let first = cells.next();
    first.is_some() && cells.any(|cell| *cell == Cell::Bare(']'))
}

/// What a hole may be filled with.
fn fill(hole: &Hole, values: &mut dyn Values) -> Vec<Value> {
    let one = |lists: Vec<Vec<Field>>| lists.into_iter().map(Some);
    match &hole.fill {
        Fill::Parameter(name) => values.parameter(name),
        Fill::Default(name, word) => {
            let mut all = values.parameter(name);
            all.extend(one(expand(word, values, hole.quoted)));
            all
        }
        Fill::Alternate(word) => {
            let mut all = vec![Some(Vec::new())];
            all.extend(one(expand(word, values, hole.quoted)));
            all
        }
        Fill::Operation(name, word) => {
            expand(word, values, true);
            let text = word.literal();
            let mut all = values.parameter(name);
            let done =
                all.iter().map(|value| operate(&value.as_ref()?.first()?.literal()?, text.as_deref()?));
            let done: Vec<_> = done.flatten().map(|text| Some(vec![Field::of(&text)])).collect();
            // It may leave the value as it is.
            all.extend(done);
            all.push(None);
            all
        }
        Fill::Output(script) => values.output(script),
        Fill::From(script) => vec![values.pipe(script, true)],
        Fill::To(script) => vec![values.pipe(script, false)],
        Fill::Number(script) => {
            values.output(script);
            vec![None]
        }
    }
}

/// What `${NAME%text}` and the like make of a value, where the text has no wildcards.
fn operate(value: &str, operation: &str) -> Option<String> {
    if let Some(suffix) = operation.strip_prefix('%') {
        return value.strip_suffix(suffix.trim_start_matches('%')).map(str::to_owned);
    }
    if let Some(prefix) = operation.strip_prefix('#') {
        return value.strip_prefix(prefix.trim_start_matches('#')).map(str::to_owned);
    }
    match operation {
        "," | ",," | "@L" => return Some(value.to_lowercase()),
        "^" | "^^" | "@U" => return Some(value.to_uppercase()),
        "@E" | "@P" => return Some(unescape(value, Escapes::Quoted)),
        _ => {}
    }
    if let Some(range) = operation.strip_prefix(':') {
        let (start, length) = range.split_once(':').unwrap_or((range, ""));
        let rest = value.chars().skip(start.trim().parse().ok()?);
        return Some(match length.trim().parse() {
            Ok(length) => rest.take(length).collect(),
            Err(_) => rest.collect(),
        });
    }
    let (from, to) = operation.strip_prefix('/')?.trim_start_matches('/').split_once('/')?;
    Some(value.replace(from, to))
}

fn name_of(hole: &Hole) -> String {
    match &hole.fill {
        Fill::Parameter(name) | Fill::Default(name, _) | Fill::Operation(name, _) => format!("${name}"),
        Fill::Alternate(_) => "${…}".to_owned(),
        Fill::Output(_) => "$(…)".to_owned(),
        Fill::From(_) => "<(…)".to_owned(),
        Fill::To(_) => ">(…)".to_owned(),
        Fill::Number(_) => "$((…))".to_owned(),
    }
}

/// `~` at the start of a word.
fn tilde<'a>(
    cells: &mut std::iter::Peekable<impl Iterator<Item = &'a Cell> + Clone>,
    values: &mut dyn Values,
) -> Option<Field> {
    let mut ahead = cells.clone();
    ahead.next_if(|cell| **cell == Cell::Bare('~'))?;
    let mut user = String::new();
    while let Some(Cell::Bare(c)) = ahead.next_if(|cell| matches!(cell, Cell::Bare(c) if *c != '/')) {
        user.push(*c);
    }
    if !matches!(ahead.peek(), None | Some(Cell::Bare('/'))) {
        return None;
    }
    *cells = ahead;
    let found = match user.as_str() {
        "" => values.home().map(|home| Field::of(&home)),
        "+" => {
            values.parameter("PWD").into_iter().next().flatten().and_then(|fields| fields.into_iter().next())
        }
        _ => None,
    };
    Some(found.unwrap_or_else(|| Field::any(&format!("~{user}"))))
}

/// The words that braces make of one.
fn braces(cells: &[Cell]) -> Vec<Vec<Cell>> {
    let mut words = vec![cells.to_vec()];
    // Each round replaces one pair of braces; those that are none are passed over.
    let mut at = 0;
    while let Some(word) = words.get(at) {
        match one_brace(word) {
            Some(made) if words.len() + made.len() <= MOST_BRACES => {
                words.splice(at..=at, made);
            }
            _ => at += 1,
        }
    }
    words
}

fn one_brace(word: &[Cell]) -> Option<Vec<Vec<Cell>>> {
    let opens = word.iter().enumerate().filter(|(_, cell)| **cell == Cell::Bare('{'));
    for (open, _) in opens {
        let mut depth = 0_usize;
        let mut cuts = vec![open];
        for (at, cell) in word.iter().enumerate().skip(open + 1) {
            match cell {
                Cell::Bare('{') => depth += 1,
                Cell::Bare(',') if depth == 0 => cuts.push(at),
                Cell::Bare('}') if depth == 0 => {
                    cuts.push(at);
                    let (head, tail) = (word.get(..open)?, word.get(at + 1..)?);
                    let inner = word.get(open + 1..at)?;
                    let pieces: Vec<Vec<Cell>> = if cuts.len() > 2 {
                        cuts.windows(2)
                            .filter_map(|cut| match cut {
                                [from, to] => word.get(from + 1..*to).map(<[Cell]>::to_vec),
                                _ => None,
                            })
                            .collect()
                    } else if let Some(range) = range(inner) {
                        range.into_iter().map(|text| text.chars().map(Cell::Bare).collect()).collect()
                    } else {
                        break;
                    };
                    return Some(pieces.into_iter().map(|piece| [head, &piece, tail].concat()).collect());
                }
                Cell::Bare('}') => depth -= 1,
                _ => {}
            }
        }
    }
    None
}

/// `{1..9}`, `{a..z}`.
fn range(inner: &[Cell]) -> Option<Vec<String>> {
    let text = Word { cells: inner.to_vec(), quoted: false }.bare()?;
    let (from, to) = text.split_once("..")?;
    let single =
        |text: &str| text.chars().next().filter(|c| text.chars().count() == 1 && c.is_ascii_alphabetic());
    if let (Some(from), Some(to)) = (single(from), single(to)) {
        return Some((from.min(to)..=from.max(to)).map(String::from).collect());
    }
    let (from, to) = (from.parse::<i32>().ok()?, to.parse::<i32>().ok()?);
    let range = from.min(to)..=from.max(to);
    (i64::from(*range.end()) - i64::from(*range.start()) < 128)
        .then(|| range.map(|n| n.to_string()).collect())
}

/// The words of a text that is split at blanks, as `git` and `env -S` split it: quotes and escapes, nothing else.
#[must_use]
pub fn split(text: &str) -> Vec<Field> {
    let script = Script::parse(&text.replace(['\n', ';', '&', '|', '(', ')', '<', '>'], " "));
    let commands = script.steps.iter().filter_map(|step| match step {
        super::Step::Run(command) => Some(&command.words),
        _ => None,
    });
    commands
        .flatten()
        .map(|word| word.literal().map_or_else(|| Field::any("$…"), |text| Field::of(&text)))
        .collect()
}
