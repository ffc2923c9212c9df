//! The closed vocabularies, in canonical order: every table, report and message lists them in this order.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use std::fmt;

/// Declares a closed set of words as an enum.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every value, in canonical order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The value that `word` names, which must be spelled exactly.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let word = String::deserialize(from)?;
                Self::parse(&word).ok_or_else(|| D::Error::custom(format!("{word:?} is not one of its words")))
            }
        }
    };
}

words! {
    /// How faithfully a host supports a thing.
    ///
    /// ```
    /// use tally::hosts::Fidelity;
    /// assert_eq!(Fidelity::parse("static-only"), Some(Fidelity::StaticOnly));
    /// assert!(Fidelity::Approximated.can_influence() && !Fidelity::Observational.can_influence());
    /// ```
    Fidelity {
        /// The host has it.
        Native = "native",
        /// The host has a neighbour that stands in for it.
        Approximated = "approximated",
        /// It can be watched.
        Observational = "observational",
        /// It is text that was there before the run.
        StaticOnly = "static-only",
        /// The host does not have it.
        Unavailable = "unavailable",
    }
}

impl Fidelity {
    /// Whether a thing of this fidelity can change what the host does.
    #[must_use]
    pub const fn can_influence(self) -> bool {
        matches!(self, Self::Native | Self::Approximated)
    }
}

words! {
    /// A moment in the life of a run.
    ///
    /// ```
    /// use tally::hosts::Phase;
    /// assert_eq!(Phase::parse("before-tool"), Some(Phase::BeforeTool));
    /// assert_eq!(Phase::ALL.len(), 5);
    /// ```
    Phase {
        /// The session starts or goes on.
        SessionStart = "session-start",
        /// A prompt is about to reach the model.
        BeforeModel = "before-model",
        /// A tool is about to be used.
        BeforeTool = "before-tool",
        /// A tool was used.
        AfterTool = "after-tool",
        /// The agent wants to stop.
        Stop = "stop",
    }
}

words! {
    /// What can be installed in a host.
    ///
    /// ```
    /// use tally::hosts::AssetKind;
    /// assert_eq!(AssetKind::ALL.first(), Some(&AssetKind::Skill));
    /// ```
    AssetKind {
        /// A skill.
        Skill = "skill",
        /// An agent.
        Agent = "agent",
        /// A hook.
        Hook = "hook",
        /// A prompt.
        Prompt = "prompt",
        /// A command.
        Command = "command",
        /// Context: text that every session starts with.
        Context = "context",
    }
}

words! {
    /// What an application decides at a lifecycle event.
    ///
    /// ```
    /// use tally::hosts::Decision;
    /// assert_eq!(Decision::Deny.to_string(), "deny");
    /// assert_eq!(Decision::parse("DENY"), None);
    /// ```
    Decision {
        /// Go on.
        Allow = "allow",
        /// Do not.
        Deny = "deny",
        /// No opinion.
        Observe = "observe",
    }
}

words! {
    /// Why an asset was not installed.
    SkipReason {
        /// The host does not have the kind, or no binding can install it.
        Unsupported = "unsupported",
        /// The binding named no target.
        Unmapped = "unmapped",
    }
}

words! {
    /// What evidence proves.
    EvidenceScope {
        /// The adapter keeps the contract; its bindings stand in for a host.
        AdapterContract = "adapter-contract",
        /// The adapter keeps the contract in a host of this id and version, with its own bindings.
        HostBound = "host-bound",
    }
}

words! {
    /// How a probe ended.
    Status {
        /// It holds.
        Pass = "pass",
        /// It does not.
        Fail = "fail",
    }
}

words! {
    /// How a host takes what is given to it.
    Shape {
        /// Through files that it reads.
        Manifest = "manifest",
        /// Through calls in its own process.
        InProcess = "in-process",
    }
}
