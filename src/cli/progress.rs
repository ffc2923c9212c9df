//! How far long work is: one line on the terminal's standard error, drawn by whichever thread gets on.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Characters of the bar.
const CELLS: u64 = 40;
const MIB: u64 = 1 << 20;

/// Bytes done, of those to do.
#[derive(Debug)]
pub(super) struct Progress {
    total: u64,
    done: AtomicU64,
    shown: bool,
}

impl Progress {
    /// Work on `total` bytes; what is not `shown` draws nothing.
    pub(super) fn new(total: u64, shown: bool) -> Self {
        Self { total, done: AtomicU64::new(0), shown }
    }

    /// That many bytes more are done.
    pub(super) fn add(&self, bytes: u64) {
        let before = self.done.fetch_add(bytes, Ordering::Relaxed);
        let now = before.saturating_add(bytes);
        if self.shown && now / MIB > before / MIB {
            draw(&format!("\r{}", line(now, self.total)));
        }
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        if self.shown {
            draw("\r\u{1b}[K");
        }
    }
}

/// A terminal that is gone has nobody to show it to.
fn draw(text: &str) {
    drop(io::stderr().write_all(text.as_bytes()));
}

fn line(done: u64, total: u64) -> String {
    let done = done.min(total);
    let full = (done / MIB * CELLS).checked_div(total / MIB).unwrap_or(CELLS).min(CELLS);
    let cell = |at| if at < full { '█' } else { '░' };
    let bar: String = (0..CELLS).map(cell).collect();
    format!("{bar} {}/{} MiB", done / MIB, total / MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done() {
        let cells = |done, total| line(done, total).matches('█').count();
        assert_eq!([0, 50, 100, 900].map(|done| cells(done * MIB, 100 * MIB)), [0, 20, 40, 40]);
        assert_eq!(cells(0, 0), 40);
        assert!(line(50 * MIB, 100 * MIB).ends_with("░ 50/100 MiB"));
    }
}
