//! How long runs took, when the only witness is a transcript.
//!
//! A run starts at its prompt, else at its first call, and ends at its stop; a run that was never stopped (interrupted,
//! or older than the hooks) ends with its last call. The time between runs is nobody's (DESIGN §7).

use serde::{Deserialize, Serialize};

/// The runs since the last record. Times are epoch milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunClock {
    /// Runs that ended without a stop.
    ended: Vec<(i64, i64)>,
    /// When the run that is going on started.
    start: Option<i64>,
    /// Its last sign of life.
    last: Option<i64>,
    /// When the last recorded run stopped.
    stopped: Option<i64>,
}

impl RunClock {
    /// A prompt: the run before it is over.
    pub fn prompt(&mut self, at_ms: i64) {
        self.end();
        self.start = Some(at_ms);
        self.last = Some(at_ms);
    }

    /// A call. One from before the last stop is late news of a run that was recorded, not the start of another.
    pub fn call(&mut self, at_ms: i64) {
        if self.start.is_none() && self.stopped.is_none_or(|stopped| at_ms > stopped) {
            self.start = Some(at_ms);
        }
        self.last = self.last.max(Some(at_ms));
    }

    /// The runs since the last record, ending at `stop` (or, without one, with the last sign of life); and starts
    /// anew. `None` when there is nothing to tell from, or when clocks disagree so that a run would end before it
    /// began.
    #[must_use]
    pub fn stop(&mut self, stop: Option<i64>) -> Option<Vec<(i64, i64)>> {
        let known = self.start.is_some() || !self.ended.is_empty() || self.stopped.is_some();
        self.last = stop.or(self.last);
        self.end();
        let runs = std::mem::take(&mut self.ended);
        self.stopped = self.last.take().max(self.stopped);
        (known && runs.iter().all(|(start, end)| end >= start)).then_some(runs)
    }

    /// Forgets the runs that a record of `at_ms` holds: they were read again after a record that this clock does not know.
    pub fn recorded(&mut self, at_ms: i64) {
        self.ended.retain(|(start, _)| *start > at_ms);
        if self.start.is_some_and(|start| start <= at_ms) {
            self.start = None;
        }
        self.stopped = self.stopped.max(Some(at_ms));
    }

    fn end(&mut self) {
        if let (Some(start), Some(last)) = (self.start.take(), self.last) {
            self.ended.push((start, last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_timed_from_its_prompt_and_the_pause_between_runs_is_nobodys() {
        let mut clock = RunClock::default();
        clock.prompt(1_000);
        clock.call(3_000);
        assert_eq!(clock.stop(Some(5_000)), Some(vec![(1_000, 5_000)]));
        clock.prompt(90_000);
        assert_eq!(clock.stop(Some(91_000)), Some(vec![(90_000, 91_000)]));
    }

    #[test]
    fn runs_without_a_stop_end_with_their_last_call() {
        let mut clock = RunClock::default();
        for at in [0, 50_000] {
            clock.prompt(at);
            clock.call(at + 4_000);
        }
        assert_eq!(clock.stop(None), Some(vec![(0, 4_000), (50_000, 54_000)]));
    }

    #[test]
    fn late_news_of_a_recorded_run_starts_none() {
        let mut clock = RunClock::default();
        clock.call(1_000);
        assert_eq!(clock.stop(Some(2_000)), Some(vec![(1_000, 2_000)]));
        clock.call(1_900);
        assert_eq!(clock.stop(Some(9_000)), Some(vec![]));
    }

    #[test]
    fn runs_that_a_record_holds_are_not_told_again() {
        let mut clock = RunClock::default();
        for at in [0, 50_000, 90_000] {
            clock.prompt(at);
            clock.call(at + 4_000);
        }
        clock.recorded(60_000);
        assert_eq!(clock.stop(Some(95_000)), Some(vec![(90_000, 95_000)]));
    }

    #[test]
    fn what_cannot_be_told_is_unknown() {
        assert_eq!(RunClock::default().stop(Some(5_000)), None);
        let mut clock = RunClock::default();
        clock.prompt(9_000);
        assert_eq!(clock.stop(Some(5_000)), None);
    }
}
