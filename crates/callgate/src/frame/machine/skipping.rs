//! Rejected calls: their text is skipped up to where reading can go on.

use super::super::Compiled;
use crate::dialect::{Repeats, turn};
use crate::draft::{Draft, DraftBody};
use crate::ending::{FinishReason, Lacks, closing};
use crate::finding::{Code, Finding, Span};
use crate::json::RepairCode;
use crate::ledger::Emitter;
use crate::policy::Quote;

use super::super::threads::{Thread, reaches_end};
use super::ends::CallEnd;
use super::literals::{LiteralMatcher, Resync};
use super::matching::Matching;
use super::pool::give_back;
use super::{Machine, State};

/// A rejected call that is being skipped.
#[derive(Debug)]
pub(super) struct Skip {
    pub(super) draft: Box<Draft>,
    /// The thread that had read it.
    pub(super) thread: Thread,
    /// What its end is recognised by.
    ends: LiteralMatcher,
    /// Where the last line that was passed began.
    line_start: Option<usize>,
    /// What may turn out to be the end of the turn, where nothing but closers was missing.
    turn_end: Option<TurnEnd>,
}

/// A call that lacks nothing but its closers, and what was read behind it: white space, and the start of a token that ends
/// the turn.
#[derive(Debug)]
struct TurnEnd {
    /// The thread that has only closers left.
    thread: Thread,
    /// The first of them.
    expected: Option<String>,
    /// Whether the end of the call itself was passed, at which reading goes on if the turn does not end.
    passed_end: bool,
    read: String,
}

impl Machine {
    /// The call is broken: it is skipped to its end.
    pub(super) fn reject(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        draft: Box<Draft>,
        finding: Finding,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut draft = draft;
        let threads = &matching.threads;
        let thread = threads.iter().find(|thread| thread.committed).or_else(|| threads.lead()).copied();
        // The thread that would have read the closers may be gone before one that looked for another call.
        let from_body = || matching.after_body.map(Thread::past_body);
        let is_whole = |thread: &Thread| reaches_end(&gate.program, thread.pc);
        let whole = matching.lacks_only_closers(gate, &draft).or_else(|| from_body().filter(is_whole));
        let is_own = |thread: &Thread| thread.calls == draft.call && finding.code == Code::Malformed;
        let whole = whole.filter(is_own);
        let turn_end = whole.map(|thread| TurnEnd {
            thread,
            expected: gate.program.expected(&thread),
            passed_end: false,
            read: String::new(),
        });
        self.pool.keep_matching(matching);
        let Some(thread) = thread else { return self.held_is_text(gate, out) };
        draft.findings.push(finding);
        if draft.name.is_none() {
            draft.name = thread.name.map(|name| self.scratch.get(name).to_owned());
        }
        // A sentence speaks of a header that has words before it and others behind it in its line, unless it names a tool. Where
        // special tokens count only if they came as such, letters do not tell what the header was.
        let tag_end = self.held.text.rfind(['>', ']']).unwrap_or_default();
        let is_shown = self.calls.behind_words && !self.held.text[tag_end..].contains('\n');
        let is_told = gate.program.special.is_none() && matches!(draft.body, DraftBody::None);
        let is_tool = |name: &str| gate.rules.registry.is_some() && gate.rules.meant(name).is_some();
        if is_shown && is_told && draft.name.as_deref().is_some_and(|name| !is_tool(name)) {
            return self.end_header(gate, draft, &thread, out);
        }
        let name = draft.name.as_deref().unwrap_or_default();
        let frame = gate.program.frame_of(&thread);
        if !frame.value_closers.is_empty() {
            // What is broken here may stand in a value of a call that has not had its closer.
            let start = Span::new(draft.start, draft.start);
            out.revoke_unclosed(Finding::new(Code::SuspectValueEnd).at(start));
        }
        let after_call = if thread.opened { Resync::CallEnd } else { Resync::FrameEnd };
        let ways = [
            (&frame.ends, Resync::FrameEnd),
            (&frame.call_ends, after_call),
            (&frame.openers, Resync::Opener),
        ];
        let repeats = self.scratch.repeats(&thread);
        let literals = ways.into_iter().flat_map(|(literals, resync)| {
            literals.iter().map(move |literal| (repeats.fill(literal, name).into_owned(), resync))
        });
        // A call that breaks off in a thought leaves the thought its end, unless that stands in a string.
        let thought_end = self.around.thought_end().filter(|_| !matches!(draft.body, DraftBody::Json { .. }));
        let thought_end = thought_end.map(|closer| (closer, Resync::Opener));
        // A call that breaks off in what may be a code span leaves the span its end.
        let is_code = gate.rules.policy.quote == Quote::Dead
            && !matches!(draft.body, DraftBody::Json { .. })
            && self.around.regions.surroundings().backticks > 0;
        let code_end = is_code.then(|| ("`".to_owned(), Resync::Opener));
        let ends = LiteralMatcher::new(literals.chain(thought_end).chain(code_end).collect());
        // What was held since the last body is read again for the end of the call.
        let held = std::mem::take(&mut self.held.text);
        let begin = draft.start.saturating_sub(self.held.start).min(held.len());
        // The opener that began this call must not end it.
        let from = begin + ends.opener_length(&held[begin..]);
        self.position = self.held.start + from;
        draft.keep(&held[begin..from], gate.rules.policy.limits.raw);
        self.input.read_again(&held[from..]);
        give_back(&mut self.held.text, held);
        State::Skipping(Box::new(Skip { draft, thread, ends, line_start: None, turn_end }))
    }

    /// A header that names no tool, and no arguments behind it: the call ends with it, since the sentence that it stands in may
    /// speak of it.
    fn end_header(
        &mut self,
        gate: &Compiled,
        draft: Box<Draft>,
        thread: &Thread,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut draft = draft;
        let held = std::mem::take(&mut self.held.text);
        let begin = draft.start.saturating_sub(self.held.start).min(held.len());
        // A tag that has begun behind the header is read again.
        let started = held.rfind('<').filter(|at| *at > begin && !held[*at..].contains('>'));
        let end = held[..started.unwrap_or(held.len())].trim_end().len().max(begin);
        self.position = self.held.start + end;
        draft.keep(&held[begin..end], gate.rules.policy.limits.raw);
        self.held.restart(self.position);
        let state = self.abandon(gate, draft, thread, out);
        self.input.read_again(&held[end..]);
        state
    }

    #[inline(never)] // Keeps `run` small.
    pub(super) fn skipping(
        &mut self,
        gate: &Compiled,
        skip: Box<Skip>,
        rest: &str,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        let mut skip = skip;
        let mut used = 0;
        for c in rest.chars() {
            let mut buffer = [0; 4];
            let mut reached = None;
            for byte in c.encode_utf8(&mut buffer).bytes() {
                if let Some((literal, resync)) = skip.ends.read(byte)
                    && self.came_as_special(gate, literal, c)
                {
                    reached = Some((literal.to_owned(), resync));
                }
            }
            let next = self.position + c.len_utf8();
            // What follows the end of the call tells whether it is broken.
            if let Some((_, Resync::CallEnd)) = reached
                && let Some(end) = skip.turn_end.as_mut().filter(|end| end.thread.call_end == Some(next))
            {
                end.passed_end = true;
                reached = None;
            }
            match reached {
                Some((literal, Resync::Opener)) => {
                    return (self.next_begins(gate, *skip, &literal, c, out), used);
                }
                Some((_, resync)) => {
                    used += c.len_utf8();
                    return (self.skipped(gate, *skip, resync, c, out), used);
                }
                None => {}
            }
            let is_behind = |end: &&mut TurnEnd| end.thread.call_end.is_none_or(|end| self.position >= end);
            if let Some(end) = skip.turn_end.as_mut().filter(is_behind) {
                end.read.push(c);
                match turn::ends_turn(end.read.trim_start()) {
                    Some(true) if self.came_as_special(gate, end.read.trim_start(), c) => {
                        return (self.turn_ends(gate, *skip, c, out), used);
                    }
                    Some(false) => {}
                    _ if end.passed_end => return (self.turn_goes_on(gate, *skip, c, out), used),
                    _ => skip.turn_end = None,
                }
            }
            skip.draft.keep(c.encode_utf8(&mut buffer), gate.rules.policy.limits.raw);
            used += c.len_utf8();
            self.position += c.len_utf8();
            if c == '\n' {
                skip.line_start = Some(self.position);
            }
        }
        (State::Skipping(skip), used)
    }

    /// Whether the special tokens of a literal, of which `c` is the last character, came as such where that counts.
    fn came_as_special(&self, gate: &Compiled, literal: &str, c: char) -> bool {
        let end = self.position + c.len_utf8();
        let named = gate.program.special.as_deref();
        named.is_none_or(|named| self.scratch.specials.cover_literal(literal, named, end))
    }

    /// The model ends its turn where only closers are missing: the call ends there, as it would where the output ends. The
    /// token, of which all but the last character `c` has been passed, is read again.
    fn turn_ends(&mut self, gate: &Compiled, skip: Skip, c: char, out: &mut Emitter<'_, '_>) -> State {
        let Skip { mut draft, thread, turn_end, .. } = skip;
        let Some(TurnEnd { thread, expected, mut read, .. }) = turn_end else {
            return self.abandon(gate, draft, &thread, out);
        };
        read.truncate(read.len() - c.len_utf8());
        self.position -= read.len();
        self.held.restart(self.position);
        draft.forget(read.len());
        // It is not malformed after all.
        draft.findings.pop();
        let end = self.position;
        let own = thread.name.filter(|_| draft.name.is_none()).map(|name| self.scratch.get(name));
        let name = draft.name.as_deref().or(own);
        let may_close = closing(&gate.rules, FinishReason::Stop, name, Lacks::Closers);
        draft.end_with(may_close, end);
        if let Some(marker) = expected {
            draft.expected_at_end(&marker, Repeats::default());
        }
        draft.repaired(RepairCode::MissingTag, end, end);
        let state = self.abandon(gate, draft, &thread, out);
        self.input.read_again(&read);
        state
    }

    /// The turn does not end behind the end of a rejected call. What was passed since, all but the last character `c`, is
    /// read again.
    fn turn_goes_on(&mut self, gate: &Compiled, skip: Skip, c: char, out: &mut Emitter<'_, '_>) -> State {
        let Skip { mut draft, thread, turn_end, .. } = skip;
        let mut read = turn_end.map(|end| end.read).unwrap_or_default();
        read.truncate(read.len().saturating_sub(c.len_utf8()));
        self.position -= read.len();
        draft.forget(read.len());
        let state = self.end_skipped(gate, draft, &thread, Resync::CallEnd, out);
        self.input.read_again(&read);
        state
    }

    /// A rejected call ends because the next one begins. All of its opener but the last character, which is `c`, has been
    /// passed, so it is read again.
    fn next_begins(
        &mut self,
        gate: &Compiled,
        skip: Skip,
        opener: &str,
        c: char,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let Skip { mut draft, thread, line_start, .. } = skip;
        let passed = &opener[..opener.len() - c.len_utf8()];
        self.position -= passed.len();
        self.held.restart(self.position);
        draft.forget(passed.len());
        self.end_call(gate, draft, &thread, CallEnd::Unseen(self.position), out);
        let state = self.leave_frame(self.position, line_start == Some(self.position), out);
        self.input.read_again(passed);
        state
    }

    /// A rejected call ends with this character.
    fn skipped(
        &mut self,
        gate: &Compiled,
        skip: Skip,
        resync: Resync,
        c: char,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let Skip { mut draft, thread, .. } = skip;
        self.position += c.len_utf8();
        draft.keep(c.encode_utf8(&mut [0; 4]), gate.rules.policy.limits.raw);
        self.end_skipped(gate, draft, &thread, resync, out)
    }

    /// A rejected call ends here.
    fn end_skipped(
        &mut self,
        gate: &Compiled,
        draft: Box<Draft>,
        thread: &Thread,
        resync: Resync,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let end = self.position;
        self.held.restart(end);
        self.end_call(gate, draft, thread, CallEnd::Seen(end), out);
        if resync == Resync::FrameEnd {
            return self.leave_frame(end, false, out);
        }
        let next = thread.going_on_at(gate.program.frame_of(thread).next_call);
        let mut matching = self.pool.matching();
        matching.threads.start(&gate.program, &mut self.scratch, [next], end);
        matching.best = matching.threads.matched(&gate.program).map(|thread| (*thread, 0));
        State::Matching(matching)
    }
}
