//! Limits of a response: how much may be rejected and judged, and the one rejection that stands for all that is left.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use crate::event::Rejected;
use crate::finding::{Code, Finding, Span};
use crate::policy::{Excess, Policy, Release};
use crate::verdict::Verdict;

use super::{Emitter, Entry, Ledger, rejected, too_many};

/// How many bytes of rejected text and of reasons one response may hold. What is rejected after that keeps the one reason
/// that decides.
const REJECTED: usize = 1 << 20;

/// The most bytes of a message that is kept then.
const SHORT: usize = 160;

/// The rest of a response behind a limit: one rejection, whatever is in it.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) code: Code,
    pub(super) span: Span,
    /// The number that its first attempt would have had.
    pub(super) attempt: usize,
    /// Whether structured calls are in it.
    pub(super) native: bool,
    pub(super) dialect: Arc<str>,
}

impl Ledger {
    /// Whether what stands here belongs to the rest that is not judged.
    pub(super) fn absorb(&mut self, span: Span) -> bool {
        match &mut self.rest {
            Some(rest) if span.start >= rest.span.start => {
                rest.span.end = rest.span.end.max(span.end);
                true
            }
            _ => false,
        }
    }

    /// Nothing that comes from here on is heard: how much of it the framing has already seen depends on how the text was
    /// cut. It may be text, so where a call must be the last thing, none is.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        for entry in &mut self.entries {
            entry.followed = true;
        }
    }

    /// Counts a verdict. A call over the limit is rejected at once where nothing can change its number any more, and a
    /// rejection is cut short where there are many. The code says which limit was reached with it.
    pub(super) fn count(&mut self, policy: &Policy, verdict: &mut Verdict) -> Option<Code> {
        if let Verdict::Call(call) = verdict {
            self.calls += 1;
            let is_excess = self.calls > policy.max_calls && self.pending.is_none();
            if is_excess && policy.on_excess == Excess::Report && policy.release == Release::AtEnd {
                let finding = too_many(self.calls, policy.max_calls);
                *verdict = Verdict::Rejected(Box::new(rejected(call, finding)));
            }
        }
        match verdict {
            Verdict::Rejected(rejected) => {
                self.rejected += 1;
                let reasons = rejected.findings.iter();
                let held: usize = reasons.map(|f| f.message.len() + f.help.len() + f.path.len()).sum();
                self.rejected_bytes += rejected.raw.len() + held;
                if self.rejected_bytes > REJECTED {
                    cut_short(rejected);
                }
            }
            Verdict::Call(_) if self.calls <= policy.max_calls => {}
            _ => self.rejected += 1,
        }
        if self.effort.is_spent() {
            Some(Code::WorkLimit)
        } else if self.rejected >= policy.limits.rejections.max(1) {
            Some(Code::TooManyRefusals)
        } else {
            None
        }
    }

    /// The rest that was not judged becomes rejections: one in the text, and one for structured calls.
    pub(super) fn end_rest(&mut self) {
        let Some(rest) = self.rest.take() else { return };
        let mut reject = |span: Option<Span>, order: (usize, usize)| {
            let mut finding = Finding::new(rest.code);
            finding.span = span;
            let rejected = Rejected {
                attempt: rest.attempt,
                id: None,
                name: None,
                raw: String::new(),
                raw_len: span.map_or(0, |span| span.len()),
                dialect: rest.dialect.clone(),
                span,
                findings: vec![finding],
            };
            self.entries.push(Entry {
                verdict: Verdict::Rejected(Box::new(rejected)),
                order,
                native: span.is_none(),
                closed: true,
                shown_openers: None,
                shows_call: OnceLock::new(),
                revoked: None,
                dropped: false,
                followed: false,
            });
        };
        if !rest.span.is_empty() {
            reject(Some(rest.span), (rest.span.start.saturating_add(self.base), 0));
        }
        if rest.native {
            reject(None, (usize::MAX, usize::MAX));
        }
    }
}

impl Emitter<'_, '_> {
    /// There are more structured calls than were taken up.
    pub(crate) fn unread_native(&mut self, attempt: usize) {
        self.give_up(Code::TooManyRefusals, usize::MAX, attempt, Arc::from("native"));
        if let Some(rest) = &mut self.ledger.rest {
            rest.native = true;
        }
    }

    /// A limit was reached: what follows is not judged any more. What was still open may be anything, so it is dead.
    pub(super) fn give_up(&mut self, code: Code, from: usize, attempt: usize, dialect: Arc<str>) {
        if let Some(pending) = self.ledger.pending {
            self.resolve(pending, false);
        }
        self.flush_markup();
        if self.ledger.rest.is_none() {
            let span = Span::new(from, from);
            self.ledger.rest = Some(Rest { code, span, attempt, native: false, dialect });
        }
    }

    /// So much of the response has been read that nothing more is, up to the byte at `end`.
    pub(crate) fn stop_reading(&mut self, end: usize, attempt: usize) {
        self.give_up(Code::WorkLimit, end, attempt, Arc::from(""));
        self.ledger.stop();
    }

    /// Whether a limit was reached before this place, so that a rejection stands for what is there.
    pub(crate) fn gave_up_before(&self, span: Span) -> bool {
        let place = span.counted_from(self.ledger.base);
        self.ledger.rest.as_ref().is_some_and(|rest| rest.span.start <= place.start)
    }

    /// Whether nothing more is to be read.
    pub(crate) fn has_stopped(&self) -> bool {
        self.ledger.stopped
    }

    /// The response goes on to the byte at `end`, unread.
    pub(crate) fn pass_over(&mut self, end: usize) {
        if let Some(rest) = self.ledger.rest.as_mut().filter(|rest| rest.span.start <= end) {
            rest.span.end = rest.span.end.max(end);
        }
    }
}

/// Leaves nothing of a rejection but its place and the reason that decides.
fn cut_short(rejected: &mut Rejected) {
    rejected.raw = String::new();
    rejected.findings.truncate(1);
    rejected.findings.shrink_to_fit();
    for finding in &mut rejected.findings {
        finding.help = Cow::Borrowed(finding.code.entry().help);
        if finding.message.len() > SHORT {
            finding.message = finding.message.chars().take(SHORT / 4).chain(['…']).collect::<String>().into();
        }
        if finding.path.len() > SHORT {
            finding.path = String::new();
        }
    }
}
