//! The guided prompt of `tally init` (contract G.2): which Console, its token, its tenant. It ends in the same flags as the
//! command line; what cannot be used is said and asked again.

use crate::settings::destination::is_safe_token;
use crate::settings::env::Env;
use crate::settings::secret::Secret;
use crate::setup::console::{Flags, Sink, TokenSource, address, tenant};
use crate::sys::terminal;
use std::io::{self, Write};

/// Somebody who can be asked. `None` is an answer: they gave up.
pub(super) trait Asked {
    /// Asks for a line.
    fn line(&mut self, prompt: &str) -> io::Result<Option<String>>;
    /// Asks for a line that is not shown.
    fn hidden(&mut self, prompt: &str) -> io::Result<Option<String>>;
    /// Says something.
    fn say(&mut self, text: &str) -> io::Result<()>;
}

/// A person at the terminal.
pub(super) struct Terminal<'a> {
    pub(super) out: &'a mut dyn Write,
}

impl Asked for Terminal<'_> {
    fn line(&mut self, prompt: &str) -> io::Result<Option<String>> {
        write!(self.out, "{prompt}")?;
        self.out.flush()?;
        let mut line = String::new();
        let length = io::stdin().read_line(&mut line)?;
        Ok((length > 0).then(|| line.trim().to_owned()))
    }

    fn hidden(&mut self, prompt: &str) -> io::Result<Option<String>> {
        let line = terminal::read_hidden(|| {
            write!(self.out, "{prompt}")?;
            self.out.flush()
        });
        writeln!(self.out)?;
        Ok(line?.map(|line| line.trim().to_owned()))
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }
}

/// Asks which Console to connect to; `None` when the person gave up.
pub(super) fn ask(env: &Env, asked: &mut dyn Asked) -> io::Result<Option<Flags>> {
    let url = |sink: Sink| sink.preset(env).unwrap_or_default();
    let prompt = format!(
        "Connect to Kontour Console? [Hosted ({})/Local ({})/Self-hosted/Skip] [Hosted]: ",
        url(Sink::Hosted),
        url(Sink::LocalConsole)
    );
    let mut flags = loop {
        let Some(answer) = asked.line(&prompt)? else { return Ok(None) };
        let sink = match answer.to_ascii_lowercase().as_str() {
            "" | "h" | "hosted" => "kontour-hosted-console",
            "l" | "local" => "local-kontour-console",
            "s" | "self" | "selfhosted" | "self-hosted" => "user-hosted-console",
            "n" | "no" | "none" | "skip" => return Ok(Some(Flags::default())),
            _ => {
                asked.say("Answer h, l, s or n (skip).")?;
                continue;
            }
        };
        break Flags { sinks: vec![sink.to_owned()], ..Flags::default() };
    };
    if flags.sinks == ["user-hosted-console"] {
        let check = |text: &str| address("The URL", text).map(drop).map_err(|mistake| mistake.0);
        let Some(url) = until("Console URL: ", asked, Asked::line, check)? else { return Ok(None) };
        flags.url = Some(url);
    }
    let check = |text: &str| match text {
        text if text.is_empty() || is_safe_token(text) => Ok(()),
        _ => Err("That is no token: letters, digits and . _ ~ + / = - only.".to_owned()),
    };
    let prompt = "Token (not shown; empty for none): ";
    let Some(token) = until(prompt, asked, Asked::hidden, check)? else { return Ok(None) };
    flags.token = (!token.is_empty()).then(|| TokenSource::Typed(Secret::new(token)));
    let check = |text: &str| match text {
        "" => Ok(()),
        text => tenant(text).map(drop).map_err(|mistake| mistake.0),
    };
    let prompt = "Tenant (empty for the token's own): ";
    let Some(tenant) = until(prompt, asked, Asked::line, check)? else { return Ok(None) };
    flags.tenant = (!tenant.is_empty()).then_some(tenant);
    Ok(Some(flags))
}

type Ask<'a> = fn(&mut (dyn Asked + 'a), &str) -> io::Result<Option<String>>;

/// Asks until `check` is content.
fn until<'a>(
    prompt: &str,
    asked: &mut (dyn Asked + 'a),
    ask: Ask<'a>,
    check: impl Fn(&str) -> Result<(), String>,
) -> io::Result<Option<String>> {
    loop {
        let Some(answer) = ask(asked, prompt)? else { return Ok(None) };
        match check(&answer) {
            Ok(()) => return Ok(Some(answer)),
            Err(mistake) => asked.say(&mistake)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers in turn, and hears what is said.
    struct Script {
        answers: Vec<&'static str>,
        shown: String,
        hidden: Vec<&'static str>,
    }

    impl Asked for Script {
        fn line(&mut self, prompt: &str) -> io::Result<Option<String>> {
            self.shown.push_str(prompt);
            let answer = (!self.answers.is_empty()).then(|| self.answers.remove(0));
            self.shown.push_str(answer.unwrap_or_default());
            Ok(answer.map(str::to_owned))
        }

        fn hidden(&mut self, prompt: &str) -> io::Result<Option<String>> {
            self.shown.push_str(prompt);
            Ok((!self.hidden.is_empty()).then(|| self.hidden.remove(0).to_owned()))
        }

        fn say(&mut self, text: &str) -> io::Result<()> {
            self.shown.push_str(text);
            Ok(())
        }
    }

    fn answered(answers: &[&'static str], hidden: &[&'static str]) -> (Option<Flags>, String) {
        let mut script = Script { answers: answers.to_vec(), shown: String::new(), hidden: hidden.to_vec() };
        let flags = ask(&Env::default(), &mut script).unwrap();
        (flags, script.shown)
    }

    #[test]
    fn the_answers_end_in_the_flags_of_the_command_line() {
        let (flags, shown) = answered(&["", "acme"], &["t0k"]);
        let flags = flags.unwrap();
        assert_eq!(flags.sinks, ["kontour-hosted-console"]);
        assert_eq!(flags.token, Some(TokenSource::Typed(Secret::new("t0k"))));
        assert_eq!(flags.tenant.as_deref(), Some("acme"));
        assert!(shown.contains(
            "[Hosted (https://console.kontourai.io)/Local (http://127.0.0.1:3737)/Self-hosted/Skip]"
        ));
        assert!(!shown.contains("t0k"));
        assert_eq!(answered(&["n"], &[]).0, Some(Flags::default()));
        let local = answered(&["Local", ""], &[""]).0.unwrap();
        assert_eq!(
            (local.sinks[0].as_str(), local.token, local.tenant),
            ("local-kontour-console", None, None)
        );
    }

    #[test]
    fn what_cannot_be_used_is_asked_again() {
        let answers = ["what", "s", "http://c.example", "https://c.example", "a b", "acme"];
        let (flags, shown) = answered(&answers, &["b\"ad", "t0k"]);
        let flags = flags.unwrap();
        assert_eq!(flags.url.as_deref(), Some("https://c.example"));
        assert_eq!(
            (flags.token, flags.tenant),
            (Some(TokenSource::Typed(Secret::new("t0k"))), Some("acme".to_owned()))
        );
        assert_eq!(shown.matches("Console URL").count(), 2);
        assert!(!shown.contains("b\"ad"), "{shown}");
    }

    #[test]
    fn giving_up_anywhere_changes_nothing() {
        assert_eq!(answered(&[], &[]).0, None);
        assert_eq!(answered(&["s"], &[]).0, None);
        assert_eq!(answered(&["h"], &[]).0, None);
        assert_eq!(answered(&["h"], &["t"]).0, None);
    }
}
