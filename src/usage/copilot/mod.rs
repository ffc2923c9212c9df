//! Copilot CLI (transcript formats §6).
//!
//! - [`store`]: `~/.copilot/session-store.db`, one row per request: the better ledger, where there is one.
//! - [`events`]: `~/.copilot/session-state/<session>/events.jsonl`, the sums of a session at its end.

pub mod events;
pub mod store;

use super::diagnostics::Diagnostics;
use super::reader::Receiver;
use super::walk::Walk;
use crate::sys::files;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The host's name in keys and records.
pub const HOST: &str = "copilot-cli";

/// Reads all sessions of a Copilot home, or one of its files alone. `failed` is told of each file that cannot be read.
pub fn all(
    copilot_home: &Path,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
    failed: &mut dyn FnMut(&Path, io::Error),
) {
    let is_store = copilot_home.extension().is_some_and(|extension| extension == "db");
    let database = if is_store { copilot_home.to_path_buf() } else { copilot_home.join("session-store.db") };
    let mut stored = BTreeSet::new();
    if database.is_file()
        && let Err(error) = store::all(&database, to, met, &mut stored)
    {
        failed(&database, error);
    }
    for path in event_logs(copilot_home) {
        let session = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        // What a row of the store says, the events of its session say again.
        if session.is_some_and(|session| stored.contains(session)) {
            continue;
        }
        let read = files::open_regular(&path).and_then(|file| events::log(file, &path, to, met));
        if let Err(error) = read {
            failed(&path, error);
        }
    }
}

fn event_logs(copilot_home: &Path) -> Vec<PathBuf> {
    if copilot_home.is_file() {
        let is_log = copilot_home.extension().is_some_and(|extension| extension == "jsonl");
        return Vec::from_iter(is_log.then(|| copilot_home.to_path_buf()));
    }
    let mut walk = Walk::for_files(|name| name == "events.jsonl");
    walk.below(&copilot_home.join("session-state"));
    walk.sorted()
}
