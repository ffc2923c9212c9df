//! Session events, and what of them may be kept and may leave.

pub mod redact;
pub mod secrets;
