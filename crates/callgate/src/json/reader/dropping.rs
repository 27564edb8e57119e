//! Dropping: signs, brackets and words that stand where none can, in texts that are read for their own sake.

use super::levels::LevelKind;
use super::structure::{Expects, is_bracket};
use super::{Advance, Cursor, Reader};
use crate::finding::Span;
use crate::json::meter::looked;
use crate::json::repair::{Repair, RepairCode, Safety};

impl Reader {
    /// Whether a backslash before a quote is stray: the strings before it have quotes without one.
    pub(super) fn has_plain_strings(&self) -> bool {
        const START: usize = 4096;
        let bytes = self.output.text.as_bytes();
        let start = &bytes[..bytes.len().min(START)];
        let is_escaped = |repair: &Repair| repair.code == RepairCode::EscapedQuotes;
        let quote = memchr::memchr(b'"', start);
        looked(quote.unwrap_or(start.len()));
        quote.is_some() && !self.repairs.list().iter().any(is_escaped)
    }

    /// Drops a closer that does not fit where a key or value is expected, if a string follows: `Some` is what to do then.
    pub(super) fn drop_unfit_closer(&mut self, cursor: &mut Cursor<'_>) -> Option<Advance> {
        let is_fresh = self.comma.is_some() || self.levels.last().is_some_and(|level| level.items == 0);
        if !self.grammar.restores || !is_fresh {
            return None;
        }
        match self.next_token(cursor, 1) {
            None => Some(Advance::More),
            Some(b'"') => {
                self.guess(RepairCode::ExtraCloser, cursor.span(1));
                cursor.at += 1;
                Some(Advance::Go)
            }
            Some(_) => None,
        }
    }

    /// Reads what may stand behind a value besides a comma or closer, or drops it: `Some` is what to do then.
    pub(super) fn read_odd_after(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Option<Advance> {
        match self.ends_with_fence(cursor) {
            Some(true) => return Some(self.close_all(cursor.offset())),
            Some(false) => {}
            None => return Some(Advance::More),
        }
        match self.is_next_line_of_list(byte) {
            true => Some(self.put_comma(cursor, Safety::Guess)),
            false => self.drop_after(cursor, byte),
        }
    }

    /// Drops a comma or closer that stands where a value should, if the value follows.
    pub(super) fn drop_before_value(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Advance {
        let follows = match self.next_token(cursor, 1) {
            _ if !self.grammar.restores => false,
            None => return Advance::More,
            Some(b'{' | b'[' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => true,
            // A string may be the next key, unless no comma says so.
            Some(b'"') => byte != b',',
            Some(_) => false,
        };
        if !follows {
            return self.reject(cursor, "a value is missing here");
        }
        let code = if matches!(byte, b',' | b';') { RepairCode::ExtraComma } else { RepairCode::ExtraCloser };
        self.guess(code, cursor.span(1));
        cursor.at += 1;
        Advance::Go
    }

    /// The next byte but white space, from so far on, and zero at the end or far away; nothing if there must be more input.
    pub(super) fn next_token(&self, cursor: &Cursor<'_>, from: usize) -> Option<u8> {
        const FAR: usize = 256;
        let ahead = cursor.rest().as_bytes().get(from..).unwrap_or_default();
        let space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let spaces = ahead.iter().take(FAR).take_while(space).count();
        looked(spaces);
        match ahead.get(spaces) {
            Some(byte) if spaces < FAR => Some(*byte),
            Some(_) => Some(0),
            None => cursor.last.then_some(0),
        }
    }

    /// An object opens where a key should stand: the one before it was not closed, or the opener is one too many.
    pub(super) fn read_opener_for_key(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        if self.close_before_item(cursor.offset()) {
            return Advance::Go;
        }
        match self.next_token(cursor, 1) {
            None => Advance::More,
            Some(b'"' | b'\'') => {
                self.guess(RepairCode::ExtraOpener, cursor.span(1));
                cursor.at += 1;
                Advance::Go
            }
            Some(_) => self.reject(cursor, "a key and its colon are missing here"),
        }
    }

    /// Drops what stands between a key and its colon, or finds that the key is none: `Some` is what to do then.
    pub(super) fn drop_before_colon(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Option<Advance> {
        if !self.grammar.restores {
            return None;
        }
        if is_bracket(byte) || byte == b',' {
            match self.next_token(cursor, 1) {
                None => return Some(Advance::More),
                Some(b':') => {
                    let code = match byte {
                        b',' => RepairCode::ExtraComma,
                        b'{' | b'[' | b'(' => RepairCode::ExtraOpener,
                        _ => RepairCode::ExtraCloser,
                    };
                    self.guess(code, cursor.span(1));
                    cursor.at += 1;
                    return Some(Advance::Go);
                }
                Some(_) => {}
            }
        }
        if matches!(byte, b',' | b']') && self.make_item(cursor.offset()) {
            return Some(Advance::Go);
        }
        if matches!(byte, b'"' | b'\'' | b',' | b';') || is_bracket(byte) {
            return None;
        }
        self.drop_stray(cursor, |byte| byte == b':')
    }

    /// Drops what stands behind a value and belongs to nothing: `Some` is what to do then.
    fn drop_after(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Option<Advance> {
        if self.levels.is_empty() {
            return None;
        }
        match byte {
            b'{' | b'[' => match self.next_token(cursor, 1) {
                None => Some(Advance::More),
                // The two have changed places: the comma that is too many then is dropped.
                Some(b',') if self.in_sequence() => Some(self.put_comma(cursor, Safety::Guess)),
                Some(b',') => {
                    self.guess(RepairCode::ExtraOpener, cursor.span(1));
                    cursor.at += 1;
                    Some(Advance::Go)
                }
                Some(next) if is_bracket(next) && next != byte + 2 && self.open_brackets.count(next) > 0 => {
                    self.guess(RepairCode::ExtraOpener, cursor.span(1));
                    cursor.at += 1;
                    Some(Advance::Go)
                }
                Some(_) => None,
            },
            b'"' | b'\'' => match self.next_token(cursor, 1) {
                None => Some(Advance::More),
                Some(next @ (b',' | b'}' | b']')) if next == b',' || self.open_brackets.count(next) > 0 => {
                    self.guess(RepairCode::StrayText, cursor.span(1));
                    cursor.at += 1;
                    Some(Advance::Go)
                }
                Some(_) => None,
            },
            b'`' | b';' | b'(' => None,
            _ if cursor.rest().starts_with(['，', '、', '“', '‘', '「', '«']) => None,
            _ => self.drop_stray(cursor, |byte| matches!(byte, b',' | b'}' | b']')),
        }
    }

    /// Whether bare words stand in lines of their own, as in a list without commas, and this begins the next.
    fn is_next_line_of_list(&self, byte: u8) -> bool {
        let is_bare = byte.is_ascii_alphabetic() || byte >= 0x80;
        let last = self.repairs.list().last().map(|repair| repair.code);
        is_bare
            && self.in_sequence()
            && self.gap.contains('\n')
            && last == Some(RepairCode::UnquotedString)
            && self.output.text.ends_with('"')
    }

    /// Drops a fence in front of a value inside of brackets: `Some` is what to do then.
    pub(super) fn drop_fence(&mut self, cursor: &mut Cursor<'_>) -> Option<Advance> {
        const LONGEST_LINE: usize = 64;
        let is_place = self.expects == Expects::Key || self.expects == Expects::Value && self.in_sequence();
        if !is_place {
            return None;
        }
        let rest = cursor.rest();
        if !cursor.last && "```".starts_with(rest) {
            return Some(Advance::More);
        }
        let word = rest.strip_prefix("```")?.bytes().take(LONGEST_LINE).take_while(u8::is_ascii_alphanumeric);
        let len = "```".len() + word.count();
        looked(len);
        match self.next_token(cursor, len) {
            None => Some(Advance::More),
            Some(b'{' | b'[') => {
                self.guess(RepairCode::CodeFence, cursor.span(len));
                cursor.at += len;
                Some(Advance::Go)
            }
            Some(_) => None,
        }
    }

    /// Whether the fence around the document ends here; `None` if more input decides.
    fn ends_with_fence(&self, cursor: &Cursor<'_>) -> Option<bool> {
        let rest = cursor.rest();
        let is_cut = !cursor.last && "```".starts_with(rest);
        (!is_cut).then(|| rest.starts_with("```"))
    }

    /// Closes everything that is open, as the text around the value goes on here.
    fn close_all(&mut self, at: usize) -> Advance {
        while !self.levels.is_empty() {
            self.close_level(at);
            self.guess(RepairCode::MissingCloser, Span::new(at, at));
        }
        Advance::Go
    }

    /// Reads a full-width bracket, if one stands here.
    pub(super) fn read_wide_bracket(&mut self, cursor: &mut Cursor<'_>) -> Option<Advance> {
        let wide = cursor.rest().chars().next()?;
        let span = cursor.span(wide.len_utf8());
        let kind = match wide {
            '｛' => LevelKind::Brace,
            '［' => LevelKind::Bracket,
            '｝' | '］' => {
                let may_end = matches!(self.expects, Expects::After | Expects::Key);
                if !(may_end || self.expects == Expects::Value && self.in_sequence()) {
                    return None;
                }
                let closer = if wide == '｝' { b'}' } else { b']' };
                while self.open_brackets.count(closer) > 0 {
                    let is_own = self.level_kind().is_some_and(|kind| kind.closer() == closer);
                    let code = if is_own { RepairCode::OddSeparator } else { RepairCode::MissingCloser };
                    self.repair(code, if is_own { span } else { cursor.span(0) });
                    self.close_level(span.start);
                    if is_own {
                        cursor.at += wide.len_utf8();
                        return Some(Advance::Go);
                    }
                }
                return None;
            }
            _ => return None,
        };
        if self.expects != Expects::Value || self.levels.len() >= self.grammar.max_depth {
            return None;
        }
        self.repair(RepairCode::OddSeparator, span);
        self.flush_gap();
        cursor.at += wide.len_utf8();
        self.open_level(kind);
        Some(Advance::Go)
    }
}
