//! The one door to starting processes: this program once more, detached from whoever called us; and other programs that
//! are waited for, within bounds ([`run`]).
//!
//! Null stdio alone does not let a host's pipes go: any other descriptor that it handed down without close-on-exec
//! stays open in the child for as long as the child lives. Closing them in the parent would break the caller, and
//! `pre_exec` costs the fast spawn path: so the child itself calls [`isolate`] first.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Starts this program with `args`, exactly the environment `envs`, working directory `cwd` and null stdio, and does not
/// wait for it.
///
/// # Errors
/// When the program's own file is gone (a self-upgrade) or no process can be started.
#[expect(clippy::disallowed_methods, reason = "this is the one door to starting processes")]
pub fn detached<'a>(
    args: &[&str],
    envs: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
    cwd: &Path,
) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(args).env_clear().envs(envs).current_dir(cwd);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The caller exits within milliseconds, and init reaps the child.
    command.spawn().map(drop)
}

/// A program to run, and how much of it is waited for and kept.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The program, looked for on the `PATH` of `envs`, and its arguments.
    pub argv: &'a [&'a OsStr],
    /// Its environment, all of it.
    pub envs: &'a [(OsString, OsString)],
    /// Where it runs.
    pub cwd: &'a Path,
    /// What it reads.
    pub stdin: &'a [u8],
    /// After this it is ended, with all that it started.
    pub timeout: Duration,
    /// Bytes that are kept of each of its outputs; it may write more.
    pub keep: usize,
}

/// What came of a [`Job`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// The beginning of what it wrote to standard output.
    pub stdout: Vec<u8>,
    /// The beginning of what it wrote to standard error.
    pub stderr: Vec<u8>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It took too long.
    Timeout,
}

/// Runs a program and waits for it. What it started and left behind is not waited for.
///
/// # Errors
/// When it cannot be started.
#[expect(clippy::disallowed_methods, reason = "this is the one door to starting processes")]
pub fn run(job: &Job<'_>) -> io::Result<Ran> {
    let (program, args) = job.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(job.envs.iter().map(|(name, value)| (name, value)));
    command.current_dir(job.cwd).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        let fed = job.stdin.to_vec();
        // A program that does not read its input closes the pipe: that is its right.
        std::thread::spawn(move || drop(stdin.write_all(&fed)));
    }
    let stdout = child.stdout.take().map(|pipe| collect(pipe, job.keep));
    let stderr = child.stderr.take().map(|pipe| collect(pipe, job.keep));
    let end = wait(&mut child, job.timeout)?;
    // Whoever still holds the pipes is no longer the program; where nothing is kept, nobody is waited for.
    let kept = |pipe: Option<Receiver<Vec<u8>>>| pipe.filter(|_| job.keep > 0);
    let rest = |pipe| kept(pipe).map(|pipe| drain(&pipe)).unwrap_or_default();
    Ok(Ran { end, stdout: rest(stdout), stderr: rest(stderr) })
}

fn wait(child: &mut Child, timeout: Duration) -> io::Result<End> {
    let since = Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(ended(status));
        }
        if since.elapsed() >= timeout {
            kill(child);
            child.wait()?;
            return Ok(End::Timeout);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

#[cfg(unix)]
fn ended(status: ExitStatus) -> End {
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    signal.map_or_else(|| End::Code(status.code().unwrap_or(-1)), End::Signal)
}

#[cfg(not(unix))]
fn ended(status: ExitStatus) -> End {
    End::Code(status.code().unwrap_or(-1))
}

/// Ends a child that leads its own process group, and the group.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    drop(child.kill());
}

/// Reads a pipe to its end in a thread of its own, and hands on its first `keep` bytes.
fn collect(mut pipe: impl Read + Send + 'static, keep: usize) -> Receiver<Vec<u8>> {
    let (to, from) = channel();
    std::thread::spawn(move || {
        let (mut buffer, mut kept) = (vec![0; 8192], 0);
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            let wanted = length.min(keep - kept);
            kept += wanted;
            let part = buffer.get(..wanted).unwrap_or_default();
            if wanted > 0 && to.send(part.to_vec()).is_err() {
                return;
            }
        }
    });
    from
}

fn drain(pipe: &Receiver<Vec<u8>>) -> Vec<u8> {
    /// The program has ended: what it wrote is in the pipe already.
    const PATIENCE: Duration = Duration::from_millis(500);
    let mut all = Vec::new();
    loop {
        match pipe.recv_timeout(PATIENCE) {
            Ok(part) => all.extend(part),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return all,
        }
    }
}

/// Makes a write beyond the caller's file size limit (`ulimit -f`) an error like a full disk, instead of our death by
/// signal. To be called first thing by a process that must not fail.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library has no door to signals")]
pub fn survive_file_size_limit() {
    // SAFETY: ignoring a signal installs no handler, so no code of ours runs in signal context.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Nothing to do: there is no such signal.
#[cfg(not(unix))]
pub fn survive_file_size_limit() {}

/// Leaves the caller's session and closes every inherited descriptor but stdio. To be called first thing by a process
/// that [`detached`] started, while it has a single thread and has opened nothing.
#[cfg(unix)]
pub fn isolate() {
    // Fails only for a process that leads its session already, which is as good.
    let _ = rustix::process::setsid();
    for descriptor in inherited_descriptors() {
        close(descriptor);
    }
}

/// Nothing to do: no descriptor is inherited but the null ones.
#[cfg(not(unix))]
pub fn isolate() {}

/// The descriptors above stderr that were open before this call.
#[cfg(unix)]
fn inherited_descriptors() -> Vec<std::os::fd::RawFd> {
    let listing = std::fs::read_dir("/proc/self/fd").or_else(|_| std::fs::read_dir("/dev/fd"));
    let names = listing.into_iter().flatten().flatten().map(|item| item.file_name());
    let mut open: Vec<_> =
        names.filter_map(|name| name.to_str()?.parse().ok()).filter(|&fd| fd > 2).collect();
    // The listing's own descriptor is in the list and closed by now.
    open.retain(|&fd| is_open(fd));
    open
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "asks about a descriptor that may be closed, which the safe types rule out")]
fn is_open(descriptor: std::os::fd::RawFd) -> bool {
    // SAFETY: the descriptor is only asked for its flags; a closed one gives an error.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(descriptor) };
    rustix::io::fcntl_getfd(borrowed).is_ok()
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "closes descriptors that nothing in this process owns")]
fn close(descriptor: std::os::fd::RawFd) {
    // SAFETY: `isolate` runs before this process has opened anything, so no value owns the descriptor.
    unsafe { rustix::io::close(descriptor) }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn run_shell(text: &str, stdin: &[u8], timeout: Duration) -> Ran {
        let path = (OsString::from("PATH"), OsString::from("/usr/bin:/bin"));
        let argv = ["sh", "-c", text].map(OsStr::new);
        let job = Job { argv: &argv, envs: &[path], cwd: Path::new("/"), stdin, timeout, keep: 10 };
        run(&job).unwrap()
    }

    #[test]
    fn a_program_is_fed_waited_for_and_kept_within_bounds() {
        let long = Duration::from_secs(60);
        let ran = run_shell("cat; echo wrong >&2; exit 3", b"0123456789abc", long);
        assert_eq!(
            ran,
            Ran { end: End::Code(3), stdout: b"0123456789".to_vec(), stderr: b"wrong\n".to_vec() }
        );
        assert_eq!(run_shell("kill -9 $$", b"", long).end, End::Signal(9));
        // Megabytes on both sides, of which neither may wait for the other.
        let fed = vec![b'x'; 3 << 20];
        assert_eq!(run_shell("head -c 2000000 /dev/zero; cat >/dev/null", &fed, long).end, End::Code(0));
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended_with_what_it_started() {
        let ran = run_shell("echo a; sleep 600 & sleep 600", b"", Duration::from_millis(300));
        assert_eq!((ran.end, ran.stdout), (End::Timeout, b"a\n".to_vec()));
    }

    #[test]
    fn what_is_left_behind_is_not_waited_for() {
        let ran = run_shell("sleep 5 & echo a", b"", Duration::from_secs(60));
        assert_eq!((ran.end, ran.stdout), (End::Code(0), b"a\n".to_vec()));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let argv = ["/no/such/program"].map(OsStr::new);
        let timeout = Duration::from_secs(1);
        let job = Job { argv: &argv, envs: &[], cwd: Path::new("/"), stdin: b"", timeout, keep: 0 };
        assert_eq!(run(&job).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
