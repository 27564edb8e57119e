//! Forgiving: what is held is read again by the twins of its frames, with slips.

use super::super::Compiled;
use super::super::instructions::SHORTEST_SIGN;
use super::super::program::{Pc, begins_with_bar};
use super::super::threads::Thread;
use super::matching::{Matching, Waiting, is_marker};
use super::pool::give_back;
use super::{Machine, State};
use crate::draft::{Draft, DraftBody};
use crate::finding::Finding;

impl Machine {
    /// The threads that read what is held again with slips.
    pub(super) fn twins(&self, gate: &Compiled, matching: &Matching, c: char) -> Vec<Thread> {
        if let Some(body) = &matching.after_body {
            return gate.program.twin_at_body(body).map(Thread::past_body).into_iter().collect();
        }
        let is_certain = matching.draft.is_some();
        let lead = matching.threads.lead().filter(|_| matching.threads.is_empty());
        let mut frames: Vec<u16> = Vec::new();
        for thread in matching.threads.iter().chain(lead) {
            let frame = gate.program.frame_of(thread);
            let Some(twin) = frame.twin.filter(|twin| !frames.contains(twin)) else { continue };
            if is_certain || is_marker(gate, thread) || frame.is_opened_by(&self.held.text) {
                frames.push(twin);
            }
        }
        let frames = frames.into_iter().map(|frame| &gate.program.frames[frame as usize]);
        let starts = frames.flat_map(|frame| {
            // At the very start, the prompt may have had the start of the opener.
            let after_prompt = frame.after_prompt.iter().filter(|_| self.held.start == 0);
            [(frame.start, 0)].into_iter().chain(after_prompt.map(|pc| (*pc, 1)))
        });
        let mut starts: Vec<(Pc, u32)> = starts.collect();
        // Where nothing has ended, a token may be one that is spelled otherwise.
        let may_be_respelled = starts.is_empty() && matching.best.is_none();
        if may_be_respelled && (begins_with_bar(&self.held.text) || self.held.text == "<" && is_bar(c)) {
            starts.extend(gate.program.respelled.iter().map(|start| (*start, 0)));
        }
        let begin = |(start, calls)| {
            let mut thread = Thread::new(start, self.held.start);
            thread.calls = calls;
            thread
        };
        starts.into_iter().map(begin).collect()
    }

    /// Whether a reading has gone on over a marker since this body could have begun, and goes on with slips.
    pub(super) fn has_gone_on(
        &self,
        gate: &Compiled,
        matching: &Matching,
        parked: &Waiting,
        c: char,
    ) -> bool {
        let has_marker = matching.threads.lead().is_some_and(|lead| {
            let is_opened = || gate.program.frame_of(lead).is_opened_by(&self.held.text);
            lead.pieces > parked.thread.pieces || lead.pieces == 0 && is_opened()
        });
        matching.failed.is_none() && has_marker && !self.twins(gate, matching, c).is_empty()
    }

    /// Whether a call may be meant that goes on beyond what could have ended: a token of the prompt that it begins with, or
    /// itself without its closer, before a tag.
    pub(super) fn goes_beyond(
        &self,
        gate: &Compiled,
        matching: &Matching,
        (best, length): &(Thread, usize),
    ) -> bool {
        let beyond = self.held.text.get(*length..).unwrap_or_default().trim();
        let is_tag = beyond.starts_with('<') && !begins_with_bar(beyond);
        beyond.len() >= SHORTEST_SIGN && (matching.ends_otherwise(gate) || best.skipped && is_tag)
    }

    /// Whether a call that no closer of its own ends has no body, and something follows that may be meant as one.
    pub(super) fn is_bodiless(
        &self,
        gate: &Compiled,
        matching: &Matching,
        (best, length): &(Thread, usize),
        c: char,
    ) -> bool {
        let draft = matching.draft.as_deref().filter(|draft| draft.call == best.calls && best.skipped);
        let has_no_body = |draft: &Draft| matches!(draft.body, DraftBody::None);
        let mut rest = self.held.text.get(*length..).unwrap_or_default().trim_start().chars().chain([c]);
        let is_token = matches!((rest.next(), rest.next()), (Some('<'), Some('|' | '｜')) | (Some('['), _));
        draft.is_some_and(has_no_body) && gate.program.frame_of(best).call_ends.is_empty() && !is_token
    }

    /// Reads what is held again, with slips. What could have ended there still can.
    pub(super) fn forgive(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        twins: &[Thread],
        failed: Finding,
        best: Option<(Thread, usize)>,
    ) -> State {
        let mut again = self.pool.matching();
        let mut matching = matching;
        again.draft = matching.draft.take();
        // Where the prompt had the start of the opener, the first call has not been counted.
        if let Some(draft) = again.draft.as_mut().filter(|_| matching.after_body.is_none()) {
            draft.call = draft.call.max(1);
        }
        again.after_body = matching.after_body;
        again.failed = Some(Box::new(failed));
        again.best = best;
        self.pool.keep_matching(matching);
        again.threads.start(&gate.program, &mut self.scratch, twins.iter().copied(), self.held.start);
        let held = std::mem::take(&mut self.held.text);
        self.position = self.held.start;
        self.input.read_again(&held);
        give_back(&mut self.held.text, held);
        State::Matching(again)
    }
}

fn is_bar(c: char) -> bool {
    matches!(c, '|' | '｜')
}
