//! Bodies: JSON and values inside of frames, and where they end.

use crate::attempt::Meaning;
use crate::draft::DraftBody;
use crate::draft::lines::Progress;
use crate::draft::params::ValueStart;
use crate::finding::{Code, Finding, Span};
use crate::gate::Compiled;
use crate::json::{Reader, ReaderState, Repair, RepairCode, Syntax};
use crate::ledger::Out;

use super::super::marks::Marks;
use super::super::program::{Body, Frame, FrameKind, Nested, Op};
use super::super::stops::Stops;
use super::super::threads::{Scratch, Survey, Thread, Threads};
use super::{Context, Machine, State};

/// How many characters of what may be a call are read at a time.
const LOOK_AHEAD: usize = 64;

impl Machine {
    /// Begins to read the body at which the waiting threads stand; the first decides which.
    pub(super) fn enter(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        let program = &gate.program;
        let Some(first) = self.waiting.first().copied() else { return };
        let Op::Body(index) = program.ops[first.pc as usize] else { return };
        let body = &program.bodies[index as usize];
        let frame_index = program.owner[first.pc as usize] as usize;
        let frame = &program.frames[frame_index];
        let record = &gate.records[frame.record].record;
        self.parked.clear();
        self.best = None;
        let same = |thread: &Thread| match program.ops[thread.pc as usize] {
            Op::Body(other) => {
                let owner = &gate.records[program.frame_of(thread).record].record;
                program.bodies[other as usize] == *body
                    && thread.level == first.level
                    && owner.syntax == record.syntax
                    && owner.quote == record.quote
            }
            _ => false,
        };
        self.waiting.retain(same);
        match body {
            Body::Reasoning { .. } if self.in_reasoning() => {
                // Another opener of the same thought must be closed as well before the thought is over, if it begins a
                // line. Otherwise it is a word of the thought, or the opener doubled, unless a closer too many follows.
                let begins_line = !self.after_frame && self.space.contains('\n');
                if let Some(context) = &mut self.context
                    && context.marker.eq_ignore_ascii_case(&frame.marker)
                {
                    context.nested += usize::from(begins_line);
                    self.has_thought &= begins_line;
                }
                self.held_is_text(gate, out);
                return;
            }
            Body::Text | Body::Reasoning { .. } | Body::Skip => {
                self.open_context(gate, frame_index, body.clone(), out);
                return;
            }
            _ => {}
        }
        if *body == Body::Code && self.regions.surroundings().backticks > 0 {
            // Code runs to the end of the response, so the end of the inline code would never be seen.
            out.finding_once(Finding::new(Code::DeadRegion).at(Span::new(self.held_start, self.position)));
            self.held_is_text(gate, out);
            return;
        }
        self.stops = self.stops_after(gate, frame.nested.as_ref());
        let is_new = self.draft.as_ref().is_none_or(|draft| draft.call != first.calls);
        if is_unmarked(frame, &first) && is_new && self.draft.is_none() && !first.committed {
            self.speculative = true;
            let number = self.attempts;
            self.draft = Some(self.new_draft(number, first.calls, first.call_start));
        } else if !self.ensure_draft(gate, first, out) {
            return;
        } else {
            self.announce_name(gate, first, out);
        }
        let position = self.position;
        if !self.speculative {
            self.keep_held(gate, position);
            self.held.clear();
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
                let is_object = *body == Body::Object;
                let depth = gate.policy.limits.depth + usize::from(is_object);
                let stops = self.stops.first();
                let tentative = self.speculative;
                self.begin_json(is_object, |reader| {
                    reader.begin(record.syntax, record.quote.clone(), depth, stops);
                    reader.set_tentative(tentative);
                });
            }
            Body::Lines(marks) => {
                let tool = draft.name.as_deref().and_then(|name| gate.tool(name));
                draft.begin_lines(marks, position, tool);
                self.state = State::Lines;
            }
            Body::Value { lead, trail } => {
                let key = first.key.map_or("", |key| self.scratch.get(key));
                let kind = first.kind.map(|kind| self.scratch.get(kind));
                let tool = draft.name.as_deref().and_then(|name| gate.tool(name));
                if let Some(params) = draft.params() {
                    params.close_holders(first.level as usize);
                }
                draft.begin_value(record, ValueStart { key, kind, lead, trail, position }, tool);
                draft.body_start.get_or_insert(position);
                self.state = State::Value;
            }
            _ => {
                // Formats that send bare code mean the one tool that runs it.
                draft.name.get_or_insert_with(|| record.code_tool.to_string());
                draft.announce(|| Self::source(gate, frame), out);
                draft.body = DraftBody::Code(String::new());
                draft.body_start = Some(position);
                self.state = State::Value;
            }
        }
        self.scratch.release(first.level as usize);
        if !self.speculative {
            self.held_start = position;
        }
    }

    fn begin_json(&mut self, object: bool, begin: impl FnOnce(&mut Reader)) {
        let Some(draft) = &mut self.draft else { return };
        let mut reader = self.reader.take().unwrap_or_else(|| Box::new(Reader::new(Syntax::Json)));
        begin(&mut reader);
        draft.body = DraftBody::Json { reader, object, arguments: None };
        draft.body_start = Some(self.position);
        self.state = State::Json;
    }

    pub(super) fn open_context(
        &mut self,
        gate: &Compiled,
        frame_index: usize,
        kind: Body,
        out: &mut Out<'_, '_>,
    ) {
        let frame = &gate.program.frames[frame_index];
        let record = &gate.records[frame.record].record;
        self.claim_space(
            record.before.len().max(usize::from(frame.kind != FrameKind::Text) * 2),
            self.held_start,
            out,
        );
        out.markup(Span::new(self.held_start, self.position));
        self.held.clear();
        self.threads.clear();
        let stops = self.stops_after(gate, None);
        let may_lack_closer = self.waiting.iter().any(|thread| could_skip(gate, thread.past_body()));
        self.has_thought |= matches!(kind, Body::Reasoning { .. });
        self.after = match &kind {
            Body::Reasoning { lead, .. } => lead.clone(),
            _ => String::new(),
        };
        let waiting = std::mem::take(&mut self.waiting);
        // A thought stands inside of a text, and what is skipped inside of anything.
        let is_inside =
            |outer: &Context| kind == Body::Skip || kind != Body::Text && outer.kind == Body::Text;
        let outer = self.context.take().filter(is_inside).map(Box::new);
        let marks = Marks::new(gate.program.marks.iter().chain(stops.first().iter()));
        let record = frame.record;
        let marker = frame.marker.clone();
        self.context =
            Some(Context { waiting, record, kind, stops, marks, may_lack_closer, marker, nested: 0, outer });
        self.regions.reset();
        self.after_frame = true;
        self.state = State::Outside;
    }

    /// How the end of the body at which threads wait can start.
    fn stops_after(&mut self, gate: &Compiled, nested: Option<&Nested>) -> Stops {
        let program = &gate.program;
        let known = self.waiting.iter().map(|thread| program.stops[thread.pc as usize].clone());
        let known = known.reduce(|all, next| Some(all?.or(next?))).flatten();
        if let (Some(stops), None) = (known, nested) {
            return stops;
        }
        let elements = nested.zip(self.waiting.first()).map(|(nested, first)| {
            let starts = nested.members.iter().chain([&nested.item]);
            starts.map(|start| first.into_element(*start))
        });
        let after = self.waiting.iter().map(|thread| thread.past_body());
        Stops::before(program, &mut self.scratch, after.chain(elements.into_iter().flatten()))
    }

    /// Reads JSON. It is called for each chunk, so what is not needed for all of them is kept out of it.
    pub(super) fn json(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let limits = &gate.policy.limits;
        let Some(draft) = &mut self.draft else { return rest.len() };
        let so_far = self.position - draft.body_start.unwrap_or(self.position);
        let room = draft.room(rest, so_far, limits.arguments);
        if self.speculative {
            return self.speculate(gate, &rest[..room], out);
        }
        let DraftBody::Json { reader, .. } = &mut draft.body else { return rest.len() };
        let used = reader.push(&rest[..room]);
        let state = reader.state();
        self.position += used;
        draft.note_line(&rest[..used]);
        draft.keep(&rest[..used], limits.raw);
        self.show(gate, out);
        self.json_came_to(gate, state, out);
        used
    }

    fn json_came_to(&mut self, gate: &Compiled, state: ReaderState, out: &mut Out<'_, '_>) {
        match state {
            ReaderState::Reading => {}
            ReaderState::Done => self.body_done(gate, out),
            ReaderState::Stopped => self.look(gate),
        }
    }

    /// Reads JSON of which only what it holds can tell whether it is a call.
    fn speculate(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let limits = &gate.policy.limits;
        let Some(draft) = &mut self.draft else { return rest.len() };
        let DraftBody::Json { reader, .. } = &mut draft.body else { return rest.len() };
        // Whether this is a call is asked at the same places however the text was cut. They are looked for a little at a
        // time: most of what begins like this ends with the next byte, and there may be as many starts as bytes.
        let next = rest.char_indices().nth(LOOK_AHEAD).map_or(rest, |(at, _)| &rest[..at]);
        let room = next.find([',', '}', ']', ':']).map_or(next.len(), |at| at + 1);
        let used = reader.push(&rest[..room]);
        let state = reader.state();
        let failed_at = reader.failure().map(|failure| failure.at);
        // Escaped JSON stands inside of some string: it is quoted, not called.
        let is_escaped = |repair: &&Repair| repair.code == RepairCode::EscapedQuotes;
        let escaped_at = reader.repairs().first().filter(is_escaped).map(|repair| repair.span.start);
        self.position += used;
        draft.note_line(&rest[..used]);
        self.held.push_str(&rest[..used]);
        if let Some(at) = escaped_at.or(failed_at) {
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
        self.show(gate, out);
        self.json_came_to(gate, state, out);
        used
    }

    /// The reader failed before the object was a call: it is text up to there, and the rest is read again.
    pub(super) fn leave_speculation(&mut self, gate: &Compiled, at: usize, out: &mut Out<'_, '_>) {
        let mut at = at;
        while !self.held.is_char_boundary(at) {
            at -= 1;
        }
        let tail = self.held.split_off(at.max(1));
        self.held_is_text(gate, out);
        self.read_again(&tail);
    }

    /// Decides, where that is possible by now, whether an unmarked object is a call. False: the state has changed.
    pub(super) fn settle_speculation(
        &mut self,
        gate: &Compiled,
        state: ReaderState,
        out: &mut Out<'_, '_>,
    ) -> bool {
        let Some(thread) = self.waiting.first().copied() else { return true };
        let record = gate.records[gate.program.frame_of(&thread).record].record.clone();
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
                if let DraftBody::Json { reader, .. } = &mut draft.body {
                    reader.set_tentative(false);
                }
                draft.keep(&held[start - self.held_start..], gate.policy.limits.raw);
            }
        }
        true
    }

    /// Shows what is new of the name and the arguments.
    pub(super) fn show(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        if self.speculative {
            return;
        }
        if self.draft.as_ref().is_some_and(|draft| !draft.is_known()) {
            self.look_at_object(gate, out);
        }
        if let Some(draft) = &mut self.draft {
            draft.show(out);
        }
    }

    /// Looks for the name and the arguments in what has been read of an object.
    fn look_at_object(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        let frame = self.waiting.first().map(|thread| gate.program.frame_of(thread));
        let (Some(draft), Some(frame)) = (&mut self.draft, frame) else { return };
        draft.look_at_object(&gate.records[frame.record].record);
        draft.announce(|| Self::source(gate, frame), out);
    }

    /// The reader has read its value: the threads go on after it.
    pub(super) fn body_done(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        self.threads.clear();
        let after = self.waiting.iter().map(|thread| thread.past_body());
        self.threads.start(&gate.program, &mut self.scratch, after, self.position);
        self.waiting.clear();
        self.state = State::Matching;
        if !self.speculative {
            self.held.clear();
            self.held_start = self.position;
        }
        let Survey { matched, all_matched, .. } = self.threads.survey(&gate.program);
        self.best = matched.map(|thread| (*thread, self.held.len()));
        self.threads.settle();
        if all_matched && let Some((thread, _)) = self.best {
            self.frame_done(gate, thread, self.position, out);
        }
    }

    /// Reads arguments that are written as lines.
    #[inline(never)] // See `run`.
    pub(super) fn lines(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let limits = &gate.policy.limits;
        let Some(thread) = self.waiting.first().copied() else { return rest.len() };
        let record = &gate.records[gate.program.frame_of(&thread).record].record;
        let position = self.position;
        let Some(draft) = &mut self.draft else { return rest.len() };
        let start = draft.body_start.unwrap_or(position);
        // The limit counts from the start of the arguments, however they were cut.
        let mut room = limits.arguments.saturating_sub(position - start).min(rest.len());
        while !rest.is_char_boundary(room) {
            room += 1;
        }
        if room == 0 {
            room = rest.len();
            if draft.lines.as_mut().is_some_and(|lines| lines.mute()) {
                let message = format!("the arguments are longer than {} bytes", limits.arguments);
                let at = Span::new(position, position);
                draft.findings.push(Finding::new(Code::TooLarge).at(at).message(message));
            }
        }
        let tool = draft.name.as_deref().and_then(|name| gate.tool(name));
        let read =
            draft.with_lines(record, tool, |lines, reading| lines.push(&rest[..room], position, reading));
        let Some((used, progress)) = read else { return rest.len() };
        draft.keep(&rest[..used], limits.raw);
        self.position += used;
        self.show(gate, out);
        self.lines_came_to(gate, progress, out);
        used
    }

    /// Goes on with what the reader of the lines has come to.
    pub(super) fn lines_came_to(&mut self, gate: &Compiled, progress: Progress, out: &mut Out<'_, '_>) {
        let Some(draft) = &mut self.draft else { return };
        match progress {
            Progress::Reading => {}
            Progress::Object => {
                draft.lines = None;
                // What can stand in JSON as well says nothing about its end.
                let can_stop = |stop: &u8| !stop.is_ascii_digit() && !b"-#\"[{tfn".contains(stop);
                let stops = self.stops.first().iter().filter(can_stop).collect();
                let depth = gate.policy.limits.depth;
                self.begin_json(false, |reader| reader.begin(Syntax::Lines, None, depth, stops));
            }
            Progress::Ended(handed_back) => {
                draft.lines = None;
                draft.forget(handed_back.len());
                self.position -= handed_back.len();
                self.body_done(gate, out);
                self.read_again(&handed_back);
            }
        }
    }
}

/// Whether nothing but the shape of what follows says that this is a call.
pub(super) fn is_unmarked(frame: &Frame, thread: &Thread) -> bool {
    frame.unmarked && (frame.fence || thread.pieces == 0)
}

/// Whether the threads after a body can reach its frame's end, or another frame, without its closer.
fn could_skip(gate: &Compiled, thread: Thread) -> bool {
    let mut scratch = Scratch::default();
    let mut threads = Threads::default();
    threads.start(&gate.program, &mut scratch, [thread], 0);
    threads.matched(&gate.program).is_some()
}
