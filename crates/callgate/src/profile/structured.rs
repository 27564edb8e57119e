//! The parse result of the profile `structured`: calls, errors with their codes, and what was repaired.

use serde::Serialize;

use super::messages;
use crate::ending::FinishReason;
use crate::event::{Call, Rejected};
use crate::finding::Code;
use crate::json::Repair;
use crate::response::Response;

/// The sentences of the document.
pub(super) const SENTENCES: &[(Code, &str)] = &[
    (Code::MissingFunction, "Tool call missing function definition"),
    (Code::EmptyName, "Tool call has empty function name: a call must have a tool name"),
];

/// What asks again for one rejected call; the placeholders are the host's.
pub(super) const RETRY: &str = "\
One of your tool calls was rejected and not run.

Tool: {tool_name}
Error: {error_message}
Position: {error_position}

You wrote:
```json
{malformed_json}
```

Arguments that would be accepted look like this:
{schema_example}

Call the tool again. Write only the corrected JSON object as its arguments, without any other text.";

/// A response in the words of the profile.
#[derive(Clone, Debug, PartialEq)]
pub struct StructuredResult {
    /// The calls that stand, in order.
    pub calls: Vec<Call>,
    /// One error per rejected call, in order.
    pub errors: Vec<CallError>,
    /// The repairs of all calls that stand.
    pub repairs: Vec<Repair>,
    /// Whether no call was rejected.
    pub all_succeeded: bool,
    /// How many calls there were, good and bad.
    pub total: usize,
    /// Why the response ended; `tool_calls` whenever a call stands.
    pub finish_reason: FinishReason,
}

/// One rejected call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallError {
    /// The code, `ACODE-TLP-001` and on.
    pub code: &'static str,
    /// The stable word for the kind of error.
    pub kind: &'static str,
    /// The name as the model wrote it.
    pub tool: Option<String>,
    /// What is wrong, all of it.
    pub message: String,
    /// The arguments as the model wrote them.
    pub raw_arguments: Option<String>,
    /// The place in the arguments, in bytes.
    pub position: Option<usize>,
}

impl StructuredResult {
    /// Puts a response into the words of the profile.
    pub fn from_response(response: &Response) -> Self {
        let errors: Vec<CallError> = response
            .rejected
            .iter()
            .filter_map(|rejected| {
                let first = rejected.findings.first()?;
                let message = error(SENTENCES, rejected);
                Some(CallError {
                    code: code(first.code).unwrap_or("ACODE-TLP-006"),
                    kind: first.code.kind(),
                    tool: rejected.name.clone(),
                    message,
                    raw_arguments: Some(rejected.raw.clone()).filter(|raw| !raw.is_empty()),
                    position: first.span.map(|span| span.start),
                })
            })
            .collect();
        StructuredResult {
            calls: response.calls.clone(),
            repairs: response.calls.iter().flat_map(|call| call.repairs.iter().cloned()).collect(),
            all_succeeded: errors.is_empty(),
            total: response.calls.len() + errors.len(),
            finish_reason: response.finish_reason,
            errors,
        }
    }
}

/// What is wrong with a rejected call, all of it.
pub(super) fn error(sentences: &[(Code, &'static str)], rejected: &Rejected) -> String {
    let all = messages(sentences, &rejected.findings);
    match rejected.findings.first().map(|first| first.code.kind()) {
        Some("schema") if all.len() > 1 => format!("{} validation errors: {}", all.len(), all.join("; ")),
        _ => all.join("; "),
    }
}

pub(super) fn code(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::MissingFunction => "ACODE-TLP-001",
        Code::EmptyName => "ACODE-TLP-002",
        Code::BadName => "ACODE-TLP-003",
        Code::BadJson
        | Code::RepairRefused
        | Code::LoneSurrogate
        | Code::InvalidUtf8Call
        | Code::DuplicateKey => "ACODE-TLP-004",
        Code::NameTooLong => "ACODE-TLP-005",
        Code::ArgumentsNotObject | Code::Malformed => "ACODE-TLP-006",
        Code::UnknownTool => "ACODE-TLP-101",
        Code::TooLarge => "ACODE-TLP-103",
        Code::TooDeep => "ACODE-TLP-104",
        Code::RepairBudget => "ACODE-TLP-105",
        Code::MaxMistakes => "ACODE-TLP-106",
        Code::TooManyCalls => "ACODE-TLP-107",
        Code::Truncated => "ACODE-TLP-108",
        _ if code.kind() == "schema" => "ACODE-TLP-102",
        _ => return None,
    })
}
