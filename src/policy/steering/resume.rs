//! What an agent needs to take up a task whose context it has lost, and who else may be at it.

use super::{LONG, NAME, Task};
use crate::liveness::actor::Actor;
use crate::liveness::standing::{Fold, shown};
use crate::liveness::stream::Stream;
use crate::policy::session::{Site, object};
use crate::policy::{Call, text};
use serde_json::{Map, Value};

/// Claims that are listed by name.
const CLAIMS: usize = 8;

/// That another agent holds the task.
pub(super) fn superseded(call: &Call<'_>, site: &Site, task: &Task, actor: Option<&Actor>) -> Option<String> {
    let others = others(call, site, task, actor);
    let (who, last_at) = others.last()?;
    Some(format!(
        "[SUPERSEDED: {who} is at work on this task too, last seen {last_at}. Do not publish before you have made sure that \
         the task is yours: `tally liveness verdict {}`.]",
        task.slug()
    ))
}

/// The others who hold the task, the one that was heard of last at the end.
fn others(call: &Call<'_>, site: &Site, task: &Task, actor: Option<&Actor>) -> Vec<(String, String)> {
    let stream = Stream::of(&site.start);
    let slug = task.slug();
    if !stream.path().is_file() {
        return vec![];
    }
    let mut fold = Fold::of(&slug, call.now_ms);
    if stream.fold(&mut fold).is_err() {
        return vec![];
    }
    let mut others = fold.others(&slug, actor.map_or("", |actor| actor.name.as_str()));
    others.sort_by_key(|other| other.last_ms);
    others.into_iter().map(|other| (shown(&text::line(&other.actor, NAME)), other.last_at)).collect()
}

/// The block at the start of a session.
pub(super) fn block(call: &Call<'_>, site: &Site, task: &Task, actor: Option<&Actor>) -> String {
    let handoff = object(&task.folder.join("handoff.json")).unwrap_or_default();
    let or = |text: String, instead: &str| if text.is_empty() { instead.to_owned() } else { text };
    let mut lines = vec![
        format!("RESUME: {} status:{} phase:{}", task.slug(), task.word("status"), task.word("phase")),
        format!("Next action: {}", or(task.next("summary"), "none")),
        format!("Plan: {}", or(plan(&task.state), "not found")),
        format!(
            "Next step: {}",
            or(texts(&handoff, "next_steps").into_iter().next().unwrap_or_default(), "none")
        ),
        format!("Blockers: {}", or(texts(&handoff, "blockers").join(", "), "none")),
    ];
    let open = texts(&handoff, "warnings");
    if !open.is_empty() {
        lines.push(format!("Left open: {}", open.join("; ")));
    }
    lines.extend(trust(task));
    let others: Vec<_> = others(call, site, task, actor)
        .into_iter()
        .map(|(who, at)| format!("{who} (last seen {at})"))
        .collect();
    if !others.is_empty() {
        lines.push(format!("Also at work on it: {}", others.join(", ")));
    }
    if let Some(actor) = actor {
        lines.push(format!("Actor: {} ({})", shown(&actor.name), actor.source));
    }
    lines.push("Go on with this task, or start another one beside it.".to_owned());
    lines.join("\n")
}

fn texts(object: &Map<String, Value>, key: &str) -> Vec<String> {
    let list = object.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).take(8).map(|item| text::line(item, LONG)).collect()
}

fn plan(state: &Map<String, Value>) -> String {
    let paths = state.get("artifact_paths").and_then(Value::as_array).into_iter().flatten();
    let mut plans = paths.filter_map(Value::as_str).filter(|path| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.ends_with(".md") && name.contains("plan")
    });
    text::line(plans.next().unwrap_or_default(), LONG)
}

/// What the task has to show for itself.
fn trust(task: &Task) -> Vec<String> {
    let bundle = object(&task.folder.join("trust.bundle")).unwrap_or_default();
    let Some(claims) = bundle.get("claims").and_then(Value::as_array).filter(|claims| !claims.is_empty())
    else {
        return vec!["Trust: nothing recorded".to_owned()];
    };
    let word = |claim: &Value, key: &str| {
        text::line(claim.get(key).and_then(Value::as_str).unwrap_or("unknown"), NAME)
    };
    let open: Vec<&Value> = claims.iter().filter(|claim| word(claim, "status") != "verified").collect();
    let (all, open_count) = (claims.len(), open.len());
    let mut lines = vec![format!("Trust: {} of {all} claims verified, {open_count} open", all - open_count)];
    lines.extend(
        open.iter()
            .take(CLAIMS)
            .map(|claim| format!("  - {} ({})", word(claim, "id"), word(claim, "status"))),
    );
    lines
}
