//! Stub.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}
pub(super) fn run(_args: Args, _context: &mut super::Context<'_>) -> Result<u8, super::failure::Failure> { Ok(0) }
