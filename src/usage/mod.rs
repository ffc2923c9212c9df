//! Transcripts to billed calls: one reader per runtime, one merge.

pub mod tokens;

pub use tokens::Tokens;
