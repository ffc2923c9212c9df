//! Who works on what: advisory claims in one append-only stream per repository (DESIGN §10, contract D).
//!
//! ```text
//! {"type":"claim","subjectId":"fix-login","actor":"claude-code:<session>:<host>","at":"…Z","ttlSeconds":1800,…}
//! {"type":"heartbeat","subjectId":"fix-login","actor":"claude-code:<session>:<host>","at":"…Z",…}
//! {"type":"release","subjectId":"fix-login","actor":"claude-code:<session>:<host>","at":"…Z",…}
//! ```
//!
//! 1. Nothing is enforced: a conflict is detected and said.
//! 2. Standing is computed from the stream alone, at any time, by whoever asks ([`standing`], pure).
//! 3. A heartbeat or release without a claim makes nobody a holder.
//! 4. A stamp is an instant, written by its actor and not trusted: one that is more than [`event::MAX_LEAD_MS`] ahead
//!    of the judge's clock keeps nothing fresh.
//! 5. Whoever appends or compacts holds the stream's lock and opens the stream by its path under it.

pub mod act;
pub mod actor;
pub mod assignment;
pub mod bound;
pub mod compact;
pub mod conflict;
pub mod event;
mod follow;
pub mod leave;
pub mod lifecycle;
pub mod policy;
pub mod relay;
pub mod stamp;
pub mod standing;
pub mod stream;
pub mod tool_activity;
