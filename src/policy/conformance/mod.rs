//! The conformance kit of the hook contract 1.0: fixtures, and how far an engine or an adapter satisfies them.
//!
//! ```text
//! fixture ─▶ workspace in a scratch folder ─▶ the command, once, with the payload on standard input ─▶ what is expected
//! ```
//!
//! 1. A fixture is held against all that it expects: exit code, outputs, and the files that the command leaves (`files`, an
//!    addition: without it an adapter that records nothing would pass as one that records).
//! 2. What cannot be read is named and nothing is run: a kit that passes what it did not understand proves nothing.
//! 3. A command that crashes or takes too long has failed, and the reason is said.
//! 4. A level is reached when its fixtures pass and there is one of each policy that it is about; one without any fixture
//!    (L0, as shipped) holds nobody up, and is reached by nobody either.

mod declare;
mod fixture;
mod level;
mod run;

pub use declare::declaration;
pub use fixture::{Fixture, FixtureError, shipped, shipped_text};
pub use level::{Level, Summary, Tally};
pub use run::{Bench, Subject, TIMEOUT, Verdict};

#[cfg(test)]
mod tests;
