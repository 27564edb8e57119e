//! Verdicts: what became of an attempt.

use crate::event::{Call, ModelError, Rejected};
use crate::finding::Span;

/// What became of an attempt.
#[derive(Debug)]
pub(crate) enum Verdict {
    Call(Box<Call>),
    Rejected(Box<Rejected>),
    Error(ModelError),
    /// A call of this name, which has already been let out.
    Released(String),
}

impl Verdict {
    pub(crate) fn span(&self) -> Option<Span> {
        match self {
            Verdict::Call(call) => call.span,
            Verdict::Rejected(rejected) => rejected.span,
            Verdict::Error(error) => error.span,
            Verdict::Released(_) => None,
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Verdict::Call(call) => Some(&call.name),
            Verdict::Rejected(rejected) => rejected.name.as_deref(),
            Verdict::Released(name) => Some(name),
            Verdict::Error(_) => None,
        }
    }

    /// Counts its spans from the first byte of the response.
    pub(crate) fn shift(&mut self, base: usize) {
        let place = |span: &mut Option<Span>| *span = span.map(|span| span.counted_from(base));
        match self {
            Verdict::Call(call) => {
                place(&mut call.span);
                for repair in &mut call.repairs {
                    repair.span = repair.span.counted_from(base);
                }
            }
            Verdict::Rejected(rejected) => {
                place(&mut rejected.span);
                for finding in &mut rejected.findings {
                    place(&mut finding.span);
                }
            }
            Verdict::Error(error) => place(&mut error.span),
            Verdict::Released(_) => {}
        }
    }
}
