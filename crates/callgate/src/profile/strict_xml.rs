//! The machinery of the profile `strict-xml`: error types, strikes, and what a host is told while it streams.

use std::fmt;

use serde::Serialize;

use crate::finding::{Code, Severity};
use crate::gate::Gate;
use crate::response::Response;
use crate::session::Session;

/// The five types of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorType {
    /// A block is there but cannot be read.
    MalformedXml,
    /// A block names no tool.
    UnknownTool,
    /// The parameters do not fit the tool.
    SchemaValidation,
    /// A call was needed and there is none.
    NoXmlBlocks,
    /// Too many responses in a row were refused.
    MaxMistakes,
}

impl ErrorType {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            ErrorType::MalformedXml => "MALFORMED_XML",
            ErrorType::UnknownTool => "UNKNOWN_TOOL",
            ErrorType::SchemaValidation => "SCHEMA_VALIDATION",
            ErrorType::NoXmlBlocks => "NO_XML_BLOCKS",
            ErrorType::MaxMistakes => "MAX_MISTAKES",
        }
    }
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Why a response was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StrictError {
    /// The type.
    #[serde(rename = "type")]
    pub kind: ErrorType,
    /// What is behind a reached limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<ErrorType>,
    /// What happened.
    pub message: String,
    /// What to write instead.
    pub details: String,
}

impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n\n{}", self.kind, self.message, self.details)
    }
}

/// When the limit of mistakes is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrikeMode {
    /// With the mistake that makes the limit.
    #[default]
    AtLimit,
    /// With the first mistake after it.
    AfterLimit,
}

/// The counter of refused responses of one conversation.
#[derive(Clone, Debug)]
pub struct Strikes {
    limit: usize,
    mode: StrikeMode,
    count: usize,
}

impl Default for Strikes {
    fn default() -> Self {
        Strikes::new(3, StrikeMode::AtLimit)
    }
}

impl Strikes {
    /// A counter with this limit.
    pub fn new(limit: usize, mode: StrikeMode) -> Self {
        Strikes { limit, mode, count: 0 }
    }

    /// How many responses in a row were refused.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Starts anew.
    pub fn reset(&mut self) {
        self.count = 0;
    }

    /// Counts a response: one strike if anything in it was refused, none and a fresh start if a call stands.
    ///
    /// A response that is only text, where that is allowed, changes nothing: otherwise words between mistakes would
    /// wipe them out.
    pub fn judge(&mut self, response: &Response, gate: &Gate) -> Option<StrictError> {
        let Some((kind, message)) = deciding(response) else {
            if !response.calls.is_empty() {
                self.count = 0;
            }
            return None;
        };
        self.count += 1;
        let details = gate.profile().feedback(response, gate.registry()).unwrap_or_default();
        let reached = match self.mode {
            StrikeMode::AtLimit => self.count >= self.limit,
            StrikeMode::AfterLimit => self.count > self.limit,
        };
        if !reached {
            return Some(StrictError { kind, cause: None, message, details });
        }
        let limit = self.limit;
        Some(StrictError {
            kind: ErrorType::MaxMistakes,
            cause: Some(kind),
            message: format!("Maximum mistakes reached ({limit}). Please follow the strict XML format."),
            details,
        })
    }
}

/// The first error of a response.
fn deciding(response: &Response) -> Option<(ErrorType, String)> {
    let refused = response
        .rejected
        .iter()
        .filter_map(|rejected| rejected.findings.first())
        .filter(|finding| finding.code != Code::Sibling);
    let whole = response.findings.iter().filter(|finding| finding.severity() == Severity::Error);
    let finding = refused.chain(whole).next()?;
    Some((error_type(finding.code), finding.message.to_string()))
}

/// What a host is told after each chunk of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamReport {
    /// Whether a call has been completed, so that the host may stop the model.
    pub complete: bool,
    /// The tool of the call that was completed, or is being read.
    pub detected: Option<String>,
    /// Whether text is held back because it may become a call.
    pub buffer: bool,
    /// The text that may be shown.
    pub shown: String,
    /// How many chunks were read.
    pub chunks: usize,
    /// All tools whose calls were completed, in order.
    pub tools: Vec<String>,
}

impl StreamReport {
    /// Reads a chunk and says where the stream stands.
    pub fn feed(&mut self, session: &mut Session, chunk: &str) {
        let shown = &mut self.shown;
        session.push(chunk, &mut |event| {
            if let crate::Event::Text { text, .. } = event {
                shown.push_str(&text);
            }
        });
        self.chunks += 1;
        let before = self.tools.len();
        self.tools = session.completed().map(str::to_owned).collect();
        self.complete = self.tools.len() > before;
        self.detected = match (self.tools.last(), session.open_call()) {
            (Some(name), _) if self.complete => Some(name.clone()),
            (_, Some(name)) => name.map(str::to_owned),
            _ => None,
        };
        self.buffer = session.is_holding();
    }
}

pub(super) fn code(code: Code) -> Option<&'static str> {
    let is_own = code.severity() == Severity::Error && code != Code::Sibling;
    is_own.then(|| error_type(code).word())
}

pub(super) fn error_type(code: Code) -> ErrorType {
    match code {
        Code::UnknownTool => ErrorType::UnknownTool,
        Code::NoCall => ErrorType::NoXmlBlocks,
        Code::MaxMistakes => ErrorType::MaxMistakes,
        _ if code.kind() == "schema" => ErrorType::SchemaValidation,
        _ => ErrorType::MalformedXml,
    }
}
