//! The queue of a session: every call that is to run, which state it is in, and how it got there.

use std::time::SystemTime;

use callgate::Call;
use serde::Serialize;

use super::run::Outcome;
use super::{ToolError, ToolErrorCode};
use crate::approval::Cadence;
use crate::clock::timestamp;
use crate::id::random_id;

/// How many calls are remembered; the oldest go first.
const KEPT: usize = 1_000;

/// The calls of a session. They run one after the other, so at most one is running.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    calls: Vec<QueuedCall>,
    /// How many of them each `every_n` rule has let pass.
    pub(super) cadence: Cadence,
}

/// One call and what has become of it so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueuedCall {
    /// The id of the request: that of the question about it, and of its records.
    pub request_id: String,
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Where it is now.
    pub state: CallState,
    /// How often it was started.
    pub attempts: u32,
    /// Every state that it was in, with the moment.
    pub steps: Vec<Step>,
}

/// A state that a call came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The state.
    pub state: CallState,
    /// When.
    pub at: String,
}

/// Where a call can be: it waits, runs, and is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It waits for its turn, for an answer, or to be started once more.
    Pending,
    /// It runs.
    Running,
    /// It ran and gave a result.
    Completed,
    /// It ran and failed.
    Failed,
    /// It never ran: it was not allowed to, or could not.
    Rejected,
    /// Somebody stopped it.
    Cancelled,
}

impl CallState {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            CallState::Pending => "pending",
            CallState::Running => "running",
            CallState::Completed => "completed",
            CallState::Failed => "failed",
            CallState::Rejected => "rejected",
            CallState::Cancelled => "cancelled",
        }
    }

    /// What an outcome means for a call.
    pub(super) fn after(outcome: &Outcome) -> Self {
        let is_cancelled = |error: &ToolError| error.code == ToolErrorCode::Cancelled;
        match outcome {
            Outcome::Ran { .. } => CallState::Completed,
            Outcome::Failed { error } | Outcome::NotRun { error } if is_cancelled(error) => {
                CallState::Cancelled
            }
            Outcome::Failed { .. } => CallState::Failed,
            Outcome::NotRun { .. } | Outcome::Denied { .. } => CallState::Rejected,
        }
    }
}

impl Queue {
    /// A queue without calls.
    pub fn new() -> Self {
        Queue::default()
    }

    /// The calls, the oldest first.
    pub fn calls(&self) -> &[QueuedCall] {
        &self.calls
    }

    /// Takes a call in. Returns the id of the request.
    pub(super) fn push(&mut self, call: &Call) -> String {
        let request_id = random_id();
        let over = (self.calls.len() + 1).saturating_sub(KEPT);
        self.calls.drain(..over);
        self.calls.push(QueuedCall {
            request_id: request_id.clone(),
            call_id: call.id.clone(),
            name: call.name.clone(),
            state: CallState::Pending,
            attempts: 0,
            steps: Vec::new(),
        });
        request_id
    }

    /// Moves a call to a state. Returns it as it is now.
    pub(super) fn step(&mut self, request_id: &str, state: CallState) -> Option<&QueuedCall> {
        let call = self.calls.iter_mut().rfind(|call| call.request_id == request_id)?;
        call.state = state;
        call.attempts += u32::from(state == CallState::Running);
        call.steps.push(Step { state, at: timestamp(SystemTime::now()) });
        Some(call)
    }
}
