//! Behind calls: what must not follow them, because it shows that a value was cut or that a call goes on.

use std::sync::Arc;

use super::super::Compiled;
use super::super::instructions::Frame;
use super::super::threads::Thread;
use super::Machine;
use super::around::{AroundFrames, StrayClosers};
use super::literals::Resync;
use crate::draft::members::NAMING;
use crate::finding::{Code, Finding, Span};
use crate::json::Syntax;
use crate::ledger::Emitter;

/// How many closers of earlier calls are looked for behind a call.
const NAMED_CLOSERS: usize = 16;

/// The longest name of an argument that is looked for behind a call.
const LONGEST_KEY: usize = 128;

/// Looks for more arguments behind a call that nothing but its own last bracket closes: `{"a": 1}, "b": 2}` goes on with
/// them, and `{"a": 1} {"a": 2}` has a second object of them, whose name is missing.
#[derive(Clone, Debug, Default)]
pub(super) struct MoreArguments {
    place: BehindPlace,
    /// Where a second object begins.
    object: Option<usize>,
    /// Whether the line is over in which the call ended.
    has_left_line: bool,
    /// Whether a bracket that ends a list of calls stood, so that only more arguments as the format writes them count.
    is_section_over: bool,
    /// Whether calls are written as code.
    is_code: bool,
    /// Whether a marker says that it is a call. Without one, code with words behind it may be a part of a sentence.
    is_marked: bool,
    /// Whether brackets or quotes of the call were repaired, so that what stands behind it in its line may be its own.
    is_repaired: bool,
    /// The label that the format writes before arguments: once more, it begins others.
    label: Option<Arc<str>>,
    /// Of the words that are looked for where it stands, those that may be the one that is being read, a bit for each.
    maybe: u8,
}

/// The words with which code goes on behind a value. Any other word behind a call is no code, so it is text.
const INFIX: [&str; 8] = ["and", "else", "for", "if", "in", "is", "not", "or"];

#[derive(Clone, Copy, Debug, Default)]
enum BehindPlace {
    /// Nothing but white space and brackets came.
    #[default]
    Before,
    /// In a word behind code, of which so much has come.
    Infix(usize),
    /// In the label of arguments, of which so many bytes have come.
    Label(usize),
    /// In the rest of the line, in which a bracket tells that closes nothing there, with so many open.
    Rest(usize),
    /// After a comma, or in a second object.
    Comma,
    /// In a key between quotes, of which so much has come.
    Quoted(char, usize),
    /// In a key without quotes.
    Word(usize),
    /// After a key.
    Key,
}

impl MoreArguments {
    /// Whether this text, which stands behind a comma, begins with an argument.
    pub(super) fn are_in(text: &str) -> bool {
        let mut more = MoreArguments { place: BehindPlace::Comma, ..MoreArguments::default() };
        text.char_indices().find_map(|(at, c)| more.read(at, c)) == Some(true) && more.object.is_none()
    }

    /// Reads the character here. Whether arguments come; nothing if that is still to be seen.
    fn read(&mut self, at: usize, c: char) -> Option<bool> {
        match self.read_on(at, c) {
            Some(false)
                if (!self.is_code || self.is_repaired) && !self.has_left_line && self.object.is_none() =>
            {
                self.place = match self.place {
                    BehindPlace::Rest(_) => return Some(false),
                    _ => BehindPlace::Rest(0),
                };
                self.read_on(at, c)
            }
            decided => decided,
        }
    }

    fn read_on(&mut self, at: usize, c: char) -> Option<bool> {
        self.has_left_line |= c == '\n';
        self.place = match self.place {
            same if c.is_ascii_whitespace()
                && !matches!(
                    same,
                    BehindPlace::Quoted(..)
                        | BehindPlace::Word(_)
                        | BehindPlace::Infix(_)
                        | BehindPlace::Label(_)
                        | BehindPlace::Rest(_)
                ) =>
            {
                same
            }
            BehindPlace::Before if matches!(c, '}' | ']' | ')') => BehindPlace::Before,
            BehindPlace::Before if c == ',' => BehindPlace::Comma,
            BehindPlace::Rest(_) if self.has_left_line => return Some(false),
            BehindPlace::Rest(_) if self.is_repaired && matches!(c, '"' | '}' | ']') => return Some(true),
            BehindPlace::Rest(open) => match c {
                '{' => BehindPlace::Rest(open + 1),
                '}' if open == 0 => return Some(true),
                '}' => BehindPlace::Rest(open - 1),
                _ => BehindPlace::Rest(open),
            },
            BehindPlace::Label(read) => match self.label_after(read, c) {
                Some("") => return Some(true),
                Some(_) => BehindPlace::Label(read + c.len_utf8()),
                None => return Some(false),
            },
            BehindPlace::Before if self.label_after(0, c).is_some() => BehindPlace::Label(c.len_utf8()),
            // An argument behind a list of calls in code that was closed too early.
            BehindPlace::Before
                if self.is_code && self.is_section_over && is_word(c) && !self.has_left_line =>
            {
                BehindPlace::Word(1)
            }
            BehindPlace::Before if self.is_code && self.is_marked && is_word(c) && !self.is_section_over => {
                self.maybe = words_left(&INFIX, u8::MAX, 0, Some(c));
                BehindPlace::Infix(1)
            }
            BehindPlace::Infix(length) if is_word(c) => {
                self.maybe = words_left(&INFIX, self.maybe, length, Some(c));
                BehindPlace::Infix(length + 1)
            }
            BehindPlace::Infix(length) => {
                let is_infix = words_left(&INFIX, self.maybe, length, None) != 0;
                return Some(!self.has_left_line && is_infix);
            }
            // In code the call is a part of what goes on.
            BehindPlace::Before if self.is_code && !matches!(c, ';' | '#' | '<' | '`') => {
                return Some(!self.has_left_line && (!self.is_section_over || c == '('));
            }
            // A key behind a list that was closed in the middle of an object.
            BehindPlace::Before if c == '"' && self.is_section_over && !self.has_left_line => {
                BehindPlace::Quoted(c, 0)
            }
            // What was meant for a string or is computed with the object.
            BehindPlace::Before if matches!(c, '+' | '%' | '&' | '|' | '"') => {
                return Some(!self.has_left_line && !self.is_section_over);
            }
            BehindPlace::Word(_) if self.is_section_over && matches!(c, ':' | ' ') => return Some(false),
            BehindPlace::Before | BehindPlace::Comma if c == '{' && self.object.is_none() => {
                self.object = Some(at);
                BehindPlace::Comma
            }
            BehindPlace::Comma if matches!(c, '(' | '[') => BehindPlace::Comma,
            BehindPlace::Comma if matches!(c, '"' | '\'') => {
                self.maybe = u8::MAX;
                BehindPlace::Quoted(c, 0)
            }
            BehindPlace::Comma if is_word(c) && self.object.is_none() => BehindPlace::Word(1),
            // Another call begins with its name.
            BehindPlace::Quoted(quote, length) if c == quote && self.object.is_some() => {
                if words_left(NAMING, self.maybe, length, None) != 0 {
                    return Some(false);
                }
                BehindPlace::Key
            }
            BehindPlace::Quoted(quote, _) if c == quote => BehindPlace::Key,
            // A quote right behind a list ends a string of it, if brackets follow.
            BehindPlace::Quoted(_, 0) if self.is_section_over && matches!(c, '}' | ']') => return Some(true),
            BehindPlace::Quoted(quote, length) if length < LONGEST_KEY && c != '\n' => {
                self.maybe = words_left(NAMING, self.maybe, length, Some(c));
                BehindPlace::Quoted(quote, length + 1)
            }
            BehindPlace::Word(length) if length < LONGEST_KEY && is_word(c) => BehindPlace::Word(length + 1),
            BehindPlace::Word(_) if matches!(c, ' ' | '\t') => BehindPlace::Key,
            BehindPlace::Word(_) | BehindPlace::Key if matches!(c, ':' | '=') => return Some(true),
            // More of a list that was closed too early.
            BehindPlace::Key if matches!(c, ',' | ']' | '}') && self.object.is_none() => {
                return Some(!self.has_left_line);
            }
            _ => return Some(false),
        };
        None
    }
}

impl MoreArguments {
    /// What is left of the label of arguments if it goes on with this character behind so many bytes.
    fn label_after(&self, read: usize, c: char) -> Option<&str> {
        self.label.as_deref()?.get(read..)?.strip_prefix(c)
    }
}

/// Those of these words that still may be meant, which have this character behind so many, or their end.
fn words_left(words: &[&str], maybe: u8, length: usize, c: Option<char>) -> u8 {
    let words = words.iter().zip(0..u8::BITS).filter(|(_, bit)| maybe >> bit & 1 != 0);
    let goes_on = words.filter(|(word, _)| word.chars().nth(length) == c);
    goes_on.fold(0, |all, (_, bit)| all | 1 << bit)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

impl AroundFrames {
    /// More arguments behind the last call show that it was closed too early. Of an object of them, says where that is seen.
    #[inline(never)] // Most text is not behind a call.
    pub(super) fn look_for_more_arguments(
        &mut self,
        text: &str,
        start: usize,
        out: &mut Emitter<'_, '_>,
    ) -> Option<(usize, Finding)> {
        let mut more = self.more_arguments.take()?;
        let decided = text.char_indices().find_map(|(at, c)| Some((at, c, more.read(start + at, c)?)));
        let Some((at, c, go_on)) = decided else {
            self.more_arguments = Some(more);
            return None;
        };
        if !go_on {
            return None;
        }
        let span = Span::new(start + at, start + at + c.len_utf8());
        let is_more = !matches!(more.place, BehindPlace::Before | BehindPlace::Rest(_));
        out.revoke_last(match more.object {
            Some(object) => nameless_beside(Span::new(object, object + 1)),
            None if is_more => more_arguments(span),
            None => goes_on(span),
        });
        more.object.map(|object| (at, nameless(Span::new(object, start + at))))
    }
}

/// The finding for a call whose arguments go on behind its end, as seen here.
pub(super) fn more_arguments(span: Span) -> Finding {
    let message = "the arguments go on behind the end of the call, which was closed too early";
    Finding::new(Code::Malformed).at(span).message(message)
}

/// The finding for a call that is a part of something, which goes on here.
pub(super) fn goes_on(span: Span) -> Finding {
    let message = "what the call stands in goes on behind it, so that it is no call by itself";
    Finding::new(Code::Malformed).at(span).message(message)
}

/// The finding for a call behind which an object without a name stands, here: it may be what the call was to be given.
pub(super) fn nameless_beside(span: Span) -> Finding {
    let message = "an object without a name stands behind the call, which may be its arguments";
    Finding::new(Code::Ambiguous).at(span).message(message)
}

/// The finding for an object behind a call that may be the arguments of another one.
fn nameless(span: Span) -> Finding {
    let message = "an object stands behind the call, like the arguments of another one that has no name";
    Finding::new(Code::LooksLikeACall).at(span).message(message)
}

impl Machine {
    /// After a frame of calls: what follows may show that it was none, or that a value was cut.
    pub(super) fn pass_calls(&mut self, gate: &Compiled, thread: &Thread, out: &mut Emitter<'_, '_>) {
        let frame = gate.program.frame_of(thread);
        let around = &mut self.around;
        let change = around.regions.pass_frame(self.held.text.ends_with('\n'));
        around.apply(change, out);
        around.stands_alone = frame.unmarked && !frame.fence;
        around.behind_call = true;
        around.unread_values.take_seen();
        around.unread_values.pass_frame();
        let written = self.held.text.trim_end();
        let is_closed = frame.end_marks.iter().any(|mark| written.ends_with(mark.as_str()));
        let record = &gate.rules.dialects[frame.record].record;
        let mut ends = record.close.iter().filter_map(|close| close.literals().last().map(str::trim));
        let is_section_over = ends.any(|end| !end.is_empty() && written.ends_with(end));
        let is_code = record.syntax == Syntax::Kwargs;
        // Behind the fence that ends it, nothing goes on.
        let is_closed = is_closed || frame.fence;
        let is_section_over = is_section_over || is_closed;
        let has_left_line = self.held.text.ends_with('\n');
        let is_marked = !frame.unmarked && !record.known;
        // What was given nothing, or was closed where brackets were missing, may have been meant to be given what stands behind
        // it.
        let may_go_on = !is_closed || self.calls.may_go_on;
        let more = MoreArguments {
            is_section_over,
            is_code,
            is_marked,
            has_left_line,
            is_repaired: self.calls.is_repaired,
            label: frame.label.clone(),
            ..MoreArguments::default()
        };
        around.more_arguments = may_go_on.then_some(more);
        let earlier = around.first_valued.filter(|first| *first != frame.record);
        if frame.closers.is_empty() && earlier.is_none() {
            self.around.stray_closers = self.closers_behind_json(gate, frame, is_closed);
            return;
        }
        if !frame.closers.is_empty() {
            around.first_valued.get_or_insert(frame.record);
        }
        let repeats = self.scratch.repeats(thread);
        let name = thread.name.map_or("", |name| self.scratch.get(name));
        let closer = |closer: &String| {
            let ends_frame = frame.call_ends.contains(closer);
            (
                repeats.fill(closer, name).into_owned(),
                if ends_frame { Resync::FrameEnd } else { Resync::CallEnd },
            )
        };
        let mut closers: Vec<(String, Resync)> = frame.closers.iter().map(closer).collect();
        if earlier.is_some() {
            // Those of a call in another format: this one may stand in a value of that.
            let frames = || gate.program.frames.iter().filter(|other| Some(other.record) == earlier);
            let fixed = frames().flat_map(|other| &other.closers).filter(|closer| !closer.contains('{'));
            let fixed = fixed.map(|closer| (closer.clone(), Resync::CallEnd));
            for closer in fixed.chain(around.named_closers.iter().cloned()) {
                if closers.iter().all(|(known, _)| *known != closer.0) {
                    closers.push(closer);
                }
            }
        }
        let held = self.held.text.trim_end();
        let last = closers.iter().find(|(closer, _)| held.ends_with(closer.as_str()));
        let last = last.map(|(closer, _)| closer.clone()).unwrap_or_default();
        if frame.closers.iter().any(|closer| closer.contains('{')) {
            // Closers that differ from call to call: those of a call before this may show that this one stands in its value.
            around.named_closers.retain(|known| !closers.contains(known));
            let kept = around.named_closers.len().saturating_sub(NAMED_CLOSERS);
            around.named_closers.drain(..kept);
            let own = closers.clone();
            closers.append(&mut around.named_closers.clone());
            around.named_closers.extend(own);
        }
        around.stray_closers = Some(StrayClosers::new(closers, last, gate.program.special.clone()));
    }

    /// The closers that must not follow a call behind a complete object. Where the format may leave them out and did: if
    /// they come after all, what stands before them belongs to the call. Where strings stand between tokens of the format:
    /// such a token shows that a string was cut.
    fn closers_behind_json(&self, gate: &Compiled, frame: &Frame, is_closed: bool) -> Option<StrayClosers> {
        if let Some(quote) = gate.rules.dialects[frame.record].record.quote.as_deref() {
            let quote = vec![(quote.to_owned(), Resync::CallEnd)];
            return Some(StrayClosers::new(quote, String::new(), gate.program.special.clone()));
        }
        // What ends with a fence, or with words that repeat something, is told by other means.
        let is_marker = |closer: &String| closer.starts_with(['<', '[']) && !closer.contains('{');
        if is_closed || frame.call_ends.is_empty() || !frame.call_ends.iter().all(is_marker) {
            return None;
        }
        let closers = frame.call_ends.iter().map(|closer| (closer.clone(), Resync::FrameEnd)).collect();
        Some(StrayClosers::new(closers, String::new(), gate.program.special.clone()))
    }
}
