//! Many values in one text: JSON lines, and values one behind the other.

use std::ops::Range;

use super::{Repaired, finish};
use crate::finding::{Finding, Span};
use crate::json::{Reader, ReaderState, Syntax, Tape};

/// Reads each value of a text that holds several: one in each line, or one behind the other. Each is repaired like a
/// text of its own ([`repair`](crate::repair)); where lines hold one value each, a line that cannot be read costs no
/// other. The places in repairs and errors are those of the whole text.
///
/// ```
/// let values: Vec<_> = callgate::repair_many("{'n': 1}\n{n: 2}\n[3,]", 64).collect::<Result<_, _>>()?;
/// let texts: Vec<_> = values.iter().map(|value| value.text.trim()).collect();
/// assert_eq!(texts, [r#"{"n": 1}"#, r#"{"n": 2}"#, "[3]"]);
/// # Ok::<(), callgate::Finding>(())
/// ```
pub fn repair_many(text: &str, depth: usize) -> impl Iterator<Item = Result<Repaired, Finding>> + '_ {
    Many::new(text, depth).map(|(from, read)| match read {
        Ok(repaired) => Ok(moved(repaired, from.start)),
        Err(finding) => Err(moved_finding(finding, from.start)),
    })
}

/// The values of a text that are still to be read.
pub(super) struct Many<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// Whether each line holds a value.
    has_lines: bool,
}

impl<'t> Many<'t> {
    pub(super) fn new(text: &'t str, depth: usize) -> Self {
        Many { text, at: 0, depth, has_lines: has_lines(text) }
    }
}

impl Iterator for Many<'_> {
    /// Where a value stands, and what it is, with places that count from there.
    type Item = (Range<usize>, Result<Repaired, Finding>);

    fn next(&mut self) -> Option<Self::Item> {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        self.at += self.text[self.at..].bytes().take_while(is_space).count();
        let (from, rest) = (self.at, &self.text[self.at..]);
        if rest.is_empty() {
            return None;
        }
        let line = memchr::memchr(b'\n', rest.as_bytes()).filter(|_| self.has_lines).unwrap_or(rest.len());
        let mut reader =
            Reader::new(Syntax::Json).document().restoring().one_of_many().with_depth(self.depth);
        let used = reader.push(&rest[..line]);
        let read = if reader.state() == ReaderState::Done { used } else { line };
        // An error ends the text, unless the next line is a value of its own.
        let result = finish(reader, read);
        let is_lost = result.is_err() && !self.has_lines;
        self.at = if is_lost { self.text.len() } else { from + read.max(1) };
        Some((from..from + read, result))
    }
}

/// A value that stands this far into the text.
pub(super) fn moved(mut repaired: Repaired, by: usize) -> Repaired {
    for repair in &mut repaired.repairs {
        repair.span = shifted(repair.span, by);
    }
    repaired
}

/// What is wrong this far into the text.
pub(super) fn moved_finding(mut finding: Finding, by: usize) -> Finding {
    finding.span = finding.span.map(|span| shifted(span, by));
    finding
}

fn shifted(span: Span, by: usize) -> Span {
    Span::new(span.start + by, span.end + by)
}

/// Whether each line begins with an object or array and the first is one, so that no value goes on in the next line.
fn has_lines(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines.next() else { return false };
    let begins = |line: &str| line.starts_with(['{', '[']);
    let first = first.trim_end_matches(',');
    begins(first) && Tape::parse(first).is_some() && lines.all(begins)
}
