//! Placeholder until the room is furnished.

pub mod workspace;
