//! The exit code of one call, from the rollout of its session.
//!
//! ```text
//! {"payload":{"type":"function_call","call_id":"c1","name":"exec_command","arguments":"{\"cmd\":\"npm test\"}"}}
//! {"payload":{"type":"function_call_output","call_id":"c1","output":"…Process exited with code 1\nOutput:\n…"}}
//! ```
//!
//! An output belongs to the call if it is the only one with the call's id; or, where the host tells no id, if exactly one
//! call ran this very command and it has exactly one output; or if it is all that a whole rollout has. Else there is no
//! answer, and neither is there if a line might hide another call or output: another call's code would be worse.
//!
//! The rollout must be a regular file, links resolved, in Codex's own folder if there is one. Its last `WINDOW` bytes are
//! read. Of a line longer than `MAX_LINE` only the beginning is looked at: the banner is there, however much was printed.

use std::path::Path;

use memchr::memmem;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::banner;
use crate::evidence::{Payload, shell};
use crate::sys::files;

/// How much of a rollout is read, from its end.
const WINDOW: u64 = 1 << 20;
/// The longest line that is parsed.
const MAX_LINE: usize = 64 << 10;

/// The call whose code is wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call<'a> {
    /// Its id, where the host told one.
    pub id: Option<&'a str>,
    /// Its command, where the host told one.
    pub command: Option<&'a str>,
}

/// The exit code of `call`, from the rollout at `path`; `None` is no signal.
#[must_use]
pub fn exit_code(path: &Path, sessions: &Path, call: &Call<'_>) -> Option<i64> {
    let path = path.canonicalize().ok()?;
    if sessions.canonicalize().is_ok_and(|sessions| !path.starts_with(sessions)) {
        return None;
    }
    let mut bytes = files::read_tail(&path, WINDOW + 1).ok()?;
    let is_whole = bytes.len() as u64 <= WINDOW;
    if !is_whole {
        bytes.drain(..=memchr::memchr(b'\n', &bytes)?);
    }
    Scan::of(&bytes, call.id.unwrap_or("function_call")).exit_code(call, is_whole)
}

/// What a rollout says of calls and outputs.
#[derive(Default)]
struct Scan {
    outputs: Vec<Output>,
    calls: Vec<Made>,
    /// A line that may be anything.
    unclear: bool,
}

struct Output {
    id: Option<String>,
    code: Option<i64>,
}

/// A call that was made. One that may have run a command, but which or under which id is not told, has no `commands`.
struct Made {
    id: Option<String>,
    may_run: bool,
    /// The spellings of its command.
    commands: Vec<String>,
}

impl Scan {
    /// Takes in the lines that contain `needle`; of the others only whether they are JSON.
    fn of(bytes: &[u8], needle: &str) -> Self {
        let mut scan = Self::default();
        let needle = memmem::Finder::new(needle);
        for line in bytes.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii();
            if line.len() > MAX_LINE {
                scan.long_line(line.get(..MAX_LINE).unwrap_or_default());
            } else if !line.is_empty() {
                scan.line(line, needle.find(line).is_some());
            }
        }
        scan
    }

    fn line(&mut self, line: &[u8], has_needle: bool) {
        if !has_needle {
            self.unclear |= serde_json::from_slice::<IgnoredAny>(line).is_err();
            return;
        }
        let Ok(entry) = serde_json::from_slice::<Value>(line) else {
            self.unclear = true;
            return;
        };
        let Some(payload) = entry.get("payload").and_then(Value::as_object) else { return };
        let text = |key: &str| payload.get(key).and_then(Value::as_str);
        let id = text("call_id").map(str::to_owned);
        match (text("type"), text("output")) {
            (Some("function_call_output"), Some(output)) => {
                self.outputs.push(Output { id, code: banner::exit_code(output) });
            }
            (Some("function_call"), _) => {
                let commands = commands(payload);
                let may_run =
                    text("name").is_none_or(|name| matches!(name.trim(), "" | "exec_command" | "shell"));
                self.calls.push(Made { id, may_run: may_run || !commands.is_empty(), commands });
            }
            _ => {}
        }
    }

    /// The beginning of a line that is too long to be parsed: an output that printed a lot, else unclear.
    fn long_line(&mut self, head: &[u8]) {
        let head = String::from_utf8_lossy(head);
        let output = head.split_once("\"output\":\"");
        match output.filter(|(before, _)| before.contains("\"type\":\"function_call_output\"")) {
            Some((before, output)) => {
                let id = before.split_once("\"call_id\":\"").and_then(|(_, id)| id.split_once('"'));
                let id = id.map(|(id, _)| id.to_owned());
                self.outputs.push(Output { id, code: banner::exit_code(output) });
            }
            None => self.unclear = true,
        }
    }

    fn exit_code(&self, call: &Call<'_>, is_whole: bool) -> Option<i64> {
        let command = call.command.map(shell::trim).filter(|command| !command.is_empty());
        if self.unclear && (call.id.is_some() || command.is_some()) {
            return None;
        }
        if let Some(id) = call.id {
            return self.of_call(id);
        }
        let unresolved = |made: &Made| made.may_run && (made.id.is_none() || made.commands.is_empty());
        if let Some(command) = command.filter(|_| !self.calls.is_empty()) {
            let mut same = self.calls.iter().filter(|made| made.commands.iter().any(|one| one == command));
            let (only, another) = (same.next()?, same.next());
            let clear = another.is_none() && !self.calls.iter().any(unresolved);
            return self.of_call(only.id.as_deref().filter(|_| clear)?);
        }
        match self.outputs.as_slice() {
            [only] if is_whole && self.calls.is_empty() => only.code,
            _ => None,
        }
    }

    /// The code of the only output with `id`, if no two calls had it.
    fn of_call(&self, id: &str) -> Option<i64> {
        let mut outputs = self.outputs.iter().filter(|output| output.id.as_deref() == Some(id));
        let (only, another) = (outputs.next()?, outputs.next());
        let calls = self.calls.iter().filter(|made| made.id.as_deref() == Some(id)).count();
        only.code.filter(|_| another.is_none() && calls < 2)
    }
}

/// The command of a call, in the spellings that a hook may know it by: as it is, and what it has a shell run.
fn commands(payload: &Payload) -> Vec<String> {
    let parsed = match payload.get("arguments") {
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        other => other.cloned(),
    };
    let told =
        |key: &str| parsed.as_ref()?.get(key).filter(|command| command.is_string() || command.is_array());
    let mut spellings = match told("cmd").or_else(|| told("command")) {
        Some(Value::String(text)) => vec![shell::trim(text).to_owned(), shell::unwrapped(text).to_owned()],
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            let mut spellings = vec![words.join(" ").trim().to_owned()];
            if let [program, flags, text] = words[..]
                && shell::is_shell_running_text(program.rsplit('/').next().unwrap_or_default(), flags)
            {
                spellings.push(shell::trim(text).to_owned());
            }
            spellings
        }
        _ => vec![],
    };
    spellings.retain(|spelling| !spelling.is_empty());
    spellings
}

#[cfg(test)]
#[path = "rollout_tests.rs"]
mod tests;
