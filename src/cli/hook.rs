//! `tally hook HOST [--event E]`: whatever happens, exit 0, at most one line on standard error, and a standard output
//! that is empty unless the agent is to be told something. Policies, where they are on, may say more, and refuse in the host's
//! own form; for Kiro that is exit 2.

use super::panics;
use super::verb::Does::Run;
use super::verb::Kind::Text;
use super::verb::{Verb, option, place};
use crate::hook;
use crate::hosts::Mapping;
use crate::settings::env::Env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;

/// For `--help`; a real call is read by [`run`] without a parser that could refuse it.
pub(super) const VERB: Verb = Verb {
    name: "hook",
    about: "Serve one hook call of a host: its hook JSON on standard input; exits 0, but where a policy refuses Kiro something",
    does: Run(|_, _| Ok(0)),
    args: &[
        place(
            "HOST",
            Text,
            "The host that calls: claude-code, codex, opencode, pi, kiro; generic for any framework",
        ),
        option("event", "E", Text, "The event, where the payload does not name it"),
    ],
};

/// Input beyond this is not read: no host writes so much, and a hook must stay small.
const MAX_INPUT: u64 = 64 << 20;

/// Serves one call, and returns its exit code: 0, but where a host is told of a refusal by another.
pub(super) fn run(env: &Env, args: &[OsString], cwd: &Path) -> u8 {
    let place = cwd.to_path_buf();
    panics::end_in(move || {
        hook::complain(&Env::from_process(), &place, "hook: a bug in tally stopped this hook");
    });
    let call = match parse(args) {
        Ok(call) => call,
        Err(mistake) => {
            drop(writeln!(io::stderr(), "tally hook: {mistake}"));
            hook::complain(env, cwd, &format!("hook: {mistake}"));
            return 0;
        }
    };
    let mut input = Vec::new();
    // What cannot be read is no JSON either: one complaint covers both.
    drop(io::stdin().lock().take(MAX_INPUT).read_to_end(&mut input));
    let Some(reply) = hook::serve(env, &call.host, call.event.as_deref(), &input, cwd) else { return 0 };
    // A host that closed the pipe does not want to know.
    if let Some(answer) = reply.stdout {
        drop(writeln!(io::stdout(), "{answer}"));
    }
    if let Some(text) = reply.stderr {
        let by = if reply.exit_code == 0 { "tally hook: " } else { "" };
        drop(writeln!(io::stderr(), "{by}{text}"));
    }
    reply.exit_code
}

#[derive(Debug, PartialEq, Eq)]
struct Call {
    host: String,
    event: Option<String>,
}

fn parse(args: &[OsString]) -> Result<Call, String> {
    let mut args = args.iter().map(|arg| arg.to_string_lossy());
    let host = args.next().ok_or("no host was named; use `tally hook claude-code`")?;
    let known: Vec<_> = Mapping::hosts().collect();
    if !known.contains(&host.as_ref()) {
        return Err(format!("unknown host {host:?}; known: {}", known.join(", ")));
    }
    let mut event = None;
    while let Some(arg) = args.next() {
        match arg.strip_prefix("--event") {
            Some("") => event = Some(args.next().ok_or("--event needs a value")?.into_owned()),
            Some(value) if value.starts_with('=') => event = value.get(1..).map(str::to_owned),
            _ => return Err(format!("unknown argument {arg:?}")),
        }
    }
    Ok(Call { host: host.into_owned(), event })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(args: &[&str]) -> Result<(String, Option<String>), String> {
        let args: Vec<OsString> = args.iter().map(Into::into).collect();
        parse(&args).map(|call| (call.host, call.event))
    }

    #[test]
    fn the_event_may_be_given_both_ways() {
        let expected = Ok(("claude-code".to_owned(), Some("Stop".to_owned())));
        assert_eq!(call(&["claude-code", "--event", "Stop"]), expected);
        assert_eq!(call(&["claude-code", "--event=Stop"]), expected);
        assert_eq!(call(&["claude-code"]), Ok(("claude-code".to_owned(), None)));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(call(&[]).unwrap_err().contains("no host"));
        assert!(call(&["emacs"]).unwrap_err().contains("emacs"));
        assert!(call(&["claude-code", "--fast"]).unwrap_err().contains("--fast"));
        assert!(call(&["claude-code", "--event"]).unwrap_err().contains("value"));
    }
}
