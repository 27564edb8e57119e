//! Outside of frames: text goes by, regions are tracked, openers are looked for.

use crate::finding::{Code, Finding, Span};
use crate::gate::Compiled;
use crate::ledger::{Out, Pending};
use crate::shortcuts::Shortcut;

use super::super::marks::MarkSearch;
use super::super::openers::{FrameFilter, Walk};
use super::super::program::{Body, Op};
use super::super::region::{Change, Regions, Surroundings};
use super::super::threads::Thread;
use super::{LONGEST_GAP, LONGEST_HEADER, Machine, Resync, State, give_back};

impl Machine {
    #[inline(never)] // See `run`.
    pub(super) fn outside(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let bytes = rest.as_bytes();
        let reasoning = self.in_reasoning();
        if std::mem::take(&mut self.fresh)
            && !gate.program.prompt_starts.is_empty()
            && self.begin(gate, bytes[0], true)
        {
            return 0;
        }
        let mut from = 0;
        let mut i = 0;
        let marks = self.context.as_ref().map_or(gate.program.marks, |context| context.marks);
        let mut marks = marks.search(bytes);
        while i < bytes.len() {
            if Shortcut::Prose.is_on() && (reasoning || self.regions.is_calm() && !out.is_pending()) {
                let next = self.next_mark(gate, &mut marks, i, reasoning);
                if !reasoning {
                    self.regions.pass(&rest[i..next]);
                }
                i = next;
                if i == bytes.len() {
                    break;
                }
            }
            let byte = bytes[i];
            if self.may_begin(gate, &bytes[i..]) {
                self.emit(gate, &rest[from..i], out);
                from = i;
                if self.begin(gate, byte, false) {
                    return i;
                }
            }
            let Some(c) = rest[i..].chars().next() else { break };
            i += c.len_utf8();
            if !reasoning {
                let change = self.regions.read(c);
                if change != Change::default() && out.is_pending() {
                    self.emit(gate, &rest[from..i], out);
                    from = i;
                    self.apply(change, out);
                }
            }
        }
        self.emit(gate, &rest[from..], out);
        rest.len()
    }

    /// The next byte from here on at which something may begin or end, or the end of the bytes.
    fn next_mark(&self, gate: &Compiled, marks: &mut MarkSearch<'_>, from: usize, reasoning: bool) -> usize {
        let mut from = from;
        loop {
            let at = marks.find(from);
            let bytes = &marks.bytes()[at..];
            if bytes.is_empty() || self.may_begin(gate, bytes) || !reasoning && Regions::stops_at(bytes) {
                return at;
            }
            from = at + 1;
        }
    }

    /// Whether something can begin or end like these bytes, as far as they have come.
    #[inline]
    fn may_begin(&self, gate: &Compiled, bytes: &[u8]) -> bool {
        if self.context.as_ref().is_some_and(|context| context.stops.may_start(bytes)) {
            return true;
        }
        // A look at the next byte, where it is here already, spares most marks of plain text the threads.
        bytes.first().is_some_and(|first| {
            let begins = |next: &u8| !Shortcut::Openers.is_on() || gate.openers.could_begin(*first, *next);
            gate.program.anchors.has(*first) && bytes.get(1).is_none_or(begins)
        })
    }

    /// Gets ready for everything that can begin with this byte here. False if nothing can.
    pub(super) fn begin(&mut self, gate: &Compiled, byte: u8, after_prompt: bool) -> bool {
        self.take_room();
        if self.context.is_none() {
            self.scratch.reset();
        }
        self.threads.clear();
        self.parked.clear();
        self.best = None;
        let program = &gate.program;
        let position = self.position;
        if let Some(context) = &self.context
            && context.stops.first().has(byte)
        {
            let ends = context.waiting.iter().map(|thread| thread.past_body());
            self.threads.start(program, &mut self.scratch, ends, position);
            self.threads.retain(|thread| program.ops[thread.pc as usize] != Op::Match);
        }
        if after_prompt {
            let starts = program.prompt_starts.iter().map(|pc| Thread::new(*pc, position));
            self.threads.start(program, &mut self.scratch, starts, position);
        }
        let around = self.regions.surroundings();
        let place = FrameFilter {
            reasoning: self.in_reasoning() || self.may_think(around),
            nothing_open: self.context.is_none(),
            only_calls: around.is_dead() || around.backticks > 0,
            // In the middle of a line a fence is none, which is said of one with a call in it.
            fences: self.regions.may_open_fence()
                || (self.after_frame || byte == b'`') && !self.regions.in_run(),
            labels: self.after_frame || self.regions.at_line_start(),
        };
        let opener = gate.openers.start(place, byte);
        if opener.is_none() && self.threads.is_empty() {
            return false;
        }
        self.held.clear();
        self.held_start = position;
        self.accounted = position;
        self.ended_call = 0;
        self.state = State::Matching;
        if let Some(opener) = opener {
            self.opener = opener;
            self.state = State::Opening;
            let is_quick = !gate.openers.hands_over(opener) && self.threads.are_plain(program);
            if !is_quick || !Shortcut::Openers.is_on() {
                self.take_up(gate);
            }
        }
        true
    }

    /// Walks the table of openers, and any threads beside it in step, until one of them is more than an opener.
    #[inline(never)] // See `run`.
    pub(super) fn opening(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let openers = &gate.openers;
        let mut used = 0;
        if self.threads.is_empty() {
            // The table is not deeper than a header may be long.
            (self.opener, used) = openers.walk_on(self.opener, rest);
            self.held.push_str(&rest[..used]);
            self.position += used;
        }
        for c in rest[used..].chars() {
            let walk = openers.walk(self.opener, c);
            if walk == Walk::NotInTable || self.held.len() >= LONGEST_HEADER {
                self.take_up(gate);
                break;
            }
            let goes_on = !self.threads.is_empty() && self.step(gate, c);
            if walk == Walk::Dead && !goes_on {
                if self.threads.is_empty() {
                    // All that is asked of the threads is whether one of them has read a marker.
                    let mut threads = openers.threads(self.opener, self.held_start);
                    let marker = threads.find(|thread| self.is_marker(gate, thread));
                    self.threads.remember(marker);
                    self.state = State::Matching;
                } else {
                    self.take_up(gate);
                }
                used += usize::from(self.mismatch(gate, c, out)) * c.len_utf8();
                break;
            }
            if !goes_on {
                self.threads.clear();
            }
            self.held.push(c);
            self.position += c.len_utf8();
            used += c.len_utf8();
            match walk {
                Walk::To(next) => {
                    self.opener = next;
                    if !openers.hands_over(next) && self.threads.are_plain(&gate.program) {
                        continue;
                    }
                    self.take_up(gate);
                }
                _ => self.state = State::Matching,
            }
            self.after_step(gate, out);
            self.threads.settle();
            break;
        }
        used
    }

    /// Takes up the threads of the table, after those that run already.
    pub(super) fn take_up(&mut self, gate: &Compiled) {
        self.threads.add(gate.openers.threads(self.opener, self.held_start));
        self.state = State::Matching;
    }

    /// Reasoning opens only where a response, a line or the text after markup begins.
    fn may_think(&self, around: Surroundings) -> bool {
        let at_start = self.regions.blank || self.regions.at_line_start() || self.after_frame;
        at_start && around.fence.is_none() && around.backticks == 0
    }

    pub(super) fn in_reasoning(&self) -> bool {
        self.context.as_ref().is_some_and(|context| matches!(context.kind, Body::Reasoning { .. }))
    }

    /// Hands out text at the current position, holding back white space that may be markup of what follows.
    pub(super) fn emit(&mut self, gate: &Compiled, text: &str, out: &mut Out<'_, '_>) {
        let mut text = text;
        if !self.after.is_empty() && !text.is_empty() {
            let same = text.bytes().zip(self.after.bytes()).take_while(|(a, b)| a == b).count();
            out.markup(Span::new(self.position, self.position + same));
            self.position += same;
            text = &text[same..];
            self.after.drain(..same);
            if !text.is_empty() {
                self.after.clear();
            }
        }
        if text.is_empty() {
            return;
        }
        let words_end = text.trim_ascii_end().len();
        if words_end > 0 {
            let glued = self.space.is_empty();
            self.flush_space(out);
            self.check_what_follows(&text[..words_end], glued, out);
            self.hand_out(&text[..words_end], out);
            self.after_frame = false;
        }
        self.space.push_str(&text[words_end..]);
        self.position += text.len() - words_end;
        let limit = if self.after_frame { LONGEST_GAP } else { gate.program.before.max(2) };
        if self.space.len() > limit {
            let excess = self.space.len() - limit;
            let mut space = std::mem::take(&mut self.space);
            let start = self.position - space.len();
            self.give(&space[..excess], start, out);
            space.drain(..excess);
            self.space = space;
            self.after_frame = false;
        }
    }

    pub(super) fn hand_out(&mut self, text: &str, out: &mut Out<'_, '_>) {
        self.give(text, self.position, out);
        self.position += text.len();
    }

    /// Text after an object that stands alone can show that it was no call.
    pub(super) fn check_what_follows(&mut self, text: &str, glued: bool, out: &mut Out<'_, '_>) {
        let position = self.position;
        if std::mem::take(&mut self.stands_alone)
            && glued
            && text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, ')' | '"' | '\'' | '`'))
        {
            let finding = Finding::new(Code::Malformed).at(Span::new(position, position));
            out.revoke_last(finding.message("the object is a part of something larger"));
        }
    }

    /// Closers in the text after a call show that one of its values was cut. Every character of text comes by here in
    /// its order, white space included, so the cuts between chunks do not matter.
    fn check_for_closers(&mut self, text: &str, start: usize, out: &mut Out<'_, '_>) {
        let Some(watch) = &mut self.watch else { return };
        let found = (start..).zip(text.bytes()).find_map(|(at, byte)| {
            let (_, resync) = watch.read(byte)?;
            if watch.shown == 0 {
                return Some(at);
            }
            watch.shown -= usize::from(resync == Resync::FrameEnd);
            None
        });
        if let Some(at) = found {
            out.revoke_last(Finding::new(Code::SuspectValueEnd).at(Span::new(at, at + 1)));
            self.watch = None;
        }
    }

    /// Hands out text as what the open context makes of it.
    pub(super) fn give(&mut self, text: &str, start: usize, out: &mut Out<'_, '_>) {
        self.check_for_closers(text, start, out);
        let span = Span::new(start, start + text.len());
        match self.context.as_ref().map(|context| &context.kind) {
            Some(Body::Skip) => out.markup(span),
            Some(Body::Reasoning { .. }) => out.text(text, span, true),
            _ => out.text(text, span, false),
        }
    }

    pub(super) fn flush_space(&mut self, out: &mut Out<'_, '_>) {
        if !self.space.is_empty() {
            let space = std::mem::take(&mut self.space);
            self.give(&space, self.position - space.len(), out);
            give_back(&mut self.space, space);
        }
    }

    /// White space before a frame: what the template writes is markup, the rest is text.
    pub(super) fn claim_space(&mut self, before: usize, frame_start: usize, out: &mut Out<'_, '_>) {
        let length = self.space.len();
        let markup = if self.after_frame { length } else { before.min(length) };
        let space = std::mem::take(&mut self.space);
        self.give(&space[..length - markup], frame_start - length, out);
        out.markup(Span::new(frame_start - markup, frame_start));
        give_back(&mut self.space, space);
    }

    /// Tells the calls that wait for it what has become clear about code spans.
    pub(super) fn apply(&mut self, change: Change, out: &mut Out<'_, '_>) {
        if let Some(behind) = change.code_behind {
            out.close_code(behind);
        }
        if change.paragraph_ended {
            out.resolve(Pending::Inline, true);
        }
    }
}
