//! A detached process must not keep a host waiting: it has to let go of every descriptor that was handed down, not only
//! of stdio. The child is this test binary again, told its role by its environment.
//!
//! Without the test harness: `isolate` is for a process with a single thread, and the harness runs a test beside its own
//! thread, whose descriptors a child would close under it.

#[cfg(unix)]
fn main() -> std::io::Result<()> {
    detached::run()
}

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
mod detached {
    use std::ffi::OsStr;
    use std::io::{self, ErrorKind, Read};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::path::Path;
    use std::time::Duration;

    use tally::sys::spawn;

    const ROLE: &str = "TALLY_TEST_ROLE";
    const PAUSE: Duration = Duration::from_millis(5);
    /// Only bounds a test that has failed already.
    const PATIENCE: u32 = 4000;

    #[expect(clippy::disallowed_methods, reason = "a test has no settings room above it")]
    #[expect(clippy::print_stdout, reason = "stands in for the harness")]
    pub(crate) fn run() -> io::Result<()> {
        if let Some(role) = std::env::var_os(ROLE) {
            let outcome = child(&role);
            return outcome.or_else(|error| std::fs::write("failed", error.to_string()));
        }
        a_host_sees_the_end_of_its_pipes_while_the_child_lives()?;
        println!("test a_host_sees_the_end_of_its_pipes_while_the_child_lives ... ok");
        Ok(())
    }

    fn a_host_sees_the_end_of_its_pipes_while_the_child_lives() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let dir = folder.path();

        let mut leaked = start("plain", dir)?;
        leaked.set_nonblocking(true)?;
        let kept = leaked.read(&mut [0]).map_err(|error| error.kind());
        assert_eq!(
            kept,
            Err(ErrorKind::WouldBlock),
            "a child that isolates nothing shows that the test can fail"
        );
        assert_eq!(std::fs::read_to_string(dir.join("session"))?, "false");
        end(dir)?;
        for name in ["ready", "stop", "ended"] {
            std::fs::remove_file(dir.join(name))?;
        }

        let mut freed = start("isolated", dir)?;
        assert_eq!(freed.read(&mut [0])?, 0, "end of file");
        assert!(!dir.join("ended").exists(), "the child still lives");
        assert_eq!(std::fs::read_to_string(dir.join("session"))?, "true");
        end(dir)
    }

    /// Says that it is ready, and stays until it is told to end.
    fn child(role: &OsStr) -> io::Result<()> {
        if role == "isolated" {
            spawn::isolate();
        }
        // Only who leads a session already is refused one of its own. Asking for the session's id would not do: where
        // the leader is outside of our process namespace there is none to be told.
        let session = rustix::process::setsid().is_err();
        std::fs::write("session", session.to_string())?;
        std::fs::write("ready", "")?;
        wait_for(Path::new("stop"))?;
        std::fs::write("ended", "")
    }

    /// Starts a child with an extra descriptor that it inherits, and returns our end of it.
    fn start(role: &str, dir: &Path) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        rustix::io::fcntl_setfd(theirs.as_fd(), rustix::io::FdFlags::empty())?;
        spawn::detached(&[], [(OsStr::new(ROLE), OsStr::new(role))], dir)?;
        wait_for(&dir.join("ready"))?;
        Ok(ours)
    }

    fn end(dir: &Path) -> io::Result<()> {
        std::fs::write(dir.join("stop"), "")?;
        wait_for(&dir.join("ended"))
    }

    /// The child has null stdio: what it did not manage it says in a file, and which files there are tells how far it got.
    fn wait_for(path: &Path) -> io::Result<()> {
        for _ in 0..PATIENCE {
            if path.exists() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        let names: Vec<_> = std::fs::read_dir(folder)?.flatten().map(|item| item.file_name()).collect();
        let failed = std::fs::read_to_string(folder.join("failed"));
        Err(io::Error::other(format!("{} never came; there is {names:?}; {failed:?}", path.display())))
    }
}
