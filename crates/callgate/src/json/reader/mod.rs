//! The reader: a state machine over the input that writes valid JSON as it goes and says where the value ends.
//!
//! Each step looks at the input from one place on and either moves on or asks for more; it never looks at how much
//! there happens to be. What is not decided yet waits in a window, so the cutting of the input cannot matter.

mod computed;
mod content;
mod cursor;
mod document;
mod dropping;
mod end;
mod escapes;
mod gaps;
mod grammar;
mod halves;
mod inner;
mod keywords;
mod levels;
mod output;
mod passing;
mod plain;
mod probe;
mod prose;
mod quotes;
mod restore;
mod scalars;
mod stray;
mod strings;
mod structure;
mod swallowed;
mod track;
mod unquoted;

use std::fmt;
use std::sync::Arc;

use self::cursor::{Advance, Cursor};
use self::document::Around;
pub(crate) use self::document::SEVERAL;
pub use self::end::End;
use self::escapes::Backslashes;
use self::grammar::Grammar;
pub use self::grammar::Syntax;
use self::levels::{Level, OpenBrackets};
use self::output::Output;
use self::probe::Probe;
use self::strings::OpenString;
use self::structure::Expects;
use self::track::Tracker;
use super::meter::looked;
use super::repair::{Repair, RepairCode, Repairs, Safety};
use super::tape::Tape;
use super::text::make_room;
use crate::bytes::{ByteSet, character_start};
use crate::finding::{Code, Span};

/// Where the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderState {
    /// It takes more input.
    Reading,
    /// It met a byte that may start what follows the value in its frame, before the value was complete.
    Stopped,
    /// The value is complete.
    Done,
}

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of fault.
    pub code: Code,
    /// The byte of the input where it was noticed.
    pub at: usize,
    /// What is wrong, in one sentence.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.code, self.at, self.message)
    }
}

impl std::error::Error for Failure {}

/// The longest value that is read. Places on its tape are kept in 32 bits, and an escape is at most six times as long
/// as what it stands for.
const LONGEST: usize = if cfg!(test) { 1 << 16 } else { u32::MAX as usize / 6 };

/// How much more than a chunk of the input is written for it, most often.
const SLACK: usize = 64;

/// An incremental reader of one value. See the module's description.
#[derive(Clone, Debug)]
pub struct Reader {
    grammar: Grammar,
    /// The input from the first undecided byte on.
    window: String,
    /// What is to be read again, before the window.
    back: String,
    /// Where in the input the window starts.
    base: usize,
    state: ReaderState,
    end: Option<End>,
    /// From which byte of the input on a stop byte may end the value. Those before it are part of it.
    stops_from: usize,
    /// Whether the value is being closed, so that what touches the end counts.
    closing: bool,
    /// Whether closing had to take a value that touches the end.
    cut: bool,
    expects: Expects,
    levels: Vec<Level>,
    open_brackets: OpenBrackets,
    /// What was read since the last value but not written, because what follows decides: white space, and one comma.
    gap: String,
    /// Where in the gap the comma is, and where in the input.
    comma: Option<(usize, usize)>,
    /// The key that waits for its value, as a range of the output.
    key: Option<(usize, usize)>,
    string: Option<OpenString>,
    backslashes: Backslashes,
    comment: Option<gaps::Comment>,
    probe: Option<Probe>,
    /// How many bytes looks have gone past that did not find the end of a string.
    looks: usize,
    inner: Option<inner::Inner>,
    /// How far the word at the window's start has been looked at.
    scan: scalars::Scan,
    output: Output,
    around: Around,
    repairs: Repairs,
    failure: Option<Failure>,
    tracker: Tracker,
}

impl Reader {
    /// A reader of one value in this syntax, 64 levels deep at most.
    pub fn new(syntax: Syntax) -> Self {
        let stops = ByteSet::default();
        let grammar = Grammar {
            syntax,
            quote: None,
            max_depth: 64,
            stops,
            document: false,
            object_root: false,
            restores: false,
            partial: false,
            many: false,
            tentative: false,
        };
        Reader {
            grammar,
            window: String::new(),
            back: String::new(),
            base: 0,
            state: ReaderState::Reading,
            end: None,
            stops_from: 0,
            closing: false,
            cut: false,
            expects: Expects::Start,
            levels: Vec::new(),
            open_brackets: OpenBrackets::default(),
            gap: String::new(),
            comma: None,
            key: None,
            string: None,
            backslashes: Backslashes::default(),
            comment: None,
            probe: None,
            looks: 0,
            inner: None,
            scan: scalars::Scan::default(),
            output: Output::default(),
            around: Around::default(),
            repairs: Repairs::default(),
            failure: None,
            tracker: Tracker::default(),
        }
    }

    /// Sets the private string delimiter, between which text is raw.
    pub fn with_quote(mut self, quote: Arc<str>) -> Self {
        self.grammar.quote = (!quote.is_empty()).then_some(quote);
        self
    }

    /// Sets how deep values may be nested, the outermost object or array being 1.
    pub fn with_depth(mut self, max: usize) -> Self {
        self.grammar.max_depth = max;
        self
    }

    /// Sets the first bytes of what may follow the value in its frame. Where such a byte cannot be part of a valid
    /// value the reader stops, and the frame says with [`Reader::resume`] or [`Reader::close`] what it is.
    pub fn with_stops(mut self, stops: &[u8]) -> Self {
        for byte in stops {
            self.grammar.stops.insert(*byte);
        }
        self
    }

    /// Says that the whole input is the value: what stands around it belongs to it, and is dropped as a repair.
    pub fn document(mut self) -> Self {
        self.grammar.document = true;
        self
    }

    /// Says that a document must be an object, so that a string holding one is unwrapped (a late repair).
    pub fn object_root(mut self) -> Self {
        self.grammar.object_root = true;
        self
    }

    /// Says that a document is read for its own sake and by guesses too: stray text is dropped, and what a missing quote
    /// or bracket has swallowed is put back. The arguments of a call are not read in this way.
    pub fn restoring(mut self) -> Self {
        self.grammar.restores = true;
        self
    }

    /// Says that the text is only the start of a value, so that nothing is taken that may yet change.
    pub fn partial(mut self) -> Self {
        self.grammar.partial = true;
        self
    }

    /// Says that more values may follow the first: reading ends before the next one.
    pub(crate) fn one_of_many(mut self) -> Self {
        self.grammar.many = true;
        self
    }

    /// Forgets everything read, to read another value in the same way.
    pub fn reset(&mut self) {
        // Every field is named, so that none is forgotten. The buffers keep their room.
        let Reader {
            grammar: _,
            window,
            back,
            base,
            state,
            end,
            stops_from,
            closing,
            cut,
            expects,
            levels,
            open_brackets,
            gap,
            comma,
            key,
            string,
            backslashes,
            comment,
            probe,
            looks,
            inner,
            scan,
            output,
            around,
            repairs,
            failure,
            tracker,
        } = self;
        window.clear();
        back.clear();
        gap.clear();
        levels.clear();
        output.clear();
        repairs.clear();
        (*base, *stops_from, *looks) = (0, 0, 0);
        (*state, *expects, *end) = (ReaderState::Reading, Expects::Start, None);
        (*closing, *cut) = (false, false);
        (*comma, *key, *string, *comment) = (None, None, None, None);
        (*probe, *inner, *failure) = (None, None, None);
        *open_brackets = OpenBrackets::default();
        *backslashes = Backslashes::default();
        *scan = scalars::Scan::default();
        *around = Around::default();
        *tracker = Tracker::default();
    }

    /// Forgets everything read and everything it was told, to read a value with this grammar.
    pub(crate) fn begin(&mut self, syntax: Syntax, quote: Option<Arc<str>>, depth: usize, stops: ByteSet) {
        self.reset();
        let grammar = &mut self.grammar;
        *grammar = Grammar {
            syntax,
            quote,
            max_depth: depth,
            stops,
            document: false,
            object_root: false,
            restores: false,
            partial: false,
            many: false,
            tentative: false,
        };
    }

    /// Says whether reading ends with the first fault: nothing beyond it is taken, and the end of the broken value is not looked for.
    pub(crate) fn set_tentative(&mut self, tentative: bool) {
        self.grammar.tentative = tentative;
    }

    /// Gives away what has been written, and its tape.
    pub(crate) fn take_output(&mut self) -> (String, Tape) {
        let output = std::mem::take(&mut self.around).into_shown(std::mem::take(&mut self.output));
        (output.text, output.tape)
    }

    /// Makes room for the next tape where an earlier one has been.
    pub(crate) fn reuse(&mut self, mut tape: Tape) {
        tape.clear();
        self.output.tape = tape;
    }

    /// How many bytes its lists have room for, about.
    pub(crate) fn room(&self) -> usize {
        let texts = self.window.capacity() + self.gap.capacity() + self.output.text.capacity();
        let lists = self.levels.capacity() * size_of::<Level>() + self.output.tape.room();
        texts + lists + self.repairs.room()
    }

    /// Reads more input and says how many bytes of it were taken: all, unless the value ended or the reader stopped.
    pub fn push(&mut self, text: &str) -> usize {
        if self.state != ReaderState::Reading || self.end.is_some() {
            return 0;
        }
        let room = LONGEST.saturating_sub(self.base + self.window.len());
        if text.len() <= room {
            return self.take(text);
        }
        let cut = character_start(text, room);
        let used = self.take(&text[..cut]);
        if self.state != ReaderState::Reading {
            return used;
        }
        if self.failure.is_none() {
            self.fail(Code::TooLarge, LONGEST, "the value is longer than any that is read");
        }
        used + self.take(&text[cut..])
    }

    fn take(&mut self, text: &str) -> usize {
        if self.output.text.is_empty() && (text.len() < SLACK || self.grammar.syntax == Syntax::Kwargs) {
            // Written piece by piece, it would grow several times before it holds a usual call.
            self.output.text.reserve(2 * SLACK);
        } else if self.output.text.is_empty() && self.grammar.document && !self.grammar.many {
            // All of it is the value, so it is known how long that is, about.
            self.output.expect(text.len());
        }
        make_room(&mut self.output.text, text.len() + SLACK);
        self.take_held_quote(text);
        if self.window.is_empty() {
            let inside = self.take_content(text);
            if inside == text.len() {
                return inside;
            }
            let rest = &text[inside..];
            let (at, seen) = self.run(rest, false);
            self.window.push_str(&rest[at..seen]);
            if !self.back.is_empty() {
                self.run_again(false);
            }
            return inside + seen;
        }
        if self.probe.as_mut().is_some_and(|probe| probe.passes_over(text)) {
            self.window.push_str(text);
            return text.len();
        }
        let held = self.window.len();
        let mut window = std::mem::take(&mut self.window);
        window.push_str(text);
        let (at, seen) = self.run(&window, false);
        window.truncate(seen);
        if at == seen {
            window.clear();
        } else if at > 0 {
            window.drain(..at);
        }
        self.window = window;
        if !self.back.is_empty() {
            self.run_again(false);
        }
        seen.saturating_sub(held)
    }

    /// Reads again what a string had swallowed in earlier chunks, and then what waits behind it.
    #[inline(never)]
    fn run_again(&mut self, last: bool) {
        while !self.back.is_empty() {
            let mut window = std::mem::take(&mut self.back);
            self.base -= window.len();
            window.push_str(&self.window);
            self.window.clear();
            let (at, seen) = self.run(&window, last);
            self.window.push_str(&window[at..seen]);
        }
    }

    /// Where the reader is.
    pub fn state(&self) -> ReaderState {
        self.state
    }

    /// After a stop: the stop byte did not end the frame, so it is part of the value, which is broken.
    pub fn resume(&mut self) {
        if self.state != ReaderState::Stopped {
            return;
        }
        self.state = ReaderState::Reading;
        self.stops_from = self.base + self.window.len() + 1;
        if let Some(probe) = &mut self.probe {
            probe.overrule();
        }
    }

    /// Whether the next byte is inside a string.
    pub fn in_string(&self) -> bool {
        match &self.failure {
            Some(_) => self.tracker.in_string(),
            None => self.string.is_some() && self.probe.is_none(),
        }
    }

    /// Why the value cannot be read, if it cannot.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// What has been written: always the start of a valid JSON text. It only grows, until [`Reader::finish`] or
    /// [`Reader::close`] make a late repair.
    #[inline] // Asked for each chunk.
    pub fn text(&self) -> &str {
        // Only where a key stands something may be undecided, and most chunks bring none.
        if matches!(self.expects, Expects::Key | Expects::Colon) {
            return self.decided_text();
        }
        let text = &self.shown().text;
        debug_assert_eq!(self.decided_text().len(), text.len(), "something is undecided where no key stands");
        text
    }

    /// Where the values stand in [`Reader::text`].
    pub fn tape(&self) -> &Tape {
        &self.shown().tape
    }

    /// What was changed so far.
    pub fn repairs(&self) -> &[Repair] {
        self.repairs.list()
    }

    /// The text, its tape, and what was changed.
    pub fn into_parts(self) -> (String, Tape, Vec<Repair>) {
        let output = self.around.into_shown(self.output);
        (output.text, output.tape, self.repairs.into_list())
    }

    /// Runs the machine over `text`. Returns how far it decided and how far it looked.
    fn run(&mut self, text: &str, last: bool) -> (usize, usize) {
        let mut cursor = Cursor { text, at: 0, base: self.base, last };
        let mut seen = text.len();
        while self.state == ReaderState::Reading {
            if cursor.at == text.len() && !last && self.expects != Expects::Around {
                // Every step would ask for more. Only around a value something may be left to do.
                break;
            }
            // Once the shortcut has taken all it could, the next byte needs one careful step.
            if self.take_plain(&mut cursor) && (cursor.at == text.len() || self.state != ReaderState::Reading)
            {
                continue;
            }
            match self.step(&mut cursor) {
                Advance::Go => {}
                Advance::More => break,
                Advance::Back(back) => {
                    self.close_before(cursor.offset() - back.len());
                    if back.len() > cursor.at {
                        self.back = back;
                        break;
                    }
                    cursor.at -= back.len();
                }
                Advance::Stop(at) => {
                    self.state = ReaderState::Stopped;
                    seen = at;
                }
            }
        }
        if self.state == ReaderState::Done {
            let looked = self.stops_from.saturating_sub(self.base).min(text.len());
            if cursor.at < looked {
                // A quote was taken for data because of what follows, and now the value would end before that.
                if self.failure.is_none() {
                    let message = "a quote is missing, so it is not clear where the value ends";
                    self.fail(Code::RepairRefused, cursor.offset(), message);
                }
                cursor.at = looked;
            }
            seen = cursor.at;
        }
        self.base += cursor.at;
        (cursor.at, seen)
    }

    fn step(&mut self, cursor: &mut Cursor<'_>) -> Advance {
        looked(1);
        if self.failure.is_some() {
            return if self.grammar.tentative { Advance::Stop(cursor.at) } else { self.track(cursor) };
        }
        if self.string.is_some() {
            return self.read_string(cursor);
        }
        if self.comment.is_some() {
            return self.read_comment(cursor);
        }
        match self.expects {
            Expects::Start => self.start(cursor),
            Expects::Around => self.read_around(cursor),
            _ => self.read_structure(cursor),
        }
    }

    /// Whether this byte, at this place of the cursor's text, may start what follows the value.
    fn stops_at(&self, cursor: &Cursor<'_>, at: usize) -> bool {
        cursor.byte_at(at).is_some_and(|byte| self.grammar.stops.has(byte))
            && cursor.base + at >= self.stops_from
    }

    /// Rejects the value for a reason outside of it, at an offset of what was pushed. Its end is still looked for.
    pub(crate) fn abort(&mut self, code: Code, at: usize, message: String) {
        if self.failure.is_none() {
            self.fail(code, at, message);
        }
    }

    fn fail(&mut self, code: Code, at: usize, message: impl Into<String>) {
        self.failure = Some(Failure { code, at, message: message.into() });
        self.start_tracking();
    }

    fn repair(&mut self, code: RepairCode, span: Span) {
        self.repairs.add(code, code.entry().safety, span);
    }

    fn guess(&mut self, code: RepairCode, span: Span) {
        self.repairs.add(code, Safety::Guess, span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes a text in chunks of at least so many bytes.
    fn push_in_pieces(reader: &mut Reader, text: &str, size: usize) {
        let mut chunk = String::new();
        for c in text.chars() {
            chunk.push(c);
            if chunk.len() >= size {
                reader.push(&chunk);
                chunk.clear();
            }
        }
        reader.push(&chunk);
    }

    #[test]
    fn what_is_too_long_is_rejected_at_the_same_place_in_any_cutting() {
        let long = format!("{{\"é\": \"{}\"}}", "東".repeat(LONGEST / 3));
        let read = |size: usize| {
            let mut reader = Reader::new(Syntax::Json);
            push_in_pieces(&mut reader, &long, size);
            (reader.state(), reader.failure().map(|failure| (failure.code, failure.at)))
        };
        for size in [1, 7, 1000, LONGEST - 1, LONGEST, usize::MAX] {
            assert_eq!(read(size), (ReaderState::Done, Some((Code::TooLarge, LONGEST))), "{size}");
        }
        // What ends in time is read, whatever follows it.
        let mut reader = Reader::new(Syntax::Json);
        assert_eq!(reader.push(&format!("[1]{}", " ".repeat(2 * LONGEST))), 3);
        assert_eq!((reader.state(), reader.failure()), (ReaderState::Done, None));
    }

    #[test]
    fn a_private_delimiter_may_be_beyond_ascii() {
        let text = "{a: 「「say \"ü」」, 「x「「\n」, b: 「「「「}";
        for size in [1, 3, 8, usize::MAX] {
            let mut reader = Reader::new(Syntax::Bare).with_quote("「「".into());
            push_in_pieces(&mut reader, text, size);
            assert_eq!(reader.state(), ReaderState::Done, "{size}");
            assert!(reader.text().starts_with(r#"{"a": "say \"ü」」, 「x""#), "{size} {}", reader.text());
        }
    }
}
