//! What every reader gives: calls and the prompts that start runs, in the order of a transcript.

use super::call::Observation;
use std::borrow::Cow;

/// The start of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt<'a> {
    /// The session that was asked, as the transcript names it.
    pub session: Option<Cow<'a, str>>,
    /// Epoch milliseconds.
    pub at_ms: i64,
}

/// Receives what a transcript says.
pub trait Receiver {
    /// A call, or a further snapshot of one.
    fn call(&mut self, seen: Observation<'_>);
    /// The start of a run.
    fn prompt(&mut self, seen: Prompt<'_>);
}
