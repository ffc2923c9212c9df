//! The session store: table `assistant_usage_events`, one row per request.
//!
//! `input_tokens` contains what was read from and written to the cache, `output_tokens` is all billed output.

use super::HOST;
use super::events::tokens;
use crate::sys::clock::parse_rfc3339;
use crate::usage::call::{CallKey, Observation, Traits};
use crate::usage::database;
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::Receiver;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Reads all requests of the store at `path`; `stored` gets the sessions that it knows.
///
/// # Errors
/// When the database cannot be read, or has no such table.
pub fn all(
    path: &Path,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
    stored: &mut BTreeSet<String>,
) -> io::Result<()> {
    let database = database::open(path)?;
    let sql = "SELECT id, session_id, created_at, model, input_tokens, output_tokens, cache_read_tokens,
                      cache_write_tokens
               FROM assistant_usage_events";
    database.each(sql, &[], |row| {
        let Some(session) = row.text(1) else { return };
        stored.insert(session.to_owned());
        let count = |column| row.count(column);
        let (Some(input), Some(output), Some(read), Some(written)) = (count(4), count(5), count(6), count(7))
        else {
            met.unreadable_lines += 1;
            return;
        };
        let tokens = tokens(input, output, read, written);
        if tokens.is_zero() {
            return;
        }
        let id = row.whole(0).unwrap_or_default().to_le_bytes();
        to.call(Observation {
            key: CallKey::of(&[HOST.as_bytes(), b"store", session.as_bytes(), &id]),
            session: Some(Cow::Borrowed(session)),
            model: row.text(3).filter(|model| !model.is_empty()).map(Cow::Borrowed),
            agent: None,
            at_ms: row.text(2).and_then(time),
            tokens,
            credits: None,
            traits: Traits::default().with(Traits::MAIN_CHAIN, true).with(Traits::FINAL, true),
        });
    })
}

/// ISO 8601, as SQLite's own `2026-11-10 09:00:00` too.
fn time(text: &str) -> Option<i64> {
    parse_rfc3339(text).or_else(|| parse_rfc3339(&format!("{}Z", text.replacen(' ', "T", 1))))
}
