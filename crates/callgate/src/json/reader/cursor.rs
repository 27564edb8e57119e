//! The cursor: the input that is at hand, and how far it has been read.

use crate::finding::Span;
use crate::json::meter::looked;

/// The input of one run of the machine.
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    /// Where in the input `text` starts.
    pub(super) base: usize,
    /// Whether nothing follows `text`.
    pub(super) last: bool,
}

impl<'t> Cursor<'t> {
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn byte(&self) -> Option<u8> {
        self.byte_at(self.at)
    }

    pub(super) fn byte_at(&self, at: usize) -> Option<u8> {
        looked(1);
        self.text.as_bytes().get(at).copied()
    }

    pub(super) fn offset(&self) -> usize {
        self.base + self.at
    }

    /// The place in the input of the next `len` bytes.
    pub(super) fn span(&self, len: usize) -> Span {
        Span::new(self.offset(), self.offset() + len)
    }
}

/// What a step of the machine did.
pub(super) enum Advance {
    /// It changed the state or moved on.
    Go,
    /// It cannot decide before there is more input.
    More,
    /// The open string ended before its last bytes, which are these, and they are read again.
    Back(String),
    /// It met a stop byte here.
    Stop(usize),
}
