//! The end of a value: whether a closer in it is its end, by a look ahead at what follows the closer.

use crate::dialect::is_word_character;
use crate::draft::{Draft, DraftBody};
use crate::finding::{Code, Finding, Span};
use crate::gate::Compiled;
use crate::json::{ReaderState, RepairCode};
use crate::ledger::Out;

use super::super::program::Op;
use super::super::threads::{OuterValue, Thread};
use super::{LONGEST_HEADER, Machine, State, give_back};

impl Machine {
    pub(super) fn value(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let end = self.stops.find(rest.as_bytes());
        self.value_text(gate, &rest[..end]);
        self.show(gate, out);
        if end < rest.len() {
            self.look(gate);
        }
        end
    }

    pub(super) fn value_text(&mut self, gate: &Compiled, text: &str) {
        let limits = &gate.policy.limits;
        let Some(draft) = &mut self.draft else { return };
        self.position += text.len();
        draft.keep(text, limits.raw);
        let so_far = self.position - draft.body_start.unwrap_or(self.position);
        if so_far > limits.arguments {
            if draft.findings.iter().all(|finding| finding.code != Code::TooLarge) {
                let at = Span::new(self.position, self.position);
                let message = format!("the arguments are longer than {} bytes", limits.arguments);
                draft.findings.push(Finding::new(Code::TooLarge).at(at).message(message));
            }
            return;
        }
        match &mut draft.body {
            DraftBody::Code(code) => code.push_str(text),
            _ => draft.value_text(text),
        }
    }

    /// Starts to look whether the body ends here.
    pub(super) fn look(&mut self, gate: &Compiled) {
        self.threads.clear();
        self.best = None;
        let ended_line = self.draft.as_ref().is_some_and(Draft::is_at_line_start);
        let elements = self.elements(gate);
        let after = self.waiting.iter().map(|thread| thread.past_body_line(ended_line)).chain(elements);
        self.threads.start(&gate.program, &mut self.scratch, after, self.position);
        self.look.clear();
        self.look_start = self.position;
        self.state = State::Looking;
    }

    /// The threads that look for an element inside the value, where one may begin here.
    fn elements(&mut self, gate: &Compiled) -> Vec<Thread> {
        let Some(first) = self.waiting.first() else { return Vec::new() };
        let Some(nested) = &gate.program.frame_of(first).nested else { return Vec::new() };
        let Some(draft) = &mut self.draft else { return Vec::new() };
        let Some(params) = draft.params() else { return Vec::new() };
        let (object, list) = params.may_hold();
        if (object || list) && params.level() >= gate.policy.limits.depth {
            draft.too_deep(self.position);
            return Vec::new();
        }
        let items = Some(&nested.item).filter(|_| list);
        let members = nested.members.iter().filter(|_| object);
        items.into_iter().chain(members).map(|start| first.into_element(*start)).collect()
    }

    #[inline(never)] // See `run`.
    pub(super) fn looking(&mut self, gate: &Compiled, rest: &str, out: &mut Out<'_, '_>) -> usize {
        let mut used = 0;
        loop {
            let run = self.pass(gate, &rest[used..], LONGEST_HEADER.saturating_sub(self.look.len()));
            self.look.push_str(&rest[used..used + run]);
            used += run;
            let Some(c) = rest[used..].chars().next() else { return used };
            if self.threads.in_word() && !is_word_character(c) {
                self.threads.end_words(&gate.program, &mut self.scratch, self.position);
                self.drop_unknown(gate);
            }
            if self.look.len() >= LONGEST_HEADER || !self.step(gate, c) {
                let is_first = self.look.is_empty();
                self.look_failed(gate);
                if is_first && self.state == State::Value {
                    self.value_text(gate, &rest[used..used + c.len_utf8()]);
                    used += c.len_utf8();
                }
                return used;
            }
            self.look.push(c);
            self.position += c.len_utf8();
            used += c.len_utf8();
            if let Some(ending) = self.ending(gate, false) {
                self.end_body(gate, Some(ending), out);
                return used;
            }
            self.threads.settle();
        }
    }

    /// The preferred thread that has read enough to say that the body has ended.
    pub(super) fn ending(&self, gate: &Compiled, at_end_of_input: bool) -> Option<Thread> {
        let program = &gate.program;
        let is_value = self.reads_value();
        let ends = |thread: &&Thread| {
            let op = program.ops[thread.pc as usize];
            if !is_value {
                return thread.literals > 0 || op == Op::Match;
            }
            let at_match = op == Op::Match;
            let begins_value = matches!(op, Op::Body(_));
            if !thread.skipped {
                return thread.literals >= 2
                    || begins_value
                    || thread.literals >= 1 && (at_match || at_end_of_input);
            }
            // Without its closer, a value ends only before a parameter that is still to come, at the start of a
            // line, or before the closers of the call.
            if begins_value {
                return self.value_ends_line() && self.is_new_key(gate, thread);
            }
            thread.key == self.waiting.first().and_then(|waiting| waiting.key)
                && (thread.literals >= 2 || at_end_of_input && thread.literals >= 1)
        };
        self.threads.iter().find(ends).copied()
    }

    pub(super) fn reads_value(&self) -> bool {
        self.draft.as_ref().is_some_and(|draft| !matches!(draft.body, DraftBody::Json { .. }))
    }

    pub(super) fn value_ends_line(&self) -> bool {
        self.draft.as_ref().is_some_and(Draft::is_at_line_start)
    }

    pub(super) fn is_new_key(&self, gate: &Compiled, thread: &Thread) -> bool {
        let (Some(key), Some(draft)) = (thread.key, &self.draft) else { return false };
        let key = self.scratch.get(key);
        let declared =
            draft.name.as_deref().and_then(|name| gate.tool(name)).is_none_or(|tool| tool.has_key(key));
        declared && !draft.has_parameter(key)
    }

    pub(super) fn look_failed(&mut self, gate: &Compiled) {
        let look = std::mem::take(&mut self.look);
        self.threads.clear();
        self.position = self.look_start;
        if self.reads_value() {
            self.state = State::Value;
            let first = look.chars().next().map_or(0, char::len_utf8);
            self.value_text(gate, &look[..first]);
            self.read_again(&look[first..]);
        } else {
            self.state = State::Json;
            if let Some(DraftBody::Json { reader, .. }) = self.draft.as_mut().map(|draft| &mut draft.body) {
                reader.resume();
            }
            self.read_again(&look);
        }
        give_back(&mut self.look, look);
    }

    /// The body has ended where the look began, and the threads have already read on.
    pub(super) fn end_body(&mut self, gate: &Compiled, ending: Option<Thread>, out: &mut Out<'_, '_>) {
        let skipped = self.threads.iter().all(|thread| thread.skipped);
        let start = self.look_start;
        let level = self.draft.as_mut().and_then(Draft::params).map_or(0, |params| params.level());
        let element = ending.filter(|thread| thread.level as usize > level);
        if let Some(element) = element {
            self.hold_elements(gate, element);
        } else if let Some(draft) = &mut self.draft {
            if matches!(draft.body, DraftBody::Json { .. }) {
                draft.close_json(start);
            } else {
                if skipped {
                    draft.repaired(RepairCode::MissingTag, start, start);
                }
                draft.end_value(Span::new(draft.body_start.unwrap_or(start).min(start), start));
            }
        }
        if self.speculative {
            // The state is set first: what is no call leaves it for the text.
            self.state = State::Matching;
            let position = std::mem::replace(&mut self.position, start);
            let is_call = self.settle_speculation(gate, ReaderState::Done, out);
            if !is_call {
                let look = std::mem::take(&mut self.look);
                self.read_again(&look);
                return;
            }
            self.position = position;
        }
        self.show(gate, out);
        self.waiting.clear();
        self.state = State::Matching;
        self.held_start = start;
        std::mem::swap(&mut self.held, &mut self.look);
        self.after_step(gate, out);
    }

    /// The value that is being read holds elements, of which this thread has begun the first.
    fn hold_elements(&mut self, gate: &Compiled, element: Thread) {
        let Some(nested) = gate.program.frame_of(&element).nested.clone() else { return };
        let is_item = |thread: &Thread| thread.pc >= nested.item;
        let is_list = is_item(&element);
        self.threads.retain(|thread| thread.level == element.level && is_item(thread) == is_list);
        if let Some(params) = self.draft.as_mut().and_then(Draft::params) {
            params.open_holder(is_list);
        }
        let elements = if is_list { vec![nested.item] } else { nested.members };
        self.scratch.hold(OuterValue { waiting: std::mem::take(&mut self.waiting), elements });
    }
}
