//! The API that most servers speak: `/v1/chat/completions`, server-sent events with deltas by index.

use std::collections::{BTreeSet, VecDeque};

use callgate::FinishReason;
use serde_json::{Value, json};

use super::http::Http;
use super::json::Json;
use super::message::{call_blocks, is_same, message, word, words};
use super::reading::{Format, Part, Reading, unreadable};
use super::{BoxFuture, ChatRequest, Model, ModelChunk, ModelChunks, ModelFault, Served, Server, Usage};
use crate::history::{Wire, to_wire};
use crate::written::Written;

/// Where servers of local models usually listen.
pub const OPENAI: &str = "http://127.0.0.1:8080/v1";

/// Where requests go.
const CHAT: &str = "/chat/completions";

/// A client of a server that speaks OpenAI's API.
#[derive(Clone, Debug)]
pub struct OpenAi {
    http: Http,
}

impl OpenAi {
    /// A client of this server. Its address may end with the version (`http://127.0.0.1:8080/v1`), with nothing, or with
    /// the whole path of the requests.
    pub fn new(server: Server) -> Self {
        let mut http = server.into_http();
        let base = &mut http.address.base;
        *base = base.strip_suffix(CHAT).unwrap_or(base).to_owned();
        if base.is_empty() {
            "/v1".clone_into(base);
        }
        OpenAi { http }
    }

    /// Sends the body of a request as it stands, with further headers; the answer comes in chunks.
    pub async fn ask(
        &self,
        json: Vec<u8>,
        headers: &[(&'static str, String)],
    ) -> Result<Box<dyn ModelChunks>, ModelFault> {
        Reading::<OpenAiFormat>::ask(&self.http, CHAT, json, headers, None).await
    }
}

impl Model for OpenAi {
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<Box<dyn ModelChunks>, ModelFault>> {
        Box::pin(self.ask(body(request).to_string().into_bytes(), &[]))
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

/// Only one answer is asked for, so the first is read; of answers that were kept, the one that is wanted.
#[derive(Debug, Default)]
pub(super) struct OpenAiFormat {
    /// Which of the choices is read.
    choice: u64,
    /// The choices that have been seen.
    choices: BTreeSet<u64>,
    word: Option<String>,
    /// Whether it was said in so many words, or by the form of a whole message, that nothing is missing.
    is_whole: bool,
    /// Whether a call of a stream came in the old form as well as in the new one.
    is_twice: bool,
    /// Whether more came of the choice after its end.
    went_on: bool,
    usage: Usage,
    served: Served,
}

impl OpenAiFormat {
    /// Reads this choice of an answer.
    pub(super) fn of_choice(choice: u64) -> Self {
        OpenAiFormat { choice, ..OpenAiFormat::default() }
    }
}

impl Format for OpenAiFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault> {
        let value = &part.value;
        self.served.note(value);
        let count = |key: &str| value["usage"][key].as_u64();
        if let (Some(prompt), Some(completion)) = (count("prompt_tokens"), count("completion_tokens")) {
            self.usage = Usage { prompt, completion };
        }
        for (number, choice) in value["choices"].items().iter().enumerate() {
            let index = choice["index"].as_u64().unwrap_or(number as u64);
            self.choices.insert(index);
            if index != self.choice {
                continue;
            }
            let ending = word(part, &format!("/choices/{number}/finish_reason"));
            let before = chunks.len();
            if choice["message"].is_object() {
                self.is_whole = true;
                let is_cut = FinishReason::from_word(ending.as_deref().unwrap_or_default()).is_cut();
                message(part, &format!("/choices/{number}/message"), is_cut, chunks)?;
            } else {
                let said = &choice["delta"];
                // What has another type was meant to be one of these, and is not an empty answer.
                let is_object = |key: &str| matches!(choice[key], Json::Null | Json::Object(_));
                let is_text = matches!(choice["text"], Json::Null | Json::String(_));
                if !is_object("message") || !is_object("delta") || !is_text {
                    let choice = part.written(&format!("/choices/{number}")).unwrap_or_default();
                    return Err(unreadable(&choice, "a choice without a message or a text"));
                }
                words(said, chunks)?;
                call_blocks(part, &format!("/choices/{number}/delta"), false, chunks)?;
                let list = format!("/choices/{number}/delta/tool_calls");
                let one = |call: &Json<'_>, place: String| {
                    delta(call, &call["function"], || part.written(&format!("{place}/function/arguments")))
                };
                let calls = &said["tool_calls"];
                if !matches!(calls, Json::Null | Json::Array(_) | Json::Object(_)) {
                    return Err(unreadable(&part.written(&list).unwrap_or_default(), "no list of calls"));
                }
                // One call without its list is a call.
                chunks.extend(calls.is_object().then(|| one(calls, list.clone())));
                let calls = calls.items().iter().enumerate();
                chunks.extend(calls.map(|(call_number, call)| one(call, format!("{list}/{call_number}"))));
                // The forms that came before lists of calls, and before messages. A server may write a call in both.
                let function = &said["function_call"];
                if !matches!(function, Json::Null | Json::Object(_)) {
                    let written = part.written(&format!("/choices/{number}/delta/function_call"));
                    return Err(unreadable(&written.unwrap_or_default(), "no call"));
                }
                let is_both = |call: &Json<'_>| {
                    let call = &call["function"];
                    let text = |function: &Json<'_>, key: &str| function[key].as_str().map(str::to_owned);
                    let is_piece = self.is_twice
                        && [call, function].iter().all(|one| one["name"].as_str().is_none())
                        && text(call, "arguments") == text(function, "arguments");
                    is_same(call, function) || is_piece
                };
                let is_twice = function.is_object() && said["tool_calls"].items().iter().any(is_both);
                self.is_twice |= is_twice;
                if function.is_object() && !is_twice {
                    let arguments = format!("/choices/{number}/delta/function_call/arguments");
                    chunks.push_back(delta(&Json::Null, function, || part.written(&arguments)));
                }
                let text = choice["text"].as_str().filter(|text| !text.is_empty());
                chunks.extend(text.map(|text| ModelChunk::Text(text.to_owned())));
            }
            self.went_on |= self.word.is_some() && chunks.len() > before;
            self.word = ending.or(self.word.take());
        }
        Ok(())
    }

    fn end(&self, closed: bool) -> Option<ModelChunk> {
        // The count of tokens comes after the reason, so the reason alone does not end the answer. A whole answer without
        // a reason is whole, and nobody has said why it ended.
        let has_answer = self.is_whole && self.choices.contains(&self.choice);
        let reason = match self.word.as_deref() {
            _ if !closed => return None,
            Some(word) => FinishReason::from_word(word),
            None if has_answer => FinishReason::Unknown,
            None => return None,
        };
        Some(ModelChunk::End { reason, usage: self.usage })
    }

    fn served(&self) -> Served {
        self.served.clone()
    }

    fn closed_by(&mut self, data: &str) -> bool {
        self.is_whole |= data == "[DONE]";
        data == "[DONE]"
    }

    fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }

    fn choices(&self) -> Option<&BTreeSet<u64>> {
        Some(&self.choices)
    }

    fn went_on(&self) -> bool {
        self.went_on
    }
}

/// One delta of a structured call. Arguments that come as an object are taken as they were written.
fn delta(call: &Json<'_>, function: &Json<'_>, written: impl FnOnce() -> Option<String>) -> ModelChunk {
    let text = |value: &Json<'_>| value.as_str().map(str::to_owned);
    ModelChunk::Delta {
        index: call["index"].as_u64().and_then(|index| usize::try_from(index).ok()),
        id: text(&call["id"]),
        name: text(&function["name"]),
        arguments: match &function["arguments"] {
            Json::Null => None,
            Json::String(text) => Some(text.to_string()),
            _ => written(),
        },
    }
}
