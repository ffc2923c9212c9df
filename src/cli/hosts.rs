//! `tally hosts`: what hosts can do, and what becomes of a decision in them; JSON lines in and out, so that any
//! language can ask. Each line that comes in gets one line, in order; one that cannot be answered gets `{"error"}`.

use super::Context;
use super::failure::Failure;
use super::verb::Does::{Run, Verbs};
use super::verb::Kind::{self, Text};
use super::verb::{Given, Verb, flag, option, place};
use crate::hosts::{
    self, BindingError, EvidenceInput, EvidenceScope, HostCapabilities, LifecycleEvent, LifecycleOutcome,
    NormalizedCapabilities, Phase, Profile, Shape, normalize,
};
use crate::setup;
use crate::setup::place::Place;
use crate::sys::files;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;

/// The answers are described in schemas/hosts-output.schema.json and schemas/host-conformance.schema.json.
pub(super) const VERB: Verb = Verb {
    name: "hosts",
    about: "Say what hosts can do, and what becomes of a decision in them",
    does: Verbs(&[
        Verb {
            name: "list",
            about: "List the hosts that there is a profile of, one JSON object a line",
            does: Run(list),
            args: &[],
        },
        Verb {
            name: "show",
            about: "Show what a host can do",
            does: Run(show),
            args: &[place("HOST", Text, "The host, by its name"), flag("json", "Print one JSON object")],
        },
        Verb {
            name: "normalize",
            about: "Spell out capabilities: one JSON object a line on standard input",
            does: Run(normalize_lines),
            args: &[],
        },
        Verb {
            name: "project",
            about: "Reduce outcomes to what a host can do: {\"capabilities\"|\"host\", \"event\", \"outcome\"} a line on \
                    standard input",
            does: Run(project_lines),
            args: &[option("host", "H", Text, "The host of lines that name none")],
        },
        Verb {
            name: "report",
            about: "Probe the adapters, and report",
            does: Run(report),
            args: &[
                option("host", "H", Text, "Only this host; may be repeated").many(),
                option(
                    "scope",
                    "SCOPE",
                    Text,
                    "What is proven: adapter-contract; or host-bound, where hooks are installed and are what their \
                     receipt says",
                )
                .default("adapter-contract"),
                option("host-id", "I", Text, "The id of the real host; for --scope host-bound"),
                option("host-version", "V", Text, "The version of the real host; for --scope host-bound"),
                flag("matrix", "Print a table in Markdown (docs/host-conformance.md) instead of JSON"),
            ],
        },
        Verb {
            name: "parse",
            about: "Check a report, and print it in its normal form",
            does: Run(parse),
            args: &[place("FILE", Kind::Path, "The report")],
        },
    ]),
    args: &[],
};

/// The largest line and the largest report.
const MAX_INPUT: u64 = 64 << 20;

fn list(_given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    for profile in Profile::names().filter_map(Profile::shipped) {
        let listed = serde_json::json!({ "id": profile.id, "shape": profile.shape });
        writeln!(context.out, "{listed}")?;
    }
    Ok(0)
}

fn normalize_lines(_given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    answer_lines(context.out, &|line| {
        let declared = HostCapabilities::from_json(line).map_err(|error| error.to_string())?;
        Ok(line_of(&normalize(&declared)))
    })?;
    Ok(0)
}

fn project_lines(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let host = given.text("host").map(known).transpose()?;
    answer_lines(context.out, &|line| project(line, host.as_ref()))?;
    Ok(0)
}

fn parse(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let file = given.path("FILE").unwrap_or(Path::new(""));
    let refused = |why: String| Failure::Failed(format!("{}: {why}", file.display()));
    let bytes = files::read_bounded(file, MAX_INPUT).map_err(|error| refused(error.to_string()))?;
    let bytes = bytes.ok_or_else(|| refused("no such file".to_owned()))?;
    let text = String::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
    let report = hosts::parse(&text).map_err(|error| refused(error.to_string()))?;
    write!(context.out, "{}", hosts::serialize(&report))?;
    Ok(0)
}

/// The profile of `host`.
fn known(host: &str) -> Result<Profile, Failure> {
    Profile::shipped(host).ok_or_else(|| Failure::Usage(unknown(host)))
}

fn unknown(host: &str) -> String {
    format!("unknown host {host:?}; known: {}", Profile::names().collect::<Vec<_>>().join(", "))
}

fn line_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// What `show --json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    id: &'a str,
    shape: Shape,
    capabilities: &'a HostCapabilities,
    normalized: &'a NormalizedCapabilities,
    limitations: &'a [String],
}

fn show(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let profile = known(given.text("HOST").unwrap_or_default())?;
    show_profile(&profile, given.flag("json"), context.out)?;
    Ok(0)
}

fn show_profile(profile: &Profile, json: bool, out: &mut dyn Write) -> io::Result<()> {
    let Profile { id, shape, capabilities, limitations } = profile;
    let normalized = &normalize(capabilities);
    if json {
        let shown = Shown { id, shape: *shape, capabilities, normalized, limitations };
        return writeln!(out, "{}", line_of(&shown));
    }
    writeln!(out, "{id} ({shape})\n")?;
    writeln!(out, "{:<15}{:<15}{:<15}context", "phase", "event", "decision")?;
    let mut paths = normalized.paths().into_iter().map(|(path, stated)| match stated {
        hosts::Stated::Known(fidelity) => (path, fidelity.as_str()),
        _ => (path, "unknown"),
    });
    for phase in Phase::ALL {
        let mut next = || paths.next().map_or("", |(_, word)| word);
        writeln!(out, "{:<15}{:<15}{:<15}{}", phase.as_str(), next(), next(), next())?;
    }
    writeln!(out, "\n{:<15}install", "asset")?;
    for (path, word) in paths {
        writeln!(out, "{:<15}{word}", path.trim_start_matches("install."))?;
    }
    if !limitations.is_empty() {
        writeln!(out, "\nlimitations")?;
    }
    limitations.iter().try_for_each(|limitation| writeln!(out, "- {limitation}"))
}

/// Answers each line of standard input.
fn answer_lines(out: &mut dyn Write, answer: &dyn Fn(&Value) -> Result<String, String>) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut line = vec![];
    loop {
        line.clear();
        if input.by_ref().take(MAX_INPUT).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let cut = line.last() != Some(&b'\n') && input.skip_until(b'\n')? > 0;
        let answered = match serde_json::from_slice::<Value>(line.trim_ascii_end()) {
            _ if cut => Err(format!("the line has more than {MAX_INPUT} bytes")),
            Ok(value) => answer(&value),
            Err(error) => Err(format!("the line is not JSON: {error}")),
        };
        let said = answered.unwrap_or_else(|error| serde_json::json!({ "error": error }).to_string());
        writeln!(out, "{said}")?;
        // Whoever asks line by line waits for this.
        out.flush()?;
    }
}

fn project(line: &Value, fallback: Option<&Profile>) -> Result<String, String> {
    let given = |key| line.get(key).filter(|value| !value.is_null());
    let named;
    let capabilities = match (given("capabilities"), given("host")) {
        (Some(declared), _) => normalize(&HostCapabilities::from_json(declared).map_err(|e| e.to_string())?),
        (None, Some(host)) => {
            let host = host.as_str().ok_or("`host` is not a string")?;
            named = Profile::shipped(host).ok_or_else(|| unknown(host))?;
            normalize(&named.capabilities)
        }
        (None, None) => {
            let profile =
                fallback.ok_or("the line names no `host` and has no `capabilities`; so does no --host")?;
            normalize(&profile.capabilities)
        }
    };
    let part = |key| given(key).ok_or_else(|| format!("`{key}` is missing"));
    let event = LifecycleEvent::from_json(part("event")?).map_err(|error| error.to_string())?;
    let outcome = LifecycleOutcome::from_json(part("outcome")?).map_err(|error| error.to_string())?;
    Ok(line_of(&hosts::project(&capabilities, &event, outcome)))
}

fn report(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let usage = |why: &str| Err(Failure::Usage(why.to_owned()));
    let named = given.texts("host");
    for host in &named {
        known(host)?;
    }
    // In their own order, and each once, however they were named.
    let wanted = |name: &&str| named.is_empty() || named.contains(name);
    let profiles: Vec<Profile> = Profile::names().filter(wanted).filter_map(Profile::shipped).collect();
    let scope = given.text("scope").unwrap_or_default();
    let report = match (EvidenceScope::parse(scope), given.text("host-id"), given.text("host-version")) {
        (None, ..) => return usage("--scope is adapter-contract or host-bound"),
        (Some(EvidenceScope::HostBound), Some(id), Some(version)) => match profiles.as_slice() {
            [profile] => host_bound(profile, id, version, context)?,
            _ => return usage("--scope host-bound is about one host: name it with --host"),
        },
        (Some(EvidenceScope::AdapterContract), None, None) => {
            let adapters: Vec<_> = profiles.iter().map(Profile::stand_in).collect();
            let inputs = adapters.iter().zip(&profiles).map(|(adapter, profile)| {
                EvidenceInput::of(adapter.as_ref(), VERSION).limited_by(profile.limitations.iter().cloned())
            });
            hosts::create_conformance_report(&inputs.collect::<Vec<_>>())
        }
        _ => return usage("--scope host-bound goes with --host-id and --host-version, and they with it"),
    };
    let text = if given.flag("matrix") { hosts::render_matrix(&report) } else { hosts::serialize(&report) };
    write!(context.out, "{text}")?;
    Ok(0)
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a reader of host-bound evidence must know of its bindings.
const PROBED_APART: &str = "hooks are installed in the host and hash to their receipt; assets of probes are written to a \
                            scratch folder and read back, not given to the host";

/// Evidence about a host in which hooks are installed that are what their receipt says. Its adapter is the one that
/// installed them; what the probes install goes to a scratch folder, because a host's files are the user's. A framework's
/// bindings are in the program that runs it, so its evidence is made there.
fn host_bound(
    profile: &Profile,
    id: &str,
    version: &str,
    context: &Context<'_>,
) -> Result<hosts::ConformanceReport, Failure> {
    let refused = |why: &str| Failure::Failed(format!("no host-bound evidence of {}: {why}", profile.id));
    let root = std::env::temp_dir().join(format!("tally-hosts-{}", std::process::id()));
    let place = root.clone();
    let adapter = setup::hosts::adapter(
        &profile.id,
        Box::new(move |asset| {
            let target = place.join(asset.kind.as_str()).join(&asset.id);
            target
                .into_os_string()
                .into_string()
                .map(Some)
                .map_err(|_| BindingError::new("no text for a path"))
        }),
        Box::new(|target, content| write_back(Path::new(target), content)),
    );
    let why = "its bindings are in the program that runs it: make the evidence there, with the library";
    let adapter = adapter.ok_or_else(|| refused(why))?;
    let here = Place::find(context.env, context.cwd, None, false).map_err(|nowhere| refused(&nowhere.0))?;
    setup::install::verify(&here, &profile.id).map_err(|why| refused(&why))?;
    let input = EvidenceInput::of(&adapter, VERSION)
        .limited_by(profile.limitations.iter().cloned())
        .limited_by([PROBED_APART.to_owned()])
        .bound_to(id, version)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let report = hosts::create_conformance_report(&[input]);
    if root.exists() {
        std::fs::remove_dir_all(&root)?;
    }
    Ok(report)
}

fn write_back(target: &Path, content: &str) -> Result<(), BindingError> {
    target.parent().map_or(Ok(()), files::create_dir_private)?;
    files::write_atomic(target, content.as_bytes())?;
    match files::read_bounded(target, MAX_INPUT)? {
        Some(read) if read == content.as_bytes() => Ok(()),
        _ => Err(BindingError::new("what was written is not what can be read")),
    }
}
