//! Responses: the events of one response, collected.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::event::{Call, Event, ModelError, Rejected};
use crate::finding::Finding;

/// Why a response ended, as the provider says and as the gate corrects it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// The output limit was reached.
    Length,
    /// The model called tools.
    ToolCalls,
    /// The provider withheld something.
    ContentFilter,
    /// Nobody said.
    #[default]
    Unknown,
}

impl FinishReason {
    /// The reason with this word; any other word is [`FinishReason::Unknown`].
    pub fn from_word(word: &str) -> Self {
        match word {
            "stop" => FinishReason::Stop,
            "length" => FinishReason::Length,
            "tool_calls" => FinishReason::ToolCalls,
            "content_filter" => FinishReason::ContentFilter,
            _ => FinishReason::Unknown,
        }
    }

    /// The word; an unknown reason reads as `stop`.
    pub fn word(self) -> &'static str {
        match self {
            FinishReason::Stop | FinishReason::Unknown => "stop",
            FinishReason::Length => "length",
            FinishReason::ToolCalls => "tool_calls",
            FinishReason::ContentFilter => "content_filter",
        }
    }
}

/// What came of one response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// All text, untrimmed.
    pub text: String,
    /// All reasoning, untrimmed.
    pub reasoning: String,
    /// The accepted calls.
    pub calls: Vec<Call>,
    /// The refused attempts.
    pub rejected: Vec<Rejected>,
    /// The error that the model reported, if its format has one.
    pub model_error: Option<ModelError>,
    /// Findings that do not belong to one call or refusal.
    pub findings: Vec<Finding>,
    /// Why it ended: `tool_calls` if a call stands and nothing was cut, `length` if the cut hit an attempt.
    pub finish_reason: FinishReason,
}

impl Response {
    /// Something that takes events and gives the response.
    pub fn collector() -> Collector {
        Collector::default()
    }

    /// Every finding: those of the response, of its calls and of its refusals.
    pub fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        let calls = self.calls.iter().flat_map(|call| &call.findings);
        let rejected = self.rejected.iter().flat_map(|rejected| &rejected.findings);
        self.findings.iter().chain(calls).chain(rejected)
    }

    /// Whether anything was refused or missing.
    pub fn has_errors(&self) -> bool {
        self.all_findings().any(|finding| finding.severity() == crate::Severity::Error)
    }
}

/// Collects events.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    response: Response,
}

impl Collector {
    /// Takes one event.
    pub fn push(&mut self, event: Event<'_>) {
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

    /// The response, once the session is finished. `reason` is what the provider said.
    pub fn finish(mut self, reason: FinishReason) -> Response {
        let response = &mut self.response;
        let cut = |rejected: &Rejected| {
            rejected.findings.iter().any(|finding| finding.code == crate::Code::Truncated)
        };
        response.finish_reason = if reason == FinishReason::Length && response.rejected.iter().any(cut) {
            FinishReason::Length
        } else if !response.calls.is_empty() {
            FinishReason::ToolCalls
        } else if reason == FinishReason::ToolCalls {
            // Nothing came of the calls that the provider announced.
            FinishReason::Stop
        } else {
            reason
        };
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
        s.serialize_field("finish_reason", self.finish_reason.word())?;
        s.end()
    }
}
