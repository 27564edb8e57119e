//! Strings: how they open, what is copied from them, and where they end.

use super::computed::is_computed;
use super::levels::LevelKind;
use super::probe::ProbeVerdict;
use super::quotes::Style;
use super::scalars::{StringPrefix, is_identifier};
use super::structure::Expects;
use super::unquoted::is_bare_byte;
use super::{Advance, Cursor, Reader};
use crate::finding::{Code, Span};
use crate::json::meter::looked;
use crate::json::repair::{RepairCode, Safety};
use crate::json::tape::Kind;
use crate::json::text::{escape_byte, is_special, plain_length};

/// The longest key of an argument that is looked for before a quote.
const LONGEST_KEY: usize = 128;

/// A string that has been opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenString {
    pub(super) style: Style,
    pub(super) key: bool,
    /// Where its opening quote was written.
    pub(super) start: usize,
    pub(super) node: usize,
    /// Whether backslashes stand for themselves.
    pub(super) raw: bool,
    /// Where it begins in the input.
    pub(super) begins: usize,
    /// Whether what stands in braces in it is computed.
    formatted: bool,
    /// Whether it stands for bytes, in which no escape names a character.
    pub(super) bytes: bool,
    /// How many brackets are open in text without quotes.
    pub(super) nested: u32,
    /// Whether there are escaped quotes in it.
    pub(super) escaped: bool,
    /// Whether its quotes stand twice.
    pub(super) doubled: bool,
    pub(super) doubts: Doubts,
}

/// What makes it doubtful that a string was read as it was meant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubts {
    /// How many quotes were taken for data, apart from apostrophes. They should come in pairs.
    quotes: u32,
    apostrophes: u32,
    /// How many quotes were escaped. An odd one beside a kept backslash may have lost its quote there.
    pub(super) escaped_quotes: u32,
    kept_backslash: bool,
    escaped_backslash: bool,
    /// Whether line breaks are written raw, so that an escaped one may have been meant literally.
    raw_line: bool,
    escaped_line: bool,
    /// Whether control characters stand in it as they are, and whether some are escaped.
    raw_controls: u32,
    escaped_control: bool,
    /// How many braces and brackets are open in the text, as far as it has been looked through.
    braces: u32,
    brackets: u32,
    parens: u32,
    looked: u32,
}

impl Doubts {
    /// An escape that JSON has was read.
    pub(super) fn note_escape(&mut self, escape: char) {
        self.escaped_line |= escape == 'n';
        self.escaped_control |= matches!(escape, 'n' | 'r' | 't' | 'b' | 'f');
        self.escaped_quotes += u32::from(escape == '"');
        self.escaped_backslash |= escape == '\\';
    }

    /// Whether a quotation is open in the text: an odd number of quotes were taken for data.
    pub(super) fn is_open(&self) -> bool {
        self.quotes % 2 == 1
    }

    /// Whether quotes were taken for data.
    pub(super) fn has_quotes(&self) -> bool {
        self.quotes + self.apostrophes > 0
    }

    /// Whether the only control character in the text is a line break that stands in it as it is.
    pub(super) fn has_one_raw_line(&self) -> bool {
        self.raw_controls == 1 && self.raw_line && !self.escaped_control
    }

    /// Whether the text holds quotes and the opener that this closer would close.
    pub(super) fn holds(&self, closer: char) -> bool {
        let open = match closer {
            '}' => self.braces,
            ']' => self.brackets,
            _ => self.parens,
        };
        self.quotes > 0 && open > 0
    }

    /// Whether every control character in the text stands in it as it is.
    pub(super) fn has_raw_lines(&self) -> bool {
        self.raw_controls > 0 && !self.escaped_control
    }

    /// Looks for brackets in what was written of the text since the last time.
    pub(super) fn look_for_brackets(&mut self, content: &str) {
        looked(content.len().saturating_sub(self.looked as usize));
        for byte in content.bytes().skip(self.looked as usize) {
            match byte {
                b'{' => self.braces += 1,
                b'[' => self.brackets += 1,
                b'(' => self.parens += 1,
                b')' => self.parens = self.parens.saturating_sub(1),
                b'}' => self.braces = self.braces.saturating_sub(1),
                b']' => self.brackets = self.brackets.saturating_sub(1),
                _ => {}
            }
        }
        self.looked = u32::try_from(content.len()).unwrap_or(u32::MAX);
    }

    /// Quotes that come in pairs were taken for data.
    pub(super) fn note_quotation(&mut self) {
        self.quotes += 2;
    }

    /// Whether backslashes stand for themselves, as far as can be seen: one escapes nothing, and none is doubled. Control
    /// characters were all escaped, so that each may be a backslash and a letter.
    pub(super) fn has_plain_backslashes(&self) -> bool {
        self.kept_backslash && !self.escaped_backslash && self.escaped_control && self.raw_controls == 0
    }

    /// A backslash that escapes nothing was kept.
    pub(super) fn note_kept_backslash(&mut self) {
        self.kept_backslash = true;
    }
}

impl Reader {
    /// Opens a string whose quote has `len` bytes.
    pub(super) fn open_string(&mut self, cursor: &mut Cursor<'_>, style: Style, len: usize) -> Advance {
        self.list_style(style, cursor.offset(), len);
        self.flush_gap();
        let key = self.expects == Expects::Key;
        let node = if key { usize::MAX } else { self.output.open(Kind::String, self.key.take()) };
        let start = self.output.text.len();
        self.string = Some(OpenString {
            style,
            key,
            start,
            node,
            begins: cursor.offset(),
            formatted: false,
            bytes: false,
            raw: false,
            nested: 0,
            escaped: false,
            doubled: false,
            doubts: Doubts::default(),
        });
        self.output.text.push('"');
        cursor.at += len;
        Advance::Go
    }

    /// Opens a string with letters before its quote.
    pub(super) fn open_prefixed_string(
        &mut self,
        cursor: &mut Cursor<'_>,
        prefix: StringPrefix,
        style: Style,
        letters: usize,
        quote: usize,
    ) -> Advance {
        // In JSON a single letter may be the first one of the text, which has slipped out of its quotes.
        if prefix.doubtful || !self.grammar.python() {
            self.guess(RepairCode::StringPrefix, cursor.span(letters));
        }
        cursor.at += letters;
        let step = self.open_string(cursor, style, quote);
        if let Some(open) = &mut self.string {
            (open.raw, open.formatted, open.bytes) = (prefix.raw, prefix.formatted, prefix.bytes);
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
            Style::Entity => RepairCode::EntityQuotes,
            _ => return,
        };
        let span = Span::new(at, at + len);
        // Beside quotes without a backslash, one with it may belong to a string, unless all of a container is escaped.
        let begins = self.levels.last().is_some_and(|level| level.items == 0)
            && (self.expects == Expects::Key || self.in_sequence());
        if style == Style::Escaped && !begins && self.has_plain_strings() {
            self.guess(code, span);
        } else {
            self.repair(code, span);
        }
    }

    /// Ends the open string in the output.
    pub(super) fn close_string(&mut self) {
        let Some(open) = self.string.take() else { return };
        self.output.text.push('"');
        if open.key {
            self.key = Some((open.start, self.output.text.len()));
            self.expects = Expects::Colon;
        } else {
            self.output.close(open.node);
            self.value_done();
        }
        if open.key || self.grammar.restores {
            return;
        }
        let content = &self.output.text[open.start + 1..self.output.text.len() - 1];
        let is_template = open.style == Style::Backtick && content.contains("${");
        if is_template || open.formatted && content.contains(['{', '}']) {
            let message = "what stands in braces is computed: write the text itself";
            self.fail(Code::RepairRefused, open.begins, message);
        } else if open.doubts.has_quotes() && is_computed(content, open.style) {
            let message = "the value is computed here: write the value itself";
            self.fail(Code::RepairRefused, open.begins, message);
        }
    }

    pub(super) fn read_string(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        let Some(open) = self.string else { return Advance::Go };
        if open.style == Style::Unquoted {
            return self.read_unquoted(cursor);
        }
        let quote_start = match open.style {
            Style::Private => self.grammar.quote.as_ref().map_or(b'"', |quote| quote.as_bytes()[0]),
            Style::Single => b'\'',
            Style::Backtick => b'`',
            Style::Triple(quote) => quote,
            Style::Entity => b'&',
            Style::Double | Style::Typographic(_) | Style::Escaped | Style::Unquoted => b'"',
        };
        let rest = cursor.rest();
        let is_wide =
            matches!(open.style, Style::Typographic(_) | Style::Backtick) || !quote_start.is_ascii();
        let plain = match is_wide {
            // What may end it are characters beyond ASCII.
            true => {
                let special = |byte: u8| byte >= 0x80 || is_special(byte, quote_start);
                let plain = rest.bytes().position(special).unwrap_or(rest.len());
                looked(plain);
                plain
            }
            false => plain_length(rest.as_bytes(), quote_start),
        };
        self.output.text.push_str(&rest[..plain]);
        cursor.at += plain;
        let Some(character) = cursor.rest().chars().next() else { return Advance::More };
        match open.style {
            Style::Private => {
                let quote = self.grammar.quote.clone().unwrap_or_default();
                if cursor.rest().starts_with(&*quote) {
                    cursor.at += quote.len();
                    self.close_string();
                    return Advance::Go;
                }
                if !cursor.last && quote.starts_with(cursor.rest()) {
                    return Advance::More;
                }
                self.write_character(cursor, character);
                return Advance::Go;
            }
            Style::Triple(quote) if character == char::from(quote) => {
                let same = cursor.rest().bytes().take(3).take_while(|byte| *byte == quote).count();
                if same == 3 {
                    cursor.at += 3;
                    self.close_string();
                    return Advance::Go;
                }
                if same == cursor.rest().len() && !cursor.last {
                    return Advance::More;
                }
                self.write_character(cursor, character);
                return Advance::Go;
            }
            Style::Escaped if character == '\\' => return self.read_doubled_escape(cursor),
            Style::Entity if character == '&' => return self.read_entity(cursor, &open),
            _ => {}
        }
        if open.style.may_close(character) || (open.key && open.style == Style::Single && character == '"') {
            return self.read_quote(cursor, &open, character.len_utf8());
        }
        match character {
            '\\' if open.raw => self.read_raw_backslash(cursor),
            '\\' => self.read_escape(cursor, &open),
            '"' if open.style == Style::Escaped => self.read_other_quote(cursor, &open, '"'),
            '´' if open.style == Style::Backtick => self.read_other_quote(cursor, &open, '´'),
            _ => {
                if character < ' ' && !open.style.takes_raw_lines() {
                    self.repair(RepairCode::RawControlChar, cursor.span(1));
                    if let Some(open) = &mut self.string {
                        open.doubts.raw_line |= character == '\n';
                        open.doubts.raw_controls += 1;
                    }
                }
                self.write_character(cursor, character);
                Advance::Go
            }
        }
    }

    /// Writes one character of the content.
    pub(super) fn write_character(&mut self, cursor: &mut Cursor<'_>, character: char) {
        write_escaped(&mut self.output.text, character);
        cursor.at += character.len_utf8();
    }

    /// Decides what a quote is that may close the string; it has `len` bytes.
    pub(super) fn read_quote(&mut self, cursor: &mut Cursor<'_>, open: &OpenString, len: usize) -> Advance {
        if let Some(step) = self.keep_inner(cursor, open, len) {
            return step;
        }
        let from = cursor.at + len;
        let verdict =
            if (self.levels.is_empty() && !self.grammar.document) || self.ends_plainly(cursor.text, from) {
                self.probe = None;
                ProbeVerdict::End
            } else {
                self.look_beyond_quote(cursor, from)
            };
        match verdict {
            ProbeVerdict::More => Advance::More,
            ProbeVerdict::Stop(at) => Advance::Stop(cursor.at + len + at),
            ProbeVerdict::Apart if self.move_quote(cursor, open, len) => Advance::Go,
            ProbeVerdict::End | ProbeVerdict::Apart => self.end_string(cursor, len),
            ProbeVerdict::Doubled(extra) => {
                self.guess(RepairCode::DoubledQuote, cursor.span(len + extra));
                let step = self.end_string(cursor, len);
                cursor.at += extra;
                step
            }
            ProbeVerdict::Data(_) if open.key && self.end_key_before_colon(cursor, open) => Advance::Go,
            ProbeVerdict::Data(safety) => self.keep_quote(cursor, open, len, safety),
            ProbeVerdict::Opens { key } => match self.go_back(open, key) {
                Some(step) => step,
                None => self.keep_quote(cursor, open, len, Safety::Guess),
            },
            ProbeVerdict::Join { .. } if open.doubts.quotes > 0 => {
                // Quotes were data before, so this is more text with quotes in it.
                self.guess(RepairCode::UnescapedQuote, cursor.span(len));
                if let Some(open) = &mut self.string {
                    open.doubts.quotes += 1;
                }
                let character = cursor.rest().chars().next().unwrap_or('"');
                self.write_character(cursor, character);
                Advance::Go
            }
            ProbeVerdict::Join { at, style, plus } => self.join_strings(cursor, len + at, style, plus),
            ProbeVerdict::IsKey => {
                if self.make_key(cursor, open, len) {
                    return Advance::Go;
                }
                self.run_into_key(cursor, len)
            }
        }
    }

    /// A quote that should have ended the string did not, and the one here opens or closes what follows it.
    fn run_into_key(&mut self, cursor: &mut Cursor<'_>, len: usize) -> Advance {
        let at = cursor.offset();
        cursor.at += len;
        let message = "a quote or comma is missing: the string runs into the next key";
        self.fail(Code::RepairRefused, at, message);
        self.leave_lost_string();
        Advance::Go
    }

    /// Whether the quote here opens the next argument, `, key="…`, and a quote before it was taken for data that should have
    /// ended the string.
    fn opens_argument(&self, open: &OpenString) -> bool {
        let is_kwargs = matches!(self.level_kind(), Some(LevelKind::Kwargs | LevelKind::Members));
        if !is_kwargs || self.grammar.restores || (open.doubts.quotes + open.doubts.apostrophes) % 2 != 1 {
            return false;
        }
        let content = &self.output.text.as_bytes()[open.start + 1..];
        let before = |content: &[u8], test: fn(&u8) -> bool| {
            let most = content.len().min(LONGEST_KEY);
            let passed = content.iter().rev().take(most).take_while(|byte| test(byte)).count();
            looked(passed);
            passed
        };
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
        let [key @ .., b'='] = &content[..content.len() - before(content, is_space)] else { return false };
        let key = &key[..key.len() - before(key, is_space)];
        let length = before(key, |byte| is_bare_byte(*byte) || *byte >= 0x80);
        let rest = &key[..key.len() - length];
        // A line break is written with its escape.
        let rest =
            &rest[..rest.len() - before(rest, |byte| matches!(byte, b' ' | b'\t' | b'\\' | b'n' | b'r'))];
        length > 0 && rest.ends_with(b",")
    }

    /// Decides what a quote is that does not match the one that opened the string: before a sign that goes on with the
    /// value it is the end all the same.
    fn read_other_quote(&mut self, cursor: &mut Cursor<'_>, open: &OpenString, quote: char) -> Advance {
        let len = quote.len_utf8();
        let ends = match self.next_token(cursor, len) {
            _ if !self.grammar.restores || open.doubts.is_open() => false,
            None => return Advance::More,
            Some(b':') => open.key,
            Some(b',') => !open.key,
            Some(closer @ (b'}' | b']')) => !open.key && self.open_brackets.count(closer) > 0,
            Some(next) => next == 0 && self.levels.is_empty(),
        };
        if ends {
            let is_double = quote == '"';
            let code = if is_double { RepairCode::EscapedQuotes } else { RepairCode::BacktickQuotes };
            self.guess(code, cursor.span(len));
            return self.end_string(cursor, len);
        }
        if quote == '"' {
            self.guess(RepairCode::UnescapedQuote, cursor.span(len));
            if let Some(open) = &mut self.string {
                open.doubts.quotes += 1;
            }
        }
        self.write_character(cursor, quote);
        Advance::Go
    }

    /// Ends the string with the quote here.
    pub(super) fn end_string(&mut self, cursor: &mut Cursor<'_>, len: usize) -> Advance {
        self.settle_string(cursor.span(len));
        let is_typographic = self.string.is_some_and(|open| matches!(open.style, Style::Typographic(_)));
        if self.grammar.restores && is_typographic && cursor.byte() == Some(b'"') {
            self.guess(RepairCode::TypographicQuotes, cursor.span(len));
        }
        cursor.at += len;
        self.close_string();
        Advance::Go
    }

    /// Takes the quote here for part of the string.
    fn keep_quote(
        &mut self,
        cursor: &mut Cursor<'_>,
        open: &OpenString,
        len: usize,
        safety: Safety,
    ) -> Advance {
        if self.opens_argument(open) {
            return self.run_into_key(cursor, len);
        }
        if self.drop_doubled_quote(cursor, open, len) || self.drop_doubled_backslash(cursor, open, len) {
            return Advance::Go;
        }
        // In an array a comma may be missing instead, and of two backslashes one may have been to escape the quote.
        let has_rival = self.in_sequence() || self.follows_two_backslashes(open);
        let safety = if has_rival { Safety::Guess } else { safety };
        self.repairs.add(RepairCode::UnescapedQuote, safety, cursor.span(len));
        let after = cursor.text[cursor.at + len..].chars().next();
        let apostrophe =
            self.output.text.ends_with(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric);
        if let Some(open) = &mut self.string {
            open.doubts.quotes += u32::from(!apostrophe);
            open.doubts.apostrophes += u32::from(apostrophe);
            open.doubts.look_for_brackets(&self.output.text[open.start..]);
        }
        // An escaped quote is a backslash and a quote, of which the quote is the content.
        cursor.at += usize::from(open.style == Style::Escaped);
        let character = cursor.rest().chars().next().unwrap_or('"');
        self.write_character(cursor, character);
        Advance::Go
    }

    /// Whether the quote here stands behind two backslashes.
    pub(super) fn follows_two_backslashes(&self, open: &OpenString) -> bool {
        let before = self.output.text[open.start + 1..].strip_suffix("\\\\");
        open.style == Style::Double && !open.raw && before.is_some_and(|before| !before.ends_with('\\'))
    }

    /// Goes on with another string, whose quote is `ahead` of the cursor.
    fn join_strings(&mut self, cursor: &mut Cursor<'_>, ahead: usize, style: Style, plus: bool) -> Advance {
        let from = cursor.offset();
        cursor.at += ahead;
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
            (open.raw, open.bytes) = (false, false);
        }
        Advance::Go
    }

    /// Makes the last changes to the open string, which ends with this quote.
    pub(super) fn settle_string(&mut self, quote: Span) {
        self.list_doubts(quote);
        if !self.grammar.restores {
            return;
        }
        let is_last = |open: &OpenString| {
            open.doubts.has_one_raw_line() && ends_with_line_break(&self.output.text[open.start..])
        };
        if self.string.as_ref().is_some_and(is_last) {
            self.move_line_break(quote);
        }
        self.keep_backslashes_of_path(quote);
    }

    /// Lists the guesses that the open string needs which ends with this quote.
    pub(super) fn list_doubts(&mut self, quote: Span) {
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

    /// A key whose closing quote is missing ends before its colon, and the quote here opens the value.
    fn end_key_before_colon(&mut self, cursor: &Cursor<'_>, open: &OpenString) -> bool {
        let content = &self.output.text[open.start + 1..];
        let Some(name) = content.trim_end_matches([' ', '\t']).strip_suffix(':') else { return false };
        const LONGEST_NAME: usize = 64;
        const LONGEST_IDENTIFIER: usize = 256;
        if name.len() > LONGEST_IDENTIFIER {
            return false;
        }
        let is_name = |name: &str| name.len() <= LONGEST_NAME && !name.contains(['"', '\\', ',', ':']);
        if !(is_identifier(name) || self.grammar.restores && is_name(name)) {
            return false;
        }
        let end = open.start + 1 + name.len();
        self.guess(RepairCode::MissingQuote, cursor.span(0));
        self.output.text.truncate(end);
        self.close_string();
        self.output.text.push(':');
        self.expects = Expects::Value;
        true
    }
}

/// Writes a character so that it may stand in a JSON string.
pub(super) fn write_escaped(out: &mut String, character: char) {
    match u8::try_from(character) {
        Ok(byte @ (b'"' | b'\\' | 0..0x20)) => escape_byte(out, byte),
        _ => out.push(character),
    }
}

/// Whether JSON text ends with the escape of a line break, which is no backslash before a letter.
fn ends_with_line_break(text: &str) -> bool {
    let before = text.strip_suffix('n').unwrap_or_default();
    (before.len() - before.trim_end_matches('\\').len()) % 2 == 1
}
