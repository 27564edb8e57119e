//! What is undecided: attempts that may turn out to be text, and the events that wait with them.

use std::borrow::Cow;

use crate::bytes::character_start;
use crate::event::Event;
use crate::finding::{Code, Finding, Span};
use crate::verdict::Verdict;

use super::{Emitter, LISTED, Pending};

/// An event that waits, or the place of an attempt among them.
#[derive(Debug)]
pub(super) enum Queued {
    Event(Event<'static>),
    Attempt { entry: usize, raw: String, backticks: usize },
}

impl Emitter<'_, '_> {
    pub(crate) fn is_pending(&self) -> bool {
        self.ledger.pending.is_some()
    }

    /// From here on events wait until it is decided whether what follows is a call. So many runs of backticks before it
    /// may open a code span.
    pub(crate) fn hold(&mut self, pending: Pending, backticks: usize) {
        self.flush_markup();
        self.ledger.pending.get_or_insert(pending);
        self.ledger.backticks = backticks;
    }

    /// A code span has closed: attempts behind more than so many runs of backticks stand in it.
    pub(crate) fn close_code(&mut self, behind: usize) {
        if self.ledger.pending != Some(Pending::Inline) || self.ledger.deepest <= behind {
            return;
        }
        self.ledger.deepest = behind;
        self.flush_markup();
        let is_open =
            |queued: &Queued| matches!(queued, Queued::Attempt { backticks, .. } if *backticks <= behind);
        // What stands in the span came last.
        let from = self.ledger.queue.iter().rposition(is_open).map_or(0, |at| at + 1);
        let inside = self.ledger.queue.split_off(from);
        if from > 0 {
            let before = std::mem::take(&mut self.ledger.queue);
            self.settle(inside, Code::DeadRegion, false, false);
            let inside = std::mem::replace(&mut self.ledger.queue, before);
            self.ledger.queue.extend(inside);
        } else {
            self.stop_waiting();
            self.settle(inside, Code::DeadRegion, false, false);
        }
    }

    /// Decides what was pending for this reason.
    pub(crate) fn resolve(&mut self, pending: Pending, live: bool) {
        if self.ledger.pending != Some(pending) {
            return;
        }
        self.flush_markup();
        self.stop_waiting();
        let queue = std::mem::take(&mut self.ledger.queue);
        let (code, reasoning) = match pending {
            Pending::Inline | Pending::Sole => (Code::DeadRegion, false),
            Pending::Thought => (Code::CallInReasoning, true),
        };
        self.settle(queue, code, reasoning, live);
    }

    /// How much of a text may still wait.
    pub(super) fn room(&self, text: &str) -> usize {
        let ledger = &self.ledger;
        if ledger.pending.is_none() || ledger.overflowed {
            return text.len();
        }
        character_start(text, self.limit.saturating_sub(ledger.queued))
    }

    /// Too much waits. What cannot be decided in time is no call, and neither is what comes until it would have been.
    pub(super) fn overflow(&mut self) {
        if let Some(pending) = self.ledger.pending {
            self.resolve(pending, false);
            self.ledger.pending = Some(pending);
            self.ledger.overflowed = true;
            (self.sink)(Event::Finding(Finding::new(Code::HeldLimit)));
        }
    }

    /// Whether the text that waits is nothing but the closing line of a fence.
    pub(super) fn only_fence_is_queued(&self) -> bool {
        let mut rest = String::new();
        for queued in &self.ledger.queue {
            if let Queued::Event(Event::Text { text, .. }) = queued {
                rest.push_str(text);
            }
        }
        rest.trim().chars().all(|c| matches!(c, '`' | '~'))
    }

    pub(super) fn stop_waiting(&mut self) {
        self.ledger.pending = None;
        self.ledger.queued = 0;
        self.ledger.deepest = 0;
        self.ledger.overflowed = false;
    }

    /// Lets go of what was queued, the attempts as calls or as the text that they are.
    pub(super) fn settle(&mut self, queue: Vec<Queued>, code: Code, reasoning: bool, live: bool) {
        for queued in queue {
            match queued {
                Queued::Attempt { entry, raw, .. } if !live => self.withdraw(entry, raw, code, reasoning),
                Queued::Attempt { .. } => {}
                Queued::Event(Event::CallStarted { .. } | Event::ArgumentsDelta { .. }) if !live => {}
                Queued::Event(Event::Text { text, span }) if !live && reasoning => {
                    self.let_go(Event::Reasoning { text, span });
                }
                Queued::Event(event) => self.let_go(event),
            }
        }
    }

    /// Sends an event that has waited, unless something before it still waits.
    pub(super) fn let_go(&mut self, event: Event<'static>) {
        if self.ledger.pending.is_some() {
            self.ledger.queue.push(Queued::Event(event));
        } else {
            (self.sink)(event);
        }
    }

    /// An attempt in a dead place: its text is text again. Where not all of it was kept, it is rejected instead.
    pub(super) fn withdraw(&mut self, entry: usize, raw: String, code: Code, reasoning: bool) {
        let Some(entry) = self.ledger.entries.get_mut(entry) else { return };
        let span = entry.verdict.span();
        let finding = Finding::new(code);
        let finding = match span {
            Some(span) => finding.at(span),
            None => finding,
        };
        match span {
            Some(span) if span.len() == raw.len() => {
                entry.dropped = true;
                if matches!(entry.verdict, Verdict::Call(_)) {
                    self.ledger.calls = self.ledger.calls.saturating_sub(1);
                }
                let text = Cow::Owned(raw);
                self.let_go(if reasoning {
                    Event::Reasoning { text, span }
                } else {
                    Event::Text { text, span }
                });
                self.withdrawn(finding);
            }
            _ => entry.revoked = Some(finding),
        }
    }

    /// Says that an attempt became text. Its place is already that in the response.
    pub(super) fn withdrawn(&mut self, finding: Finding) {
        let base = self.ledger.base;
        let span = finding.span.map(|span| Span::new(span.start + base, span.end + base));
        self.list(Finding { span, ..finding }, LISTED);
    }
}
