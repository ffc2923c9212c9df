//! A defect must not become the host's problem: in a hook a panic ends in exit 0. What ships is built without unwinding, so
//! the last words are said from the panic itself, and the process ends there.

use std::process::exit;

/// From now on a panic says `last` and ends the process with exit code 0.
#[expect(clippy::exit, reason = "nothing unwinds to a place that could return the exit code")]
pub(super) fn end_in(last: impl Fn() + Send + Sync + 'static) {
    std::panic::set_hook(Box::new(move |_| {
        last();
        exit(0)
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Set in the process that is to panic.
    const CHILD: &str = "TALLY_TEST_PANIC";

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a panic that ends a process needs one of its own")]
    fn a_panic_says_its_last_words_and_ends_in_exit_code_0() {
        if std::env::var_os(CHILD).is_some() {
            end_in(|| drop(std::io::stderr().write_all(b"last words\n")));
            panic!("as it should");
        }
        let name = "cli::panics::tests::a_panic_says_its_last_words_and_ends_in_exit_code_0";
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
        assert_eq!(child.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&child.stderr), "last words\n");
        assert!(!String::from_utf8_lossy(&child.stdout).contains("test result"));
    }
}
