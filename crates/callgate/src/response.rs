//! Responses: the events of one response, collected.

use serde::ser::{SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use crate::ending::FinishReason;
use crate::event::{Call, Event, ModelError, Rejected};
use crate::finding::Finding;

/// What came of one response.
///
/// It can be read back from its JSON, a line of the batch contract included. Only an ending of which nobody said
/// anything is not told from `stop` there, since both are written so.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "WrittenResponse")]
#[non_exhaustive]
pub struct Response {
    /// All text, untrimmed.
    pub text: String,
    /// All reasoning, untrimmed.
    pub reasoning: String,
    /// The accepted calls.
    pub calls: Vec<Call>,
    /// The rejected attempts.
    pub rejected: Vec<Rejected>,
    /// The error that the model reported, if its format has one.
    pub model_error: Option<ModelError>,
    /// Findings that do not belong to one call or rejection.
    pub findings: Vec<Finding>,
    /// Why it ended: `tool_calls` if a call stands and nothing was cut, `length` if the cut hit an attempt.
    pub finish_reason: FinishReason,
    /// The provider's own word for that, where one is known and the gate had nothing to correct.
    pub finish_word: Option<String>,
}

impl Response {
    /// Something that takes events and gives the response.
    pub fn collector() -> Collector {
        Collector::default()
    }

    /// Why it ended, in the provider's own word where that is known and right.
    pub fn finish_word(&self) -> &str {
        self.finish_word.as_deref().unwrap_or(self.finish_reason.word())
    }

    /// Every finding: those of the response, of its calls and of its rejections.
    pub fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        let calls = self.calls.iter().flat_map(|call| &call.findings);
        let rejected = self.rejected.iter().flat_map(|rejected| &rejected.findings);
        self.findings.iter().chain(calls).chain(rejected)
    }

    /// Whether anything was rejected or missing.
    pub fn has_errors(&self) -> bool {
        self.all_findings().any(|finding| finding.severity() == crate::Severity::Error)
    }
}

/// Collects events.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    response: Response,
    /// How far the input has come out.
    end: usize,
}

impl Collector {
    /// Takes one event.
    pub fn push(&mut self, event: Event<'_>) {
        let span = match &event {
            Event::Text { span, .. } | Event::Reasoning { span, .. } | Event::Markup { span } => Some(*span),
            Event::Call(call) => call.span,
            Event::Rejected(rejected) => rejected.span,
            _ => None,
        };
        self.end = self.end.max(span.map_or(0, |span| span.end));
        match event {
            Event::Text { text, .. } => self.response.text.push_str(&text),
            Event::Reasoning { text, .. } => self.response.reasoning.push_str(&text),
            Event::Call(call) => self.response.calls.push(*call),
            Event::Rejected(rejected) => self.response.rejected.push(*rejected),
            Event::ModelError(error) => self.response.model_error = Some(error),
            Event::Finding(finding) => self.response.findings.push(finding),
            Event::Markup { .. } | Event::CallStarted { .. } | Event::ArgumentsDelta { .. } => {}
        }
    }

    /// Takes the word in which the provider said why the response ended.
    pub fn said(&mut self, word: &str) {
        self.response.finish_word = Some(word.trim().to_owned()).filter(|word| !word.is_empty());
    }

    /// The response, once the session is finished. `reason` is what the provider said.
    pub fn finish(mut self, reason: FinishReason) -> Response {
        let (response, end) = (&mut self.response, self.end);
        let cut = |rejected: &Rejected| {
            // What goes on behind a call did not end in it.
            rejected.span.is_none_or(|span| span.end >= end)
                && rejected.findings.iter().any(|finding| finding.code == crate::Code::Truncated)
        };
        let was_cut =
            (reason.is_cut() || reason == FinishReason::Unknown) && response.rejected.iter().any(cut);
        response.finish_reason = if was_cut {
            // Where nobody said why it ended, the call that it ended in does.
            if reason == FinishReason::Unknown { FinishReason::Length } else { reason }
        } else if !response.calls.is_empty() {
            FinishReason::ToolCalls
        } else if reason == FinishReason::ToolCalls {
            // Nothing came of the calls that the provider announced.
            FinishReason::Stop
        } else {
            reason
        };
        let is_corrected = response.finish_reason != reason || !response.calls.is_empty();
        if if was_cut { response.finish_reason == FinishReason::Length } else { is_corrected } {
            response.finish_word = None;
        }
        // A word that says no more than the reason does is not kept twice.
        let reason = response.finish_reason.word();
        response.finish_word = response.finish_word.take().filter(|word| word != reason);
        self.response
    }
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("Response", 7)?;
        s.serialize_field("text", &self.text)?;
        s.serialize_field("reasoning", &self.reasoning)?;
        s.serialize_field("calls", &self.calls)?;
        s.serialize_field("rejected", &self.rejected)?;
        s.serialize_field("model_error", &self.model_error)?;
        s.serialize_field("findings", &self.findings)?;
        s.serialize_field("finish_reason", self.finish_word())?;
        s.end()
    }
}

/// A response as it is written: one word says how it ended.
#[derive(Deserialize)]
struct WrittenResponse {
    text: String,
    reasoning: String,
    calls: Vec<Call>,
    rejected: Vec<Rejected>,
    model_error: Option<ModelError>,
    findings: Vec<Finding>,
    finish_reason: String,
}

impl From<WrittenResponse> for Response {
    fn from(written: WrittenResponse) -> Self {
        let finish_reason = FinishReason::from_word(&written.finish_reason);
        Response {
            text: written.text,
            reasoning: written.reasoning,
            calls: written.calls,
            rejected: written.rejected,
            model_error: written.model_error,
            findings: written.findings,
            finish_reason,
            finish_word: Some(written.finish_reason).filter(|word| word != finish_reason.word()),
        }
    }
}
