//! The hook policy engine, contract 1.0: what an agent may not do to the rules that it is held to.
//!
//! A policy takes a host's payload and gives an [`Outcome`]: exit code 0 (allow) or 2 (block), what goes to standard output
//! (the payload again, unless there is something to say) and to standard error (why it was blocked).
//!
//! 1. Pure: a policy decides on values. What it has to see of the file system (links, folders) is read in one place and
//!    never written.
//! 2. What goes wrong in a policy blocks nobody: it allows. Only a match blocks, and a payload that was cut off.
//! 3. What is protected, and the words that tools use, are data: `config/policies.toml`.
//! 4. No reason ever suggests to switch a hook off.

pub mod capture;
mod code;
pub mod conformance;
pub mod goal_fit;
mod honest;
pub mod input;
pub mod json;
pub mod payload;
pub mod protect;
pub mod quality_gate;
pub mod receipt;
mod rules;
pub mod runner;
pub mod session;
pub mod shell;
pub mod steering;
pub mod text;
mod words;

pub use input::Input;
pub use payload::Payload;
pub use runner::{Call, Policy};

/// What a policy decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The agent may go on.
    Allow,
    /// It may not, and this is why: one paragraph for the agent, which begins with `BLOCKED:`.
    Block {
        /// The paragraph.
        reason: String,
    },
}

/// What a hook that runs a policy answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The exit code: 0 allows, 2 blocks.
    pub exit: u8,
    /// What goes to standard output.
    pub stdout: Stdout,
    /// What goes to standard error; a newline is added where it does not end in one.
    pub stderr: String,
}

/// What goes to standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdout {
    /// The bytes of standard input, all of them.
    Echo,
    /// The same, and behind them this text.
    Append(String),
    /// This text and nothing else.
    Text(String),
}

impl Outcome {
    /// The agent may go on, and there is nothing to say.
    #[must_use]
    pub const fn allow() -> Self {
        Self { exit: 0, stdout: Stdout::Echo, stderr: String::new() }
    }
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Self::allow(),
            Verdict::Block { reason } => {
                Self { exit: 2, stdout: Stdout::Text(String::new()), stderr: reason }
            }
        }
    }
}
