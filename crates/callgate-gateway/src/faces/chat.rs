//! OpenAI's chat completions: `/v1/chat/completions`, whole and as server-sent events.

use callgate::FinishReason;
use callgate_agent::id::random_id;
use callgate_agent::model::Usage;
use callgate_agent::written::Written;
use serde_json::{Value, json};

use super::{Reading, Writer, model, now};
use crate::answer::{Answer, Ending, Out, OutCall};
use crate::asked::{Asked, ToolChoice, is_true, items, text};
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
    asked.messages = messages.clone();
    asked.tools = items(body, "tools").to_vec();
    // The form that came before lists of tools.
    asked.tools.extend(
        items(body, "functions")
            .iter()
            .map(|function| Written::object([("type", "function".into()), ("function", function.clone())])),
    );
    let choice = body.get("tool_choice").or_else(|| body.get("function_call"));
    asked.choice = ToolChoice::of_openai(choice).map_err(|why| Fault::bad_request(why).at("tool_choice"))?;
    asked.parallel = body.get("parallel_tool_calls") != Some(&Written::Bool(false));
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
        has_begun: false,
        calls: 0,
    };
    Ok(Reading { asked, writer: Box::new(writer) })
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
fn finish_word(ending: &Ending, has_calls: bool) -> &'static str {
    match ending.reason {
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
    has_begun: bool,
    /// How many calls have been written.
    calls: usize,
}

impl ChatWriter {
    fn chunk(&mut self, mut delta: Value, finish: Option<&str>, verdict: Option<&Value>, to: &mut String) {
        if !std::mem::replace(&mut self.has_begun, true) {
            delta["role"] = "assistant".into();
        }
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}],
        });
        if let Some(verdict) = verdict {
            chunk["callgate"] = verdict.clone();
        }
        event(&chunk, to);
    }
}

fn event(value: &Value, to: &mut String) {
    to.push_str("data: ");
    to.push_str(&value.to_string());
    to.push_str("\n\n");
}

fn tool_call(call: &OutCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
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
        if has_calls {
            message["tool_calls"] = answer.calls.iter().map(tool_call).collect();
        }
        let finish = finish_word(&answer.ending, has_calls);
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

    fn write(&mut self, out: &Out, to: &mut String) {
        match out {
            Out::Text(text) => self.chunk(json!({"content": text}), None, None, to),
            Out::Reasoning(text) => self.chunk(json!({"reasoning_content": text}), None, None, to),
            Out::CallBegun { place, id, name } => {
                self.calls += 1;
                let call = json!({"index": place, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
                self.chunk(json!({"tool_calls": [call]}), None, None, to);
            }
            Out::CallArguments { place, delta } => {
                let call = json!({"index": place, "function": {"arguments": delta}});
                self.chunk(json!({"tool_calls": [call]}), None, None, to);
            }
            Out::Call(call) if call.begun => {}
            Out::Call(call) => {
                self.calls += 1;
                let mut written = tool_call(call);
                written["index"] = call.place.into();
                self.chunk(json!({"tool_calls": [written]}), None, None, to);
            }
            Out::Ping => to.push_str(": ping\n\n"),
            Out::End(ending) => {
                let finish = finish_word(ending, self.calls > 0);
                self.chunk(json!({}), Some(finish), ending.verdict.as_ref(), to);
                if self.include_usage {
                    event(
                        &json!({
                            "id": self.id,
                            "object": "chat.completion.chunk",
                            "created": self.created,
                            "model": self.model,
                            "choices": [],
                            "usage": usage(ending.usage),
                        }),
                        to,
                    );
                }
                to.push_str("data: [DONE]\n\n");
            }
            Out::Fault(told) => event(&fault(told), to),
        }
    }
}
