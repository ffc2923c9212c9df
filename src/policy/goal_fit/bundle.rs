//! `trust.bundle`: claims of a session, with the evidence and the events that belong to them.
//!
//! What a claim comes to is derived from its last event and its last piece of evidence, not taken from what is stored of it:
//! a stored status beside evidence that failed was tampered with.

use serde_json::{Map, Value};
use std::collections::HashSet;

/// A bundle.
#[derive(Debug)]
pub(super) struct Bundle {
    claims: Vec<Value>,
    evidence: Vec<Value>,
    events: Vec<Value>,
}

/// What a claim says of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Said {
    Skip,
    Pass,
    Partial,
    NotVerified,
    Fail,
}

impl Said {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Pass => "pass",
            Self::Partial => "partial",
            Self::NotVerified => "not_verified",
            Self::Fail => "fail",
        }
    }

    pub(super) fn of(value: &Value) -> Option<Self> {
        let text = match value {
            Value::Bool(true) => return Some(Self::Pass),
            Value::Bool(false) => return Some(Self::Fail),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            _ => return None,
        };
        Some(match text.as_str() {
            "pass" | "passed" | "verified" | "true" | "ok" => Self::Pass,
            "fail" | "failed" | "false" => Self::Fail,
            "not_verified" => Self::NotVerified,
            "partial" => Self::Partial,
            "skip" | "skipped" => Self::Skip,
            _ => return None,
        })
    }
}

/// One claim.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim<'a> {
    bundle: &'a Bundle,
    fields: &'a Value,
}

impl Bundle {
    /// Reads a bundle; `None` if it is none.
    pub(super) fn of(mut fields: Map<String, Value>) -> Option<Self> {
        let mut list = |key: &str| match fields.remove(key) {
            None | Some(Value::Null) => Some(vec![]),
            Some(Value::Array(items)) => Some(items),
            Some(_) => None,
        };
        let (mut claims, evidence, mut events) = (list("claims")?, list("evidence")?, list("events")?);
        for item in claims.iter_mut().chain(&mut events) {
            for key in ["status", "impactLevel"] {
                plain(item, key);
            }
        }
        claims.iter().all(Value::is_object).then_some(Self { claims, evidence, events })
    }

    /// What is wrong with its form: where, and what.
    pub(super) fn defects(&self) -> Vec<(String, &'static str)> {
        let text =
            |item: &Value, key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut found = Vec::new();
        let mut ids = HashSet::new();
        for (at, claim) in self.claims.iter().enumerate() {
            let mut say = |key: &str, what| found.push((format!("claims[{at}].{key}"), what));
            let id = text(claim, "id");
            if id.is_empty() {
                say("id", "is missing");
            } else if !ids.insert(id) {
                say("id", "is that of another claim");
            }
            for key in ["subjectId", "claimType", "status"] {
                if text(claim, key).is_empty() {
                    say(key, "is missing");
                }
            }
        }
        for (name, items) in [("evidence", &self.evidence), ("events", &self.events)] {
            for (at, item) in items.iter().enumerate() {
                if !ids.contains(&text(item, "claimId")) {
                    found.push((format!("{name}[{at}].claimId"), "is that of no claim"));
                }
            }
        }
        found
    }

    pub(super) fn claims(&self) -> impl Iterator<Item = Claim<'_>> {
        self.claims.iter().map(|fields| Claim { bundle: self, fields })
    }

    /// Whether any of its evidence is of a command.
    pub(super) fn speaks_of_commands(&self) -> bool {
        self.evidence.iter().any(|evidence| label(evidence).is_some())
    }
}

/// Makes a word of `item` one that can be compared: who writes `Disputed` means it.
fn plain(item: &mut Value, key: &str) {
    if let Some(Value::String(word)) = item.get_mut(key) {
        *word = word.trim().to_ascii_lowercase();
    }
}

/// The command that a piece of evidence is of.
fn label(evidence: &Value) -> Option<&str> {
    evidence.get("execution")?.get("label")?.as_str().filter(|label| !label.trim().is_empty())
}

impl<'a> Claim<'a> {
    fn text(&self, key: &str) -> &'a str {
        self.fields.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn id(&self) -> &'a str {
        self.text("id")
    }

    pub(super) fn kind(&self) -> &'a str {
        self.text("claimType")
    }

    pub(super) fn subject(&self) -> &'a str {
        let subject = self.text("subjectId");
        if subject.is_empty() { self.id() } else { subject }
    }

    /// The name of the check that it is about.
    pub(super) fn check(&self) -> &'a str {
        let subject = self.subject();
        subject.rsplit('/').next().unwrap_or(subject)
    }

    pub(super) fn field(&self) -> &'a str {
        self.text("fieldOrBehavior")
    }

    pub(super) fn status(&self) -> &'a str {
        self.text("status")
    }

    pub(super) fn value(&self) -> &'a Value {
        self.fields.get("value").unwrap_or(&Value::Null)
    }

    pub(super) fn said(&self) -> Option<Said> {
        Said::of(self.value())
    }

    /// Whether the task stands or falls with it.
    pub(super) fn matters(&self) -> bool {
        matches!(self.text("impactLevel"), "high" | "critical")
    }

    /// Whether it says that something holds.
    pub(super) fn asserts_pass(&self) -> bool {
        let trusted = ["verified", "assumed", "accepted", "trusted", "approved"];
        trusted.contains(&self.status()) && self.said() == Some(Said::Pass)
    }

    pub(super) fn evidence(&self) -> impl Iterator<Item = &'a Value> {
        let id = self.id();
        let of_this = move |item: &&Value| item.get("claimId").and_then(Value::as_str) == Some(id);
        self.bundle.evidence.iter().filter(of_this)
    }

    fn events(&self) -> impl Iterator<Item = &'a Value> {
        let id = self.id();
        self.bundle.events.iter().filter(move |item| item.get("claimId").and_then(Value::as_str) == Some(id))
    }

    /// The commands that its evidence is of.
    pub(super) fn commands(&self) -> impl Iterator<Item = &'a str> {
        self.evidence().filter_map(label)
    }

    /// What its evidence says in words.
    pub(super) fn excerpt(&self) -> Option<&'a str> {
        self.evidence()
            .find_map(|item| item.get("excerptOrSummary")?.as_str())
            .filter(|text| !text.is_empty())
    }

    /// Whether it has anything to show.
    pub(super) fn is_supported(&self) -> bool {
        self.evidence().next().is_some() || self.events().next().is_some()
    }

    /// Whether its last event or its last piece of evidence is against it.
    pub(super) fn is_refuted(&self) -> bool {
        let time =
            |item: &&Value, key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let failed = self.evidence().max_by_key(|item| time(item, "observedAt"));
        let failed = failed.is_some_and(|item| item.get("passing").and_then(Said::of) == Some(Said::Fail));
        let rejected = self.events().max_by_key(|item| time(item, "createdAt"));
        let rejected = rejected.and_then(|item| item.get("status")?.as_str());
        failed || matches!(rejected, Some("rejected" | "disputed"))
    }
}
