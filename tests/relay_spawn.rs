//! A detached process must not keep a host waiting: it has to let go of every descriptor that was handed down, not only
//! of stdio. The child is this test binary again, told its role by its environment.

#[cfg(test)]
#[cfg(unix)]
mod detached {
    use std::ffi::OsStr;
    use std::io::{ErrorKind, Read};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use tally::sys::spawn;

    const ROLE: &str = "TALLY_TEST_ROLE";
    const PAUSE: Duration = Duration::from_millis(5);
    /// Only bounds a test that has failed already.
    const PATIENCE: u32 = 4000;

    fn wait_for(path: &Path) {
        for _ in 0..PATIENCE {
            if path.exists() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
        panic!("{} never came", path.display());
    }

    /// The child: says that it is ready, and stays until it is told to end. Not a test when it has no role.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test has no settings room above it")]
    fn child() {
        let Some(role) = std::env::var_os(ROLE) else { return };
        if role == "isolated" {
            spawn::isolate();
        }
        let session = rustix::process::getsid(None).unwrap() == rustix::process::getpid();
        std::fs::write("session", session.to_string()).unwrap();
        std::fs::write("ready", "").unwrap();
        wait_for(Path::new("stop"));
        std::fs::write("ended", "").unwrap();
    }

    /// Starts a child with an extra descriptor that it inherits, and returns our end of it.
    fn start(role: &str, dir: &Path) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        rustix::io::fcntl_setfd(theirs.as_fd(), rustix::io::FdFlags::empty()).unwrap();
        let envs = [(OsStr::new(ROLE), OsStr::new(role))];
        spawn::detached(&["--exact", "detached::child", "--nocapture"], envs, dir).unwrap();
        wait_for(&dir.join("ready"));
        ours
    }

    fn end(dir: &Path) {
        std::fs::write(dir.join("stop"), "").unwrap();
        wait_for(&dir.join("ended"));
    }

    #[test]
    fn a_host_sees_the_end_of_its_pipes_while_the_child_lives() {
        let folder = tempfile::tempdir().unwrap();
        let dir: PathBuf = folder.path().to_path_buf();

        let mut leaked = start("plain", &dir);
        leaked.set_nonblocking(true).unwrap();
        let kept = leaked.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(
            kept,
            Err(ErrorKind::WouldBlock),
            "a child that isolates nothing shows that the test can fail"
        );
        assert_eq!(std::fs::read_to_string(dir.join("session")).unwrap(), "false");
        end(&dir);
        for name in ["ready", "stop", "ended"] {
            std::fs::remove_file(dir.join(name)).unwrap();
        }

        let mut freed = start("isolated", &dir);
        assert_eq!(freed.read(&mut [0]).unwrap(), 0, "end of file");
        assert!(!dir.join("ended").exists(), "the child still lives");
        assert_eq!(std::fs::read_to_string(dir.join("session")).unwrap(), "true");
        end(&dir);
    }
}
