//! The machine: reads the response as it comes and tells text, reasoning, markup and attempts apart.
//!
//! It reads one character after the other (with shortcuts over text that cannot matter), so how the input was cut
//! into chunks cannot change what it sees. Bytes whose meaning is open are held back; when a reading fails, only the
//! first held character is settled and the rest is read again, a bounded number of times per byte.
//!
//! A state owns what is known in it. Its handler takes it by value and returns the next one, so nothing of a state can be
//! read in another, and nothing of it is left behind.

mod admission;
mod around;
mod behind;
mod bent_ends;
mod bodies;
mod ends;
mod forgiving;
mod input_end;
mod literals;
mod matching;
mod outside;
mod pool;
mod signs;
mod skipping;
mod tags;
mod unread;
mod unread_values;
mod value_end;
mod watch;

use std::mem::take;
use std::sync::Arc;

use super::Compiled;
use crate::draft::Draft;
use crate::ending::FinishReason;
use crate::event::Choice;
use crate::finding::{Code, Finding, Span};
use crate::ledger::{CallDoubts, Emitter};

use super::openers::Set;
use super::program::Frame;
use super::threads::Scratch;
use around::AroundFrames;
use bodies::Inside;
use matching::Matching;
use pool::Pool;
use skipping::Skip;
use value_end::Look;
use watch::Watch;

pub(crate) use unread::{Unread, UnreadPlace};

/// The most bytes of a header (opener, name, white space) that are held while it is undecided.
const LONGEST_HEADER: usize = 4096 + 512;

/// Where the machine stands, and what it knows there.
#[derive(Debug, Default)]
enum State {
    /// In text or reasoning, looking for openers.
    #[default]
    Outside,
    /// At this place in the table of openers, with any threads beside it.
    Opening(Set, Box<Matching>),
    /// Threads are reading literals and words.
    Matching(Box<Matching>),
    /// A body is being read: JSON, lines, the value of a parameter or program text.
    Body(Box<Inside>),
    /// Threads look ahead whether the body before them has ended.
    Looking(Box<Inside>, Box<Look>),
    /// A rejected call is being skipped to its end.
    Skipping(Box<Skip>),
}

/// Bytes whose meaning is open. They end at the position.
#[derive(Debug, Default)]
struct Held {
    text: String,
    /// Where they begin in the input.
    start: usize,
}

impl Held {
    /// Nothing is held any more, and what may be next begins here.
    fn restart(&mut self, position: usize) {
        self.text.clear();
        self.start = position;
    }

    /// Adds what comes before `end`, as far as it belongs to the call, to what is kept of it.
    fn keep_in(&self, draft: &mut Draft, end: usize, limit: usize) {
        let from = draft.start.max(self.start) - self.start;
        let to = end.saturating_sub(self.start).min(self.text.len());
        if let Some(text) = self.text.get(from.min(to)..to) {
            draft.keep(text, limit);
        }
    }
}

/// The calls of the frame that is being read, and those before it.
#[derive(Debug, Default)]
struct FrameCalls {
    /// Everything of the current frame before this position is accounted for.
    accounted: usize,
    /// The number of the last call of this frame that has ended; calls are counted from one.
    ended: u32,
    /// How many attempts there were in this response.
    attempts: usize,
    /// Whether the last one may have been meant to be given more: it was given nothing, or its arguments were closed where
    /// brackets were missing.
    may_go_on: bool,
    /// Whether the last one had brackets or quotes repaired, so that nobody knows for certain where it ends.
    is_repaired: bool,
    /// Whether the current frame stands behind words of its line.
    behind_words: bool,
}

impl FrameCalls {
    fn next_attempt(&mut self) -> usize {
        self.attempts += 1;
        self.attempts - 1
    }

    /// Accounts for what stands before this position as markup. Says from where on nothing is accounted for.
    fn markup_before(&mut self, position: usize, out: &mut Emitter<'_, '_>) -> usize {
        let start = position.max(self.accounted);
        out.markup(Span::new(self.accounted, start));
        self.accounted = start;
        start
    }
}

/// What was read, and what is to be read again.
#[derive(Debug, Default)]
struct Input {
    /// How many bytes have been read, those read again counted again.
    work: u64,
    /// The last bytes before the position, which are to be read again before anything else.
    replay: String,
    /// Whether the first byte has come.
    begun: bool,
}

impl Input {
    /// Asks for the last bytes again, which are these.
    fn read_again(&mut self, tail: &str) {
        debug_assert!(self.replay.is_empty(), "bytes were asked for twice");
        self.replay.push_str(tail);
    }
}

/// Bytes that came before the current chunk and are read again.
#[derive(Default)]
struct Early {
    text: String,
    at: usize,
}

impl Early {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Goes back over these bytes, which stand right before the place.
    fn step_back(&mut self, bytes: &str) {
        let unknown = bytes.len().saturating_sub(self.at);
        if unknown > 0 {
            self.text.insert_str(0, &bytes[..unknown]);
        }
        self.at = self.at + unknown - bytes.len();
    }
}

/// The framing of one response.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    state: State,
    /// How many bytes have been read, those held back included.
    position: usize,
    held: Held,
    input: Input,
    /// The text around the frames.
    around: AroundFrames,
    calls: FrameCalls,
    /// The words that threads have read.
    scratch: Scratch,
    /// Memory for the states to come.
    pool: Pool,
}

impl Machine {
    /// A machine that also looks for what may be a call in the text.
    pub(crate) fn watching(gate: &Compiled) -> Self {
        let around = AroundFrames { watch: Watch::new(gate), ..AroundFrames::default() };
        Machine { around, ..Machine::default() }
    }

    /// What came so far is not the response's own text.
    pub(crate) fn forget_text(&mut self) {
        self.around.watch.forget();
    }

    /// Notes that the next bytes to come, which are these, are special tokens.
    pub(crate) fn note_special(&mut self, span: Span) {
        if matches!(self.state, State::Outside) {
            self.scratch.specials.forget_before(self.position);
        }
        self.scratch.specials.add(span);
    }

    /// The text that looks like calls, once the response is over.
    pub(crate) fn unread(&mut self) -> Option<Box<Unread>> {
        let around = &mut self.around;
        around.watch.finish(|| around.regions.surroundings())
    }

    /// Whether a call is being read, and its name if that is known.
    pub(crate) fn open_call(&self) -> Option<Option<&str>> {
        let draft = match &self.state {
            State::Outside | State::Opening(..) => None,
            State::Matching(matching) => matching.draft.as_ref(),
            State::Body(inside) | State::Looking(inside, _) => {
                Some(&inside.draft).filter(|_| !inside.tentative)
            }
            State::Skipping(skip) => Some(&skip.draft),
        };
        draft.map(|draft| draft.name.as_deref())
    }

    /// What the text that comes next may say about the calls so far.
    pub(crate) fn doubts(&self) -> CallDoubts {
        let around = &self.around;
        // A thought that begins later has its own end; one that is open may turn out to have ended before.
        let thought = !around.has_thought || around.context.is_some();
        CallDoubts {
            thought,
            // In a section, what comes next may have no name, so that it belongs to the call before it.
            last: self.is_holding() && self.calls.ended > 0
                || around.stray_closers.is_some()
                || around.more_arguments.is_some()
                || around.stands_alone,
        }
    }

    /// Whether some text is held back because it may become a call.
    pub(crate) fn is_holding(&self) -> bool {
        !matches!(self.state, State::Outside)
    }

    /// How many bytes have been read, those read again counted again.
    pub(crate) fn work(&self) -> u64 {
        self.input.work
    }

    /// Takes the next attempt number, for calls that do not come through the text.
    pub(crate) fn next_attempt(&mut self) -> usize {
        self.calls.next_attempt()
    }

    /// Reads more of the response. Hot: it runs once per chunk, and what few chunks need is kept out of it.
    ///
    /// A reading that fails asks for its last bytes again, which stand right before the place that was reached: in this
    /// chunk, or before it. So the way back is a step back, and nothing recurses however many readings fail.
    pub(crate) fn run(&mut self, gate: &Compiled, text: &str, out: &mut Emitter<'_, '_>) {
        self.input.work += text.len() as u64;
        let mut at = 0;
        if !text.is_empty() && self.input.replay.is_empty() {
            at = self.step_on(gate, text, out);
        }
        if at < text.len() || !self.input.replay.is_empty() {
            self.run_on(gate, text, at, out);
        }
    }

    /// Reads the text from `at` on, but first what is to be read again.
    #[inline(never)] // Keeps `run` small.
    fn run_on(&mut self, gate: &Compiled, text: &str, at: usize, out: &mut Emitter<'_, '_>) {
        let mut at = at;
        // What came before this chunk and is read again.
        let mut early = Early::default();
        loop {
            if !self.input.replay.is_empty() {
                let replay = &mut self.input.replay;
                let in_chunk = replay.len().min(at);
                at -= in_chunk;
                self.input.work += replay.len() as u64;
                replay.truncate(replay.len() - in_chunk);
                early.step_back(replay);
                replay.clear();
            }
            let is_early = !early.rest().is_empty();
            let rest = if is_early { early.rest() } else { &text[at..] };
            if rest.is_empty() {
                return;
            }
            let used = self.step_on(gate, rest, out);
            if is_early {
                early.at += used;
            } else {
                at += used;
            }
        }
    }

    /// Reads on in the state it is in, and says how many bytes were used.
    #[inline(always)] // `run` has it where most chunks need nothing else.
    fn step_on(&mut self, gate: &Compiled, rest: &str, out: &mut Emitter<'_, '_>) -> usize {
        let (state, used) = match take(&mut self.state) {
            State::Outside => self.outside(gate, rest, out),
            State::Opening(set, matching) => self.opening(gate, set, matching, rest, out),
            State::Matching(matching) => self.matching(gate, matching, rest, out),
            State::Body(inside) => self.body(gate, inside, rest, out),
            State::Looking(inside, look) => self.looking(gate, inside, look, rest, out),
            State::Skipping(skip) => self.skipping(gate, skip, rest, out),
        };
        // What is replaced is `Outside`, which has nothing to drop: the hot path need not ask.
        std::mem::forget(std::mem::replace(&mut self.state, state));
        used
    }

    /// Bytes that are not UTF-8: text with a finding outside of calls, a rejection inside.
    pub(crate) fn invalid(&mut self, gate: &Compiled, bytes: usize, out: &mut Emitter<'_, '_>) {
        let span = Span::new(self.position, self.position + bytes);
        let broken = || Finding::new(Code::InvalidUtf8Call).at(span);
        loop {
            self.state = match take(&mut self.state) {
                State::Opening(set, matching) => self.take_up(gate, set, matching),
                State::Looking(inside, look) => self.look_failed(gate, inside, look),
                State::Matching(mut matching) => match (matching.best, matching.draft.take()) {
                    (Some(best), draft) => {
                        matching.draft = draft;
                        self.end_at_best(gate, matching, best, out)
                    }
                    (None, None) => self.give_up(gate, matching, out),
                    (None, Some(draft)) => self.reject(gate, matching, draft, broken(), out),
                },
                State::Body(inside) if inside.tentative => {
                    self.pool.leave(inside);
                    self.held_is_text(gate, out)
                }
                state => {
                    self.state = state;
                    break;
                }
            };
            self.run(gate, "", out);
        }
        let draft = match &mut self.state {
            State::Body(inside) => {
                if let Some(lines) = &mut inside.lines {
                    lines.invalid();
                }
                Some(&mut inside.draft)
            }
            State::Skipping(skip) => Some(&mut skip.draft),
            _ => None,
        };
        if let Some(draft) = draft {
            if draft.findings.iter().all(|finding| finding.code != Code::InvalidUtf8Call) {
                draft.findings.push(broken());
            }
            draft.keep("\u{FFFD}", gate.rules.policy.limits.raw);
        } else {
            self.around.flush_space(self.position, out);
            out.text("\u{FFFD}", span, self.around.in_reasoning());
            out.finding(Finding::new(Code::InvalidUtf8).at(span));
            self.around.regions.read('\u{FFFD}');
            self.around.only_space_since_frame = false;
        }
        self.position += bytes;
    }

    /// The response is over: settles everything that is held.
    pub(crate) fn finish(&mut self, gate: &Compiled, reason: FinishReason, out: &mut Emitter<'_, '_>) {
        if reason.is_cut() && self.is_holding() {
            // What is cut off here may have been going to be a call of its own.
            self.around.more_arguments = None;
        }
        while self.is_holding() {
            let state = take(&mut self.state);
            self.state = self.finish_state(gate, state, reason, out);
            self.run(gate, "", out);
        }
        self.around.finish(self.position, out);
        self.give_up_pool();
    }

    /// The dialect that a thread reads, and why that one.
    fn source(gate: &Compiled, frame: &Frame) -> (Arc<str>, Choice) {
        let choice = if frame.chosen { Choice::Named } else { Choice::Marker(frame.marker.clone()) };
        (gate.rules.dialects[frame.record].record.name.clone(), choice)
    }
}
