//! How a command fails: what was wrong, where, and what to do.

use std::io;

/// A command that did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// It was refused, or it failed.
    #[error("{0}")]
    Failed(String),
    /// It was asked in the wrong way.
    #[error("{0}")]
    Usage(String),
    /// The answer cannot be written.
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
}

impl Failure {
    pub(super) fn code(&self) -> u8 {
        match self {
            Self::Failed(_) | Self::Output(_) => 1,
            Self::Usage(_) => 2,
        }
    }
}
