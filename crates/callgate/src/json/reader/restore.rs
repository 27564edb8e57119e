//! Restoring: what a missing quote or bracket has swallowed is put back where it belongs.
//!
//! A string without its second quote runs on until another quote opens a key or an item. What it swallowed can only be
//! structure: commas, brackets and plain values. That much is read once more, as structure; no byte is read again twice,
//! because what is read again holds no quotes. What was shown of the value stays as it was, and the repair is late.

use super::levels::{Level, LevelKind};
use super::quotes::Style;
use super::strings::OpenString;
use super::structure::Expects;
use super::swallowed::{Then, as_written, is_structure, swallowed, trimmed};
use super::{Advance, Cursor, Reader, Syntax};
use crate::finding::{Code, Span};
use crate::json::meter::looked;
use crate::json::repair::{Repair, RepairCode, Safety};
use crate::json::tape::Kind;

impl Reader {
    /// Whether what the open string holds ends so that another string may open here.
    pub(super) fn may_open_here(&self, style: Style, key: bool) -> bool {
        if !self.grammar.restores || !matches!(style, Style::Double | Style::Single) {
            return false;
        }
        match self.written_before_spaces() {
            // A key that ends with its colon needs no look at what was swallowed.
            [.., b':'] => !key,
            [.., b',' | b'{' | b'[' | b'}' | b']'] | [.., b'\\', b'n' | b't'] => true,
            _ => false,
        }
    }

    /// Whether what was written last, apart from spaces, is a colon.
    pub(super) fn ends_with_colon(&self) -> bool {
        self.written_before_spaces().ends_with(b":")
    }

    /// What was written last, without the spaces at the end, as far as it is looked at.
    fn written_before_spaces(&self) -> &[u8] {
        const LONGEST_SPACE: usize = 256;
        let bytes = self.output.text.as_bytes();
        let held = &bytes[bytes.len().saturating_sub(LONGEST_SPACE)..];
        let spaces = held.iter().rev().take_while(|byte| **byte == b' ').count();
        looked(spaces);
        &held[..held.len() - spaces]
    }

    /// Ends the open string before the structure that it swallowed, which is then read again.
    pub(super) fn go_back(&mut self, open: &OpenString, key: bool) -> Option<Advance> {
        self.end_before(open, if key { Then::Key } else { Then::Item }).map(Advance::Back)
    }

    /// The same at the end of the input, where all that is open is closed by what was swallowed.
    pub(super) fn go_back_at_end(&mut self) -> Option<String> {
        let open = self.string.filter(|_| self.closing && self.grammar.restores && self.window.is_empty())?;
        self.end_before(&open, Then::End).or_else(|| self.end_with_other_quote(&open))
    }

    /// A key that begins with a double quote and never ends may have ended with a single one.
    fn end_with_other_quote(&mut self, open: &OpenString) -> Option<String> {
        let content = self.output.text.get(open.start + 1..)?;
        looked(content.len());
        let (key, rest) = content.split_once("':")?;
        if !open.key || open.style != Style::Double || rest.contains('\\') {
            return None;
        }
        let back = format!(":{rest}");
        let end = open.start + 1 + key.len();
        self.output.text.truncate(end);
        Some(back)
    }

    fn end_before(&mut self, open: &OpenString, then: Then) -> Option<String> {
        let content = self.output.text.get(open.start + 1..)?;
        let raw_lines = open.doubts.has_raw_lines();
        if !open.key && is_structure(content, raw_lines, &self.levels, then) {
            return Some(self.undo_string(open, raw_lines));
        }
        let end = swallowed(content, open.key, raw_lines, &self.levels, then)?;
        let end = trimmed(&content[..end], raw_lines).len();
        let written = &content[end..];
        let kept = without_typographic_quote(&content[..end]).len();
        let back = as_written(written, raw_lines);
        if !open.key {
            self.freeze();
        }
        self.output.text.truncate(open.start + 1 + kept);
        Some(back)
    }

    /// Takes a string back whose opening quote was one too many. Says what is to be read again.
    fn undo_string(&mut self, open: &OpenString, raw_lines: bool) -> String {
        self.freeze();
        let content = self.output.text.split_off(open.start);
        let back = as_written(&content[1..], raw_lines);
        self.key = self.output.tape.take_back();
        self.string = None;
        back
    }

    /// Ends the string that was cut short before this place of the input.
    pub(super) fn close_before(&mut self, at: usize) {
        if self.string.is_none() {
            self.repairs.take_back(RepairCode::RawControlChar, at);
            self.guess_late(RepairCode::StrayText, Span::new(at - 1, at));
            return;
        }
        self.repairs.take_back(RepairCode::RawControlChar, at);
        let (code, safety, span) = (RepairCode::MissingQuote, Safety::Guess, Span::new(at, at));
        let late = self.string.is_some_and(|open| !open.key);
        self.repairs.add_apart(Repair { code, safety, span, late, count: 1 });
        self.close_string();
    }

    /// Keeps what is shown as it is, because something in it is about to change.
    pub(super) fn freeze(&mut self) {
        self.around.freeze(&self.output, self.string.filter(|open| open.key).map(|open| open.start));
    }

    /// Lists a guess that changes what was shown.
    pub(super) fn guess_late(&mut self, code: RepairCode, span: Span) {
        self.repairs.add_apart(Repair { code, safety: Safety::Guess, span, late: true, count: 1 });
    }

    /// Moves a quote that stands behind the comma or colon that it belongs before; `false` if there is none.
    pub(super) fn move_quote(&mut self, cursor: &mut Cursor<'_>, open: &OpenString, len: usize) -> bool {
        let sign = if open.key { ':' } else { ',' };
        let content = &self.output.text[open.start + 1..];
        if content.len() < 2 || !content.ends_with(sign) || self.grammar.syntax != Syntax::Json {
            return false;
        }
        if !self.grammar.restores {
            let message = "a quote and the comma or colon before it have changed places";
            self.fail(Code::RepairRefused, cursor.offset(), message);
            self.leave_lost_string();
            cursor.at += len;
            return true;
        }
        if !open.key {
            self.freeze();
        }
        let span = Span::new(cursor.offset() - 1, cursor.offset() + len);
        self.output.text.pop();
        self.guess_late(RepairCode::SwappedQuote, span);
        self.list_doubts(cursor.span(len));
        self.close_string();
        cursor.at += len;
        if open.key {
            self.output.text.push(':');
            self.expects = Expects::Value;
        } else if !self.levels.is_empty() {
            self.comma = Some((self.gap.len(), span.start));
            self.gap.push(',');
            self.expects = if self.in_sequence() { Expects::Value } else { Expects::Key };
        }
        true
    }

    /// A single line break at the end of a string belongs behind its quote.
    pub(super) fn move_line_break(&mut self, quote: Span) {
        if self.string.is_some_and(|open| !open.key) {
            self.freeze();
        }
        let shorter = self.output.text.len() - "\\n".len();
        self.output.text.truncate(shorter);
        let start = quote.start.saturating_sub(1);
        self.repairs.take_back(RepairCode::RawControlChar, start);
        self.guess_late(RepairCode::SwappedQuote, Span::new(start, quote.end));
    }

    /// Whether the string before ends with a comma, so that the quote behind that may belong before the next key.
    pub(super) fn follows_comma_in_string(&self) -> bool {
        let Some(content) = self.output.text.trim_end().strip_suffix('"') else { return false };
        self.grammar.restores && trimmed(content, true).ends_with(',')
    }

    /// Drops a quote right behind the one that opened the string.
    pub(super) fn drop_doubled_quote(
        &mut self,
        cursor: &mut Cursor<'_>,
        open: &OpenString,
        len: usize,
    ) -> bool {
        let is_empty = self.output.text.len() == open.start + 1;
        if !self.grammar.restores
            || !is_empty
            || open.doubled
            || !matches!(open.style, Style::Double | Style::Single)
        {
            return false;
        }
        self.guess(RepairCode::DoubledQuote, cursor.span(len));
        cursor.at += len;
        if let Some(open) = &mut self.string {
            open.doubled = true;
        }
        true
    }

    /// Drops one of the two backslashes before a quote that does not end its string: one was to escape it.
    pub(super) fn drop_doubled_backslash(
        &mut self,
        cursor: &mut Cursor<'_>,
        open: &OpenString,
        len: usize,
    ) -> bool {
        if !self.grammar.restores || !self.follows_two_backslashes(open) {
            return false;
        }
        self.freeze();
        self.output.text.pop();
        self.output.text.push('"');
        self.guess_late(RepairCode::EscapedQuotes, Span::new(cursor.offset() - 1, cursor.offset() + len));
        if let Some(open) = &mut self.string {
            open.doubts.escaped_quotes += 1;
        }
        cursor.at += len;
        true
    }

    /// Makes the string that was read as a value the key that it must be: a bracket is missing before it.
    pub(super) fn make_key(&mut self, cursor: &mut Cursor<'_>, open: &OpenString, len: usize) -> bool {
        let is_fit = self.grammar.restores && !open.key && !open.doubts.has_quotes();
        if !is_fit || self.levels.len() >= self.grammar.max_depth {
            return false;
        }
        let items = self.levels.last().map_or(0, |level| level.items);
        let parent = self.levels.len().checked_sub(2).and_then(|at| self.levels.get(at)).map(Level::kind);
        let closes = self.in_sequence() && items > 0 && parent.is_some_and(LevelKind::is_object);
        self.freeze();
        let mut content = self.output.text.split_off(open.start);
        self.key = self.output.tape.take_back();
        self.string = None;
        let span = cursor.span(0);
        // The bracket may stand behind the quote that it belongs before.
        let is_swapped = !closes && content.starts_with("\"{");
        if is_swapped {
            content.remove(1);
        }
        if closes {
            self.close_before_comma(cursor.offset());
            self.guess_late(RepairCode::MissingCloser, span);
        } else {
            self.open_level(LevelKind::Brace);
            let code = if is_swapped { RepairCode::SwappedQuote } else { RepairCode::MissingOpener };
            self.guess_late(code, span);
        }
        let start = self.output.text.len();
        self.output.text.push_str(&content);
        self.output.text.push('"');
        self.key = Some((start, self.output.text.len()));
        self.expects = Expects::Colon;
        cursor.at += len;
        true
    }

    /// Closes the innermost level before the comma that was written last.
    fn close_before_comma(&mut self, at: usize) {
        let text = &self.output.text;
        let end = text.trim_end();
        let end = end.strip_suffix(',').unwrap_or(end).trim_end().len();
        looked(text.len() - end);
        let gap = self.output.text.split_off(end);
        self.close_level(at);
        self.output.text.push_str(&gap);
    }

    /// An object is not closed before the next item of the array that it stands in; `false` if it stands in none.
    pub(super) fn close_before_item(&mut self, at: usize) -> bool {
        let parent = self.levels.len().checked_sub(2).and_then(|at| self.levels.get(at)).map(Level::kind);
        let items = self.levels.last().map_or(0, |level| level.items);
        if !self.grammar.restores || items == 0 || parent != Some(LevelKind::Bracket) {
            return false;
        }
        let (gap, comma) = (std::mem::take(&mut self.gap), self.comma.take());
        self.guess(RepairCode::MissingCloser, Span::new(at, at));
        self.close_level(at);
        self.gap = gap;
        self.comma = comma;
        self.expects = if comma.is_some() { Expects::Value } else { Expects::After };
        true
    }

    /// The key that was read last has no colon, but its object stands in an array: it is an item of that.
    pub(super) fn make_item(&mut self, at: usize) -> bool {
        let parent = self.levels.len().checked_sub(2).and_then(|at| self.levels.get(at)).map(Level::kind);
        let items = self.levels.last().map_or(0, |level| level.items);
        let Some((start, _)) = self.key else { return false };
        if !self.grammar.restores || items == 0 || parent != Some(LevelKind::Bracket) {
            return false;
        }
        self.freeze();
        self.key = None;
        let item = self.output.text.split_off(start);
        self.guess_late(RepairCode::MissingCloser, Span::new(at, at));
        self.close_before_comma(at);
        let start = self.output.text.len();
        self.output.text.push_str(&item);
        self.take_value(Kind::String, start, self.output.text.len());
        self.expects = Expects::After;
        true
    }

    /// Drops the member or item that the end of the input cuts in half, with the comma before it.
    pub(super) fn drop_half(&mut self, at: usize) -> bool {
        // Where nothing else was read, nothing would be left but brackets.
        let is_all = matches!(self.levels[..], [Level { items: 0, .. }]);
        let is_nothing = self.levels.is_empty() || self.output.tape.nodes().is_empty();
        if !self.grammar.restores || is_nothing || is_all && !self.grammar.partial {
            return false;
        }
        let start = match (self.string, self.key) {
            (Some(open), _) if open.key => open.start,
            (_, Some((start, _))) => start,
            _ => self.output.text.len(),
        };
        let from = self.base.min(at);
        self.freeze();
        (self.string, self.key, self.comma) = (None, None, None);
        self.gap.clear();
        self.window.clear();
        let kept = self.output.text[..start].trim_end();
        let kept = kept.strip_suffix(',').unwrap_or(kept).trim_end().len();
        looked(start - kept);
        self.output.text.truncate(kept);
        self.guess_late(RepairCode::HalfMember, Span::new(from, at));
        self.cut = true;
        self.expects = Expects::After;
        true
    }
}

impl Reader {
    /// Digits where a key should stand, right behind a number and a comma: the comma belongs to the number, which is
    /// one with groups of thousands, or else text. `Some` is what to do then.
    pub(super) fn join_number(&mut self, cursor: &mut Cursor<'_>) -> Option<Advance> {
        let last = self.output.tape.nodes().last()?;
        let (start, end) = (last.start(), last.end());
        let is_number = last.kind == Kind::Number && end == self.output.text.len();
        if !self.grammar.restores || !is_number || self.gap != "," {
            return None;
        }
        let rest = cursor.rest().as_bytes();
        let part = |at: usize| match rest.get(at) {
            Some(b',') => rest.get(at + 1).is_some_and(u8::is_ascii_digit),
            byte => byte.is_some_and(|byte| {
                byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-')
            }),
        };
        const LONGEST_NUMBER: usize = 64;
        let len = (0..LONGEST_NUMBER).take_while(|at| part(*at)).count();
        match rest.get(len) {
            None if !cursor.last => return Some(Advance::More),
            Some(b',') if rest.len() == len + 1 && !cursor.last => return Some(Advance::More),
            Some(b',' | b'}' | b' ' | b'\n' | b'\r' | b'\t') if len < LONGEST_NUMBER => {}
            _ => return None,
        }
        let text = format!("{},{}", &self.output.text[start..end], &cursor.rest()[..len]);
        let span = Span::new(cursor.offset() - 1, cursor.offset() + len);
        self.freeze();
        self.key = self.output.tape.take_back();
        self.output.text.truncate(start);
        self.gap.clear();
        self.comma = None;
        let kind = if has_thousands(&text) { Kind::Number } else { Kind::String };
        if kind == Kind::Number {
            self.output.text.push_str(&text.replace(',', ""));
            self.guess_late(RepairCode::NumberFormat, span);
        } else {
            self.output.text.push_str(&format!("\"{text}\""));
            self.guess_late(RepairCode::UnquotedString, span);
        }
        self.output.tape.add_leaf(kind, self.key.take(), start, self.output.text.len());
        cursor.at += len;
        self.expects = Expects::After;
        Some(Advance::Go)
    }

    /// Takes the brackets away that were written for parentheses around a single plain value.
    pub(super) fn unwrap_single(&mut self, level: &Level) -> bool {
        let [.., list, item] = self.output.tape.nodes() else { return false };
        let is_last = level.node() + 2 == self.output.tape.nodes().len();
        if !self.grammar.restores || !is_last || matches!(item.kind, Kind::Object | Kind::Array) {
            return false;
        }
        let (kind, start, from, to) = (item.kind, list.start(), item.start(), item.end());
        self.freeze();
        self.output.tape.take_back();
        self.key = self.output.tape.take_back();
        let value = self.output.text[from..to].to_owned();
        self.gap.clear();
        self.output.text.truncate(start);
        self.output.text.push_str(&value);
        self.output.tape.add_leaf(kind, self.key.take(), start, start + value.len());
        true
    }

    /// Opens the value of the document again, which a closer too many has ended before the comma that was read last.
    pub(super) fn reopen(&mut self, comma: usize) -> bool {
        let Some(root) = self.output.tape.nodes().first() else { return false };
        let (end, is_empty) = (root.end(), root.after() == 1);
        let kind = match root.kind {
            Kind::Object => LevelKind::Brace,
            Kind::Array => LevelKind::Bracket,
            _ => return false,
        };
        self.freeze();
        self.output.text.truncate(end - 1);
        self.repairs.take_back(RepairCode::TrailingComma, comma);
        self.guess_late(RepairCode::ExtraCloser, Span::new(comma, comma));
        self.push_level(kind, 0);
        if let Some(level) = self.levels.last_mut().filter(|_| !is_empty) {
            level.items = 1;
            self.gap.push(',');
            self.comma = Some((0, comma));
        }
        self.expects = if kind == LevelKind::Brace { Expects::Key } else { Expects::Value };
        true
    }
}

/// The text without the typographic quote at its end that was to close it: one that nothing in the text opens.
fn without_typographic_quote(text: &str) -> &str {
    for (opener, closer) in [('“', '”'), ('‘', '’'), ('«', '»'), ('„', '“')] {
        if let Some(short) = text.strip_suffix(closer) {
            looked(short.len());
            if !short.contains(opener) {
                return short;
            }
        }
    }
    text
}

/// Whether a number is written with a comma between each three digits.
fn has_thousands(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let mut groups = whole.split(',');
    let first = groups.next().unwrap_or_default();
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    first.len() <= 3
        && !first.starts_with('0')
        && is_digits(first)
        && is_digits(fraction)
        && groups.all(|group| group.len() == 3 && is_digits(group))
}
