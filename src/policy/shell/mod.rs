//! Shell text, read as a shell reads it (POSIX sh, with what bash and zsh add).
//!
//! ```text
//! text --parse--> Script (steps: commands with their words, redirects, assignments)  --expand--> fields
//! ```
//!
//! 1. Total: every text has a script. Where a shell would report an error, what was understood so far is kept and reading
//!    goes on, so that nothing after the error is lost.
//! 2. Flat: of compound commands (`if`, loops, `case`, functions, groups) the commands in them are kept in the order of the
//!    text; whether one runs, and how often, is not decided. [`Command::sure`] marks those that run exactly once.
//! 3. A [`Field`] of an expansion may hold what only a run would tell. It says so ([`Bit::Any`]), and never guesses.

mod compound;
mod escape;
mod expand;
mod field;
mod parse;
mod redirect;
mod word;

pub use escape::{Escapes, unescape};
pub(in crate::policy) use expand::{LONGEST, size};
pub use expand::{Value, Values, expand, split};
pub use field::{Bit, Field};

#[cfg(test)]
mod tests;

/// A text, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// What it does, in the order of the text.
    pub steps: Vec<Step>,
    /// The bodies of its here-documents; [`Redirect::Here`] has the index.
    pub bodies: Vec<Word>,
    /// Its compound commands, whose commands share what they read and write; the outer ones come first.
    pub groups: Vec<Group>,
    /// Whether something was nested so deeply that it was not read.
    pub deep: bool,
    /// The functions that it defines, in which the positional parameters are others.
    pub functions: Vec<Function>,
}

impl Script {
    /// Reads `text`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        parse::script(text, 0)
    }

    /// What a function of it does.
    #[must_use]
    pub fn body(&self, function: &Function) -> Self {
        let within = |group: &&Group| group.start >= function.start && group.end <= function.end;
        let shifted = |group: &Group| Group {
            start: group.start - function.start,
            end: group.end - function.start,
            ..*group
        };
        Self {
            steps: self.steps.get(function.start..function.end).unwrap_or_default().to_vec(),
            bodies: self.bodies.clone(),
            groups: self.groups.iter().filter(within).map(shifted).collect(),
            ..Self::default()
        }
    }
}

/// One step of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A simple command.
    Run(Command),
    /// A loop sets this variable to each of the words; `None` stands for the positional parameters.
    For(String, Option<Vec<Word>>),
    /// A word that is only looked at, as in `case WORD in`.
    Look(Word),
    /// A subshell begins: assignments and `cd` end with it.
    Open,
    /// The innermost subshell ends.
    Close,
}

/// A function: its name, and its steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Function {
    /// By which it is called.
    pub name: String,
    /// Its first step.
    pub start: usize,
    /// The step after its last one.
    pub end: usize,
}

/// A compound command: `{ … }`, `( … )`, a loop, `if`, `case`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Group {
    /// Its first step.
    pub start: usize,
    /// The step after its last one: the one that holds its redirects, if it has any.
    pub end: usize,
    /// Whether the command before feeds its standard input.
    pub fed: bool,
    /// Whether it has redirects of its own.
    pub redirected: bool,
    /// Whether it feeds the next command.
    pub piped: bool,
}

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// Assignments before it.
    pub assigns: Vec<Assign>,
    /// Its name and arguments.
    pub words: Vec<Word>,
    /// Its redirects.
    pub redirects: Vec<Redirect>,
    /// Whether it runs exactly once, in this shell.
    pub sure: bool,
    /// Whether it runs at most once, in this shell, after one that does: `a && b`.
    pub chained: bool,
    /// How it is joined to the next.
    pub join: Join,
    /// Whether the command before feeds its standard input.
    pub fed: bool,
}

/// `NAME=value`, `NAME+=value`, `NAME=(values)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assign {
    /// The variable.
    pub name: String,
    /// Whether it is added to what the variable holds.
    pub append: bool,
    /// One word, or those of a list.
    pub values: Vec<Word>,
    /// Whether it is a list.
    pub list: bool,
}

/// A redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirect {
    /// A file is opened for writing, or for both.
    Write {
        /// The file.
        target: Word,
        /// Whether standard output goes there.
        output: bool,
        /// Whether it is added to what the file holds.
        append: bool,
    },
    /// Standard output goes to another descriptor.
    Away,
    /// Input comes from another descriptor.
    Copy,
    /// A file is opened for reading.
    Read(Word),
    /// A here-document, by its index in [`Script::bodies`].
    Here(usize),
    /// A here-string.
    Text(Word),
}

/// What stands between two commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Join {
    /// `;` or a new line.
    #[default]
    Next,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `&`
    Background,
}

/// A word before expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// Its characters and holes.
    pub cells: Vec<Cell>,
    /// Whether some of it, however little, was quoted: then it is a field even if it is empty.
    pub quoted: bool,
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// A character that stands for itself.
    Quoted(char),
    /// A character that may have a meaning (`*`, `~`, `{`).
    Bare(char),
    /// Something that an expansion fills.
    Hole(Box<Hole>),
}

/// What an expansion fills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    /// With what.
    pub fill: Fill,
    /// Whether it stands in double quotes.
    pub quoted: bool,
}

/// With what a hole is filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fill {
    /// A parameter.
    Parameter(String),
    /// `${NAME:-word}` and the like: the parameter, or the word.
    Default(String, Word),
    /// `${NAME:+word}`: the word, or nothing.
    Alternate(Word),
    /// Any other operation on a parameter, by its text from the operator on.
    Operation(String, Word),
    /// What a script prints.
    Output(Script),
    /// The name of a pipe from what a script prints.
    From(Script),
    /// The name of a pipe to what a script reads.
    To(Script),
    /// The value of an arithmetic expression, whose substitutions run.
    Number(Script),
}

impl Word {
    /// Its text, if nothing in it needs an expansion but quotes.
    #[must_use]
    pub fn literal(&self) -> Option<String> {
        self.cells
            .iter()
            .map(|cell| match cell {
                Cell::Quoted(c) | Cell::Bare(c) => Some(*c),
                Cell::Hole(_) => None,
            })
            .collect()
    }

    /// Its text if none of it was quoted.
    pub(crate) fn bare(&self) -> Option<String> {
        let bare = self.cells.iter().map(|cell| match cell {
            Cell::Bare(c) => Some(*c),
            _ => None,
        });
        bare.collect::<Option<String>>().filter(|_| !self.quoted)
    }
}
