//! Reading a text byte by byte: the only door of the scanner to it, so that a test can count.

/// A text that is scanned. All that the scanner looks for is ASCII, so what it finds begins and ends between characters.
pub(super) struct Text<'t> {
    bytes: &'t [u8],
    #[cfg(test)]
    pub(super) reads: std::cell::Cell<u64>,
}

impl<'t> Text<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        Self {
            bytes,
            #[cfg(test)]
            reads: std::cell::Cell::new(0),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        #[cfg(test)]
        self.reads.set(self.reads.get() + 1);
        self.bytes.get(at).copied()
    }

    /// Whether `wanted` stands at `at`.
    pub(super) fn has(&self, at: usize, wanted: &str) -> bool {
        wanted.bytes().enumerate().all(|(offset, byte)| self.byte(at + offset) == Some(byte))
    }

    /// Where the bytes that are `part` end, from `at` on, at `most` bytes further.
    pub(super) fn run(&self, at: usize, most: usize, part: impl Fn(u8) -> bool) -> usize {
        let last = at.saturating_add(most).min(self.len());
        (at..last).find(|&place| !self.byte(place).is_some_and(&part)).unwrap_or(last.max(at))
    }

    /// Where a run of `part` ends, however long; but before five dashes, which may begin a block of a key.
    pub(super) fn token(&self, at: usize, part: impl Fn(u8) -> bool) -> usize {
        let mut place = at;
        while let Some(byte) = self.byte(place)
            && part(byte)
            && !(byte == b'-' && self.has(place, "-----"))
        {
            place += 1;
        }
        place
    }
}

/// A letter, digit, `_` or `-`: what names and most keys consist of.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
