//! Ollama's own API: `/api/chat`, one JSON object per line.

use std::collections::VecDeque;

use callgate::FinishReason;
use serde_json::{Value, json};

use super::http::Http;
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
struct OllamaFormat {
    end: Option<(FinishReason, Usage)>,
}

impl Format for OllamaFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) {
        let value = &part.value;
        let message = &value["message"];
        let text = |key: &str| message[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        chunks.extend(text("thinking").map(ModelChunk::Reasoning));
        chunks.extend(text("content").map(ModelChunk::Text));
        if let Some(calls) = message.get("tool_calls").filter(|calls| !calls.is_null()) {
            let written = part.written("/message/tool_calls");
            chunks.push_back(ModelChunk::Calls(written.unwrap_or_else(|| calls.to_string())));
        }
        if value["done"] == true {
            // `done: true` without a reason means that the answer is complete.
            let reason = FinishReason::from_word(value["done_reason"].as_str().unwrap_or("done"));
            let count = |key: &str| value[key].as_u64().unwrap_or(0);
            let usage = Usage { prompt: count("prompt_eval_count"), completion: count("eval_count") };
            self.end = Some((reason, usage));
        }
    }

    fn end(&self, _closed: bool) -> Option<ModelChunk> {
        self.end.map(|(reason, usage)| ModelChunk::End { reason, usage })
    }

    fn closed_by(&self, _data: &str) -> bool {
        false
    }
}
