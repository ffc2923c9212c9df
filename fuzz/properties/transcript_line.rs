//! A line of a transcript: no input is a panic, no count is negative, and reading a file, which cuts a message's content out
//! before it parses, sees the same calls as parsing the whole line.

use std::io::Write;
use tally::journal::lines::{Line, MAX_LINE};
use tally::usage::claude::line::{Parsed, Place, parse};
use tally::usage::claude::read::{Want, transcript};
use tally::usage::reader::{Prompt, Receiver};
use tally::usage::{Diagnostics, Observation};

const PLACE: Place<'static> = Place { file: "/p/s.jsonl", session: Some("s"), agent: None };

/// Panics if the property is broken.
pub(crate) fn holds(input: &[u8]) {
    let bytes = input.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = Line { bytes, offset: 0, open: false };
    drop(parse(&Line { open: true, ..line }, PLACE));
    let Parsed::Calls(calls) = parse(&line, PLACE) else { return };
    assert!(!calls.is_empty());
    for call in &calls {
        let tokens = call.tokens;
        let buckets =
            [tokens.input, tokens.output, tokens.cache_write_5m, tokens.cache_write_1h, tokens.cache_read];
        assert!(buckets.iter().chain([&tokens.web_search_requests]).all(|count| *count >= 0), "{call:?}");
    }
    // A key may be written with an escape; such a file is read in another way.
    if bytes.len() < MAX_LINE && bytes.windows(7).any(|part| part == b"\"usage\"") {
        assert_eq!(read(bytes), calls.into_iter().map(owned).collect::<Vec<_>>());
    }
}

fn read(bytes: &[u8]) -> Vec<Observation<'static>> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.write_all(b"\n").unwrap();
    let mut calls = Calls(Vec::new());
    transcript(&mut file, 0..u64::MAX, PLACE, Want::Calls, &mut calls, &mut Diagnostics::default()).unwrap();
    calls.0
}

struct Calls(Vec<Observation<'static>>);

impl Receiver for Calls {
    fn call(&mut self, seen: Observation<'_>) {
        self.0.push(owned(seen));
    }

    fn prompt(&mut self, _seen: Prompt<'_>) {}
}

fn owned(seen: Observation<'_>) -> Observation<'static> {
    let text = |text: Option<std::borrow::Cow<'_, str>>| text.map(|text| text.into_owned().into());
    let Observation { session, model, agent, .. } = seen;
    Observation { session: text(session), model: text(model), agent: text(agent), ..seen }
}
