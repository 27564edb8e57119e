//! Admission: whether a frame of calls is read where it stands, and the draft that then begins.

use super::super::Compiled;
use crate::dialect::Record;
use crate::draft::{Draft, DraftBody};
use crate::finding::{Code, Finding, Span};
use crate::ledger::{Emitter, Pending};
use crate::policy::{Foreign, Position, Quote, Region};

use super::super::program::{Body, Frame, FrameKind};
use super::super::region::Surroundings;
use super::super::threads::Thread;
use super::around::{AroundFrames, Context};
use super::ends::CallEnd;
use super::matching::Matching;
use super::{Machine, State};

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

impl Machine {
    /// Makes sure that there is a draft for the call this thread is in, unless that call is over. Another state if it is
    /// no call after all.
    pub(super) fn ensure_draft(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        thread: &Thread,
        out: &mut Emitter<'_, '_>,
    ) -> Result<Box<Matching>, State> {
        let mut matching = matching;
        match matching.draft.take() {
            Some(draft) if draft.call == thread.calls => {
                matching.draft = Some(draft);
                return Ok(matching);
            }
            Some(mut draft) => {
                let end = thread.end_before.unwrap_or(thread.call_start);
                self.held.keep_in(&mut draft, end, gate.rules.policy.limits.raw);
                if thread.skipped && matches!(draft.body, DraftBody::None) {
                    // What comes next may be the arguments: a header that nothing has closed is no call.
                    let message = "the next call begins before this one has arguments or an end";
                    let at = Span::new(end, self.position);
                    draft.findings.push(Finding::new(Code::Malformed).message(message).at(at));
                }
                self.end_call(gate, draft, thread, CallEnd::Seen(end), out);
            }
            None if self.calls.ended >= thread.calls && thread.calls > 0 => return Ok(matching),
            None => {
                if !self.admit(gate, thread, out) {
                    self.pool.keep_matching(matching);
                    return Err(self.held_is_text(gate, out));
                }
            }
        }
        let has_lost_one = thread.end_before.is_some_and(|end| end > self.calls.accounted);
        let start = self.calls.markup_before(thread.call_start, out);
        let number = self.calls.next_attempt();
        let mut draft = self.pool.draft(&gate.rules.policy, number, thread.calls, start);
        if has_lost_one {
            // It was read to its end before it was certain to be one.
            let message = "a call before this one has no arguments and no end of its own";
            let at = Span::new(self.held.start, start);
            draft.findings.push(Finding::new(Code::Malformed).message(message).at(at));
        }
        matching.draft = Some(draft);
        Ok(matching)
    }

    /// Decides by its place whether a frame of calls is read. False: it is text.
    pub(super) fn admit(&mut self, gate: &Compiled, thread: &Thread, out: &mut Emitter<'_, '_>) -> bool {
        let frame = gate.program.frame_of(thread);
        let record = &gate.rules.dialects[frame.record].record;
        let surroundings = self.around.regions.surroundings();
        let span = Span::new(self.held.start, self.position);
        let around = &mut self.around;
        self.calls.behind_words = !around.only_space_since_frame && !around.regions.at_line_start();
        match around.admission(gate, frame, record, surroundings) {
            admission @ (Admission::Live | Admission::Pending(_)) => {
                if admission == Admission::Live {
                    around.context = None;
                }
                around.claim_space(record.before.len(), span.start, out);
                if surroundings.indented {
                    out.finding_once(Finding::new(Code::IndentedCode).at(span));
                }
                if !around.in_reasoning() {
                    let change = around.regions.read_word();
                    around.apply(change, out);
                }
                if let Admission::Pending(pending) = admission {
                    out.hold(pending, surroundings.backticks);
                }
                around.expected_space.clear();
                around.stray_closers = None;
                around.more_arguments = None;
                around.stands_alone = false;
                true
            }
            admission @ (Admission::Dead(_) | Admission::Ignored) => {
                match admission {
                    Admission::Dead(code) => out.finding_once(Finding::new(code).at(span)),
                    _ => out.note_foreign(),
                }
                if let Some(closers) = &mut around.stray_closers {
                    closers.shown += 1;
                }
                false
            }
        }
    }

    /// Says that a call has begun, once its name and its dialect are beyond doubt.
    pub(super) fn announce(
        &mut self,
        gate: &Compiled,
        matching: &mut Matching,
        lead: &Thread,
        out: &mut Emitter<'_, '_>,
    ) {
        let Matching { draft: Some(draft), threads, .. } = matching else { return };
        let Some(name) = lead.name.filter(|_| !draft.started && !threads.in_word()) else { return };
        let name = self.scratch.get(name);
        let record = gate.program.frame_of(lead).record;
        let agreed = threads.iter().filter(|thread| thread.committed).all(|thread| {
            gate.program.frame_of(thread).record == record
                && thread.name.is_some_and(|other| self.scratch.get(other) == name)
        });
        if agreed {
            draft.name = Some(name.to_owned());
            draft.announce(|| Self::source(gate, gate.program.frame_of(lead)), out);
        }
    }

    /// The name from the header, where the header has one.
    pub(super) fn announce_name(
        &self,
        gate: &Compiled,
        draft: &mut Draft,
        thread: &Thread,
        out: &mut Emitter<'_, '_>,
    ) {
        let Some(name) = thread.name else { return };
        let name = self.scratch.get(name);
        draft.id = thread.id.map(|id| self.scratch.get(id).to_owned());
        if draft.name.as_deref() != Some(name) {
            draft.name = Some(name.to_owned());
        }
        draft.announce(|| Self::source(gate, gate.program.frame_of(thread)), out);
    }
}

impl AroundFrames {
    fn admission(
        &self,
        gate: &Compiled,
        frame: &Frame,
        record: &Record,
        surroundings: Surroundings,
    ) -> Admission {
        let policy = &gate.rules.policy;
        if !frame.live && policy.foreign == Foreign::Ignore {
            return Admission::Ignored;
        }
        if self.invents || self.turns.iter().any(|(turn, _)| !record.writes(&turn.marker)) {
            return Admission::Dead(Code::AfterEnd);
        }
        // A message that has its header says to whom it speaks: what lacks one is a part of it.
        let is_message = |context: &Context| context.record == frame.record;
        let lacks_header =
            frame.kind == FrameKind::Wrapperless && self.context.as_ref().is_some_and(is_message);
        if let Some(context) = &self.context
            && matches!(context.kind, Body::Reasoning { .. })
        {
            if policy.reasoning == Quote::Live {
                return Admission::Live;
            }
            return if record.ends_thought && record.thinks_behind(&context.marker) {
                Admission::Pending(Pending::Thought)
            } else if context.may_lack_closer && context.record == frame.record && !lacks_header {
                Admission::Live
            } else {
                Admission::Dead(Code::CallInReasoning)
            };
        }
        // A word of an opener is no end of another word.
        let ends_word = frame.opens_by_word() && (self.last.is_ascii_alphanumeric() || self.last == b'_');
        if lacks_header || ends_word {
            return Admission::Dead(Code::DeadRegion);
        }
        let at_line_start = self.regions.at_line_start() || self.only_space_since_frame && self.regions.blank;
        if (frame.line_start || policy.position == Position::LineStart) && !at_line_start {
            return Admission::Dead(Code::DeadRegion);
        }
        // A value without a marker is a call by itself, not as a part of another value.
        let is_in_value = surroundings.string || self.unread_values.is_open();
        if is_in_value || surroundings.value && frame.unmarked && !frame.fence {
            return Admission::Dead(Code::CallInString);
        }
        if surroundings.lost || surroundings.indented && policy.indented == Quote::Dead {
            return Admission::Dead(Code::DeadRegion);
        }
        if let Some(fence) = surroundings.fence {
            match policy.fences {
                Region::Live => {}
                Region::Sole if fence.first => return Admission::Pending(Pending::Sole),
                _ => return Admission::Dead(Code::DeadRegion),
            }
        }
        if policy.quote == Quote::Dead {
            if surroundings.quotation {
                return Admission::Dead(Code::DeadRegion);
            }
            if surroundings.backticks > 0 {
                return Admission::Pending(Pending::Inline);
            }
        }
        Admission::Live
    }
}
