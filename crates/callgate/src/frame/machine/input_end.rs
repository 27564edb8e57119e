//! The end of the input: what is open there is settled, whatever it was.

use super::super::Compiled;
use crate::dialect::{Repeats, turn};
use crate::draft::lines::{LineReader, Progress};
use crate::draft::{Draft, DraftBody};
use crate::ending::{FinishReason, Lacks, closing};
use crate::finding::{Code, Finding, Span};
use crate::json::{ReaderState, RepairCode};
use crate::ledger::Emitter;

use super::super::instructions::SHORTEST_SIGN;
use super::super::program::{Body, Frame, FrameKind};
use super::bodies::{Inside, Settled};
use super::matching::{Matching, Waiting};
use super::skipping::Skip;
use super::{Machine, State};

impl Machine {
    /// Settles what is open when the input ends, or gives up one reading of it.
    pub(super) fn finish_state(
        &mut self,
        gate: &Compiled,
        state: State,
        reason: FinishReason,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        match state {
            State::Outside => State::Outside,
            State::Opening(opener, matching) => self.take_up(gate, opener, matching),
            State::Matching(matching) => self.finish_matching(gate, matching, reason, out),
            State::Body(mut inside) => match inside.lines.take() {
                Some(lines) => self.finish_lines(gate, inside, lines, reason, out),
                None if inside.reads_value() => self.finish_value(gate, inside, reason, out),
                None => self.finish_json(gate, inside, reason, out),
            },
            State::Looking(inside, look) => self.finish_look(gate, inside, look, out),
            State::Skipping(skip) => {
                let Skip { draft, thread, .. } = *skip;
                self.abandon(gate, draft, &thread, out)
            }
        }
    }

    /// The input ends in a header, or after a body.
    fn finish_matching(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        reason: FinishReason,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut matching = matching;
        let program = &gate.program;
        let Matching { threads, at_body, best, .. } = &mut *matching;
        threads.end_input(program, &mut self.scratch, self.position);
        // Lines may be none at all, and then the call is over with its name.
        let is_lines = |waiting: &Waiting| matches!(program.bodies[waiting.body as usize], Body::Lines(_));
        at_body.clear();
        at_body.extend(Waiting::of(threads, program).filter(is_lines));
        if let Some(first) = at_body.first().copied() {
            return self.enter(gate, matching, first, out);
        }
        if let Some(thread) = threads.matched(program) {
            *best = Some((*thread, self.held.text.len()));
        }
        if let Some(best) = matching.best {
            // What was begun behind it is a part of the markup that would go on.
            let has_begun_more = self.held.text.get(best.1..).is_some_and(|rest| !rest.trim().is_empty());
            self.end_open(gate, &mut matching, has_begun_more, reason);
            return self.end_at_best(gate, matching, best, out);
        }
        match matching.draft.take() {
            Some(draft) => self.finish_call(gate, matching, draft, reason, out),
            None => self.give_up(gate, matching, out),
        }
    }

    /// The input ends where the call may be over, but may go on as well: where more arguments could follow, or where it was
    /// cut off, that is not the end of it. An object says by itself when it is whole.
    fn end_open(
        &mut self,
        gate: &Compiled,
        matching: &mut Matching,
        has_begun_more: bool,
        reason: FinishReason,
    ) {
        if let Some(draft) = &mut matching.draft
            && !matches!(draft.body, DraftBody::Json { .. })
        {
            let (at_all, with_more) = matching.threads.could_go_on(&gate.program, draft.call, draft.start);
            if with_more || at_all && reason.is_cut() {
                let may_close = closing(&gate.rules, reason, draft.name.as_deref(), Lacks::Mark);
                draft.end_with(may_close.filter(|_| !(with_more && has_begun_more)), self.position);
            }
        }
    }

    /// The input ends after a body: closers may be missing, anything else may not.
    fn finish_call(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        draft: Box<Draft>,
        reason: FinishReason,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut draft = draft;
        let end = self.position;
        let whole = matching.lacks_only_closers(gate, &draft);
        let last = matching.threads.lead().copied();
        let expected = matching.threads.iter().find_map(|thread| gate.program.expected(thread));
        let say_expected = |draft: &mut Draft| {
            if let Some(marker) = &expected {
                draft.expected_at_end(marker, Repeats::default());
            }
        };
        self.pool.keep_matching(matching);
        self.held.keep_in(&mut draft, end, gate.rules.policy.limits.raw);
        if let Some(thread) = whole {
            let own = thread.name.filter(|_| draft.name.is_none()).map(|name| self.scratch.get(name));
            let may_close = closing(&gate.rules, reason, draft.name.as_deref().or(own), Lacks::Closers);
            draft.end_with(may_close, end);
            say_expected(&mut draft);
            draft.repaired(RepairCode::MissingTag, end, end);
            return self.abandon(gate, draft, &thread, out);
        }
        draft.end_with(None, end);
        say_expected(&mut draft);
        match last {
            Some(thread) => self.abandon(gate, draft, &thread, out),
            None => self.leave_frame(end, false, out),
        }
    }

    fn finish_json(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        reason: FinishReason,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut inside = inside;
        // What can only be a call is one even if its end never came.
        if inside.tentative {
            match self.settle(gate, &mut inside, ReaderState::Reading, out) {
                Settled::Call => {}
                Settled::Text => return State::Outside,
                Settled::NotYet => return self.held_is_text(gate, out),
            }
        }
        inside.show(gate, out);
        inside.draft.end_json(&gate.rules, reason, self.position, Some(Lacks::Rest));
        let frame = gate.program.frame_of(&inside.first);
        if inside.draft.shows_any(&frame.end_marks) {
            // A string has lost its end, and so what stands in it is not what was meant.
            inside.draft.suspect_end(self.position);
        }
        inside.show(gate, out);
        let thread = inside.first;
        let draft = self.pool.leave(inside);
        self.abandon(gate, draft, &thread, out)
    }

    /// The input ends inside of lines, which is where lines end.
    fn finish_lines(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        lines: Box<LineReader>,
        reason: FinishReason,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let (mut inside, mut lines) = (inside, lines);
        let end = self.position;
        let record = inside.record(gate);
        let draft = &mut inside.draft;
        let tool = draft.tool(&gate.rules, record);
        let progress = draft.read_lines(record, tool, |reading| lines.finish(end, reading));
        if progress != Progress::Reading {
            return self.lines_came_to(gate, inside, progress, out);
        }
        // Nothing but the provider's word tells the end of a line from a line that was cut off.
        if lines.touches_end() {
            let may_close = closing(&gate.rules, reason, draft.name.as_deref(), Lacks::Mark);
            draft.end_with(may_close, end);
        }
        inside.show(gate, out);
        let thread = inside.first;
        let draft = self.pool.leave(inside);
        self.abandon(gate, draft, &thread, out)
    }

    /// The input ends inside of a value, which may have lost its closer, or of program text, which has no end of its own.
    fn finish_value(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        reason: FinishReason,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let thread = inside.first;
        let mut draft = self.pool.leave(inside);
        let end = self.position;
        let is_code = matches!(draft.body, DraftBody::Code(_));
        while let DraftBody::Code(code) = &mut draft.body
            && let Some(token) = turn::last_token(code.trim_end())
        {
            let at = code.trim_end().len() - token.len();
            let start = end - (code.len() - at);
            code.truncate(at);
            out.finding_once(Finding::new(Code::ControlToken).at(Span::new(start, start + token.len())));
        }
        if let DraftBody::Code(code) = &mut draft.body {
            let in_fence = self.around.regions.surroundings().fence.is_some();
            let is_doubtful = end_code(gate, gate.program.frame_of(&thread), code, in_fence);
            if is_doubtful {
                draft.suspect_end(end);
            }
        }
        let lacks = if is_code { Lacks::Mark } else { Lacks::Rest };
        let may_close = closing(&gate.rules, reason, draft.name.as_deref(), lacks);
        // What shows markup of its own frame may have swallowed a closer that was not written well.
        let frame = gate.program.frame_of(&thread);
        let repeats = self.scratch.repeats(&thread);
        let is_over = |draft: &Draft| {
            let shows_end = || draft.value_holds(&frame.end_marks, repeats);
            draft.value_shows(&frame.closers, repeats) || shows_end() || draft.value_ends_turn()
        };
        // Of a value that had only begun, nothing was written.
        let is_begun = is_code || !draft.value_is_blank();
        let may_close = may_close.filter(|_| is_code || is_begun && !is_over(&draft));
        if !is_code && may_close.is_some() {
            let own: Vec<_> =
                frame.value_closers.iter().map(|closer| draft.filled(closer, repeats)).collect();
            let span = Span::new(draft.body_start.unwrap_or(end), end);
            if draft.value_ends_in_start(&own)
                || draft.value_is_unbalanced(&own, (true, true), &frame.heads, span)
            {
                draft.suspect_end(end);
            }
            draft.end_value(span, true);
        }
        draft.end_with(may_close, end);
        if let Some(closer) = frame.closers.first().filter(|_| !is_code) {
            draft.expected_at_end(closer, repeats);
        }
        self.abandon(gate, draft, &thread, out)
    }
}

/// Ends program text where the response does: line breaks behind it are layout, and in a code fence the line that closes
/// the fence is. True if it shows its own opener, the end of another frame or what others say: nobody can tell then where
/// it ended.
fn end_code(gate: &Compiled, frame: &Frame, code: &mut String, in_fence: bool) -> bool {
    let mut end = code.trim_end_matches(['\n', '\r']).len();
    if in_fence && let Some(before) = code[..end].trim_end_matches('`').strip_suffix('\n') {
        let is_fence = end - before.len() > 3;
        end = if is_fence { before.trim_end_matches(['\n', '\r']).len() } else { end };
    }
    code.truncate(end);
    let is_telling = |opener: &&String| opener.len() >= SHORTEST_SIGN && opener.starts_with(['<', '[']);
    let closes_other = || {
        let ends = gate.program.frames.iter().filter(|frame| frame.kind == FrameKind::Turn);
        ends.filter(|end| end.marker.starts_with("</")).any(|end| code.ends_with(&*end.marker))
    };
    let lets_others_speak = || code.lines().any(turn::lets_others_speak);
    frame.openers.iter().filter(is_telling).any(|opener| code.contains(opener.as_str()))
        || closes_other()
        || lets_others_speak()
}
