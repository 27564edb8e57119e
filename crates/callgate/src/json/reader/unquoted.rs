//! Text without quotes: where it ends, and what was meant if only its first quote is missing.

use super::probe::ProbeVerdict;
use super::strings::write_escaped;
use super::{Advance, Cursor, Reader};
use crate::finding::{Code, Span};
use crate::json::meter::looked;
use crate::json::repair::{RepairCode, Safety};
use crate::json::tape::Tape;
use crate::json::text::unescape;

const DATA: ProbeVerdict = ProbeVerdict::Data(Safety::Guess);

impl Reader {
    /// Reads text without quotes up to what can only end it.
    pub(super) fn read_unquoted(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        let Some(character) = cursor.rest().chars().next() else { return Advance::More };
        if self.stops_at(cursor, cursor.at) {
            return Advance::Stop(cursor.at);
        }
        if matches!(character, ' ' | '\t') {
            // Spaces at the end are not part of the text.
            self.gap.push(character);
            cursor.at += 1;
            return Advance::Go;
        }
        let ends = match self.passes_in_text(cursor, character) {
            Some(verdict) => verdict,
            None => self.ends_text(cursor, character),
        };
        match ends {
            ProbeVerdict::More => Advance::More,
            ProbeVerdict::Stop(at) => Advance::Stop(cursor.at + 1 + at),
            ProbeVerdict::End | ProbeVerdict::Apart | ProbeVerdict::Doubled(_) => {
                self.close_string();
                Advance::Go
            }
            ProbeVerdict::IsKey => self.reject(cursor, "a quote or comma is missing before this key"),
            ProbeVerdict::Data(_) | ProbeVerdict::Join { .. } | ProbeVerdict::Opens { .. } => {
                self.write_gap();
                let character = cursor.rest().chars().next().unwrap_or(character);
                self.write_character(cursor, character);
                Advance::Go
            }
        }
    }

    /// What is part of text that is read for its own sake, though elsewhere it would end it: brackets that come in
    /// pairs, and everything behind an escaped quote, because then only the first quote is missing.
    fn passes_in_text(&mut self, cursor: &mut Cursor<'_>, character: char) -> Option<ProbeVerdict> {
        if !self.grammar.restores {
            return None;
        }
        let escapes_quote = match (character, cursor.byte_at(cursor.at + 1)) {
            ('\\', None) if !cursor.last => return Some(ProbeVerdict::More),
            ('\\', next) => next == Some(b'"'),
            _ => false,
        };
        if escapes_quote {
            self.write_gap();
            self.write_character(cursor, '\\');
        }
        let open = self.string.as_mut()?;
        open.escaped |= escapes_quote;
        match character {
            '\\' => Some(DATA),
            ',' | '}' | ']' | ')' | '#' | '/' | '\'' if open.escaped => Some(DATA),
            '{' | '[' | '(' => {
                open.nested += 1;
                Some(DATA)
            }
            '}' | ']' | ')' if open.nested > 0 => {
                open.nested -= 1;
                Some(DATA)
            }
            _ => None,
        }
    }

    /// Whether the text ends before this character, or with it.
    fn ends_text(&mut self, cursor: &mut Cursor<'_>, character: char) -> ProbeVerdict {
        let spaced = !self.gap.is_empty();
        match character {
            '\n' | '\r' => ProbeVerdict::End,
            '}' | ']' | ')' if self.open_brackets.count(character as u8) > 0 => ProbeVerdict::End,
            ',' if self.in_sequence() => ProbeVerdict::End,
            ',' => self.look_beyond_comma(cursor, cursor.at + 1),
            '"' if self.grammar.restores && spaced => match self.look_at_opened(cursor, cursor.at + 1) {
                ProbeVerdict::Opens { key } if key != self.in_sequence() => ProbeVerdict::End,
                ProbeVerdict::Opens { .. } => DATA,
                verdict => verdict,
            },
            '"' => match self.look_beyond_quote(cursor, cursor.at + 1) {
                ProbeVerdict::End | ProbeVerdict::Apart => {
                    self.end_unquoted(cursor.span(1));
                    cursor.at += 1;
                    ProbeVerdict::End
                }
                ProbeVerdict::IsKey if self.grammar.restores && !spaced => DATA,
                ProbeVerdict::Join { .. } => DATA,
                verdict => verdict,
            },
            '#' if spaced => ProbeVerdict::End,
            '/' if spaced => match cursor.byte_at(cursor.at + 1) {
                None if !cursor.last => ProbeVerdict::More,
                Some(b'/' | b'*') => ProbeVerdict::End,
                _ => DATA,
            },
            _ => DATA,
        }
    }

    /// Writes the spaces that turned out to be part of text without quotes.
    fn write_gap(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        for space in gap.chars() {
            write_escaped(&mut self.output.text, space);
        }
    }

    /// Ends text of which only the first quote is missing. It was written with escapes, if all its backslashes make some.
    fn end_unquoted(&mut self, quote: Span) {
        let start = self.string.map_or(0, |open| open.start);
        let content = &self.output.text[start..];
        looked(content.len());
        if !self.grammar.restores && content[1..].contains('"') {
            let message =
                "the text has no quote before it and some in it: write it in quotes, and escape those in it";
            self.fail(Code::RepairRefused, quote.start, message);
            return;
        }
        if !self.grammar.restores || !content.contains('\\') {
            self.guess(RepairCode::MissingQuote, quote);
            return;
        }
        let body = unescape(content).into_owned();
        if Tape::parse(&format!("\"{body}\"")).is_some() {
            self.freeze();
            self.output.text.truncate(start + 1);
            self.output.text.push_str(&body);
        }
        self.guess_late(RepairCode::MissingQuote, quote);
    }
}

/// The longest name of an argument that is looked for behind a quote.
const LONGEST_KEYWORD: usize = 64;

/// Whether the name of an argument begins here, with its equals sign; nothing if more has to be seen.
pub(super) fn keyword(text: &str, last: bool) -> Option<bool> {
    let name: usize =
        text.chars().take(LONGEST_KEYWORD + 1).take_while(|c| is_bare(*c)).map(char::len_utf8).sum();
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    // Each chunk looks again from the start of the name, so the blanks behind it have a bound too.
    let blanks = text[name..].bytes().take(LONGEST_KEYWORD + 1).take_while(is_blank).count();
    looked(name + blanks);
    if name > LONGEST_KEYWORD || blanks > LONGEST_KEYWORD {
        return Some(false);
    }
    let mut rest = text[name + blanks..].chars();
    match (rest.next(), rest.next()) {
        (Some('='), Some(after)) => Some(after != '='),
        (Some('='), None) => last.then_some(true),
        (Some(_), _) => Some(false),
        (None, _) => last.then_some(false),
    }
}

/// Whether a bare key or value may hold this character.
pub(super) fn is_bare(character: char) -> bool {
    match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => is_bare_byte(byte),
        _ => character.is_alphanumeric(),
    }
}

/// The same for an ASCII character; no other byte is one.
pub(super) fn is_bare_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$' | b'@' | b'.')
}
