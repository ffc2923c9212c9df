//! Writing an event to its channels. Each gets a copy of its own: redacted, masked, bounded.

use super::redact::Paths;
use super::secrets;
use crate::journal::{Journal, MAX_RECORD};
use crate::settings::Settings;
use crate::sys::files;
use serde_json::{Value, json};
use std::io;
use std::time::Duration;

/// How long a hook waits for another hook that writes to the same channel.
const PATIENCE: Duration = Duration::from_secs(2);
/// What is left out of a record that would be too large, in this order, until it fits.
const BULKY: [&str; 9] = [
    "/hook/raw_input",
    "/tool/output",
    "/tool/input",
    "/turn/prompt_text",
    "/hook/last_assistant_message",
    "/delegation",
    "/permission/description",
    "/hook/transcript_path",
    "/context/cwd",
];

/// Appends `records` to every channel that is on. Returns what is to be said.
///
/// # Errors
/// The first channel that could not be written; the others are written.
pub fn write(records: &[Value], settings: &Settings) -> (Vec<String>, io::Result<()>) {
    let (mut said, mut outcome) = (vec![], Ok(()));
    for channel in &settings.channels.on {
        let (paths, refused) = Paths::of_channel(channel.name, channel.redact.as_deref());
        said.extend(refused.iter().map(|refused| format!("channel {}: {refused}", channel.name)));
        let path = channel.path(&settings.data_dir);
        let written = append(records, &paths, &path, settings);
        if let Err(error) = written {
            outcome = outcome.and(Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))));
        }
    }
    (said, outcome)
}

fn append(records: &[Value], paths: &Paths, path: &std::path::Path, settings: &Settings) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        files::create_dir_private(folder)?;
    }
    let lines: Vec<_> = records.iter().map(|record| line(copy(record, paths))).collect::<Result<_, _>>()?;
    if Journal::add(path, &lines, settings.rotation, PATIENCE)? {
        return Ok(());
    }
    let why = format!("in use by another hook for {} s; the event is lost", PATIENCE.as_secs());
    Err(io::Error::new(io::ErrorKind::TimedOut, why))
}

/// A copy of `record` without what `paths` takes out, and without credentials.
#[must_use]
pub(super) fn copy(record: &Value, paths: &Paths) -> Value {
    let mut copy = record.clone();
    paths.apply(&mut copy);
    secrets::mask_value(&mut copy);
    copy
}

/// A record as its line; one that would be too large says what it leaves out.
///
/// # Errors
/// When it cannot be written as JSON.
pub(super) fn line(mut record: Value) -> serde_json::Result<String> {
    let mut omitted = vec![];
    let mut bulky = BULKY.iter();
    loop {
        let line = serde_json::to_string(&record)?;
        if line.len() <= MAX_RECORD {
            return Ok(line);
        }
        let Some(path) = bulky.next() else { return Ok(line) };
        if let Some(value) = record.pointer_mut(path)
            && !value.is_null()
        {
            *value = Value::Null;
            omitted.push(path.trim_start_matches('/').replace('/', "."));
            if let Some(fields) = record.as_object_mut() {
                fields.insert("omitted_fields".to_owned(), json!(omitted));
            }
        }
    }
}
