//! Ends: of calls, of frames, of refused calls, and of the input.

use crate::dialect::turn;
use crate::draft::DraftBody;
use crate::draft::ending::Source;
use crate::draft::lines::Progress;
use crate::ending::{FinishReason, Lacks, closing};
use crate::finding::{Code, Finding, Span};
use crate::gate::Compiled;
use crate::json::{ReaderState, RepairCode};
use crate::ledger::{Out, Pending};
use crate::policy::Foreign;

use super::super::program::{Body, FrameKind};
use super::super::threads::Thread;
use super::bodies::is_unmarked;
use super::room::emptied;
use super::{Machine, Refusal, Resync, State, give_back};

impl Machine {
    /// Adds the held text before `end`, as far as it belongs to the call, to what is kept of it.
    pub(super) fn keep_held(&mut self, gate: &Compiled, end: usize) {
        let Some(draft) = &mut self.draft else { return };
        let from = draft.start.max(self.held_start) - self.held_start;
        let to = end.saturating_sub(self.held_start).min(self.held.len());
        if let Some(text) = self.held.get(from.min(to)..to) {
            draft.keep(text, gate.policy.limits.raw);
        }
    }

    /// One call has ended; the frame may go on.
    pub(super) fn end_call(
        &mut self,
        gate: &Compiled,
        thread: Thread,
        end: usize,
        closed: bool,
        out: &mut Out<'_, '_>,
    ) {
        self.keep_held(gate, end);
        let frame = gate.program.frame_of(&thread);
        let record = &gate.records[frame.record].record;
        let Some(mut draft) = self.draft.take() else { return };
        // Where the next call ends this one, the thread already knows that one's name.
        let is_own = thread.calls == draft.call;
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
        let is_object = matches!(draft.body, DraftBody::Json { object: true, .. });
        if draft.name.is_none() && is_own && !is_object {
            draft.name = thread.name.map(|name| self.scratch.get(name).to_owned());
        }
        draft.close_params(record);
        if draft.findings.is_empty() {
            draft.announce(|| Self::source(gate, frame), out);
            draft.show(out);
        }
        if draft.id.is_none() && is_own {
            draft.id = thread.id.map(|id| self.scratch.get(id).to_owned());
        }
        self.ended_call = draft.call;
        let unmarked = is_unmarked(frame, &thread);
        let (mut attempt, reader) = draft.finish(Source::Frame { record, end, closed, unmarked });
        self.speculative = false;
        self.accounted = end;
        out.attempt(gate, &mut attempt);
        // What was not needed makes room for the next call.
        self.raw = emptied(attempt.raw);
        if let Some(mut reader) = reader {
            reader.reuse(attempt.tape);
            self.reader = Some(reader);
        }
    }

    /// A frame has been read to its end.
    pub(super) fn frame_done(&mut self, gate: &Compiled, thread: Thread, end: usize, out: &mut Out<'_, '_>) {
        let frame = gate.program.frame_of(&thread);
        match frame.kind {
            FrameKind::Calls | FrameKind::Wrapperless => {
                if !self.ensure_draft(gate, thread, out) {
                    return;
                }
                let call_end = thread.call_end.unwrap_or(end);
                self.end_call(gate, thread, call_end, true, out);
                out.markup(Span::new(self.accounted, end));
                let change = self.regions.pass_frame(self.held.ends_with('\n'));
                self.apply(change, out);
                self.stands_alone = frame.unmarked && !frame.fence;
                let resync = |closer| {
                    if frame.call_ends.contains(closer) { Resync::FrameEnd } else { Resync::CallEnd }
                };
                self.watch = (!frame.closers.is_empty()).then(|| Refusal {
                    literals: frame.closers.iter().map(|closer| (closer.clone(), resync(closer))).collect(),
                    ..Refusal::default()
                });
            }
            FrameKind::ReasoningEnd => {
                self.claim_space(0, self.held_start, out);
                out.markup(Span::new(self.held_start, end));
                let is_first = !std::mem::replace(&mut self.has_thought, true);
                out.late_reasoning_end(Span::new(self.held_start, end), is_first);
                self.regions.reset();
            }
            FrameKind::Reasoning if self.context.as_ref().is_some_and(|context| context.nested > 0) => {
                if let Some(context) = &mut self.context {
                    context.nested -= 1;
                }
                self.held_is_text(gate, out);
                return;
            }
            FrameKind::Turn => {
                let turn = turn::marked(&self.held);
                match (turn, self.turn) {
                    (Some(_), _) => self.turn = self.turn.or(turn),
                    (None, Some(open)) if open.closer == Some(&self.held) => self.turn = None,
                    _ => {}
                }
                self.held_is_text(gate, out);
                return;
            }
            FrameKind::Text | FrameKind::Reasoning | FrameKind::Noise => {
                self.turn = self.turn.or_else(|| turn::marked(self.held.trim()));
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
        self.after.clone_from(&frame.after);
        self.state = State::Outside;
        self.threads.clear();
        self.best = None;
        self.held.clear();
        self.after_frame = !is_noise || self.after_frame;
        self.accounted = end;
    }

    /// The white space before the end of reasoning is markup as far as the template writes it.
    pub(super) fn claim_reasoning_space(&mut self, trail: usize, out: &mut Out<'_, '_>) {
        let length = self.space.len();
        let markup = trail.min(length);
        let start = self.held_start - length;
        let space = std::mem::take(&mut self.space);
        out.text(&space[..length - markup], Span::new(start, start + length - markup), true);
        out.markup(Span::new(self.held_start - markup, self.held_start));
        give_back(&mut self.space, space);
    }

    /// The call is broken: it is skipped to its end.
    pub(super) fn refuse(&mut self, gate: &Compiled, finding: Option<Finding>, out: &mut Out<'_, '_>) {
        let thread =
            self.threads.iter().find(|thread| thread.committed).or_else(|| self.threads.lead()).copied();
        let (Some(draft), Some(thread)) = (&mut self.draft, thread) else {
            self.held_is_text(gate, out);
            return;
        };
        draft.findings.extend(finding);
        if draft.name.is_none()
            && let Some(name) = thread.name
        {
            draft.name = Some(self.scratch.get(name).to_owned());
        }
        let name = draft.name.clone().unwrap_or_default();
        let frame = gate.program.frame_of(&thread);
        let fill = |literals: &[String], resync: Resync| -> Vec<(String, Resync)> {
            literals.iter().map(|literal| (literal.replace("{name}", &name), resync)).collect()
        };
        let mut literals = fill(&frame.ends, Resync::FrameEnd);
        literals
            .extend(fill(&frame.call_ends, if thread.opened { Resync::CallEnd } else { Resync::FrameEnd }));
        literals.extend(fill(&frame.openers, Resync::Opener));
        self.refusal = Refusal { literals, thread: Some(thread), ..Refusal::default() };
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
            draft.keep(
                &held[draft.start.saturating_sub(self.held_start).min(from)..from],
                gate.policy.limits.raw,
            );
        }
        self.read_again(&held[from..]);
        give_back(&mut self.held, held);
    }

    pub(super) fn opener_length(&self, text: &str) -> usize {
        let openers = self.refusal.literals.iter().filter(|(_, resync)| *resync == Resync::Opener);
        openers
            .filter(|(literal, _)| text.starts_with(literal.as_str()))
            .map(|(l, _)| l.len())
            .max()
            .unwrap_or(0)
    }

    #[inline(never)] // See `run`.
    pub(super) fn refused(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
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
            if c == '\n' {
                self.refusal.line_start = Some(self.position);
            }
        }
        used
    }

    /// A refused call ends at this literal, whose last character is `c`.
    pub(super) fn end_refused(
        &mut self,
        gate: &Compiled,
        literal: &str,
        resync: Resync,
        c: char,
        out: &mut Out<'_, '_>,
    ) -> usize {
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
            self.leave_frame(start, self.refusal.line_start == Some(start), out);
            self.read_again(&literal[..literal.len() - length]);
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
            self.leave_frame(end, false, out);
            return length;
        }
        let next = thread.going_on_at(gate.program.frame_of(&thread).next_call);
        self.threads.clear();
        self.threads.start(&gate.program, &mut self.scratch, [next], end);
        self.state = State::Matching;
        self.best = self.threads.matched(&gate.program).map(|thread| (*thread, 0));
        length
    }

    pub(super) fn leave_frame(&mut self, end: usize, ended_line: bool, out: &mut Out<'_, '_>) {
        self.state = State::Outside;
        self.threads.clear();
        self.best = None;
        self.held.clear();
        self.after.clear();
        self.after_frame = true;
        self.accounted = end;
        let change = self.regions.pass_frame(ended_line);
        self.apply(change, out);
    }

    /// Settles the frame that is open when the input ends, or gives up one reading of it.
    pub(super) fn finish_frame(&mut self, gate: &Compiled, reason: FinishReason, out: &mut Out<'_, '_>) {
        let end = self.position;
        match self.state {
            State::Outside => {}
            State::Opening => self.take_up(gate),
            State::Matching => {
                self.threads.end_input(&gate.program, &mut self.scratch, end);
                // Lines may be none at all, and then the call is over with its name.
                let bodies = self.threads.at_body(&gate.program);
                let lines =
                    bodies.filter(|(_, body)| matches!(gate.program.bodies[*body as usize], Body::Lines(_)));
                self.waiting.clear();
                self.waiting.extend(lines.map(|(thread, _)| thread));
                if !self.waiting.is_empty() {
                    self.enter(gate, out);
                    return;
                }
                if let Some(thread) = self.threads.matched(&gate.program) {
                    self.best = Some((*thread, self.held.len()));
                }
                if self.best.is_some() {
                    self.end_open(gate, reason, end);
                    self.end_at_best(gate, out);
                } else if self.draft.is_none() {
                    self.give_up(gate, out);
                } else if self.speculative {
                    self.held_is_text(gate, out);
                } else {
                    self.finish_call(gate, reason, end, out);
                }
            }
            State::Json => self.finish_json(gate, reason, out),
            State::Lines => self.finish_lines(gate, reason, out),
            State::Looking => {
                self.threads.end_input(&gate.program, &mut self.scratch, end);
                let is_json = !self.reads_value();
                let ending = self.ending(gate, true);
                if ending.is_some() || is_json && self.look.trim_start().len() > 1 {
                    self.end_body(gate, ending, out);
                } else {
                    self.look_failed(gate);
                }
            }
            State::Value => {
                let is_code =
                    self.draft.as_ref().is_some_and(|draft| matches!(draft.body, DraftBody::Code(_)));
                let thread = self.waiting.first().copied();
                if let Some(draft) = &mut self.draft {
                    // Program text has no end of its own; a value has.
                    let may_close = if is_code {
                        closing(gate, reason, draft.name.as_deref(), Lacks::Mark)
                    } else {
                        None
                    };
                    draft.end_with(may_close, end);
                }
                self.abandon(gate, thread, end, out);
            }
            State::Refused => {
                let thread = self.refusal.thread;
                self.abandon(gate, thread, end, out);
            }
        }
    }

    /// The input ends where the call may be over, but may go on as well: where more arguments could follow, or where it was
    /// cut off, that is not the end of it. An object says by itself when it is whole.
    fn end_open(&mut self, gate: &Compiled, reason: FinishReason, end: usize) {
        let Some(draft) = &mut self.draft else { return };
        if matches!(draft.body, DraftBody::Json { .. }) {
            return;
        }
        let (at_all, with_more) = self.threads.could_go_on(&gate.program);
        if with_more || at_all && reason.is_cut() {
            draft.end_with(closing(gate, reason, draft.name.as_deref(), Lacks::Mark), end);
        }
    }

    /// The input ends after a body: closers may be missing, anything else may not.
    pub(super) fn finish_call(
        &mut self,
        gate: &Compiled,
        reason: FinishReason,
        end: usize,
        out: &mut Out<'_, '_>,
    ) {
        let thread = self.threads.only_literals_left(&gate.program).filter(|thread| {
            // A header alone is not a call: something must have been read as its arguments, or it was complete.
            thread.name.is_some() || self.draft.as_ref().is_some_and(|d| !matches!(d.body, DraftBody::None))
        });
        let last = self.threads.lead().copied();
        let Some(draft) = &mut self.draft else { return };
        match thread {
            Some(thread) if thread.call_end.is_some() || !matches!(draft.body, DraftBody::None) => {
                let own = thread.name.filter(|_| draft.name.is_none()).map(|name| self.scratch.get(name));
                let may_close = closing(gate, reason, draft.name.as_deref().or(own), Lacks::Closers);
                draft.end_with(may_close, end);
                draft.repaired(RepairCode::MissingTag, end, end);
                self.abandon(gate, Some(thread), end, out);
            }
            _ => {
                draft.end_with(None, end);
                self.abandon(gate, last, end, out);
            }
        }
    }

    pub(super) fn finish_json(&mut self, gate: &Compiled, reason: FinishReason, out: &mut Out<'_, '_>) {
        let end = self.position;
        if self.speculative {
            // What can only be a call is one even if its end never came.
            let is_call = self.waiting.first().is_some_and(|thread| {
                let record = &gate.records[gate.program.frame_of(thread).record].record;
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
        self.show(gate, out);
        if let Some(draft) = &mut self.draft {
            draft.end_json(gate, reason, end, Some(Lacks::Rest));
        }
        self.show(gate, out);
        self.abandon(gate, thread, end, out);
    }

    /// The input ends inside of lines, which is where lines end.
    fn finish_lines(&mut self, gate: &Compiled, reason: FinishReason, out: &mut Out<'_, '_>) {
        let end = self.position;
        let thread = self.waiting.first().copied();
        let record = thread.map(|thread| &gate.records[gate.program.frame_of(&thread).record].record);
        let (Some(draft), Some(record)) = (&mut self.draft, record) else {
            self.abandon(gate, None, end, out);
            return;
        };
        let tool = draft.name.as_deref().and_then(|name| gate.tool(name));
        let read = draft.with_lines(record, tool, |lines, reading| {
            let progress = lines.finish(end, reading);
            (progress, lines.touches_end())
        });
        let Some((progress, touches_end)) = read else {
            self.abandon(gate, thread, end, out);
            return;
        };
        if progress != Progress::Reading {
            self.lines_came_to(gate, progress, out);
            return;
        }
        // Nothing but the provider's word tells the end of a line from a line that was cut off.
        if touches_end {
            let may_close = closing(gate, reason, draft.name.as_deref(), Lacks::Mark);
            draft.end_with(may_close, end);
        }
        self.show(gate, out);
        self.abandon(gate, thread, end, out);
    }

    /// Ends the open call without having seen the end of its frame.
    pub(super) fn abandon(
        &mut self,
        gate: &Compiled,
        thread: Option<Thread>,
        end: usize,
        out: &mut Out<'_, '_>,
    ) {
        if let Some(thread) = thread {
            self.end_call(gate, thread, end, false, out);
        } else {
            self.draft = None;
        }
        self.leave_frame(end, false, out);
    }
}

impl Refusal {
    /// Reads one byte; the literal that is complete with it, the longest first.
    pub(super) fn read(&mut self, byte: u8) -> Option<(usize, Resync)> {
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
