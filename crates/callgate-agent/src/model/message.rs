//! Messages: what one message of an assistant holds, in the form of any provider: thoughts, text, refusals and calls.

use std::collections::VecDeque;

use super::ModelChunk;
use super::json::Json;
use super::reading::Part;
use callgate::internal::json::Tape;

/// The names under which servers send a thought apart from the text.
const THOUGHTS: &[&str] = &["reasoning_content", "reasoning", "thinking"];

/// Reads the message that stands at a pointer: thought, text, calls.
pub(super) fn message(part: &Part<'_>, pointer: &str, chunks: &mut VecDeque<ModelChunk>) {
    let Some(message) = part.value.pointer(pointer) else { return };
    words(message, chunks);
    if let Json::Array(blocks) = &message["content"] {
        let written = part.items(&format!("{pointer}/content"));
        let both = blocks.iter().zip(written);
        for (_, written) in both.filter(|(block, _)| block["type"] == *"tool_use") {
            let [id, name, input] = ["id", "name", "input"].map(|key| member(written, key));
            chunks.push_back(call(id, name, input));
        }
    }
    if !matches!(message["tool_calls"], Json::Null) {
        chunks.extend(part.written(&format!("{pointer}/tool_calls")).map(ModelChunk::Calls));
    }
    // The form that came before lists of calls.
    if message["function_call"].is_object() {
        let written = |key: &str| part.written(&format!("{pointer}/function_call/{key}"));
        chunks.push_back(call(None, written("name").as_deref(), written("arguments").as_deref()));
    }
}

/// Thought and text of a message or a delta.
pub(super) fn words(message: &Json<'_>, chunks: &mut VecDeque<ModelChunk>) {
    let thought = THOUGHTS.iter().find_map(|key| message[*key].as_str()).filter(|text| !text.is_empty());
    chunks.extend(thought.map(|text| ModelChunk::Reasoning(text.to_owned())));
    match &message["content"] {
        Json::String(text) if !text.is_empty() => chunks.push_back(ModelChunk::Text(text.to_string())),
        Json::Array(parts) => parts.iter().for_each(|part| block(part, chunks)),
        _ => {}
    }
    let refusal = message["refusal"].as_str().filter(|text| !text.is_empty());
    chunks.extend(refusal.map(|text| ModelChunk::Text(text.to_owned())));
}

/// One block of a message's content, as far as it is thought or text.
pub(super) fn block(block: &Json<'_>, chunks: &mut VecDeque<ModelChunk>) {
    let text = ["text", "refusal"].iter().find_map(|key| block[*key].as_str());
    let thought = block["thinking"].as_str();
    chunks.extend(thought.map(|thought| ModelChunk::Reasoning(thought.to_owned())));
    chunks.extend(text.map(|text| ModelChunk::Text(text.to_owned())));
}

/// A whole call, in the form in which lists of calls are read. Its parts are JSON as it was written.
pub(super) fn call(id: Option<&str>, name: Option<&str>, arguments: Option<&str>) -> ModelChunk {
    let [id, name] = [id, name].map(|json| json.unwrap_or("null"));
    let arguments = arguments.map_or(String::new(), |json| format!(",\"arguments\":{json}"));
    ModelChunk::Calls(format!("[{{\"id\":{id},\"function\":{{\"name\":{name}{arguments}}}}}]"))
}

/// The text of a member of an object, as it is written.
pub(super) fn member<'t>(object: &'t str, key: &str) -> Option<&'t str> {
    let tape = Tape::parse(object)?;
    Some(tape.raw(object, tape.member(object, 0, key)?))
}
