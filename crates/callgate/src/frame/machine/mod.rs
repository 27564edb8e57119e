//! The machine: reads the response as it comes and tells text, reasoning, markup and attempts apart.
//!
//! It reads one character after the other (with shortcuts over text that cannot matter), so how the input was cut
//! into chunks cannot change what it sees. Bytes whose meaning is open are held back; when a reading fails, only the
//! first held character is settled and the rest is read again, a bounded number of times per byte.

mod admission;
mod bodies;
mod ends;
mod matching;
mod outside;
mod room;
mod value_end;

use std::sync::Arc;

use crate::dialect::turn::Turn;
use crate::draft::Draft;
use crate::ending::FinishReason;
use crate::event::Choice;
use crate::finding::{Code, Finding, Span};
use crate::gate::Compiled;
use crate::json::Reader;
use crate::ledger::Out;

use super::marks::Marks;
use super::openers::Set;
use super::program::{Body, Frame};
use super::region::Regions;
use super::stops::Stops;
use super::threads::{Scratch, Thread, Threads};
use room::{Room, give_back};

/// The most bytes of a header (opener, name, white space) that are held while it is undecided.
const LONGEST_HEADER: usize = 4096 + 512;

/// The most white space after a frame that is held to see whether another frame follows.
const LONGEST_GAP: usize = 256;

/// Where the machine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In text or reasoning, looking for openers.
    Outside,
    /// The table of openers is being walked.
    Opening,
    /// Threads are reading literals and words.
    Matching,
    /// A reader is reading JSON or the like.
    Json,
    /// Arguments are being read line by line.
    Lines,
    /// A parameter's value is being read.
    Value,
    /// Threads look whether the body before them has ended.
    Looking,
    /// A refused call is being skipped to its end.
    Refused,
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

/// A frame around text or reasoning that is open.
#[derive(Debug)]
struct Context {
    /// The threads that wait for its end.
    waiting: Vec<Thread>,
    record: usize,
    kind: Body,
    /// How its end can start.
    stops: Stops,
    /// The bytes at which the scan inside of it must look closer.
    marks: Marks,
    /// Whether it may end without a closer, where another frame of its dialect begins.
    may_lack_closer: bool,
    /// The marker that opened it.
    marker: Arc<str>,
    /// How many times it was opened again inside of itself.
    nested: usize,
    /// The text frame inside of which something is skipped.
    outer: Option<Box<Context>>,
}

/// What the end of a refused call is recognised by.
#[derive(Debug, Default)]
struct Refusal {
    literals: Vec<(String, Resync)>,
    /// Literals that are being matched, with how many of their bytes have come.
    partial: Vec<(usize, usize)>,
    thread: Option<Thread>,
    /// Where the last line that was passed began.
    line_start: Option<usize>,
    /// How many calls have begun since that are not made but shown, and whose closers are still to come.
    shown: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resync {
    CallEnd,
    FrameEnd,
    Opener,
}

/// The framing state of one response.
#[derive(Debug)]
pub(crate) struct Machine {
    state: State,
    /// How many bytes have been read, those held back included.
    position: usize,
    /// Where in the table of openers it stands, while it walks there.
    opener: Set,
    threads: Threads,
    scratch: Scratch,
    /// The threads at the body that is being read.
    waiting: Vec<Thread>,
    /// How the end of that body can start.
    stops: Stops,
    /// Threads at a body that could have begun while others were still reading literals, and where that was.
    parked: Vec<Thread>,
    parked_at: usize,
    /// The best end of the frame so far: the thread, and how much of the held text belongs to it.
    best: Option<(Thread, usize)>,
    held: String,
    held_start: usize,
    /// What the threads that look for the end of a body have read.
    look: String,
    look_start: usize,
    draft: Option<Draft>,
    /// Whether the draft may still turn out to be text.
    speculative: bool,
    context: Option<Context>,
    regions: Regions,
    /// White space that may be markup of what follows.
    space: String,
    /// Whether nothing but white space came since the last frame.
    after_frame: bool,
    /// White space that is markup if it comes next.
    after: String,
    refusal: Refusal,
    /// Whether a thought has begun or ended, so that the end of another one that never began means nothing.
    has_thought: bool,
    /// What ended the turn of the model, or let somebody else speak.
    turn: Option<&'static Turn>,
    /// Closers that must not follow the last call.
    watch: Option<Refusal>,
    /// Where the held text begins of which only closing brackets and white space have been seen, and how far.
    closers: (usize, usize),
    /// Whether the last frame was an object that must stand by itself.
    stands_alone: bool,
    /// Everything of the current frame before this position is accounted for.
    accounted: usize,
    attempts: usize,
    /// The number of the last call of this frame that has ended; calls are counted from one.
    ended_call: u32,
    /// How many bytes have been read, those read again counted again.
    work: u64,
    /// The last bytes before the position, which are to be read again before anything else.
    replay: String,
    /// Whether the first byte is still to come.
    fresh: bool,
    /// Room for the text of the next call.
    raw: String,
    /// A reader for the next body.
    reader: Option<Box<Reader>>,
    /// Where its lists go when it has done its work, once it has got them from there.
    room: Option<Box<Room>>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Machine {
            state: State::Outside,
            position: 0,
            opener: 0,
            threads: Threads::default(),
            scratch: Scratch::default(),
            waiting: Vec::new(),
            stops: Stops::default(),
            parked: Vec::new(),
            parked_at: 0,
            best: None,
            held: String::new(),
            held_start: 0,
            look: String::new(),
            look_start: 0,
            draft: None,
            speculative: false,
            context: None,
            regions: Regions::default(),
            space: String::new(),
            after_frame: true,
            after: String::new(),
            refusal: Refusal::default(),
            has_thought: false,
            turn: None,
            closers: (0, 0),
            watch: None,
            stands_alone: false,
            accounted: 0,
            attempts: 0,
            ended_call: 0,
            work: 0,
            replay: String::new(),
            fresh: true,
            raw: String::new(),
            reader: None,
            room: None,
        }
    }

    /// Whether a call is being read, and its name if that is known.
    pub(crate) fn open_call(&self) -> Option<Option<&str>> {
        self.draft.as_ref().filter(|_| !self.speculative).map(|draft| draft.name.as_deref())
    }

    /// Whether some text is held back because it may become a call.
    pub(crate) fn is_holding(&self) -> bool {
        self.state != State::Outside
    }

    /// How many bytes have been read, those read again counted again.
    pub(crate) fn work(&self) -> u64 {
        self.work
    }

    /// Takes the next attempt number, for calls that do not come through the text.
    pub(crate) fn next_attempt(&mut self) -> usize {
        self.attempts += 1;
        self.attempts - 1
    }

    /// Reads more of the response. It is called for each chunk, so what is not needed for all of them is kept out of it.
    ///
    /// A reading that fails asks for its last bytes again, which stand right before the place that was reached: in this
    /// chunk, or before it. So the way back is a step back, and nothing recurses however many readings fail.
    pub(crate) fn run(&mut self, gate: &Compiled, text: &str, out: &mut Out<'_, '_>) {
        self.work += text.len() as u64;
        let mut at = 0;
        if !text.is_empty() && self.replay.is_empty() {
            at = self.step_on(gate, text, out);
        }
        if at < text.len() || !self.replay.is_empty() {
            self.run_on(gate, text, at, out);
        }
    }

    /// Reads the text from `at` on, but first what is to be read again.
    #[inline(never)] // See `run`.
    fn run_on(&mut self, gate: &Compiled, text: &str, at: usize, out: &mut Out<'_, '_>) {
        let mut at = at;
        // What came before this chunk and is read again.
        let mut early = Early::default();
        loop {
            if !self.replay.is_empty() {
                let in_chunk = self.replay.len().min(at);
                at -= in_chunk;
                self.work += self.replay.len() as u64;
                self.replay.truncate(self.replay.len() - in_chunk);
                early.step_back(&self.replay);
                self.replay.clear();
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
    #[inline(always)] // See `run`.
    fn step_on(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        match self.state {
            State::Outside => self.outside(gate, rest, out),
            State::Opening => self.opening(gate, rest, out),
            State::Matching => self.matching(gate, rest, out),
            State::Json => self.json(gate, rest, out),
            State::Lines => self.lines(gate, rest, out),
            State::Value => self.value(gate, rest, out),
            State::Looking => self.looking(gate, rest, out),
            State::Refused => self.refused(gate, rest, out),
        }
    }

    /// Asks for the last bytes again, which are these.
    fn read_again(&mut self, tail: &str) {
        debug_assert!(self.replay.is_empty(), "bytes were asked for twice");
        self.replay.push_str(tail);
    }

    /// Bytes that are not UTF-8: text with a finding outside of calls, a refusal inside.
    pub(crate) fn invalid(&mut self, gate: &Compiled, bytes: usize, out: &mut Out<'_, '_>) {
        let span = Span::new(self.position, self.position + bytes);
        let broken = || Finding::new(Code::InvalidUtf8Call).at(span);
        loop {
            match self.state {
                State::Opening => self.take_up(gate),
                State::Looking => self.look_failed(gate),
                State::Matching if self.best.is_some() => self.end_at_best(gate, out),
                State::Matching | State::Json if self.draft.is_none() || self.speculative => {
                    self.give_up(gate, out)
                }
                State::Matching => self.refuse(gate, Some(broken()), out),
                _ => break,
            }
            self.run(gate, "", out);
        }
        if let Some(draft) = self.draft.as_mut().filter(|_| self.state != State::Outside) {
            if draft.findings.iter().all(|finding| finding.code != Code::InvalidUtf8Call) {
                draft.findings.push(broken());
            }
            if let Some(lines) = &mut draft.lines {
                lines.invalid();
            }
            draft.keep("\u{FFFD}", gate.policy.limits.raw);
            self.position += bytes;
            return;
        }
        self.flush_space(out);
        out.text("\u{FFFD}", span, self.in_reasoning());
        out.finding(Finding::new(Code::InvalidUtf8).at(span));
        self.regions.read('\u{FFFD}');
        self.position += bytes;
        self.after_frame = false;
    }

    /// The response is over: settles everything that is held.
    pub(crate) fn finish(&mut self, gate: &Compiled, reason: FinishReason, out: &mut Out<'_, '_>) {
        while self.state != State::Outside {
            self.finish_frame(gate, reason, out);
            self.run(gate, "", out);
        }
        let change = self.regions.finish();
        self.apply(change, out);
        self.flush_space(out);
        self.give_up_room();
    }

    fn new_draft(&mut self, number: usize, call: u32, start: usize) -> Draft {
        Draft::new(number, call, start, std::mem::take(&mut self.raw))
    }

    /// The dialect that a thread reads, and why that one.
    fn source(gate: &Compiled, frame: &Frame) -> (Arc<str>, Choice) {
        let choice = if frame.chosen { Choice::Named } else { Choice::Marker(frame.marker.clone()) };
        (gate.records[frame.record].record.name.clone(), choice)
    }
}
