//! Anthropic's messages, as they are kept: a whole message, or server-sent events with blocks by index.

use std::collections::{BTreeSet, VecDeque};

use callgate::FinishReason;

use super::message::{block, message, word};
use super::reading::{Format, Part};
use super::{ModelChunk, ModelFault, Usage};

#[derive(Debug, Default)]
pub(super) struct AnthropicFormat {
    word: Option<String>,
    usage: Usage,
    is_over: bool,
    /// The blocks of calls that have begun and have no arguments yet.
    bare: BTreeSet<u64>,
    /// The last block, if it was a call that ended without arguments.
    empty: Option<usize>,
}

impl Format for AnthropicFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault> {
        let value = &part.value;
        let index = value["index"].as_u64();
        let number = index.and_then(|index| usize::try_from(index).ok());
        match value["type"].as_str().unwrap_or("message") {
            "message" => {
                self.ending(part, "");
                message(part, "", self.reason().is_cut(), chunks)?;
                self.is_over = true;
            }
            "message_start" => self.ending(part, "/message"),
            "content_block_start" => {
                let begun = &value["content_block"];
                self.take_empty(chunks);
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
            "content_block_stop" if index.is_some_and(|index| self.bare.remove(&index)) => {
                self.empty = number;
            }
            "message_delta" => self.ending(part, "/delta"),
            "message_stop" => {
                if self.reason().is_good() {
                    self.take_empty(chunks);
                }
                self.is_over = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&self, _closed: bool) -> Option<ModelChunk> {
        self.is_over.then_some(ModelChunk::End { reason: self.reason(), usage: self.usage })
    }

    fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }
}

impl AnthropicFormat {
    fn reason(&self) -> FinishReason {
        FinishReason::from_word(self.word.as_deref().unwrap_or_default())
    }

    /// A call without arguments has an empty object, as a whole message would show it, once it is known that they were
    /// not going to come: another block follows, or the message ends well.
    fn take_empty(&mut self, chunks: &mut VecDeque<ModelChunk>) {
        chunks.extend(self.empty.take().map(|index| arguments(Some(index), "{}")));
    }

    /// What a value says of the end of the message, and of what it cost.
    fn ending(&mut self, part: &Part<'_>, pointer: &str) {
        self.word = word(part, &format!("{pointer}/stop_reason")).or(self.word.take());
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
