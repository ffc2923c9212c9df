//! Assignments: the durable record that a task is an actor's, which the tools of flow-agents keep beside the sessions. Tally
//! makes none. It releases its actor's own when the actor leaves the task.
//!
//! ```text
//! <place>/assignment/<subject>.json       {"schema_version":"1.0","status":"claimed","actor_key":…,"audit_trail":[…],…}
//! <place>/assignment/.<subject>.lockdir/  who made this folder may change the record; owner.json says who that is
//! ```
//!
//! What is not as it should be (a link, another version, another's record, a lock that stays) is left alone.

use super::actor::sanitize_segment;
use crate::sys::{clock, files, process};
use serde_json::{Map, Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often the lock is asked for, and how long is waited in between: a hook does not wait for long.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);
/// The largest record; one holds its whole history.
const MAX_BYTES: u64 = 1 << 20;

/// Releases the assignment of `subject` if it is `actor`'s; whether it was.
///
/// # Errors
/// When the record cannot be read or written, or its lock is not to be had.
pub fn release(place: &Path, subject: &str, actor: &str, now_ms: i64) -> io::Result<bool> {
    let name = sanitize_segment(subject);
    let below = format!("assignment/{name}.json");
    let path = place.join(&below);
    if !path.is_file() || files::has_link(place, &below) {
        return Ok(false);
    }
    let _held = Held::take(place.join(format!("assignment/.{name}.lockdir")), now_ms)?;
    let Some(bytes) = files::read_bounded(&path, MAX_BYTES)? else { return Ok(false) };
    let Ok(Value::Object(mut record)) = serde_json::from_slice(&bytes) else { return Ok(false) };
    if record.get("schema_version") != Some(&"1.0".into())
        || record.get("status") != Some(&"claimed".into())
        || holder(&record).as_deref() != Some(actor)
    {
        return Ok(false);
    }
    let from = record.get("actor").cloned().unwrap_or_default();
    let at = clock::rfc3339(now_ms);
    let entry = json!({"at": at, "transition": "release", "from_actor": from, "to_actor": null,
        "reason": "the Stop gate let the agent go with the task open"});
    record.insert("status".to_owned(), "released".into());
    match record.get_mut("audit_trail") {
        Some(Value::Array(trail)) => trail.push(entry),
        _ => drop(record.insert("audit_trail".to_owned(), json!([entry]))),
    }
    files::write_atomic(&path, format!("{:#}\n", Value::Object(record)).as_bytes())?;
    Ok(true)
}

/// Whose a record is: by its key, else by the three parts of its actor.
fn holder(record: &Map<String, Value>) -> Option<String> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    if let Some(key) = text(record.get("actor_key")) {
        return Some(key);
    }
    let actor = record.get("actor")?;
    let parts = ["runtime", "session_id", "host"].map(|key| text(actor.get(key)));
    let parts: Option<Vec<String>> =
        parts.into_iter().map(|part| part.map(|part| sanitize_segment(&part))).collect();
    parts.map(|parts| parts.join(":"))
}

/// The lock, while it is ours.
struct Held(PathBuf);

impl Held {
    fn take(dir: PathBuf, now_ms: i64) -> io::Result<Self> {
        for _ in 0..TRIES {
            match std::fs::create_dir(&dir) {
                Ok(()) => {
                    let held = Self(dir);
                    let owner = json!({"token": format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..)),
                        "pid": std::process::id(), "acquired_at": clock::rfc3339(now_ms), "host": process::hostname()});
                    files::write_atomic(&held.0.join("owner.json"), format!("{owner}\n").as_bytes())?;
                    return Ok(held);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => std::thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::WouldBlock, "its lock is held"))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const NOW: i64 = 1_782_864_000_000;

    fn released(record: &Value) -> (bool, Value, usize) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("assignment");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("t.json"), record.to_string()).unwrap();
        let released = release(dir.path(), "t", "claude-code:s:h", NOW).unwrap();
        let left = serde_json::from_slice(&fs::read(folder.join("t.json")).unwrap()).unwrap();
        (released, left, fs::read_dir(folder).unwrap().count())
    }

    #[test]
    fn only_the_actors_own_open_assignment_is_released() {
        let actor = json!({"runtime": "claude-code", "session_id": "s", "host": "h"});
        let own = json!({"schema_version": "1.0", "role": "AssignmentClaimRecord", "subject_id": "t", "status": "claimed",
            "actor": actor, "actor_key": "claude-code:s:h", "ttl_seconds": 60});
        let (done, record, files) = released(&own);
        assert_eq!((done, &record["status"], files), (true, &json!("released"), 1));
        assert_eq!(record["ttl_seconds"], 60, "the rest stays");
        let entry = &record["audit_trail"][0];
        assert_eq!(
            (&entry["transition"], &entry["at"], &entry["from_actor"]),
            (&json!("release"), &json!("2026-07-01T00:00:00.000Z"), &actor)
        );
        let with = |key: &str, value: Value| {
            let mut record = own.clone();
            record[key] = value;
            record
        };
        let mut older = own.clone();
        older.as_object_mut().unwrap().remove("actor_key");
        assert!(released(&older).0, "before there was a key");
        for other in [
            with("actor_key", json!("codex:s:h")),
            with("status", json!("superseded")),
            with("schema_version", json!("2.0")),
            json!([]),
        ] {
            assert_eq!(released(&other), (false, other.clone(), 1), "{other}");
        }
    }

    #[test]
    fn a_lock_that_is_held_is_waited_for_and_not_broken() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!release(dir.path(), "t", "a", NOW).unwrap(), "there is no record");
        fs::create_dir_all(dir.path().join("assignment/.t.lockdir")).unwrap();
        fs::write(dir.path().join("assignment/t.json"), "{}").unwrap();
        assert_eq!(release(dir.path(), "t", "a", NOW).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(dir.path().join("assignment/.t.lockdir").is_dir());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_its_place_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("elsewhere")).unwrap();
        fs::write(dir.path().join("elsewhere/t.json"), "{}").unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.path().join("assignment")).unwrap();
        assert!(!release(dir.path(), "t", "a", NOW).unwrap());
        assert_eq!(fs::read_dir(dir.path().join("elsewhere")).unwrap().count(), 1);
    }
}
