//! What becomes of a task that its agent leaves open, because a stop was refused as often as is set: it is nobody's until
//! somebody takes it up, and whoever does finds what is open.
//!
//! The agent's claim is released, and its assignment, where flow-agents made one. `handoff.json` keeps what the session's tools
//! wrote into it; what stood against the stop becomes its `warnings`, and where it says no next step, the state's does. A task
//! that a canonical run is still under way for stays claimed: the run is its owner's.

use super::finding::Finding;
use super::subject::Subject;
use crate::liveness::event::Event;
use crate::liveness::policy::Policy;
use crate::liveness::stream::Stream;
use crate::liveness::{actor, assignment, leave};
use crate::policy::session::object;
use crate::policy::{Call, text};
use crate::sys::files;
use serde_json::{Map, Value};

const HANDOFF: &str = "handoff.json";
/// Longest text of a finding that is handed on, and how many.
const LONG: usize = 240;
const MOST: usize = 12;

/// What was done, in words, and the release for who hands on claims.
#[derive(Debug, Default)]
pub(super) struct Parted {
    pub said: String,
    pub released: Option<(Event, u64)>,
}

/// Lets go of `subject`, with `findings` open.
pub(super) fn part(call: &Call<'_>, subject: &Subject, findings: &[Finding]) -> Parted {
    let mut parted = Parted::default();
    if !subject.bound || subject.is_done() {
        return parted;
    }
    let Parted { said, released } = &mut parted;
    let mut say = |what: String| said.push_str(&format!("[stop-gate] {what}\n"));
    match hand_over(subject, findings) {
        Ok(true) => say(format!("{HANDOFF} says what is open")),
        Ok(false) => {}
        Err(error) => say(format!("{HANDOFF} was not written: {error}")),
    }
    let Some(actor) = call.actor().filter(|_| Policy::of(call.env).enabled && !subject.is_running()) else {
        return parted;
    };
    let name = subject.task();
    let stream = Stream::of(&subject.site.start);
    match leave::leave(&stream, &name, &actor.name, call.now_ms) {
        Ok(Some(claim)) => {
            say(format!(
                "the claim on {name} is released; the next prompt takes it up again, if nobody else has"
            ));
            *released = Some(claim);
        }
        Ok(None) => {}
        Err(error) => say(format!("the claim on {name} was not released: {error}")),
    }
    match assignment::release(&subject.place(), &name, &actor.name, call.now_ms) {
        Ok(true) => say(format!("the assignment of {name} is released")),
        Ok(false) => {}
        Err(error) => say(format!("the assignment of {name} was not released: {error}")),
    }
    parted
}

/// Refreshes the handoff; whether there was anything to be written, and nothing of somebody else's in its place.
fn hand_over(subject: &Subject, findings: &[Finding]) -> std::io::Result<bool> {
    let path = subject.folder.join(HANDOFF);
    let mut handoff = match path.symlink_metadata() {
        Err(_) => Map::new(),
        Ok(about) if about.is_file() => match object(&path) {
            Some(handoff) => handoff,
            None => return Ok(false),
        },
        Ok(_) => return Ok(false),
    };
    let has = |handoff: &Map<String, Value>, key: &str| match handoff.get(key) {
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        _ => false,
    };
    let next = |key: &str| {
        let value = subject.next().and_then(|next| next.get(key)?.as_str()).unwrap_or_default();
        text::line(value, LONG)
    };
    let mut put = |key: &str, value: Value| {
        if !has(&handoff, key) {
            handoff.insert(key.to_owned(), value);
        }
    };
    put("schema_version", "1.0".into());
    put("task_slug", subject.task().into());
    put(
        "summary",
        Some(next("summary")).filter(|text| !text.is_empty()).unwrap_or("left open".to_owned()).into(),
    );
    if subject.state().is_some() {
        put("current_state_ref", "state.json".into());
    }
    let steps = [next("summary"), next("command")].into_iter().filter(|step| !step.is_empty());
    put("next_steps", steps.map(Value::from).collect::<Vec<_>>().into());
    let open = findings.iter().take(MOST).map(|finding| Value::from(text::line(&finding.text, LONG)));
    handoff.insert("warnings".to_owned(), open.collect::<Vec<_>>().into());
    files::write_atomic(&path, format!("{:#}\n", Value::Object(handoff)).as_bytes())?;
    Ok(true)
}

impl Subject {
    /// The task's name, as claims have it.
    fn task(&self) -> String {
        let slug =
            self.state().and_then(|state| state.get("task_slug")?.as_str()).filter(|slug| !slug.is_empty());
        actor::sanitize_segment(slug.unwrap_or(&self.slug()))
    }
}
