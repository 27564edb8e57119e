//! Admission: whether a frame of calls is read where it stands, and the draft that then begins.

use crate::dialect::Record;
use crate::finding::{Code, Finding, Span};
use crate::gate::Compiled;
use crate::ledger::{Out, Pending};
use crate::policy::{Foreign, Position, Quote, Region};

use super::super::program::{Body, Frame};
use super::super::region::Surroundings;
use super::super::threads::Thread;
use super::Machine;

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
    /// Makes sure that there is a draft for the call this thread is in, unless that call is over. False if it is no
    /// call after all.
    pub(super) fn ensure_draft(&mut self, gate: &Compiled, thread: Thread, out: &mut Out<'_, '_>) -> bool {
        let is_over = self.draft.is_none() && self.ended_call == thread.calls && thread.calls > 0;
        if is_over || self.draft.as_ref().is_some_and(|draft| draft.call == thread.calls) {
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
        self.draft = Some(self.new_draft(number, thread.calls, start));
        true
    }

    /// Decides by its place whether a frame of calls is read. False: it became text.
    pub(super) fn admit(&mut self, gate: &Compiled, thread: Thread, out: &mut Out<'_, '_>) -> bool {
        let frame = gate.program.frame_of(&thread);
        let record = &gate.records[frame.record].record;
        let around = self.regions.surroundings();
        let backticks = around.backticks;
        let admission = self.admission(gate, frame, record, around);
        match admission {
            Admission::Live | Admission::Pending(_) => {
                if self.context.is_some() && admission == Admission::Live {
                    self.context = None;
                }
                self.claim_space(record.before.len(), self.held_start, out);
                if around.indented {
                    out.finding_once(
                        Finding::new(Code::IndentedCode).at(Span::new(self.held_start, self.position)),
                    );
                }
                if !self.in_reasoning() {
                    let change = self.regions.read_word();
                    self.apply(change, out);
                }
                if let Admission::Pending(pending) = admission {
                    out.pend(pending, backticks);
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
                if let Some(watch) = &mut self.watch {
                    watch.shown += 1;
                }
                if let Admission::Dead(code) = admission {
                    out.finding_once(Finding::new(code).at(Span::new(self.held_start, self.position)));
                }
                self.held_is_text(gate, out);
                false
            }
        }
    }

    fn admission(&self, gate: &Compiled, frame: &Frame, record: &Record, around: Surroundings) -> Admission {
        let policy = &gate.policy;
        if !frame.live && policy.foreign == Foreign::Ignore {
            return Admission::Ignored;
        }
        if self.turn.is_some_and(|turn| !record.writes(turn.marker)) {
            return Admission::Dead(Code::AfterEnd);
        }
        if let Some(context) = &self.context
            && matches!(context.kind, Body::Reasoning { .. })
        {
            if policy.reasoning == Quote::Live {
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
        // A value without a marker is a call by itself, not as a part of another value.
        if around.string || around.value && frame.unmarked && !frame.fence {
            return Admission::Dead(Code::CallInString);
        }
        if around.lost || around.indented && policy.indented == Quote::Dead {
            return Admission::Dead(Code::DeadRegion);
        }
        if let Some(fence) = around.fence {
            match policy.fences {
                Region::Live => {}
                Region::Sole if fence.first => return Admission::Pending(Pending::Sole),
                _ => return Admission::Dead(Code::DeadRegion),
            }
        }
        if policy.quote == Quote::Dead {
            if around.quotation {
                return Admission::Dead(Code::DeadRegion);
            }
            if around.backticks > 0 {
                return Admission::Pending(Pending::Inline);
            }
        }
        Admission::Live
    }

    /// Says that a call has begun, once its name and its dialect are beyond doubt.
    pub(super) fn announce(&mut self, gate: &Compiled, lead: Thread, out: &mut Out<'_, '_>) {
        let Some(name) = lead.name else { return };
        if self.draft.as_ref().is_none_or(|draft| draft.started) || self.threads.in_word() {
            return;
        }
        let name = self.scratch.get(name);
        let record = gate.program.frame_of(&lead).record;
        let agreed = self.threads.iter().filter(|thread| thread.committed).all(|thread| {
            gate.program.frame_of(thread).record == record
                && thread.name.is_some_and(|other| self.scratch.get(other) == name)
        });
        if !agreed {
            return;
        }
        let name = name.to_owned();
        if let Some(draft) = &mut self.draft {
            draft.name = Some(name);
            draft.announce(|| Self::source(gate, gate.program.frame_of(&lead)), out);
        }
    }

    /// The name from the header, where the header has one.
    pub(super) fn announce_name(&mut self, gate: &Compiled, thread: Thread, out: &mut Out<'_, '_>) {
        let Some(name) = thread.name else { return };
        let name = self.scratch.get(name);
        let frame = gate.program.frame_of(&thread);
        let Some(draft) = &mut self.draft else { return };
        draft.id = thread.id.map(|id| self.scratch.get(id).to_owned());
        if draft.name.as_deref() != Some(name) {
            draft.name = Some(name.to_owned());
        }
        draft.announce(|| Self::source(gate, frame), out);
    }
}
