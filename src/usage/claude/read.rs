//! A transcript file to observations.

use super::excerpt::Excerpt;
use super::line::{Parsed, Place, parse};
use crate::journal::lines::{self, Line};
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::Receiver;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;

/// What a read is after: most lines are text, and a line that is not wanted is never parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Calls only.
    Calls,
    /// Calls and the prompts that start runs.
    CallsAndPrompts,
}

/// Reads the lines of `file` in `span`, and returns the offset at which the next read starts.
///
/// # Errors
/// When the file cannot be read.
pub fn transcript(
    file: &mut File,
    span: Range<u64>,
    place: Place<'_>,
    want: Want,
    to: &mut dyn Receiver,
    diagnostics: &mut Diagnostics,
) -> io::Result<u64> {
    // `"us` begins "user" and "usage" both.
    let needle: &[u8] = match want {
        Want::Calls => b"\"usage\"",
        Want::CallsAndPrompts => b"\"us",
    };
    let mut found = 0_u64;
    let mut excerpt = Excerpt::new();
    file.seek(SeekFrom::Start(span.start))?;
    let mut spanned = file.by_ref().take(span.end.saturating_sub(span.start));
    // A prompt may be as long as its images are: only what can hold usage is missed.
    let progress = lines::for_each_of(&mut spanned, span.start, needle, b"\"usage\"", |line| {
        if let Some(bytes) = excerpt.of(line.bytes)
            && let Parsed::Calls(calls) = parse(&Line { bytes, ..line }, place)
            // A model that is missing may have stood behind the content, and gone with it.
            && calls.iter().all(|call| call.model.is_some())
        {
            calls.into_iter().for_each(|call| to.call(call));
            found += 1;
        } else {
            found += u64::from(deliver(&line, place, to, diagnostics));
        }
    })?;
    diagnostics.unreadable_lines += progress.overlong;
    if found == 0 {
        // A key may be written with an escape. Only a file whose plain keys say nothing is worth this second look.
        lines::for_each_in(file, span, b"assistant", |line| {
            if memchr::memmem::find(line.bytes, b"\"usage\"").is_none() {
                deliver(&line, place, to, &mut Diagnostics::default());
            }
        })?;
    }
    Ok(progress.offset)
}

/// The session that a transcript belongs to, as the first line that names one says; summaries name none.
#[must_use]
pub fn first_session(file: &File) -> Option<String> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
        session_id: String,
    }
    first::<Named>(file).map(|line| line.session_id)
}

/// Where the agent worked when the session started, as the first line that tells says.
#[must_use]
pub fn first_cwd(file: &File) -> Option<PathBuf> {
    #[derive(serde::Deserialize)]
    struct Placed {
        cwd: PathBuf,
    }
    first::<Placed>(file).map(|line| line.cwd)
}

/// The first line of the form `T`.
fn first<T: serde::de::DeserializeOwned>(file: &File) -> Option<T> {
    let lines = BufReader::new(file.take(FIRST_LINES)).split(b'\n').map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_slice(&line).ok()).next()
}

/// How far a first line is looked for.
const FIRST_LINES: u64 = 1 << 20;

/// Hands a line on; true when it was one with usage.
fn deliver(line: &Line<'_>, place: Place<'_>, to: &mut dyn Receiver, diagnostics: &mut Diagnostics) -> bool {
    match parse(line, place) {
        Parsed::Calls(calls) => calls.into_iter().for_each(|call| to.call(call)),
        Parsed::Prompt(prompt) => {
            to.prompt(prompt);
            return false;
        }
        Parsed::Echo => diagnostics.echoes_skipped += 1,
        Parsed::Synthetic => diagnostics.synthetic_skipped += 1,
        Parsed::Unreadable => diagnostics.unreadable_lines += 1,
        Parsed::Other => return false,
    }
    true
}

#[cfg(test)]
mod tests;
