//! The economics of a run: what it cost, how long it took, how often it went back, what it caught.
//!
//! ```text
//! transcript --reading--> ledger --billing--> pending --reconcile--> delta --assemble--> Record --> journal
//!                                   |                      |                                          |
//!                             session file          journal (authority)                           handoff
//!                             index of calls                                                          v
//!                                                                                                  outbox
//! ```
//!
//! 1. The journal is the authority; session files and index are caches of it and of the transcript.
//! 2. Whatever two writes a kill falls between, nothing is recorded twice and nothing is skipped: [`reconcile`].
//! 3. Deltas are signed and add up: over a session's records to the session, over `phases[]` and `by_model[]` to the
//!    record.

pub mod amount;
pub mod assemble;
pub mod backfill;
pub mod billing;
pub mod clock;
pub mod event;
pub mod handoff;
pub mod outgoing;
pub mod reading;
pub mod reconcile;
pub mod record;
pub mod run;
pub mod session;

pub use record::Record;
