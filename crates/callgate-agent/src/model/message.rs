//! Messages: what one message of an assistant holds, in the form of any provider: thoughts, text, refusals and calls.

use std::collections::VecDeque;

use super::json::Json;
use super::reading::{Part, unreadable};
use super::{FaultCode, ModelChunk, ModelFault};
use callgate::internal::json::{Tape, canonical};

/// The names under which servers send a thought apart from the text.
const THOUGHTS: &[&str] = &["reasoning_content", "reasoning", "thinking", "tool_plan"];

/// The names under which a message holds blocks.
const BLOCKS: &[&str] = &["content", "parts"];

/// A form in which a call stands among the blocks of a message: under a key of its own or in a block of its own type, with
/// the names of its id, its name and its arguments.
struct CallBlock {
    key: Option<&'static str>,
    kind: &'static str,
    id: &'static str,
    name: &'static str,
    arguments: &'static [&'static str],
}

/// The forms that providers and libraries write.
const CALL_BLOCKS: &[CallBlock] = &[
    CallBlock { key: None, kind: "tool_use", id: "id", name: "name", arguments: &["input"] },
    CallBlock { key: None, kind: "tool_call", id: "id", name: "name", arguments: &["arguments", "args"] },
    CallBlock { key: None, kind: "function_call", id: "call_id", name: "name", arguments: &["arguments"] },
    CallBlock {
        key: None,
        kind: "tool-call",
        id: "toolCallId",
        name: "toolName",
        arguments: &["input", "args"],
    },
    CallBlock { key: Some("toolUse"), kind: "", id: "toolUseId", name: "name", arguments: &["input"] },
    CallBlock { key: Some("functionCall"), kind: "", id: "id", name: "name", arguments: &["args"] },
    CallBlock {
        key: Some("function_call"),
        kind: "",
        id: "id",
        name: "name",
        arguments: &["args", "arguments"],
    },
];

/// Reads the message that stands at a pointer: thought, text, calls. `is_cut` says that the answer was cut off.
pub(super) fn message(
    part: &Part<'_>,
    pointer: &str,
    is_cut: bool,
    chunks: &mut VecDeque<ModelChunk>,
) -> Result<(), ModelFault> {
    let Some(message) = part.value.pointer(pointer) else { return Ok(()) };
    words(message, chunks)?;
    call_blocks(part, pointer, is_cut, chunks)?;
    let list = part.written(&format!("{pointer}/tool_calls"));
    match (&message["tool_calls"], &list) {
        (Json::Null, _) | (_, None) => {}
        (Json::Array(_), Some(list)) => chunks.push_back(ModelChunk::Calls(list.clone())),
        // One call without its list is a call.
        (Json::Object(_), Some(call)) => chunks.push_back(ModelChunk::Calls(format!("[{call}]"))),
        (_, Some(other)) => return Err(unreadable(other, "no list of calls")),
    }
    // The form that came before lists of calls. Some servers write a call in both, for clients of either.
    let function = &message["function_call"];
    if !matches!(function, Json::Null | Json::Object(_)) {
        let written = part.written(&format!("{pointer}/function_call")).unwrap_or_default();
        return Err(unreadable(&written, "no call"));
    }
    let both = message["tool_calls"].items();
    if function.is_object() && !both.iter().any(|call| is_same(&call["function"], function)) {
        let written = |key: &str| part.written(&format!("{pointer}/function_call/{key}"));
        chunks.push_back(call(None, written("name").as_deref(), written("arguments").as_deref()));
    }
    Ok(())
}

/// The calls among the blocks of a message or a delta.
pub(super) fn call_blocks(
    part: &Part<'_>,
    pointer: &str,
    is_cut: bool,
    chunks: &mut VecDeque<ModelChunk>,
) -> Result<(), ModelFault> {
    let Some(message) = part.value.pointer(pointer) else { return Ok(()) };
    for key in BLOCKS {
        let blocks = message[*key].items();
        let written = if blocks.is_empty() { Vec::new() } else { part.items(&format!("{pointer}/{key}")) };
        for (place, (block, written)) in blocks.iter().zip(written).enumerate() {
            chunks.extend(call_block(block, written, is_cut && place + 1 == blocks.len())?);
        }
    }
    Ok(())
}

/// Whether two functions are the same call.
pub(super) fn is_same(one: &Json<'_>, other: &Json<'_>) -> bool {
    let arguments = |function: &Json<'_>| function["arguments"].as_str().map(canonical);
    let is_named = one["name"].as_str().is_some() && one["name"].as_str() == other["name"].as_str();
    is_named && arguments(one).is_some() && arguments(one) == arguments(other)
}

/// Thought and text of a message or a delta.
pub(super) fn words(message: &Json<'_>, chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault> {
    let thought = THOUGHTS.iter().find_map(|key| message[*key].as_str()).filter(|text| !text.is_empty());
    chunks.extend(thought.map(|text| ModelChunk::Reasoning(text.to_owned())));
    match &message["content"] {
        Json::Null => blocks(message["parts"].items(), chunks)?,
        Json::String(text) if text.is_empty() => {}
        Json::String(text) => chunks.push_back(ModelChunk::Text(text.to_string())),
        Json::Array(parts) => blocks(parts, chunks)?,
        _ => {
            let message = "the `content` of a message is neither a text nor a list of blocks";
            return Err(ModelFault::new(FaultCode::BadLine, message));
        }
    }
    let refusal = message["refusal"].as_str().filter(|text| !text.is_empty());
    chunks.extend(refusal.map(|text| ModelChunk::Text(text.to_owned())));
    Ok(())
}

/// The blocks of a message's content, as far as they are thought or text. What is no block was meant to be one.
pub(super) fn blocks(blocks: &[Json<'_>], chunks: &mut VecDeque<ModelChunk>) -> Result<(), ModelFault> {
    for one in blocks {
        let is_block = matches!(one, Json::Null | Json::String(_) | Json::Object(_));
        let is_text = matches!(one["text"], Json::Null | Json::String(_)) || one["type"] != *"text";
        if !is_block || !is_text {
            let message = "the `content` of a message holds something that is neither a text nor a block";
            return Err(ModelFault::new(FaultCode::BadLine, message));
        }
        block(one, chunks);
    }
    Ok(())
}

/// One block of a message's content, as far as it is thought or text.
pub(super) fn block(block: &Json<'_>, chunks: &mut VecDeque<ModelChunk>) {
    let text = ["text", "refusal"].iter().find_map(|key| block[*key].as_str()).or(block.as_str());
    let thought = &block["thinking"];
    // A thought may be a list of texts itself.
    let thoughts = thought.items().iter().filter_map(|item| item["text"].as_str().or(item.as_str()));
    let thoughts = thought.as_str().into_iter().chain(thoughts);
    chunks.extend(thoughts.map(|thought| ModelChunk::Reasoning(thought.to_owned())));
    chunks.extend(text.map(|text| ModelChunk::Text(text.to_owned())));
}

/// The call that a block is, if it is one. Of an answer that was cut off, the last block with an empty object for its
/// arguments has none: that is what a server writes where they never came.
fn call_block(
    block: &Json<'_>,
    written: &str,
    is_last_of_cut: bool,
) -> Result<Option<ModelChunk>, ModelFault> {
    let kind = block["type"].as_str().unwrap_or_default();
    for form in CALL_BLOCKS {
        let (inside, written) = match form.key {
            None if kind == form.kind => (block, Some(written)),
            Some(key) if block[key].is_object() => (&block[key], member(written, key)),
            _ => continue,
        };
        let written = written.unwrap_or_default();
        let key = form.arguments.iter().find(|key| inside.get(key).is_some());
        let arguments = key.and_then(|key| member(written, key));
        let arguments = arguments.filter(|json| !(is_last_of_cut && is_empty_object(json)));
        return Ok(Some(call(member(written, form.id), member(written, form.name), arguments)));
    }
    // What a server has run itself, or a result of that, is no call for the host.
    let is_foreign = ["server_", "mcp_", "web_", "code_"].iter().any(|start| kind.starts_with(start));
    let has = |keys: &[&str]| keys.iter().any(|key| block.get(key).is_some());
    let is_call = has(&["name", "toolName", "tool_name", "function"])
        && has(&["input", "args", "arguments", "parameters"]);
    match is_call && !is_foreign {
        true => Err(unreadable(written, "a call in a form that nobody knows")),
        false => Ok(None),
    }
}

pub(super) fn is_empty_object(json: &str) -> bool {
    json.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|inside| inside.trim().is_empty())
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

/// The word in which something says why it ended. What is no word is shown as it is, and nobody will know it.
pub(super) fn word(part: &Part<'_>, pointer: &str) -> Option<String> {
    match part.value.pointer(pointer)? {
        Json::Null => None,
        Json::String(word) => Some(word.to_string()),
        _ => part.written(pointer),
    }
}
