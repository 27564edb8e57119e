//! Whoever is asked about a call, and what was answered.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::Request;
use crate::model::BoxFuture;

/// A terminal so wide that the lines of a request do not depend on one.
const WIDE: usize = 1_000;

/// Somebody who can be asked.
pub trait Approver: Send + Sync {
    /// Shows a request and waits for the answer.
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer>;
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, to the request with this hash.
    Approve {
        /// The hash that was shown.
        hash: String,
    },
    /// Yes, and to every request that is the same in all that is shown; see [`Remembering`].
    ApproveAlways {
        /// The hash that was shown.
        hash: String,
    },
    /// Yes, to these hunks of the change that was shown, counted from one; all others are refused.
    ApproveHunks {
        /// The hash that was shown.
        hash: String,
        /// The hunks.
        hunks: Vec<usize>,
    },
    /// No.
    Deny,
    /// The question was closed without an answer.
    Closed,
    /// There is nobody to ask.
    Nobody,
}

impl Answer {
    /// The hash of the request that it is a yes to.
    pub(super) fn hash(&self) -> Option<&str> {
        match self {
            Answer::Approve { hash } | Answer::ApproveAlways { hash } | Answer::ApproveHunks { hash, .. } => {
                Some(hash)
            }
            Answer::Deny | Answer::Closed | Answer::Nobody => None,
        }
    }
}

/// Somebody who is asked once about what is the same in every line that is shown: an answer of
/// [`always`](Answer::ApproveAlways) holds for that very request, for as long as this lives.
pub struct Remembering<A> {
    approver: A,
    approved: Mutex<BTreeSet<Vec<String>>>,
}

impl<A: Approver> Remembering<A> {
    /// Nothing is approved yet.
    pub fn new(approver: A) -> Self {
        Remembering { approver, approved: Mutex::default() }
    }
}

impl<A: Approver> Approver for Remembering<A> {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            // The hash is that of the call alone; what it would change and why it asks stand in the lines.
            let shown = request.lines(false, WIDE);
            let known = || self.approved.lock().unwrap_or_else(PoisonError::into_inner);
            if known().contains(&shown) {
                return Answer::Approve { hash: request.hash.clone() };
            }
            let answer = self.approver.ask(request).await;
            if matches!(&answer, Answer::ApproveAlways { hash } if *hash == request.hash) {
                known().insert(shown);
            }
            answer
        })
    }
}

/// Runs without anybody to ask: whatever is not safe by policy is denied.
#[derive(Clone, Copy, Debug, Default)]
pub struct NobodyThere;

impl Approver for NobodyThere {
    fn ask<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(Answer::Nobody))
    }
}
