//! The whole response: the rules that look at all attempts together, and the order in which everything comes out.

use std::collections::BTreeSet;

use crate::ending::FinishReason;
use crate::event::Event;
use crate::finding::{Code, Finding, Severity};
use crate::policy::{Endings, Excess, Partial, Position, RequireCall};
use crate::rules::Rules;
use crate::verdict::Verdict;

use super::{Emitter, Entry, Pending, SPARE, rejected, too_many};

/// For how many attempts room is kept for a later response.
const KEPT: usize = 64;

impl Emitter<'_, '_> {
    /// Judges the response as a whole and lets everything out.
    pub(crate) fn finish(&mut self, rules: &Rules, reason: FinishReason) {
        self.flush_markup();
        self.resolve(Pending::Inline, true);
        // What was cut off in a thought may have gone on with its end.
        self.resolve(Pending::Thought, !reason.is_cut());
        let alone = self.only_fence_is_queued();
        self.resolve(Pending::Sole, alone);
        self.ledger.end_rest();
        let mut entries = std::mem::take(&mut self.ledger.entries);
        entries.retain(|entry| !entry.dropped);
        entries.sort_by_key(|entry| entry.order);
        let released = &self.ledger.ids.taken;
        hold_to_rules(rules, reason, &mut entries, |id| released.contains(id));
        let has_entries = !entries.is_empty();
        let has_calls =
            entries.iter().any(|entry| entry.revoked.is_none() && matches!(entry.verdict, Verdict::Call(_)));
        self.release(&mut entries);
        if entries.capacity() > 0 {
            entries.shrink_to(KEPT);
            let _ = SPARE.try_with(|spare| spare.set(entries));
        }
        for remark in std::mem::take(&mut self.ledger.remarks) {
            if remark.made > remark.most {
                let mut finding = Finding::new(remark.code);
                finding.count = remark.made - remark.most;
                (self.sink)(Event::Finding(finding));
            }
        }
        let required = match rules.policy.require_call {
            RequireCall::Never => false,
            RequireCall::IfAttempted => self.ledger.foreign,
            RequireCall::Always => true,
        };
        if required && !has_calls && !has_entries {
            (self.sink)(Event::Finding(Finding::new(Code::NoCall)));
        }
        if rules.rejects_empty && !self.ledger.has_text {
            (self.sink)(Event::Finding(Finding::new(Code::EmptyResponse)));
        }
    }

    fn release(&mut self, entries: &mut Vec<Entry>) {
        // The model's own ids come first: a generated one must not take what a later call was given.
        let given: Vec<String> = entries
            .iter()
            .filter_map(|entry| match &entry.verdict {
                Verdict::Call(call) if !call.id.is_empty() => Some(call.id.clone()),
                _ => None,
            })
            .collect();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for id in &given {
            self.ledger.ids.take(id);
        }
        for entry in entries.drain(..) {
            match (entry.verdict, entry.revoked) {
                (Verdict::Call(mut call), None) => {
                    if call.id.is_empty() || !seen.insert(call.id.clone()) {
                        call.id = self.ledger.ids.fresh();
                    }
                    (self.sink)(Event::Call(call));
                }
                (Verdict::Call(mut call), Some(mut finding)) => {
                    finding.span = finding.span.or(call.span);
                    (self.sink)(Event::Rejected(Box::new(rejected(&mut call, finding))));
                }
                (Verdict::Rejected(mut rejected), revoked) => {
                    let is_known =
                        |finding: &Finding| rejected.findings.iter().any(|f| f.code == finding.code);
                    let revoked = revoked.filter(|finding| !is_known(finding));
                    rejected.findings.extend(revoked);
                    (self.sink)(Event::Rejected(rejected));
                }
                (Verdict::Error(error), _) => (self.sink)(Event::ModelError(error)),
                (Verdict::Released(_), _) => {}
            }
        }
    }
}

/// The rules that look at all attempts together.
fn hold_to_rules(
    rules: &Rules,
    reason: FinishReason,
    entries: &mut [Entry],
    is_released: impl Fn(&str) -> bool,
) {
    let policy = &rules.policy;
    let stands = |entry: &Entry| entry.revoked.is_none() && matches!(entry.verdict, Verdict::Call(_));
    if reason.is_cut() {
        for entry in entries.iter_mut().filter(|entry| !entry.closed) {
            let message = match reason {
                FinishReason::Length => "the output limit was reached inside the call",
                FinishReason::ContentFilter => "the provider withheld the end of the call",
                _ => "the output was broken off inside the call",
            };
            entry.revoked.get_or_insert_with(|| Finding::new(Code::Truncated).message(message));
        }
    }
    if policy.endings == Endings::Good && !reason.is_good() {
        for entry in entries.iter_mut().filter(|entry| stands(entry)) {
            let message = "the provider did not say that the output is complete";
            entry.revoked = Some(Finding::new(Code::Truncated).message(message));
        }
    }
    if entries.iter().any(|entry| entry.native) {
        for entry in
            entries.iter_mut().filter(|entry| !entry.native && matches!(entry.verdict, Verdict::Call(_)))
        {
            entry.revoked.get_or_insert_with(|| Finding::new(Code::ShadowedByNative));
        }
    }
    if policy.position == Position::Trailing {
        for entry in entries.iter_mut().filter(|entry| entry.followed && !entry.native) {
            if stands(entry) {
                entry.revoked = Some(Finding::new(Code::NotTerminal));
            }
        }
    }
    let calls = entries.iter().filter(|entry| matches!(entry.verdict, Verdict::Call(_))).count();
    if calls > policy.max_calls {
        let mut seen = 0;
        for entry in entries.iter_mut().filter(|entry| matches!(entry.verdict, Verdict::Call(_))) {
            seen += 1;
            let excess = match policy.on_excess {
                Excess::Reject => Finding::new(Code::Ambiguous).message(format!(
                    "{calls} calls in one response, {} allowed; none was run",
                    policy.max_calls
                )),
                Excess::Report if seen > policy.max_calls => too_many(seen, policy.max_calls),
                Excess::Report => continue,
            };
            // What is wrong with a call by its place matters less than that nobody can tell which was meant.
            if policy.on_excess == Excess::Reject {
                entry.revoked = Some(excess);
            } else {
                entry.revoked.get_or_insert(excess);
            }
        }
    }
    order_rule(entries, is_released);
    if policy.partial == Partial::AllOrNothing {
        let rejected = entries.iter().any(|entry| match &entry.verdict {
            Verdict::Rejected(rejected) => rejected.findings.iter().any(|f| f.severity() == Severity::Error),
            _ => entry.revoked.is_some(),
        });
        if rejected {
            for entry in entries.iter_mut().filter(|entry| stands(entry)) {
                entry.revoked = Some(Finding::new(Code::Sibling));
            }
        }
    }
}

/// Rejects the calls that wait for something that never comes: a call that was rejected, or that is not there, or that
/// waits for them.
fn order_rule(entries: &mut [Entry], is_done: impl Fn(&str) -> bool) {
    let waits = |entry: &Entry| matches!(&entry.verdict, Verdict::Call(call) if !call.after.is_empty());
    if !entries.iter().any(waits) {
        return;
    }
    let mut done: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<usize> = Vec::new();
    for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.revoked.is_none()) {
        match &entry.verdict {
            Verdict::Call(call) if call.after.is_empty() => {
                done.insert(call.id.clone());
            }
            Verdict::Call(_) => open.push(index),
            _ => {}
        }
    }
    // Each round settles at least one call, and the policy bounds how many there are.
    loop {
        let before = open.len();
        open.retain(|index| {
            let Verdict::Call(call) = &entries[*index].verdict else { return false };
            let can_go = call.after.iter().all(|id| done.contains(id) || is_done(id));
            if can_go {
                done.insert(call.id.clone());
            }
            !can_go
        });
        if open.len() == before {
            break;
        }
    }
    for index in open {
        let Verdict::Call(call) = &entries[index].verdict else { continue };
        let awaited = call.after.iter().find(|id| !done.contains(*id) && !is_done(id));
        let message = format!("it waits for `{}`, which does not come", awaited.map_or("", String::as_str));
        entries[index].revoked = Some(Finding::new(Code::Sibling).message(message));
    }
}
