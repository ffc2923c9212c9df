//! What is answered about a stream, in the shapes of `--json`.

use serde::Serialize;

/// Text of a stream, made safe for a terminal: no control characters, at most `SHOWN` characters.
#[must_use]
pub fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(SHOWN).collect()
}

/// Longer than any actor that Tally makes: three segments of 64.
const SHOWN: usize = 256;

/// Someone who holds a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// Who.
    pub actor: String,
    /// Since when; the last sign of life where no claim has a time.
    #[serde(rename = "claimAt")]
    pub claim_at: String,
    /// The last sign of life.
    #[serde(rename = "lastAt")]
    pub last_at: String,
    /// Seconds that it keeps the claim fresh.
    #[serde(rename = "ttlSeconds")]
    pub ttl_s: u64,
    #[serde(skip)]
    pub(super) claim_ms: i64,
    /// `last_at` in epoch milliseconds.
    #[serde(skip)]
    pub last_ms: i64,
}

/// Why a holder should go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Fewer than two hold the subject.
    NoConflict,
    /// Its claim is the earliest.
    EarlierClaim,
    /// Of the earliest claims, its actor comes first.
    TieActorLexicographic,
}

/// Who should go on (schemas/liveness-verdict.schema.json).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What is held.
    #[serde(rename = "subjectId")]
    pub subject: String,
    /// Who should go on; `None` without a conflict.
    pub winner: Option<Holder>,
    /// Who should yield.
    pub losers: Vec<Holder>,
    /// Why.
    pub reason: Reason,
    /// Everyone who holds it.
    pub holders: Vec<Holder>,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Its actor holds the subject.
    Held,
    /// It ran out, and nobody holds the subject.
    Reclaimable,
    /// Its actor let go.
    Released,
    /// It ran out, and somebody else holds the subject.
    Superseded,
}

impl Label {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Reclaimable => "reclaimable",
            Self::Released => "released",
            Self::Superseded => "superseded",
        }
    }
}

/// One claim and what became of it (schemas/liveness-status.schema.json).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// What was claimed.
    #[serde(rename = "subjectId")]
    pub subject: String,
    /// By whom.
    pub actor: String,
    /// What became of it.
    pub label: Label,
    /// Since when; null where no stamp can be used.
    #[serde(rename = "claimAt")]
    pub claim_at: Option<String>,
    /// The last sign of life; null where no stamp can be used.
    #[serde(rename = "lastAt")]
    pub last_at: Option<String>,
    /// Seconds since then.
    #[serde(rename = "ageSeconds")]
    pub age_s: Option<i64>,
    /// Seconds that a sign of life keeps the claim fresh.
    #[serde(rename = "ttlSeconds")]
    pub ttl_s: u64,
    /// The machine.
    pub host: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// Whether a stamp was ahead of the judge's clock.
    pub skewed: bool,
}
