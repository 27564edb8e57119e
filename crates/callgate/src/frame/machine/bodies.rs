//! Bodies: JSON, lines and values inside of frames.

use std::mem::take;
use std::sync::Arc;

use super::super::Compiled;
use crate::attempt::Meaning;
use crate::bytes::character_start;
use crate::dialect::Record;
use crate::draft::lines::{LineReader, Progress};
use crate::draft::params::ValueStart;
use crate::draft::{Draft, DraftBody};
use crate::finding::{Code, Finding, Span};
use crate::json::{Reader, ReaderState, Repair, RepairCode, Syntax};
use crate::ledger::Emitter;

use super::super::marks::Marks;
use super::super::program::{Body, Frame, FrameKind, Nested};
use super::super::stops::Stops;
use super::super::threads::{Scratch, Survey, Thread, Threads};
use super::around::Context;
use super::matching::{Matching, Waiting};
use super::{Machine, State};

/// How many characters of what may be a call are read at a time.
const LOOK_AHEAD: usize = 64;

/// Where the members of an object begin and end.
const PLACES: [char; 4] = [',', '}', ']', ':'];

/// Inside of a body that is being read.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) draft: Box<Draft>,
    /// Whether only what it holds can tell that this is a call. Then all of it is held.
    pub(super) tentative: bool,
    /// What reads the parameters, where they are written as lines.
    pub(super) lines: Option<Box<LineReader>>,
    /// The preferred thread of those that wait for the end.
    pub(super) first: Thread,
    /// All of them.
    pub(super) waiting: Vec<Waiting>,
    /// How the end can start.
    pub(super) stops: Stops,
}

/// What is known of an object that only its content can show to be a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    Call,
    NotYet,
    /// It was none, and has become text.
    Text,
}

impl Inside {
    pub(super) fn record<'g>(&self, gate: &'g Compiled) -> &'g Record {
        &gate.rules.dialects[gate.program.frame_of(&self.first).record].record
    }

    pub(super) fn reads_value(&self) -> bool {
        !matches!(self.draft.body, DraftBody::Json { .. })
    }

    /// Shows what is new of the name and the arguments.
    pub(super) fn show(&mut self, gate: &Compiled, out: &mut Emitter<'_, '_>) {
        if self.tentative {
            return;
        }
        if !self.draft.is_known() {
            self.look_at_object(gate, out);
        }
        self.draft.show(out);
    }

    /// Looks for the name and the arguments in what has been read of an object.
    #[inline(never)] // Most chunks come after both are known.
    fn look_at_object(&mut self, gate: &Compiled, out: &mut Emitter<'_, '_>) {
        let frame = gate.program.frame_of(&self.first);
        let unmarked = is_unmarked(frame, &self.first);
        self.draft.look_at_object(&gate.rules.dialects[frame.record].record, unmarked);
        self.draft.announce(|| Machine::source(gate, frame), out);
    }

    /// Takes more of a value or of program text, which ends at the position.
    pub(super) fn value_text(&mut self, gate: &Compiled, text: &str, position: usize) {
        let limits = &gate.rules.policy.limits;
        let draft = &mut self.draft;
        draft.keep(text, limits.raw);
        let so_far = position - draft.body_start.unwrap_or(position);
        if so_far > limits.arguments {
            draft.too_large(position, limits.arguments);
            return;
        }
        match &mut draft.body {
            DraftBody::Code(code) => code.push_str(text),
            _ => draft.value_text(text),
        }
    }
}

impl Machine {
    /// Begins to read the body at which threads stand; the first decides which.
    pub(super) fn enter(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        first: Waiting,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut matching = matching;
        let program = &gate.program;
        let Waiting { thread: first, body } = first;
        let body = &program.bodies[body as usize];
        let frame_index = program.owner[first.pc as usize] as usize;
        let frame = &program.frames[frame_index];
        let record = &gate.rules.dialects[frame.record].record;
        matching.best = None;
        matching.at_body.retain(|waiting| {
            let owner = &gate.rules.dialects[program.frame_of(&waiting.thread).record].record;
            program.bodies[waiting.body as usize] == *body
                && waiting.thread.level == first.level
                && owner.syntax == record.syntax
                && owner.quote == record.quote
        });
        match body {
            Body::Reasoning { .. } if self.around.in_reasoning() => {
                self.reopen_thought(frame);
                self.pool.keep_matching(matching);
                return self.held_is_text(gate, out);
            }
            Body::Text | Body::Reasoning { .. } | Body::Skip => {
                return self.open_context(gate, matching, frame_index, body.clone(), out);
            }
            Body::Code if self.around.regions.surroundings().backticks > 0 => {
                // Code runs to the end of the response, so the end of the inline code would never be seen.
                let span = Span::new(self.held.start, self.position);
                out.finding_once(Finding::new(Code::DeadRegion).at(span));
                self.pool.keep_matching(matching);
                return self.held_is_text(gate, out);
            }
            _ => {}
        }
        // With slips, what is held may be read as an earlier call, which has been judged.
        if matching.draft.as_ref().is_some_and(|draft| draft.call > first.calls)
            && let Some((draft, failed)) = matching.draft.take().zip(matching.failed.take())
        {
            return self.reject(gate, matching, draft, *failed, out);
        }
        let stops = self.stops_after(gate, &matching.at_body, frame.nested.as_ref());
        let tentative = is_unmarked(frame, &first) && matching.draft.is_none() && !first.committed;
        let mut draft = if tentative {
            self.pool.draft(&gate.rules.policy, self.calls.attempts, first.calls, first.call_start)
        } else {
            matching = match self.ensure_draft(gate, matching, &first, out) {
                Ok(same) => same,
                Err(state) => return state,
            };
            match matching.draft.take() {
                Some(draft) => draft,
                // What follows a call that is over is none of its bodies.
                None => return self.give_up(gate, matching, out),
            }
        };
        let position = self.position;
        first.slips.list(&mut draft, Span::new(self.held.start, position));
        if !tentative {
            self.announce_name(gate, &mut draft, &first, out);
            self.held.keep_in(&mut draft, position, gate.rules.policy.limits.raw);
            self.held.restart(position);
        }
        if first.malformed {
            draft.findings.push(
                Finding::new(Code::Malformed)
                    .at(Span::new(draft.start, position))
                    .message("a line break that the format needs is missing"),
            );
        }
        let waiting = self.pool.take_waiting(&mut matching.at_body);
        self.pool.keep_matching(matching);
        let mut inside = Box::new(Inside { draft, tentative, lines: None, first, waiting, stops });
        self.begin_body(gate, &mut inside, body, out);
        self.scratch.release(first.level as usize);
        State::Body(inside)
    }

    /// Gets ready to read what the body holds.
    fn begin_body(&mut self, gate: &Compiled, inside: &mut Inside, body: &Body, out: &mut Emitter<'_, '_>) {
        let position = self.position;
        let frame = gate.program.frame_of(&inside.first);
        let record = &gate.rules.dialects[frame.record].record;
        let draft = &mut inside.draft;
        let tool = draft.tool(&gate.rules, record);
        match body {
            Body::Object | Body::Arguments { .. } => {
                let is_object = *body == Body::Object;
                let depth = gate.rules.policy.limits.depth + usize::from(is_object);
                let mut reader = self.pool.reader();
                // Where calls are written as code, an object is JSON all the same.
                let is_code = record.syntax == Syntax::Kwargs && is_object;
                let syntax = if is_code { Syntax::Json } else { record.syntax };
                reader.begin(syntax, record.quote.clone(), depth, inside.stops.first());
                reader.set_tentative(inside.tentative);
                draft.begin_json(reader, is_object, position);
            }
            Body::Lines(marks) => {
                draft.begin_params(position, tool);
                inside.lines = Some(Box::new(LineReader::new(marks.clone(), position)));
            }
            Body::Value { lead, trail } => {
                let key = inside.first.key.map_or("", |key| self.scratch.get(key));
                let kind = inside.first.kind.map(|kind| self.scratch.get(kind));
                if let Some(params) = draft.params() {
                    params.close_holders(inside.first.level as usize);
                }
                draft.begin_value(record, ValueStart { key, kind, lead, trail, position }, tool);
                draft.body_start.get_or_insert(position);
            }
            _ => {
                // Formats that send bare code mean the one tool that runs it.
                draft.name.get_or_insert_with(|| record.code_tool.to_string());
                draft.announce(|| Self::source(gate, frame), out);
                draft.body = DraftBody::Code(String::new());
                draft.body_start = Some(position);
            }
        }
    }

    /// Another opener of the thought that is open must be closed as well before the thought is over, if it begins a line.
    /// Otherwise it is a word of the thought, or the opener doubled, unless a closer too many follows.
    fn reopen_thought(&mut self, frame: &Frame) {
        let around = &mut self.around;
        let begins_line = !around.only_space_since_frame && around.held_space.contains('\n');
        let Some(context) = &mut around.context else { return };
        if context.marker.eq_ignore_ascii_case(&frame.marker) {
            context.nested += usize::from(begins_line);
            around.has_thought &= begins_line;
        } else {
            context.others += 1;
        }
    }

    fn open_context(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        frame_index: usize,
        kind: Body,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut matching = matching;
        let waiting = take(&mut matching.at_body);
        self.pool.keep_matching(matching);
        let stops = self.stops_after(gate, &waiting, None);
        let frame = &gate.program.frames[frame_index];
        let before = gate.rules.dialects[frame.record].record.before.len();
        let around = &mut self.around;
        let before = before.max(usize::from(frame.kind != FrameKind::Text) * 2);
        around.claim_space(before, self.held.start, out);
        out.markup(Span::new(self.held.start, self.position));
        self.held.text.clear();
        let is_cut_short = around.context.as_ref().is_some_and(|outer| {
            let is_thought = matches!(outer.kind, Body::Reasoning { .. });
            is_thought && kind == Body::Text && !(outer.may_lack_closer && outer.record == frame.record)
        });
        if kind == Body::Text && around.context.is_none() {
            around.watch.note_message();
        }
        // The closer of a thought that a text has cut short may still come, and then the text was thought.
        let is_thought = matches!(kind, Body::Reasoning { .. });
        if is_thought || around.has_thought && around.context.is_none() {
            out.clear_of_thoughts();
        }
        around.has_thought = !is_cut_short && around.has_thought || is_thought;
        around.expected_space = match &kind {
            Body::Reasoning { lead, .. } => lead.clone(),
            _ => String::new(),
        };
        // A thought stands inside of a text, and what is skipped inside of anything.
        let is_inside =
            |outer: &Context| kind == Body::Skip || kind != Body::Text && outer.kind == Body::Text;
        let outer = around.context.take().filter(is_inside).map(Box::new);
        let may_lack_closer = waiting.iter().any(|waiting| could_skip(gate, waiting.thread.past_body()));
        around.invents |= may_lack_closer && kind == Body::Skip;
        around.context = Some(Context {
            may_lack_closer,
            marks: Arc::new(Marks::new(gate.program.marks.iter().chain(stops.first().iter()))),
            record: frame.record,
            marker: frame.marker.clone(),
            nested: 0,
            others: 0,
            waiting,
            kind,
            stops,
            outer,
        });
        around.regions.reset();
        around.only_space_since_frame = true;
        State::Outside
    }

    /// How the end of the body at which threads wait can start.
    fn stops_after(&mut self, gate: &Compiled, waiting: &[Waiting], nested: Option<&Nested>) -> Stops {
        let program = &gate.program;
        let known = waiting.iter().map(|waiting| program.stops_at_body(&waiting.thread).cloned());
        let known = known.reduce(|all, next| Some(all?.or(next?))).flatten();
        if let (Some(stops), None) = (known, nested) {
            return stops;
        }
        let elements = nested.zip(waiting.first()).map(|(nested, first)| {
            let starts = nested.members.iter().chain([&nested.item]);
            starts.map(|start| first.thread.into_element(*start))
        });
        let twins = waiting.iter().filter_map(|waiting| program.twin_at_body(&waiting.thread));
        let after = waiting.iter().map(|waiting| waiting.thread).chain(twins).map(Thread::past_body);
        Stops::before(program, &mut self.scratch, after.chain(elements.into_iter().flatten()))
    }

    /// Reads on in a body. Hot: it runs once per chunk of the arguments.
    pub(super) fn body(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        rest: &str,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        let mut inside = inside;
        let limits = &gate.rules.policy.limits;
        let draft = &mut inside.draft;
        let so_far = self.position - draft.body_start.unwrap_or(self.position);
        let Some((reader, room)) = draft.json_with_room(rest, so_far, limits.arguments) else {
            return match inside.lines.take() {
                Some(lines) => self.lines(gate, inside, lines, rest, out),
                None => self.value(gate, inside, rest, out),
            };
        };
        if inside.tentative {
            let used = reader.push(&rest[..window(&rest[..room])]);
            let (state, broken_at) = (reader.state(), broken_at(reader));
            return (self.speculate(gate, inside, &rest[..used], state, broken_at, out), used);
        }
        let used = reader.push(&rest[..room]);
        let state = reader.state();
        self.position += used;
        draft.note_line(&rest[..used]);
        draft.keep(&rest[..used], limits.raw);
        inside.show(gate, out);
        (self.json_came_to(gate, inside, state, out), used)
    }

    fn json_came_to(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        state: ReaderState,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        match state {
            ReaderState::Reading => State::Body(inside),
            ReaderState::Done => self.body_done(gate, inside, out),
            ReaderState::Stopped => self.look(gate, inside),
        }
    }

    /// Goes on with what was read of JSON of which only what it holds can tell whether it is a call.
    #[inline(never)] // Keeps `body` small.
    fn speculate(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        read: &str,
        state: ReaderState,
        broken_at: Option<usize>,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut inside = inside;
        self.position += read.len();
        inside.draft.note_line(read);
        self.held.text.push_str(read);
        if let Some(at) = broken_at {
            // No call after all: what could not be read may be the start of something else.
            let body_at = inside.draft.body_start.unwrap_or(self.held.start) - self.held.start;
            let at = (body_at + at.max(1)).min(self.held.text.len());
            self.pool.leave(inside);
            return self.leave_speculation(gate, at, out);
        }
        if self.held.text.len() > gate.rules.policy.limits.held {
            out.finding(Finding::new(Code::HeldLimit).at(Span::new(self.held.start, self.position)));
            self.pool.leave(inside);
            return self.held_is_text(gate, out);
        }
        let is_place = read.ends_with(PLACES) || state == ReaderState::Done;
        if is_place && self.settle(gate, &mut inside, state, out) == Settled::Text {
            self.pool.leave(inside);
            return State::Outside;
        }
        inside.show(gate, out);
        self.json_came_to(gate, inside, state, out)
    }

    /// The reader failed before the object was a call: it is text up to there, and the rest is read again.
    fn leave_speculation(&mut self, gate: &Compiled, at: usize, out: &mut Emitter<'_, '_>) -> State {
        let at = character_start(&self.held.text, at);
        let tail = self.held.text.split_off(at.max(1));
        let state = self.held_is_text(gate, out);
        self.input.read_again(&tail);
        state
    }

    /// Decides, where that is possible by now, whether an unmarked object is a call.
    pub(super) fn settle(
        &mut self,
        gate: &Compiled,
        inside: &mut Inside,
        state: ReaderState,
        out: &mut Emitter<'_, '_>,
    ) -> Settled {
        let record = inside.record(gate);
        let is_certain = inside.draft.is_certain(record, |name| gate.rules.knows(name));
        if !is_certain && state != ReaderState::Done {
            return Settled::NotYet;
        }
        if !is_certain && inside.draft.meaning(record) == Meaning::Data {
            if inside.draft.has_name(record) {
                let span = Span::new(self.held.start, self.position);
                out.finding_once(Finding::new(Code::UnknownToolData).at(span));
            }
            self.held_is_text(gate, out);
            return Settled::Text;
        }
        if !self.admit(gate, &inside.first, out) {
            self.held_is_text(gate, out);
            return Settled::Text;
        }
        inside.tentative = false;
        let draft = &mut inside.draft;
        draft.number = self.calls.next_attempt();
        draft.start = self.calls.markup_before(inside.first.call_start, out);
        draft.make_certain();
        self.held.keep_in(draft, self.position, gate.rules.policy.limits.raw);
        self.held.text.clear();
        Settled::Call
    }

    /// The body has been read: the threads go on after it.
    fn body_done(&mut self, gate: &Compiled, inside: Box<Inside>, out: &mut Emitter<'_, '_>) -> State {
        let mut matching = self.pool.matching();
        matching.after_body = Some(inside.first);
        let after = inside.waiting.iter().map(|waiting| waiting.thread.past_body());
        matching.threads.start(&gate.program, &mut self.scratch, after, self.position);
        matching.draft = Some(self.pool.leave(inside));
        self.held.restart(self.position);
        let Survey { matched, all_matched, .. } = matching.threads.survey(&gate.program);
        let matched = matched.copied();
        matching.best = matched.map(|thread| (thread, 0));
        matching.threads.settle();
        match matched {
            Some(thread) if all_matched => self.frame_done(gate, matching, thread, self.position, out),
            _ => State::Matching(matching),
        }
    }

    /// Reads arguments that are written as lines.
    #[inline(never)] // Keeps `body` small.
    fn lines(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        lines: Box<LineReader>,
        rest: &str,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        let (mut inside, mut lines) = (inside, lines);
        let limits = &gate.rules.policy.limits;
        let record = inside.record(gate);
        let position = self.position;
        let draft = &mut inside.draft;
        let start = draft.body_start.unwrap_or(position);
        // The limit counts from the start of the arguments, however they were cut.
        let mut room = limits.arguments.saturating_sub(position - start).min(rest.len());
        while !rest.is_char_boundary(room) {
            room += 1;
        }
        if room == 0 {
            room = rest.len();
            if lines.mute() {
                draft.too_large(position, limits.arguments);
            }
        }
        let tool = draft.tool(&gate.rules, record);
        let (used, progress) =
            draft.read_lines(record, tool, |reading| lines.push(&rest[..room], position, reading));
        draft.keep(&rest[..used], limits.raw);
        self.position += used;
        inside.lines = Some(lines);
        inside.show(gate, out);
        (self.lines_came_to(gate, inside, progress, out), used)
    }

    /// Goes on with what the reader of the lines has come to.
    pub(super) fn lines_came_to(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        progress: Progress,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut inside = inside;
        match progress {
            Progress::Reading => State::Body(inside),
            Progress::Object => {
                inside.lines = None;
                // What can stand in JSON as well says nothing about its end.
                let can_stop = |stop: &u8| !stop.is_ascii_digit() && !b"-#\"[{tfn".contains(stop);
                let stops = inside.stops.first().iter().filter(can_stop).collect();
                let mut reader = self.pool.reader();
                reader.begin(Syntax::Lines, None, gate.rules.policy.limits.depth, stops);
                inside.draft.begin_json(reader, false, self.position);
                State::Body(inside)
            }
            Progress::Ended(handed_back) => {
                inside.draft.forget(handed_back.len());
                self.position -= handed_back.len();
                let state = self.body_done(gate, inside, out);
                self.input.read_again(&handed_back);
                state
            }
        }
    }
}

/// How much of this text is read before it is asked whether this is a call. That is asked at the same places however the
/// text was cut. They are looked for a little at a time: most of what begins like this ends with the next byte, and there may
/// be as many starts as bytes.
fn window(text: &str) -> usize {
    let next = text.char_indices().nth(LOOK_AHEAD).map_or(text, |(at, _)| &text[..at]);
    next.find(PLACES).map_or(next.len(), |at| at + 1)
}

/// Where it turned out that the JSON is no call, if it did.
fn broken_at(reader: &Reader) -> Option<usize> {
    // Escaped JSON stands inside of some string: it is quoted, not called.
    let is_escaped = |repair: &&Repair| repair.code == RepairCode::EscapedQuotes;
    let escaped_at = reader.repairs().first().filter(is_escaped).map(|repair| repair.span.start);
    escaped_at.or(reader.failure().map(|failure| failure.at))
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
