//! Requests: a task as the clients of each API ask it.

use serde_json::{Value, json};

use super::{EndpointApi, Task, TaskChoice};

/// The body of a request.
pub(super) fn request(api: EndpointApi, task: &Task, model: &str, stream: bool) -> Value {
    let mut body = match api {
        EndpointApi::Chat => json!({"messages": task.messages, "tools": task.tools.to_openai()}),
        EndpointApi::Ollama => {
            let messages: Vec<Value> =
                task.messages.iter().map(|one| for_ollama(one, &task.messages)).collect();
            json!({"messages": messages, "tools": task.tools.to_openai()})
        }
        EndpointApi::Responses => for_responses(task),
        EndpointApi::Messages => for_anthropic(task),
    };
    body["model"] = model.into();
    body["stream"] = stream.into();
    match api {
        EndpointApi::Ollama => body["options"] = json!({"num_predict": task.max_tokens, "temperature": 0}),
        EndpointApi::Responses => body["max_output_tokens"] = task.max_tokens.into(),
        _ => body["max_tokens"] = task.max_tokens.into(),
    }
    if api != EndpointApi::Ollama {
        body["temperature"] = 0.into();
    }
    if let Some(choice) = choice(api, task) {
        body["tool_choice"] = choice;
    }
    if !task.parallel && matches!(api, EndpointApi::Chat | EndpointApi::Responses) {
        body["parallel_tool_calls"] = false.into();
    }
    body
}

/// Whether the API has a word for it that calls come one at a time.
pub(super) fn can_forbid_parallel(api: EndpointApi) -> bool {
    api != EndpointApi::Ollama
}

fn choice(api: EndpointApi, task: &Task) -> Option<Value> {
    let mut choice = match (api, &task.choice) {
        (EndpointApi::Messages, Some(TaskChoice::None)) => json!({"type": "none"}),
        (EndpointApi::Messages, Some(TaskChoice::Required)) => json!({"type": "any"}),
        (EndpointApi::Messages, Some(TaskChoice::Named(name))) => json!({"type": "tool", "name": name}),
        (EndpointApi::Messages, None) if !task.parallel => json!({"type": "auto"}),
        (_, None) => return None,
        (_, Some(TaskChoice::None)) => json!("none"),
        (_, Some(TaskChoice::Required)) => json!("required"),
        (EndpointApi::Responses, Some(TaskChoice::Named(name))) => json!({"type": "function", "name": name}),
        (_, Some(TaskChoice::Named(name))) => json!({"type": "function", "function": {"name": name}}),
    };
    if api == EndpointApi::Messages && !task.parallel && task.choice != Some(TaskChoice::None) {
        choice["disable_parallel_tool_use"] = true.into();
    }
    Some(choice)
}

/// Arguments are objects there, and results name their tool.
fn for_ollama(message: &Value, all: &[Value]) -> Value {
    let mut message = message.clone();
    if let Some(id) = message.get("tool_call_id") {
        let mut calls = all.iter().filter_map(|one| one["tool_calls"].as_array()).flatten();
        if let Some(call) = calls.find(|call| call["id"] == *id) {
            message["tool_name"] = call["function"]["name"].clone();
        }
    }
    if let Some(calls) = message.get_mut("tool_calls").and_then(Value::as_array_mut) {
        for call in calls {
            let arguments = arguments_of(call);
            call["function"]["arguments"] = arguments;
        }
    }
    if message["content"].is_array() || message["content"].is_null() {
        message["content"] = text_of(&message["content"]).into();
    }
    message
}

fn for_responses(task: &Task) -> Value {
    let mut input = Vec::new();
    for message in &task.messages {
        let text = text_of(&message["content"]);
        match message["role"].as_str() {
            Some("tool") => {
                let id = &message["tool_call_id"];
                input.push(json!({"type": "function_call_output", "call_id": id, "output": text}));
            }
            role => {
                if !text.is_empty() {
                    input.push(json!({"role": role, "content": text}));
                }
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let arguments = arguments_of(call).to_string();
                    input.push(json!({"type": "function_call", "call_id": call["id"], "name": call["function"]["name"], "arguments": arguments}));
                }
            }
        }
    }
    let tools: Vec<Value> = task
        .tools
        .tools()
        .map(|tool| json!({"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters, "strict": false}))
        .collect();
    json!({"input": input, "tools": tools, "store": false})
}

/// The system stands apart there, and results are the user's.
fn for_anthropic(task: &Task) -> Value {
    let (mut system, mut messages) = (Vec::new(), Vec::<Value>::new());
    for message in &task.messages {
        let text = text_of(&message["content"]);
        let (role, content) = match message["role"].as_str() {
            Some("system" | "developer") => {
                system.push(text);
                continue;
            }
            Some("tool") => {
                let id = &message["tool_call_id"];
                ("user", vec![json!({"type": "tool_result", "tool_use_id": id, "content": text})])
            }
            Some("assistant") => {
                let words = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                let calls = calls.map(|call| json!({"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": arguments_of(call)}));
                ("assistant", words.into_iter().chain(calls).collect())
            }
            _ => ("user", vec![json!({"type": "text", "text": text})]),
        };
        // Roles take turns there: what one says in a row is one message.
        match messages.last_mut() {
            Some(last) if last["role"] == role => {
                if let Some(blocks) = last["content"].as_array_mut() {
                    blocks.extend(content);
                }
            }
            _ => messages.push(json!({"role": role, "content": content})),
        }
    }
    let tools: Vec<Value> = task
        .tools
        .tools()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}))
        .collect();
    let mut body = json!({"messages": messages, "tools": tools});
    if !system.is_empty() {
        body["system"] = system.join("\n\n").into();
    }
    body
}

/// The words of a message, whose content may be a list of parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}

/// The arguments of a call as a value.
fn arguments_of(call: &Value) -> Value {
    match &call["function"]["arguments"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| json!({})),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = r#"{
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look."}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{\"q\": 1}"}},
                {"id": "b", "type": "function", "function": {"name": "look", "arguments": "{\"q\": 2}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "one"},
            {"role": "tool", "tool_call_id": "b", "content": "two"}],
        "tools": [{"name": "look", "parameters": {"type": "object"}}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "parallel_tool_calls": false}"#;

    fn asked(api: EndpointApi) -> Value {
        let tasks = Task::read_all(TASK, None).unwrap();
        request(api, &tasks[0], "m", true)
    }

    #[test]
    fn a_conversation_reaches_every_api_in_its_form() {
        let chat = asked(EndpointApi::Chat);
        assert_eq!(chat["messages"][3]["content"], "one");
        assert_eq!(chat["tool_choice"]["function"]["name"], "look");
        assert_eq!(chat["parallel_tool_calls"], false);

        let ollama = asked(EndpointApi::Ollama);
        assert_eq!(ollama["messages"][1]["content"], "Look.");
        assert_eq!(ollama["messages"][4]["tool_name"], "look");
        assert_eq!(ollama["messages"][2]["tool_calls"][0]["function"]["arguments"], json!({"q": 1}));

        let responses = asked(EndpointApi::Responses);
        let types: Vec<_> =
            responses["input"].as_array().unwrap().iter().map(|item| item["type"].as_str()).collect();
        let calls = [
            Some("function_call"),
            Some("function_call"),
            Some("function_call_output"),
            Some("function_call_output"),
        ];
        assert_eq!(types[2..], calls, "{responses}");
        assert_eq!(responses["tool_choice"], json!({"type": "function", "name": "look"}));

        let anthropic = asked(EndpointApi::Messages);
        assert_eq!(anthropic["system"], "Be brief.");
        let roles: Vec<_> =
            anthropic["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
        assert_eq!(roles, ["user", "assistant", "user"], "{anthropic}");
        assert_eq!(anthropic["messages"][2]["content"][1]["tool_use_id"], "b");
        assert_eq!(
            anthropic["tool_choice"],
            json!({"type": "tool", "name": "look", "disable_parallel_tool_use": true})
        );
    }
}
