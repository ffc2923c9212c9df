//! Setting up, taking down, and telling the truth about it: `tally init`, `tally uninstall`, `tally doctor`.
//!
//! ```text
//! flags ─▶ console   what is asked for, validated                      pure
//!          conf      the conf's text, edited in place                  pure
//!          json, toml, hosts   a host's file, merged and unmerged      pure
//!              ▼
//!          plan      every file: what it holds, what it will hold      reads
//!              ▼
//!          apply     receipt, backup, one atomic write per file        writes
//!          install   the hosts' adapters' receipts, hashed again       reads
//!              ▼
//!          doctor    what is there, and what the Console says of it    reads, asks
//! ```
//!
//! 1. Nothing is written before everything was read, merged and validated; a plan without changes writes nothing.
//! 2. A file is written beside itself and renamed, mode first: a token is never in a file that others can read.
//! 3. What a file held before is kept in the user's state folder together with a receipt, never in the workspace: a cloned
//!    repository can therefore not ship a receipt that makes us restore, or delete, something.
//! 4. A file of the project is written only where it really lies in the project, whatever links the repository ships.

pub mod apply;
pub mod command;
pub mod conf;
pub mod console;
pub mod doctor;
pub mod hosts;
pub mod install;
pub mod json;
pub mod place;
pub mod plan;
pub mod receipt;
pub mod remove;
mod toml;
mod write;
