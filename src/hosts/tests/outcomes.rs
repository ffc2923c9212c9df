//! Normalisation, projection, and Kiro's answers.

use super::adapters::{apply, cannot_be_asked, capabilities, described, event, failure, named, outcome};
use super::{Answer, each_row, json, text};
use crate::hosts::{
    HostAdapter, HostCapabilities, InProcess, Profile, evaluate_kiro_hook, normalize, project,
};
use serde_json::{Value, json as value};
use std::cell::{Cell, RefCell};

#[test]
fn capabilities_are_normalized_as_expected() {
    each_row("normalize.jsonl", |row| {
        match (HostCapabilities::from_json(&row["caps"]), row.get("normalized")) {
            (Ok(declared), Some(expected)) => {
                assert_eq!(&json(&normalize(&declared)), expected, "{}", row["id"])
            }
            (Err(_), None) => assert!(row["error"].is_object(), "{}", row["id"]),
            (got, _) => panic!("{}: {got:?}", row["id"]),
        }
        Answer::Same
    });
}

#[test]
fn the_shipped_profiles_are_those_of_the_package() {
    let text_of = std::fs::read_to_string(super::folder().join("profiles.json")).unwrap();
    let profiles: Vec<Value> = serde_json::from_str(&text_of).unwrap();
    let mut ids: Vec<&str> = profiles.iter().map(|row| text(row, "id")).collect();
    ids.sort_unstable();
    assert_eq!(Profile::names().collect::<Vec<_>>(), ids);
    for row in &profiles {
        let profile = Profile::shipped(text(row, "id")).unwrap();
        assert_eq!(profile.shape.as_str(), row["shape"]);
        assert_eq!(json(&profile.capabilities), row["capabilities"], "{}", profile.id);
        assert_eq!(json(&normalize(&profile.capabilities)), row["normalized"], "{}", profile.id);
    }
}

/// The numbers of the rules that a row says apply.
fn rules(row: &Value) -> Value {
    let named = text(row, "rule").split('+').map(|rule| rule.parse::<u8>().unwrap());
    named.filter(|rule| *rule != 0).collect::<Vec<_>>().into()
}

/// What the concepts page asks for, which is also what the package does where the row says nothing else.
fn expected(row: &Value) -> &Value {
    row.get("page").unwrap_or(&row["expect"])
}

#[test]
fn outcomes_are_projected_as_expected() {
    for file in ["project-profiles.jsonl", "project-random.jsonl"] {
        each_row(file, |row| {
            let declared = match row.get("profile") {
                Some(id) => Profile::shipped(id.as_str().unwrap()).unwrap().capabilities,
                None => capabilities(&row["caps"]),
            };
            let asked = outcome(&row["outcome"]);
            let got = project(&normalize(&declared), &event(&row["event"]), asked.clone());
            assert_eq!((&json(&got.outcome), json(&got.rules)), (expected(row), rules(row)), "{row}");
            assert_eq!(got.outcome == asked, got.rules.is_empty(), "a rule changes something: {row}");
            Answer::Same
        });
    }
}

#[test]
fn outcomes_pass_through_the_framework_once_and_are_projected_then() {
    each_row("project-inprocess.jsonl", |row| {
        if let Some(why) = cannot_be_asked(row) {
            return Answer::NotApplicable(why);
        }
        let applied = Cell::new(0);
        let bridge = |_: &_, outcome| {
            applied.set(applied.get() + 1);
            apply(&row["applyOutcome"], outcome).unwrap()
        };
        let adapter = InProcess::new("in-process", capabilities(&row["caps"]), Box::new(bridge), None);
        match adapter.project(&event(&row["event"]), outcome(&row["outcome"])) {
            Ok(got) => {
                assert_eq!((&json(&got.outcome), json(&got.rules)), (expected(row), rules(row)), "{row}")
            }
            Err(error) => assert_eq!(error.to_string(), text(&row["error"], "message")),
        }
        assert_eq!(row["applied"], applied.get(), "{}", row["id"]);
        Answer::Same
    });
}

#[test]
fn kiro_is_answered_as_expected() {
    each_row("kiro.jsonl", |row| {
        let adapter = match row["adapter"].get("profile") {
            Some(id) => named(
                id.as_str().unwrap(),
                Box::new(|_| Ok(None)),
                Box::new(|_, _| Ok(())),
                Box::new(|_, outcome| Ok(outcome)),
                None,
            ),
            None => described(&row["adapter"]),
        };
        let seen = RefCell::new(vec![]);
        let evaluate = |event: &crate::hosts::LifecycleEvent| {
            let (phase, session, context) = (event.phase, &event.session_id, &event.context);
            seen.borrow_mut().push(value!({ "phase": phase, "sessionId": session, "context": context }));
            match row["outcome"].get("throw") {
                Some(message) => Err(failure(message.as_str().unwrap())),
                None => Ok(outcome(&row["outcome"])),
            }
        };
        match evaluate_kiro_hook(adapter.as_ref(), &row["event"], &evaluate) {
            Ok(reply) => {
                let mut got = value!({ "exitCode": reply.exit_code });
                for (name, said) in [("stdout", reply.stdout), ("stderr", reply.stderr)] {
                    if let Some(said) = said {
                        got[name] = said.into();
                    }
                }
                assert_eq!(got, row["result"], "{row}");
            }
            Err(error) => assert_eq!(error.to_string(), text(&row["error"], "message")),
        }
        if row["lifecycle_event"].get("phase").is_none() {
            assert!(seen.borrow().is_empty());
            return Answer::OnPurpose("an unknown hook is answered without asking the application");
        }
        assert_eq!(*seen.borrow(), [row["lifecycle_event"].clone()]);
        Answer::Same
    });
}
