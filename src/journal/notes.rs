//! `tally.log`: our own lines for whoever wonders what happened. Capped, never a secret, never in anybody's way.

use crate::sys::{clock, files};
use std::io::Write;
use std::path::Path;

/// Beyond this many bytes the log becomes `tally.log.1` and a new one starts.
const CAP: u64 = 1 << 20;
/// A line is cut after this many characters: input that was broken is described, not repeated.
const LONGEST: usize = 500;

/// Adds one line. Failing to do so is nobody's problem: the hook that wanted to say something must not fail over it.
pub fn note(data_dir: &Path, text: &str) {
    let path = data_dir.join("tally.log");
    if path.metadata().is_ok_and(|log| log.len() > CAP) {
        drop(std::fs::rename(&path, data_dir.join("tally.log.1")));
    }
    let text: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let time = clock::rfc3339(clock::now_ms()).unwrap_or_default();
    if files::create_dir_private(data_dir).is_ok()
        && let Ok(mut file) = files::open_append(&path)
    {
        drop(file.write_all(format!("{time} {text}\n").as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_one_short_line_and_the_log_is_capped() {
        let dir = tempfile::tempdir().unwrap();
        note(dir.path(), &format!("first\nline {}", "x".repeat(9_999)));
        let log = std::fs::read_to_string(dir.path().join("tally.log")).unwrap();
        assert_eq!(log.lines().count(), 1);
        assert!(log.len() < 600, "{}", log.len());
        std::fs::write(dir.path().join("tally.log"), vec![b'x'; CAP as usize + 1]).unwrap();
        note(dir.path(), "second");
        assert!(dir.path().join("tally.log.1").exists());
        assert!(std::fs::read_to_string(dir.path().join("tally.log")).unwrap().ends_with("second\n"));
    }
}
