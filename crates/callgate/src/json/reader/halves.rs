//! Halves: numbers and literals with a comma, a quote or spaces in the middle of them, and telling them from two values.

use super::scalars::{Scan, is_scalar, scalar};
use super::{Advance, Cursor, Reader};
use crate::finding::Span;
use crate::json::meter::looked;
use crate::json::repair::RepairCode;
use crate::json::tape::Kind;

/// The longest half.
const LONGEST: usize = 32;

/// The most white space between two items that is compared.
const LONGEST_SPACE: usize = 256;

/// The two halves of a word, and what stands between them.
#[derive(Clone, Copy, Debug)]
struct Halves<'t> {
    first: &'t str,
    /// The sign between them, or the first byte of the second one.
    between: u8,
    /// How many bytes are between them.
    gap: usize,
    second: &'t str,
}

impl Halves<'_> {
    /// Where the second one ends, counted from the start of the first.
    fn end(&self) -> usize {
        self.first.len() + self.gap + self.second.len()
    }
}

impl Reader {
    /// Reads a literal or number with a comma, a quote or spaces in the middle of it, if the halves are none by
    /// themselves or the spaces in the list say that they are one: `Some` is what to do then.
    pub(super) fn join_halves(
        &mut self,
        cursor: &mut Cursor<'_>,
        len: usize,
        next: usize,
    ) -> Option<Advance> {
        let between = cursor.byte_at(next)?;
        let may_join = matches!(between, b',' | b'"' | b'{' | b'[' | b'-' | b'+' | b'.' | b'0'..=b'9');
        if !self.grammar.restores || !may_join {
            return None;
        }
        let first = cursor.rest().get(..len)?;
        let gap = (next - cursor.at - len).max(1);
        let rest = cursor.rest().get(len + gap..)?;
        let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let end = rest.find(|c: char| !part(c)).unwrap_or(rest.len());
        looked(end);
        if len > LONGEST || end > LONGEST {
            return None;
        }
        if end == rest.len() && !cursor.last {
            return Some(Advance::More);
        }
        let halves = Halves { first, between, gap, second: &rest[..end] };
        let word = format!("{first}{}", halves.second);
        if end == 0 || !is_scalar(&word) {
            return None;
        }
        match self.is_cut(cursor, halves) {
            None => return Some(Advance::More),
            Some(false) => return None,
            Some(true) => {}
        }
        let code = if between == b',' { RepairCode::ExtraComma } else { RepairCode::StrayText };
        self.guess(code, Span::new(cursor.offset() + len, cursor.offset() + len + gap));
        let end = halves.end();
        let scalar = scalar(&word, false)?.spelled(word);
        self.write_scalar(cursor, len, scalar);
        cursor.at += end;
        self.scan = Scan::default();
        self.value_done();
        Some(Advance::Go)
    }

    /// Whether the two are one that was cut in the middle; `None` if more input decides.
    fn is_cut(&self, cursor: &Cursor<'_>, halves: Halves<'_>) -> Option<bool> {
        let Halves { first, between, gap, second } = halves;
        let is_touching = cursor.byte_at(cursor.at + first.len()) == Some(between);
        if matches!(between, b'"' | b'{' | b'[') {
            // Digits on both sides of a quote or opener are one number.
            let after = cursor.byte_at(cursor.at + halves.end());
            return Some(is_touching && matches!(after, Some(b',' | b'}' | b']' | b'\n')));
        }
        if between == b',' {
            if !first.ends_with('.') || !self.in_sequence() || !self.space_before().is_empty() {
                return Some(!is_scalar(first));
            }
            // A number may end with its point, where the commas of the list have no white space behind them. Before the
            // next item the comma has changed places with the digit.
            let follows = self.next_token(cursor, halves.end())?;
            return Some(!matches!(follows, b',' | b']'));
        }
        match is_scalar(first) && is_scalar(second) {
            false => Some(true),
            true => self.are_apart_by_chance(cursor, &cursor.rest()[first.len()..first.len() + gap], halves),
        }
    }

    /// Moves a comma that has changed places with the last digit of a number in a list. The digit stands between the comma
    /// and white space like that before the number, behind which another item follows without a comma.
    pub(super) fn move_comma(&mut self, at: usize) {
        let text = &self.output.text;
        let [.., number, digit] = self.output.tape.nodes() else { return };
        let (start, end) = (number.start(), digit.end());
        let is_list = self.in_sequence() && self.levels.last().is_some_and(|level| level.items > 1);
        let is_swapped = is_list
            && [number.kind, digit.kind] == [Kind::Number; 2]
            && end == text.len()
            && end == digit.start() + 1
            && digit.start() == number.end() + 1
            && text[..number.end() + 1].ends_with(',');
        let space = &text[..start];
        looked(self.gap.len());
        let is_apart = !self.gap.is_empty() && space.ends_with(self.gap.as_str());
        if !is_swapped || !is_apart || space.trim_end().len() + self.gap.len() < start {
            return;
        }
        let word = format!("{}{}", &text[start..number.end()], &text[digit.start()..end]);
        if !is_scalar(&word) {
            return;
        }
        self.freeze();
        self.output.tape.take_back();
        self.output.tape.take_back();
        self.output.text.truncate(start);
        self.output.text.push_str(&word);
        self.output.tape.add_leaf(Kind::Number, None, start, self.output.text.len());
        if let Some(level) = self.levels.last_mut() {
            level.items -= 1;
        }
        let comma = at.saturating_sub(self.gap.len() + ",1".len());
        self.guess_late(RepairCode::ExtraComma, Span::new(comma, comma + 1));
    }

    /// Whether the space between two numbers of a list is one too many, and not all that is left of a comma: the items
    /// around them have other white space between them.
    fn are_apart_by_chance(&self, cursor: &Cursor<'_>, gap: &str, halves: Halves<'_>) -> Option<bool> {
        let is_number = |word: &str| word.ends_with(|c: char| c.is_ascii_digit());
        let lacks_commas =
            || self.repairs.list().iter().any(|repair| repair.code == RepairCode::MissingComma);
        let is_sequence = self.in_sequence() && is_number(halves.first) && is_number(halves.second);
        if !is_sequence || lacks_commas() {
            return Some(false);
        }
        let is_first = self.levels.last().is_some_and(|level| level.items == 0);
        let space = self.space_before();
        match self.next_token(cursor, halves.end())? {
            b']' => Some(space != gap && !(is_first && space.is_empty())),
            b',' if !(is_first && space.is_empty()) => Some(space != gap),
            b',' => {
                // Only the comma behind them tells what stands between items.
                let after = &cursor.rest()[halves.end()..];
                let comma = after.find(',')? + 1;
                let behind = &after[comma..];
                if behind.len() <= gap.len() && gap.starts_with(behind) && !cursor.last {
                    return None;
                }
                let rest = behind.strip_prefix(gap).unwrap_or(" ");
                Some(rest.starts_with([' ', '\t', '\n', '\r']))
            }
            _ => Some(false),
        }
    }

    /// The white space before the value that is read, as far as it is looked at.
    fn space_before(&self) -> &str {
        let text = if self.gap.is_empty() { &self.output.text } else { &self.gap };
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let len = text.bytes().rev().take(LONGEST_SPACE).take_while(|byte| is_space(&byte)).count();
        looked(len);
        &text[text.len() - len..]
    }
}
