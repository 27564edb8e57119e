//! Ollama's API: `/api/chat` and `/api/generate`, whole and as one JSON object per line.

use std::time::{Instant, SystemTime};

use callgate::FinishReason;
use callgate_agent::clock;
use callgate_agent::written::Written;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Reading, Writer, model, object, put};
use crate::answer::{Answer, Ending, Out, OutCall};
use crate::asked::{Asked, ToolChoice, by_name, items, message, past_call, text};
use crate::fault::Fault;

pub(super) fn read(body: &Written, generates: bool) -> Result<Reading, Fault> {
    let mut asked = Asked::of(model(body)?);
    if generates {
        let prompt = text(body, "prompt").unwrap_or_default();
        asked.is_load = prompt.is_empty() && items(body, "images").is_empty();
        if !asked.is_load {
            let system = text(body, "system").filter(|system| !system.is_empty());
            asked.messages.extend(system.map(|system| message("system", system)));
            asked.messages.push(with_images(message("user", prompt), items(body, "images")));
        }
        // The question goes on as a conversation, which has none of these.
        for key in ["raw", "suffix", "template", "context"] {
            let is_empty = |value: &Written| {
                matches!(value, Written::Null | Written::Bool(false)) || value.as_str() == Some("")
            };
            if body.get(key).is_some_and(|value| !is_empty(value)) {
                asked.notes.push(format!("`{key}` was left out: the prompt is sent as a message"));
            }
        }
    } else {
        let Some(Written::Array(messages)) = body.get("messages") else {
            return Err(Fault::bad_request("`messages` is missing or no list").at("messages"));
        };
        // Results name the tool and not always the call: those of a turn answer its calls in order.
        let mut open: Vec<(String, String)> = Vec::new();
        asked.is_load = messages.is_empty();
        for (at, told) in messages.iter().enumerate() {
            turn(told, &mut open, &mut asked)
                .map_err(|why| Fault::bad_request(why).at(format!("messages[{at}]")))?;
        }
    }
    if !asked.is_load {
        asked.tools = items(body, "tools").to_vec();
        asked.choice = ToolChoice::of_openai(body.get("tool_choice"), &mut asked.tools, &by_name)
            .map_err(|why| Fault::bad_request(why).at("tool_choice"))?;
    }
    // Ollama streams unless told otherwise.
    asked.stream = body.get("stream") != Some(&Written::Bool(false));
    if let Some(options) = body.get("options") {
        for (theirs, ours) in [
            ("temperature", "temperature"),
            ("num_predict", "max_tokens"),
            ("seed", "seed"),
            ("stop", "stop"),
            ("top_p", "top_p"),
            ("top_k", "top_k"),
            ("min_p", "min_p"),
            ("frequency_penalty", "frequency_penalty"),
            ("presence_penalty", "presence_penalty"),
            ("repeat_penalty", "repeat_penalty"),
            ("num_ctx", "num_ctx"),
        ] {
            asked.set(ours, options.get(theirs));
        }
    }
    asked.set("keep_alive", body.get("keep_alive"));
    asked.set("think", body.get("think"));
    match body.get("format") {
        Some(format) if format.as_str() == Some("json") => {
            asked.set("response_format", Some(&json!({"type": "json_object"}).into()));
        }
        Some(schema @ Written::Object(_)) => {
            let format = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema.to_value()}});
            asked.set("response_format", Some(&format.into()));
        }
        _ => {}
    }
    let writer = OllamaWriter {
        model: asked.model.clone(),
        generates,
        load: asked.is_load.then(|| match body.get("keep_alive") {
            Some(Written::Number(time)) if time == "0" => "unload",
            _ => "load",
        }),
        started: Instant::now(),
    };
    Ok(Reading { asked, writer: Box::new(writer) })
}

fn turn(told: &Written, open: &mut Vec<(String, String)>, asked: &mut Asked) -> Result<(), String> {
    let role = text(told, "role").ok_or("a message has no role")?;
    let content = text(told, "content").unwrap_or_default();
    match role {
        "assistant" => {
            let mut said = message("assistant", content);
            let mut calls = Vec::new();
            for call in items(told, "tool_calls") {
                let function = call.get("function").ok_or("a call has no function")?;
                let name = text(function, "name").ok_or("a call has no name")?;
                let arguments = function.get("arguments").map_or_else(|| "{}".to_owned(), Written::to_string);
                let known = text(call, "id").filter(|id| !id.is_empty()).map(str::to_owned);
                let id = known.unwrap_or_else(|| format!("call_{}_{}", asked.messages.len(), calls.len()));
                open.push((id.clone(), name.to_owned()));
                calls.push(past_call(&id, name, &arguments));
            }
            if !calls.is_empty() {
                said = said.with("tool_calls", Written::Array(calls));
            }
            asked.messages.push(said);
        }
        "tool" => {
            let name = text(told, "tool_name").or_else(|| text(told, "name"));
            let id = text(told, "tool_call_id").map(str::to_owned).or_else(|| {
                let is_meant = |(_, called): &(String, String)| name.is_none_or(|name| name == called);
                let at = open.iter().position(is_meant)?;
                Some(open.remove(at).0)
            });
            let id = id.unwrap_or_else(|| "call_unknown".to_owned());
            asked.messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}).into());
        }
        role => asked.messages.push(with_images(message(role, content), items(told, "images"))),
    }
    Ok(())
}

/// A message with the pictures that it shows.
fn with_images(told: Written, images: &[Written]) -> Written {
    if images.is_empty() {
        return told;
    }
    let mut parts: Vec<Written> = vec![json!({"type": "text", "text": text(&told, "content")}).into()];
    parts.extend(images.iter().filter_map(Written::as_str).map(|data| {
        json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}}).into()
    }));
    Written::object([
        ("role", text(&told, "role").unwrap_or("user").into()),
        ("content", Written::Array(parts)),
    ])
}

/// A fault in Ollama's form.
pub(super) fn fault(fault: &Fault) -> Value {
    json!({"error": fault.to_string()})
}

struct OllamaWriter {
    model: String,
    generates: bool,
    /// What is done where nothing is asked.
    load: Option<&'static str>,
    started: Instant,
}

/// One line of a stream, or the whole answer.
#[derive(Serialize)]
struct Line<'a> {
    model: &'a str,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Said<'a>>,
    /// What `/api/generate` has instead of a message.
    #[serde(flatten)]
    generated: Option<Generated<'a>>,
    done: bool,
    #[serde(flatten)]
    last: Option<Last<'a>>,
}

/// A message of the model.
#[derive(Serialize)]
struct Said<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tool_calls: &'a [ToolCall<'a>],
}

#[derive(Serialize)]
struct Generated<'a> {
    response: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tool_calls: &'a [ToolCall<'a>],
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    index: usize,
    name: &'a str,
    arguments: &'a RawValue,
}

/// What the last line says of the whole.
#[derive(Serialize)]
struct Last<'a> {
    done_reason: &'static str,
    total_duration: u64,
    load_duration: u64,
    prompt_eval_count: u64,
    prompt_eval_duration: u64,
    eval_count: u64,
    eval_duration: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    callgate: Option<&'a Value>,
}

impl OllamaWriter {
    fn line(&self, said: Said<'_>, ending: Option<&Ending>, to: &mut Vec<u8>) {
        let (message, generated) = match self.generates {
            true => {
                let Said { content: response, thinking, tool_calls, .. } = said;
                (None, Some(Generated { response, thinking, tool_calls }))
            }
            false => (Some(said), None),
        };
        let last = ending.map(|ending| {
            let taken = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            Last {
                done_reason: match (self.load, ending.reason) {
                    (Some(word), _) => word,
                    (None, FinishReason::Length) => "length",
                    (None, _) => "stop",
                },
                total_duration: taken,
                load_duration: 0,
                prompt_eval_count: ending.usage.prompt,
                prompt_eval_duration: 0,
                eval_count: ending.usage.completion,
                eval_duration: taken,
                callgate: ending.verdict.as_ref(),
            }
        });
        let created_at = clock::timestamp(SystemTime::now());
        put(&Line { model: &self.model, created_at, message, generated, done: ending.is_some(), last }, to);
    }
}

fn assistant<'a>(content: &'a str, thinking: &'a str, tool_calls: &'a [ToolCall<'a>]) -> Said<'a> {
    Said { role: "assistant", content, thinking, tool_calls }
}

fn tool_call(call: &OutCall) -> ToolCall<'_> {
    let function = Function { index: call.place, name: &call.name, arguments: object(&call.arguments) };
    ToolCall { id: &call.id, function }
}

impl Writer for OllamaWriter {
    fn whole(&mut self, answer: &Answer) -> String {
        let calls: Vec<ToolCall<'_>> = answer.calls.iter().map(tool_call).collect();
        let mut line = Vec::new();
        self.line(assistant(&answer.text, &answer.reasoning, &calls), Some(&answer.ending), &mut line);
        String::from_utf8(line).unwrap_or_default()
    }

    fn write(&mut self, out: &Out, to: &mut Vec<u8>) {
        match out {
            Out::Text(text) => self.line(assistant(text, "", &[]), None, to),
            Out::Reasoning(text) => self.line(assistant("", text, &[]), None, to),
            Out::Call(call) => self.line(assistant("", "", &[tool_call(call)]), None, to),
            // Calls come whole in this API.
            Out::CallBegun { .. } | Out::CallArguments { .. } => return,
            Out::Ping => self.line(assistant("", "", &[]), None, to),
            Out::End(ending) => self.line(assistant("", "", &[]), Some(ending), to),
            Out::Fault(told) => put(&fault(told), to),
        }
        to.push(b'\n');
    }
}
