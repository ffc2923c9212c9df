//! The model's own count of what was queued and of what can have become of it, from the bytes of the files and the
//! answers of the server.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::server::Server;
use crate::relay::Status;

/// What was queued since the state began.
#[derive(Debug, Default)]
pub(super) struct Books {
    pub(super) enqueued: u64,
    torn: u64,
    /// How many whole lines hold each record.
    whole: BTreeMap<usize, u64>,
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect()
}

impl Books {
    /// The current file grew from `before` to `after`. Returns by how many lines.
    pub(super) fn appended(&mut self, server: &Server, before: &[u8], after: &[u8]) -> usize {
        assert!(after.starts_with(before), "an append changes what was there");
        let old = lines(before).len();
        let added = lines(after).split_off(old);
        for line in &added {
            self.enqueued += 1;
            match number_in(server, line) {
                Some(number) => *self.whole.entry(number).or_default() += 1,
                None => self.torn += 1,
            }
        }
        added.len()
    }

    /// Compares with the product's books.
    pub(super) fn check(&self, server: &Server, status: &Status) {
        assert_eq!(status.enqueued, self.enqueued, "enqueued");
        let bounds = self.bounds(server, status.pending == 0);
        let counted =
            [("delivered", status.delivered), ("rejected", status.rejected), ("evicted", status.evicted)];
        for ((what, count), bounds) in counted.into_iter().zip(bounds) {
            assert!(
                bounds.contains(&count),
                "{what} {count}, not {bounds:?}: {status:#?}\n{self:?}\n{:?}",
                server.said
            );
        }
        assert_eq!(status.evicted, status.superseded, "nothing had to make room");
    }

    /// How many can have been delivered, rejected and evicted; and, once nothing is pending, how many must have been.
    fn bounds(&self, server: &Server, settled: bool) -> [RangeInclusive<u64>; 3] {
        let mut least = [0, if settled { self.torn } else { 0 }, 0];
        let mut most = [0, self.torn, 0];
        for (&number, &count) in &self.whole {
            let said = server.said.get(&number).copied().unwrap_or_default();
            let refused = if said.may_be_given_up() { count } else { said.refused.into() };
            let superseded = if self.is_superseded(server, number) { count } else { 0 };
            let can = [u64::from(said.delivered), refused, superseded].map(|can| can.min(count));
            for (fate, can_be) in can.into_iter().enumerate() {
                most[fate] += can_be;
                if settled {
                    let others = can.iter().sum::<u64>() - can_be;
                    least[fate] += count.saturating_sub(others);
                }
            }
        }
        let mut bounds = least.into_iter().zip(most).map(|(least, most)| least..=most);
        [(); 3].map(|()| bounds.next().unwrap())
    }

    /// Whether a later record of its pair was queued.
    fn is_superseded(&self, server: &Server, number: usize) -> bool {
        let place = |number: usize| server.issued[number].claim.map(|(pair, stamp)| (pair, stamp, number));
        let Some(this) = place(number) else { return false };
        let others = self.whole.keys().filter_map(|&other| place(other));
        others.into_iter().any(|other| other.0 == this.0 && other > this)
    }

    /// The latest claim of each pair.
    pub(super) fn latest_claims(&self, server: &Server) -> Vec<usize> {
        let claims = self.whole.keys().copied().filter(|&number| server.issued[number].claim.is_some());
        claims.filter(|&number| !self.is_superseded(server, number)).collect()
    }
}

/// The record that a line of the outbox holds, to the byte.
fn number_in(server: &Server, line: &[u8]) -> Option<usize> {
    #[derive(Deserialize)]
    struct Line {
        body: Box<RawValue>,
    }
    let line: Line = serde_json::from_slice(line).ok()?;
    server.number_of(line.body.get())
}
