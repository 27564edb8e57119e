//! Conversations, as they are kept: of a list of messages the last turn of the assistant, or one message by itself.

use std::collections::VecDeque;

use serde_json::Value;

use super::ModelChunk;
use super::json::Json;
use super::message::message;
use super::reading::{Format, Part};

#[derive(Debug, Default)]
pub(super) struct ConversationFormat {
    /// What tools gave before that turn: nobody vouches for it, so a call that repeats it is reported.
    untrusted: Vec<String>,
    word: Option<String>,
}

impl Format for ConversationFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) {
        let value = &part.value;
        if let Json::Array(messages) = &value["messages"] {
            for (place, number) in last_turn(messages).enumerate() {
                if place > 0 {
                    chunks.push_back(ModelChunk::Text("\n".to_owned()));
                }
                message(part, &format!("/messages/{number}"), chunks);
            }
            let before = last_turn(messages).start;
            self.untrusted = messages.iter().take(before).flat_map(results).collect();
        } else if value["message"].is_object() {
            message(part, "/message", chunks);
        } else {
            message(part, "", chunks);
            let text = value["response"].as_str().map(str::to_owned);
            chunks.extend(text.map(ModelChunk::Text));
        }
        let said = ["finish_reason", "stop_reason"].iter().find_map(|key| value[*key].as_str());
        self.word = said.map(str::to_owned);
    }

    fn end(&self, _closed: bool) -> Option<ModelChunk> {
        None
    }

    fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }

    fn take_untrusted(&mut self) -> Vec<String> {
        std::mem::take(&mut self.untrusted)
    }
}

/// Whether these are the messages of a conversation.
pub(super) fn is_conversation(value: &Value) -> bool {
    let messages = value["messages"].as_array();
    messages.is_some_and(|messages| {
        !messages.is_empty() && messages.iter().all(|message| message["role"].is_string())
    })
}

/// Whether this role is the assistant's.
pub(super) fn is_assistant(role: Option<&str>) -> bool {
    matches!(role, Some("assistant" | "model"))
}

/// The places of the last messages of the assistant that stand together.
pub(super) fn last_turn(messages: &[Json<'_>]) -> std::ops::Range<usize> {
    let is_assistant = |message: &Json<'_>| is_assistant(message["role"].as_str());
    let end = messages.iter().rposition(is_assistant).map_or(0, |last| last + 1);
    let start =
        messages[..end].iter().rposition(|message| !is_assistant(message)).map_or(0, |other| other + 1);
    start..end
}

/// The texts that tools gave, in a message of a tool or in the blocks of a user's.
fn results(message: &Json<'_>) -> Vec<String> {
    if matches!(message["role"].as_str(), Some("tool" | "function")) {
        return texts(&message["content"]);
    }
    let blocks = message["content"].items().iter();
    let results = blocks.filter(|block| block["type"] == *"tool_result");
    results.flat_map(|block| texts(&block["content"])).collect()
}

fn texts(content: &Json<'_>) -> Vec<String> {
    match content {
        Json::String(text) => vec![text.to_string()],
        _ => content.items().iter().filter_map(|block| block["text"].as_str()).map(str::to_owned).collect(),
    }
}
