//! Who holds what, computed from events; pure.
//!
//! Events are folded per (subject, actor) in the order of the stream. A pair is *fresh* while it has a claim, its last
//! claim, heartbeat or release is no release, and its latest stamp is less than its time to live ago. A stamp more than
//! [`MAX_LEAD_MS`] ahead of the judge's clock counts for nothing and flags the pair as skewed; a smaller lead counts as
//! now.

use super::event::{Beat, Kind, MAX_LEAD_MS, Seen};
use super::stamp::{Nearby, Stamp};
use crate::settings::defaults::DEFAULTS;
use crate::sys::order;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

mod answer;

pub use answer::{Holder, Label, Reason, Standing, Verdict, shown};

/// What the events of one (subject, actor) come to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Pair {
    claim: Option<Claim>,
    /// The latest stamp that is not ahead.
    last: Option<Stamp>,
    /// Whether the last claim, heartbeat or release was a release; `None` before the first of them.
    released: Option<bool>,
    skewed: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Claim {
    /// The latest stamp of a claim; `None` where none can be used.
    at: Option<Stamp>,
    ttl_s: u64,
    host: Option<String>,
    branch: Option<String>,
}

impl Pair {
    /// Adds the next event of the pair, as judged at `now_ms`.
    pub fn add(&mut self, seen: &Seen<'_>, now_ms: i64) {
        let stamp = self.alive(seen.at, now_ms);
        match seen.kind {
            Some(Kind::Claim) => {
                let before = self.claim.take().and_then(|claim| claim.at);
                self.claim = Some(Claim {
                    at: later(before, stamp),
                    ttl_s: seen.ttl_s.unwrap_or(DEFAULTS.liveness.ttl_seconds),
                    host: seen.host.as_deref().map(str::to_owned),
                    branch: seen.branch.as_deref().map(str::to_owned),
                });
                self.released = Some(false);
            }
            Some(Kind::Heartbeat) => self.released = Some(false),
            Some(Kind::Release) => self.released = Some(true),
            None => {}
        }
    }

    /// Adds a heartbeat of the pair, as judged at `now_ms`.
    fn beat(&mut self, at: Stamp, now_ms: i64) {
        self.alive(Some(at), now_ms);
        self.released = Some(false);
    }

    /// Notes a sign of life, and returns its stamp if it counts.
    fn alive(&mut self, stamp: Option<Stamp>, now_ms: i64) -> Option<Stamp> {
        let ahead = stamp.is_some_and(|stamp| is_ahead(stamp, now_ms));
        self.skewed |= ahead;
        let stamp = stamp.filter(|_| !ahead);
        self.last = later(self.last, stamp);
        stamp
    }

    /// Adds what came after, folded by itself.
    fn then(&mut self, after: Self) {
        let before = self.claim.take();
        let first = before.as_ref().and_then(|claim| claim.at);
        self.claim = after.claim.map(|claim| Claim { at: later(first, claim.at), ..claim }).or(before);
        self.last = later(self.last, after.last);
        self.released = after.released.or(self.released);
        self.skewed |= after.skewed;
    }

    /// Whether there is a claim, open or not.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.claim.is_some()
    }

    /// Whether the last word was a release.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.released == Some(true)
    }

    /// Whether a stamp was ahead of the judge's clock.
    #[must_use]
    pub fn is_skewed(&self) -> bool {
        self.skewed
    }

    /// Whether the latest sign of life is less than `seconds` ago.
    #[must_use]
    pub fn is_within(&self, seconds: u64, now_ms: i64) -> bool {
        let window = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
        self.last.is_some_and(|last| now_ms.saturating_sub(last.ms) < window)
    }

    /// Whether its actor holds the subject.
    #[must_use]
    pub fn is_fresh(&self, now_ms: i64) -> bool {
        let ttl = self.claim.as_ref().map(|claim| claim.ttl_s);
        !self.is_released() && ttl.is_some_and(|ttl_s| self.is_within(ttl_s, now_ms))
    }

    /// The time to live of its claim, in seconds.
    #[must_use]
    pub fn ttl_s(&self) -> Option<u64> {
        Some(self.claim.as_ref()?.ttl_s)
    }

    /// The latest stamp, in epoch milliseconds.
    #[must_use]
    pub fn last_ms(&self) -> Option<i64> {
        self.last.map(|last| last.ms)
    }

    fn holder(&self, actor: &str) -> Option<Holder> {
        let (claim, last) = (self.claim.as_ref()?, self.last?);
        let claimed = claim.at.unwrap_or(last);
        Some(Holder {
            actor: shown(actor),
            claim_at: claimed.to_string(),
            last_at: last.to_string(),
            ttl_s: claim.ttl_s,
            claim_ms: claimed.ms,
            last_ms: last.ms,
        })
    }
}

/// Whether `stamp` is too far ahead of a clock to be believed.
#[must_use]
pub fn is_ahead(stamp: Stamp, now_ms: i64) -> bool {
    stamp.ms.saturating_sub(now_ms) > MAX_LEAD_MS
}

fn later(one: Option<Stamp>, other: Option<Stamp>) -> Option<Stamp> {
    match (one, other) {
        (Some(one), Some(other)) if other.ms > one.ms => Some(other),
        (one, other) => one.or(other),
    }
}

/// The events of a stream, folded, for one judge.
#[derive(Debug)]
pub struct Fold {
    now_ms: i64,
    only: Option<String>,
    pairs: Vec<Pair>,
    /// The place of each pair, by subject and actor.
    subjects: HashMap<String, HashMap<String, usize>>,
    /// The place of the pair that the bytes of a [`Beat`] name; `None` for one that does not matter here.
    beats: HashMap<Box<[u8]>, Option<usize>>,
    times: Nearby,
}

impl Fold {
    /// A fold of everything, judged at `now_ms`.
    #[must_use]
    pub fn new(now_ms: i64) -> Self {
        Self {
            now_ms,
            only: None,
            pairs: vec![],
            subjects: HashMap::new(),
            beats: HashMap::new(),
            times: Nearby::default(),
        }
    }

    /// A fold of one subject.
    #[must_use]
    pub fn of(subject: &str, now_ms: i64) -> Self {
        Self { only: Some(subject.to_owned()), ..Self::new(now_ms) }
    }

    /// A fold of one subject that goes on from `pairs`.
    #[must_use]
    pub fn resumed(subject: &str, pairs: HashMap<String, Pair>, now_ms: i64) -> Self {
        let mut fold = Self::of(subject, now_ms);
        for (actor, pair) in pairs {
            fold.join(subject, &actor, pair);
        }
        fold
    }

    /// What every line that matters here contains; nothing where every line may. A name of letters, digits, `_`, `.` and
    /// `-` is written as it is by every writer; others may be escaped in more ways than one.
    #[must_use]
    pub fn needle(&self) -> Vec<u8> {
        let plain = |subject: &&str| {
            !subject.is_empty()
                && subject.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        };
        self.only.as_deref().filter(plain).map_or_else(Vec::new, |name| format!("\"{name}\"").into_bytes())
    }

    /// An empty fold for the same judge.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self { only: self.only.clone(), ..Self::new(self.now_ms) }
    }

    /// Adds what came after, folded by itself.
    pub fn then(&mut self, after: Self) {
        let mut pairs: Vec<Option<Pair>> = after.pairs.into_iter().map(Some).collect();
        for (subject, actors) in after.subjects {
            for (actor, place) in actors {
                if let Some(pair) = pairs.get_mut(place).and_then(Option::take) {
                    self.join(&subject, &actor, pair);
                }
            }
        }
    }

    fn join(&mut self, subject: &str, actor: &str, after: Pair) {
        let place = self.place(subject, actor);
        if let Some(pair) = self.pairs.get_mut(place) {
            pair.then(after);
        }
    }

    /// Adds a line of the stream.
    pub fn add(&mut self, line: &[u8]) {
        let beat = Beat::read(line);
        if let Some(beat) = &beat
            && let Some(place) = self.beats.get(beat.pair)
            && let Some(at) = self.times.read(beat.at)
        {
            if let Some(pair) = place.and_then(|place| self.pairs.get_mut(place)) {
                pair.beat(at, self.now_ms);
            }
            return;
        }
        let Some(seen) = Seen::parse(line) else { return };
        let matters = self.only.as_deref().is_none_or(|only| only == seen.subject);
        let place = matters.then(|| self.place(&seen.subject, &seen.actor));
        if let Some(pair) = place.and_then(|place| self.pairs.get_mut(place)) {
            pair.add(&seen, self.now_ms);
        }
        if let Some(beat) = beat {
            self.beats.insert(beat.pair.into(), place);
        }
    }

    /// The place of a pair, a new one where it was not known.
    fn place(&mut self, subject: &str, actor: &str) -> usize {
        let next = self.pairs.len();
        let place = *self.subjects.entry_ref(subject).or_default().entry_ref(actor).or_insert(next);
        if place == next {
            self.pairs.push(Pair::default());
        }
        place
    }

    /// The pairs of a subject, by actor.
    pub fn pairs(&self, subject: &str) -> impl Iterator<Item = (&str, &Pair)> {
        let actors = self.subjects.get(subject).into_iter().flatten();
        actors.filter_map(|(actor, &place)| Some((actor.as_str(), self.pairs.get(place)?)))
    }

    /// One pair.
    #[must_use]
    pub fn pair(&self, subject: &str, actor: &str) -> Option<&Pair> {
        self.pairs.get(*self.subjects.get(subject)?.get(actor)?)
    }

    /// Who holds `subject`, the earliest claim first, equal ones by actor.
    #[must_use]
    pub fn holders(&self, subject: &str) -> Vec<Holder> {
        self.holders_but(subject, None)
    }

    /// Who else than `actor` holds `subject`.
    #[must_use]
    pub fn others(&self, subject: &str, actor: &str) -> Vec<Holder> {
        self.holders_but(subject, Some(actor))
    }

    fn holders_but(&self, subject: &str, except: Option<&str>) -> Vec<Holder> {
        let fresh =
            self.pairs(subject).filter(|(actor, pair)| except != Some(actor) && pair.is_fresh(self.now_ms));
        let mut holders: Vec<Holder> = fresh.filter_map(|(actor, pair)| pair.holder(actor)).collect();
        order::sort_by(&mut holders, |a, b| (a.claim_ms, &a.actor).cmp(&(b.claim_ms, &b.actor)));
        holders
    }

    /// Who should go on where several hold `subject`.
    #[must_use]
    pub fn verdict(&self, subject: &str) -> Verdict {
        let holders = self.holders(subject);
        let (winner, losers, reason) = match holders.as_slice() {
            [winner, losers @ ..] if !losers.is_empty() => {
                let tied = losers.iter().any(|loser| loser.claim_ms == winner.claim_ms);
                let reason = if tied { Reason::TieActorLexicographic } else { Reason::EarlierClaim };
                (Some(winner.clone()), losers.to_vec(), reason)
            }
            _ => (None, vec![], Reason::NoConflict),
        };
        Verdict { subject: shown(subject), winner, losers, reason, holders }
    }

    /// The standing of every claim, by subject and actor.
    #[must_use]
    pub fn standings(&self) -> Vec<Standing> {
        let mut rows = vec![];
        for subject in self.subjects.keys() {
            let held = self.pairs(subject).any(|(_, pair)| pair.is_fresh(self.now_ms));
            for (actor, pair) in self.pairs(subject) {
                let Some(claim) = &pair.claim else { continue };
                let label = match (pair.is_released(), pair.is_fresh(self.now_ms)) {
                    (true, _) => Label::Released,
                    (false, true) => Label::Held,
                    (false, false) if held => Label::Superseded,
                    (false, false) => Label::Reclaimable,
                };
                rows.push(Standing {
                    subject: shown(subject),
                    actor: shown(actor),
                    label,
                    claim_at: claim.at.or(pair.last).map(|at| at.to_string()),
                    last_at: pair.last.map(|last| last.to_string()),
                    age_s: pair.last.map(|last| (self.now_ms.saturating_sub(last.ms)).max(0) / 1000),
                    ttl_s: claim.ttl_s,
                    host: claim.host.as_deref().map(shown),
                    branch: claim.branch.as_deref().map(shown),
                    skewed: pair.skewed,
                });
            }
        }
        order::sort_by(&mut rows, |a, b| (&a.subject, &a.actor).cmp(&(&b.subject, &b.actor)));
        rows
    }
}

#[cfg(test)]
mod tests;
