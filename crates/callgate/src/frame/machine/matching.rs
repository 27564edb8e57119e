//! Literals and words: the threads read a header until it is clear what it is, and where it may stand.

use super::super::Compiled;
use crate::bytes::character_start;
use crate::dialect::is_word_character;
use crate::draft::{Draft, DraftBody};
use crate::finding::{Code, Finding, Span};
use crate::json::RepairCode;
use crate::ledger::Emitter;

use super::super::program::{Body, FrameKind, Op, Program};
use super::super::region::Change;
use super::super::slips::Slip;
use super::super::threads::{Fate, Scratch, Survey, Thread, Threads};
use super::pool::give_back;
use super::{LONGEST_HEADER, Machine, State};

/// How many calls may begin without one of them being certain.
const MOST_UNDECIDED: u32 = 16;

/// Threads that read a header, or what stands between bodies.
#[derive(Debug, Default)]
pub(super) struct Matching {
    pub(super) threads: Threads,
    /// The call they have begun, once it is certain to be one.
    pub(super) draft: Option<Box<Draft>>,
    /// The best end of the frame so far: the thread, and how much of the held text belongs to it.
    pub(super) best: Option<(Thread, usize)>,
    /// The threads at a body that can begin with the next character.
    pub(super) at_body: Vec<Waiting>,
    /// Threads at a body that could have begun while others were still reading literals.
    parked: Vec<Waiting>,
    /// How much was held there.
    parked_at: usize,
    /// How much of the held text is nothing but closing brackets and white space, as far as has been looked.
    closers: usize,
    /// The thread that read the body before which nothing is held, if one was read.
    pub(super) after_body: Option<Thread>,
    /// Why the threads of the frame itself could not go on, while its twin is tried.
    pub(super) failed: Option<Box<Finding>>,
}

/// A thread that stands at a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) thread: Thread,
    /// The body, by its number in the program.
    pub(super) body: u16,
}

impl Waiting {
    /// The threads that stand at bodies, the preferred first.
    pub(super) fn of<'t>(threads: &'t Threads, program: &'t Program) -> impl Iterator<Item = Waiting> + 't {
        threads.at_body(program).map(|(thread, body)| Waiting { thread: *thread, body })
    }
}

impl Matching {
    /// Leaves the lists with nothing in them.
    pub(super) fn empty(&mut self) {
        self.threads.clear();
        self.draft = None;
        self.best = None;
        self.at_body.clear();
        self.parked.clear();
        self.closers = 0;
        self.after_body = None;
        self.failed = None;
    }

    /// Whether something else than a call could end here: as long as that is so, no call is certain.
    pub(super) fn ends_otherwise(&self, gate: &Compiled) -> bool {
        self.best.as_ref().is_some_and(|(best, _)| {
            !matches!(gate.program.frame_of(best).kind, FrameKind::Calls | FrameKind::Wrapperless)
        })
    }

    /// The thread for which nothing but closers is missing. A header alone is not a call: something must have been read as
    /// its arguments, or it was complete.
    pub(super) fn lacks_only_closers(&self, gate: &Compiled, draft: &Draft) -> Option<Thread> {
        let has_body = !matches!(draft.body, DraftBody::None);
        // The end that a thread knows may be that of the call before.
        let is_ended = |thread: &Thread| thread.call_end.is_some_and(|end| end > draft.start);
        let is_call = |thread: &Thread| has_body || thread.name.is_some() && is_ended(thread);
        self.threads.only_literals_left(&gate.program).filter(is_call)
    }

    /// Whether arguments could follow in a call that nothing has closed. What cannot be read there is no text behind a call:
    /// it may be an argument, without which the call would run.
    fn wants_arguments(&self, gate: &Compiled) -> bool {
        let wants = |draft: &Draft| {
            let has_tags = !matches!(draft.body, DraftBody::Json { .. });
            has_tags && self.threads.could_go_on(&gate.program, draft.call, draft.start).1
        };
        self.draft.as_deref().is_some_and(wants)
    }

    fn follows_json(&self) -> bool {
        self.draft.as_ref().is_some_and(|draft| matches!(draft.body, DraftBody::Json { .. }))
    }

    /// Whether a closing bracket that closes nothing may be passed over: nothing else is held, and repairs are left.
    fn may_take_closer(&mut self, gate: &Compiled, held: &str) -> bool {
        // What was looked at for the bracket before this one is not looked at again.
        let from = self.closers.min(held.len());
        let only_closers = held[from..].chars().all(|c| c.is_whitespace() || matches!(c, '}' | ']' | ')'));
        if only_closers {
            self.closers = held.len();
        }
        let repairs = self.draft.as_ref().map_or(0, |draft| draft.repairs.len());
        only_closers && repairs <= gate.rules.policy.limits.repairs
    }
}

/// Reads one character in all threads. False if none takes it.
pub(super) fn step(
    gate: &Compiled,
    threads: &mut Threads,
    scratch: &mut Scratch,
    c: char,
    position: usize,
) -> bool {
    let mut buffer = [0; 4];
    for (position, byte) in (position..).zip(c.encode_utf8(&mut buffer).bytes()) {
        if threads.step(&gate.program, scratch, byte, position) == Fate::Dead {
            return false;
        }
    }
    if threads.in_word() {
        scratch.push_word(c);
    }
    true
}

/// Passes over what all threads read alike: nothing is decided there. Says how many bytes that is, at most so many.
pub(super) fn pass(
    gate: &Compiled,
    threads: &mut Threads,
    scratch: &mut Scratch,
    rest: &str,
    most: usize,
) -> usize {
    threads.pass(&gate.program, scratch, &rest[..character_start(rest, most)])
}

/// In formats whose tags are the tools' own names, a tag that is no parameter of the tool is not one, and in formats whose
/// tags are keys, neither is a tag of the format itself where no tool says so. The name may be in other letters, which is
/// an attempt to call that tool as soon as one of its parameters follows. A word that the format has for a message or a thought
/// is no name either.
pub(super) fn drop_unknown(gate: &Compiled, threads: &mut Threads, scratch: &Scratch) {
    threads.retain(|thread| {
        let frame = gate.program.frame_of(thread);
        let is_reserved = |name| frame.reserved.iter().any(|word| word == scratch.get(name));
        if !frame.reserved.is_empty() && thread.name.is_some_and(is_reserved) {
            return false;
        }
        let is_tool = |name| gate.rules.registry.is_some() && gate.rules.meant(scratch.get(name)).is_some();
        if frame.opens_by_word() && thread.name.is_some_and(|name| !is_tool(name)) {
            return false;
        }
        let record = &*gate.rules.dialects[frame.record].record;
        let Some(key) = thread.key.filter(|_| record.known || record.has_key_tags()) else { return true };
        let key = scratch.get(key);
        if !record.known && (gate.rules.registry.is_some() || !record.writes_tag(key)) {
            return true;
        }
        let tool = thread.name.and_then(|name| gate.rules.meant(scratch.get(name)));
        tool.is_some_and(|tool| tool.has_key(key))
    });
}

/// Whether a thread has read the marker of a call.
pub(super) fn is_marker(gate: &Compiled, thread: &Thread) -> bool {
    let frame = gate.program.frame_of(thread);
    thread.pieces > 0 && frame.kind == FrameKind::Calls && !frame.unmarked
}

impl Machine {
    #[inline(never)] // Keeps `run` small.
    pub(super) fn matching(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        rest: &str,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        let mut matching = matching;
        let mut used = 0;
        loop {
            let most = LONGEST_HEADER.saturating_sub(self.held.text.len());
            let run = pass(gate, &mut matching.threads, &mut self.scratch, &rest[used..], most);
            if run > 0 {
                self.held.text.push_str(&rest[used..used + run]);
                self.position += run;
                used += run;
            }
            let Some(c) = rest[used..].chars().next() else { return (State::Matching(matching), used) };
            let (state, read) = self.match_char(gate, matching, c, out);
            used += read;
            match state {
                State::Matching(same) if self.input.replay.is_empty() => matching = same,
                state => return (state, used),
            }
        }
    }

    /// Reads one character, or comes to another state before it.
    fn match_char(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        c: char,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        let mut matching = matching;
        let program = &gate.program;
        if c == ' ' && matching.threads.in_word() && self.space_in_name(gate, &mut matching) {
            return (State::Matching(matching), 1);
        }
        if matching.threads.in_word() && !is_word_character(c) {
            matching.threads.end_words(program, &mut self.scratch, self.position);
            drop_unknown(gate, &mut matching.threads, &self.scratch);
            matching = match self.note_known(gate, matching, out) {
                Ok(same) => same,
                Err(state) => return (state, 0),
            };
        }
        if matches!(c, '<' | '[')
            && matching.threads.end_before_token(program, &mut self.scratch, self.position)
            && let Some(thread) = matching.threads.matched(program)
        {
            matching.best = Some((*thread, self.held.text.len()));
        }
        matching.at_body.clear();
        // Behind a call and a comma stands an element of a list of calls, even if it is none.
        let begun = matching.draft.as_ref().map_or(u32::MAX, |draft| draft.call);
        let is_element = matches!(c, '"' | '-' | '0'..='9') && self.held.text.trim_end().ends_with(',');
        let may_begin = |waiting: &Waiting| {
            let body = &program.bodies[waiting.body as usize];
            let is_stranger = is_element && *body == Body::Object && waiting.thread.calls > begun;
            body.can_start(c) || is_stranger && !program.frame_of(&waiting.thread).unmarked
        };
        matching.at_body.extend(Waiting::of(&matching.threads, program).filter(may_begin));
        if matching.at_body.is_empty() && matching.draft.is_some() && matching.failed.is_some() {
            // With slips, arguments that were left out end before they begin.
            let may_be_blank = |waiting: &Waiting| {
                let stops = program.stops_at_body(&waiting.thread);
                program.bodies[waiting.body as usize] == Body::Arguments { kwargs: false }
                    && !waiting.thread.slips.has(Slip::Json)
                    && stops.is_some_and(|stops| u8::try_from(c).is_ok_and(|c| stops.first().has(c)))
            };
            matching.at_body.extend(Waiting::of(&matching.threads, program).filter(may_be_blank));
        }
        if step(gate, &mut matching.threads, &mut self.scratch, c, self.position) {
            if matching.parked.is_empty() {
                let Matching { parked, at_body, .. } = &mut *matching;
                std::mem::swap(parked, at_body);
                matching.parked_at = self.held.text.len();
            }
            self.held.text.push(c);
            self.position += c.len_utf8();
            if matching.draft.is_none() && self.is_too_much(&matching) {
                return (self.give_up(gate, matching, out), c.len_utf8());
            }
            let mut state = self.after_step(gate, matching, out);
            if let State::Matching(same) = &mut state {
                same.threads.settle();
            }
            return (state, c.len_utf8());
        }
        // Of several readings with slips, the one with the fewest is meant, and the call that is open before another one.
        let slips = |waiting: &&Waiting| (waiting.thread.slips.count(), waiting.thread.calls);
        if let Some(first) = matching.at_body.iter().min_by_key(slips).copied() {
            return (self.enter(gate, matching, first, out), 0);
        }
        // A reading that went on over a marker was the meant one, so its slips come before the body that was left waiting.
        let parked = matching.parked.first().copied();
        if let Some(first) = parked.filter(|first| !self.has_gone_on(gate, &matching, first, c)) {
            let tail = self.held.text.split_off(matching.parked_at);
            self.position -= tail.len();
            let Matching { parked, at_body, .. } = &mut *matching;
            std::mem::swap(parked, at_body);
            let state = self.enter(gate, matching, first, out);
            self.input.read_again(&tail);
            return (state, 0);
        }
        self.mismatch(gate, matching, c, out)
    }

    /// Reads a space that is part of a tool's name.
    fn space_in_name(&mut self, gate: &Compiled, matching: &mut Matching) -> bool {
        let Some(registry) = gate.rules.registry.as_ref().filter(|registry| registry.has_spaces()) else {
            return false;
        };
        let goes_on =
            |name: &str, begun: &str| name.strip_prefix(begun).is_some_and(|rest| rest.starts_with(' '));
        let is_begun = |begun: &str| registry.names().any(|name| goes_on(name, begun));
        let is_read = matching.threads.space_in_name(&gate.program, &mut self.scratch, is_begun);
        if is_read {
            self.held.text.push(' ');
            self.position += 1;
        }
        is_read
    }

    /// Whether more is held than a header may have, or more calls have begun in it than are read again for each of them.
    fn is_too_much(&self, matching: &Matching) -> bool {
        let most = self.calls.ended.saturating_add(MOST_UNDECIDED);
        self.held.text.len() > LONGEST_HEADER || matching.threads.iter().all(|thread| thread.calls > most)
    }

    /// After a character was read: is a call certain, is the frame over, does a body begin?
    pub(super) fn after_step(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut matching = matching;
        // A frame cannot end before a call that has begun in it.
        let begun = matching.draft.as_ref().map_or(0, |draft| draft.call);
        let Survey { matched, all_matched, all_committed, all_raw } = matching.threads.survey(&gate.program);
        if let Some(thread) = matched.filter(|thread| thread.calls >= begun) {
            matching.best = Some((*thread, self.held.text.len()));
        }
        if all_committed && matching.parked.is_empty() && !matching.ends_otherwise(gate) {
            matching = match self.commit(gate, matching, out) {
                Ok(same) => same,
                Err(state) => return state,
            };
        }
        match matching.best {
            Some((thread, _)) if all_matched => self.frame_done(gate, matching, thread, self.position, out),
            _ if all_matched => State::Matching(matching),
            _ if all_raw => {
                matching.at_body.clear();
                let Matching { threads, at_body, .. } = &mut *matching;
                at_body.extend(Waiting::of(threads, &gate.program));
                match matching.at_body.first().copied() {
                    Some(first) => self.enter(gate, matching, first, out),
                    None => State::Matching(matching),
                }
            }
            _ => State::Matching(matching),
        }
    }

    /// Whatever comes now, this is a call. Another state if it is in a place where there can be none.
    fn commit(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        out: &mut Emitter<'_, '_>,
    ) -> Result<Box<Matching>, State> {
        let mut matching = matching;
        let Some(lead) = matching.threads.iter().next().copied() else { return Ok(matching) };
        // Where the frame could have ended, another call begins only once it has a name or a body.
        let begins_another = matching.best.as_ref().is_some_and(|(best, _)| best.calls != lead.calls);
        if begins_another && (lead.name.is_none() || matching.threads.in_word()) {
            return Ok(matching);
        }
        if begins_another {
            matching.best = None;
        }
        let is_begun = |draft: &Draft| draft.call > lead.calls || draft.call == lead.calls && draft.started;
        if matching.draft.as_deref().is_some_and(is_begun) {
            return Ok(matching);
        }
        let mut matching = self.ensure_draft(gate, matching, &lead, out)?;
        self.announce(gate, &mut matching, &lead, out);
        Ok(matching)
    }

    /// In formats whose marker is the tool's own name, a known name is already a call.
    fn note_known(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        out: &mut Emitter<'_, '_>,
    ) -> Result<Box<Matching>, State> {
        let lead = matching.threads.iter().find(|thread| {
            let frame = gate.program.frame_of(thread);
            gate.rules.dialects[frame.record].record.known
                && thread.name.is_some_and(|name| gate.rules.knows(self.scratch.get(name)))
        });
        match lead.copied() {
            Some(lead) if matching.draft.is_none() && !matching.ends_otherwise(gate) => {
                let mut matching = self.ensure_draft(gate, matching, &lead, out)?;
                self.announce(gate, &mut matching, &lead, out);
                Ok(matching)
            }
            _ => Ok(matching),
        }
    }

    /// No thread takes the character.
    pub(super) fn mismatch(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        c: char,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        let mut matching = matching;
        // Around an object that nothing marks, a bracket belongs to the text.
        let is_marked = matching.threads.lead().is_some_and(|lead| {
            let frame = gate.program.frame_of(lead);
            !frame.unmarked || frame.fence
        });
        let is_closer = matches!(c, '}' | ']' | ')')
            && is_marked
            && matching.may_take_closer(gate, &self.held.text)
            && matching.follows_json();
        if let Some(best) = matching.best {
            // A closer may be missing here, or come after a bracket too many: what follows tells.
            let goes_on =
                matching.threads.iter().any(|thread| gate.program.ops[thread.pc as usize] != Op::Match);
            if !is_closer || !goes_on {
                let is_unfinished =
                    self.is_bodiless(gate, &matching, &best, c) || matching.wants_arguments(gate);
                let goes_beyond = is_unfinished || self.goes_beyond(gate, &matching, &best);
                let twins = if goes_beyond { self.twins(gate, &matching, c) } else { Vec::new() };
                if matching.failed.is_none() && !twins.is_empty() {
                    let failed = self.failure(gate, &matching, c);
                    let best = Some(best).filter(|_| !is_unfinished);
                    return (self.forgive(gate, matching, &twins, failed, best), 0);
                }
                if !is_unfinished {
                    return (self.end_at_best(gate, matching, best, out), 0);
                }
            }
        }
        let at = Span::new(self.position, self.position + c.len_utf8());
        if is_closer {
            // A closing bracket that closes nothing.
            if let Some(draft) = &mut matching.draft {
                draft.repaired(RepairCode::ExtraCloser, at.start, at.end);
            }
            self.held.text.push(c);
            self.position = at.end;
            return (State::Matching(matching), c.len_utf8());
        }
        if matching.failed.is_none() {
            let twins = self.twins(gate, &matching, c);
            if !twins.is_empty() {
                let failed = self.failure(gate, &matching, c);
                return (self.forgive(gate, matching, &twins, failed, None), 0);
            }
        }
        if let Some((thread, end)) = self.standing(gate, &matching) {
            return (self.stand(gate, matching, &thread, end, out), 0);
        }
        let Some(draft) = matching.draft.take() else {
            // A character that only shares its first byte with an opener is text at once, or it would be tried again.
            let is_first = self.held.text.is_empty();
            if is_first {
                self.held.text.push(c);
                self.position = at.end;
            }
            return (self.give_up(gate, matching, out), usize::from(is_first) * c.len_utf8());
        };
        let finding = match matching.failed.take() {
            Some(failed) => *failed,
            None => {
                matching.draft = Some(draft);
                let finding = self.failure(gate, &matching, c);
                let Some(same) = matching.draft.take() else { return (self.give_up(gate, matching, out), 0) };
                return (self.reject(gate, matching, same, finding, out), 0);
            }
        };
        (self.reject(gate, matching, draft, finding, out), 0)
    }

    /// Why the threads cannot go on with this character.
    fn failure(&self, gate: &Compiled, matching: &Matching, c: char) -> Finding {
        let at = Span::new(self.position, self.position + c.len_utf8());
        let wants_body = matching.threads.at_body(&gate.program).next().is_some();
        let has_body = matching.draft.as_ref().is_some_and(|draft| !matches!(draft.body, DraftBody::None));
        if wants_body && !has_body {
            let message =
                format!("Invalid JSON block: a JSON object was expected, `{}` was found", c.escape_debug());
            return Finding::new(Code::BadJson).message(message).at(at);
        }
        let format = matching.threads.lead().map_or_else(String::new, |lead| {
            let record = gate.program.frame_of(lead).record;
            format!(" in `{}`", gate.rules.dialects[record].record.name)
        });
        let mut expected: Vec<String> = Vec::new();
        for thread in matching.threads.iter() {
            let next = gate.program.expected(thread).filter(|next| !expected.contains(next));
            expected.extend(next);
        }
        let c = c.escape_debug();
        let message = match expected.as_slice() {
            [] => format!("a call{format} does not go on with `{c}` here"),
            [only] => format!("`{only}` was expected here{format}, not `{c}`"),
            [one, other] => format!("`{one}` or `{other}` was expected here{format}, not `{c}`"),
            [first, ..] => format!("`{first}` or another marker was expected here{format}, not `{c}`"),
        };
        Finding::new(Code::Malformed).message(message).at(at)
    }

    /// The frame ends where it could end best; what was held after that is read again.
    pub(super) fn end_at_best(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        best: (Thread, usize),
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let mut matching = matching;
        let (thread, length) = best;
        if self.held.text.len() < length {
            return self.give_up(gate, matching, out);
        }
        let tail = self.held.text.split_off(length);
        self.position -= tail.len();
        let end = self.position;
        if let Some(draft) = &mut matching.draft {
            draft.repairs.retain(|repair| repair.code != RepairCode::ExtraCloser || repair.span.start < end);
        }
        let state = self.frame_done(gate, matching, thread, end, out);
        self.input.read_again(&tail);
        state
    }

    /// The held text is no frame: its first character is text, the rest is read again.
    pub(super) fn give_up(
        &mut self,
        gate: &Compiled,
        matching: Box<Matching>,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let threads = &matching.threads;
        let last = threads.lead().filter(|lead| is_marker(gate, lead));
        let marker = threads.iter().find(|thread| is_marker(gate, thread)).or(last);
        let span = Span::new(self.held.start, self.position);
        if let Some(thread) = marker {
            let record = &gate.rules.dialects[gate.program.frame_of(thread).record].record;
            let code = if record.lines && thread.name.is_some() {
                Some(Code::IncompleteDirective)
            } else {
                (!record.known && !record.lines).then_some(Code::StrayMarker)
            };
            if let Some(code) = code {
                out.finding_once(Finding::new(code).at(span));
            }
        } else if gate.program.markers.iter().any(|marker| self.held.text.starts_with(&**marker)) {
            // The threads that read the opener may be gone before those that went on with it.
            out.finding_once(Finding::new(Code::StrayMarker).at(span));
        } else if let Some(end) = self.scratch.marker_as_text.take() {
            let message = "the marker of a call came as text and not as special tokens, and was left as text";
            let finding = Finding::new(Code::StrayMarker).message(message.to_owned());
            out.finding_once(finding.at(Span::new(self.held.start, end)));
        }
        self.pool.keep_matching(matching);
        let held = std::mem::take(&mut self.held.text);
        self.position = self.held.start;
        let first = held.chars().next();
        let (head, tail) = held.split_at(first.map_or(0, char::len_utf8));
        if let Some(byte) = held.bytes().next().filter(|_| !self.around.in_reasoning()) {
            self.around.watch.go_on(self.position, byte);
            self.around.watch_for(b"", held.as_bytes(), self.position);
        }
        let change = match first.filter(|_| !self.around.in_reasoning()) {
            Some(first) => self.around.regions.read(first),
            None => Change::default(),
        };
        self.around.emit(gate, head, &mut self.position, out);
        self.around.apply(change, out);
        self.input.read_again(tail);
        give_back(&mut self.held.text, held);
        State::Outside
    }

    /// All of the held text is text; openers inside it are not looked for.
    pub(super) fn held_is_text(&mut self, gate: &Compiled, out: &mut Emitter<'_, '_>) -> State {
        let held = std::mem::take(&mut self.held.text);
        self.position = self.held.start;
        let mut from = 0;
        if !self.around.in_reasoning() {
            for (i, c) in held.char_indices() {
                let (before, rest) = held.as_bytes().split_at(i);
                self.around.watch.go_on(self.held.start + i, rest[0]);
                self.around.watch_for(before, rest, self.held.start + i);
                let change = self.around.regions.read(c);
                if change != Change::default() && out.is_pending() {
                    let end = i + c.len_utf8();
                    self.around.emit(gate, &held[from..end], &mut self.position, out);
                    from = end;
                    self.around.apply(change, out);
                }
            }
        }
        self.around.emit(gate, &held[from..], &mut self.position, out);
        give_back(&mut self.held.text, held);
        State::Outside
    }
}
