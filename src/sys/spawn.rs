//! The one door to starting processes: this program once more, detached from whoever called us.
//!
//! Null stdio alone does not let a host's pipes go: any other descriptor that it handed down without close-on-exec
//! stays open in the child for as long as the child lives. Closing them in the parent would break the caller, and
//! `pre_exec` costs the fast spawn path: so the child itself calls [`isolate`] first.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

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
