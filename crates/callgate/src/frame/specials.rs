//! Special tokens: which bytes of a response came as such, and not as text with the same letters.

use crate::dialect::turn::special_part;
use crate::dialect::{Record, tokens};
use crate::finding::Span;

/// The bytes that came as special tokens, in ascending order. Spans that touch are one, so it makes no difference in how
/// many pieces a token came.
#[derive(Debug, Default)]
pub(crate) struct Specials {
    spans: Vec<Span>,
}

impl Specials {
    /// Notes that these bytes, behind all that were noted before, came as special tokens.
    pub(crate) fn add(&mut self, span: Span) {
        match self.spans.last_mut() {
            Some(last) if last.end == span.start => last.end = span.end,
            _ => self.spans.push(span),
        }
    }

    /// Forgets what ended before this position: it is not read again.
    pub(crate) fn forget_before(&mut self, position: usize) {
        let gone = self.spans.partition_point(|span| span.end < position);
        self.spans.drain(..gone);
    }

    /// Whether all of these bytes came as special tokens.
    pub(crate) fn cover(&self, start: usize, end: usize) -> bool {
        let next = self.spans.partition_point(|span| span.end < end);
        self.spans.get(next).is_some_and(|span| span.start <= start)
    }

    /// Whether the special tokens of a literal, which ends at this position, came as such. Tags are such tokens if they are
    /// among the named ones.
    pub(crate) fn cover_literal(&self, literal: &str, named: &[String], end: usize) -> bool {
        let start = end - literal.len();
        special_parts(literal, named).all(|(from, to)| self.cover(start + from, start + to))
    }
}

/// Whether a literal holds special tokens.
pub(crate) fn has_special(literal: &str, named: &[String]) -> bool {
    special_parts(literal, named).next().is_some()
}

/// Whether a call that begins so, without its wrapper, is told from text as one in it: by special tokens of its own where
/// the openers of its dialect hold any.
pub(crate) fn is_told_without_wrapper(bare: &str, record: &Record, named: &[String]) -> bool {
    has_special(bare, named) || !record.openers().iter().any(|opener| has_special(opener.head(), named))
}

/// Where the special tokens of a literal begin and end.
fn special_parts(literal: &str, named: &[String]) -> impl Iterator<Item = (usize, usize)> {
    let mut from = 0;
    tokens(literal).into_iter().filter_map(move |token| {
        let at = from + literal[from..].find(token)?;
        from = at + token.len();
        let part = special_part(token, named)?;
        Some((at + part.start, at + part.end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_special_however_they_were_cut() {
        let mut specials = Specials::default();
        for (start, end) in [(3, 5), (5, 9), (12, 13)] {
            specials.add(Span::new(start, end));
        }
        assert!(specials.cover(3, 9) && specials.cover(4, 6) && specials.cover(12, 13));
        assert!(!specials.cover(2, 5) && !specials.cover(8, 13) && !specials.cover(13, 14));
        specials.forget_before(10);
        assert!(!specials.cover(3, 9) && specials.cover(12, 13));
    }

    #[test]
    fn what_must_be_special_of_a_literal_is_its_tokens() {
        let parts = |literal: &'static str| -> Vec<&str> {
            let named = ["<tool_call>".to_owned()];
            special_parts(literal, &named).map(|(from, to)| &literal[from..to]).collect()
        };
        assert_eq!(parts("<|tool_call_begin|>functions."), ["<|tool_call_begin|>"]);
        assert_eq!(parts("[TOOL_CALLS] ["), ["[TOOL_CALLS]"]);
        assert_eq!(parts("</｜DSML｜invoke>\n<｜DSML｜ calls>"), ["｜DSML｜", "｜DSML｜"]);
        assert_eq!(parts("<|tool_call>call:<ifm|arg_key>"), ["<|tool_call", "<ifm|arg_key"]);
        assert_eq!(parts("<tool_call>\n<function="), ["<tool_call"]);
        assert_eq!(parts("<tool_calls>\n```json\n[\"a|b\"]"), [""; 0]);
    }
}
