//! OpenAI's Responses: `/v1/responses`, whole and as server-sent events. No state is kept between requests.

use callgate::FinishReason;
use callgate_agent::id::random_id;
use callgate_agent::model::Usage;
use callgate_agent::written::Written;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Reading, Writer, model, named_event, now};
use crate::answer::{Answer, Ending, Out, OutCall};
use crate::asked::{
    Asked, ToolChoice, function, is_true, items, message, name_of, past_call, text, wordless, words,
};
use crate::fault::Fault;

/// The type of a part that is a picture.
const IMAGE: &str = "input_image";

pub(super) fn read(body: &Written) -> Result<Reading, Fault> {
    let mut asked = Asked::of(model(body)?);
    if body.get("previous_response_id").is_some_and(|id| *id != Written::Null) {
        let why = "no response is kept here, so `previous_response_id` leads nowhere; send the whole `input`";
        return Err(Fault::bad_request(why).at("previous_response_id"));
    }
    if is_true(body, "background") {
        return Err(Fault::bad_request("`background` needs a server that keeps responses").at("background"));
    }
    if let Some(instructions) = text(body, "instructions").filter(|text| !text.is_empty()) {
        asked.messages.push(message("system", instructions));
    }
    let mut known = Vec::new();
    tools(items(body, "tools"), None, &mut asked, &mut known);
    match body.get("input") {
        Some(Written::String(input)) => asked.messages.push(message("user", input.text())),
        Some(Written::Array(input)) => {
            for (at, item) in input.iter().enumerate() {
                self::item(item, &known, &mut asked)
                    .map_err(|why| Fault::bad_request(why).at(format!("input[{at}]")))?;
            }
        }
        _ => return Err(Fault::bad_request("`input` is neither text nor a list").at("input")),
    }
    let choice = body.get("tool_choice");
    asked.choice = ToolChoice::of_openai(choice, &mut asked.tools, &|entry| meant(entry, &known))
        .map_err(|why| Fault::bad_request(why).at("tool_choice"))?;
    if let ToolChoice::Named(name) = &mut asked.choice {
        *name = upstream_name(name, choice.and_then(|choice| text(choice, "namespace")), &known);
    }
    asked.parallel = body.get("parallel_tool_calls") != Some(&Written::Bool(false));
    asked.stream = is_true(body, "stream");
    for (theirs, ours) in [
        ("max_output_tokens", "max_tokens"),
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("user", "user"),
        ("seed", "seed"),
    ] {
        asked.set(ours, body.get(theirs));
    }
    asked.set("reasoning_effort", body.get("reasoning").and_then(|reasoning| reasoning.get("effort")));
    if let Some(format) = body.get("text").and_then(|text| text.get("format")) {
        asked.set("response_format", response_format(format).as_ref());
    }
    let echoed = |key: &str, otherwise: Value| body.get(key).map_or(otherwise, Written::to_value);
    let frame = json!({
        "id": format!("resp_{}", random_id()),
        "object": "response",
        "created_at": now(),
        "model": asked.model,
        "error": null,
        "incomplete_details": null,
        "instructions": echoed("instructions", Value::Null),
        "max_output_tokens": echoed("max_output_tokens", Value::Null),
        "metadata": echoed("metadata", json!({})),
        "parallel_tool_calls": asked.parallel,
        "previous_response_id": null,
        "reasoning": echoed("reasoning", json!({"effort": null, "summary": null})),
        "store": false,
        "temperature": echoed("temperature", Value::Null),
        "text": echoed("text", json!({"format": {"type": "text"}})),
        "tool_choice": echoed("tool_choice", "auto".into()),
        "tools": echoed("tools", json!([])),
        "top_p": echoed("top_p", Value::Null),
        "truncation": "disabled",
    });
    let writer =
        ResponsesWriter { frame, tools: known, number: 0, output: Vec::new(), open: None, begun: Vec::new() };
    Ok(Reading { asked, writer: Box::new(writer) })
}

/// A tool as the client knows it, and as the model does.
struct KnownTool {
    name: String,
    namespace: Option<String>,
    /// The name among all tools of the request, whatever their namespaces.
    upstream: String,
    /// Whether it takes text instead of arguments.
    is_custom: bool,
}

/// Takes the functions among the tools; what only OpenAI's servers run is kept aside.
fn tools(list: &[Written], namespace: Option<&str>, asked: &mut Asked, known: &mut Vec<KnownTool>) {
    // Names without a namespace stay as they are, so they are taken first.
    let (spaces, plain): (Vec<_>, Vec<_>) =
        list.iter().partition(|tool| text(tool, "type") == Some("namespace"));
    for tool in plain.into_iter().chain(spaces) {
        let (kind, name) = (text(tool, "type").unwrap_or("function"), text(tool, "name"));
        match (kind, name) {
            ("function" | "custom", Some(name)) => {
                let is_custom = kind == "custom";
                let upstream = match namespace {
                    Some(namespace) => free(qualified(namespace, name), known),
                    None => name.to_owned(),
                };
                // Free text instead of arguments: a function with one text.
                let free_text = json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}).into();
                let schema = if is_custom { Some(&free_text) } else { tool.get("parameters") };
                let strict = !is_custom && is_true(tool, "strict");
                asked.tools.push(function(&upstream, tool.get("description"), schema, strict));
                let (name, namespace) = (name.to_owned(), namespace.map(str::to_owned));
                known.push(KnownTool { name, namespace, upstream, is_custom });
            }
            ("namespace", name) => tools(items(tool, "tools"), name.or(namespace), asked, known),
            (kind, name) => asked.notes.push(format!(
                "the tool {} of type {kind} is run by OpenAI's servers and was left out",
                name.unwrap_or(kind)
            )),
        }
    }
}

/// The name of a tool of a namespace where there are no namespaces.
fn qualified(namespace: &str, name: &str) -> String {
    format!("{}__{name}", namespace.trim_end_matches('_'))
}

/// A name that no tool has: this one, or one with a number.
fn free(name: String, known: &[KnownTool]) -> String {
    let is_free = |name: &String| known.iter().all(|tool| tool.upstream != *name);
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
}

/// What the model calls a tool that the client names.
fn upstream_name(name: &str, namespace: Option<&str>, known: &[KnownTool]) -> String {
    let is_it = |tool: &&KnownTool| tool.name == name && tool.namespace.as_deref() == namespace;
    match (known.iter().find(is_it), namespace) {
        (Some(tool), _) => tool.upstream.clone(),
        (None, Some(namespace)) => qualified(namespace, name),
        (None, None) => {
            // A client may leave the namespace out where that leaves no doubt.
            let mut named = known.iter().filter(|tool| tool.name == name);
            let only = named.next().filter(|_| named.next().is_none());
            only.map_or_else(|| name.to_owned(), |tool| tool.upstream.clone())
        }
    }
}

/// What the model calls the tools that an entry of a list stands for: one, or those of a namespace, all or some.
fn meant(entry: &Written, known: &[KnownTool]) -> Vec<String> {
    let Some(name) = text(entry, "name") else { return Vec::new() };
    if text(entry, "type") != Some("namespace") {
        return vec![upstream_name(name, text(entry, "namespace"), known)];
    }
    let some: Vec<&str> = items(entry, "tools").iter().filter_map(name_of).collect();
    let is_meant = |tool: &&KnownTool| {
        tool.namespace.as_deref() == Some(name) && (some.is_empty() || some.contains(&tool.name.as_str()))
    };
    known.iter().filter(is_meant).map(|tool| tool.upstream.clone()).collect()
}

/// Adds one item of the input.
fn item(item: &Written, known: &[KnownTool], asked: &mut Asked) -> Result<(), String> {
    let kind = text(item, "type").unwrap_or("message");
    match kind {
        "message" => {
            let role = match text(item, "role").ok_or("a message has no role")? {
                "developer" => "system",
                role => role,
            };
            let content = match item.get("content") {
                Some(told @ Written::Array(parts)) => {
                    for kind in wordless(told).filter(|kind| *kind != IMAGE) {
                        asked.notes.push(format!("a part of type {kind} was left out"));
                    }
                    let is_kept_elsewhere =
                        |part: &&Written| text(part, "type") == Some(IMAGE) && !is_image(part);
                    asked.notes.extend(parts.iter().filter(is_kept_elsewhere).map(|_| {
                        format!(
                            "a part of type {IMAGE} without an `image_url` was left out: no file is kept here"
                        )
                    }));
                    content(parts)
                }
                Some(content) => content.clone(),
                None => return Err("a message has no content".to_owned()),
            };
            asked.messages.push(Written::object([("role", role.into()), ("content", content)]));
        }
        "function_call" | "custom_tool_call" => {
            let name = text(item, "name").ok_or("a call has no name")?;
            let id = text(item, "call_id").or_else(|| text(item, "id")).unwrap_or_default();
            let arguments = match text(item, "input") {
                Some(input) => json!({"input": input}).to_string(),
                None => text(item, "arguments").unwrap_or("{}").to_owned(),
            };
            let name = upstream_name(name, text(item, "namespace"), known);
            add_call(past_call(id, &name, &arguments), asked);
        }
        "function_call_output" | "custom_tool_call_output" => {
            let id = text(item, "call_id").unwrap_or_default();
            for kind in item.get("output").into_iter().flat_map(wordless) {
                asked.notes.push(format!("a part of type {kind} of a tool's result was left out"));
            }
            let output = item.get("output").map(words).unwrap_or_default();
            asked.messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}).into());
        }
        // Thoughts belong to the answer that they were a part of.
        "reasoning" => {}
        "item_reference" => return Err("no item is kept here; send the item itself".to_owned()),
        other => asked.notes.push(format!("an item of type {other} was left out")),
    }
    Ok(())
}

/// Adds a call to the turn of the model that it belongs to.
fn add_call(call: Written, asked: &mut Asked) {
    if let Some(Written::Object(members)) = asked.messages.last_mut()
        && members.iter().any(|(key, value)| key.text() == "role" && value.as_str() == Some("assistant"))
    {
        match members.iter_mut().find(|(key, _)| key.text() == "tool_calls") {
            Some((_, Written::Array(calls))) => calls.push(call),
            _ => members.push(("tool_calls".into(), Written::Array(vec![call]))),
        }
        return;
    }
    let said = message("assistant", Value::Null).with("tool_calls", Written::Array(vec![call]));
    asked.messages.push(said);
}

/// Whether a part is a picture that can be sent on.
fn is_image(part: &Written) -> bool {
    text(part, "type") == Some(IMAGE) && text(part, "image_url").is_some()
}

/// The parts of a message: one text where there is nothing but text.
fn content(parts: &[Written]) -> Written {
    if !parts.iter().any(is_image) {
        return Written::from(words(&Written::Array(parts.to_vec())).as_str());
    }
    let part = |part: &Written| match text(part, "image_url").filter(|_| is_image(part)) {
        Some(url) => Some(json!({"type": "image_url", "image_url": {"url": url}}).into()),
        None => Some(json!({"type": "text", "text": part.as_str().or_else(|| text(part, "text"))?}).into()),
    };
    Written::Array(parts.iter().filter_map(part).collect())
}

/// The form of the text, as chat completions name it.
fn response_format(format: &Written) -> Option<Written> {
    match text(format, "type")? {
        "json_schema" => {
            let member = |key: &str| format.get(key).map(Written::to_value);
            let schema =
                json!({"name": member("name"), "schema": member("schema"), "strict": member("strict")});
            Some(json!({"type": "json_schema", "json_schema": schema}).into())
        }
        "json_object" => Some(json!({"type": "json_object"}).into()),
        _ => None,
    }
}

/// The item of words that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Reasoning,
    Text,
}

/// More of an item.
#[derive(Serialize)]
struct ItemDelta<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    item_id: &'a str,
    output_index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_index: Option<usize>,
    delta: &'a str,
    sequence_number: u64,
}

struct ResponsesWriter {
    /// Everything of the response but its output, status and usage.
    frame: Value,
    tools: Vec<KnownTool>,
    /// The number of the next event.
    number: u64,
    /// The items so far. Words are added to the last one.
    output: Vec<Value>,
    /// What the words of the last item are, while it is open.
    open: Option<Open>,
    /// The calls that have begun and are not over: their places, and those of their items.
    begun: Vec<(usize, usize)>,
}

impl ResponsesWriter {
    fn response(&self, status: &str, usage: Option<Usage>) -> Value {
        let mut response = self.frame.clone();
        response["status"] = status.into();
        response["output"] = self.output.clone().into();
        response["usage"] = usage.map_or(Value::Null, |usage| {
            json!({
                "input_tokens": usage.prompt,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": usage.completion,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.prompt.saturating_add(usage.completion),
            })
        });
        response
    }

    fn finished(&self, ending: &Ending) -> Value {
        let status = match ending.reason {
            FinishReason::Length | FinishReason::ContentFilter => "incomplete",
            _ => "completed",
        };
        let mut response = self.response(status, Some(ending.usage));
        if status == "incomplete" {
            let filtered = ending.reason == FinishReason::ContentFilter;
            let reason = if filtered { "content_filter" } else { "max_output_tokens" };
            response["incomplete_details"] = json!({"reason": reason});
        }
        if let Some(verdict) = &ending.verdict {
            response["callgate"] = verdict.clone();
        }
        response
    }

    fn event(&mut self, kind: &str, mut value: Value, to: &mut Vec<u8>) {
        value["type"] = kind.into();
        value["sequence_number"] = self.number.into();
        self.number += 1;
        named_event(kind, &value, to);
    }

    /// More of an item.
    fn delta(
        &mut self,
        kind: &'static str,
        output_index: usize,
        content_index: Option<usize>,
        delta: &str,
        to: &mut Vec<u8>,
    ) {
        let item_id = self.output[output_index]["id"].as_str().unwrap_or_default();
        let said =
            ItemDelta { kind, item_id, output_index, content_index, delta, sequence_number: self.number };
        named_event(kind, &said, to);
        self.number += 1;
    }

    fn place(&self) -> usize {
        self.output.len().saturating_sub(1)
    }

    fn item_id(&self) -> Value {
        self.output.last().map_or(Value::Null, |item| item["id"].clone())
    }

    /// Adds an item behind the last one.
    fn add(&mut self, item: Value, to: &mut Vec<u8>) {
        self.close(to);
        self.output.push(item.clone());
        let place = self.place();
        self.event("response.output_item.added", json!({"output_index": place, "item": item}), to);
    }

    /// Sees to it that an item of this kind is open, and adds text to it.
    fn say(&mut self, open: Open, delta: &str, to: &mut Vec<u8>) {
        let (kind, word, delta_kind, id) = match open {
            Open::Reasoning => ("reasoning", "reasoning_text", "response.reasoning_text.delta", "rs"),
            Open::Text => ("message", "output_text", "response.output_text.delta", "msg"),
        };
        if self.open != Some(open) {
            let mut item = json!({"id": format!("{id}_{}", random_id()), "type": kind, "status": "in_progress", "content": []});
            match open {
                Open::Reasoning => item["summary"] = json!([]),
                Open::Text => item["role"] = "assistant".into(),
            }
            self.add(item, to);
            self.open = Some(open);
            let part = part(word, "");
            if let Some(item) = self.output.last_mut() {
                item["content"] = json!([part]);
            }
            let added = json!({"item_id": self.item_id(), "output_index": self.place(), "content_index": 0, "part": part});
            self.event("response.content_part.added", added, to);
        }
        if let Some(Value::String(text)) = self.output.last_mut().map(|item| &mut item["content"][0]["text"])
        {
            text.push_str(delta);
        }
        self.delta(delta_kind, self.place(), Some(0), delta, to);
    }

    fn begin_call(&mut self, place: usize, id: &str, name: &str, to: &mut Vec<u8>) {
        let tool = self.tools.iter().find(|tool| tool.upstream == name);
        let (prefix, kind, member) = match tool.is_some_and(|tool| tool.is_custom) {
            true => ("ctc", "custom_tool_call", "input"),
            false => ("fc", "function_call", "arguments"),
        };
        let mut item = json!({
            "id": format!("{prefix}_{}", random_id()),
            "type": kind,
            "status": "in_progress",
            "call_id": id,
            "name": tool.map_or(name, |tool| &tool.name),
        });
        if let Some(namespace) = tool.and_then(|tool| tool.namespace.as_deref()) {
            item["namespace"] = namespace.into();
        }
        item[member] = "".into();
        self.add(item, to);
        self.begun.push((place, self.place()));
    }

    /// More of the arguments of the call at this place.
    fn arguments(&mut self, place: usize, delta: &str, to: &mut Vec<u8>) {
        let Some((_, at)) = self.begun.iter().copied().find(|(begun, _)| *begun == place) else { return };
        // Half of an object is no text: it comes with the whole call.
        if let Some(Value::String(arguments)) = self.output[at].get_mut("arguments") {
            arguments.push_str(delta);
            self.delta("response.function_call_arguments.delta", at, None, delta, to);
        }
    }

    /// Closes the item of a call that stands. Only here is it completed: one that was shown may still be rejected.
    fn end_call(&mut self, call: &OutCall, to: &mut Vec<u8>) {
        let Some(begun) = self.begun.iter().position(|(place, _)| *place == call.place) else { return };
        let (_, at) = self.begun.remove(begun);
        let item = &mut self.output[at];
        item["status"] = "completed".into();
        let is_custom = item["type"] == "custom_tool_call";
        // What was shown while it was written may have been mended since.
        match is_custom {
            true => {
                let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
                item["input"] = arguments["input"].as_str().unwrap_or_default().into();
            }
            false => item["arguments"] = call.arguments.as_str().into(),
        }
        let item = item.clone();
        let id = &item["id"];
        if is_custom {
            let input = &item["input"];
            let said = json!({"item_id": id, "output_index": at, "delta": input});
            let done = json!({"item_id": id, "output_index": at, "input": input});
            self.event("response.custom_tool_call_input.delta", said, to);
            self.event("response.custom_tool_call_input.done", done, to);
        } else {
            let done = json!({"item_id": id, "output_index": at, "name": item["name"], "arguments": item["arguments"]});
            self.event("response.function_call_arguments.done", done, to);
        }
        self.event("response.output_item.done", json!({"output_index": at, "item": item}), to);
    }

    /// Closes the item of words that is open.
    fn close(&mut self, to: &mut Vec<u8>) {
        let Some(open) = self.open.take() else { return };
        let place = self.place();
        if let Some(item) = self.output.last_mut() {
            item["status"] = "completed".into();
        }
        let item = self.output.last().cloned().unwrap_or_default();
        let id = &item["id"];
        let word = if open == Open::Text { "output_text" } else { "reasoning_text" };
        let part = &item["content"][0];
        let done = json!({"item_id": id, "output_index": place, "content_index": 0, "text": part["text"]});
        self.event(&format!("response.{word}.done"), done, to);
        let done = json!({"item_id": id, "output_index": place, "content_index": 0, "part": part});
        self.event("response.content_part.done", done, to);
        self.event("response.output_item.done", json!({"output_index": place, "item": item}), to);
    }
}

fn part(word: &str, text: &str) -> Value {
    match word {
        "output_text" => json!({"type": word, "text": text, "annotations": [], "logprobs": []}),
        _ => json!({"type": word, "text": text}),
    }
}

impl Writer for ResponsesWriter {
    fn whole(&mut self, answer: &Answer) -> String {
        // The items are those of the stream, so that both say the same.
        let mut unsent = Vec::new();
        if !answer.reasoning.is_empty() {
            self.say(Open::Reasoning, &answer.reasoning, &mut unsent);
        }
        if !answer.text.is_empty() {
            self.say(Open::Text, &answer.text, &mut unsent);
        }
        for call in &answer.calls {
            self.write(&Out::Call(call.clone()), &mut unsent);
        }
        self.close(&mut unsent);
        self.finished(&answer.ending).to_string()
    }

    fn begin(&mut self, to: &mut Vec<u8>) {
        let response = self.response("in_progress", None);
        self.event("response.created", json!({"response": response}), to);
        self.event("response.in_progress", json!({"response": response}), to);
    }

    fn write(&mut self, out: &Out, to: &mut Vec<u8>) {
        match out {
            Out::Text(text) => self.say(Open::Text, text, to),
            Out::Reasoning(text) => self.say(Open::Reasoning, text, to),
            Out::CallBegun { place, id, name } => self.begin_call(*place, id, name, to),
            Out::CallArguments { place, delta } => self.arguments(*place, delta, to),
            Out::Call(call) => {
                if !call.begun {
                    self.begin_call(call.place, &call.id, &call.name, to);
                    self.arguments(call.place, &call.arguments, to);
                }
                self.end_call(call, to);
            }
            Out::Ping => to.extend_from_slice(b": ping\n\n"),
            Out::End(ending) => {
                self.close(to);
                let response = self.finished(ending);
                let kind = match response["status"].as_str() {
                    Some("incomplete") => "response.incomplete",
                    _ => "response.completed",
                };
                self.event(kind, json!({"response": response}), to);
            }
            Out::Fault(fault) => {
                self.close(to);
                for (_, at) in self.begun.drain(..) {
                    self.output[at]["status"] = "incomplete".into();
                }
                let mut response = self.response("failed", None);
                response["error"] = json!({"code": fault.code, "message": fault.message});
                self.event("response.failed", json!({"response": response}), to);
            }
        }
    }
}
