//! Places: where in a line that somebody kept the answer of a model stands, beside what was said before and around it.

use serde_json::Value;

use super::body::BodyKind;
use super::conversation::{ANSWERS, LISTS};
use super::http::plain;
use super::role::foreign;
use super::stream::BodyStream;
use super::{FaultCode, ModelFault};

/// What stands around an answer in a record of a request and its response.
const AROUND: &[&str] = &["response", "body"];

/// How deep an answer may be wrapped.
const DEEP: usize = 4;

/// Where an answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A value in the form of a kind, at a JSON pointer.
    Value(String, BodyKind),
    /// A text at a JSON pointer, which is a body or a recorded stream by itself.
    Text(String),
}

/// The place of the answer in a line, if it has one.
pub(super) fn answer(line: &Value) -> Result<Option<Place>, ModelFault> {
    let (mut value, mut pointer) = (line, String::new());
    for _ in 0..DEEP {
        if let Some(kind) = kind(value)? {
            let foreign = foreign(value).filter(|_| kind == BodyKind::Conversation);
            return foreign.map_or(Ok(Some(Place::Value(pointer, kind))), Err);
        }
        let Some((key, inner)) = AROUND.iter().find_map(|key| Some((*key, value.get(key)?))) else { break };
        pointer = format!("{pointer}/{key}");
        match inner {
            Value::Object(_) => value = inner,
            // Nobody calls the text of a model a body.
            Value::String(_) if key == "body" => return Ok(Some(Place::Text(pointer))),
            _ => break,
        }
    }
    foreign(value).or_else(|| wrong(line)).map_or(Ok(None), Err)
}

/// A fault if a line that holds its answer in the form of the batch contract holds another one besides.
pub fn second_answer(line: &Value) -> Option<ModelFault> {
    let is_there = |key: &&&str| line.get(**key).is_some_and(|value| !value.is_null());
    let first = ["text", "chunks", "tool_calls"].iter().find(is_there)?;
    let is_second = |key: &&&str| match &line[**key] {
        // What is no answer may be anything about one.
        inner @ Value::Object(_) => is_answer(line, key) && matches!(answer(inner), Ok(Some(_)) | Err(_)),
        Value::String(text) => is_answer(line, key) && !text.is_empty(),
        _ => false,
    };
    let second = ANSWERS.iter().find(is_second)?;
    Some(fault(format!("there are both `{first}` and `{second}`; say with --field which is the answer")))
}

/// Whose form a value has, where an answer is expected; a fault if it has more than one.
fn kind(value: &Value) -> Result<Option<BodyKind>, ModelFault> {
    let answers: Vec<&str> = ANSWERS.iter().copied().filter(|key| is_answer(value, key)).collect();
    match BodyKind::of(value) {
        Some(kind) if kind != BodyKind::Conversation && kind != BodyKind::Ollama => return Ok(Some(kind)),
        _ if value["choices"].is_array() => return Ok(Some(BodyKind::ChatCompletion)),
        _ => {}
    }
    if let [one, other, ..] = answers[..] {
        return Err(fault(format!(
            "there are both `{one}` and `{other}`; say with --field which is the answer"
        )));
    }
    for key in &answers {
        if let Some(text) = value[*key].as_str().filter(|text| is_body(text)) {
            let what = if BodyStream::of(text).is_some() { "a recorded stream" } else { "a whole body" };
            let message = format!(
                "`{key}` is no text of a model but {what}; write it to a file of its own and give that to `callgate parse`"
            );
            return Err(fault(message));
        }
    }
    // An answer that is an object is read by its own form.
    if answers == ["response"] && value["response"].is_object() {
        return Ok(None);
    }
    let holds = !answers.is_empty() || LISTS.iter().any(|key| value[*key].is_array());
    Ok(BodyKind::of(value).or(holds.then_some(BodyKind::Conversation)))
}

/// Whether a member is an answer by its type, and says something or is the only one.
fn is_answer(value: &Value, key: &str) -> bool {
    match (key, &value[key]) {
        (_, Value::Null) => false,
        ("content" | "response", Value::String(text)) => {
            !text.is_empty() || ANSWERS.iter().all(|other| *other == key || value[*other].is_null())
        }
        ("content", Value::Array(_)) | ("message" | "response", Value::Object(_)) => true,
        _ => false,
    }
}

/// Whether a text is no text of a model but all that a server sent.
fn is_body(text: &str) -> bool {
    let is_whole = || serde_json::from_str::<Value>(text).is_ok_and(|value| BodyKind::of(&value).is_some());
    BodyStream::of(text).is_some() || text.trim_start().starts_with('{') && is_whole()
}

/// What is wrong with a line that has the name of an answer, but no answer under it.
fn wrong(line: &Value) -> Option<ModelFault> {
    if let Some(said) = server_error(line) {
        return Some(said);
    }
    let (key, found) = ANSWERS.iter().find_map(|key| Some((key, line.get(key)?)))?;
    let what = match *key {
        "message" => "a message, which is an object",
        "content" => "a text or a list of blocks",
        _ => "a text, a message or a body",
    };
    let found = plain(&found.to_string()).chars().take(60).collect::<String>();
    Some(fault(format!("`{key}` must be {what}, not {found}; say with --field where the answer is")))
}

/// The error of a server, if a value is that and nothing else.
pub(super) fn server_error(value: &Value) -> Option<ModelFault> {
    const BESIDES: &[&str] =
        &["error", "type", "object", "id", "request_id", "status", "status_code", "code", "created"];
    let only = value.as_object()?.keys().all(|key| BESIDES.contains(&key.as_str()));
    let error = value.get("error").filter(|_| only)?;
    let said = error.as_str().or_else(|| error["message"].as_str())?;
    Some(ModelFault::new(FaultCode::ServerError, plain(said)))
}

fn fault(message: String) -> ModelFault {
    ModelFault::new(FaultCode::BadLine, message)
}
