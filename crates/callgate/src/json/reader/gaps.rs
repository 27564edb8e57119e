//! Gaps: what stands between the tokens of a value and means nothing: white space, comments, dots.

use super::computed::continuation;
use super::structure::Expects;
use super::{Advance, Cursor, Reader};
use crate::finding::Span;
use crate::json::meter::looked;
use crate::json::repair::{RepairCode, Safety};

/// An open comment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comment {
    start: usize,
    block: bool,
    /// Whether the syntax has such comments.
    written: bool,
    /// Whether it stands right after a string.
    after_string: bool,
    /// Whether white space or a comma stands before it.
    apart: bool,
    /// Whether a quote stands in it, so that it may be part of a string after all.
    quoted: bool,
    /// Where in the input it ends if no line break ends it: before what goes on with the value.
    held: Option<usize>,
    /// Where the comma is that it holds last, if nothing but spaces follows that.
    comma: Option<usize>,
    /// How far it has been read from where it may end.
    seen: usize,
}

/// Whether the string that opens here with a backslash before its quote ends so too; `None` if more input decides.
fn ends_escaped(cursor: &Cursor<'_>) -> Option<bool> {
    const FAR: usize = 256;
    let ahead = cursor.rest().as_bytes().get(2..).unwrap_or_default();
    let quote = ahead.iter().take(FAR).position(|byte| *byte == b'"');
    looked(quote.unwrap_or(ahead.len().min(FAR)));
    match quote {
        Some(at) => Some(at > 0 && ahead[at - 1] == b'\\'),
        None => (cursor.last || ahead.len() >= FAR).then_some(false),
    }
}

impl Reader {
    /// Takes the white space that JSON knows.
    pub(super) fn take_space(&mut self, cursor: &mut Cursor<'_>) {
        let space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let len = cursor.rest().bytes().take_while(space).count();
        if len == 0 {
            return;
        }
        looked(len);
        self.gap.push_str(&cursor.rest()[..len]);
        cursor.at += len;
    }

    /// Skips what JSON does not have between values.
    pub(super) fn skip_oddity(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Option<Advance> {
        let rest = cursor.rest();
        if byte == b'\\' && self.reads_code() {
            match continuation(rest, cursor.last) {
                None => return Some(Advance::More),
                Some(0) => {}
                Some(length) => {
                    cursor.at += length;
                    return Some(Advance::Go);
                }
            }
        }
        match byte {
            b'/' | b'#' => return self.open_comment(cursor),
            b'.' if self.expects == Expects::Colon
                || (self.expects == Expects::Value && !self.in_sequence()) =>
            {
                return None;
            }
            b'.' if rest.starts_with("...") => return Some(self.skip_ellipsis(cursor, 3)),
            b'.' if !cursor.last && "...".starts_with(rest) => return Some(Advance::More),
            b'\\' if rest.len() == 1 && !cursor.last => return Some(Advance::More),
            b'\\'
                if rest.as_bytes().get(1) == Some(&b'"')
                    && self.grammar.restores
                    && self.has_plain_strings() =>
            {
                match ends_escaped(cursor) {
                    None => return Some(Advance::More),
                    Some(true) => return None,
                    Some(false) => {}
                }
                self.guess(RepairCode::StrayText, cursor.span(1));
                cursor.at += 1;
                return Some(Advance::Go);
            }
            b'\\' if matches!(rest.as_bytes().get(1), Some(b'n' | b'r' | b't')) => {
                self.repair(RepairCode::EscapedQuotes, cursor.span(2));
                cursor.at += 2;
                return Some(Advance::Go);
            }
            b'\\'
                if self.grammar.restores
                    && matches!(
                        rest.as_bytes().get(1),
                        Some(b'{' | b'}' | b'[' | b']' | b',' | b':' | b'-' | b'0'..=b'9')
                    ) =>
            {
                // Before a sign or number a backslash escapes nothing.
                self.guess(RepairCode::StrayText, cursor.span(1));
                cursor.at += 1;
                return Some(Advance::Go);
            }
            b'.' | b'\\' => return None,
            _ => {}
        }
        let character = rest.chars().next()?;
        let is_member = self.expects == Expects::Value && !self.in_sequence();
        if character == '…' && self.expects != Expects::Colon && !is_member {
            return Some(self.skip_ellipsis(cursor, character.len_utf8()));
        }
        let odd = character.is_whitespace()
            || matches!(character, '\u{feff}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}');
        odd.then(|| {
            self.repair(RepairCode::OddSpace, cursor.span(character.len_utf8()));
            cursor.at += character.len_utf8();
            Advance::Go
        })
    }

    /// Starts a comment, if this is one.
    pub(super) fn open_comment(&mut self, cursor: &mut Cursor<'_>) -> Option<Advance> {
        let rest = cursor.rest().as_bytes();
        let (block, len) = match (rest.first(), rest.get(1)) {
            (Some(b'#'), None) if self.grammar.restores && !cursor.last => return Some(Advance::More),
            // A number sign before a value is stray: as a comment it would hide the value.
            (Some(b'#'), Some(b'"' | b'-' | b'0'..=b'9' | b'{' | b'}' | b'[' | b']' | b',' | b':'))
                if self.grammar.restores && !self.levels.is_empty() =>
            {
                self.guess(RepairCode::StrayText, cursor.span(1));
                cursor.at += 1;
                return Some(Advance::Go);
            }
            (Some(b'#'), _) => (false, 1),
            (Some(b'/'), Some(b'/')) => (false, 2),
            (Some(b'/'), Some(b'*')) => (true, 2),
            (Some(b'/'), None) if !cursor.last => return Some(Advance::More),
            _ => return None,
        };
        let written = len == 1 && self.grammar.python();
        let after_string = self.expects == Expects::After && self.output.text.ends_with('"');
        if self.reads_code() && self.expects == Expects::After && !block {
            // Two slashes divide in code. What touches the quote before it may as well be text.
            if len == 2 {
                return None;
            }
            if after_string && self.gap.is_empty() {
                return Some(self.reject(cursor, "a comment touches a string: put a space before it"));
            }
        }
        self.comment = Some(Comment {
            start: cursor.offset(),
            block,
            written,
            after_string,
            apart: !self.gap.is_empty(),
            quoted: false,
            held: None,
            comma: None,
            seen: 0,
        });
        cursor.at += len;
        Some(Advance::Go)
    }

    pub(super) fn read_comment(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        let Some(mut comment) = self.comment else { return Advance::Go };
        // A line comment may hide the rest of a value that was written in one line.
        let may_hide = self.grammar.restores && !comment.block && !self.levels.is_empty();
        let begun = cursor.at;
        cursor.at += comment.seen;
        let ended = loop {
            match cursor.byte() {
                None => break cursor.last,
                Some(b'\n') if !comment.block => break true,
                Some(b'*') if comment.block => match cursor.byte_at(cursor.at + 1) {
                    Some(b'/') => {
                        cursor.at += 2;
                        break true;
                    }
                    None if !cursor.last => break false,
                    _ => {}
                },
                Some(_) if self.stops_at(cursor, cursor.at) => {
                    self.comment = Some(comment);
                    return Advance::Stop(cursor.at);
                }
                Some(byte) => {
                    comment.quoted |= byte == b'"' || (byte == b'\'' && comment.after_string);
                    let goes_on = match byte {
                        b'"' => true,
                        b'}' | b']' => self.open_brackets.count(byte) > 0,
                        _ => false,
                    };
                    if may_hide && comment.held.is_none() && goes_on {
                        comment.held = Some(comment.comma.unwrap_or(cursor.offset()));
                    }
                    comment.comma = match byte {
                        b',' => Some(cursor.offset()),
                        b' ' | b'\t' => comment.comma,
                        _ => None,
                    };
                }
            }
            cursor.at += 1;
        };
        let held = comment.held.or(comment.comma.filter(|_| may_hide));
        let held = held.map_or(cursor.at, |held| held.saturating_sub(cursor.base).max(begun));
        if !ended {
            // What may go on with the value waits.
            comment.seen = cursor.at - held;
            cursor.at = held;
            self.comment = Some(comment);
            return Advance::More;
        }
        self.comment = None;
        let hides = may_hide && comment.quoted && cursor.byte().is_none();
        let is_guessed = || self.repairs.list().iter().any(|repair| repair.safety == Safety::Guess);
        if hides && (!comment.apart || is_guessed()) {
            // It may well be part of a string that was not read as it was meant.
            return self.reject(cursor, "a comment hides the rest of the value");
        }
        if hides {
            cursor.at = held;
        }
        let span = Span::new(comment.start, cursor.offset());
        // In one line with the value it may hide what closes it, and members too.
        let may_be_more = !self.grammar.restores && !comment.block && cursor.byte().is_none();
        match comment {
            _ if may_be_more && !self.levels.is_empty() => self.guess(RepairCode::Comment, span),
            Comment { written: true, .. } => {}
            Comment { quoted: true, .. } => self.guess(RepairCode::Comment, span),
            _ => self.repair(RepairCode::Comment, span),
        }
        Advance::Go
    }

    /// The value ends in a comment, in one line with it: that may hide what closes it, and members too.
    pub(super) fn close_comment(&mut self) {
        let open = self.comment.filter(|comment| !comment.block && !self.levels.is_empty());
        if let Some(comment) = open.filter(|_| !self.grammar.restores) {
            self.comment = None;
            self.guess(RepairCode::Comment, Span::new(comment.start, self.base.max(comment.start)));
        }
    }

    /// Drops dots that stand for more values, with the comma before them.
    fn skip_ellipsis(&mut self, cursor: &mut Cursor<'_>, len: usize) -> Advance {
        self.guess(RepairCode::Ellipsis, cursor.span(len));
        cursor.at += len;
        if let Some((at, _)) = self.comma.take() {
            self.gap.truncate(at);
            self.expects = Expects::After;
        }
        Advance::Go
    }

    /// Writes what was held between two values.
    pub(super) fn flush_gap(&mut self) {
        if self.gap.is_empty() {
            return;
        }
        self.output.text.push_str(&self.gap);
        self.gap.clear();
        self.comma = None;
    }
}
