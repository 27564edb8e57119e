//! Anthropic's messages: `/v1/messages`, whole and as server-sent events with one content block after the other.

use callgate::FinishReason;
use callgate_agent::id::random_id;
use callgate_agent::model::Usage;
use callgate_agent::written::Written;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Reading, Writer, model, named_event};
use crate::answer::{Answer, Ending, Out, OutCall};
use crate::asked::{Asked, ToolChoice, function, is_true, items, message, past_call, text, wordless, words};
use crate::fault::Fault;

pub(super) fn read(body: &Written) -> Result<Reading, Fault> {
    let mut asked = Asked::of(model(body)?);
    let Some(Written::Array(messages)) = body.get("messages") else {
        return Err(Fault::bad_request("`messages` is missing or no list").at("messages"));
    };
    if let Some(system) = body.get("system").map(words).filter(|system| !system.is_empty()) {
        asked.messages.push(message("system", system));
    }
    for (at, told) in messages.iter().enumerate() {
        turn(told, &mut asked).map_err(|why| Fault::bad_request(why).at(format!("messages[{at}]")))?;
    }
    for tool in items(body, "tools") {
        match (text(tool, "name"), text(tool, "type")) {
            (Some(name), None | Some("custom")) => {
                let strict = is_true(tool, "strict");
                asked.tools.push(function(name, tool.get("description"), tool.get("input_schema"), strict));
            }
            (name, kind) => asked.notes.push(format!(
                "the tool {} of type {} is run by Anthropic's servers and was left out",
                name.unwrap_or("without a name"),
                kind.unwrap_or("unknown")
            )),
        }
    }
    if let Some(choice) = body.get("tool_choice").filter(|choice| **choice != Written::Null) {
        asked.choice = match (text(choice, "type"), text(choice, "name")) {
            (Some("auto"), _) => ToolChoice::Auto,
            (Some("any"), _) => ToolChoice::Required,
            (Some("none"), _) => ToolChoice::None,
            (Some("tool"), Some(name)) => ToolChoice::Named(name.to_owned()),
            _ => {
                return Err(
                    Fault::bad_request("`tool_choice` is none of auto, any, tool and none").at("tool_choice")
                );
            }
        };
        asked.parallel = !is_true(choice, "disable_parallel_tool_use");
    }
    asked.stream = is_true(body, "stream");
    for (theirs, ours) in [
        ("max_tokens", "max_tokens"),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("top_k", "top_k"),
        ("stop_sequences", "stop"),
    ] {
        asked.set(ours, body.get(theirs));
    }
    // The form of the words, at its first place and at the one that came after.
    let format = body.get("output_config").and_then(|config| config.get("format"));
    if let Some(schema) = format.or_else(|| body.get("output_format")).and_then(|format| format.get("schema"))
    {
        let format =
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema.to_value()}});
        asked.set("response_format", Some(&format.into()));
    }
    let thinks = body.get("thinking").and_then(|thinking| text(thinking, "type"));
    let writer = MessagesWriter {
        id: format!("msg_{}", random_id()),
        model: asked.model.clone(),
        thinks: matches!(thinks, Some("enabled" | "adaptive")),
        open: None,
        blocks: 0,
        calls: 0,
    };
    Ok(Reading { asked, writer: Box::new(writer) })
}

/// Adds one turn: its blocks become one message, and each result of a tool one of its own.
fn turn(told: &Written, asked: &mut Asked) -> Result<(), String> {
    let role = text(told, "role").ok_or("a message has no role")?;
    let blocks = match told.get("content") {
        Some(Written::Array(blocks)) => blocks.as_slice(),
        Some(content @ Written::String(_)) => {
            asked.messages.push(Written::object([("role", role.into()), ("content", content.clone())]));
            return Ok(());
        }
        _ => return Err("`content` is neither text nor a list".to_owned()),
    };
    let (mut parts, mut calls): (Vec<Written>, Vec<Written>) = (Vec::new(), Vec::new());
    for block in blocks {
        match text(block, "type") {
            Some("text") => {
                let text = text(block, "text").unwrap_or_default();
                parts.push(json!({"type": "text", "text": text}).into());
            }
            Some("image") => parts.push(image(block)?),
            Some("tool_use") => {
                let name = text(block, "name").ok_or("a `tool_use` has no name")?;
                let input = block.get("input").map_or_else(|| "{}".to_owned(), Written::to_string);
                calls.push(past_call(&given_id(text(block, "id").unwrap_or_default()), name, &input));
            }
            Some("tool_result") => {
                for kind in block.get("content").into_iter().flat_map(wordless) {
                    asked.notes.push(format!("a part of type {kind} of a tool's result was left out"));
                }
                let mut content = block.get("content").map(words).unwrap_or_default();
                if is_true(block, "is_error") {
                    content = format!("Error: {content}");
                }
                let id = given_id(text(block, "tool_use_id").unwrap_or_default());
                asked.messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}).into());
            }
            // Thoughts belong to the answer that they were a part of.
            Some("thinking" | "redacted_thinking") => {}
            Some(kind) => asked.notes.push(format!("a content block of type {kind} was left out")),
            None => return Err("a content block has no type".to_owned()),
        }
    }
    if parts.is_empty() && calls.is_empty() {
        return Ok(());
    }
    let is_text = |part: &Written| text(part, "type") == Some("text");
    let content = match parts.iter().all(is_text) {
        true => Written::from(words(&Written::Array(parts)).as_str()),
        false => Written::Array(parts),
    };
    let mut said = Written::object([("role", role.into()), ("content", content)]);
    if !calls.is_empty() {
        said = said.with("tool_calls", Written::Array(calls));
    }
    asked.messages.push(said);
    Ok(())
}

fn image(block: &Written) -> Result<Written, String> {
    let source = block.get("source").ok_or("an image has no source")?;
    let url =
        match (text(source, "type"), text(source, "media_type"), text(source, "data"), text(source, "url")) {
            (Some("base64"), Some(kind), Some(data), _) => format!("data:{kind};base64,{data}"),
            (_, _, _, Some(url)) => url.to_owned(),
            _ => return Err("the source of an image is neither base64 nor a URL".to_owned()),
        };
    Ok(json!({"type": "image_url", "image_url": {"url": url}}).into())
}

/// A fault in Anthropic's form.
pub(super) fn fault(fault: &Fault) -> Value {
    let kind = match fault.status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": fault.to_string()}})
}

fn usage(usage: Usage) -> Value {
    json!({"input_tokens": usage.prompt, "output_tokens": usage.completion})
}

/// Why an answer ended, in Anthropic's words.
fn stop_word(ending: &Ending, has_calls: bool) -> &'static str {
    match ending.reason {
        _ if has_calls => "tool_use",
        FinishReason::Length => "max_tokens",
        FinishReason::ContentFilter => "refusal",
        _ => "end_turn",
    }
}

/// What the ids of this API's calls begin with.
const ID: &str = "toolu_";

/// The id of a call as this API's clients expect it: no character is foreign, no two are equal that were not, and
/// [`given_id`] gives it back. Each character that is foreign, and the dash before such ones, stands in hexadecimal digits.
fn call_id(id: &str) -> String {
    let is_own = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if id.chars().all(is_own) && !id.starts_with('-') {
        return format!("{ID}{id}");
    }
    let mut told = format!("{ID}-");
    for byte in id.bytes() {
        match char::from(byte) {
            c if is_own(c) && c != '-' => told.push(c),
            _ => told.push_str(&format!("-{byte:02x}")),
        }
    }
    told
}

/// The id by which the model's server knows a call. One that was not made here stays as it is.
fn given_id(told: &str) -> String {
    let Some(id) = told.strip_prefix(ID) else { return told.to_owned() };
    let Some(foreign) = id.strip_prefix('-') else { return id.to_owned() };
    let mut parts = foreign.split('-');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let Some((byte, rest)) = byte.zip(part.get(2..)) else { return told.to_owned() };
        bytes.push(byte);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).unwrap_or_else(|_| told.to_owned())
}

/// What is said about the calls, by the ids that this API's clients see.
fn marks(verdict: &Value) -> Value {
    let mut marks = verdict.clone();
    let lists = marks.as_object_mut().into_iter().flat_map(|marks| marks.values_mut());
    for id in lists.filter_map(Value::as_array_mut).flatten().filter_map(|about| about.get_mut("id")) {
        if let Some(given) = id.as_str() {
            *id = call_id(given).into();
        }
    }
    marks
}

/// The kinds of content blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Thinking,
    Text,
    Call,
}

/// More of the block that is open.
#[derive(Serialize)]
struct BlockDelta<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    index: usize,
    delta: Delta<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Delta<'a> {
    #[serde(rename = "text_delta")]
    Text { text: &'a str },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: &'a str },
    #[serde(rename = "input_json_delta")]
    Input { partial_json: &'a str },
}

struct MessagesWriter {
    id: String,
    model: String,
    /// Whether the client asked for thoughts.
    thinks: bool,
    /// The block that is open.
    open: Option<Block>,
    /// How many blocks there have been.
    blocks: usize,
    calls: usize,
}

impl MessagesWriter {
    /// Sees to it that a block of this kind is open.
    fn enter(&mut self, block: Block, to: &mut Vec<u8>) {
        if self.open == Some(block) {
            return;
        }
        let content = match block {
            Block::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            Block::Text | Block::Call => json!({"type": "text", "text": ""}),
        };
        self.start(block, &content, to);
    }

    fn start(&mut self, block: Block, content: &Value, to: &mut Vec<u8>) {
        self.leave(to);
        self.open = Some(block);
        let start = json!({"type": "content_block_start", "index": self.blocks, "content_block": content});
        named_event("content_block_start", &start, to);
    }

    fn delta(&self, delta: Delta<'_>, to: &mut Vec<u8>) {
        let kind = "content_block_delta";
        named_event(kind, &BlockDelta { kind, index: self.blocks, delta }, to);
    }

    /// Closes the block that is open.
    fn leave(&mut self, to: &mut Vec<u8>) {
        if self.open.take().is_some() {
            named_event(
                "content_block_stop",
                &json!({"type": "content_block_stop", "index": self.blocks}),
                to,
            );
            self.blocks += 1;
        }
    }

    fn begin_call(&mut self, id: &str, name: &str, to: &mut Vec<u8>) {
        self.calls += 1;
        let block = json!({"type": "tool_use", "id": call_id(id), "name": name, "input": {}});
        self.start(Block::Call, &block, to);
    }
}

fn tool_use(call: &OutCall) -> Written {
    let block = json!({"type": "tool_use", "id": call_id(&call.id), "name": call.name});
    let input = Written::parse(&call.arguments).unwrap_or_else(|| json!({}).into());
    Written::from(block).with("input", input)
}

impl Writer for MessagesWriter {
    fn whole(&mut self, answer: &Answer) -> String {
        let mut content: Vec<Written> = Vec::new();
        if self.thinks && !answer.reasoning.is_empty() {
            content.push(json!({"type": "thinking", "thinking": answer.reasoning, "signature": ""}).into());
        }
        if !answer.text.is_empty() {
            content.push(json!({"type": "text", "text": answer.text}).into());
        }
        content.extend(answer.calls.iter().map(tool_use));
        let mut body = Written::from(json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "stop_reason": stop_word(&answer.ending, !answer.calls.is_empty()),
            "stop_sequence": null,
            "usage": usage(answer.ending.usage),
        }))
        .with("content", Written::Array(content));
        if let Some(verdict) = &answer.ending.verdict {
            body = body.with("callgate", marks(verdict).into());
        }
        body.to_string()
    }

    fn begin(&mut self, to: &mut Vec<u8>) {
        let message = json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": usage(Usage::default()),
        });
        named_event("message_start", &json!({"type": "message_start", "message": message}), to);
        named_event("ping", &json!({"type": "ping"}), to);
    }

    fn write(&mut self, out: &Out, to: &mut Vec<u8>) {
        match out {
            Out::Text(text) => {
                self.enter(Block::Text, to);
                self.delta(Delta::Text { text }, to);
            }
            Out::Reasoning(text) if self.thinks => {
                self.enter(Block::Thinking, to);
                self.delta(Delta::Thinking { thinking: text }, to);
            }
            Out::Reasoning(_) => {}
            Out::CallBegun { id, name, .. } => self.begin_call(id, name, to),
            Out::CallArguments { delta, .. } => {
                self.delta(Delta::Input { partial_json: delta }, to);
            }
            Out::Call(call) => {
                if !call.begun {
                    self.begin_call(&call.id, &call.name, to);
                    self.delta(Delta::Input { partial_json: &call.arguments }, to);
                }
                self.leave(to);
            }
            Out::Ping => named_event("ping", &json!({"type": "ping"}), to),
            Out::End(ending) => {
                self.leave(to);
                let mut delta = json!({
                    "type": "message_delta",
                    "delta": {"stop_reason": stop_word(ending, self.calls > 0), "stop_sequence": null},
                    "usage": usage(ending.usage),
                });
                if let Some(verdict) = &ending.verdict {
                    delta["callgate"] = marks(verdict);
                }
                named_event("message_delta", &delta, to);
                named_event("message_stop", &json!({"type": "message_stop"}), to);
            }
            Out::Fault(told) => named_event("error", &fault(told), to),
        }
    }
}
