//! The lock of a command log, in the two ways in which flow-agents takes it. Both use the path `⟨log⟩.lock`, and what is
//! found there decides:
//!
//! | `⟨log⟩.lock` | means | what we do |
//! |---|---|---|
//! | is not there | nobody writes, or only flow-agents 3.x does | create it, which only one can; write; remove it (a lease) |
//! | holds a number, or nothing | the lease of another writer, with its process id | wait; after 10 s take it for left behind and remove it |
//! | `{"protocol":"command-log-generation-fence-v1","version":1}` | flow-agents 6.x writes here; it stays for good | take the next generation |
//! | anything else | another protocol | wait, then give up |
//!
//! A generation is a file `⟨log⟩.lock.⟨n⟩`, numbered from 0, `{"generation":n,"nonce":"…","state":"active"}`. Who creates the
//! next one, while the highest is `released`, holds the lock, and releases it by saying so in the file. A generation is
//! never taken over and never removed: one that stays active stops all writers until somebody looks.
//!
//! The lease is the default because both versions respect it: 3.x waits for it, and 6.x takes it for a 3.x writer and
//! waits longer. A fence of ours would be removed by a 3.x writer after 10 s. As 3.x may take over a lease whose holder was
//! merely stopped, a holder looks whether it still is one ([`Held::is_ours`]) just before it writes.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::Value;

use super::Refused;
use crate::sys::{clock, files};

const POLL: Duration = Duration::from_millis(5);
/// After this age a lease is taken for left behind, as flow-agents 3.x does.
const STALE_MS: i64 = 10_000;
/// Both kinds of lock file are short.
const MAX_BYTES: u64 = 4096;

/// The held lock; dropping it lets go.
#[derive(Debug)]
pub(super) struct Held {
    file: File,
    path: PathBuf,
    /// What makes a generation released; a lease is removed.
    released: Option<String>,
}

/// What stands at the lock's path.
enum Found {
    Nothing,
    Lease,
    Fence,
    Unknown,
}

/// Takes the lock at `base`, waiting up to `patience`.
///
/// # Errors
/// [`Refused::Busy`] when it was held all the time, [`Refused::Lock`] when no lock can be there or none of a known kind is.
pub(super) fn acquire(base: &Path, patience: Duration) -> Result<Held, Refused> {
    let start = Instant::now();
    loop {
        let found = found_at(base).map_err(Refused::Lock)?;
        let held = match found {
            Found::Nothing => lease(base),
            Found::Lease => remove_stale(base).map(|()| None),
            Found::Fence => next_generation(base),
            Found::Unknown => Ok(None),
        };
        if let Some(held) = held.map_err(Refused::Lock)? {
            return Ok(held);
        }
        if start.elapsed() >= patience {
            return Err(Refused::Busy);
        }
        std::thread::sleep(POLL);
    }
}

impl Held {
    /// Whether nobody took the lock away from us.
    pub(super) fn is_ours(&self) -> bool {
        files::still_named(&self.file, &self.path)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_ours() {
            return;
        }
        // Who cannot let go leaves a lock behind; there is nobody to tell.
        match &self.released {
            None => drop(std::fs::remove_file(&self.path)),
            Some(text) => drop(
                self.file
                    .rewind()
                    .and_then(|()| self.file.write_all(text.as_bytes()))
                    .and_then(|()| self.file.set_len(text.len() as u64))
                    // An active generation stops everybody for good: it must not come back after a loss of power.
                    .and_then(|()| self.file.sync_data()),
            ),
        }
    }
}

fn found_at(base: &Path) -> io::Result<Found> {
    let Some(text) = read(base)? else { return Ok(Found::Nothing) };
    if text.trim_ascii().iter().all(u8::is_ascii_digit) {
        return Ok(Found::Lease);
    }
    let fence = serde_json::from_slice::<Value>(&text).unwrap_or_default();
    let is_known = fence.get("protocol").is_some_and(|name| name == "command-log-generation-fence-v1")
        && fence.get("version").is_some_and(|version| *version == 1);
    Ok(if is_known { Found::Fence } else { Found::Unknown })
}

/// The bytes of a lock file; `None` if it is not there. A link in its place is an error.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Ok(metadata) if !metadata.is_file() => {
            Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"))
        }
        _ => files::read_bounded(path, MAX_BYTES),
    }
}

/// Creates the file at `path` with `text`; `None` if somebody else did.
fn create(path: PathBuf, text: &str, released: Option<String>) -> io::Result<Option<Held>> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    match files::no_link(files::private(&mut options)).open(&path) {
        Ok(mut file) => {
            if let Err(error) = file.write_all(text.as_bytes()) {
                // An empty generation would stop everybody for good; so far it is nobody's but ours.
                drop(std::fs::remove_file(&path));
                return Err(error);
            }
            Ok(Some(Held { file, path, released }))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error),
    }
}

fn lease(base: &Path) -> io::Result<Option<Held>> {
    create(base.to_path_buf(), &std::process::id().to_string(), None)
}

/// Removes the lease at `base` if it is too old to be anybody's.
fn remove_stale(base: &Path) -> io::Result<()> {
    let Ok(seen) = std::fs::symlink_metadata(base) else { return Ok(()) };
    let since = seen.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    if clock::now_ms().saturating_sub(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)) <= STALE_MS {
        return Ok(());
    }
    // Another may do the same and a third create its lease in between: what was moved aside is looked at before it goes.
    let mut aside = base.as_os_str().to_owned();
    aside.push(format!(".stale-{}-{:08x}", std::process::id(), fastrand::u32(..)));
    if std::fs::rename(base, &aside).is_ok() {
        let moved = std::fs::symlink_metadata(&aside)?;
        if files::identity(&moved) != files::identity(&seen) {
            drop(std::fs::hard_link(&aside, base));
        }
        std::fs::remove_file(&aside)?;
    }
    Ok(())
}

/// Takes the generation after the highest, if that one is released.
fn next_generation(base: &Path) -> io::Result<Option<Held>> {
    let name = base.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut highest = None;
    for entry in std::fs::read_dir(base.parent().unwrap_or(base))? {
        let entry = entry?.file_name();
        let number = entry.to_str().and_then(|entry| entry.strip_prefix(name)?.strip_prefix('.'));
        let number = number.and_then(|text| text.parse().ok().filter(|n: &u32| n.to_string() == text));
        highest = highest.max(number);
    }
    let path = |n: u32| base.with_file_name(format!("{name}.{n}"));
    if let Some(n) = highest {
        let state = read(&path(n))?.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let is = |key: &str, test: &dyn Fn(&Value) -> bool| {
            state.as_ref().and_then(|state| state.get(key)).is_some_and(test)
        };
        let is_released = is("generation", &|told| *told == n)
            && is("nonce", &Value::is_string)
            && is("state", &|told| told == "released");
        if !is_released {
            return Ok(None);
        }
    }
    let Some(n) = highest.map_or(Some(0), |n| n.checked_add(1)) else { return Ok(None) };
    let nonce = format!("{:032x}", fastrand::u128(..));
    let text = |state: &str| format!("{{\"generation\":{n},\"nonce\":\"{nonce}\",\"state\":\"{state}\"}}\n");
    create(path(n), &text("active"), Some(text("released")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::SystemTime;

    const FENCE: &str = "{\"protocol\":\"command-log-generation-fence-v1\",\"version\":1}\n";
    const NONE: Duration = Duration::ZERO;

    fn base() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("command-log.jsonl.lock");
        (dir, base)
    }

    #[test]
    fn a_lease_is_seen_by_both_versions_and_leaves_nothing_behind() {
        let (dir, base) = base();
        let held = acquire(&base, NONE).unwrap();
        assert_eq!(fs::read_to_string(&base).unwrap(), std::process::id().to_string());
        assert!(matches!(acquire(&base, NONE), Err(Refused::Busy)));
        drop(held);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        drop(acquire(&base, NONE).unwrap());
    }

    #[test]
    fn a_young_lease_is_waited_for_and_an_old_one_removed() {
        for text in ["4711", ""] {
            let (dir, base) = base();
            fs::write(&base, text).unwrap();
            assert!(matches!(acquire(&base, NONE), Err(Refused::Busy)));
            let file = File::options().write(true).open(&base).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
            let held = acquire(&base, Duration::from_secs(5)).unwrap();
            assert!(held.is_ours());
            drop(held);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_lease_that_was_taken_over_is_neither_ours_nor_removed() {
        let (_dir, base) = base();
        let held = acquire(&base, NONE).unwrap();
        fs::remove_file(&base).unwrap();
        fs::write(&base, "4711").unwrap();
        assert!(!held.is_ours());
        drop(held);
        assert_eq!(fs::read_to_string(&base).unwrap(), "4711");
    }

    #[test]
    fn behind_a_fence_each_holder_takes_the_next_generation_and_releases_it() {
        let (_dir, base) = base();
        fs::write(&base, FENCE).unwrap();
        for n in 0..12 {
            let held = acquire(&base, NONE).unwrap();
            let state = || -> Value {
                serde_json::from_slice(
                    &fs::read(base.with_file_name(format!("command-log.jsonl.lock.{n}"))).unwrap(),
                )
                .unwrap()
            };
            let active = state();
            assert_eq!((&active["state"], &active["generation"]), (&Value::from("active"), &Value::from(n)));
            assert_eq!(active["nonce"].as_str().unwrap().len(), 32);
            assert!(matches!(acquire(&base, NONE), Err(Refused::Busy)));
            drop(held);
            assert_eq!((&state()["state"], &state()["nonce"]), (&Value::from("released"), &active["nonce"]));
        }
        assert_eq!(fs::read_to_string(&base).unwrap(), FENCE);
    }

    #[test]
    fn nothing_behind_a_fence_is_ever_taken_over() {
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let foreign = [
            "",
            "{\"gener",
            "{\"generation\":3,\"nonce\":\"x\",\"state\":\"active\"}\n",
            "{\"generation\":2,\"nonce\":\"x\",\"state\":\"released\"}\n",
        ];
        for text in foreign {
            let (dir, base) = base();
            fs::write(&base, FENCE).unwrap();
            let generation = base.with_file_name("command-log.jsonl.lock.3");
            fs::write(&generation, text).unwrap();
            for path in [&base, &generation] {
                File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
            }
            assert!(matches!(acquire(&base, NONE), Err(Refused::Busy)), "{text}");
            assert_eq!(fs::read_to_string(&generation).unwrap(), text);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        }
    }

    #[test]
    fn a_lock_of_another_kind_stays_and_refuses() {
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        for text in
            ["{\"protocol\":\"command-log-generation-fence-v2\",\"version\":2}", "{\"protocol\":\"comm", "x"]
        {
            let (_dir, base) = base();
            fs::write(&base, text).unwrap();
            File::options().write(true).open(&base).unwrap().set_modified(old).unwrap();
            assert!(matches!(acquire(&base, NONE), Err(Refused::Busy)));
            assert_eq!(fs::read_to_string(&base).unwrap(), text);
        }
        let (dir, base) = base();
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), &base).unwrap();
        assert!(matches!(acquire(&base, NONE), Err(Refused::Lock(_))));
        assert!(!dir.path().join("elsewhere").exists());
    }
}
