//! Which machine this process runs on and which process started it.

/// The machine's name; empty where the system does not tell.
#[must_use]
pub fn hostname() -> String {
    #[cfg(unix)]
    {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }
    #[cfg(not(unix))]
    {
        String::new()
    }
}

/// The path of the program that this process runs.
///
/// # Errors
/// When the system does not tell.
pub fn program() -> std::io::Result<std::path::PathBuf> {
    std::env::current_exe()
}

/// The id of the process that started this one; 0 where the system does not tell.
#[must_use]
pub fn parent_id() -> u32 {
    #[cfg(unix)]
    {
        std::os::unix::process::parent_id()
    }
    #[cfg(not(unix))]
    {
        0
    }
}

/// When process `pid` started, in ticks since boot; `None` where `/proc` does not tell. Together with the boot it
/// tells a process from a later one with the same id.
#[must_use]
pub fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    start_ticks_in(&stat)
}

/// Field 22 of a `/proc/<pid>/stat` line. The program's name, in parentheses, may hold anything.
fn start_ticks_in(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_found_behind_any_name() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 0 0 0 0 0 0 0 20 0 1 0 98765 1000 200";
        assert_eq!(start_ticks_in(stat), Some(98765));
        assert_eq!(start_ticks_in("7 (a) S 1"), None);
        assert_eq!(start_ticks_in(""), None);
    }
}
