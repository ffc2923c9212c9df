//! The verbs as data: a table at the top of a verb's file says what it is called, takes and does. One loop makes a parser
//! of the tables, and [`Given`] reads what was parsed. (A derive would write both out for every verb: 130 KB of program.)
//!
//! An option's id is its name without the dashes, that of a place in the line is its value's name: `--last N` is read
//! with `number("last")`, `EVENT` with `text("EVENT")`. An id that no table has is a bug, at which clap panics.

use super::Context;
use super::failure::Failure;
use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{ArgAction, ArgMatches, Command};
use std::path::{Path, PathBuf};

/// A verb, or a group of them.
pub(super) struct Verb {
    pub(super) name: &'static str,
    /// What it does, in one line without a period.
    pub(super) about: &'static str,
    pub(super) does: Does,
    /// In the order of `--help`.
    pub(super) args: &'static [Arg],
}

/// Does a verb's work, and returns the exit code.
pub(super) type Run = fn(&Given<'_>, &mut Context<'_>) -> Result<u8, Failure>;

pub(super) enum Does {
    Run(Run),
    /// What one of these does, in the order of `--help`.
    Verbs(&'static [Verb]),
    /// Its own work, unless one of these is named; never with arguments of its own then.
    Either(Run, &'static [Verb]),
}

/// What a value is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Path,
    /// A whole number from the first to the second.
    Number(i64, i64),
    /// A time in epoch milliseconds; the parser's error says what to write instead.
    Time(fn(&str) -> Result<i64, String>),
    Choice(&'static [&'static str]),
}

/// Any number that is not negative.
pub(super) const NUMBER: Kind = Kind::Number(0, i64::MAX);

/// An argument. [`flag`], [`option`] and [`place`] make one.
pub(super) struct Arg {
    id: &'static str,
    help: &'static str,
    /// `None` for a flag.
    kind: Option<Kind>,
    /// Empty where the default's is right.
    value: &'static str,
    is_place: bool,
    is_optional: bool,
    is_many: bool,
    takes_dashes: bool,
    default: Option<&'static str>,
    alias: Option<&'static str>,
    against: Option<&'static str>,
    unless: Option<&'static str>,
}

/// `--name`.
pub(super) const fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg {
        id: name,
        help,
        kind: None,
        value: "",
        is_place: false,
        is_optional: true,
        is_many: false,
        takes_dashes: false,
        default: None,
        alias: None,
        against: None,
        unless: None,
    }
}

/// `--name VALUE`, which may be left out.
pub(super) const fn option(name: &'static str, value: &'static str, kind: Kind, help: &'static str) -> Arg {
    Arg { kind: Some(kind), value, ..flag(name, help) }
}

/// `VALUE` in its place in the line, which must be given unless it is [`Arg::optional`].
pub(super) const fn place(value: &'static str, kind: Kind, help: &'static str) -> Arg {
    Arg { is_place: true, is_optional: false, ..option(value, value, kind, help) }
}

impl Arg {
    /// May be left out.
    pub(super) const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }

    /// Must be given.
    pub(super) const fn required(self) -> Self {
        Self { is_optional: false, ..self }
    }

    /// May be given several times, or not at all.
    pub(super) const fn many(self) -> Self {
        Self { is_many: true, is_optional: true, ..self }
    }

    /// A value that begins with a dash is one.
    pub(super) const fn takes_dashes(self) -> Self {
        Self { takes_dashes: true, ..self }
    }

    /// What holds if it is left out.
    pub(super) const fn default(self, value: &'static str) -> Self {
        Self { default: Some(value), ..self }
    }

    /// Another name, which `--help` shows too.
    pub(super) const fn alias(self, name: &'static str) -> Self {
        Self { alias: Some(name), ..self }
    }

    /// Refused together with the argument of that id.
    pub(super) const fn against(self, id: &'static str) -> Self {
        Self { against: Some(id), ..self }
    }

    /// Must be given unless the argument of that id is.
    pub(super) const fn unless(self, id: &'static str) -> Self {
        Self { unless: Some(id), is_optional: true, ..self }
    }

    fn to_clap(&self) -> clap::Arg {
        let mut arg = clap::Arg::new(self.id).help(self.help).required(!self.is_optional);
        if !self.is_place {
            arg = arg.long(self.id);
        }
        arg = match self.kind {
            None => arg.action(ArgAction::SetTrue),
            Some(kind) => {
                let action = if self.is_many { ArgAction::Append } else { ArgAction::Set };
                let arg = arg.value_name(self.value).value_parser(kind.parser()).action(action);
                if self.is_many && self.is_place { arg.num_args(1..) } else { arg }
            }
        };
        if let Some(alias) = self.alias {
            arg = arg.visible_alias(alias);
        }
        if let Some(other) = self.against {
            arg = arg.conflicts_with(other);
        }
        if let Some(other) = self.unless {
            arg = arg.required_unless_present(other);
        }
        if let Some(value) = self.default {
            arg = arg.default_value(value);
        }
        arg.allow_hyphen_values(self.takes_dashes)
    }
}

impl Kind {
    fn parser(self) -> ValueParser {
        match self {
            Self::Text => ValueParser::string(),
            Self::Path => ValueParser::path_buf(),
            Self::Choice(names) => PossibleValuesParser::new(names).into(),
            Self::Number(..) | Self::Time(_) => ValueParser::new(move |text: &str| self.number(text)),
        }
    }

    fn number(self, text: &str) -> Result<i64, String> {
        let (least, most) = match self {
            Self::Time(parse) => return parse(text),
            Self::Number(least, most) => (least, most),
            Self::Text | Self::Path | Self::Choice(_) => (i64::MIN, i64::MAX),
        };
        match text.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            Ok(number) if most == i64::MAX => Err(format!("{number} is less than {least}")),
            Ok(number) => Err(format!("{number} is not in {least}..={most}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Verb {
    /// The parser of this verb and all below it.
    pub(super) fn to_clap(&self) -> Command {
        let mut command = Command::new(self.name).about(self.about);
        for arg in self.args {
            command = command.arg(arg.to_clap());
        }
        let verbs = match self.does {
            Does::Run(_) => &[],
            Does::Verbs(verbs) => {
                command = command.subcommand_required(true).arg_required_else_help(true);
                verbs
            }
            Does::Either(_, verbs) => {
                command = command.args_conflicts_with_subcommands(true);
                verbs
            }
        };
        for verb in verbs {
            command = command.subcommand(verb.to_clap());
        }
        command
    }

    /// What is to be done, and with what. `None` only for what [`Verb::to_clap`] refuses: a group without a verb.
    pub(super) fn chosen<'a>(&self, matches: &'a ArgMatches) -> Option<(Run, Given<'a>)> {
        let (own, verbs): (_, &[Self]) = match self.does {
            Does::Run(run) => (Some(run), &[]),
            Does::Verbs(verbs) => (None, verbs),
            Does::Either(run, verbs) => (Some(run), verbs),
        };
        let Some((name, below)) = matches.subcommand() else { return Some((own?, Given(matches))) };
        verbs.iter().find(|verb| verb.name == name)?.chosen(below)
    }
}

/// The arguments of a call.
pub(super) struct Given<'a>(&'a ArgMatches);

impl<'a> Given<'a> {
    pub(super) fn flag(&self, id: &str) -> bool {
        self.0.get_flag(id)
    }

    pub(super) fn text(&self, id: &str) -> Option<&'a str> {
        self.0.get_one::<String>(id).map(String::as_str)
    }

    pub(super) fn texts(&self, id: &str) -> Vec<&'a str> {
        self.0.get_many::<String>(id).into_iter().flatten().map(String::as_str).collect()
    }

    pub(super) fn path(&self, id: &str) -> Option<&'a Path> {
        self.0.get_one::<PathBuf>(id).map(PathBuf::as_path)
    }

    pub(super) fn paths(&self, id: &str) -> Vec<&'a Path> {
        self.0.get_many::<PathBuf>(id).into_iter().flatten().map(PathBuf::as_path).collect()
    }

    /// A number or a time.
    pub(super) fn number(&self, id: &str) -> Option<i64> {
        self.0.get_one(id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERB: Verb = Verb {
        name: "walk",
        about: "Walk",
        does: Does::Run(|_, _| Ok(0)),
        args: &[
            place("FROM", Kind::Path, "From where").unless("home"),
            flag("home", "From home").against("FROM"),
            option("steps", "N", Kind::Number(1, 9), "How many").default("2"),
            option("with", "NAME", Kind::Choice(&["dog", "cat"]), "With whom").many().alias("and"),
            option("say", "TEXT", Kind::Text, "What to say").takes_dashes(),
        ],
    };

    fn walk(line: &str) -> Result<ArgMatches, String> {
        let said = VERB.to_clap().try_get_matches_from(line.split(' ')).map_err(|error| error.to_string());
        said.map_err(|text| text.lines().next().unwrap_or_default().to_owned())
    }

    #[test]
    fn what_is_given_is_read_by_its_id() {
        let matches = walk("walk /a --steps 9 --with dog --and cat --say -x").unwrap();
        let (_, given) = VERB.chosen(&matches).unwrap();
        assert_eq!((given.path("FROM"), given.flag("home")), (Some(Path::new("/a")), false));
        assert_eq!((given.number("steps"), given.text("say")), (Some(9), Some("-x")));
        assert_eq!(given.texts("with"), ["dog", "cat"]);
        let matches = walk("walk --home").unwrap();
        let (_, given) = VERB.chosen(&matches).unwrap();
        assert_eq!((given.path("FROM"), given.flag("home")), (None, true));
        assert_eq!((given.number("steps"), given.text("say"), given.texts("with")), (Some(2), None, vec![]));
    }

    #[test]
    fn mistakes_are_named() {
        for (line, expected) in [
            ("walk", "required arguments were not provided"),
            ("walk /a --home", "cannot be used with"),
            ("walk /a --steps 10", "invalid value '10' for '--steps <N>': 10 is not in 1..=9"),
            ("walk /a --steps x", "invalid digit found in string"),
            ("walk /a --with bird", "invalid value 'bird' for '--with <NAME>'"),
            ("walk /a /b", "unexpected argument '/b' found"),
        ] {
            let mistake = walk(line).unwrap_err();
            assert!(mistake.contains(expected), "{line}: {mistake}");
        }
    }

    #[test]
    fn clap_takes_every_table() {
        super::super::TALLY.to_clap().debug_assert();
    }
}
