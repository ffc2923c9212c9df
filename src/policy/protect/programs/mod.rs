//! What programs do with their arguments: those of the tables in `config/policies.toml`, and those that have a language or
//! commands of their own.

mod awk;
mod consoles;
mod downloads;
mod embedded;
mod finds;
pub(super) mod languages;
mod sed;
mod started;
mod tasks;
pub(super) mod wrappers;
pub(super) mod writers;
