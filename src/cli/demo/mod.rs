//! `tally demo`: the whole main job on this machine, in a scratch folder; nothing leaves loopback.
//!
//! A small project, a workflow session, a transcript as Claude Code writes it, a receiver in place of the Console; then
//! the hook payloads that the host would send, and what came of them. It succeeds only if the receiver got what the
//! journal holds, and each session event once.

mod scene;

use super::Context;
use super::failure::Failure;
use super::verb::Does::Run;
use super::verb::{Given, Verb};
use crate::economics::Record;
use crate::hook;
use crate::journal;
use crate::relay;
use crate::relay::receiver::{Received, Receiver};
use crate::report::economics as view;
use crate::settings::Settings;
use crate::settings::env::Env;
use crate::sys::order;
use crate::usage::claude::line::HOST;
use scene::Scene;
use serde_json::Value;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

pub(super) const VERB: Verb = Verb {
    name: "demo",
    about: "Show the whole main job on this machine, in a scratch folder",
    does: Run(run),
    args: &[],
};

/// How long the detached relay may take.
const PATIENCE: Duration = Duration::from_secs(20);

fn run(_given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let receiver = Receiver::start(0)?;
    let root = std::env::temp_dir().join(format!("tally-demo-{}", std::process::id()));
    let mut scene = Scene::set(&root, &receiver.url())?;
    let out = &mut *context.out;

    heading(out, 1, "A project with a task, and a Console to report to")?;
    writeln!(out, "   scratch folder  {}", root.display())?;
    writeln!(out, "   Console         {} (a receiver of this demo, on loopback)", receiver.url())?;

    heading(out, 2, "The hook payloads that Claude Code would send")?;
    let env = scene.env();
    for event in ["SessionStart", "UserPromptSubmit"] {
        fire(out, &env, &scene, event)?;
    }
    scene.first_turn()?;
    for event in ["Stop", "UserPromptSubmit", "PreToolUse", "PostToolUse"] {
        fire(out, &env, &scene, event)?;
    }
    scene.second_turn()?;
    for event in ["SubagentStop", "Stop", "SessionEnd"] {
        fire(out, &env, &scene, event)?;
    }

    let settings = Settings::load(&env, &scene.project());
    let mut records: Vec<Record> = vec![];
    journal::read(&settings.economics_log, b"{", |line, _| {
        records.extend(serde_json::from_slice(line).ok())
    })?;
    heading(out, 3, "What was recorded on this machine, before anything was sent")?;
    writeln!(out, "   journal         {}", settings.economics_log.display())?;
    for record in &records {
        writeln!(out, "\n{}", view::one(record, context.width))?;
    }

    let events = events(&settings)?;
    writeln!(out, "\n   session events  {}", count(&events))?;
    for channel in &settings.channels.on {
        writeln!(out, "                   {}", channel.path(&settings.data_dir).display())?;
    }

    heading(out, 4, "What left for the Console")?;
    relay::flush(&settings.data_dir, &env, PATIENCE).map_err(|error| Failure::Failed(error.to_string()))?;
    let received = receiver.received();
    if let Some(request) = received.first() {
        show(out, request)?;
        writeln!(
            out,
            "   {} more with the same headers: events without words or paths, and the records",
            received.len() - 1
        )?;
    }

    heading(out, 5, "The verdict")?;
    let of_kind =
        |economics: bool| received.iter().filter(move |request| (request.path == "/records") == economics);
    let expected: Vec<String> =
        records.iter().map(|record| body(&record.for_console())).collect::<Result<_, _>>()?;
    let mut got: Vec<String> =
        of_kind(true).map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect();
    order::sort_by_key(&mut got, |body| expected.iter().position(|expected| expected == body));
    let arrived: Vec<Value> =
        of_kind(false).map(|request| serde_json::from_slice(&request.body).unwrap_or_default()).collect();
    if !expected.is_empty() && got == expected && ids(&arrived) == ids(&events) {
        let (records, events) = (got.len(), arrived.len());
        writeln!(
            out,
            "   The Console has what the journal holds: {records} of {records} records, {events} of {events} events."
        )?;
        writeln!(out, "   Look around, then: rm -r {}", root.display())?;
        Ok(0)
    } else {
        let what = format!(
            "the journal holds {} records and {} events, the receiver got {} and {}; see {}",
            expected.len(),
            events.len(),
            got.len(),
            arrived.len(),
            root.display()
        );
        Err(Failure::Failed(what))
    }
}

/// The session events of the first channel.
fn events(settings: &Settings) -> io::Result<Vec<Value>> {
    let mut events = vec![];
    if let Some(channel) = settings.channels.on.first() {
        let path = channel.path(&settings.data_dir);
        journal::read(&path, b"{", |line, _| events.extend(serde_json::from_slice::<Value>(line).ok()))?;
    }
    Ok(events)
}

fn field<'a>(event: &'a Value, name: &str) -> &'a str {
    event.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn ids(events: &[Value]) -> Vec<&str> {
    let mut ids: Vec<_> = events.iter().map(|event| field(event, "event_id")).collect();
    order::sort(&mut ids);
    ids
}

/// How many there are of each type, in the order in which they came.
fn count(events: &[Value]) -> String {
    let mut counts: Vec<(&str, usize)> = vec![];
    for event in events {
        let kind = field(event, "event_type");
        match counts.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind, 1)),
        }
    }
    counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

fn heading(out: &mut dyn Write, number: u8, text: &str) -> io::Result<()> {
    writeln!(out, "\n{number}. {text}")
}

/// Calls the hook with what the host would write, and shows it; the paths below the scratch folder are cut short.
fn fire(out: &mut dyn Write, env: &Env, scene: &Scene, event: &str) -> io::Result<()> {
    let payload = scene.payload(event);
    let shown = payload.replace(scene.root(), "…").replace(scene::SESSION, "5e55…");
    writeln!(out, "   tally hook {HOST} <<< {shown}")?;
    hook::serve(env, HOST, None, payload.as_bytes(), &scene.project());
    Ok(())
}

fn body(record: &Record) -> Result<String, io::Error> {
    serde_json::to_string(record).map_err(io::Error::from)
}

fn show(out: &mut dyn Write, request: &Received) -> io::Result<()> {
    writeln!(out, "   {} {}", request.method, request.path)?;
    for (name, value) in &request.headers {
        let value = if name == "authorization" { "Bearer ••••" } else { value };
        writeln!(out, "     {name}: {value}")?;
    }
    writeln!(out, "     {} bytes of JSON  → 202 accepted", request.body.len())
}

/// Writes a file and the folders above it.
fn put(path: &Path, content: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, content)
}
