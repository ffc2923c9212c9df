//! `tally conformance`: how far this engine, or anybody's adapter, satisfies the hook contract 1.0.

use super::failure::Failure;
use super::verb::Does::{Either, Run};
use super::verb::Kind::{Path, Text};
use super::verb::{Given, Verb, flag, option, place};
use super::{Context, run_hook};
use crate::hosts::{Kind, Profile};
use crate::journal::bounded;
use crate::policy::conformance::{
    Bench, Fixture, Level, Subject, Summary, TIMEOUT, Verdict, declaration, shipped, shipped_text,
};
use crate::policy::runner::{self, CONTRACT};
use crate::policy::{Outcome, Policy, Stdout};
use crate::settings::env::Env;
use crate::sys::{clock, process};
use serde_json::json;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

pub(super) const VERB: Verb = Verb {
    name: "conformance",
    about: "Say how far an engine or an adapter satisfies the hook contract 1.0",
    does: Either(
        test,
        &[
            Verb {
                name: "export",
                about: "Write the shipped fixtures into a folder",
                does: Run(export),
                args: &[place("DIR", Path, "The folder")],
            },
            Verb {
                name: "declare",
                about: "Write the declaration of gaps of a host, in YAML",
                does: Run(declare),
                args: &[option("host", "H", Text, "The host").required()],
            },
            Verb {
                name: "adapter",
                about: "Be an adapter: choose the policies by the payload on standard input, and answer as the contract has it",
                // Reached before the parser.
                does: Run(|_, _| Ok(0)),
                args: &[],
            },
        ],
    ),
    args: &[
        flag("self", "Put this engine to the test"),
        option(
            "adapter-cmd",
            "CMD",
            Text,
            "Put an adapter to the test: a command for the shell, called once for each fixture",
        )
        .takes_dashes(),
        option(
            "level",
            "LEVEL",
            Text,
            "The level that must be reached: L0, L1, L2; L2 for this engine, else L0, if not given",
        ),
        option("fixtures", "DIR", Path, "A folder of fixtures instead of those that are shipped"),
        flag("json", "Print one JSON object"),
        flag("verbose", "Also say exit code and standard error of each fixture"),
    ],
};

/// A run of the kit.
type Outcomes = Vec<(Fixture, Verdict)>;

fn export(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let dir = context.cwd.join(given.path("DIR").unwrap_or(context.cwd));
    let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", dir.display()));
    std::fs::create_dir_all(&dir).map_err(failed)?;
    let fixtures = shipped_text();
    for (name, text) in &fixtures {
        std::fs::write(dir.join(format!("{name}.json")), text).map_err(failed)?;
    }
    writeln!(context.out, "{} fixtures in {}", fixtures.len(), dir.display())?;
    Ok(0)
}

fn declare(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let host = given.text("host").unwrap_or_default();
    let program = program()?;
    let run = all(Subject::Engine(&program), usable(shipped())?, context)?;
    let summary = Summary::of(&run);
    let date = clock::rfc3339(clock::now_ms()).unwrap_or_default();
    let date = date.get(..10).unwrap_or("unknown");
    let text = declaration(host, &summary, (passed(&run), run.len()), date).ok_or_else(|| {
        Failure::Usage(match Profile::shipped(host) {
            Some(_) => format!(
                "{host} runs inside a program and calls no hooks: that program's adapter declares its gaps"
            ),
            None => format!("there is no profile of the host {host:?}; see tally hosts list"),
        })
    })?;
    write!(context.out, "{text}")?;
    Ok(0)
}

fn test(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let (own, as_json) = (given.flag("self"), given.flag("json"));
    let program = program()?;
    let (subject, mode) = match given.text("adapter-cmd") {
        _ if own => (Subject::Engine(&program), "this engine".to_owned()),
        Some(command) if !command.trim().is_empty() => {
            (Subject::Adapter(command), format!("adapter: {command}"))
        }
        _ => return Err(Failure::Usage("say what to test: --self, or --adapter-cmd CMD".to_owned())),
    };
    let target = match given.text("level") {
        None if own => Level::L2,
        None => Level::L0,
        Some(name) => Level::parse(name)
            .ok_or_else(|| Failure::Usage(format!("there is no level {name:?}: L0, L1, L2")))?,
    };
    let (fixtures, from) = match given.path("fixtures") {
        None => (shipped(), "as shipped".to_owned()),
        Some(dir) => (Fixture::read_all(&context.cwd.join(dir)), dir.display().to_string()),
    };
    let fixtures = usable(fixtures)?;
    if !as_json {
        let count = fixtures.len();
        writeln!(
            context.out,
            "Conformance to the hook contract {CONTRACT}: {mode}, target {}",
            target.as_str()
        )?;
        writeln!(context.out, "{count} fixtures, {from}\n")?;
    }
    let run = all(subject, fixtures, context)?;
    let summary = Summary::of(&run);
    let reached = summary.highest.is_some_and(|highest| highest >= target);
    if as_json {
        print_json(&mode, target, &run, &summary, context)?;
    } else {
        print(given.flag("verbose"), &run, context)?;
        print_summary(&mode, target, &run, &summary, context)?;
    }
    Ok(u8::from(!reached))
}

fn program() -> Result<PathBuf, Failure> {
    process::program().map_err(|error| Failure::Failed(format!("this program's own file: {error}")))
}

fn usable(fixtures: Result<Vec<Fixture>, impl ToString>) -> Result<Vec<Fixture>, Failure> {
    fixtures.map_err(|error| Failure::Usage(error.to_string()))
}

fn passed(run: &Outcomes) -> usize {
    run.iter().filter(|(_, verdict)| verdict.failures.is_empty()).count()
}

/// Runs all fixtures.
fn all(subject: Subject<'_>, fixtures: Vec<Fixture>, context: &Context<'_>) -> Result<Outcomes, Failure> {
    let scratch = std::env::temp_dir().join(format!("tally-conformance-{:016x}", fastrand::u64(..)));
    let failed = |error: io::Error| Failure::Failed(format!("{}: {error}", scratch.display()));
    crate::sys::files::create_dir_private(&scratch).map_err(failed)?;
    let env = context.env.pairs().map(|(name, value)| (name.to_os_string(), value.to_os_string())).collect();
    let bench = Bench { subject, env, cwd: context.cwd, scratch: &scratch, timeout: TIMEOUT };
    let run = fixtures.into_iter().map(|fixture| (bench.run(&fixture), fixture));
    let run = run.map(|(verdict, fixture)| (fixture, verdict)).collect();
    drop(std::fs::remove_dir_all(&scratch));
    Ok(run)
}

fn print(verbose: bool, run: &Outcomes, context: &mut Context<'_>) -> io::Result<()> {
    for (fixture, verdict) in run {
        let (level, name) = (fixture.level.as_str(), &fixture.name);
        if verdict.failures.is_empty() {
            writeln!(context.out, "  PASS  [{level}] {name}")?;
        } else {
            let line = context.red(&format!("  FAIL  [{level}] {name}"));
            writeln!(context.out, "{line}\n          {}", fixture.description)?;
            for failure in &verdict.failures {
                writeln!(context.out, "        - {failure}")?;
            }
        }
        if verbose {
            let code = verdict.code.map_or("none".to_owned(), |code| code.to_string());
            let stderr = crate::policy::text::line(&verdict.stderr, 120);
            writeln!(context.out, "          exit code {code}; standard error: {stderr}")?;
        }
    }
    Ok(())
}

fn print_summary(
    mode: &str,
    target: Level,
    run: &Outcomes,
    summary: &Summary,
    context: &mut Context<'_>,
) -> io::Result<()> {
    writeln!(context.out)?;
    for tally in &summary.levels {
        let (ok, all) = (tally.required - tally.failing.len(), tally.required);
        let word = match (tally.is_tested(), tally.passes()) {
            (_, true) => "PASS",
            (true, false) => "FAIL",
            (false, false) if tally.unshown.is_empty() => "----",
            (false, false) => "FAIL",
        };
        let untested = if word == "----" { ": no fixture shows it" } else { "" };
        let level = tally.level.as_str();
        writeln!(context.out, "  {word}  {level}  ({ok}/{all} required fixtures pass{untested})")?;
        for name in tally.failing.iter().take(5) {
            writeln!(context.out, "          {name}")?;
        }
        if !tally.unshown.is_empty() {
            let names: Vec<_> = tally.unshown.iter().map(|policy| policy.name()).collect();
            writeln!(context.out, "          no fixture is about: {}", names.join(", "))?;
        }
    }
    let highest = summary.highest.map_or("none", Level::as_str);
    writeln!(context.out, "\n{} of {} fixtures pass; highest level: {highest}", passed(run), run.len())?;
    let verdict = match summary.highest {
        Some(highest) if highest >= target => format!("PASS: {mode} satisfies {}", target.as_str()),
        _ => context.red(&format!("FAIL: {mode} does not satisfy {}", target.as_str())),
    };
    writeln!(context.out, "{verdict}")
}

/// `schemas/conformance.schema.json` is its contract.
fn print_json(
    mode: &str,
    target: Level,
    run: &Outcomes,
    summary: &Summary,
    context: &mut Context<'_>,
) -> io::Result<()> {
    let fixtures: Vec<_> = run
        .iter()
        .map(|(fixture, verdict)| {
            json!({
                "name": fixture.name, "policy": fixture.policy.name(), "level": fixture.level.as_str(),
                "pass": verdict.failures.is_empty(), "exitCode": verdict.code, "failures": verdict.failures,
            })
        })
        .collect();
    let levels: Vec<_> = summary
        .levels
        .iter()
        .map(|tally| {
            let unshown: Vec<_> = tally.unshown.iter().map(|policy| policy.name()).collect();
            json!({
                "level": tally.level.as_str(), "tested": tally.is_tested(), "pass": tally.passes(), "required": tally.required,
                "failing": tally.failing, "withoutFixture": unshown,
            })
        })
        .collect();
    let highest = summary.highest.map(Level::as_str);
    let answer = json!({
        "contractVersion": CONTRACT, "subject": mode, "target": target.as_str(),
        "reached": summary.highest.is_some_and(|highest| highest >= target), "highest": highest,
        "passed": passed(run), "fixtures": fixtures, "levels": levels,
    });
    serde_json::to_writer_pretty(&mut *context.out, &answer)?;
    writeln!(context.out)
}

/// `tally conformance adapter`: the policies that have a say in the event, in their order; the first that blocks decides.
pub(super) fn adapt(env: &Env, cwd: &std::path::Path) -> u8 {
    let mut input = Vec::new();
    drop(io::stdin().lock().take(run_hook::MAX_INPUT).read_to_end(&mut input));
    let input = Arc::new(input);
    run_hook::allow_on_panic("conformance adapter", &input);
    let outcome = run_hook::with_call(env, cwd, &input, &|call| {
        // A payload that is too long for the contract still says what happens.
        let event = match call.event {
            Kind::Unknown if call.truncated => whole_event(&input),
            event => event,
        };
        answer(&runner::Call { event, ..*call })
    });
    run_hook::answer(&outcome, &input)
}

fn whole_event(input: &[u8]) -> Kind {
    let name = bounded::document(input).ok().and_then(|all| {
        all.fields.get("hook_event_name").and_then(serde_json::Value::as_str).map(runner::event_named)
    });
    // What is cut off and cannot be read may be anything, also what has to be blocked.
    name.unwrap_or(Kind::PreToolUse)
}

/// What all policies of an event say together.
fn answer(call: &runner::Call<'_>) -> Outcome {
    let (mut said, mut stderr) = (String::new(), String::new());
    for policy in Policy::of(call.event) {
        let outcome = policy.run(call);
        if outcome.exit != 0 {
            return outcome;
        }
        if let Stdout::Append(text) = outcome.stdout {
            said.push_str(&text);
        }
        stderr.push_str(&outcome.stderr);
    }
    let stdout = if said.is_empty() { Stdout::Echo } else { Stdout::Append(said) };
    Outcome { exit: 0, stdout, stderr }
}
