//! What is settled: calls that stand whatever comes next, so that a host need not wait for the end of the response.

use crate::event::Call;
use crate::policy::{Endings, Excess, Partial, Policy, Position};
use crate::verdict::Verdict;

use super::undecided::Queued;
use super::{Emitter, Entry, Ledger};

/// What the text that comes next may say about calls that have been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallDoubts {
    /// The end of a thought that never began may come: then they were thoughts.
    pub(crate) thought: bool,
    /// Something may follow that shows that the last one is not what it seems to be.
    pub(crate) last: bool,
}

impl Ledger {
    /// The calls in the text that nothing which comes next can revoke, in order. Every rule that revokes has its condition
    /// here; structured calls, which shadow those in the text, are the caller's to exclude.
    pub(crate) fn settled(&self, policy: &Policy, doubts: CallDoubts) -> impl Iterator<Item = &Call> {
        let is_whole_judged = policy.position == Position::Trailing
            || policy.partial == Partial::AllOrNothing
            || policy.endings == Endings::Good
            || policy.on_excess == Excess::Reject && policy.max_calls < usize::MAX;
        let last = self.entries.iter().rposition(|entry| !entry.native);
        let first_cut = self.entries.iter().position(Entry::may_be_cut).unwrap_or(self.entries.len());
        let is_waiting = |entry: usize| {
            let is_it = |queued: &Queued| matches!(queued, Queued::Attempt { entry: at, .. } if *at == entry);
            self.queue.iter().any(is_it)
        };
        let calls =
            self.entries.iter().enumerate().filter(|(_, entry)| matches!(entry.verdict, Verdict::Call(_)));
        // What became text was no call, and counts for nothing; what may become text counts until it does.
        let counted = calls.filter(|(_, entry)| !entry.dropped).take(policy.max_calls);
        counted.filter_map(move |(at, entry)| {
            let Entry { verdict: Verdict::Call(call), native, closed, revoked, .. } = entry else {
                return None;
            };
            let stands = !is_whole_judged && !native && *closed && revoked.is_none();
            let is_clear = at < self.before_thought || !doubts.thought;
            let is_undoubted = (Some(at) != last || !doubts.last) && at < first_cut;
            (stands && is_clear && is_undoubted && call.after.is_empty() && !is_waiting(at))
                .then_some(&**call)
        })
    }
}

impl Emitter<'_, '_> {
    /// A thought begins, or all that began are over: no end of one that comes says anything about the calls before this.
    pub(crate) fn clear_of_thoughts(&mut self) {
        self.ledger.before_thought = self.ledger.entries.len();
    }
}
