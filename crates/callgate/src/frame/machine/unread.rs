//! Unread text: what looks like a call and was read as none, and how text begins that may be one as a whole.

use super::super::expression::{AskedFormats, is_call};
use crate::bytes::character_start;
use crate::finding::Span;

/// How much of the text from the first name on is kept.
const LONGEST: usize = 4096;

/// How much of the beginning of a text tells whether it is a call.
const HEAD: usize = 256;

/// How much of the end of a text tells whether it is a call.
const END: usize = 64;

/// Text that looks like calls and was read as none.
#[derive(Debug)]
pub(crate) struct Unread {
    /// The text, from a little before the first name on, as much as is kept.
    pub(crate) text: String,
    /// From the first name to the last.
    pub(crate) span: Span,
    /// How many names there are.
    pub(crate) names: usize,
    /// Whether all of the text is a call, whoever it calls.
    pub(crate) is_whole: bool,
    /// Where the text begins in the input.
    pub(super) start: usize,
    pub(crate) place: UnreadPlace,
    /// Whether a code fence begins with it, so that it is shown as a call and is no part of a program.
    pub(crate) is_shown: bool,
}

/// Where text stands that looks like a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum UnreadPlace {
    #[default]
    Text,
    /// A code fence, where it is a call only to a dialect that writes fences.
    Fence,
    /// A quotation or a code span, where a call is dead.
    Dead,
}

impl Unread {
    /// What stands here, of which the text is kept from `start` on.
    pub(super) fn begin(span: Span, start: usize, place: UnreadPlace) -> Unread {
        Unread { text: String::new(), span, names: 1, is_whole: false, start, place, is_shown: false }
    }

    /// Keeps text that follows what is kept already.
    pub(super) fn keep(&mut self, text: &str, start: usize) {
        if start == self.start + self.text.len() {
            self.text.push_str(&text[..character_start(text, LONGEST - self.text.len().min(LONGEST))]);
        }
    }
}

/// The beginning of a text without a gap.
#[derive(Debug, Default)]
pub(super) struct TextHead {
    text: String,
    start: usize,
    /// Whether there is more than is kept.
    is_cut: bool,
}

impl TextHead {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether nothing more will be kept.
    pub(super) fn is_full(&self) -> bool {
        self.is_cut
    }

    /// Another text begins here.
    pub(super) fn begin(&mut self, start: usize) {
        self.text.clear();
        (self.start, self.is_cut) = (start, false);
    }

    pub(super) fn keep(&mut self, text: &str) {
        if !self.is_full() {
            let kept = character_start(text, HEAD - self.text.len());
            self.is_cut = kept < text.len();
            self.text.push_str(&text[..kept]);
        }
    }

    /// Where the text stands and what it spans, if all of it is a call: it begins like this, and ends with what was kept
    /// from `start` on.
    pub(super) fn expression(
        &self,
        kept: &str,
        start: usize,
        asked: AskedFormats,
    ) -> Option<(UnreadPlace, Span)> {
        let lead = self.text.trim_start();
        let end = &kept[character_start(kept, kept.len().saturating_sub(END))..];
        let is_call = !lead.is_empty() && is_call(lead, !self.is_cut, end, asked);
        let place = match () {
            () if lead.starts_with('>') => UnreadPlace::Dead,
            () if lead.starts_with("```") => UnreadPlace::Fence,
            () => UnreadPlace::Text,
        };
        let begin = self.start + self.text.len() - lead.len();
        is_call.then(|| (place, Span::new(begin, start + kept.trim_end().len())))
    }
}
