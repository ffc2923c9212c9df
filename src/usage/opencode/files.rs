//! The older layout, a file each:
//!
//! ```text
//! storage/session/<project>/<session>.json      storage/message/<session>/<message>.json
//! storage/part/<message>/<part>.json
//! ```

use super::message::{MAX_STEP, Message, Place, Step};
use super::{Known, key};
use crate::journal::foreign::{document, object, whole};
use crate::sys::files::read_bounded;
use crate::usage::diagnostics::Diagnostics;
use crate::usage::reader::Receiver;
use crate::usage::walk::Walk;
use serde::Deserialize;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// No file of a session or a message is longer than this.
const MAX_FILE: u64 = 8 << 20;

/// Reads all messages that are not `known`.
pub(super) fn all(
    storage: &Path,
    known: &mut Known,
    to: &mut dyn Receiver,
    met: &mut Diagnostics,
    failed: &mut dyn FnMut(&Path, io::Error),
) {
    let messages = json_below(&storage.join("message"));
    if messages.is_empty() {
        return;
    }
    let sessions = sessions(storage);
    for path in messages {
        let Some(id) = stem(&path) else { continue };
        let json = match read_bounded(&path, MAX_FILE) {
            Ok(json) => json.unwrap_or_default(),
            Err(error) => {
                failed(&path, error);
                continue;
            }
        };
        let Some(message) = Message::parse(&json) else {
            met.unreadable_lines += 1;
            continue;
        };
        if !message.is_answer() || !known.insert(key(id)) {
            continue;
        }
        let session =
            path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        let place = Place { id, session, session_ms: sessions.get(session).copied() };
        let mut has_steps = false;
        for path in json_below(&storage.join("part").join(id)) {
            let small = path.metadata().is_ok_and(|file| file.len() <= MAX_STEP);
            let part = if small { read_bounded(&path, MAX_STEP).ok().flatten() } else { None };
            if let Some(step) = part.as_deref().and_then(Step::parse) {
                has_steps = true;
                message.step(place, stem(&path).unwrap_or_default(), &step, to, met);
            }
        }
        if !has_steps {
            message.whole(place, to, met);
        }
    }
}

/// When each session was created.
fn sessions(storage: &Path) -> HashMap<String, i64> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Session {
        #[serde(deserialize_with = "object")]
        time: Option<Time>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Time {
        #[serde(deserialize_with = "whole")]
        created: Option<i64>,
    }
    let created = |path: &Path| {
        let json = read_bounded(path, MAX_FILE).ok()??;
        document::<Session>(&json).ok()?.time?.created
    };
    let dated = |path: PathBuf| Some((stem(&path)?.to_owned(), created(&path)?));
    json_below(&storage.join("session")).into_iter().filter_map(dated).collect()
}

fn json_below(dir: &Path) -> Vec<PathBuf> {
    let mut walk = Walk::for_files(|name| name.ends_with(".json"));
    walk.below(dir);
    walk.sorted()
}

fn stem(path: &Path) -> Option<&str> {
    path.file_stem()?.to_str()
}
