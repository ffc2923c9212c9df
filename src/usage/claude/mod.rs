//! Claude Code transcripts (transcript formats §1).
//!
//! - [`mod@line`]: one line to calls, prompts or nothing.
//! - [`layout`]: which files belong to a home or to a session.
//! - [`read`]: a file, or the news in it, to observations.

mod excerpt;
pub mod layout;
pub mod line;
pub mod read;
