//! Ollama's own API: `/api/chat`, one JSON object per line.

use std::collections::VecDeque;

use callgate::FinishReason;
use serde_json::{Value, json};

use super::http::Http;
use super::message::message;
use super::reading::{Format, Framing, Part, Reading};
use super::{BoxFuture, ChatRequest, Model, ModelChunk, ModelChunks, ModelFault, Server, Usage};
use crate::history::{Wire, to_wire};
use crate::written::Written;

/// Where Ollama listens unless told otherwise.
pub const OLLAMA: &str = "http://127.0.0.1:11434";

/// A client of an Ollama server.
#[derive(Clone, Debug)]
pub struct Ollama {
    http: Http,
}

impl Ollama {
    /// A client of this server.
    pub fn new(server: Server) -> Self {
        Ollama { http: server.into_http() }
    }
}

impl Model for Ollama {
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<Box<dyn ModelChunks>, ModelFault>> {
        Box::pin(async move {
            let answer = self.http.post("/api/chat", body(request).to_string().into_bytes()).await?;
            let framing = if request.stream { Framing::Lines } else { Framing::Whole };
            Ok(Box::new(Reading::new(answer, framing, OllamaFormat::default())) as Box<dyn ModelChunks>)
        })
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
}

impl Format for OllamaFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) {
        let value = part.value;
        message(part, "/message", chunks);
        // `/api/generate` knows no messages.
        let text = |key: &str| value[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        chunks.extend(text("thinking").map(ModelChunk::Reasoning));
        chunks.extend(text("response").map(ModelChunk::Text));
        if value["done"] == true {
            // `done: true` without a reason means that the answer is complete.
            self.word = Some(value["done_reason"].as_str().unwrap_or("done").to_owned());
            let count = |key: &str| value[key].as_u64().unwrap_or(0);
            self.usage = Some(Usage { prompt: count("prompt_eval_count"), completion: count("eval_count") });
        }
    }

    fn end(&self, _closed: bool) -> Option<ModelChunk> {
        let reason = FinishReason::from_word(self.word.as_deref().unwrap_or_default());
        self.usage.map(|usage| ModelChunk::End { reason, usage })
    }

    fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }
}
