//! Bodies: answers of servers that somebody kept, whole or as the stream they came in, read by the formats of live ones.

use callgate::FinishReason;
use serde_json::{Value, json};

use super::anthropic::AnthropicFormat;
use super::conversation::{ConversationFormat, LISTS, is_assistant, is_conversation, is_list, last_turn};
use super::http::plain;
use super::json::Json;
use super::ollama::OllamaFormat;
use super::openai::OpenAiFormat;
use super::place::{self, Place};
use super::reading::{Format, Framing, Part};
use super::responses::ResponsesFormat;
use super::results::{beside, is_history, results_beside};
use super::role::{foreign_choice, foreign_for_certain};
use super::stream::{Beginning, BodyStream};
use super::{FaultCode, ModelChunk, ModelFault};

/// How much of a stream is taken at a time.
const STRETCH: usize = 64 << 10;

/// Whose form a body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// OpenAI's chat completions, and those before them.
    ChatCompletion,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Ollama's chat and generate.
    Ollama,
    /// Messages of any provider: a conversation, whose last turn is meant, or one message.
    Conversation,
}

impl BodyKind {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            BodyKind::ChatCompletion => "OpenAI chat completion",
            BodyKind::Responses => "OpenAI response",
            BodyKind::Anthropic => "Anthropic message",
            BodyKind::Ollama => "Ollama answer",
            BodyKind::Conversation => "conversation",
        }
    }

    /// Whose body or event this is, if there is no doubt: a model may write JSON as well.
    pub fn of(value: &Value) -> Option<BodyKind> {
        let is = |key: &str, word: &str| value[key] == word;
        let kind = value["type"].as_str().unwrap_or_default();
        if let Some(Value::Array(choices)) = value.get("choices") {
            let has = |key: &str| choices.iter().any(|choice| choice.get(key).is_some());
            let says = value["object"].as_str().is_some_and(|object| object.contains("completion"));
            return (says || ["message", "delta", "text"].into_iter().any(has))
                .then_some(BodyKind::ChatCompletion);
        }
        if is("object", "response") && value["output"].is_array()
            || kind.starts_with("response.") && (value.get("response").or(value.get("item_id"))).is_some()
        {
            return Some(BodyKind::Responses);
        }
        if kind == "message" && is("role", "assistant") && value["content"].is_array()
            || kind == "message_start" && value["message"].is_object()
        {
            return Some(BodyKind::Anthropic);
        }
        let answers = value["message"].is_object() || value["response"].is_string();
        if value["model"].is_string() && value["done"].is_boolean() && answers {
            return Some(BodyKind::Ollama);
        }
        let is_message = |value: &Value| {
            let holds = |keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
            is_assistant(value["role"].as_str()) && holds(&["content", "parts", "tool_calls"])
                || is_assistant(value["from"].as_str()) && holds(&["value"])
        };
        // Servers that send the text alone say beside it that it has stopped.
        let is_text =
            value["content"].is_string() && value["model"].is_string() && value["stop"].is_boolean();
        let is_any = is_message(value) || is_message(&value["message"]) || is_text || is_conversation(value);
        is_any.then_some(BodyKind::Conversation)
    }

    /// Whether a value is not a whole body but one event of a stream.
    pub(super) fn is_event(self, value: &Value) -> bool {
        match self {
            BodyKind::ChatCompletion => {
                let choices = value["choices"].as_array().into_iter().flatten();
                value["object"] == "chat.completion.chunk"
                    || choices.into_iter().any(|choice| choice.get("delta").is_some())
            }
            BodyKind::Responses => value["type"].is_string(),
            BodyKind::Anthropic => value["type"] != "message",
            BodyKind::Ollama => value["done"] == false,
            BodyKind::Conversation => false,
        }
    }

    pub(super) fn format(self, choice: u64) -> Box<dyn Format> {
        match self {
            BodyKind::ChatCompletion => Box::new(OpenAiFormat::of_choice(choice)),
            BodyKind::Responses => Box::new(ResponsesFormat::default()),
            BodyKind::Anthropic => Box::new(AnthropicFormat::default()),
            BodyKind::Ollama => Box::new(OllamaFormat::default()),
            BodyKind::Conversation => Box::new(ConversationFormat::default()),
        }
    }
}

/// One answer out of a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Whose form it had.
    pub kind: BodyKind,
    /// Which of the body's choices it is, by the server's number.
    pub choice: u64,
    /// What it holds, in order, without its end.
    pub chunks: Vec<ModelChunk>,
    /// The model that it names.
    pub model: Option<String>,
    /// The tools that it names, as it lists them.
    pub tools: Option<Value>,
    /// Why it ended. A stream that breaks off has failed; a body that does not say has not said.
    pub reason: FinishReason,
    /// The server's own word for that.
    pub word: Option<String>,
    /// What tools gave in the conversation before.
    pub untrusted: Vec<String>,
    /// Whether it is a turn out of a conversation, and not an answer that stands beside one.
    pub(super) is_turn: bool,
}

impl Body {
    /// The answers in a text that is a body or a stream of one: one for each choice. Nothing if the text is neither.
    pub fn read(text: &str) -> Result<Option<Vec<Body>>, ModelFault> {
        let text = text.trim_start_matches('\u{feff}');
        if let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
            let is_whole = BodyKind::of(&value).map(|kind| !kind.is_event(&value));
            if is_whole.unwrap_or_else(|| are_empty(&value["choices"])) {
                return Body::of_line(&value, text.trim());
            }
            if let Some(fault) = foreign_for_certain(&value) {
                return Err(fault);
            }
            if let Some(fault) = place::server_error(&value) {
                return Err(fault);
            }
        }
        // Lines of events may end as those of old computers did.
        let lines = if text.contains('\n') { None } else { Some(text.replace('\r', "\n")) };
        let text = lines.as_deref().unwrap_or(text);
        let stream = match Beginning::of(text, true) {
            Beginning::Stream(stream) => *stream,
            Beginning::Failed(fault) => return Err(fault),
            Beginning::Text | Beginning::Open => return Ok(None),
        };
        let (kind, framing) = (stream.kind, stream.framing);
        let each = |choice: u64| {
            let mut stream = BodyStream::new(kind, framing, choice);
            let mut chunks = Vec::new();
            for stretch in text.as_bytes().chunks(STRETCH) {
                chunks.extend(stream.take(stretch)?);
            }
            let (rest, body) = stream.close()?;
            Ok((Body { chunks: chunks.into_iter().chain(rest).collect(), ..body }, stream))
        };
        let mut bodies = every_choice(each)?;
        for body in &mut bodies {
            (body.model, body.tools) = (stream.model.clone(), stream.tools.clone());
        }
        Ok(Some(bodies))
    }

    /// The answers in a line of JSON, one for each choice: a body, or an object with `messages`, `choices`, `content`,
    /// `message` or `response`. Nothing if it has none of them. What stands beside the answer was said before it.
    pub fn of_line(value: &Value, text: &str) -> Result<Option<Vec<Body>>, ModelFault> {
        let Some(place) = place::answer(value)? else { return Ok(None) };
        let part = Part::parse(text)?;
        let (Place::Value(pointer, _) | Place::Text(pointer)) = &place;
        let inner = value.pointer(pointer).unwrap_or(&Value::Null);
        let mut bodies = match &place {
            Place::Value(_, kind) if pointer.is_empty() => Body::whole(*kind, value, text)?,
            Place::Value(_, kind) => {
                let written = part.written(pointer).unwrap_or_else(|| inner.to_string());
                Body::whole(*kind, inner, &written)?
            }
            Place::Text(_) => {
                let fault =
                    || ModelFault::new(FaultCode::BadLine, "the `body` is no body of a model's answer");
                Body::read(inner.as_str().unwrap_or_default())?.ok_or_else(fault)?
            }
        };
        // The turns of a conversation that is judged itself come after some of its results.
        let is_turn = |body: &Body| body.kind == BodyKind::Conversation && pointer.is_empty() && body.is_turn;
        for body in bodies.iter_mut().filter(|body| !is_turn(body)) {
            body.untrusted.extend(beside(&part.value));
        }
        Ok(Some(bodies))
    }

    /// The answers in what stands at a dotted path of a line, as in `output.0.text` or `turns.-1`: a text, a message, a
    /// list of messages, or a body.
    pub fn at_path(value: &Value, text: &str, path: &str) -> Result<Vec<Body>, ModelFault> {
        let fault = |what: String| ModelFault::new(FaultCode::BadLine, what);
        let pointer = pointer(value, path).map_err(fault)?;
        let found = value.pointer(&pointer).unwrap_or(&Value::Null);
        let written = Part::parse(text)?.written(&pointer).unwrap_or_else(|| found.to_string());
        let key = match found {
            Value::Object(_) => None,
            Value::Array(items) if is_list(items) => Some("messages"),
            Value::Array(_) | Value::String(_) => Some("content"),
            other => return Err(fault(format!("`{path}` holds neither a text nor a message but {other}"))),
        };
        let read = match key {
            None => Body::of_line(found, &written)?,
            Some(key) => {
                let wrapped = Value::Object([(key.to_owned(), found.clone())].into_iter().collect());
                Body::of_line(&wrapped, &format!("{{\"{key}\":{written}}}"))?
            }
        };
        let none = || fault(format!("`{path}` is an object that holds no answer of a model"));
        let mut bodies = read.ok_or_else(none)?;
        // What stands beside it was said before, unless it is a turn of that itself.
        if !is_history(&pointer) {
            let before = results_beside(value, text);
            bodies.iter_mut().for_each(|body| body.untrusted.extend_from_slice(&before));
        }
        Ok(bodies)
    }

    /// The answers of a whole body, one for each choice. `text` is the value as it was written.
    fn whole(kind: BodyKind, value: &Value, text: &str) -> Result<Vec<Body>, ModelFault> {
        let fault = |what: String| Err(ModelFault::new(FaultCode::BadLine, what));
        if kind.is_event(value) {
            let name = kind.name();
            let message = format!("this is one event of a stream, not a whole {name}");
            return fault(format!("{message}; `callgate parse` reads the file as one answer"));
        }
        let choices = value["choices"].as_array().map(Vec::as_slice).unwrap_or_default();
        if kind == BodyKind::ChatCompletion && choices.is_empty() {
            let message = "its `choices` are empty, so the server gave no answer; ask the server again";
            return fault(message.to_owned());
        }
        if kind == BodyKind::ChatCompletion && !choices.iter().all(is_choice) {
            let message = "one of its `choices` holds neither a message nor a text; say with --field where the answer is";
            return fault(message.to_owned());
        }
        if let Some(fault) = foreign_choice(value) {
            return Err(fault);
        }
        let part = Part::parse(text)?;
        let is_turn = kind == BodyKind::Conversation && ConversationFormat::is_turn(&part.value);
        if let Some(key) = LISTS.iter().find(|key| matches!(part.value[**key], Json::Array(_)))
            && is_turn
            && last_turn(part.value[*key].items()).is_empty()
        {
            return fault(format!("none of the `{key}` is of the assistant"));
        }
        every_choice(|choice| {
            let mut stream = BodyStream::new(kind, Framing::Whole, choice);
            stream.about(value);
            stream.parser.value(&part)?;
            stream.parser.finish(true)?;
            let word = stream.parser.format.word().unwrap_or_default();
            let (chunks, body) = stream.ended(FinishReason::from_word(word));
            Ok((Body { chunks, is_turn, ..body }, stream))
        })
    }
}

/// Whether all of these choices say nothing at all.
fn are_empty(choices: &Value) -> bool {
    choices.as_array().is_some_and(|choices| choices.iter().all(|choice| *choice == json!({})))
}

/// What a message of an answer has at least one of.
const OF_MESSAGE: &[&str] = &[
    "role",
    "content",
    "parts",
    "tool_calls",
    "function_call",
    "refusal",
    "reasoning_content",
    "reasoning",
    "thinking",
    "tool_plan",
];

/// Whether a choice of a whole completion holds an answer, be it an empty one.
fn is_choice(choice: &Value) -> bool {
    let message = &choice["message"];
    match message.as_object() {
        Some(message) => OF_MESSAGE.iter().any(|key| message.contains_key(*key)),
        None => message.is_null() && choice["text"].is_string(),
    }
}

/// Reads the first choice, and then the others that were seen on the way. A body without any is an answer by itself.
fn every_choice(
    each: impl Fn(u64) -> Result<(Body, BodyStream), ModelFault>,
) -> Result<Vec<Body>, ModelFault> {
    let (first, stream) = each(0)?;
    let seen: Vec<u64> = stream.choices().take(CHOICES).collect();
    let is_first = seen.is_empty() || seen.contains(&0);
    let others = seen.into_iter().filter(|choice| *choice > 0);
    let others = others.map(|choice| Ok(Body { choice, ..each(choice)?.0 }));
    is_first.then_some(Ok(first)).into_iter().chain(others).collect()
}

/// The most choices that are read out of one body.
const CHOICES: usize = 256;

/// How many keys are named where one is missing.
const KEYS: usize = 8;

/// A dotted path as a JSON pointer, if there is something: keys, and places in lists, from the end where negative.
fn pointer(value: &Value, path: &str) -> Result<String, String> {
    let mut pointer = String::new();
    let mut at = value;
    for step in path.split('.') {
        let (next, place) = match at {
            Value::Array(items) => {
                let place = step.parse::<isize>().ok().map(|place| match usize::try_from(place) {
                    Ok(place) => place,
                    Err(_) => items.len().wrapping_sub(place.unsigned_abs()),
                });
                let place = place.unwrap_or(usize::MAX);
                (items.get(place), place.to_string())
            }
            _ => (at.get(step), step.to_owned()),
        };
        at = next.ok_or_else(|| {
            let help = match at {
                Value::Object(members) => {
                    let keys: Vec<String> =
                        members.keys().take(KEYS).map(|key| format!("`{}`", plain(key))).collect();
                    if keys.is_empty() {
                        "nothing stands there".to_owned()
                    } else {
                        format!("{} stand there", keys.join(", "))
                    }
                }
                Value::Array(items) => format!("there is a list of {} there", items.len()),
                _ => "there is neither an object nor a list there".to_owned(),
            };
            format!("there is no `{step}` of `{path}`; {help}")
        })?;
        pointer.push('/');
        pointer.push_str(&place);
    }
    Ok(pointer)
}
