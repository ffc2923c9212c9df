//! Codex rollouts (transcript formats §2).
//!
//! - [`mod@line`]: one line to what it says.
//! - [`thread`]: the lines of a thread, in order, to calls.
//! - [`layout`]: which rollouts belong to a home or to a session.
//! - [`read`]: a rollout, plain or compressed, or the news in it, to observations.

pub mod layout;
pub mod line;
pub mod read;
pub mod thread;

/// The host's name in keys and records.
pub const HOST: &str = "codex";
