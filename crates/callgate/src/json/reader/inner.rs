//! JSON inside of a string, with quotes that nobody escaped: `"args": "{"q": "rust", "n": 3}"`. From its first bracket to
//! the last it is text, at the start of the string or in the middle of it.

use super::passing::is_often;
use super::quotes::Style;
use super::strings::{OpenString, write_escaped};
use super::swallowed::{trimmed, trimmed_start};
use super::{Advance, Cursor, Reader};
use crate::json::meter::looked;
use crate::json::repair::RepairCode;

/// How much of it is looked at.
const LONGEST: usize = 16 * 1024;

/// How deep it may be nested.
const DEEPEST: u32 = 64;

/// A look at it in progress, from its first quote on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inner {
    /// Where in the input its first quote stands.
    quote: usize,
    at: usize,
    /// The brackets that are open, the innermost in the lowest bit, which is set for a brace.
    open: u64,
    depth: u32,
    quoted: bool,
    escaped: bool,
    /// What was found, once that is known.
    found: Option<Option<InnerText>>,
}

/// How long the text is, and whether the quote behind it ends the string.
#[derive(Clone, Copy, Debug)]
struct InnerText {
    len: usize,
    ends: bool,
}

impl Inner {
    /// A look from this place of the input on, behind this start of the string.
    fn new(quote: usize, start: &str) -> Self {
        let (at, open, depth) = (0, 0, 0);
        let mut inner = Inner { quote, at, open, depth, quoted: false, escaped: false, found: None };
        if !start.bytes().all(|byte| inner.pass(byte) == InnerStep::Inside) {
            inner.found = Some(None);
        }
        inner
    }

    /// Goes past one byte, and says where that leads.
    fn pass(&mut self, byte: u8) -> InnerStep {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.quoted => self.escaped = true,
            b'"' => self.quoted = !self.quoted,
            _ if self.quoted => {}
            b'{' | b'[' if self.depth == DEEPEST => return InnerStep::Nowhere,
            b'{' | b'[' => {
                self.open = self.open << 1 | u64::from(byte == b'{');
                self.depth += 1;
            }
            b'}' | b']' if self.depth == 0 || (self.open & 1 == 1) != (byte == b'}') => {
                return InnerStep::Nowhere;
            }
            b'}' | b']' => {
                self.open >>= 1;
                self.depth -= 1;
                return if self.depth == 0 { InnerStep::Behind } else { InnerStep::Inside };
            }
            _ => {}
        }
        InnerStep::Inside
    }
}

/// Where one more byte leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InnerStep {
    Inside,
    /// The last bracket is closed.
    Behind,
    /// The brackets do not fit.
    Nowhere,
}

impl Reader {
    /// Keeps the JSON that the open string holds, if the quote here is the first in that: `Some` is what to do then. Valid
    /// text is never read so: what follows a quote there goes on with the value around the string.
    pub(super) fn keep_inner(
        &mut self,
        cursor: &mut Cursor<'_>,
        open: &OpenString,
        len: usize,
    ) -> Option<Advance> {
        let may_hold = self.grammar.restores && !open.key && open.style == Style::Double && len == 1;
        if !may_hold || open.doubts.escaped_quotes > 0 {
            return None;
        }
        let content = self.output.text.get(open.start + 1..)?;
        let whole = trimmed_start(content);
        let start = match whole.starts_with(['{', '[']) && !open.doubts.has_quotes() {
            true => whole,
            false => {
                let last = trimmed(content, true);
                last.get(last.len().checked_sub(1)?..).filter(|last| matches!(*last, "{" | "["))?
            }
        };
        match self.next_token(cursor, len) {
            None => return Some(Advance::More),
            Some(b',' | b'}' | b']' | b':' | 0) => return None,
            Some(_) => {}
        }
        let quote = cursor.offset();
        let mut inner = match self.inner.take().filter(|inner| inner.quote == quote) {
            Some(inner) => inner,
            None if start.len() > LONGEST || is_often(self.looks, quote) => return None,
            None => {
                looked(start.len());
                Inner::new(quote, start)
            }
        };
        if inner.found.is_none() {
            inner.found = self.look_inside(cursor, &mut inner);
            self.looks += if inner.found.is_some() { inner.at } else { 0 };
        }
        self.inner = Some(inner);
        let Some(found) = inner.found else { return Some(Advance::More) };
        let InnerText { len, ends } = found?;
        let text = cursor.rest().get(..len)?;
        let span = cursor.span(len);
        if text.bytes().any(|byte| byte < b' ') {
            self.repair(RepairCode::RawControlChar, span);
        }
        self.guess(RepairCode::UnescapedQuote, span);
        for character in text.chars() {
            write_escaped(&mut self.output.text, character);
        }
        cursor.at += len;
        if ends {
            return Some(self.end_string(cursor, 1));
        }
        if let Some(open) = &mut self.string {
            open.doubts.note_quotation();
        }
        Some(Advance::Go)
    }

    /// Looks for the last bracket, and at what follows it: a quote that ends the string, or more text of it. `None` says
    /// that more input decides.
    fn look_inside(&self, cursor: &Cursor<'_>, inner: &mut Inner) -> Option<Option<InnerText>> {
        let bytes = cursor.rest().as_bytes();
        let begun = inner.at;
        while inner.depth > 0 {
            if inner.at >= LONGEST {
                return Some(None);
            }
            let Some(byte) = bytes.get(inner.at) else {
                looked(inner.at - begun);
                return cursor.last.then_some(None);
            };
            let step = inner.pass(*byte);
            inner.at += 1;
            if step == InnerStep::Nowhere {
                return Some(None);
            }
        }
        looked(inner.at - begun);
        let (len, is_space) = (inner.at, |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
        let end = len + bytes[len..].iter().take(LONGEST).take_while(is_space).count();
        looked(end - len);
        match bytes.get(end) {
            None => cursor.last.then_some(None),
            Some(b'"') => {
                let follows = self.next_token(cursor, end + 1)?;
                let ends = matches!(follows, b',' | b'}' | b']' | 0);
                Some(ends.then_some(InnerText { len: end, ends }))
            }
            // What may go on with the value around the string is no text.
            Some(b',' | b'}' | b']' | b':' | b'{' | b'[' | b'`' | b'\'') => Some(None),
            Some(_) => Some(Some(InnerText { len, ends: false })),
        }
    }
}
