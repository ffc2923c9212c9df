//! What flows between commands: through pipes, redirects, and the compound commands that share them.

use super::walk::Walk;
use crate::policy::shell::{Bit, Command, Field, Group, Join, Redirect, Script, Step, expand};

/// What a command reads on standard input.
#[derive(Debug, Clone, Default)]
pub(super) enum Input {
    /// Nothing that the text gives it.
    #[default]
    Nothing,
    /// Something that is not known.
    Unknown,
    /// This.
    Known(Field),
}

/// What the commands of a compound command share.
#[derive(Debug, Clone, Default)]
pub(super) struct Stream {
    input: Input,
    printed: Field,
}

/// A file that a redirect writes.
#[derive(Debug)]
pub(super) struct Target {
    file: Field,
    /// Whether standard output goes there.
    output: bool,
    append: bool,
}

impl Stream {
    /// A stream of which this can be read.
    pub(super) fn of(input: Input) -> Self {
        Self { input, printed: Field::default() }
    }

    /// What was printed to it.
    pub(super) fn printed(self) -> Field {
        self.printed
    }
}

impl Input {
    /// It, if it is known.
    pub(super) fn known(&self) -> Option<&Field> {
        match self {
            Self::Known(field) => Some(field),
            _ => None,
        }
    }
}

impl Walk<'_> {
    /// A compound command begins.
    pub(super) fn enter(&mut self, script: &Script, group: &Group) {
        let held = self.printed.take();
        let redirects = match script.steps.get(group.end).filter(|_| group.redirected) {
            Some(Step::Run(command)) => command.redirects.as_slice(),
            _ => &[],
        };
        let input = match (self.redirected(script, redirects), group.fed) {
            (Some(input), _) => input,
            (None, true) => held.map_or(Input::Unknown, Input::Known),
            (None, false) => self.inherited(),
        };
        self.streams.push(Stream { input, printed: Field::default() });
    }

    /// It ends.
    pub(super) fn leave(&mut self, group: &Group) {
        let Some(stream) = self.streams.pop() else { return };
        if group.redirected || group.piped {
            self.printed = Some(stream.printed);
        } else {
            self.print(&stream.printed);
        }
    }

    /// What a command reads that has no input of its own.
    pub(super) fn inherited(&mut self) -> Input {
        let input = self.streams.last().map(|stream| stream.input.clone()).unwrap_or_default();
        // A command may name a descriptor that the text has opened.
        let input = match (input, &self.opened) {
            (Input::Nothing, Some(opened)) => Input::Known(opened.clone()),
            (input, _) => input,
        };
        self.spend(input.known().map_or(0, |field| field.bits.len()));
        input
    }

    /// What is printed while something is done.
    pub(super) fn prints(&mut self, act: impl FnOnce(&mut Self)) -> Field {
        let input = self.inherited();
        self.streams.push(Stream { input, printed: Field::default() });
        act(self);
        self.streams.pop().map(|stream| stream.printed).unwrap_or_default()
    }

    fn print(&mut self, field: &Field) {
        self.spend(field.bits.len());
        if let Some(stream) = self.streams.last_mut() {
            stream.printed.push(field);
        }
    }

    /// The standard input that redirects give.
    pub(super) fn redirected(&mut self, script: &Script, redirects: &[Redirect]) -> Option<Input> {
        let mut input = None;
        for redirect in redirects {
            let text = match redirect {
                Redirect::Read(word) => {
                    let files = self.expand(word);
                    for file in &files {
                        let entry = self.named(file);
                        self.reads = self.reads.take().or_else(|| entry.map(|entry| (file.shown(), entry)));
                    }
                    files.first().and_then(|file| self.text_of(file))
                }
                Redirect::Text(word) => expand(word, self, true).concat().into_iter().next(),
                Redirect::Here(body) => {
                    let body = script.bodies.get(*body);
                    body.and_then(|word| expand(word, self, true).concat().into_iter().next())
                }
                Redirect::Copy => self.opened.clone(),
                Redirect::Write { .. } | Redirect::Away => continue,
            };
            input = Some(text.map_or(Input::Unknown, Input::Known));
        }
        input
    }

    /// `exec` opens a descriptor: what comes later may read it.
    pub(super) fn open(&mut self, text: &Field) {
        let opened = self.opened.get_or_insert_default();
        opened.push(text);
        opened.bits.push(Bit::Char('\n'));
    }

    /// The files that redirects write, which are judged.
    pub(super) fn targets(&mut self, redirects: &[Redirect]) -> Vec<Target> {
        let mut targets = Vec::new();
        for redirect in redirects {
            if let Redirect::Write { target, output, append } = redirect {
                for file in self.expand(target) {
                    self.write(&file, "a redirect to");
                    targets.push(Target { file, output: *output, append: *append });
                }
            }
        }
        targets
    }

    /// What a command printed goes where its redirects and pipes lead. `outputs`: by what its words may have become.
    pub(super) fn put(&mut self, command: &Command, outputs: Vec<Option<Field>>, targets: &[Target]) {
        let text = match <[_; 1]>::try_from(outputs) {
            Ok([one]) => one,
            Err(several) => several.into_iter().reduce(|all, next| joined(all?, &next?)).flatten(),
        };
        for target in targets {
            let text = if target.output { text.clone() } else { None };
            self.keep(&target.file, text, target.append);
        }
        let away = command
            .redirects
            .iter()
            .any(|redirect| matches!(redirect, Redirect::Away | Redirect::Write { output: true, .. }));
        let silent = away || command.words.is_empty() && targets.is_empty() && text.is_none();
        if command.join == Join::Pipe {
            self.printed = if away { Some(Field::default()) } else { text };
        } else if !silent && !self.streams.is_empty() {
            let text = text.unwrap_or_else(|| {
                let mut unknown = Field::any("$(…)");
                unknown.bits.push(Bit::Char('\n'));
                unknown
            });
            self.print(&text);
        }
    }
}

fn joined(mut all: Field, next: &Field) -> Option<Field> {
    all.bits.push(Bit::Char('\n'));
    all.push(next);
    Some(all)
}
