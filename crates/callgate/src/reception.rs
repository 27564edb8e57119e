//! Reception: an attempt that has been read is judged at once, and entered into the ledger with its verdict.

use crate::attempt::{Attempt, Meaning};
use crate::judge::judge;
use crate::ledger::{Emitter, Judged};
use crate::rules::Rules;

/// Receives a call of the text. What is not needed of it stays in the attempt.
pub(crate) fn receive(rules: &Rules, attempt: &mut Attempt, out: &mut Emitter<'_, '_>) {
    let start = attempt.span.map_or(0, |span| span.start);
    match (&attempt.meaning, attempt.span) {
        (Meaning::Answer(text), Some(span)) => out.answer(text, &attempt.raw, span),
        _ => enter(rules, attempt, (start, 0), out),
    }
}

/// Receives a structured call, which comes after all text, by its index.
pub(crate) fn receive_structured(rules: &Rules, attempt: Attempt, index: usize, out: &mut Emitter<'_, '_>) {
    let mut attempt = attempt;
    enter(rules, &mut attempt, (usize::MAX, index), out);
}

fn enter(rules: &Rules, attempt: &mut Attempt, order: (usize, usize), out: &mut Emitter<'_, '_>) {
    if out.wants(attempt) {
        let raw = out.text_of(attempt);
        let (verdict, notes) = judge(rules, attempt, &mut out.ledger.effort);
        out.enter(&rules.policy, attempt, Judged { verdict, notes, order, raw });
    }
}
