//! The shortcut over plain JSON: what is valid, or broken in a common way, is taken in one go where it is complete.
//!
//! The careful steps of the reader look beyond each quote, because it may have been meant as data. Where a string is
//! followed by what follows strings in valid JSON, the look always ends in the same answer, so it is not needed: the
//! shortcut reads on for as long as that is so, and leaves everything else to the careful steps, from the first byte
//! that it could not settle. What it takes is written as it stands, apart from three repairs that need no look either:
//! single quotes, bare keys and trailing commas. A string that goes on in the next chunk of a stream is opened.

use super::escapes::may_be_meant;
use super::levels::LevelKind;
use super::quotes::Style;
use super::scalars::{Scan, number_length};
use super::structure::Expects;
use super::unquoted::is_bare_byte;
use super::{Cursor, Reader, Syntax};
use crate::finding::Span;
use crate::json::meter::looked;
use crate::json::repair::{RepairCode, Safety};
use crate::json::tape::Kind;
use crate::json::text::{code_unit, plain_length};
use crate::shortcuts::Shortcut;

impl Reader {
    /// Takes plain JSON from here on. False if there is nothing that it could settle.
    #[inline(never)]
    fn read_plain(&mut self, cursor: &mut Cursor<'_>) -> bool {
        let text = cursor.text;
        let bytes = text.as_bytes();
        let start = cursor.at;
        let Some((mut at, mut expects, mut in_object)) = self.plain_start(bytes, start) else { return false };
        let mut transfer = self.transfer(text, cursor.base, start);
        // Where to resume if the last string turns out not to end where it seems to.
        let mut before_string = None;
        // Where a string or key starts that is not plain, and what was expected there.
        let mut odd = None;
        loop {
            let (mut here, mut byte) = token_at(bytes, at);
            let (mut comma, mut wanted) = (None, expects);
            if expects == Expects::After && byte == b',' {
                comma = Some(here);
                wanted = if in_object { Expects::Key } else { Expects::Value };
                (here, byte) = token_at(bytes, here + 1);
            }
            if byte == closer(in_object) && !(in_object && wanted == Expects::Value) {
                let Some(level) = self.pop_level() else { break };
                if let Some(comma) = comma {
                    self.leave_comma(&mut transfer, comma);
                }
                self.output.tape.close(level.node(), transfer.out(here + 1));
                self.count_value();
                (at, expects, before_string) = (here + 1, Expects::After, None);
                in_object = match self.level_kind() {
                    Some(LevelKind::Brace) => true,
                    Some(LevelKind::Bracket) => false,
                    _ => break,
                };
                continue;
            }
            if wanted == Expects::Key {
                let Some((key, value)) = self.plain_key(text, here, byte) else {
                    odd = Some((here, Expects::Key));
                    break;
                };
                self.key = Some(self.take_token(&mut transfer, here, key));
                (at, expects, before_string) = (value, Expects::Value, None);
                (here, byte) = token_at(bytes, at);
            } else if wanted == Expects::After {
                break;
            }
            (at, expects, before_string) = match byte {
                b'{' | b'[' if self.levels.len() < self.grammar.max_depth => {
                    in_object = byte == b'{';
                    (here + 1, self.open_plain(in_object, transfer.out(here)), None)
                }
                b'"' | b'\'' if quote_is_unambiguous(&bytes[here..]) => {
                    if byte == b'"' {
                        // In an array nothing more is needed to show that the string before it has ended.
                        before_string = None;
                    }
                    let Some(string) = self.plain_string(text, here, byte) else {
                        odd = Some((here, Expects::Value));
                        break;
                    };
                    before_string = None;
                    let can_be_taken_back = string.quotes == Quotes::Double && !string.path;
                    if !can_be_taken_back && !self.ends_string(text, string.end, in_object) {
                        break;
                    }
                    let (from, to) = self.take_token(&mut transfer, here, string);
                    self.take_value(Kind::String, from, to);
                    (string.end, Expects::After, can_be_taken_back.then_some((at, expects)))
                }
                b'-' | b'0'..=b'9' | b't' | b'f' | b'n' if before_string.is_none() => {
                    let Some((kind, end)) = plain_scalar(bytes, here) else { break };
                    if self.has_stop(&bytes[here..end]) {
                        break;
                    }
                    self.take_value(kind, transfer.out(here), transfer.out(end));
                    (end, Expects::After, None)
                }
                _ => break,
            };
        }
        if let Some(before) = before_string {
            self.take_back_string();
            (at, expects) = before;
        } else if let Some((here, wanted)) = odd
            && is_cut_string(&bytes[here..])
        {
            self.write_up_to(&mut transfer, here);
            (cursor.at, self.expects) = (here, wanted);
            self.open_cut_string(cursor);
            return true;
        }
        if at == start {
            return false;
        }
        self.write_up_to(&mut transfer, at);
        (cursor.at, self.expects) = (at, expects);
        if self.levels.is_empty() {
            self.value_done();
        }
        true
    }

    /// Opens an object or array at this place of the output. Says what is expected in it.
    #[inline(always)]
    fn open_plain(&mut self, is_object: bool, out: usize) -> Expects {
        let (opened, kind, inside) = match is_object {
            true => (LevelKind::Brace, Kind::Object, Expects::Key),
            false => (LevelKind::Bracket, Kind::Array, Expects::Value),
        };
        let node = self.output.tape.open(kind, self.key.take(), out);
        self.push_level(opened, node);
        inside
    }

    /// How far everything is taken at the start, what is expected there, and whether that is in an object. Nothing if the
    /// careful steps have to read what comes next.
    #[inline(always)]
    fn plain_start(&self, bytes: &[u8], start: usize) -> Option<(usize, Expects, bool)> {
        let (first, opener) = token_at(bytes, start);
        let in_object = match self.level_kind() {
            Some(LevelKind::Brace) => true,
            Some(LevelKind::Bracket) => false,
            // Outside of brackets nothing else shows where a value ends.
            None if matches!(opener, b'{' | b'[') => false,
            _ => return None,
        };
        if self.comma.is_some() && matches!(opener, b'}' | b']') {
            // The comma that an earlier step holds back is one too many.
            return None;
        }
        match (self.expects, opener) {
            (Expects::Colon, b':') => Some((first + 1, Expects::Value, in_object)),
            (Expects::Colon, _) => None,
            (expects, _) => Some((start, expects, in_object)),
        }
    }

    /// Whether what follows a string shows that it ends before this place, and was not meant to go on.
    #[inline(never)]
    pub(super) fn ends_string(&self, text: &str, end: usize, in_object: bool) -> bool {
        let bytes = text.as_bytes();
        let (mut next, mut byte) = token_at(bytes, end);
        let has_comma = byte == b',';
        if has_comma {
            (next, byte) = token_at(bytes, next + 1);
        }
        match byte {
            _ if byte == closer(in_object) => true,
            _ if !has_comma => false,
            _ if in_object => self.plain_key(text, next, byte).is_some(),
            b'{' | b'[' => self.levels.len() < self.grammar.max_depth,
            b'"' => quote_is_unambiguous(&bytes[next..]),
            b'\'' => quote_is_unambiguous(&bytes[next..]) && self.plain_string(text, next, byte).is_some(),
            _ => false,
        }
    }

    /// Opens the string or key here, which goes on beyond the text at hand.
    fn open_cut_string(&mut self, cursor: &mut Cursor<'_>) {
        self.open_string(cursor, Style::Double, 1);
        self.output.text.push_str(cursor.rest());
        cursor.at = cursor.text.len();
    }

    /// Takes back the last string, which nothing was written for yet.
    fn take_back_string(&mut self) {
        self.key = self.output.tape.take_back();
        if let Some(level) = self.levels.last_mut() {
            level.items -= 1;
        }
    }

    /// The text at hand, of which all before `start` is written.
    fn transfer<'t>(&self, text: &'t str, base: usize, start: usize) -> Transfer<'t> {
        let out = self.output.text.len() + self.gap.len();
        Transfer { text, base, written: start, offset: out.wrapping_sub(start) as isize }
    }

    /// Writes the text as it stands, up to this place.
    #[inline(always)]
    fn write_up_to(&mut self, transfer: &mut Transfer<'_>, at: usize) {
        self.flush_gap();
        self.output.text.push_str(&transfer.text[transfer.written..at]);
        transfer.go_on_at(at, self.output.text.len());
    }

    /// Leaves out a comma before a closer.
    fn leave_comma(&mut self, transfer: &mut Transfer<'_>, at: usize) {
        self.write_up_to(transfer, at);
        transfer.go_on_at(at + 1, self.output.text.len());
        self.repair(RepairCode::TrailingComma, Span::new(transfer.base + at, transfer.base + at + 1));
    }

    /// Takes a string or key. Says where it stands in the output.
    fn take_token(&mut self, transfer: &mut Transfer<'_>, start: usize, token: Token) -> (usize, usize) {
        self.backslashes.in_path |= token.path;
        if token.quotes == Quotes::Double {
            return (transfer.out(start), transfer.out(token.end));
        }
        self.requote(transfer, start, token)
    }

    /// Writes a string or key with double quotes. Says where it stands in the output. It is kept out of line so that
    /// taking what is valid stays small.
    #[inline(never)]
    fn requote(&mut self, transfer: &mut Transfer<'_>, start: usize, token: Token) -> (usize, usize) {
        let end = token.end;
        let (code, marked, content) = match token.quotes {
            Quotes::None => (RepairCode::UnquotedKey, end, start..end),
            _ => (RepairCode::SingleQuotes, start + 1, start + 1..end - 1),
        };
        let span = Span::new(transfer.base + start, transfer.base + marked);
        self.repairs.add(code, Safety::Lossless, span);
        self.write_up_to(transfer, start);
        let from = self.output.text.len();
        let content = &transfer.text[content];
        if token.quotes == Quotes::SingleMixed {
            self.output.text.push('"');
            write_requoted(&mut self.output.text, content);
            self.output.text.push('"');
        } else {
            write_quoted(&mut self.output.text, content);
        }
        transfer.go_on_at(end, self.output.text.len());
        (from, self.output.text.len())
    }

    /// Takes what is plain from here on, where that may be tried. False if there is nothing that could be settled.
    pub(super) fn take_plain(&mut self, cursor: &mut Cursor<'_>) -> bool {
        let is_between = self.string.is_none()
            && self.failure.is_none()
            && self.comment.is_none()
            && self.grammar.quote.is_none()
            && Shortcut::PlainJson.is_on();
        let place = self.expects;
        let is_taken = is_between
            && match self.grammar.syntax {
                Syntax::Json | Syntax::Lines => {
                    matches!(place, Expects::Value | Expects::Key | Expects::Colon | Expects::After)
                        && self.scan.is_short()
                        && self.read_plain(cursor)
                }
                Syntax::Kwargs => {
                    matches!(place, Expects::Key | Expects::After)
                        && self.scan.is_fresh()
                        && self.level_kind() == Some(LevelKind::Kwargs)
                        && self.read_plain_keywords(cursor)
                }
                Syntax::Python | Syntax::Bare => false,
            };
        if is_taken {
            self.scan = Scan::default();
        }
        is_taken
    }

    /// A string without anything odd in it, whose opening quote is at `at`.
    #[inline(always)]
    fn plain_string(&self, text: &str, at: usize, quote: u8) -> Option<Token> {
        let bytes = text.as_bytes();
        let content = at + 1;
        if quote == b'"' {
            let end = content + plain_length(&bytes[content..], b'"');
            return match bytes.get(end)? {
                b'"' => Some(Token { end: end + 1, quotes: Quotes::Double, path: false }),
                _ => self.odder_string(text, at, end, Quotes::Double),
            };
        }
        self.single_string(text, at)
    }

    /// The same for a string in single quotes. It is kept out of line, since valid text has none.
    #[inline(never)]
    fn single_string(&self, text: &str, at: usize) -> Option<Token> {
        if self.grammar.stops.has(b'\'') {
            return None;
        }
        let bytes = text.as_bytes();
        let end = at + 1 + plain_length(&bytes[at + 1..], b'\'');
        match bytes.get(end)? {
            b'\'' => Some(Token { end: end + 1, quotes: Quotes::Single, path: false }),
            _ => self.odder_string(text, at, end, Quotes::Single),
        }
    }

    /// The same for a string with escapes or other quotes, of which all before `end` is plain. It is kept out of line
    /// so that the usual string stays cheap.
    #[inline(never)]
    fn odder_string(&self, text: &str, at: usize, mut end: usize, mut quotes: Quotes) -> Option<Token> {
        let bytes = text.as_bytes();
        let (content, quote) = (at + 1, bytes[at]);
        let mut path = false;
        loop {
            match (bytes.get(end)?, bytes.get(end + 1)) {
                (byte, _) if *byte == quote => break,
                (b'"', _) => {
                    quotes = Quotes::SingleMixed;
                    end += 1;
                }
                (b'\\', Some(b'"' | b'\\' | b'/')) => end += 2,
                (b'\\', Some(b'\'')) if quote == b'\'' => {
                    quotes = Quotes::SingleMixed;
                    end += 2;
                }
                (b'\\', Some(escape @ (b'b' | b'f' | b'n' | b'r' | b't'))) => {
                    path = path || may_be_meant(char::from(*escape), &text[content..end]);
                    end += 2;
                }
                (b'\\', Some(b'u')) => {
                    char::from_u32(code_unit(bytes, end + 2)?)?;
                    end += 6;
                }
                _ => return None,
            }
            end += plain_length(bytes.get(end..)?, quote);
        }
        if path && self.backslashes.kept {
            return None;
        }
        Some(Token { end: end + 1, quotes, path })
    }

    /// The key that starts at `at` with this byte, and the place after its colon, if that follows.
    #[inline(always)]
    fn plain_key(&self, text: &str, at: usize, byte: u8) -> Option<(Token, usize)> {
        if !matches!(byte, b'"' | b'\'') {
            return self.bare_key(text.as_bytes(), at);
        }
        let key = self.plain_string(text, at, byte)?;
        let (colon, byte) = token_at(text.as_bytes(), key.end);
        // A double quote in single ones may be the one that ends the key.
        (byte == b':' && key.quotes != Quotes::SingleMixed).then_some((key, colon + 1))
    }

    /// The same for a key without quotes.
    #[inline(never)]
    fn bare_key(&self, bytes: &[u8], at: usize) -> Option<(Token, usize)> {
        let starts = bytes.get(at).is_some_and(|byte| byte.is_ascii_alphabetic() || b"_$@".contains(byte));
        let mut end = at;
        while starts && bytes.get(end).is_some_and(|byte| is_bare_byte(*byte)) {
            end += 1;
        }
        looked(end - at);
        let is_key = starts && bytes.get(end) == Some(&b':') && !self.has_stop(&bytes[at..=end]);
        is_key.then_some((Token { end, quotes: Quotes::None, path: false }, end + 1))
    }

    /// Whether one of these bytes may start what follows the value.
    pub(super) fn has_stop(&self, bytes: &[u8]) -> bool {
        !self.grammar.stops.is_empty() && bytes.iter().any(|byte| self.grammar.stops.has(*byte))
    }

    /// Takes a string or scalar that stands here in the output.
    pub(super) fn take_value(&mut self, kind: Kind, start: usize, end: usize) {
        self.output.tape.add_leaf(kind, self.key.take(), start, end);
        self.count_value();
    }

    /// The innermost open bracket holds one more value.
    fn count_value(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.items += 1;
        }
    }
}

/// The text at hand on its way into the output.
struct Transfer<'t> {
    text: &'t str,
    /// Where in the input it starts.
    base: usize,
    /// How far it has been written.
    written: usize,
    /// How much further on the rest of it will stand in the output; less than zero where something was dropped.
    offset: isize,
}

impl Transfer<'_> {
    /// Where a place of the text that is not written yet will stand in the output.
    fn out(&self, at: usize) -> usize {
        at.wrapping_add_signed(self.offset)
    }

    /// Says that the text goes on here, where the output ends.
    fn go_on_at(&mut self, at: usize, out: usize) {
        self.written = at;
        self.offset = out.wrapping_sub(at) as isize;
    }
}

/// A string or key in the text at hand.
#[derive(Clone, Copy, Debug)]
struct Token {
    /// The place after it.
    end: usize,
    quotes: Quotes,
    /// Whether it may hold a path with backslashes.
    path: bool,
}

/// What stands around a string or key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    Double,
    Single,
    /// Single quotes, around quotes that are written in another way between double quotes.
    SingleMixed,
    None,
}

/// Writes what stood between single quotes so that it may stand between double quotes.
fn write_requoted(out: &mut String, content: &str) {
    let mut rest = content;
    loop {
        let plain = plain_length(rest.as_bytes(), b'"');
        out.push_str(&rest[..plain]);
        let (written, len) = match &rest.as_bytes()[plain..] {
            [] => return,
            [b'"', ..] => ("\\\"", 1),
            [b'\\', b'\'', ..] => ("'", 2),
            _ => (&rest[plain..plain + 2], 2),
        };
        out.push_str(written);
        rest = &rest[plain + len..];
    }
}

/// Writes a string that needs no escapes.
pub(super) fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    out.push_str(text);
    out.push('"');
}

/// Whether there are enough bytes to tell one quote from three in a row, which open another kind of string.
fn quote_is_unambiguous(bytes: &[u8]) -> bool {
    match bytes {
        [quote, next, ..] if quote != next => true,
        _ => bytes.len() >= 3,
    }
}

/// Whether the end of the text cuts off a string that starts here, after some content with nothing odd in it.
fn is_cut_string(bytes: &[u8]) -> bool {
    matches!(bytes, [b'"', content @ ..]
        if !content.is_empty() && plain_length(content, b'"') == content.len())
}

/// What closes the innermost bracket.
fn closer(in_object: bool) -> u8 {
    if in_object { b'}' } else { b']' }
}

/// The first byte from `at` on that is no white space, and its place. At the end it is zero, which is never plain.
#[inline]
pub(super) fn token_at(bytes: &[u8], mut at: usize) -> (usize, u8) {
    loop {
        looked(1);
        let byte = bytes.get(at).copied().unwrap_or(0);
        if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            return (at, byte);
        }
        at += 1;
    }
}

/// The number or literal at `at`, if what follows it can only follow a value.
fn plain_scalar(bytes: &[u8], at: usize) -> Option<(Kind, usize)> {
    let (kind, end) = match bytes[at] {
        b't' if bytes[at..].starts_with(b"true") => (Kind::Bool, at + 4),
        b'f' if bytes[at..].starts_with(b"false") => (Kind::Bool, at + 5),
        b'n' if bytes[at..].starts_with(b"null") => (Kind::Null, at + 4),
        b't' | b'f' | b'n' => return None,
        _ => (Kind::Number, at + number_length(&bytes[at..])?),
    };
    let mut next = end;
    while matches!(bytes.get(next), Some(b' ' | b'\t')) {
        next += 1;
    }
    matches!(bytes.get(next), Some(b',' | b'}' | b']' | b'\n' | b'\r')).then_some((kind, end))
}
