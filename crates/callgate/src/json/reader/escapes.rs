//! Escapes: valid ones are copied, those of other languages become characters, and what escapes nothing is kept.

use super::quotes::{ENTITY, Style};
use super::strings::{OpenString, write_escaped};
use super::{Advance, Cursor, Reader, Syntax};
use crate::finding::{Code, Span};
use crate::json::meter::looked;
use crate::json::repair::{RepairCode, Safety};
use crate::json::text::{code_unit, hex, pair};

/// What makes it doubtful that backslashes were read as they were meant, in all strings of a value: where some
/// stand for themselves, `\n` in `C:\new` may do so too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backslashes {
    pub(super) kept: bool,
    pub(super) in_path: bool,
}

impl Reader {
    /// Reads a backslash in a raw string: it stands for itself, and hides a quote or backslash after it.
    pub(super) fn read_raw_backslash(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        let next = cursor.rest().chars().nth(1);
        if next.is_none() && !cursor.last {
            return Advance::More;
        }
        self.write_character(cursor, '\\');
        // A second backslash is hidden too, or it would hide the quote behind it.
        if let Some(hidden @ ('"' | '\'' | '\\')) = next {
            self.write_character(cursor, hidden);
        }
        Advance::Go
    }

    /// Reads an escape, which may be valid, foreign, or none at all.
    pub(super) fn read_escape(&mut self, cursor: &mut Cursor<'_>, open: &OpenString) -> Advance {
        let rest = cursor.rest();
        let python = self.grammar.python();
        let Some(next) = rest.chars().nth(1) else { return Advance::More };
        match next {
            'b' | 'f' | 'n' | 'r' | 't' | '"' | '\\' => {
                self.note_escape(next, cursor.span(2));
                self.copy(cursor, 2)
            }
            '/' if !python => self.copy(cursor, 2),
            // In bytes, no escape names a character.
            'u' | 'U' | 'N' if open.bytes && python => self.keep_backslash(cursor, Safety::Guess),
            'u' => self.read_unicode_escape(cursor),
            // To Python, a backslash before a backtick stands for itself.
            '\'' | '`' | '$' if next == '\'' || !python && next == '`' || open.style == Style::Backtick => {
                let own = open.style.may_close(next)
                    || open.style == Style::Backtick
                    || open.style == Style::Triple(b'\'');
                if !own && !python {
                    // To a shell, a backslash before a backtick changes what runs.
                    let safety = if next == '`' { Safety::Guess } else { Safety::Lossless };
                    self.repairs.add(RepairCode::InvalidEscape, safety, cursor.span(2));
                }
                self.replace(cursor, 2, next)
            }
            _ if open.style.may_close(next) => self.replace(cursor, 1 + next.len_utf8(), next),
            'x' => {
                let digits = rest.as_bytes().get(2..4);
                if digits.is_none() && !cursor.last {
                    return Advance::More;
                }
                match digits.and_then(hex).and_then(char::from_u32) {
                    Some(character) => self.replace_foreign(cursor, 4, character),
                    None => self.keep_backslash(cursor, Safety::Guess),
                }
            }
            _ if python => self.read_python_escape(cursor, next),
            '\n' if self.grammar.restores => {
                self.guess(RepairCode::InvalidEscape, cursor.span(2));
                cursor.at += 2;
                Advance::Go
            }
            _ => {
                let safety =
                    if next.is_ascii_graphic() && next != '0' { Safety::Lossless } else { Safety::Guess };
                self.keep_backslash(cursor, safety)
            }
        }
    }

    /// Reads an escape that only Python has.
    fn read_python_escape(&mut self, cursor: &mut Cursor<'_>, next: char) -> Advance {
        let rest = cursor.rest();
        match next {
            '\n' => {
                cursor.at += 2;
                Advance::Go
            }
            '\r' if rest.len() == 2 && !cursor.last => Advance::More,
            '\r' if rest.as_bytes().get(2) == Some(&b'\n') => {
                cursor.at += 3;
                Advance::Go
            }
            'a' => self.replace(cursor, 2, '\u{7}'),
            'v' => self.replace(cursor, 2, '\u{b}'),
            '0'..='7' => {
                let digits =
                    rest.bytes().skip(1).take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                if digits < 3 && rest.len() == digits + 1 && !cursor.last {
                    return Advance::More;
                }
                let value = u32::from_str_radix(&rest[1..=digits], 8).ok().and_then(char::from_u32);
                self.replace(cursor, 1 + digits, value.unwrap_or('\u{fffd}'))
            }
            'U' => {
                let digits = rest.as_bytes().get(2..10);
                if digits.is_none() && !cursor.last {
                    return Advance::More;
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
                Advance::Go
            }
            // Python keeps the backslash of an escape that it does not know.
            _ => self.replace(cursor, 1, '\\'),
        }
    }

    /// Reads `\u` and its digits, with the second half of a surrogate pair.
    fn read_unicode_escape(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        let rest = cursor.rest().as_bytes();
        let known = rest.iter().skip(2).take(4).take_while(|byte| byte.is_ascii_hexdigit()).count();
        if known < 4 {
            return match rest.len() == 2 + known && !cursor.last {
                true => Advance::More,
                false if cursor.last && rest.len() == 2 + known => Advance::More,
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
            return Advance::More;
        }
        if prefix == 2 && code_unit(second, 2).and_then(|low| pair(unit, low)).is_some() {
            return self.copy(cursor, 12);
        }
        self.guess(RepairCode::LoneSurrogate, cursor.span(6));
        self.output.text.push_str("\\ufffd");
        cursor.at += 6;
        Advance::Go
    }

    /// Reads a backslash in a string that was escaped once too often.
    pub(super) fn read_doubled_escape(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        let rest = cursor.rest().as_bytes();
        let Some(next) = rest.get(1).copied() else { return Advance::More };
        match next {
            b'"' => {
                let Some(open) = self.string else { return Advance::Go };
                self.read_quote(cursor, &open, 2)
            }
            b'n' | b'r' | b't' => self.copy(cursor, 2),
            b'\\' => match (rest.get(2), rest.get(3)) {
                (None, _) | (Some(b'\\'), None) if !cursor.last => Advance::More,
                (Some(b'\\'), Some(b'"' | b'\\')) => {
                    cursor.at += 2;
                    self.copy(cursor, 2)
                }
                (Some(b'n' | b'r' | b't' | b'b' | b'f' | b'/'), _) => {
                    cursor.at += 1;
                    self.copy(cursor, 2)
                }
                // Three backslashes would stand before a quote in the text, and one before the quote that ends it.
                (Some(b'"'), _) if self.grammar.restores => {
                    self.guess(RepairCode::EscapedQuotes, cursor.span(3));
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

    /// Reads an ampersand in a string whose quotes are entities.
    pub(super) fn read_entity(&mut self, cursor: &mut Cursor<'_>, open: &OpenString) -> Advance {
        const ENTITIES: [(&str, char); 6] =
            [(ENTITY, '"'), ("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&apos;", '\''), ("&#39;", '\'')];
        let rest = cursor.rest();
        if !cursor.last
            && ENTITIES.iter().any(|(entity, _)| entity.len() > rest.len() && entity.starts_with(rest))
        {
            return Advance::More;
        }
        match ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity)) {
            Some((ENTITY, _)) => self.read_quote(cursor, open, ENTITY.len()),
            Some((entity, character)) => self.replace(cursor, entity.len(), *character),
            None => self.replace(cursor, 1, '&'),
        }
    }

    /// Remembers what an escape that JSON has says about the string.
    pub(super) fn note_escape(&mut self, escape: char, span: Span) {
        if let Some(open) = &mut self.string {
            open.doubts.note_escape(escape);
        }
        if !self.backslashes.in_path
            && !matches!(escape, '"' | '\\')
            && may_be_meant(escape, &self.output.text)
        {
            self.backslashes.in_path = true;
            self.doubt_backslashes(span);
        }
    }

    /// Writes a backslash that escapes nothing.
    fn keep_backslash(&mut self, cursor: &mut Cursor<'_>, safety: Safety) -> Advance {
        if self.grammar.restores && self.output.text.ends_with("\\\\") {
            // Behind an escaped backslash it is one too many.
            self.guess(RepairCode::InvalidEscape, cursor.span(1));
            cursor.at += 1;
            return Advance::Go;
        }
        self.repairs.add(RepairCode::InvalidEscape, safety, cursor.span(1));
        if let Some(open) = &mut self.string {
            open.doubts.note_kept_backslash();
        }
        if !self.backslashes.kept {
            self.backslashes.kept = true;
            self.doubt_backslashes(cursor.span(1));
        }
        self.replace(cursor, 1, '\\')
    }

    /// Takes `\t` for a backslash and a letter in the path of a drive, if other backslashes of the string escape nothing.
    pub(super) fn keep_backslashes_of_path(&mut self, quote: Span) {
        let Some(open) = self.string.filter(|open| open.doubts.has_plain_backslashes()) else { return };
        let content = &self.output.text[open.start + 1..];
        looked(content.len());
        let mut kept = String::with_capacity(content.len());
        let mut rest = content;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (before, escape) = rest.split_at(at);
            let len = 1 + escape.chars().nth(1).map_or(0, char::len_utf8);
            kept.push_str(before);
            if matches!(escape.as_bytes().get(1), Some(b'b' | b'f' | b'n' | b'r' | b't')) && in_drive(&kept) {
                kept.push('\\');
            }
            kept.push_str(&escape[..len]);
            rest = &escape[len..];
        }
        kept.push_str(rest);
        if kept.len() == content.len() {
            return;
        }
        if !open.key {
            self.freeze();
        }
        self.output.text.truncate(open.start + 1);
        self.output.text.push_str(&kept);
        self.guess_late(RepairCode::InvalidEscape, quote);
    }

    /// Lists a guess if backslashes are used in two ways.
    fn doubt_backslashes(&mut self, span: Span) {
        if self.backslashes.kept && self.backslashes.in_path {
            self.guess(RepairCode::InvalidEscape, span);
        }
    }

    /// Copies `len` bytes as they are.
    fn copy(&mut self, cursor: &mut Cursor<'_>, len: usize) -> Advance {
        self.output.text.push_str(&cursor.rest()[..len]);
        cursor.at += len;
        Advance::Go
    }

    /// Writes a character for `len` bytes.
    fn replace(&mut self, cursor: &mut Cursor<'_>, len: usize, character: char) -> Advance {
        write_escaped(&mut self.output.text, character);
        cursor.at += len;
        Advance::Go
    }

    /// Writes a character for an escape that JSON does not have. A regular expression or a command may have meant the escape itself.
    fn replace_foreign(&mut self, cursor: &mut Cursor<'_>, len: usize, character: char) -> Advance {
        if matches!(self.grammar.syntax, Syntax::Json | Syntax::Bare) {
            self.guess(RepairCode::InvalidEscape, cursor.span(len));
        }
        self.replace(cursor, len, character)
    }
}

/// Whether what was written so far ends with a path that begins with the letter of a drive.
fn in_drive(text: &str) -> bool {
    const LONGEST_PATH: usize = 256;
    let part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '\\');
    let parts: usize =
        text.chars().rev().take(LONGEST_PATH).take_while(|c| part(*c)).map(char::len_utf8).sum();
    looked(parts);
    let drive = text[..text.len() - parts].strip_suffix(':');
    let mut letters = drive.map(|drive| drive.chars().rev());
    let mut next = || letters.as_mut().and_then(Iterator::next);
    next().is_some_and(|c| c.is_ascii_alphabetic()) && !next().is_some_and(char::is_alphanumeric)
}

/// Whether an escape behind this text may be a backslash and a letter: the text ends like a path of which another part could
/// follow, or the character is one that no text has, and that expressions and formulas begin a word with.
pub(super) fn may_be_meant(escape: char, text: &str) -> bool {
    if matches!(escape, 'b' | 'f') {
        return true;
    }
    const LONGEST_PART: usize = 64;
    let part = |character: &char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | ' ');
    let before = text.chars().rev().take(LONGEST_PART).find(|character| !part(character));
    matches!(before, Some(':' | '\\'))
}
