//! OpenAI's chat completions: `/v1/chat/completions`, whole and as server-sent events.

use callgate::FinishReason;
use callgate_agent::id::random_id;
use callgate_agent::model::Usage;
use callgate_agent::written::Written;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Reading, Writer, event, model, now};
use crate::answer::{Answer, Ending, Out, OutCall};
use crate::asked::{Asked, ToolChoice, by_name, is_true, items, past_call, text};
use crate::fault::Fault;

/// What the gateway itself decides about; everything else of a request goes on as it is.
const OWN: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "n",
    "functions",
    "function_call",
];

pub(super) fn read(body: &Written) -> Result<Reading, Fault> {
    let mut asked = Asked::of(model(body)?);
    let Some(Written::Array(messages)) = body.get("messages") else {
        return Err(Fault::bad_request("`messages` is missing or no list").at("messages"));
    };
    if let Some(at) = messages.iter().position(|message| text(message, "role").is_none()) {
        return Err(Fault::bad_request("a message has no role").at(format!("messages[{at}].role")));
    }
    asked.messages = with_tool_calls(messages);
    asked.tools = items(body, "tools").to_vec();
    // The form that came before lists of tools.
    asked.tools.extend(
        items(body, "functions")
            .iter()
            .map(|function| Written::object([("type", "function".into()), ("function", function.clone())])),
    );
    let has_functions = items(body, "tools").is_empty() && !items(body, "functions").is_empty();
    let choice = body.get("tool_choice").or_else(|| body.get("function_call"));
    asked.choice = ToolChoice::of_openai(choice, &mut asked.tools, &by_name)
        .map_err(|why| Fault::bad_request(why).at("tool_choice"))?;
    // A message of that form has room for one call.
    asked.parallel = !has_functions && body.get("parallel_tool_calls") != Some(&Written::Bool(false));
    asked.stream = is_true(body, "stream");
    if body.get("n").is_some_and(|n| !matches!(n, Written::Null) && *n != Written::Number("1".to_owned())) {
        return Err(
            Fault::bad_request("more than one choice (`n`) cannot be judged; ask once for each").at("n")
        );
    }
    if let Written::Object(members) = body {
        for (key, value) in members.iter().filter(|(key, _)| !OWN.contains(&key.text())) {
            asked.set(key.text(), Some(value));
        }
    }
    let include_usage = body.get("stream_options").is_some_and(|options| is_true(options, "include_usage"));
    let writer = ChatWriter {
        id: format!("chatcmpl-{}", random_id()),
        created: now(),
        model: asked.model.clone(),
        include_usage,
        has_functions,
        has_begun: false,
        calls: 0,
    };
    Ok(Reading { asked, writer: Box::new(writer) })
}

/// The conversation with calls and results of the form that came before lists of tools in the one that came after.
fn with_tool_calls(messages: &[Written]) -> Vec<Written> {
    // A result names the function, and not the call.
    let mut open: Vec<(String, String)> = Vec::new();
    let mut told = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        let call = message.get("function_call").filter(|_| items(message, "tool_calls").is_empty());
        let next = match (message, call.and_then(|call| text(call, "name").zip(Some(call)))) {
            (Written::Object(members), Some((name, call))) => {
                let id = format!("call_function_{at}");
                open.push((name.to_owned(), id.clone()));
                let call = past_call(&id, name, text(call, "arguments").unwrap_or("{}"));
                let others =
                    members.iter().filter(|(key, _)| !matches!(key.text(), "function_call" | "tool_calls"));
                Written::Object(others.cloned().collect()).with("tool_calls", Written::Array(vec![call]))
            }
            _ if text(message, "role") == Some("function") => {
                let name = text(message, "name");
                let of = open.iter().position(|(called, _)| name.is_none_or(|name| name == called));
                let id = of.map_or_else(|| "call_unknown".to_owned(), |of| open.remove(of).1);
                let content = message.get("content").cloned().unwrap_or(Written::Null);
                let told =
                    [("role", "tool".into()), ("tool_call_id", id.as_str().into()), ("content", content)];
                match name {
                    Some(name) => Written::object(told).with("name", name.into()),
                    None => Written::object(told),
                }
            }
            _ => message.clone(),
        };
        told.push(next);
    }
    told
}

/// A fault in OpenAI's form.
pub(super) fn fault(fault: &Fault) -> Value {
    let kind = match fault.status {
        400..=499 if fault.status == 429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    };
    json!({"error": {"message": fault.message, "type": kind, "param": fault.place, "code": fault.code}})
}

/// Tokens in OpenAI's form.
fn usage(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt.saturating_add(usage.completion),
    })
}

/// Why an answer ended, in OpenAI's words.
fn finish_word(ending: &Ending, has_calls: bool, has_functions: bool) -> &'static str {
    match ending.reason {
        _ if has_calls && has_functions => "function_call",
        _ if has_calls => "tool_calls",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
        _ => "stop",
    }
}

struct ChatWriter {
    id: String,
    created: u64,
    model: String,
    include_usage: bool,
    /// Whether the client knows the form that came before lists of tools, with one call in a message.
    has_functions: bool,
    has_begun: bool,
    /// How many calls have been written.
    calls: usize,
}

/// One event of a stream.
#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [Choice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    callgate: Option<&'a Value>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: usize,
    delta: Delta<'a>,
    logprobs: (),
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[ToolCall<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Function<'a>>,
}

/// A call, or more of one.
#[derive(Default, Serialize)]
struct ToolCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: Function<'a>,
}

#[derive(Default, Serialize)]
struct Function<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

impl<'a> ToolCall<'a> {
    fn whole(id: &'a str, name: &'a str, arguments: &'a str) -> Self {
        let function = Function { name: Some(name), arguments };
        ToolCall { index: None, id: Some(id), kind: Some("function"), function }
    }

    fn of(call: &'a OutCall) -> Self {
        ToolCall::whole(&call.id, &call.name, &call.arguments)
    }

    /// A delta with this as the call at its place.
    fn at(self, place: usize, has_functions: bool) -> Delta<'a> {
        if has_functions {
            return Delta { function_call: Some(self.function), ..Delta::default() };
        }
        Delta { tool_calls: Some([ToolCall { index: Some(place), ..self }]), ..Delta::default() }
    }
}

impl ChatWriter {
    fn chunk(
        &mut self,
        delta: Delta<'_>,
        finish: Option<&'static str>,
        verdict: Option<&Value>,
        to: &mut Vec<u8>,
    ) {
        let role = (!std::mem::replace(&mut self.has_begun, true)).then_some("assistant");
        let choice = Choice { index: 0, delta: Delta { role, ..delta }, logprobs: (), finish_reason: finish };
        event(&Chunk { choices: &[choice], callgate: verdict, ..self.frame() }, to);
    }

    /// What all events of a stream have.
    fn frame(&self) -> Chunk<'_> {
        Chunk {
            id: &self.id,
            object: "chat.completion.chunk",
            created: self.created,
            model: &self.model,
            choices: &[],
            usage: None,
            callgate: None,
        }
    }
}

impl Writer for ChatWriter {
    fn whole(&mut self, answer: &Answer) -> String {
        let has_calls = !answer.calls.is_empty();
        let content = match answer.text.is_empty() && has_calls {
            true => Value::Null,
            false => answer.text.as_str().into(),
        };
        let mut message = json!({"role": "assistant", "content": content, "refusal": null});
        if !answer.reasoning.is_empty() {
            message["reasoning_content"] = answer.reasoning.as_str().into();
        }
        if let Some(call) = answer.calls.first().filter(|_| self.has_functions) {
            message["function_call"] = json!(ToolCall::of(call).function);
        } else if has_calls {
            message["tool_calls"] = answer.calls.iter().map(|call| json!(ToolCall::of(call))).collect();
        }
        let finish = finish_word(&answer.ending, has_calls, self.has_functions);
        let mut body = json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}],
            "usage": usage(answer.ending.usage),
        });
        if let Some(verdict) = &answer.ending.verdict {
            body["callgate"] = verdict.clone();
        }
        body.to_string()
    }

    fn write(&mut self, out: &Out, to: &mut Vec<u8>) {
        let delta = match out {
            Out::Text(text) => Delta { content: Some(text), ..Delta::default() },
            Out::Reasoning(text) => Delta { reasoning_content: Some(text), ..Delta::default() },
            Out::CallBegun { place, id, name } => {
                self.calls += 1;
                ToolCall::whole(id, name, "").at(*place, self.has_functions)
            }
            Out::CallArguments { place, delta } => {
                let function = Function { name: None, arguments: delta };
                ToolCall { function, ..ToolCall::default() }.at(*place, self.has_functions)
            }
            Out::Call(call) if call.begun => return,
            Out::Call(call) => {
                self.calls += 1;
                ToolCall::of(call).at(call.place, self.has_functions)
            }
            Out::Ping => return to.extend_from_slice(b": ping\n\n"),
            Out::End(ending) => {
                let finish = finish_word(ending, self.calls > 0, self.has_functions);
                self.chunk(Delta::default(), Some(finish), ending.verdict.as_ref(), to);
                if self.include_usage {
                    event(&Chunk { usage: Some(usage(ending.usage)), ..self.frame() }, to);
                }
                return to.extend_from_slice(b"data: [DONE]\n\n");
            }
            Out::Fault(told) => return event(&fault(told), to),
        };
        self.chunk(delta, None, None, to);
    }
}
