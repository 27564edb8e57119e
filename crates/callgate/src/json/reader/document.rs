//! Around the value of a document: byte order mark, code fence, prose, and more than one value.

use super::output::Output;
use super::prose::fence_here;
use super::quotes::{Opening, Style};
use super::scalars::{Scan, is_identifier, literal_at, scalar};
use super::structure::Expects;
use super::{Advance, Cursor, End, Reader, ReaderState, Syntax};
use crate::finding::{Code, Span};
use crate::json::meter::looked;
use crate::json::repair::{Repair, RepairCode, Safety};
use crate::json::tape::Kind;

/// Said where a text holds more values than one.
pub(crate) const SEVERAL: &str = "there are several different values";

/// The most white space that is looked at behind a comma that follows a number or literal.
const LONGEST_SPACE: usize = 256;

/// What stands around the value, and the values before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Around {
    phase: AroundPhase,
    fenced: bool,
    values: usize,
    /// Where the comma is that was dropped last after the value.
    comma: Option<usize>,
    /// The last byte of the prose so far, apart from spaces.
    pub(super) before: u8,
    started: usize,
    span: Span,
    /// The value before the one that is being read.
    earlier: Option<Output>,
    /// What was shown of a value that turned out to be a placeholder.
    frozen: Option<Output>,
    /// Whether the value that was read holds an object, once that was asked for.
    holds_objects: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default)]
enum AroundPhase {
    #[default]
    Before,
    ProseBefore {
        start: usize,
    },
    /// On the line of an opening fence.
    FenceLine,
    /// A value has just ended.
    Settle,
    After,
    ProseAfter {
        start: usize,
        marked: bool,
    },
}

impl Around {
    pub(super) fn has_value(&self) -> bool {
        self.values > 0 && self.earlier.is_none()
    }

    /// Whether what is shown is not what is being written.
    pub(super) fn is_reading_again(&self) -> bool {
        self.frozen.is_some() || self.earlier.is_some()
    }

    /// Keeps what is shown, which is this text, or its start if `until` says so.
    pub(super) fn freeze(&mut self, shown: &Output, until: Option<usize>) {
        if self.is_reading_again() {
            return;
        }
        let mut shown = shown.clone();
        shown.text.truncate(until.unwrap_or(shown.text.len()));
        self.frozen = Some(shown);
    }

    /// What is shown, of these and the output.
    pub(super) fn into_shown(self, output: Output) -> Output {
        self.frozen.or(self.earlier).unwrap_or(output)
    }
}

impl Reader {
    pub(super) fn shown(&self) -> &Output {
        let around = &self.around;
        around.frozen.as_ref().or(around.earlier.as_ref()).unwrap_or(&self.output)
    }

    /// What has been written, as far as nothing can change it.
    #[inline(never)] // Keeps `Reader::text` small.
    pub(super) fn decided_text(&self) -> &str {
        let output = self.shown();
        match (&self.string, self.undecided_braces()) {
            (_, Some(braces)) => &output.text[..braces],
            // A key may still turn out to have ended earlier.
            (Some(open), _) if open.key && !self.around.is_reading_again() => &output.text[..open.start],
            _ => &output.text,
        }
    }

    /// The value of the document is complete.
    pub(super) fn leave_document_value(&mut self) {
        self.around.holds_objects = None;
        self.expects = Expects::Around;
        self.around.phase = AroundPhase::Settle;
    }

    pub(super) fn read_around(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        match self.around.phase {
            AroundPhase::Before => self.read_before(cursor),
            AroundPhase::ProseBefore { start } => self.read_prose_before(cursor, start),
            AroundPhase::FenceLine => self.read_fence_line(cursor),
            AroundPhase::Settle => {
                self.settle_value(cursor.offset());
                Advance::Go
            }
            AroundPhase::After => self.read_behind(cursor),
            AroundPhase::ProseAfter { start, marked } => self.read_prose_after(cursor, start, marked),
        }
    }

    fn read_before(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        self.copy_space(cursor);
        let Some(character) = cursor.rest().chars().next() else { return Advance::More };
        match character {
            '{' | '[' => return self.begin_value(cursor),
            '｛' | '［' if self.grammar.restores => return self.begin_value(cursor),
            '(' if self.grammar.python() => return self.begin_value(cursor),
            '(' if self.grammar.restores => match cursor.byte_at(cursor.at + 1) {
                None if !cursor.last => return Advance::More,
                // A word in parentheses is prose.
                Some(byte) if begins_value(byte) && !byte.is_ascii_alphabetic() => {
                    return self.begin_value(cursor);
                }
                _ => {}
            },
            '\u{feff}' => {
                self.repair(RepairCode::ByteOrderMark, cursor.span(3));
                cursor.at += 3;
                return Advance::Go;
            }
            '`' | '~' => return self.open_fence(cursor, cursor.offset()).unwrap_or(Advance::Go),
            '/' | '#' => {
                if let Some(step) = self.open_comment(cursor) {
                    return step;
                }
            }
            _ if character.is_whitespace() => {
                self.repair(RepairCode::OddSpace, cursor.span(character.len_utf8()));
                cursor.at += character.len_utf8();
                return Advance::Go;
            }
            _ => {}
        }
        match self.grammar.opening(cursor.rest(), cursor.last) {
            Opening::More => return Advance::More,
            Opening::Quote(style, _) if style != Style::Backtick => return self.begin_value(cursor),
            _ => {}
        }
        let Some((len, mut next)) = self.scan_word(cursor) else { return Advance::More };
        let word = &cursor.text[cursor.at..cursor.at + len];
        let called = cursor.byte_at(cursor.at + len) == Some(b'(') && is_identifier(word);
        if !called && scalar(word, self.grammar.python()).is_some() {
            // A number or literal is the document only if nothing but white space follows it, or one of many in its line.
            let is_space = |at: usize| matches!(cursor.byte_at(at), Some(b' ' | b'\t' | b'\n' | b'\r'));
            while is_space(next) {
                next += 1;
            }
            let word_end = next;
            // What ends a line of code or of a list may stand behind it.
            if self.grammar.restores && matches!(cursor.byte_at(next), Some(b',' | b';')) {
                next += 1;
                while is_space(next) && next - word_end < LONGEST_SPACE {
                    next += 1;
                }
            }
            if next == cursor.text.len() && !cursor.last {
                self.scan.len = word_end - cursor.at;
                return Advance::More;
            }
        }
        let ends_line = self.grammar.many && cursor.text[cursor.at + len..next].contains('\n');
        // Another value follows in the same line.
        let is_listed = self.grammar.many
            && next > cursor.at + len
            && match value_here(cursor, next) {
                Some(is_value) => is_value,
                None => return Advance::More,
            };
        let alone = (next == cursor.text.len() || ends_line || is_listed)
            && scalar(word, self.grammar.python()).is_some();
        let prefixed = matches!(cursor.byte_at(cursor.at + len), Some(b'"' | b'\'')) && self.grammar.python();
        self.scan = Scan::default();
        if called || alone || prefixed {
            return self.begin_value(cursor);
        }
        self.around.phase = AroundPhase::ProseBefore { start: cursor.offset() };
        Advance::Go
    }

    fn begin_value(&mut self, cursor: &Cursor<'_>) -> Advance {
        self.around.started = cursor.offset();
        self.expects = Expects::Value;
        Advance::Go
    }

    /// Copies the white space around a value.
    fn copy_space(&mut self, cursor: &mut Cursor<'_>) {
        let space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let len = cursor.rest().bytes().take_while(space).count();
        looked(len);
        self.output.text.push_str(&cursor.rest()[..len]);
        cursor.at += len;
    }

    /// Starts a fence, or prose if it is none, that began at `start`.
    fn open_fence(&mut self, cursor: &mut Cursor<'_>, start: usize) -> Option<Advance> {
        match fence_here(cursor) {
            Some(true) => {
                if start < cursor.offset() {
                    self.repair(RepairCode::Prose, Span::new(start, cursor.offset()));
                }
                self.repair(RepairCode::CodeFence, cursor.span(3));
                self.around.fenced = true;
                self.around.phase = AroundPhase::FenceLine;
                cursor.at += 3;
                Some(Advance::Go)
            }
            Some(false) => {
                self.around.phase = AroundPhase::ProseBefore { start };
                cursor.at += 1;
                None
            }
            None => Some(Advance::More),
        }
    }

    fn read_fence_line(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        let Some(end) = memchr::memchr3(b'\n', b'{', b'[', cursor.rest().as_bytes()) else {
            cursor.at = cursor.text.len();
            return Advance::More;
        };
        looked(end);
        cursor.at += end;
        cursor.at += usize::from(cursor.byte() == Some(b'\n'));
        self.around.phase = AroundPhase::Before;
        Advance::Go
    }

    fn read_prose_before(&mut self, cursor: &mut Cursor<'_>, start: usize) -> Advance {
        match self.leave_prose(cursor) {
            None => return Advance::More,
            Some(true) => {}
            Some(false) => {
                if cursor.last {
                    self.fail(Code::BadJson, start, "there is no JSON value here");
                }
                return Advance::More;
            }
        }
        if matches!(cursor.byte(), Some(b'`' | b'~')) {
            return self.open_fence(cursor, start).unwrap_or(Advance::Go);
        }
        self.repair(RepairCode::Prose, Span::new(start, cursor.offset()));
        self.begin_value(cursor)
    }

    /// Compares a value that has ended, before `end`, with the one before it.
    pub(super) fn settle_value(&mut self, end: usize) {
        if !matches!(self.around.phase, AroundPhase::Settle) || self.expects != Expects::Around {
            return;
        }
        self.flush_gap();
        self.around.phase = AroundPhase::After;
        self.around.values += 1;
        let span = Span::new(self.around.started, end);
        let Some(earlier) = self.around.earlier.take() else {
            self.around.span = span;
            return;
        };
        let is_same = earlier.tape.raw(&earlier.text, 0) == self.output.tape.raw(&self.output.text, 0);
        if is_same {
            // Two empty ones are no repetition for certain.
            let is_empty = self.grammar.restores && earlier.tape.nodes().len() == 1;
            let safety = if is_empty { Safety::Guess } else { Safety::Lossless };
            self.repairs.add(RepairCode::RepeatedValue, safety, span);
            self.output = earlier;
        } else if earlier.is_empty_object() {
            let (code, dropped) = (RepairCode::EmptyPlaceholder, self.around.span);
            let repair = Repair { code, safety: Safety::Lossless, span: dropped, late: true, count: 1 };
            self.repairs.add_apart(repair);
            self.around.frozen.get_or_insert(earlier);
            self.around.span = span;
        } else if self.output.is_empty_object() {
            self.repair(RepairCode::EmptyPlaceholder, span);
            self.output = earlier;
        } else {
            self.output = earlier;
            self.fail(Code::RepairRefused, span.start, SEVERAL);
        }
    }

    fn read_behind(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        self.copy_space(cursor);
        let Some(byte) = cursor.byte() else { return Advance::More };
        if self.grammar.many && self.around.values > 0 {
            match value_here(cursor, cursor.at) {
                None => return Advance::More,
                Some(true) => {
                    self.state = ReaderState::Done;
                    return Advance::Go;
                }
                Some(false) => {}
            }
        }
        match byte {
            b'}' | b']' | b')' => {
                // The opener of a list may be missing instead, an object inside was closed too early, or what a quote that
                // had to be put in took for text was the opener.
                let is_quote = |repair: &Repair| repair.code == RepairCode::MissingQuote;
                let has_rival = self.grammar.restores
                    && (byte == b']'
                        || self.holds_objects_behind()
                        || self.repairs.list().iter().any(is_quote));
                let safety = if has_rival { Safety::Guess } else { Safety::Lossless };
                self.repairs.add(RepairCode::ExtraCloser, safety, cursor.span(1));
                cursor.at += 1;
            }
            b',' | b';' => {
                self.repair(RepairCode::TrailingComma, cursor.span(1));
                self.around.comma = (byte == b',').then_some(cursor.offset());
                cursor.at += 1;
            }
            b'{' | b'[' => {
                self.around.earlier = Some(std::mem::take(&mut self.output));
                self.around.comma = None;
                return self.begin_value(cursor);
            }
            b't' | b'f' | b'n' if self.around.comma.is_some() => {
                match literal_at(cursor.text, cursor.at, cursor.last) {
                    None => return Advance::More,
                    Some(true) => return self.read_behind_comma(cursor, byte),
                    Some(false) => self.begin_prose_after(cursor, byte),
                }
            }
            b'"' | b'\'' | b'-' | b'0'..=b'9' if self.around.comma.is_some() => {
                return self.read_behind_comma(cursor, byte);
            }
            b'`' | b'~' => match fence_here(cursor) {
                None => return Advance::More,
                Some(true) => {
                    if !self.around.fenced {
                        self.repair(RepairCode::CodeFence, cursor.span(3));
                    }
                    cursor.at += 3;
                }
                Some(false) => self.begin_prose_after(cursor, byte),
            },
            b'/' => {
                if let Some(step) = self.open_comment(cursor) {
                    return step;
                }
                self.begin_prose_after(cursor, byte);
            }
            _ => self.begin_prose_after(cursor, byte),
        }
        Advance::Go
    }

    /// Whether the value that was read holds an object, which many closers behind it ask for.
    fn holds_objects_behind(&mut self) -> bool {
        let known = self.around.holds_objects;
        let holds = known.unwrap_or_else(|| self.holds_objects());
        self.around.holds_objects = Some(holds);
        holds
    }

    /// Begins prose after the value. A digit or letter that touches the value, or a number, may belong to it.
    fn begin_prose_after(&mut self, cursor: &Cursor<'_>, byte: u8) {
        let touches = self.output.text.ends_with(|c: char| !c.is_ascii_whitespace());
        let marked = byte.is_ascii_digit() || touches && byte.is_ascii_alphanumeric();
        self.around.phase = AroundPhase::ProseAfter { start: cursor.offset(), marked };
    }

    /// More stands behind the value and a comma: the value was closed too early, or there are several.
    fn read_behind_comma(&mut self, cursor: &mut Cursor<'_>, byte: u8) -> Advance {
        let is_first = self.grammar.restores && self.around.values == 1 && self.around.earlier.is_none();
        let is_object = self.output.tape.nodes().first().is_some_and(|root| root.kind == Kind::Object);
        let is_key = match byte {
            _ if !is_first => Some(!is_object),
            b'"' => key_here(cursor, Style::Double, 1),
            b'\'' => key_here(cursor, Style::Single, 1),
            _ => Some(false),
        };
        let Some(is_key) = is_key else { return Advance::More };
        let fits = is_key == is_object;
        let comma = self.around.comma.take().unwrap_or(0);
        if fits && self.reopen(comma) {
            self.around.values = 0;
            return Advance::Go;
        }
        self.reject(cursor, "more members follow after the end of the value")
    }

    fn read_prose_after(&mut self, cursor: &mut Cursor<'_>, start: usize, marked: bool) -> Advance {
        let from = cursor.at;
        let is_value = match self.grammar.many {
            true => self.leave_prose_behind(cursor),
            false => {
                cursor.at = cursor.text.len();
                Some(false)
            }
        };
        looked(cursor.at - from);
        let marked = marked || cursor.text[from..cursor.at].contains(['{', '}', '[', ']', '"']);
        self.around.phase = AroundPhase::ProseAfter { start, marked };
        match is_value {
            None => return Advance::More,
            Some(true) => {
                self.guess(RepairCode::Prose, Span::new(start, cursor.offset()));
                self.state = ReaderState::Done;
                return Advance::Go;
            }
            Some(false) => {}
        }
        let is_guessed = self.repairs.list().iter().any(|repair| repair.safety == Safety::Guess);
        if cursor.last && marked && is_guessed && self.grammar.restores {
            // The value was guessed, and what looks like the rest of it belongs to nothing.
            return self.reject(cursor, "text that looks like more of the value follows its end");
        }
        if cursor.last {
            let safety = if marked { Safety::Guess } else { Safety::Lossless };
            self.repairs.add(RepairCode::Prose, safety, Span::new(start, cursor.offset()));
            self.around.phase = AroundPhase::After;
        }
        Advance::More
    }

    /// Makes the repairs that need the whole document.
    pub(super) fn settle_document(&mut self) {
        self.around.frozen = None;
        if self.grammar.document && self.grammar.object_root {
            self.unwrap_string();
        }
    }

    /// Reads an object that was sent as a string.
    fn unwrap_string(&mut self) {
        let held = self.output.tape.string(&self.output.text, 0);
        let Some(content) = held.filter(|content| content.trim_start().starts_with('{')) else { return };
        let mut inner = Reader::new(Syntax::Json).document().with_depth(self.grammar.max_depth);
        inner.push(&content);
        let whole = match inner.finish() {
            End::Whole => true,
            End::Closable => inner.close(),
            End::CutOff | End::Blank | End::Failed => false,
        };
        let is_object = inner.tape().nodes().first().is_some_and(|root| root.kind == Kind::Object);
        if !whole || !is_object {
            return;
        }
        let span = self.around.span;
        let code = RepairCode::ArgumentsInString;
        self.repairs.add_apart(Repair { code, safety: Safety::Lossless, span, late: true, count: 1 });
        for repair in inner.repairs() {
            self.repairs.add_apart(Repair { span, late: true, ..repair.clone() });
        }
        self.output = std::mem::take(&mut inner.output);
    }
}

/// Whether this byte begins another value behind one that has ended.
fn begins_value(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}

/// Whether another value begins at this place, behind one that has ended; `None` if more input decides.
fn value_here(cursor: &Cursor<'_>, at: usize) -> Option<bool> {
    match cursor.byte_at(at) {
        Some(b't' | b'f' | b'n') => literal_at(cursor.text, at, cursor.last),
        byte => Some(byte.is_some_and(begins_value)),
    }
}

/// Whether a key with its colon stands here, behind a quote of this length; `None` if more input decides.
pub(super) fn key_here(cursor: &Cursor<'_>, style: Style, quote: usize) -> Option<bool> {
    const LONGEST_KEY: usize = 256;
    let rest = cursor.rest();
    let mut escaped = false;
    let mut behind = None;
    for (at, character) in rest.char_indices().skip_while(|(at, _)| *at < quote) {
        if at >= LONGEST_KEY {
            return Some(false);
        }
        if !escaped && style.may_close(character) {
            behind = Some(at + character.len_utf8());
            break;
        }
        escaped = !escaped && character == '\\';
    }
    looked(behind.unwrap_or(rest.len()).min(LONGEST_KEY));
    let Some(behind) = behind else { return cursor.last.then_some(false) };
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let spaces = rest[behind..].bytes().take(LONGEST_KEY).take_while(is_space).count();
    looked(spaces);
    match rest.as_bytes().get(behind + spaces) {
        None if !cursor.last => None,
        next => Some(next == Some(&b':')),
    }
}
