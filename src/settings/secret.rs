//! A secret in memory: it can be used, but not printed, logged or serialised by accident (DESIGN §4, G7).

use std::fmt;

/// A bearer token. `Debug` and `Display` show a placeholder, and there is no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// What is shown instead of the value.
const PLACEHOLDER: &str = "[redacted]";

impl Secret {
    /// Takes `value` in.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one header that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secret({PLACEHOLDER})")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(PLACEHOLDER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_never_shows_the_value() {
        let secret = Secret::new("tok-123");
        assert_eq!(format!("{secret} {secret:?} {:#?}", Some(&secret)).matches("tok").count(), 0);
        assert_eq!(secret.expose(), "tok-123");
    }
}
