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

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Block => "block",
        }
    }

    /// What a word says.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        [Self::Off, Self::Warn, Self::Block].into_iter().find(|mode| word.eq_ignore_ascii_case(mode.as_str()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn policies_are_off_until_the_conf_says_otherwise() {
        let mut warnings = vec![];
        let mut of =
            |text: &str| Policies::of(Some(&Conf::parse(Path::new("/c"), text.as_bytes())), &mut warnings);
        assert_eq!(of(""), Policies::Off);
        assert_eq!(of("policies = Block"), Policies::Block);
        assert_eq!(of("policies=warn"), Policies::Warn);
        assert_eq!(of("policies=sometimes"), Policies::Off);
        assert_eq!(warnings, ["policies: not one of off, warn, block: off"]);
        assert!(Policies::WORDS.into_iter().all(|word| Policies::parse(word).is_some()));
    }
}
