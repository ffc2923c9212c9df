//! Whether the sidecars of a session have the form that whoever reads them relies on: `state.json`, `handoff.json`,
//! `trust.bundle`, `acceptance.json`.
//!
//! flow-agents runs a program for this, if it was built; here it is part of the gate. What makes a file say something else than
//! it seems to (a status that is no status, a claim without a name) stops an open task; what is missing without changing
//! anything (a version, a time, a name that the folder has too) is only said. One finding for each field, at most [`MOST`].

use super::finding::{Finding, Kind, Weight};
use super::subject::Subject;
use crate::policy::session::{STATUSES, object};
use crate::policy::text;
use crate::sys::clock;
use serde_json::{Map, Value};

/// Findings that are said; flow-agents says as many lines.
const MOST: usize = 12;

const PHASES: [&str; 11] = [
    "idea",
    "backlog",
    "pickup",
    "planning",
    "execution",
    "verification",
    "goal_fit",
    "evidence",
    "release",
    "learning",
    "done",
];

/// What a field must be.
#[derive(Clone, Copy)]
enum Form {
    Text,
    OneOf(&'static [&'static str]),
    Time,
    Texts,
    Object,
}

impl Form {
    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Text => value.as_str().is_some_and(|text| !text.trim().is_empty()),
            Self::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
            Self::Time => value.as_str().is_some_and(|text| clock::parse_rfc3339(text).is_some()),
            Self::Texts => value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
            Self::Object => value.is_object(),
        }
    }

    fn told(self) -> String {
        match self {
            Self::Text => "must be a text".to_owned(),
            Self::OneOf([one]) => format!("must be {one}"),
            Self::OneOf(words) => format!("must be one of {}", words.join(", ")),
            Self::Time => "must be a time".to_owned(),
            Self::Texts => "must be a list of texts".to_owned(),
            Self::Object => "must be an object".to_owned(),
        }
    }
}

/// How much a field matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Without it the file does not say what it is read for.
    Must,
    /// It belongs there; without it nothing reads differently.
    Should,
    /// It may be missing; what is there must be right.
    May,
}

type Field = (&'static str, Form, Need);

const VERSION: Field = ("schema_version", Form::OneOf(&["1.0"]), Need::Should);
const STATE: [Field; 6] = [
    VERSION,
    ("task_slug", Form::Text, Need::Should),
    ("status", Form::OneOf(&STATUSES), Need::Must),
    ("phase", Form::OneOf(&PHASES), Need::Must),
    ("updated_at", Form::Time, Need::Should),
    ("next_action", Form::Object, Need::Must),
];
const NEXT: [Field; 6] = [
    ("status", Form::OneOf(&["continue", "needs_user", "blocked", "done"]), Need::Must),
    ("summary", Form::Text, Need::Should),
    ("target_phase", Form::OneOf(&PHASES), Need::May),
    ("skills", Form::Texts, Need::May),
    ("operations", Form::Texts, Need::May),
    ("command", Form::Text, Need::May),
];
const HANDOFF: [Field; 6] = [
    VERSION,
    ("task_slug", Form::Text, Need::Should),
    ("summary", Form::Text, Need::Should),
    ("next_steps", Form::Texts, Need::Must),
    ("blockers", Form::Texts, Need::May),
    ("warnings", Form::Texts, Need::May),
];
const CRITERION: [Field; 2] = [
    ("id", Form::Text, Need::Must),
    ("status", Form::OneOf(&["pending", "pass", "fail", "not_verified", "accepted_gap"]), Need::Should),
];

/// What is wrong with the form of the sidecars.
pub(super) fn invalid(subject: &Subject) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(state) = subject.state() {
        hold("state.json", "", state, &STATE, &mut found);
        if let Some(next) = subject.next() {
            hold("state.json", "next_action.", next, &NEXT, &mut found);
        }
    }
    if let Some(handoff) = object(&subject.folder.join("handoff.json")) {
        hold("handoff.json", "", &handoff, &HANDOFF, &mut found);
    }
    let criteria = subject.acceptance.get().map(|acceptance| acceptance.get("criteria"));
    match criteria {
        Some(Some(Value::Array(criteria))) => {
            for (at, criterion) in criteria.iter().enumerate() {
                let none = Map::new();
                let fields = criterion.as_object().unwrap_or(&none);
                hold("acceptance.json", &format!("criteria[{at}]."), fields, &CRITERION, &mut found);
            }
        }
        Some(_) => found.push(defect("acceptance.json", "criteria", "must be a list", Weight::Soft)),
        None => {}
    }
    if let Some(bundle) = subject.bundle.get() {
        found.extend(
            bundle
                .defects()
                .into_iter()
                .map(|(place, what)| defect("trust.bundle", &place, what, Weight::Soft)),
        );
    }
    found.truncate(MOST);
    found
}

fn hold(file: &str, place: &str, object: &Map<String, Value>, fields: &[Field], found: &mut Vec<Finding>) {
    for (name, form, need) in fields {
        let weight = if *need == Need::Must { Weight::Soft } else { Weight::Advice };
        let place = format!("{place}{name}");
        match object.get(*name) {
            None if *need == Need::May => {}
            None => found.push(defect(file, &place, "is missing", weight)),
            Some(value) if form.takes(value) => {}
            Some(_) => found.push(defect(file, &place, &form.told(), weight)),
        }
    }
}

fn defect(file: &str, place: &str, what: &str, weight: Weight) -> Finding {
    let place = text::line(place, 80);
    let text = format!("{file} sidecar validation: {place} {what}");
    Finding::new(Kind::Invalid, weight, format!("{file} {place}"), text)
}
