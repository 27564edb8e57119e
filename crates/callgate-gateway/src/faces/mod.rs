//! Faces: the APIs that clients speak. Each reads requests into one form and writes the same answers in its own.

mod chat;
mod messages;
mod ollama;
mod responses;

use callgate_agent::written::Written;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::{Answer, Out};
use crate::asked::Asked;
use crate::fault::Fault;

/// An API that clients speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Face {
    /// OpenAI's `/v1/chat/completions`.
    Chat,
    /// OpenAI's `/v1/responses`.
    Responses,
    /// Anthropic's `/v1/messages`.
    Messages,
    /// Ollama's `/api/chat`.
    OllamaChat,
    /// Ollama's `/api/generate`.
    OllamaGenerate,
}

/// A request, and who writes its answer.
pub(crate) struct Reading {
    pub(crate) asked: Asked,
    pub(crate) writer: Box<dyn Writer>,
}

/// Writes one answer in the form of its API.
pub(crate) trait Writer: Send {
    /// The answer as one document.
    fn whole(&mut self, answer: &Answer) -> String;

    /// What stands before anything else in a stream.
    fn begin(&mut self, to: &mut Vec<u8>) {
        let _ = to;
    }

    /// The next part of a stream.
    fn write(&mut self, out: &Out, to: &mut Vec<u8>);
}

impl Face {
    /// The face of a path: addresses are written with a slash too many, or with what another server has before it, and a
    /// question must not pass by the gate for that.
    pub(crate) fn at(path: &str) -> Option<Face> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            [.., "chat", "completions"] => Some(Face::Chat),
            ["responses"] | [.., "v1", "responses"] => Some(Face::Responses),
            [.., "v1", "messages"] => Some(Face::Messages),
            [.., "api", "chat"] => Some(Face::OllamaChat),
            [.., "api", "generate"] => Some(Face::OllamaGenerate),
            _ => None,
        }
    }

    /// The word that metrics and logs know it by.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Face::Chat => "chat",
            Face::Responses => "responses",
            Face::Messages => "messages",
            Face::OllamaChat => "ollama-chat",
            Face::OllamaGenerate => "ollama-generate",
        }
    }

    /// Reads a request.
    pub(crate) fn read(self, body: &Written) -> Result<Reading, Fault> {
        if !matches!(body, Written::Object(_)) {
            return Err(Fault::bad_request("the body is no JSON object"));
        }
        match self {
            Face::Chat => chat::read(body),
            Face::Responses => responses::read(body),
            Face::Messages => messages::read(body),
            Face::OllamaChat => ollama::read(body, false),
            Face::OllamaGenerate => ollama::read(body, true),
        }
    }

    /// What a stream of it is.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Face::Chat | Face::Responses | Face::Messages => "text/event-stream",
            Face::OllamaChat | Face::OllamaGenerate => "application/x-ndjson",
        }
    }

    /// A fault as the body of an answer.
    pub(crate) fn fault(self, fault: &Fault) -> String {
        match self {
            Face::Chat | Face::Responses => chat::fault(fault),
            Face::Messages => messages::fault(fault),
            Face::OllamaChat | Face::OllamaGenerate => ollama::fault(fault),
        }
        .to_string()
    }
}

/// Adds a server-sent event with this data.
fn event(data: &impl Serialize, to: &mut Vec<u8>) {
    to.extend_from_slice(b"data: ");
    put(data, to);
    to.extend_from_slice(b"\n\n");
}

/// Adds a server-sent event with a name.
fn named_event(name: &str, data: &impl Serialize, to: &mut Vec<u8>) {
    to.extend_from_slice(b"event: ");
    to.extend_from_slice(name.as_bytes());
    to.push(b'\n');
    event(data, to);
}

/// Adds a value as JSON, straight into what is sent: there is one for every token.
fn put(value: &impl Serialize, to: &mut Vec<u8>) {
    // Nothing that is written here has keys that are no strings, and memory takes what it is given.
    let _ = serde_json::to_writer(to, value);
}

/// Arguments as the object that they are, with all their digits.
fn object(arguments: &str) -> &RawValue {
    serde_json::from_str(arguments).or_else(|_| serde_json::from_str("{}")).unwrap_or(RawValue::NULL)
}

/// The seconds since 1970.
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The model that a request names.
fn model(body: &Written) -> Result<&str, Fault> {
    let model = crate::asked::text(body, "model").filter(|model| !model.trim().is_empty());
    model.ok_or_else(|| Fault::bad_request("`model` is missing").at("model"))
}
