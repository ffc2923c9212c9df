//! Levels: what an adapter must show to be called one of telemetry, of steering, or of enforcing gates.

use super::fixture::Fixture;
use super::run::Verdict;
use crate::policy::Policy;

/// A level of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Telemetry only: no policy has to be there.
    L0,
    /// Steering, and a Stop gate that warns.
    L1,
    /// All policies, and those that block can.
    L2,
}

impl Level {
    /// All of them, from the lowest.
    pub const ALL: [Self; 3] = [Self::L0, Self::L1, Self::L2];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
        }
    }

    /// The level of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// The policies that it is about.
    #[must_use]
    pub const fn policies(self) -> &'static [Policy] {
        match self {
            Self::L0 => &[],
            Self::L1 => &[Policy::WorkflowSteering, Policy::StopGoalFit],
            Self::L2 => &Policy::ALL,
        }
    }

    /// Whether a fixture has to pass at this level.
    #[must_use]
    pub fn requires(self, fixture: &Fixture) -> bool {
        fixture.level == Self::L0 || (fixture.level <= self && self.policies().contains(&fixture.policy))
    }
}

/// What came of one level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// The level.
    pub level: Level,
    /// Fixtures that have to pass.
    pub required: usize,
    /// Those that do not, by name.
    pub failing: Vec<String>,
    /// Policies of the level that no fixture is about.
    pub unshown: Vec<Policy>,
}

impl Tally {
    /// Whether anything was shown of it. Telemetry leaves no trace in an answer, so of L0 nothing is, unless somebody has a
    /// fixture for it.
    #[must_use]
    pub fn is_tested(&self) -> bool {
        self.required > 0
    }

    /// Whether it is reached, if those below are.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.is_tested() && !self.fails()
    }

    /// Whether it, and all above it, is not reached.
    fn fails(&self) -> bool {
        !self.failing.is_empty() || !self.unshown.is_empty()
    }
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Each level.
    pub levels: Vec<Tally>,
    /// The highest that is reached: it was shown, and none below it fails; `None`: there is none.
    pub highest: Option<Level>,
}

impl Summary {
    /// Adds up a run.
    #[must_use]
    pub fn of(run: &[(Fixture, Verdict)]) -> Self {
        let tally = |level: Level| {
            let required: Vec<_> = run.iter().filter(|(fixture, _)| level.requires(fixture)).collect();
            let failing = required.iter().filter(|(_, verdict)| !verdict.failures.is_empty());
            let shown = |policy: &&Policy| !required.iter().any(|(fixture, _)| fixture.policy == **policy);
            Tally {
                level,
                required: required.len(),
                failing: failing.map(|(fixture, _)| fixture.name.clone()).collect(),
                unshown: level.policies().iter().filter(shown).copied().collect(),
            }
        };
        let levels: Vec<Tally> = Level::ALL.into_iter().map(tally).collect();
        let reached = levels.iter().take_while(|tally| !tally.fails()).filter(|tally| tally.is_tested());
        let highest = reached.last().map(|tally| tally.level);
        Self { levels, highest }
    }
}
