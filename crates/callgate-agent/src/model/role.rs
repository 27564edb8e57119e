//! Roles: whose words a message is. What others than the model wrote is not judged, since a call in it is nobody's call.

use serde_json::Value;

use super::conversation::{ANSWERS, LISTS, is_assistant};
use super::http::plain;
use super::{FaultCode, ModelFault};

/// The roles that all providers give to others than the model. A model may write JSON with a `role` of its own, so only
/// these tell that a text is somebody's message.
const OTHERS: &[&str] = &[
    "user",
    "human",
    "system",
    "developer",
    "tool",
    "function",
    "ipython",
    "observation",
    "environment",
    "tool_response",
    "tool_result",
    "tool-result",
];

/// What makes an object with a role a message.
const CONTENTS: &[&str] = &["content", "parts", "tool_calls", "function_call"];

/// A fault if an object is a message that is not the model's, by itself or in what wraps it.
pub(super) fn foreign(value: &Value) -> Option<ModelFault> {
    let is_there = |keys: &[&str]| keys.iter().any(|key| !value[*key].is_null());
    let own = is_there(CONTENTS).then(|| said(value, "role")).flatten();
    // Beside an answer or a conversation, these two say something else about the line.
    let is_old = value["value"].is_string() && !is_there(ANSWERS) && !is_there(LISTS);
    let old = is_old.then(|| said(value, "from")).flatten();
    let inner = &value["message"];
    let wrapped = inner.is_object().then(|| said(inner, "role").or_else(|| said(inner, "from"))).flatten();
    own.or(old).or(wrapped).map(|role| fault(&role))
}

/// A fault if a line in the form of the contract says that its text is not the model's.
pub fn foreign_line(line: &Value) -> Option<ModelFault> {
    let mut roles = ["role", "from"].iter().filter_map(|key| line[*key].as_str());
    roles.find(|role| is_other(role)).map(fault)
}

/// The same of an object that may be the model's own text.
pub(super) fn foreign_for_certain(value: &Value) -> Option<ModelFault> {
    let messages = [value, &value["message"]].into_iter();
    let mut roles = messages.flat_map(|message| ["role", "from"].map(|key| message[key].as_str()));
    roles.any(|role| role.is_some_and(is_other)).then(|| foreign(value)).flatten()
}

/// A fault if the messages of the choices of a completion are not the model's.
pub(super) fn foreign_choice(body: &Value) -> Option<ModelFault> {
    let choices = body["choices"].as_array().into_iter().flatten();
    let messages = choices.map(|choice| &choice["message"]).chain([&body["message"]]);
    let mut roles = messages.filter_map(|message| message["role"].as_str());
    roles.find(|role| is_other(role)).map(fault)
}

fn is_other(role: &str) -> bool {
    OTHERS.iter().any(|other| role.trim().eq_ignore_ascii_case(other))
}

/// The role under a key, if it is not the model's. An empty one says nothing.
fn said(message: &Value, key: &str) -> Option<String> {
    match &message[key] {
        Value::Null => None,
        Value::String(role) if role.is_empty() || is_assistant(Some(role)) => None,
        Value::String(role) => Some(role.clone()),
        other => Some(other.to_string()),
    }
}

fn fault(role: &str) -> ModelFault {
    let role: String = plain(role).chars().take(60).collect();
    let message = format!(
        "the message is of the role `{role}` and not the model's, so nothing was judged; say with --field where the answer is"
    );
    ModelFault::new(FaultCode::BadLine, message)
}
