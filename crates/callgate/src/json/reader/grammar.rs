//! The grammar: how a value is written, as far as the reader is told.

use std::sync::Arc;

use crate::bytes::ByteSet;

/// How a value is written: what the reader takes as it is, without listing a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON.
    Json,
    /// A Python literal: either quote, `True`, `None`, tuples, trailing commas.
    Python,
    /// Python keyword arguments, from after the opening parenthesis up to the closing one, which is left alone.
    Kwargs,
    /// Bare keys and a private string delimiter.
    Bare,
    /// A line for each member. The lines have a reader of their own; this one reads the values in them, as JSON.
    Lines,
}

/// What a reader was told about the value it reads.
#[derive(Clone, Debug)]
pub(super) struct Grammar {
    pub(super) syntax: Syntax,
    pub(super) quote: Option<Arc<str>>,
    pub(super) max_depth: usize,
    pub(super) stops: ByteSet,
    pub(super) document: bool,
    pub(super) object_root: bool,
    /// Whether stray text is dropped, and what was swallowed put back: the text is read for its own sake.
    pub(super) restores: bool,
    /// Whether the text is known to be only the start of a value, so that nothing is taken that may yet change.
    pub(super) partial: bool,
    /// Whether more values may follow, so that reading ends before the next one.
    pub(super) many: bool,
    /// Whether reading ends with the first fault, because whoever reads wants a value only if it is one.
    pub(super) tentative: bool,
}

impl Grammar {
    /// Whether values are written as Python writes them.
    pub(super) fn python(&self) -> bool {
        matches!(self.syntax, Syntax::Python | Syntax::Kwargs)
    }
}
