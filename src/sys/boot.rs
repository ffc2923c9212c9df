//! Which boot of the machine this is.

/// An id that changes with every boot; `None` where the system does not tell.
///
/// Whoever writes a file without syncing it notes this id in it: after another boot the file may have lost writes.
#[must_use]
pub fn id() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}
