//! Tally: what a coding agent's run cost, how long it took, how often it went back and what defects it
//! caught; written to a local JSONL journal first, then relayed to the tenant's Console by a detached process.
//!
//! ```text
//! host --stdin JSON--> hook --> usage, pricing, attribution
//!                                |
//!                                v
//!                            economics : ONE typed record, validated
//!                                v
//!                            journal::append  (lock, one write, durable)   <- the hook's duty ends here
//!                                v
//!                            relay::outbox::enqueue
//!                                v
//!                            sys::spawn::detached("__relay")               <- the hook returns
//!                                :
//!                            relay::worker: outbox -> transport -> Console
//! ```
//!
//! Rooms depend downwards only: `cli → hook, setup, report → policy → economics, telemetry, liveness → hosts, usage, pricing, attribution, evidence,
//! relay → journal, settings → sys`. `ARCHITECTURE.md` has the picture and the invariants.

pub mod attribution;
pub mod cli;
pub mod economics;
pub mod evidence;
pub mod hook;
pub mod hosts;
pub mod journal;
pub mod liveness;
pub mod policy;
pub mod pricing;
pub mod relay;
pub mod report;
pub mod settings;
pub mod setup;
pub mod sys;
pub mod telemetry;
pub mod usage;
