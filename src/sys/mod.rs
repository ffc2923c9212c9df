//! The one door to each side effect: clock, locks, processes, atomic files, facts from `.git`.
//! What every room needs and std lacks is here too: bytes in hexadecimal, a small sort, TOML as JSON.
//!
//! Nothing here knows what Tally is about; every other room may use it, and `clippy.toml` forbids going around it.

pub mod boot;
pub mod calendar;
pub mod clock;
pub mod disk;
pub mod files;
pub mod git;
pub mod hex;
pub mod lock;
pub mod order;
pub mod process;
pub mod spawn;
pub mod terminal;
pub mod toml;
