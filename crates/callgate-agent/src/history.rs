//! The conversation as typed messages, and its form on the wire: what is sent on is always a history that a server
//! accepts, whatever went wrong in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgate::internal::profile::defuse;
use callgate::{Profile, Record, RenderCall, Response};
use serde::Serialize;
use serde_json::{Value, json};

use crate::written::Written;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// What the host tells the model about its task.
    SystemContext {
        /// The text.
        text: String,
    },
    /// What the user wrote, or what the host says in the user's place.
    User {
        /// The text.
        text: String,
    },
    /// What the model said.
    AssistantText {
        /// The text.
        text: String,
    },
    /// What the model called, and what it said besides.
    AssistantAction {
        /// The text beside the calls.
        text: String,
        /// The calls, in order.
        calls: Vec<PastCall>,
    },
    /// What a tool gave.
    ToolResult {
        /// The call it belongs to.
        call_id: String,
        /// The tool.
        name: String,
        /// The result.
        content: String,
    },
    /// Why a tool gave nothing.
    ToolError {
        /// The call it belongs to.
        call_id: String,
        /// The tool.
        name: String,
        /// The reason.
        content: String,
    },
    /// The model said that it cannot go on.
    Error {
        /// The code it gave.
        code: String,
        /// What it said.
        message: String,
        /// What it wrote: the form that it was taught. It is sent back so where calls are written as text.
        said: Option<String>,
    },
}

/// A call of an earlier turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PastCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as JSON text.
    pub arguments: String,
}

impl Message {
    /// What a judged response leaves in the history: calls that stand, else text, else that something was rejected.
    /// Rejected attempts themselves are not repeated, so that a broken call does not teach the next one.
    pub fn from_response(response: &Response) -> Option<Message> {
        let text = response.text.trim().to_owned();
        if let Some(error) = &response.model_error {
            let (code, message) = (error.code.clone(), error.message.clone());
            return Some(Message::Error { code, message, said: None });
        }
        if !response.calls.is_empty() {
            let calls = response.calls.iter().map(|call| PastCall {
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            });
            return Some(Message::AssistantAction { text, calls: calls.collect() });
        }
        if !text.is_empty() {
            return Some(Message::AssistantText { text });
        }
        let rejected = !response.rejected.is_empty();
        rejected.then(|| Message::AssistantText { text: "(My call was rejected.)".to_owned() })
    }

    /// The stable word of its type.
    pub fn kind(&self) -> &'static str {
        match self {
            Message::SystemContext { .. } => "system_context",
            Message::User { .. } => "user",
            Message::AssistantText { .. } => "assistant_text",
            Message::AssistantAction { .. } => "assistant_action",
            Message::ToolResult { .. } => "tool_result",
            Message::ToolError { .. } => "tool_error",
            Message::Error { .. } => "error",
        }
    }
}

/// How calls are written in the messages that a server gets.
#[derive(Clone, Debug)]
pub enum CallStyle {
    /// As structured calls; the server's own template writes them.
    Native,
    /// As text, in the format of a profile; results come back as messages of the user.
    Text(Profile),
    /// As text, in this dialect.
    Dialect(Arc<Record>),
}

impl PartialEq for CallStyle {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (CallStyle::Native, CallStyle::Native) => true,
            (CallStyle::Text(one), CallStyle::Text(other)) => one == other,
            (CallStyle::Dialect(one), CallStyle::Dialect(other)) => one.name == other.name,
            _ => false,
        }
    }
}

impl CallStyle {
    /// The dialect in which calls are written as text.
    pub(crate) fn record(&self) -> Option<&Record> {
        match self {
            CallStyle::Native => None,
            CallStyle::Dialect(record) => Some(record),
            CallStyle::Text(profile) => profile.teaches(),
        }
    }
}

/// Which server a message is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Arguments are objects, results name the tool.
    Ollama,
    /// Arguments are text, results name the call.
    OpenAi,
}

/// A history that a server accepts, and what had to be changed to make it one.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The messages.
    pub messages: Vec<Message>,
    /// What was changed.
    pub changes: Vec<Change>,
}

/// One change to a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The message it was made to, counted from zero in the history as it was given.
    pub message: usize,
    /// What was changed, as a stable word.
    pub code: &'static str,
    /// The same in a sentence.
    pub detail: String,
}

/// Makes a history valid: every call readable, with an id of its own and exactly one result behind it, every result
/// with a call before it, no message of nothing.
pub fn replayable(messages: &[Message]) -> Replay {
    let mut replay = Replay { messages: Vec::new(), changes: Vec::new() };
    let mut taken: BTreeSet<String> = BTreeSet::new();
    // The calls of the last turn that wait for a result: the id as given, the id as sent, the tool.
    let mut waiting: Vec<(String, String, String)> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let mut change = |code, detail: String| replay.changes.push(Change { message: number, code, detail });
        match message {
            Message::ToolResult { call_id, .. } | Message::ToolError { call_id, .. } => {
                let Some(at) = waiting.iter().position(|(given, ..)| given == call_id) else {
                    change(
                        "orphan-result",
                        format!("no call waits for the result `{call_id}`; it is left out"),
                    );
                    continue;
                };
                let (_, sent, _) = waiting.remove(at);
                replay.messages.push(message.with_call_id(sent));
            }
            other => {
                for (_, id, name) in waiting.drain(..) {
                    change("missing-result", format!("the call `{id}` of {name} never got a result"));
                    replay.messages.push(not_run(id, name));
                }
                match other {
                    Message::AssistantAction { text, calls } => {
                        let mut text = text.clone();
                        let mut kept = Vec::new();
                        for call in calls {
                            if !is_readable(call) {
                                change("broken-call", format!("a call of {} cannot be sent on", call.name));
                                let name = if call.name.is_empty() { "a tool" } else { &call.name };
                                text = format!("{text}\n(My call of {} was rejected.)", defuse(name));
                                continue;
                            }
                            let mut id = call.id.clone();
                            let mut suffix = 1;
                            while id.is_empty() || !taken.insert(id.clone()) {
                                id = format!("call_{number}_{suffix}");
                                suffix += 1;
                            }
                            if id != call.id {
                                change("renamed-call", format!("the id `{}` became `{id}`", call.id));
                            }
                            waiting.push((call.id.clone(), id.clone(), call.name.clone()));
                            kept.push(PastCall { id, ..call.clone() });
                        }
                        let text = text.trim().to_owned();
                        match (kept.is_empty(), text.is_empty()) {
                            (true, true) => {
                                change("empty-message", "a turn of nothing is left out".to_owned())
                            }
                            (true, false) => replay.messages.push(Message::AssistantText { text }),
                            (false, _) => {
                                replay.messages.push(Message::AssistantAction { text, calls: kept })
                            }
                        }
                    }
                    Message::AssistantText { text } if text.trim().is_empty() => {
                        change("empty-message", "a turn of nothing is left out".to_owned());
                    }
                    other => replay.messages.push(other.clone()),
                }
            }
        }
    }
    for (_, id, name) in waiting {
        let detail = format!("the call `{id}` of {name} never got a result");
        replay.changes.push(Change { message: messages.len(), code: "missing-result", detail });
        replay.messages.push(not_run(id, name));
    }
    replay
}

/// The messages as a server takes them. The history is made valid first.
///
/// What follows each other in the role of the user becomes one message: many servers' templates want the roles to take
/// turns, and reject everything else.
pub fn to_wire(messages: &[Message], style: &CallStyle, wire: Wire) -> Vec<Written> {
    let mut sent: Vec<Written> = Vec::new();
    for message in &replayable(messages).messages {
        let next = message.to_wire(style, wire);
        let text = |message: &Written, key: &str| {
            message.get(key).and_then(Written::as_str).unwrap_or_default().to_owned()
        };
        let is_users = |message: &Written| text(message, "role") == "user";
        match sent.last_mut().filter(|last| is_users(last) && is_users(&next)) {
            Some(last) => {
                let both = format!("{}\n\n{}", text(last, "content"), text(&next, "content"));
                *last = json!({"role": "user", "content": both}).into();
            }
            None => sent.push(next),
        }
    }
    sent
}

impl Message {
    fn with_call_id(&self, id: String) -> Message {
        let mut message = self.clone();
        if let Message::ToolResult { call_id, .. } | Message::ToolError { call_id, .. } = &mut message {
            *call_id = id;
        }
        message
    }

    fn to_wire(&self, style: &CallStyle, wire: Wire) -> Written {
        let said = match self {
            Message::SystemContext { text } => json!({"role": "system", "content": text}),
            Message::User { text } => json!({"role": "user", "content": text}),
            Message::AssistantText { text } => json!({"role": "assistant", "content": text}),
            Message::Error { code, message, said } => {
                let said = said.clone().filter(|_| style.record().is_some());
                let said = said.unwrap_or_else(|| format!("I cannot go on ({code}): {message}"));
                json!({"role": "assistant", "content": said})
            }
            Message::AssistantAction { text, calls } => match style {
                CallStyle::Native => {
                    let calls = calls.iter().map(|call| call.to_wire(wire)).collect();
                    let said = Written::from(json!({"role": "assistant", "content": text}));
                    return said.with("tool_calls", Written::Array(calls));
                }
                CallStyle::Text(_) | CallStyle::Dialect(_) => {
                    json!({"role": "assistant", "content": written(style, text, calls)})
                }
            },
            Message::ToolResult { call_id, name, content } => {
                result(style, wire, call_id, name, content, "Result")
            }
            Message::ToolError { call_id, name, content } => {
                result(style, wire, call_id, name, content, "Error")
            }
        };
        said.into()
    }
}

impl PastCall {
    fn to_wire(&self, wire: Wire) -> Written {
        match wire {
            Wire::Ollama => {
                // As the model wrote them: a `Value` would round long numbers.
                let arguments = Written::parse(&self.arguments).unwrap_or(Written::Null);
                let function =
                    Written::object([("name", self.name.as_str().into()), ("arguments", arguments)]);
                Written::object([("function", function)])
            }
            Wire::OpenAi => json!({
                "id": self.id,
                "type": "function",
                "function": {"name": self.name, "arguments": self.arguments},
            })
            .into(),
        }
    }
}

fn result(style: &CallStyle, wire: Wire, call_id: &str, name: &str, content: &str, word: &str) -> Value {
    match (style, wire) {
        (CallStyle::Text(_) | CallStyle::Dialect(_), _) => {
            json!({"role": "user", "content": format!("{word} of {name}:\n{content}")})
        }
        (CallStyle::Native, Wire::Ollama) => {
            json!({"role": "tool", "tool_name": name, "content": content})
        }
        (CallStyle::Native, Wire::OpenAi) => {
            json!({"role": "tool", "tool_call_id": call_id, "content": content})
        }
    }
}

/// Text and calls as a model writes them in a dialect. What the dialect cannot say stays a sentence.
fn written(style: &CallStyle, text: &str, calls: &[PastCall]) -> String {
    let rendered: Vec<RenderCall<'_>> = calls
        .iter()
        .map(|call| RenderCall { id: Some(&call.id), name: &call.name, arguments: &call.arguments })
        .collect();
    let whole = style.record().and_then(|record| record.render(&rendered, Some(text), None).ok());
    whole.unwrap_or_else(|| {
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        format!("{text}\n(I called {}.)", names.join(", ")).trim().to_owned()
    })
}

/// Whether a server can take the call: a name, and arguments that are a JSON object.
fn is_readable(call: &PastCall) -> bool {
    let arguments: Result<Value, _> = serde_json::from_str(&call.arguments);
    !call.name.trim().is_empty() && arguments.is_ok_and(|arguments| arguments.is_object())
}

fn not_run(call_id: String, name: String) -> Message {
    Message::ToolError { call_id, name, content: "There is no result: the call was not run.".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, arguments: &str) -> PastCall {
        PastCall { id: id.to_owned(), name: "look".to_owned(), arguments: arguments.to_owned() }
    }

    fn action(calls: &[PastCall]) -> Message {
        Message::AssistantAction { text: "On it.".to_owned(), calls: calls.to_vec() }
    }

    fn result_of(id: &str) -> Message {
        Message::ToolResult { call_id: id.to_owned(), name: "look".to_owned(), content: "cats".to_owned() }
    }

    fn user(text: &str) -> Message {
        Message::User { text: text.to_owned() }
    }

    fn codes(replay: &Replay) -> Vec<&str> {
        replay.changes.iter().map(|change| change.code).collect()
    }

    #[test]
    fn a_valid_history_is_not_touched() {
        let messages =
            vec![user("hi"), action(&[call("a", "{}"), call("b", "{}")]), result_of("b"), result_of("a")];
        let replay = replayable(&messages);
        assert_eq!(replay, Replay { messages, changes: Vec::new() });
    }

    #[test]
    fn a_broken_call_becomes_words_and_its_result_goes_with_it() {
        let replay = replayable(&[
            user("hi"),
            action(&[call("a", "{\"q\": "), call("b", "{}")]),
            result_of("a"),
            result_of("b"),
        ]);
        assert_eq!(codes(&replay), ["broken-call", "orphan-result"]);
        let text = "On it.\n(My call of look was rejected.)".to_owned();
        assert_eq!(
            replay.messages,
            [user("hi"), Message::AssistantAction { text, calls: vec![call("b", "{}")] }, result_of("b")]
        );
    }

    #[test]
    fn a_call_without_a_result_is_said_not_to_have_run_before_the_next_turn() {
        let replay = replayable(&[
            action(&[call("a", "{}"), call("b", "{}")]),
            result_of("a"),
            user("and?"),
            action(&[call("c", "{}")]),
        ]);
        assert_eq!(codes(&replay), ["missing-result", "missing-result"]);
        let kinds: Vec<&str> = replay.messages.iter().map(Message::kind).collect();
        assert_eq!(
            kinds,
            ["assistant_action", "tool_result", "tool_error", "user", "assistant_action", "tool_error"]
        );
    }

    #[test]
    fn ids_are_made_unique_and_results_follow_them() {
        let replay = replayable(&[
            action(&[call("a", "{}")]),
            result_of("a"),
            action(&[call("a", "{}"), call("", "{}")]),
            result_of("a"),
            result_of(""),
        ]);
        assert_eq!(codes(&replay), ["renamed-call", "renamed-call"]);
        let again = replayable(&replay.messages);
        assert_eq!(again.changes, [], "made valid once is valid");
    }

    #[test]
    fn a_turn_of_nothing_is_left_out() {
        let replay =
            replayable(&[user("hi"), Message::AssistantText { text: " \n".to_owned() }, action(&[])]);
        assert_eq!(codes(&replay), ["empty-message"]);
        assert_eq!(replay.messages.len(), 2, "the words of a turn without calls stay");
    }

    #[test]
    fn each_server_gets_its_own_form() {
        let messages = [action(&[call("a", "{\"q\": 1}")]), result_of("a")];
        let sent = |wire| -> Vec<Value> {
            to_wire(&messages, &CallStyle::Native, wire).iter().map(Written::to_value).collect()
        };
        assert_eq!(
            sent(Wire::Ollama),
            [
                json!({"role": "assistant", "content": "On it.",
                    "tool_calls": [{"function": {"name": "look", "arguments": {"q": 1}}}]}),
                json!({"role": "tool", "tool_name": "look", "content": "cats"}),
            ]
        );
        assert_eq!(
            sent(Wire::OpenAi),
            [
                json!({"role": "assistant", "content": "On it.", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{\"q\": 1}"}}]}),
                json!({"role": "tool", "tool_call_id": "a", "content": "cats"}),
            ]
        );
    }

    #[test]
    fn in_a_text_format_past_calls_read_back_as_the_same_calls() {
        for name in Profile::NAMES.iter().copied().filter(|name| *name != "structured") {
            let profile = Profile::named(name).unwrap();
            let tools = callgate::Registry::from_json(
                r#"[{"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"q": {"type": "integer"}}}}]"#,
            );
            // Where only what a provider ended well is a call, a text alone is none.
            if profile.needs_dialect() {
                continue;
            }
            let gate = callgate::Gate::builder().profile(profile).tools(tools.unwrap()).build().unwrap();
            let wire =
                to_wire(&[action(&[call("a", "{\"q\": 1}")])], &CallStyle::Text(profile), Wire::OpenAi);
            let response = gate.parse(wire[0].get("content").and_then(Written::as_str).unwrap());
            assert_eq!(response.calls.len(), 1, "{name}: {}", wire[0]);
            assert_eq!(response.calls[0].value(), json!({"q": 1}), "{name}");
        }
    }
}
