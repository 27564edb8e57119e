//! Characters: where the bytes of a response stand when it is counted in characters, as Python counts.

#[path = "../../counts.rs"]
mod counts;

pub(crate) use counts::Pair;

pub(crate) type Chars = counts::Counts<false>;

impl Chars {
    /// How many bytes have come.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}
