//! A session's events: `session.shutdown` has what each model used since the session began.
//!
//! 1. There is one shutdown per leg (start, resume), each with sums over all legs: a leg is the difference of two. Sums
//!    that became smaller were started anew.
//! 2. `inputTokens` contains what was read from and written to the cache (github/copilot-sdk#1160).
//! 3. `assistant.message` repeats the output of its request. After a crash or `/new` there is no shutdown
//!    (github/copilot-cli#3994): those requests are known, their tokens are not.

use super::HOST;
use crate::journal::foreign::{Count, Maybe, NotACount, document, object, text, whole};
use crate::journal::lines::{self, Line};
use crate::sys::clock::parse_rfc3339;
use crate::usage::call::{CallKey, Observation, Traits};
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::Receiver;
use crate::usage::tokens::Tokens;
use memchr::memmem;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

/// Reads a whole log of events.
///
/// # Errors
/// When the file cannot be read.
pub fn log(mut file: File, path: &Path, to: &mut dyn Receiver, met: &mut Diagnostics) -> io::Result<()> {
    let session = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    let mut legs = Legs { session, sums: BTreeMap::new(), open: 0 };
    let progress =
        lines::for_each_of(&mut file, 0, b"", b"\"modelMetrics\"", |line| legs.take(&line, to, met))?;
    met.unreadable_lines += progress.overlong;
    met.uncounted_calls += legs.open;
    Ok(())
}

struct Legs<'s> {
    session: &'s str,
    sums: BTreeMap<String, Sums>,
    /// Requests since the last shutdown.
    open: u64,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    requests: i64,
    tokens: Tokens,
}

impl Legs<'_> {
    fn take(&mut self, line: &Line<'_>, to: &mut dyn Receiver, met: &mut Diagnostics) {
        let has = |needle: &[u8]| memmem::find(line.bytes, needle).is_some();
        if !has(b"session.shutdown") && !has(b"assistant.message") {
            return;
        }
        let Ok(event) = document::<Event<'_>>(line.bytes) else {
            met.unreadable_lines += u64::from(has(b"\"modelMetrics\"") && !line.open);
            return;
        };
        let data = event.data.unwrap_or_default();
        match event.kind.as_deref() {
            Some("assistant.message") => self.open += u64::from(data.output_tokens.is_some()),
            Some("session.shutdown") => {
                self.open = 0;
                let at_ms = event.timestamp.as_deref().and_then(parse_rfc3339);
                let offset = line.offset.to_string();
                let id = event.id.as_deref().unwrap_or(&offset);
                for (model, Maybe(metrics)) in data.model_metrics.unwrap_or_default() {
                    match metrics.unwrap_or_default().sums() {
                        Ok(sums) => self.leg(&model, sums, id, at_ms, to),
                        Err(NotACount) => met.unreadable_lines += 1,
                    }
                }
            }
            _ => {}
        }
    }

    fn leg(&mut self, model: &str, sums: Sums, id: &str, at_ms: Option<i64>, to: &mut dyn Receiver) {
        let before = self.sums.insert(model.to_owned(), sums).unwrap_or_default();
        let added = sums.tokens - before.tokens;
        let anew = added.to_array().iter().any(|count| *count < 0);
        let (tokens, requests) =
            if anew { (sums.tokens, sums.requests) } else { (added, sums.requests - before.requests) };
        if tokens.is_zero() {
            return;
        }
        to.call(Observation {
            key: CallKey::of(&[HOST.as_bytes(), self.session.as_bytes(), model.as_bytes(), id.as_bytes()]),
            session: Some(Cow::Borrowed(self.session)),
            model: Some(Cow::Borrowed(model)).filter(|model| !model.is_empty()),
            agent: None,
            at_ms,
            tokens,
            credits: None,
            traits: Traits::default()
                .with(Traits::MAIN_CHAIN, true)
                .with(Traits::FINAL, true)
                .with(Traits::SUMMED, requests != 1),
        });
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "text")]
    timestamp: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "object")]
    data: Option<Data>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Data {
    #[serde(deserialize_with = "whole")]
    output_tokens: Option<i64>,
    #[serde(deserialize_with = "object")]
    model_metrics: Option<BTreeMap<String, Maybe<Metrics>>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Metrics {
    #[serde(deserialize_with = "object")]
    requests: Option<Requests>,
    #[serde(deserialize_with = "object")]
    usage: Option<Usage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Requests {
    count: Count,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
}

impl Metrics {
    fn sums(self) -> Result<Sums, NotACount> {
        let usage = self.usage.unwrap_or_default();
        let (read, written) = (usage.cache_read_tokens.get()?, usage.cache_write_tokens.get()?);
        let requests = self.requests.unwrap_or_default().count.get()?;
        let tokens = tokens(usage.input_tokens.get()?, usage.output_tokens.get()?, read, written);
        Ok(Sums { requests, tokens })
    }
}

/// The disjoint buckets of Copilot's counters (rule 2). How long a cache write is kept is not recorded: it counts as the
/// default.
pub(super) fn tokens(input: i64, output: i64, read: i64, written: i64) -> Tokens {
    let input = (input - read - written).max(0);
    Tokens { input, output, cache_read: read, cache_write_5m: written, ..Tokens::default() }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
