//! opencode (transcript formats §3).
//!
//! - [`store`]: `~/.local/share/opencode/opencode.db`, from 1.14 on.
//! - [`files`]: `~/.local/share/opencode/storage/**`, before; it stays after a migration.
//! - [`message`]: what both say of a message and of its steps.
//! - [`family`]: what is new of a session and its subagents, from both.
//!
//! 1. A message is the answer to a prompt, in steps; each step is a request. A message's own tokens are those of its
//!    last step only (anomalyco/opencode#42324), so steps count where there are any.
//! 2. A message that is in the database is not read from the files.
//! 3. A fork copies messages with new ids and their old times: a message that is older than its session is its parent's
//!    (tokscale#446).

pub mod family;
pub mod files;
pub mod message;
pub mod store;

use super::call::CallKey;
use super::diagnostics::Diagnostics;
use super::reader::Receiver;
use hashbrown::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// The host's name in keys and records.
pub const HOST: &str = "opencode";

/// Reads everything below opencode's data folder, or a database alone. `failed` is told of each file that cannot be read.
pub fn all(
    data: &Path,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
    failed: &mut dyn FnMut(&Path, io::Error),
) {
    let mut known = HashSet::new();
    for path in databases(data) {
        if let Err(error) = store::all(&path, &mut known, to, met) {
            failed(&path, error);
        }
    }
    files::all(&data.join("storage"), &mut known, to, met, failed);
}

/// The databases of a data folder: one per release channel.
fn databases(data: &Path) -> Vec<PathBuf> {
    if data.is_file() {
        return vec![data.to_path_buf()];
    }
    let mut walk = super::walk::Walk::for_files(is_database);
    walk.within(data);
    walk.sorted()
}

/// Whether a file of this name is opencode's database.
#[must_use]
pub fn is_database(name: &str) -> bool {
    name.starts_with("opencode") && name.ends_with(".db")
}

/// Messages that were read, by a hash of their ids.
type Known = HashSet<CallKey>;

fn key(id: &str) -> CallKey {
    CallKey::of(&[HOST.as_bytes(), id.as_bytes()])
}
