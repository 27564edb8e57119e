//! OpenAI's Responses, as they are kept: a whole response, or server-sent events with items by index.

use std::collections::{BTreeSet, VecDeque};

use super::json::Json;
use super::message::{block, call, member};
use super::reading::{Format, Part};
use super::{ModelChunk, Usage};
use callgate::FinishReason;

#[derive(Debug, Default)]
pub(super) struct ResponsesFormat {
    word: Option<String>,
    usage: Usage,
    is_over: bool,
    /// Whether any item has come by itself; the last event of a stream repeats them all.
    has_items: bool,
    /// The items of calls that have begun and have no arguments yet.
    bare: BTreeSet<u64>,
}

impl Format for ResponsesFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) {
        let value = &part.value;
        let index = value["output_index"].as_u64();
        let delta = value["delta"].as_str().unwrap_or_default();
        match value["type"].as_str().unwrap_or_default() {
            "" => self.response(part, "", chunks),
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.response(part, "/response", chunks);
            }
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
            // Servers that send no deltas send the whole here.
            "response.function_call_arguments.done" if self.is_bare(index) => {
                self.arguments(index, value["arguments"].as_str().unwrap_or_default(), chunks);
            }
            "response.custom_tool_call_input.done" if self.is_bare(index) => {
                self.arguments(index, value["input"].as_str().unwrap_or_default(), chunks);
            }
            _ => {}
        }
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
    fn response(&mut self, part: &Part<'_>, pointer: &str, chunks: &mut VecDeque<ModelChunk>) {
        let Some(response) = part.value.pointer(pointer) else { return };
        if !self.has_items {
            let items = response["output"].items();
            for (item, written) in items.iter().zip(part.items(&format!("{pointer}/output"))) {
                whole(item, written, chunks);
            }
        }
        let why = response["incomplete_details"]["reason"].as_str().or(response["status"].as_str());
        self.word = why.map(str::to_owned);
        let count = |key: &str| response["usage"][key].as_u64().unwrap_or(0);
        self.usage = Usage { prompt: count("input_tokens"), completion: count("output_tokens") };
        self.is_over = true;
    }

    /// An item of a stream begins; its text comes in deltas.
    fn begin(&mut self, part: &Part<'_>, index: Option<u64>, chunks: &mut VecDeque<ModelChunk>) {
        let item = &part.value["item"];
        let Some(content) = content_of_call(item) else { return };
        let text = |key: &str| item[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let arguments = text(content);
        if arguments.is_none() {
            self.bare.extend(index);
        }
        let (id, name) = (text("call_id"), text("name"));
        chunks.push_back(ModelChunk::Delta { index: place(index), id, name, arguments });
    }

    fn arguments(&mut self, index: Option<u64>, more: &str, chunks: &mut VecDeque<ModelChunk>) {
        self.bare.retain(|bare| Some(*bare) != index);
        let arguments = Some(more.to_owned());
        chunks.push_back(ModelChunk::Delta { index: place(index), id: None, name: None, arguments });
    }

    fn is_bare(&self, index: Option<u64>) -> bool {
        index.is_some_and(|index| self.bare.contains(&index))
    }
}

/// One item of a whole response.
fn whole(item: &Json<'_>, written: &str, chunks: &mut VecDeque<ModelChunk>) {
    if let Some(content) = content_of_call(item) {
        let [id, name, content] = ["call_id", "name", content].map(|key| member(written, key));
        chunks.push_back(call(id, name, content));
        return;
    }
    let blocks = |key: &str| item[key].items().iter();
    if item["type"] == *"reasoning" {
        let thoughts = blocks("summary").chain(blocks("content"));
        let thoughts = thoughts.filter_map(|block| block["text"].as_str());
        chunks.extend(thoughts.map(|text| ModelChunk::Reasoning(text.to_owned())));
    } else {
        blocks("content").for_each(|part| block(part, chunks));
    }
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
