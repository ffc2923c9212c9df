//! Whether policies decide, and how strictly: the conf key `policies`.
//!
//! Off until somebody asks for it: an agent that is refused something must know that a person wanted that.

use super::conf::Conf;

/// What policies do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Policies {
    /// Nothing: no policy is asked.
    #[default]
    Off,
    /// What they would refuse is said.
    Warn,
    /// They refuse.
    Block,
}

impl Policies {
    /// The words for it.
    pub const WORDS: [&str; 3] = ["off", "warn", "block"];

    /// What a word says.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word.trim().to_ascii_lowercase().as_str() {
            "off" => Some(Self::Off),
            "warn" => Some(Self::Warn),
            "block" => Some(Self::Block),
            _ => None,
        }
    }

    /// What the conf says. A word that is none is off, with a warning.
    #[must_use]
    pub fn of(conf: Option<&Conf>, warnings: &mut Vec<String>) -> Self {
        let Some(word) = conf.and_then(|conf| conf.get("policies")) else { return Self::Off };
        Self::parse(word).unwrap_or_else(|| {
            warnings.push(format!("policies: not one of {}: off", Self::WORDS.join(", ")));
            Self::Off
        })
    }
}
