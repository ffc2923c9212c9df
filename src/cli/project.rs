//! `tally project`: the project label of a directory, and how it was derived.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::Context;
use super::failure::Failure;
use super::verb::Does::Run;
use super::verb::{Given, Kind, Verb, flag, place};
use crate::attribution::project::{Attempt, Label, Project, Step};
use crate::settings::env::vars;
use crate::sys::git::Repository;

pub(super) const VERB: Verb = Verb {
    name: "project",
    about: "Show the project label that records from a directory carry",
    does: Run(run),
    args: &[
        place("DIR", Kind::Path, "The directory; the current one if not given").optional(),
        flag("explain", "Say for every step of the derivation what it found, or why it found nothing"),
        flag("json", "Print one JSON object (schemas/cli-project.schema.json)"),
    ],
};

fn run(given: &Given<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let asked = Asked {
        dir: given.path("DIR").unwrap_or(Path::new(".")),
        explain: given.flag("explain"),
        json: given.flag("json"),
    };
    let (label, home) = (context.env.get(&vars::FLOW_AGENTS_PROJECT), context.env.path(&vars::HOME));
    Ok(tell(&asked, label, home, context.out, context.err)?)
}

struct Asked<'a> {
    dir: &'a Path,
    explain: bool,
    json: bool,
}

/// Prints the label and returns the exit code: 0, or 1 when there is no such directory or no label.
/// `override_label` is the value of `FLOW_AGENTS_PROJECT`, `home` that of `HOME`.
///
/// # Errors
/// When `out` or `err` cannot be written to.
fn tell(
    asked: &Asked<'_>,
    override_label: Option<&str>,
    home: Option<&Path>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let dir = asked.dir;
    let repository = Repository::discover(dir);
    let Some(project) = Project::new(dir, repository.as_ref(), override_label, home) else {
        writeln!(err, "tally: {}: not a directory; name one that exists", printable(&dir.to_string_lossy()))?;
        return Ok(1);
    };
    let label = project.label();
    if asked.json {
        let answer = Answer {
            label: label.as_ref().map(|label| label.text.as_str()),
            step: label.as_ref().map(|label| label.step.as_str()),
            steps: asked.explain.then(|| project.explain().into_iter().map(StepAnswer::from).collect()),
        };
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
    } else if asked.explain {
        explain(&project, label.as_ref(), out)?;
    } else if let Some(label) = &label {
        writeln!(out, "{}", label.text)?;
    }
    if label.is_none() {
        writeln!(err, "tally: this directory has no name; set FLOW_AGENTS_PROJECT to give it one")?;
        return Ok(1);
    }
    Ok(0)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Answer<'a> {
    label: Option<&'a str>,
    step: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<StepAnswer>>,
}

#[derive(Serialize)]
struct StepAnswer {
    step: &'static str,
    label: Option<String>,
    detail: String,
}

impl From<Attempt> for StepAnswer {
    fn from(attempt: Attempt) -> Self {
        Self { step: attempt.step.as_str(), label: attempt.label, detail: attempt.detail }
    }
}

/// One line per step; an arrow marks the one that decided.
fn explain(project: &Project<'_>, label: Option<&Label>, out: &mut dyn Write) -> io::Result<()> {
    let chosen: Option<Step> = label.map(|label| label.step);
    for attempt in project.explain() {
        let mark = if chosen == Some(attempt.step) { "->" } else { "  " };
        let text = attempt.label.as_deref().unwrap_or("-");
        writeln!(out, "{mark} {:<9}  {text}  ({})", attempt.step.as_str(), printable(&attempt.detail))?;
    }
    Ok(())
}

/// Directory names may hold control characters, which a terminal would obey.
fn printable(text: &str) -> String {
    text.chars().map(|next| if next.is_control() { '\u{fffd}' } else { next }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(dir: &Path, explain: bool, json: bool, label: Option<&str>) -> (u8, String, String) {
        let asked = Asked { dir, explain, json };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = tell(&asked, label, None, &mut out, &mut err).unwrap();
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn prints_the_label_alone() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ask(dir.path(), false, false, Some("acme")), (0, "acme\n".to_owned(), String::new()));
    }

    #[test]
    fn a_missing_directory_is_refused_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let (code, out, err) = ask(&dir.path().join("go\u{1b}ne"), true, true, Some("acme"));
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains("go\u{fffd}ne: not a directory"), "{err}");
    }

    #[test]
    fn a_directory_without_a_name_has_no_label() {
        let (code, out, err) = ask(Path::new("/"), false, false, None);
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains("FLOW_AGENTS_PROJECT"), "{err}");
    }

    #[test]
    fn explains_every_step_and_marks_the_one_that_decided() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("package.json"), r#"{"name":"web"}"#).unwrap();
        let (_, out, _) = ask(dir.path(), true, false, None);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 5);
        assert!(lines[0].starts_with("   override   -  (FLOW_AGENTS_PROJECT is not set)"), "{out}");
        assert!(lines[1].starts_with("-> manifest   web  ("), "{out}");
    }

    #[test]
    fn json_keeps_its_schema() {
        let schema = include_str!("../../schemas/cli-project.schema.json");
        let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        for explain in [false, true] {
            let (_, out, _) = ask(dir.path(), explain, true, Some("acme"));
            let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert!(validator.is_valid(&answer), "{out}");
            assert_eq!(answer["label"], "acme");
            assert_eq!(answer.get("steps").is_some(), explain);
        }
        assert!(!validator.is_valid(&serde_json::json!({"label": "x", "step": "guess"})));
    }
}
