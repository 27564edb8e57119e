//! The end of a value: whether a closer in it is its end, by a look ahead at what follows the closer.

use std::mem::{swap, take};

use super::super::Compiled;
use crate::bytes::character_start;
use crate::dialect::is_word_character;
use crate::dialect::turn;
use crate::draft::{Draft, DraftBody};
use crate::finding::{Code, Finding, Span};
use crate::json::ReaderState;
use crate::ledger::Emitter;
use crate::shortcuts::Shortcut;

use super::super::program::{CDATA_END, Op};
use super::super::threads::{OuterValue, Scratch, Thread, Threads};
use super::bodies::{Inside, Settled};
use super::matching::{drop_unknown, pass, step};
use super::{LONGEST_HEADER, Machine, State};

/// How many bytes are waited for at most.
const LONGEST_WAIT: usize = 64;

/// How many bytes of white space and tokens may stand behind the last call of a response that lacks a closer.
const LONGEST_TAIL: usize = 256;

/// A look ahead from where a body may have ended.
#[derive(Debug, Default)]
pub(super) struct Look {
    pub(super) threads: Threads,
    /// What they have read.
    pub(super) text: String,
    /// Where that begins in the input.
    start: usize,
    /// Whether it is made with slips.
    forgiving: bool,
    /// Whether there are no threads yet, because the next bytes may tell that they are not needed.
    waits: bool,
    /// The thread that has come to the end of its frame without the closer of the value, and how much it had read: the value
    /// ends there if the response does.
    over: Option<(Thread, usize)>,
}

impl Look {
    /// The preferred thread that has read enough to say that the body has ended.
    fn ending(
        &self,
        gate: &Compiled,
        inside: &mut Inside,
        scratch: &Scratch,
        at_end_of_input: bool,
    ) -> Option<Thread> {
        let is_value = inside.reads_value();
        let mut ends = |thread: &&Thread| {
            if !is_value {
                let op = gate.program.ops[thread.pc as usize];
                return thread.literals > 0 || matches!(op, Op::Match);
            }
            if thread.skipped {
                let ends = ends_without_closer(gate, inside, scratch, thread, at_end_of_input);
                if ends
                    && (self.is_given_up(gate, inside, scratch, thread) || is_doubtful(gate, inside, thread))
                {
                    inside.draft.suspect_end(self.start);
                    return false;
                }
                return ends;
            }
            thread.literals >= 2
                || begins_value(gate, thread)
                || thread.literals >= 1 && (thread.is_done(&gate.program) || at_end_of_input)
        };
        self.threads.iter().find(|thread| ends(thread)).copied()
    }

    /// Notes the thread that has come to the end of its frame with closers left out.
    fn note_over(&mut self, gate: &Compiled, inside: &Inside) {
        let is_over = |thread: &&Thread| {
            let is_own = thread.key == inside.first.key || thread.level < inside.first.level;
            thread.is_done(&gate.program)
                && thread.skipped
                && thread.literals >= 1
                && thread.calls == inside.first.calls
                && is_own
        };
        if let Some(thread) = self.threads.iter().find(is_over) {
            self.over = Some((*thread, self.text.len()));
        }
    }

    /// Whether nothing but white space and ends of the turn have come since a thread was over, as far as that can be told.
    fn may_be_over(&self, gate: &Compiled) -> Option<bool> {
        let (_, length) = self.over?;
        let tail = self.text.get(length..).filter(|tail| tail.len() <= LONGEST_TAIL)?;
        // Where only special tokens count, letters do not tell.
        turn::only_ends(tail).filter(|_| gate.program.special.is_none())
    }

    /// Whether only another call ends the body, and no closer of its own: it was given up, or shows that call.
    fn is_given_up(&self, gate: &Compiled, inside: &Inside, scratch: &Scratch, thread: &Thread) -> bool {
        let repeats = scratch.repeats(&inside.first);
        let text = self.text.trim_start();
        let closes = |mark: &String| text.starts_with(&*inside.draft.filled(mark, repeats));
        thread.calls > inside.first.calls && !gate.program.frame_of(thread).end_marks.iter().any(closes)
    }
}

fn begins_value(gate: &Compiled, thread: &Thread) -> bool {
    matches!(gate.program.ops[thread.pc as usize], Op::Body(_))
}

/// Whether what this thread has read ends a value behind which a closer is missing: only a parameter that is still to
/// come, the closers of the call, or the end of the call with the next one behind it.
fn ends_without_closer(
    gate: &Compiled,
    inside: &mut Inside,
    scratch: &Scratch,
    thread: &Thread,
    at_end_of_input: bool,
) -> bool {
    let is_end = thread.literals >= 2 || at_end_of_input && thread.literals >= 1;
    let is_next_call = thread.calls > inside.first.calls;
    let ends = if begins_value(gate, thread) {
        is_new_key(gate, &mut inside.draft, scratch, thread)
    } else if is_next_call {
        is_end && is_tool(gate, scratch, thread)
    } else {
        // The closer of what holds the value may stand without its own.
        is_end && (thread.key == inside.first.key || thread.level < inside.first.level)
    };
    ends && inside.draft.value_may_end(&gate.program.frame_of(thread).openers)
}

/// Whether this thread has read the name of a tool. Without a list of tools any name is one.
fn is_tool(gate: &Compiled, scratch: &Scratch, thread: &Thread) -> bool {
    let knows = |name| gate.rules.registry.is_none() || gate.rules.knows(scratch.get(name));
    thread.name.is_some_and(knows)
}

/// Whether this thread has read the key of a parameter that the tool has, and that was not given yet. Of a tool that is
/// not known, any may be one.
fn is_new_key(gate: &Compiled, draft: &mut Draft, scratch: &Scratch, thread: &Thread) -> bool {
    let record = &gate.rules.dialects[gate.program.frame_of(thread).record].record;
    thread.key.is_some_and(|key| {
        let key = scratch.get(key);
        let is_declared = match draft.tool(&gate.rules, record) {
            Some(tool) => tool.has_key(key),
            None => thread.literals > 0,
        };
        is_declared && !draft.has_parameter(key)
    })
}

/// Whether nothing but the place tells that a value without its closer has ended: no list says which tools there are, and
/// what comes next stands in the middle of a line.
fn is_doubtful(gate: &Compiled, inside: &Inside, thread: &Thread) -> bool {
    gate.rules.registry.is_none()
        && thread.unclosed
        && begins_value(gate, thread)
        && !inside.draft.is_at_line_start()
}

/// The threads that look for an element inside the value, where one may begin here.
fn elements(gate: &Compiled, inside: &mut Inside, position: usize) -> Vec<Thread> {
    let first = &inside.first;
    let nested = gate.program.frame_of(first).nested.as_ref();
    let (Some(nested), Some(params)) = (nested, inside.draft.params()) else { return Vec::new() };
    let (object, list) = params.may_hold();
    if (object || list) && params.level() >= gate.rules.policy.limits.depth {
        inside.draft.too_deep(position);
        return Vec::new();
    }
    let items = Some(&nested.item).filter(|_| list);
    let members = nested.members.iter().filter(|_| object);
    items.into_iter().chain(members).map(|start| first.into_element(*start)).collect()
}

impl Machine {
    /// Reads the value of a parameter, or program text.
    pub(super) fn value(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        rest: &str,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        let mut inside = inside;
        let (end, is_open) = inside.stops.find(rest.as_bytes());
        self.position += end;
        inside.value_text(gate, &rest[..end], self.position);
        inside.show(gate, out);
        if end == rest.len() {
            return (State::Body(inside), end);
        }
        let tail = &rest[end..];
        if is_open && tail.len() < LONGEST_WAIT && Shortcut::Threads.is_on() {
            return (self.wait(inside, tail), rest.len());
        }
        (self.look(gate, inside), end)
    }

    /// Waits for the bytes that tell whether the value may end here, where these stand.
    fn wait(&mut self, inside: Box<Inside>, tail: &str) -> State {
        let mut look = self.pool.look();
        (look.start, look.forgiving, look.waits, look.over) = (self.position, false, true, None);
        look.text.push_str(tail);
        self.position += tail.len();
        State::Looking(inside, look)
    }

    fn waiting(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        look: Box<Look>,
        rest: &str,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        let (mut inside, mut look) = (inside, look);
        let come = look.text.len();
        look.text.push_str(&rest[..character_start(rest, LONGEST_WAIT)]);
        let tells = inside.stops.tells_start(look.text.as_bytes());
        if come < LONGEST_WAIT && tells.is_none() {
            let used = look.text.len() - come;
            self.position += used;
            return (State::Looking(inside, look), used);
        }
        let may_end = come >= LONGEST_WAIT || tells == Some(true);
        look.text.truncate(come);
        if may_end {
            self.position = look.start;
            self.input.read_again(&look.text);
            self.pool.keep_look(look);
            return (self.look(gate, inside), 0);
        }
        // What was waited for is a part of the value, up to where the end may start once more.
        let first = look.text.chars().next().map_or(0, char::len_utf8);
        let again = first + inside.stops.find_first(&look.text.as_bytes()[first..]);
        self.position = look.start + again;
        inside.value_text(gate, &look.text[..again], self.position);
        self.input.read_again(&look.text[again..]);
        let is_all = again == look.text.len();
        self.pool.keep_look(look);
        if is_all { self.value(gate, inside, rest, out) } else { (State::Body(inside), 0) }
    }

    /// Starts to look whether the body ends here.
    pub(super) fn look(&mut self, gate: &Compiled, inside: Box<Inside>) -> State {
        let mut inside = inside;
        let mut look = self.pool.look();
        (look.forgiving, look.waits, look.over) = (false, false, None);
        let ended_line = inside.draft.is_at_line_start();
        let elements = elements(gate, &mut inside, self.position);
        let after = inside.waiting.iter().map(|waiting| waiting.thread.past_body_line(ended_line));
        look.threads.start(&gate.program, &mut self.scratch, after.chain(elements), self.position);
        look.start = self.position;
        State::Looking(inside, look)
    }

    #[inline(never)] // Keeps `run` small.
    pub(super) fn looking(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        look: Box<Look>,
        rest: &str,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        if look.waits {
            return self.waiting(gate, inside, look, rest, out);
        }
        let (mut inside, mut look) = (inside, look);
        let mut used = 0;
        loop {
            let Look { threads, text, .. } = &mut *look;
            let most = LONGEST_HEADER.saturating_sub(text.len());
            let run = pass(gate, threads, &mut self.scratch, &rest[used..], most);
            text.push_str(&rest[used..used + run]);
            self.position += run;
            used += run;
            let Some(c) = rest[used..].chars().next() else { return (State::Looking(inside, look), used) };
            if threads.in_word() && !is_word_character(c) {
                threads.end_words(&gate.program, &mut self.scratch, self.position);
                drop_unknown(gate, threads, &self.scratch);
            }
            if matches!(c, '<' | '[')
                && threads.end_before_token(&gate.program, &mut self.scratch, self.position)
                && let Some(ending) = look.ending(gate, &mut inside, &self.scratch, false)
            {
                return (self.end_body(gate, inside, look, Some(ending), out), used);
            }
            let Look { threads, text, .. } = &mut *look;
            if text.len() >= LONGEST_HEADER || !step(gate, threads, &mut self.scratch, c, self.position) {
                if look.over.is_some() {
                    look.text.push(c);
                    if look.may_be_over(gate).is_some() {
                        look.threads.clear();
                        self.position += c.len_utf8();
                        used += c.len_utf8();
                        continue;
                    }
                    look.text.pop();
                }
                let text = &look.text;
                if text.is_empty() && inside.reads_value() && look.forgiving {
                    self.pool.keep_look(look);
                    self.position += c.len_utf8();
                    inside.value_text(gate, &rest[used..used + c.len_utf8()], self.position);
                    return (State::Body(inside), used + c.len_utf8());
                }
                return (self.look_failed(gate, inside, look), used);
            }
            text.push(c);
            self.position += c.len_utf8();
            used += c.len_utf8();
            if look.forgiving && look.threads.reopen(&gate.program) && inside.draft.value_is_blank() {
                // Twice the opener, or a value that shows it: nothing tells.
                let span = Span::new(look.start, self.position);
                inside.draft.findings.push(Finding::new(Code::SuspectValueEnd).at(span));
            }
            if let Some(ending) = look.ending(gate, &mut inside, &self.scratch, false) {
                return (self.end_body(gate, inside, look, Some(ending), out), used);
            }
            if c == '>' || c == ']' {
                look.note_over(gate, &inside);
            }
            look.threads.settle();
        }
    }

    /// The input ends in the middle of a look ahead.
    pub(super) fn finish_look(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        look: Box<Look>,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let (mut inside, mut look) = (inside, look);
        if let Some((thread, length)) = look.over
            && look.text.len() > length
            && look.may_be_over(gate) == Some(true)
            && inside.draft.value_may_end(&gate.program.frame_of(&thread).openers)
        {
            let tail = look.text.split_off(length);
            self.position -= tail.len();
            look.threads.start(&gate.program, &mut self.scratch, [thread], self.position);
            let state = self.end_body(gate, inside, look, Some(thread), out);
            self.input.read_again(&tail);
            return state;
        }
        look.threads.end_input(&gate.program, &mut self.scratch, self.position);
        let ending = look.ending(gate, &mut inside, &self.scratch, true);
        if ending.is_some() || !inside.reads_value() && look.text.trim_start().len() > 1 {
            self.end_body(gate, inside, look, ending, out)
        } else {
            self.look_failed(gate, inside, look)
        }
    }

    /// The body goes on: what was read ahead is a part of it, unless it is the end with slips.
    pub(super) fn look_failed(&mut self, gate: &Compiled, inside: Box<Inside>, look: Box<Look>) -> State {
        let (mut inside, mut look) = (inside, look);
        self.position = look.start;
        (look.waits, look.over) = (false, None);
        if !look.forgiving && inside.reads_value() {
            look.forgiving = true;
            let ended_line = inside.draft.is_at_line_start();
            let twins =
                inside.waiting.iter().filter_map(|waiting| gate.program.twin_at_body(&waiting.thread));
            look.threads.clear();
            look.threads.start(
                &gate.program,
                &mut self.scratch,
                twins.map(|twin| twin.past_body_line(ended_line)),
                self.position,
            );
            if !look.threads.is_empty() {
                self.input.read_again(&look.text);
                look.text.clear();
                return State::Looking(inside, look);
            }
        }
        let mut from = 0;
        if let DraftBody::Json { reader, .. } = &mut inside.draft.body {
            reader.resume();
        } else {
            from = look.text.chars().next().map_or(0, char::len_utf8);
            self.position += from;
            inside.value_text(gate, &look.text[..from], self.position);
        }
        self.input.read_again(&look.text[from..]);
        self.pool.keep_look(look);
        State::Body(inside)
    }

    /// The body has ended where the look began, and the threads have already read on.
    fn end_body(
        &mut self,
        gate: &Compiled,
        inside: Box<Inside>,
        look: Box<Look>,
        ending: Option<Thread>,
        out: &mut Emitter<'_, '_>,
    ) -> State {
        let (mut inside, mut look) = (inside, look);
        let start = look.start;
        let draft = &mut inside.draft;
        let level = draft.params().map_or(0, |params| params.level());
        if let Some(element) = ending.filter(|thread| thread.level as usize > level) {
            self.hold_elements(gate, &mut inside, &mut look, &element);
        } else if matches!(draft.body, DraftBody::Json { .. }) {
            let is_own_end = ending.is_some_and(|thread| !thread.skipped && !thread.owes_closer);
            let is_given_up =
                ending.is_some_and(|thread| look.is_given_up(gate, &inside, &self.scratch, &thread));
            inside.draft.close_json(start, is_own_end, is_given_up);
        } else {
            let repeats = self.scratch.repeats(&inside.first);
            let frame = gate.program.frame_of(&inside.first);
            let lacks_closer = ending.is_some_and(|thread| thread.unclosed);
            let is_held = ending.is_some_and(|thread| thread.level < inside.first.level);
            if lacks_closer && is_held && draft.holds_nothing() {
                // Neither a value nor its end was written.
                draft.suspect_end(start);
            }
            // In CDATA a marker is data.
            let is_data = look.text.starts_with(CDATA_END);
            let span = Span::new(draft.body_start.unwrap_or(start).min(start), start);
            let (closers, heads) = (&frame.value_closers, &frame.heads);
            // A closer that was left out may be missing in part: what is there belongs to the next one.
            let is_closer =
                |closer: &String| look.text.trim_start().starts_with(&*draft.filled(closer, repeats));
            let is_partly = ending.is_some_and(|thread| thread.skipped) && !closers.iter().any(is_closer);
            let slips = (lacks_closer || is_partly, look.forgiving);
            let knows = |name: &str| gate.rules.registry.is_none() || gate.rules.meant(name).is_some();
            let own: Vec<_> = closers.iter().map(|closer| draft.filled(closer, repeats)).collect();
            if !is_data
                && (draft.value_cuts_data()
                    || (slips.0 || !draft.value_shows_nothing(&own, heads))
                        && (draft.value_shows_call(heads, &own, span, knows)
                            || draft.value_is_unbalanced(&own, slips, heads, span)))
            {
                draft.suspect_end(start);
                out.revoke_unclosed(Finding::new(Code::SuspectValueEnd).at(Span::new(start, start)));
            }
            let ends_in_markup = || {
                draft.value_ends_with(&frame.value_marks, repeats)
                    || draft.value_ends_call(&heads.ends, repeats)
            };
            if !is_data && ends_in_markup()
                || lacks_closer && (draft.value_holds(&frame.closers, repeats) || draft.value_swallows())
            {
                draft.suspect_end(start);
            }
            if !is_data {
                draft.note_markup(&frame.value_marks, heads, span);
            }
            draft.end_value(span, lacks_closer);
        }
        if inside.tentative {
            let position = std::mem::replace(&mut self.position, start);
            if self.settle(gate, &mut inside, ReaderState::Done, out) == Settled::Text {
                self.pool.leave(inside);
                self.input.read_again(&look.text);
                self.pool.keep_look(look);
                return State::Outside;
            }
            self.position = position;
        }
        inside.show(gate, out);
        let mut matching = self.pool.matching();
        matching.after_body = Some(inside.first);
        matching.draft = Some(self.pool.leave(inside));
        swap(&mut matching.threads, &mut look.threads);
        swap(&mut self.held.text, &mut look.text);
        self.held.start = start;
        self.pool.keep_look(look);
        self.after_step(gate, matching, out)
    }

    /// The value that is being read holds elements, of which this thread has begun the first.
    fn hold_elements(&mut self, gate: &Compiled, inside: &mut Inside, look: &mut Look, element: &Thread) {
        let Some(nested) = &gate.program.frame_of(element).nested else { return };
        let is_item = |thread: &Thread| thread.pc >= nested.item;
        let is_list = is_item(element);
        look.threads.retain(|thread| thread.level == element.level && is_item(thread) == is_list);
        if let Some(params) = inside.draft.params() {
            params.open_holder(is_list);
        }
        let elements = if is_list { vec![nested.item] } else { nested.members.clone() };
        let waiting = take(&mut inside.waiting).into_iter().map(|waiting| waiting.thread).collect();
        self.scratch.hold(OuterValue { waiting, elements });
    }
}
