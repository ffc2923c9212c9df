//! What the Stop gate finds. A finding weighs what its kind weighs: its text, which repeats what agents and commands wrote,
//! decides nothing.

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It is said and stops nobody.
    Advice,
    /// It stops who is in the middle of a task, for a while.
    Soft,
    /// It also stops who says that the task is done, for a while.
    Firm,
    /// It stops everybody until it is gone.
    Hard,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The task's page says that it is worked on.
    ActiveStatus,
    /// A sidecar that must be there is not.
    RequiredSidecar,
    /// A sidecar is there and cannot be read.
    Unreadable,
    /// A sidecar has not the form that it is read by.
    Invalid,
    /// The state is not one of a task that is done.
    WorkflowState,
    /// The state has a next step.
    NextAction,
    /// What was checked did not all pass.
    EvidenceVerdict,
    /// One check did not pass.
    EvidenceCheck,
    /// The task itself names something that is not verified.
    Gap,
    /// The review did not pass.
    Critique,
    /// A finding of the review is open.
    CritiqueOpen,
    /// Claims speak of commands, and there is no log of any.
    LogMissing,
    /// The log is not what hooks wrote.
    ChainBroken,
    /// Two hooks wrote at once.
    ChainForked,
    /// A command was claimed to pass, and it failed.
    Contradicted,
    /// A search found nothing, which may be good or bad.
    AmbiguousSearch,
    /// Nobody knows how the command ended.
    NoSignal,
    /// The command hides how what it runs ended.
    Laundered,
    /// A command was claimed to pass, and nobody saw it run.
    NeverCaptured,
    /// There is no command by which a claim could be checked.
    MalformedEvidence,
    /// There is one, in a file that somebody else may have written.
    NotAsWritten,
    /// The claim was checked, and it does not hold.
    BackstopFailed,
    /// A claim that matters is disputed.
    Disputed,
    /// A claim that matters says otherwise than its evidence.
    Tampered,
    /// A claim that matters, or the whole task, has nothing to show for itself.
    Unsupported,
    /// The step that is worked on expects nothing.
    GateMisconfigured,
    /// There is neither state nor evidence.
    NothingRecorded,
    /// Acceptance criteria are open.
    Pending,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// How much it weighs.
    pub weight: Weight,
    /// What it is about: with the kind, what tells it from others. Never an age or a count.
    pub about: String,
    /// The line for the agent.
    pub text: String,
}

impl Finding {
    /// A finding.
    pub(super) fn new(kind: Kind, weight: Weight, about: impl Into<String>, text: String) -> Self {
        Self { kind, weight, about: about.into(), text }
    }

    /// Whether it stops a task that is `open`: worked on, and neither planned only nor done.
    #[must_use]
    pub fn blocks(&self, open: bool) -> bool {
        self.weight >= if open { Weight::Soft } else { Weight::Firm }
    }
}
