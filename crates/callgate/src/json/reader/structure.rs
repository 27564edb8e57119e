//! Between the values: brackets, commas, colons, keys.

use super::computed::is_operator;
use super::document::key_here;
use super::levels::LevelKind;
use super::quotes::{Opening, Style, typographic};
use super::scalars::{Scan, is_identifier, literal_at};
use super::{Advance, Cursor, Reader, ReaderState, Syntax};
use crate::finding::{Code, Span};
use crate::json::repair::{RepairCode, Safety};
use crate::json::tape::Kind;
use crate::json::text::escape_into;

/// The first byte of full-width punctuation.
const WIDE: u8 = 0xEF;

/// What is expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expects {
    /// Anything: nothing has been read.
    Start,
    /// What stands before or after the value of a document.
    Around,
    /// A value; in an array also its end.
    Value,
    /// A key, or the end of the object.
    Key,
    /// The colon after a key.
    Colon,
    /// A comma, or the end of what is open.
    After,
}

impl Reader {
    pub(super) fn start(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        if self.grammar.document {
            self.expects = Expects::Around;
            return Advance::Go;
        }
        self.take_space(cursor);
        if cursor.byte().is_none() {
            return Advance::More;
        }
        self.expects = Expects::Value;
        if self.grammar.syntax == Syntax::Kwargs {
            // White space after the parenthesis is written after the brace, so it stays in the gap.
            self.open_level(LevelKind::Kwargs);
        } else {
            self.flush_gap();
        }
        Advance::Go
    }

    pub(super) fn read_structure(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        self.take_space(cursor);
        let Some(byte) = cursor.byte() else { return Advance::More };
        if self.stops_at(cursor, cursor.at) && !self.fits(byte) {
            return Advance::Stop(cursor.at);
        }
        if byte == WIDE
            && self.grammar.restores
            && let Some(step) = self.read_wide_bracket(cursor)
        {
            return step;
        }
        if byte == b'`'
            && self.grammar.restores
            && let Some(step) = self.drop_fence(cursor)
        {
            return step;
        }
        if (matches!(byte, b'/' | b'#' | b'.' | b'\\') || !(b' '..0x80).contains(&byte))
            && let Some(step) = self.skip_oddity(cursor, byte)
        {
            return step;
        }
        match self.expects {
            Expects::Value => self.read_value(cursor, byte),
            Expects::Key => self.read_key(cursor, byte),
            Expects::Colon => self.read_colon(cursor, byte),
            Expects::After | Expects::Start | Expects::Around => self.read_after(cursor, byte),
        }
    }

    /// Whether a valid value may go on with this byte, so that it is no stop.
    fn fits(&self, byte: u8) -> bool {
        let closes = matches!(byte, b'}' | b']' | b')') && self.open_brackets.count(byte) > 0;
        match self.expects {
            Expects::Value if closes => self.in_sequence(),
            Expects::Value => matches!(byte, b'{' | b'[' | b'"' | b'-') || byte.is_ascii_alphanumeric(),
            Expects::Key => closes || byte == b'"' || byte.is_ascii_alphanumeric(),
            Expects::Colon => matches!(byte, b':' | b'='),
            Expects::After | Expects::Start | Expects::Around => closes || byte == b',',
        }
    }

    fn read_value(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Advance {
        match byte {
            b'{' => return self.open_container(cursor, LevelKind::Brace),
            b'[' => return self.open_container(cursor, LevelKind::Bracket),
            b'-' | b'0'..=b'9' if !self.grammar.restores || self.in_sequence() => {
                return self.read_word(cursor);
            }
            b'-' | b'0'..=b'9' => {
                return match self.drop_stray_before_opener(cursor) {
                    Some(step) => step,
                    None => self.read_word(cursor),
                };
            }
            b'}' | b']' | b')' if self.in_sequence() => return self.read_closer(cursor, byte),
            _ => {}
        }
        match self.grammar.opening(cursor.rest(), cursor.last) {
            Opening::More => return Advance::More,
            Opening::Quote(style, len) => return self.open_string(cursor, style, len),
            Opening::None => {}
        }
        match byte {
            b'(' if self.grammar.syntax == Syntax::Bare && self.levels.is_empty() => {
                self.repair(RepairCode::WrongOpener, cursor.span(1));
                self.open_container(cursor, LevelKind::Members)
            }
            b'(' => self.open_container(cursor, LevelKind::Paren),
            b',' if self.in_sequence() => self.drop_comma(cursor, Safety::Guess),
            b':' if self.in_sequence() && self.grammar.restores && self.has_items() => {
                self.guess(RepairCode::ExtraColon, cursor.span(1));
                cursor.at += 1;
                Advance::Go
            }
            b':' if self.output.text.ends_with(':') && self.comma.is_none() => {
                self.repair(RepairCode::ExtraColon, cursor.span(1));
                cursor.at += 1;
                Advance::Go
            }
            b'}' | b']' | b')' | b',' | b';' => self.drop_before_value(cursor, byte),
            b':' | b'=' => self.reject(cursor, "this sign cannot start a value"),
            _ => match self.drop_stray_before_opener(cursor) {
                Some(step) => step,
                None => self.read_word(cursor),
            },
        }
    }

    fn read_key(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Advance {
        match byte {
            b'}' | b']' | b')' => return self.read_closer(cursor, byte),
            b',' => return self.drop_comma(cursor, Safety::Lossless),
            b'{' if self.grammar.restores => return self.read_opener_for_key(cursor),
            b'0'..=b'9' => {
                if let Some(step) = self.join_number(cursor) {
                    return step;
                }
            }
            _ => {}
        }
        let keyword = self.level_kind() == Some(LevelKind::Kwargs);
        match self.grammar.opening(cursor.rest(), cursor.last) {
            Opening::More => return Advance::More,
            Opening::Quote(..) if keyword => return self.reject_positional(cursor),
            Opening::Quote(style, len) => {
                // A key is never in triple quotes: an empty key may stand right before a broken value.
                let (style, len) = match style {
                    Style::Triple(b'"') => (Style::Double, 1),
                    Style::Triple(_) => (Style::Single, 1),
                    _ => (style, len),
                };
                return self.open_string(cursor, style, len);
            }
            Opening::None => {}
        }
        self.read_bare_key(cursor)
    }

    /// Reads a key without quotes, or with only the second one.
    fn read_bare_key(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        let text = cursor.text;
        let mut at = cursor.at + self.scan.word.unwrap_or(self.scan.len);
        let ends =
            |byte: u8| matches!(byte, b':' | b'=' | b',' | b'"' | b'\'' | b'`' | b'\n') || is_bracket(byte);
        while let Some(byte) = cursor.byte_at(at) {
            if ends(byte) || self.stops_at(cursor, at) || byte == b'/' && may_be_comment(cursor, at) {
                break;
            }
            if byte.is_ascii() {
                at += 1;
                continue;
            }
            let is_apart =
                self.grammar.restores && at > cursor.at && matches!(text.as_bytes()[at - 1], b' ' | b'\t');
            if text[at..].starts_with('：') || is_apart && typographic(text, at).is_some() {
                break;
            }
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
        let found = cursor.byte_at(at);
        let is_cut_comment = found == Some(b'/') && cursor.byte_at(at + 1).is_none();
        if found.is_none() || is_cut_comment {
            self.scan.len = at - cursor.at;
            return Advance::More;
        }
        self.scan.word = Some(at - cursor.at);
        let key = text[cursor.at..at].trim_end();
        let mut taken = at;
        let quoted = matches!(found, Some(b'"' | b'\'')) && key.len() == at - cursor.at;
        let colon = if quoted {
            // Only a colon tells a second quote from one that is out of place.
            let mut next = cursor.at + self.scan.len.max(at + 1 - cursor.at);
            while matches!(cursor.byte_at(next), Some(b' ' | b'\t' | b'\n' | b'\r')) {
                next += 1;
            }
            self.scan.len = next - cursor.at;
            if cursor.byte_at(next).is_none() {
                return Advance::More;
            }
            taken = at + 1;
            text[next..].starts_with([':', '=', '：'])
        } else {
            // The colon may follow a comment.
            text[at..].starts_with([':', '=', '：']) || found == Some(b'/') && is_identifier(key)
        };
        if !quoted && self.stops_at(cursor, at) {
            return Advance::Stop(at);
        }
        let (mut lacks_colon, mut precedes_key) = (false, false);
        if !colon && self.grammar.restores && is_identifier(key) && key.len() < at - cursor.at {
            // A string that is no key itself is the value of this one, whose colon is missing.
            let quote = match found {
                Some(b'"') => Some((Style::Double, 1)),
                Some(b'\'') => Some((Style::Single, 1)),
                Some(b'`') => Some((Style::Backtick, 1)),
                _ => typographic(text, at),
            };
            if let Some((style, len)) = quote {
                let Some(is_key) = key_here(&Cursor { at, ..*cursor }, style, len) else {
                    return Advance::More;
                };
                (lacks_colon, precedes_key) = (!is_key, is_key);
            }
        }
        self.scan = Scan::default();
        const LONGEST_WORD: usize = 32;
        if precedes_key && key.len() <= LONGEST_WORD {
            // One word before a key with its colon belongs to nothing.
            self.guess(RepairCode::StrayText, cursor.span(key.len()));
            cursor.at += key.len();
            return Advance::Go;
        }
        if key.is_empty() || !(colon || lacks_colon) {
            if let Some(step) = self.drop_stray(cursor, |byte| matches!(byte, b'"' | b'\'' | b'}')) {
                return step;
            }
            return match self.level_kind() {
                Some(LevelKind::Kwargs) => self.reject_positional(cursor),
                _ if (!key.is_empty() || found == Some(b'(')) && self.becomes_set(cursor.span(key.len())) => {
                    self.expects = Expects::Value;
                    Advance::Go
                }
                _ => self.reject(cursor, "a key and its colon are missing here"),
            };
        }
        if self.is_code_key(key) {
            return self.reject(cursor, "the key is computed here: write the key itself");
        }
        let bare_keys = matches!(self.grammar.syntax, Syntax::Bare | Syntax::Kwargs);
        let span = cursor.span(key.len());
        match (quoted, is_identifier(key)) {
            (true, _) => {
                let safety = if self.follows_comma_in_string() { Safety::Guess } else { Safety::Lossless };
                self.repairs.add(RepairCode::MissingQuote, safety, Span::new(span.start, span.start));
            }
            (false, true) if bare_keys => {}
            (false, true) if lacks_colon => self.guess(RepairCode::UnquotedKey, span),
            (false, true) => self.repair(RepairCode::UnquotedKey, span),
            (false, false) => self.guess(RepairCode::UnquotedKey, span),
        }
        self.flush_gap();
        let start = self.output.text.len();
        self.output.text.push('"');
        escape_into(&mut self.output.text, key);
        self.output.text.push('"');
        self.key = Some((start, self.output.text.len()));
        cursor.at = if quoted { taken } else { cursor.at + key.len() };
        self.expects = Expects::Colon;
        Advance::Go
    }

    fn read_colon(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Advance {
        let keyword = self.level_kind() == Some(LevelKind::Kwargs);
        let len = match byte {
            b':' => 1,
            b'=' => match cursor.byte_at(cursor.at + 1) {
                Some(b'>') => 2,
                None if !cursor.last => return Advance::More,
                _ => 1,
            },
            _ if cursor.rest().starts_with('：') => '：'.len_utf8(),
            _ => 0,
        };
        if len == 0 {
            let step = self.refuse_code_for_key(cursor);
            if let Some(step) = step.or_else(|| self.drop_before_colon(cursor, byte)) {
                return step;
            }
            if matches!(byte, b',' | b'}')
                && let Some((start, end)) = self.key
                && self.becomes_set(cursor.span(0))
            {
                self.key = None;
                self.take_value(Kind::String, start, end);
                self.expects = Expects::After;
                return Advance::Go;
            }
            if matches!(byte, b',' | b';') || is_bracket(byte) && !matches!(byte, b'{' | b'[' | b'(') {
                return self.reject(cursor, "a key has no value");
            }
            self.repair(RepairCode::MissingColon, cursor.span(0));
            self.output.text.push(':');
        } else {
            match (byte, keyword) {
                (b':', false) => {}
                (b'=', true) if len == 1 => {}
                (b':' | b'=', _) => self.repair(RepairCode::WrongColon, cursor.span(len)),
                _ => self.repair(RepairCode::OddSeparator, cursor.span(len)),
            }
            self.flush_gap();
            self.output.text.push(':');
            cursor.at += len;
        }
        self.expects = Expects::Value;
        Advance::Go
    }

    fn read_after(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Advance {
        let kind = self.level_kind();
        match byte {
            b',' if kind != Some(LevelKind::Wrapper) => return self.take_comma(cursor, 1),
            b'}' | b']' | b')' => return self.read_closer(cursor, byte),
            _ => {}
        }
        if self.grammar.restores
            && let Some(step) = self.read_odd_after(cursor, byte)
        {
            return step;
        }
        if let Some(step) = self.refuse_code(cursor) {
            return step;
        }
        let opens_string = match self.grammar.opening(cursor.rest(), cursor.last) {
            Opening::More => return Advance::More,
            Opening::Quote(..) => true,
            Opening::None => false,
        };
        let comma = cursor.rest().chars().next().filter(|character| matches!(character, ';' | '，' | '、'));
        if let Some(comma) = comma
            && kind != Some(LevelKind::Wrapper)
        {
            self.repair(RepairCode::OddSeparator, cursor.span(comma.len_utf8()));
            return self.take_comma(cursor, comma.len_utf8());
        }
        if byte == b'{' && self.grammar.restores && self.close_before_item(cursor.offset()) {
            return Advance::Go;
        }
        let opens = matches!(byte, b'{' | b'[' | b'(');
        let follows = match kind {
            Some(LevelKind::Brace | LevelKind::Kwargs | LevelKind::Members) => {
                opens_string
                    || byte.is_ascii_alphanumeric()
                    || matches!(byte, b'_' | b'$' | b'@')
                    || byte >= 0x80
            }
            Some(LevelKind::Bracket | LevelKind::Paren | LevelKind::Set) => {
                let is_literal = match literal_at(cursor.text, cursor.at, cursor.last) {
                    Some(is_literal) => is_literal,
                    None => return Advance::More,
                };
                opens_string || opens || matches!(byte, b'-' | b'0'..=b'9') || is_literal
            }
            Some(LevelKind::Wrapper) | None => false,
        };
        if !follows && is_operator(byte) && self.output.text.ends_with('"') {
            return self.reject(cursor, "the value is computed here: write the value itself");
        }
        if !follows {
            return self.reject(cursor, "a comma or a closing bracket is missing here");
        }
        let after_closer = self.output.text.ends_with(['}', ']']);
        let is_certain = match self.grammar.restores {
            // Two brackets of lists may have changed places.
            true => opens && after_closer && byte != b'[',
            false => opens || after_closer,
        };
        let apart = !self.in_sequence() || is_certain;
        if self.grammar.restores && !apart {
            self.move_comma(cursor.offset());
        }
        self.put_comma(cursor, if apart { Safety::Lossless } else { Safety::Guess })
    }

    /// Writes a comma that is missing here.
    pub(super) fn put_comma(&mut self, cursor: &Cursor<'_>, safety: Safety) -> Advance {
        self.repairs.add(RepairCode::MissingComma, safety, cursor.span(0));
        self.output.text.push(',');
        self.expects = if self.in_sequence() { Expects::Value } else { Expects::Key };
        Advance::Go
    }

    fn take_comma(&mut self, cursor: &mut Cursor<'_>, len: usize) -> Advance {
        self.comma = Some((self.gap.len(), cursor.offset()));
        self.gap.push(',');
        self.expects = if self.in_sequence() { Expects::Value } else { Expects::Key };
        cursor.at += len;
        Advance::Go
    }

    fn drop_comma(&mut self, cursor: &mut Cursor<'_>, safety: Safety) -> Advance {
        self.repairs.add(RepairCode::ExtraComma, safety, cursor.span(1));
        cursor.at += 1;
        Advance::Go
    }

    fn open_container(&mut self, cursor: &mut Cursor<'_>, kind: LevelKind) -> Advance {
        if self.levels.len() >= self.grammar.max_depth {
            let message = format!("the value is nested deeper than {} levels", self.grammar.max_depth);
            self.fail(Code::TooDeep, cursor.offset(), message);
            return Advance::Go;
        }
        if kind == LevelKind::Paren && !self.grammar.python() {
            self.repair(RepairCode::Tuple, cursor.span(1));
        }
        self.flush_gap();
        cursor.at += 1;
        self.open_level(kind);
        Advance::Go
    }

    /// Opens a level at the end of the output.
    pub(super) fn open_level(&mut self, kind: LevelKind) {
        let mut node = usize::MAX;
        if let Some((opener, _, value)) = kind.written() {
            node = self.output.open(value, self.key.take());
            self.output.text.push(opener);
        }
        self.push_level(kind, node);
        self.expects = if kind.is_object() { Expects::Key } else { Expects::Value };
    }

    fn read_closer(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Advance {
        let Some(kind) = self.level_kind() else { return self.reject(cursor, "this bracket closes nothing") };
        if kind == LevelKind::Wrapper && byte != b')' && self.levels.len() == 1 {
            return self.reject(cursor, "this bracket closes nothing");
        }
        if kind.closer() == byte {
            self.close_level(cursor.offset());
            // The parenthesis that ends keyword arguments belongs to the frame.
            cursor.at += usize::from(kind != LevelKind::Kwargs);
            return Advance::Go;
        }
        if let Some(step) = self.drop_unfit_closer(cursor) {
            return step;
        }
        if self.open_brackets.count(byte) > 0 {
            let has_rival = self.grammar.restores && self.may_close_elsewhere(byte);
            let safety = if has_rival { Safety::Guess } else { Safety::Lossless };
            self.repairs.add(RepairCode::MissingCloser, safety, cursor.span(0));
            self.close_level(cursor.offset());
            return Advance::Go;
        }
        // It closes nothing: either it stands for the right bracket, or the right one follows.
        let mut next = cursor.at + self.scan.len.max(1);
        while matches!(cursor.byte_at(next), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            next += 1;
        }
        if cursor.byte_at(next).is_none() && !cursor.last {
            self.scan.len = next - cursor.at;
            return Advance::More;
        }
        self.scan = Scan::default();
        let span = cursor.span(1);
        cursor.at += 1;
        if cursor.byte_at(next) == Some(kind.closer()) {
            // An opener may be missing instead.
            let safety = if self.grammar.restores { Safety::Guess } else { Safety::Lossless };
            self.repairs.add(RepairCode::ExtraCloser, safety, span);
            return Advance::Go;
        }
        if self.grammar.restores && cursor.byte_at(next) == Some(b',') {
            self.guess(RepairCode::ExtraCloser, span);
            return Advance::Go;
        }
        let ends = self.levels.len() == 1 && cursor.byte_at(next).is_none();
        let safety = if ends || !self.grammar.restores { Safety::Lossless } else { Safety::Guess };
        self.repairs.add(RepairCode::WrongCloser, safety, span);
        self.close_level(span.start);
        if self.state == ReaderState::Done {
            // The white space was looked at to decide, so it belongs to the value.
            cursor.at = next;
        }
        Advance::Go
    }

    /// Closes the innermost level, at this place of the input.
    pub(super) fn close_level(&mut self, closer: usize) {
        let Some(level) = self.pop_level() else { return };
        let comma = self.comma.take();
        if let Some((at, offset)) = comma {
            self.gap.remove(at);
            if !self.grammar.python() {
                self.repair(RepairCode::TrailingComma, Span::new(offset, offset + 1));
            }
        }
        if level.kind() == LevelKind::Paren
            && level.items == 1
            && comma.is_none()
            && self.unwrap_single(&level)
        {
            // Python reads a single value in parentheses as that value.
            self.guess_late(RepairCode::Tuple, Span::new(closer, closer));
            self.value_done();
            return;
        }
        if level.kind() == LevelKind::Paren && level.items == 1 && comma.is_none() && self.reads_code() {
            let message = "what stands alone in parentheses is no tuple: write the value without them";
            self.fail(Code::RepairRefused, closer, message);
            return;
        }
        if let Some((_, closer, _)) = level.kind().written() {
            self.flush_gap();
            self.output.text.push(closer);
            self.output.close(level.node());
        }
        if level.kind() == LevelKind::Paren && level.items == 1 && comma.is_none() {
            // Python would read a single value in parentheses as that value.
            self.guess(RepairCode::Tuple, Span::new(closer, closer));
        }
        self.value_done();
    }

    /// A value is complete.
    pub(super) fn value_done(&mut self) {
        match self.levels.last_mut() {
            Some(level) => {
                level.items += 1;
                self.expects = Expects::After;
            }
            None if self.grammar.document => self.leave_document_value(),
            None => self.state = ReaderState::Done,
        }
    }

    pub(super) fn reject(&mut self, cursor: &Cursor<'_>, message: &str) -> Advance {
        self.fail(Code::RepairRefused, cursor.offset(), message);
        Advance::Go
    }

    fn reject_positional(&mut self, cursor: &Cursor<'_>) -> Advance {
        self.fail(Code::BadJson, cursor.offset(), "every argument needs its name and an equals sign");
        Advance::Go
    }
}

/// Whether a comment begins with the slash here, or may begin once there is more input.
fn may_be_comment(cursor: &Cursor<'_>, at: usize) -> bool {
    match cursor.byte_at(at + 1) {
        None => !cursor.last,
        next => matches!(next, Some(b'/' | b'*')),
    }
}

pub(super) fn is_bracket(byte: u8) -> bool {
    matches!(byte, b'{' | b'}' | b'[' | b']' | b'(' | b')')
}
