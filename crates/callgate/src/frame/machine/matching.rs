//! Literals and words: the threads read a header until it is clear what it is, and where it may stand.

use crate::dialect::is_word_character;
use crate::draft::{Draft, DraftBody};
use crate::finding::{Code, Finding, Span};
use crate::gate::Compiled;
use crate::json::RepairCode;
use crate::ledger::Out;

use super::super::program::{FrameKind, Op};
use super::super::region::Change;
use super::super::threads::{Fate, Survey, Thread};
use super::{LONGEST_HEADER, Machine, State, give_back};

impl Machine {
    #[inline(never)] // See `run`.
    pub(super) fn matching(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let mut used = 0;
        while self.state == State::Matching && self.replay.is_empty() {
            let run = self.pass(gate, &rest[used..], LONGEST_HEADER.saturating_sub(self.held.len()));
            if run > 0 {
                self.held.push_str(&rest[used..used + run]);
                used += run;
            }
            let Some(c) = rest[used..].chars().next() else { break };
            if !self.match_char(gate, c, out) {
                break;
            }
            used += c.len_utf8();
        }
        used
    }

    /// Passes over what all threads read alike: nothing is decided there. Says how many bytes that is, at most so many.
    pub(super) fn pass(&mut self, gate: &Compiled, rest: &str, most: usize) -> usize {
        let mut most = most.min(rest.len());
        while !rest.is_char_boundary(most) {
            most -= 1;
        }
        let run = self.threads.pass(&gate.program, &mut self.scratch, &rest[..most]);
        self.position += run;
        run
    }

    /// Reads one character. False if it was not read because the state has changed.
    pub(super) fn match_char(&mut self, gate: &Compiled, c: char, out: &mut Out<'_, '_>) -> bool {
        let program = &gate.program;
        if self.threads.in_word() && !is_word_character(c) {
            self.threads.end_words(program, &mut self.scratch, self.position);
            self.drop_unknown(gate);
            self.note_known(gate, out);
            if self.state != State::Matching {
                return false;
            }
        }
        self.waiting.clear();
        for (thread, body) in self.threads.at_body(program) {
            if program.bodies[body as usize].can_start(c) {
                self.waiting.push(*thread);
            }
        }
        if self.step(gate, c) {
            if self.parked.is_empty() {
                std::mem::swap(&mut self.waiting, &mut self.parked);
                self.parked_at = self.held.len();
            }
            self.held.push(c);
            self.position += c.len_utf8();
            if self.held.len() > LONGEST_HEADER && self.draft.is_none() {
                self.give_up(gate, out);
            } else {
                self.after_step(gate, out);
                self.threads.settle();
            }
            return true;
        }
        if !self.waiting.is_empty() {
            self.enter(gate, out);
            return false;
        }
        if !self.parked.is_empty() {
            let tail = self.held.split_off(self.parked_at);
            self.position -= tail.len();
            std::mem::swap(&mut self.waiting, &mut self.parked);
            self.enter(gate, out);
            self.read_again(&tail);
            return false;
        }
        self.mismatch(gate, c, out)
    }

    pub(super) fn step(&mut self, gate: &Compiled, c: char) -> bool {
        let mut buffer = [0; 4];
        for (position, byte) in (self.position..).zip(c.encode_utf8(&mut buffer).bytes()) {
            if self.threads.step(&gate.program, &mut self.scratch, byte, position) == Fate::Dead {
                return false;
            }
        }
        if self.threads.in_word() {
            self.scratch.push_word(c);
        }
        true
    }

    /// After a character was read: is a call certain, is the frame over, does a body begin?
    pub(super) fn after_step(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        // A frame cannot end before a call that has begun in it.
        let begun = self.draft.as_ref().map_or(0, |draft| draft.call);
        let Survey { matched, all_matched, all_committed, all_raw } = self.threads.survey(&gate.program);
        if let Some(thread) = matched.filter(|thread| thread.calls >= begun) {
            self.best = Some((*thread, self.held.len()));
        }
        if all_committed && self.parked.is_empty() && !self.ends_otherwise(gate) && !self.commit(gate, out) {
            return;
        }
        if all_matched {
            if let Some((thread, _)) = self.best {
                self.frame_done(gate, thread, self.position, out);
            }
            return;
        }
        if all_raw {
            self.waiting.clear();
            self.waiting.extend(self.threads.iter());
            self.enter(gate, out);
        }
    }

    /// Whatever comes now, this is a call. False if it is in a place where there can be none.
    fn commit(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) -> bool {
        let Some(lead) = self.threads.iter().next() else { return true };
        // Where the frame could have ended, another call begins only once it has a name or a body.
        let begins_another = self.best.as_ref().is_some_and(|(best, _)| best.calls != lead.calls);
        if begins_another && (lead.name.is_none() || self.threads.in_word()) {
            return true;
        }
        if begins_another {
            self.best = None;
        }
        if self.draft.as_ref().is_some_and(|draft| draft.call == lead.calls && draft.started) {
            return true;
        }
        let lead = *lead;
        if !self.ensure_draft(gate, lead, out) {
            return false;
        }
        self.announce(gate, lead, out);
        true
    }

    /// Whether something else than a call could end here: as long as that is so, no call is certain.
    fn ends_otherwise(&self, gate: &Compiled) -> bool {
        self.best.as_ref().is_some_and(|(best, _)| {
            !matches!(gate.program.frame_of(best).kind, FrameKind::Calls | FrameKind::Wrapperless)
        })
    }

    /// In formats whose tags are the tools' own names, a tag that is no parameter of the tool is not one.
    pub(super) fn drop_unknown(&mut self, gate: &Compiled) {
        let scratch = &self.scratch;
        self.threads.retain(|thread| {
            let frame = gate.program.frame_of(thread);
            if !gate.records[frame.record].record.known {
                return true;
            }
            let Some(key) = thread.key else { return true };
            let tool = thread.name.and_then(|name| gate.tool(scratch.get(name)));
            tool.is_some_and(|tool| tool.has_key(scratch.get(key)))
        });
    }

    /// In formats whose marker is the tool's own name, a known name is already a call.
    pub(super) fn note_known(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        let lead = self.threads.iter().find(|thread| {
            let frame = gate.program.frame_of(thread);
            gate.records[frame.record].record.known
                && thread.name.is_some_and(|name| gate.knows(self.scratch.get(name)))
        });
        if let Some(lead) = lead.copied()
            && self.draft.is_none()
            && !self.ends_otherwise(gate)
            && self.ensure_draft(gate, lead, out)
        {
            self.announce(gate, lead, out);
        }
    }

    /// No thread takes the character. True if it was read all the same.
    pub(super) fn mismatch(&mut self, gate: &Compiled, c: char, out: &mut Out<'_, '_>) -> bool {
        // Around an object that nothing marks, a bracket belongs to the text.
        let is_marked = self.threads.lead().is_some_and(|lead| {
            let frame = gate.program.frame_of(lead);
            !frame.unmarked || frame.fence
        });
        let is_closer = matches!(c, '}' | ']' | ')') && is_marked && self.may_take_closer(gate);
        let goes_on = self.threads.iter().any(|thread| gate.program.ops[thread.pc as usize] != Op::Match);
        if self.best.is_some() {
            // A closer may be missing here, or come after a bracket too many: what follows tells.
            if is_closer && goes_on && self.follows_json() {
                self.extra_closer(c);
                return true;
            }
            self.end_at_best(gate, out);
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
            Finding::new(Code::BadJson).message(format!(
                "Invalid JSON block: a JSON object was expected, `{}` was found",
                c.escape_debug()
            ))
        } else {
            Finding::new(Code::Malformed)
                .message(format!("`{}` cannot stand here in this format", c.escape_debug()))
        };
        self.refuse(gate, Some(finding.at(at)), out);
        false
    }

    /// The frame ends where it could end best; what was held after that is read again.
    pub(super) fn end_at_best(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        let Some((thread, length)) = self.best else { return };
        let tail = self.held.split_off(length);
        self.position -= tail.len();
        if let Some(draft) = &mut self.draft {
            let end = self.position;
            draft.repairs.retain(|repair| repair.code != RepairCode::ExtraCloser || repair.span.start < end);
        }
        self.frame_done(gate, thread, self.position, out);
        self.read_again(&tail);
    }

    pub(super) fn follows_json(&self) -> bool {
        self.draft.as_ref().is_some_and(|draft| matches!(draft.body, DraftBody::Json { .. }))
    }

    /// Whether a closing bracket that closes nothing may be passed over: nothing else is held, and repairs are left.
    fn may_take_closer(&mut self, gate: &Compiled) -> bool {
        // What was looked at for the bracket before this one is not looked at again.
        if self.closers.0 != self.held_start {
            self.closers = (self.held_start, 0);
        }
        let from = self.closers.1.min(self.held.len());
        let only_closers =
            self.held[from..].chars().all(|c| c.is_whitespace() || matches!(c, '}' | ']' | ')'));
        if only_closers {
            self.closers.1 = self.held.len();
        }
        let is_left = |draft: &Draft| draft.repairs.len() <= gate.policy.limits.repairs;
        only_closers && self.draft.as_ref().is_none_or(is_left)
    }

    /// Takes a closing bracket that closes nothing.
    pub(super) fn extra_closer(&mut self, c: char) {
        if let Some(draft) = &mut self.draft {
            draft.repaired(RepairCode::ExtraCloser, self.position, self.position + 1);
        }
        self.held.push(c);
        self.position += 1;
    }

    /// The held text is no frame: its first character is text, the rest is read again.
    pub(super) fn give_up(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
        if self.draft.is_some() {
            // An object that is no call was read as a whole and is not read again.
            self.held_is_text(gate, out);
            return;
        }
        let last = self.threads.lead().filter(|lead| self.is_marker(gate, lead));
        let marker = self.threads.iter().find(|thread| self.is_marker(gate, thread)).or(last);
        if let Some(thread) = marker {
            let record = &gate.records[gate.program.frame_of(thread).record].record;
            let code = if record.lines && thread.name.is_some() {
                Some(Code::IncompleteDirective)
            } else {
                (!record.known && !record.lines).then_some(Code::StrayMarker)
            };
            if let Some(code) = code {
                out.finding_once(Finding::new(code).at(Span::new(self.held_start, self.position)));
            }
        } else if gate.program.markers.iter().any(|marker| self.held.starts_with(&**marker)) {
            // The threads that read the opener may be gone before those that went on with it.
            out.finding_once(Finding::new(Code::StrayMarker).at(Span::new(self.held_start, self.position)));
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
        self.read_again(tail);
        give_back(&mut self.held, held);
    }

    /// Whether a thread has read the marker of a call.
    pub(super) fn is_marker(&self, gate: &Compiled, thread: &Thread) -> bool {
        let frame = gate.program.frame_of(thread);
        thread.pieces > 0 && frame.kind == FrameKind::Calls && !frame.unmarked
    }

    /// All of the held text is text; openers inside it are not looked for.
    pub(super) fn held_is_text(&mut self, gate: &Compiled, out: &mut Out<'_, '_>) {
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
            if change != Change::default() && out.is_pending() {
                let end = i + c.len_utf8();
                self.emit(gate, &held[from..end], out);
                from = end;
                self.apply(change, out);
            }
        }
        self.emit(gate, &held[from..], out);
        give_back(&mut self.held, held);
    }
}
