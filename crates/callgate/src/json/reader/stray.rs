//! Stray text: what stands between two tokens and belongs to neither, how it is told from what follows, and dropping it.

use super::levels::LevelKind;
use super::probe::{Probe, ProbePhase, ProbeVerdict, Setting, Side};
use super::quotes::Style;
use super::scalars::{in_brackets, is_scalar, scalar};
use super::{Advance, Cursor, Reader};
use crate::json::meter::looked;
use crate::json::repair::{RepairCode, Safety};

/// The longest text that is dropped for belonging to nothing, in bytes.
const LONGEST: usize = 4;

/// The most white space behind such text.
const LONGEST_SPACE: usize = 256;

impl Probe {
    /// Begins to look at text without quotes.
    pub(super) fn begin_stray(
        &mut self,
        side: Side,
        character: char,
        tail: &str,
        setting: &Setting<'_>,
    ) -> Option<ProbeVerdict> {
        self.phase = ProbePhase::Stray(side);
        self.second = Some((self.at, Style::Unquoted));
        self.pass_stray(side, character, tail, setting)
    }

    /// Whether such text, as far as it goes, is a number or literal of an array.
    pub(super) fn is_item(&self, tail: &str, setting: &Setting<'_>) -> bool {
        let text = tail.get(self.second.map_or(0, |(at, _)| at)..self.at).unwrap_or_default();
        setting.in_sequence() && self.spaced && is_scalar(text.trim())
    }

    /// Looks at one character of such text; `None` moves on to the next.
    pub(super) fn pass_stray(
        &mut self,
        side: Side,
        character: char,
        tail: &str,
        setting: &Setting<'_>,
    ) -> Option<ProbeVerdict> {
        let text = tail.get(self.second.map_or(0, |(at, _)| at)..self.at).unwrap_or_default();
        // Only a sign asks for the word, and after most signs the look is over.
        let word = || {
            let word = text.trim();
            looked(text.len() - word.len());
            word
        };
        let is_short = || {
            let word = word();
            word.len() <= LONGEST && !word.contains(char::is_whitespace)
        };
        let is_item = || setting.in_sequence() && is_scalar(word());
        match (character, side) {
            // A comment follows.
            (' ' | '\t' | 'a'..='z' | 'A'..='Z', Side::Value) if self.spaced && text == "#" => {
                Some(ProbeVerdict::End)
            }
            ('"' | '\'', Side::Comma) if text.is_empty() || text.ends_with(char::is_whitespace) => {
                Some(ProbeVerdict::End)
            }
            ('"' | '\'', Side::Value) => self.leave_stray(side, character, tail, setting),
            ('"' | '\'', Side::Key | Side::Comma) => {
                self.phase = ProbePhase::AfterStray(side);
                None
            }
            (':' | '：' | '=', Side::Comma) => Some(ProbeVerdict::End),
            (':' | '：' | '=', Side::Key) if is_short() && !setting.has_colon => Some(ProbeVerdict::End),
            // In the next line, or where strings have single quotes, keys may well be bare.
            (':' | '：', Side::Value)
                if (self.newline || self.spaced && setting.style == Style::Single)
                    && setting.in_object()
                    && is_bare_key(word()) =>
            {
                Some(ProbeVerdict::End)
            }
            (':' | '：' | '=', Side::Value | Side::Key) => self.leave_stray(side, character, tail, setting),
            (',', Side::Comma) => None,
            (',', Side::Value) if is_short() && !is_item() => {
                self.phase = ProbePhase::StrayComma;
                None
            }
            (')', _) if !setting.closes(character) => None,
            (',' | '}' | ']' | ')', _) if character != ',' && !setting.closes(character) => {
                if side == Side::Comma { None } else { self.leave_stray(side, character, tail, setting) }
            }
            ('}' | ']' | ')', Side::Comma) => Some(ProbeVerdict::End),
            (',' | '}' | ']' | ')', Side::Value) if is_item() => Some(ProbeVerdict::Apart),
            (',' | '}' | ']' | ')', Side::Key) if scalar(word(), false).is_some() => {
                Some(ProbeVerdict::Apart)
            }
            ('}' | ']' | ')', Side::Value) if is_short() => Some(ProbeVerdict::End),
            (',' | '}' | ']' | ')', _) => self.leave_stray(side, character, tail, setting),
            (' ' | '\n' | '\t' | '\r', Side::Value)
                if setting.in_sequence()
                    && !text.ends_with(char::is_whitespace)
                    && is_scalar(text.trim_start()) =>
            {
                Some(ProbeVerdict::Apart)
            }
            ('{' | '[' | '(', Side::Value | Side::Key) => self.leave_stray(side, character, tail, setting),
            _ if setting.is_stop(character, self.at) => Some(ProbeVerdict::Data(Safety::Lossless)),
            _ => None,
        }
    }

    /// The text belongs to the string, or else to what this quote opens.
    fn leave_stray(
        &mut self,
        side: Side,
        character: char,
        tail: &str,
        setting: &Setting<'_>,
    ) -> Option<ProbeVerdict> {
        if side != Side::Value || !setting.may_open {
            return Some(ProbeVerdict::Data(Safety::Lossless));
        }
        // What was passed holds no quote, so that it is the start of what this quote opens.
        self.begin_own(setting.style);
        self.step(character, tail, setting)
    }

    /// Behind an opener or a colon after the string: whether that belongs to nothing.
    pub(super) fn after_sign(&self, character: char, setting: &Setting<'_>) -> ProbeVerdict {
        let is_stray = character == ',' || setting.closes(character);
        match self.phase {
            _ if is_stray => ProbeVerdict::End,
            ProbePhase::AfterColon => ProbeVerdict::IsKey,
            _ if setting.in_sequence() && matches!(character, '"' | '{' | '[' | '-' | '0'..='9') => {
                ProbeVerdict::Apart
            }
            _ => ProbeVerdict::Data(Safety::Lossless),
        }
    }

    /// Behind a quote in text without quotes: is this the end of a key, of a string, or the start of one?
    pub(super) fn after_stray(&self, side: Side, character: char, setting: &Setting<'_>) -> ProbeVerdict {
        match (side, character) {
            (Side::Comma, ',') => ProbeVerdict::Data(Safety::Guess),
            (Side::Comma, '}' | ']' | ')') if setting.closes(character) => ProbeVerdict::Data(Safety::Guess),
            (Side::Comma, _) => ProbeVerdict::End,
            _ => ProbeVerdict::Data(Safety::Guess),
        }
    }

    /// Behind a comma after stray text: whether what follows goes on with the value.
    pub(super) fn after_stray_comma(&self, character: char, setting: &Setting<'_>) -> ProbeVerdict {
        let goes_on = matches!(character, '"' | '\'')
            || setting.closes(character)
            || setting.in_sequence() && matches!(character, '{' | '[' | '-' | '0'..='9' | 't' | 'f' | 'n');
        if goes_on { ProbeVerdict::End } else { ProbeVerdict::Data(Safety::Lossless) }
    }

    /// Begins to look behind a second quote that touches the first.
    pub(super) fn begin_second(&mut self, style: Style) -> Option<ProbeVerdict> {
        self.second = Some((self.at, style));
        self.phase = ProbePhase::AfterSecond;
        None
    }

    /// Behind two quotes in a row: one is too many, or the second opens another string.
    pub(super) fn after_second(
        &mut self,
        character: char,
        tail: &str,
        setting: &Setting<'_>,
    ) -> Option<ProbeVerdict> {
        let end = self.second_end(tail);
        match character {
            ':' | '：' if setting.key => Some(ProbeVerdict::Doubled(end)),
            _ if setting.key => Some(ProbeVerdict::Apart),
            ',' => Some(ProbeVerdict::Doubled(end)),
            _ if setting.closes(character) => Some(ProbeVerdict::Doubled(end)),
            _ => {
                // The look goes on inside of the other string. White space that it starts with is passed.
                self.phase = ProbePhase::Quoted { after_comma: false };
                self.step(character, tail, setting)
            }
        }
    }

    /// Whether the quotes stand twice around what should be the next key: behind the first two, or between the last two.
    pub(super) fn is_doubled(&self, character: char, tail: &str, setting: &Setting<'_>) -> bool {
        let (at, style) = self.second.unwrap_or((0, Style::Unquoted));
        let is_quote = |character| style.may_close(character);
        let is_doubled = tail.get(at + 1..).is_some_and(|rest| rest.starts_with(is_quote));
        let fits = if self.at == at + 2 { character.is_alphanumeric() } else { is_quote(character) };
        setting.grammar.restores && !self.spaced && is_doubled && fits
    }

    /// Goes into a key behind two quotes, or past the second quote behind it.
    pub(super) fn pass_doubled(&mut self) -> Option<ProbeVerdict> {
        if self.second.is_some_and(|(at, _)| self.at == at + 2) {
            self.phase = ProbePhase::Quoted { after_comma: true };
        }
        None
    }

    /// Whether a comment begins with the slash here, or may begin once there is more input.
    pub(super) fn is_comment(&self, tail: &str, last: bool) -> bool {
        match tail.as_bytes().get(self.at + 1) {
            None => !last,
            next => matches!(next, Some(b'/' | b'*')),
        }
    }

    /// The string ends before the comment here, which took a look at its second byte.
    pub(super) fn end_before_comment(&mut self, tail: &str) -> ProbeVerdict {
        if self.at + 1 == tail.len() {
            return ProbeVerdict::More;
        }
        self.at += 1;
        ProbeVerdict::End
    }

    /// Where the second of two quotes ends.
    pub(super) fn second_end(&self, tail: &str) -> usize {
        let at = self.second.map_or(0, |(at, _)| at);
        at + tail.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
    }

    /// Begins to look at what this quote opens, if the string should have ended before it.
    pub(super) fn begin_own(&mut self, style: Style) -> Option<ProbeVerdict> {
        self.second = Some((0, style));
        self.phase = ProbePhase::Own;
        None
    }
}

/// Whether a word may be a key without quotes.
fn is_bare_key(word: &str) -> bool {
    !word.is_empty() && !word.contains(char::is_whitespace)
}

impl Reader {
    /// Drops text that touches an opener where a value is expected, and belongs to nothing.
    pub(super) fn drop_stray_before_opener(&mut self, cursor: &mut Cursor<'_>) -> Option<Advance> {
        let rest = cursor.rest().as_bytes();
        let part =
            |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'&' | b'/');
        let word = rest.iter().take(LONGEST + 1).take_while(part).count();
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
        let spaces = rest[word..].iter().take(LONGEST_SPACE).take_while(is_blank).count();
        let inside = rest.get(word + spaces + 1..).unwrap_or_default();
        let inner = inside.iter().take(LONGEST_SPACE).take_while(is_space).count();
        match (rest.get(word + spaces), inside.get(inner)) {
            _ if !self.grammar.restores || word == 0 || word > LONGEST => None,
            (None, _) if !cursor.last => Some(Advance::More),
            (Some(b'{' | b'['), None) if !cursor.last => Some(Advance::More),
            (Some(b'{'), Some(b'"')) if self.is_in_array() && is_scalar(&cursor.rest()[..word]) => {
                match self.is_item(cursor, word + spaces) {
                    None => Some(Advance::More),
                    // It is the value, and the object around it is not closed.
                    Some(true) => None,
                    Some(false) => self.drop_stray(cursor, |byte| byte == b'{'),
                }
            }
            // What stands in brackets in the middle of text does not begin like this.
            (Some(b'{' | b'['), Some(b'"' | b'{' | b'[' | b'}' | b']' | b'-' | b'0'..=b'9')) => {
                self.drop_stray(cursor, |byte| matches!(byte, b'{' | b'['))
            }
            _ => None,
        }
    }

    /// Whether the object so far from here can only be the next item of the array around the innermost object: the array
    /// ends behind it, or goes on with another one. `None` if more input decides.
    pub(super) fn is_item(&self, cursor: &Cursor<'_>, from: usize) -> Option<bool> {
        let rest = cursor.rest().as_bytes();
        let (len, _) = in_brackets(rest.get(from..).unwrap_or_default(), cursor.last)?;
        if len == 0 {
            return Some(false);
        }
        match self.next_token(cursor, from + len)? {
            b']' => Some(true),
            b',' => {
                let comma = rest[from + len..].iter().position(|byte| *byte == b',').unwrap_or(0);
                self.next_token(cursor, from + len + comma + 1).map(|next| next == b'{')
            }
            _ => Some(false),
        }
    }

    /// Whether the innermost object is an item of an array.
    pub(super) fn is_in_array(&self) -> bool {
        let parent = self.levels.len().checked_sub(2).and_then(|at| self.levels.get(at));
        self.level_kind() == Some(LevelKind::Brace)
            && parent.is_some_and(|level| level.kind() == LevelKind::Bracket)
    }

    /// Drops text that belongs to nothing, if that is what stands here before what goes on: `Some` is what to do then.
    pub(super) fn drop_stray(&mut self, cursor: &mut Cursor<'_>, goes_on: fn(u8) -> bool) -> Option<Advance> {
        if !self.grammar.restores {
            return None;
        }
        let rest = cursor.rest().as_bytes();
        let ends = |byte: &u8| {
            matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b'"' | b'\'' | b'{' | b'}' | b'[' | b']')
        };
        let is_sign = rest.first() == Some(&b':');
        let word =
            rest.iter().take(LONGEST + 1).take_while(|byte| !ends(byte) && (is_sign || **byte != b':'));
        let word = word.count();
        if word == 0 || word > LONGEST {
            return None;
        }
        if word == rest.len() && !cursor.last {
            return Some(Advance::More);
        }
        if scalar(cursor.rest().get(..word)?, self.grammar.python()).is_some() && self.in_sequence() {
            return None;
        }
        let is_space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        let spaces = rest[word..].iter().take(LONGEST_SPACE).take_while(is_space).count();
        match rest.get(word + spaces) {
            None if !cursor.last => Some(Advance::More),
            // Alone between brackets it is a value that cannot be read.
            Some(b'}' | b']') if !self.has_items() => None,
            Some(byte) if goes_on(*byte) => {
                self.guess(RepairCode::StrayText, cursor.span(word));
                cursor.at += word;
                Some(Advance::Go)
            }
            _ => None,
        }
    }
}
