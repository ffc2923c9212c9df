//! Transcripts to billed calls: one reader per runtime, one merge.
//!
//! Usage is a ledger of *calls*, each one billed request to a model, never of lines or files (transcript formats §0).
//! A reader turns a line into [`Observation`]s; the [`Ledger`] merges observations of one call, however often and in
//! whatever file it was written, into one [`Call`]. Merging is idempotent and does not depend on the order of lines.
//!
//! A [`Runtime`] says where its transcripts are and which reader they are for; [`bulk`] reads all of them.
//!
//! The room only counts. What a call costs is the business of `pricing`, what was already recorded that of
//! `economics`.

pub mod bulk;
pub mod call;
pub mod claude;
pub mod codex;
pub mod copilot;
pub mod credits;
pub mod database;
pub mod diagnostics;
pub mod gemini;
pub mod kiro;
pub mod ledger;
pub mod opencode;
pub mod pi;
pub mod reader;
pub mod runtime;
pub mod tokens;
pub mod walk;

pub use call::{Call, CallKey, Observation};
pub use credits::Credits;
pub use diagnostics::Diagnostics;
pub use ledger::Ledger;
pub use runtime::Runtime;
pub use tokens::Tokens;
