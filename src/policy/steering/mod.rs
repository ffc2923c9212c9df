//! `workflow-steering`: at a prompt and at the start of a session the agent is told where its task stands. It never blocks.
//!
//! | event | what is said |
//! |---|---|
//! | a prompt | the state of the task; that another agent holds it; a route of the project's kits; the context map |
//! | a session starts | the state, all that is needed to take it up again (`resume`), the context map |
//! | subagents were invoked and returned | what comes next |
//!
//! What is said stands behind the echo of standard input, between two lines of `---`. All that sidecars say goes through
//! [`text::line`] before it is repeated.

mod kits;
mod resume;

use super::session::{ENDED, STATUSES, Site, object};
use super::{Call, Outcome, Stdout, text};
use crate::hosts::Kind;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Longest text of a sidecar that is repeated.
const LONG: usize = 240;
/// Longest name that is repeated.
const NAME: usize = 80;

/// A task that is worked on.
#[derive(Debug)]
struct Task {
    folder: PathBuf,
    state: Map<String, Value>,
}

/// Says what there is to say.
#[must_use]
pub fn run(call: &Call<'_>) -> Outcome {
    let Some(payload) = call.payload else { return Outcome::allow() };
    let invoked = invoked(payload.root());
    let prompted = matches!(call.event, Kind::UserPromptSubmit | Kind::AgentSpawn);
    if !prompted && invoked.is_empty() {
        return Outcome::allow();
    }
    let actor = call.actor();
    let name = actor.as_ref().map(|actor| actor.name.as_str());
    let found = call.sites().find_map(|site| Some((Task::find(&site, name, call.searches())?, site)));
    let (task, site) = match found {
        Some((task, site)) => (Some(task), site),
        None => (None, Site::of(payload.cwd(), call.cwd)),
    };
    let (mut hints, mut stderr) = (invoked, String::new());
    if let Some(task) = &task {
        if prompted {
            hints.push(task.header().to_owned());
        }
        hints.push(task.line());
        if call.event == Kind::UserPromptSubmit {
            hints.extend(resume::superseded(call, &site, task, actor.as_ref()));
        }
    }
    if call.event == Kind::UserPromptSubmit {
        let (routes, wrong) = kits::routes(&site.root, &prompt(payload.root()));
        hints.extend(routes);
        stderr = wrong;
    }
    if (task.is_some() || call.event == Kind::AgentSpawn) && site.root.join("docs/context-map.md").is_file() {
        hints.push(
            "CONTEXT MAP: look into docs/context-map.md before you search the whole repository.".to_owned(),
        );
    }
    if let (Some(task), Kind::AgentSpawn) = (&task, call.event) {
        hints.push(resume::block(call, &site, task, actor.as_ref()));
    }
    if hints.is_empty() {
        return Outcome { stderr, ..Outcome::allow() };
    }
    let said = format!("\n\n---\n{}\n---", hints.join("\n"));
    Outcome { exit: 0, stdout: Stdout::Append(said), stderr }
}

impl Task {
    /// The task of `actor`, if it is worked on.
    fn find(site: &Site, actor: Option<&str>, searched: bool) -> Option<Self> {
        let folder = site.session(actor, searched)?;
        let state = object(&folder.join("state.json"))?;
        let task = Self { folder, state };
        let status = task.word("status");
        let is_active = STATUSES.contains(&status.as_str()) && !ENDED.contains(&status.as_str());
        (is_active && task.next("status") != "done").then_some(task)
    }

    /// A short text of the state, cleaned.
    fn word(&self, key: &str) -> String {
        text::line(self.state.get(key).and_then(Value::as_str).unwrap_or_default(), NAME)
    }

    /// A text of the recorded next action, cleaned.
    fn next(&self, key: &str) -> String {
        let next = self.state.get("next_action").and_then(|next| next.get(key)?.as_str());
        text::line(next.unwrap_or_default(), LONG)
    }

    /// The names in a list of the recorded next action.
    fn listed(&self, key: &str) -> String {
        let list = self.state.get("next_action").and_then(|next| next.get(key)?.as_array());
        let names = list.into_iter().flatten().filter_map(Value::as_str).map(|name| text::line(name, NAME));
        names.take(8).collect::<Vec<_>>().join(", ")
    }

    fn slug(&self) -> String {
        let slug = self.word("task_slug");
        if !slug.is_empty() {
            return slug;
        }
        text::line(&self.folder.file_name().unwrap_or_default().to_string_lossy(), NAME)
    }

    fn header(&self) -> &'static str {
        let attention =
            matches!(self.word("status").as_str(), "blocked" | "failed" | "needs_decision" | "not_verified");
        if attention || self.next("status") == "needs_user" {
            "WORKFLOW STATE ATTENTION: the task has something open that has to be settled first."
        } else {
            "WORKFLOW STATE: a task is under way; take up its goal and its recorded next step before anything else."
        }
    }

    fn line(&self) -> String {
        let (status, phase) = (self.word("status"), self.word("phase"));
        let mut line = format!("STATE: {} is status:{status} phase:{phase}.", self.slug());
        let mut add = |what: &str, value: String| {
            if !value.is_empty() {
                line.push_str(&format!(" {what}{value}."));
            }
        };
        let summary = self.next("summary");
        add("Recorded next step: ", if summary.is_empty() { summary } else { format!("\"{summary}\"") });
        add("Skills: ", self.listed("skills"));
        add("Operations: ", self.listed("operations"));
        add("Command: ", self.next("command"));
        add("Target phase: ", self.next("target_phase"));
        if matches!(status.as_str(), "needs_decision" | "not_verified") || self.next("status") == "needs_user"
        {
            line.push_str(
                " Do not deliver it as complete before the user has decided or the gap is accepted.",
            );
        }
        if status == "failed" {
            line.push_str(" Route it back through execution, then review and verify it again.");
        }
        line.push_str(&self.critique());
        line
    }

    /// What a required review has left open.
    fn critique(&self) -> String {
        let Some(critique) = object(&self.folder.join("critique.json")) else { return String::new() };
        let status = critique.get("status").and_then(Value::as_str).unwrap_or("none");
        if critique.get("required") != Some(&Value::Bool(true)) || matches!(status, "pass" | "not_required") {
            return String::new();
        }
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let reviews = list(critique.get("critiques"));
        let is =
            |value: &Value, key: &str, wanted: &str| value.get(key).and_then(Value::as_str) == Some(wanted);
        let failing =
            reviews.iter().filter(|review| !is(review, "verdict", "pass") && !is(review, "status", "pass"));
        let open: Vec<Value> = reviews
            .iter()
            .flat_map(|review| list(review.get("findings")))
            .filter(|f| is(f, "status", "open"))
            .collect();
        let mut said = format!(
            " The required review is status:{}: {} of {} reviews have not passed, {} findings are open",
            text::line(status, NAME),
            failing.count(),
            reviews.len(),
            open.len()
        );
        for severity in ["critical", "high", "medium", "low"] {
            let count = open.iter().filter(|finding| is(finding, "severity", severity)).count();
            if count > 0 {
                said.push_str(&format!(", {severity} {count}"));
            }
        }
        match open.first().and_then(|finding| finding.get("description")?.as_str()) {
            Some(first) => format!("{said}; the first: \"{}\".", text::line(first, LONG)),
            None => format!("{said}."),
        }
    }
}

/// What the user said.
fn prompt(root: &Map<String, Value>) -> String {
    let keys = ["prompt", "user_prompt", "userPrompt", "message", "input"];
    keys.iter().find_map(|key| root.get(*key)?.as_str()).unwrap_or_default().to_owned()
}

/// What comes after the subagents that a finished call invoked.
fn invoked(root: &Map<String, Value>) -> Vec<String> {
    let Some(input) = root.get("tool_input") else { return vec![] };
    if input.get("command").and_then(Value::as_str) != Some("InvokeSubagents") {
        return vec![];
    }
    let agents = input.pointer("/content/subagents").and_then(Value::as_array);
    let names = agents.into_iter().flatten().filter_map(|agent| agent.get("agent_name")?.as_str());
    let mut hints: Vec<String> = Vec::new();
    for hint in names.filter_map(after) {
        if !hints.iter().any(|said| said == hint) {
            hints.push(hint.to_owned());
        }
    }
    hints
}

fn after(agent: &str) -> Option<&'static str> {
    Some(match agent {
        "tool-planner" => {
            "PLAN COMPLETE: next comes execution, as the plan has it. Do not skip its acceptance criteria."
        }
        "tool-worker" => {
            "EXECUTION COMPLETE: next come review and verification, which report and do not fix. Deliver only when both \
             are clean; a visual change also needs a look at screenshots."
        }
        "tool-code-reviewer" => {
            "REVIEW COMPLETE: next comes verification. Critical and high findings go back to execution, then review and \
             verification come again; others need a fix or the user's decision."
        }
        "tool-security-reviewer" => {
            "SECURITY REVIEW COMPLETE: critical findings go back to execution, then review and verification come again."
        }
        "tool-verifier" => {
            "VERIFICATION COMPLETE: deliver if it passed and the review is clean in the same round; else back to execution."
        }
        _ => return None,
    })
}
