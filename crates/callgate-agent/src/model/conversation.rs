//! Conversations, as they are kept: of a list of messages the last turn of the assistant, or one message by itself.

use std::collections::VecDeque;

use callgate::FinishReason;
use serde_json::Value;

use super::json::Json;
use super::message::{message, word};
use super::reading::{Format, Part};
use super::results::results;
use super::{FaultCode, ModelChunk, ModelFault};

/// The names under which lists of messages are kept.
pub(super) const LISTS: &[&str] = &["messages", "conversations", "conversation"];

/// The names of the answer, where it stands in a line: beside it, messages are what was said before.
pub(super) const ANSWERS: &[&str] = &["content", "message", "response"];

#[derive(Debug, Default)]
pub(super) struct ConversationFormat {
    /// What tools gave before the last turn.
    untrusted: Vec<String>,
    word: Option<String>,
}

impl Format for ConversationFormat {
    fn value(&mut self, part: &Part<'_>, chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault> {
        let value = &part.value;
        let words = ["/finish_reason", "/stop_reason", "/finishReason", "/stopReason"];
        self.word = words.iter().find_map(|pointer| word(part, pointer));
        let is_cut = FinishReason::from_word(self.word.as_deref().unwrap_or_default()).is_cut();
        if !ConversationFormat::is_turn(value) {
            message(part, "", is_cut, chunks)?;
            message(part, "/message", is_cut, chunks)?;
            let text = value["response"].as_str().map(str::to_owned);
            chunks.extend(text.map(ModelChunk::Text));
            return old_text(value, chunks);
        }
        for key in LISTS {
            let messages = value[*key].items();
            for (place, number) in last_turn(messages).enumerate() {
                if place > 0 {
                    chunks.push_back(ModelChunk::Text("\n".to_owned()));
                }
                let pointer = format!("/{key}/{number}");
                message(part, &pointer, is_cut, chunks)?;
                old_text(&messages[number], chunks)?;
            }
            let before = last_turn(messages).start;
            self.untrusted.extend(messages.iter().take(before).flat_map(results));
        }
        Ok(())
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

impl ConversationFormat {
    /// Whether the answer is a turn of the conversation, and not what stands beside it.
    pub(super) fn is_turn(value: &Json<'_>) -> bool {
        let mut beside = ["tool_calls", "function_call"].iter().chain(ANSWERS);
        let has_list = LISTS.iter().any(|key| matches!(value[*key], Json::Array(_)));
        has_list && beside.all(|key| matches!(value[*key], Json::Null))
    }
}

/// The text of a message with `from` and `value`. Anything else there was meant to be a text, and is not an empty answer.
fn old_text(message: &Json<'_>, chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault> {
    match &message["value"] {
        _ if message["from"].as_str().is_none() => {}
        Json::String(text) => chunks.push_back(ModelChunk::Text(text.to_string())),
        Json::Null => {}
        _ => return Err(ModelFault::new(FaultCode::BadLine, "the `value` of a message is no text")),
    }
    Ok(())
}

/// Whether these are the messages of a conversation.
pub(super) fn is_conversation(value: &Value) -> bool {
    LISTS.iter().any(|key| value[*key].as_array().is_some_and(|messages| is_list(messages)))
}

/// Whether these are messages: each has a role, or is what a tool gave.
pub(super) fn is_list(messages: &[Value]) -> bool {
    let is_message = |message: &Value| {
        let item = message["type"].is_string() && message.get("output").is_some();
        item || message["role"].is_string() || message["from"].is_string() && message.get("value").is_some()
    };
    !messages.is_empty() && messages.iter().all(is_message)
}

/// Whether this role is the assistant's.
pub(super) fn is_assistant(role: Option<&str>) -> bool {
    const ASSISTANT: &[&str] = &["assistant", "model", "gpt", "chatgpt", "bot", "ai"];
    role.is_some_and(|role| ASSISTANT.iter().any(|name| role.eq_ignore_ascii_case(name)))
}

/// The places of the last messages of the assistant that stand together.
pub(super) fn last_turn(messages: &[Json<'_>]) -> std::ops::Range<usize> {
    let is_assistant =
        |message: &Json<'_>| is_assistant(["role", "from"].iter().find_map(|key| message[*key].as_str()));
    let end = messages.iter().rposition(is_assistant).map_or(0, |last| last + 1);
    let start =
        messages[..end].iter().rposition(|message| !is_assistant(message)).map_or(0, |other| other + 1);
    start..end
}
