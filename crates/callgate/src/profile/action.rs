//! The parse result of the profile `action`: every response is text, an action or an error.

use serde::Serialize;

use super::message as sentence;
use crate::event::{Call, Rejected};
use crate::finding::{Code, Finding, Severity};
use crate::response::Response;

/// What a host is told to do when a response could not be parsed.
pub(super) const SUGGESTION: &str = "The response couldn't be parsed. Ask the LLM to clarify or retry.";

/// What asks again for one rejected call.
pub(super) const RETRY: &str = "[Parser Error]\n{error_message}\n\n[Guidance]\nAnswer with one JSON object in the taught form and nothing after it. The arguments of {tool_name}: {schema_example}";

/// The sentences of the document.
pub(super) const SENTENCES: &[(Code, &str)] =
    &[(Code::EmptyResponse, "empty response from LLM"), (Code::EmptyName, "action must have a tool name")];

/// What a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionKind {
    /// Words for the reader.
    Text,
    /// A call.
    Action,
    /// The model reports an error, or its call was rejected.
    Error,
}

/// A response in the words of the profile.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ActionResult {
    /// What the response is.
    pub kind: ActionKind,
    /// The text: as it is where nothing was taken out of it, else trimmed.
    pub text: String,
    /// The call, if there is one.
    pub calls: Vec<Call>,
    /// Whether the host may go on.
    pub success: bool,
    /// What went wrong while parsing, as opposed to what the model reported.
    pub parse_error: Option<String>,
    /// What to do about it; empty if nothing went wrong.
    pub suggestion: String,
    /// Every error, with the profile's code.
    pub errors: Vec<ActionError>,
    /// Whether asking the model again makes sense.
    pub needs_retry: bool,
    /// The untouched input.
    pub raw: String,
}

/// One error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActionError {
    /// The profile's code, where it has one.
    pub code: Option<String>,
    /// What happened.
    pub message: String,
}

impl ActionResult {
    /// Puts a response into the words of the profile. `input` is the text that was read.
    pub fn from_response(response: &Response, input: &str) -> Self {
        let mut errors: Vec<ActionError> = Vec::new();
        let mut decisive = None;
        for rejected in &response.rejected {
            let Some(first) = rejected.findings.first() else { continue };
            decisive.get_or_insert(first.code);
            errors.push(ActionError {
                code: code(first.code).map(str::to_owned),
                message: message(rejected.name.as_deref(), &rejected.findings),
            });
        }
        for finding in response.findings.iter().filter(|finding| finding.severity() == Severity::Error) {
            decisive.get_or_insert(finding.code);
            errors.push(ActionError {
                code: code(finding.code).map(str::to_owned),
                message: sentence(SENTENCES, finding).to_owned(),
            });
        }
        if let Some(error) = &response.model_error {
            errors.push(ActionError { code: Some(error.code.clone()), message: error.message.clone() });
        }
        let is_call = !response.calls.is_empty();
        let kind = if response.model_error.is_some() {
            ActionKind::Error
        } else if is_call && errors.is_empty() {
            ActionKind::Action
        } else {
            match decisive.map(|code| code.kind()) {
                None => ActionKind::Text,
                // A call that cannot be read, or not told from an example, stays what it is: text.
                Some("bad_json" | "truncated" | "unknown_type" | "not_terminal" | "malformed") => {
                    ActionKind::Text
                }
                Some(_) => ActionKind::Error,
            }
        };
        let parse_error = decisive.is_some().then(|| errors.first().map(|e| e.message.clone())).flatten();
        let text = if kind == ActionKind::Text && decisive.is_some() { input } else { &response.text };
        // Text that nothing was taken out of is kept as it is; the fence around a call that was its whole content is none.
        let text = match kind {
            ActionKind::Text => text,
            _ if is_empty_fence(text) => "",
            _ => text.trim(),
        };
        ActionResult {
            kind,
            text: text.to_owned(),
            calls: response.calls.clone(),
            success: errors.is_empty(),
            suggestion: parse_error.as_ref().map_or_else(String::new, |_| SUGGESTION.to_owned()),
            parse_error,
            needs_retry: decisive.is_some(),
            errors,
            raw: input.to_owned(),
        }
    }

    /// What a chat shows for an error that the model reported.
    pub fn display(&self, response: &Response) -> Option<String> {
        response.model_error.as_ref().map(|error| format!("LLM Error: {}", error.message))
    }
}

fn message(name: Option<&str>, findings: &[Finding]) -> String {
    let all = || findings.iter().map(|finding| sentence(SENTENCES, finding)).collect::<Vec<_>>().join("; ");
    match findings.first().map(|finding| finding.code) {
        Some(first) if first.kind() == "bad_json" => format!("invalid JSON: {}", all()),
        Some(first) if code(first) == Some("invalid_args") => {
            format!("invalid args for {}: {}", name.unwrap_or("the tool"), all())
        }
        _ => all(),
    }
}

pub(super) fn code(code: Code) -> Option<&'static str> {
    match code {
        Code::UnknownTool => Some("tool_not_found"),
        Code::ArgumentsNotObject => Some("invalid_args"),
        _ if code.kind() == "schema" => Some("invalid_args"),
        _ => None,
    }
}

/// What a response is.
pub(super) fn kind(response: &Response, input: &str) -> &'static str {
    match ActionResult::from_response(response, input).kind {
        ActionKind::Text => "text",
        ActionKind::Action => "action",
        ActionKind::Error => "error",
    }
}

/// What is wrong with a rejected call.
pub(super) fn error(_: &[(Code, &'static str)], rejected: &Rejected) -> String {
    message(rejected.name.as_deref(), &rejected.findings)
}

/// The text of a response; whole where nothing was taken out of it.
pub(super) fn text(response: &Response, input: &str) -> String {
    ActionResult::from_response(response, input).text
}

/// Whether a text is a code fence with nothing in it.
fn is_empty_fence(text: &str) -> bool {
    let inner = text.trim().strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let parts = inner.and_then(|inner| inner.split_once('\n'));
    parts.is_some_and(|(language, rest)| {
        language.trim().chars().all(char::is_alphanumeric) && rest.trim().is_empty()
    })
}

/// What a host is told to do about a response; empty if nothing went wrong.
pub(super) fn suggestion(response: &Response, input: &str) -> Option<String> {
    Some(ActionResult::from_response(response, input).suggestion)
}
