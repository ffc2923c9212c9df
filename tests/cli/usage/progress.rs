//! A long read that a person watches.

use super::transcript;
use crate::env::TestEnv;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{self, File};
use std::io::Read;
use std::time::{Duration, Instant};

/// Each thread that reads draws, and none may wait for another that does.
#[test]
fn several_threads_show_their_progress_on_a_terminal_and_the_read_ends() {
    let env = TestEnv::new();
    // Holes cost no disk; two files are read by two threads.
    for name in ["a.jsonl", "b.jsonl"] {
        let path = transcript(&env, name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap().set_len(33 << 20).unwrap();
    }
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let screen = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut command = env.command(&["usage", "--json"]);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(screen).spawn().unwrap();
    // The command holds the terminal's other end open.
    drop(command);
    let end = Instant::now() + Duration::from_secs(120);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{status}");
    let mut drawn = vec![];
    // A terminal whose other end is closed ends in an error.
    drop(File::from(terminal).read_to_end(&mut drawn));
    let drawn = String::from_utf8_lossy(&drawn);
    assert!(drawn.contains("66/66 MiB") && drawn.ends_with("\r\u{1b}[K"), "{drawn:?}");
}
