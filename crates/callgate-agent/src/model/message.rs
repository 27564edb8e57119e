//! Messages: what one message of an assistant holds, in the form of any provider: thoughts, text, refusals and calls.

use std::collections::VecDeque;

use callgate::internal::json::Tape;
use serde_json::Value;

use super::ModelChunk;
use super::reading::Part;

/// The names under which servers send a thought apart from the text.
const THOUGHTS: &[&str] = &["reasoning_content", "reasoning", "thinking"];

/// Reads the message that stands at a pointer: thought, text, calls.
pub(super) fn message(part: &Part<'_>, pointer: &str, chunks: &mut VecDeque<ModelChunk>) {
    let Some(message) = part.value.pointer(pointer) else { return };
    words(message, chunks);
    if let Value::Array(blocks) = &message["content"] {
        let written = part.items(&format!("{pointer}/content"));
        for (block, written) in blocks.iter().zip(written).filter(|(block, _)| block["type"] == "tool_use") {
            chunks.push_back(call(&block["id"], &block["name"], member(written, "input")));
        }
    }
    if let Some(calls) = message.get("tool_calls").filter(|calls| !calls.is_null()) {
        let written = part.written(&format!("{pointer}/tool_calls"));
        chunks.push_back(ModelChunk::Calls(written.unwrap_or_else(|| calls.to_string())));
    }
    // The form that came before lists of calls.
    if let Some(function) = message.get("function_call").filter(|function| function.is_object()) {
        let arguments = part.written(&format!("{pointer}/function_call/arguments"));
        chunks.push_back(call(&Value::Null, &function["name"], arguments.as_deref()));
    }
}

/// Thought and text of a message or a delta.
pub(super) fn words(message: &Value, chunks: &mut VecDeque<ModelChunk>) {
    let thought = THOUGHTS.iter().find_map(|key| message[*key].as_str()).filter(|text| !text.is_empty());
    chunks.extend(thought.map(|text| ModelChunk::Reasoning(text.to_owned())));
    match &message["content"] {
        Value::String(text) if !text.is_empty() => chunks.push_back(ModelChunk::Text(text.clone())),
        Value::Array(parts) => parts.iter().for_each(|part| block(part, chunks)),
        _ => {}
    }
    let refusal = message["refusal"].as_str().filter(|text| !text.is_empty());
    chunks.extend(refusal.map(|text| ModelChunk::Text(text.to_owned())));
}

/// One block of a message's content, as far as it is thought or text.
pub(super) fn block(block: &Value, chunks: &mut VecDeque<ModelChunk>) {
    let text = ["text", "refusal"].iter().find_map(|key| block[*key].as_str());
    let thought = block["thinking"].as_str();
    chunks.extend(thought.map(|thought| ModelChunk::Reasoning(thought.to_owned())));
    chunks.extend(text.map(|text| ModelChunk::Text(text.to_owned())));
}

/// A whole call, in the form in which lists of calls are read. `arguments` is their JSON as it was written.
pub(super) fn call(id: &Value, name: &Value, arguments: Option<&str>) -> ModelChunk {
    let arguments = arguments.map_or(String::new(), |json| format!(",\"arguments\":{json}"));
    ModelChunk::Calls(format!("[{{\"id\":{id},\"function\":{{\"name\":{name}{arguments}}}}}]"))
}

/// The text of a member of an object, as it is written.
pub(super) fn member<'t>(object: &'t str, key: &str) -> Option<&'t str> {
    let tape = Tape::parse(object)?;
    Some(tape.raw(object, tape.member(object, 0, key)?))
}
