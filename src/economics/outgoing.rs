//! What of a record leaves the machine, and whether it does.

use super::record::{Figures, Record, Seconds};
use crate::pricing::Usd;
use crate::usage::Credits;

impl Record {
    /// The record as the Console takes it: a number that it demands and nobody knows is 0, its path is listed in
    /// `unknown_fields`, and `cost.complete` is false (DESIGN §8; a null there is a 400, Console ingest §3).
    #[must_use]
    pub fn for_console(&self) -> Self {
        let mut out = self.clone();
        let mut unknown = vec![];
        zero(&mut out.cost.figures, "cost", &mut unknown);
        for (at, row) in out.cost.by_model.iter_mut().enumerate() {
            zero(&mut row.figures, &format!("cost.by_model[{at}]"), &mut unknown);
        }
        let cost_known = unknown.is_empty();
        out.cost.complete = out.cost.complete && cost_known;
        zero_seconds(&mut out.time.wall_clock_s, "time.wall_clock_s", &mut unknown);
        for (at, row) in out.phases.iter_mut().enumerate() {
            zero(&mut row.figures, &format!("phases[{at}]"), &mut unknown);
            zero_seconds(&mut row.wall_clock_s, &format!("phases[{at}].wall_clock_s"), &mut unknown);
        }
        out.unknown_fields = unknown;
        out
    }

    /// Whether the record says nothing that a reader elsewhere could use: no task, no cost in money or credits, no tokens, no
    /// defect (contract C.5.3: such records dilute averages).
    #[must_use]
    pub fn is_without_signal(&self) -> bool {
        let attributed = self
            .task_slug
            .as_deref()
            .is_some_and(|slug| !slug.is_empty() && !slug.eq_ignore_ascii_case("unattributed"));
        let Figures {
            input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens, ..
        } = self.cost.figures;
        let tokens = [input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens];
        let costs = self.cost.figures.estimated_cost_usd.is_some_and(|cost| cost != Usd::default())
            || self.cost.figures.credits.is_some_and(|credits| credits != Credits::default());
        let defects = self.defects.gate_fires != 0
            || self.defects.caught_false_completions != 0
            || self.defects.findings_by_severity.sum() != 0;
        !(attributed || costs || defects || tokens.iter().any(|count| count.is_some_and(|count| count != 0)))
    }
}

/// Only the figures that the Console demands; ours stay `null`.
fn zero(figures: &mut Figures, path: &str, unknown: &mut Vec<String>) {
    let counts = [
        (&mut figures.input_tokens, "input_tokens"),
        (&mut figures.output_tokens, "output_tokens"),
        (&mut figures.cache_creation_input_tokens, "cache_creation_input_tokens"),
        (&mut figures.cache_read_input_tokens, "cache_read_input_tokens"),
    ];
    for (count, name) in counts {
        if count.is_none() {
            *count = Some(0);
            unknown.push(format!("{path}.{name}"));
        }
    }
    if figures.estimated_cost_usd.is_none() {
        figures.estimated_cost_usd = Some(Usd::default());
        unknown.push(format!("{path}.estimated_cost_usd"));
    }
}

fn zero_seconds(seconds: &mut Option<Seconds>, path: &str, unknown: &mut Vec<String>) {
    if seconds.is_none() {
        *seconds = Some(Seconds::default());
        unknown.push(path.to_owned());
    }
}
