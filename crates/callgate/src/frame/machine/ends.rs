//! Ends: of calls and of frames.

use super::super::Compiled;
use crate::attempt::{Arguments, Meaning, Name};
use crate::bytes::character_start;
use crate::dialect::turn;
use crate::draft::attributes::note_attributes;
use crate::draft::ending::Source;
use crate::draft::{Draft, DraftBody};
use crate::finding::{Code, Finding, Span};
use crate::json::RepairCode;
use crate::ledger::{Emitter, Pending};
use crate::policy::Foreign;
use crate::reception::receive;

use super::super::likeness::{LOOK_BACK, is_call_object};
use super::super::program::{Body, Frame, FrameKind};
use super::super::slips::Slip;
use super::super::specials::is_told_without_wrapper;
use super::super::threads::Thread;
use super::behind::{MoreArguments, goes_on, more_arguments, nameless_beside};
use super::bodies::is_unmarked;
use super::matching::Matching;
use super::{Machine, State};

/// Where a call ends, and whether its own end was seen there.
#[derive(Clone, Copy)]
pub(super) enum CallEnd {
    Seen(usize),
    Unseen(usize),
}

impl Machine {
    /// One call has ended; the frame may go on.
    pub(super) fn end_call(
        &mut self,
        gate: &Compiled,
        draft: Box<Draft>,
        thread: &Thread,
        ends: CallEnd,
        out: &mut Emitter<'_, '_>,
    ) {
        let mut draft = draft;
        let frame = gate.program.frame_of(thread);
        let record = &gate.rules.dialects[frame.record].record;
        // Where the next call ends this one, the thread already knows that one's name.
        let is_own = thread.calls == draft.call;
        let span = Span::new(draft.start, draft.start);
        if frame.kind == FrameKind::Wrapperless {
            // Where tokens tell calls from text, letters alone are no call.
            let is_told = |bare: &str| {
                gate.program.special.as_ref().is_none_or(|named| is_told_without_wrapper(bare, record, named))
            };
            let is_live =
                record.bare.iter().any(|bare| draft.raw.starts_with(bare.as_str()) && is_told(bare));
            // What has neither its wrapper nor its own closer may be anything.
            let lacks_closer = matches!(ends, CallEnd::Unseen(_)) && !frame.call_ends.is_empty();
            // In a sentence the name has to be that of a tool, which only a list tells.
            let is_shown = self.calls.behind_words && gate.rules.registry.is_none();
            // What was left as text before it may have been meant for it.
            let lacks_value = self.around.unread_values.take_seen();
            let may_stand = is_live && !is_shown && !lacks_value;
            if may_stand && !(lacks_closer && draft.findings.is_empty()) {
                draft.notes.push(Finding::new(Code::BareCall).at(span));
            } else {
                draft.findings.push(Finding::new(Code::MissingWrapper).at(span));
            }
        }
        if !frame.live && gate.rules.policy.foreign == Foreign::Reject {
            let message = format!("the call is written as `{}`, which is not switched on", record.name);
            draft.findings.push(Finding::new(Code::ForeignDialect).at(span).message(message));
        }
        if self.calls.behind_words && draft.is_escaped() {
            let message = "the call is escaped and stands in a sentence: it is shown, as in a string";
            draft.findings.push(Finding::new(Code::Malformed).at(span).message(message));
        }
        let is_object = matches!(draft.body, DraftBody::Json { object: true, .. });
        if is_own && thread.is_renamed {
            draft.findings.push(two_names(span));
        }
        if draft.name.is_none() && is_own && !is_object {
            draft.name = thread.name.map(|name| self.scratch.get(name).to_owned());
        }
        if is_own {
            let call = Span::new(draft.start, self.position);
            if thread.slips.has(Slip::Doubled) && draft.lacks_closer_of_value() {
                // The closer too many may be that of a value which shows parameters.
                draft.suspect_end(self.position);
            }
            thread.slips.list(&mut draft, call);
        }
        let begins_call = |body: &str| {
            let objects = body.match_indices('{').skip(1);
            let mut heads = objects.map(|(at, _)| &body[at..character_start(body, at + LOOK_BACK)]);
            frame.openers.iter().any(|opener| body.contains(opener)) || heads.any(is_call_object)
        };
        if draft.body_in_doubt().is_some_and(begins_call) {
            // What was guessed may have swallowed the next call.
            draft.suspect_end(self.position);
        }
        draft.close_params(record, &gate.rules);
        if draft.findings.is_empty() {
            draft.announce(|| Self::source(gate, frame), out);
            draft.show(out);
        }
        if draft.id.is_none() && is_own {
            draft.id = thread.id.map(|id| self.scratch.get(id).to_owned());
        }
        let (end, closed) = match ends {
            CallEnd::Seen(end) => (end, true),
            CallEnd::Unseen(end) => (end, false),
        };
        if end <= draft.start {
            // It had only seemed to begin behind the end of another one.
            let message = "the header of the call breaks off";
            draft.findings.push(Finding::new(Code::Malformed).at(span).message(message));
        }
        self.calls.ended = draft.call;
        self.calls.accounted = end;
        let unmarked = is_unmarked(frame, thread);
        if draft.behind_call().is_some_and(MoreArguments::are_in) {
            out.revoke_last(more_arguments(Span::new(draft.start, draft.start)));
        }
        let number = draft.call;
        let (mut attempt, reader) = draft.finish(Source::Frame { record, end, closed, unmarked });
        note_attributes(&mut attempt, record);
        let header = thread.name.filter(|_| is_own && is_object).map(|name| self.scratch.get(name));
        if let (Some(header), Name::Written(name)) = (header, &attempt.name)
            && gate.rules.plain_name(header, record) != gate.rules.plain_name(name, record)
        {
            attempt.findings.push(two_names(span));
        }
        attempt.shown_openers = frame.shown_openers.clone();
        let between = |c: char| matches!(c, ',' | '}' | ']') || c.is_whitespace();
        let has_members = || attempt.raw.trim_start_matches(between).starts_with('{');
        // What the output cuts off may have been going to say its name.
        let is_nameless = attempt.name == Name::Missing
            && matches!(attempt.meaning, Meaning::Call | Meaning::Data)
            && !attempt.findings.iter().any(|finding| finding.code == Code::Truncated);
        if number > 1 && is_nameless && has_members() {
            out.revoke_last(nameless_beside(span));
        } else if number > 1 && attempt.name.text().is_some_and(|name| name.starts_with('.')) {
            // What is taken from the result of a call is a part of what that call stands in.
            out.revoke_last(goes_on(span));
        }
        let was_shut = attempt.repairs.iter().any(|repair| repair.code == RepairCode::MissingCloser);
        self.calls.may_go_on = match &attempt.arguments {
            Arguments::Json(arguments) => was_shut || !frame.closers.is_empty() && arguments == "{}",
            Arguments::Blank => true,
            Arguments::Broken => false,
        };
        let is_doubtful = |code: RepairCode| {
            matches!(code, RepairCode::MissingCloser | RepairCode::WrongCloser) || code.bounds_strings()
        };
        self.calls.is_repaired = attempt.repairs.iter().any(|repair| is_doubtful(repair.code));
        receive(&gate.rules, &mut attempt, out);
        self.pool.reuse(draft, attempt, reader);
    }

    /// A frame has been read to its end.
    pub(super) fn frame_done(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        thread: Thread,
        end: usize,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let frame = gate.program.frame_of(&thread);
        if matches!(frame.kind, FrameKind::Calls | FrameKind::Wrapperless) {
            let mut matching = match self.ensure_draft(gate, matching, &thread, out) {
                Ok(matching) => matching,
                Err(state) => return state,
            };
            let call_end = thread.call_end.unwrap_or(end);
            if let Some(mut draft) = matching.draft.take() {
                self.held.keep_in(&mut draft, call_end, gate.rules.policy.limits.raw);
                self.end_call(gate, draft, &thread, CallEnd::Seen(call_end), out);
            }
            self.pool.keep_matching(matching);
            out.markup(Span::new(self.calls.accounted, end));
            self.pass_calls(gate, &thread, out);
        } else {
            self.pool.keep_matching(matching);
            if self.is_text_after_all(frame, out) {
                return self.held_is_text(gate, out);
            }
            if frame.kind == FrameKind::Turn {
                self.around.pass_token(&self.held.text, self.held.start, out);
            } else {
                let is_alone = frame.kind == FrameKind::Noise && !self.around.only_space_since_frame;
                if is_alone && gate.program.closes_call(frame) {
                    let span = Span::new(self.held.start, end);
                    out.finding_once(Finding::new(Code::ControlToken).at(span));
                }
                self.close_context(frame, end, out);
            }
        }
        let around = &mut self.around;
        around.expected_space.clone_from(&frame.after);
        around.last = 0;
        around.only_space_since_frame |= frame.kind != FrameKind::Noise;
        self.held.text.clear();
        self.calls.accounted = end;
        State::Outside
    }

    /// The thread that has read a call of a section to its own end, and that end, where what follows does not go on with the
    /// section. Behind a value that is text, only the start of another call says that the value is over.
    pub(super) fn standing(&self, gate: &Compiled, matching: &Matching) -> Option<(Thread, usize)> {
        let draft = matching.draft.as_deref()?;
        let is_closed = |thread: &&Thread| {
            let left_out = thread.skipped || thread.unclosed || thread.owes_closer;
            thread.opened
                && !left_out
                && thread.call_end.is_some_and(|end| end > draft.start.max(self.held.start))
        };
        let thread = matching.threads.iter().find(is_closed)?;
        let end = thread.call_end?;
        let rest = self.held.text.get(end - self.held.start..)?.trim_start();
        let frame = gate.program.frame_of(thread);
        // What has no closer of its own is not closed before its section is.
        if frame.call_ends.is_empty() {
            return None;
        }
        let is_over = matches!(draft.body, DraftBody::Json { .. })
            || frame.openers.iter().any(|opener| rest.starts_with(opener.as_str()));
        is_over.then_some((*thread, end))
    }

    /// A call that is closed stands, whatever is wrong with what follows it: its section ends with it.
    pub(super) fn stand(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        thread: &Thread,
        end: usize,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut matching = matching;
        let tail = self.held.text.split_off(end - self.held.start);
        self.position = end;
        if let Some(mut draft) = matching.draft.take() {
            draft.repairs.retain(|repair| repair.code != RepairCode::ExtraCloser || repair.span.start < end);
            draft.repaired(RepairCode::MissingTag, end, end);
            self.held.keep_in(&mut draft, end, gate.rules.policy.limits.raw);
            self.end_call(gate, draft, thread, CallEnd::Seen(end), out);
        }
        self.pool.keep_matching(matching);
        self.pass_calls(gate, thread, out);
        self.held.text.clear();
        self.calls.accounted = end;
        self.around.expected_space.clear();
        self.around.last = 0;
        self.around.only_space_since_frame = true;
        self.input.read_again(&tail);
        State::Outside
    }

    /// Whether a frame that was read is text where it stands: the end of a thought inside of a thought, and tags around
    /// text that is struck out.
    fn is_text_after_all(&mut self, frame: &Frame, out: &mut Emitter<'_, '_>) -> bool {
        let around = &mut self.around;
        match (frame.kind, &mut around.context) {
            (FrameKind::ReasoningEnd, Some(context)) => {
                // A slip of its own end, or a word in it. The thought may go on; the calls in it were thought either way.
                out.resolve(Pending::Thought, false);
                match context.others.checked_sub(1) {
                    Some(others) => context.others = others,
                    None => {
                        let finding = Finding::new(Code::LateReasoningEnd).message(
                            "the end of a thought of another name: the thought that is open goes on",
                        );
                        out.finding_once(finding.at(Span::new(self.held.start, self.position)));
                    }
                }
                true
            }
            (FrameKind::Reasoning, Some(context)) if context.nested > 0 => {
                context.nested -= 1;
                true
            }
            (FrameKind::Turn, _) if self.held.text == turn::STRUCK.0 => {
                around.struck = !around.regions.blank;
                around.struck
            }
            (FrameKind::Turn, _) => self.held.text == turn::STRUCK.1 && std::mem::take(&mut around.struck),
            _ => false,
        }
    }

    /// The end of text, of reasoning or of what was skipped.
    fn close_context(&mut self, frame: &Frame, end: usize, out: &mut Emitter<'_, '_>) {
        let around = &mut self.around;
        let start = self.held.start;
        if frame.kind == FrameKind::ReasoningEnd {
            around.claim_space(0, start, out);
            out.markup(Span::new(start, end));
            let is_first = !std::mem::replace(&mut around.has_thought, true);
            if is_first {
                // What came before was thought.
                around.watch.forget();
            }
            out.late_reasoning_end(Span::new(start, end), is_first);
            around.regions.reset();
            return;
        }
        if let Some(turn) = turn::marked(self.held.text.trim()) {
            around.pass_turn(turn);
        }
        // Noise that skips nothing stands inside of whatever is open and leaves it open.
        let skips = around.context.as_ref().is_some_and(|context| context.kind == Body::Skip);
        let closes = frame.kind != FrameKind::Noise || skips;
        let closed = if closes { around.context.take() } else { None };
        let trail = match closed.as_ref().map(|context| &context.kind) {
            Some(Body::Reasoning { trail, .. }) => trail.len(),
            _ => 0,
        };
        if let Some(outer) = closed.and_then(|context| context.outer) {
            around.context = Some(*outer);
        }
        // The closer ends a context that was opened before; noise has none and leaves text as it is.
        if frame.kind == FrameKind::Reasoning {
            out.resolve(Pending::Thought, false);
            around.only_space_since_frame = false;
            around.claim_reasoning_space(trail, start, out);
        } else {
            around.claim_space(0, start, out);
        }
        if frame.kind != FrameKind::Noise {
            around.regions.reset();
        }
        out.markup(Span::new(start, end));
    }

    /// Leaves a frame whose end was not seen.
    pub(super) fn leave_frame(&mut self, end: usize, ended_line: bool, out: &mut Emitter<'_, '_>) -> State {
        self.held.text.clear();
        self.calls.accounted = end;
        let around = &mut self.around;
        around.expected_space.clear();
        around.last = 0;
        around.only_space_since_frame = true;
        around.behind_call = true;
        around.unread_values.pass_frame();
        let change = around.regions.pass_frame(ended_line);
        around.apply(change, out);
        State::Outside
    }

    /// Ends the open call without having seen the end of its frame.
    pub(super) fn abandon(
        &mut self,
        gate: &Compiled,
        draft: Box<Draft>,
        thread: &Thread,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let end = self.position;
        self.end_call(gate, draft, thread, CallEnd::Unseen(end), out);
        self.leave_frame(end, false, out)
    }
}

/// The finding for a call whose markup has one name and then another.
fn two_names(span: Span) -> Finding {
    Finding::new(Code::Ambiguous)
        .at(span)
        .message("the call names two tools, or two arguments in one tag, so it was not run")
}
