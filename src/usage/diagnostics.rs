//! What a reader met and did not count, so that a total can be trusted or doubted.

use serde::Serialize;
use std::ops::AddAssign;

/// A file that could not be read, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadFile {
    /// The host that wrote it.
    pub host: &'static str,
    /// Where it is.
    pub path: String,
    /// Why not.
    pub why: String,
}

/// Counts of lines and calls that deserve a word. Only lines that can hold usage are parsed, so only those are
/// diagnosed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Diagnostics {
    /// Lines that hold usage but cannot be read: torn, not JSON, or with counters that are not counts.
    pub unreadable_lines: u64,
    /// Lines that repeat what is counted elsewhere and are not calls.
    pub echoes_skipped: u64,
    /// Further lines of a call that was already known.
    pub duplicates_merged: u64,
    /// Local notices (`<synthetic>`) without tokens.
    pub synthetic_skipped: u64,
    /// Calls whose final count the runtime never wrote: their counters are a lower bound.
    pub lower_bound_calls: u64,
    /// Calls of which the runtime tells that they were made, and no counts.
    pub uncounted_calls: u64,
    /// Calls priced at the current price list because they have no timestamp.
    pub calls_without_timestamp: u64,
    /// Calls older than the first price list, priced by it.
    pub calls_before_first_prices: u64,
    /// Files that could not be opened or read.
    pub unreadable_files: u64,
}

impl AddAssign for Diagnostics {
    fn add_assign(&mut self, other: Self) {
        self.unreadable_lines += other.unreadable_lines;
        self.echoes_skipped += other.echoes_skipped;
        self.duplicates_merged += other.duplicates_merged;
        self.synthetic_skipped += other.synthetic_skipped;
        self.lower_bound_calls += other.lower_bound_calls;
        self.uncounted_calls += other.uncounted_calls;
        self.calls_without_timestamp += other.calls_without_timestamp;
        self.calls_before_first_prices += other.calls_before_first_prices;
        self.unreadable_files += other.unreadable_files;
    }
}
