//! The machine: reads the response as it comes and tells text, reasoning, markup and attempts apart.
//!
//! It reads one character after the other (with shortcuts over text that cannot matter), so how the input was cut
//! into chunks cannot change what it sees. Bytes whose meaning is open are held back; when a reading fails, only the
//! first held character is settled and the rest is read again, a bounded number of times per byte.

use crate::dialect::{Record, is_word_character};
use crate::finding::{Code, Finding, Span};
use crate::gate::Compiled;
use crate::json::{End, Reader, RepairCode, State as ReaderState};
use crate::ledger::{Out, Pending};
use crate::policy::{Foreign, Position, Quote, Region, TruncatedPolicy};
use crate::response::FinishReason;

use super::draft::{Draft, DraftBody, Meaning, close_reader};
use super::program::{Body, Frame, FrameKind, Op};
use super::region::{Change, Regions};
use super::threads::{Scratch, Step, Thread, Threads};

/// The most bytes of a header (opener, name, white space) that are held while it is undecided.
const LONGEST_HEADER: usize = 4096 + 512;

/// The most white space after a frame that is held to see whether another frame follows.
const LONGEST_GAP: usize = 256;

/// Where the machine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In text or reasoning, looking for openers.
    Outside,
    /// Threads are reading literals and words.
    Matching,
    /// A reader is reading JSON or the like.
    Json,
    /// A parameter's value is being read.
    Value,
    /// Threads look whether the body before them has ended.
    Looking,
    /// A refused call is being skipped to its end.
    Refused,
}

/// A frame around text or reasoning that is open.
#[derive(Debug)]
struct Context {
    /// The threads that wait for its end.
    waiting: Vec<Thread>,
    record: usize,
    kind: Body,
    /// The bytes with which its end can start.
    stops: Vec<u8>,
    /// Whether it may end without a closer, where another frame of its dialect begins.
    may_lack_closer: bool,
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resync {
    CallEnd,
    FrameEnd,
    Opener,
}

/// What may become of an attempt, as its place in the response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    /// It is read as a call.
    Live,
    /// It is read, and what follows decides.
    Pending(Pending),
    /// It is text, and that is reported.
    Dead(Code),
    /// It is text.
    Ignored,
}

/// The framing state of one response.
#[derive(Debug)]
pub(crate) struct Machine {
    state: State,
    /// How many bytes have been read, those held back included.
    position: usize,
    threads: Threads,
    scratch: Scratch,
    /// The threads at the body that is being read.
    waiting: Vec<Thread>,
    /// The bytes with which the end of that body can start.
    stops: Vec<u8>,
    /// Threads at a body that could have begun while others were still reading literals, and where that was.
    parked: Vec<Thread>,
    parked_at: usize,
    /// The preferred thread of the last set that had one.
    lead: Option<Thread>,
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
    /// Closers that must not follow the last call.
    watch: Option<Refusal>,
    /// Whether the last frame was an object that must stand by itself.
    stands_alone: bool,
    /// Everything of the current frame before this position is accounted for.
    accounted: usize,
    attempts: usize,
    /// How many bytes have been read, those read again counted again.
    work: u64,
    /// Whether the first byte is still to come.
    fresh: bool,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Machine {
            state: State::Outside,
            position: 0,
            threads: Threads::default(),
            scratch: Scratch::default(),
            waiting: Vec::new(),
            stops: Vec::new(),
            parked: Vec::new(),
            parked_at: 0,
            lead: None,
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
            watch: None,
            stands_alone: false,
            accounted: 0,
            attempts: 0,
            work: 0,
            fresh: true,
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

    /// Reads more of the response.
    pub(crate) fn run(&mut self, gate: &Compiled, text: &str, out: &mut Out<'_, '_>) {
        self.work += text.len() as u64;
        let mut rest = text;
        while !rest.is_empty() {
            let used = match self.state {
                State::Outside => self.outside(gate, rest, out),
                State::Matching => self.matching(gate, rest, out),
                State::Json => self.json(gate, rest, out),
                State::Value => self.value(gate, rest, out),
                State::Looking => self.looking(gate, rest, out),
                State::Refused => self.refused(gate, rest, out),
            };
            rest = &rest[used..];
        }
    }

    /// Bytes that are not UTF-8: text with a finding outside of calls, a refusal inside.
    pub(crate) fn invalid(&mut self, gate: &Compiled, bytes: usize, out: &mut Out<'_, '_>) {
        while self.state != State::Outside && (self.draft.is_none() || self.speculative) {
            self.give_up(gate, out);
        }
        let span = Span::new(self.position, self.position + bytes);
        if let Some(draft) = &mut self.draft {
            if self.state == State::Looking {
                self.held_start = self.look_start;
                std::mem::swap(&mut self.held, &mut self.look);
            }
            if self.state == State::Matching || self.state == State::Looking {
                // Whatever the threads were reading, this is no part of it.
                draft.findings.push(Finding::new(Code::InvalidUtf8Call).at(span));
                self.refuse(gate, None, out);
            } else {
                draft.findings.push(Finding::new(Code::InvalidUtf8Call).at(span));
            }
            if let Some(draft) = &mut self.draft {
                draft.keep("\u{FFFD}", gate.policy.limits.raw);
            }
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
        }
        let change = self.regions.finish();
        self.apply(change, out);
        self.flush_space(out);
    }

    // ---- outside of frames ----

    fn outside(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let bytes = rest.as_bytes();
        let reasoning = self.in_reasoning();
        if std::mem::take(&mut self.fresh)
            && !gate.program.prompt_starts.is_empty()
            && self.begin(gate, bytes[0], true)
        {
            return 0;
        }
        let mut from = 0;
        let mut i = 0;
        while i < bytes.len() {
            if reasoning || self.regions.is_calm() {
                i += self.skip(gate, &bytes[i..]);
                if i == bytes.len() {
                    break;
                }
            }
            let byte = bytes[i];
            if self.may_begin(gate, byte, bytes.get(i + 1)) {
                self.emit(gate, &rest[from..i], out);
                from = i;
                if self.begin(gate, byte, false) {
                    return i;
                }
            }
            let Some(c) = rest[i..].chars().next() else { break };
            i += c.len_utf8();
            if !reasoning {
                let change = self.regions.read(c);
                if change != Change::None && out.is_pending() {
                    self.emit(gate, &rest[from..i], out);
                    from = i;
                    self.apply(change, out);
                }
            }
        }
        self.emit(gate, &rest[from..], out);
        rest.len()
    }

    /// How many bytes can be passed over without looking at each.
    fn skip(&self, gate: &Compiled, bytes: &[u8]) -> usize {
        let stops = self.context.as_ref().map_or(&[][..], |context| &context.stops);
        let matters = |byte: &u8| {
            gate.program.anchors[*byte as usize] || matches!(byte, b'\n' | b'`') || stops.contains(byte)
        };
        bytes.iter().position(matters).unwrap_or(bytes.len())
    }

    fn may_begin(&self, gate: &Compiled, byte: u8, next: Option<&u8>) -> bool {
        if self.context.as_ref().is_some_and(|context| context.stops.contains(&byte)) {
            return true;
        }
        // A look at the next byte, where it is here already, spares most marks of plain text the threads.
        let could_go_on = next.is_none_or(|next| gate.seconds[byte as usize][*next as usize]);
        gate.program.anchors[byte as usize] && could_go_on && !gate.program.starts[byte as usize].is_empty()
    }

    /// Starts threads for everything that can begin with this byte here. False if nothing can.
    fn begin(&mut self, gate: &Compiled, byte: u8, after_prompt: bool) -> bool {
        if self.context.is_none() {
            self.scratch.reset();
        }
        self.threads.clear();
        self.parked.clear();
        self.best = None;
        let program = &gate.program;
        let position = self.position;
        if let Some(context) = &self.context
            && context.stops.contains(&byte)
        {
            let ends = context.waiting.iter().map(|thread| thread.past_body());
            self.threads.start(program, &mut self.scratch, ends, position);
            self.threads.retain(|thread| program.ops[thread.pc as usize] != Op::Match);
        }
        if after_prompt {
            let starts = program.prompt_starts.iter().map(|pc| Thread::new(*pc, position));
            self.threads.start(program, &mut self.scratch, starts, position);
        }
        let in_run = self.regions.in_run();
        let in_dead = self.regions.fence.is_some() || self.regions.quotation;
        let in_code = self.regions.inline_before_frame();
        let thinks = self.context.is_none() && self.may_think();
        let starts = program.starts[byte as usize]
            .iter()
            .filter(|pc| {
                let frame = &program.frames[program.owner[**pc as usize] as usize];
                let fits = match frame.kind {
                    FrameKind::Reasoning => thinks,
                    FrameKind::ReasoningEnd => self.context.is_none(),
                    _ => true,
                };
                let is_call = matches!(frame.kind, FrameKind::Calls | FrameKind::Wrapperless);
                fits && (is_call || !(in_dead || in_code)) && !(frame.fence && (in_run || in_dead))
            })
            .map(|pc| Thread::new(*pc, position));
        self.threads.start(program, &mut self.scratch, starts, position);
        if self.threads.is_empty() {
            return false;
        }
        self.state = State::Matching;
        self.held.clear();
        self.held_start = position;
        self.accounted = position;
        true
    }

    /// Reasoning opens only where a response, a line or the text after markup begins.
    fn may_think(&self) -> bool {
        let at_start = self.regions.blank || self.regions.at_line_start() || self.after_frame;
        at_start && self.regions.fence.is_none() && self.regions.inline.is_none()
    }

    fn in_reasoning(&self) -> bool {
        self.context.as_ref().is_some_and(|context| matches!(context.kind, Body::Reasoning { .. }))
    }

    /// Hands out text at the current position, holding back white space that may be markup of what follows.
    fn emit(&mut self, gate: &Compiled, text: &str, out: &mut Out<'_, '_>) {
        let mut text = text;
        if !self.after.is_empty() && !text.is_empty() {
            let same = text.bytes().zip(self.after.bytes()).take_while(|(a, b)| a == b).count();
            out.markup(Span::new(self.position, self.position + same));
            self.position += same;
            text = &text[same..];
            self.after.drain(..same);
            if !text.is_empty() {
                self.after.clear();
            }
        }
        if text.is_empty() {
            return;
        }
        let words_end = text.trim_end_matches(|c: char| c.is_ascii_whitespace()).len();
        if words_end > 0 {
            let glued = self.space.is_empty();
            self.flush_space(out);
            self.check_what_follows(&text[..words_end], glued, out);
            self.hand_out(&text[..words_end], out);
            self.after_frame = false;
        }
        self.space.push_str(&text[words_end..]);
        self.position += text.len() - words_end;
        let limit = if self.after_frame { LONGEST_GAP } else { gate.program.before.max(2) };
        if self.space.len() > limit {
            let excess = self.space.len() - limit;
            let space = std::mem::take(&mut self.space);
            let start = self.position - space.len();
            self.give(&space[..excess], start, out);
            self.space.push_str(&space[excess..]);
            self.after_frame = false;
        }
    }

    fn hand_out(&mut self, text: &str, out: &mut Out<'_, '_>) {
        self.give(text, self.position, out);
        self.position += text.len();
    }

    /// Text after a call can show that it was none, or that one of its values was cut.
    fn check_what_follows(&mut self, text: &str, glued: bool, out: &mut Out<'_, '_>) {
        let position = self.position;
        if std::mem::take(&mut self.stands_alone)
            && glued
            && text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | '"' | '\'' | '`'))
        {
            let finding = Finding::new(Code::Malformed).at(Span::new(position, position));
            out.revoke_last(finding.message("the object is a part of something larger"));
        }
        if let Some(watch) = &mut self.watch {
            let found = text.bytes().enumerate().find_map(|(at, byte)| watch.read(byte).map(|_| at));
            if let Some(at) = found {
                let at = position + at;
                out.revoke_last(Finding::new(Code::SuspectValueEnd).at(Span::new(at, at + 1)));
                self.watch = None;
            }
        }
    }

    /// Hands out text as what the open context makes of it.
    fn give(&self, text: &str, start: usize, out: &mut Out<'_, '_>) {
        let span = Span::new(start, start + text.len());
        match self.context.as_ref().map(|context| &context.kind) {
            Some(Body::Skip) => out.markup(span),
            Some(Body::Reasoning { .. }) => out.text(text, span, true),
            _ => out.text(text, span, false),
        }
    }

    fn flush_space(&mut self, out: &mut Out<'_, '_>) {
        if !self.space.is_empty() {
            let space = std::mem::take(&mut self.space);
            self.give(&space, self.position - space.len(), out);
        }
    }

    /// White space before a frame: what the template writes is markup, the rest is text.
    fn claim_space(&mut self, before: usize, frame_start: usize, out: &mut Out<'_, '_>) {
        let length = self.space.len();
        let markup = if self.after_frame { length } else { before.min(length) };
        let space = std::mem::take(&mut self.space);
        self.give(&space[..length - markup], frame_start - length, out);
        out.markup(Span::new(frame_start - markup, frame_start));
    }

    fn apply(&mut self, change: Change, out: &mut Out<'_, '_>) {
        match change {
            Change::InlineClosed => out.resolve(Pending::Inline, false),
            Change::LineEnded => out.resolve(Pending::Inline, true),
            Change::FenceClosed | Change::None => {}
        }
    }

    // ---- literals and words ----

    fn matching(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let mut used = 0;
        for c in rest.chars() {
            if !self.match_char(gate, c, out) {
                break;
            }
            used += c.len_utf8();
            if self.state != State::Matching {
                break;
            }
        }
        used
    }

    /// Reads one character. False if it was not read because the state has changed.
    fn match_char(&mut self, gate: &Compiled, c: char, out: &mut Out<'_, '_>) -> bool {
        let program = &gate.program;
        if self.threads.in_word() && !is_word_character(c) {
            self.threads.end_words(program, &mut self.scratch, self.position);
            self.drop_unknown(gate);
            self.note_known(gate, out);
            if self.state != State::Matching {
                return false;
            }
        }
        let candidates: Vec<Thread> = self
            .threads
            .at_body(program)
            .filter(|(_, body)| can_start(&program.bodies[*body as usize], c))
            .map(|(thread, _)| *thread)
            .collect();
        if self.step(gate, c) {
            if !candidates.is_empty() && self.parked.is_empty() {
                self.parked = candidates;
                self.parked_at = self.held.len();
            }
            self.held.push(c);
            self.position += c.len_utf8();
            if self.held.len() > LONGEST_HEADER && self.draft.is_none() {
                self.give_up(gate, out);
            } else {
                self.after_step(gate, out);
            }
            return true;
        }
        if !candidates.is_empty() {
            self.enter(gate, candidates, out);
            return false;
        }
        if !self.parked.is_empty() {
            let tail = self.held.split_off(self.parked_at);
            self.position -= tail.len();
            let parked = std::mem::take(&mut self.parked);
            self.enter(gate, parked, out);
            self.run(gate, &tail, out);
            return false;
        }
        self.mismatch(gate, c, out)
    }

    fn step(&mut self, gate: &Compiled, c: char) -> bool {
        let mut buffer = [0; 4];
        let mut position = self.position;
        for byte in c.encode_utf8(&mut buffer).bytes() {
            if self.threads.step(&gate.program, &mut self.scratch, byte, position) == Step::Dead {
                return false;
            }
            position += 1;
        }
        true
    }

    /// After a character was read: is a call certain, is the frame over, does a body begin?
    fn after_step(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        self.lead = self.threads.iter().next().copied();
        if let Some(thread) = self.threads.matched(&gate.program) {
            self.best = Some((*thread, self.held.len()));
        }
        // While something else than a call could end here, no call is certain.
        let ends_otherwise = self.best.is_some_and(|(best, _)| {
            !matches!(self.frame_of(gate, &best).kind, FrameKind::Calls | FrameKind::Wrapperless)
        });
        let all_committed = !ends_otherwise
            && self.parked.is_empty()
            && self.threads.iter().all(|thread| thread.committed);
        let lead = self.threads.iter().next().copied().filter(|_| all_committed);
        if let Some(lead) = lead {
            if !self.ensure_draft(gate, lead, out) {
                return;
            }
            self.announce(gate, lead, out);
        }
        if self.threads.all_matched(&gate.program) {
            if let Some((thread, _)) = self.best {
                self.frame_done(gate, thread, self.position, out);
            }
            return;
        }
        let program = &gate.program;
        let all_raw = self.threads.iter().all(|thread| match program.ops[thread.pc as usize] {
            Op::Body(body) => !matches!(program.bodies[body as usize], Body::Object | Body::Arguments { .. }),
            _ => false,
        });
        if all_raw {
            let threads: Vec<Thread> = self.threads.iter().copied().collect();
            self.enter(gate, threads, out);
        }
    }

    /// In formats whose tags are the tools' own names, a tag that is no parameter of the tool is not one.
    fn drop_unknown(&mut self, gate: &Compiled) {
        let scratch = &self.scratch;
        self.threads.retain(|thread| {
            let frame = &gate.program.frames[gate.program.owner[thread.pc as usize] as usize];
            if !gate.records[frame.record].record.known {
                return true;
            }
            let Some(key) = thread.key else { return true };
            let tool = thread.name.and_then(|name| gate.tool(scratch.get(name)));
            tool.is_some_and(|tool| tool.has_key(scratch.get(key)))
        });
    }

    /// In formats whose marker is the tool's own name, a known name is already a call.
    fn note_known(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        let lead = self.threads.iter().find(|thread| {
            let frame = self.frame_of(gate, thread);
            gate.records[frame.record].record.known
                && thread.name.is_some_and(|name| gate.knows(self.scratch.get(name)))
        });
        if let Some(lead) = lead.copied()
            && self.draft.is_none()
            && self.ensure_draft(gate, lead, out)
        {
            self.announce(gate, lead, out);
        }
    }

    /// Makes sure that there is a draft for the call this thread is in. False if it is none after all.
    fn ensure_draft(&mut self, gate: &Compiled, thread: Thread, out: &mut Out<'_, '_>) -> bool {
        if self.draft.as_ref().is_some_and(|draft| draft.call == thread.calls) {
            return true;
        }
        if self.draft.is_some() {
            let end = thread.call_end.unwrap_or(thread.call_start);
            self.end_call(gate, thread, end, true, out);
        } else if !self.admit(gate, thread, out) {
            return false;
        }
        let start = thread.call_start.max(self.accounted);
        out.markup(Span::new(self.accounted, start));
        self.accounted = start;
        let number = self.next_attempt();
        self.draft = Some(Draft::new(number, thread.calls, start));
        true
    }

    /// Decides by its place whether a frame of calls is read. False: it became text.
    fn admit(&mut self, gate: &Compiled, thread: Thread, out: &mut Out<'_, '_>) -> bool {
        let frame = self.frame_of(gate, &thread);
        let record = &gate.records[frame.record].record;
        let admission = self.admission(gate, frame, record);
        match admission {
            Admission::Live | Admission::Pending(_) => {
                if self.context.is_some() && admission == Admission::Live {
                    self.context = None;
                }
                self.claim_space(record.before.len(), self.held_start, out);
                if let Admission::Pending(pending) = admission {
                    out.pend(pending);
                }
                self.after.clear();
                self.watch = None;
                self.stands_alone = false;
                true
            }
            Admission::Dead(_) | Admission::Ignored => {
                if admission == Admission::Ignored {
                    out.note_foreign();
                }
                if let Admission::Dead(code) = admission {
                    out.finding_once(Finding::new(code).at(Span::new(self.held_start, self.position)));
                }
                self.held_is_text(gate, out);
                false
            }
        }
    }

    fn admission(&self, gate: &Compiled, frame: &Frame, record: &Record) -> Admission {
        let policy = &gate.policy;
        let inline = self.regions.inline_before_frame();
        if !frame.live && policy.foreign == Foreign::Ignore {
            return Admission::Ignored;
        }
        if let Some(context) = &self.context
            && matches!(context.kind, Body::Reasoning { .. })
        {
            if policy.reasoning == Region::Live {
                return Admission::Live;
            }
            return if record.ends_thought {
                Admission::Pending(Pending::Thought)
            } else if context.may_lack_closer && context.record == frame.record {
                Admission::Live
            } else {
                Admission::Dead(Code::CallInReasoning)
            };
        }
        let at_line_start = self.regions.at_line_start() || self.after_frame && self.regions.blank;
        if (frame.line_start || policy.position == Position::LineStart) && !at_line_start {
            return Admission::Dead(Code::DeadRegion);
        }
        if let Some(fence) = self.regions.fence {
            match policy.fences {
                Region::Live => {}
                Region::Sole if fence.first => return Admission::Pending(Pending::Sole),
                _ => return Admission::Dead(Code::DeadRegion),
            }
        }
        if policy.quote == Quote::Dead {
            if self.regions.quotation {
                return Admission::Dead(Code::DeadRegion);
            }
            if inline {
                return Admission::Pending(Pending::Inline);
            }
        }
        Admission::Live
    }

    /// Says that a call has begun, once its name is beyond doubt.
    fn announce(&mut self, gate: &Compiled, lead: Thread, out: &mut Out<'_, '_>) {
        let Some(name) = lead.name else { return };
        if self.draft.as_ref().is_none_or(|draft| draft.started) || self.threads.in_word() {
            return;
        }
        let name = self.scratch.get(name);
        let agreed = self
            .threads
            .iter()
            .filter(|thread| thread.committed)
            .all(|thread| thread.name.is_some_and(|other| self.scratch.get(other) == name));
        if !agreed {
            return;
        }
        let dialect = gate.records[self.frame_of(gate, &lead).record].record.name.clone();
        let name = name.to_owned();
        if let Some(draft) = &mut self.draft {
            draft.started = true;
            out.started(draft.number, &name, dialect);
            draft.name = Some(name);
        }
    }

    /// No thread takes the character. True if it was read all the same.
    fn mismatch(&mut self, gate: &Compiled, c: char, out: &mut Out<'_, '_>) -> bool {
        let only_closers = self.held.chars().all(|c| c.is_whitespace() || matches!(c, '}' | ']' | ')'));
        // Around an object that nothing marks, a bracket belongs to the text.
        let is_marked = self.lead.is_some_and(|lead| {
            let frame = self.frame_of(gate, &lead);
            !frame.unmarked || frame.fence
        });
        let is_closer = matches!(c, '}' | ']' | ')') && only_closers && is_marked;
        let goes_on = self.threads.iter().any(|thread| gate.program.ops[thread.pc as usize] != Op::Match);
        if let Some((thread, length)) = self.best {
            // A closer may be missing here, or come after a bracket too many: what follows tells.
            if is_closer && goes_on && self.follows_json() {
                self.extra_closer(c);
                return true;
            }
            let tail = self.held.split_off(length);
            self.position -= tail.len();
            if let Some(draft) = &mut self.draft {
                let end = self.position;
                draft.repairs.retain(|repair| repair.code != RepairCode::ExtraCloser || repair.span.start < end);
            }
            self.frame_done(gate, thread, self.position, out);
            self.run(gate, &tail, out);
            return false;
        }
        if is_closer && self.follows_json() {
            self.extra_closer(c);
            return true;
        }
        if self.draft.is_none() {
            // A character that only shares its first byte with an opener is text at once, or it would be tried again.
            let is_first = self.held.is_empty();
            if is_first {
                self.held.push(c);
                self.position += c.len_utf8();
            }
            self.give_up(gate, out);
            return is_first;
        }
        let Some(draft) = &mut self.draft else { return false };
        let wants_body = self.threads.at_body(&gate.program).next().is_some();
        let at = Span::new(self.position, self.position + c.len_utf8());
        let finding = if wants_body && matches!(draft.body, DraftBody::None) {
            Finding::new(Code::BadJson)
                .message(format!("Invalid JSON block: a JSON object was expected, `{}` was found", c.escape_debug()))
        } else {
            Finding::new(Code::Malformed)
                .message(format!("`{}` cannot stand here in this format", c.escape_debug()))
        };
        self.refuse(gate, Some(finding.at(at)), out);
        false
    }

    fn follows_json(&self) -> bool {
        self.draft.as_ref().is_some_and(|draft| matches!(draft.body, DraftBody::Json { .. }))
    }

    /// Takes a closing bracket that closes nothing.
    fn extra_closer(&mut self, c: char) {
        if let Some(draft) = &mut self.draft {
            draft.repaired(RepairCode::ExtraCloser, self.position, self.position + 1);
        }
        self.held.push(c);
        self.position += 1;
    }

    /// The held text is no frame: its first character is text, the rest is read again.
    fn give_up(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        if self.draft.is_some() {
            // An object that is no call was read as a whole and is not read again.
            self.held_is_text(gate, out);
            return;
        }
        let is_call = |thread: &Thread| {
            let frame = self.frame_of(gate, thread);
            matches!(frame.kind, FrameKind::Calls) && !frame.unmarked
        };
        let is_marker = |thread: &Thread| thread.pieces > 0 && is_call(thread);
        let last = self.lead.filter(|lead| self.held_start <= lead.call_start && is_marker(lead));
        let marker = self.threads.iter().find(|thread| is_marker(thread)).copied().or(last);
        if let Some(thread) = marker {
            let record = &gate.records[self.frame_of(gate, &thread).record].record;
            let code = if record.lines && thread.name.is_some() {
                Some(Code::IncompleteDirective)
            } else {
                (!record.known && !record.lines).then_some(Code::StrayMarker)
            };
            if let Some(code) = code {
                out.finding_once(Finding::new(code).at(Span::new(self.held_start, self.position)));
            }
        }
        let held = std::mem::take(&mut self.held);
        self.state = State::Outside;
        self.threads.clear();
        self.best = None;
        self.position = self.held_start;
        let Some(first) = held.chars().next() else { return };
        let (head, tail) = held.split_at(first.len_utf8());
        if !self.in_reasoning() {
            let change = self.regions.read(first);
            self.emit(gate, head, out);
            self.apply(change, out);
        } else {
            self.emit(gate, head, out);
        }
        self.run(gate, tail, out);
    }

    /// All of the held text is text; openers inside it are not looked for.
    fn held_is_text(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        let held = std::mem::take(&mut self.held);
        self.state = State::Outside;
        self.threads.clear();
        self.best = None;
        self.draft = None;
        self.speculative = false;
        self.position = self.held_start;
        let reasoning = self.in_reasoning();
        let mut from = 0;
        for (i, c) in held.char_indices() {
            if reasoning {
                break;
            }
            let change = self.regions.read(c);
            if change != Change::None && out.is_pending() {
                let end = i + c.len_utf8();
                self.emit(gate, &held[from..end], out);
                from = end;
                self.apply(change, out);
            }
        }
        self.emit(gate, &held[from..], out);
    }

    // ---- bodies ----

    /// Begins to read the body at which these threads stand; the first decides which.
    fn enter(&mut self, gate: &Compiled, threads: Vec<Thread>, out: &mut Out<'_, '_>) {
        let program = &gate.program;
        let Some(first) = threads.first().copied() else { return };
        let Op::Body(index) = program.ops[first.pc as usize] else { return };
        let body = &program.bodies[index as usize];
        let frame_index = program.owner[first.pc as usize] as usize;
        let frame = &program.frames[frame_index];
        let record = gate.records[frame.record].record.clone();
        self.parked.clear();
        self.best = None;
        let same = |thread: &Thread| match program.ops[thread.pc as usize] {
            Op::Body(other) => {
                let owner = &gate.records[program.frames[program.owner[thread.pc as usize] as usize].record].record;
                program.bodies[other as usize] == *body
                    && owner.syntax == record.syntax
                    && owner.quote == record.quote
            }
            _ => false,
        };
        self.waiting = threads.iter().filter(|thread| same(thread)).copied().collect();
        match body {
            Body::Text | Body::Reasoning { .. } | Body::Skip => {
                self.open_context(gate, frame_index, body.clone(), out);
                return;
            }
            _ => {}
        }
        if *body == Body::Code && self.regions.inline_before_frame() {
            // Code runs to the end of the response, so the end of the inline code would never be seen.
            out.finding_once(Finding::new(Code::DeadRegion).at(Span::new(self.held_start, self.position)));
            self.held_is_text(gate, out);
            return;
        }
        self.stops = self.stops_after(gate);
        let is_new = self.draft.as_ref().is_none_or(|draft| draft.call != first.calls);
        if is_unmarked(frame, &first) && is_new && self.draft.is_none() && !first.committed {
            self.speculative = true;
            let number = self.attempts;
            self.draft = Some(Draft::new(number, first.calls, first.call_start));
        } else if !self.ensure_draft(gate, first, out) {
            return;
        } else {
            self.announce_name(gate, first, out);
        }
        let position = self.position;
        if !self.speculative {
            self.settle_held(gate, position);
        }
        let Some(draft) = &mut self.draft else { return };
        if first.malformed {
            draft.findings.push(
                Finding::new(Code::Malformed)
                    .at(Span::new(draft.start, position))
                    .message("a line break that the format needs is missing"),
            );
        }
        match body {
            Body::Object | Body::Arguments { .. } => {
                let mut reader = Reader::new(record.syntax).with_depth(gate.policy.limits.depth + usize::from(*body == Body::Object)).with_stops(&self.stops);
                if let Some(quote) = &record.quote {
                    reader = reader.with_quote(quote.clone());
                }
                draft.body =
                    DraftBody::Json { reader: Box::new(reader), object: *body == Body::Object, arguments: None };
                draft.body_start = Some(position);
                self.state = State::Json;
            }
            Body::Value { lead, trail } => {
                let key = first.key.map_or("", |key| self.scratch.get(key));
                let kind = first.kind.map(|kind| self.scratch.get(kind));
                let tool = draft.name.as_deref().and_then(|name| gate.tool(name));
                draft.begin_value(&record, key, kind, tool, lead, trail, position);
                draft.body_start.get_or_insert(position);
                self.state = State::Value;
            }
            _ => {
                // Formats that send bare code mean the one tool that runs it.
                let name = draft.name.get_or_insert_with(|| "python".to_owned());
                if !std::mem::replace(&mut draft.started, true) {
                    out.started(draft.number, name, record.name.clone());
                }
                draft.body = DraftBody::Code(String::new());
                draft.body_start = Some(position);
                self.state = State::Value;
            }
        }
        if !self.speculative {
            self.held_start = position;
        }
    }

    /// The name from the header, where the header has one.
    fn announce_name(&mut self, gate: &Compiled, thread: Thread, out: &mut Out<'_, '_>) {
        let Some(name) = thread.name else { return };
        let name = self.scratch.get(name).to_owned();
        let dialect = gate.records[self.frame_of(gate, &thread).record].record.name.clone();
        let Some(draft) = &mut self.draft else { return };
        draft.odd = thread.odd;
        draft.id = thread.id.map(|id| self.scratch.get(id).to_owned());
        if !std::mem::replace(&mut draft.started, true) {
            out.started(draft.number, &name, dialect);
        }
        draft.name = Some(name);
    }

    fn open_context(&mut self, gate: &Compiled, frame_index: usize, kind: Body, out: &mut Out<'_, '_>) {
        let frame = &gate.program.frames[frame_index];
        let record = &gate.records[frame.record].record;
        self.claim_space(record.before.len().max(usize::from(frame.kind != FrameKind::Text) * 2), self.held_start, out);
        out.markup(Span::new(self.held_start, self.position));
        self.held.clear();
        self.threads.clear();
        let stops = self.stops_after(gate);
        let may_lack_closer =
            self.waiting.iter().any(|thread| could_skip(gate, thread.past_body()));
        self.after = match &kind {
            Body::Reasoning { lead, .. } => lead.clone(),
            _ => String::new(),
        };
        let waiting = std::mem::take(&mut self.waiting);
        let outer = self.context.take().filter(|_| kind == Body::Skip).map(Box::new);
        self.context = Some(Context { waiting, record: frame.record, kind, stops, may_lack_closer, outer });
        self.regions.reset();
        self.after_frame = true;
        self.state = State::Outside;
    }

    /// The bytes with which what follows the body can start.
    fn stops_after(&mut self, gate: &Compiled) -> Vec<u8> {
        let mut ends = Threads::default();
        let waiting: Vec<Thread> = self.waiting.iter().map(|thread| thread.past_body()).collect();
        ends.start(&gate.program, &mut self.scratch, waiting, self.position);
        let mut stops = Vec::new();
        for thread in ends.iter() {
            match gate.program.ops[thread.pc as usize] {
                Op::Byte(byte) if !stops.contains(&byte) => stops.push(byte),
                Op::FenceEnd => stops.extend([b'`', b'~']),
                _ => {}
            }
        }
        stops
    }

    fn json(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let limits = &gate.policy.limits;
        let Some(draft) = &mut self.draft else { return rest.len() };
        let DraftBody::Json { reader, .. } = &mut draft.body else { return rest.len() };
        let so_far = self.position - draft.body_start.unwrap_or(self.position);
        let mut room = limits.arguments.saturating_sub(so_far).min(rest.len());
        if so_far >= limits.arguments && reader.failure().is_none() {
            let message = format!("the arguments are longer than {} bytes", limits.arguments);
            reader.abort(Code::TooLarge, so_far, message);
        }
        if reader.failure().is_some() {
            room = rest.len();
        }
        while !rest.is_char_boundary(room) {
            room += 1;
        }
        if self.speculative {
            // Whether this is a call is asked at the same places however the text was cut.
            let place = rest.find([',', '}', ']', ':']).map_or(rest.len(), |at| at + 1);
            room = room.min(place);
        }
        let room = room.max(rest.chars().next().map_or(0, char::len_utf8));
        let used = reader.push(&rest[..room]);
        let state = reader.state();
        let failed_at = reader.failure().map(|failure| failure.at);
        let was_escaped = reader.repairs().first().is_some_and(|repair| repair.code == RepairCode::EscapedQuotes);
        self.position += used;
        draft.note_line(&rest[..used]);
        if self.speculative {
            self.held.push_str(&rest[..used]);
            if was_escaped {
                // Escaped JSON stands inside of some string: it is quoted, not called.
                self.held_is_text(gate, out);
                return used;
            }
            if let Some(at) = failed_at {
                // No call after all: what could not be read may be the start of something else.
                let body_at = draft.body_start.unwrap_or(self.held_start) - self.held_start;
                let at = (body_at + at.max(1)).min(self.held.len());
                self.leave_speculation(gate, at, out);
                return used;
            }
            if self.held.len() > limits.held {
                out.finding(Finding::new(Code::HeldLimit).at(Span::new(self.held_start, self.position)));
                self.held_is_text(gate, out);
                return used;
            }
            let is_place = rest[..used].ends_with([',', '}', ']', ':']) || state == ReaderState::Done;
            if is_place && !self.settle_speculation(gate, state, out) {
                return used;
            }
        } else {
            draft.keep(&rest[..used], limits.raw);
        }
        self.show(gate, out);
        match state {
            ReaderState::Reading => {}
            ReaderState::Done => self.body_done(gate, out),
            ReaderState::Stopped => self.look(gate),
        }
        used
    }

    /// The reader failed before the object was a call: it is text up to there, and the rest is read again.
    fn leave_speculation(&mut self, gate: &Compiled, at: usize, out: &mut Out<'_, '_>) {
        let mut at = at;
        while !self.held.is_char_boundary(at) {
            at -= 1;
        }
        let tail = self.held.split_off(at.max(1));
        self.held_is_text(gate, out);
        self.run(gate, &tail, out);
    }

    /// Decides, where that is possible by now, whether an unmarked object is a call. False: the state has changed.
    fn settle_speculation(&mut self, gate: &Compiled, state: ReaderState, out: &mut Out<'_, '_>) -> bool {
        let Some(thread) = self.waiting.first().copied() else { return true };
        let record = gate.records[self.frame_of(gate, &thread).record].record.clone();
        let Some(draft) = &mut self.draft else { return true };
        let mut is_call = draft.is_certain(&record, |name| gate.knows(name));
        if !is_call && state == ReaderState::Done {
            match draft.meaning(&record) {
                Meaning::Data => {
                    if draft.has_name(&record) {
                        let span = Span::new(self.held_start, self.position);
                        out.finding_once(Finding::new(Code::UnknownToolData).at(span));
                    }
                    self.held_is_text(gate, out);
                    return false;
                }
                _ => is_call = true,
            }
        }
        if is_call {
            if !self.admit(gate, thread, out) {
                return false;
            }
            self.speculative = false;
            let number = self.next_attempt();
            let held = std::mem::take(&mut self.held);
            if let Some(draft) = &mut self.draft {
                let start = thread.call_start.max(self.accounted);
                out.markup(Span::new(self.accounted, start));
                self.accounted = start;
                draft.start = start;
                draft.number = number;
                draft.keep(&held[start - self.held_start..], gate.policy.limits.raw);
            }
        }
        true
    }

    /// Shows what is new of the name and the arguments.
    fn show(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        if self.speculative {
            return;
        }
        let record = self.waiting.first().map(|thread| &gate.records[self.frame_of(gate, thread).record].record);
        let (Some(draft), Some(record)) = (&mut self.draft, record) else { return };
        draft.look_at_object(record);
        if !draft.started
            && let Some(name) = &draft.name
        {
            out.started(draft.number, name, record.name.clone());
            draft.started = true;
        }
        if draft.started {
            let number = draft.number;
            if let Some(delta) = draft.unshown() {
                out.delta(number, delta);
            }
        }
    }

    /// The reader has read its value: the threads go on after it.
    fn body_done(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        self.threads.clear();
        let waiting = std::mem::take(&mut self.waiting);
        let after = waiting.iter().map(|thread| thread.past_body());
        self.threads.start(&gate.program, &mut self.scratch, after, self.position);
        self.lead = self.threads.iter().next().copied();
        self.state = State::Matching;
        if !self.speculative {
            self.held.clear();
            self.held_start = self.position;
        }
        self.best = self.threads.matched(&gate.program).map(|thread| (*thread, self.held.len()));
        if self.threads.all_matched(&gate.program)
            && let Some((thread, _)) = self.best
        {
            self.frame_done(gate, thread, self.position, out);
        }
    }

    fn value(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let end = match self.stops.as_slice() {
            [] => rest.len(),
            [one] => memchr::memchr(*one, rest.as_bytes()).unwrap_or(rest.len()),
            stops => rest.bytes().position(|byte| stops.contains(&byte)).unwrap_or(rest.len()),
        };
        self.value_text(gate, &rest[..end]);
        self.show(gate, out);
        if end < rest.len() {
            self.look(gate);
        }
        end
    }

    fn value_text(&mut self, gate: &Compiled, text: &str) {
        let limits = &gate.policy.limits;
        let Some(draft) = &mut self.draft else { return };
        self.position += text.len();
        draft.keep(text, limits.raw);
        let so_far = self.position - draft.body_start.unwrap_or(self.position);
        if so_far > limits.arguments {
            if draft.findings.iter().all(|finding| finding.code != Code::TooLarge) {
                let at = Span::new(self.position, self.position);
                let message = format!("the arguments are longer than {} bytes", limits.arguments);
                draft.findings.push(Finding::new(Code::TooLarge).at(at).message(message));
            }
            return;
        }
        match &mut draft.body {
            DraftBody::Code(code) => code.push_str(text),
            _ => draft.value_text(text),
        }
    }

    // ---- where a body ends ----

    /// Starts to look whether the body ends here.
    fn look(&mut self, gate: &Compiled) {
        self.threads.clear();
        self.best = None;
        let ended_line = self.draft.as_ref().is_some_and(Draft::is_at_line_start);
        let after = self.waiting.iter().map(|thread| thread.past_body_line(ended_line));
        self.threads.start(&gate.program, &mut self.scratch, after, self.position);
        self.look.clear();
        self.look_start = self.position;
        self.state = State::Looking;
    }

    fn looking(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let mut used = 0;
        for c in rest.chars() {
            if self.threads.in_word() && !is_word_character(c) {
                self.threads.end_words(&gate.program, &mut self.scratch, self.position);
                self.drop_unknown(gate);
            }
            if self.look.len() >= LONGEST_HEADER || !self.step(gate, c) {
                let is_first = self.look.is_empty();
                self.look_failed(gate, out);
                if is_first && self.state == State::Value {
                    self.value_text(gate, &rest[used..used + c.len_utf8()]);
                    used += c.len_utf8();
                }
                return used;
            }
            self.look.push(c);
            self.position += c.len_utf8();
            used += c.len_utf8();
            if self.is_end(gate, false) {
                self.end_body(gate, out);
                return used;
            }
        }
        used
    }

    /// Whether the threads have read enough to say that the body has ended.
    fn is_end(&self, gate: &Compiled, at_end_of_input: bool) -> bool {
        let program = &gate.program;
        let is_value = self.reads_value();
        self.threads.iter().any(|thread| {
            let op = program.ops[thread.pc as usize];
            if !is_value {
                return thread.literals > 0 || op == Op::Match;
            }
            let at_match = op == Op::Match;
            let begins_value = matches!(op, Op::Body(_));
            if !thread.skipped {
                return thread.literals >= 2
                    || begins_value
                    || thread.literals >= 1 && (at_match || at_end_of_input);
            }
            // Without its closer, a value ends only before a parameter that is still to come, at the start of a
            // line, or before the closers of the call.
            if begins_value {
                return self.value_ends_line() && self.is_new_key(gate, thread);
            }
            thread.key == self.waiting.first().and_then(|waiting| waiting.key)
                && (thread.literals >= 2 || at_end_of_input && thread.literals >= 1)
        })
    }

    fn reads_value(&self) -> bool {
        self.draft.as_ref().is_some_and(|draft| !matches!(draft.body, DraftBody::Json { .. }))
    }

    fn value_ends_line(&self) -> bool {
        self.draft.as_ref().is_some_and(Draft::is_at_line_start)
    }

    fn is_new_key(&self, gate: &Compiled, thread: &Thread) -> bool {
        let (Some(key), Some(draft)) = (thread.key, &self.draft) else { return false };
        let key = self.scratch.get(key);
        let declared = draft
            .name
            .as_deref()
            .and_then(|name| gate.tool(name))
            .is_none_or(|tool| tool.has_key(key));
        declared && !draft.has_parameter(key)
    }

    fn look_failed(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        let look = std::mem::take(&mut self.look);
        self.threads.clear();
        self.position = self.look_start;
        if self.reads_value() {
            self.state = State::Value;
            let first = look.chars().next().map_or(0, char::len_utf8);
            self.value_text(gate, &look[..first]);
            self.run(gate, &look[first..], out);
            return;
        }
        self.state = State::Json;
        if let Some(DraftBody::Json { reader, .. }) = self.draft.as_mut().map(|draft| &mut draft.body) {
            reader.resume();
        }
        self.run(gate, &look, out);
    }

    /// The body has ended where the look began, and the threads have already read on.
    fn end_body(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        let skipped = self.threads.iter().all(|thread| thread.skipped);
        let start = self.look_start;
        if let Some(draft) = &mut self.draft {
            if let DraftBody::Json { reader, .. } = &mut draft.body {
                if let Some(finding) = close_reader(reader, start) {
                    draft.findings.push(finding);
                }
            } else {
                if skipped {
                    draft.repaired(RepairCode::MissingTag, start, start);
                }
                draft.end_value(Span::new(draft.body_start.unwrap_or(start).min(start), start));
            }
        }
        if self.speculative {
            // The state is set first: what is no call leaves it for the text.
            self.state = State::Matching;
            let position = std::mem::replace(&mut self.position, start);
            let is_call = self.settle_speculation(gate, ReaderState::Done, out);
            if !is_call {
                let look = std::mem::take(&mut self.look);
                self.run(gate, &look, out);
                return;
            }
            self.position = position;
        }
        self.show(gate, out);
        self.waiting.clear();
        self.state = State::Matching;
        self.held_start = start;
        std::mem::swap(&mut self.held, &mut self.look);
        self.after_step(gate, out);
    }

    // ---- the ends of calls and frames ----

    /// Adds the held text, as far as it belongs to the call, to what is kept of it.
    fn settle_held(&mut self, gate: &Compiled, end: usize) {
        if let Some(draft) = &mut self.draft {
            let from = draft.start.max(self.held_start) - self.held_start;
            let to = (end.saturating_sub(self.held_start)).min(self.held.len());
            if let Some(text) = self.held.get(from.min(to)..to) {
                draft.keep(text, gate.policy.limits.raw);
            }
        }
        self.held.clear();
    }

    /// One call has ended; the frame may go on.
    fn end_call(&mut self, gate: &Compiled, thread: Thread, end: usize, closed: bool, out: &mut Out<'_, '_>) {
        if let Some(draft) = &mut self.draft {
            let from = draft.start.max(self.held_start) - self.held_start;
            let to = end.saturating_sub(self.held_start).min(self.held.len());
            if let Some(text) = self.held.get(from.min(to)..to) {
                draft.keep(text, gate.policy.limits.raw);
            }
        }
        let frame = self.frame_of(gate, &thread);
        let record = &gate.records[frame.record].record;
        let Some(mut draft) = self.draft.take() else { return };
        let span = Span::new(draft.start, draft.start);
        if frame.kind == FrameKind::Wrapperless {
            if record.bare.iter().any(|bare| draft.raw.starts_with(bare.as_str())) {
                draft.notes.push(Finding::new(Code::BareCall).at(span));
            } else {
                draft.findings.push(Finding::new(Code::MissingWrapper).at(span));
            }
        }
        if !frame.live && gate.policy.foreign == Foreign::Reject {
            let message = format!("the call is written as `{}`, which is not switched on", record.name);
            draft.findings.push(Finding::new(Code::ForeignDialect).at(span).message(message));
        }
        if let DraftBody::Json { object: true, .. } = draft.body {
            draft.name = None;
        } else if draft.name.is_none() {
            draft.name = thread.name.map(|name| self.scratch.get(name).to_owned());
        }
        draft.close_params(record);
        if draft.started
            && draft.findings.is_empty()
            && let Some(delta) = draft.unshown().map(str::to_owned)
        {
            out.delta(draft.number, &delta);
        }
        if draft.id.is_none() {
            draft.id = thread.id.map(|id| self.scratch.get(id).to_owned());
        }
        let attempt = draft.finish(record, end, closed, is_unmarked(frame, &thread));
        self.speculative = false;
        self.accounted = end;
        out.attempt(gate, attempt);
    }

    /// A frame has been read to its end.
    fn frame_done(&mut self, gate: &Compiled, thread: Thread, end: usize, out: &mut Out<'_, '_>) {
        let frame = self.frame_of(gate, &thread);
        let record = &gate.records[frame.record].record;
        match frame.kind {
            FrameKind::Calls | FrameKind::Wrapperless => {
                if self.draft.is_none() && !self.ensure_draft(gate, thread, out) {
                    return;
                }
                let call_end = thread.call_end.unwrap_or(end);
                self.end_call(gate, thread, call_end, true, out);
                out.markup(Span::new(self.accounted, end));
                self.regions.pass_frame(self.held.ends_with('\n'));
                self.stands_alone = frame.unmarked && !frame.fence;
                self.watch = (!frame.closers.is_empty()).then(|| Refusal {
                    literals: frame.closers.iter().map(|closer| (closer.clone(), Resync::CallEnd)).collect(),
                    ..Refusal::default()
                });
            }
            FrameKind::ReasoningEnd => {
                self.claim_space(0, self.held_start, out);
                out.markup(Span::new(self.held_start, end));
                out.late_reasoning_end(Span::new(self.held_start, end));
                self.regions.reset();
            }
            FrameKind::Text | FrameKind::Reasoning | FrameKind::Noise => {
                // Noise that skips nothing stands inside of whatever is open and leaves it open.
                let closes = frame.kind != FrameKind::Noise
                    || self.context.as_ref().is_some_and(|context| context.kind == Body::Skip);
                let closed = if closes { self.context.take() } else { None };
                let trail = match closed.as_ref().map(|context| &context.kind) {
                    Some(Body::Reasoning { trail, .. }) => trail.len(),
                    _ => 0,
                };
                if let Some(outer) = closed.and_then(|context| context.outer) {
                    self.context = Some(*outer);
                }
                // The closer ends a context that was opened before; noise has none and leaves text as it is.
                if frame.kind == FrameKind::Reasoning {
                    out.resolve(Pending::Thought, false);
                    self.after_frame = false;
                    self.claim_reasoning_space(trail, out);
                    self.regions.reset();
                } else {
                    self.claim_space(0, self.held_start, out);
                }
                if frame.kind == FrameKind::Text {
                    self.regions.reset();
                }
                out.markup(Span::new(self.held_start, end));
            }
        }
        let is_noise = frame.kind == FrameKind::Noise;
        self.after = frame.after.clone();
        if self.after.is_empty() && !record.join.to_string().is_empty() {
            self.after.clear();
        }
        self.state = State::Outside;
        self.threads.clear();
        self.best = None;
        self.held.clear();
        self.after_frame = !is_noise || self.after_frame;
        self.accounted = end;
    }

    /// The white space before the end of reasoning is markup as far as the template writes it.
    fn claim_reasoning_space(&mut self, trail: usize, out: &mut Out<'_, '_>) {
        let length = self.space.len();
        let markup = trail.min(length);
        let start = self.held_start - length;
        let space = std::mem::take(&mut self.space);
        out.text(&space[..length - markup], Span::new(start, start + length - markup), true);
        out.markup(Span::new(self.held_start - markup, self.held_start));
    }

    /// The call is broken: it is skipped to its end.
    fn refuse(&mut self, gate: &Compiled, finding: Option<Finding>, out: &mut Out<'_, '_>) {
        let thread = self
            .threads
            .iter()
            .find(|thread| thread.committed)
            .or_else(|| self.threads.iter().next())
            .copied()
            .or(self.lead);
        let Some(draft) = &mut self.draft else { return };
        draft.findings.extend(finding);
        let Some(thread) = thread else { return };
        if draft.name.is_none()
            && let Some(name) = thread.name
        {
            draft.name = Some(self.scratch.get(name).to_owned());
        }
        let name = draft.name.clone().unwrap_or_default();
        let frame = self.frame_of(gate, &thread);
        let fill = |literals: &[String], resync: Resync| -> Vec<(String, Resync)> {
            literals.iter().map(|literal| (literal.replace("{name}", &name), resync)).collect()
        };
        let mut literals = fill(&frame.ends, Resync::FrameEnd);
        literals.extend(fill(&frame.call_ends, if thread.opened { Resync::CallEnd } else { Resync::FrameEnd }));
        literals.extend(fill(&frame.openers, Resync::Opener));
        self.refusal = Refusal { literals, partial: Vec::new(), thread: Some(thread) };
        self.state = State::Refused;
        self.best = None;
        self.threads.clear();
        let held = std::mem::take(&mut self.held);
        self.position = self.held_start;
        // What was held since the last body is read again for the end of the call.
        let from = self.draft.as_ref().map_or(0, |draft| draft.start.saturating_sub(self.held_start));
        let from = from.min(held.len());
        // The opener that began this call must not end it.
        let from = from + self.opener_length(&held[from..]);
        self.position += from;
        if let Some(draft) = &mut self.draft {
            draft.keep(&held[draft.start.saturating_sub(self.held_start).min(from)..from], gate.policy.limits.raw);
        }
        self.run(gate, &held[from..], out);
    }

    fn opener_length(&self, text: &str) -> usize {
        let openers = self.refusal.literals.iter().filter(|(_, resync)| *resync == Resync::Opener);
        openers.filter(|(literal, _)| text.starts_with(literal.as_str())).map(|(l, _)| l.len()).max().unwrap_or(0)
    }

    fn refused(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let mut used = 0;
        for c in rest.chars() {
            let mut buffer = [0; 4];
            let mut reached = None;
            for byte in c.encode_utf8(&mut buffer).bytes() {
                reached = self.refusal.read(byte).or(reached);
            }
            let length = c.len_utf8();
            if let Some((index, resync)) = reached {
                let literal = self.refusal.literals[index].0.clone();
                return used + self.end_refused(gate, &literal, resync, c, out);
            }
            if let Some(draft) = &mut self.draft {
                draft.keep(&rest[used..used + length], gate.policy.limits.raw);
            }
            used += length;
            self.position += length;
        }
        used
    }

    /// A refused call ends at this literal, whose last character is `c`.
    fn end_refused(&mut self, gate: &Compiled, literal: &str, resync: Resync, c: char, out: &mut Out<'_, '_>) -> usize {
        let Some(thread) = self.refusal.thread else { return c.len_utf8() };
        let length = c.len_utf8();
        if resync == Resync::Opener {
            // The next call begins: all of its opener but this character has been passed, so it is read again.
            let start = self.position + length - literal.len();
            self.held.clear();
            self.held_start = start;
            if let Some(draft) = &mut self.draft {
                draft.forget(literal.len() - length);
            }
            self.position = start;
            self.end_call(gate, thread, start, false, out);
            self.leave_frame(start);
            self.run(gate, &literal[..literal.len() - length], out);
            return 0;
        }
        self.position += length;
        if let Some(draft) = &mut self.draft {
            draft.keep(c.encode_utf8(&mut [0; 4]), gate.policy.limits.raw);
        }
        self.held.clear();
        self.held_start = self.position;
        let end = self.position;
        self.end_call(gate, thread, end, true, out);
        if resync == Resync::FrameEnd {
            self.leave_frame(end);
            return length;
        }
        let mut next = thread;
        next.pc = self.frame_of(gate, &thread).next_call;
        self.threads.clear();
        self.threads.start(&gate.program, &mut self.scratch, [next], end);
        self.state = State::Matching;
        self.best = self.threads.matched(&gate.program).map(|thread| (*thread, 0));
        length
    }

    fn leave_frame(&mut self, end: usize) {
        self.state = State::Outside;
        self.threads.clear();
        self.best = None;
        self.held.clear();
        self.after.clear();
        self.after_frame = true;
        self.accounted = end;
        self.regions.pass_frame(false);
    }

    // ---- the end of the input ----

    /// Settles the frame that is open when the input ends, or gives up one reading of it.
    fn finish_frame(&mut self, gate: &Compiled, reason: FinishReason, out: &mut Out<'_, '_>) {
        let end = self.position;
        match self.state {
            State::Outside => {}
            State::Matching => {
                self.threads.end_input(&gate.program, &mut self.scratch, end);
                if let Some(thread) = self.threads.matched(&gate.program) {
                    self.best = Some((*thread, self.held.len()));
                }
                if let Some((thread, length)) = self.best {
                    let tail = self.held.split_off(length);
                    self.position -= tail.len();
                    self.frame_done(gate, thread, self.position, out);
                    self.run(gate, &tail, out);
                } else if self.draft.is_none() {
                    self.give_up(gate, out);
                } else if self.speculative {
                    self.held_is_text(gate, out);
                } else {
                    self.finish_call(gate, end, out);
                }
            }
            State::Json => self.finish_json(gate, reason, out),
            State::Looking => {
                self.threads.end_input(&gate.program, &mut self.scratch, end);
                let is_json = !self.reads_value();
                if self.is_end(gate, true) || is_json && self.look.trim_start().len() > 1 {
                    self.end_body(gate, out);
                } else {
                    self.look_failed(gate, out);
                }
            }
            State::Value => {
                let is_code = self.draft.as_ref().is_some_and(|draft| matches!(draft.body, DraftBody::Code(_)));
                let thread = self.waiting.first().copied();
                if let Some(draft) = self.draft.as_mut().filter(|_| !is_code || reason == FinishReason::Length) {
                    draft.findings.push(Finding::new(Code::Truncated).at(Span::new(end, end)));
                }
                self.abandon(gate, thread, end, out);
            }
            State::Refused => {
                let thread = self.refusal.thread;
                self.abandon(gate, thread, end, out);
            }
        }
    }

    /// The input ends after a body: closers may be missing, anything else may not.
    fn finish_call(&mut self, gate: &Compiled, end: usize, out: &mut Out<'_, '_>) {
        let thread = self.threads.only_literals_left(&gate.program).filter(|thread| {
            // A header alone is not a call: something must have been read as its arguments, or it was complete.
            thread.name.is_some() || self.draft.as_ref().is_some_and(|d| !matches!(d.body, DraftBody::None))
        });
        let last = self.threads.iter().next().copied();
        let Some(draft) = &mut self.draft else { return };
        match thread {
            Some(thread) if thread.call_end.is_some() || !matches!(draft.body, DraftBody::None) => {
                draft.repaired(RepairCode::MissingTag, end, end);
                self.abandon(gate, Some(thread), end, out);
            }
            _ => {
                draft.findings.push(Finding::new(Code::Truncated).at(Span::new(end, end)));
                self.abandon(gate, last, end, out);
            }
        }
    }

    fn finish_json(&mut self, gate: &Compiled, reason: FinishReason, out: &mut Out<'_, '_>) {
        let end = self.position;
        if self.speculative {
            // What can only be a call is one even if its end never came.
            let is_call = self.waiting.first().is_some_and(|thread| {
                let record = &gate.records[self.frame_of(gate, thread).record].record;
                self.draft.as_ref().is_some_and(|draft| draft.is_certain(record, |name| gate.knows(name)))
            });
            if !is_call || !self.settle_speculation(gate, ReaderState::Reading, out) {
                if self.state != State::Outside {
                    self.held_is_text(gate, out);
                }
                return;
            }
            self.show(gate, out);
        }
        let thread = self.waiting.first().copied();
        let is_dangerous = self
            .draft
            .as_ref()
            .and_then(|draft| draft.name.as_deref())
            .and_then(|name| gate.tool(name))
            .is_some_and(|tool| tool.tool.dangerous);
        let may_guess = gate.policy.truncated == TruncatedPolicy::Complete
            && !matches!(reason, FinishReason::Length | FinishReason::Unknown)
            && !is_dangerous;
        let Some(draft) = &mut self.draft else { return };
        let DraftBody::Json { reader, .. } = &mut draft.body else { return };
        let is_whole = match reader.finish() {
            End::Whole => true,
            End::Closable => reader.close(),
            End::CutOff => may_guess && reader.close(),
            End::Blank => false,
            End::Failed => true,
        };
        if !is_whole {
            let message = "the output ends inside the arguments";
            draft.findings.push(Finding::new(Code::Truncated).at(Span::new(end, end)).message(message));
        } else if reader.failure().is_some() && reader.in_string() {
            draft.findings.push(Finding::new(Code::Truncated).at(Span::new(end, end)));
        }
        self.show(gate, out);
        self.abandon(gate, thread, end, out);
    }

    /// Ends the open call without having seen the end of its frame.
    fn abandon(&mut self, gate: &Compiled, thread: Option<Thread>, end: usize, out: &mut Out<'_, '_>) {
        if let Some(thread) = thread {
            self.end_call(gate, thread, end, false, out);
        } else {
            self.draft = None;
        }
        self.leave_frame(end);
    }

    fn frame_of<'g>(&self, gate: &'g Compiled, thread: &Thread) -> &'g Frame {
        &gate.program.frames[gate.program.owner[thread.pc as usize] as usize]
    }
}

impl Refusal {
    /// Reads one byte; the literal that is complete with it, the longest first.
    fn read(&mut self, byte: u8) -> Option<(usize, Resync)> {
        let literals = &self.literals;
        self.partial.retain_mut(|(index, length)| {
            let fits = literals[*index].0.as_bytes().get(*length) == Some(&byte);
            *length += 1;
            fits
        });
        for (index, (literal, _)) in literals.iter().enumerate() {
            if literal.as_bytes().first() == Some(&byte) {
                self.partial.push((index, 1));
            }
        }
        let complete = self.partial.iter().filter(|(index, length)| literals[*index].0.len() == *length);
        let found = complete.max_by_key(|(_, length)| *length).map(|(index, _)| (*index, literals[*index].1));
        if found.is_some() {
            self.partial.clear();
        }
        found
    }
}

/// Whether nothing but the shape of what follows says that this is a call.
fn is_unmarked(frame: &Frame, thread: &Thread) -> bool {
    frame.unmarked && (frame.fence || thread.pieces == 0)
}

/// Whether a body can begin with this character.
fn can_start(body: &Body, c: char) -> bool {
    match body {
        Body::Object => c == '{',
        Body::Arguments { kwargs: true } => !c.is_whitespace(),
        Body::Arguments { .. } => !(c.is_alphabetic() || c.is_whitespace() || matches!(c, '<' | '}' | ']' | ',')),
        _ => true,
    }
}

/// Whether the threads after a body can reach its frame's end, or another frame, without its closer.
fn could_skip(gate: &Compiled, thread: Thread) -> bool {
    let mut scratch = Scratch::default();
    let mut threads = Threads::default();
    threads.start(&gate.program, &mut scratch, [thread], 0);
    threads.matched(&gate.program).is_some()
}
