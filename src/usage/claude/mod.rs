//! Claude Code transcripts (transcript formats §1).
//!
//! - [`line`]: one line to calls, prompts or nothing.
//! - [`layout`]: which files belong to a home or to a session.
//! - [`read`]: files to observations.

mod excerpt;
pub mod layout;
pub mod line;
pub mod read;
