//! The retry engine at work: waiting, asking, and stopping when told to.

use callgate::{Event, Gate, Response};
use std::fmt;

use super::{Retry, RetryError, RetrySettings, Settled, Step};
use crate::cancel::Cancel;
use crate::history::Message;
use crate::model::{ChatRequest, Model, ModelFault, Turn, respond};

/// Why no settled response came out.
#[derive(Clone, Debug, PartialEq)]
pub enum RetryFailure {
    /// The model did not correct itself, or somebody stopped it.
    Unsettled(Box<RetryError>),
    /// The model could not be reached, or broke off. What was asked until then is in the error.
    Fault(ModelFault, Box<RetryError>),
}

impl fmt::Display for RetryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RetryFailure::Unsettled(error) => error.fmt(f),
            RetryFailure::Fault(fault, _) => fault.fmt(f),
        }
    }
}

impl std::error::Error for RetryFailure {}

/// Asks again until everything the model called stands, within the budget.
///
/// `turn` is the response to `request`. Each further request keeps its conversation, parameters and tools, holds what
/// was said since, and is not streamed: nobody watches a correction being written.
pub async fn ask_until_settled(
    model: &dyn Model,
    request: &ChatRequest,
    gate: &Gate,
    settings: RetrySettings,
    correlation_id: &str,
    turn: Turn,
    cancel: &Cancel,
) -> Result<Settled, RetryFailure> {
    let mut retry = Retry::new(gate, settings, correlation_id);
    let mut request = ChatRequest { stream: false, ..request.clone() };
    let mut answer_said = said(&turn.response);
    let mut step = retry.first(turn.response, turn.usage);
    loop {
        let ask = match step {
            Step::Settled(settled) => return Ok(*settled),
            Step::Failed(error) => return Err(RetryFailure::Unsettled(error)),
            Step::Ask(ask) => ask,
        };
        request.messages.extend(answer_said.take());
        request.messages.push(Message::User { text: ask.prompt });
        let prefix = format!("{correlation_id}_{}_", ask.attempt);
        let answer = async {
            tokio::time::sleep(ask.wait).await;
            let mut unseen = |_: Event<'_>| {};
            respond(model, &request, gate, &prefix, &mut unseen).await
        };
        let turn = tokio::select! {
            // A cancellation wins over an answer that comes at the same moment.
            biased;
            () = cancel.cancelled() => return Err(RetryFailure::Unsettled(Box::new(retry.cancel()))),
            turn = answer => turn.map_err(|fault| RetryFailure::Fault(fault, Box::new(retry.interrupt())))?,
        };
        answer_said = said(&turn.response);
        step = retry.reply(turn.response, turn.usage);
    }
}

/// What a response that is asked for again leaves in the conversation, as words only: its good calls have not run yet,
/// so there is no result to put behind them.
pub fn said(response: &Response) -> Option<Message> {
    match Message::from_response(response)? {
        Message::AssistantAction { text, calls } => {
            let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            let said = format!("{text}\n(I called {}; another call was rejected.)", names.join(", "));
            Some(Message::AssistantText { text: said.trim().to_owned() })
        }
        other => Some(other),
    }
}
