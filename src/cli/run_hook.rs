//! `tally run-hook HOOK_ID SCRIPT [PROFILES]`: one policy, called as flow-agents' `run-hook.js` is (contract 1.0).
//!
//! The payload is standard input. Exit code 0 allows, and standard output is the payload again, to its last byte, with what
//! there is to say behind it; 2 blocks, and standard error says why. Whatever goes wrong in a policy allows.

use super::panics;
use super::verb::Does::Run;
use super::verb::Kind::Text;
use super::verb::{Verb, flag, place};
use crate::policy::runner::{self, CONTRACT, Call, Hook, Skipped};
use crate::policy::{Input, Outcome, Payload, Stdout};
use crate::settings::env::{Env, vars};
use crate::sys::clock;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// For `--help`; a real call is read by [`run`] without a parser that could refuse it.
pub(super) const VERB: Verb = Verb {
    name: "run-hook",
    about: "Run one policy, as hooks are wired to `run-hook.js`; exits 2 where it blocks",
    does: Run(|_, _| Ok(0)),
    args: &[
        place("HOOK_ID", Text, "The hook's id, by which it may be disabled").optional(),
        place(
            "SCRIPT",
            Text,
            "The policy, by its script: config-protection.js, quality-gate.js, evidence-capture.js, workflow-steering.js, \
             stop-goal-fit.js",
        )
        .optional(),
        place("PROFILES", Text, "The profiles that the hook runs in, with commas: minimal, standard, strict").optional(),
        flag("contract-version", "Print the version of the contract"),
    ],
};

/// Input beyond this is not read; all beyond the contract's first mebi of UTF-16 units only passes through.
pub(super) const MAX_INPUT: u64 = 64 << 20;

/// Serves one call, and returns its exit code.
pub(super) fn run(env: &Env, args: &[OsString], cwd: &Path) -> u8 {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    if args.iter().any(|arg| arg == "--contract-version") {
        let version = serde_json::json!({ "contract_version": CONTRACT, "runner": "tally" });
        drop(writeln!(io::stdout(), "{version}"));
        return 0;
    }
    let mut input = Vec::new();
    drop(io::stdin().lock().take(MAX_INPUT).read_to_end(&mut input));
    let input = Arc::new(input);
    let mut words = args.iter().map(String::as_str);
    let hook = words.next().zip(words.next()).filter(|(id, script)| !id.is_empty() && !script.is_empty());
    let outcome = match hook {
        None => Outcome::allow(),
        Some((id, script)) => {
            decide(env, cwd, &Hook { id, script, profiles: words.next().unwrap_or_default() }, &input)
        }
    };
    answer(&outcome, &input)
}

fn decide(env: &Env, cwd: &Path, hook: &Hook<'_>, input: &Arc<Vec<u8>>) -> Outcome {
    let policy = match hook.policy(env) {
        Ok(policy) => policy,
        Err(Skipped::Off) => return Outcome::allow(),
        Err(Skipped::NoScript(stderr)) => return Outcome { stderr, ..Outcome::allow() },
    };
    allow_on_panic(policy.name(), input);
    with_call(env, cwd, input, &|call| policy.run(call))
}

/// Reads a payload of the contract, and has it judged.
pub(super) fn with_call(
    env: &Env,
    cwd: &Path,
    input: &[u8],
    judge: &dyn Fn(&Call<'_>) -> Outcome,
) -> Outcome {
    let read = Input::read(input);
    let payload = Payload::parse(&read.text);
    let cut_before = env.get(&vars::SA_HOOK_INPUT_TRUNCATED) == Some("1");
    judge(&Call {
        env,
        cwd,
        home: None,
        session: None,
        event: runner::event(payload.as_ref()),
        payload: payload.as_ref(),
        truncated: read.truncated || cut_before,
        blocks: false,
        patience: None,
        now_ms: clock::now_ms(),
    })
}

/// From now on a defect allows: it must not block the agent.
pub(super) fn allow_on_panic(name: &str, input: &Arc<Vec<u8>>) {
    let stderr = format!("[Hook] {name}: a defect in tally stopped this policy");
    let input = Arc::clone(input);
    panics::end_in(move || {
        answer(&Outcome { stderr: stderr.clone(), ..Outcome::allow() }, &input);
    });
}

/// Writes the answer, all of it, and returns the exit code.
pub(super) fn answer(outcome: &Outcome, input: &[u8]) -> u8 {
    let mut stderr = outcome.stderr.clone();
    if !stderr.is_empty() && !stderr.ends_with('\n') {
        stderr.push('\n');
    }
    // A host that closed a pipe does not want to know.
    drop(io::stderr().write_all(stderr.as_bytes()));
    let mut out = io::stdout().lock();
    drop(match &outcome.stdout {
        Stdout::Echo => out.write_all(input),
        Stdout::Append(text) => out.write_all(input).and_then(|()| out.write_all(text.as_bytes())),
        Stdout::Text(text) => out.write_all(text.as_bytes()),
    });
    drop(out.flush());
    outcome.exit
}
