//! Outside of frames: text goes by, regions are tracked, openers are looked for.

use super::super::Compiled;
use crate::ledger::Emitter;
use crate::shortcuts::Shortcut;

use super::super::instructions::SHORTEST_SIGN;
use super::super::marks::MarkSearch;
use super::super::openers::{FrameFilter, Set, Walk};
use super::super::program::Op;
use super::super::region::{Change, Regions};
use super::super::threads::Thread;
use super::matching::{Matching, is_marker, step};
use super::unread_values::may_be_tag;
use super::{LONGEST_HEADER, Machine, State};

impl Machine {
    #[inline(never)] // Keeps `run` small.
    pub(super) fn outside(
        &mut self,
        gate: &Compiled,
        rest: &str,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        // Most chunks are a word or two in which nothing begins.
        let context = self.around.context.as_ref();
        let marks = context.map_or(&gate.openers.marks, |context| &context.marks);
        let begins = !self.input.begun || self.around.only_space_since_frame;
        if begins || !marks.are_missing_in_few(rest.as_bytes()) || !Shortcut::Prose.is_on() {
            return self.look_for_openers(gate, rest, out);
        }
        if !self.around.in_reasoning() {
            if !self.around.regions.is_calm() || out.is_pending() {
                return self.look_for_openers(gate, rest, out);
            }
            self.around.regions.pass_words(rest);
        }
        if let Some(first) = rest.bytes().next() {
            self.around.watch.go_on(self.position, first);
        }
        // Inside of text that a frame holds, other bytes may be marks.
        self.emit_seen(gate, rest, self.around.context.is_some(), out);
        (State::Outside, rest.len())
    }

    /// Hands out text of which it is known whether a tag may begin in it.
    #[inline]
    fn emit_seen(&mut self, gate: &Compiled, text: &str, may_have_tags: bool, out: &mut Emitter<'_, '_>) {
        self.around.unread_values.has_no_tags = !may_have_tags && Shortcut::Prose.is_on();
        self.around.emit(gate, text, &mut self.position, out);
        self.around.unread_values.has_no_tags = false;
    }

    #[inline(never)] // Keeps `outside` small.
    fn look_for_openers(&mut self, gate: &Compiled, rest: &str, out: &mut Emitter<'_, '_>) -> (State, usize) {
        let bytes = rest.as_bytes();
        let reasoning = self.around.in_reasoning();
        if !std::mem::replace(&mut self.input.begun, true)
            && gate.openers.after_prompt.has(bytes[0])
            && let Some(state) = self.begin(gate, bytes[0], true)
        {
            return (state, 0);
        }
        self.around.watch.go_on(self.position, bytes[0]);
        let mut from = 0;
        let mut i = 0;
        let mut tags = self.around.context.is_some();
        let own = self.around.context.as_ref().map(|context| context.marks.clone());
        let mut marks = own.as_deref().unwrap_or(&gate.openers.marks).search(bytes);
        // What the text begins with is looked at, mark or not.
        let first = self.around.only_space_since_frame.then(|| bytes.len() - bytes.trim_ascii_start().len());
        while i < bytes.len() {
            if Shortcut::Prose.is_on() && (reasoning || self.around.regions.is_calm() && !out.is_pending()) {
                let next = self.next_mark(gate, &mut marks, i, reasoning, &mut tags);
                let next = first.filter(|first| *first >= i).map_or(next, |first| next.min(first));
                if !reasoning {
                    self.around.regions.pass(&rest[i..next]);
                }
                i = next;
                if i == bytes.len() {
                    break;
                }
            }
            let byte = bytes[i];
            if self.may_begin(gate, &bytes[i..]) {
                self.emit_seen(gate, &rest[from..i], tags, out);
                from = i;
                if let Some(state) = self.begin(gate, byte, false) {
                    return (state, i);
                }
            }
            tags |= may_be_tag(&bytes[i..]);
            let Some(c) = rest[i..].chars().next() else { break };
            if !reasoning {
                self.around.watch_for(&bytes[..i], &bytes[i..], self.position + i - from);
            }
            i += c.len_utf8();
            if !reasoning {
                let change = self.around.regions.read(c);
                if change != Change::default() && out.is_pending() {
                    self.emit_seen(gate, &rest[from..i], tags, out);
                    from = i;
                    self.around.apply(change, out);
                }
            }
        }
        self.emit_seen(gate, &rest[from..], tags, out);
        (State::Outside, rest.len())
    }

    /// The next byte from here on at which something may begin or end, or the end of the bytes. Notes whether a tag may begin
    /// with one that is passed.
    fn next_mark(
        &self,
        gate: &Compiled,
        marks: &mut MarkSearch<'_>,
        from: usize,
        reasoning: bool,
        tags: &mut bool,
    ) -> usize {
        let mut from = from;
        loop {
            let at = marks.find(from);
            let bytes = &marks.bytes()[at..];
            if bytes.is_empty() {
                return at;
            }
            // Nothing but an opener begins with `<` and a space.
            let is_operator = matches!(bytes, [b'<', b' ', ..]) && gate.openers.passes_operators;
            if is_operator && Shortcut::Openers.is_on() && self.around.context.is_none() {
                from = at + 1;
                continue;
            }
            if self.may_begin(gate, bytes)
                || !reasoning
                    && (Regions::stops_at(bytes)
                        || self.around.is_watched(&marks.bytes()[..at], bytes, self.position))
            {
                return at;
            }
            *tags |= may_be_tag(bytes);
            from = at + 1;
        }
    }

    /// Whether something can begin or end like these bytes, as far as they have come.
    #[inline]
    fn may_begin(&self, gate: &Compiled, bytes: &[u8]) -> bool {
        if self.around.context.is_some() && self.around.may_end(bytes) {
            return true;
        }
        // A look at the next bytes, where they are here already, spares most marks of plain text the threads.
        match bytes {
            [_, _, ..] if Shortcut::Openers.is_on() => gate.openers.could_begin(bytes),
            _ => bytes.first().is_some_and(|first| gate.program.anchors.has(*first)),
        }
    }

    /// The state in which everything is read that can begin with this byte here, if anything can.
    fn begin(&mut self, gate: &Compiled, byte: u8, after_prompt: bool) -> Option<State> {
        self.open_pool();
        if self.around.context.is_none() {
            self.scratch.reset();
        }
        let mut matching = self.pool.matching();
        let threads = &mut matching.threads;
        let program = &gate.program;
        let position = self.position;
        if let Some(context) = &self.around.context
            && context.stops.first().has(byte)
        {
            let ends = context.waiting.iter().map(|waiting| waiting.thread.past_body());
            threads.start(program, &mut self.scratch, ends, position);
            threads.retain(|thread| program.ops[thread.pc as usize] != Op::Match);
        }
        if after_prompt {
            let starts = program.prompt_starts.iter().map(|pc| Thread::new(*pc, position));
            threads.start(program, &mut self.scratch, starts, position);
        }
        let around = &self.around;
        let surroundings = around.regions.surroundings();
        // Regions are not read in a thought, so the run that a mark belongs to is told by the byte before it.
        let in_run = match around.in_reasoning() {
            true => matches!(byte, b'`' | b'~') && around.last == byte,
            false => around.regions.in_run(),
        };
        let place = FrameFilter {
            reasoning: around.in_reasoning() || around.may_think(surroundings),
            ends_thought: around.context.is_none() || around.in_reasoning(),
            only_calls: surroundings.is_dead() || surroundings.backticks > 0,
            // In the middle of a line a fence is none, which is said of one with a call in it.
            fences: !in_run
                && (around.regions.may_open_fence() || around.only_space_since_frame || byte == b'`'),
            labels: around.only_space_since_frame || around.regions.at_line_start(),
        };
        let is_looked_for = gate.program.marks.has(byte) || around.only_space_since_frame;
        let opener = gate.openers.start(place, byte).filter(|_| is_looked_for);
        if opener.is_none() && threads.is_empty() {
            self.pool.keep_matching(matching);
            return None;
        }
        self.held.restart(position);
        self.calls.accounted = position;
        self.calls.ended = 0;
        let Some(opener) = opener else { return Some(State::Matching(matching)) };
        let is_quick = !gate.openers.hands_over(opener) && threads.are_plain(program);
        if is_quick && Shortcut::Openers.is_on() {
            Some(State::Opening(opener, matching))
        } else {
            Some(self.take_up(gate, opener, matching))
        }
    }

    /// Walks the table of openers, and any threads beside it in step, until one of them is more than an opener.
    #[inline(never)] // Keeps `run` small.
    pub(super) fn opening(
        &mut self,
        gate: &Compiled,
        opener: Set,
        matching: Box<Matching>,
        rest: &str,
        out: &mut Emitter<'_, '_>,
    ) -> (State, usize) {
        let openers = &gate.openers;
        let (mut opener, mut matching) = (opener, matching);
        let mut used = 0;
        if matching.threads.is_empty() {
            // The table is not deeper than a header may be long.
            (opener, used) = openers.walk_on(opener, rest);
            self.held.text.push_str(&rest[..used]);
            self.position += used;
        }
        for c in rest[used..].chars() {
            let walk = openers.walk(opener, c);
            if walk == Walk::NotInTable || self.held.text.len() >= LONGEST_HEADER {
                return (self.take_up(gate, opener, matching), used);
            }
            let threads = &mut matching.threads;
            let goes_on = !threads.is_empty() && step(gate, threads, &mut self.scratch, c, self.position);
            if walk == Walk::Dead && !goes_on {
                if !threads.is_empty() {
                    threads.add(openers.threads(opener, self.held.start));
                } else if self.held.text.len() >= SHORTEST_SIGN {
                    // All that is asked of the threads is which of them have read a marker, which takes its length.
                    let is_opened = |thread: &Thread| {
                        is_marker(gate, thread) || gate.program.frame_of(thread).is_opened_by(&self.held.text)
                    };
                    threads.add(openers.threads(opener, self.held.start).filter(is_opened));
                }
                let (state, read) = self.mismatch(gate, matching, c, out);
                return (state, used + read);
            }
            if !goes_on {
                threads.clear();
            }
            self.held.text.push(c);
            self.position += c.len_utf8();
            used += c.len_utf8();
            if let Walk::To(next) = walk {
                opener = next;
                if !openers.hands_over(next) && threads.are_plain(&gate.program) {
                    continue;
                }
                threads.add(openers.threads(opener, self.held.start));
            }
            let mut state = self.after_step(gate, matching, out);
            if let State::Matching(same) = &mut state {
                same.threads.settle();
            }
            return (state, used);
        }
        (State::Opening(opener, matching), used)
    }

    /// Takes up the threads of the table, after those that run already.
    pub(super) fn take_up(&mut self, gate: &Compiled, opener: Set, matching: Box<Matching>) -> State {
        let mut matching = matching;
        matching.threads.add(gate.openers.threads(opener, self.held.start));
        State::Matching(matching)
    }
}
