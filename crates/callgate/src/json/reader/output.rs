//! What the reader writes: a text and the tape of its values, kept in step.

use crate::json::tape::{Kind, Tape};

/// A text in the making and its tape.
#[derive(Clone, Debug, Default)]
pub(super) struct Output {
    pub(super) text: String,
    pub(super) tape: Tape,
}

impl Output {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.tape.clear();
    }

    /// Makes room for the value of so many bytes of input, which is moved each time it grows.
    pub(super) fn expect(&mut self, input: usize) {
        // Quotes and escapes make what is mended longer.
        self.text.reserve(input + input / 4);
        self.tape.expect(input);
    }

    /// Starts a value at the end of the text.
    pub(super) fn open(&mut self, kind: Kind, key: Option<(usize, usize)>) -> usize {
        self.tape.open(kind, key, self.text.len())
    }

    /// Ends a value at the end of the text.
    pub(super) fn close(&mut self, node: usize) {
        self.tape.close(node, self.text.len());
    }

    /// Whether the value is an object with nothing in it.
    pub(super) fn is_empty_object(&self) -> bool {
        matches!(self.tape.nodes(), [only] if only.kind == Kind::Object)
    }
}
