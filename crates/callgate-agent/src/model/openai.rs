//! The API that most servers speak: `/v1/chat/completions`, server-sent events with deltas by index.

use std::collections::VecDeque;

use callgate::FinishReason;
use serde_json::{Value, json};

use super::http::Http;
use super::reading::{Format, Framing, Part, Reading};
use super::{BoxFuture, ChatRequest, Model, ModelChunk, ModelChunks, ModelFault, Server, Usage};
use crate::history::{Wire, to_wire};
use crate::written::Written;

/// Where servers of local models usually listen.
pub const OPENAI: &str = "http://127.0.0.1:8080/v1";

/// A client of a server that speaks OpenAI's API.
#[derive(Clone, Debug)]
pub struct OpenAi {
    http: Http,
}

impl OpenAi {
    /// A client of this server. Its address ends with the version, as in `http://127.0.0.1:8080/v1`.
    pub fn new(server: Server) -> Self {
        OpenAi { http: server.into_http() }
    }
}

impl Model for OpenAi {
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<Box<dyn ModelChunks>, ModelFault>> {
        Box::pin(async move {
            let answer = self.http.post("/chat/completions", body(request).to_string().into_bytes()).await?;
            // A server that was asked for a stream may still answer with one document, and says so.
            let framing = if answer.is_event_stream { Framing::Events } else { Framing::Whole };
            Ok(Box::new(Reading::new(answer, framing, OpenAiFormat::default())) as Box<dyn ModelChunks>)
        })
    }
}

fn body(request: &ChatRequest) -> Written {
    let parameters = &request.parameters;
    let mut body = json!({
        "model": parameters.model,
        "stream": request.stream,
    });
    if request.stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    for (key, value) in [
        ("temperature", parameters.temperature.map(Value::from)),
        ("max_tokens", parameters.max_tokens.map(Value::from)),
        ("seed", parameters.seed.map(Value::from)),
        ("tools", request.tools.clone()),
    ] {
        if let Some(value) = value {
            body[key] = value;
        }
    }
    let messages = to_wire(&request.messages, &request.style, Wire::OpenAi);
    Written::from(body).with("messages", Written::Array(messages))
}

#[derive(Debug, Default)]
struct OpenAiFormat {
    reason: Option<FinishReason>,
    usage: Usage,
}

impl Format for OpenAiFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) {
        let value = &part.value;
        let count = |key: &str| value["usage"][key].as_u64();
        if let (Some(prompt), Some(completion)) = (count("prompt_tokens"), count("completion_tokens")) {
            self.usage = Usage { prompt, completion };
        }
        // Only one answer was asked for, so only one is read.
        let choices = value["choices"].as_array().into_iter().flatten().enumerate();
        for (number, choice) in choices.filter(|(_, choice)| choice["index"].as_u64().unwrap_or(0) == 0) {
            if let Some(message) = choice.get("message").filter(|message| message.is_object()) {
                words(message, chunks);
                if let Some(calls) = message.get("tool_calls").filter(|calls| !calls.is_null()) {
                    let written = part.written(&format!("/choices/{number}/message/tool_calls"));
                    chunks.push_back(ModelChunk::Calls(written.unwrap_or_else(|| calls.to_string())));
                }
            } else {
                words(&choice["delta"], chunks);
                let calls = choice["delta"]["tool_calls"].as_array().into_iter().flatten();
                chunks.extend(calls.enumerate().map(|(call_number, call)| {
                    let function = format!("/choices/{number}/delta/tool_calls/{call_number}/function");
                    delta(call, || part.written(&format!("{function}/arguments")))
                }));
            }
            if let Some(word) = choice["finish_reason"].as_str() {
                self.reason = Some(FinishReason::from_word(word));
            }
        }
    }

    fn end(&self, closed: bool) -> Option<ModelChunk> {
        // The count of tokens comes after the reason, so the reason alone does not end the answer.
        let reason = self.reason.filter(|_| closed)?;
        Some(ModelChunk::End { reason, usage: self.usage })
    }

    fn closed_by(&self, data: &str) -> bool {
        data == "[DONE]"
    }
}

/// Thought and text of a message or a delta.
fn words(message: &Value, chunks: &mut VecDeque<ModelChunk>) {
    let thought = ["reasoning_content", "reasoning", "thinking"];
    let thought = thought.iter().find_map(|key| message[*key].as_str()).filter(|text| !text.is_empty());
    chunks.extend(thought.map(|text| ModelChunk::Reasoning(text.to_owned())));
    match &message["content"] {
        Value::String(text) if !text.is_empty() => chunks.push_back(ModelChunk::Text(text.clone())),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            chunks.extend(texts.map(|text| ModelChunk::Text(text.to_owned())));
        }
        _ => {}
    }
}

/// One delta of a structured call. Arguments that come as an object are taken as they were written.
fn delta(call: &Value, written: impl FnOnce() -> Option<String>) -> ModelChunk {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let function = &call["function"];
    ModelChunk::Delta {
        index: call["index"].as_u64().and_then(|index| usize::try_from(index).ok()),
        id: text(&call["id"]),
        name: text(&function["name"]),
        arguments: match &function["arguments"] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(written().unwrap_or_else(|| other.to_string())),
        },
    }
}
