//! Reading: one response of the model through the gate, what was rejected asked for again, and every rejection counted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate::Response;
use callgate::internal::profile::Strike;

use super::recording::Recorder;
use super::{Chat, ChatEvent, End, LeftOut, Setting};
use crate::audit::Entry;
use crate::cancel::Cancel;
use crate::history::CallStyle;
use crate::id::random_id;
use crate::model::{ChatRequest, Heard, ModelFault, Served, Turn, Until, Usage, respond_until};
use crate::retry::{RetryErrorCode, RetryFailure, Settled, ask_until_settled};

/// One response, settled or not.
pub(super) struct Read {
    pub(super) response: Response,
    pub(super) asked_again: u32,
    pub(super) usage: Usage,
    /// The last strike, if something in it is still rejected.
    pub(super) strike: Option<Strike>,
    pub(super) correlation_id: String,
    pub(super) served: Served,
    pub(super) interrupted_at: Option<usize>,
    /// How long asking again took, all in all.
    pub(super) asking_again: Duration,
    /// What the model wrote, where it was asked once.
    pub(super) said: Option<String>,
}

impl Chat {
    /// Asks the model, reads its response through the gate, and asks again for what was rejected.
    pub(super) async fn read(
        &mut self,
        cancel: &Cancel,
        tell: &mut (dyn FnMut(ChatEvent<'_>) + Send),
    ) -> Result<Read, End> {
        let correlation_id = random_id();
        let (request, left) = self.request();
        if !left.is_nothing() {
            tell(ChatEvent::LeftOut(left));
        }
        tell(ChatEvent::Asking);
        let recorder = Recorder::new(&*self.setting.model);
        let until = if self.setting.stop_after_call { Until::Call } else { Until::End };
        let turn = {
            let mut hear = |heard: Heard<'_>| match heard {
                Heard::Event(event) => tell(ChatEvent::Read(event)),
                Heard::CallComplete { name } => tell(ChatEvent::CallComplete { name }),
            };
            let prefix = format!("{correlation_id}_");
            respond_until(until, &recorder, &request, &self.setting.gate, &prefix, &mut hear).await
        };
        let mut turn = turn.map_err(fault)?;
        self.ruler.learn(&request.messages, turn.usage);
        let mut recording = recorder.recording();
        if let Some(at) = turn.interrupted_at {
            recording.interrupt(at);
        }
        // Record the response before asking again, so that one which is never corrected is on record too.
        self.record_response(&turn, &recording, &correlation_id)?;
        turn.response.text = self.setting.gate.profile().text(&turn.response, &recording.text());
        let read = self.settle(request, turn, &correlation_id, cancel, tell).await?;
        let said = (read.asked_again == 0).then(|| recording.text());
        Ok(Read { said, ..read })
    }

    /// The conversation so far as a request.
    fn request(&self) -> (ChatRequest, LeftOut) {
        let Setting { gate, tools, parameters, dialect, native_tools, .. } = &self.setting;
        let native = *native_tools;
        let (messages, untrusted, left) = self.ruler.fit(&self.history, self.setting.context);
        let request = ChatRequest {
            messages,
            untrusted,
            tools: (native && !tools.registry().is_empty()).then(|| tools.registry().to_openai()),
            style: match (native, dialect) {
                (true, _) => CallStyle::Native,
                (false, Some(dialect)) => CallStyle::Dialect(Arc::clone(dialect)),
                (false, None) => CallStyle::Text(*gate.profile()),
            },
            parameters: parameters.clone(),
            stream: true,
        };
        (request, left)
    }

    /// Asks again at once, as often as the budget for rejected responses allows.
    async fn settle(
        &mut self,
        request: ChatRequest,
        turn: Turn,
        correlation_id: &str,
        cancel: &Cancel,
        tell: &mut (dyn FnMut(ChatEvent<'_>) + Send),
    ) -> Result<Read, End> {
        let Setting { model, gate, retry, .. } = &self.setting;
        let mut retry = retry.clone();
        // Each time the model is asked again, one more response may be rejected; the last strike is the last response.
        let left = u32::try_from(self.strikes.left().saturating_sub(1)).unwrap_or(u32::MAX);
        retry.max_attempts = retry.max_attempts.min(left);
        if retry.max_attempts > 0 && turn.response.has_errors() && turn.response.model_error.is_none() {
            tell(ChatEvent::AskingAgain { response: &turn.response });
            tell(ChatEvent::Asking);
        }
        let (first, served, interrupted_at) =
            (turn.response.clone(), turn.served.clone(), turn.interrupted_at);
        let began = Instant::now();
        let settled = ask_until_settled(&**model, &request, gate, retry, correlation_id, turn, cancel).await;
        let asking_again = began.elapsed();
        let (log, outcome) = match &settled {
            Ok(settled) => (&settled.log, "settled"),
            Err(RetryFailure::Unsettled(error) | RetryFailure::Fault(_, error)) => {
                (&error.log, error.code.kind())
            }
        };
        for entry in Entry::attempts(log, outcome, correlation_id) {
            self.record(entry)?;
        }
        let replies: Vec<Response> = log.iter().map(|attempt| attempt.response.clone()).collect();
        for reply in &replies {
            self.record_rejected(reply, correlation_id)?;
        }
        let responses: Vec<&Response> = [&first].into_iter().chain(&replies).collect();
        match settled {
            Ok(Settled { response, retry_count, usage, .. }) => {
                // All but the last were rejected.
                let rejected = &responses[..responses.len() - 1];
                self.count_strikes(rejected, None, correlation_id, tell)?;
                if !response.calls.is_empty() {
                    self.strikes.reset();
                }
                let correlation_id = correlation_id.to_owned();
                Ok(Read {
                    strike: None,
                    asked_again: retry_count,
                    usage,
                    response,
                    correlation_id,
                    served,
                    interrupted_at,
                    asking_again,
                    said: None,
                })
            }
            Err(RetryFailure::Fault(error, _)) => Err(fault(error)),
            Err(RetryFailure::Unsettled(error)) if error.code == RetryErrorCode::Cancelled => {
                Err(End::Cancelled)
            }
            Err(RetryFailure::Unsettled(error)) => {
                // What is repeated word for word is not asked for once more: it would be repeated again.
                let end = (error.code == RetryErrorCode::Repeated).then(|| error.summary());
                Ok(Read {
                    strike: self.count_strikes(&responses, end, correlation_id, tell)?,
                    asked_again: error.attempts,
                    usage: error.usage,
                    response: error.response,
                    correlation_id: correlation_id.to_owned(),
                    served,
                    interrupted_at,
                    asking_again,
                    said: None,
                })
            }
        }
    }

    /// Counts rejected responses in order, each told and on record; returns the last strike, which ends the question in
    /// the words of `end` if there are some.
    fn count_strikes(
        &mut self,
        rejected: &[&Response],
        end: Option<String>,
        correlation_id: &str,
        tell: &mut (dyn FnMut(ChatEvent<'_>) + Send),
    ) -> Result<Option<Strike>, End> {
        let mut last = None;
        for (number, response) in rejected.iter().enumerate() {
            let mut strike = self.strikes.strike(response, &self.setting.gate);
            if let Some(end) = end.as_ref().filter(|_| !strike.is_last && number + 1 == rejected.len()) {
                (strike.is_last, strike.message) = (true, end.clone());
            }
            let count = self.strikes.count();
            self.record_strike(&strike, count, correlation_id)?;
            tell(ChatEvent::Strike { count, message: &strike.cause });
            last = Some(strike);
        }
        Ok(last)
    }
}

fn fault(fault: ModelFault) -> End {
    End::Fault { message: fault.to_string() }
}
