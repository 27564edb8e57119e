//! Views: a response in the words of its profile's document: its kind, codes, suggestion, and whether it is done.

use serde::Serialize;

use super::Profile;
use crate::finding::Severity;
use crate::response::Response;

/// A response as the document of a profile speaks of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileView {
    /// The profile.
    pub profile: &'static str,
    /// What the response is: `text`, `action` or `error`.
    pub kind: &'static str,
    /// How reading it went: `success`, `repaired` or `fail`.
    pub parse_result: &'static str,
    /// The text as the document shows and keeps it.
    pub text: String,
    /// Every error, with the document's code.
    pub errors: Vec<ViewError>,
    /// What the host is told to do, where the document says something.
    pub suggestion: Option<String>,
    /// Whether the response says that the work is finished.
    pub done: bool,
    /// Whether asking the model again makes sense.
    pub needs_retry: bool,
}

/// One error of a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ViewError {
    /// The document's code, or else the word of the finding.
    pub code: String,
    /// The stable word for the kind of error.
    pub kind: String,
    /// The tool, where its name is known.
    pub tool: Option<String>,
    /// What is wrong, all of it.
    pub message: String,
    /// The place in the response, or in the arguments of a structured call, in bytes.
    pub position: Option<usize>,
}

impl ProfileView {
    /// Puts a response to this `input` into the words of a profile.
    pub fn of(profile: &Profile, response: &Response, input: &str) -> Self {
        let row = profile.row;
        let mut errors: Vec<ViewError> = Vec::new();
        for rejected in &response.rejected {
            let Some(first) = rejected.findings.first() else { continue };
            errors.push(ViewError {
                code: profile.code(first.code).unwrap_or(first.code.word()).to_owned(),
                kind: first.code.kind().to_owned(),
                tool: rejected.name.clone(),
                message: (row.error)(row.sentences, rejected),
                position: first.span.map(|span| span.start),
            });
        }
        for finding in response.findings.iter().filter(|finding| finding.severity() == Severity::Error) {
            errors.push(ViewError {
                code: profile.code(finding.code).unwrap_or(finding.code.word()).to_owned(),
                kind: finding.code.kind().to_owned(),
                tool: None,
                message: profile.message(finding).to_owned(),
                position: finding.span.map(|span| span.start),
            });
        }
        let needs_retry = !errors.is_empty();
        errors.extend(response.model_error.iter().map(|error| ViewError {
            code: error.code.clone(),
            kind: "model_error".to_owned(),
            tool: None,
            message: error.message.clone(),
            position: None,
        }));
        let is_repaired = response.calls.iter().any(|call| !call.repairs.is_empty());
        ProfileView {
            profile: profile.name(),
            kind: (row.kind)(response, input),
            parse_result: match (needs_retry, is_repaired) {
                (true, _) => "fail",
                (false, true) => "repaired",
                (false, false) => "success",
            },
            text: profile.text(response, input),
            errors,
            suggestion: profile.suggestion(response, input).filter(|suggestion| !suggestion.is_empty()),
            done: profile.is_done(response),
            needs_retry,
        }
    }
}

/// What a response is, where the document says no more: an error if anything is wrong, an action if it calls.
pub(super) fn kind(response: &Response, _input: &str) -> &'static str {
    match (response.has_errors() || response.model_error.is_some(), response.calls.is_empty()) {
        (true, _) => "error",
        (false, false) => "action",
        (false, true) => "text",
    }
}
