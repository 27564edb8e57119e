//! Bytes: a set of them, and where a text of them may be cut.

/// The last place up to `at`, or to the end of the text, before which it may be cut: where a character begins.
pub(crate) fn character_start(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// How tokenizers that work on bytes show a space and a line break, if nobody turns them back.
pub(crate) const LEFT_OVER: [char; 2] = ['Ġ', 'Ċ'];

/// Whether a text, which may be long, holds another.
pub(crate) fn holds(text: &str, part: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some()
}

/// Where a text, which may be long, holds another, which is not empty.
pub(crate) fn places_of<'t>(text: &'t str, part: &'t str) -> impl Iterator<Item = usize> + use<'t> {
    memchr::memmem::find_iter(text.as_bytes(), part.as_bytes())
}

/// Bytes, one bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(crate) fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    pub(crate) fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |byte| self.has(*byte))
    }

    /// What is in this set or in the other.
    pub(crate) fn or(self, other: ByteSet) -> ByteSet {
        ByteSet(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> Self {
        let mut set = ByteSet::default();
        for byte in bytes {
            set.insert(byte);
        }
        set
    }
}
