//! Inside strings: what is copied, what is escaped, and where the string ends.

use super::plain::token_at;
use super::probe::{Probe, Verdict};
use super::quotes::Style;
use super::scalars::{StringPrefix, is_identifier};
use super::structure::{Place, Shape};
use super::{Cursor, Reader, Step, Syntax};
use crate::finding::{Code, Span};
use crate::json::repair::{RepairCode, Safety};
use crate::json::tape::Kind;
use crate::json::text::{code_unit, escape_byte, hex, pair, plain_length};
use crate::shortcuts::Shortcut;

/// A string that has been opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenString {
    pub(super) style: Style,
    pub(super) key: bool,
    /// Where its opening quote was written.
    pub(super) start: usize,
    node: usize,
    /// Whether backslashes stand for themselves.
    raw: bool,
    doubts: Doubts,
}

/// What makes it doubtful that a string was read as it was meant.
#[derive(Clone, Copy, Debug, Default)]
struct Doubts {
    /// How many quotes were taken for data, apart from apostrophes. They should come in pairs.
    quotes: usize,
    /// How many quotes were escaped. An odd one beside a kept backslash may have lost its quote there.
    escaped_quotes: usize,
    kept_backslash: bool,
    /// Whether line breaks are written raw, so that an escaped one may have been meant literally.
    raw_line: bool,
    escaped_line: bool,
}

/// What makes it doubtful that backslashes were read as they were meant, in all strings of a value: where some
/// stand for themselves, `\n` in `C:\new` may do so too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backslashes {
    pub(super) kept: bool,
    pub(super) in_path: bool,
}

impl Reader {
    /// Opens a string whose quote has `len` bytes.
    pub(super) fn open_string(&mut self, cursor: &mut Cursor<'_>, style: Style, len: usize) -> Step {
        self.list_style(style, cursor.offset(), len);
        self.flush_gap();
        let key = self.place == Place::Key;
        let node = if key { usize::MAX } else { self.output.open(Kind::String, self.key.take()) };
        let start = self.output.text.len();
        self.string = Some(OpenString { style, key, start, node, raw: false, doubts: Doubts::default() });
        self.output.text.push('"');
        cursor.at += len;
        Step::Go
    }

    /// Opens a string with letters before its quote.
    pub(super) fn open_prefixed_string(
        &mut self,
        cursor: &mut Cursor<'_>,
        prefix: StringPrefix,
        style: Style,
        letters: usize,
        quote: usize,
    ) -> Step {
        if prefix.doubtful {
            self.guess(RepairCode::StringPrefix, cursor.span(letters));
        } else if !self.grammar.python() {
            self.repair(RepairCode::StringPrefix, cursor.span(letters));
        }
        cursor.at += letters;
        let step = self.open_string(cursor, style, quote);
        if let Some(open) = &mut self.string {
            open.raw = prefix.raw;
        }
        step
    }

    /// Lists the repair that a quote makes necessary.
    fn list_style(&mut self, style: Style, at: usize, len: usize) {
        let python = self.grammar.python();
        let code = match style {
            Style::Single if !python => RepairCode::SingleQuotes,
            Style::Triple(_) if !python => RepairCode::TripleQuotes,
            Style::Backtick => RepairCode::BacktickQuotes,
            Style::Typographic(_) => RepairCode::TypographicQuotes,
            Style::Escaped => RepairCode::EscapedQuotes,
            _ => return,
        };
        self.repair(code, Span::new(at, at + len));
    }

    /// Ends the open string in the output.
    pub(super) fn close_string(&mut self) {
        let Some(open) = self.string.take() else { return };
        self.output.text.push('"');
        if open.key {
            self.key = Some((open.start, self.output.text.len()));
            self.place = Place::Colon;
        } else {
            self.output.close(open.node);
            self.value_done();
        }
    }

    pub(super) fn read_string(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let Some(open) = self.string else { return Step::Go };
        if open.style == Style::Unquoted {
            return self.read_unquoted(cursor);
        }
        let quote_start = match open.style {
            Style::Private => self.grammar.quote.as_ref().map_or(b'"', |quote| quote.as_bytes()[0]),
            Style::Single => b'\'',
            Style::Backtick => b'`',
            Style::Triple(quote) => quote,
            Style::Double | Style::Typographic(_) | Style::Escaped | Style::Unquoted => b'"',
        };
        let rest = cursor.rest();
        let is_wide = matches!(open.style, Style::Typographic(_)) || !quote_start.is_ascii();
        let mut plain = plain_length(rest.as_bytes(), if is_wide { b'"' } else { quote_start });
        if is_wide {
            // Its quotes are characters beyond ASCII.
            plain = rest.bytes().take(plain).position(|byte| byte >= 0x80).unwrap_or(plain);
        }
        self.output.text.push_str(&rest[..plain]);
        cursor.at += plain;
        let Some(character) = cursor.rest().chars().next() else { return Step::More };
        match open.style {
            Style::Private => {
                let quote = self.grammar.quote.clone().unwrap_or_default();
                if cursor.rest().starts_with(&*quote) {
                    cursor.at += quote.len();
                    self.close_string();
                    return Step::Go;
                }
                if !cursor.last && quote.starts_with(cursor.rest()) {
                    return Step::More;
                }
                self.write_character(cursor, character);
                return Step::Go;
            }
            Style::Triple(quote) if character == char::from(quote) => {
                let same = cursor.rest().bytes().take(3).take_while(|byte| *byte == quote).count();
                if same == 3 {
                    cursor.at += 3;
                    self.close_string();
                    return Step::Go;
                }
                if same == cursor.rest().len() && !cursor.last {
                    return Step::More;
                }
                self.write_character(cursor, character);
                return Step::Go;
            }
            Style::Escaped if character == '\\' => return self.read_doubled_escape(cursor),
            _ => {}
        }
        if open.style.may_close(character) || (open.key && open.style == Style::Single && character == '"') {
            return self.read_quote(cursor, &open, character.len_utf8());
        }
        match character {
            '\\' if open.raw => self.read_raw_backslash(cursor),
            '\\' => self.read_escape(cursor, &open),
            '"' if open.style == Style::Escaped => {
                self.guess(RepairCode::UnescapedQuote, cursor.span(1));
                self.write_character(cursor, character);
                Step::Go
            }
            _ => {
                if character < ' ' && !open.style.takes_raw_lines() {
                    self.repair(RepairCode::RawControlChar, cursor.span(1));
                    if let Some(open) = &mut self.string {
                        open.doubts.raw_line |= character == '\n';
                    }
                }
                self.write_character(cursor, character);
                Step::Go
            }
        }
    }

    /// Writes one character of the content.
    fn write_character(&mut self, cursor: &mut Cursor<'_>, character: char) {
        write_escaped(&mut self.output.text, character);
        cursor.at += character.len_utf8();
    }

    /// Decides what a quote is that may close the string; it has `len` bytes.
    fn read_quote(&mut self, cursor: &mut Cursor<'_>, open: &OpenString, len: usize) -> Step {
        let from = cursor.at + len;
        let verdict =
            if (self.levels.is_empty() && !self.grammar.document) || self.ends_plainly(cursor.text, from) {
                self.probe = None;
                Verdict::End
            } else {
                self.look_beyond_quote(cursor, from)
            };
        match verdict {
            Verdict::More => Step::More,
            Verdict::Stop(at) => Step::Stop(cursor.at + len + at),
            Verdict::End => {
                self.list_doubts(cursor.span(len));
                cursor.at += len;
                self.close_string();
                Step::Go
            }
            Verdict::Data(_) if open.key && self.end_key_before_colon(cursor, open) => Step::Go,
            Verdict::Data(safety) => {
                // In an array a comma may be missing instead.
                let safety = if self.in_sequence() { Safety::Guess } else { safety };
                self.repairs.add(RepairCode::UnescapedQuote, safety, cursor.span(len));
                let after = cursor.text[cursor.at + len..].chars().next();
                let apostrophe = self.output.text.ends_with(char::is_alphanumeric)
                    && after.is_some_and(char::is_alphanumeric);
                if let Some(open) = &mut self.string {
                    open.doubts.quotes += usize::from(!apostrophe);
                }
                // An escaped quote is a backslash and a quote, of which the quote is the content.
                cursor.at += usize::from(open.style == Style::Escaped);
                let character = cursor.rest().chars().next().unwrap_or('"');
                self.write_character(cursor, character);
                Step::Go
            }
            Verdict::Join { .. } if open.doubts.quotes > 0 => {
                // Quotes were data before, so this is more text with quotes in it.
                self.guess(RepairCode::UnescapedQuote, cursor.span(len));
                if let Some(open) = &mut self.string {
                    open.doubts.quotes += 1;
                }
                let character = cursor.rest().chars().next().unwrap_or('"');
                self.write_character(cursor, character);
                Step::Go
            }
            Verdict::Join { at, style, plus } => {
                let from = cursor.offset();
                cursor.at += len + at;
                let quote = if style == Style::Escaped { 2 } else { 0 };
                let quote = quote.max(cursor.rest().chars().next().map_or(1, char::len_utf8));
                if plus || !self.grammar.python() {
                    let span = Span::new(from, cursor.offset());
                    self.guess(RepairCode::JoinedStrings, span);
                }
                self.list_style(style, cursor.offset(), quote);
                cursor.at += quote;
                if let Some(open) = &mut self.string {
                    open.style = style;
                    open.raw = false;
                }
                Step::Go
            }
            Verdict::SwallowedKey => {
                let at = cursor.offset();
                cursor.at += len;
                self.fail(
                    Code::RepairRefused,
                    at,
                    "a quote or comma is missing: the string runs into the next key",
                );
                self.leave_lost_string();
                Step::Go
            }
        }
    }

    /// Lists the guesses that the open string needs which ends with this quote.
    fn list_doubts(&mut self, quote: Span) {
        let Some(OpenString { doubts, .. }) = self.string else { return };
        if doubts.quotes % 2 == 1 {
            self.guess(RepairCode::UnescapedQuote, quote);
        }
        if doubts.kept_backslash && doubts.escaped_quotes % 2 == 1 {
            self.guess(RepairCode::InvalidEscape, quote);
        }
        if doubts.raw_line && doubts.escaped_line {
            self.guess(RepairCode::RawControlChar, quote);
        }
    }

    /// Whether what follows a quote in JSON shows already that it ends its string, so that no look is needed.
    fn ends_plainly(&self, text: &str, from: usize) -> bool {
        let in_object = match self.shape() {
            Some(Shape::Brace) => true,
            Some(Shape::Bracket) => false,
            _ => return false,
        };
        let is_json = matches!(self.grammar.syntax, Syntax::Json | Syntax::Lines);
        // A look that has begun goes on, so that nothing is looked at again and again.
        let has_begun = self.probe.as_ref().is_some_and(Probe::has_begun);
        if has_begun || !is_json || self.grammar.quote.is_some() || !Shortcut::Content.is_on() {
            return false;
        }
        match &self.string {
            Some(open) if open.key => token_at(text.as_bytes(), from).1 == b':',
            _ => self.ends_string(text, from, in_object),
        }
    }

    /// A key whose closing quote is missing ends before its colon, and the quote here opens the value.
    fn end_key_before_colon(&mut self, cursor: &Cursor<'_>, open: &OpenString) -> bool {
        let content = &self.output.text[open.start + 1..];
        let Some(name) = content.trim_end_matches([' ', '\t']).strip_suffix(':') else { return false };
        if !is_identifier(name) {
            return false;
        }
        let end = open.start + 1 + name.len();
        self.guess(RepairCode::MissingQuote, cursor.span(0));
        self.output.text.truncate(end);
        self.close_string();
        self.output.text.push(':');
        self.place = Place::Value;
        true
    }

    /// Reads text without quotes up to what can only end it.
    fn read_unquoted(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let Some(character) = cursor.rest().chars().next() else { return Step::More };
        if self.stops_at(cursor, cursor.at) {
            return Step::Stop(cursor.at);
        }
        let spaced = !self.gap.is_empty();
        let ends = match character {
            ' ' | '\t' => {
                // Spaces at the end are not part of the text.
                self.gap.push(character);
                cursor.at += 1;
                return Step::Go;
            }
            '\n' | '\r' => Verdict::End,
            '}' | ']' | ')' if self.open_brackets.count(character as u8) > 0 => Verdict::End,
            ',' if self.in_sequence() => Verdict::End,
            ',' => self.look_beyond_comma(cursor, cursor.at + 1),
            '"' => match self.look_beyond_quote(cursor, cursor.at + 1) {
                Verdict::End => {
                    self.guess(RepairCode::MissingQuote, cursor.span(1));
                    cursor.at += 1;
                    Verdict::End
                }
                Verdict::Stop(at) => return Step::Stop(cursor.at + 1 + at),
                Verdict::Join { .. } => Verdict::Data(Safety::Guess),
                verdict => verdict,
            },
            '#' if spaced => Verdict::End,
            '/' if spaced => match cursor.byte_at(cursor.at + 1) {
                None if !cursor.last => Verdict::More,
                Some(b'/' | b'*') => Verdict::End,
                _ => Verdict::Data(Safety::Guess),
            },
            _ => Verdict::Data(Safety::Guess),
        };
        match ends {
            Verdict::More => Step::More,
            Verdict::Stop(at) => Step::Stop(cursor.at + 1 + at),
            Verdict::End => {
                self.close_string();
                Step::Go
            }
            Verdict::SwallowedKey => self.refuse(cursor, "a quote or comma is missing before this key"),
            Verdict::Data(_) | Verdict::Join { .. } => {
                let gap = std::mem::take(&mut self.gap);
                for space in gap.chars() {
                    write_escaped(&mut self.output.text, space);
                }
                self.write_character(cursor, character);
                Step::Go
            }
        }
    }

    /// Reads a backslash in a raw string: it stands for itself, and hides a quote after it.
    fn read_raw_backslash(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let next = cursor.rest().chars().nth(1);
        if next.is_none() && !cursor.last {
            return Step::More;
        }
        self.write_character(cursor, '\\');
        if let Some(quote @ ('"' | '\'')) = next {
            self.write_character(cursor, quote);
        }
        Step::Go
    }

    /// Reads an escape, which may be valid, foreign, or none at all.
    fn read_escape(&mut self, cursor: &mut Cursor<'_>, open: &OpenString) -> Step {
        let rest = cursor.rest();
        let python = self.grammar.python();
        let Some(next) = rest.chars().nth(1) else { return Step::More };
        match next {
            'b' | 'f' | 'n' | 'r' | 't' | '"' | '\\' => {
                self.note_escape(next, cursor.span(2));
                self.copy(cursor, 2)
            }
            '/' if !python => self.copy(cursor, 2),
            'u' => self.read_unicode_escape(cursor),
            '\'' | '`' | '$' if next != '$' || open.style == Style::Backtick => {
                let own = open.style.may_close(next)
                    || open.style == Style::Backtick
                    || open.style == Style::Triple(b'\'');
                if !own && !python {
                    self.repair(RepairCode::InvalidEscape, cursor.span(2));
                }
                self.replace(cursor, 2, next)
            }
            _ if open.style.may_close(next) => self.replace(cursor, 1 + next.len_utf8(), next),
            'x' => {
                let digits = rest.as_bytes().get(2..4);
                if digits.is_none() && !cursor.last {
                    return Step::More;
                }
                match digits.and_then(hex).and_then(char::from_u32) {
                    Some(character) => self.replace_foreign(cursor, 4, character),
                    None => self.keep_backslash(cursor, Safety::Guess),
                }
            }
            _ if python => self.read_python_escape(cursor, next),
            _ => {
                let safety =
                    if next.is_ascii_graphic() && next != '0' { Safety::Lossless } else { Safety::Guess };
                self.keep_backslash(cursor, safety)
            }
        }
    }

    /// Takes the start of `text` as far as it is nothing but content of the open string, with most pieces of a stream
    /// that is all of it, and the quote after it if that certainly ends the string. Says how many bytes.
    pub(super) fn take_content(&mut self, text: &str) -> usize {
        if !self.is_in_plain_string() || self.probe.is_some() || !Shortcut::Content.is_on() {
            return 0;
        }
        let bytes = text.as_bytes();
        let mut taken = 0;
        loop {
            let plain = taken + plain_length(&bytes[taken..], b'"');
            self.output.text.push_str(&text[taken..plain]);
            taken = plain;
            let (Some(b'\\'), Some(next @ (b'b' | b'f' | b'n' | b'r' | b't' | b'"' | b'\\'))) =
                (bytes.get(plain), bytes.get(plain + 1))
            else {
                break;
            };
            self.note_escape(char::from(*next), Span::new(self.base + plain, self.base + plain + 2));
            taken += 2;
            self.output.text.push_str(&text[plain..taken]);
        }
        self.base += taken;
        if bytes.get(taken) != Some(&b'"') {
            return taken;
        }
        if self.ends_plainly(text, taken + 1) {
            self.close_plainly();
            taken += 1;
        } else if taken + 1 == text.len() && (!self.levels.is_empty() || self.grammar.document) {
            // Only the next piece can say what the quote is.
            self.begin_look();
            self.window.push('"');
            taken += 1;
        }
        taken
    }

    /// Ends the open string with the quote that an earlier piece of the input ended with, if it is clear from the next
    /// piece that it does.
    pub(super) fn take_held_quote(&mut self, next: &str) {
        if self.window == "\"" && self.is_in_plain_string() && self.ends_plainly(next, 0) {
            self.window.clear();
            self.close_plainly();
        }
    }

    /// Ends the open string with the quote that comes next.
    fn close_plainly(&mut self) {
        self.list_doubts(Span::new(self.base, self.base + 1));
        self.probe = None;
        self.close_string();
        self.base += 1;
    }

    /// Whether the next byte is inside of a string in double quotes.
    fn is_in_plain_string(&self) -> bool {
        self.string.as_ref().is_some_and(|open| open.style == Style::Double && !open.raw)
    }

    /// Remembers what an escape that JSON has says about the string.
    fn note_escape(&mut self, escape: char, span: Span) {
        if let Some(open) = &mut self.string {
            open.doubts.escaped_line |= escape == 'n';
            open.doubts.escaped_quotes += usize::from(escape == '"');
        }
        if !self.backslashes.in_path && !matches!(escape, '"' | '\\') && ends_like_path(&self.output.text) {
            self.backslashes.in_path = true;
            self.doubt_backslashes(span);
        }
    }

    /// Reads an escape that only Python has.
    fn read_python_escape(&mut self, cursor: &mut Cursor<'_>, next: char) -> Step {
        let rest = cursor.rest();
        match next {
            '\n' => {
                cursor.at += 2;
                Step::Go
            }
            'a' => self.replace(cursor, 2, '\u{7}'),
            'v' => self.replace(cursor, 2, '\u{b}'),
            '0'..='7' => {
                let digits =
                    rest.bytes().skip(1).take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                if digits < 3 && rest.len() == digits + 1 && !cursor.last {
                    return Step::More;
                }
                let value = u32::from_str_radix(&rest[1..=digits], 8).ok().and_then(char::from_u32);
                self.replace(cursor, 1 + digits, value.unwrap_or('\u{fffd}'))
            }
            'U' => {
                let digits = rest.as_bytes().get(2..10);
                if digits.is_none() && !cursor.last {
                    return Step::More;
                }
                match digits.and_then(hex).and_then(char::from_u32) {
                    Some(character) => self.replace(cursor, 10, character),
                    None => self.keep_backslash(cursor, Safety::Guess),
                }
            }
            'N' => {
                let at = cursor.offset();
                cursor.at += 2;
                self.fail(Code::BadJson, at, "an escape that names a character cannot be read");
                Step::Go
            }
            // Python keeps the backslash of an escape that it does not know.
            _ => self.replace(cursor, 1, '\\'),
        }
    }

    /// Reads `\u` and its digits, with the second half of a surrogate pair.
    fn read_unicode_escape(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let rest = cursor.rest().as_bytes();
        let known = rest.iter().skip(2).take(4).take_while(|byte| byte.is_ascii_hexdigit()).count();
        if known < 4 {
            return match rest.len() == 2 + known && !cursor.last {
                true => Step::More,
                false if cursor.last && rest.len() == 2 + known => Step::More,
                false => self.keep_backslash(cursor, Safety::Guess),
            };
        }
        let unit = code_unit(rest, 2).unwrap_or(0xFFFD);
        if char::from_u32(unit).is_some() {
            return self.copy(cursor, 6);
        }
        let second = &rest[6..];
        let prefix = second.iter().zip(b"\\u").take_while(|(a, b)| a == b).count();
        let digits = match prefix {
            2 => second.iter().skip(2).take(4).take_while(|byte| byte.is_ascii_hexdigit()).count(),
            _ => 0,
        };
        if prefix + digits == second.len() && second.len() < 6 && (0xD800..0xDC00).contains(&unit) {
            // What is here could still become the second half.
            return Step::More;
        }
        if prefix == 2 && code_unit(second, 2).and_then(|low| pair(unit, low)).is_some() {
            return self.copy(cursor, 12);
        }
        self.guess(RepairCode::LoneSurrogate, cursor.span(6));
        self.output.text.push_str("\\ufffd");
        cursor.at += 6;
        Step::Go
    }

    /// Reads a backslash in a string that was escaped once too often.
    fn read_doubled_escape(&mut self, cursor: &mut Cursor<'_>) -> Step {
        let rest = cursor.rest().as_bytes();
        let Some(next) = rest.get(1).copied() else { return Step::More };
        match next {
            b'"' => {
                let Some(open) = self.string else { return Step::Go };
                self.read_quote(cursor, &open, 2)
            }
            b'n' | b'r' | b't' => self.copy(cursor, 2),
            b'\\' => match (rest.get(2), rest.get(3)) {
                (None, _) | (Some(b'\\'), None) if !cursor.last => Step::More,
                (Some(b'\\'), Some(b'"' | b'\\')) => {
                    cursor.at += 2;
                    self.copy(cursor, 2)
                }
                (Some(b'n' | b'r' | b't' | b'b' | b'f' | b'/'), _) => {
                    cursor.at += 1;
                    self.copy(cursor, 2)
                }
                _ => {
                    cursor.at += 1;
                    self.replace(cursor, 1, '\\')
                }
            },
            b'u' => self.read_unicode_escape(cursor),
            _ => self.keep_backslash(cursor, Safety::Guess),
        }
    }

    /// Copies `len` bytes as they are.
    fn copy(&mut self, cursor: &mut Cursor<'_>, len: usize) -> Step {
        self.output.text.push_str(&cursor.rest()[..len]);
        cursor.at += len;
        Step::Go
    }

    /// Writes a character for `len` bytes.
    fn replace(&mut self, cursor: &mut Cursor<'_>, len: usize, character: char) -> Step {
        write_escaped(&mut self.output.text, character);
        cursor.at += len;
        Step::Go
    }

    /// Writes a character for an escape that JSON does not have.
    fn replace_foreign(&mut self, cursor: &mut Cursor<'_>, len: usize, character: char) -> Step {
        if matches!(self.grammar.syntax, Syntax::Json | Syntax::Bare) {
            self.repair(RepairCode::InvalidEscape, cursor.span(len));
        }
        self.replace(cursor, len, character)
    }

    /// Lists a guess if backslashes are used in two ways.
    fn doubt_backslashes(&mut self, span: Span) {
        if self.backslashes.kept && self.backslashes.in_path {
            self.guess(RepairCode::InvalidEscape, span);
        }
    }

    /// Writes a backslash that escapes nothing.
    fn keep_backslash(&mut self, cursor: &mut Cursor<'_>, safety: Safety) -> Step {
        self.repairs.add(RepairCode::InvalidEscape, safety, cursor.span(1));
        if let Some(open) = &mut self.string {
            open.doubts.kept_backslash = true;
        }
        if !self.backslashes.kept {
            self.backslashes.kept = true;
            self.doubt_backslashes(cursor.span(1));
        }
        self.replace(cursor, 1, '\\')
    }
}

/// Writes a character so that it may stand in a JSON string.
fn write_escaped(out: &mut String, character: char) {
    match u8::try_from(character) {
        Ok(byte @ (b'"' | b'\\' | 0..0x20)) => escape_byte(out, byte),
        _ => out.push(character),
    }
}

/// Whether what was written so far ends like a path of which another part could follow.
pub(super) fn ends_like_path(text: &str) -> bool {
    const LONGEST_PART: usize = 64;
    let part = |character: &char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | ' ');
    let before = text.chars().rev().take(LONGEST_PART).find(|character| !part(character));
    matches!(before, Some(':' | '\\'))
}
