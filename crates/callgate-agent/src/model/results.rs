//! What tools gave in a conversation that was kept: nobody vouches for it, so a call that repeats it is reported.

use serde_json::Value;

use super::json::Json;
use super::reading::Part;

/// Where the conversation before an answer stands, in the answer's own line or in the request beside it.
const HISTORY: &[&str] = &[
    "/messages",
    "/input",
    "/conversations",
    "/conversation",
    "/history",
    "/request/messages",
    "/request/input",
    "/request/body/messages",
    "/request/body/input",
];

/// Roles whose words are not what a tool gave. There are many words for tools, and few for the others.
const OTHERS: &[&str] = &[
    "user",
    "human",
    "system",
    "developer",
    "assistant",
    "model",
    "gpt",
    "chatgpt",
    "bot",
    "function_call",
    "tool_call",
];

/// What tools gave in the conversation that stands in a line beside its answer. `text` is the line as it was written.
pub fn results_beside(line: &Value, text: &str) -> Vec<String> {
    if HISTORY.iter().all(|pointer| line.pointer(pointer).is_none()) {
        return Vec::new();
    }
    Part::parse(text).map_or_else(|_| Vec::new(), |part| beside(&part.value))
}

/// Whether a JSON pointer leads into the conversation.
pub(super) fn is_history(pointer: &str) -> bool {
    let inside = |list: &&str| {
        pointer.strip_prefix(*list).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    HISTORY.iter().any(inside)
}

pub(super) fn beside(value: &Json<'_>) -> Vec<String> {
    let messages = HISTORY.iter().filter_map(|pointer| value.pointer(pointer));
    messages.flat_map(|messages| messages.items()).flat_map(results).collect()
}

/// The texts that tools gave, in a message of a tool or in the blocks of somebody else's.
pub(super) fn results(message: &Json<'_>) -> Vec<String> {
    let said = ["role", "from"].iter().find_map(|key| message[*key].as_str());
    let is_tool = match said {
        Some(role) => !OTHERS.iter().any(|other| role.eq_ignore_ascii_case(other)),
        None => is_result(message),
    };
    if is_tool {
        return texts(message);
    }
    let blocks = ["content", "parts"].iter().flat_map(|key| message[*key].items());
    blocks.filter(|block| is_result(block)).flat_map(texts).collect()
}

/// Whether an item or a block holds what a tool gave, by its type or by the only thing in it.
fn is_result(item: &Json<'_>) -> bool {
    let kind = item["type"].as_str().unwrap_or_default();
    let words = ["result", "_output", "response"];
    words.iter().any(|word| kind.contains(word))
        || ["toolResult", "functionResponse", "function_response", "tool_result"]
            .iter()
            .any(|key| item.get(key).is_some())
}

/// All texts in a value, however deep.
fn texts(value: &Json<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Json::String(text) => found.push(text.to_string()),
            Json::Array(items) => open.extend(items),
            Json::Object(members) => open.extend(members.iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    found
}
