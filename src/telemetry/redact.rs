//! What a channel leaves out of an event: a list of paths, each of which becomes `null` (contract A.12).
//!
//! 1. A list is separated by commas or white space. A path is names joined by dots: `turn.prompt_text`. A dot in front (`.turn`), and
//!    `[]` or `[0]` behind a name, are tolerated and mean nothing: arrays are looked through wherever they stand, all of their elements.
//! 2. Whatever a path names and is there becomes `null`, whole. What is not there is not made, nor are its parents.
//! 3. A path is never evaluated. One that is no plain path is *refused*, and a list with a refused path is *closed*: of an event
//!    only [`KEPT`] stays. Nobody knows what the path was meant to hide, so everything is hidden until it is corrected.
//! 4. A list replaces the default; it does not add to it. `none` redacts nothing. An empty one is no list: the default holds.
//!
//! The work is bounded by [`MAX_PATHS`] times the size of the event, without recursion.

use std::fmt;

use serde_json::Value;

/// What the channel `full` leaves out: prompts, tool input and output, the host's raw input. Source: contract A.12, *redact full*.
pub const FULL: &str = "hook.raw_input,turn.prompt_text,tool.input,tool.output";

/// What the channel `analytics` leaves out. Source: contract A.12, *redact analytics*, in the long form of its code (the wrappers'
/// shorter one lets the answer and the transcript's path go); and two more places where the same text stands: the first
/// target of a delegation is repeated as `delegation.target` (A.7), and a permission's description is tool input (A.4).
pub const ANALYTICS: &str = "tool.input,tool.output,turn.prompt_text,delegation.targets.query,delegation.target.query,\
    permission.description,context.cwd,hook.raw_input,hook.last_assistant_message,hook.transcript_path";

/// What the Console's copy of an event leaves out. Source: contract A.12, *redact Console*: that of `analytics`.
pub const CONSOLE: &str = ANALYTICS;

/// What stays of an event under a closed list: which event it was, of which session, when.
pub const KEPT: [&str; 5] = ["schema_version", "timestamp", "session_id", "event_id", "event_type"];

/// Most paths in a list, and most names in a path; beyond that a path is refused.
pub const MAX_PATHS: usize = 64;
const MAX_NAMES: usize = 16;

/// The default list of a channel. One that is not known gets the longer list.
#[must_use]
pub fn default_list(channel: &str) -> &'static str {
    if channel == "full" { FULL } else { ANALYTICS }
}

/// The paths of one channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths {
    paths: Vec<Vec<String>>,
    closed: bool,
}

/// A path that was refused, cut to 80 characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(path) = self;
        write!(
            out,
            "redaction path {path:?} is not names joined by dots (or one too many): correct it; until then the channel \
             keeps of an event only {}",
            KEPT.join(", ")
        )
    }
}

impl Paths {
    /// Reads a list (1 to 3). An empty list and `none` redact nothing.
    #[must_use]
    pub fn parse(list: &str) -> (Self, Vec<Refused>) {
        let (mut parsed, mut refused) = (Self::default(), Vec::new());
        if list.trim() == "none" {
            return (parsed, refused);
        }
        let separator = |c: char| c == ',' || c.is_whitespace();
        for path in list.split(separator).filter(|path| !path.is_empty()) {
            match plain_path(path).filter(|_| parsed.paths.len() < MAX_PATHS) {
                Some(names) => parsed.paths.push(names),
                None => {
                    parsed.closed = true;
                    refused.push(Refused(path.chars().take(80).collect()));
                    if refused.len() == MAX_PATHS {
                        break;
                    }
                }
            }
        }
        (parsed, refused)
    }

    /// The list of `channel`: the configured one, else its default (4).
    #[must_use]
    pub fn of_channel(channel: &str, configured: Option<&str>) -> (Self, Vec<Refused>) {
        Self::parse(configured.filter(|list| !is_blank(list)).unwrap_or(default_list(channel)))
    }

    /// The list of the Console's copy: the configured one, else the default and whatever the channel `analytics` is configured to
    /// leave out. An `analytics` that keeps more on this machine lets no more leave it.
    #[must_use]
    pub fn of_console(configured: Option<&str>, analytics: Option<&str>) -> (Self, Vec<Refused>) {
        if let Some(list) = configured.filter(|list| !is_blank(list)) {
            return Self::parse(list);
        }
        let ((mut paths, mut refused), (more, more_refused)) =
            (Self::parse(CONSOLE), Self::parse(analytics.unwrap_or_default()));
        paths.paths.extend(more.paths);
        paths.closed |= more.closed;
        refused.extend(more_refused);
        (paths, refused)
    }

    /// Whether a path was refused, so that an event is reduced to [`KEPT`].
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Sets to `null` what the paths name in `record` (2, 3).
    pub fn apply(&self, record: &mut Value) {
        for path in &self.paths {
            clear(record, path);
        }
        if self.closed {
            close(record);
        }
    }
}

fn is_blank(list: &str) -> bool {
    list.chars().all(|c| c == ',' || c.is_whitespace())
}

/// The names of a plain path; `None` for anything else.
fn plain_path(path: &str) -> Option<Vec<String>> {
    let names: Option<Vec<String>> =
        path.strip_prefix('.').unwrap_or(path).split('.').map(plain_name).collect();
    names.filter(|names| names.len() <= MAX_NAMES)
}

/// A name without the `[]` or `[0]` behind it.
fn plain_name(segment: &str) -> Option<String> {
    let mut name = segment;
    while let Some((before, index)) = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        if !index.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        name = before;
    }
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    (!name.is_empty() && name.chars().all(plain)).then(|| name.to_owned())
}

/// Walks to every place that `path` names. The places still to go to are on a stack, so depth costs no recursion.
fn clear(record: &mut Value, path: &[String]) {
    let mut places = vec![(record, path)];
    while let Some((place, path)) = places.pop() {
        match (place, path) {
            (Value::Array(items), _) => places.extend(items.iter_mut().map(|item| (item, path))),
            (Value::Object(fields), [name, rest @ ..]) => {
                if let Some(field) = fields.get_mut(name) {
                    if rest.is_empty() {
                        *field = Value::Null;
                    } else {
                        places.push((field, rest));
                    }
                }
            }
            _ => {}
        }
    }
}

fn close(record: &mut Value) {
    match record {
        Value::Object(fields) => {
            let hidden = fields.iter_mut().filter(|(name, _)| !KEPT.contains(&name.as_str()));
            hidden.for_each(|(_, field)| *field = Value::Null);
        }
        other => *other = Value::Null,
    }
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
