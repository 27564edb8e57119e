//! Anthropic's messages, as they are kept: a whole message, or server-sent events with blocks by index.

use std::collections::{BTreeSet, VecDeque};

use callgate::FinishReason;

use super::message::{block, message};
use super::reading::{Format, Part};
use super::{ModelChunk, Usage};

#[derive(Debug, Default)]
pub(super) struct AnthropicFormat {
    word: Option<String>,
    usage: Usage,
    is_over: bool,
    /// The blocks of calls that have begun and have no arguments yet.
    bare: BTreeSet<u64>,
}

impl Format for AnthropicFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) {
        let value = &part.value;
        let index = value["index"].as_u64();
        let number = index.and_then(|index| usize::try_from(index).ok());
        match value["type"].as_str().unwrap_or("message") {
            "message" => {
                message(part, "", chunks);
                self.ending(part, "");
                self.is_over = true;
            }
            "message_start" => self.ending(part, "/message"),
            "content_block_start" => {
                let begun = &value["content_block"];
                block(begun, chunks);
                if begun["type"] == *"tool_use" {
                    let written = part.written("/content_block/input").filter(|input| input != "{}");
                    if written.is_none() {
                        self.bare.extend(index);
                    }
                    let text = |key: &str| begun[key].as_str().map(str::to_owned);
                    chunks.push_back(ModelChunk::Delta {
                        index: number,
                        id: text("id"),
                        name: text("name"),
                        arguments: written,
                    });
                }
            }
            "content_block_delta" => {
                let delta = &value["delta"];
                block(delta, chunks);
                if let Some(json) = delta["partial_json"].as_str().filter(|json| !json.is_empty()) {
                    self.bare.retain(|bare| Some(*bare) != index);
                    chunks.push_back(arguments(number, json));
                }
            }
            // A call without arguments has an empty object, as a whole message would show it.
            "content_block_stop" if index.is_some_and(|index| self.bare.remove(&index)) => {
                chunks.push_back(arguments(number, "{}"));
            }
            "message_delta" => self.ending(part, "/delta"),
            "message_stop" => self.is_over = true,
            _ => {}
        }
    }

    fn end(&self, _closed: bool) -> Option<ModelChunk> {
        let reason = FinishReason::from_word(self.word.as_deref().unwrap_or_default());
        self.is_over.then_some(ModelChunk::End { reason, usage: self.usage })
    }

    fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }
}

impl AnthropicFormat {
    /// What a value says of the end of the message, and of what it cost.
    fn ending(&mut self, part: &Part<'_>, pointer: &str) {
        let said = part.value.pointer(&format!("{pointer}/stop_reason")).and_then(|word| word.as_str());
        self.word = said.map(str::to_owned).or(self.word.take());
        let usage = part.value.pointer(&format!("{pointer}/usage")).unwrap_or(&part.value["usage"]);
        let count = |key: &str, before: u64| usage[key].as_u64().unwrap_or(before);
        self.usage = Usage {
            prompt: count("input_tokens", self.usage.prompt),
            completion: count("output_tokens", self.usage.completion),
        };
    }
}

fn arguments(index: Option<usize>, json: &str) -> ModelChunk {
    ModelChunk::Delta { index, id: None, name: None, arguments: Some(json.to_owned()) }
}
