//! OpenAI's Responses, as they are kept: a whole response, or server-sent events with items by index.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::http::plain;
use super::json::Json;
use super::message::{blocks, call, member, word};
use super::reading::{Format, Part, unreadable};
use super::{FaultCode, ModelChunk, ModelFault, Usage};
use callgate::FinishReason;
use callgate::internal::json::canonical;

#[derive(Debug, Default)]
pub(super) struct ResponsesFormat {
    word: Option<String>,
    usage: Usage,
    is_over: bool,
    /// Whether any item has come by itself; the last event of a stream repeats them all.
    has_items: bool,
    /// The arguments of the calls that have begun, as far as they have come.
    calls: BTreeMap<u64, String>,
    /// Whether any call has begun, and the ids of those that have.
    has_calls: bool,
    ids: BTreeSet<String>,
}

impl Format for ResponsesFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault> {
        let value = &part.value;
        let index = value["output_index"].as_u64();
        let delta = value["delta"].as_str().unwrap_or_default();
        match value["type"].as_str().unwrap_or_default() {
            "" => self.response(part, "", chunks)?,
            "response.failed" | "error" => {
                let said = ["/response/error/message", "/message"].iter();
                let said = said.filter_map(|pointer| value.pointer(pointer)?.as_str()).next();
                return Err(ModelFault::new(FaultCode::ServerError, plain(said.unwrap_or("it has failed"))));
            }
            "response.completed" | "response.incomplete" => self.response(part, "/response", chunks)?,
            "response.output_item.added" => {
                self.has_items = true;
                self.begin(part, index, chunks);
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                chunks.push_back(ModelChunk::Text(delta.to_owned()));
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                chunks.push_back(ModelChunk::Reasoning(delta.to_owned()));
            }
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                self.arguments(index, delta, chunks);
            }
            "response.function_call_arguments.done" => self.whole(index, &value["arguments"], chunks)?,
            "response.custom_tool_call_input.done" => self.whole(index, &value["input"], chunks)?,
            "response.output_item.done" => {
                if let Some(content) = content_of_call(&value["item"]) {
                    match self.has_begun(index, &value["item"]) {
                        true => self.whole(index, &value["item"][content], chunks)?,
                        // Its start was not told.
                        false => self.begin(part, index, chunks),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&self, _closed: bool) -> Option<ModelChunk> {
        let reason = FinishReason::from_word(self.word.as_deref().unwrap_or_default());
        self.is_over.then_some(ModelChunk::End { reason, usage: self.usage })
    }

    fn closed_by(&mut self, data: &str) -> bool {
        data == "[DONE]"
    }

    fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }
}

impl ResponsesFormat {
    /// A whole response, and why it ended.
    fn response(
        &mut self,
        part: &Part<'_>,
        pointer: &str,
        chunks: &mut VecDeque<ModelChunk>,
    ) -> Result<(), ModelFault> {
        let Some(response) = part.value.pointer(pointer) else { return Ok(()) };
        let items = response["output"].items();
        for (index, (item, written)) in (0..).zip(items.iter().zip(part.items(&format!("{pointer}/output"))))
        {
            match content_of_call(item) {
                Some(content) if self.has_items && self.has_begun(Some(index), item) => {
                    self.compare(index, &item[content])?;
                }
                // What was not told while it came.
                Some(_) => whole(item, written, chunks)?,
                None if self.has_items => {}
                None => whole(item, written, chunks)?,
            }
        }
        let why = ["incomplete_details/reason", "status"].iter();
        self.word = why.filter_map(|why| word(part, &format!("{pointer}/{why}"))).next();
        let count = |key: &str| response["usage"][key].as_u64().unwrap_or(0);
        self.usage = Usage { prompt: count("input_tokens"), completion: count("output_tokens") };
        self.is_over = true;
        Ok(())
    }

    /// Whether the call of this item, which stands at this place, has begun. Servers count places each in their own way, so
    /// that a call with its id is the same one wherever it stands, and nobody can tell one without an id from those that have
    /// begun.
    fn has_begun(&self, index: Option<u64>, item: &Json<'_>) -> bool {
        let is_known = index.is_some_and(|index| self.calls.contains_key(&index));
        is_known || self.has_calls && item["call_id"].as_str().is_none_or(|id| self.ids.contains(id))
    }

    /// An item of a stream begins; its text comes in deltas.
    fn begin(&mut self, part: &Part<'_>, index: Option<u64>, chunks: &mut VecDeque<ModelChunk>) {
        let item = &part.value["item"];
        let Some(content) = content_of_call(item) else { return };
        let text = |key: &str| item[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let arguments = text(content);
        if let Some(index) = index {
            self.calls.insert(index, arguments.clone().unwrap_or_default());
        }
        self.has_calls = true;
        self.ids.extend(text("call_id"));
        let (id, name) = (text("call_id"), text("name"));
        chunks.push_back(ModelChunk::Delta { index: place(index), id, name, arguments });
    }

    fn arguments(&mut self, index: Option<u64>, more: &str, chunks: &mut VecDeque<ModelChunk>) {
        if let Some(so_far) = index.and_then(|index| self.calls.get_mut(&index)) {
            so_far.push_str(more);
        }
        let arguments = Some(more.to_owned());
        chunks.push_back(ModelChunk::Delta { index: place(index), id: None, name: None, arguments });
    }

    /// The arguments of a call as a whole. Servers that send no deltas send them here; others repeat them.
    fn whole(
        &mut self,
        index: Option<u64>,
        arguments: &Json<'_>,
        chunks: &mut VecDeque<ModelChunk>,
    ) -> Result<(), ModelFault> {
        let (Some(index), Some(text)) = (index, arguments.as_str()) else { return Ok(()) };
        if self.calls.get(&index).is_some_and(String::is_empty) {
            self.arguments(Some(index), text, chunks);
        }
        self.compare(index, arguments)
    }

    /// A fault if these are not the arguments that came in deltas: which of both was meant, nobody says.
    fn compare(&self, index: u64, arguments: &Json<'_>) -> Result<(), ModelFault> {
        let (Some(so_far), Some(whole)) = (self.calls.get(&index), arguments.as_str()) else { return Ok(()) };
        if so_far.is_empty() || whole.is_empty() || canonical(so_far) == canonical(whole) {
            return Ok(());
        }
        let [one, other] = [so_far, whole].map(|text| text.chars().take(60).collect::<String>());
        let message = format!("ambiguous: the arguments of a call came as {one:?} and as {other:?}");
        Err(ModelFault::new(FaultCode::BadLine, message))
    }
}

/// One item of a whole response.
fn whole(item: &Json<'_>, written: &str, chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault> {
    if !item.is_object() {
        return Err(unreadable(written, "no item"));
    }
    if let Some(content) = content_of_call(item) {
        let [id, name, content] = ["call_id", "name", content].map(|key| member(written, key));
        chunks.push_back(call(id, name, content));
        return Ok(());
    }
    let of_item = |key: &str| item[key].items().iter();
    if item["type"] == *"reasoning" {
        let thoughts = of_item("summary").chain(of_item("content"));
        let thoughts = thoughts.filter_map(|block| block["text"].as_str());
        chunks.extend(thoughts.map(|text| ModelChunk::Reasoning(text.to_owned())));
        return Ok(());
    }
    match &item["content"] {
        Json::String(text) => chunks.push_back(ModelChunk::Text(text.to_string())),
        Json::Array(parts) => blocks(parts, chunks)?,
        // Items of other kinds may hold anything.
        content if !matches!(content, Json::Null) && item["type"] == *"message" => {
            return Err(unreadable(written, "a message without a text"));
        }
        _ => {}
    }
    Ok(())
}

/// Where the arguments of an item are, if it is a call that the host is to run.
fn content_of_call(item: &Json<'_>) -> Option<&'static str> {
    match item["type"].as_str()? {
        "function_call" => Some("arguments"),
        "custom_tool_call" => Some("input"),
        _ => None,
    }
}

fn place(index: Option<u64>) -> Option<usize> {
    index.and_then(|index| usize::try_from(index).ok())
}
