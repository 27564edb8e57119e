//! Ollama's own API: `/api/chat`, one JSON object per line.

use std::collections::VecDeque;

use callgate::FinishReason;
use serde_json::{Value, json};

use super::http::Http;
use super::json::Json;
use super::message::{member, message, word, words};
use super::reading::{Format, Framing, Part, Reading};
use super::{
    BoxFuture, ChatRequest, FaultCode, Model, ModelChunk, ModelChunks, ModelFault, Served, Server, Usage,
};
use crate::history::{Wire, to_wire};
use crate::written::Written;

/// Where Ollama listens unless told otherwise.
pub const OLLAMA: &str = "http://127.0.0.1:11434";

/// Where requests go.
const CHAT: &str = "/api/chat";

/// A client of an Ollama server.
#[derive(Clone, Debug)]
pub struct Ollama {
    http: Http,
}

impl Ollama {
    /// A client of this server. Its address may hold the path of the requests, or of those in OpenAI's form.
    pub fn new(server: Server) -> Self {
        let mut http = server.into_http();
        let base = &mut http.address.base;
        let bare = [CHAT, "/api", "/v1"].iter().find_map(|end| base.strip_suffix(end));
        *base = bare.unwrap_or(base).to_owned();
        Ollama { http }
    }

    /// Sends the body of a request for a stream as it stands, with further headers; the answer comes in chunks.
    pub async fn ask(
        &self,
        json: Vec<u8>,
        headers: &[(&'static str, String)],
    ) -> Result<Box<dyn ModelChunks>, ModelFault> {
        Reading::<OllamaFormat>::ask(&self.http, CHAT, json, headers, Some(Framing::Lines)).await
    }
}

impl Model for Ollama {
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<Box<dyn ModelChunks>, ModelFault>> {
        let framing = if request.stream { Framing::Lines } else { Framing::Whole };
        let json = body(request).to_string().into_bytes();
        Box::pin(Reading::<OllamaFormat>::ask(&self.http, CHAT, json, &[], Some(framing)))
    }
}

fn body(request: &ChatRequest) -> Written {
    let parameters = &request.parameters;
    let mut options = json!({});
    for (key, value) in [
        ("temperature", parameters.temperature.map(Value::from)),
        ("num_predict", parameters.max_tokens.map(Value::from)),
        ("seed", parameters.seed.map(Value::from)),
    ] {
        if let Some(value) = value {
            options[key] = value;
        }
    }
    let mut body = json!({
        "model": parameters.model,
        "stream": request.stream,
        "options": options,
    });
    if let Some(tools) = &request.tools {
        body["tools"] = tools.clone();
    }
    let messages = to_wire(&request.messages, &request.style, Wire::Ollama);
    Written::from(body).with("messages", Written::Array(messages))
}

#[derive(Debug, Default)]
pub(super) struct OllamaFormat {
    word: Option<String>,
    /// What it cost, once it is over.
    usage: Option<Usage>,
    served: Served,
    fragments: Fragments,
}

impl Format for OllamaFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault> {
        let value = &part.value;
        self.served.note(value);
        let is_text = |key: &str| matches!(value[key], Json::Null | Json::String(_));
        if !matches!(value["message"], Json::Null | Json::Object(_)) || !is_text("response") {
            return Err(ModelFault::new(FaultCode::BadLine, "the answer is neither a message nor a text"));
        }
        let calls = value["message"]["tool_calls"].items();
        match calls.iter().any(is_fragment) {
            true => {
                words(&value["message"], chunks)?;
                let written = part.items("/message/tool_calls");
                let calls = calls.iter().zip(written);
                chunks.extend(calls.map(|(call, written)| self.fragments.delta(call, written)));
            }
            false => message(part, "/message", false, chunks)?,
        }
        // `/api/generate` knows no messages.
        let text = |key: &str| value[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        chunks.extend(text("thinking").map(ModelChunk::Reasoning));
        chunks.extend(text("response").map(ModelChunk::Text));
        if matches!(value["done"], Json::Bool(true)) {
            // `done: true` without a reason means that the answer is complete.
            self.word = Some(word(part, "/done_reason").unwrap_or_else(|| "done".to_owned()));
            let count = |key: &str| value[key].as_u64().unwrap_or(0);
            self.usage = Some(Usage { prompt: count("prompt_eval_count"), completion: count("eval_count") });
        }
        Ok(())
    }

    fn end(&self, _closed: bool) -> Option<ModelChunk> {
        let reason = FinishReason::from_word(self.word.as_deref().unwrap_or_default());
        self.usage.map(|usage| ModelChunk::End { reason, usage })
    }

    fn served(&self) -> Served {
        self.served.clone()
    }

    fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }
}

/// Whether a call is a fragment: its arguments come as text, which may go on, or it has no name of its own.
fn is_fragment(call: &Json<'_>) -> bool {
    let function = &call["function"];
    function["arguments"].as_str().is_some() || (function.is_object() && function.get("name").is_none())
}

/// The calls of an answer that come in fragments.
#[derive(Debug, Default)]
struct Fragments(Vec<Fragment>);

/// A call that has begun.
#[derive(Debug)]
struct Fragment {
    /// The number that the gate knows it by: the server's, where that was not taken.
    number: usize,
    id: Option<String>,
    name: Option<String>,
    arguments: String,
}

impl Fragments {
    /// The delta of a fragment, under the number of its call: by the server's index, else by its id, else a fragment
    /// with a name begins a call and one without continues the last.
    fn delta(&mut self, call: &Json<'_>, written: &str) -> ModelChunk {
        let function = &call["function"];
        let text = |value: &Json<'_>| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let (id, mut name) = (text(&call["id"]), text(&function["name"]));
        let index = call["index"].as_u64().or_else(|| function["index"].as_u64());
        let index = index.and_then(|index| usize::try_from(index).ok());
        let arguments = match &function["arguments"] {
            Json::Null => None,
            Json::String(text) => Some(text.to_string()),
            // As the server wrote it: a value would round long numbers.
            _ => member(written, "function")
                .and_then(|function| member(function, "arguments"))
                .map(str::to_owned),
        };
        let known = |fragment: &&mut Fragment| match (index, &id) {
            (Some(index), _) => fragment.number == index,
            (None, Some(_)) => fragment.id == id,
            (None, None) => name.is_none(),
        };
        let open = self.0.iter_mut().rev().find(known);
        // A name behind whole arguments begins another call, whatever its index says.
        let is_over = |fragment: &Fragment| name.is_some() && is_whole(&fragment.arguments);
        let number = match open.filter(|fragment| !is_over(fragment)) {
            Some(fragment) => {
                fragment.arguments.push_str(arguments.as_deref().unwrap_or_default());
                // Some servers repeat the name with every fragment.
                name = name.filter(|name| fragment.name.as_ref() != Some(name));
                fragment.number
            }
            None => {
                let next = self.0.iter().map(|fragment| fragment.number + 1).max().unwrap_or(0);
                let is_taken = |index: &usize| self.0.iter().any(|fragment| fragment.number == *index);
                let number = index.filter(|index| !is_taken(index)).unwrap_or(next);
                let arguments = arguments.clone().unwrap_or_default();
                self.0.push(Fragment { number, id: id.clone(), name: name.clone(), arguments });
                number
            }
        };
        ModelChunk::Delta { index: Some(number), id, name, arguments }
    }
}

/// Whether arguments are complete.
fn is_whole(arguments: &str) -> bool {
    arguments.trim_end().ends_with('}') && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}
