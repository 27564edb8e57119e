//! After a failure: nothing is written any more, but the end of the value must still be found.
//!
//! Only strings with escapes and the depth of brackets count here. An unterminated string runs to the end of the
//! input: looking for calls inside it would run text that was data.

use super::{Advance, Cursor, Reader, ReaderState};

/// Where the lost value is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tracker {
    depth: usize,
    quote: Option<u8>,
    escaped: bool,
    /// Whether parentheses count as brackets.
    parens: bool,
}

impl Tracker {
    pub(super) fn in_string(&self) -> bool {
        self.quote.is_some()
    }
}

impl Reader {
    /// Starts tracking at the place of the failure.
    pub(super) fn start_tracking(&mut self) {
        let depth = self.open_brackets.total();
        let parens = self.grammar.python() || self.open_brackets.count(b')') > 0;
        let quote = self.string.take().and_then(|open| open.style.plain_quote());
        self.tracker = Tracker { depth, quote, escaped: false, parens };
        self.comment = None;
        self.probe = None;
    }

    /// Says that the string in which the failure was noticed has ended.
    pub(super) fn leave_lost_string(&mut self) {
        self.tracker.quote = None;
    }

    pub(super) fn track(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        if self.grammar.document {
            cursor.at = cursor.text.len();
            return Advance::More;
        }
        while let Some(byte) = cursor.byte() {
            let tracker = &mut self.tracker;
            if tracker.depth == 0 && !matches!(byte, b'{' | b'[' | b'(') {
                self.state = ReaderState::Done;
                return Advance::Go;
            }
            if tracker.escaped {
                tracker.escaped = false;
            } else if byte == b'\\' {
                tracker.escaped = true;
            } else if let Some(quote) = tracker.quote {
                if byte == quote {
                    tracker.quote = None;
                }
            } else {
                match byte {
                    b'"' => tracker.quote = Some(byte),
                    b'\'' if self.grammar.python() => tracker.quote = Some(byte),
                    b'{' | b'[' => tracker.depth += 1,
                    b'(' if tracker.parens => tracker.depth += 1,
                    b'}' | b']' if tracker.depth > 0 => tracker.depth -= 1,
                    b')' if tracker.parens && tracker.depth > 0 => tracker.depth -= 1,
                    _ if self.stops_at(cursor, cursor.at) => return Advance::Stop(cursor.at),
                    _ => {}
                }
                if self.tracker.depth == 0 {
                    self.state = ReaderState::Done;
                    // The parenthesis that ends keyword arguments belongs to the frame.
                    cursor.at += usize::from(matches!(byte, b'}' | b']'));
                    return Advance::Go;
                }
            }
            cursor.at += 1;
        }
        Advance::More
    }
}
