//! Fields: what words become, as far as that is known.

/// A piece of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bit {
    /// This character.
    Char(char),
    /// `?`, `[…]`: one character of a file's name.
    One,
    /// `*`: any characters of a file's name.
    Star,
    /// What only a run would tell.
    Any,
}

/// An argument, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Field {
    /// Its pieces.
    pub bits: Vec<Bit>,
    /// What is not known of it, as it stands in the text: `$NAME`.
    pub unknown: Option<String>,
}

impl Field {
    /// A field that is known.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self { bits: text.chars().map(Bit::Char).collect(), unknown: None }
    }

    /// A field of which nothing is known.
    #[must_use]
    pub fn any(what: &str) -> Self {
        Self { bits: vec![Bit::Any], unknown: Some(what.to_owned()) }
    }

    /// Its text, if all of it is known.
    #[must_use]
    pub fn literal(&self) -> Option<String> {
        let chars = self.bits.iter().map(|bit| match bit {
            Bit::Char(c) => Some(*c),
            _ => None,
        });
        chars.collect()
    }

    /// The field that [`Field::shown`] shows, or a part of it: what is not known is not known here, too.
    #[must_use]
    pub fn again(shown: &str) -> Self {
        let bit = |c| if c == '…' { Bit::Any } else { Bit::Char(c) };
        let unknown = shown.contains('…').then(|| shown.to_owned());
        Self { bits: shown.chars().map(bit).collect(), unknown }
    }

    /// Several, with a blank between two.
    #[must_use]
    pub fn joined(fields: &[Self]) -> Self {
        let mut joined = Self::default();
        for (at, field) in fields.iter().enumerate() {
            joined.bits.extend((at > 0).then_some(Bit::Char(' ')));
            joined.push(field);
        }
        joined
    }

    /// Whether it is this text, and all of it is known.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.bits.iter().copied().eq(text.chars().map(Bit::Char))
    }

    /// Whether nothing is known of it.
    #[must_use]
    pub fn is_any(&self) -> bool {
        !self.bits.is_empty() && self.bits.iter().all(|bit| *bit == Bit::Any)
    }

    /// Whether it has a glob.
    #[must_use]
    pub fn is_glob(&self) -> bool {
        self.bits.iter().any(|bit| matches!(bit, Bit::One | Bit::Star))
    }

    /// Its text for people: what is not known is `…`.
    #[must_use]
    pub fn shown(&self) -> String {
        let shown = self.bits.iter().map(|bit| match bit {
            Bit::Char(c) => *c,
            Bit::One => '?',
            Bit::Star => '*',
            Bit::Any => '…',
        });
        shown.collect()
    }

    /// Adds what `other` holds.
    pub fn push(&mut self, other: &Self) {
        self.bits.extend(&other.bits);
        self.unknown = self.unknown.take().or_else(|| other.unknown.clone());
    }

    /// The field after its first `length` pieces.
    #[must_use]
    pub fn after(&self, length: usize) -> Self {
        Self { bits: self.bits.iter().skip(length).copied().collect(), unknown: self.unknown.clone() }
    }

    /// The fields between white space; none of them is empty.
    #[must_use]
    pub fn words(&self) -> Vec<Self> {
        let blank = |bit: &Bit| matches!(bit, Bit::Char(c) if c.is_whitespace());
        let words = self.bits.split(blank).filter(|bits| !bits.is_empty());
        words.map(|bits| Self { bits: bits.to_vec(), unknown: self.unknown.clone() }).collect()
    }

    /// The fields between `separator`s.
    #[must_use]
    pub fn parts(&self, separator: char) -> Vec<Self> {
        let part = |bits: &[Bit]| Self { bits: bits.to_vec(), unknown: self.unknown.clone() };
        self.bits.split(|bit| *bit == Bit::Char(separator)).map(part).collect()
    }
}
